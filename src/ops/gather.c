/* gather.c - Gather, GatherElements, GatherND: elements or blocks picked by index tensors. All
 * indices are checked before anything is copied, so the copying loops can run in parallel and
 * need no way to fail. The two index walks also serve scatter.c. */
#include "ops/movement.h"

#define GRAIN_BYTES ((size_t)1 << 15) /* of output per piece of parallel work, at least */

static size_t grain_for(size_t bytes_each) {
    return 1 + GRAIN_BYTES / (bytes_each ? bytes_each : 1);
}

typedef struct gather_params {
    int64_t axis;       /* Gather, GatherElements */
    int64_t batch_dims; /* GatherND */
} gather_params;

static sdx_status axis_prepare(sdx_prep *prep) {
    gather_params *p = prep->params;
    return sdx_attr_get_int(prep, "axis", 0, &p->axis);
}

/* ---- Gather --------------------------------------------------------------------------------- */

/* Contents of elements picked out of a vector by known indices. */
static void gather_contents(sdx_infer *inf) {
    sdx_expr from[SDX_MAX_CONTENTS], index[SDX_MAX_CONTENTS];
    size_t held, count;
    if (!inf->module || !sdx_infer_contents(inf, 0, from, SDX_MAX_CONTENTS, &held) ||
        !sdx_infer_contents(inf, 1, index, SDX_MAX_CONTENTS, &count))
        return;
    for (size_t i = 0; i < count; ++i) {
        if (!sdx_expr_is_const(index[i])) return;
        int64_t at = sdx_expr_value(index[i]);
        if (at < 0) at += (int64_t)held;
        if (at < 0 || at >= (int64_t)held) return; /* the run will say it */
        index[i] = from[at];
    }
    sdx_infer_set_contents(inf, 0, index, count);
}

static sdx_status gather_infer(sdx_infer *inf) {
    const gather_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0), index_rank = sdx_infer_rank(inf, 1);
    sdx_expr dims[2 * SDX_MAX_RANK];
    int32_t axis, n = 0;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    if (rank < 0) return sdx_move_shape(inf, 0, -1, NULL);
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 1));
    SDX_TRY(sdx_infer_axis(inf, p->axis, rank, &axis));
    if (index_rank < 0) return sdx_move_shape(inf, 0, -1, NULL);
    if (rank - 1 + index_rank > SDX_MAX_RANK)
        return sdx_move_unknown_dims(inf, 0, rank - 1 + index_rank); /* refuses */
    for (int32_t i = 0; i < axis; ++i) dims[n++] = sdx_infer_dim(inf, 0, i);
    for (int32_t i = 0; i < index_rank; ++i) dims[n++] = sdx_infer_dim(inf, 1, i);
    for (int32_t i = axis + 1; i < rank; ++i) dims[n++] = sdx_infer_dim(inf, 0, i);
    if (rank == 1) gather_contents(inf);
    return sdx_move_shape(inf, 0, n, dims);
}

typedef struct gather_job {
    const sdx_tensor *indices;
    const char *from;
    char *to;
    size_t block; /* bytes behind one index */
    int64_t axis_size;
} gather_job;

/* Blocks are counted over [outer, indices]. The size is a constant where that makes the copy one
 * instruction. */
#define GATHER_BLOCKS(size)                                                                        \
    for (size_t i = begin; i < end; ++i) {                                                         \
        int64_t index = sdx_move_index(job->indices, k);                                           \
        if (index < 0) index += job->axis_size;                                                    \
        memcpy(job->to + i * (size), from + (size_t)index * (size), (size));                       \
        if (++k < indices) continue;                                                               \
        k = 0;                                                                                     \
        from += outer_step;                                                                        \
    }

static void gather_blocks(void *arg, size_t begin, size_t end) {
    const gather_job *job = arg;
    const size_t indices = job->indices->count;
    const size_t outer_step = (size_t)job->axis_size * job->block;
    const char *from = job->from + begin / indices * outer_step;
    size_t k = begin % indices;
    switch (job->block) {
    case 1: GATHER_BLOCKS(1) break;
    case 2: GATHER_BLOCKS(2) break;
    case 4: GATHER_BLOCKS(4) break;
    case 8: GATHER_BLOCKS(8) break;
    default: GATHER_BLOCKS(job->block) break;
    }
}

static sdx_status gather_run(sdx_call *call) {
    const gather_params *p = call->params;
    const sdx_tensor *data = sdx_in(call, 0), *indices = sdx_in(call, 1);
    sdx_tensor *out = sdx_out(call, 0);
    const int32_t axis = (int32_t)(p->axis < 0 ? p->axis + data->rank : p->axis);
    SDX_TRY(sdx_move_check_indices(call, indices, data->dims[axis], "index"));
    if (out->count == 0) return SDX_STATUS_OK;
    const size_t outer = sdx_dims_product(data->dims, 0, axis);
    gather_job job = {indices, data->data, out->data, 0, data->dims[axis]};
    job.block = sdx_dims_product(data->dims, axis + 1, data->rank) * sdx_dtype_size(data->dtype);
    sdx_call_parallel(call, outer * indices->count, grain_for(job.block), gather_blocks, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_gather = {
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T_INDEX},
    .params_size = sizeof(gather_params),
    .prepare = axis_prepare,
    .infer = gather_infer,
    .run = SDX_BODY(sdx_op_gather, gather_run),
};

/* ---- one index per element ------------------------------------------------------------------ */

void sdx_element_walk_offsets(const sdx_element_walk *walk, size_t begin, size_t count,
                              int64_t *offsets) {
    const sdx_tensor *indices = walk->indices;
    const int32_t last = indices->rank - 1;
    int64_t at[SDX_MAX_RANK], base = 0;
    size_t rest = begin;
    for (int32_t i = last; i >= 0; --i) {
        at[i] = (int64_t)(rest % (size_t)indices->dims[i]);
        rest /= (size_t)indices->dims[i];
        base += at[i] * walk->steps[i];
    }
    for (size_t done = 0; done < count;) {
        const size_t left = (size_t)(indices->dims[last] - at[last]);
        const size_t run = left < count - done ? left : count - done;
        for (size_t k = 0; k < run; ++k) {
            int64_t index = sdx_move_index(indices, begin + done + k);
            if (index < 0) index += walk->axis_size;
            offsets[done + k] = base + (int64_t)k * walk->steps[last] + index * walk->axis_step;
        }
        done += run;
        base += (int64_t)run * walk->steps[last];
        at[last] += (int64_t)run;
        for (int32_t i = last; i > 0 && at[i] == indices->dims[i]; --i) {
            base += walk->steps[i - 1] - at[i] * walk->steps[i];
            at[i] = 0;
            ++at[i - 1];
        }
    }
}

sdx_status sdx_element_check(sdx_infer *inf, int64_t axis_attribute) {
    const int32_t rank = sdx_infer_rank(inf, 0), index_rank = sdx_infer_rank(inf, 1);
    int32_t axis;
    if (rank < 0) return SDX_STATUS_OK;
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 1));
    SDX_TRY(sdx_infer_axis(inf, axis_attribute, rank, &axis));
    if (index_rank >= 0 && rank != index_rank)
        return sdx_infer_fail(inf, "data has rank %d, but indices has rank %d", (int)rank,
                              (int)index_rank);
    for (int32_t i = 0; i < index_rank; ++i) {
        const sdx_expr dim = sdx_infer_dim(inf, 0, i), picked = sdx_infer_dim(inf, 1, i);
        if (i != axis && sdx_expr_is_const(dim) && sdx_expr_is_const(picked) &&
            sdx_expr_value(picked) > sdx_expr_value(dim))
            return sdx_infer_fail(inf, "indices is %lld long on axis %d, data only %lld",
                                  (long long)sdx_expr_value(picked), (int)i,
                                  (long long)sdx_expr_value(dim));
    }
    return SDX_STATUS_OK;
}

/* While loading, symbolic dims pass the check above; here they are numbers. */
static sdx_status check_within(sdx_call *call, const sdx_tensor *data, const sdx_tensor *indices,
                               int32_t axis) {
    for (int32_t i = 0; i < data->rank; ++i)
        if (i != axis && indices->dims[i] > data->dims[i])
            return sdx_call_fail(call, "indices is %lld long on axis %d, data only %lld",
                                 (long long)indices->dims[i], (int)i, (long long)data->dims[i]);
    return SDX_STATUS_OK;
}

sdx_status sdx_element_walk_init(sdx_call *call, sdx_element_walk *walk, const sdx_tensor *data,
                                 const sdx_tensor *indices, int64_t axis_attribute) {
    const int64_t axis = axis_attribute < 0 ? axis_attribute + data->rank : axis_attribute;
    SDX_TRY(check_within(call, data, indices, (int32_t)axis));
    SDX_TRY(sdx_move_check_indices(call, indices, data->dims[axis], "index"));
    walk->indices = indices;
    sdx_strides(data, walk->steps);
    walk->axis_size = data->dims[axis];
    walk->axis_step = walk->steps[axis];
    walk->steps[axis] = 0;
    return SDX_STATUS_OK;
}

static sdx_status gather_elements_infer(sdx_infer *inf) {
    const gather_params *p = inf->params;
    sdx_expr dims[SDX_MAX_RANK];
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(sdx_element_check(inf, p->axis));
    if (sdx_infer_rank(inf, 1) < 0) return sdx_move_unknown_dims(inf, 0, sdx_infer_rank(inf, 0));
    sdx_move_copy_dims(inf, 1, dims);
    return sdx_move_shape(inf, 0, sdx_infer_rank(inf, 1), dims);
}

typedef struct elements_job {
    sdx_element_walk walk;
    const char *from;
    char *to;
    size_t unit;
} elements_job;

static void pick_elements(void *arg, size_t begin, size_t end) {
    const elements_job *job = arg;
    int64_t offsets[SDX_OFFSET_BATCH];
    while (begin < end) {
        const size_t count = end - begin < SDX_OFFSET_BATCH ? end - begin : SDX_OFFSET_BATCH;
        sdx_element_walk_offsets(&job->walk, begin, count, offsets);
        sdx_pick(job->unit, job->to + begin * job->unit, job->from, offsets, count);
        begin += count;
    }
}

static sdx_status gather_elements_run(sdx_call *call) {
    const gather_params *p = call->params;
    const sdx_tensor *data = sdx_in(call, 0), *indices = sdx_in(call, 1);
    sdx_tensor *out = sdx_out(call, 0);
    elements_job job = {.from = data->data, .to = out->data, .unit = sdx_dtype_size(data->dtype)};
    if (out->count == 0) return SDX_STATUS_OK;
    SDX_TRY(sdx_element_walk_init(call, &job.walk, data, indices, p->axis));
    sdx_call_parallel(call, out->count, grain_for(job.unit), pick_elements, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_gather_elements = {
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T_INDEX},
    .params_size = sizeof(gather_params),
    .prepare = axis_prepare,
    .infer = gather_elements_infer,
    .run = SDX_BODY(sdx_op_gather_elements, gather_elements_run),
};

/* ---- one index tuple per block -------------------------------------------------------------- */

sdx_status sdx_tuple_walk_init(sdx_call *call, sdx_tuple_walk *walk, const sdx_tensor *data,
                               const sdx_tensor *indices, int32_t first_axis) {
    int64_t steps[SDX_MAX_RANK];
    sdx_strides(data, steps);
    walk->indices = indices;
    walk->length = indices->dims[indices->rank - 1];
    walk->tuples = sdx_dims_product(indices->dims, 0, indices->rank - 1);
    walk->block = sdx_dims_product(data->dims, first_axis + (int32_t)walk->length, data->rank);
    for (int64_t k = 0; k < walk->length; ++k) {
        walk->dims[k] = data->dims[first_axis + k];
        walk->steps[k] = steps[first_axis + k];
    }
    for (size_t i = 0; i < indices->count;)
        for (int64_t k = 0; k < walk->length; ++k, ++i) {
            const int64_t index = ((const int64_t *)indices->data)[i];
            int64_t ignored;
            if (SDX_UNLIKELY(index < -walk->dims[k] || index >= walk->dims[k]))
                return sdx_call_index(call, index, walk->dims[k], "index", &ignored);
        }
    return SDX_STATUS_OK;
}

int64_t sdx_tuple_walk_offset(const sdx_tuple_walk *walk, size_t tuple) {
    const int64_t *index = (const int64_t *)walk->indices->data + tuple * (size_t)walk->length;
    int64_t offset = 0;
    for (int64_t k = 0; k < walk->length; ++k)
        offset += (index[k] < 0 ? index[k] + walk->dims[k] : index[k]) * walk->steps[k];
    return offset;
}

static sdx_status gather_nd_prepare(sdx_prep *prep) {
    gather_params *p = prep->params;
    if (prep->version < 12) return SDX_STATUS_OK;
    SDX_TRY(sdx_attr_get_int(prep, "batch_dims", 0, &p->batch_dims));
    if (p->batch_dims < 0 || p->batch_dims >= SDX_MAX_RANK)
        return sdx_prep_fail(prep, "batch_dims is %lld, outside [0, %d)", (long long)p->batch_dims,
                             SDX_MAX_RANK);
    return SDX_STATUS_OK;
}

static sdx_status gather_nd_infer(sdx_infer *inf) {
    const gather_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0), index_rank = sdx_infer_rank(inf, 1);
    const int32_t batch = (int32_t)p->batch_dims;
    sdx_expr dims[2 * SDX_MAX_RANK];
    int32_t n = 0;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, batch + 1));
    SDX_TRY(sdx_infer_require_min_rank(inf, 1, batch + 1));
    if (rank < 0 || index_rank < 0) return sdx_move_shape(inf, 0, -1, NULL);
    for (int32_t i = 0; i < batch; ++i) {
        const sdx_expr a = sdx_infer_dim(inf, 0, i), b = sdx_infer_dim(inf, 1, i);
        if (!sdx_expr_is_unknown(a) && !sdx_expr_is_unknown(b))
            SDX_TRY(sdx_infer_require_equal(inf, a, b, "batch dims of data and indices"));
    }
    const sdx_expr length = sdx_infer_dim(inf, 1, index_rank - 1);
    if (!sdx_expr_is_const(length)) return sdx_move_shape(inf, 0, -1, NULL);
    const int64_t tuple = sdx_expr_value(length);
    if (tuple < 1 || tuple > rank - batch)
        return sdx_infer_fail(inf, "the last dim of indices is %lld, outside [1, %d]",
                              (long long)tuple, (int)(rank - batch));
    for (int32_t i = 0; i < index_rank - 1; ++i) dims[n++] = sdx_infer_dim(inf, 1, i);
    for (int32_t i = batch + (int32_t)tuple; i < rank; ++i) dims[n++] = sdx_infer_dim(inf, 0, i);
    if (n > SDX_MAX_RANK) return sdx_move_unknown_dims(inf, 0, n); /* refuses */
    return sdx_move_shape(inf, 0, n, dims);
}

typedef struct tuples_job {
    sdx_tuple_walk walk;
    const char *from;
    char *to;
    size_t unit, per_batch; /* tuples in one batch element */
    int64_t batch_step;
} tuples_job;

static void pick_blocks(void *arg, size_t begin, size_t end) {
    const tuples_job *job = arg;
    const size_t bytes = job->walk.block * job->unit;
    for (size_t i = begin; i < end; ++i) {
        const int64_t offset =
            sdx_tuple_walk_offset(&job->walk, i) + (int64_t)(i / job->per_batch) * job->batch_step;
        memcpy(job->to + i * bytes, job->from + (size_t)offset * job->unit, bytes);
    }
}

static sdx_status gather_nd_run(sdx_call *call) {
    const gather_params *p = call->params;
    const sdx_tensor *data = sdx_in(call, 0), *indices = sdx_in(call, 1);
    sdx_tensor *out = sdx_out(call, 0);
    const int32_t batch = (int32_t)p->batch_dims;
    tuples_job job = {.from = data->data, .to = out->data, .unit = sdx_dtype_size(data->dtype)};
    if (out->count == 0) return SDX_STATUS_OK;
    SDX_TRY(sdx_tuple_walk_init(call, &job.walk, data, indices, batch));
    job.per_batch = sdx_dims_product(indices->dims, batch, indices->rank - 1);
    job.batch_step = (int64_t)sdx_dims_product(data->dims, batch, data->rank);
    sdx_call_parallel(call, job.walk.tuples, grain_for(job.walk.block * job.unit), pick_blocks,
                      &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_gather_nd = {
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T(INT64)},
    .params_size = sizeof(gather_params),
    .prepare = gather_nd_prepare,
    .infer = gather_nd_infer,
    .run = SDX_BODY(sdx_op_gather_nd, gather_nd_run),
};
