/* layout.h - one arrangement of buffers for all sizes that they may take. A placement for some sizes
 * says which buffer lies below which; that much is kept. For other sizes each buffer then starts
 * where the highest of those below it ends: no search, and never an overlap. */
#ifndef SDX_PLAN_LAYOUT_H
#define SDX_PLAN_LAYOUT_H

#include "plan/plan.h"

typedef struct sdx_layout {
    uint32_t count;
    uint32_t *order;   /* buffers from the lowest up: each follows what it rests on */
    uint32_t *first;   /* count + 1: where the supports of order[i] begin */
    uint32_t *supports; /* buffers that order[i] rests on: those directly below at some moment */
} sdx_layout;

/* From buffers with offsets that do not overlap. Buffers of size 0 may lie anywhere, but are still
 * kept apart from the others in the layout, since they may be larger next time. Memory is the
 * arena's. */
sdx_status sdx_layout_make(const sdx_buffer *buffers, uint32_t count, sdx_arena *memory,
                           sdx_layout *layout, sdx_error *error);

/* The same arrangement in other memory. */
sdx_status sdx_layout_copy(const sdx_layout *layout, sdx_arena *memory, sdx_layout *copy,
                           sdx_error *error);

/* Sets the offsets for the sizes that the buffers have now; false when the arena passes size_t. */
bool sdx_layout_apply(const sdx_layout *layout, sdx_buffer *buffers, size_t *arena);

#endif
