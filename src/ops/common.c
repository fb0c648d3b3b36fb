/* common.c - small helpers on tensors that bodies of many families share. */
#include <math.h>
#include <string.h>

#include "ops/op.h"

size_t sdx_dims_product(const int64_t *dims, int32_t from, int32_t to) {
    size_t product = 1;
    for (int32_t i = from; i < to; i++) product *= (size_t)dims[i];
    return product;
}

void sdx_strides(const sdx_tensor *tensor, int64_t strides[SDX_MAX_RANK]) {
    int64_t step = 1;
    for (int32_t i = tensor->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= tensor->dims[i] > 0 ? tensor->dims[i] : 1; /* an empty tensor is never walked */
    }
}

void sdx_broadcast_strides(const sdx_tensor *tensor, const sdx_tensor *out,
                           int64_t strides[SDX_MAX_RANK]) {
    int64_t own[SDX_MAX_RANK];
    sdx_strides(tensor, own);
    for (int32_t i = 0; i < out->rank; i++) {
        int32_t at = i - (out->rank - tensor->rank);
        strides[i] = at < 0 || (tensor->dims[at] == 1 && out->dims[i] != 1) ? 0 : own[at];
    }
}

int64_t sdx_tensor_int(const sdx_tensor *tensor, size_t i) {
    const void *data = tensor->data;
    switch (tensor->dtype) {
    case SDX_DTYPE_INT64: return ((const int64_t *)data)[i];
    case SDX_DTYPE_INT32: return ((const int32_t *)data)[i];
    case SDX_DTYPE_INT16: return ((const int16_t *)data)[i];
    case SDX_DTYPE_INT8:
    case SDX_DTYPE_INT4:
    case SDX_DTYPE_INT2: return ((const int8_t *)data)[i];
    case SDX_DTYPE_UINT64: return (int64_t)((const uint64_t *)data)[i];
    case SDX_DTYPE_UINT32: return ((const uint32_t *)data)[i];
    case SDX_DTYPE_UINT16: return ((const uint16_t *)data)[i];
    case SDX_DTYPE_UINT8:
    case SDX_DTYPE_UINT4:
    case SDX_DTYPE_UINT2:
    case SDX_DTYPE_BOOL: return ((const uint8_t *)data)[i];
    default: return 0;
    }
}

double sdx_tensor_double(const sdx_tensor *tensor, size_t i) {
    const void *data = tensor->data;
    switch (tensor->dtype) {
    case SDX_DTYPE_FLOAT64: return ((const double *)data)[i];
    case SDX_DTYPE_FLOAT32: return ((const float *)data)[i];
    case SDX_DTYPE_FLOAT16: return sdx_f16_to_f32(((const uint16_t *)data)[i]);
    case SDX_DTYPE_BFLOAT16: return sdx_bf16_to_f32(((const uint16_t *)data)[i]);
    case SDX_DTYPE_FLOAT8E4M3FN:
    case SDX_DTYPE_FLOAT8E4M3FNUZ:
    case SDX_DTYPE_FLOAT8E5M2:
    case SDX_DTYPE_FLOAT8E5M2FNUZ:
    case SDX_DTYPE_FLOAT4E2M1:
    case SDX_DTYPE_FLOAT6E2M3:
    case SDX_DTYPE_FLOAT6E3M2:
    case SDX_DTYPE_FLOAT8E8M0: return sdx_f8_to_f32(tensor->dtype, ((const uint8_t *)data)[i]);
    case SDX_DTYPE_UINT64: return (double)((const uint64_t *)data)[i];
    default: return (double)sdx_tensor_int(tensor, i);
    }
}

void sdx_copy_elements(const sdx_tensor *from, sdx_tensor *to) {
    size_t bytes = to->count * sdx_dtype_size(to->dtype);
    if (bytes && from->data != to->data) memcpy(to->data, from->data, bytes);
}

double sdx_element_as_double(const sdx_tensor *tensor, size_t index) {
    switch (tensor->dtype) {
    case SDX_DTYPE_STRING:
    case SDX_DTYPE_UNDEFINED: return (double)NAN;
    case SDX_DTYPE_COMPLEX64: return ((const float *)tensor->data)[2 * index];
    case SDX_DTYPE_COMPLEX128: return ((const double *)tensor->data)[2 * index];
    default: return sdx_tensor_double(tensor, index);
    }
}
