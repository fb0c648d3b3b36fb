/* shape_known.h - Reshape and Expand to a shape that inference has found, as expressions of the symbols: what
 * a pass puts in place of the ordinary ones, so that nothing need compute the shape during a run. Made only
 * where the shapes of input and output follow from the symbols. */
#ifndef SDX_OPS_SHAPE_KNOWN_H
#define SDX_OPS_SHAPE_KNOWN_H

#include "ops/op.h"

typedef struct sdx_shape_known {
    const sdx_expr *dims;
    size_t rank;
} sdx_shape_known;

sdx_status sdx_shape_known_prepare(sdx_prep *prep);
/* The ordinary rules' checks are gone with the node: these stand for them. */
sdx_status sdx_reshape_known_infer(sdx_infer *inf); /* as many elements */
sdx_status sdx_expand_known_infer(sdx_infer *inf);  /* each dim is 1 or the same */

#endif
