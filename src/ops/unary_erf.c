/* unary_erf.c - the error function over arrays of float32, for Erf and Gelu, as loops that the
 * compiler vectorises. Near zero an odd polynomial; further out erfc(a) = exp(-a^2) * t * S(t) with
 * t = 1 / (1 + a/2), which keeps its relative precision however small it gets. Both polynomials
 * are minimax fits made for this project, on [0, 1] and [0.95, 10]. */
#include <math.h>

#include "kernels/vexp.h"
#include "ops/elementwise.h"

#define SPLIT 1.0f

/* erf(a) / a - 1 for a <= SPLIT, u = a * a. */
static inline float near_zero(float u) {
    float p = 7.85386146e-05f;
    p = p * u - 0.000801019371f;
    p = p * u + 0.00518832775f;
    p = p * u - 0.0268538129f;
    p = p * u + 0.112835854f;
    p = p * u - 0.37612626f;
    return p * u + 0.128379166f;
}

/* erfc(a) * exp(a * a) for a >= SPLIT. */
static inline float scaled_tail(float a) {
    const float t = 1 / (1 + a * 0.5f);
    float s = 0.0910279155f;
    s = s * t - 0.219313413f;
    s = s * t + 0.074306637f;
    s = s * t + 0.0661483705f;
    s = s * t + 0.176899314f;
    s = s * t + 0.247361481f;
    s = s * t + 0.281994641f;
    s = s * t + 0.282100499f;
    return s * t;
}

/* yes or no, by bits: of a ?: the compiler would make a branch around one of the polynomials. */
static inline float choose(bool condition, float yes, float no) {
    const uint32_t mask = 0u - (uint32_t)condition;
    uint32_t a, b;
    float result;
    memcpy(&a, &yes, sizeof a);
    memcpy(&b, &no, sizeof b);
    a = (a & mask) | (b & ~mask);
    memcpy(&result, &a, sizeof result);
    return result;
}

/* The two differ in what is made of the tail erfc(|z|): with its sign for erf itself, and for
 * 1 + erf as it is on the negative side. */
#define ERF_LOOP(NEAR, FAR)                                                                       \
    float tail[SDX_EW_BLOCK];                                                                     \
    for (size_t at = 0; at < n; at += SDX_EW_BLOCK, in += SDX_EW_BLOCK, out += SDX_EW_BLOCK) {    \
        const size_t m = n - at < SDX_EW_BLOCK ? n - at : SDX_EW_BLOCK;                           \
        for (size_t i = 0; i < m; i++) {                                                          \
            const float z = in[i] * factor;                                                       \
            tail[i] = -(z * z);                                                                   \
        }                                                                                         \
        sdx_f32_exp(tail, tail, m);                                                               \
        SDX_EW_LOOP for (size_t i = 0; i < m; i++) {                                              \
            const float z = in[i] * factor, a = fabsf(z);                                         \
            const float small = z + z * near_zero(z * z), rest = tail[i] * scaled_tail(a);        \
            const float close = NEAR, far = FAR;                                                  \
            out[i] = choose(a < SPLIT, close, far);                                               \
        }                                                                                         \
    }

void sdx_f32_erf(const float *in, float factor, float *out, size_t n) {
    ERF_LOOP(small, copysignf(1 - rest, z))
}

void sdx_f32_one_plus_erf(const float *in, float factor, float *out, size_t n) {
    ERF_LOOP(1 + small, choose(z < 0, rest, 2 - rest))
}
