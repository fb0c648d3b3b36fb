/* tail.h - what a product or convolution does to a result before it stores it: bias, an addend, an
 * activation. Shared by the kernels, their drivers and the fused operators. */
#ifndef SDX_KERNELS_TAIL_H
#define SDX_KERNELS_TAIL_H

#include <stddef.h>

#include "base/kept.h"

typedef enum sdx_act {
    SDX_ACT_NONE = 0,
    SDX_ACT_CLIP,         /* to [a, b]; Relu is [0, inf] */
    SDX_ACT_LEAKY,        /* x < 0 ? a * x : x */
    SDX_ACT_SIGMOID,
    SDX_ACT_SWISH,        /* x * sigmoid(a * x) */
    SDX_ACT_HARD_SIGMOID, /* clip(a * x + b, 0, 1) */
    SDX_ACT_HARD_SWISH,   /* x * clip(x / 6 + 1 / 2, 0, 1) */
    SDX_ACT_TANH,
    SDX_ACT_GELU,         /* by erf */
    SDX_ACT_GELU_TANH,
    SDX_ACT_COUNT
} sdx_act;

/* Whether this build has any that is more than a comparison. */
#define SDX_HAS_ACTS                                                                              \
    (SDX_HAS(act_leaky) || SDX_HAS(act_sigmoid) || SDX_HAS(act_swish) ||                          \
     SDX_HAS(act_hard_sigmoid) || SDX_HAS(act_hard_swish) || SDX_HAS(act_tanh) ||                 \
     SDX_HAS(act_gelu) || SDX_HAS(act_gelu_tanh))

typedef struct sdx_tail {
    const float *bias;   /* by column, padded with zeros to whole panels; NULL: none */
    const float *addend; /* as large as the result; NULL: none */
    size_t addend_stride; /* from row to row */
    sdx_act act;
    float a, b;
} sdx_tail;

#endif
