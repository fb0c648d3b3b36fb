/* f32_interleave.c - two or three rows of 4-byte elements into one, in turn: what a shuffle of channels in
 * two groups comes down to, and the colours of an image. Elements are moved, never computed with. */
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

/* ---- three rows ------------------------------------------------------------------------------ */

/* Element e of the result is element e / 3 of row e % 3. */
#if defined(__AVX512F__)
SIMD_INLINE void three_at(const float *a, const float *b, const float *c, float *out) {
    const __m512 va = _mm512_loadu_ps(a), vb = _mm512_loadu_ps(b), vc = _mm512_loadu_ps(c);
    const __m512i place[3] = {
        _mm512_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5),
        _mm512_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10),
        _mm512_setr_epi32(10, 11, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15)};
    const __mmask16 second[3] = {0x2492, 0x9249, 0x4924}, third[3] = {0x4924, 0x2492, 0x9249};
    SIMD_UNROLL
    for (int k = 0; k < 3; k++) {
        __m512 v = _mm512_permutexvar_ps(place[k], va);
        v = _mm512_mask_permutexvar_ps(v, second[k], place[k], vb);
        v = _mm512_mask_permutexvar_ps(v, third[k], place[k], vc);
        _mm512_storeu_ps(out + 16 * k, v);
    }
}
#define THREE 16
#elif defined(__AVX2__)
SIMD_INLINE void three_at(const float *a, const float *b, const float *c, float *out) {
    const __m256 va = _mm256_loadu_ps(a), vb = _mm256_loadu_ps(b), vc = _mm256_loadu_ps(c);
    const __m256i first = _mm256_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2);
    const __m256i second = _mm256_setr_epi32(2, 3, 3, 3, 4, 4, 4, 5);
    const __m256i third = _mm256_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7);
    __m256 v = _mm256_blend_ps(_mm256_permutevar8x32_ps(va, first),
                               _mm256_permutevar8x32_ps(vb, first), 0x92);
    _mm256_storeu_ps(out, _mm256_blend_ps(v, _mm256_permutevar8x32_ps(vc, first), 0x24));
    v = _mm256_blend_ps(_mm256_permutevar8x32_ps(va, second), _mm256_permutevar8x32_ps(vb, second),
                        0x24);
    _mm256_storeu_ps(out + 8, _mm256_blend_ps(v, _mm256_permutevar8x32_ps(vc, second), 0x49));
    v = _mm256_blend_ps(_mm256_permutevar8x32_ps(va, third), _mm256_permutevar8x32_ps(vb, third),
                        0x49);
    _mm256_storeu_ps(out + 16, _mm256_blend_ps(v, _mm256_permutevar8x32_ps(vc, third), 0x92));
}
#define THREE 8
#endif

void SDX_NAME(sdx_f32_interleave_3)(const float *a, const float *b, const float *c, float *out,
                                    size_t n) {
    size_t i = 0;
#if defined(THREE)
    for (; i + THREE <= n; i += THREE) three_at(a + i, b + i, c + i, out + 3 * i);
#endif
    for (; i < n; i++) {
        memcpy(out + 3 * i, a + i, sizeof *out);
        memcpy(out + 3 * i + 1, b + i, sizeof *out);
        memcpy(out + 3 * i + 2, c + i, sizeof *out);
    }
}
