/* gradient.h - what the operator Gradient says, for the pass that puts ordinary nodes in its
 * place. */
#ifndef SDX_OPS_GRADIENT_H
#define SDX_OPS_GRADIENT_H

#include "ops/op.h"

typedef struct sdx_gradient_params {
    const sdx_id *xs, *zs; /* what the attributes name, in the scope of the node */
    size_t x_count, z_count;
    sdx_id y;
} sdx_gradient_params;

extern const sdx_op_def sdx_op_gradient;

#endif
