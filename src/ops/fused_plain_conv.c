/* fused_plain_conv.c - sardonyx:PlainConv, a Conv of any rank on planes as the model has them, float32,
 * with a tail: what passes make where convolutions keep their layout. Inputs: image, weights, bias or
 * none, addend or none. */
#include "kernels/kernels.h"
#include "ops/conv.h"
#include "ops/fused.h"

#define GRAIN ((size_t)8 << 10) /* floats of a task, which fit the first-level cache */

typedef struct params {
    sdx_conv_params conv;
    sdx_fused_tail tail;
} params;

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    SDX_TRY(sdx_conv_prepare(prep, &p->conv));
    return sdx_fused_tail_prepare(prep, &p->tail);
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    SDX_TRY(sdx_conv_infer_shape(inf, &p->conv, 0, 1, 2));
    sdx_conv_scratch(inf, &p->conv);
    return sdx_fused_require_like_output(inf, 3);
}

typedef struct job {
    const sdx_fused_tail *tail;
    const float *addend;
    float *y;
} job;

/* Sum and activation in one go through memory. */
static void finish(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    float *y = j->y;
    for (size_t i = begin; j->addend && i < end; i++) y[i] += j->addend[i];
    if (j->tail->act != SDX_ACT_NONE)
        SDX_KERNEL_OF(sdx_kernels_get(), f32_activate)(y + begin, end - begin, (sdx_act)j->tail->act, j->tail->a,
                                        j->tail->b);
}

static sdx_status run(sdx_call *call) {
    const params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0), *w = sdx_in(call, 1), *bias = sdx_in(call, 2);
    const sdx_tensor *addend = sdx_in(call, 3);
    sdx_tensor *y = sdx_out(call, 0);
    sdx_conv conv;
    sdx_conv_resolve(&p->conv, x, w, y, &conv);
    SDX_TRY(sdx_conv_run(call, &conv, x->data, w->data, bias ? bias->data : NULL, y->data));
    job tail = {&p->tail, addend ? addend->data : NULL, y->data};
    sdx_parallel_for(call->host->pool, y->count, GRAIN, finish, &tail);
    return SDX_STATUS_OK;
}

static void describe(const sdx_call *call, sdx_work *work) {
    const sdx_tensor *w = sdx_in(call, 1), *y = sdx_out(call, 0);
    if (w->dims[0] > 0)
        work->flops = 2.0 * (double)y->count * ((double)w->count / (double)w->dims[0]);
}

const sdx_op_def sdx_op_fused_plain_conv = {
    .min_in = 2, .max_in = 4, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT32)},
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_plain_conv, run),
    .describe = SDX_BODY(sdx_op_fused_plain_conv, describe),
};
