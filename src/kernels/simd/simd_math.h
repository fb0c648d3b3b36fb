/* simd_math.h - exp, log and what follows from them, on vectors of float, to about 2 units in the
 * last place. NaN stays NaN and infinities are what they are in libm. Results of vf_exp and of
 * what is built on it that would be smaller than the smallest normal number are 0, unless said
 * otherwise. The polynomials are minimax fits made by tools/minimax.py. */
#ifndef SDX_KERNELS_SIMD_MATH_H
#define SDX_KERNELS_SIMD_MATH_H

#include "kernels/simd/simd.h"

#define EXP_LOW  -87.33654f /* e^x is the smallest normal number */
#define EXP_HIGH 88.72284f  /* beyond, it overflows */

/* ---- exp ------------------------------------------------------------------------------------- */

/* x = n ln2 + r with |r| <= ln2/2: gives r, and n moved to where a float has its exponent. Adding
 * 1.5 * 2^23 rounds to an integer, which then lies in the low bits of the sum. */
SIMD_INLINE vf exp_reduce(vf x, vi *exponent) {
    const vf magic = vf_set1(12582912.0f);
    const vf t = vf_fma(x, vf_set1(1.44269504f), magic), n = t - magic;
    *exponent = vi_left(vf_bits(t), 23);
    /* ln2 in two parts, the first short enough for an exact product. */
    return vf_fnma(n, vf_set1(1.42860677e-06f), vf_fnma(n, vf_set1(0.693145752f), x));
}

/* e^r - 1, |r| <= ln2/2. */
SIMD_INLINE vf exp_minus_1(vf r) {
    vf p = vf_set1(0.00138378667f);
    p = vf_fma(p, r, vf_set1(0.00836731866f));
    p = vf_fma(p, r, vf_set1(0.0416677408f));
    p = vf_fma(p, r, vf_set1(0.166665375f));
    p = vf_fma(p, r, vf_set1(0.49999997f));
    return vf_fma(p, r * r, r);
}

/* 2^n of what exp_reduce gave, -126 <= n <= 127. */
SIMD_INLINE vf exp_power(vi exponent) {
    return vi_floats(vi_add(exponent, vi_set1(127 << 23)));
}

SIMD_INLINE vf vf_exp(vf x) {
    vi exponent;
    const vf r = exp_reduce(x, &exponent), p = vf_set1(1.0f) + exp_minus_1(r);
    /* Added to the exponent, since 2^128 is no float though 2^128 * p may be one. */
    const vf y = vi_floats(vi_add(vf_bits(p), exponent));
    return vf_zero_below(vf_select(x <= vf_set1(EXP_HIGH), y, x * vf_set1(3e38f)), x, EXP_LOW);
}

/* The same for -87 <= x <= 88 or not a number, with nothing to look after and a term less: to 1.5
 * units in the last place. Where the machine scales by powers of two itself, x may leave that range by a
 * little: the result is then infinite, 0 or too small to be normal. */
SIMD_INLINE vf vf_exp_short(vf x) {
    const vf magic = vf_set1(12582912.0f);
    const vf t = vf_fma(x, vf_set1(1.44269504f), magic), n = t - magic;
    const vf r = vf_fnma(n, vf_set1(1.42860677e-06f), vf_fnma(n, vf_set1(0.693145752f), x));
    vf p = vf_set1(0.0082896715f);
    p = vf_fma(p, r, vf_set1(0.0418985598f));
    p = vf_fma(p, r, vf_set1(0.166676462f));
    p = vf_fma(p, r, vf_set1(0.499991417f));
    p = vf_fma(p, r, vf_set1(0.999999702f));
    p = vf_fma(p, r, vf_set1(1.0f));
#ifdef SIMD_SCALES
    return vf_scale(p, n);
#else
    return p * exp_power(vi_left(vf_bits(t), 23)); /* a product: not a number stays */
#endif
}

/* The same for x <= 0, however far. */
SIMD_INLINE vf vf_exp_negative(vf x) { return vf_zero_below(vf_exp_short(x), x, EXP_LOW); }

/* The same with gradual underflow: 2^n in two factors, each a normal number. */
SIMD_INLINE vf vf_exp_gradual(vf x) {
    vi exponent;
    x = vf_clip(x, vf_set1(-104.0f), vf_set1(89.0f));
    const vf p = vf_set1(1.0f) + exp_minus_1(exp_reduce(x, &exponent));
    const vi n = exponent >> 23, half = n >> 1;
    return p * exp_power(vi_left(half, 23)) * exp_power(vi_left(vi_sub(n, half), 23));
}

/* e^x - 1 for x <= 0: what a small x leaves is not rounded away. */
SIMD_INLINE vf vf_expm1_negative(vf x) {
    vi exponent;
    const vf q = exp_minus_1(exp_reduce(vf_max(vf_set1(-40.0f), x), &exponent));
    const vf s = exp_power(exponent);
    return vf_fma(s, q, s - vf_set1(1.0f));
}

/* ---- log ------------------------------------------------------------------------------------- */

/* log x as e ln2 + log(1 + f) with 1 + f between sqrt(1/2) and sqrt(2). */
SIMD_INLINE vf vf_log(vf x) {
    const vf one = vf_set1(1.0f), zero = vf_set1(0.0f);
    const vi tiny = x < vf_set1(1.17549435e-38f); /* brought into the normal numbers */
    const vi bits = vf_bits(vf_select(tiny, x * vf_set1(8388608.0f), x));
    const vi e = vi_sub(bits, vi_set1(0x3f3504f3)) >> 23;
    const vf f = vi_floats(vi_sub(bits, vi_left(e, 23))) - one, square = f * f;
    const vf n = __builtin_convertvector(e, vf) - vi_floats(tiny & vf_bits(vf_set1(23.0f)));
    vf p = vf_set1(-0.0775354281f);
    p = vf_fma(p, f, vf_set1(0.127952367f));
    p = vf_fma(p, f, vf_set1(-0.131511405f));
    p = vf_fma(p, f, vf_set1(0.142002389f));
    p = vf_fma(p, f, vf_set1(-0.166233346f));
    p = vf_fma(p, f, vf_set1(0.200012609f));
    p = vf_fma(p, f, vf_set1(-0.250008225f));
    p = vf_fma(p, f, vf_set1(0.333333313f));
    vf small = vf_fma(square, vf_fma(p, f, vf_set1(-0.5f)), n * vf_set1(1.42860677e-06f));
    vf y = vf_fma(n, vf_set1(0.693145752f), small + f);
    y = vf_select(x > vf_set1(3.4028235e38f), x, y);
    y = vf_select(x <= zero, vf_set1(-1.0f) / zero, y);
    return vf_select(x >= zero, y, zero / zero);
}

/* log(1 + e) for 0 <= e <= 1. */
SIMD_INLINE vf vf_log1p_unit(vf e) {
    vf p = vf_set1(-0.00329046859f);
    p = vf_fma(p, e, vf_set1(0.0200862419f));
    p = vf_fma(p, e, vf_set1(-0.057457231f));
    p = vf_fma(p, e, vf_set1(0.106611282f));
    p = vf_fma(p, e, vf_set1(-0.153448805f));
    p = vf_fma(p, e, vf_set1(0.196921021f));
    p = vf_fma(p, e, vf_set1(-0.24958019f));
    p = vf_fma(p, e, vf_set1(0.333304644f));
    p = vf_fma(p, e, vf_set1(-0.499999315f));
    return vf_fma(p * e, e, e);
}

/* ---- activations ----------------------------------------------------------------------------- */

/* 1 + e^z for any z; infinite where e^z nearly is. A division by it costs nothing beside the rest: a
 * reciprocal by approximation was slower. */
SIMD_INLINE vf one_plus_exp(vf z) {
#ifdef SIMD_SCALES
    return vf_set1(1.0f) + vf_exp_short(vf_clip(z, vf_set1(-60.0f), vf_set1(100.0f)));
#else
    const vf e = vf_exp_short(vf_clip(z, vf_set1(-60.0f), vf_set1(88.0f)));
    return vf_select(z > vf_set1(-EXP_LOW), vf_set1(__builtin_inff()), vf_set1(1.0f) + e);
#endif
}

SIMD_INLINE vf vf_sigmoid(vf x) {
    const vf one = vf_set1(1.0f);
    return one / (one + vf_exp(-x));
}

/* x sigmoid(a x): where the sigmoid is less than the smallest normal number, 0; of what is infinite on that
 * side, not a number, as the product is. */
SIMD_INLINE vf vf_swish(vf x, vf a) { return x / one_plus_exp(-a * x); }

/* 1 + 2^z for any z, to an error of 2^-23 in the fraction: z is not split further, since its own rounding is
 * all that a caller without more digits of it could save. Beyond the range, infinite and 1. */
#ifdef SIMD_SCALES
/* The nearest multiple of 1/32 by a table and the machine's own scaling, both of which run beside
 * multiply-adds, so that three of these are left. */
SIMD_INLINE vf one_plus_exp2_quick(vf z) {
    static const _Alignas(64) float powers[32] = {
        1.0f, 1.0218972f, 1.04427373f, 1.06714046f, 1.09050775f, 1.1143868f,
        1.13878858f, 1.1637249f, 1.18920708f, 1.21524739f, 1.24185777f, 1.26905096f,
        1.29683959f, 1.32523668f, 1.35425556f, 1.38390994f, 1.41421354f, 1.44518077f,
        1.47682619f, 1.50916445f, 1.54221082f, 1.5759809f, 1.61049032f, 1.64575553f,
        1.68179286f, 1.71861935f, 1.75625217f, 1.79470909f, 1.8340081f, 1.87416768f,
        1.91520655f, 1.95714414f
    };
    const vf r = vf_fraction_32(z), n = vf_round_32(z), one = vf_set1(1.0f);
    const vf t = z + vf_set1(393216.0f); /* 1.5 * 2^18: the last bits are n's multiples of 1/32 */
    const vf power = vf_scale(vf_pick_32(powers, t), n);
    const vf p = vf_fma(vf_fma(r, vf_set1(0.240226507f), vf_set1(0.693157344f)), r, one);
    return vf_fma(power, p, one);
}
#else
SIMD_INLINE vf one_plus_exp2_quick(vf z) {
    /* At 128 the fraction is 0, so that the exponent alone makes it infinite. */
    z = vf_clip(z, vf_set1(-126.0f), vf_set1(128.0f));
    const vf magic = vf_set1(12582912.0f), t = z + magic, r = z - (t - magic);
    vf p = vf_set1(0.00133026892f);
    p = vf_fma(p, r, vf_set1(0.00967260636f));
    p = vf_fma(p, r, vf_set1(0.0555065088f));
    p = vf_fma(p, r, vf_set1(0.240222245f));
    p = vf_fma(p, r, vf_set1(0.693147004f));
    p = vf_fma(p, r, vf_set1(1.0f));
    return vf_set1(1.0f) + vi_floats(vi_add(vf_bits(p), vi_left(vf_bits(t), 23)));
}
#endif

/* x sigmoid(a x) to an error of 1.5e-7 |x|, for tails: as exact as vf_swish for positive a x, less so
 * (to |a x| 2^-24 of the result) where it is small beside x. The slope, which belongs in front of a loop,
 * is that of a. */
SIMD_INLINE vf vf_swish_slope(vf a) { return a * vf_set1(-1.44269504f); }
SIMD_INLINE vf vf_swish_quick(vf x, vf slope) { return x / one_plus_exp2_quick(x * slope); }

/* tanh |x| = -e / (e + 2) with e = exp(-2|x|) - 1: no cancellation anywhere. */
SIMD_INLINE vf vf_tanh(vf x) {
    const vf e = vf_expm1_negative(vf_set1(-2.0f) * vf_abs(x));
    return vf_with_sign(vf_abs(e) / (e + vf_set1(2.0f)), x);
}

/* log(1 + e^x): exp(-|x|) cannot overflow, and is not lost beside a large x. */
SIMD_INLINE vf vf_softplus(vf x) {
    return vf_max(vf_set1(0.0f), x) + vf_log1p_unit(vf_exp_negative(-vf_abs(x)));
}

/* Near 0 an odd polynomial, further out 1 - exp of one. */
SIMD_INLINE vf vf_erf(vf x) {
    const vf size = vf_min(vf_set1(3.95f), vf_abs(x)), u = size * size;
    vf p = vf_set1(-0.00059945049f);
    p = vf_fma(p, u, vf_set1(0.00499403803f));
    p = vf_fma(p, u, vf_set1(-0.0267673489f));
    p = vf_fma(p, u, vf_set1(0.112818435f));
    p = vf_fma(p, u, vf_set1(-0.376124978f));
    p = vf_fma(p, u, vf_set1(0.128379151f));
    vf q = vf_set1(-0.00123811397f);
    q = vf_fma(q, size, vf_set1(0.0154729979f));
    q = vf_fma(q, size, vf_set1(-0.0907831267f));
    q = vf_fma(q, size, vf_set1(-0.651244044f));
    q = vf_fma(q, size, vf_set1(-1.11983335f));
    q = vf_fma(q, size, vf_set1(-0.00197977549f));
    const vf far = vf_set1(1.0f) - vf_exp_negative(q);
    return vf_select(size < vf_set1(0.921875f), vf_fma(x, p, x), vf_with_sign(far, x));
}

/* x times the probability that a normal variable lies below x. The tail below -|x| is
 * exp(-x^2/2) t P(1 - t) with t = 1 / (1 + 3/8 |x|), which keeps its digits however small it
 * gets, since the square enters exp with twice the digits of a float. */
SIMD_INLINE vf vf_gelu(vf x) {
    const vf one = vf_set1(1.0f), half = vf_set1(0.5f);
    const vf size = vf_min(vf_set1(13.5f), vf_abs(x));
    const vf head = vi_floats(vf_bits(size) & vi_set1(-4096)); /* its square is exact */
    const vf square = half * head * head, rest = (size - head) * (half * (size + head));
    vi exponent;
    const vf q = exp_minus_1(exp_reduce(-square, &exponent) - rest), s = exp_power(exponent);
    const vf e = vf_zero_below(vf_fma(q, s, s), -square, EXP_LOW);
    const vf t = one / vf_fma(vf_set1(0.375f), size, one), w = vf_set1(0.375f) * size * t;
    vf p = vf_set1(-0.0217524152f);
    p = vf_fma(p, w, vf_set1(0.0573524423f));
    p = vf_fma(p, w, vf_set1(-0.0304324199f));
    p = vf_fma(p, w, vf_set1(-0.00207217713f));
    p = vf_fma(p, w, vf_set1(-0.0446832255f));
    p = vf_fma(p, w, vf_set1(-0.0152457664f));
    p = vf_fma(p, w, vf_set1(0.120198302f));
    p = vf_fma(p, w, vf_set1(0.150072426f));
    p = vf_fma(p, w, vf_set1(-0.563845634f));
    p = vf_fma(p, w, vf_set1(0.5f));
    const vf tail = p * t * e;
    return x * vf_select(x < vf_set1(0.0f), tail, one - tail);
}

/* The same to an error of 2.2e-7 |x|, at less than half the cost: for tails, where the result stands
 * beside larger ones. The probability is 1/2 + x P(x^2) / Q(x^2), by tools/rational_erf.py; beyond 5.44 it is
 * 0 or 1. Q begins with 1, so that a sum takes the place of a product. */
SIMD_INLINE vf vf_gelu_quick(vf x) {
    const vf z = vf_clip(x, vf_set1(-5.44f), vf_set1(5.44f)), u = z * z;
    vf p = vf_set1(1.89274539e-06f);
    p = vf_fma(p, u, vf_set1(-0.000367783379f));
    p = vf_fma(p, u, vf_set1(0.0527579211f));
    p = vf_fma(p, u, vf_set1(2.72050836f));
    p = vf_fma(p, u, vf_set1(74.1223294f));
    p = vf_fma(p, u, vf_set1(585.439714f));
    p = vf_fma(p, u, vf_set1(6618.84177f));
    vf q = u + vf_set1(29.7490202f);
    q = vf_fma(q, u, vf_set1(476.517675f));
    q = vf_fma(q, u, vf_set1(4232.61205f));
    q = vf_fma(q, u, vf_set1(16590.9806f));
    return x * (z * p / q + vf_set1(0.5f));
}

/* The same with a formula of tanh in place of the probability. */
SIMD_INLINE vf vf_gelu_tanh(vf x) {
    const vf cube = vf_fma(vf_set1(0.044715f) * x, x * x, x);
    return x / one_plus_exp(cube * vf_set1(-1.59576912f));
}

#endif
