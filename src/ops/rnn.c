/* rnn.c - RNN, GRU and LSTM in all versions: attributes, shapes and scratch memory. The three
 * differ by their sdx_rnn_kind; the computation is in rnn_run.c. */
#include "ops/rnn.h"

#include <strings.h>

/* ---- attributes ------------------------------------------------------------------------------ */

/* The defaults are those of the operators of the same name. */
static const struct {
    const char *name;
    bool alpha, beta; /* takes one from activation_alpha, _beta */
    float default_alpha, default_beta;
} activations[] = {
    [SDX_RNN_ACT_RELU] = {"Relu", false, false, 0, 0},
    [SDX_RNN_ACT_TANH] = {"Tanh", false, false, 0, 0},
    [SDX_RNN_ACT_SIGMOID] = {"Sigmoid", false, false, 0, 0},
    [SDX_RNN_ACT_AFFINE] = {"Affine", true, true, 1, 0},
    [SDX_RNN_ACT_LEAKY_RELU] = {"LeakyRelu", true, false, 0.01f, 0},
    [SDX_RNN_ACT_THRESHOLDED_RELU] = {"ThresholdedRelu", true, false, 1, 0},
    [SDX_RNN_ACT_SCALED_TANH] = {"ScaledTanh", true, true, 1, 1},
    [SDX_RNN_ACT_HARD_SIGMOID] = {"HardSigmoid", true, true, 0.2f, 0.5f},
    [SDX_RNN_ACT_ELU] = {"Elu", true, false, 1, 0},
    [SDX_RNN_ACT_SOFTSIGN] = {"Softsign", false, false, 0, 0},
    [SDX_RNN_ACT_SOFTPLUS] = {"Softplus", false, false, 0, 0},
};

/* Exporters write the names in any case. */
static bool find_activation(const char *name, sdx_rnn_activation *out) {
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
        if (strcasecmp(activations[i].name, name) == 0) {
            *out = (sdx_rnn_activation)i;
            return true;
        }
    return false;
}

/* The lists of alphas and betas are used up by the functions that take one, in order. */
static sdx_status read_functions(sdx_prep *prep, const sdx_rnn_kind *kind,
                                 sdx_rnn_params *params) {
    const sdx_string *names;
    const float *alphas, *betas;
    size_t count, alpha_count, beta_count, next_alpha = 0, next_beta = 0;
    SDX_TRY(sdx_attr_get_strings(prep, "activations", &names, &count));
    SDX_TRY(sdx_attr_get_floats(prep, "activation_alpha", &alphas, &alpha_count));
    SDX_TRY(sdx_attr_get_floats(prep, "activation_beta", &betas, &beta_count));
    size_t directions = params->both ? 2 : 1, each = (size_t)kind->activations;
    if (count > 0 && count < each * directions)
        return sdx_prep_fail(prep, "activations has %zu entries, expected %zu", count,
                             each * directions);
    for (size_t i = 0; i < each * directions; i++) {
        sdx_rnn_function *f = &params->functions[i / each][i % each];
        /* Default: Sigmoid for the gates, Tanh for the rest. */
        f->kind = kind->cell != SDX_RNN_PLAIN && i % each == 0 ? SDX_RNN_ACT_SIGMOID : SDX_RNN_ACT_TANH;
        if (count > 0 && !find_activation(names[i].data, &f->kind))
            return sdx_prep_fail(prep, "unknown activation '%s'", names[i].data);
        f->alpha = activations[f->kind].default_alpha;
        f->beta = activations[f->kind].default_beta;
        if (activations[f->kind].alpha && next_alpha < alpha_count) f->alpha = alphas[next_alpha++];
        if (activations[f->kind].beta && next_beta < beta_count) f->beta = betas[next_beta++];
    }
    return SDX_STATUS_OK;
}

static sdx_status rnn_prepare(sdx_prep *prep) {
    static const char *const directions[] = {"forward", "reverse", "bidirectional", NULL};
    const sdx_rnn_kind *kind = prep->def->aux;
    sdx_rnn_params *params = prep->params;
    int direction;
    int64_t layout;
    SDX_TRY(sdx_attr_get_choice(prep, "direction", 0, directions, &direction));
    params->reverse = direction == 1;
    params->both = direction == 2;
    SDX_TRY(sdx_attr_get_int(prep, "layout", 0, &layout));
    if (layout != 0 && layout != 1)
        return sdx_prep_fail(prep, "layout is %lld, expected 0 or 1", (long long)layout);
    params->batch_first = layout == 1;
    SDX_TRY(sdx_attr_get_int(prep, "hidden_size", 0, &params->hidden_size));
    if (params->hidden_size < 0)
        return sdx_prep_fail(prep, "hidden_size is %lld", (long long)params->hidden_size);
    params->has_clip = sdx_attr_has(prep, "clip");
    SDX_TRY(sdx_attr_get_float(prep, "clip", 0, &params->clip));
    if (params->clip < 0) return sdx_prep_fail(prep, "clip is %g", (double)params->clip);
    if (kind->cell == SDX_RNN_LSTM)
        SDX_TRY(sdx_attr_get_bool(prep, "input_forget", false, &params->input_forget));
    if (kind->cell == SDX_RNN_GRU)
        SDX_TRY(sdx_attr_get_bool(prep, "linear_before_reset", false,
                                  &params->linear_before_reset));
    /* Version 1: whether Y is wanted; the node's outputs say so too. */
    sdx_attr_ignore(prep, "output_sequence");
    return read_functions(prep, kind, params);
}

/* ---- infer ----------------------------------------------------------------------------------- */

static sdx_expr times(sdx_infer *inf, sdx_expr e, int64_t factor) {
    return sdx_inf_mul(inf, e, sdx_expr_const(factor));
}

/* Input i, if present, must have exactly these dims. */
static sdx_status require_dims(sdx_infer *inf, uint32_t i, int32_t rank, const sdx_expr *dims,
                               const char *what) {
    SDX_TRY(sdx_infer_require_rank(inf, i, rank));
    if (sdx_infer_rank(inf, i) != rank) return SDX_STATUS_OK;
    for (int32_t d = 0; d < rank; d++)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, d), dims[d], what));
    return SDX_STATUS_OK;
}

typedef struct symbolic_sizes {
    sdx_expr time, batch, input, hidden, directions;
} symbolic_sizes;

static sdx_status check_types(sdx_infer *inf) {
    sdx_dtype first = sdx_infer_dtype(inf, 0);
    for (uint32_t i = 1; i < inf->in_count; i++) {
        sdx_dtype own = sdx_infer_dtype(inf, i);
        if (i == SDX_RNN_LENGTHS || own == SDX_DTYPE_UNDEFINED || first == SDX_DTYPE_UNDEFINED)
            continue;
        if (own != first)
            return sdx_infer_fail(inf, "input %u is %s, expected %s as X", i, sdx_dtype_name(own),
                                  sdx_dtype_name(first));
    }
    return SDX_STATUS_OK;
}

static sdx_status check_inputs(sdx_infer *inf, const symbolic_sizes *s) {
    const sdx_rnn_kind *kind = inf->def->aux;
    const sdx_rnn_params *params = inf->params;
    sdx_expr rows = times(inf, s->hidden, kind->gates), d = s->directions;
    sdx_expr state[3] = {d, s->batch, s->hidden};
    if (params->batch_first) {
        state[0] = s->batch;
        state[1] = d;
    }
    SDX_TRY(require_dims(inf, SDX_RNN_W, 3, (sdx_expr[]){d, rows, s->input}, "dim of W"));
    SDX_TRY(require_dims(inf, SDX_RNN_R, 3, (sdx_expr[]){d, rows, s->hidden}, "dim of R"));
    SDX_TRY(require_dims(inf, SDX_RNN_B, 2, (sdx_expr[]){d, times(inf, rows, 2)}, "dim of B"));
    SDX_TRY(require_dims(inf, SDX_RNN_LENGTHS, 1, &s->batch, "dim of sequence_lens"));
    SDX_TRY(require_dims(inf, SDX_RNN_H0, 3, state, "dim of initial_h"));
    if (kind->cell != SDX_RNN_LSTM) return SDX_STATUS_OK;
    SDX_TRY(require_dims(inf, SDX_RNN_C0, 3, state, "dim of initial_c"));
    return require_dims(inf, SDX_RNN_P, 2, (sdx_expr[]){d, times(inf, s->hidden, 3)}, "dim of P");
}

/* The parts that rnn_run.c takes. Small floats are computed in float32, copies and all. */
static sdx_expr scratch_of(sdx_infer *inf, const symbolic_sizes *s) {
    const sdx_rnn_kind *kind = inf->def->aux;
    const sdx_rnn_params *params = inf->params;
    sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    if (dtype == SDX_DTYPE_UNDEFINED) return SDX_EXPR_UNKNOWN;
    sdx_dtype type = sdx_product_type(dtype);
    size_t size = sdx_dtype_size(type);
    sdx_expr rows = times(inf, s->hidden, kind->gates), all = sdx_inf_mul(inf, s->time, s->batch);
    sdx_expr limit = sdx_expr_max(inf->pool, s->batch, sdx_expr_const(SDX_RNN_CHUNK_ROWS));
    sdx_expr chunk = params->batch_first ? all : sdx_expr_min(inf->pool, all, limit);
    sdx_expr state = sdx_inf_mul(inf, s->batch, s->hidden);
    /* Input product, sums of a step, bias, states (H, C, one more), then both kinds of product. */
    sdx_expr bytes = sdx_infer_scratch_part(inf, sdx_inf_mul(inf, chunk, rows), size);
    sdx_expr sums = sdx_inf_mul(inf, s->batch, rows);
    bytes = sdx_inf_add(inf, bytes, sdx_infer_scratch_part(inf, sums, size));
    bytes = sdx_inf_add(inf, bytes, sdx_infer_scratch_part(inf, rows, size));
    bytes = sdx_inf_add(inf, bytes, times(inf, sdx_infer_scratch_part(inf, state, size), 3));
    sdx_expr input = sdx_infer_product_scratch(inf, type, chunk, rows, s->input);
    sdx_expr step = sdx_infer_product_scratch(inf, type, s->batch, rows, s->hidden);
    bytes = sdx_inf_add(inf, bytes, sdx_expr_max(inf->pool, input, step));
    if (sdx_product_direct(dtype)) return bytes;
    for (uint32_t i = 0; i < inf->in_count; i++) {
        if (i == SDX_RNN_LENGTHS || !sdx_infer_present(inf, i)) continue;
        sdx_expr count = sdx_infer_product(inf, i, 0, sdx_infer_rank(inf, i));
        bytes = sdx_inf_add(inf, bytes, sdx_infer_scratch_part(inf, count, size));
    }
    sdx_expr y = sdx_inf_mul(inf, s->directions, sdx_inf_mul(inf, all, s->hidden));
    bytes = sdx_inf_add(inf, bytes, sdx_infer_scratch_part(inf, y, size));
    sdx_expr last = sdx_infer_scratch_part(inf, sdx_inf_mul(inf, state, s->directions), size);
    return sdx_inf_add(inf, bytes, times(inf, last, 2));
}

static sdx_status rnn_infer(sdx_infer *inf) {
    const sdx_rnn_params *params = inf->params;
    const sdx_rnn_kind *kind = inf->def->aux;
    uint32_t outputs = kind->cell == SDX_RNN_LSTM ? 3 : 2;
    for (uint32_t o = 0; o < outputs; o++)
        sdx_infer_set_dtype(inf, o, sdx_infer_dtype(inf, 0));
    for (uint32_t i = 0; i < 3; i++) SDX_TRY(sdx_infer_require_rank(inf, i, 3));
    bool known = sdx_infer_rank(inf, 0) == 3, r_known = sdx_infer_rank(inf, SDX_RNN_R) == 3;
    sdx_expr unknown = SDX_EXPR_UNKNOWN;
    symbolic_sizes s = {unknown, unknown, unknown, unknown, sdx_expr_const(params->both ? 2 : 1)};
    if (known) {
        s.time = sdx_infer_dim(inf, 0, params->batch_first);
        s.batch = sdx_infer_dim(inf, 0, !params->batch_first);
        s.input = sdx_infer_dim(inf, 0, 2);
    }
    if (params->hidden_size > 0)
        s.hidden = sdx_expr_const(params->hidden_size);
    else if (r_known)
        s.hidden = sdx_infer_dim(inf, SDX_RNN_R, 2);
    SDX_TRY(check_types(inf));
    SDX_TRY(check_inputs(inf, &s));
    inf->scratch = scratch_of(inf, &s);
    sdx_expr y[4] = {s.time, s.directions, s.batch, s.hidden};
    sdx_expr last[3] = {s.directions, s.batch, s.hidden};
    if (params->batch_first) {
        y[0] = s.batch, y[1] = s.time, y[2] = s.directions;
        last[0] = s.batch, last[1] = s.directions;
    }
    SDX_TRY(sdx_infer_set_shape(inf, 0, 4, y));
    SDX_TRY(sdx_infer_set_shape(inf, 1, 3, last));
    return outputs > 2 ? sdx_infer_set_shape(inf, 2, 3, last) : SDX_STATUS_OK;
}

/* ---- the operators --------------------------------------------------------------------------- */

#define RNN_TYPES {SDX_T_FLOATS, SDX_T_FLOATS, SDX_T_FLOATS, SDX_T_FLOATS, SDX_T(INT32),          \
                   SDX_T_FLOATS}
#define RNN_DEF(name, cell_, gates_, functions_, inputs, outputs)                                 \
    static const sdx_rnn_kind name##_kind = {cell_, gates_, functions_};                          \
    const sdx_op_def sdx_op_##name = {                                                            \
        .min_in = 3, .max_in = inputs, .min_out = 0, .max_out = outputs,                          \
        .in_types = RNN_TYPES,                                                                    \
        .params_size = sizeof(sdx_rnn_params),                                                    \
        .prepare = rnn_prepare,                                                                   \
        .infer = rnn_infer,                                                                       \
        .pack = SDX_BODY(sdx_op_##name, sdx_rnn_pack),                                            \
        .run = SDX_BODY(sdx_op_##name, sdx_rnn_run),                                              \
        .aux = &name##_kind,                                                                      \
    }
RNN_DEF(rnn, SDX_RNN_PLAIN, 1, 1, 6, 2);
RNN_DEF(gru, SDX_RNN_GRU, 3, 2, 6, 2);
RNN_DEF(lstm, SDX_RNN_LSTM, 4, 3, 8, 3);
