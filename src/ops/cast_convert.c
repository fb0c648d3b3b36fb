/* cast_convert.c - elements of any numeric type to any other, in runs. Each type is first widened
 * to one of five (int32, int64, uint64, float32, float64) without loss and then narrowed, so a
 * new type costs one case on either side in place of one per pair.
 * What the standard leaves undefined - floats beyond an integer's range - is the same everywhere
 * here: what x86 gives, through int32 for the types below 32 bits. */
#include "ops/cast.h"

/* ---- to the wide type ----------------------------------------------------------------------- */

static sdx_dtype wide_type(sdx_dtype from) {
    switch (from) {
    case SDX_DTYPE_INT64:
    case SDX_DTYPE_UINT32: return SDX_DTYPE_INT64;
    case SDX_DTYPE_UINT64: return SDX_DTYPE_UINT64;
    case SDX_DTYPE_FLOAT64: return SDX_DTYPE_FLOAT64;
    default:
        return sdx_dtypes_has(SDX_T_FLOATS | SDX_T_FLOAT8 | SDX_T_FLOAT46, from)
                   ? SDX_DTYPE_FLOAT32
                   : SDX_DTYPE_INT32;
    }
}

#define EACH(OUT, IN, EXPR)                                                                       \
    {                                                                                             \
        const IN *v = in;                                                                         \
        OUT *o = out;                                                                             \
        for (size_t i = 0; i < n; i++) o[i] = (OUT)(EXPR);                                        \
        return;                                                                                   \
    }

static void widen(sdx_dtype from, const void *in, void *out, size_t n) {
    switch (from) {
    case SDX_DTYPE_BOOL: EACH(int32_t, uint8_t, v[i] != 0)
    case SDX_DTYPE_INT8:
    case SDX_DTYPE_INT4:
    case SDX_DTYPE_INT2: EACH(int32_t, int8_t, v[i])
    case SDX_DTYPE_UINT8:
    case SDX_DTYPE_UINT4:
    case SDX_DTYPE_UINT2: EACH(int32_t, uint8_t, v[i])
    case SDX_DTYPE_INT16: EACH(int32_t, int16_t, v[i])
    case SDX_DTYPE_UINT16: EACH(int32_t, uint16_t, v[i])
    case SDX_DTYPE_UINT32: EACH(int64_t, uint32_t, v[i])
    default: sdx_to_f32(from, in, out, n); return;
    }
}

/* ---- to the small floats -------------------------------------------------------------------- */

/* A float on the same side of every tie of a smaller format as value: rounded to odd, that is,
 * inexact results end in a set bit. Rounding it again then equals rounding once. */
static float sticky(double value) {
    float near = (float)value;
    if ((double)near == value || value != value) return near;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    if ((bits & 1) == 0) {
        /* Neighbours in magnitude are neighbours as integers; infinity's is the largest float. */
        const double magnitude = value < 0 ? -value : value;
        const double rounded = value < 0 ? -(double)near : (double)near;
        bits = rounded < magnitude ? bits + 1 : bits - 1;
        memcpy(&near, &bits, sizeof near);
    }
    return near;
}

static void narrow_small(const sdx_cast_rules *rules, sdx_dtype to, double value, void *out) {
    switch (to) {
    case SDX_DTYPE_FLOAT16: *(uint16_t *)out = sdx_f64_to_f16(value); return;
    case SDX_DTYPE_BFLOAT16: *(uint16_t *)out = sdx_f64_to_bf16(value); return;
    case SDX_DTYPE_FLOAT8E8M0:
        *(uint8_t *)out = sdx_f32_to_e8m0(sticky(value), rules->round_mode, rules->saturate);
        return;
    default: *(uint8_t *)out = sdx_f32_to_f8(to, sticky(value), rules->saturate); return;
    }
}

#define SMALL_FLOATS(IN)                                                                          \
    {                                                                                             \
        const IN *v = in;                                                                         \
        const size_t size = sdx_dtype_size(to);                                                   \
        uint8_t *o = out;                                                                         \
        for (size_t i = 0; i < n; i++) narrow_small(rules, to, (double)v[i], o + i * size);       \
    }

/* ---- from the wide type --------------------------------------------------------------------- */

/* Integers drop the bits that do not fit. */
#define NARROW_INTEGER(name, IN)                                                                  \
    static void name(const sdx_cast_rules *rules, sdx_dtype to, const void *in, void *out,        \
                     size_t n) {                                                                  \
        switch (to) {                                                                             \
        case SDX_DTYPE_BOOL: EACH(uint8_t, IN, v[i] != 0)                                         \
        case SDX_DTYPE_INT8:                                                                      \
        case SDX_DTYPE_UINT8: EACH(uint8_t, IN, v[i])                                             \
        case SDX_DTYPE_INT16:                                                                     \
        case SDX_DTYPE_UINT16: EACH(uint16_t, IN, v[i])                                           \
        case SDX_DTYPE_INT32:                                                                     \
        case SDX_DTYPE_UINT32: EACH(uint32_t, IN, v[i])                                           \
        case SDX_DTYPE_INT64:                                                                     \
        case SDX_DTYPE_UINT64: EACH(uint64_t, IN, v[i])                                           \
        case SDX_DTYPE_UINT4: EACH(uint8_t, IN, v[i] & 15)                                        \
        case SDX_DTYPE_INT4: EACH(uint8_t, IN, ((v[i] & 15) ^ 8) - 8)                             \
        case SDX_DTYPE_UINT2: EACH(uint8_t, IN, v[i] & 3)                                         \
        case SDX_DTYPE_INT2: EACH(uint8_t, IN, ((v[i] & 3) ^ 2) - 2)                              \
        case SDX_DTYPE_FLOAT32: EACH(float, IN, v[i])                                             \
        case SDX_DTYPE_FLOAT64: EACH(double, IN, v[i])                                            \
        default: SMALL_FLOATS(IN)                                                                 \
        }                                                                                         \
    }
NARROW_INTEGER(narrow_i32, int32_t)
NARROW_INTEGER(narrow_i64, int64_t)
NARROW_INTEGER(narrow_u64, uint64_t)

/* Floats are cut toward zero; NaN fails the comparisons and counts as out of range. */
#define TO_I32(x) ((x) >= -0x1p31f && (x) < 0x1p31f ? (int32_t)(x) : INT32_MIN)
#define TO_I64(x) ((x) >= -0x1p63f && (x) < 0x1p63f ? (int64_t)(x) : INT64_MIN)
#define TO_U64(x)                                                                                 \
    ((x) >= 0x1p63f ? ((x) < 0x1p64f ? (uint64_t)(x) : (uint64_t)0) : (uint64_t)TO_I64(x))

#define NARROW_FLOAT(name, IN)                                                                    \
    static void name(const sdx_cast_rules *rules, sdx_dtype to, const void *in, void *out,        \
                     size_t n) {                                                                  \
        switch (to) {                                                                             \
        case SDX_DTYPE_BOOL: EACH(uint8_t, IN, v[i] != 0)                                         \
        case SDX_DTYPE_INT8:                                                                      \
        case SDX_DTYPE_UINT8: EACH(uint8_t, IN, TO_I32(v[i]))                                     \
        case SDX_DTYPE_INT16:                                                                     \
        case SDX_DTYPE_UINT16: EACH(uint16_t, IN, TO_I32(v[i]))                                   \
        case SDX_DTYPE_INT32: EACH(int32_t, IN, TO_I32(v[i]))                                     \
        case SDX_DTYPE_UINT32: EACH(uint32_t, IN, TO_I64(v[i]))                                   \
        case SDX_DTYPE_INT64: EACH(int64_t, IN, TO_I64(v[i]))                                     \
        case SDX_DTYPE_UINT64: EACH(uint64_t, IN, TO_U64(v[i]))                                   \
        case SDX_DTYPE_UINT4: EACH(uint8_t, IN, TO_I32(v[i]) & 15)                                \
        case SDX_DTYPE_INT4: EACH(uint8_t, IN, ((TO_I32(v[i]) & 15) ^ 8) - 8)                     \
        case SDX_DTYPE_UINT2: EACH(uint8_t, IN, TO_I32(v[i]) & 3)                                 \
        case SDX_DTYPE_INT2: EACH(uint8_t, IN, ((TO_I32(v[i]) & 3) ^ 2) - 2)                      \
        case SDX_DTYPE_FLOAT32: EACH(float, IN, v[i])                                             \
        case SDX_DTYPE_FLOAT64: EACH(double, IN, v[i])                                            \
        default: SMALL_FLOATS(IN)                                                                 \
        }                                                                                         \
    }
NARROW_FLOAT(narrow_f32, float)
NARROW_FLOAT(narrow_f64, double)

static void narrow(const sdx_cast_rules *rules, sdx_dtype wide, sdx_dtype to, const void *in,
                   void *out, size_t n) {
    switch (wide) {
    case SDX_DTYPE_INT32: narrow_i32(rules, to, in, out, n); return;
    case SDX_DTYPE_INT64: narrow_i64(rules, to, in, out, n); return;
    case SDX_DTYPE_UINT64: narrow_u64(rules, to, in, out, n); return;
    case SDX_DTYPE_FLOAT64: narrow_f64(rules, to, in, out, n); return;
    default:
        if (to == SDX_DTYPE_FLOAT16 || to == SDX_DTYPE_BFLOAT16) {
            sdx_from_f32(to, in, out, n); /* a run at a time, no rules needed */
        } else {
            narrow_f32(rules, to, in, out, n);
        }
    }
}

/* ---- both ----------------------------------------------------------------------------------- */

void sdx_convert_by(const sdx_cast_rules *rules, sdx_dtype from, sdx_dtype to, const void *in,
                    void *out, size_t count) {
    const sdx_dtype wide = wide_type(from);
    const size_t from_size = sdx_dtype_size(from), to_size = sdx_dtype_size(to);
    /* The one type with infinities that saturation takes away, from itself too. */
    const bool same = from == to && !(rules->saturate && to == SDX_DTYPE_FLOAT8E5M2);
    if (count == 0) return;
    if (same) {
        if (in != out) memcpy(out, in, count * to_size);
    } else if (from == wide) {
        narrow(rules, wide, to, in, out, count);
    } else if (to == wide) {
        widen(from, in, out, count);
    } else {
        _Alignas(64) unsigned char block[SDX_EW_BLOCK * 8];
        for (size_t at = 0; at < count; at += SDX_EW_BLOCK) {
            const size_t n = count - at < SDX_EW_BLOCK ? count - at : SDX_EW_BLOCK;
            widen(from, (const uint8_t *)in + at * from_size, block, n);
            narrow(rules, wide, to, block, (uint8_t *)out + at * to_size, n);
        }
    }
}

void sdx_convert(sdx_dtype from, sdx_dtype to, const void *in, void *out, size_t count) {
    static const sdx_cast_rules plain = {.saturate = true};
    sdx_convert_by(&plain, from, to, in, out, count);
}
