/* tensor.c - the public facts about element types (size, name) and the constructor of the plain
 * sdx_tensor. Callers fill inputs through it; the loader uses it for constants. It is the one
 * place that decides whether dims are acceptable at all. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/dtype.h"

static const struct {
    const char *name;
    size_t size;
} types[SDX_DTYPE_COUNT] = {
    [SDX_DTYPE_UNDEFINED] = {"undefined", 0},
    [SDX_DTYPE_FLOAT32] = {"float32", 4},
    [SDX_DTYPE_UINT8] = {"uint8", 1},
    [SDX_DTYPE_INT8] = {"int8", 1},
    [SDX_DTYPE_UINT16] = {"uint16", 2},
    [SDX_DTYPE_INT16] = {"int16", 2},
    [SDX_DTYPE_INT32] = {"int32", 4},
    [SDX_DTYPE_INT64] = {"int64", 8},
    [SDX_DTYPE_STRING] = {"string", sizeof(sdx_string)},
    [SDX_DTYPE_BOOL] = {"bool", 1},
    [SDX_DTYPE_FLOAT16] = {"float16", 2},
    [SDX_DTYPE_FLOAT64] = {"float64", 8},
    [SDX_DTYPE_UINT32] = {"uint32", 4},
    [SDX_DTYPE_UINT64] = {"uint64", 8},
    [SDX_DTYPE_COMPLEX64] = {"complex64", 8},
    [SDX_DTYPE_COMPLEX128] = {"complex128", 16},
    [SDX_DTYPE_BFLOAT16] = {"bfloat16", 2},
    [SDX_DTYPE_FLOAT8E4M3FN] = {"float8e4m3fn", 1},
    [SDX_DTYPE_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 1},
    [SDX_DTYPE_FLOAT8E5M2] = {"float8e5m2", 1},
    [SDX_DTYPE_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 1},
    [SDX_DTYPE_UINT4] = {"uint4", 1},
    [SDX_DTYPE_INT4] = {"int4", 1},
    [SDX_DTYPE_FLOAT4E2M1] = {"float4e2m1", 1},
    [SDX_DTYPE_FLOAT8E8M0] = {"float8e8m0", 1},
    [SDX_DTYPE_UINT2] = {"uint2", 1},
    [SDX_DTYPE_INT2] = {"int2", 1},
    [SDX_DTYPE_FLOAT6E2M3] = {"float6e2m3", 1},
    [SDX_DTYPE_FLOAT6E3M2] = {"float6e3m2", 1},
};

size_t sdx_dtype_size(sdx_dtype dtype) {
    return (unsigned)dtype < SDX_DTYPE_COUNT ? types[dtype].size : 0;
}

const char *sdx_dtype_name(sdx_dtype dtype) {
    return (unsigned)dtype < SDX_DTYPE_COUNT ? types[dtype].name : "unknown";
}

sdx_status sdx_tensor_init(sdx_tensor *tensor, sdx_dtype dtype, int32_t rank, const int64_t *dims,
                           void *data, sdx_error *error) {
    if (tensor == NULL)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "the tensor to fill is NULL");
    if (!sdx_dtype_valid((int64_t)dtype))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "%d is not an element type",
                        (int)dtype);
    if (rank < 0 || rank > SDX_MAX_RANK)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "rank %" PRId32 " is not between 0 and %d", rank, SDX_MAX_RANK);
    if (rank > 0 && dims == NULL)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "dims are NULL for a tensor of rank %" PRId32, rank);
    for (int32_t i = 0; i < rank; i++)
        if (dims[i] < 0)
            return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                            "dim %" PRId32 " is negative (%" PRId64 ")", i, dims[i]);
    size_t count, bytes;
    /* The limit is PTRDIFF_MAX, not SIZE_MAX: no larger object can exist. */
    if (!sdx_dims_count(dims, rank, &count) ||
        !sdx_size_mul(count, sdx_dtype_size(dtype), &bytes) || bytes > PTRDIFF_MAX)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "the size of the %s tensor passes what memory can hold",
                        sdx_dtype_name(dtype));

    /* Built aside: dims may be tensor->dims itself. */
    sdx_tensor filled = {.dtype = dtype, .rank = rank, .count = count, .data = data};
    if (rank > 0) memcpy(filled.dims, dims, (size_t)rank * sizeof *dims);
    *tensor = filled;
    return SDX_STATUS_OK;
}
