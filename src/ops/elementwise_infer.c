/* elementwise_infer.c - shape rules of the elementwise family: "like input 0", "the broadcast of
 * all", and the folding of symbolic contents, by which a computed shape such as
 * Shape(x)[0] * 2 stays an expression while the model loads. */
#include "ops/elementwise.h"

sdx_dtype sdx_ew_input_type(const sdx_infer *inf, uint32_t from) {
    for (uint32_t i = from; i < inf->in_count; i++) {
        sdx_dtype dtype = sdx_infer_dtype(inf, i);
        if (dtype != SDX_DTYPE_UNDEFINED) return dtype;
    }
    return SDX_DTYPE_UNDEFINED;
}

sdx_status sdx_ew_infer_like(sdx_infer *inf, sdx_dtype dtype) {
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    if (dtype != SDX_DTYPE_UNDEFINED) sdx_infer_set_dtype(inf, 0, dtype);
    return SDX_STATUS_OK;
}

sdx_status sdx_ew_infer_broadcast(sdx_infer *inf, uint32_t typed, sdx_dtype dtype,
                                  sdx_ew_content content) {
    int32_t rank;
    sdx_expr dims[SDX_MAX_RANK];
    if (dtype == SDX_DTYPE_UNDEFINED) dtype = sdx_ew_input_type(inf, typed);
    if (dtype != SDX_DTYPE_UNDEFINED) sdx_infer_set_dtype(inf, 0, dtype);
    SDX_TRY(sdx_infer_broadcast(inf, 0, inf->in_count, &rank, dims));
    SDX_TRY(sdx_infer_set_shape(inf, 0, rank, dims));
    if (content) sdx_ew_fold_contents(inf, dtype, rank, dims, content);
    return SDX_STATUS_OK;
}

/* ---- contents ------------------------------------------------------------------------------ */

bool sdx_ew_known_count(int32_t rank, const sdx_expr *dims, size_t limit, size_t *count) {
    if (rank < 0) return false;
    size_t product = 1;
    for (int32_t d = 0; d < rank; d++) {
        if (!sdx_expr_is_const(dims[d]) || sdx_expr_value(dims[d]) < 0) return false;
        if (!sdx_size_mul(product, (size_t)sdx_expr_value(dims[d]), &product)) return false;
    }
    *count = product;
    return product <= limit;
}

sdx_expr sdx_ew_fit(sdx_dtype dtype, sdx_expr e) {
    if (!sdx_expr_is_const(e)) return e;
    const int64_t value = sdx_expr_value(e);
    const bool narrow = dtype == SDX_DTYPE_INT32;
    return narrow && (value < INT32_MIN || value > INT32_MAX) ? SDX_EXPR_UNKNOWN : e;
}

/* The last representable numbers stand for all beyond them as well: not to be computed with. */
static void forget_huge(sdx_expr *e) {
    if (sdx_expr_is(*e, SDX_EXPR_MAX - 1) || sdx_expr_is(*e, -SDX_EXPR_MAX)) *e = SDX_EXPR_UNKNOWN;
}

void sdx_ew_fold_contents(sdx_infer *inf, sdx_dtype dtype, int32_t rank, const sdx_expr *dims,
                          sdx_ew_content content) {
    /* Shape arithmetic is done in these types; of no use during a run, where data is at hand. */
    const sdx_dtypes folded = SDX_T_INDEX | SDX_T(BOOL);
    size_t count, have = 0;
    if (!inf->pool || !sdx_dtypes_has(folded, dtype)) return;
    if (!sdx_ew_known_count(rank, dims, SDX_MAX_CONTENTS, &count) || count == 0) return;
    sdx_expr result[SDX_MAX_CONTENTS], next[SDX_MAX_CONTENTS];
    for (uint32_t i = 0; i < inf->in_count; i++) {
        if (!sdx_dtypes_has(folded, sdx_infer_dtype(inf, i))) return;
        if (!sdx_infer_contents(inf, i, i == 0 ? result : next, SDX_MAX_CONTENTS, &have)) return;
        /* As many elements as the output means the same order as the output. */
        if (have != count && have != 1) return;
        for (size_t e = 0; e < have; e++) forget_huge(i == 0 ? &result[e] : &next[e]);
        if (i == 0) {
            for (size_t e = have; e < count; e++) result[e] = result[0];
            if (inf->in_count > 1) continue;
            memcpy(next, result, count * sizeof *next);
        }
        for (size_t e = 0; e < count; e++)
            result[e] = sdx_ew_fit(dtype, content(inf, result[e], next[have == 1 ? 0 : e]));
    }
    sdx_infer_set_contents(inf, 0, result, count);
}

unsigned sdx_ew_order(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    unsigned possible = SDX_EW_LESS | SDX_EW_SAME | SDX_EW_MORE;
    int64_t bound;
    if (sdx_expr_same(a, b)) return SDX_EW_SAME;
    const sdx_expr difference = sdx_inf_sub(inf, a, b);
    if (sdx_expr_is_unknown(difference)) return possible;
    if (sdx_expr_lower_bound(inf->pool, difference, &bound)) {
        if (bound >= 0) possible &= ~(unsigned)SDX_EW_LESS;
        if (bound > 0) possible &= ~(unsigned)SDX_EW_SAME;
    }
    if (sdx_expr_upper_bound(inf->pool, difference, &bound)) {
        if (bound <= 0) possible &= ~(unsigned)SDX_EW_MORE;
        if (bound < 0) possible &= ~(unsigned)SDX_EW_SAME;
    }
    return possible;
}
