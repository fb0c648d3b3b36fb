/* matrix.c - transpositions of matrices, and of any rank. */
#include "kernels_test.h"
#include "ops/movement.h"

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
