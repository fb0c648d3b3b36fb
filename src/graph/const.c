/* const.c - from a constant's bytes in the file to bytes in memory layout. Called while loading for
 * small shape tensors and while a program is made for weights that cannot be used where they lie. */
#include <string.h>

#include "base/endian.h"
#include "graph/graph.h"

/* Unit in which bytes are swapped on a big-endian host: half an element for complex numbers. */
static size_t swap_unit(sdx_dtype dtype) {
    size_t size = sdx_dtype_size(dtype);
    return dtype == SDX_DTYPE_COMPLEX64 || dtype == SDX_DTYPE_COMPLEX128 ? size / 2 : size;
}

bool sdx_const_in_place(const sdx_const *constant) {
    if (constant->sparse_values || constant->count == 0 || !constant->data || constant->half)
        return false;
    if (constant->host) return true;
    size_t unit = swap_unit(constant->dtype);
    if (sdx_dtype_file_bits(constant->dtype) != 8 * sdx_dtype_size(constant->dtype)) return false;
    if (unit > 1 && !sdx_little_endian()) return false;
    return (uintptr_t)constant->data % unit == 0;
}

/* float16 of the file as float32. */
static void widen(const sdx_const *constant, uint8_t *out) {
    const uint8_t *from = constant->data;
    for (size_t i = 0; i < constant->count; i++) {
        float x = sdx_f16_to_f32((uint16_t)(from[2 * i] | from[2 * i + 1] << 8));
        memcpy(out + i * sizeof x, &x, sizeof x);
    }
}

static void decode_dense(const sdx_const *constant, uint8_t *out) {
    size_t size = sdx_dtype_size(constant->dtype);
    size_t bytes = constant->count * size;
    if (bytes == 0) return;
    if (constant->half) {
        widen(constant, out);
        return;
    }
    if (!constant->host && sdx_dtype_file_bits(constant->dtype) < 8) {
        sdx_dtype_unpack(constant->dtype, constant->data, constant->count, out);
        return;
    }
    memcpy(out, constant->data, bytes);
    size_t unit = swap_unit(constant->dtype);
    if (constant->host || unit == 1 || sdx_little_endian()) return;
    sdx_swap_bytes(out, bytes, unit);
}

/* Indices were checked and brought into flat form when the model was loaded. */
static void decode_sparse(const sdx_const *constant, uint8_t *out) {
    size_t size = sdx_dtype_size(constant->dtype);
    memset(out, 0, constant->count * size);
    if (constant->dtype == SDX_DTYPE_STRING)
        for (size_t i = 0; i < constant->count; i++) ((sdx_string *)(void *)out)[i].data = "";
    const sdx_const *values = constant->sparse_values;
    const int64_t *indices = constant->sparse_indices->data;
    for (size_t i = 0; i < values->count; i++) {
        sdx_const one = *values;
        one.count = 1;
        if (values->host || sdx_dtype_file_bits(values->dtype) >= 8) {
            one.data = (const uint8_t *)values->data + i * size;
            decode_dense(&one, out + (size_t)indices[i] * size);
        } else {
            /* From the start of its group of eight, since elements may cross bytes. */
            uint8_t group[8];
            size_t begin = i / 8 * 8, bytes = begin / 8 * sdx_dtype_file_bits(values->dtype);
            sdx_dtype_unpack(values->dtype, (const uint8_t *)values->data + bytes, i - begin + 1,
                             group);
            out[indices[i]] = group[i - begin];
        }
    }
}

void sdx_const_decode(const sdx_const *constant, void *out) {
    if (constant->sparse_values) decode_sparse(constant, out);
    else decode_dense(constant, out);
}
