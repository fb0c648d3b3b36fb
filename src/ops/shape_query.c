/* shape_query.c - Shape and Size: dims as data. Where the chains of shape arithmetic begin that
 * exporters write, so their symbolic contents are the important result. */
#include "ops/movement.h"

typedef struct shape_params {
    int64_t start, end; /* as given; end INT64_MAX: none */
} shape_params;

static sdx_status shape_prepare(sdx_prep *prep) {
    shape_params *p = prep->params;
    p->end = INT64_MAX;
    if (prep->version < 15) return SDX_STATUS_OK;
    SDX_TRY(sdx_attr_get_int(prep, "start", 0, &p->start));
    return sdx_attr_get_int(prep, "end", INT64_MAX, &p->end);
}

static int32_t clamp_axis(int64_t axis, int32_t rank) {
    if (axis < 0) axis += rank;
    return axis < 0 ? 0 : axis > rank ? rank : (int32_t)axis;
}

/* Axes [*from, *to) are what the node asks for. */
static void shape_range(const shape_params *p, int32_t rank, int32_t *from, int32_t *to) {
    *from = clamp_axis(p->start, rank);
    *to = clamp_axis(p->end, rank);
    if (*to < *from) *to = *from;
}

static sdx_status shape_infer(sdx_infer *inf) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    int32_t from, to;
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_INT64);
    if (rank < 0) return sdx_move_unknown_dims(inf, 0, 1);
    shape_range(inf->params, rank, &from, &to);
    const sdx_expr count = sdx_expr_const(to - from);
    if (inf->module) {
        sdx_expr contents[SDX_MAX_RANK];
        for (int32_t i = from; i < to; ++i) contents[i - from] = sdx_infer_dim(inf, 0, i);
        sdx_infer_set_contents(inf, 0, contents, (size_t)(to - from));
    }
    return sdx_move_shape(inf, 0, 1, &count);
}

static sdx_status shape_run(sdx_call *call) {
    const sdx_tensor *in = sdx_in(call, 0);
    int64_t *out = sdx_out(call, 0)->data;
    int32_t from, to;
    shape_range(call->params, in->rank, &from, &to);
    for (int32_t i = from; i < to; ++i) out[i - from] = in->dims[i];
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_shape = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL},
    .params_size = sizeof(shape_params),
    .prepare = shape_prepare,
    .infer = shape_infer,
    .run = SDX_BODY(sdx_op_shape, shape_run),
};

static sdx_status size_infer(sdx_infer *inf) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_INT64);
    if (rank >= 0 && inf->module) {
        const sdx_expr size = sdx_infer_product(inf, 0, 0, rank);
        if (!sdx_expr_is_unknown(size)) sdx_infer_set_contents(inf, 0, &size, 1);
    }
    return sdx_move_shape(inf, 0, 0, NULL);
}

static sdx_status size_run(sdx_call *call) {
    *(int64_t *)sdx_out(call, 0)->data = (int64_t)sdx_in(call, 0)->count;
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_size = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL},
    .infer = size_infer,
    .run = SDX_BODY(sdx_op_size, size_run),
};
