/* f32_act.h - activations on a vector, for the tails of kernels. */
#ifndef SDX_KERNELS_SIMD_F32_ACT_H
#define SDX_KERNELS_SIMD_F32_ACT_H

#include "kernels/simd/simd_math.h"
#include "kernels/tail.h"

/* `act` is a constant where this is called, so that one case is left of it. */
SIMD_INLINE vf act_apply(sdx_act act, vf x, vf a, vf b) {
    const vf zero = vf_set1(0.0f), one = vf_set1(1.0f);
    switch (act) {
    case SDX_ACT_CLIP: return vf_clip(x, a, b);
    case SDX_ACT_LEAKY: return vf_select(x < zero, a * x, x);
    case SDX_ACT_SIGMOID: return vf_sigmoid(x);
    case SDX_ACT_SWISH: return vf_swish(x, a);
    case SDX_ACT_HARD_SIGMOID: return vf_clip(a * x + b, zero, one); /* rounded as it is defined */
    case SDX_ACT_HARD_SWISH:
        return x * vf_clip(vf_fma(x, vf_set1(1.0f / 6.0f), vf_set1(0.5f)), zero, one);
    case SDX_ACT_TANH: return vf_tanh(x);
    case SDX_ACT_GELU: return vf_gelu(x);
    case SDX_ACT_GELU_TANH: return vf_gelu_tanh(x);
    default: return x;
    }
}

/* The same for the tails of products, where quicker forms of less accuracy will do. `a` is what
 * act_tail_first, once and in front of all loops, has made of it: compilers leave a product where it
 * stands if it might not be wanted. */
SIMD_INLINE vf act_tail_first(sdx_act act, vf a) {
    return act == SDX_ACT_SWISH ? vf_swish_slope(a) : a;
}
SIMD_INLINE vf act_tail(sdx_act act, vf x, vf a, vf b) {
    switch (act) {
    case SDX_ACT_SWISH: return vf_swish_quick(x, a);
    case SDX_ACT_GELU: return vf_gelu_quick(x);
    default: return act_apply(act, x, a, b);
    }
}

#endif
