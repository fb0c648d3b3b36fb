/* norm_instance.c - InstanceNormalization and GroupNormalization: statistics per image and per
 * channel, or per group of channels. */
#include <inttypes.h>

#include "ops/norm.h"
#include "ops/window.h"

enum { X, SCALE, BIAS };

typedef struct params {
    float epsilon;
    int64_t groups; /* 0: every channel is one */
} params;

static sdx_status instance_prepare(sdx_prep *prep) {
    params *p = prep->params;
    sdx_attr_ignore(prep, "consumed_inputs");
    return sdx_attr_get_float(prep, "epsilon", 1e-5f, &p->epsilon);
}

static sdx_status group_prepare(sdx_prep *prep) {
    params *p = prep->params;
    SDX_TRY(sdx_attr_get_float(prep, "epsilon", 1e-5f, &p->epsilon));
    sdx_attr_ignore(prep, "stash_type"); /* statistics are at least as precise as it can ask for */
    SDX_TRY(sdx_attr_need_int(prep, "num_groups", &p->groups));
    if (p->groups < 1 || p->groups > INT32_MAX)
        return sdx_prep_fail(prep, "num_groups is %" PRId64 ", expected at least 1", p->groups);
    return SDX_STATUS_OK;
}

/* Before version 21, scale and bias of GroupNormalization are per group. */
static bool affine_per_group(const params *p, int64_t version) {
    return p->groups > 0 && version < 21;
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    SDX_TRY(sdx_infer_copy(inf, 0, X, false));
    SDX_TRY(sdx_infer_require_min_rank(inf, X, p->groups > 0 ? 2 : 3));
    sdx_infer_half_scratch(inf);
    sdx_expr channels = sdx_infer_dim(inf, X, 1);
    if (p->groups > 0) SDX_TRY(sdx_require_groups(inf, channels, p->groups, "channels"));
    if (affine_per_group(p, inf->version)) channels = sdx_expr_const(p->groups);
    for (uint32_t i = SCALE; i <= BIAS; i++) {
        SDX_TRY(sdx_infer_require_rank(inf, i, 1));
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, 0), channels,
                                        i == SCALE ? "scale and channels" : "bias and channels"));
    }
    return SDX_STATUS_OK;
}

static sdx_status body(sdx_call *call) {
    const params *p = call->params;
    const sdx_tensor *x = sdx_in(call, X);
    sdx_norm_rows n = {.x = x->data, .scale = sdx_in(call, SCALE)->data,
                       .bias = sdx_in(call, BIAS)->data, .y = sdx_out(call, 0)->data,
                       .epsilon = (double)p->epsilon, .dtype = x->dtype};
    size_t channels = (size_t)x->dims[1], plane = sdx_dims_product(x->dims, 2, x->rank);
    if (x->count == 0) return SDX_STATUS_OK;
    size_t groups = p->groups > 0 ? (size_t)p->groups : channels;
    n.rows = (size_t)x->dims[0] * groups;
    n.period = groups;
    n.runs = affine_per_group(p, call->version) ? 1 : channels / groups;
    n.run = channels / groups * plane / n.runs;
    sdx_norm_run_rows(call, &n);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

#define NORM(name, prepare_rule)                                                                  \
    const sdx_op_def name = {                                                                     \
        .min_in = 3, .max_in = 3, .min_out = 1, .max_out = 1,                                     \
        .flags = SDX_OP_SAME_TYPE | SDX_OP_IN_PLACE_FIRST,                                        \
        .in_types = {SDX_T_FLOATS},                                                               \
        .params_size = sizeof(params),                                                            \
        .prepare = prepare_rule, .infer = infer, .run = SDX_BODY(name, run),                      \
    }

NORM(sdx_op_instance_normalization, instance_prepare);
NORM(sdx_op_group_normalization, group_prepare);
