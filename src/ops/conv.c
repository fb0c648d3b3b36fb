/* conv.c - the operator Conv, and the attributes and shape rule that its siblings share. */
#include "ops/conv.h"

#include <inttypes.h>

/* ---- shared ---------------------------------------------------------------------------------- */

sdx_status sdx_conv_prepare(sdx_prep *prep, sdx_conv_params *params) {
    SDX_TRY(sdx_window_prepare(prep, &params->window, false));
    SDX_TRY(sdx_attr_get_int(prep, "group", 1, &params->group));
    if (params->group < 1 || params->group > INT32_MAX)
        return sdx_prep_fail(prep, "group is %" PRId64 ", expected at least 1", params->group);
    return SDX_STATUS_OK;
}

/* Channels and maps must fall into groups. */
static sdx_status check_groups(sdx_infer *inf, const sdx_conv_params *params, uint32_t x,
                               uint32_t w) {
    sdx_expr maps = sdx_infer_dim(inf, w, 0), planes = sdx_infer_dim(inf, w, 1);
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, x, 1),
                                    sdx_inf_mul(inf, planes, sdx_expr_const(params->group)),
                                    "channels of the input and of the kernel times group"));
    return sdx_require_groups(inf, maps, params->group, "output channels");
}

sdx_status sdx_conv_infer_shape(sdx_infer *inf, const sdx_conv_params *params, uint32_t x,
                                uint32_t w, uint32_t bias) {
    int32_t rank = sdx_infer_rank(inf, x), w_rank = sdx_infer_rank(inf, w);
    SDX_TRY(sdx_window_check_rank(inf, &params->window, rank));
    SDX_TRY(sdx_window_check_rank(inf, &params->window, w_rank));
    if (rank >= 0) SDX_TRY(sdx_infer_require_rank(inf, w, rank));
    SDX_TRY(check_groups(inf, params, x, w));
    SDX_TRY(sdx_infer_require_rank(inf, bias, 1));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, bias, 0), sdx_infer_dim(inf, w, 0),
                                    "bias and output channels"));
    if (rank < 0 && w_rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);

    sdx_expr dims[SDX_MAX_RANK];
    int32_t out_rank = rank >= 0 ? rank : w_rank;
    dims[0] = sdx_infer_dim(inf, x, 0);
    dims[1] = sdx_infer_dim(inf, w, 0);
    for (int32_t a = 0; a < out_rank - 2; a++) {
        sdx_expr taps = sdx_infer_dim(inf, w, a + 2);
        if (params->window.kernel) {
            sdx_expr said = sdx_expr_const(params->window.kernel[a]);
            SDX_TRY(sdx_infer_require_equal(inf, taps, said, "kernel_shape and kernel"));
            taps = said;
        }
        SDX_TRY(sdx_window_out_dim(inf, &params->window, a, sdx_infer_dim(inf, x, a + 2), taps,
                                   &dims[a + 2]));
    }
    return sdx_infer_set_shape(inf, 0, out_rank, dims);
}

void sdx_conv_resolve(const sdx_conv_params *params, const sdx_tensor *x, const sdx_tensor *w,
                      const sdx_tensor *y, sdx_conv *conv) {
    sdx_window_resolve(&params->window, x->rank - 2, x->dims + 2, w->dims + 2, y->dims + 2,
                       &conv->window);
    conv->batch = (size_t)x->dims[0];
    conv->groups = (size_t)params->group;
    conv->in_planes = (size_t)w->dims[1];
    conv->out_planes = (size_t)w->dims[0] / conv->groups;
    conv->dtype = x->dtype;
}

/* ---- Conv ------------------------------------------------------------------------------------ */

static sdx_status conv_prepare(sdx_prep *prep) { return sdx_conv_prepare(prep, prep->params); }

static sdx_status conv_infer(sdx_infer *inf) {
    const sdx_conv_params *params = inf->params;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(sdx_conv_infer_shape(inf, params, 0, 1, 2));
    sdx_infer_half_scratch(inf);
    sdx_conv_scratch(inf, params);
    return SDX_STATUS_OK;
}

static sdx_status conv_body(sdx_call *call) {
    const sdx_tensor *x = sdx_in(call, 0), *w = sdx_in(call, 1), *bias = sdx_in(call, 2);
    sdx_tensor *y = sdx_out(call, 0);
    sdx_conv conv;
    sdx_conv_resolve(call->params, x, w, y, &conv);
    return sdx_conv_run(call, &conv, x->data, w->data, bias ? bias->data : NULL, y->data);
}

static sdx_status conv_run(sdx_call *call) { return sdx_call_half(call, conv_body); }

static void conv_describe(const sdx_call *call, sdx_work *work) {
    const sdx_tensor *w = sdx_in(call, 1), *y = sdx_out(call, 0);
    if (w->dims[0] > 0)
        work->flops = 2.0 * (double)y->count * ((double)w->count / (double)w->dims[0]);
}

const sdx_op_def sdx_op_conv = {
    .min_in = 2, .max_in = 3, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(sdx_conv_params),
    .prepare = conv_prepare, .infer = conv_infer, .run = SDX_BODY(sdx_op_conv, conv_run),
    .describe = SDX_BODY(sdx_op_conv, conv_describe),
};
