/* matrix.c - transpositions, products with few rows, and the whole matrix product over many shapes
 * and strides. */
#include "kernels/gemm.h"
#include "kernels_test.h"
#include "ops/movement.h"

void test_interleave(const sdx_kernels *set) {
    for (size_t n = 0; n < 70; n++) {
        const size_t rows = 3, step = n + n % 3, out_step = 2 * n + n % 4;
        float *a = guarded(rows * step + 1), *b = guarded(rows * step + 1);
        float *out = guarded(rows * out_step + 1);
        for (size_t i = 0; i < rows * step; i++) {
            a[i] = (float)i;
            b[i] = -(float)i - 1;
        }
        for (size_t i = 0; i < rows * out_step + 1; i++) out[i] = 0.5f;
        float *three = guarded(3 * n + 1);
        set->f32_interleave_3(a, b, a + 1, three, n);
        for (size_t i = 0; i < 3 * n; i++)
            near((double)three[i], (double)(i % 3 == 1 ? b[i / 3] : a[i / 3 + i % 3 / 2]), 0,
                 "interleave 3", i);
        guarded_check(three, 3 * n + 1, "interleave 3");
        guarded_free(three);
        set->f32_interleave(a, b, step, out, out_step, rows, n);
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < out_step; i++) {
                const size_t at = r * step + i / 2;
                const float want = i >= 2 * n ? 0.5f : i % 2 ? -(float)at - 1 : (float)at;
                near((double)out[r * out_step + i], (double)want, 0, "interleave", i);
            }
        guarded_check(out, rows * out_step + 1, "interleave");
        guarded_free(a);
        guarded_free(b);
        guarded_free(out);
    }
}

void test_transpose(const sdx_kernels *set) {
    for (size_t rows = 0; rows <= 35; rows++)
        for (size_t columns = 0; columns <= 35; columns++) {
            const size_t from_step = columns + rows % 3, to_step = rows + columns % 2;
            float *from = guarded(rows * from_step + 1), *to = guarded(columns * to_step + 1);
            random_fill(from, rows * from_step);
            set->f32_transpose(from, (ptrdiff_t)from_step, to, (ptrdiff_t)to_step, rows, columns);
            for (size_t c = 0; c < columns; c++)
                for (size_t r = 0; r < rows; r++)
                    near((double)to[c * to_step + r], (double)from[r * from_step + c], 0, "turn",
                         r * columns + c);
            guarded_check(to, columns * to_step + 1, "transpose");
            guarded_free(from);
            guarded_free(to);
        }
}

/* Transpositions of any rank and element, by the box that operators use. */
static void check_box(size_t unit, int32_t rank, const int64_t *dims, const int32_t *perm,
                      sdx_pool *pool) {
    int64_t step[4], stride[4], count = 1;
    sdx_box box = {0};
    for (int32_t d = rank - 1; d >= 0; d--) {
        step[d] = count;
        count *= dims[d];
    }
    count = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        stride[d] = count;
        count *= dims[perm[d]];
    }
    for (int32_t d = 0; d < rank; d++) sdx_box_add(&box, dims[perm[d]], step[perm[d]], stride[d]);
    const size_t floats = ((size_t)count * unit + 3) / 4;
    float *from = guarded(floats), *to = guarded(floats);
    uint8_t *source = (uint8_t *)from, *target = (uint8_t *)to;
    for (size_t i = 0; i < (size_t)count * unit; i++) source[i] = (uint8_t)random_bits();
    sdx_box_copy(&box, unit, from, to, pool);
    for (int64_t o = 0; o < count; o++) {
        int64_t at = 0;
        for (int32_t d = 0; d < rank; d++) at += o / stride[d] % dims[perm[d]] * step[perm[d]];
        if (memcmp(target + (size_t)o * unit, source + (size_t)at * unit, unit) == 0) continue;
        wrong("box of rank %d, %zu bytes: element %lld", (int)rank, unit, (long long)o);
        break;
    }
    guarded_check(to, floats, "box");
    guarded_free(from);
    guarded_free(to);
}

void test_boxes(const sdx_kernels *set) {
    sdx_pool *pool = NULL;
    sdx_error error;
    (void)set;
    if (sdx_pool_create(NULL, 2, &pool, &error) != SDX_STATUS_OK) pool = NULL;
    for (unsigned i = 0; i < 1000; i++) {
        static const int64_t sizes[] = {1, 2, 3, 4, 7, 8, 16, 17, 33, 70};
        const int32_t rank = 2 + (int32_t)(random_bits() % 3);
        int64_t dims[4];
        int32_t perm[4] = {0, 1, 2, 3};
        for (int32_t d = 0; d < rank; d++) {
            const int32_t other = (int32_t)(random_bits() % (unsigned)(d + 1));
            dims[d] = sizes[random_bits() % (rank == 4 ? 8 : 10)];
            perm[d] = perm[other];
            perm[other] = d;
        }
        check_box((size_t)1 << i % 5, rank, dims, perm, pool);
    }
    static const int64_t image[] = {2, 3, 40, 50}, pixels[] = {2, 40, 50, 3};
    for (size_t unit = 1; unit <= 16; unit *= 2) {
        check_box(unit, 4, image, (const int32_t[]){0, 2, 3, 1}, pool);
        check_box(unit, 4, pixels, (const int32_t[]){0, 3, 1, 2}, pool);
    }
    sdx_pool_release(pool);
}

static void check_dots(const sdx_kernels *set, size_t m, size_t n, size_t k) {
    float *a = guarded(m * (k + 1)), *b = guarded(n * (k + 2)), *c = guarded(m * n);
    random_fill(a, m * (k + 1));
    random_fill(b, n * (k + 2));
    for (size_t i = 0; i < m * n; i++) c[i] = 1;
    sdx_f32_dots_job job = {.a = a, .b = b, .a_row = k + 1, .b_row = k + 2, .a_rows = m,
                            .b_rows = n, .depth = k, .c = c, .c_row = 1, .c_column = m,
                            .add = k % 2 == 0};
    set->f32_dots(&job);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++) {
            double sum = k % 2 == 0;
            for (size_t p = 0; p < k; p++)
                sum += (double)a[i * (k + 1) + p] * (double)b[j * (k + 2) + p];
            near((double)c[j * m + i], sum, 1e-5, "dot", j * m + i);
        }
    guarded_check(c, m * n, "dots");
    guarded_free(a);
    guarded_free(b);
    guarded_free(c);
}

static void check_stream(const sdx_kernels *set, size_t m, size_t n, size_t k) {
    float *a = guarded(m * (k + 1)), *b = guarded(k * (n + 1)), *c = guarded(m * n);
    random_fill(a, m * (k + 1));
    random_fill(b, k * (n + 1));
    for (size_t i = 0; i < m * n; i++) c[i] = 1;
    set->f32_stream_rows(a, k + 1, b, n + 1, c, n, m, n, k);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 1;
            for (size_t p = 0; p < k; p++)
                sum += (double)a[i * (k + 1) + p] * (double)b[p * (n + 1) + j];
            near((double)c[i * n + j], sum, 1e-5, "stream", i * n + j);
        }
    guarded_check(c, m * n, "stream");
    guarded_free(a);
    guarded_free(b);
    guarded_free(c);
}

void test_skinny(const sdx_kernels *set) {
    for (size_t m = 1; m <= 5; m++)
        for (size_t n = 1; n <= 19; n++)
            for (size_t k = 1; k <= 3 * set->lanes + 1; k += 3) {
                check_dots(set, m, n, k);
                check_stream(set, m, n, k);
            }
}

/* ---- the whole product, by the set that is picked -------------------------------------------- */

static void check_gemm(sdx_pool *pool, size_t m, size_t n, size_t k, unsigned options) {
    const size_t lda = 1 + (options & 1 ? m : k), ldb = 2 + (options & 2 ? k : n), ldc = n + 1;
    const size_t a_size = lda * (options & 1 ? k : m), b_size = ldb * (options & 2 ? n : k);
    const size_t c_size = (m - 1) * ldc + n, room = sdx_f32_gemm_scratch(m, n, k);
    float *a = guarded(a_size), *b = guarded(b_size), *c = guarded(c_size);
    float *again = guarded(c_size), *scratch = guarded(room / sizeof(float) + 1);
    random_fill(a, a_size);
    random_fill(b, b_size);
    random_fill(c, c_size);
    memcpy(again, c, c_size * sizeof *c);
    float *before = guarded(c_size);
    memcpy(before, c, c_size * sizeof *c);
    const sdx_f32_matrix am = {a, options & 1 ? 1 : lda, options & 1 ? lda : 1};
    const sdx_f32_matrix bm = {b, options & 2 ? 1 : ldb, options & 2 ? ldb : 1};
    const bool add = (options & 4) != 0;
    sdx_f32_gemm_strided(NULL, m, n, k, am, bm, c, ldc, add, scratch);
    sdx_f32_gemm_strided(pool, m, n, k, am, bm, again, ldc, add, scratch);
    if (memcmp(c, again, c_size * sizeof *c) != 0)
        wrong("%zux%zux%zu: other bits with two threads", m, n, k);
    guarded_check(scratch, room / sizeof(float) + 1, "scratch of a product");
    if (!add && am.col == 1 && m <= SDX_GEMM_PANEL_ROWS) { /* the same in two steps */
        float *packed = guarded((n + 31) / 32 * 32 * k);
        sdx_f32_pack_panels(bm, k, n, packed);
        sdx_f32_panel_product(m, n, k, a, lda, packed, again, ldc);
        for (size_t i = 0; i < c_size; i++)
            near((double)again[i], (double)c[i], 3e-6 * (2 + sqrt((double)k)), "two steps", i);
        guarded_check(packed, (n + 31) / 32 * 32 * k, "packed panels");
        guarded_check(again, c_size, "product of panels");
        guarded_free(packed);
    }
    guarded_check(c, c_size, "product");
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < ldc && i * ldc + j < c_size; j++) {
            double sum = add || j == n ? (double)before[i * ldc + j] : 0;
            for (size_t p = 0; p < k && j < n; p++)
                sum += (double)am.data[i * am.row + p * am.col] *
                       (double)bm.data[p * bm.row + j * bm.col];
            if (!near((double)c[i * ldc + j], sum, 3e-6 * (2 + sqrt((double)k)), "product",
                      i * ldc + j)) {
                wrong("... of %zux%zux%zu with options %u", m, n, k, options);
                i = m - 1;
                break;
            }
        }
    guarded_free(a);
    guarded_free(b);
    guarded_free(c);
    guarded_free(again);
    guarded_free(before);
    guarded_free(scratch);
}

void test_gemm(const sdx_kernels *set) {
    static const size_t shapes[][3] = {
        {1, 1, 1},   {1, 300, 40},  {1, 40, 300}, {300, 1, 40},  {2, 600, 33}, {5, 100, 70},
        {6, 300, 9}, {8, 17, 600},  {9, 9, 9},    {73, 31, 257}, {64, 65, 64}, {197, 64, 197},
        {7, 1030, 20}, {144, 48, 512}, {300, 1, 700}, {290, 80, 511}, {80, 5, 30}, {33, 1100, 300},
        {100, 70, 1100},
    };
    static sdx_pool *pool;
    sdx_error error;
    (void)set;
    if (!pool && sdx_pool_create(NULL, 2, &pool, &error) != SDX_STATUS_OK) pool = NULL;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned options = 0; options < 8; options++)
            check_gemm(pool, shapes[s][0], shapes[s][1], shapes[s][2], options);
    check_gemm(pool, 100, 200, 4095, 0); /* rows of A a power of two apart */
    check_gemm(pool, 1, 17000, 20, 0);   /* more than a strip */
    sdx_pool_release(pool);
    pool = NULL;
}
