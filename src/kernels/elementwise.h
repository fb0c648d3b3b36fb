/* elementwise.h - functions of one and of two floats that have kernels for each instruction set:
 * f32_unary and f32_binary of kernels.def. */
#ifndef SDX_KERNELS_ELEMENTWISE_H
#define SDX_KERNELS_ELEMENTWISE_H

#include <stdbool.h>

#include "kernels/tail.h"

/* The activations of tail.h under their own numbers, and these. a and b are parameters. */
typedef enum sdx_f32_function {
    SDX_F32_COPY = SDX_ACT_NONE,
    SDX_F32_NEG = SDX_ACT_COUNT,
    SDX_F32_ABS,
    SDX_F32_SQRT,
    SDX_F32_RECIPROCAL,
    SDX_F32_SQUARE,
    SDX_F32_CUBE,
    SDX_F32_FLOOR,
    SDX_F32_CEIL,
    SDX_F32_ROUND, /* halves to even */
    SDX_F32_EXP,   /* with gradual underflow */
    SDX_F32_LOG,
    SDX_F32_ERF,
    SDX_F32_SOFTPLUS,
    SDX_F32_SOFTSIGN,
    SDX_F32_MISH,
    SDX_F32_ELU,  /* x < 0 ? a * (e^x - 1) : x */
    SDX_F32_SELU, /* b * (x > 0 ? x : a * (e^x - 1)) */
    SDX_F32_CELU, /* x > 0 ? x : a * (e^(x/a) - 1) */
    SDX_F32_FUNCTION_COUNT
} sdx_f32_function;

typedef enum sdx_f32_operator {
    SDX_F32_ADD,
    SDX_F32_SUB,
    SDX_F32_MUL,
    SDX_F32_DIV,
    SDX_F32_MIN, /* what is not a number wins */
    SDX_F32_MAX,
    SDX_F32_OPERATOR_COUNT
} sdx_f32_operator;

/* out = a (operator) b over rows of n. An operand moves along a row or stays, as step says; out may
 * be the memory of an operand that moves along with it. */
typedef struct sdx_f32_pairs {
    sdx_f32_operator operator;
    const float *a, *b;
    float *out;
    size_t rows, n;
    size_t a_row, b_row, out_row; /* floats from row to row */
    bool a_step, b_step;
} sdx_f32_pairs;

#endif
