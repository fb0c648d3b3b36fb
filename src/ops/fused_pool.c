/* fused_pool.c - sardonyx:MaxPool and sardonyx:AveragePool, which passes put in place of the operators of
 * ONNX: two-dimensional, float32, images with their channels side by side, no indices. The attributes
 * are those of ONNX. */
#include "kernels/pool_nhwc.h"
#include "ops/pool.h"

static sdx_status prepare(sdx_prep *prep) {
    sdx_pool_params *p = prep->params;
    SDX_TRY(sdx_window_prepare(prep, &p->window, true));
    sdx_attr_ignore(prep, "storage_order"); /* of indices, which nobody wants */
    return sdx_attr_get_bool(prep, "count_include_pad", false, &p->count_include_pad);
}

static sdx_status infer(sdx_infer *inf) {
    const sdx_pool_params *p = inf->params;
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    SDX_TRY(sdx_infer_require_rank(inf, 0, 4));
    SDX_TRY(sdx_window_check_rank(inf, &p->window, 4));
    if (sdx_infer_rank(inf, 0) < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    sdx_expr dims[4];
    for (int32_t i = 0; i < 4; i++) dims[i] = sdx_infer_dim(inf, 0, i);
    for (int32_t a = 0; a < 2; a++)
        SDX_TRY(sdx_window_out_dim(inf, &p->window, a, dims[1 + a],
                                   sdx_expr_const(p->window.kernel[a]), &dims[1 + a]));
    return sdx_infer_set_shape(inf, 0, 4, dims);
}

static sdx_status run(sdx_call *call) {
    const sdx_pool_params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0);
    sdx_tensor *y = sdx_out(call, 0);
    const bool *average = call->def->aux;
    sdx_f32_pool job = {.x = x->data, .y = y->data, .batch = (size_t)x->dims[0],
                        .channels = (size_t)x->dims[3], .average = *average,
                        .count_pads = p->count_include_pad};
    sdx_window_resolve(&p->window, 2, x->dims + 1, p->window.kernel, y->dims + 1, &job.window);
    if (y->count) sdx_f32_pool_nhwc(call->host->pool, &job);
    return SDX_STATUS_OK;
}

static const bool yes = true, no = false;

const sdx_op_def sdx_op_fused_average_pool = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT32)},
    .params_size = sizeof(sdx_pool_params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_average_pool, run),
    .aux = &yes,
};

const sdx_op_def sdx_op_fused_max_pool = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT32)},
    .params_size = sizeof(sdx_pool_params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_max_pool, run),
    .aux = &no,
};
