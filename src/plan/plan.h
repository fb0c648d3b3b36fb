/* plan.h - placing buffers with known lifetimes into one arena. Knows nothing of graphs: a problem is
 * a list of sizes and intervals, an answer a list of offsets. */
#ifndef SDX_PLAN_PLAN_H
#define SDX_PLAN_PLAN_H

#include "base/status.h"

typedef struct sdx_buffer {
    size_t size;          /* bytes, already rounded to the alignment */
    uint32_t first, last; /* steps during which it is live, both included */
    size_t offset;        /* the answer */
} sdx_buffer;

/* By start with best fit: walks the buffers in order of their first step and puts each into the
 * smallest gap that holds it. Buffers must be sorted by first. active has room for count entries.
 * False when the arena's size does not fit size_t. */
bool sdx_plan_best_fit(sdx_buffer *buffers, uint32_t count, uint32_t *active, size_t *arena);

/* Whether no two buffers that live at the same time overlap and all end within the arena. Trusts
 * nothing that a strategy computed; quadratic in the number of live buffers. */
bool sdx_plan_valid(const sdx_buffer *buffers, uint32_t count, size_t arena);

#endif
