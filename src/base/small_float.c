/* small_float.c - values and arrays to and from float16, bfloat16, the five float8 formats and
 * float4e2m1. Cast, the quantizers and every kernel body for a small float go through these.
 * All is done on the bits with integers: results do not depend on the rounding mode, on flushing
 * of subnormals, or on the byte order of the host. Specials follow the tables of ONNX's Cast. */
#include "base/dtype.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_X86_HALF 1
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#endif

static uint32_t f32_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float f32_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define F32_INF 0x7f800000u

/* value / 2^shift, to nearest even; shift is 1 to 31, value below 2^31. */
static uint32_t shift_round(uint32_t value, unsigned shift) {
    uint32_t half = 1u << (shift - 1);
    return (value + (half - 1) + (value >> shift & 1u)) >> shift;
}

/* A 32-bit float holding value rounded to odd: cut, with the last bit set if anything was lost.
 * The float has at least two bits more than any small format, in the subnormal range too, and an
 * odd last bit cannot lie on a tie, so rounding it again gives what one rounding would have given.
 * Past the largest float it stays there: that is odd as well. */
static uint32_t f64_to_odd_f32(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = (uint32_t)(bits >> 63) << 31;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023 + 127;
    uint64_t fraction = bits & 0xfffffffffffffu;
    if (exponent == 0x7ff - 1023 + 127) { /* infinity or NaN; the quiet bit keeps NaNs NaN */
        return sign | F32_INF | (fraction != 0 ? 0x400000u | (uint32_t)(fraction >> 29) : 0);
    }
    if (exponent >= 255) return sign | 0x7f7fffffu;
    unsigned drop = 29;
    uint32_t head = 0;
    if (exponent > 0) {
        head = (uint32_t)exponent << 23;
    } else {
        /* Subnormal as a float. A double that is subnormal itself lies so far below that only
         * its being non-zero counts, so the hidden bit may be added wrongly here. */
        if (bits << 1 == 0) return sign;
        fraction |= (uint64_t)1 << 52;
        drop = exponent < -30 ? 60 : 29 + (unsigned)(1 - exponent);
    }
    uint32_t odd = (fraction & (((uint64_t)1 << drop) - 1)) != 0;
    return sign | head | (uint32_t)(fraction >> drop) | odd;
}

/* ---- float16 ------------------------------------------------------------------------------ */

float sdx_f16_to_f32(uint16_t bits) {
    const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    /* The exponent's offset grows from 15 to 127; a full exponent must become full again. */
    uint32_t wide = (magnitude << 13) + (112u << 23);
    if (magnitude >= 0x7c00u) wide += 112u << 23;
    if (magnitude > 0x7c00u) wide |= 0x400000u; /* quiet, as IEEE conversion and hardware do */
    /* Subnormals count units of 2^-24; both the integer and the product are exact, and normal. */
    uint32_t tiny = f32_bits((float)(int32_t)magnitude * 0x1p-24f);
    return f32_from_bits(sign | (magnitude < 0x0400u ? tiny : wide));
}

static uint16_t f16_from_f32_bits(uint32_t bits) {
    const uint32_t sign = bits >> 16 & 0x8000u, u = bits & 0x7fffffffu;
    uint32_t out;
    if (u > F32_INF) {
        out = 0x7e00u | (u >> 13 & 0x3ffu);
    } else if (u >= 0x477ff000u) { /* 65520, halfway past the largest: up to infinity */
        out = 0x7c00u;
    } else if (u >= 0x38800000u) { /* 2^-14, the least normal */
        out = shift_round(u - (112u << 23), 13);
    } else if (u > 0x33000000u) { /* more than half of the least subnormal */
        out = shift_round((u & 0x7fffffu) | 0x800000u, 126 - (u >> 23));
    } else {
        out = 0;
    }
    return (uint16_t)(sign | out);
}

uint16_t sdx_f32_to_f16(float value) { return f16_from_f32_bits(f32_bits(value)); }

uint16_t sdx_f64_to_f16(double value) { return f16_from_f32_bits(f64_to_odd_f32(value)); }

/* ---- bfloat16 ----------------------------------------------------------------------------- */

static uint16_t bf16_from_f32_bits(uint32_t bits) {
    const uint32_t u = bits & 0x7fffffffu;
    if (u > F32_INF) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits >> 16 & 0x8000u) | shift_round(u, 16));
}

uint16_t sdx_f32_to_bf16(float value) { return bf16_from_f32_bits(f32_bits(value)); }

uint16_t sdx_f64_to_bf16(double value) { return bf16_from_f32_bits(f64_to_odd_f32(value)); }

/* ---- float8 and float4 with a mantissa ---------------------------------------------------- */

typedef struct small_format {
    unsigned mantissa; /* bits */
    int bias;
    uint8_t sign, largest; /* codes: the sign bit, the largest finite magnitude */
    uint8_t infinity;      /* 0: the format has none */
    uint8_t nan;           /* 0: none; equal to sign: the code of "-0", so zero has no sign */
} small_format;

static const small_format e4m3fn = {3, 7, 0x80, 0x7e, 0, 0x7f};
static const small_format e4m3fnuz = {3, 8, 0x80, 0x7f, 0, 0x80};
static const small_format e5m2 = {2, 15, 0x80, 0x7b, 0x7c, 0x7e};
static const small_format e5m2fnuz = {2, 16, 0x80, 0x7f, 0, 0x80};
static const small_format e2m1 = {1, 1, 0x08, 0x07, 0, 0};
static const small_format e2m3 = {3, 1, 0x20, 0x1f, 0, 0};
static const small_format e3m2 = {2, 3, 0x20, 0x1f, 0, 0};

static const small_format *format_of(sdx_dtype dtype) {
    switch (dtype) {
    case SDX_DTYPE_FLOAT8E4M3FNUZ: return &e4m3fnuz;
    case SDX_DTYPE_FLOAT8E5M2: return &e5m2;
    case SDX_DTYPE_FLOAT8E5M2FNUZ: return &e5m2fnuz;
    case SDX_DTYPE_FLOAT4E2M1: return &e2m1;
    case SDX_DTYPE_FLOAT6E2M3: return &e2m3;
    case SDX_DTYPE_FLOAT6E3M2: return &e3m2;
    default: return &e4m3fn;
    }
}

/* The code nearest to a finite magnitude, as if exponents went on for ever: it may pass
 * `largest`. Codes of one sign are in the order of their values, so a carry out of the mantissa
 * runs into the exponent by itself. */
static uint32_t nearest_code(const small_format *format, uint32_t u) {
    const int exponent = (int)(u >> 23) - 127 + format->bias;
    const unsigned drop = 23 - format->mantissa;
    if (exponent >= 1) return shift_round((uint32_t)exponent << 23 | (u & 0x7fffffu), drop);
    /* Subnormal in the format: the hidden bit is written out and moved below. Float subnormals
     * are far below half of any format's least value and end at 0 like all that is so small. */
    if (exponent < -8) return 0;
    return shift_round((u & 0x7fffffu) | 0x800000u, drop + (unsigned)(1 - exponent));
}

static uint8_t narrow(const small_format *format, uint32_t bits, bool saturate) {
    const uint8_t sign = bits >> 31 != 0 ? format->sign : 0;
    const uint32_t u = bits & 0x7fffffffu;
    if (format->nan == 0) saturate = true; /* there is nothing else to become */
    const bool signed_zero = format->nan != format->sign;
    if (u > F32_INF) {
        /* Without a NaN the reference gives a zero of the other sign, and its tests ask for it. */
        if (format->nan == 0) return sign ^ format->sign;
        return signed_zero ? sign | format->nan : format->nan;
    }
    uint32_t code = u == F32_INF ? UINT32_MAX : nearest_code(format, u);
    if (code > format->largest) {
        if (saturate) return sign | format->largest;
        if (format->infinity != 0) return sign | format->infinity;
        return signed_zero ? sign | format->nan : format->nan;
    }
    if (code == 0 && !signed_zero) return 0;
    return (uint8_t)(sign | code);
}

static float widen(const small_format *format, uint8_t bits) {
    const uint32_t sign = (bits & format->sign) != 0 ? 1u << 31 : 0;
    const uint32_t code = bits & (uint32_t)(format->sign - 1);
    if (format->nan == format->sign) {
        if (bits == format->nan) return f32_from_bits(0xffc00000u);
    } else if (code > format->largest) {
        return f32_from_bits(sign | F32_INF | (code == format->infinity ? 0 : 0x400000u));
    }
    const uint32_t fraction = code & ((1u << format->mantissa) - 1);
    const uint32_t exponent = code >> format->mantissa;
    if (exponent == 0) {
        /* fraction * 2^(1 - bias - mantissa): a small integer times a power of two, exact. */
        uint32_t scale = (uint32_t)(127 + 1 - format->bias - (int)format->mantissa) << 23;
        float magnitude = (float)(int32_t)fraction * f32_from_bits(scale);
        return f32_from_bits(sign | f32_bits(magnitude));
    }
    return f32_from_bits(sign | (exponent + 127u - (uint32_t)format->bias) << 23 |
                         fraction << (23 - format->mantissa));
}

float sdx_f8_to_f32(sdx_dtype format, uint8_t bits) {
    if (format != SDX_DTYPE_FLOAT8E8M0) return widen(format_of(format), bits);
    if (bits == 0xff) return f32_from_bits(0x7fc00000u);
    /* 2^(bits - 127); the least of them is subnormal as a float. */
    return f32_from_bits(bits == 0 ? 0x00400000u : (uint32_t)bits << 23);
}

uint8_t sdx_f32_to_f8(sdx_dtype format, float value, bool saturate) {
    if (format == SDX_DTYPE_FLOAT8E8M0) return sdx_f32_to_e8m0(value, 0, saturate);
    return narrow(format_of(format), f32_bits(value), saturate);
}

/* ---- float8e8m0 --------------------------------------------------------------------------- */

uint8_t sdx_f32_to_e8m0(float value, int mode, bool saturate) {
    const uint32_t u = f32_bits(value) & 0x7fffffffu; /* negatives are unspecified: magnitude */
    if (u > F32_INF) return 0xff;
    if (u == F32_INF) return saturate ? 0xfe : 0xff;
    if (u < 0x00400000u) return saturate ? 0x00 : 0xff; /* below 2^-127, zero among them */
    uint32_t code = u >> 23, rest = u & 0x7fffffu, half = 0x400000u;
    if (code == 0) { /* 2^-127 up to 2^-126, a subnormal float: the top bit is its hidden bit */
        rest = (u & 0x3fffffu) << 1;
    }
    bool up = mode == 0 ? rest != 0 : mode == 2 ? rest >= half : false; /* ties go up */
    if (up) code++;
    if (code == 0xff && saturate) code = 0xfe;
    return (uint8_t)code;
}

/* ---- arrays ------------------------------------------------------------------------------- */

/* x86 converts eight float16 at a time, to the same bits as the functions above, NaNs included.
 * These two return how many elements they did; the caller does the rest. */
#if defined(HAVE_X86_HALF)
static bool has_f16c(void) {
    static atomic_int known; /* 0: not asked yet. Asking is slow in virtual machines. */
    int answer = atomic_load_explicit(&known, memory_order_relaxed);
    if (answer == 0) {
        unsigned a, b, c = 0, d;
        const unsigned wanted = bit_F16C | bit_AVX | bit_OSXSAVE;
        bool has = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & wanted) == wanted;
        if (has) { /* and the system saves vectors of 256 bits */
            __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
            has = (a & 6u) == 6u;
        }
        answer = has ? 1 : 2;
        atomic_store_explicit(&known, answer, memory_order_relaxed);
    }
    return answer == 1;
}

__attribute__((target("avx,f16c"))) static size_t widen_halves(const uint16_t *in, float *out,
                                                               size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(in + i))));
    return i;
}

__attribute__((target("avx,f16c"))) static size_t narrow_halves(const float *in, uint16_t *out,
                                                                size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((void *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}
#else
static bool has_f16c(void) { return false; }
static size_t widen_halves(const uint16_t *in, float *out, size_t count) {
    (void)in, (void)out, (void)count;
    return 0;
}
static size_t narrow_halves(const float *in, uint16_t *out, size_t count) {
    (void)in, (void)out, (void)count;
    return 0;
}
#endif

void sdx_to_f32(sdx_dtype from, const void *in, float *out, size_t count) {
    if (count == 0) return;
    switch (from) {
    case SDX_DTYPE_FLOAT32: memmove(out, in, count * sizeof *out); return;
    case SDX_DTYPE_FLOAT64: {
        const double *values = in;
        for (size_t i = 0; i < count; i++) out[i] = (float)values[i];
        return;
    }
    case SDX_DTYPE_FLOAT16: {
        const uint16_t *bits = in;
        size_t i = has_f16c() ? widen_halves(bits, out, count) : 0;
        for (; i < count; i++) out[i] = sdx_f16_to_f32(bits[i]);
        return;
    }
    case SDX_DTYPE_BFLOAT16: {
        const uint16_t *bits = in;
        for (size_t i = 0; i < count; i++) out[i] = sdx_bf16_to_f32(bits[i]);
        return;
    }
    case SDX_DTYPE_FLOAT4E2M1:
    case SDX_DTYPE_FLOAT6E2M3:
    case SDX_DTYPE_FLOAT6E3M2:
    case SDX_DTYPE_FLOAT8E4M3FN:
    case SDX_DTYPE_FLOAT8E4M3FNUZ:
    case SDX_DTYPE_FLOAT8E5M2:
    case SDX_DTYPE_FLOAT8E5M2FNUZ:
    case SDX_DTYPE_FLOAT8E8M0: {
        const uint8_t *bits = in;
        if (count < 1024) {
            for (size_t i = 0; i < count; i++) out[i] = sdx_f8_to_f32(from, bits[i]);
            return;
        }
        float table[256]; /* soon pays for itself */
        for (unsigned code = 0; code < 256; code++)
            table[code] = sdx_f8_to_f32(from, (uint8_t)code);
        for (size_t i = 0; i < count; i++) out[i] = table[bits[i]];
        return;
    }
    default:
        /* Not a float type: a mistake of the caller, made visible without stale memory. */
        memset(out, 0, count * sizeof *out);
    }
}

void sdx_from_f32(sdx_dtype to, const float *in, void *out, size_t count) {
    if (count == 0) return;
    switch (to) {
    case SDX_DTYPE_FLOAT32: memmove(out, in, count * sizeof *in); return;
    case SDX_DTYPE_FLOAT64: {
        double *values = out;
        for (size_t i = 0; i < count; i++) values[i] = (double)in[i];
        return;
    }
    case SDX_DTYPE_FLOAT16: {
        uint16_t *bits = out;
        size_t i = has_f16c() ? narrow_halves(in, bits, count) : 0;
        for (; i < count; i++) bits[i] = sdx_f32_to_f16(in[i]);
        return;
    }
    case SDX_DTYPE_BFLOAT16: {
        uint16_t *bits = out;
        for (size_t i = 0; i < count; i++) bits[i] = sdx_f32_to_bf16(in[i]);
        return;
    }
    case SDX_DTYPE_FLOAT4E2M1:
    case SDX_DTYPE_FLOAT6E2M3:
    case SDX_DTYPE_FLOAT6E3M2:
    case SDX_DTYPE_FLOAT8E4M3FN:
    case SDX_DTYPE_FLOAT8E4M3FNUZ:
    case SDX_DTYPE_FLOAT8E5M2:
    case SDX_DTYPE_FLOAT8E5M2FNUZ:
    case SDX_DTYPE_FLOAT8E8M0: {
        uint8_t *bits = out;
        /* Saturating, as the operators do unless their node says otherwise. */
        for (size_t i = 0; i < count; i++) bits[i] = sdx_f32_to_f8(to, in[i], true);
        return;
    }
    default: memset(out, 0, count * sdx_dtype_size(to));
    }
}
