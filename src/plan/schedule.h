/* schedule.h - in which order to run steps so that the most memory live at once is smallest. Knows
 * nothing of graphs: a step begins pieces of memory, reads pieces, and must follow other steps. */
#ifndef SDX_PLAN_SCHEDULE_H
#define SDX_PLAN_SCHEDULE_H

#include "base/memory.h"

typedef struct sdx_schedule_step {
    uint32_t *after, *reads, *makes, *over;
    uint32_t after_count; /* steps that come first */
    uint32_t read_count;  /* pieces it needs, each once */
    uint32_t make_count;  /* pieces that begin here */
    uint32_t over_count;  /* pieces that makes[0] can take over from their last reader */
    size_t scratch;       /* bytes live during this step only */
} sdx_schedule_step;

typedef struct sdx_schedule_problem {
    const sdx_schedule_step *steps; /* in an order that is possible */
    uint32_t step_count;
    const size_t *sizes;  /* of the pieces */
    const bool *kept;     /* pieces that live to the end */
    uint32_t piece_count;
} sdx_schedule_problem;

typedef struct sdx_schedule_result {
    size_t given; /* most live at once in the given order */
    size_t peak;  /* and in the order found */
    size_t bound; /* no order needs less */
    bool proved;  /* peak is bound */
    uint64_t nodes; /* states looked at */
} sdx_schedule_result;

/* order receives the steps, best first. Looks at about max_nodes states at most and always gives an
 * order that is at least as good as the given one; the same input gives the same answer. Fails only
 * for want of memory. */
sdx_status sdx_schedule(const sdx_schedule_problem *problem, uint64_t max_nodes,
                        const sdx_allocator *allocator, uint32_t *order,
                        sdx_schedule_result *result, sdx_error *error);

#endif
