/* simd_math.h - exp and what follows from it, on vectors of float. */
#ifndef SDX_KERNELS_SIMD_MATH_H
#define SDX_KERNELS_SIMD_MATH_H

#include "kernels/simd/simd.h"

/* e^x as 2^n * e^r with |r| <= ln2/2; results below the smallest normal number become 0. */
SIMD_INLINE vf vf_exp(vf x) {
    const vf clipped = vf_clip(x, vf_set1(-87.336544f), vf_set1(88.722839f));
    const vf n = vf_round(clipped * vf_set1(1.44269504f));
    vf r = vf_fnma(n, vf_set1(0.693359375f), clipped);
    r = vf_fma(n, vf_set1(2.12194440e-4f), r);
    vf p = vf_set1(1.3981999507e-3f);
    p = vf_fma(p, r, vf_set1(8.3334519073e-3f));
    p = vf_fma(p, r, vf_set1(4.1665795894e-2f));
    p = vf_fma(p, r, vf_set1(1.6666665459e-1f));
    p = vf_fma(p, r, vf_set1(0.5f));
    p = vf_fma(p, r * r, r) + vf_set1(1.0f);
    /* 2^n in two factors, since n may be 128. */
    const vf half = vf_round(n * vf_set1(0.5f));
    const vi e1 = __builtin_convertvector(half, vi), e2 = __builtin_convertvector(n - half, vi);
    const vf s1 = vi_floats((e1 + vi_set1(127)) << 23), s2 = vi_floats((e2 + vi_set1(127)) << 23);
    const vf y = p * s1 * s2;
    return vf_select(x < vf_set1(-87.336544f), vf_set1(0.0f), y);
}

SIMD_INLINE vf vf_sigmoid(vf x) {
    const vf one = vf_set1(1.0f);
    return one / (one + vf_exp(-x));
}

SIMD_INLINE vf vf_tanh(vf x) {
    const vf one = vf_set1(1.0f), two = vf_set1(2.0f);
    return two / (one + vf_exp(-two * x)) - one;
}

SIMD_INLINE vf vf_erf(vf x) {
    const vf one = vf_set1(1.0f), size = vf_abs(x);
    const vf t = one / vf_fma(vf_set1(0.3275911f), size, one);
    vf p = vf_set1(1.061405429f);
    p = vf_fma(p, t, vf_set1(-1.453152027f));
    p = vf_fma(p, t, vf_set1(1.421413741f));
    p = vf_fma(p, t, vf_set1(-0.284496736f));
    p = vf_fma(p, t, vf_set1(0.254829592f));
    return vf_with_sign(vf_max(vf_set1(0.0f), one - p * t * vf_exp(-size * size)), x);
}

#endif
