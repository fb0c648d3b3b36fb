/* attention.c - Attention (versions 23 to 25): attributes, shapes and scratch memory. Inputs come
 * with 4 dims (batch, heads, sequence, size) or 3 (batch, sequence, heads * size). */
#include "ops/attention.h"

static sdx_status attention_prepare(sdx_prep *prep) {
    sdx_attention_params *params = prep->params;
    int64_t mode;
    SDX_TRY(sdx_attr_get_bool(prep, "is_causal", false, &params->causal));
    params->has_scale = sdx_attr_has(prep, "scale");
    SDX_TRY(sdx_attr_get_float(prep, "scale", 0, &params->scale));
    SDX_TRY(sdx_attr_get_float(prep, "softcap", 0, &params->softcap));
    SDX_TRY(sdx_attr_get_int(prep, "q_num_heads", 0, &params->q_heads));
    SDX_TRY(sdx_attr_get_int(prep, "kv_num_heads", 0, &params->kv_heads));
    SDX_TRY(sdx_attr_get_int(prep, "left_window_size", -1, &params->left));
    SDX_TRY(sdx_attr_get_int(prep, "right_window_size", -1, &params->right));
    SDX_TRY(sdx_attr_get_int(prep, "qk_matmul_output_mode", 0, &mode));
    SDX_TRY(sdx_attr_get_dtype(prep, "softmax_precision", SDX_DTYPE_UNDEFINED, &params->precision));
    if (mode < 0 || mode > 3)
        return sdx_prep_fail(prep, "qk_matmul_output_mode is %lld, expected 0 to 3",
                             (long long)mode);
    if (params->left < -1 || params->right < -1)
        return sdx_prep_fail(prep, "a window size is below -1");
    if (params->q_heads < 0 || params->kv_heads < 0)
        return sdx_prep_fail(prep, "q_num_heads is %lld and kv_num_heads %lld, expected at least 1",
                             (long long)params->q_heads, (long long)params->kv_heads);
    if (params->q_heads > 0 && params->kv_heads > 0 && params->q_heads % params->kv_heads != 0)
        return sdx_prep_fail(prep, "q_num_heads is %lld, no multiple of kv_num_heads %lld",
                             (long long)params->q_heads, (long long)params->kv_heads);
    if (params->precision != SDX_DTYPE_UNDEFINED &&
        !sdx_dtypes_has(SDX_T_FLOATS, params->precision))
        return sdx_prep_fail(prep, "softmax_precision is %s, expected a float type",
                             sdx_dtype_name(params->precision));
    /* Beyond any length is as good as open, and cannot overflow. */
    int64_t huge = (int64_t)1 << 40;
    if (params->left > huge) params->left = -1;
    if (params->right > huge) params->right = -1;
    params->mode = (int)mode;
    return SDX_STATUS_OK;
}

/* ---- infer ----------------------------------------------------------------------------------- */

typedef struct symbolic {
    sdx_expr batch, q_heads, kv_heads, q_len, kv_len, past, total, size, v_size;
} symbolic;

/* A hidden size divided among heads. */
static sdx_status head_size(sdx_infer *inf, sdx_expr hidden, int64_t heads, const char *what,
                            sdx_expr *out) {
    if (sdx_expr_is_const(hidden) && sdx_expr_value(hidden) % heads != 0)
        return sdx_infer_fail(inf, "the last dim of %s is %lld, no multiple of its %lld heads",
                              what, (long long)sdx_expr_value(hidden), (long long)heads);
    *out = sdx_expr_floordiv(inf->pool, hidden, sdx_expr_const(heads));
    return SDX_STATUS_OK;
}

static sdx_status read_3d(sdx_infer *inf, symbolic *s) {
    const sdx_attention_params *params = inf->params;
    int64_t kv = params->kv_heads;
    if (params->q_heads < 1 || kv < 1)
        return sdx_infer_fail(inf, "inputs with 3 dims need q_num_heads and kv_num_heads");
    s->q_heads = sdx_expr_const(params->q_heads);
    s->kv_heads = sdx_expr_const(kv);
    s->q_len = sdx_infer_dim(inf, SDX_ATT_Q, 1);
    s->kv_len = sdx_infer_dim(inf, SDX_ATT_K, 1);
    SDX_TRY(head_size(inf, sdx_infer_dim(inf, SDX_ATT_Q, 2), params->q_heads, "Q", &s->size));
    SDX_TRY(head_size(inf, sdx_infer_dim(inf, SDX_ATT_V, 2), kv, "V", &s->v_size));
    sdx_expr k_hidden = sdx_inf_mul(inf, s->size, sdx_expr_const(kv));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, SDX_ATT_K, 2), k_hidden,
                                    "hidden size of K and head size of Q"));
    return sdx_infer_require_equal(inf, sdx_infer_dim(inf, SDX_ATT_V, 1), s->kv_len,
                                   "sequence length of K and V");
}

static sdx_status read_4d(sdx_infer *inf, symbolic *s) {
    s->q_heads = sdx_infer_dim(inf, SDX_ATT_Q, 1);
    s->kv_heads = sdx_infer_dim(inf, SDX_ATT_K, 1);
    s->q_len = sdx_infer_dim(inf, SDX_ATT_Q, 2);
    s->kv_len = sdx_infer_dim(inf, SDX_ATT_K, 2);
    s->size = sdx_infer_dim(inf, SDX_ATT_Q, 3);
    s->v_size = sdx_infer_dim(inf, SDX_ATT_V, 3);
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, SDX_ATT_K, 3), s->size,
                                    "head size of Q and K"));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, SDX_ATT_V, 1), s->kv_heads,
                                    "heads of K and V"));
    return sdx_infer_require_equal(inf, sdx_infer_dim(inf, SDX_ATT_V, 2), s->kv_len,
                                   "sequence length of K and V");
}

/* Past keys and values: both or none, (batch, kv heads, past length, size). */
static sdx_status read_past(sdx_infer *inf, symbolic *s) {
    s->past = sdx_expr_const(0);
    bool past = sdx_infer_present(inf, SDX_ATT_PAST_K);
    if (past != sdx_infer_present(inf, SDX_ATT_PAST_V))
        return sdx_infer_fail(inf, "past_key and past_value come together or not at all");
    if (past && sdx_infer_present(inf, SDX_ATT_NONPAD))
        return sdx_infer_fail(inf, "nonpad_kv_seqlen cannot be used with past_key");
    if (past) {
        SDX_TRY(sdx_infer_require_rank(inf, SDX_ATT_PAST_K, 4));
        SDX_TRY(sdx_infer_require_rank(inf, SDX_ATT_PAST_V, 4));
        s->past = sdx_infer_dim(inf, SDX_ATT_PAST_K, 2);
        for (uint32_t i = SDX_ATT_PAST_K; i <= SDX_ATT_PAST_V; i++) {
            if (sdx_infer_rank(inf, i) != 4) continue;
            sdx_expr want[4] = {s->batch, s->kv_heads, s->past,
                                i == SDX_ATT_PAST_K ? s->size : s->v_size};
            for (int32_t d = 0; d < 4; d++)
                SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, d), want[d],
                                                "dim of the past keys and values"));
        }
    }
    s->total = sdx_inf_add(inf, s->past, s->kv_len);
    return SDX_STATUS_OK;
}

/* The mask is broadcast to (batch, heads, q, total); its last dim may be shorter. */
static sdx_status check_mask(sdx_infer *inf, const symbolic *s) {
    int32_t rank = sdx_infer_rank(inf, SDX_ATT_MASK);
    if (rank < 0) return SDX_STATUS_OK;
    if (rank < 1 || rank > 4)
        return sdx_infer_fail(inf, "attn_mask has rank %d, expected 1 to 4", rank);
    sdx_expr whole[4] = {s->batch, s->q_heads, s->q_len, s->total};
    for (int32_t d = 0; d < rank - 1; d++) {
        sdx_expr own = sdx_infer_dim(inf, SDX_ATT_MASK, d);
        SDX_TRY(sdx_infer_require_broadcast(inf, own, whole[4 - rank + d]));
    }
    sdx_expr last = sdx_infer_dim(inf, SDX_ATT_MASK, rank - 1);
    if (sdx_expr_is_const(last) && sdx_expr_is_const(s->total) &&
        sdx_expr_value(last) > sdx_expr_value(s->total))
        return sdx_infer_fail(inf, "attn_mask covers %lld keys, there are only %lld",
                              (long long)sdx_expr_value(last),
                              (long long)sdx_expr_value(s->total));
    return SDX_STATUS_OK;
}

static sdx_status check_type(sdx_infer *inf, uint32_t i, uint32_t as) {
    sdx_dtype own = sdx_infer_dtype(inf, i), other = sdx_infer_dtype(inf, as);
    if (own == SDX_DTYPE_UNDEFINED || other == SDX_DTYPE_UNDEFINED || own == other)
        return SDX_STATUS_OK;
    return sdx_infer_fail(inf, "input %u is %s, expected %s as input %u", i, sdx_dtype_name(own),
                          sdx_dtype_name(other), as);
}

/* The parts that attention_run.c takes. */
static sdx_expr scratch_of(sdx_infer *inf, const symbolic *s) {
    sdx_dtype q = sdx_infer_dtype(inf, SDX_ATT_Q), v = sdx_infer_dtype(inf, SDX_ATT_V);
    if (q == SDX_DTYPE_UNDEFINED || v == SDX_DTYPE_UNDEFINED) return SDX_EXPR_UNKNOWN;
    sdx_dtype type = sdx_attention_type(q, v);
    size_t size = sdx_dtype_size(type);
    sdx_expr rows = sdx_expr_min(inf->pool, s->q_len, sdx_expr_const(SDX_ATT_ROWS));
    sdx_expr blocks = sdx_expr_ceildiv(inf->pool, s->q_len, sdx_expr_const(SDX_ATT_ROWS));
    sdx_expr tasks = sdx_inf_mul(inf, sdx_inf_mul(inf, s->batch, s->q_heads), blocks);
    sdx_expr slots = sdx_expr_min(inf->pool, tasks, sdx_expr_const(SDX_ATT_SLOTS));
    sdx_expr scores = sdx_infer_scratch_part(inf, sdx_inf_mul(inf, rows, s->total), size);
    sdx_expr row = sdx_infer_scratch_part(inf, s->total, size);
    sdx_expr qk = sdx_infer_product_scratch(inf, type, rows, s->total, s->size);
    sdx_expr pv = sdx_infer_product_scratch(inf, type, rows, s->v_size, s->total);
    sdx_expr slot = sdx_inf_add(inf, sdx_inf_add(inf, scores, row),
                                sdx_expr_max(inf->pool, qk, pv));
    slot = sdx_inf_add(inf, slot, sdx_expr_const(SDX_CACHE_LINE));
    sdx_expr bytes = sdx_inf_mul(inf, slots, slot);
    for (uint32_t i = 0; i < inf->in_count; i++) {
        if (i == SDX_ATT_MASK || i == SDX_ATT_NONPAD || !sdx_infer_present(inf, i) ||
            sdx_infer_dtype(inf, i) == type)
            continue;
        sdx_expr count = sdx_infer_product(inf, i, 0, sdx_infer_rank(inf, i));
        bytes = sdx_inf_add(inf, bytes, sdx_infer_scratch_part(inf, count, size));
    }
    if (q == type) return bytes;
    sdx_expr y = sdx_inf_mul(inf, sdx_inf_mul(inf, s->batch, s->q_heads),
                             sdx_inf_mul(inf, s->q_len, s->v_size));
    return sdx_inf_add(inf, bytes, sdx_infer_scratch_part(inf, y, size));
}

static sdx_status check_all(sdx_infer *inf, const symbolic *s) {
    for (uint32_t i = SDX_ATT_K; i <= SDX_ATT_V; i++)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, 0), s->batch, "batch size"));
    if (sdx_expr_is_const(s->q_heads) && sdx_expr_is_const(s->kv_heads)) {
        int64_t q = sdx_expr_value(s->q_heads), kv = sdx_expr_value(s->kv_heads);
        if (kv == 0 ? q != 0 : q % kv != 0)
            return sdx_infer_fail(inf, "Q has %lld heads, no multiple of the %lld of K",
                                  (long long)q, (long long)kv);
    }
    SDX_TRY(sdx_infer_require_rank(inf, SDX_ATT_NONPAD, 1));
    if (sdx_infer_rank(inf, SDX_ATT_NONPAD) == 1)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, SDX_ATT_NONPAD, 0), s->batch,
                                        "batch size and nonpad_kv_seqlen"));
    return check_mask(inf, s);
}

static sdx_status set_shapes(sdx_infer *inf, const symbolic *s, int32_t rank) {
    sdx_expr y[4] = {s->batch, s->q_heads, s->q_len, s->v_size};
    if (rank == 3) {
        y[1] = s->q_len;
        y[2] = sdx_inf_mul(inf, s->q_heads, s->v_size);
    }
    SDX_TRY(sdx_infer_set_shape(inf, SDX_ATT_Y, rank, y));
    sdx_expr key[4] = {s->batch, s->kv_heads, s->total, s->size};
    SDX_TRY(sdx_infer_set_shape(inf, SDX_ATT_PRESENT_K, 4, key));
    key[3] = s->v_size;
    SDX_TRY(sdx_infer_set_shape(inf, SDX_ATT_PRESENT_V, 4, key));
    sdx_expr qk[4] = {s->batch, s->q_heads, s->q_len, s->total};
    return sdx_infer_set_shape(inf, SDX_ATT_QK, 4, qk);
}

static sdx_status attention_infer(sdx_infer *inf) {
    static const uint32_t same_as[4] = {SDX_ATT_Q, SDX_ATT_K, SDX_ATT_V, SDX_ATT_Q};
    for (uint32_t o = 0; o < 4; o++)
        sdx_infer_set_dtype(inf, o, sdx_infer_dtype(inf, same_as[o]));
    SDX_TRY(check_type(inf, SDX_ATT_K, SDX_ATT_Q));
    SDX_TRY(check_type(inf, SDX_ATT_PAST_K, SDX_ATT_Q));
    SDX_TRY(check_type(inf, SDX_ATT_PAST_V, SDX_ATT_V));
    inf->scratch = SDX_EXPR_UNKNOWN;
    int32_t rank = sdx_infer_rank(inf, SDX_ATT_Q);
    if (rank < 0 || sdx_infer_rank(inf, SDX_ATT_K) < 0 || sdx_infer_rank(inf, SDX_ATT_V) < 0) {
        for (uint32_t o = 0; o < 4; o++) SDX_TRY(sdx_infer_set_shape(inf, o, -1, NULL));
        return SDX_STATUS_OK;
    }
    if (rank != 3 && rank != 4)
        return sdx_infer_fail(inf, "Q has rank %d, expected 3 or 4", rank);
    SDX_TRY(sdx_infer_require_rank(inf, SDX_ATT_K, rank));
    SDX_TRY(sdx_infer_require_rank(inf, SDX_ATT_V, rank));
    symbolic s = {.batch = sdx_infer_dim(inf, SDX_ATT_Q, 0)};
    SDX_TRY(rank == 3 ? read_3d(inf, &s) : read_4d(inf, &s));
    SDX_TRY(read_past(inf, &s));
    SDX_TRY(check_all(inf, &s));
    inf->scratch = scratch_of(inf, &s);
    return set_shapes(inf, &s, rank);
}

const sdx_op_def sdx_op_attention = {
    .min_in = 3, .max_in = 7, .min_out = 1, .max_out = 4,
    .in_types = {SDX_T_FLOATS, SDX_T_FLOATS, SDX_T_FLOATS, SDX_T_NUMERIC | SDX_T(BOOL),
                 SDX_T_FLOATS, SDX_T_FLOATS, SDX_T(INT64)},
    .params_size = sizeof(sdx_attention_params),
    .prepare = attention_prepare,
    .infer = attention_infer,
    .run = SDX_BODY(sdx_op_attention, sdx_attention_run),
};
