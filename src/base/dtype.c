/* dtype.c - element types as files hold them (packed sub-byte types) and sets of types as text.
 * The loader unpacks constants with it, writers of tensor files pack with it, and the checks of
 * operators name the types they take. Conversion of values is in small_float.c. */
#include "base/dtype.h"

#include <stdio.h>

#include "base/checked.h"

/* ---- packed elements ---------------------------------------------------------------------- */

unsigned sdx_dtype_file_bits(sdx_dtype dtype) {
    switch (dtype) {
    case SDX_DTYPE_STRING: return 0;
    case SDX_DTYPE_FLOAT6E2M3:
    case SDX_DTYPE_FLOAT6E3M2: return 6;
    case SDX_DTYPE_UINT4:
    case SDX_DTYPE_INT4:
    case SDX_DTYPE_FLOAT4E2M1: return 4;
    case SDX_DTYPE_UINT2:
    case SDX_DTYPE_INT2: return 2;
    default: return (unsigned)(8 * sdx_dtype_size(dtype));
    }
}

bool sdx_dtype_file_size(sdx_dtype dtype, size_t count, size_t *bytes) {
    unsigned bits = sdx_dtype_file_bits(dtype);
    if (bits == 0) return false; /* strings have no raw form */
    if (bits >= 8) return sdx_size_mul(count, bits / 8, bytes);
    *bytes = count / 8 * bits + (count % 8 * bits + 7) / 8; /* no product that could wrap */
    return true;
}

/* Elements lie in one stream of bits, low bits first; one of 6 bits may cross into the next byte. */
void sdx_dtype_unpack(sdx_dtype dtype, const uint8_t *packed, size_t count, uint8_t *out) {
    unsigned bits = sdx_dtype_file_bits(dtype);
    if (bits == 0 || bits >= 8) return;
    const unsigned mask = (1u << bits) - 1;
    /* (x ^ sign) - sign extends the sign in a byte; with sign 0 it changes nothing. */
    const bool is_signed = dtype == SDX_DTYPE_INT4 || dtype == SDX_DTYPE_INT2;
    const unsigned sign = is_signed ? 1u << (bits - 1) : 0;
    for (size_t i = 0; i < count; i++) {
        size_t byte = i / 8 * bits + i % 8 * bits / 8;
        unsigned shift = (unsigned)(i % 8) * bits % 8;
        unsigned value = (unsigned)packed[byte] >> shift;
        if (shift + bits > 8) value |= (unsigned)packed[byte + 1] << (8 - shift);
        out[i] = (uint8_t)(((value & mask) ^ sign) - sign);
    }
}

void sdx_dtype_pack(sdx_dtype dtype, const uint8_t *unpacked, size_t count, uint8_t *out) {
    unsigned bits = sdx_dtype_file_bits(dtype);
    size_t bytes;
    if (bits == 0 || bits >= 8 || !sdx_dtype_file_size(dtype, count, &bytes)) return;
    if (bytes) memset(out, 0, bytes); /* places past the end stay 0, as the standard wants */
    const unsigned mask = (1u << bits) - 1;
    for (size_t i = 0; i < count; i++) {
        size_t byte = i / 8 * bits + i % 8 * bits / 8;
        unsigned shift = (unsigned)(i % 8) * bits % 8;
        unsigned value = ((unsigned)unpacked[i] & mask) << shift;
        out[byte] = (uint8_t)(out[byte] | value);
        if (shift + bits > 8) out[byte + 1] = (uint8_t)(value >> 8);
    }
}

/* ---- sets as text ------------------------------------------------------------------------- */

/* The order in which people look for types, rather than the numbers of the standard. */
static const uint8_t reading_order[] = {
    SDX_DTYPE_FLOAT32,    SDX_DTYPE_FLOAT64,        SDX_DTYPE_FLOAT16,
    SDX_DTYPE_BFLOAT16,   SDX_DTYPE_INT8,           SDX_DTYPE_INT16,
    SDX_DTYPE_INT32,      SDX_DTYPE_INT64,          SDX_DTYPE_UINT8,
    SDX_DTYPE_UINT16,     SDX_DTYPE_UINT32,         SDX_DTYPE_UINT64,
    SDX_DTYPE_BOOL,       SDX_DTYPE_STRING,         SDX_DTYPE_COMPLEX64,
    SDX_DTYPE_COMPLEX128, SDX_DTYPE_FLOAT8E4M3FN,   SDX_DTYPE_FLOAT8E4M3FNUZ,
    SDX_DTYPE_FLOAT8E5M2, SDX_DTYPE_FLOAT8E5M2FNUZ, SDX_DTYPE_FLOAT8E8M0,
    SDX_DTYPE_FLOAT4E2M1, SDX_DTYPE_INT4,           SDX_DTYPE_UINT4,
    SDX_DTYPE_INT2,       SDX_DTYPE_UINT2,          SDX_DTYPE_FLOAT6E2M3,
    SDX_DTYPE_FLOAT6E3M2,
};

const char *sdx_dtypes_text(sdx_dtypes set, char *buffer, size_t size) {
    if (size == 0) return buffer;
    buffer[0] = '\0';
    set &= SDX_T_ALL;
    if (set == SDX_T_ALL || set == 0) {
        snprintf(buffer, size, "%s", set == 0 ? "no type" : "any type");
        return buffer;
    }
    size_t used = 0;
    bool first = true;
    for (size_t i = 0; i < sizeof reading_order && set != 0; i++) {
        sdx_dtype dtype = (sdx_dtype)reading_order[i];
        if (!sdx_dtypes_has(set, dtype)) continue;
        set &= ~((sdx_dtypes)1 << dtype);
        const char *joint = first ? "" : set == 0 ? " or " : ", ";
        int wrote = snprintf(buffer + used, size - used, "%s%s", joint, sdx_dtype_name(dtype));
        if (wrote < 0 || (size_t)wrote >= size - used) break; /* cut, still terminated */
        used += (size_t)wrote;
        first = false;
    }
    return buffer;
}
