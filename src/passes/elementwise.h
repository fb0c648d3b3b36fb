/* elementwise.h - operators that do not care in which order the elements lie: what layouts and
 * transpositions may pass through. */
#ifndef SDX_PASSES_ELEMENTWISE_H
#define SDX_PASSES_ELEMENTWISE_H

#include "passes/build.h"

/* Operators of ai.onnx. Unary: every element of input 0 by itself; the other inputs are scalars. */
bool sdx_is_unary(const char *op);
/* Broadcast to a common shape, element by element. */
bool sdx_is_broadcast(const char *op);
/* Of one element and rank 0 or 1: the same in every layout. */
bool sdx_is_scalar(const sdx_build *b, sdx_id value);

#endif
