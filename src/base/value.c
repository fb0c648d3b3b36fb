/* value.c - making, keeping and releasing run-time values. The struct and its tensor bytes are one
 * allocation, so that a value of the run-time heap costs one call. */
#include "base/value.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/dtype.h"

/* Offset of the data behind the struct: rounded up so that tensors sit on a cache line. */
#define DATA_OFFSET ((sizeof(sdx_value) + SDX_CACHE_LINE - 1) / SDX_CACHE_LINE * SDX_CACHE_LINE)

static sdx_status make(const sdx_allocator *allocator, sdx_kind kind, size_t payload,
                       sdx_value **out, sdx_error *error) {
    if (!allocator) allocator = &sdx_default_allocator;
    size_t size;
    if (!sdx_size_add(DATA_OFFSET, payload, &size))
        return sdx_fail_memory(error, payload, "a value");
    sdx_value *value = sdx_alloc(allocator, size, SDX_CACHE_LINE);
    if (!value) return sdx_fail_memory(error, size, "a value");
    memset(value, 0, sizeof *value);
    atomic_init(&value->references, 1);
    value->kind = kind;
    value->allocator = allocator;
    value->allocation = size;
    *out = value;
    return SDX_STATUS_OK;
}

static void *payload_of(sdx_value *value) { return (char *)value + DATA_OFFSET; }

/* A shape that came out of a computation is no mistake of the caller's: too large is a limit. */
static sdx_status fail_too_large(sdx_dtype dtype, int32_t rank, const int64_t *dims,
                                 sdx_error *error) {
    char text[SDX_MAX_RANK * 22];
    size_t used = 0;
    text[0] = 0;
    for (int32_t i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", i ? "," : "",
                                 (long long)dims[i]);
    return sdx_fail(error, SDX_STATUS_LIMIT, "a tensor %s[%s] passes what memory can hold",
                    sdx_dtype_name(dtype), text);
}

static bool is_shape(sdx_dtype dtype, int32_t rank, const int64_t *dims) {
    if (!sdx_dtype_valid((int64_t)dtype) || rank < 0 || rank > SDX_MAX_RANK) return false;
    for (int32_t i = 0; i < rank; i++)
        if (dims[i] < 0) return false;
    return true;
}

sdx_status sdx_value_alloc_tensor(const sdx_allocator *allocator, sdx_dtype dtype, int32_t rank,
                                  const int64_t *dims, sdx_value **out, sdx_error *error) {
    sdx_tensor tensor;
    sdx_status status = sdx_tensor_init(&tensor, dtype, rank, dims, NULL, NULL);
    if (status != SDX_STATUS_OK && is_shape(dtype, rank, dims))
        return fail_too_large(dtype, rank, dims, error);
    if (status != SDX_STATUS_OK) {
        sdx_tensor_init(&tensor, dtype, rank, dims, NULL, error); /* once more, for the words */
        return status;
    }
    size_t bytes = tensor.count * sdx_dtype_size(dtype); /* fits: sdx_tensor_init has seen to it */
    SDX_TRY(make(allocator, SDX_KIND_TENSOR, bytes, out, error));
    (*out)->tensor = tensor;
    (*out)->tensor.data = payload_of(*out);
    return SDX_STATUS_OK;
}

sdx_status sdx_value_alloc_view(const sdx_allocator *allocator, sdx_value *base, sdx_dtype dtype,
                                int32_t rank, const int64_t *dims, sdx_value **out,
                                sdx_error *error) {
    sdx_tensor tensor;
    SDX_TRY(sdx_tensor_init(&tensor, dtype, rank, dims, base->tensor.data, error));
    if (tensor.count != base->tensor.count)
        return sdx_fail(error, SDX_STATUS_INTERNAL, "a view of %zu elements over %zu",
                        tensor.count, base->tensor.count);
    SDX_TRY(make(allocator, SDX_KIND_TENSOR, 0, out, error));
    (*out)->tensor = tensor;
    (*out)->borrowed = base->borrowed;
    /* A view of a view holds the owner itself: a loop may make one of the other without end. */
    if (!base->borrowed) (*out)->base = sdx_value_retain(base->base ? base->base : base);
    return SDX_STATUS_OK;
}

sdx_status sdx_value_alloc_borrowed(const sdx_allocator *allocator, const sdx_tensor *tensor,
                                    sdx_value **out, sdx_error *error) {
    SDX_TRY(make(allocator, SDX_KIND_TENSOR, 0, out, error));
    (*out)->tensor = *tensor;
    (*out)->borrowed = true;
    return SDX_STATUS_OK;
}

sdx_status sdx_value_alloc_list(const sdx_allocator *allocator, sdx_kind kind, size_t count,
                                sdx_value **out, sdx_error *error) {
    size_t bytes;
    if (!sdx_size_mul(count, sizeof(sdx_value *), &bytes))
        return sdx_fail_memory(error, SIZE_MAX, "a sequence");
    SDX_TRY(make(allocator, kind, bytes, out, error));
    (*out)->items = payload_of(*out);
    (*out)->item_count = count;
    memset((*out)->items, 0, bytes);
    return SDX_STATUS_OK;
}

sdx_status sdx_value_alloc_none(const sdx_allocator *allocator, sdx_value **out,
                                sdx_error *error) {
    return make(allocator, SDX_KIND_NONE, 0, out, error);
}

sdx_value *sdx_value_retain(sdx_value *value) {
    if (value) atomic_fetch_add_explicit(&value->references, 1, memory_order_relaxed);
    return value;
}

void sdx_value_release(sdx_value *value) {
    if (!value || atomic_fetch_sub_explicit(&value->references, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < value->item_count; i++) sdx_value_release(value->items[i]);
    sdx_value_release(value->base);
    if (value->allocator) sdx_free(value->allocator, value, value->allocation);
}

/* Text that a string tensor points at goes behind the elements, so that the copy owns it all. */
static sdx_status copy_strings(const sdx_allocator *allocator, const sdx_tensor *from,
                               sdx_value **out, sdx_error *error) {
    const sdx_string *source = from->data;
    size_t total;
    if (!sdx_size_mul(from->count, sizeof(sdx_string), &total))
        return sdx_fail_memory(error, SIZE_MAX, "a string tensor");
    for (size_t i = 0; i < from->count; i++)
        if (!sdx_size_add(total, source[i].size, &total))
            return sdx_fail_memory(error, SIZE_MAX, "a string tensor");
    SDX_TRY(make(allocator, SDX_KIND_TENSOR, total, out, error));
    sdx_string *target = payload_of(*out);
    char *text = (char *)(target + from->count);
    for (size_t i = 0; i < from->count; i++) {
        if (source[i].size) memcpy(text, source[i].data, source[i].size);
        target[i] = (sdx_string){text, source[i].size};
        text += source[i].size;
    }
    (*out)->tensor = *from;
    (*out)->tensor.data = target;
    return SDX_STATUS_OK;
}

sdx_status sdx_value_new_tensor(const sdx_allocator *allocator, const sdx_tensor *like,
                                sdx_value **out, sdx_error *error) {
    if (!like || !out)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_value_new_tensor: NULL given");
    sdx_tensor checked;
    SDX_TRY(sdx_tensor_init(&checked, like->dtype, like->rank, like->dims, like->data, error));
    if (like->dtype == SDX_DTYPE_STRING && like->data)
        return copy_strings(allocator, &checked, out, error);
    SDX_TRY(sdx_value_alloc_tensor(allocator, like->dtype, like->rank, like->dims, out, error));
    size_t bytes = checked.count * sdx_dtype_size(like->dtype);
    if (like->data && bytes) memcpy((*out)->tensor.data, like->data, bytes);
    else if (bytes) memset((*out)->tensor.data, 0, bytes);
    return SDX_STATUS_OK;
}

sdx_status sdx_value_new_sequence(const sdx_allocator *allocator, sdx_value *const *items,
                                  size_t count, sdx_value **out, sdx_error *error) {
    if (!out || (count && !items))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_value_new_sequence: NULL given");
    for (size_t i = 0; i < count; i++)
        if (!items[i])
            return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "item %zu of the sequence is NULL",
                            i);
    SDX_TRY(sdx_value_alloc_list(allocator, SDX_KIND_SEQUENCE, count, out, error));
    for (size_t i = 0; i < count; i++) (*out)->items[i] = sdx_value_retain(items[i]);
    return SDX_STATUS_OK;
}

/* ---- maps ---------------------------------------------------------------------------------- */

static bool is_key_type(sdx_dtype dtype) {
    return dtype == SDX_DTYPE_STRING || (dtype >= SDX_DTYPE_UINT8 && dtype <= SDX_DTYPE_INT64) ||
           dtype == SDX_DTYPE_UINT32 || dtype == SDX_DTYPE_UINT64;
}

static sdx_status check_map(const sdx_value *keys, const sdx_value *values, sdx_error *error) {
    if (keys->kind != SDX_KIND_TENSOR || keys->tensor.rank != 1 ||
        !is_key_type(keys->tensor.dtype))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "the keys of a map are a rank-1 tensor of integers or strings");
    const bool side_by_side = values->kind == SDX_KIND_TENSOR && values->tensor.rank == 1;
    if (!side_by_side && values->kind != SDX_KIND_SEQUENCE)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "the values of a map are a rank-1 tensor or a sequence");
    const size_t count = side_by_side ? values->tensor.count : values->item_count;
    if (count == keys->tensor.count) return SDX_STATUS_OK;
    return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "a map has %zu keys and %zu values",
                    keys->tensor.count, count);
}

/* A map's values become one rank-1 tensor where they are scalars of one type, which they are in
 * every map that an operator takes or makes; what is no such list stays a sequence. */
static sdx_status pack_values(const sdx_allocator *allocator, sdx_value *values, sdx_value **out,
                              sdx_error *error) {
    bool scalars = values->kind == SDX_KIND_SEQUENCE && values->item_count > 0;
    for (size_t i = 0; scalars && i < values->item_count; i++) {
        const sdx_value *item = values->items[i];
        scalars = item->kind == SDX_KIND_TENSOR && item->tensor.count == 1 &&
                  item->tensor.rank <= 1 && item->tensor.dtype == values->items[0]->tensor.dtype;
    }
    if (!scalars) {
        *out = sdx_value_retain(values);
        return SDX_STATUS_OK;
    }
    const sdx_dtype dtype = values->items[0]->tensor.dtype;
    const int64_t count = (int64_t)values->item_count;
    const size_t size = sdx_dtype_size(dtype);
    SDX_TRY(sdx_value_alloc_tensor(allocator, dtype, 1, &count, out, error));
    for (size_t i = 0; i < values->item_count; i++)
        memcpy((char *)(*out)->tensor.data + i * size, values->items[i]->tensor.data, size);
    if (dtype != SDX_DTYPE_STRING) return SDX_STATUS_OK;
    sdx_value *shallow = *out; /* the text must outlive the list */
    const sdx_status status = copy_strings(allocator, &shallow->tensor, out, error);
    sdx_value_release(shallow);
    return status;
}

sdx_status sdx_value_new_map(const sdx_allocator *allocator, sdx_value *keys, sdx_value *values,
                             sdx_value **out, sdx_error *error) {
    if (!keys || !values || !out)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_value_new_map: NULL given");
    sdx_value *packed;
    SDX_TRY(check_map(keys, values, error));
    SDX_TRY(pack_values(allocator, values, &packed, error));
    const sdx_status status = sdx_value_alloc_list(allocator, SDX_KIND_MAP, 2, out, error);
    if (status != SDX_STATUS_OK) {
        sdx_value_release(packed);
        return status;
    }
    (*out)->items[0] = sdx_value_retain(keys);
    (*out)->items[1] = packed;
    return SDX_STATUS_OK;
}

/* ---- keeping ------------------------------------------------------------------------------- */

static bool owns_everything(const sdx_value *value) {
    if (value->borrowed || !value->allocator) return false;
    for (size_t i = 0; i < value->item_count; i++)
        if (!owns_everything(value->items[i])) return false;
    return true;
}

/* String bytes stay where they are (they outlive the run): only the elements are copied. */
static sdx_status copy_elements(const sdx_allocator *allocator, const sdx_value *value,
                                sdx_value **out, sdx_error *error) {
    const sdx_tensor *from = &value->tensor;
    SDX_TRY(sdx_value_alloc_tensor(allocator, from->dtype, from->rank, from->dims, out, error));
    size_t bytes = from->count * sdx_dtype_size(from->dtype);
    if (bytes) memcpy((*out)->tensor.data, from->data, bytes);
    return SDX_STATUS_OK;
}

sdx_status sdx_value_keep(const sdx_allocator *allocator, sdx_value *value, sdx_value **out,
                          sdx_error *error) {
    if (owns_everything(value)) {
        *out = sdx_value_retain(value);
        return SDX_STATUS_OK;
    }
    if (value->kind == SDX_KIND_NONE) return sdx_value_alloc_none(allocator, out, error);
    if (value->kind == SDX_KIND_TENSOR) return copy_elements(allocator, value, out, error);
    SDX_TRY(sdx_value_alloc_list(allocator, value->kind, value->item_count, out, error));
    for (size_t i = 0; i < value->item_count; i++) {
        sdx_status status = sdx_value_keep(allocator, value->items[i], &(*out)->items[i], error);
        if (status != SDX_STATUS_OK) {
            sdx_value_release(*out);
            *out = NULL;
            return status;
        }
    }
    return SDX_STATUS_OK;
}

sdx_kind sdx_value_kind(const sdx_value *value) { return value ? value->kind : SDX_KIND_NONE; }

const sdx_tensor *sdx_value_tensor(const sdx_value *value) {
    return value && value->kind == SDX_KIND_TENSOR ? &value->tensor : NULL;
}

size_t sdx_value_count(const sdx_value *value) {
    return value && value->kind == SDX_KIND_SEQUENCE ? value->item_count : 0;
}

sdx_value *sdx_value_item(const sdx_value *value, size_t index) {
    return index < sdx_value_count(value) ? value->items[index] : NULL;
}

const sdx_value *sdx_value_map_keys(const sdx_value *value) {
    return value && value->kind == SDX_KIND_MAP ? value->items[0] : NULL;
}

const sdx_value *sdx_value_map_values(const sdx_value *value) {
    return value && value->kind == SDX_KIND_MAP ? value->items[1] : NULL;
}
