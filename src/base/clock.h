/* clock.h - time that only moves forward, for limits and measurements. */
#ifndef SDX_BASE_CLOCK_H
#define SDX_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Seconds since some fixed moment. */
static inline double sdx_seconds(void) {
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline uint64_t sdx_nanoseconds(void) {
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
