/* f32_scale_channels.c - rows times factors plus summands of their channels, then an activation. */
#include "kernels/simd/f32_act.h"
#include "kernels/kernels.h"

SIMD_INLINE void row(const float *x, const float *factors, const float *summands, float *y,
                     size_t channels, sdx_act act, vf a, vf b) {
    size_t c = 0;
    for (; c + VL <= channels; c += VL) {
        vf sum = vf_fma(vf_load(x + c), vf_load(factors + c), vf_load(summands + c));
        vf_store(y + c, act_apply(act, sum, a, b));
    }
    if (c < channels) {
        size_t n = channels - c;
        vf sum = vf_fma(vf_load_n(x + c, n), vf_load_n(factors + c, n), vf_load_n(summands + c, n));
        vf_store_n(y + c, act_apply(act, sum, a, b), n);
    }
}

void SDX_NAME(sdx_f32_scale_channels)(const float *x, const float *factors, const float *summands,
                              float *y, size_t rows, size_t channels, sdx_act act, float a,
                              float b) {
    const vf va = vf_set1(a), vb = vf_set1(b);
    for (size_t r = 0; r < rows; r++, x += channels, y += channels) {
        if (act == SDX_ACT_CLIP) {
            row(x, factors, summands, y, channels, SDX_ACT_CLIP, va, vb);
            continue;
        }
        row(x, factors, summands, y, channels, SDX_ACT_NONE, va, vb);
        if (act != SDX_ACT_NONE) SDX_NAME(sdx_f32_activate)(y, channels, act, a, b);
    }
}
