/* binary_arithmetic.c - Add, Sub, Mul, Div and Mod. Integers wrap (the unsigned kernel of a width
 * serves the signed type too); division by an integer zero is refused before the kernel runs.
 * All five fold symbolic contents, since they make up most shape arithmetic. */
#include <tgmath.h>

#include "ops/elementwise.h"

#define KERNEL(op, suffix, TYPE, DTYPE)                                                           \
    SDX_BINARY_KERNEL(op##_##suffix, TYPE, T, sdx_binary_params, DEFINE_##op)

/* ---- Add, Sub, Mul -------------------------------------------------------------------------- */

#define DEFINE_add x + y
#define DEFINE_sub x - y
#define DEFINE_mul x *y
#define DEFINE_mul_wrap 1u * x *y /* 16-bit operands would multiply as signed int */

SDX_VECTOR_BINARY(add_f32, SDX_F32_ADD)
KERNEL(add, f64, double, FLOAT64)
SDX_EW_UNSIGNED(KERNEL, add)
SDX_VECTOR_BINARY(sub_f32, SDX_F32_SUB)
KERNEL(sub, f64, double, FLOAT64)
SDX_EW_UNSIGNED(KERNEL, sub)
SDX_VECTOR_BINARY(mul_f32, SDX_F32_MUL)
KERNEL(mul, f64, double, FLOAT64)
SDX_EW_UNSIGNED(KERNEL, mul_wrap)

static const sdx_binary_op add_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_BODY, add) SDX_EW_WRAPPING(add)}},
    .content = sdx_inf_add};
static const sdx_binary_op sub_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_BODY, sub) SDX_EW_WRAPPING(sub)}},
    .content = sdx_inf_sub};
static const sdx_binary_op mul_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_BODY, mul) SDX_EW_WRAPPING(mul_wrap)}},
    .content = sdx_inf_mul};

SDX_BINARY(add, SDX_T_NUMERIC, add_op);
SDX_BINARY(sub, SDX_T_NUMERIC, sub_op);
SDX_BINARY(mul, SDX_T_NUMERIC, mul_op);

/* ---- Div ------------------------------------------------------------------------------------ */

#define DEFINE_div x / y
#define DEFINE_div_signed y == -1 ? (T)(0u - (uint64_t)x) : (T)(x / y) /* the least one wraps */

SDX_VECTOR_BINARY(div_f32, SDX_F32_DIV)
KERNEL(div, f64, double, FLOAT64)
SDX_EW_UNSIGNED(KERNEL, div)
SDX_EW_SIGNED(KERNEL, div_signed)

/* Whether both are known to be numbers of which the quotient cuts and floors alike. */
static bool divides_plainly(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    const sdx_expr zero = sdx_expr_const(0);
    return (sdx_ew_order(inf, a, zero) & SDX_EW_LESS) == 0 &&
           sdx_ew_order(inf, b, zero) == SDX_EW_MORE;
}

static sdx_expr div_content(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    if (sdx_expr_is(b, -1)) return sdx_inf_sub(inf, sdx_expr_const(0), a);
    if (sdx_expr_is_const(a) && sdx_expr_is_const(b) && sdx_expr_value(b) != 0)
        return sdx_expr_const(sdx_expr_value(a) / sdx_expr_value(b));
    const sdx_expr exact = sdx_expr_divide_exact(inf->pool, a, b);
    if (!sdx_expr_is_unknown(exact)) return exact;
    return divides_plainly(inf, a, b) ? sdx_expr_floordiv(inf->pool, a, b) : SDX_EXPR_UNKNOWN;
}

static const sdx_binary_op div_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_BODY, div) SDX_EW_UNSIGNED(SDX_EW_ENTRY, div)
                           SDX_EW_SIGNED(SDX_EW_ENTRY, div_signed)}},
    .divides = true,
    .content = div_content};
SDX_BINARY(div, SDX_T_NUMERIC, div_op);

/* ---- Mod ------------------------------------------------------------------------------------ */

/* Sign of y, as Python's %; a zero too has it. */
static inline double floor_mod_f64(double x, double y) {
    const double m = fmod(x, y);
    if (m == 0) return copysign(m, y);
    return (m < 0) != (y < 0) ? m + y : m;
}

static inline float floor_mod_f32(float x, float y) {
    const float m = fmod(x, y);
    if (m == 0) return copysign(m, y);
    return (m < 0) != (y < 0) ? m + y : m;
}

static inline int64_t trunc_mod_int(int64_t x, int64_t y) { return y == -1 ? 0 : x % y; }

static inline int64_t floor_mod_int(int64_t x, int64_t y) {
    const int64_t m = trunc_mod_int(x, y);
    return m != 0 && (m < 0) != (y < 0) ? m + y : m;
}

#define DEFINE_mod_trunc_float fmod(x, y)
#define DEFINE_mod_floor_float _Generic(x, float : floor_mod_f32, double : floor_mod_f64)(x, y)
#define DEFINE_mod_trunc_signed trunc_mod_int(x, y)
#define DEFINE_mod_floor_signed floor_mod_int(x, y)
#define DEFINE_mod_unsigned x % y

SDX_EW_FLOATS(KERNEL, mod_trunc_float)
SDX_EW_FLOATS(KERNEL, mod_floor_float)
SDX_EW_SIGNED(KERNEL, mod_trunc_signed)
SDX_EW_SIGNED(KERNEL, mod_floor_signed)
SDX_EW_UNSIGNED(KERNEL, mod_unsigned)

#define CHOOSE(kind, suffix, TYPE, DTYPE)                                                         \
    static void mod_##suffix(const sdx_tile *t) {                                                 \
        const sdx_binary_params *p = t->params;                                                   \
        (p->mode != 0 ? mod_trunc_##kind##_##suffix : mod_floor_##kind##_##suffix)(t);            \
    }
SDX_EW_FLOATS(CHOOSE, float)
SDX_EW_SIGNED(CHOOSE, signed)

static sdx_status mod_prepare(sdx_prep *prep) {
    sdx_binary_params *params = prep->params;
    bool fmod_like;
    SDX_TRY(sdx_attr_get_bool(prep, "fmod", false, &fmod_like));
    params->mode = fmod_like;
    return sdx_binary_prepare(prep);
}

static sdx_expr mod_content(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    const sdx_binary_params *params = inf->params;
    if (params->mode != 0 && !divides_plainly(inf, a, b)) {
        if (!sdx_expr_is_const(a) || !sdx_expr_is_const(b) || sdx_expr_is(b, 0))
            return SDX_EXPR_UNKNOWN;
        return sdx_expr_const(sdx_expr_value(a) % sdx_expr_value(b));
    }
    return sdx_expr_mod(inf->pool, a, b);
}

static const sdx_binary_op mod_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, mod) SDX_EW_SIGNED(SDX_EW_ENTRY, mod)
                           SDX_EW_UNSIGNED(SDX_EW_ENTRY, mod_unsigned)},
                .grain = SDX_EW_GRAIN_HEAVY},
    .divides = true,
    .content = mod_content};
SDX_BINARY_WITH(mod, SDX_T_NUMERIC, mod_prepare, sdx_binary_infer, sdx_binary_run, mod_op);
