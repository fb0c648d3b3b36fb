/* simd_neon.h - vectors of 4 floats with the NEON of 64-bit ARM. See simd.h. */
#ifndef SDX_KERNELS_SIMD_NEON_H
#define SDX_KERNELS_SIMD_NEON_H

#include <arm_neon.h>

#define VL             4
#define SIMD_REGISTERS 32
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
SIMD_INLINE vf vf_round(vf a) { return vrndnq_f32(a); }
SIMD_INLINE vf vf_sqrt(vf a) { return vsqrtq_f32(a); }

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
SIMD_INLINE float vf_sum(vf a) { return vaddvq_f32(a); }
SIMD_INLINE float vf_largest(vf a) { return vmaxvq_f32(a); }

/* Vectors of VL / 2 doubles, from floats. */
typedef float64x2_t vd;
SIMD_INLINE vd vd_load_floats(const float *p) { return vcvt_f64_f32(vld1_f32(p)); }

#endif
