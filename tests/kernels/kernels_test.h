/* kernels_test.h - what the tests and measurements of the kernels share: arrays between guards,
 * random numbers, comparisons that count mistakes instead of stopping at the first, and timing. */
#ifndef SDX_TESTS_KERNELS_TEST_H
#define SDX_TESTS_KERNELS_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/kernels.h"

/* ---- checking ------------------------------------------------------------------------------- */

/* Counts a mistake and prints the first few of each test. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* True, or a mistake: `got` lies within `tolerance` of `expected`; NaN and infinities must agree. */
bool near(double got, double expected, double tolerance, const char *what, size_t at);

/* count floats between guards that `guarded_check` looks at; out of memory ends the program. */
float *guarded(size_t count);
void guarded_check(const float *data, size_t count, const char *what);
void guarded_free(float *data);

/* Repeatable numbers: 32 random bits; a float of [-1, 1); count of the latter. */
uint32_t random_bits(void);
float random_float(void);
void random_fill(float *data, size_t count);

/* Distance of a result from the exact value in units of the last place of a float; below the
 * normal numbers the unit is that of the smallest normal number. */
double ulp_error(float got, double exact);

/* ---- measuring ------------------------------------------------------------------------------- */

/* Seconds of one call on this thread, the best of many over about `budget` seconds. */
double best_time(void (*call)(void *arg), void *arg, double budget);

/* ---- the tests, each run for every instruction set at hand ----------------------------------- */

void test_tiles(const sdx_kernels *set);
void test_tile_pairs(const sdx_kernels *set);
void test_row_panels(const sdx_kernels *set);
void test_chains(const sdx_kernels *set);
void test_narrow(const sdx_kernels *set);
void test_tail_swish(const sdx_kernels *set);
void test_activate(const sdx_kernels *set);
void test_math(const sdx_kernels *set);
void test_unary(const sdx_kernels *set);
void test_binary(const sdx_kernels *set);
void test_sums(const sdx_kernels *set);
void test_attend(const sdx_kernels *set);
void test_weigh(const sdx_kernels *set);
void test_softmax(const sdx_kernels *set);
void test_pools(const sdx_kernels *set);
void test_transpose(const sdx_kernels *set);
void test_panels(const sdx_kernels *set);
void test_winograd_weights(const sdx_kernels *set);
void test_interleave(const sdx_kernels *set);
void test_boxes(const sdx_kernels *set);
void test_skinny(const sdx_kernels *set);
void test_gemm(const sdx_kernels *set);

/* Both print figures and return how many targets were missed. */
size_t bench_products(const sdx_kernels *set);
size_t bench_all(const sdx_kernels *set);

#endif
