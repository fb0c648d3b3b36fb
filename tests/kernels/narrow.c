/* narrow.c - packed matrices of few columns, some of which run on half vectors, and of scaled rows, against
 * a loop in double precision; and the activation of tails that has a form of its own. */
#include "kernels/matrix.h"
#include "kernels_test.h"

static void check_matrix(size_t rows, size_t depth, size_t columns) {
    const sdx_tail tail = {.act = SDX_ACT_NONE};
    const size_t size = sdx_matrix_packed_size(depth, columns);
    float *x = guarded(rows * depth), *weights = guarded(depth * columns), *bias = guarded(columns);
    float *factors = guarded(depth), *packed = guarded(size), *scaled = guarded(size);
    float *out = guarded(rows * columns);
    random_fill(x, rows * depth);
    random_fill(weights, depth * columns);
    random_fill(bias, columns);
    random_fill(factors, depth);
    sdx_matrix_pack(NULL, depth, columns, weights, columns, 1, 1.0f, bias, packed, NULL);
    sdx_matrix_scale_rows(NULL, depth, columns, packed, factors, scaled);
    for (size_t turn = 0; turn < 2; turn++) {
        sdx_matrix_run(NULL, rows, depth, columns, turn ? scaled : packed, x, out, &tail);
        for (size_t i = 0; i < rows * columns; i++) {
            double sum = (double)bias[i % columns], size_of = fabs(sum);
            for (size_t k = 0; k < depth; k++) {
                double term = (double)x[i / columns * depth + k] * (turn ? (double)factors[k] : 1) *
                              (double)weights[k * columns + i % columns];
                sum += term;
                size_of += fabs(term);
            }
            if (!near((double)out[i], sum, 1e-6 * size_of, turn ? "scaled rows" : "narrow", i)) break;
        }
    }
    guarded_check(packed, size, "packed");
    guarded_check(scaled, size, "scaled");
    guarded_check(out, rows * columns, "narrow product");
    float *all[] = {x, weights, bias, factors, packed, scaled, out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

void test_narrow(const sdx_kernels *set) {
    sdx_kernels_use(set);
    for (size_t columns = 1; columns <= 66; columns++)
        for (size_t rows = 1; rows <= 27; rows += 13) {
            check_matrix(rows, 5, columns);
            check_matrix(rows, 390, columns);
        }
    sdx_kernels_use(NULL);
}

/* Every float that step meets, as the only term of a product: to a part of x, which is what stands beside
 * it in a sum; NaN and infinity as they are. */
void test_tail_swish(const sdx_kernels *set) {
    const float one = 1.0f, *row = &one, slopes[] = {1.0f, -1.5f};
    const size_t width = 2 * set->lanes;
    float *in = guarded(width), *out = guarded(width);
    for (size_t s = 0; s < 2; s++)
        for (uint64_t bits = 0; bits <= UINT32_MAX;) {
            for (size_t i = 0; i < width; i++, bits += 9973) {
                const uint32_t low = (uint32_t)(bits <= UINT32_MAX ? bits : 0);
                memcpy(&in[i], &low, sizeof low);
            }
            const sdx_tiles job = {.rows = &row, .row_count = 1, .taps = 1, .row_taps = 1,
                                   .depth = 1, .panel = in, .vectors = 2, .columns = width,
                                   .out = out, .out_stride = width, .finish = true,
                                   .tail = {.act = SDX_ACT_SWISH, .a = slopes[s]}};
            set->f32_tiles(&job);
            for (size_t i = 0; i < width; i++) {
                const double x = (double)in[i], e = x / (1 + exp(-(double)slopes[s] * x));
                if (isinf(x) && isnan(e)) continue; /* 0 times infinity */
                /* Beyond the exponent's range the part that is left may be any that small. */
                if (!near((double)out[i], e, 2e-7 * fabs(x) + 0x1p-126, "swish", i)) return;
                if (fabs(x) < 10 && !near((double)out[i], e, 1.2e-6 * fabs(e) + 0x1p-126,
                                          "small swish", i))
                    return;
            }
        }
    guarded_check(out, width, "swish");
    guarded_free(in);
    guarded_free(out);
}
