/* select.c - Where: elements of X or Y by a condition, all three broadcast. Elements are moved by
 * their size alone, so one kernel per size serves every type. */
#include "ops/elementwise.h"

#if defined(__GNUC__)
typedef struct SDX_EW_ANY pair64 {
#else
typedef struct pair64 {
#endif
    uint64_t low, high;
} pair64;

/* A mask keeps the loop free of branches, which data would mispredict and which cannot be
 * vectorised. */
#define BY_MASK(TYPE, condition) (TYPE)((yes & -(TYPE)(condition)) | (no & ~-(TYPE)(condition)))
#define BY_BRANCH(TYPE, condition) (condition) ? yes : no

/* The cases with long runs in real models get a loop of their own: masks with a full operand on
 * one side and a full operand or a constant on the other. */
#define WHERE(name, TYPE, CHOOSE)                                                                 \
    static void name(const sdx_tile *t) {                                                         \
        const size_t n = t->n, sc = t->step[0], sx = t->step[1], sy = t->step[2];                 \
        for (size_t r = 0; r < t->rows; r++) {                                                    \
            const uint8_t *c = (const uint8_t *)t->in[0] + r * t->row[0];                         \
            const TYPE *x = (const TYPE *)t->in[1] + r * t->row[1];                               \
            const TYPE *y = (const TYPE *)t->in[2] + r * t->row[2];                               \
            TYPE *o = (TYPE *)t->out + r * t->out_row;                                            \
            if (sc && sx && sy) {                                                                 \
                SDX_EW_LOOP for (size_t i = 0; i < n; i++) {                                      \
                    const TYPE yes = x[i], no = y[i];                                             \
                    o[i] = CHOOSE(TYPE, c[i] != 0);                                               \
                }                                                                                 \
            } else if (sc && sx) {                                                                \
                const TYPE no = *y;                                                               \
                SDX_EW_LOOP for (size_t i = 0; i < n; i++) {                                      \
                    const TYPE yes = x[i];                                                        \
                    o[i] = CHOOSE(TYPE, c[i] != 0);                                               \
                }                                                                                 \
            } else if (sc && sy) {                                                                \
                const TYPE yes = *x;                                                              \
                SDX_EW_LOOP for (size_t i = 0; i < n; i++) {                                      \
                    const TYPE no = y[i];                                                         \
                    o[i] = CHOOSE(TYPE, c[i] != 0);                                               \
                }                                                                                 \
            } else {                                                                              \
                SDX_EW_LOOP for (size_t i = 0; i < n; i++)                                        \
                    o[i] = c[i * sc] != 0 ? x[i * sx] : y[i * sy];                                \
            }                                                                                     \
        }                                                                                         \
    }

WHERE(where_8, sdx_bits8, BY_MASK)
WHERE(where_16, sdx_bits16, BY_MASK)
WHERE(where_32, sdx_bits32, BY_MASK)
WHERE(where_64, sdx_bits64, BY_MASK)
WHERE(where_128, pair64, BY_BRANCH)
WHERE(where_text, sdx_string, BY_BRANCH)

static sdx_tile_kernel where_kernel(sdx_dtype dtype) {
    if (dtype == SDX_DTYPE_STRING) return where_text;
    switch (sdx_dtype_size(dtype)) {
    case 1: return where_8;
    case 2: return where_16;
    case 4: return where_32;
    case 8: return where_64;
    default: return where_128;
    }
}

/* ---- contents ------------------------------------------------------------------------------- */

static bool fetch(const sdx_infer *inf, uint32_t i, sdx_expr *out, size_t count) {
    size_t have;
    if (!sdx_infer_contents(inf, i, out, SDX_MAX_CONTENTS, &have)) return false;
    if (have != 1 && have != count) return false;
    for (size_t e = have; e < count; e++) out[e] = out[0];
    return true;
}

static void where_contents(sdx_infer *inf, int32_t rank, const sdx_expr *dims) {
    enum { TAKE_Y, TAKE_X, TAKE_EITHER };
    uint8_t take[SDX_MAX_CONTENTS];
    sdx_expr x[SDX_MAX_CONTENTS], y[SDX_MAX_CONTENTS];
    size_t count;
    if (!inf->pool || !sdx_dtypes_has(SDX_T_INDEX | SDX_T(BOOL), sdx_ew_input_type(inf, 1)))
        return;
    if (!sdx_ew_known_count(rank, dims, SDX_MAX_CONTENTS, &count) || count == 0) return;
    if (!fetch(inf, 0, x, count)) return;
    for (size_t e = 0; e < count; e++)
        take[e] = !sdx_expr_is_const(x[e]) ? TAKE_EITHER : sdx_expr_value(x[e]) ? TAKE_X : TAKE_Y;
    if (!fetch(inf, 1, x, count) || !fetch(inf, 2, y, count)) return;
    for (size_t e = 0; e < count; e++) {
        if (take[e] == TAKE_Y) x[e] = y[e];
        else if (take[e] == TAKE_EITHER && !sdx_expr_same(x[e], y[e])) x[e] = SDX_EXPR_UNKNOWN;
    }
    sdx_infer_set_contents(inf, 0, x, count);
}

/* ---- the operator --------------------------------------------------------------------------- */

static sdx_status where_infer(sdx_infer *inf) {
    const sdx_dtype x = sdx_infer_dtype(inf, 1), y = sdx_infer_dtype(inf, 2);
    int32_t rank;
    sdx_expr dims[SDX_MAX_RANK];
    if (x != SDX_DTYPE_UNDEFINED && y != SDX_DTYPE_UNDEFINED && x != y)
        return sdx_infer_fail(inf, "X is %s and Y is %s; both must have one type",
                              sdx_dtype_name(x), sdx_dtype_name(y));
    if (sdx_ew_input_type(inf, 1) != SDX_DTYPE_UNDEFINED)
        sdx_infer_set_dtype(inf, 0, sdx_ew_input_type(inf, 1));
    SDX_TRY(sdx_infer_broadcast(inf, 0, inf->in_count, &rank, dims));
    SDX_TRY(sdx_infer_set_shape(inf, 0, rank, dims));
    where_contents(inf, rank, dims);
    return SDX_STATUS_OK;
}

static sdx_status where_run(sdx_call *call) {
    sdx_tensor *out = sdx_out(call, 0);
    if (!out || out->count == 0) return SDX_STATUS_OK;
    sdx_ew ew;
    sdx_ew_begin(&ew, out);
    for (uint32_t i = 0; i < 3; i++) sdx_ew_operand(&ew, sdx_in(call, i));
    ew.kernel = where_kernel(out->dtype);
    sdx_ew_run(call, &ew, 0);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_where = {
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .flags = SDX_OP_IN_PLACE,
    .in_types = {SDX_T(BOOL), SDX_T_NUMERIC | SDX_T_COMPLEX | SDX_T(BOOL) | SDX_T(STRING)},
    .infer = where_infer,
    .run = SDX_BODY(sdx_op_where, where_run)};
