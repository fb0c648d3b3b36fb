/* peak.c - multiply-adds on registers, for the bound that bench/peers prints beside times. Twelve
 * chains are enough for two units of four or five cycles each, and fit every register file. */
#include "peak.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { CHAINS = 12 };

static volatile float kept; /* so that the compiler keeps the work */

/* Each loop does `rounds` multiply-adds on each chain and returns how many operations that were. */
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static double avx2(long rounds) {
    __m256 chain[CHAINS], scale = _mm256_set1_ps(0.999f), add = _mm256_set1_ps(0.001f);
    for (int i = 0; i < CHAINS; i++) chain[i] = _mm256_set1_ps((float)i);
    for (long r = 0; r < rounds; r++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) chain[i] = _mm256_fmadd_ps(chain[i], scale, add);
    for (int i = 1; i < CHAINS; i++) chain[0] = _mm256_add_ps(chain[0], chain[i]);
    kept = _mm256_cvtss_f32(chain[0]);
    return 2.0 * 8 * CHAINS * (double)rounds;
}

__attribute__((target("avx512f"))) static double avx512(long rounds) {
    __m512 chain[CHAINS], scale = _mm512_set1_ps(0.999f), add = _mm512_set1_ps(0.001f);
    for (int i = 0; i < CHAINS; i++) chain[i] = _mm512_set1_ps((float)i);
    for (long r = 0; r < rounds; r++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) chain[i] = _mm512_fmadd_ps(chain[i], scale, add);
    for (int i = 1; i < CHAINS; i++) chain[0] = _mm512_add_ps(chain[0], chain[i]);
    kept = _mm512_cvtss_f32(chain[0]);
    return 2.0 * 16 * CHAINS * (double)rounds;
}
#elif defined(__aarch64__)
static double neon(long rounds) {
    float32x4_t chain[CHAINS], scale = vdupq_n_f32(0.999f), add = vdupq_n_f32(0.001f);
    for (int i = 0; i < CHAINS; i++) chain[i] = vdupq_n_f32((float)i);
    for (long r = 0; r < rounds; r++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) chain[i] = vfmaq_f32(add, chain[i], scale);
    for (int i = 1; i < CHAINS; i++) chain[0] = vaddq_f32(chain[0], chain[i]);
    kept = vgetq_lane_f32(chain[0], 0);
    return 2.0 * 4 * CHAINS * (double)rounds;
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
static bool wanted(const char *isa, const char *name) { return !isa || strcmp(isa, name) == 0; }
#endif

static double (*pick(const char *isa, const char **name))(long) {
    (void)isa; /* of no use to machines whose peak is not known */
    *name = "none";
#if defined(__x86_64__)
    if (wanted(isa, "avx512") && __builtin_cpu_supports("avx512f")) {
        *name = "AVX-512";
        return avx512;
    }
    if (wanted(isa, "avx2") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *name = "AVX2";
        return avx2;
    }
#elif defined(__aarch64__)
    if (wanted(isa, "neon")) {
        *name = "NEON";
        return neon;
    }
#endif
    return NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double bench_peak(double seconds, const char *isa, const char **name) {
    double (*loop)(long) = pick(isa, name);
    if (!loop) return 0;
    /* The best of many short stretches: whatever else the machine does can only slow one down. */
    double best = 0, end = now() + seconds;
    do {
        double start = now(), operations = loop(20000);
        double rate = operations / (now() - start);
        if (rate > best) best = rate;
    } while (now() < end);
    return best;
}
