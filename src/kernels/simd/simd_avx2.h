/* simd_avx2.h - vectors of 8 floats with AVX2 and FMA. See simd.h. */
#ifndef SDX_KERNELS_SIMD_AVX2_H
#define SDX_KERNELS_SIMD_AVX2_H

#include <immintrin.h>

#define VL             8
#define SIMD_REGISTERS 16
typedef __m256 vf;

SIMD_INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
SIMD_INLINE void vf_store(float *p, vf a) { _mm256_storeu_ps(p, a); }
SIMD_INLINE vf vf_set1(float x) { return _mm256_set1_ps(x); }
SIMD_INLINE vf vf_broadcast(const float *p) { return _mm256_broadcast_ss(p); }
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
SIMD_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
SIMD_INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
SIMD_INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
SIMD_INLINE vf vf_round(vf a) {
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
SIMD_INLINE vf vf_sqrt(vf a) { return _mm256_sqrt_ps(a); }

/* The first n lanes, 0 < n < VL; the others are 0, and memory behind them is not touched. */
SIMD_INLINE __m256i simd_lanes(size_t n) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}
SIMD_INLINE vf vf_load_n(const float *p, size_t n) { return _mm256_maskload_ps(p, simd_lanes(n)); }
SIMD_INLINE void vf_store_n(float *p, vf a, size_t n) { _mm256_maskstore_ps(p, simd_lanes(n), a); }

SIMD_INLINE float vf_sum(vf a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
SIMD_INLINE float vf_largest(vf a) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/* Vectors of VL / 2 doubles, from floats. */
typedef __m256d vd;
SIMD_INLINE vd vd_load_floats(const float *p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }

#endif
