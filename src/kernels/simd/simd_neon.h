/* simd_neon.h - vectors of 4 floats with NEON, of 64-bit ARM and of 32-bit ARM with VFPv4. The latter has
 * half the registers, no denormals, and neither roots nor doubles in vectors. See simd.h. */
#ifndef SDX_KERNELS_SIMD_NEON_H
#define SDX_KERNELS_SIMD_NEON_H

#include <arm_neon.h>
#include <math.h>

#define VL 4
typedef float32x4_t vf;

SIMD_INLINE vf vf_load(const float *p) { return vld1q_f32(p); }
SIMD_INLINE void vf_store(float *p, vf a) { vst1q_f32(p, a); }
SIMD_INLINE vf vf_set1(float x) { return vdupq_n_f32(x); }
SIMD_INLINE vf vf_broadcast(const float *p) { return vld1q_dup_f32(p); }
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
SIMD_INLINE vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
/* As on x86: the second operand where one is not a number. */
SIMD_INLINE vf vf_min(vf a, vf b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
SIMD_INLINE vf vf_max(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }

/* The first n lanes, 0 < n < VL; the others are 0, and memory behind them is not touched. */
SIMD_INLINE vf vf_load_n(const float *p, size_t n) {
    float lanes[VL] = {0};
    memcpy(lanes, p, n * sizeof *p);
    return vld1q_f32(lanes);
}
SIMD_INLINE void vf_store_n(float *p, vf a, size_t n) {
    float lanes[VL];
    vst1q_f32(lanes, a);
    memcpy(p, lanes, n * sizeof *p);
}

/* Vectors vd hold VL / 2 doubles, from floats. */
#if defined(__aarch64__)
#define SIMD_REGISTERS 32
SIMD_INLINE vf vf_round(vf a) { return vrndnq_f32(a); }
SIMD_INLINE vf vf_sqrt(vf a) { return vsqrtq_f32(a); }
SIMD_INLINE float vf_sum(vf a) { return vaddvq_f32(a); }
SIMD_INLINE float vf_largest(vf a) { return vmaxvq_f32(a); }
typedef float64x2_t vd;
SIMD_INLINE vd vd_load_floats(const float *p) { return vcvt_f64_f32(vld1_f32(p)); }
#else
#define SIMD_REGISTERS 16
/* To the nearest integer, ties to even, for |a| < 2^22: beyond, floats are integers or callers clip. */
SIMD_INLINE vf vf_round(vf a) {
    const vf magic = vf_set1(12582912.0f);
    vf sum = a + magic;
    __asm__("" : "+w"(sum)); /* keeps a compiler from simplifying (a + m) - m */
    return sum - magic;
}
SIMD_INLINE vf vf_sqrt(vf a) {
    for (int i = 0; i < VL; i++) a[i] = sqrtf(a[i]);
    return a;
}
SIMD_INLINE float vf_sum(vf a) { return (a[0] + a[2]) + (a[1] + a[3]); }
SIMD_INLINE float vf_largest(vf a) {
    float32x2_t two = vpmax_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(vpmax_f32(two, two), 0);
}
typedef double vd __attribute__((vector_size(16), may_alias));
SIMD_INLINE vd vd_load_floats(const float *p) { return (vd){(double)p[0], (double)p[1]}; }
#endif

#endif
