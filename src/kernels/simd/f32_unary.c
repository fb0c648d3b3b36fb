/* f32_unary.c - functions of one float over arrays; in and out may be the same. */
#include "kernels/simd/f32_act.h"
#include "kernels/kernels.h"

/* `function` is a constant where this is called, so that one case is left of it. */
SIMD_INLINE vf apply(sdx_f32_function function, vf x, vf a, vf b) {
    const vf zero = vf_set1(0.0f), one = vf_set1(1.0f), two = vf_set1(2.0f);
    vf w;
    switch (function) {
    case SDX_F32_NEG: return -x;
    case SDX_F32_ABS: return vf_abs(x);
    case SDX_F32_SQRT: return vf_sqrt(x);
    case SDX_F32_RECIPROCAL: return one / x;
    case SDX_F32_SQUARE: return x * x;
    case SDX_F32_CUBE: return x * x * x;
    case SDX_F32_EXP: return vf_exp_gradual(x);
    case SDX_F32_LOG: return vf_log(x);
    case SDX_F32_ERF: return vf_erf(x);
    case SDX_F32_SOFTPLUS: return vf_softplus(x);
    case SDX_F32_SOFTSIGN: return x / (one + vf_abs(x));
    case SDX_F32_MISH: /* x tanh(log(1 + w)), w = e^x, as a fraction of polynomials in w */
        w = vf_exp(vf_min(vf_set1(20.0f), x));
        w = w * (w + two);
        return x * (w / (w + two));
    case SDX_F32_ELU:
        return vf_select(x < zero, a * vf_expm1_negative(vf_min(zero, x)), x);
    case SDX_F32_SELU:
        return b * vf_select(x > zero, x, a * vf_expm1_negative(vf_min(zero, x)));
    case SDX_F32_CELU: /* a may be negative, though nobody wants it to */
        w = vf_min(zero, x) / a;
        w = vf_select(w > zero, vf_exp(w) - one, vf_expm1_negative(vf_min(zero, w)));
        return vf_select(x > zero, x, a * w);
    default: return act_apply((sdx_act)function, x, a, b);
    }
}

/* Four vectors at a time, so that short functions do not wait for the loop. */
SIMD_INLINE void over(sdx_f32_function function, const float *in, float *out, size_t count,
                      float a, float b) {
    const vf va = vf_set1(a), vb = vf_set1(b);
    size_t i = 0;
    for (; i + 4 * VL <= count; i += 4 * VL) {
        vf x[4];
        SIMD_UNROLL
        for (size_t v = 0; v < 4; v++) x[v] = apply(function, vf_load(in + i + v * VL), va, vb);
        SIMD_UNROLL
        for (size_t v = 0; v < 4; v++) vf_store(out + i + v * VL, x[v]);
    }
    for (; i + VL <= count; i += VL)
        vf_store(out + i, apply(function, vf_load(in + i), va, vb));
    if (i < count)
        vf_store_n(out + i, apply(function, vf_load_n(in + i, count - i), va, vb), count - i);
}

/* Roundings: one instruction of a vector where there is one, and the compiler knows. */
#if defined(__clang__) /* asks at run time whether arrays overlap */
#define INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define ROUND_LOOP(call)                                                                          \
    INDEPENDENT for (size_t i = 0; i < count; i++) out[i] = call(in[i])

void SDX_NAME(sdx_f32_unary)(sdx_f32_function function, const float *in, float *out, size_t count,
                             float a, float b) {
#define CASE(name) case name: over(name, in, out, count, a, b); break;
    switch ((int)function) {
        CASE(SDX_F32_NEG)
        CASE(SDX_F32_ABS)
        CASE(SDX_F32_SQRT)
        CASE(SDX_F32_RECIPROCAL)
        CASE(SDX_F32_SQUARE)
        CASE(SDX_F32_CUBE)
        CASE(SDX_F32_EXP)
        CASE(SDX_F32_LOG)
        CASE(SDX_F32_ERF)
        CASE(SDX_F32_SOFTPLUS)
        CASE(SDX_F32_SOFTSIGN)
        CASE(SDX_F32_MISH)
        CASE(SDX_F32_ELU)
        CASE(SDX_F32_SELU)
        CASE(SDX_F32_CELU)
        CASE((sdx_f32_function)SDX_ACT_CLIP)
        CASE((sdx_f32_function)SDX_ACT_LEAKY)
        CASE((sdx_f32_function)SDX_ACT_SIGMOID)
        CASE((sdx_f32_function)SDX_ACT_SWISH)
        CASE((sdx_f32_function)SDX_ACT_HARD_SIGMOID)
        CASE((sdx_f32_function)SDX_ACT_HARD_SWISH)
        CASE((sdx_f32_function)SDX_ACT_TANH)
        CASE((sdx_f32_function)SDX_ACT_GELU)
        CASE((sdx_f32_function)SDX_ACT_GELU_TANH)
    case SDX_F32_FLOOR: ROUND_LOOP(__builtin_floorf); break;
    case SDX_F32_CEIL: ROUND_LOOP(__builtin_ceilf); break;
    case SDX_F32_ROUND: ROUND_LOOP(__builtin_rintf); break;
    default:
        if (in != out) memcpy(out, in, count * sizeof *out);
    }
}

/* In place, by the numbers of tail.h: what the tails of products call. */
void SDX_NAME(sdx_f32_activate)(float *x, size_t count, sdx_act act, float a, float b) {
    if (act != SDX_ACT_NONE) SDX_NAME(sdx_f32_unary)((sdx_f32_function)act, x, x, count, a, b);
}
