/* attention_linear.c - LinearAttention: a matrix per head that is updated token by token and read
 * by the queries, in the four update rules. The heads are independent and run in parallel; all is
 * computed in float32. */
#include <math.h>

#include "ops/matmul.h"

enum { IN_Q, IN_K, IN_V, IN_PAST, IN_DECAY, IN_BETA, IN_COUNT };

typedef struct linear_params {
    int64_t q_heads, kv_heads;
    float scale; /* 0: by the head size */
    bool gated, delta;
} linear_params;

static sdx_status linear_prepare(sdx_prep *prep) {
    static const char *const rules[] = {"linear", "gated", "delta", "gated_delta", NULL};
    linear_params *params = prep->params;
    int rule;
    SDX_TRY(sdx_attr_need_int(prep, "q_num_heads", &params->q_heads));
    SDX_TRY(sdx_attr_need_int(prep, "kv_num_heads", &params->kv_heads));
    SDX_TRY(sdx_attr_get_float(prep, "scale", 0, &params->scale));
    SDX_TRY(sdx_attr_get_choice(prep, "update_rule", 3, rules, &rule));
    sdx_attr_ignore(prep, "chunk_size"); /* a hint that does not change the result */
    params->gated = rule == 1 || rule == 3;
    params->delta = rule >= 2;
    if (params->kv_heads < 1 || params->q_heads < 1 || params->q_heads % params->kv_heads != 0)
        return sdx_prep_fail(prep, "q_num_heads is %lld, no positive multiple of kv_num_heads %lld",
                             (long long)params->q_heads, (long long)params->kv_heads);
    return SDX_STATUS_OK;
}

/* ---- infer ----------------------------------------------------------------------------------- */

static sdx_status part_of(sdx_infer *inf, uint32_t i, int64_t heads, sdx_expr *out) {
    sdx_expr whole = sdx_infer_dim(inf, i, 2);
    if (sdx_expr_is_const(whole) && sdx_expr_value(whole) % heads != 0)
        return sdx_infer_fail(inf, "the last dim of input %u is %lld, no multiple of %lld heads",
                              i, (long long)sdx_expr_value(whole), (long long)heads);
    *out = sdx_expr_floordiv(inf->pool, whole, sdx_expr_const(heads));
    return SDX_STATUS_OK;
}

/* decay and beta: (batch, time, something); there when the rule needs them, and only then. */
static sdx_status check_gate(sdx_infer *inf, uint32_t i, bool wanted, const char *name,
                             sdx_expr other) {
    const linear_params *params = inf->params;
    if (sdx_infer_present(inf, i) != wanted)
        return sdx_infer_fail(inf, "the update rule %s the input %s", wanted ? "needs" : "forbids",
                              name);
    if (!wanted) return SDX_STATUS_OK;
    SDX_TRY(sdx_infer_require_rank(inf, i, 3));
    if (sdx_infer_rank(inf, i) != 3) return SDX_STATUS_OK;
    sdx_expr last = sdx_infer_dim(inf, i, 2);
    if (sdx_expr_is_const(last) && sdx_expr_is_const(other) &&
        sdx_expr_value(last) != params->kv_heads && sdx_expr_value(last) != sdx_expr_value(other))
        return sdx_infer_fail(inf, "the last dim of %s is %lld, expected %lld or %lld", name,
                              (long long)sdx_expr_value(last), (long long)params->kv_heads,
                              (long long)sdx_expr_value(other));
    return SDX_STATUS_OK;
}

/* State, and every operand whose type is not float32. */
static sdx_expr scratch_of(sdx_infer *inf, sdx_expr state, sdx_expr output) {
    sdx_expr bytes = sdx_infer_scratch_part(inf, state, sizeof(float));
    for (uint32_t i = 0; i < inf->in_count; i++) {
        if (!sdx_infer_present(inf, i) || i == IN_PAST) continue;
        if (sdx_infer_dtype(inf, i) == SDX_DTYPE_FLOAT32) continue;
        sdx_expr count = sdx_infer_product(inf, i, 0, sdx_infer_rank(inf, i));
        bytes = sdx_inf_add(inf, bytes, sdx_infer_scratch_part(inf, count, sizeof(float)));
    }
    if (sdx_infer_dtype(inf, 0) == SDX_DTYPE_FLOAT32 && sdx_infer_wanted(inf, 0)) return bytes;
    return sdx_inf_add(inf, bytes, sdx_infer_scratch_part(inf, output, sizeof(float)));
}

static sdx_status linear_infer(sdx_infer *inf) {
    const linear_params *params = inf->params;
    bool past = sdx_infer_present(inf, IN_PAST);
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, IN_Q));
    sdx_infer_set_dtype(inf, 1, sdx_infer_dtype(inf, past ? IN_PAST : IN_Q));
    for (uint32_t i = IN_Q; i <= IN_V; i++) SDX_TRY(sdx_infer_require_rank(inf, i, 3));
    sdx_expr batch = sdx_infer_dim(inf, IN_Q, 0), time = sdx_infer_dim(inf, IN_Q, 1), dk, kk, dv;
    SDX_TRY(part_of(inf, IN_Q, params->q_heads, &dk));
    SDX_TRY(part_of(inf, IN_K, params->kv_heads, &kk));
    SDX_TRY(part_of(inf, IN_V, params->kv_heads, &dv));
    SDX_TRY(sdx_infer_require_equal(inf, dk, kk, "head size of query and key"));
    sdx_expr heads = sdx_expr_const(params->kv_heads);
    SDX_TRY(check_gate(inf, IN_DECAY, params->gated, "decay", sdx_inf_mul(inf, heads, dk)));
    SDX_TRY(check_gate(inf, IN_BETA, params->delta, "beta", sdx_expr_const(1)));
    for (uint32_t i = IN_K; i < IN_COUNT; i++) {
        if (i == IN_PAST || sdx_infer_rank(inf, i) != 3) continue;
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, 0), batch, "batch size"));
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, 1), time, "sequence length"));
    }
    sdx_expr state[4] = {batch, heads, dk, dv};
    SDX_TRY(sdx_infer_require_rank(inf, IN_PAST, 4));
    for (int32_t d = 0; d < 4 && sdx_infer_rank(inf, IN_PAST) == 4; d++)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, IN_PAST, d), state[d],
                                        "dim of past_state"));
    sdx_expr y[3] = {batch, time, sdx_inf_mul(inf, sdx_expr_const(params->q_heads), dv)};
    sdx_expr matrix = sdx_inf_mul(inf, dk, dv);
    sdx_expr state_count = sdx_inf_mul(inf, sdx_inf_mul(inf, batch, heads), matrix);
    sdx_expr y_count = sdx_inf_mul(inf, y[0], sdx_inf_mul(inf, y[1], y[2]));
    inf->scratch = scratch_of(inf, state_count, y_count);
    SDX_TRY(sdx_infer_set_shape(inf, 0, 3, y));
    return sdx_infer_set_shape(inf, 1, 4, state);
}

/* ---- run ------------------------------------------------------------------------------------- */

typedef struct linear_job {
    const linear_params *params;
    const float *in[IN_COUNT];
    size_t decay_size, beta_size; /* last dims */
    float *state, *y;
    size_t time, q_heads, kv_heads, dk, dv;
    float scale;
} linear_job;

/* state row i *= exp(decay), one for all rows or one each. */
static void decay_state(const linear_job *job, size_t token, size_t h, float *state) {
    bool each = job->decay_size != job->kv_heads;
    const float *g = job->in[IN_DECAY] + token * job->decay_size + (each ? h * job->dk : h);
    for (size_t i = 0; i < job->dk; i++) {
        float factor = expf(g[each ? i : 0]);
        for (size_t j = 0; j < job->dv; j++) state[i * job->dv + j] *= factor;
    }
}

/* One token of one head. `value` has room for dv elements. */
static void update(const linear_job *job, size_t token, size_t h, float *state, float *value) {
    size_t dk = job->dk, dv = job->dv;
    const float *k = job->in[IN_K] + (token * job->kv_heads + h) * dk;
    const float *v = job->in[IN_V] + (token * job->kv_heads + h) * dv;
    memcpy(value, v, dv * sizeof(float));
    if (job->params->gated) decay_state(job, token, h, state);
    if (job->params->delta) {
        for (size_t i = 0; i < dk; i++)
            for (size_t j = 0; j < dv; j++) value[j] -= state[i * dv + j] * k[i];
        float beta = job->in[IN_BETA][token * job->beta_size + (job->beta_size == 1 ? 0 : h)];
        for (size_t j = 0; j < dv; j++) value[j] *= beta;
    }
    for (size_t i = 0; i < dk; i++)
        for (size_t j = 0; j < dv; j++) state[i * dv + j] += k[i] * value[j];
}

static void read_state(const linear_job *job, size_t token, size_t h, const float *state) {
    size_t group = job->q_heads / job->kv_heads, dv = job->dv;
    for (size_t g = 0; g < group; g++) {
        size_t head = token * job->q_heads + h * group + g;
        const float *q = job->in[IN_Q] + head * job->dk;
        float *y = job->y + head * dv;
        for (size_t j = 0; j < dv; j++) y[j] = 0;
        for (size_t i = 0; i < job->dk; i++)
            for (size_t j = 0; j < dv; j++) y[j] += q[i] * state[i * dv + j];
        for (size_t j = 0; j < dv; j++) y[j] *= job->scale;
    }
}

/* States [begin, end), numbered over batch and key heads. The value of a token is worked on where
 * the output of the head's first query goes afterwards. */
static void linear_body(void *arg, size_t begin, size_t end) {
    const linear_job *job = arg;
    size_t group = job->q_heads / job->kv_heads;
    for (size_t s = begin; s < end; s++) {
        size_t b = s / job->kv_heads, h = s % job->kv_heads;
        float *state = job->state + s * job->dk * job->dv;
        for (size_t t = 0; t < job->time; t++) {
            size_t token = b * job->time + t;
            update(job, token, h, state, job->y + (token * job->q_heads + h * group) * job->dv);
            read_state(job, token, h, state);
        }
    }
}

static sdx_status check_gates(sdx_call *call, linear_job *job) {
    const sdx_tensor *decay = sdx_in(call, IN_DECAY), *beta = sdx_in(call, IN_BETA);
    if (decay) job->decay_size = (size_t)decay->dims[2];
    if (beta) job->beta_size = (size_t)beta->dims[2];
    if (decay && job->decay_size != job->kv_heads && job->decay_size != job->kv_heads * job->dk)
        return sdx_call_fail(call, "the last dim of decay is %zu, expected %zu or %zu",
                             job->decay_size, job->kv_heads, job->kv_heads * job->dk);
    if (beta && job->beta_size != job->kv_heads && job->beta_size != 1)
        return sdx_call_fail(call, "the last dim of beta is %zu, expected %zu or 1",
                             job->beta_size, job->kv_heads);
    return SDX_STATUS_OK;
}

static sdx_status linear_run(sdx_call *call) {
    const linear_params *params = call->params;
    const sdx_tensor *q = sdx_in(call, IN_Q), *v = sdx_in(call, IN_V);
    const sdx_tensor *past = sdx_in(call, IN_PAST);
    sdx_tensor *y = sdx_out(call, 0), *present = sdx_out(call, 1);
    linear_job job = {.params = params};
    size_t batch = (size_t)q->dims[0];
    job.time = (size_t)q->dims[1];
    job.q_heads = (size_t)params->q_heads;
    job.kv_heads = (size_t)params->kv_heads;
    job.dk = (size_t)q->dims[2] / job.q_heads;
    job.dv = (size_t)v->dims[2] / job.kv_heads;
    job.scale = params->scale != 0 ? params->scale
                                   : (float)(1 / sqrt(job.dk > 0 ? (double)job.dk : 1));
    if (job.dk * job.q_heads != (size_t)q->dims[2] || job.dv * job.kv_heads != (size_t)v->dims[2])
        return sdx_call_fail(call, "the last dims of query and value, %lld and %lld, are no "
                             "multiples of their heads", (long long)q->dims[2],
                             (long long)v->dims[2]);
    SDX_TRY(check_gates(call, &job));
    size_t states = batch * job.kv_heads * job.dk * job.dv;
    size_t y_count = batch * job.time * job.q_heads * job.dv;
    char *scratch = call->scratch;
    job.state = (float *)(void *)scratch;
    scratch += sdx_scratch_part(states * sizeof(float));
    if (past && states > 0)
        sdx_to_f32(past->dtype, past->data, job.state, states);
    else
        for (size_t i = 0; i < states; i++) job.state[i] = 0;
    for (uint32_t i = 0; i < IN_COUNT; i++) {
        const sdx_tensor *in = sdx_in(call, i);
        if (in == NULL || i == IN_PAST) continue;
        job.in[i] = in->data;
        if (in->dtype == SDX_DTYPE_FLOAT32) continue;
        job.in[i] = (float *)(void *)scratch;
        sdx_product_widen(in->dtype, in->data, scratch, in->count);
        scratch += sdx_scratch_part(in->count * sizeof(float));
    }
    /* Computed even if nobody wants it: values are worked on in its place. */
    bool direct = y != NULL && y->dtype == SDX_DTYPE_FLOAT32;
    job.y = direct ? y->data : (float *)(void *)scratch;
    size_t work = job.time * job.dk * job.dv * 4;
    if (y_count > 0)
        sdx_call_parallel(call, batch * job.kv_heads, 16384 / (work + 1) + 1, linear_body, &job);
    if (y != NULL && !direct) sdx_product_narrow(y->dtype, job.y, y->data, y_count);
    if (present != NULL) sdx_product_narrow(present->dtype, job.state, present->data, states);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_linear_attention = {
    .min_in = 3, .max_in = 6, .min_out = 1, .max_out = 2,
    .in_types = {SDX_T(FLOAT16) | SDX_T(BFLOAT16) | SDX_T(FLOAT32)},
    .params_size = sizeof(linear_params),
    .prepare = linear_prepare,
    .infer = linear_infer,
    .run = SDX_BODY(sdx_op_linear_attention, linear_run),
};
