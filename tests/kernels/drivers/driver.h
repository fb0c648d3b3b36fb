/* driver.h - what the tests of drivers above the kernels share: numbers, activations, guard words,
 * time, and the main program: it checks, or measures with --bench [THREADS [NAME]]. */
#ifndef TESTS_KERNELS_DRIVER_H
#define TESTS_KERNELS_DRIVER_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/threads.h"
#include "kernels/kernels.h"

#define GUARD 16
#define MARK  12345.0f

static uint64_t state = 1;
static inline float noise(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(state >> 40) / (double)(1 << 24) - 0.5);
}

/* On a line of the caches, as arenas and weights are; of exactly this size, so that a sanitizer sees what is
 * read behind it. */
static inline float *random_floats(size_t count) {
    void *memory = NULL;
    if (posix_memalign(&memory, 64, (count ? count : 1) * sizeof(float)) != 0) return NULL;
    float *x = memory;
    for (size_t i = 0; i < count; i++) x[i] = noise();
    return x;
}

static inline double activation(const sdx_tail *t, double x) {
    switch (t->act) {
    case SDX_ACT_CLIP: return fmin(fmax(x, (double)t->a), (double)t->b);
    case SDX_ACT_SWISH: return x / (1 + exp(-(double)t->a * x));
    default: return x;
    }
}

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline int run_driver(int argc, char **argv, int (*check_all)(sdx_pool *),
                             void (*bench)(sdx_pool *, const char *)) {
    sdx_error error;
    sdx_pool *pool = NULL;
    const char *asked = getenv("SARDONYX_CPU"), *isa = sdx_kernels_get()->isa;
    if (asked && strcmp(asked, "scalar") == 0) asked = "base";
    if (asked && strcmp(asked, isa) != 0) {
        printf("skipped: this machine or build has no %s\n", asked);
        return 77;
    }
    bool timing = argc > 1 && strcmp(argv[1], "--bench") == 0;
    uint32_t threads = timing ? 1 : 2;
    if (timing && argc > 2) threads = (uint32_t)atoi(argv[2]);
    if (sdx_pool_create(&sdx_default_allocator, threads, &pool, &error) != SDX_STATUS_OK) return 2;
    printf("%s, %u threads\n", isa, threads);
    int wrong = 0;
    if (timing) bench(pool, argc > 3 ? argv[3] : NULL);
    else wrong = check_all(pool);
    sdx_pool_release(pool);
    return wrong != 0;
}

#endif
