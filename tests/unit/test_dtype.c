/* test_dtype.c - facts about element types, packing, and the small floats. The oracle for the
 * float8 and float4 formats is independent of the code under test: it lists the values of all
 * codes in double by the definition of the format and searches the nearest. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/dtype.h"

static float f32(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t random_state = 0x243f6a8885a308d3u;

static uint32_t random32(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

/* ---- types -------------------------------------------------------------------------------- */

static void test_sizes_and_names(void **state) {
    (void)state;
    assert_int_equal(sdx_dtype_size(SDX_DTYPE_UNDEFINED), 0);
    assert_int_equal(sdx_dtype_size(SDX_DTYPE_COUNT), 0);
    assert_int_equal(sdx_dtype_size((sdx_dtype)-1), 0);
    assert_int_equal(sdx_dtype_size(SDX_DTYPE_FLOAT32), 4);
    assert_int_equal(sdx_dtype_size(SDX_DTYPE_COMPLEX128), 16);
    assert_int_equal(sdx_dtype_size(SDX_DTYPE_STRING), sizeof(sdx_string));
    assert_int_equal(sdx_dtype_size(SDX_DTYPE_INT4), 1);
    assert_string_equal(sdx_dtype_name(SDX_DTYPE_FLOAT8E5M2FNUZ), "float8e5m2fnuz");
    assert_string_equal(sdx_dtype_name(SDX_DTYPE_INT2), "int2");
    assert_string_equal(sdx_dtype_name((sdx_dtype)1000), "unknown");
    for (int i = 1; i < SDX_DTYPE_COUNT; i++) {
        sdx_dtype dtype = (sdx_dtype)i;
        assert_true(sdx_dtype_size(dtype) > 0);
        assert_non_null(sdx_dtype_name(dtype));
        assert_true(sdx_dtypes_has(SDX_T_ALL, dtype));
        unsigned bits = sdx_dtype_file_bits(dtype);
        if (dtype == SDX_DTYPE_STRING) assert_int_equal(bits, 0);
        else assert_true(bits == 2 || bits == 4 || bits == 6 || bits == 8 * sdx_dtype_size(dtype));
    }
    assert_false(sdx_dtype_valid(0));
    assert_false(sdx_dtype_valid(SDX_DTYPE_COUNT));
    assert_false(sdx_dtype_valid(-5));
    assert_false(sdx_dtypes_has(SDX_T_ALL, SDX_DTYPE_UNDEFINED));
    assert_false(sdx_dtypes_has(SDX_T_ALL, (sdx_dtype)-1));
}

static void test_file_size(void **state) {
    (void)state;
    size_t bytes = 0;
    assert_true(sdx_dtype_file_size(SDX_DTYPE_FLOAT16, 3, &bytes) && bytes == 6);
    assert_true(sdx_dtype_file_size(SDX_DTYPE_INT4, 0, &bytes) && bytes == 0);
    assert_true(sdx_dtype_file_size(SDX_DTYPE_INT4, 3, &bytes) && bytes == 2);
    assert_true(sdx_dtype_file_size(SDX_DTYPE_UINT2, 4, &bytes) && bytes == 1);
    assert_true(sdx_dtype_file_size(SDX_DTYPE_UINT2, 5, &bytes) && bytes == 2);
    assert_true(sdx_dtype_file_size(SDX_DTYPE_UINT2, SIZE_MAX, &bytes) &&
                bytes == SIZE_MAX / 4 + 1);
    assert_false(sdx_dtype_file_size(SDX_DTYPE_FLOAT32, SIZE_MAX / 2, &bytes));
    assert_false(sdx_dtype_file_size(SDX_DTYPE_STRING, 1, &bytes));
    assert_false(sdx_dtype_file_size(SDX_DTYPE_UNDEFINED, 1, &bytes));
}

static void test_packing(void **state) {
    (void)state;
    uint8_t out[9];
    const uint8_t four[] = {0x8f, 0x70, 0xa5};
    sdx_dtype_unpack(SDX_DTYPE_INT4, four, 5, out);
    assert_memory_equal(out, ((const uint8_t[]){0xff, 0xf8, 0x00, 0x07, 0x05}), 5);
    sdx_dtype_unpack(SDX_DTYPE_UINT4, four, 5, out);
    assert_memory_equal(out, ((const uint8_t[]){0x0f, 0x08, 0x00, 0x07, 0x05}), 5);
    sdx_dtype_unpack(SDX_DTYPE_FLOAT4E2M1, four, 2, out);
    assert_memory_equal(out, ((const uint8_t[]){0x0f, 0x08}), 2);
    const uint8_t two[] = {0x1b};
    sdx_dtype_unpack(SDX_DTYPE_INT2, two, 4, out);
    assert_memory_equal(out, ((const uint8_t[]){0xff, 0xfe, 0x01, 0x00}), 4);
    sdx_dtype_unpack(SDX_DTYPE_UINT2, two, 3, out);
    assert_memory_equal(out, ((const uint8_t[]){3, 2, 1}), 3);
    /* x0 | x1 << 6 | x2 << 12 | x3 << 18, low byte first. */
    const uint8_t six[] = {0x41, 0x20, 0x0c};
    sdx_dtype_unpack(SDX_DTYPE_FLOAT6E2M3, six, 4, out);
    assert_memory_equal(out, ((const uint8_t[]){1, 1, 2, 3}), 4);
    /* There and back for every length; nothing past the end is written, padding bits are 0. */
    const sdx_dtype packed_types[] = {SDX_DTYPE_INT4, SDX_DTYPE_UINT4, SDX_DTYPE_FLOAT4E2M1,
                                      SDX_DTYPE_INT2, SDX_DTYPE_UINT2, SDX_DTYPE_FLOAT6E2M3,
                                      SDX_DTYPE_FLOAT6E3M2};
    for (size_t t = 0; t < sizeof packed_types / sizeof *packed_types; t++) {
        for (size_t count = 0; count < 9; count++) {
            uint8_t bytes[8], wide[9], again[8];
            size_t size = 0;
            for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)random32();
            memset(wide, 0xcc, sizeof wide);
            memset(again, 0xcc, sizeof again);
            assert_true(sdx_dtype_file_size(packed_types[t], count, &size));
            sdx_dtype_unpack(packed_types[t], bytes, count, wide);
            assert_int_equal(wide[count], 0xcc);
            sdx_dtype_pack(packed_types[t], wide, count, again);
            assert_int_equal(again[size], 0xcc);
            unsigned bits = sdx_dtype_file_bits(packed_types[t]);
            unsigned rest = (unsigned)(count * bits % 8);
            if (rest != 0) bytes[size - 1] &= (uint8_t)((1u << rest) - 1);
            assert_memory_equal(bytes, again, size);
        }
    }
}

static void test_sets_as_text(void **state) {
    (void)state;
    char text[64];
    assert_string_equal(sdx_dtypes_text(SDX_T(FLOAT32), text, sizeof text), "float32");
    assert_string_equal(
        sdx_dtypes_text(SDX_T(INT8) | SDX_T(FLOAT64) | SDX_T(FLOAT32), text, sizeof text),
        "float32, float64 or int8");
    assert_string_equal(sdx_dtypes_text(SDX_T_INDEX, text, sizeof text), "int32 or int64");
    assert_string_equal(sdx_dtypes_text(SDX_T_ALL, text, sizeof text), "any type");
    assert_string_equal(sdx_dtypes_text(0, text, sizeof text), "no type");
    memset(text, 'x', sizeof text);
    sdx_dtypes_text(SDX_T_NUMERIC, text, 20);
    assert_true(strlen(text) == 19 && text[20] == 'x');
    assert_ptr_equal(sdx_dtypes_text(SDX_T_ALL, text, 0), text);
    char all[1000];
    sdx_dtypes_text(SDX_T_ALL & ~SDX_T(BOOL), all, sizeof all);
    for (int i = 1; i < SDX_DTYPE_COUNT; i++)
        if (i != SDX_DTYPE_BOOL) assert_non_null(strstr(all, sdx_dtype_name((sdx_dtype)i)));
}

/* ---- float16 and bfloat16 ----------------------------------------------------------------- */

static double half_value(uint32_t code) { /* of a magnitude below infinity */
    int exponent = (int)(code >> 10);
    double fraction = (double)(code & 0x3ff);
    return exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
}

static void test_f16_all_codes(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 65536; code++) {
        float wide = sdx_f16_to_f32((uint16_t)code);
        uint32_t magnitude = code & 0x7fff;
        if (magnitude > 0x7c00) {
            assert_true(isnan(wide));
            assert_int_equal(sdx_f32_to_f16(wide), code | 0x200); /* quiet, payload kept */
            continue;
        }
        double exact = magnitude == 0x7c00 ? (double)INFINITY : half_value(magnitude);
        assert_true((double)fabsf(wide) == exact);
        assert_int_equal(signbit(wide) != 0, code >> 15);
        assert_int_equal(sdx_f32_to_f16(wide), code);
        assert_int_equal(sdx_f64_to_f16((double)wide), code);
    }
}

/* At each border between two neighbours: the tie goes to even, one step beside it does not. */
static void test_f16_rounding(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 0x7c00; code++) {
        double next = code == 0x7bff ? 65536.0 : half_value(code + 1);
        double middle = (half_value(code) + next) / 2;
        float tie = (float)middle; /* exact: one bit more than float16 has */
        uint32_t even = code + (code & 1), bits = bits_of(tie);
        for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000) {
            uint32_t top = sign << 16;
            assert_int_equal(sdx_f32_to_f16(f32(bits | top)), even | sign);
            assert_int_equal(sdx_f32_to_f16(f32((bits - 1) | top)), code | sign);
            assert_int_equal(sdx_f32_to_f16(f32((bits + 1) | top)), (code + 1) | sign);
            double way = sign != 0 ? -1 : 1;
            assert_int_equal(sdx_f64_to_f16(way * middle), even | sign);
            /* So near to the tie that a float would be on it: two roundings go wrong here. */
            double below = nextafter(middle, 0), above = nextafter(middle, INFINITY);
            assert_true((float)below == tie && (float)above == tie);
            assert_int_equal(sdx_f64_to_f16(way * below), code | sign);
            assert_int_equal(sdx_f64_to_f16(way * above), (code + 1) | sign);
        }
    }
}

static void test_f16_edges(void **state) {
    (void)state;
    assert_int_equal(sdx_f32_to_f16(65504.0f), 0x7bff);
    assert_int_equal(sdx_f32_to_f16(65519.99f), 0x7bff);
    assert_int_equal(sdx_f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(sdx_f32_to_f16(-FLT_MAX), 0xfc00);
    assert_int_equal(sdx_f32_to_f16(INFINITY), 0x7c00);
    assert_int_equal(sdx_f32_to_f16(-0.0f), 0x8000);
    assert_int_equal(sdx_f32_to_f16(FLT_TRUE_MIN), 0);
    assert_int_equal(sdx_f32_to_f16(f32(0x7f800001)), 0x7e00); /* a NaN stays one */
    assert_int_equal(sdx_f32_to_f16(f32(0xffffffff)), 0xffff);
    assert_int_equal(sdx_f64_to_f16(65519.999999999), 0x7bff);
    assert_int_equal(sdx_f64_to_f16(1e300), 0x7c00);
    assert_int_equal(sdx_f64_to_f16(-INFINITY), 0xfc00);
    assert_int_equal(sdx_f64_to_f16(DBL_TRUE_MIN), 0);
    assert_int_equal(sdx_f64_to_f16(-DBL_TRUE_MIN), 0x8000);
    assert_int_equal(sdx_f64_to_f16(-0.0), 0x8000);
    assert_int_equal(sdx_f64_to_f16((double)NAN) & 0x7e00, 0x7e00);
}

static void test_bf16(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 65536; code++) {
        float wide = sdx_bf16_to_f32((uint16_t)code);
        uint32_t magnitude = code & 0x7fff, sign = code & 0x8000;
        if (magnitude > 0x7f80) {
            assert_true(isnan(wide));
            assert_int_equal(sdx_f32_to_bf16(wide), code | 0x40);
            continue;
        }
        assert_int_equal(sdx_f32_to_bf16(wide), code);
        assert_int_equal(sdx_f64_to_bf16((double)wide), code);
        if (magnitude == 0x7f80) continue;
        uint32_t tie = bits_of(wide) | 0x8000;
        assert_int_equal(sdx_f32_to_bf16(f32(tie)), code + (code & 1));
        assert_int_equal(sdx_f32_to_bf16(f32(tie - 1)), code);
        assert_int_equal(sdx_f32_to_bf16(f32(tie + 1)), code + 1);
        double middle = (double)f32(tie), away = sign != 0 ? -INFINITY : INFINITY;
        assert_int_equal(sdx_f64_to_bf16(middle), code + (code & 1));
        assert_int_equal(sdx_f64_to_bf16(nextafter(middle, 0)), code);
        assert_int_equal(sdx_f64_to_bf16(nextafter(middle, away)), code + 1);
    }
    assert_int_equal(sdx_f32_to_bf16(FLT_MAX), 0x7f80); /* past halfway to 2^128 */
    assert_int_equal(sdx_f32_to_bf16(f32(0x7f800001)), 0x7fc0);
    assert_int_equal(sdx_f64_to_bf16(-1e300), 0xff80);
    assert_int_equal(sdx_f64_to_bf16(DBL_TRUE_MIN), 0);
}

/* ---- float8 and float4 -------------------------------------------------------------------- */

typedef struct format {
    sdx_dtype dtype;
    int mantissa, bias;
    unsigned codes, largest; /* codes of one sign; the last finite one */
    int nan_kind;            /* 0 none, 1 signed codes at the top, 2 only the code of -0 */
    bool infinity;
} format;

static const format formats[] = {
    {SDX_DTYPE_FLOAT8E4M3FN, 3, 7, 128, 0x7e, 1, false},
    {SDX_DTYPE_FLOAT8E4M3FNUZ, 3, 8, 128, 0x7f, 2, false},
    {SDX_DTYPE_FLOAT8E5M2, 2, 15, 128, 0x7b, 1, true},
    {SDX_DTYPE_FLOAT8E5M2FNUZ, 2, 16, 128, 0x7f, 2, false},
    {SDX_DTYPE_FLOAT4E2M1, 1, 1, 8, 0x07, 0, false},
    {SDX_DTYPE_FLOAT6E2M3, 3, 1, 32, 0x1f, 0, false},
    {SDX_DTYPE_FLOAT6E3M2, 2, 3, 32, 0x1f, 0, false},
};
#define FORMATS (sizeof formats / sizeof formats[0])

static float widen(const format *f, unsigned code) {
    return sdx_f8_to_f32(f->dtype, (uint8_t)code);
}

static unsigned narrow(const format *f, float value, bool saturate) {
    return sdx_f32_to_f8(f->dtype, value, saturate);
}

static double code_value(const format *f, unsigned code) {
    unsigned exponent = code >> f->mantissa, one = 1u << f->mantissa;
    unsigned fraction = code & (one - 1);
    if (exponent == 0) return ldexp((double)fraction, 1 - f->bias - f->mantissa);
    return ldexp((double)(one + fraction), (int)exponent - f->bias - f->mantissa);
}

static bool is_nan_code(const format *f, unsigned code) {
    if (f->nan_kind == 2) return code == 0x80;
    unsigned magnitude = code & (f->codes - 1);
    return f->nan_kind == 1 && magnitude > f->largest && !(f->infinity && magnitude == 0x7c);
}

/* By search over all codes and one past the largest, as if the exponent went on. */
static unsigned nearest(const format *f, double magnitude) {
    unsigned best = 0;
    double best_distance = HUGE_VAL;
    /* Differences from a huge number all round to one and the same. */
    if (magnitude > code_value(f, f->largest + 1)) return f->largest + 1;
    for (unsigned code = 0; code <= f->largest + 1; code++) {
        double distance = fabs(code_value(f, code) - magnitude);
        if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
            best = code;
            best_distance = distance;
        }
    }
    return best;
}

static unsigned expected(const format *f, float value, bool saturate) {
    unsigned sign = signbit(value) ? f->codes : 0;
    unsigned nan = f->nan_kind == 2 ? 0x80u : sign | (f->infinity ? 0x7eu : 0x7fu);
    if (isnan(value)) return f->nan_kind == 0 ? sign ^ f->codes : nan;
    unsigned code = isinf(value) ? f->largest + 1 : nearest(f, fabs((double)value));
    if (code > f->largest) {
        if (saturate || f->nan_kind == 0) return sign | f->largest;
        return f->infinity ? sign | 0x7c : nan;
    }
    return code == 0 && f->nan_kind == 2 ? 0 : sign | code;
}

static void test_small_codes(void **state) {
    (void)state;
    for (size_t i = 0; i < FORMATS; i++) {
        const format *f = &formats[i];
        for (unsigned code = 0; code < 2 * f->codes; code++) {
            float value = widen(f, code);
            unsigned magnitude = code & (f->codes - 1);
            bool negative = code >= f->codes;
            if (is_nan_code(f, code)) {
                assert_true(isnan(value));
                assert_true(is_nan_code(f, narrow(f, value, true)));
                assert_true(is_nan_code(f, narrow(f, value, false)));
                continue;
            }
            assert_int_equal(signbit(value) != 0, negative);
            if (f->infinity && magnitude == 0x7c) {
                assert_true(isinf(value));
                assert_int_equal(narrow(f, value, true), code - 1);
            } else {
                assert_true((double)fabsf(value) == code_value(f, magnitude));
                assert_int_equal(narrow(f, value, true), code);
            }
            assert_int_equal(narrow(f, value, false), code);
        }
    }
    assert_true(sdx_f8_to_f32(SDX_DTYPE_FLOAT8E4M3FN, 0x7e) == 448.0f);
    assert_true(sdx_f8_to_f32(SDX_DTYPE_FLOAT8E4M3FNUZ, 0x7f) == 240.0f);
    assert_true(sdx_f8_to_f32(SDX_DTYPE_FLOAT8E5M2, 0x7b) == 57344.0f);
    assert_true(sdx_f8_to_f32(SDX_DTYPE_FLOAT8E5M2FNUZ, 0x7f) == 57344.0f);
    assert_true(sdx_f8_to_f32(SDX_DTYPE_FLOAT4E2M1, 0xff) == -6.0f); /* high bits do not count */
}

static void check_narrow(const format *f, float value) {
    for (int saturate = 0; saturate <= 1; saturate++) {
        unsigned want = expected(f, value, saturate != 0), got = narrow(f, value, saturate != 0);
        if (want != got)
            fail_msg("%s: %a saturate %d gives %#x, not %#x", sdx_dtype_name(f->dtype),
                     (double)value, saturate, got, want);
    }
}

static void test_small_rounding(void **state) {
    (void)state;
    for (size_t i = 0; i < FORMATS; i++) {
        const format *f = &formats[i];
        /* Ties and one step beside them, past the largest too. */
        for (unsigned code = 0; code <= f->largest; code++) {
            double middle = (code_value(f, code) + code_value(f, code + 1)) / 2;
            uint32_t bits = bits_of((float)middle);
            for (uint32_t sign = 0; sign < 2; sign++) {
                check_narrow(f, f32(bits | sign << 31));
                check_narrow(f, f32((bits - 1) | sign << 31));
                check_narrow(f, f32((bits + 1) | sign << 31));
            }
        }
        const float specials[] = {0.0f,    -0.0f,   INFINITY, -INFINITY,    NAN,
                                  -NAN,    FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, -FLT_TRUE_MIN,
                                  FLT_MIN, 1e-7f,   -1e-7f};
        for (size_t k = 0; k < sizeof specials / sizeof specials[0]; k++)
            check_narrow(f, specials[k]);
        for (int k = 0; k < 4000; k++) {
            check_narrow(f, f32(random32()));
            uint32_t exponent = 100 + random32() % 48; /* around the formats' range */
            check_narrow(f, f32((random32() & 0x807fffffu) | exponent << 23));
        }
    }
}

/* The tables in the description of ONNX's Cast, by their letters. */
static void test_cast_tables(void **state) {
    (void)state;
    const sdx_dtype fn = SDX_DTYPE_FLOAT8E4M3FN, fnuz = SDX_DTYPE_FLOAT8E4M3FNUZ;
    const sdx_dtype e5 = SDX_DTYPE_FLOAT8E5M2, e5uz = SDX_DTYPE_FLOAT8E5M2FNUZ;
    assert_int_equal(sdx_f32_to_f8(fn, -0.0f, true), 0x80);
    assert_int_equal(sdx_f32_to_f8(fnuz, -0.0f, true), 0x00);
    assert_int_equal(sdx_f32_to_f8(e5uz, -1e-30f, true), 0x00);
    assert_int_equal(sdx_f32_to_f8(fn, INFINITY, true), 0x7e);
    assert_int_equal(sdx_f32_to_f8(fn, -INFINITY, false), 0xff);
    assert_int_equal(sdx_f32_to_f8(fnuz, -INFINITY, true), 0xff);
    assert_int_equal(sdx_f32_to_f8(fnuz, INFINITY, false), 0x80);
    assert_int_equal(sdx_f32_to_f8(e5, INFINITY, true), 0x7b);
    assert_int_equal(sdx_f32_to_f8(e5, -INFINITY, false), 0xfc);
    assert_int_equal(sdx_f32_to_f8(e5, 1e6f, false), 0x7c);
    assert_int_equal(sdx_f32_to_f8(e5uz, -1e6f, false), 0x80);
    assert_int_equal(sdx_f32_to_f8(fn, 464.0f, false), 0x7e); /* the tie rounds to even: 448 */
    assert_int_equal(sdx_f32_to_f8(fn, 465.0f, false), 0x7f);
    assert_int_equal(sdx_f32_to_f8(SDX_DTYPE_FLOAT4E2M1, 9.0f, true), 0x7);
    assert_int_equal(sdx_f32_to_f8(SDX_DTYPE_FLOAT4E2M1, -INFINITY, true), 0xf);
    assert_int_equal(sdx_f32_to_f8(SDX_DTYPE_FLOAT4E2M1, -3.5f, true), 0xe); /* to -4, the even one */
    assert_int_equal(sdx_f32_to_f8(SDX_DTYPE_FLOAT4E2M1, 0.25f, true), 0x0);
    assert_int_equal(sdx_f32_to_f8(SDX_DTYPE_FLOAT4E2M1, NAN, true), 0x8);
}

static void test_e8m0(void **state) {
    (void)state;
    const sdx_dtype e8 = SDX_DTYPE_FLOAT8E8M0;
    for (unsigned code = 0; code < 255; code++) {
        float value = sdx_f8_to_f32(e8, (uint8_t)code);
        assert_true((double)value == ldexp(1, (int)code - 127));
        for (int mode = 0; mode < 3; mode++)
            for (int saturate = 0; saturate < 2; saturate++)
                assert_int_equal(sdx_f32_to_e8m0(value, mode, saturate != 0), code);
        if (code == 254) break;
        float above = nextafterf(value, INFINITY), half = 1.5f * value;
        assert_int_equal(sdx_f32_to_e8m0(above, 0, true), code + 1);
        assert_int_equal(sdx_f32_to_e8m0(above, 1, true), code);
        assert_int_equal(sdx_f32_to_e8m0(above, 2, true), code);
        assert_int_equal(sdx_f32_to_e8m0(half, 2, true), code + 1);
        assert_int_equal(sdx_f32_to_e8m0(nextafterf(half, 0), 2, true), code);
        assert_int_equal(sdx_f32_to_e8m0(nextafterf(2 * value, 0), 1, true), code);
    }
    assert_true(isnan(sdx_f8_to_f32(e8, 0xff)));
    assert_int_equal(sdx_f32_to_f8(e8, 1.1f, true), 128); /* up is the default */
    assert_int_equal(sdx_f32_to_f8(e8, 0.124f, true), 124);
    assert_int_equal(sdx_f32_to_e8m0(FLT_MAX, 0, true), 0xfe);
    assert_int_equal(sdx_f32_to_e8m0(FLT_MAX, 0, false), 0xff);
    assert_int_equal(sdx_f32_to_e8m0(FLT_MAX, 1, false), 0xfe);
    assert_int_equal(sdx_f32_to_e8m0(FLT_MAX, 2, false), 0xff);
    for (int mode = 0; mode < 3; mode++) {
        assert_int_equal(sdx_f32_to_e8m0(0.0f, mode, true), 0x00);
        assert_int_equal(sdx_f32_to_e8m0(0.0f, mode, false), 0xff);
        assert_int_equal(sdx_f32_to_e8m0(FLT_TRUE_MIN, mode, true), 0x00);
        assert_int_equal(sdx_f32_to_e8m0(INFINITY, mode, true), 0xfe);
        assert_int_equal(sdx_f32_to_e8m0(INFINITY, mode, false), 0xff);
        assert_int_equal(sdx_f32_to_e8m0(NAN, mode, true), 0xff);
    }
}

/* ---- arrays ------------------------------------------------------------------------------- */

/* Arrays go other ways inside (vectors, tables) but must give the bits of single values. */
static void test_arrays(void **state) {
    (void)state;
    enum { COUNT = 70000 };
    static float wide[COUNT];
    static uint16_t half[COUNT];
    static uint8_t byte[COUNT];
    static double twice[COUNT];
    for (size_t i = 0; i < COUNT; i++) half[i] = (uint16_t)i;
    sdx_to_f32(SDX_DTYPE_FLOAT16, half, wide, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(bits_of(wide[i]), bits_of(sdx_f16_to_f32(half[i])));
    sdx_to_f32(SDX_DTYPE_BFLOAT16, half, wide, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(bits_of(wide[i]), bits_of(sdx_bf16_to_f32(half[i])));
    for (size_t i = 0; i < COUNT; i++)
        wide[i] = f32(i % 2 == 0 ? random32() : (random32() & 0x8fffffffu) | 0x30000000u);
    sdx_from_f32(SDX_DTYPE_FLOAT16, wide, half, COUNT - 3);
    for (size_t i = 0; i < COUNT - 3; i++) assert_int_equal(half[i], sdx_f32_to_f16(wide[i]));
    sdx_from_f32(SDX_DTYPE_BFLOAT16, wide, half, COUNT);
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(half[i], sdx_f32_to_bf16(wide[i]));
    for (sdx_dtype t = SDX_DTYPE_FLOAT8E4M3FN; t <= SDX_DTYPE_FLOAT8E8M0; t++) {
        if (t == SDX_DTYPE_UINT4 || t == SDX_DTYPE_INT4) continue;
        for (size_t count = 300; count <= 3000; count *= 10) { /* short and by table */
            static float back[3000];
            sdx_from_f32(t, wide, byte, count);
            sdx_to_f32(t, byte, back, count);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(byte[i], sdx_f32_to_f8(t, wide[i], true));
                float one = sdx_f8_to_f32(t, byte[i]);
                assert_int_equal(bits_of(back[i]), bits_of(one));
            }
        }
    }
    for (size_t i = 0; i < COUNT; i++) wide[i] = (float)i * 0.37f;
    sdx_from_f32(SDX_DTYPE_FLOAT64, wide, twice, COUNT);
    static float again[COUNT];
    sdx_to_f32(SDX_DTYPE_FLOAT64, twice, again, COUNT);
    assert_memory_equal(wide, again, sizeof wide);
    memset(again, 0, sizeof again);
    sdx_to_f32(SDX_DTYPE_FLOAT32, wide, again, COUNT);
    assert_memory_equal(wide, again, sizeof wide);
    sdx_to_f32(SDX_DTYPE_FLOAT16, NULL, NULL, 0);
    sdx_from_f32(SDX_DTYPE_FLOAT32, NULL, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_and_names), cmocka_unit_test(test_file_size),
        cmocka_unit_test(test_packing),         cmocka_unit_test(test_sets_as_text),
        cmocka_unit_test(test_f16_all_codes),   cmocka_unit_test(test_f16_rounding),
        cmocka_unit_test(test_f16_edges),       cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_small_codes),     cmocka_unit_test(test_small_rounding),
        cmocka_unit_test(test_cast_tables),     cmocka_unit_test(test_e8m0),
        cmocka_unit_test(test_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
