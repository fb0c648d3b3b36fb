/* dtype.h - element types: sizes, names, sets of types, and conversion of the small floats. */
#ifndef SDX_BASE_DTYPE_H
#define SDX_BASE_DTYPE_H

#include <string.h>

#include "base/status.h"

/* Sets of types, as bit masks over sdx_dtype. */
typedef uint32_t sdx_dtypes;
#define SDX_T(name) ((sdx_dtypes)1 << SDX_DTYPE_##name)
#define SDX_T_FLOAT8                                                                              \
    (SDX_T(FLOAT8E4M3FN) | SDX_T(FLOAT8E4M3FNUZ) | SDX_T(FLOAT8E5M2) | SDX_T(FLOAT8E5M2FNUZ) |   \
     SDX_T(FLOAT8E8M0))
#define SDX_T_FLOATS (SDX_T(FLOAT16) | SDX_T(BFLOAT16) | SDX_T(FLOAT32) | SDX_T(FLOAT64))
#define SDX_T_SIGNED (SDX_T(INT8) | SDX_T(INT16) | SDX_T(INT32) | SDX_T(INT64))
#define SDX_T_UNSIGNED (SDX_T(UINT8) | SDX_T(UINT16) | SDX_T(UINT32) | SDX_T(UINT64))
#define SDX_T_INTS (SDX_T_SIGNED | SDX_T_UNSIGNED)
#define SDX_T_NUMERIC (SDX_T_FLOATS | SDX_T_INTS)
#define SDX_T_INDEX (SDX_T(INT32) | SDX_T(INT64))
#define SDX_T_COMPLEX (SDX_T(COMPLEX64) | SDX_T(COMPLEX128))
/* Floats of 4 and 6 bits: no NaN, no infinity. */
#define SDX_T_FLOAT46 (SDX_T(FLOAT4E2M1) | SDX_T(FLOAT6E2M3) | SDX_T(FLOAT6E3M2))
#define SDX_T_SMALL                                                                               \
    (SDX_T_FLOAT8 | SDX_T_FLOAT46 | SDX_T(UINT4) | SDX_T(INT4) | SDX_T(UINT2) | SDX_T(INT2))
#define SDX_T_ALL                                                                                 \
    (SDX_T_NUMERIC | SDX_T_COMPLEX | SDX_T_SMALL | SDX_T(BOOL) | SDX_T(STRING))

static inline bool sdx_dtypes_has(sdx_dtypes set, sdx_dtype dtype) {
    return (unsigned)dtype < SDX_DTYPE_COUNT && (set >> dtype & 1u) != 0;
}
static inline bool sdx_dtype_valid(int64_t number) {
    return number > SDX_DTYPE_UNDEFINED && number < SDX_DTYPE_COUNT;
}
/* Bits of one element in a file: 6, 4 and 2 for the sub-byte types, else 8 * size. 0 for strings. */
unsigned sdx_dtype_file_bits(sdx_dtype dtype);
/* Bytes that count elements take in a file's raw data (sub-byte types packed). */
bool sdx_dtype_file_size(sdx_dtype dtype, size_t count, size_t *bytes);
/* Spreads packed 6-, 4- or 2-bit elements to one byte each (low bits first, sign-extended). */
void sdx_dtype_unpack(sdx_dtype dtype, const uint8_t *packed, size_t count, uint8_t *out);
void sdx_dtype_pack(sdx_dtype dtype, const uint8_t *unpacked, size_t count, uint8_t *out);
/* "float32, float64 or int8" into buffer; returns buffer. */
const char *sdx_dtypes_text(sdx_dtypes set, char *buffer, size_t size);

/* Small floats, exact by the IEEE rules or the ONNX definition of the format. Narrowing rounds to
 * nearest even; `saturate` picks the largest finite value in place of infinity/NaN on overflow. */
float sdx_f16_to_f32(uint16_t bits);
uint16_t sdx_f32_to_f16(float value);
uint16_t sdx_f64_to_f16(double value); /* one rounding, not two */
static inline float sdx_bf16_to_f32(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}
uint16_t sdx_f32_to_bf16(float value);
uint16_t sdx_f64_to_bf16(double value);
/* format: any float of 8, 6 or 4 bits (the last two always saturate). */
float sdx_f8_to_f32(sdx_dtype format, uint8_t bits);
uint8_t sdx_f32_to_f8(sdx_dtype format, float value, bool saturate);
/* FLOAT8E8M0 has no sign and no zero; sdx_f32_to_f8 rounds it with mode 0, the default of Cast.
 * mode: 0 up, 1 down, 2 nearest with ties up. Not saturating, what lies outside becomes NaN. */
uint8_t sdx_f32_to_e8m0(float value, int mode, bool saturate);

/* Converts count elements of any float type to float32 (float64 is rounded), or from it.
 * For bodies that compute the small types in float32. */
void sdx_to_f32(sdx_dtype from, const void *in, float *out, size_t count);
void sdx_from_f32(sdx_dtype to, const float *in, void *out, size_t count);

#endif
