/* chains.c - long sums of packed products: rounding errors stay those of short chains, a large bias does
 * not spoil small terms, and the bits do not depend on how many rows there are. */
#include "kernels/matrix.h"
#include "kernels_test.h"

#define COLUMNS 70

/* rows x depth times depth x COLUMNS, each row of x the same as the first. */
static void multiply(size_t rows, size_t depth, const float *row, const float *weights,
                     const float *bias, float *out) {
    const sdx_tail tail = {.act = SDX_ACT_NONE};
    float *x = guarded(rows * depth), *packed = guarded(sdx_matrix_packed_size(depth, COLUMNS));
    for (size_t i = 0; i < rows; i++) memcpy(x + i * depth, row, depth * sizeof *x);
    sdx_matrix_pack(NULL, depth, COLUMNS, weights, COLUMNS, 1, 1.0f, bias, packed, NULL);
    sdx_matrix_run(NULL, rows, depth, COLUMNS, packed, x, out, &tail);
    guarded_check(out, rows * COLUMNS, "long product");
    guarded_free(x);
    guarded_free(packed);
}

/* depth times the same weight, and a bias. */
static void check_error(size_t rows, size_t depth, float weight, float bias, double tolerance) {
    float *row = guarded(depth), *weights = guarded(depth * COLUMNS), biases[COLUMNS];
    float *out = guarded(rows * COLUMNS);
    for (size_t i = 0; i < depth; i++) row[i] = 1;
    for (size_t i = 0; i < depth * COLUMNS; i++) weights[i] = weight;
    for (size_t i = 0; i < COLUMNS; i++) biases[i] = bias;
    multiply(rows, depth, row, weights, biases, out);
    const double exact = (double)bias + (double)depth * (double)weight;
    for (size_t i = 0; i < rows * COLUMNS; i++)
        if (!near((double)out[i], exact, tolerance, "long sum", i)) break;
    guarded_free(row);
    guarded_free(weights);
    guarded_free(out);
}

static void check_bits(size_t depth) {
    static const size_t heights[] = {1, 6, 7, 40, 300};
    float *row = guarded(depth), *weights = guarded(depth * COLUMNS), *bias = guarded(COLUMNS);
    float first[COLUMNS];
    random_fill(row, depth);
    random_fill(weights, depth * COLUMNS);
    random_fill(bias, COLUMNS);
    for (size_t h = 0; h < sizeof heights / sizeof *heights; h++) {
        float *part = guarded(heights[h] * COLUMNS);
        multiply(heights[h], depth, row, weights, bias, part);
        if (h == 0) memcpy(first, part, sizeof first);
        for (size_t i = 0; i < heights[h]; i++)
            if (memcmp(first, part + i * COLUMNS, sizeof first) != 0) {
                wrong("depth %zu: row %zu of %zu has other bits than a single one", depth, i,
                      heights[h]);
                break;
            }
        guarded_free(part);
    }
    guarded_free(row);
    guarded_free(weights);
    guarded_free(bias);
}

void test_chains(const sdx_kernels *set) {
    static const size_t depths[] = {48, 49, 384, 385, 1000, 2304, 2305, 5000};
    sdx_kernels_use(set);
    for (size_t rows = 1; rows <= 40; rows += 13) {
        check_error(rows, 9216, 0.1f, 0, 0.01);      /* one chain: off by about 0.1 */
        check_error(rows, 300, 0.001f, 10000, 0.001); /* bias first: 0.007 */
    }
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) check_bits(depths[d]);
    sdx_kernels_use(NULL);
}
