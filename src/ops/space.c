/* space.c - rearrangements with a meaning: DepthToSpace, SpaceToDepth, ReverseSequence, Trilu. */
#include "ops/movement.h"

#define GRAIN_BYTES ((size_t)1 << 15) /* of output per piece of parallel work, at least */

/* ---- DepthToSpace, SpaceToDepth ------------------------------------------------------------- */

typedef struct space_params {
    int64_t block;
    int crd; /* channels before the block's rows and columns, not behind */
} space_params;

/* aux: non-NULL for DepthToSpace. */
static const char to_space[] = "DepthToSpace";

static sdx_status space_prepare(sdx_prep *prep) {
    static const char *const words[] = {"DCR", "CRD", NULL};
    space_params *p = prep->params;
    SDX_TRY(sdx_attr_need_int(prep, "blocksize", &p->block));
    if (p->block < 1 || p->block > INT32_MAX)
        return sdx_prep_fail(prep, "blocksize is %lld; it must be positive", (long long)p->block);
    if (prep->version < (prep->def->aux ? 11 : 28)) return SDX_STATUS_OK;
    return sdx_attr_get_choice(prep, "mode", 0, words, &p->crd);
}

static sdx_status space_infer(sdx_infer *inf) {
    const space_params *p = inf->params;
    const sdx_expr block = sdx_expr_const(p->block), area = sdx_inf_mul(inf, block, block);
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(sdx_infer_require_rank(inf, 0, 4));
    if (sdx_infer_rank(inf, 0) < 0) return sdx_move_unknown_dims(inf, 0, 4);
    sdx_expr dims[4];
    sdx_move_copy_dims(inf, 0, dims);
    if (inf->def->aux) {
        SDX_TRY(sdx_move_divide(inf, dims[1], area, "channels over the block's area", &dims[1]));
        dims[2] = sdx_inf_mul(inf, dims[2], block);
        dims[3] = sdx_inf_mul(inf, dims[3], block);
    } else {
        dims[1] = sdx_inf_mul(inf, dims[1], area);
        SDX_TRY(sdx_move_divide(inf, dims[2], block, "height over the block's", &dims[2]));
        SDX_TRY(sdx_move_divide(inf, dims[3], block, "width over the block's", &dims[3]));
    }
    return sdx_move_shape(inf, 0, 4, dims);
}

enum { BATCH, CHANNEL, HEIGHT, WIDTH, ROW, COLUMN, AXES };

/* Steps of each axis in a tensor whose axes are in this order, and the axes as its nest. */
static void layout_steps(const int *order, const int64_t *size, int64_t *steps) {
    int64_t step = 1;
    for (int i = AXES - 1; i >= 0; --i) {
        steps[order[i]] = step;
        step *= size[order[i]];
    }
}

static sdx_status space_run(sdx_call *call) {
    static const int spatial[AXES] = {BATCH, CHANNEL, HEIGHT, ROW, WIDTH, COLUMN};
    static const int deep_dcr[AXES] = {BATCH, ROW, COLUMN, CHANNEL, HEIGHT, WIDTH};
    static const int deep_crd[AXES] = {BATCH, CHANNEL, ROW, COLUMN, HEIGHT, WIDTH};
    const space_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    const int *deep = p->crd ? deep_crd : deep_dcr;
    const int *from = call->def->aux ? deep : spatial, *to = call->def->aux ? spatial : deep;
    const sdx_tensor *high = call->def->aux ? out : in, *low = call->def->aux ? in : out;
    const int64_t size[AXES] = {high->dims[0], high->dims[1], low->dims[2],
                                low->dims[3],  p->block,      p->block};
    int64_t from_steps[AXES], to_steps[AXES];
    sdx_box box = {0};
    if (out->count == 0) return SDX_STATUS_OK;
    layout_steps(from, size, from_steps);
    layout_steps(to, size, to_steps);
    for (int i = 0; i < AXES; ++i)
        sdx_box_add(&box, size[to[i]], from_steps[to[i]], to_steps[to[i]]);
    sdx_box_copy(&box, sdx_dtype_size(in->dtype), in->data, out->data, call->host->pool);
    return SDX_STATUS_OK;
}

#define SPACE_OP(name, direction)                                                                  \
    const sdx_op_def name = {                                                                      \
        .min_in = 1,                                                                               \
        .max_in = 1,                                                                               \
        .min_out = 1,                                                                              \
        .max_out = 1,                                                                              \
        .in_types = {SDX_T_ALL},                                                                   \
        .params_size = sizeof(space_params),                                                       \
        .prepare = space_prepare,                                                                  \
        .infer = space_infer,                                                                      \
        .run = SDX_BODY(name, space_run),                                                          \
        .aux = direction,                                                                          \
    }
SPACE_OP(sdx_op_depth_to_space, to_space);
SPACE_OP(sdx_op_space_to_depth, NULL);

/* ---- ReverseSequence ------------------------------------------------------------------------ */

typedef struct reverse_params {
    int64_t batch_axis, time_axis;
} reverse_params;

static sdx_status reverse_prepare(sdx_prep *prep) {
    reverse_params *p = prep->params;
    SDX_TRY(sdx_attr_get_int(prep, "batch_axis", 1, &p->batch_axis));
    SDX_TRY(sdx_attr_get_int(prep, "time_axis", 0, &p->time_axis));
    const bool swapped = p->batch_axis == 0 && p->time_axis == 1;
    if (!swapped && (p->batch_axis != 1 || p->time_axis != 0))
        return sdx_prep_fail(prep, "batch_axis is %lld and time_axis %lld; they must be 0 and 1",
                             (long long)p->batch_axis, (long long)p->time_axis);
    return SDX_STATUS_OK;
}

static sdx_status reverse_infer(sdx_infer *inf) {
    const reverse_params *p = inf->params;
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 2));
    SDX_TRY(sdx_infer_require_rank(inf, 1, 1));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 1, 0),
                                    sdx_infer_dim(inf, 0, (int32_t)p->batch_axis),
                                    "sequence_lens and the batch"));
    return sdx_infer_copy(inf, 0, 0, false);
}

typedef struct reverse_job {
    const sdx_tensor *in, *lengths;
    char *to;
    size_t block;
    bool time_first;
} reverse_job;

static void reverse_blocks(void *arg, size_t begin, size_t end) {
    const reverse_job *job = arg;
    const size_t inner = (size_t)job->in->dims[1];
    for (size_t i = begin; i < end; ++i) {
        const int64_t first = (int64_t)(i / inner), second = (int64_t)(i % inner);
        int64_t time = job->time_first ? first : second;
        const int64_t batch = job->time_first ? second : first;
        const int64_t length = sdx_move_index(job->lengths, (size_t)batch);
        if (time < length) time = length - 1 - time;
        const size_t from = (size_t)(job->time_first ? time : batch) * inner +
                            (size_t)(job->time_first ? batch : time);
        memcpy(job->to + i * job->block, (const char *)job->in->data + from * job->block,
               job->block);
    }
}

static sdx_status reverse_run(sdx_call *call) {
    const reverse_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0), *lengths = sdx_in(call, 1);
    sdx_tensor *out = sdx_out(call, 0);
    const int64_t longest = in->dims[p->time_axis];
    for (size_t i = 0; i < lengths->count; ++i) {
        const int64_t length = sdx_move_index(lengths, i);
        if (length < 0 || length > longest)
            return sdx_call_fail(call, "sequence_lens[%zu] is %lld, outside [0, %lld]", i,
                                 (long long)length, (long long)longest);
    }
    if (out->count == 0) return SDX_STATUS_OK;
    reverse_job job = {in, lengths, out->data, 0, p->time_axis == 0};
    job.block = sdx_dims_product(in->dims, 2, in->rank) * sdx_dtype_size(in->dtype);
    sdx_call_parallel(call, sdx_dims_product(in->dims, 0, 2), 1 + GRAIN_BYTES / job.block,
                      reverse_blocks, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_reverse_sequence = {
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T(INT64)},
    .params_size = sizeof(reverse_params),
    .prepare = reverse_prepare,
    .infer = reverse_infer,
    .run = SDX_BODY(sdx_op_reverse_sequence, reverse_run),
};

/* ---- Trilu ---------------------------------------------------------------------------------- */

typedef struct trilu_params {
    bool upper;
} trilu_params;

static sdx_status trilu_prepare(sdx_prep *prep) {
    trilu_params *p = prep->params;
    return sdx_attr_get_bool(prep, "upper", true, &p->upper);
}

static sdx_status trilu_infer(sdx_infer *inf) {
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 2));
    if (sdx_infer_present(inf, 1)) SDX_TRY(sdx_move_require_scalar(inf, 1));
    return sdx_infer_copy(inf, 0, 0, false);
}

typedef struct trilu_job {
    const char *from;
    char *to;
    size_t unit;
    int64_t rows, columns, diagonal;
    bool upper;
    unsigned char zero[SDX_MAX_UNIT];
} trilu_job;

/* Each row is zero on one side of its cut and copied on the other. */
static void trilu_rows(void *arg, size_t begin, size_t end) {
    const trilu_job *job = arg;
    for (size_t r = begin; r < end; ++r) {
        int64_t cut = (int64_t)(r % (size_t)job->rows) + job->diagonal + (job->upper ? 0 : 1);
        cut = cut < 0 ? 0 : cut > job->columns ? job->columns : cut;
        const size_t row = r * (size_t)job->columns, at = (row + (size_t)cut) * job->unit;
        const size_t start = row * job->unit, stop = (row + (size_t)job->columns) * job->unit;
        const size_t kept = job->upper ? at : start, bytes = job->upper ? stop - at : at - start;
        if (job->upper) sdx_fill_row(job->to + start, job->zero, job->unit, (size_t)cut);
        else sdx_fill_row(job->to + at, job->zero, job->unit, (size_t)(job->columns - cut));
        if (bytes > 0 && job->from != job->to) memcpy(job->to + kept, job->from + kept, bytes);
    }
}

static sdx_status trilu_run(sdx_call *call) {
    const trilu_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0), *k = sdx_in(call, 1);
    sdx_tensor *out = sdx_out(call, 0);
    const int64_t diagonal = k ? sdx_move_index(k, 0) : 0; /* read first: out may lie over it */
    trilu_job job = {.from = in->data, .to = out->data, .unit = sdx_dtype_size(in->dtype)};
    if (out->count == 0) return SDX_STATUS_OK;
    job.rows = in->dims[in->rank - 2];
    job.columns = in->dims[in->rank - 1];
    job.upper = p->upper;
    job.diagonal = diagonal < -job.rows - 1 ? -job.rows - 1
                   : diagonal > job.columns ? job.columns
                                            : diagonal;
    sdx_move_zero(in->dtype, job.zero);
    sdx_call_parallel(call, sdx_dims_product(in->dims, 0, in->rank - 1),
                      1 + GRAIN_BYTES / ((size_t)job.columns * job.unit), trilu_rows, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_trilu = {
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .flags = SDX_OP_IN_PLACE_FIRST,
    .in_types = {SDX_T_ALL, SDX_T(INT64)},
    .params_size = sizeof(trilu_params),
    .prepare = trilu_prepare,
    .infer = trilu_infer,
    .run = SDX_BODY(sdx_op_trilu, trilu_run),
};
