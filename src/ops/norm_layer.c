/* norm_layer.c - LayerNormalization and RMSNormalization: statistics over the axes from `axis` on.
 * Scale and bias are broadcast to the input; mostly they are as long as a row. */
#include <inttypes.h>
#include <string.h>

#include "ops/elementwise.h"
#include "ops/norm.h"

enum { X, SCALE, BIAS };
enum { Y, MEAN, INVERSE };

typedef struct params {
    int64_t axis;
    float epsilon;
    sdx_dtype stash; /* type of the statistics that are outputs */
} params;

static const bool is_rms[] = {false, true};

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    int64_t stash;
    SDX_TRY(sdx_attr_get_int(prep, "axis", -1, &p->axis));
    SDX_TRY(sdx_attr_get_float(prep, "epsilon", 1e-5f, &p->epsilon));
    SDX_TRY(sdx_attr_get_int(prep, "stash_type", SDX_DTYPE_FLOAT32, &stash));
    if (!sdx_dtype_valid(stash) || !sdx_dtypes_has(SDX_T_FLOATS, (sdx_dtype)stash))
        return sdx_prep_fail(prep, "stash_type is %" PRId64 ", which is no float type", stash);
    p->stash = (sdx_dtype)stash;
    return SDX_STATUS_OK;
}

/* Scale and bias reach the shape of the input by broadcasting one way. */
static sdx_status check_broadcast(sdx_infer *inf, uint32_t i) {
    int32_t rank = sdx_infer_rank(inf, X), own = sdx_infer_rank(inf, i);
    if (rank < 0 || own < 0) return SDX_STATUS_OK;
    if (own > rank)
        return sdx_infer_fail(inf, "input %u has rank %d and cannot be broadcast to rank %d", i,
                              own, rank);
    for (int32_t a = 0; a < own; a++)
        SDX_TRY(sdx_infer_require_broadcast(inf, sdx_infer_dim(inf, i, a),
                                            sdx_infer_dim(inf, X, rank - own + a)));
    return SDX_STATUS_OK;
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    bool rms = *(const bool *)inf->def->aux;
    int32_t rank = sdx_infer_rank(inf, X), axis = 0;
    SDX_TRY(sdx_infer_copy(inf, Y, X, false));
    sdx_infer_set_dtype(inf, Y, sdx_infer_dtype(inf, rms ? SCALE : X));
    sdx_infer_set_dtype(inf, MEAN, p->stash);
    sdx_infer_set_dtype(inf, INVERSE, p->stash);
    SDX_TRY(check_broadcast(inf, SCALE));
    SDX_TRY(check_broadcast(inf, BIAS));
    sdx_expr dims[SDX_MAX_RANK];
    if (rank >= 0) SDX_TRY(sdx_infer_axis(inf, p->axis, rank, &axis));
    for (int32_t a = 0; a < rank; a++)
        dims[a] = a < axis ? sdx_infer_dim(inf, X, a) : sdx_expr_const(1);
    if (!rms) {
        SDX_TRY(sdx_infer_set_shape(inf, MEAN, rank, dims));
        SDX_TRY(sdx_infer_set_shape(inf, INVERSE, rank, dims));
    }
    sdx_infer_half_scratch(inf);
    return SDX_STATUS_OK;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* True when scale (or bias) is just as long as a row and lies along it. */
static bool is_row(const sdx_tensor *t, const sdx_tensor *x, int32_t axis) {
    int32_t shift = x->rank - t->rank;
    for (int32_t a = 0; a < x->rank; a++) {
        int64_t dim = a >= shift ? t->dims[a - shift] : 1;
        if (dim != (a >= axis ? x->dims[a] : 1)) return false;
    }
    return true;
}

/* RMSNormalization may mix float32 and float64: the odd one out is converted to the output's. */
static sdx_status same_type(sdx_call *call, const sdx_tensor **t, sdx_dtype dtype,
                            sdx_tensor *copy) {
    copy->data = NULL;
    if (!*t || (*t)->dtype == dtype || (*t)->count == 0) return SDX_STATUS_OK;
    *copy = **t;
    copy->dtype = dtype;
    copy->data = sdx_call_temp(call, copy->count, sdx_dtype_size(dtype));
    if (!copy->data) return SDX_STATUS_NO_MEMORY;
    sdx_convert((*t)->dtype, dtype, (*t)->data, copy->data, copy->count);
    *t = copy;
    return SDX_STATUS_OK;
}

static sdx_status body(sdx_call *call) {
    const params *p = call->params;
    const sdx_tensor *x = sdx_in(call, X), *scale = sdx_in(call, SCALE), *bias = sdx_in(call, BIAS);
    sdx_tensor *y = sdx_out(call, Y), *mean = sdx_out(call, MEAN);
    sdx_tensor *inverse = sdx_out(call, INVERSE);
    int32_t axis = (int32_t)(p->axis < 0 ? p->axis + x->rank : p->axis);
    sdx_dtype dtype = y ? y->dtype : x->dtype;
    sdx_tensor x_copy, scale_copy;
    SDX_TRY(same_type(call, &x, dtype, &x_copy));
    sdx_status status = same_type(call, &scale, dtype, &scale_copy);
    if (status == SDX_STATUS_OK && (x->count > 0 || mean || inverse)) {
        sdx_norm_rows n = {.x = x->data, .scale = scale->data, .bias = bias ? bias->data : NULL,
                           .y = y ? y->data : NULL, .epsilon = (double)p->epsilon, .dtype = dtype,
                           .keep_mean = *(const bool *)call->def->aux, .mean = mean,
                           .inverse = inverse, .rank = x->rank, .period = 1, .run = 1};
        n.rows = sdx_dims_product(x->dims, 0, axis);
        n.runs = sdx_dims_product(x->dims, axis, x->rank);
        n.broadcast = !is_row(scale, x, axis) || (bias && !is_row(bias, x, axis));
        memcpy(n.dims, x->dims, sizeof n.dims);
        if (n.broadcast) {
            sdx_broadcast_strides(scale, x, n.scale_strides);
            if (bias) sdx_broadcast_strides(bias, x, n.bias_strides);
        }
        sdx_norm_run_rows(call, &n);
    }
    if (scale_copy.data) sdx_call_temp_free(call, scale_copy.data);
    if (x_copy.data) sdx_call_temp_free(call, x_copy.data);
    return status;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

const sdx_op_def sdx_op_layer_normalization = {
    .min_in = 2, .max_in = 3, .min_out = 1, .max_out = 3,
    .flags = SDX_OP_SAME_TYPE | SDX_OP_IN_PLACE_FIRST,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_layer_normalization, run),
    .aux = &is_rms[0],
};

const sdx_op_def sdx_op_rms_normalization = {
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_IN_PLACE_FIRST,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_rms_normalization, run),
    .aux = &is_rms[1],
};
