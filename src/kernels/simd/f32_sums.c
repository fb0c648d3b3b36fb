/* f32_sums.c - sums over rows and columns, and what normalizations make of them. Sums are taken in
 * double, in an order that depends on the length alone. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

#define VD (VL / 2)

static double vd_total(vd a) {
    double lanes[VD], sum = 0;
    memcpy(lanes, &a, sizeof a);
    for (size_t l = 0; l < VD; l++) sum += lanes[l];
    return sum;
}

void SDX_NAME(sdx_f32_sum)(const float *x, size_t n, double *sum) {
    vd s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    size_t i = 0;
    for (; i + 4 * VD <= n; i += 4 * VD) {
        s0 += vd_load_floats(x + i);
        s1 += vd_load_floats(x + i + VD);
        s2 += vd_load_floats(x + i + 2 * VD);
        s3 += vd_load_floats(x + i + 3 * VD);
    }
    double rest = 0;
    for (; i < n; i++) rest += (double)x[i];
    *sum = vd_total((s0 + s1) + (s2 + s3)) + rest;
}

/* Squares of differences from the mean, in float over short stretches: they are all positive. */
#define STRETCH 1024

void SDX_NAME(sdx_f32_deviations)(const float *x, size_t n, float mean, double *sum) {
    const vf m = vf_set1(mean);
    double total = 0;
    for (size_t from = 0; from < n; from += STRETCH) {
        const size_t end = n - from < STRETCH ? n : from + STRETCH;
        vf s0 = vf_set1(0.0f), s1 = s0, s2 = s0, s3 = s0;
        size_t i = from;
        for (; i + 4 * VL <= end; i += 4 * VL) {
            const vf d0 = vf_load(x + i) - m, d1 = vf_load(x + i + VL) - m;
            const vf d2 = vf_load(x + i + 2 * VL) - m, d3 = vf_load(x + i + 3 * VL) - m;
            s0 = vf_fma(d0, d0, s0);
            s1 = vf_fma(d1, d1, s1);
            s2 = vf_fma(d2, d2, s2);
            s3 = vf_fma(d3, d3, s3);
        }
        for (; i + VL <= end; i += VL) {
            const vf d = vf_load(x + i) - m;
            s0 = vf_fma(d, d, s0);
        }
        total += (double)vf_sum((s0 + s1) + (s2 + s3));
        for (; i < end; i++) total += (double)((x[i] - mean) * (x[i] - mean));
    }
    *sum = total;
}

/* Columns of a matrix: COLUMN_VECTORS at a time in registers while the rows go by. */
#define COLUMN_VECTORS 8

static void wide_columns(const float *x, size_t rows, size_t stride, double *sums) {
    vd s[COLUMN_VECTORS];
    SIMD_UNROLL
    for (size_t v = 0; v < COLUMN_VECTORS; v++) s[v] = (vd){0};
    for (size_t r = 0; r < rows; r++, x += stride)
        SIMD_UNROLL
        for (size_t v = 0; v < COLUMN_VECTORS; v++) s[v] += vd_load_floats(x + v * VD);
    memcpy(sums, s, sizeof s);
}

void SDX_NAME(sdx_f32_column_sums)(const float *x, size_t rows, size_t stride, size_t n,
                                   double *sums) {
    size_t j = 0;
    for (; j + COLUMN_VECTORS * VD <= n; j += COLUMN_VECTORS * VD)
        wide_columns(x + j, rows, stride, sums + j);
    for (; j + VD <= n; j += VD) {
        vd s = {0};
        for (size_t r = 0; r < rows; r++) s += vd_load_floats(x + j + r * stride);
        memcpy(sums + j, &s, sizeof s);
    }
    for (; j < n; j++) {
        sums[j] = 0;
        for (size_t r = 0; r < rows; r++) sums[j] += (double)x[j + r * stride];
    }
}

/* ---- what follows ---------------------------------------------------------------------------- */

SIMD_INLINE vf part(const float *p, size_t left) {
    return left >= VL ? vf_load(p) : vf_load_n(p, left);
}
SIMD_INLINE void put(float *p, vf a, size_t left) {
    if (left >= VL) vf_store(p, a);
    else vf_store_n(p, a, left);
}

SIMD_INLINE void scaled(const float *x, float *y, size_t n, float mean, float factor,
                        const float *scale, const float *bias) {
    const vf m = vf_set1(mean), f = vf_set1(factor);
    for (size_t i = 0; i < n; i += VL) {
        vf value = (part(x + i, n - i) - m) * f;
        const vf s = part(scale + i, n - i);
        if (bias) value = vf_fma(value, s, part(bias + i, n - i));
        else value *= s;
        put(y + i, value, n - i);
    }
}

void SDX_NAME(sdx_f32_normalize)(const float *x, float *y, size_t n, float mean, float factor,
                                 const float *scale, const float *bias) {
    if (bias) scaled(x, y, n, mean, factor, scale, bias);
    else scaled(x, y, n, mean, factor, scale, NULL);
}

void SDX_NAME(sdx_f32_affine)(const float *x, float *y, size_t n, float mean, float factor,
                              float shift) {
    const vf m = vf_set1(mean), f = vf_set1(factor), b = vf_set1(shift);
    for (size_t i = 0; i < n; i += VL)
        put(y + i, vf_fma(part(x + i, n - i) - m, f, b), n - i);
}
