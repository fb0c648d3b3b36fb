/* attention_flex.c - FlexAttention of the preview domain: attention whose scores and probabilities
 * pass through subgraphs of the model. The subgraphs want the whole tensor, so unlike Attention
 * this one makes it, on the run-time heap. */
#include <math.h>

#include "ops/attention.h"

typedef struct flex_params {
    bool has_scale, has_mod[2];
    float scale;
    sdx_dtype precision; /* of scores and probabilities; UNDEFINED: by the inputs */
    sdx_id mods[2];      /* score_mod, prob_mod */
} flex_params;

static const char *const mod_names[2] = {"score_mod", "prob_mod"};

static sdx_status flex_prepare(sdx_prep *prep) {
    flex_params *params = prep->params;
    params->has_scale = sdx_attr_has(prep, "scale");
    SDX_TRY(sdx_attr_get_float(prep, "scale", 0, &params->scale));
    SDX_TRY(sdx_attr_get_dtype(prep, "softmax_precision", SDX_DTYPE_UNDEFINED, &params->precision));
    if (params->precision != SDX_DTYPE_UNDEFINED &&
        !sdx_dtypes_has(SDX_T_FLOATS, params->precision))
        return sdx_prep_fail(prep, "softmax_precision is %s, expected a float type",
                             sdx_dtype_name(params->precision));
    for (int i = 0; i < 2; i++) {
        params->has_mod[i] = sdx_attr_has(prep, mod_names[i]);
        if (params->has_mod[i])
            SDX_TRY(sdx_attr_need_graph(prep, mod_names[i], &params->mods[i]));
    }
    return SDX_STATUS_OK;
}

static sdx_dtype precision_of(const flex_params *params, sdx_dtype input) {
    if (params->precision != SDX_DTYPE_UNDEFINED) return params->precision;
    return input == SDX_DTYPE_FLOAT64 ? SDX_DTYPE_FLOAT64 : SDX_DTYPE_FLOAT32;
}

static sdx_status flex_infer(sdx_infer *inf) {
    const flex_params *params = inf->params;
    sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    sdx_infer_set_dtype(inf, 0, dtype);
    for (uint32_t i = 0; i < 3; i++) SDX_TRY(sdx_infer_require_rank(inf, i, 4));
    sdx_expr q[4], k[4], v[4];
    for (int32_t d = 0; d < 4; d++) {
        q[d] = sdx_infer_dim(inf, 0, d);
        k[d] = sdx_infer_dim(inf, 1, d);
        v[d] = sdx_infer_dim(inf, 2, d);
    }
    SDX_TRY(sdx_infer_require_equal(inf, q[0], k[0], "batch size of Q and K"));
    SDX_TRY(sdx_infer_require_equal(inf, k[0], v[0], "batch size of K and V"));
    SDX_TRY(sdx_infer_require_equal(inf, k[1], v[1], "heads of K and V"));
    SDX_TRY(sdx_infer_require_equal(inf, k[2], v[2], "sequence length of K and V"));
    SDX_TRY(sdx_infer_require_equal(inf, q[3], k[3], "head size of Q and K"));
    /* While loading, the subgraphs learn what they will be given. */
    sdx_expr dims[4] = {q[0], q[1], q[2], k[2]};
    for (int i = 0; i < 2; i++) {
        if (!params->has_mod[i] || inf->module == NULL) continue;
        const sdx_graph *graph = sdx_graph_at(inf->module, params->mods[i]);
        if (graph->output_count != 1)
            return sdx_infer_fail(inf, "%s has %u outputs, expected 1", mod_names[i],
                                  graph->output_count);
        sdx_expr *kept = sdx_arena_array(&inf->module->arena, 4, sizeof *kept);
        if (kept == NULL) return SDX_STATUS_NO_MEMORY;
        memcpy(kept, dims, sizeof dims);
        sdx_type in = {.kind = SDX_KIND_TENSOR, .rank = 4, .dims = kept};
        in.dtype = dtype == SDX_DTYPE_UNDEFINED ? dtype : precision_of(params, dtype);
        const sdx_type *out;
        SDX_TRY(sdx_infer_subgraph(inf, params->mods[i], &in, 1, &out));
    }
    sdx_expr y[4] = {q[0], q[1], q[2], v[3]};
    return sdx_infer_set_shape(inf, 0, 4, y);
}

/* ---- run ------------------------------------------------------------------------------------- */

typedef struct flex_run {
    sdx_call *call;
    sdx_dtype type, precision; /* computed in; of the tensors that subgraphs see */
    size_t element;
    size_t heads, group, q_len, kv_len, size, v_size, count; /* count: batch * heads */
    char *scores;
    void *scratch;
    double scale;
} flex_run;

static void softmax_rows(const flex_run *run) {
    size_t n = run->kv_len;
    for (size_t r = 0; r < run->count * run->q_len && n > 0; r++) {
        char *row = run->scores + r * n * run->element;
        float *f = (float *)(void *)row;
        double *d = (double *)(void *)row, max = -INFINITY, sum = 0;
        bool wide = run->type == SDX_DTYPE_FLOAT64;
        for (size_t j = 0; j < n; j++) {
            double x = wide ? d[j] : (double)f[j];
            max = x > max || x != x ? x : max;
        }
        for (size_t j = 0; j < n; j++) sum += exp((wide ? d[j] : (double)f[j]) - max);
        for (size_t j = 0; j < n; j++) {
            double p = exp((wide ? d[j] : (double)f[j]) - max) / sum;
            if (wide)
                d[j] = p;
            else
                f[j] = (float)p;
        }
    }
}

/* The scores as a tensor of the softmax precision, through the subgraph, and back. */
static sdx_status modify(flex_run *run, int which) {
    sdx_call *call = run->call;
    const flex_params *params = call->params;
    const sdx_tensor *q = sdx_in(call, 0), *k = sdx_in(call, 1);
    int64_t dims[4] = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
    sdx_value *in, *out = NULL;
    SDX_TRY(sdx_value_alloc_tensor(call->host->heap, run->precision, 4, dims, &in, call->error));
    sdx_attention_narrow(run->type, run->scores, run->precision, in->tensor.data, in->tensor.count);
    size_t count = in->tensor.count;
    sdx_status status = SDX_STATUS_OK;
    if (params->has_mod[which])
        status = call->host->run_graph(call->host, params->mods[which], &in, 1, &out, 1,
                                       call->error);
    else
        out = sdx_value_retain(in); /* only rounded to the precision */
    if (status == SDX_STATUS_OK) {
        const sdx_tensor *t = out->kind == SDX_KIND_TENSOR ? &out->tensor : NULL;
        if (t == NULL || t->dtype != run->precision || t->count != count || t->rank != 4 ||
            memcmp(t->dims, dims, sizeof dims) != 0)
            status = sdx_call_fail(call, "%s must give back a tensor like the one it is given",
                                   mod_names[which]);
        else
            sdx_attention_widen(t->dtype, t->data, run->type, run->scores, count);
    }
    sdx_value_release(out);
    sdx_value_release(in);
    return status;
}

/* All heads: scores = Q K' * scale, or Y = scores V. */
static void products(const flex_run *run, const char *left, const char *right, char *to,
                     bool values) {
    size_t k_rows = run->kv_len * (values ? run->v_size : run->size) * run->element;
    for (size_t i = 0; i < run->count; i++) {
        const char *other = right + i / run->group * k_rows;
        if (values)
            sdx_product(run->call->host->pool, run->type, run->q_len, run->v_size, run->kv_len,
                        (sdx_matrix){left + i * run->q_len * run->kv_len * run->element,
                                     run->kv_len, 1},
                        (sdx_matrix){other, run->v_size, 1},
                        to + i * run->q_len * run->v_size * run->element, run->v_size, false,
                        run->scratch);
        else
            sdx_product(run->call->host->pool, run->type, run->q_len, run->kv_len, run->size,
                        (sdx_matrix){left + i * run->q_len * run->size * run->element, run->size,
                                     1},
                        (sdx_matrix){other, 1, run->size},
                        to + i * run->q_len * run->kv_len * run->element, run->kv_len, false,
                        run->scratch);
    }
}

static sdx_status compute(flex_run *run, char *const in[3], char *y) {
    const flex_params *params = run->call->params;
    size_t count = run->count * run->q_len * run->kv_len;
    products(run, in[0], in[1], run->scores, false);
    for (size_t i = 0; i < count; i++) {
        if (run->type == SDX_DTYPE_FLOAT64)
            ((double *)(void *)run->scores)[i] *= run->scale;
        else
            ((float *)(void *)run->scores)[i] *= (float)run->scale;
    }
    bool lower = run->precision != run->type;
    if (params->has_mod[0] || lower) SDX_TRY(modify(run, 0));
    softmax_rows(run);
    if (params->has_mod[1] || lower) SDX_TRY(modify(run, 1));
    products(run, run->scores, in[2], y, true);
    return SDX_STATUS_OK;
}

static sdx_status flex_run_op(sdx_call *call) {
    const flex_params *params = call->params;
    const sdx_tensor *q = sdx_in(call, 0), *k = sdx_in(call, 1), *v = sdx_in(call, 2);
    sdx_tensor *y = sdx_out(call, 0);
    if (y->count == 0) return SDX_STATUS_OK;
    flex_run run = {.call = call, .precision = precision_of(params, q->dtype)};
    run.type = sdx_attention_type(q->dtype, run.precision);
    run.element = sdx_dtype_size(run.type);
    run.heads = (size_t)q->dims[1];
    run.q_len = (size_t)q->dims[2];
    run.kv_len = (size_t)k->dims[2];
    run.size = (size_t)q->dims[3];
    run.v_size = (size_t)v->dims[3];
    run.count = (size_t)q->dims[0] * run.heads;
    if (k->dims[1] == 0 || q->dims[1] % k->dims[1] != 0)
        return sdx_call_fail(call, "Q has %lld heads, no multiple of the %lld of K",
                             (long long)q->dims[1], (long long)k->dims[1]);
    run.group = run.heads / (size_t)k->dims[1];
    run.scale = params->has_scale ? (double)params->scale
                                  : 1 / sqrt(run.size > 0 ? (double)run.size : 1);
    const sdx_tensor *tensors[3] = {q, k, v};
    size_t parts[6] = {0};
    for (int i = 0; i < 3; i++) parts[i] = sdx_scratch_part(tensors[i]->count * run.element);
    parts[3] = sdx_scratch_part(y->count * run.element);
    parts[4] = sdx_scratch_part(run.count * run.q_len * run.kv_len * run.element);
    size_t to_keys = sdx_product_scratch(run.type, run.q_len, run.kv_len, run.size);
    size_t to_values = sdx_product_scratch(run.type, run.q_len, run.v_size, run.kv_len);
    parts[5] = to_keys > to_values ? to_keys : to_values;
    size_t total = 0;
    for (int i = 0; i < 6; i++) total += parts[i];
    char *memory = sdx_call_temp(call, total, 1), *in[3], *at = memory;
    if (memory == NULL) return SDX_STATUS_NO_MEMORY;
    for (int i = 0; i < 3; at += parts[i++]) {
        in[i] = at;
        sdx_attention_widen(tensors[i]->dtype, tensors[i]->data, run.type, at, tensors[i]->count);
    }
    run.scores = at + parts[3];
    run.scratch = run.scores + parts[4];
    sdx_status status = compute(&run, in, at);
    if (status == SDX_STATUS_OK)
        sdx_attention_narrow(run.type, at, y->dtype, y->data, y->count);
    sdx_call_temp_free(call, memory);
    return status;
}

const sdx_op_def sdx_op_flex_attention = {
    .min_in = 3, .max_in = 3, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(flex_params),
    .prepare = flex_prepare,
    .infer = flex_infer,
    .run = SDX_BODY(sdx_op_flex_attention, flex_run_op),
};
