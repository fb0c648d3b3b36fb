/* scatter.c - ScatterElements (and its first name, Scatter), ScatterND and TensorScatter: a copy of
 * the data with some places written anew. Updates run in order of the indices on one thread, so
 * that places named twice give the same result always. */
#include "ops/movement.h"

typedef struct scatter_params {
    int64_t axis;
    int mode; /* sdx_update_mode */
} scatter_params;

/* aux: the operator has an axis. */
static const char has_axis[] = "axis";

static sdx_status scatter_prepare(sdx_prep *prep) {
    static const char *const words[] = {"none", "add", "mul", "min", "max", NULL};
    static const char *const words_16[] = {"none", "add", "mul", NULL};
    scatter_params *p = prep->params;
    if (prep->def->aux) SDX_TRY(sdx_attr_get_int(prep, "axis", 0, &p->axis));
    if (prep->version < 16) return SDX_STATUS_OK;
    return sdx_attr_get_choice(prep, "reduction", SDX_UPDATE_NONE,
                               prep->version < 18 ? words_16 : words, &p->mode);
}

/* The output is like the data; the update function must exist for its type. */
static sdx_status scatter_output(sdx_infer *inf, const scatter_params *p) {
    const sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    if (dtype != SDX_DTYPE_UNDEFINED && !sdx_update_find((sdx_update_mode)p->mode, dtype))
        return sdx_infer_fail(inf, "this reduction is not defined for %s", sdx_dtype_name(dtype));
    SDX_TRY(sdx_move_same_dtype(inf, 2, 0));
    return sdx_infer_copy(inf, 0, 0, false);
}

static sdx_status require_same_dim(sdx_infer *inf, sdx_expr a, sdx_expr b, const char *what) {
    if (sdx_expr_is_unknown(a) || sdx_expr_is_unknown(b)) return SDX_STATUS_OK;
    return sdx_infer_require_equal(inf, a, b, what);
}

/* ---- ScatterElements ------------------------------------------------------------------------ */

static sdx_status scatter_elements_infer(sdx_infer *inf) {
    const scatter_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 1), update_rank = sdx_infer_rank(inf, 2);
    SDX_TRY(sdx_element_check(inf, p->axis));
    if (rank >= 0 && update_rank >= 0) {
        SDX_TRY(sdx_infer_require_rank(inf, 2, rank));
        for (int32_t i = 0; i < rank; ++i)
            SDX_TRY(require_same_dim(inf, sdx_infer_dim(inf, 1, i), sdx_infer_dim(inf, 2, i),
                                     "dims of indices and updates"));
    }
    return scatter_output(inf, p);
}

static sdx_status scatter_elements_run(sdx_call *call) {
    const scatter_params *p = call->params;
    const sdx_tensor *data = sdx_in(call, 0), *indices = sdx_in(call, 1),
                     *updates = sdx_in(call, 2);
    sdx_tensor *out = sdx_out(call, 0);
    const size_t unit = sdx_dtype_size(data->dtype);
    const sdx_update update = sdx_update_find((sdx_update_mode)p->mode, data->dtype);
    sdx_element_walk walk;
    int64_t offsets[SDX_OFFSET_BATCH];
    if (indices->count > 0) SDX_TRY(sdx_element_walk_init(call, &walk, data, indices, p->axis));
    sdx_move_bytes(data->data, out->data, out->count * unit, call->host->pool);
    for (size_t begin = 0; begin < indices->count; begin += SDX_OFFSET_BATCH) {
        const size_t left = indices->count - begin;
        const size_t count = left < SDX_OFFSET_BATCH ? left : SDX_OFFSET_BATCH;
        sdx_element_walk_offsets(&walk, begin, count, offsets);
        update(out->data, offsets, (const char *)updates->data + begin * unit, count);
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_scatter_elements = {
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T_INDEX, SDX_T_ALL},
    .params_size = sizeof(scatter_params),
    .prepare = scatter_prepare,
    .infer = scatter_elements_infer,
    .run = SDX_BODY(sdx_op_scatter_elements, scatter_elements_run),
    .aux = has_axis,
};

/* ---- ScatterND ------------------------------------------------------------------------------ */

static sdx_status scatter_nd_infer(sdx_infer *inf) {
    const scatter_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0), index_rank = sdx_infer_rank(inf, 1);
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 1));
    SDX_TRY(sdx_infer_require_min_rank(inf, 1, 1));
    SDX_TRY(scatter_output(inf, p));
    if (rank < 0 || index_rank < 0) return SDX_STATUS_OK;
    const sdx_expr length = sdx_infer_dim(inf, 1, index_rank - 1);
    int64_t tuple;
    if (sdx_expr_is_const(length)) {
        tuple = sdx_expr_value(length);
    } else { /* the ranks leave one possibility */
        if (sdx_infer_rank(inf, 2) < 0) return SDX_STATUS_OK;
        tuple = index_rank - 1 + rank - sdx_infer_rank(inf, 2);
        SDX_TRY(sdx_infer_require_equal(inf, length, sdx_expr_const(tuple),
                                        "last dim of indices, and what the ranks ask for"));
    }
    if (tuple < 1 || tuple > rank)
        return sdx_infer_fail(inf, "the last dim of indices is %lld, outside [1, %d]",
                              (long long)tuple, (int)rank);
    const int32_t update_rank = index_rank - 1 + rank - (int32_t)tuple;
    SDX_TRY(sdx_infer_require_rank(inf, 2, update_rank));
    if (sdx_infer_rank(inf, 2) < 0) return SDX_STATUS_OK;
    for (int32_t i = 0; i < update_rank; ++i) {
        const int32_t k = i - (index_rank - 1) + (int32_t)tuple;
        SDX_TRY(require_same_dim(
            inf, i < index_rank - 1 ? sdx_infer_dim(inf, 1, i) : sdx_infer_dim(inf, 0, k),
            sdx_infer_dim(inf, 2, i), "dims of updates, and of indices and data"));
    }
    return SDX_STATUS_OK;
}

static sdx_status scatter_nd_run(sdx_call *call) {
    const scatter_params *p = call->params;
    const sdx_tensor *data = sdx_in(call, 0), *indices = sdx_in(call, 1),
                     *updates = sdx_in(call, 2);
    sdx_tensor *out = sdx_out(call, 0);
    const size_t unit = sdx_dtype_size(data->dtype);
    const sdx_update update = sdx_update_find((sdx_update_mode)p->mode, data->dtype);
    sdx_tuple_walk walk = {0};
    if (indices->count > 0) SDX_TRY(sdx_tuple_walk_init(call, &walk, data, indices, 0));
    sdx_move_bytes(data->data, out->data, out->count * unit, call->host->pool);
    const size_t bytes = walk.block * unit;
    if (bytes == 0) return SDX_STATUS_OK;
    for (size_t i = 0; i < walk.tuples; ++i) {
        const size_t offset = (size_t)sdx_tuple_walk_offset(&walk, i) * unit;
        const char *from = (const char *)updates->data + i * bytes;
        if (p->mode == SDX_UPDATE_NONE) memcpy((char *)out->data + offset, from, bytes);
        else update((char *)out->data + offset, NULL, from, walk.block);
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_scatter_nd = {
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T(INT64), SDX_T_ALL},
    .params_size = sizeof(scatter_params),
    .prepare = scatter_prepare,
    .infer = scatter_nd_infer,
    .run = SDX_BODY(sdx_op_scatter_nd, scatter_nd_run),
};

/* ---- TensorScatter -------------------------------------------------------------------------- */

typedef struct cache_params {
    int64_t axis;
    int circular;
} cache_params;

static sdx_status cache_prepare(sdx_prep *prep) {
    static const char *const words[] = {"linear", "circular", NULL};
    cache_params *p = prep->params;
    SDX_TRY(sdx_attr_get_int(prep, "axis", -2, &p->axis));
    return sdx_attr_get_choice(prep, "mode", 0, words, &p->circular);
}

static sdx_status cache_infer(sdx_infer *inf) {
    const cache_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    int32_t axis;
    SDX_TRY(sdx_move_same_dtype(inf, 1, 0));
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    if (sdx_infer_present(inf, 2)) SDX_TRY(sdx_infer_require_rank(inf, 2, 1));
    if (rank < 0) return SDX_STATUS_OK;
    SDX_TRY(sdx_infer_axis(inf, p->axis, rank, &axis));
    if (axis == 0) return sdx_infer_fail(inf, "axis 0 is the batch and cannot be the sequence");
    SDX_TRY(sdx_infer_require_rank(inf, 1, rank));
    if (sdx_infer_present(inf, 2))
        SDX_TRY(require_same_dim(inf, sdx_infer_dim(inf, 2, 0), sdx_infer_dim(inf, 0, 0),
                                 "write_indices and the batch"));
    if (sdx_infer_rank(inf, 1) < 0) return SDX_STATUS_OK;
    for (int32_t i = 0; i < rank; ++i)
        if (i != axis)
            SDX_TRY(require_same_dim(inf, sdx_infer_dim(inf, 0, i), sdx_infer_dim(inf, 1, i),
                                     "dims of past_cache and update"));
    return SDX_STATUS_OK;
}

/* First position that a batch element writes to, and whether its rows fit. */
static sdx_status cache_position(sdx_call *call, bool circular, int64_t batch, int64_t length,
                                 int64_t capacity, int64_t *out) {
    const sdx_tensor *indices = sdx_in(call, 2);
    int64_t at = indices ? sdx_move_index(indices, (size_t)batch) : 0;
    if (circular && capacity > 0) {
        at %= capacity;
        if (at < 0) at += capacity;
    }
    if (length > capacity || at < 0 || (!circular && at > capacity - length))
        return sdx_call_fail(call,
                             "%lld positions from %lld on do not fit in a cache of length %lld",
                             (long long)length, (long long)at, (long long)capacity);
    *out = at;
    return SDX_STATUS_OK;
}

static sdx_status cache_run(sdx_call *call) {
    const cache_params *p = call->params;
    const sdx_tensor *past = sdx_in(call, 0), *update = sdx_in(call, 1);
    sdx_tensor *out = sdx_out(call, 0);
    const int32_t axis = (int32_t)(p->axis < 0 ? p->axis + past->rank : p->axis);
    const int64_t length = update->dims[axis], capacity = past->dims[axis];
    const size_t unit = sdx_dtype_size(past->dtype);
    if (out->count > 0) sdx_move_bytes(past->data, out->data, out->count * unit, call->host->pool);
    const size_t block = sdx_dims_product(past->dims, axis + 1, past->rank) * unit;
    const size_t middle = sdx_dims_product(past->dims, 1, axis);
    for (int64_t b = 0; b < past->dims[0]; ++b) {
        int64_t at = 0;
        SDX_TRY(cache_position(call, p->circular != 0, b, length, capacity, &at));
        if (update->count == 0) continue;
        /* A circular write may run over the end: two stretches. */
        const int64_t before = length < capacity - at ? length : capacity - at;
        for (size_t m = 0; m < middle; ++m) {
            const size_t row = (size_t)b * middle + m;
            const char *from = (const char *)update->data + row * (size_t)length * block;
            char *to = (char *)out->data + row * (size_t)capacity * block;
            memcpy(to + (size_t)at * block, from, (size_t)before * block);
            memcpy(to, from + (size_t)before * block, (size_t)(length - before) * block);
        }
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_tensor_scatter = {
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T_ALL, SDX_T(INT64)},
    .params_size = sizeof(cache_params),
    .prepare = cache_prepare,
    .infer = cache_infer,
    .run = SDX_BODY(sdx_op_tensor_scatter, cache_run),
};
