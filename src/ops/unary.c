/* unary.c - operators that map each element by itself: what they share, and the ones that are one
 * function of libm (exponentials, roots, trigonometry, …; the commonest of them over arrays, from
 * kernels/vexp.h, in float32). Activations are in unary_activation.c, the
 * exact ones (signs, roundings, tests) in unary_exact.c. */
#include <tgmath.h>

#include "kernels/vexp.h"
#include "ops/elementwise.h"

sdx_status sdx_unary_prepare(sdx_prep *prep) {
    const sdx_unary_op *op = prep->def->aux;
    sdx_unary_params *params = prep->params;
    for (int i = 0; i < 2 && op->attr[i]; i++)
        SDX_TRY(sdx_attr_get_float(prep, op->attr[i], op->fallback[i], &params->value[i]));
    if (prep->version < 6) sdx_attr_ignore(prep, "consumed_inputs");
    return SDX_STATUS_OK;
}

sdx_status sdx_unary_infer(sdx_infer *inf) {
    const sdx_unary_op *op = inf->def->aux;
    SDX_TRY(sdx_ew_infer_like(inf, op->out));
    if (op->content && inf->in[0].type.rank >= 0)
        sdx_ew_fold_contents(inf, sdx_infer_dtype(inf, 0), inf->in[0].type.rank,
                             inf->in[0].type.dims, op->content);
    return SDX_STATUS_OK;
}

sdx_status sdx_unary_run(sdx_call *call) {
    const sdx_unary_op *op = call->def->aux;
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    if (out) sdx_ew_apply(call, &op->kernels, call->params, out, &in, 1);
    return SDX_STATUS_OK;
}

/* ---- one call of libm ---------------------------------------------------------------------- */

/* op is the type-generic name: float calls expf where double calls exp. */
#define KERNEL(op, suffix, TYPE, DTYPE)                                                           \
    SDX_UNARY_KERNEL(op##_##suffix, TYPE, T, sdx_unary_params, op(x))
#define MATH_OF(op, types, effort)                                                                \
    SDX_EW_FLOATS(KERNEL, op)                                                                     \
    static const sdx_unary_op op##_op = {                                                         \
        .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, op)}, .grain = effort}};                   \
    SDX_UNARY(op, types, op##_op)
#define MATH(op) MATH_OF(op, SDX_T_FLOATS, SDX_EW_GRAIN_HEAVY)
/* float32 by a function over whole arrays in place of libm. */
#define ARRAYS(op, FUNCTION, types)                                                               \
    static void op##_f32(const sdx_tile *t) {                                                     \
        for (size_t r = 0; r < t->rows; r++)                                                      \
            FUNCTION((const float *)t->in[0] + r * t->row[0],                                     \
                     (float *)t->out + r * t->out_row, t->n);                                     \
    }                                                                                             \
    KERNEL(op, f64, double, FLOAT64)                                                              \
    static const sdx_unary_op op##_op = {                                                         \
        .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, op)}, .grain = SDX_EW_GRAIN_HEAVY}};       \
    SDX_UNARY(op, types, op##_op)

static void erf_array(const float *in, float *out, size_t n) { sdx_f32_erf(in, 1, out, n); }

ARRAYS(exp, sdx_f32_exp, SDX_T_FLOATS);
MATH(log);
MATH(sin);
MATH(cos);
MATH(tan);
MATH(asin);
MATH(acos);
MATH(atan);
MATH(sinh);
MATH(cosh);
ARRAYS(tanh, sdx_f32_tanh, SDX_T_FLOATS);
MATH(asinh);
MATH(acosh);
MATH(atanh);
MATH_OF(sqrt, SDX_T_FLOATS, SDX_EW_GRAIN);
MATH_OF(floor, SDX_T_FLOATS, SDX_EW_GRAIN);
MATH_OF(ceil, SDX_T_FLOATS, SDX_EW_GRAIN);
/* Version 9 lets integers in too; they go through double and back. */
ARRAYS(erf, erf_array, SDX_T_NUMERIC);
