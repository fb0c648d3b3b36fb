/* peak.h - how many float32 operations one core of this machine can do, measured. */
#ifndef SDX_BENCH_PEAK_H
#define SDX_BENCH_PEAK_H

/* Floating-point operations per second of one thread that does fused multiply-adds on registers
 * and nothing else, with the widest vectors that this processor has; *name says which. 0 where
 * there is no such loop for the processor. Takes about `seconds`. */
double bench_peak(double seconds, const char **name);

#endif
