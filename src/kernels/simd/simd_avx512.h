/* simd_avx512.h - vectors of 16 floats with AVX-512F. See simd.h. */
#ifndef SDX_KERNELS_SIMD_AVX512_H
#define SDX_KERNELS_SIMD_AVX512_H

#include <immintrin.h>

#define VL             16
#define SIMD_REGISTERS 32
typedef __m512 vf;

SIMD_INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
SIMD_INLINE void vf_store(float *p, vf a) { _mm512_storeu_ps(p, a); }
SIMD_INLINE vf vf_set1(float x) { return _mm512_set1_ps(x); }
SIMD_INLINE vf vf_broadcast(const float *p) { return _mm512_set1_ps(*p); }
SIMD_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
SIMD_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
SIMD_INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
SIMD_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
SIMD_INLINE vf vf_round(vf a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
SIMD_INLINE vf vf_sqrt(vf a) { return _mm512_sqrt_ps(a); }

/* The first n lanes, 0 < n < VL; the others are 0, and memory behind them is not touched. */
SIMD_INLINE __mmask16 simd_lanes(size_t n) { return (__mmask16)((1u << n) - 1u); }
SIMD_INLINE vf vf_load_n(const float *p, size_t n) {
    return _mm512_maskz_loadu_ps(simd_lanes(n), p);
}
SIMD_INLINE void vf_store_n(float *p, vf a, size_t n) {
    _mm512_mask_storeu_ps(p, simd_lanes(n), a);
}
/* a times 2^n, of n only the integer below it: to infinity, 0 and what lies between 0 and the normal numbers. */
#define SIMD_SCALES 1
SIMD_INLINE vf vf_scale(vf a, vf n) { return _mm512_scalef_ps(a, n); }
/* The nearest multiple of 1/32, and what is left of a without it: 0 where a is infinite. */
SIMD_INLINE vf vf_round_32(vf a) {
    return _mm512_roundscale_ps(a, 5 << 4 | _MM_FROUND_TO_NEAREST_INT);
}
SIMD_INLINE vf vf_fraction_32(vf a) {
    return _mm512_reduce_ps(a, 5 << 4 | _MM_FROUND_TO_NEAREST_INT);
}
/* One of 32 floats, by the low bits of each lane. */
SIMD_INLINE vf vf_pick_32(const float *from, vf bits) {
    return _mm512_permutex2var_ps(_mm512_load_ps(from), _mm512_castps_si512(bits),
                                  _mm512_load_ps(from + 16));
}

/* Two floats in lanes 2 j and 2 j + 1 each; the first or the second of such in both; a float with 0 as the
 * second one; the first half of the lanes, a 0 behind each; sums of neighbours, in the first half. */
#define SIMD_PAIRS 1
SIMD_INLINE vf vf_broadcast_2(const float *p) {
    double both;
    memcpy(&both, p, sizeof both);
    return _mm512_castpd_ps(_mm512_set1_pd(both));
}
SIMD_INLINE vf vf_even(vf a) { return _mm512_moveldup_ps(a); }
SIMD_INLINE vf vf_odd(vf a) { return _mm512_movehdup_ps(a); }
SIMD_INLINE vf vf_broadcast_even(const float *p) {
    return _mm512_maskz_mov_ps(0x5555, _mm512_set1_ps(*p));
}
SIMD_INLINE vf vf_spread(vf a) { return _mm512_maskz_expand_ps(0x5555, a); }
SIMD_INLINE vf vf_join(vf a) {
    return _mm512_maskz_compress_ps(0x5555, a + _mm512_permute_ps(a, 0xb1));
}

SIMD_INLINE float vf_sum(vf a) { return _mm512_reduce_add_ps(a); }
SIMD_INLINE float vf_largest(vf a) { return _mm512_reduce_max_ps(a); }

/* Vectors of VL / 2 doubles, from floats. */
typedef __m512d vd;
SIMD_INLINE vd vd_load_floats(const float *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }

#endif
