/* const.c - from a constant's bytes in the file to bytes in memory layout. Called while loading for
 * small shape tensors and while a program is made for weights that cannot be used where they lie. */
#include <string.h>

#include "graph/graph.h"

static bool host_is_little_endian(void) {
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* Unit in which bytes are swapped on a big-endian host: half an element for complex numbers. */
static size_t swap_unit(sdx_dtype dtype) {
    size_t size = sdx_dtype_size(dtype);
    return dtype == SDX_DTYPE_COMPLEX64 || dtype == SDX_DTYPE_COMPLEX128 ? size / 2 : size;
}

bool sdx_const_in_place(const sdx_const *constant) {
    if (constant->sparse_values || constant->count == 0) return false;
    if (constant->host) return true;
    size_t unit = swap_unit(constant->dtype);
    if (sdx_dtype_file_bits(constant->dtype) != 8 * sdx_dtype_size(constant->dtype)) return false;
    if (unit > 1 && !host_is_little_endian()) return false;
    return (uintptr_t)constant->data % unit == 0;
}

static void decode_dense(const sdx_const *constant, uint8_t *out) {
    size_t size = sdx_dtype_size(constant->dtype);
    size_t bytes = constant->count * size;
    if (bytes == 0) return;
    if (!constant->host && sdx_dtype_file_bits(constant->dtype) < 8) {
        sdx_dtype_unpack(constant->dtype, constant->data, constant->count, out);
        return;
    }
    memcpy(out, constant->data, bytes);
    size_t unit = swap_unit(constant->dtype);
    if (constant->host || unit == 1 || host_is_little_endian()) return;
    for (size_t at = 0; at < bytes; at += unit)
        for (size_t i = 0; i < unit / 2; i++) {
            uint8_t swap = out[at + i];
            out[at + i] = out[at + unit - 1 - i];
            out[at + unit - 1 - i] = swap;
        }
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
