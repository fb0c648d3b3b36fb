/* view.h - a tensor as another one read in another order: what Transpose, Reshape, Slice, Gather of one
 * index, Squeeze and Unsqueeze do to a value, gone back through as far as plain strides can tell it, so that
 * an operator that takes strides can read the source itself. */
#ifndef SDX_PASSES_VIEW_H
#define SDX_PASSES_VIEW_H

#include "passes/rewrite.h"

#define SDX_VIEW_FACTORS 12

/* A dim of the value, or part of one: `extent` steps of `mult` elements along dim `dim` of the source.
 * Extent 0: as many as the dim has, divided by mult; for dims that no number is known of. */
typedef struct sdx_view_factor {
    int32_t group; /* the dim of the value that it belongs to */
    int32_t dim;
    int64_t mult, extent;
} sdx_view_factor;

typedef struct sdx_view {
    sdx_id source;
    int32_t rank; /* of the value */
    sdx_view_factor factors[SDX_VIEW_FACTORS]; /* by group, from the outermost in */
    uint32_t count;
    int64_t start[SDX_MAX_RANK]; /* by dim of the source: where it begins */
} sdx_view;

/* The value as itself; false if its rank is not known. */
bool sdx_view_begin(const sdx_rewrite *r, sdx_id value, sdx_view *view);
/* The same through the node that makes the source; false if that cannot be, then nothing has changed. */
bool sdx_view_back(sdx_rewrite *r, sdx_view *view);
/* How many factors a dim of the value has. */
uint32_t sdx_view_parts(const sdx_view *view, int32_t group);

#endif
