/* unary.c - operators that map each element by itself: what they share, and the ones that are one
 * function of libm (exponentials, roots, trigonometry, …; in float32 the commonest of them are
 * vector kernels). Activations are in unary_activation.c, the exact ones (signs, roundings, tests)
 * in unary_exact.c. */
#include <tgmath.h>

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
#define MATH(op)                                                                                  \
    SDX_EW_FLOATS(KERNEL, op)                                                                     \
    static const sdx_unary_op op##_op = {                                                         \
        .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_BODY, op)}, .grain = SDX_EW_GRAIN_HEAVY}};        \
    SDX_UNARY(op, SDX_T_FLOATS, op##_op)
/* float32 by a vector kernel in place of libm. */
#define VECTOR(op, FUNCTION, types, effort)                                                       \
    SDX_VECTOR_UNARY(op##_f32, sdx_unary_params, FUNCTION, 0, 0)                                  \
    KERNEL(op, f64, double, FLOAT64)                                                              \
    static const sdx_unary_op op##_op = {                                                         \
        .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_BODY, op)}, .grain = effort}};                    \
    SDX_UNARY(op, types, op##_op)

VECTOR(exp, SDX_F32_EXP, SDX_T_FLOATS, SDX_EW_GRAIN_MIDDLE);
VECTOR(log, SDX_F32_LOG, SDX_T_FLOATS, SDX_EW_GRAIN_MIDDLE);
MATH(sin);
MATH(cos);
MATH(tan);
MATH(asin);
MATH(acos);
MATH(atan);
MATH(sinh);
MATH(cosh);
VECTOR(tanh, SDX_ACT_TANH, SDX_T_FLOATS, SDX_EW_GRAIN_MIDDLE);
MATH(asinh);
MATH(acosh);
MATH(atanh);
VECTOR(sqrt, SDX_F32_SQRT, SDX_T_FLOATS, SDX_EW_GRAIN);
VECTOR(floor, SDX_F32_FLOOR, SDX_T_FLOATS, SDX_EW_GRAIN);
VECTOR(ceil, SDX_F32_CEIL, SDX_T_FLOATS, SDX_EW_GRAIN);
/* Version 9 lets integers in too; they go through double and back. */
VECTOR(erf, SDX_F32_ERF, SDX_T_NUMERIC, SDX_EW_GRAIN_MIDDLE);
