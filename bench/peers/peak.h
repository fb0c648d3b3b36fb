/* peak.h - how many float32 operations one core of this machine can do, measured. */
#ifndef SDX_BENCH_PEAK_H
#define SDX_BENCH_PEAK_H

/* Floating-point operations per second of one thread that does fused multiply-adds on registers
 * and nothing else, with the vectors of `isa` (avx2, avx512, neon), or with the widest that this processor
 * has if that is NULL; *name says which. 0 where there is no such loop for the processor. Takes about
 * `seconds`. */
double bench_peak(double seconds, const char *isa, const char **name);

#endif
