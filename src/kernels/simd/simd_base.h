/* simd_base.h - vectors of 4 floats in what every machine has: the compiler turns them into SSE2, or
 * into plain code. The reference that the other sets are tested against. See simd.h. */
#ifndef SDX_KERNELS_SIMD_BASE_H
#define SDX_KERNELS_SIMD_BASE_H

#include <math.h>

#define VL             4
#define SIMD_REGISTERS 16
typedef float vf __attribute__((vector_size(16), aligned(16), may_alias));

SIMD_INLINE vf vf_load(const float *p) {
    vf a;
    memcpy(&a, p, sizeof a);
    return a;
}
SIMD_INLINE void vf_store(float *p, vf a) { memcpy(p, &a, sizeof a); }
SIMD_INLINE vf vf_set1(float x) { return (vf){x, x, x, x}; }
SIMD_INLINE vf vf_broadcast(const float *p) { return vf_set1(*p); }
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
SIMD_INLINE vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }
/* As the machines' own: the second operand where one is not a number. By masks, which become
 * vector code where a choice lane by lane would not. */
typedef int32_t simd_mask __attribute__((vector_size(16), may_alias));
SIMD_INLINE vf simd_choose(simd_mask mask, vf yes, vf no) {
    return (vf)(((simd_mask)yes & mask) | ((simd_mask)no & ~mask));
}
SIMD_INLINE vf vf_min(vf a, vf b) { return simd_choose((simd_mask)(a < b), a, b); }
SIMD_INLINE vf vf_max(vf a, vf b) { return simd_choose((simd_mask)(a > b), a, b); }
/* To the nearest integer, ties to even, for |a| < 2^22: beyond, floats are integers or callers clip. */
SIMD_INLINE vf vf_round(vf a) {
    const vf magic = vf_set1(12582912.0f);
    vf sum = a + magic;
    __asm__("" : "+m"(sum)); /* keeps a compiler from simplifying (a + m) - m */
    return sum - magic;
}
SIMD_INLINE vf vf_sqrt(vf a) {
    for (int i = 0; i < VL; i++) a[i] = sqrtf(a[i]);
    return a;
}
/* The first n lanes, 0 < n < VL; the others are 0, and memory behind them is not touched. */
SIMD_INLINE vf vf_load_n(const float *p, size_t n) {
    vf a = {0};
    memcpy(&a, p, n * sizeof *p);
    return a;
}
SIMD_INLINE void vf_store_n(float *p, vf a, size_t n) { memcpy(p, &a, n * sizeof *p); }
SIMD_INLINE float vf_sum(vf a) { return (a[0] + a[2]) + (a[1] + a[3]); }
SIMD_INLINE float vf_largest(vf a) {
    float x = a[0] > a[2] ? a[0] : a[2], y = a[1] > a[3] ? a[1] : a[3];
    return x > y ? x : y;
}

/* Vectors of VL / 2 doubles, from floats. */
typedef double vd __attribute__((vector_size(16), aligned(16), may_alias));
SIMD_INLINE vd vd_load_floats(const float *p) { return (vd){(double)p[0], (double)p[1]}; }

#endif
