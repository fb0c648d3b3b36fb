/* f32_skinny.c - products with a handful of rows, where packing would cost more than the product:
 * the large operand is read once, where it lies. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

/* ---- rows of B as they lie ------------------------------------------------------------------- */

#define DEEP  8 /* rows of B at a time: so many streams, and C is read and written once for them */
#define LINE  (64 / sizeof(float)) /* of the caches */
/* What is asked for this early, in floats: the hardware's own streams end with each page. */
#define AHEAD 256

/* The sum of a few rows, each times its factor, at one vector of columns. */
SIMD_INLINE vf few_rows(const vf *x, const float *b, size_t b_row, size_t depth, size_t lanes) {
    vf sum = x[0] * vf_load_lanes(b, lanes);
    SIMD_UNROLL
    for (size_t p = 1; p < depth; p++) sum = vf_fma(x[p], vf_load_lanes(b + p * b_row, lanes), sum);
    return sum;
}

SIMD_INLINE void add_rows(const float *a, const float *b, size_t b_row, float *c, size_t n,
                          size_t depth) {
    vf x[DEEP];
    SIMD_UNROLL
    for (size_t p = 0; p < depth; p++) x[p] = vf_broadcast(a + p);
    size_t j = 0;
    for (; j + LINE <= n; j += LINE) {
        SIMD_UNROLL
        for (size_t p = 0; p < depth; p++) __builtin_prefetch(b + p * b_row + j + AHEAD, 0, 2);
        SIMD_UNROLL
        for (size_t v = j; v < j + LINE; v += VL)
            vf_store(c + v, vf_load(c + v) + few_rows(x, b + v, b_row, depth, VL));
    }
    for (; j + VL <= n; j += VL)
        vf_store(c + j, vf_load(c + j) + few_rows(x, b + j, b_row, depth, VL));
    if (j < n)
        vf_store_n(c + j, vf_load_n(c + j, n - j) + few_rows(x, b + j, b_row, depth, n - j), n - j);
}

void SDX_NAME(sdx_f32_stream_rows)(const float *a, size_t a_row, const float *b, size_t b_row,
                                   float *c, size_t c_row, size_t rows, size_t n, size_t depth) {
    size_t p = 0;
    for (; p + DEEP <= depth; p += DEEP)
        for (size_t i = 0; i < rows; i++)
            add_rows(a + i * a_row + p, b + p * b_row, b_row, c + i * c_row, n, DEEP);
    for (; p < depth; p++)
        for (size_t i = 0; i < rows; i++)
            add_rows(a + i * a_row + p, b + p * b_row, b_row, c + i * c_row, n, 1);
}

/* ---- rows with rows -------------------------------------------------------------------------- */

/* na rows of A with nb rows of B; a dot is summed in the same order whatever the two are. */
SIMD_INLINE void dots(const sdx_f32_dots_job *job, size_t i, size_t j, size_t na, size_t nb) {
    const float *a = job->a + i * job->a_row, *b = job->b + j * job->b_row;
    vf sum[8];
    SIMD_UNROLL
    for (size_t s = 0; s < na * nb; s++) sum[s] = vf_set1(0.0f);
    size_t p = 0;
    for (; p + VL <= job->depth; p += VL) {
        SIMD_UNROLL
        for (size_t u = 0; u < na; u++) {
            const vf x = vf_load(a + u * job->a_row + p);
            SIMD_UNROLL
            for (size_t v = 0; v < nb; v++)
                sum[u * nb + v] = vf_fma(x, vf_load(b + v * job->b_row + p), sum[u * nb + v]);
        }
    }
    const size_t left = job->depth - p;
    SIMD_UNROLL
    for (size_t u = 0; u < na; u++)
        SIMD_UNROLL
        for (size_t v = 0; v < nb; v++) {
            vf s = sum[u * nb + v];
            if (left > 0)
                s = vf_fma(vf_load_n(a + u * job->a_row + p, left),
                           vf_load_n(b + v * job->b_row + p, left), s);
            float *c = job->c + (i + u) * job->c_row + (j + v) * job->c_column;
            *c = job->add ? *c + vf_sum(s) : vf_sum(s);
        }
}

void SDX_NAME(sdx_f32_dots)(const sdx_f32_dots_job *job) {
    size_t j = 0;
    if (job->a_rows == 1)
        for (; j + 8 <= job->b_rows; j += 8) dots(job, 0, j, 1, 8);
    for (; j + 4 <= job->b_rows; j += 4) {
        size_t i = 0;
        for (; i + 2 <= job->a_rows; i += 2) dots(job, i, j, 2, 4);
        if (i < job->a_rows) dots(job, i, j, 1, 4);
    }
    for (; j < job->b_rows; j++)
        for (size_t i = 0; i < job->a_rows; i++) dots(job, i, j, 1, 1);
}
