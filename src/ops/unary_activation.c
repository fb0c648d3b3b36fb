/* unary_activation.c - activation functions of one tensor, with their float attributes. NaN comes
 * out as NaN wherever the standard's reference lets it, hence comparisons that are false for NaN
 * lead to x itself. */
#include <tgmath.h>

#include "ops/elementwise.h"

#define A ((T)p->value[0])
#define B ((T)p->value[1])
#define KERNEL(op, suffix, TYPE, DTYPE)                                                           \
    SDX_UNARY_KERNEL(op##_##suffix, TYPE, T, sdx_unary_params, DEFINE_##op)
/* float32 by a vector kernel, float64 by the definition. */
#define VECTOR(op, FUNCTION)                                                                      \
    SDX_VECTOR_UNARY(op##_f32, sdx_unary_params, FUNCTION, p->value[0], p->value[1])              \
    KERNEL(op, f64, double, FLOAT64)
#define KERNELS(op, effort) {.of = {SDX_EW_FLOATS(SDX_EW_BODY, op)}, .grain = (effort)}
/* An operator with up to two float attributes: name, default, name, default. */
#define ACTIVATION(op, types, effort, name1, default1, name2, default2)                           \
    static const sdx_unary_op op##_op = {.kernels = KERNELS(op, effort),                          \
                                         .attr = {name1, name2},                                  \
                                         .fallback = {default1, default2}};                       \
    SDX_UNARY(op, types, op##_op)
#define PLAIN(op, effort) ACTIVATION(op, SDX_T_FLOATS, effort, NULL, 0, NULL, 0)
#define LIGHT SDX_EW_GRAIN
#define HEAVY SDX_EW_GRAIN_MIDDLE

/* ---- without transcendental functions ------------------------------------------------------- */

/* Clamped to [0, 1]; two choices after each other vectorise where nested ones do not. */
#define POSITIVE(v) ((v) < 0 ? 0 : (v))
#define UNIT(v) (POSITIVE(v) > 1 ? 1 : POSITIVE(v))
#define DEFINE_softsign x / (1 + fabs(x))
#define DEFINE_hard_swish x *UNIT(x * (T)(1.0 / 6) + (T)0.5)
#define DEFINE_hard_sigmoid UNIT(A *x + B)
#define DEFINE_leaky_relu x < 0 ? A *x : x
#define DEFINE_thresholded_relu x > A ? x : 0
#define DEFINE_shrink x < -A ? x + B : x > A ? x - B : 0

VECTOR(softsign, SDX_F32_SOFTSIGN)
VECTOR(hard_swish, SDX_ACT_HARD_SWISH)
VECTOR(hard_sigmoid, SDX_ACT_HARD_SIGMOID)
VECTOR(leaky_relu, SDX_ACT_LEAKY)
SDX_EW_FLOATS(KERNEL, thresholded_relu)
SDX_EW_FLOATS(KERNEL, shrink)

PLAIN(softsign, LIGHT);
PLAIN(hard_swish, LIGHT);
ACTIVATION(hard_sigmoid, SDX_T_FLOATS, LIGHT, "alpha", 0.2f, "beta", 0.5f);
ACTIVATION(leaky_relu, SDX_T_FLOATS, LIGHT, "alpha", 0.01f, NULL, 0);
ACTIVATION(thresholded_relu, SDX_T_FLOATS, LIGHT, "alpha", 1, NULL, 0);
/* Integers go through double: the attributes need not be whole. */
ACTIVATION(shrink, SDX_T_NUMERIC, LIGHT, "lambd", 0.5f, "bias", 0);

/* ---- with ----------------------------------------------------------------------------------- */

/* exp(-|x|) cannot overflow, and log1p keeps what is left of it beside a large x. */
#define SOFTPLUS(x) (log1p(exp(-fabs(x))) + ((x) > 0 ? (x) : 0))
#define DEFINE_softplus SOFTPLUS(x)
#define DEFINE_mish x *tanh(SOFTPLUS(x))
#define DEFINE_sigmoid 1 / (1 + exp(-x))
#define DEFINE_swish x / (1 + exp(-A * x))
#define DEFINE_elu x < 0 ? A * expm1(x) : x
#define DEFINE_selu B *(x > 0 ? x : A * expm1(x))
#define DEFINE_celu x > 0 ? x : A *expm1(x / A)

VECTOR(softplus, SDX_F32_SOFTPLUS)
VECTOR(mish, SDX_F32_MISH)
VECTOR(sigmoid, SDX_ACT_SIGMOID)
VECTOR(swish, SDX_ACT_SWISH)
VECTOR(elu, SDX_F32_ELU)
VECTOR(selu, SDX_F32_SELU)
VECTOR(celu, SDX_F32_CELU)

PLAIN(softplus, HEAVY);
PLAIN(mish, HEAVY);
PLAIN(sigmoid, HEAVY);
ACTIVATION(swish, SDX_T_FLOATS, HEAVY, "alpha", 1, NULL, 0);
ACTIVATION(elu, SDX_T_FLOATS, HEAVY, "alpha", 1, NULL, 0);
ACTIVATION(selu, SDX_T_FLOATS, HEAVY, "alpha", 1.67326319217681884765625f, "gamma",
           1.05070102214813232421875f);
ACTIVATION(celu, SDX_T_FLOATS, HEAVY, "alpha", 1, NULL, 0);

/* Before version 6 Selu had other, rounder defaults. */
static const sdx_unary_op selu_1_op = {.kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, selu)},
                                                   .grain = HEAVY},
                                       .attr = {"alpha", "gamma"},
                                       .fallback = {1.6732f, 1.0507f}};
SDX_UNARY(selu_1, SDX_T_FLOATS, selu_1_op);

/* ---- Relu: integers too, in their own type ------------------------------------------------- */

#define DEFINE_relu POSITIVE(x)

SDX_VECTOR_UNARY(relu_f32, sdx_unary_params, SDX_ACT_CLIP, 0, INFINITY)
KERNEL(relu, f64, double, FLOAT64)
SDX_EW_SIGNED(KERNEL, relu)

static sdx_expr relu_content(sdx_infer *inf, sdx_expr a, sdx_expr b) {
    (void)b;
    return sdx_expr_max(inf->pool, a, sdx_expr_const(0));
}

static const sdx_unary_op relu_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_BODY, relu) SDX_EW_SIGNED(SDX_EW_BODY, relu)}},
    .content = relu_content};
SDX_UNARY(relu, SDX_T_FLOATS | SDX_T_SIGNED, relu_op);

/* ---- Gelu: two formulas -------------------------------------------------------------------- */

/* 1 + erf(z) = erfc(-z), without the cancellation for negative z. */
#define DEFINE_gelu_erf x *(erfc(x * (T)-0.70710678118654752440) / 2)
#define GELU_TANH_ARG ((T)0.79788456080286535588 * (x + (T)0.044715 * x * x * x))
#define DEFINE_gelu_tanh x *((1 + tanh(GELU_TANH_ARG)) / 2)

VECTOR(gelu_erf, SDX_ACT_GELU)
VECTOR(gelu_tanh, SDX_ACT_GELU_TANH)

static sdx_status gelu_prepare(sdx_prep *prep) {
    static const char *const words[] = {"none", "tanh", NULL};
    sdx_unary_params *params = prep->params;
    return sdx_attr_get_choice(prep, "approximate", 0, words, &params->mode);
}

#define GELU(op, suffix, TYPE, DTYPE)                                                             \
    static void op##_##suffix(const sdx_tile *t) {                                                \
        const sdx_unary_params *p = t->params;                                                    \
        (p->mode == 0 ? op##_erf_##suffix : op##_tanh_##suffix)(t);                               \
    }
SDX_EW_FLOATS(GELU, gelu)

static const sdx_unary_op gelu_op = {.kernels = KERNELS(gelu, HEAVY)};
SDX_UNARY_WITH(gelu, SDX_T_FLOATS, gelu_prepare, gelu_op);
