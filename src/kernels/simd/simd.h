/* simd.h - vectors of float for the kernels of this folder, which are compiled once for each
 * instruction set (CMakeLists.txt sets SDX_ISA and the flags). A kernel is written once, over
 *
 *   vf              a vector of VL floats
 *   SIMD_REGISTERS  how many of them the machine holds: what tiles are sized by
 *   SDX_NAME(name)  the name of an external function in this instruction set
 *
 * and the operations below. Arithmetic is by the operators of C (+ - * /), which GCC and Clang
 * define on vectors. */
#ifndef SDX_KERNELS_SIMD_SIMD_H
#define SDX_KERNELS_SIMD_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIMD_JOIN_(a, b) a##_##b
#define SIMD_JOIN(a, b)  SIMD_JOIN_(a, b)
#define SDX_NAME(name)   SIMD_JOIN(name, SDX_ISA)
#define SIMD_INLINE      static inline __attribute__((always_inline))
#define SIMD_UNROLL      _Pragma("GCC unroll 32")

#if defined(__AVX512F__)
#include "kernels/simd/simd_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "kernels/simd/simd_avx2.h"
#elif defined(SDX_ISA_NEON)
#include "kernels/simd/simd_neon.h"
#else
#include "kernels/simd/simd_base.h"
#endif

/* The integers behind a vector, for exponents and masks. */
typedef int32_t vi __attribute__((vector_size(sizeof(vf)), aligned(sizeof(vf)), may_alias));

SIMD_INLINE vi vf_bits(vf a) { return (vi)a; }
SIMD_INLINE vf vi_floats(vi a) { return (vf)a; }
SIMD_INLINE vi vi_set1(int32_t x) {
    vi r;
    SIMD_UNROLL
    for (int i = 0; i < VL; i++) r[i] = x;
    return r;
}
/* Sums, differences and shifts that wrap. */
typedef uint32_t vu __attribute__((vector_size(sizeof(vf)), aligned(sizeof(vf)), may_alias));
SIMD_INLINE vi vi_add(vi a, vi b) { return (vi)((vu)a + (vu)b); }
SIMD_INLINE vi vi_sub(vi a, vi b) { return (vi)((vu)a - (vu)b); }
SIMD_INLINE vi vi_left(vi a, int bits) { return (vi)((vu)a << bits); }
/* What is not a number stays so: vf_min and vf_max give their second operand then. */
SIMD_INLINE vf vf_clip(vf a, vf low, vf high) { return vf_min(high, vf_max(low, a)); }
/* The sign of b on the size of a; a's own sign must be clear. */
SIMD_INLINE vf vf_with_sign(vf a, vf b) {
    return vi_floats(vf_bits(a) | (vf_bits(b) & vi_set1(INT32_MIN)));
}
SIMD_INLINE vf vf_abs(vf a) { return vi_floats(vf_bits(a) & vi_set1(INT32_MAX)); }
/* mask: all bits of a lane set or clear, as comparisons of vectors give. */
SIMD_INLINE vf vf_select(vi mask, vf yes, vf no) {
    return vi_floats((vf_bits(yes) & mask) | (vf_bits(no) & ~mask));
}
/* 0 where x < low, else y; not a number stays. */
SIMD_INLINE vf vf_zero_below(vf y, vf x, float low) {
#if defined(__AVX512F__)
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, vf_set1(low), _CMP_NLT_UQ), y);
#else
    return vi_floats(vf_bits(y) & ~(vi)(x < vf_set1(low)));
#endif
}

/* Whole vectors or the first lanes of one; callers know which when they are compiled. */
SIMD_INLINE vf vf_load_lanes(const float *p, size_t lanes) {
    return lanes == VL ? vf_load(p) : vf_load_n(p, lanes);
}
SIMD_INLINE void vf_store_lanes(float *p, vf a, size_t lanes) {
    if (lanes == VL) vf_store(p, a);
    else vf_store_n(p, a, lanes);
}

#endif
