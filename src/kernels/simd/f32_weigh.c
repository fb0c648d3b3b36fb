/* f32_weigh.c - sums of rows, each times a number of its own: what a Resize makes of neighbours. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

SIMD_INLINE vf sum(const float *const *rows, const float *weights, size_t taps, size_t at,
                   size_t lanes, vf total) {
    SIMD_UNROLL
    for (size_t t = 0; t < taps; t++)
        total = vf_fma(vf_load_lanes(rows[t] + at, lanes), vf_set1(weights[t]), total);
    return total;
}

/* `taps` and `add` are constants where this is called, or taps is any number. */
SIMD_INLINE void weigh(const float *const *rows, const float *weights, size_t taps, float *out,
                       size_t n, bool add) {
    const vf zero = vf_set1(0);
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        vf_store(out + i, sum(rows, weights, taps, i, VL, add ? vf_load(out + i) : zero));
    if (i < n) {
        const vf before = add ? vf_load_n(out + i, n - i) : zero;
        vf_store_n(out + i, sum(rows, weights, taps, i, n - i, before), n - i);
    }
}

void SDX_NAME(sdx_f32_weigh)(const float *const *rows, const float *weights, size_t taps,
                             float *out, size_t n, bool add) {
    if (add) weigh(rows, weights, taps, out, n, true);
    else if (taps == 2) weigh(rows, weights, 2, out, n, false);
    else if (taps == 4) weigh(rows, weights, 4, out, n, false);
    else weigh(rows, weights, taps, out, n, false);
}
