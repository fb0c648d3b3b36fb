/* f32_pool.c - one window of a pool over channels that lie side by side: several vectors of them at
 * a time stay in registers while the pixels of the window go by. */
#include <math.h>

#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

SIMD_INLINE vf get(const float *p, size_t left) {
    return left >= VL ? vf_load(p) : vf_load_n(p, left);
}
SIMD_INLINE void put(float *p, vf a, size_t left) {
    if (left >= VL) vf_store(p, a);
    else vf_store_n(p, a, left);
}

/* `vectors` and whether the last is whole are constants where these are called. */
SIMD_INLINE void max_part(const sdx_f32_taps *taps, size_t at, size_t vectors, size_t left) {
    vf best[4];
    vi nan[4];
    SIMD_UNROLL
    for (size_t v = 0; v < vectors; v++) {
        best[v] = vf_set1(-INFINITY);
        nan[v] = vi_set1(0);
    }
    for (size_t r = 0; r < taps->rows; r++) {
        const float *x = taps->x + r * taps->row_step + at;
        for (size_t c = 0; c < taps->columns; c++, x += taps->column_step)
            SIMD_UNROLL
            for (size_t v = 0; v < vectors; v++) {
                const vf value = get(x + v * VL, left);
                best[v] = vf_max(value, best[v]);
                nan[v] |= (vi)(value != value);
            }
    }
    SIMD_UNROLL
    for (size_t v = 0; v < vectors; v++)
        put(taps->out + at + v * VL, vi_floats(vf_bits(best[v]) | nan[v]), left);
}

SIMD_INLINE void average_part(const sdx_f32_taps *taps, size_t at, size_t vectors, size_t left) {
    vf sum[4];
    SIMD_UNROLL
    for (size_t v = 0; v < vectors; v++) sum[v] = vf_set1(0.0f);
    for (size_t r = 0; r < taps->rows; r++) {
        const float *x = taps->x + r * taps->row_step + at;
        for (size_t c = 0; c < taps->columns; c++, x += taps->column_step)
            SIMD_UNROLL
            for (size_t v = 0; v < vectors; v++) sum[v] += get(x + v * VL, left);
    }
    const vf by = vf_set1(taps->divisor > 0 ? taps->divisor : 1.0f);
    SIMD_UNROLL
    for (size_t v = 0; v < vectors; v++) put(taps->out + at + v * VL, sum[v] / by, left);
}

#define CHANNELS(part)                                                                            \
    size_t at = 0;                                                                                \
    const size_t n = taps->channels;                                                              \
    for (; at + 4 * VL <= n; at += 4 * VL) part(taps, at, 4, VL);                                 \
    for (; at + VL <= n; at += VL) part(taps, at, 1, VL);                                         \
    if (at < n) part(taps, at, 1, n - at)

void SDX_NAME(sdx_f32_pool_max)(const sdx_f32_taps *taps) { CHANNELS(max_part); }
void SDX_NAME(sdx_f32_pool_average)(const sdx_f32_taps *taps) { CHANNELS(average_part); }
