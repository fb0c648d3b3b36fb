/* fused_affine.c - sardonyx:Affine, which passes put in place of a normalisation with constants: each
 * element times a factor plus a summand of its channel, the last dim, and an activation. Inputs: x,
 * factors, summands. */
#include "kernels/kernels.h"
#include "ops/fused.h"

static sdx_status prepare(sdx_prep *prep) { return sdx_fused_tail_prepare(prep, prep->params); }

static sdx_status infer(sdx_infer *inf) {
    int32_t rank = sdx_infer_rank(inf, 0);
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 1));
    sdx_expr channels = sdx_infer_dim(inf, 0, rank - 1);
    SDX_TRY(sdx_fused_require_count(inf, 1, channels, "channels and factors"));
    SDX_TRY(sdx_fused_require_count(inf, 2, channels, "channels and summands"));
    return sdx_infer_copy(inf, 0, 0, false);
}

typedef struct rows {
    const float *x, *factors, *summands;
    float *y;
    size_t channels;
    const sdx_fused_tail *tail;
} rows;

static void some_rows(void *arg, size_t begin, size_t end) {
    const rows *r = arg;
    const size_t channels = r->channels;
    SDX_KERNEL_OF(sdx_kernels_get(), f32_scale_channels)(r->x + begin * channels, r->factors, r->summands,
                                  r->y + begin * channels, end - begin, channels,
                                  (sdx_act)r->tail->act, r->tail->a, r->tail->b);
}

static sdx_status run(sdx_call *call) {
    const sdx_tensor *x = sdx_in(call, 0);
    if (x->count == 0) return SDX_STATUS_OK;
    rows r = {x->data, sdx_in(call, 1)->data, sdx_in(call, 2)->data, sdx_out(call, 0)->data,
              (size_t)x->dims[x->rank - 1], call->params};
    sdx_call_parallel(call, x->count / r.channels, ((size_t)1 << 14) / r.channels + 1, some_rows,
                      &r);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_fused_affine = {
    .min_in = 3, .max_in = 3, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_IN_PLACE_FIRST,
    .in_types = {SDX_T(FLOAT32)},
    .params_size = sizeof(sdx_fused_tail),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_affine, run),
};
