/* main.c - runs the tests of the kernels for every instruction set that works here, or with --bench
 * measures them (SARDONYX_CPU picks one). */
#include <stdarg.h>

#include "kernels_test.h"

#define GUARD      16
#define GUARD_BITS 0x7fd5a5a5u /* a NaN that no kernel makes */
#define PRINTED    8

static size_t mistakes, printed;
static const char *current = "", *isa = "";

void wrong(const char *format, ...) {
    mistakes++;
    if (printed++ >= PRINTED) return;
    va_list list;
    va_start(list, format);
    printf("%s [%s]: ", current, isa);
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

bool near(double got, double expected, double tolerance, const char *what, size_t at) {
    bool good = isnan(expected)   ? isnan(got)
                : isinf(expected) ? got == expected
                                  : fabs(got - expected) <= tolerance;
    if (!good) wrong("%s: element %zu is %.9g, expected %.9g", what, at, got, expected);
    return good;
}

float *guarded(size_t count) {
    uint32_t *all = malloc((count + 2 * GUARD) * sizeof *all);
    if (!all) exit(1);
    for (size_t i = 0; i < count + 2 * GUARD; i++) all[i] = GUARD_BITS;
    return (float *)(void *)(all + GUARD);
}

void guarded_check(const float *data, size_t count, const char *what) {
    for (size_t i = 0; i < 2 * GUARD; i++) {
        const float *at = i < GUARD ? data - GUARD + i : data + count + (i - GUARD);
        uint32_t bits;
        memcpy(&bits, at, sizeof bits);
        if (bits == GUARD_BITS) continue;
        wrong("%s: wrote at %td of %zu", what, at - data, count);
        return;
    }
}

void guarded_free(float *data) { free(data - GUARD); }

uint32_t random_bits(void) {
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32) ^ (uint32_t)(state >> 11);
}

float random_float(void) { return (float)(int32_t)random_bits() * 0x1p-31f; }

void random_fill(float *data, size_t count) {
    for (size_t i = 0; i < count; i++) data[i] = random_float();
}

double ulp_error(float got, double exact) {
    if (isnan(exact)) return isnan(got) ? 0 : INFINITY;
    const double size = fabs(exact);
    if (size >= 0x1.ffffffp127) return (double)got == copysign(INFINITY, exact) ? 0 : INFINITY;
    if (isnan(got) || isinf(got)) return INFINITY;
    int exponent = -125;
    if (size >= 0x1p-126) (void)frexp(size, &exponent);
    return fabs((double)got - exact) / ldexp(1.0, exponent - 24);
}

/* Time of the processor, so that whoever shares it does not count. */
static double thread_seconds(void) {
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double best_time(void (*call)(void *arg), void *arg, double budget) {
    double best = 1e30, start = sdx_seconds();
    call(arg);
    do {
        const double before = thread_seconds();
        call(arg);
        const double took = thread_seconds() - before;
        if (took < best) best = took;
    } while (sdx_seconds() - start < budget);
    return best;
}

/* The set that SARDONYX_CPU names, or each that this machine has vectors for: 1 if a target is missed. */
static int bench_sets(void) {
    size_t missed = 0;
    const sdx_kernels *set;
    if (getenv("SARDONYX_CPU")) return bench_all(sdx_kernels_get()) != 0;
    for (size_t s = 1; (set = sdx_kernels_at(s)) != NULL; s++) missed += bench_all(set);
    return missed != 0;
}

int main(int count, char **words) {
#if defined(BENCH_KERNELS)
    (void)count, (void)words;
    return bench_sets();
#else
    static const struct {
        const char *name;
        void (*run)(const sdx_kernels *set);
    } tests[] = {
        {"tiles", test_tiles},
        {"tile pairs", test_tile_pairs},
        {"row panels", test_row_panels},
        {"long sums", test_chains},
        {"narrow", test_narrow},
        {"swish of tails", test_tail_swish},
        {"activate", test_activate},
        {"math", test_math},
        {"unary", test_unary},
        {"binary", test_binary},
        {"sums", test_sums},
        {"weighted rows", test_weigh},
        {"softmax", test_softmax},
        {"attention", test_attend},
        {"pools", test_pools},
        {"transpose", test_transpose},
        {"panels", test_panels},
        {"winograd weights", test_winograd_weights},
        {"interleave", test_interleave},
        {"boxes", test_boxes},
        {"skinny", test_skinny},
        {"gemm", test_gemm},
    };
    if (count > 1 && strcmp(words[1], "--bench") == 0) return bench_sets();
    const sdx_kernels *set;
    for (size_t s = 0; (set = sdx_kernels_at(s)) != NULL; s++)
        for (size_t t = 0; t < sizeof tests / sizeof *tests; t++) {
            if (count > 1 && strcmp(words[1], tests[t].name) != 0) continue;
            const size_t before = mistakes;
            printed = 0;
            current = tests[t].name;
            isa = set->isa;
            tests[t].run(set);
            printf("%-8s %-16s %s\n", isa, current, mistakes == before ? "ok" : "WRONG");
        }
    printf("%zu mistakes\n", mistakes);
    return mistakes == 0 ? 0 : 1;
#endif
}
