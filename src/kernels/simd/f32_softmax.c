/* f32_softmax.c - Softmax and its logarithm over rows, and over columns side by side; in place or
 * not. A row with a NaN, or with nothing but -infinity, becomes NaN. */
#include <math.h>

#include "kernels/simd/simd_math.h"
#include "kernels/kernels.h"

void SDX_NAME(sdx_f32_max)(const float *x, size_t n, float *max) {
    const vf low = vf_set1(-INFINITY);
    vf best0 = low, best1 = low;
    vi nan = vi_set1(0);
    size_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL) {
        const vf x0 = vf_load(x + i), x1 = vf_load(x + i + VL);
        best0 = vf_max(x0, best0);
        best1 = vf_max(x1, best1);
        nan |= (vi)(x0 != x0) | (vi)(x1 != x1);
    }
    float best = vf_largest(vf_max(best0, best1));
    bool odd = false;
    SIMD_UNROLL
    for (int l = 0; l < VL; l++) odd |= nan[l] != 0;
    for (; i < n; i++) {
        best = x[i] > best ? x[i] : best;
        odd |= x[i] != x[i];
    }
    *max = odd ? NAN : best;
}

/* The rest of a row, padded with what exp makes 0 of. */
SIMD_INLINE vf load_rest(const float *x, size_t n) {
    float lanes[VL];
    for (size_t l = 0; l < VL; l++) lanes[l] = l < n ? x[l] : -INFINITY;
    return vf_load(lanes);
}

/* y = exp(x - shift), y NULL: not wanted; x <= shift. Sums of short stretches are added in
 * double. */
#define STRETCH 2048

SIMD_INLINE double exp_sum(const float *x, float shift, float *y, size_t n) {
    const vf by = vf_set1(shift);
    double total = 0;
    for (size_t from = 0; from < n; from += STRETCH) {
        const size_t end = n - from < STRETCH ? n : from + STRETCH;
        vf s0 = vf_set1(0.0f), s1 = s0;
        size_t i = from;
        for (; i + 2 * VL <= end; i += 2 * VL) {
            const vf e0 = vf_exp_negative(vf_load(x + i) - by);
            const vf e1 = vf_exp_negative(vf_load(x + i + VL) - by);
            if (y) vf_store(y + i, e0);
            if (y) vf_store(y + i + VL, e1);
            s0 += e0;
            s1 += e1;
        }
        for (; i < end; i += VL) {
            const size_t left = end - i;
            const vf value = left >= VL ? vf_load(x + i) : load_rest(x + i, left);
            const vf e = vf_exp_negative(value - by);
            if (y && left >= VL) vf_store(y + i, e);
            else if (y) vf_store_n(y + i, e, left);
            s0 += e;
        }
        total += (double)vf_sum(s0 + s1);
    }
    return total;
}

void SDX_NAME(sdx_f32_exp_sum)(const float *x, float shift, float *y, size_t n, float *sum) {
    *sum = (float)exp_sum(x, shift, y, n);
}

void SDX_NAME(sdx_f32_softmax)(const float *x, float *y, size_t rows, size_t n, bool logarithm) {
    for (size_t r = 0; r < rows; r++, x += n, y += n) {
        float max;
        SDX_NAME(sdx_f32_max)(x, n, &max);
        if (logarithm) {
            const vf high = vf_set1(max), sum = vf_set1((float)log(exp_sum(x, max, NULL, n)));
            size_t i = 0;
            for (; i + VL <= n; i += VL) vf_store(y + i, vf_load(x + i) - high - sum);
            if (i < n) vf_store_n(y + i, vf_load_n(x + i, n - i) - high - sum, n - i);
            continue;
        }
        const vf scale = vf_set1((float)(1 / exp_sum(x, max, y, n)));
        size_t i = 0;
        for (; i + VL <= n; i += VL) vf_store(y + i, vf_load(y + i) * scale);
        if (i < n) vf_store_n(y + i, vf_load_n(y + i, n - i) * scale, n - i);
    }
}

/* s * scale + masks, in place. */
SIMD_INLINE void add_masks(float *s, size_t n, float scale, const float *mask0, const float *mask1) {
    const vf by = vf_set1(scale);
    size_t i = 0;
    for (; i + VL <= n; i += VL) {
        vf x = vf_fma(vf_load(s + i), by, vf_load(mask0 + i));
        if (mask1) x += vf_load(mask1 + i);
        vf_store(s + i, x);
    }
    if (i == n) return;
    vf x = vf_fma(vf_load_n(s + i, n - i), by, vf_load_n(mask0 + i, n - i));
    if (mask1) x += vf_load_n(mask1 + i, n - i);
    vf_store_n(s + i, x, n - i);
}

void SDX_NAME(sdx_f32_attend)(float *s, size_t n, float scale, const float *mask0,
                              const float *mask1, float *inverse) {
    float max;
    if (mask0) {
        add_masks(s, n, scale, mask0, mask1);
        scale = 1;
    }
    SDX_NAME(sdx_f32_max)(s, n, &max);
    const vf by = vf_set1(scale), shift = vf_set1(-max * scale);
    double total = 0;
    for (size_t from = 0; from < n; from += STRETCH) {
        const size_t end = n - from < STRETCH ? n : from + STRETCH;
        vf s0 = vf_set1(0.0f), s1 = s0;
        size_t i = from;
        for (; i + 2 * VL <= end; i += 2 * VL) {
            const vf e0 = vf_exp_negative(vf_fma(vf_load(s + i), by, shift));
            const vf e1 = vf_exp_negative(vf_fma(vf_load(s + i + VL), by, shift));
            vf_store(s + i, e0);
            vf_store(s + i + VL, e1);
            s0 += e0;
            s1 += e1;
        }
        for (; i < end; i += VL) {
            const size_t left = end - i;
            const vf x = left >= VL ? vf_load(s + i) : load_rest(s + i, left);
            const vf e = vf_exp_negative(vf_fma(x, by, shift));
            if (left >= VL) vf_store(s + i, e);
            else vf_store_n(s + i, e, left);
            s0 += e;
        }
        total += (double)vf_sum(s0 + s1);
    }
    *inverse = (float)(1 / total);
}

/* One vector of columns; count of them are stored. */
static void columns(const float *x, float *y, size_t length, size_t step, size_t count,
                    bool logarithm) {
#define GET(p)    (count == VL ? vf_load(p) : vf_load_n(p, count))
#define PUT(p, a) (count == VL ? vf_store(p, a) : vf_store_n(p, a, count))
    vf max = GET(x), sum = vf_set1(0.0f);
    vi nan = (vi)(max != max);
    for (size_t k = 1; k < length; k++) {
        const vf v = GET(x + k * step);
        max = vf_max(v, max);
        nan |= (vi)(v != v);
    }
    max = vi_floats(vf_bits(max) | nan);
    for (size_t k = 0; k < length; k++) {
        const vf e = vf_exp_negative(GET(x + k * step) - max);
        if (!logarithm) PUT(y + k * step, e);
        sum += e;
    }
    if (logarithm) {
        const vf last = vf_log(sum);
        for (size_t k = 0; k < length; k++) PUT(y + k * step, GET(x + k * step) - max - last);
    } else {
        const vf scale = vf_set1(1.0f) / sum;
        for (size_t k = 0; k < length; k++) PUT(y + k * step, GET(y + k * step) * scale);
    }
}

void SDX_NAME(sdx_f32_softmax_columns)(const float *x, float *y, size_t length, size_t step,
                                       size_t n, bool logarithm) {
    for (size_t j = 0; j < n; j += VL)
        columns(x + j, y + j, length, step, n - j < VL ? n - j : VL, logarithm);
}
