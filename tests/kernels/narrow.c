/* narrow.c - packed matrices of few columns, some of which end with half a vector, of scaled rows and
 * columns, against a loop in double precision; and the activation of tails that has a form of its own. */
#include "kernels/matrix.h"
#include "kernels_test.h"

/* Packed from rows or from columns; turn 1: with scaled rows, 2: with scaled columns, an addend, Relu and
 * results that lie apart. */
static void check_matrix(size_t rows, size_t depth, size_t columns, bool turned) {
    const size_t gap = 3;
    const size_t size = sdx_matrix_packed_size(depth, columns);
    float *x = guarded(rows * depth), *weights = guarded(depth * columns), *bias = guarded(columns);
    float *factors = guarded(depth + columns), *addend = guarded(rows * columns), *packed = guarded(size), *scaled = guarded(size);
    float *out = guarded(rows * (columns + gap));
    random_fill(x, rows * depth);
    random_fill(weights, depth * columns);
    random_fill(bias, columns);
    random_fill(factors, depth + columns);
    random_fill(addend, rows * columns);
    const size_t row = turned ? 1 : columns, column = turned ? depth : 1;
    sdx_matrix_pack(NULL, depth, columns, weights, row, column, 1.0f, bias, packed, NULL);
    sdx_matrix_scale_rows(NULL, depth, columns, packed, factors, scaled);
    for (size_t turn = 0; turn < 3; turn++) {
        const sdx_tail tail = {.act = turn == 2 ? SDX_ACT_CLIP : SDX_ACT_NONE, .b = INFINITY,
                               .addend = turn == 2 ? addend : NULL, .addend_stride = columns};
        const size_t stride = columns + (turn == 2 ? gap : 0);
        if (turn == 2) sdx_matrix_scale(depth, columns, factors + depth, packed);
        for (size_t i = 0; i < rows * stride; i++) out[i] = 7.0f;
        sdx_matrix_run_apart(NULL, rows, depth, columns, turn == 1 ? scaled : packed, x, out, stride,
                             &tail);
        for (size_t i = 0; i < rows * columns; i++) {
            const size_t n = i % columns;
            const double added = turn == 2 ? (double)addend[i] : 0;
            double sum = (double)bias[n] + added, size_of = fabs((double)bias[n]) + fabs(added);
            for (size_t k = 0; k < depth; k++) {
                double term = (double)x[i / columns * depth + k] * (double)weights[k * row + n * column];
                if (turn) term *= (double)factors[turn == 1 ? k : depth + n];
                sum += term;
                size_of += fabs(term);
            }
            if (turn == 2 && sum < 0) sum = 0;
            if (!near((double)out[i / columns * stride + n], sum, 1e-6 * size_of,
                      turn == 2 ? "scaled columns" : turn ? "scaled rows" : "narrow", i))
                break;
        }
        for (size_t i = columns; i < rows * stride; i++)
            if (i % stride >= columns && out[i] != 7.0f) wrong("a gap of %zu columns was written", columns);
    }
    guarded_check(packed, size, "packed");
    guarded_check(scaled, size, "scaled");
    guarded_check(out, rows * (columns + gap), "narrow product");
    float *all[] = {x, weights, bias, factors, addend, packed, scaled, out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) guarded_free(all[i]);
}

/* The bits of a product follow from the depth alone: those of any row, of whole panels, of a term that is not
 * finite beside others that are. */
static void check_parts(size_t depth, size_t columns) {
    const size_t rows = 26, size = sdx_matrix_packed_size(depth, columns);
    const sdx_tail tail = {.act = SDX_ACT_SWISH, .a = 1.0f};
    float *x = guarded(rows * depth), *weights = guarded(depth * columns), *packed = guarded(size);
    float *all = guarded(rows * columns), *one = guarded(rows * columns);
    random_fill(x, rows * depth);
    random_fill(weights, depth * columns);
    x[depth - 1] = INFINITY; /* of row 0 alone */
    sdx_matrix_pack(NULL, depth, columns, weights, columns, 1, 1.0f, NULL, packed, NULL);
    sdx_matrix_run(NULL, rows, depth, columns, packed, x, all, &tail);
    for (size_t i = 0; i < columns; i++) {
        const bool up = weights[(depth - 1) * columns + i] > 0;
        if (up ? all[i] != INFINITY : !isnan(all[i]))
            wrong("%zu columns: infinity became %g", columns, (double)all[i]);
    }
    for (size_t i = 0; i < rows; i++)
        sdx_matrix_run(NULL, 1, depth, columns, packed, x + i * depth, one + i * columns, &tail);
    if (memcmp(all + columns, one + columns, (rows - 1) * columns * sizeof *all) != 0)
        wrong("%zu columns, depth %zu: other bits of single rows", columns, depth);
    const sdx_panels panels = sdx_matrix_panels(columns);
    for (size_t p = 0; p < panels.count; p++) {
        const size_t first = sdx_panel_first(&panels, p);
        const size_t count = p + 1 < panels.count ? 2 * panels.lanes : columns - first;
        sdx_matrix_run_columns(rows, depth, columns, packed, first, count, x, one, &tail);
        for (size_t i = 1; i < rows; i++)
            if (memcmp(all + i * columns + first, one + i * count, count * sizeof *all) != 0)
                wrong("%zu columns, depth %zu: other bits of panel %zu", columns, depth, p);
    }
    guarded_check(packed, size, "packed");
    guarded_check(one, rows * columns, "parts");
    float *parts[] = {x, weights, packed, all, one};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) guarded_free(parts[i]);
}

void test_narrow(const sdx_kernels *set) {
    static const size_t depths[] = {5, 48, 390, 2311};
    sdx_kernels_use(set);
    for (size_t columns = 1; columns <= 66; columns++)
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
            if (depths[d] > 1000 && columns % 5 != 0) continue;
            for (size_t rows = 1; rows <= 27; rows += 13)
                check_matrix(rows, depths[d], columns, (rows + columns) % 2 != 0);
            check_parts(depths[d], columns);
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
