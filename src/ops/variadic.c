/* variadic.c - Min, Max, Sum and Mean of any number of broadcast tensors. Two operands are one
 * binary run. More are folded block by block in a buffer on the stack, so each tensor is read
 * once, small floats are summed in float32, and the output may share memory with any input. */
#include "ops/elementwise.h"

#define KERNEL(op, suffix, TYPE, DTYPE)                                                           \
    SDX_BINARY_KERNEL(op##_##suffix, TYPE, T, void, DEFINE_##op)
#define COPY(op, suffix, TYPE, DTYPE)                                                             \
    static void op##_##suffix(const sdx_tile *t) {                                                \
        const TYPE *a = t->in[0];                                                                 \
        TYPE *o = t->out;                                                                         \
        for (size_t r = 0; r < t->rows; r++, a += t->row[0], o += t->out_row)                     \
            for (size_t i = 0; i < t->n; i++) o[i] = a[t->step[0] ? i : 0];                       \
    }
#define DIVIDE(op, suffix, TYPE, DTYPE)                                                           \
    SDX_UNARY_KERNEL(op##_##suffix, TYPE, T, size_t, x / (T)*p)

/* A NaN on either side wins. */
#define DEFINE_min_float x < y || x != x ? x : y
#define DEFINE_max_float x > y || x != x ? x : y
#define DEFINE_min_int x < y ? x : y
#define DEFINE_max_int x > y ? x : y
#define DEFINE_sum x + y

SDX_VECTOR_BINARY(min_float_f32, SDX_F32_MIN)
KERNEL(min_float, f64, double, FLOAT64)
SDX_VECTOR_BINARY(max_float_f32, SDX_F32_MAX)
KERNEL(max_float, f64, double, FLOAT64)
SDX_EW_INTS(KERNEL, min_int)
SDX_EW_INTS(KERNEL, max_int)
SDX_VECTOR_BINARY(sum_f32, SDX_F32_ADD)
KERNEL(sum, f64, double, FLOAT64)
SDX_EW_FLOATS(COPY, copy)
SDX_EW_UNSIGNED(COPY, copy)
SDX_EW_FLOATS(DIVIDE, divide)

typedef struct variadic_op {
    sdx_ew_kernels kernels;
    bool mean;
    sdx_ew_content content;
} variadic_op;

static const sdx_ew_kernels copies = {
    .of = {SDX_EW_FLOATS(SDX_EW_ENTRY, copy) SDX_EW_WRAPPING(copy)}};
static const sdx_ew_kernels divisions = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, divide)}};

static sdx_status variadic_prepare(sdx_prep *prep) {
    if (prep->version < 6) sdx_attr_ignore(prep, "consumed_inputs");
    return SDX_STATUS_OK;
}

static sdx_status variadic_infer(sdx_infer *inf) {
    const variadic_op *op = inf->def->aux;
    inf->scratch = sdx_expr_const((int64_t)(inf->in_count * sizeof(sdx_ew)));
    for (uint32_t i = 0; i < inf->in_count; i++)
        if (!sdx_infer_present(inf, i)) return sdx_infer_fail(inf, "input %u is left out", i);
    /* Until version 7 there was no broadcasting. */
    const int32_t rank = sdx_infer_rank(inf, 0);
    for (uint32_t i = 1; i < inf->in_count && inf->version < 8 && rank >= 0; i++) {
        SDX_TRY(sdx_infer_require_rank(inf, i, rank));
        for (int32_t d = 0; d < rank; d++)
            SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 0, d),
                                            sdx_infer_dim(inf, i, d), "a dim of two inputs"));
    }
    return sdx_ew_infer_broadcast(inf, 0, SDX_DTYPE_UNDEFINED, op->content);
}

/* ---- more than two -------------------------------------------------------------------------- */

typedef struct fold {
    const sdx_ew *plans; /* one per input: the first copies, the others accumulate */
    size_t inputs;
    sdx_tile_kernel divide; /* NULL unless a mean is wanted */
    sdx_tensor *out;
    sdx_dtype compute;
} fold;

static void fold_piece(void *arg, size_t begin, size_t end) {
    const fold *f = arg;
    const size_t size = sdx_dtype_size(f->out->dtype);
    _Alignas(64) unsigned char buffer[SDX_EW_BLOCK * 8];
    for (size_t at = begin; at < end; at += SDX_EW_BLOCK) {
        const size_t n = end - at < SDX_EW_BLOCK ? end - at : SDX_EW_BLOCK;
        for (size_t k = 0; k < f->inputs; k++)
            sdx_ew_range(&f->plans[k], at, at + n, buffer);
        if (f->divide)
            f->divide(&(sdx_tile){
                .in = {buffer}, .out = buffer, .rows = 1, .n = n, .params = &f->inputs});
        sdx_convert(f->compute, f->out->dtype, buffer, (uint8_t *)f->out->data + at * size, n);
    }
}

static sdx_status fold_all(sdx_call *call, const variadic_op *op, sdx_tensor *out) {
    const uint32_t count = call->in_count;
    sdx_ew *plans = call->scratch;
    fold f = {.plans = plans, .inputs = count, .out = out};
    const sdx_tile_kernel kernel = sdx_ew_pick(&op->kernels, out->dtype, &f.compute);
    if (call->scratch_bytes < count * sizeof *plans)
        return sdx_call_fail_with(call, SDX_STATUS_INTERNAL, "no scratch memory for %u inputs",
                                  count);
    if (op->mean) f.divide = divisions.of[f.compute];
    for (uint32_t k = 0; k < count; k++) {
        sdx_ew *ew = &plans[k];
        sdx_ew_begin(ew, out);
        ew->out_type = ew->out_compute = f.compute;
        ew->out_size = sdx_dtype_size(f.compute);
        ew->kernel = k == 0 ? copies.of[f.compute] : kernel;
        ew->accumulates = k != 0;
        ew->inputs = k == 0 ? 0 : 1;
        sdx_ew_operand(ew, sdx_in(call, k));
        ew->in_compute[ew->inputs - 1] = f.compute;
        sdx_ew_collapse(ew);
    }
    sdx_call_parallel(call, out->count, SDX_EW_GRAIN / 2, fold_piece, &f);
    return SDX_STATUS_OK;
}

static sdx_status variadic_run(sdx_call *call) {
    const variadic_op *op = call->def->aux;
    const sdx_tensor *in[2] = {sdx_in(call, 0), sdx_in(call, 1)};
    sdx_tensor *out = sdx_out(call, 0);
    if (!out || out->count == 0) return SDX_STATUS_OK;
    if (call->in_count == 1) {
        sdx_copy_elements(in[0], out);
        return SDX_STATUS_OK;
    }
    if (call->in_count > 2 || op->mean) return fold_all(call, op, out);
    sdx_ew_apply(call, &op->kernels, NULL, out, in, 2);
    return SDX_STATUS_OK;
}

/* ---- operators ------------------------------------------------------------------------------ */

static sdx_expr min_content(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    return sdx_expr_min(inf->pool, a, b);
}
static sdx_expr max_content(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    return sdx_expr_max(inf->pool, a, b);
}

#define EXTREME(op)                                                                               \
    {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, op##_float) SDX_EW_INTS(SDX_EW_ENTRY, op##_int)}}

static const variadic_op min_op = {.kernels = EXTREME(min), .content = min_content};
static const variadic_op max_op = {.kernels = EXTREME(max), .content = max_content};
static const variadic_op sum_op = {.kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, sum)}}};
static const variadic_op mean_op = {.kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, sum)}},
                                    .mean = true};

#define VARIADIC(id, types)                                                                       \
    const sdx_op_def sdx_op_##id = {.min_in = 1,                                                  \
                                    .max_in = SDX_VARIADIC,                                       \
                                    .min_out = 1,                                                 \
                                    .max_out = 1,                                                 \
                                    .flags = SDX_OP_IN_PLACE | SDX_OP_SAME_TYPE,                  \
                                    .in_types = {types},                                          \
                                    .prepare = variadic_prepare,                                  \
                                    .infer = variadic_infer,                                      \
                                    .run = SDX_BODY(sdx_op_##id, variadic_run),                   \
                                    .aux = &id##_op}
VARIADIC(min, SDX_T_NUMERIC);
VARIADIC(max, SDX_T_NUMERIC);
VARIADIC(sum, SDX_T_FLOATS);
VARIADIC(mean, SDX_T_FLOATS);
