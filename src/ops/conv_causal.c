/* conv_causal.c - CausalConvWithState: a depthwise convolution over time that sees the past only,
 * and carries its last inputs from call to call. */
#include <math.h>
#include <string.h>

#include "ops/half.h"

enum { X, W, BIAS, PAST };
enum { NONE, SILU, SWISH };

static sdx_status prepare(sdx_prep *prep) {
    static const char *const words[] = {"none", "silu", "swish", NULL};
    return sdx_attr_get_choice(prep, "activation", NONE, words, prep->params);
}

static sdx_status infer(sdx_infer *inf) {
    sdx_dtype dtype = sdx_infer_dtype(inf, X);
    sdx_infer_set_dtype(inf, 0, dtype);
    sdx_infer_set_dtype(inf, 1, dtype);
    SDX_TRY(sdx_infer_require_rank(inf, X, 3));
    SDX_TRY(sdx_infer_require_rank(inf, W, 3));
    SDX_TRY(sdx_infer_require_rank(inf, BIAS, 1));
    SDX_TRY(sdx_infer_require_rank(inf, PAST, 3));
    sdx_expr x[3], w[3], state[3];
    for (int32_t a = 0; a < 3; a++) {
        state[a] = x[a] = sdx_infer_dim(inf, X, a);
        w[a] = sdx_infer_dim(inf, W, a);
    }
    if (sdx_expr_is(w[2], 0)) return sdx_infer_fail(inf, "the kernel has no taps");
    state[2] = sdx_inf_sub(inf, w[2], sdx_expr_const(1));
    SDX_TRY(sdx_infer_require_equal(inf, w[1], sdx_expr_const(1), "second dim of the kernel"));
    SDX_TRY(sdx_infer_require_equal(inf, w[0], x[1], "channels of the input and the kernel"));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, BIAS, 0), x[1], "bias and channels"));
    for (int32_t a = 0; a < 3; a++)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, PAST, a), state[a], "past_state"));
    SDX_TRY(sdx_infer_set_shape(inf, 0, 3, x));
    SDX_TRY(sdx_infer_set_shape(inf, 1, 3, state));
    sdx_infer_half_scratch(inf);
    return SDX_STATUS_OK;
}

typedef struct job {
    const float *x, *w, *bias, *past;
    float *y, *state;
    size_t channels, length, carry; /* carry: taps - 1 */
    int activation;
} job;

/* Rows (batch, channel) [begin, end). */
static void rows_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    for (size_t r = begin; r < end; r++) {
        size_t channel = r % j->channels, carry = j->carry, length = j->length;
        const float *x = j->x + r * length, *w = j->w + channel * (carry + 1);
        const float *past = j->past ? j->past + r * carry : NULL;
        float *y = j->y ? j->y + r * length : NULL, *state = j->state ? j->state + r * carry : NULL;
        for (size_t t = 0; y && t < length; t++) y[t] = j->bias ? j->bias[channel] : 0;
        for (size_t k = 0; y && k <= carry; k++) {
            size_t back = carry - k; /* steps that this tap looks back */
            size_t old = back < length ? back : length;
            for (size_t t = 0; past && t < old; t++) y[t] += w[k] * past[t + k];
            for (size_t t = back; t < length; t++) y[t] += w[k] * x[t - back];
        }
        if (y && j->activation != NONE)
            for (size_t t = 0; t < length; t++) y[t] = y[t] / (1 + expf(-y[t]));
        for (size_t i = 0; state && i < carry; i++) {
            size_t at = length + i; /* in past and input laid end to end */
            state[i] = at >= carry ? x[at - carry] : past ? past[at] : 0;
        }
    }
}

static sdx_status body(sdx_call *call) {
    const sdx_tensor *x = sdx_in(call, X), *w = sdx_in(call, W);
    const sdx_tensor *bias = sdx_in(call, BIAS), *past = sdx_in(call, PAST);
    sdx_tensor *y = sdx_out(call, 0), *state = sdx_out(call, 1);
    job j = {.x = x->data, .w = w->data, .bias = bias ? bias->data : NULL,
             .past = past ? past->data : NULL, .y = y ? y->data : NULL,
             .state = state ? state->data : NULL, .channels = (size_t)x->dims[1],
             .length = (size_t)x->dims[2], .carry = (size_t)w->dims[2] - 1,
             .activation = *(const int *)call->params};
    sdx_call_parallel(call, (size_t)(x->dims[0] * x->dims[1]),
                      ((size_t)1 << 15) / ((j.carry + 4) * (j.length + 1)) + 1, rows_body, &j);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

const sdx_op_def sdx_op_causal_conv_with_state = {
    .min_in = 2, .max_in = 4, .min_out = 1, .max_out = 2,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T(FLOAT16) | SDX_T(BFLOAT16) | SDX_T(FLOAT32)},
    .params_size = sizeof(int),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_causal_conv_with_state, run),
};
