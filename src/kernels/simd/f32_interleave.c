/* f32_interleave.c - two rows of 4-byte elements into one, in turn: what a shuffle of channels in two
 * groups comes down to. Elements are moved, never computed with. */
#include "kernels/simd/simd.h"
#include "kernels/kernels.h"

#if defined(__AVX512F__)
SIMD_INLINE void weave(vf a, vf b, vf *low, vf *high) {
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i last = _mm512_add_epi32(first, _mm512_set1_epi32(8));
    *low = _mm512_permutex2var_ps(a, first, b);
    *high = _mm512_permutex2var_ps(a, last, b);
}
#elif defined(__AVX2__)
SIMD_INLINE void weave(vf a, vf b, vf *low, vf *high) {
    const vf even = _mm256_unpacklo_ps(a, b), odd = _mm256_unpackhi_ps(a, b);
    *low = _mm256_permute2f128_ps(even, odd, 0x20);
    *high = _mm256_permute2f128_ps(even, odd, 0x31);
}
#else
SIMD_INLINE void weave(vf a, vf b, vf *low, vf *high) {
    SIMD_UNROLL
    for (int i = 0; i < VL / 2; i++) {
        (*low)[2 * i] = a[i];
        (*low)[2 * i + 1] = b[i];
        (*high)[2 * i] = a[VL / 2 + i];
        (*high)[2 * i + 1] = b[VL / 2 + i];
    }
}
#endif

SIMD_INLINE void vector_at(const float *a, const float *b, float *out, size_t i) {
    vf low = vf_load(a + i), high = vf_load(b + i);
    weave(low, high, &low, &high);
    vf_store(out + 2 * i, low);
    vf_store(out + 2 * i + VL, high);
}

void SDX_NAME(sdx_f32_interleave)(const float *a, const float *b, size_t step, float *out,
                                  size_t out_step, size_t rows, size_t n) {
    for (size_t r = 0; r < rows; r++, a += step, b += step, out += out_step) {
        size_t i = 0;
        for (; i + VL <= n; i += VL) vector_at(a, b, out, i);
        if (i < n && n >= VL) { /* the last ones once more with some of those before them */
            vector_at(a, b, out, n - VL);
            continue;
        }
        for (; i < n; i++) {
            memcpy(out + 2 * i, a + i, sizeof *out);
            memcpy(out + 2 * i + 1, b + i, sizeof *out);
        }
    }
}
