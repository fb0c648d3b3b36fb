/* f32_activate.c - activations over a row in place. */
#include "kernels/simd/f32_act.h"
#include "kernels/kernels.h"

SIMD_INLINE void over(float *x, size_t count, sdx_act act, float a, float b) {
    const vf va = vf_set1(a), vb = vf_set1(b);
    size_t i = 0;
    for (; i + VL <= count; i += VL) vf_store(x + i, act_apply(act, vf_load(x + i), va, vb));
    if (i < count)
        vf_store_n(x + i, act_apply(act, vf_load_n(x + i, count - i), va, vb), count - i);
}

void SDX_NAME(sdx_f32_activate)(float *x, size_t count, sdx_act act, float a, float b) {
    switch (act) {
    case SDX_ACT_CLIP: over(x, count, SDX_ACT_CLIP, a, b); break;
    case SDX_ACT_LEAKY: over(x, count, SDX_ACT_LEAKY, a, b); break;
    case SDX_ACT_SIGMOID: over(x, count, SDX_ACT_SIGMOID, a, b); break;
    case SDX_ACT_SWISH: over(x, count, SDX_ACT_SWISH, a, b); break;
    case SDX_ACT_HARD_SIGMOID: over(x, count, SDX_ACT_HARD_SIGMOID, a, b); break;
    case SDX_ACT_HARD_SWISH: over(x, count, SDX_ACT_HARD_SWISH, a, b); break;
    case SDX_ACT_TANH: over(x, count, SDX_ACT_TANH, a, b); break;
    case SDX_ACT_GELU: over(x, count, SDX_ACT_GELU, a, b); break;
    case SDX_ACT_GELU_TANH: over(x, count, SDX_ACT_GELU_TANH, a, b); break;
    default: break;
    }
}
