/* vexp.c - the array functions of vexp.h on four lanes at a time. Choices between two results are
 * made by masks, not branches. The coefficients are minimax fits made for this project. */
#include "kernels/vexp.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANES 4
typedef float vec __attribute__((vector_size(16)));
typedef int32_t ivec __attribute__((vector_size(16))); /* also a mask: all ones or zero */
typedef uint32_t uvec __attribute__((vector_size(16)));

static inline vec load(const float *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void store(float *p, vec v) { memcpy(p, &v, sizeof v); }
static inline vec splat(float x) { return (vec){x, x, x, x}; }
static inline vec choose(ivec mask, vec yes, vec no) {
    return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

/* exp(x) = 2^n * exp(r), n the nearest integer to x / ln 2, |r| <= ln 2 / 2. */
static inline vec vec_exp(vec x) {
    const vec magic = splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    x = choose(x > splat(89.0f), splat(89.0f), x);       /* 2^128.4 overflows to infinity below */
    x = choose(x < splat(-104.0f), splat(-104.0f), x);   /* 2^-150.04 rounds to zero */
    vec t = x * splat(1.44269504f) + magic;
    vec f = t - magic;
    vec r = x - f * splat(0.693359375f); /* ln 2 in two parts; the first product is exact */
    r = r + f * splat(2.12194440e-4f);
    vec p = splat(0.0013814467f);
    p = p * r + splat(0.008368781f);
    p = p * r + splat(0.041668393f);
    p = p * r + splat(0.1666652f);
    p = p * r + splat(0.49999994f);
    p = p * (r * r) + r + splat(1.0f);
    /* 2^n in two factors, each a normal number, so that denormals and infinity come out right.
     * n lies in the low bits of t; a NaN makes any number of 15 bits. */
    ivec n = ((ivec)t & 0x7fff) - (((ivec)t & 0x4000) << 1);
    ivec half = n >> 1;
    vec s1 = (vec)((uvec)(half + 127) << 23), s2 = (vec)((uvec)(n - half + 127) << 23);
    return p * s1 * s2;
}

static inline vec vec_sigmoid(vec x) { return splat(1.0f) / (splat(1.0f) + vec_exp(-x)); }

/* Near zero an odd polynomial, since 1 - 2 / (exp(2x) + 1) would cancel. */
static inline vec vec_tanh(vec x) {
    const ivec sign = (ivec)splat(-0.0f);
    vec a = (vec)((ivec)x & ~sign), u = x * x;
    vec p = splat(0.0021429611f);
    p = p * u - splat(0.008177398f);
    p = p * u + splat(0.021700703f);
    p = p * u - splat(0.053946763f);
    p = p * u + splat(0.13333206f);
    p = p * u - splat(0.3333333f);
    vec near = x + x * u * p;
    vec far = splat(1.0f) - splat(2.0f) / (vec_exp(a + a) + splat(1.0f));
    far = (vec)((ivec)far | ((ivec)x & sign));
    return choose(a < splat(0.625f), near, far);
}

/* Applies f to whole vectors, and to the rest by way of a padded one. */
#define MAP(f)                                                                                    \
    do {                                                                                          \
        size_t i = 0;                                                                             \
        for (; i + LANES <= n; i += LANES) store(out + i, f(load(in + i)));                       \
        if (i < n) {                                                                              \
            float rest[LANES] = {0};                                                              \
            memcpy(rest, in + i, (n - i) * sizeof(float));                                        \
            store(rest, f(load(rest)));                                                           \
            memcpy(out + i, rest, (n - i) * sizeof(float));                                       \
        }                                                                                         \
    } while (0)

void sdx_f32_exp(const float *in, float *out, size_t n) { MAP(vec_exp); }
void sdx_f32_sigmoid(const float *in, float *out, size_t n) { MAP(vec_sigmoid); }
void sdx_f32_tanh(const float *in, float *out, size_t n) { MAP(vec_tanh); }

float sdx_f32_exp_sum(const float *in, float shift, float *out, size_t n) {
    vec sum = splat(0), by = splat(shift);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec e = vec_exp(load(in + i) - by);
        store(out + i, e);
        sum += e;
    }
    if (i < n) {
        float rest[LANES] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        for (size_t j = i; j < n; j++) rest[j - i] = in[j] - shift;
        vec e = vec_exp(load(rest));
        store(rest, e);
        memcpy(out + i, rest, (n - i) * sizeof(float));
        sum += e;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

float sdx_f32_max(const float *in, size_t n) {
    vec best = splat(-INFINITY), nan = splat(0);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vec x = load(in + i);
        best = choose(x > best, x, best);
        nan = (vec)((ivec)nan | (x != x)); /* all ones is a NaN */
    }
    float max = best[0];
    for (int l = 1; l < LANES; l++) max = best[l] > max ? best[l] : max;
    for (int l = 0; l < LANES; l++) max = nan[l] != nan[l] ? nan[l] : max;
    for (; i < n; i++) max = in[i] > max || in[i] != in[i] ? in[i] : max;
    return max;
}
