/* sequence_split.c - between a tensor and a sequence of its parts: SplitToSequence and
 * ConcatFromSequence. */
#include "ops/control.h"
#include "ops/movement.h"

/* ---- SplitToSequence ------------------------------------------------------------------------ */

typedef struct split_params {
    int64_t axis;
    bool keepdims; /* matters only where no sizes are given */
} split_params;

static sdx_status split_prepare(sdx_prep *prep) {
    split_params *p = prep->params;
    SDX_TRY(sdx_attr_get_int(prep, "axis", 0, &p->axis));
    return sdx_attr_get_bool(prep, "keepdims", true, &p->keepdims);
}

/* Size of a part along the axis where all parts have the same, else unknown. */
static sdx_expr part_size(sdx_infer *inf, sdx_expr whole) {
    const sdx_tensor *sizes = sdx_infer_tensor(inf, 1);
    if (!sdx_infer_present(inf, 1)) return sdx_expr_const(1);
    if (!sizes || sizes->count == 0) return SDX_EXPR_UNKNOWN;
    const int64_t first = sdx_tensor_int(sizes, 0);
    if (first < 0 || first >= SDX_EXPR_MAX) return SDX_EXPR_UNKNOWN;
    if (sizes->rank == 0) { /* the last part is what is left */
        if (first == 0) return SDX_EXPR_UNKNOWN;
        const sdx_expr rest = sdx_expr_mod(inf->pool, whole, sdx_expr_const(first));
        return sdx_expr_is(rest, 0) ? sdx_expr_const(first) : SDX_EXPR_UNKNOWN;
    }
    for (size_t i = 1; i < sizes->count; i++)
        if (sdx_tensor_int(sizes, i) != first) return SDX_EXPR_UNKNOWN;
    return sdx_expr_const(first);
}

static sdx_status split_infer(sdx_infer *inf) {
    const split_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr dims[SDX_MAX_RANK];
    sdx_type items, type;
    int32_t axis, used = -1;
    if (sdx_infer_rank(inf, 1) > 1)
        return sdx_infer_fail(inf, "split has rank %d, expected 0 or 1", sdx_infer_rank(inf, 1));
    if (rank >= 0) {
        SDX_TRY(sdx_infer_axis(inf, p->axis, rank, &axis));
        used = 0;
        for (int32_t d = 0; d < rank; d++) {
            if (d == axis && !p->keepdims && !sdx_infer_present(inf, 1)) continue;
            const sdx_expr dim = sdx_infer_dim(inf, 0, d);
            dims[used++] = d == axis ? part_size(inf, dim) : dim;
        }
    }
    SDX_TRY(sdx_type_tensor(inf, sdx_infer_dtype(inf, 0), used, dims, &items));
    SDX_TRY(sdx_type_wrap(inf, SDX_KIND_SEQUENCE, &items, &type));
    sdx_infer_set_type(inf, 0, &type);
    return SDX_STATUS_OK;
}

/* Number of parts, after checking that they make up the axis. */
static sdx_status count_parts(sdx_call *call, const sdx_tensor *sizes, int64_t whole,
                              int64_t *out) {
    *out = whole;
    if (!sizes) return SDX_STATUS_OK;
    if (sizes->rank == 0) {
        const int64_t size = sdx_tensor_int(sizes, 0);
        if (size <= 0)
            return sdx_call_fail(call, "split is %lld, expected a positive size", (long long)size);
        *out = whole / size + (whole % size != 0);
        return SDX_STATUS_OK;
    }
    int64_t sum = 0;
    for (size_t i = 0; i < sizes->count; i++) {
        const int64_t size = sdx_tensor_int(sizes, i);
        if (size < 0)
            return sdx_call_fail(call, "split[%zu] is negative: %lld", i, (long long)size);
        if (!sdx_i64_add(sum, size, &sum)) sum = INT64_MAX;
    }
    *out = (int64_t)sizes->count;
    if (sum == whole) return SDX_STATUS_OK;
    return sdx_call_fail(call, "the sizes in split add up to %lld, the axis has %lld",
                         (long long)sum, (long long)whole);
}

/* One part as a value of its own; `drop`: without the axis. */
static sdx_status make_part(sdx_call *call, const sdx_tensor *in, int32_t axis, int64_t first,
                            int64_t length, bool drop, sdx_value **out) {
    int64_t dims[SDX_MAX_RANK];
    int32_t used = 0;
    for (int32_t d = 0; d < in->rank; d++)
        if (d != axis || !drop) dims[used++] = d == axis ? length : in->dims[d];
    SDX_TRY(sdx_value_alloc_tensor(call->host->heap, in->dtype, used, dims, out, call->error));
    sdx_part_read(in, axis, first, length, (*out)->tensor.data, call->host->pool);
    return SDX_STATUS_OK;
}

static sdx_status split_run(sdx_call *call) {
    const split_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0), *sizes = sdx_in(call, 1);
    int64_t axis, parts, first = 0;
    sdx_value *list;
    if (!in) return sdx_call_fail(call, "input 0 is not a tensor");
    if (sizes && (sizes->rank > 1 || !sdx_dtypes_has(SDX_T_INDEX, sizes->dtype)))
        return sdx_call_fail(call, "split is %s of rank %d, expected int32 or int64 of rank 0 or 1",
                             sdx_dtype_name(sizes->dtype), sizes->rank);
    SDX_TRY(sdx_call_index(call, p->axis, in->rank, "axis", &axis));
    const int64_t whole = in->dims[axis];
    SDX_TRY(count_parts(call, sizes, whole, &parts));
    SDX_TRY(sdx_value_alloc_list(call->host->heap, SDX_KIND_SEQUENCE, (size_t)parts, &list,
                                 call->error));
    sdx_status status = SDX_STATUS_OK;
    for (int64_t i = 0; i < parts && status == SDX_STATUS_OK; i++) {
        int64_t length = sizes ? sdx_tensor_int(sizes, sizes->rank ? (size_t)i : 0) : 1;
        if (length > whole - first) length = whole - first; /* the last part of equal ones */
        status = make_part(call, in, (int32_t)axis, first, length, !sizes && !p->keepdims,
                           &list->items[i]);
        first += length;
    }
    if (status == SDX_STATUS_OK) return sdx_call_give(call, 0, list);
    sdx_value_release(list);
    return status;
}

const sdx_op_def sdx_op_split_to_sequence = {
    .min_in = 1, .max_in = 2, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .in_types = {SDX_T_ALL, SDX_T_INDEX},
    .params_size = sizeof(split_params),
    .prepare = split_prepare, .infer = split_infer,
    .run = SDX_BODY(sdx_op_split_to_sequence, split_run),
};

/* ---- ConcatFromSequence --------------------------------------------------------------------- */

typedef struct concat_params {
    int64_t axis;
    bool new_axis;
} concat_params;

static sdx_status concat_prepare(sdx_prep *prep) {
    concat_params *p = prep->params;
    int64_t new_axis;
    SDX_TRY(sdx_attr_need_int(prep, "axis", &p->axis));
    SDX_TRY(sdx_attr_get_int(prep, "new_axis", 0, &new_axis));
    if (new_axis != 0 && new_axis != 1)
        return sdx_prep_fail(prep, "attribute 'new_axis' is %lld, expected 0 or 1",
                             (long long)new_axis);
    p->new_axis = new_axis == 1;
    return SDX_STATUS_OK;
}

static sdx_status concat_infer(sdx_infer *inf) {
    const concat_params *p = inf->params;
    sdx_type items;
    sdx_expr dims[SDX_MAX_RANK + 1];
    int32_t axis, used = 0;
    SDX_TRY(sdx_infer_items(inf, 0, &items));
    if (items.kind != SDX_KIND_TENSOR) return SDX_STATUS_OK;
    sdx_infer_set_dtype(inf, 0, items.dtype);
    if (items.rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    SDX_TRY(sdx_infer_axis(inf, p->axis, items.rank + p->new_axis, &axis));
    for (int32_t d = 0; d <= items.rank; d++) {
        if (d == axis) dims[used++] = SDX_EXPR_UNKNOWN; /* how many there are is not known */
        if (d < items.rank && (d != axis || p->new_axis)) dims[used++] = items.dims[d];
    }
    return sdx_infer_set_shape(inf, 0, used, dims);
}

/* Whether an item fits behind the first one. */
static bool fits(const sdx_tensor *first, const sdx_tensor *item, int64_t axis, bool new_axis) {
    if (item->dtype != first->dtype || item->rank != first->rank) return false;
    for (int32_t d = 0; d < first->rank; d++)
        if (item->dims[d] != first->dims[d] && (new_axis || d != axis)) return false;
    return true;
}

static sdx_status concat_dims(sdx_call *call, const sdx_value *list, int64_t axis,
                              int64_t dims[SDX_MAX_RANK]) {
    const concat_params *p = call->params;
    const sdx_tensor *first = &list->items[0]->tensor;
    int64_t total = 0;
    for (size_t i = 0; i < list->item_count; i++) {
        const sdx_value *item = list->items[i];
        if (item->kind != SDX_KIND_TENSOR)
            return sdx_call_fail(call, "item %zu of the sequence is not a tensor", i);
        if (!fits(first, &item->tensor, axis, p->new_axis))
            return sdx_call_fail(call, "item %zu of the sequence differs from the first in type, "
                                       "rank or a dimension besides the axis",
                                 i);
        if (!sdx_i64_add(total, p->new_axis ? 1 : item->tensor.dims[axis], &total))
            return sdx_fail_memory(call->error, SIZE_MAX, "the result");
    }
    for (int32_t d = 0, from = 0; d < first->rank + p->new_axis; d++) {
        if (d == axis) dims[d] = total;
        else dims[d] = first->dims[from];
        if (d != axis || !p->new_axis) from++;
    }
    return SDX_STATUS_OK;
}

static sdx_status concat_run(sdx_call *call) {
    const concat_params *p = call->params;
    sdx_value *list;
    sdx_tensor *out;
    int64_t axis, dims[SDX_MAX_RANK], first = 0;
    SDX_TRY(sdx_call_sequence(call, 0, &list));
    if (list->item_count == 0) return sdx_call_fail(call, "the sequence is empty");
    if (list->items[0]->kind != SDX_KIND_TENSOR)
        return sdx_call_fail(call, "item 0 of the sequence is not a tensor");
    const sdx_tensor *shape = &list->items[0]->tensor;
    const int32_t rank = shape->rank + p->new_axis;
    if (rank > SDX_MAX_RANK)
        return sdx_call_fail(call, "the result would have rank %d; at most %d is supported", rank,
                             SDX_MAX_RANK);
    SDX_TRY(sdx_call_index(call, p->axis, rank, "axis", &axis));
    SDX_TRY(concat_dims(call, list, axis, dims));
    SDX_TRY(sdx_call_alloc(call, 0, shape->dtype, rank, dims, &out));
    for (size_t i = 0; out && i < list->item_count; i++) {
        const sdx_tensor *item = &list->items[i]->tensor;
        const int64_t length = p->new_axis ? 1 : item->dims[axis];
        sdx_part_write(out, (int32_t)axis, first, length, item->data, call->host->pool);
        first += length;
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_concat_from_sequence = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .params_size = sizeof(concat_params),
    .prepare = concat_prepare, .infer = concat_infer,
    .run = SDX_BODY(sdx_op_concat_from_sequence, concat_run),
};
