/* sparse.c - SparseTensorProto -> sdx_const with flat, checked, ascending indices. The dense form is
 * made later, by sdx_const_decode, when a program needs it. */
#include <string.h>

#include "onnx/loader.h"

/* Flat position of entry i from linear ([nnz]) or coordinate ([nnz, rank]) indices. */
static bool flat_index(const sdx_const *tensor, const int64_t *indices, size_t entry, bool linear,
                       int64_t *out) {
    if (tensor->count == 0) return false; /* also keeps the product below from wrapping */
    if (linear) {
        *out = indices[entry];
        return *out >= 0 && (uint64_t)*out < tensor->count;
    }
    int64_t flat = 0;
    for (int32_t axis = 0; axis < tensor->rank; axis++) {
        int64_t at = indices[entry * (size_t)tensor->rank + (size_t)axis];
        if (at < 0 || at >= tensor->dims[axis]) return false;
        flat = flat * tensor->dims[axis] + at;
    }
    *out = flat;
    return true;
}

static sdx_status flatten_indices(sdx_loader *loader, sdx_const *tensor, const sdx_const *values,
                                  const sdx_const *indices) {
    size_t entries = values->count;
    bool linear = indices->rank == 1;
    bool fits = indices->dtype == SDX_DTYPE_INT64 &&
                (linear || (indices->rank == 2 && indices->dims[1] == tensor->rank)) &&
                indices->rank >= 1 && (uint64_t)indices->dims[0] == entries;
    if (!fits)
        return sdx_bad(loader, tensor->position, "sparse tensor '%s': its indices must be int64 "
                                                 "[%zu] or [%zu, %d]",
                       tensor->name, entries, entries, tensor->rank);
    int64_t *given = sdx_arena_array(&loader->module->arena, indices->count + 1, sizeof *given);
    int64_t *flat = sdx_arena_array(&loader->module->arena, entries + 1, sizeof *flat);
    sdx_const *checked = sdx_arena_alloc(&loader->module->arena, sizeof *checked);
    if (!given || !flat || !checked) return sdx_load_no_memory(loader);
    sdx_const_decode(indices, given);
    for (size_t i = 0; i < entries; i++) {
        if (!flat_index(tensor, given, i, linear, &flat[i]))
            return sdx_bad(loader, tensor->position, "sparse tensor '%s': index %zu lies outside "
                                                     "its shape",
                           tensor->name, i);
        if (i && flat[i] <= flat[i - 1])
            return sdx_bad(loader, tensor->position, "sparse tensor '%s': index %zu is not above "
                                                     "the one before",
                           tensor->name, i);
    }
    *checked = *indices;
    checked->data = flat;
    checked->host = true;
    tensor->sparse_indices = checked;
    return SDX_STATUS_OK;
}

sdx_status sdx_load_sparse(sdx_loader *loader, sdx_pb_reader in, const sdx_const **out) {
    SDX_TRY(SDX_NEED(sparse_tensors, loader->error));
    const sdx_const *values = NULL, *indices = NULL;
    sdx_const *tensor = sdx_arena_alloc(&loader->module->arena, sizeof *tensor);
    int64_t *dims = sdx_arena_array(&loader->module->arena, SDX_MAX_RANK, sizeof *dims);
    if (!tensor || !dims) return sdx_load_no_memory(loader);
    tensor->dims = dims;
    tensor->position = sdx_pb_position(&in);
    tensor->name = "";
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number == 1 || field.number == 2) {
            SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "values", loader->error));
            sdx_pb_reader inner;
            SDX_TRY(sdx_pb_enter(&in, &field, &inner, loader->error));
            SDX_TRY(sdx_load_tensor(loader, inner, field.number == 1 ? &values : &indices));
        } else if (field.number == 3) {
            sdx_span bytes = field.bytes;
            uint64_t dim = field.varint;
            bool one = field.wire == SDX_WIRE_VARINT;
            if (!one) SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "dims", loader->error));
            while (one || bytes.size) {
                if (!one && !sdx_pb_varint(&bytes, &dim))
                    return sdx_bad(loader, field.position, "dims ends within a number");
                if (dim >= (uint64_t)SDX_EXPR_MAX || tensor->rank == SDX_MAX_RANK)
                    return sdx_bad(loader, field.position, "a sparse tensor has more than %d "
                                                           "dimensions, or one of %lld",
                                   SDX_MAX_RANK, (long long)dim);
                dims[tensor->rank++] = (int64_t)dim;
                one = false;
            }
        }
    }
    SDX_TRY(status);
    if (!values || values->rank != 1)
        return sdx_bad(loader, tensor->position, "a sparse tensor lacks its rank-1 values");
    tensor->name = values->name;
    tensor->dtype = values->dtype;
    /* Flat indices are signed, so the count must stay below 2^63: no larger tensor exists. */
    sdx_tensor dense;
    if (sdx_tensor_init(&dense, tensor->dtype, tensor->rank, dims, NULL, NULL) != SDX_STATUS_OK)
        return sdx_bad(loader, tensor->position, "sparse tensor '%s' is too large", tensor->name);
    tensor->count = dense.count;
    if (!indices)
        return sdx_bad(loader, tensor->position, "sparse tensor '%s' lacks indices", tensor->name);
    tensor->sparse_values = values;
    SDX_TRY(flatten_indices(loader, tensor, values, indices));
    *out = tensor;
    return SDX_STATUS_OK;
}
