/* shape_update.c - the innermost loops of ScatterElements and ScatterND: an element is written, or
 * added, multiplied, or the smaller or larger of two is kept. Also the reading counterpart for
 * GatherElements. Plain moves go by element size, the others by element type. */
#include "ops/movement.h"

typedef struct complex_f32 {
    float re, im;
} complex_f32;
typedef struct complex_f64 {
    double re, im;
} complex_f64;

/* RESULT in terms of a, what is there, and b, what comes; T is the type. */
#define UPDATE(name, TYPE, RESULT)                                                                 \
    static void name(void *to, const int64_t *offsets, const void *from, size_t count) {           \
        typedef TYPE T;                                                                            \
        T *target = to;                                                                            \
        const T *source = from;                                                                    \
        if (!offsets) {                                                                            \
            for (size_t i = 0; i < count; ++i) {                                                   \
                const T a = target[i], b = source[i];                                              \
                target[i] = RESULT;                                                                \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < count; ++i) {                                                       \
            T *at = target + offsets[i];                                                           \
            const T a = *at, b = source[i];                                                        \
            *at = RESULT;                                                                          \
        }                                                                                          \
    }

/* Integers wrap; the product is taken wide, so that 16 bits do not become a signed int. */
#define ADD_WRAPPING ((T)(a + b))
#define MUL_WRAPPING ((T)((uint64_t)a * b))
/* NaN wins on either side. */
#define MIN_FLOAT (a < b || a != a ? a : b)
#define MAX_FLOAT (a > b || a != a ? a : b)
#define MIN_PLAIN (a < b ? a : b)
#define MAX_PLAIN (a > b ? a : b)

#define UPDATES(suffix, TYPE, ADD, MUL, MIN, MAX)                                                  \
    UPDATE(add_##suffix, TYPE, ADD)                                                                \
    UPDATE(mul_##suffix, TYPE, MUL) UPDATE(min_##suffix, TYPE, MIN) UPDATE(max_##suffix, TYPE, MAX)

UPDATES(f32, float, (a + b), (a * b), MIN_FLOAT, MAX_FLOAT)
UPDATES(f64, double, (a + b), (a * b), MIN_FLOAT, MAX_FLOAT)
UPDATES(u8, uint8_t, ADD_WRAPPING, MUL_WRAPPING, MIN_PLAIN, MAX_PLAIN)
UPDATES(u16, uint16_t, ADD_WRAPPING, MUL_WRAPPING, MIN_PLAIN, MAX_PLAIN)
UPDATES(u32, uint32_t, ADD_WRAPPING, MUL_WRAPPING, MIN_PLAIN, MAX_PLAIN)
UPDATES(u64, uint64_t, ADD_WRAPPING, MUL_WRAPPING, MIN_PLAIN, MAX_PLAIN)
UPDATES(bool, uint8_t, (a | b), (a & b), (a & b), (a | b))

/* Signed sums and products have the bits of the unsigned ones. */
#define SIGNED_UPDATES(suffix, TYPE)                                                               \
    UPDATE(min_##suffix, TYPE, MIN_PLAIN) UPDATE(max_##suffix, TYPE, MAX_PLAIN)
SIGNED_UPDATES(i8, int8_t)
SIGNED_UPDATES(i16, int16_t)
SIGNED_UPDATES(i32, int32_t)
SIGNED_UPDATES(i64, int64_t)

#define COMPLEX_UPDATES(suffix, TYPE)                                                              \
    UPDATE(add_##suffix, TYPE, ((T){a.re + b.re, a.im + b.im}))                                    \
    UPDATE(mul_##suffix, TYPE, ((T){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}))
COMPLEX_UPDATES(c64, complex_f32)
COMPLEX_UPDATES(c128, complex_f64)

/* 16-bit floats: computed in float32 and rounded once per update. */
static float add_one(float a, float b) { return a + b; }
static float mul_one(float a, float b) { return a * b; }
static float min_one(float a, float b) { return MIN_FLOAT; }
static float max_one(float a, float b) { return MAX_FLOAT; }

#define HALF_UPDATE(op, suffix, widen, narrow)                                                     \
    UPDATE(op##_##suffix, uint16_t, narrow(op##_one(widen(a), widen(b))))
#define HALF_UPDATES(suffix, widen, narrow)                                                        \
    HALF_UPDATE(add, suffix, widen, narrow)                                                        \
    HALF_UPDATE(mul, suffix, widen, narrow)                                                        \
    HALF_UPDATE(min, suffix, widen, narrow) HALF_UPDATE(max, suffix, widen, narrow)
HALF_UPDATES(f16, sdx_f16_to_f32, sdx_f32_to_f16)
HALF_UPDATES(bf16, sdx_bf16_to_f32, sdx_f32_to_bf16)

/* Moves by size: through memcpy, since the memory may hold any type of that size. */
#define MOVES(size)                                                                                \
    static void write_##size(void *to, const int64_t *offsets, const void *from, size_t count) {   \
        for (size_t i = 0; i < count; ++i)                                                         \
            memcpy((char *)to + offsets[i] * size, (const char *)from + i * size, size);           \
    }                                                                                              \
    static void read_##size(void *to, const void *from, const int64_t *offsets, size_t count) {    \
        for (size_t i = 0; i < count; ++i)                                                         \
            memcpy((char *)to + i * size, (const char *)from + offsets[i] * size, size);           \
    }
MOVES(1)
MOVES(2)
MOVES(4)
MOVES(8)
MOVES(16)

sdx_update sdx_update_find(sdx_update_mode mode, sdx_dtype dtype) {
#define ROW(DTYPE, suffix, sum)                                                                    \
    [SDX_DTYPE_##DTYPE] = { add_##sum, mul_##sum, min_##suffix, max_##suffix }
    static const sdx_update table[SDX_DTYPE_COUNT][4] = {
        ROW(FLOAT32, f32, f32),
        ROW(FLOAT64, f64, f64),
        ROW(FLOAT16, f16, f16),
        ROW(BFLOAT16, bf16, bf16),
        ROW(BOOL, bool, bool),
        ROW(UINT8, u8, u8),
        ROW(UINT16, u16, u16),
        ROW(UINT32, u32, u32),
        ROW(UINT64, u64, u64),
        ROW(INT8, i8, u8),
        ROW(INT16, i16, u16),
        ROW(INT32, i32, u32),
        ROW(INT64, i64, u64),
        [SDX_DTYPE_COMPLEX64] = {add_c64, mul_c64, NULL, NULL},
        [SDX_DTYPE_COMPLEX128] = {add_c128, mul_c128, NULL, NULL},
    };
#undef ROW
    if (mode != SDX_UPDATE_NONE) return table[dtype][mode - 1];
    switch (sdx_dtype_size(dtype)) {
    case 1: return write_1;
    case 2: return write_2;
    case 4: return write_4;
    case 8: return write_8;
    default: return write_16;
    }
}

void sdx_pick(size_t unit, void *to, const void *from, const int64_t *offsets, size_t count) {
    switch (unit) {
    case 1: read_1(to, from, offsets, count); break;
    case 2: read_2(to, from, offsets, count); break;
    case 4: read_4(to, from, offsets, count); break;
    case 8: read_8(to, from, offsets, count); break;
    default: read_16(to, from, offsets, count); break;
    }
}
