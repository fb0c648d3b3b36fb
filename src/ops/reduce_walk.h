/* reduce_walk.h - stepping through some dims of a tensor without a division per element: for
 * reductions, Einsum and whatever else visits a strided box. Strides count elements. */
#ifndef SDX_OPS_REDUCE_WALK_H
#define SDX_OPS_REDUCE_WALK_H

#include "ops/op.h"

typedef struct sdx_walk {
    int32_t rank;
    size_t size[SDX_MAX_RANK], stride[SDX_MAX_RANK];
    size_t index[SDX_MAX_RANK];
    size_t at; /* offset of the current element */
} sdx_walk;

/* Number of positions: 1 for rank 0. */
static inline size_t sdx_walk_count(const sdx_walk *walk) {
    size_t count = 1;
    for (int32_t d = 0; d < walk->rank; d++) count *= walk->size[d];
    return count;
}
/* Appends an inner dim. */
static inline void sdx_walk_push(sdx_walk *walk, size_t size, size_t stride) {
    walk->size[walk->rank] = size;
    walk->stride[walk->rank++] = stride;
}
/* Goes to a position below sdx_walk_count. */
static inline void sdx_walk_start(sdx_walk *walk, size_t position) {
    walk->at = 0;
    for (int32_t d = walk->rank - 1; d >= 0; d--) {
        walk->index[d] = position % walk->size[d];
        position /= walk->size[d];
        walk->at += walk->index[d] * walk->stride[d];
    }
}
/* One position on; behind the last it is the first again. */
static inline void sdx_walk_next(sdx_walk *walk) {
    for (int32_t d = walk->rank - 1; d >= 0; d--) {
        walk->at += walk->stride[d];
        if (++walk->index[d] < walk->size[d]) return;
        walk->at -= walk->stride[d] * walk->size[d];
        walk->index[d] = 0;
    }
}

#endif
