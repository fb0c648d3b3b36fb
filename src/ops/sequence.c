/* sequence.c - making and changing sequences: SequenceEmpty, SequenceConstruct, SequenceAt,
 * SequenceInsert, SequenceErase, SequenceLength. A sequence is a list of references; its tensors
 * are never changed, so lists share them. Whatever enters a list is made to own its bytes first. */
#include "ops/control.h"

/* Output 0 is a sequence of `items`. */
static sdx_status set_sequence(sdx_infer *inf, const sdx_type *items) {
    sdx_type type;
    SDX_TRY(sdx_type_wrap(inf, SDX_KIND_SEQUENCE, items, &type));
    sdx_infer_set_type(inf, 0, &type);
    return SDX_STATUS_OK;
}

static sdx_status check_position(sdx_infer *inf, uint32_t i) {
    if (!sdx_infer_present(inf, i)) return SDX_STATUS_OK;
    const sdx_type *type = &inf->in[i].type;
    if (type->kind == SDX_KIND_NONE) return SDX_STATUS_OK;
    if (type->kind != SDX_KIND_TENSOR ||
        (type->dtype && !sdx_dtypes_has(SDX_T_INDEX, type->dtype)))
        return sdx_infer_fail(inf, "the position is not an int32 or int64 tensor");
    return sdx_infer_require_equal(inf, sdx_infer_product(inf, i, 0, type->rank),
                                   sdx_expr_const(1), "elements of the position");
}

static bool given(const sdx_call *call, uint32_t i) { return i < call->in_count && call->in[i]; }

/* ---- SequenceEmpty -------------------------------------------------------------------------- */

typedef struct empty_params {
    sdx_dtype dtype;
} empty_params;

static sdx_status empty_prepare(sdx_prep *prep) {
    empty_params *p = prep->params;
    return sdx_attr_get_dtype(prep, "dtype", SDX_DTYPE_FLOAT32, &p->dtype);
}

static sdx_status empty_infer(sdx_infer *inf) {
    const empty_params *p = inf->params;
    sdx_type items;
    SDX_TRY(sdx_type_tensor(inf, p->dtype, -1, NULL, &items));
    return set_sequence(inf, &items);
}

static sdx_status empty_run(sdx_call *call) {
    sdx_value *list;
    SDX_TRY(sdx_value_alloc_list(call->host->heap, SDX_KIND_SEQUENCE, 0, &list, call->error));
    return sdx_call_give(call, 0, list);
}

const sdx_op_def sdx_op_sequence_empty = {
    .min_in = 0, .max_in = 0, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .params_size = sizeof(empty_params),
    .prepare = empty_prepare, .infer = empty_infer,
    .run = SDX_BODY(sdx_op_sequence_empty, empty_run),
};

/* ---- SequenceConstruct ---------------------------------------------------------------------- */

static sdx_status construct_infer(sdx_infer *inf) {
    sdx_type items = {.rank = -1};
    for (uint32_t i = 0; i < inf->in_count; i++) {
        if (!sdx_infer_present(inf, i)) return sdx_infer_fail(inf, "input %u is left out", i);
        if (i == 0) items = inf->in[i].type;
        else SDX_TRY(sdx_type_cover(inf, &items, &inf->in[i].type, "an item", &items));
    }
    return set_sequence(inf, &items);
}

static sdx_status construct_run(sdx_call *call) {
    sdx_value *list;
    for (uint32_t i = 0; i < call->in_count; i++) {
        const sdx_tensor *item = sdx_in(call, i), *first = sdx_in(call, 0);
        if (!item) return sdx_call_fail(call, "input %u is not a tensor", i);
        if (item->dtype != first->dtype)
            return sdx_call_fail(call, "input %u is %s, the first is %s", i,
                                 sdx_dtype_name(item->dtype), sdx_dtype_name(first->dtype));
    }
    SDX_TRY(sdx_value_alloc_list(call->host->heap, SDX_KIND_SEQUENCE, call->in_count, &list,
                                 call->error));
    sdx_status status = SDX_STATUS_OK;
    for (uint32_t i = 0; i < call->in_count && status == SDX_STATUS_OK; i++)
        status = sdx_value_keep(call->host->heap, call->in[i], &list->items[i], call->error);
    if (status == SDX_STATUS_OK) return sdx_call_give(call, 0, list);
    sdx_value_release(list);
    return status;
}

const sdx_op_def sdx_op_sequence_construct = {
    .min_in = 1, .max_in = SDX_VARIADIC, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .in_types = {SDX_T_ALL},
    .infer = construct_infer, .run = SDX_BODY(sdx_op_sequence_construct, construct_run),
};

/* ---- SequenceAt ----------------------------------------------------------------------------- */

static sdx_status at_infer(sdx_infer *inf) {
    sdx_type items;
    SDX_TRY(sdx_infer_items(inf, 0, &items));
    SDX_TRY(check_position(inf, 1));
    sdx_infer_set_type(inf, 0, &items);
    return SDX_STATUS_OK;
}

static sdx_status at_run(sdx_call *call) {
    sdx_value *list;
    int64_t position;
    SDX_TRY(sdx_call_sequence(call, 0, &list));
    SDX_TRY(sdx_call_read_index(call, call->in[1], "the position", &position));
    SDX_TRY(sdx_call_index(call, position, (int64_t)list->item_count, "position in the sequence",
                           &position));
    return sdx_call_set(call, 0, list->items[position]);
}

const sdx_op_def sdx_op_sequence_at = {
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .infer = at_infer, .run = SDX_BODY(sdx_op_sequence_at, at_run),
};

/* ---- SequenceInsert, SequenceErase ---------------------------------------------------------- */

static sdx_status insert_infer(sdx_infer *inf) {
    sdx_type items;
    SDX_TRY(sdx_infer_items(inf, 0, &items));
    SDX_TRY(check_position(inf, 2));
    SDX_TRY(sdx_type_cover(inf, &items, &inf->in[1].type, "an item", &items));
    return set_sequence(inf, &items);
}

static sdx_status erase_infer(sdx_infer *inf) {
    sdx_type items;
    SDX_TRY(sdx_infer_items(inf, 0, &items));
    SDX_TRY(check_position(inf, 1));
    return set_sequence(inf, &items);
}

/* Output 0: the list with `item` (NULL: none) in place of `removed` entries at `position`. */
static sdx_status splice(sdx_call *call, const sdx_value *list, int64_t position, size_t removed,
                         sdx_value *item) {
    sdx_value *made;
    const size_t at = (size_t)position, added = item != NULL;
    const size_t count = list->item_count - removed + added;
    SDX_TRY(sdx_value_alloc_list(call->host->heap, SDX_KIND_SEQUENCE, count, &made, call->error));
    sdx_status status = SDX_STATUS_OK;
    for (size_t i = 0; i < count && status == SDX_STATUS_OK; i++) {
        sdx_value *one = item && i == at ? item : list->items[i < at ? i : i + removed - added];
        status = sdx_value_keep(call->host->heap, one, &made->items[i], call->error);
    }
    if (status == SDX_STATUS_OK) return sdx_call_give(call, 0, made);
    sdx_value_release(made);
    return status;
}

static sdx_status insert_run(sdx_call *call) {
    sdx_value *list;
    const sdx_tensor *item = sdx_in(call, 1);
    SDX_TRY(sdx_call_sequence(call, 0, &list));
    const int64_t count = (int64_t)list->item_count;
    int64_t position = count;
    if (!item) return sdx_call_fail(call, "input 1 is not a tensor");
    if (count && list->items[0]->kind == SDX_KIND_TENSOR &&
        list->items[0]->tensor.dtype != item->dtype)
        return sdx_call_fail(call, "a tensor of type %s cannot enter a sequence of %s",
                             sdx_dtype_name(item->dtype),
                             sdx_dtype_name(list->items[0]->tensor.dtype));
    if (given(call, 2))
        SDX_TRY(sdx_call_read_index(call, call->in[2], "the position", &position));
    if (position < -count || position > count) /* one more place than there are items */
        return sdx_call_fail(call, "position in the sequence: index %lld lies outside "
                                   "[%lld, %lld]",
                             (long long)position, (long long)-count, (long long)count);
    return splice(call, list, position < 0 ? position + count : position, 0, call->in[1]);
}

static sdx_status erase_run(sdx_call *call) {
    sdx_value *list;
    int64_t position = -1;
    SDX_TRY(sdx_call_sequence(call, 0, &list));
    if (given(call, 1))
        SDX_TRY(sdx_call_read_index(call, call->in[1], "the position", &position));
    SDX_TRY(sdx_call_index(call, position, (int64_t)list->item_count, "position in the sequence",
                           &position));
    return splice(call, list, position, 1, NULL);
}

const sdx_op_def sdx_op_sequence_insert = {
    .min_in = 2, .max_in = 3, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .infer = insert_infer, .run = SDX_BODY(sdx_op_sequence_insert, insert_run),
};

const sdx_op_def sdx_op_sequence_erase = {
    .min_in = 1, .max_in = 2, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_HEAP,
    .infer = erase_infer, .run = SDX_BODY(sdx_op_sequence_erase, erase_run),
};

/* ---- SequenceLength ------------------------------------------------------------------------- */

static sdx_status length_infer(sdx_infer *inf) {
    sdx_type items;
    SDX_TRY(sdx_infer_items(inf, 0, &items));
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_INT64);
    return sdx_infer_set_shape(inf, 0, 0, NULL);
}

static sdx_status length_run(sdx_call *call) {
    sdx_value *list;
    SDX_TRY(sdx_call_sequence(call, 0, &list));
    *(int64_t *)sdx_out(call, 0)->data = (int64_t)list->item_count;
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_sequence_length = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .infer = length_infer, .run = SDX_BODY(sdx_op_sequence_length, length_run),
};
