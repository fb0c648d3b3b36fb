/* unary_exact.c - unary operators that lose nothing: signs, rounding to nearest, reciprocal,
 * complements, and the tests IsNaN and IsInf. Integers wrap as two's complement. */
#include <tgmath.h>

#include "ops/elementwise.h"

#define KERNEL(op, suffix, TYPE, DTYPE)                                                           \
    SDX_UNARY_KERNEL(op##_##suffix, TYPE, T, sdx_unary_params, DEFINE_##op)
/* float32 by a vector kernel, float64 by the definition. */
#define VECTOR(op, FUNCTION)                                                                      \
    SDX_VECTOR_UNARY(op##_f32, sdx_unary_params, FUNCTION, 0, 0)                                  \
    KERNEL(op, f64, double, FLOAT64)
#define TEST_KERNEL(op, suffix, TYPE, DTYPE)                                                      \
    SDX_UNARY_KERNEL(op##_##suffix, TYPE, uint8_t, sdx_unary_params, DEFINE_##op)

/* ---- Abs, Neg, Sign ------------------------------------------------------------------------- */

#define DEFINE_abs_float fabs(x)
/* 0u - x: unsigned from 32 bits up, so the least integer stays itself without overflow. */
#define DEFINE_abs_int x < 0 ? (T)(0u - (uint64_t)x) : x
#define DEFINE_neg_float -x
#define DEFINE_neg_wrap 0u - x
#define DEFINE_sign_float x > 0 ? 1 : x < 0 ? -1 : x
#define DEFINE_sign_int (x > 0) - (x < 0)
#define DEFINE_sign_unsigned x != 0
#define DEFINE_copy x

VECTOR(abs_float, SDX_F32_ABS)
SDX_EW_SIGNED(KERNEL, abs_int)
SDX_EW_UNSIGNED(KERNEL, copy)
VECTOR(neg_float, SDX_F32_NEG)
SDX_EW_UNSIGNED(KERNEL, neg_wrap)
SDX_EW_FLOATS(KERNEL, sign_float)
SDX_EW_SIGNED(KERNEL, sign_int)
SDX_EW_UNSIGNED(KERNEL, sign_unsigned)

static sdx_expr neg_content(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    (void)b;
    return sdx_inf_sub(inf, sdx_expr_const(0), a);
}

static sdx_expr abs_content(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    return sdx_expr_max(inf->pool, a, neg_content(inf, a, b));
}

static const sdx_unary_op abs_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, abs_float) SDX_EW_SIGNED(SDX_EW_ENTRY, abs_int)
                           SDX_EW_UNSIGNED(SDX_EW_ENTRY, copy)}},
    .content = abs_content};
static const sdx_unary_op neg_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, neg_float) SDX_EW_WRAPPING(neg_wrap)}},
    .content = neg_content};
static const sdx_unary_op sign_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, sign_float)
                           SDX_EW_SIGNED(SDX_EW_ENTRY, sign_int)
                               SDX_EW_UNSIGNED(SDX_EW_ENTRY, sign_unsigned)}}};

SDX_UNARY(abs, SDX_T_NUMERIC, abs_op);
SDX_UNARY(neg, SDX_T_FLOATS | SDX_T_SIGNED, neg_op);
SDX_UNARY(sign, SDX_T_NUMERIC, sign_op);

/* ---- Round, Reciprocal ---------------------------------------------------------------------- */

#define DEFINE_round rint(x) /* halves to even, as the default rounding mode has it */
#define DEFINE_reciprocal 1 / x

VECTOR(round, SDX_F32_ROUND)
VECTOR(reciprocal, SDX_F32_RECIPROCAL)

static const sdx_unary_op round_op = {.kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, round)}}};
static const sdx_unary_op reciprocal_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, reciprocal)}}};

SDX_UNARY(round, SDX_T_FLOATS, round_op);
SDX_UNARY(reciprocal, SDX_T_FLOATS, reciprocal_op);

/* ---- Not, BitwiseNot ------------------------------------------------------------------------ */

#define DEFINE_not x == 0
#define DEFINE_complement ~(x | 0u)

KERNEL(not, u8, uint8_t, BOOL)
SDX_EW_UNSIGNED(KERNEL, complement)

static sdx_expr not_content(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    (void)inf, (void)b;
    return sdx_expr_is_const(a) ? sdx_expr_const(sdx_expr_value(a) == 0) : SDX_EXPR_UNKNOWN;
}

static const sdx_unary_op not_op = {.kernels = {.of = {[SDX_DTYPE_BOOL] = not_u8}},
                                    .content = not_content};
static const sdx_unary_op bitwise_not_op = {.kernels = {.of = {SDX_EW_WRAPPING(complement)}}};

SDX_UNARY(not, SDX_T(BOOL), not_op);
SDX_UNARY(bitwise_not, SDX_T_INTS, bitwise_not_op);

/* ---- IsNaN, IsInf --------------------------------------------------------------------------- */

enum { DETECT_NEGATIVE = 1, DETECT_POSITIVE = 2 };
#define DEFINE_is_nan x != x
#define DEFINE_is_inf                                                                             \
    (x == (T)INFINITY && (p->mode & DETECT_POSITIVE) != 0) ||                                     \
        (x == (T)-INFINITY && (p->mode & DETECT_NEGATIVE) != 0)

SDX_EW_FLOATS(TEST_KERNEL, is_nan)
SDX_EW_FLOATS(TEST_KERNEL, is_inf)

static sdx_status is_inf_prepare(sdx_prep *prep) {
    sdx_unary_params *params = prep->params;
    bool negative, positive;
    SDX_TRY(sdx_attr_get_bool(prep, "detect_negative", true, &negative));
    SDX_TRY(sdx_attr_get_bool(prep, "detect_positive", true, &positive));
    params->mode = (negative ? DETECT_NEGATIVE : 0) | (positive ? DETECT_POSITIVE : 0);
    return SDX_STATUS_OK;
}

static const sdx_unary_op is_nan_op = {.kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, is_nan)}},
                                       .out = SDX_DTYPE_BOOL};
static const sdx_unary_op is_inf_op = {.kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, is_inf)}},
                                       .out = SDX_DTYPE_BOOL};

SDX_UNARY(is_nan, SDX_T_FLOATS | SDX_T_FLOAT8, is_nan_op);
SDX_UNARY_WITH(is_inf, SDX_T_FLOATS | SDX_T_FLOAT8, is_inf_prepare, is_inf_op);
