/* distance.h - how far apart two processors of this machine are, measured. */
#ifndef SDX_BENCH_DISTANCE_H
#define SDX_BENCH_DISTANCE_H

/* Nanoseconds that a cache line takes from one processor to another and back, the median of some stretches of
 * about `seconds` in all; 0 where there is one processor only, or no second thread. A virtual machine's processors
 * may be neighbours at one time and far apart at another: what threads hand to one another then takes
 * several times as long. */
double bench_distance(double seconds);

#endif
