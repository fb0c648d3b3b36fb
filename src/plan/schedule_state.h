/* schedule_state.h - what schedule.c and schedule_part.c share: which steps have run, what is live. */
#ifndef SDX_PLAN_SCHEDULE_STATE_H
#define SDX_PLAN_SCHEDULE_STATE_H

#include "plan/schedule.h"

typedef struct sdx_schedule_state {
    const sdx_schedule_problem *problem;
    sdx_arena memory;
    uint32_t *waiting;      /* by step: how many of `after` have not run */
    uint32_t *readers;      /* by piece: readers that have not run */
    uint32_t *follow_first; /* by step: into followers; count + 1 entries */
    uint32_t *followers;
    size_t live;  /* bytes between two steps */
    size_t limit; /* on the peak */
    size_t bound; /* no order keeps below it; less than limit once a search was given up */
    uint64_t nodes, max_nodes;
} sdx_schedule_state;

sdx_status sdx_schedule_init(sdx_schedule_state *s, const sdx_schedule_problem *problem,
                             uint64_t max_nodes, const sdx_allocator *allocator, sdx_error *error);
void sdx_schedule_free(sdx_schedule_state *s);

/* Bytes live while the step runs, now. */
size_t sdx_schedule_during(const sdx_schedule_state *s, uint32_t step);
void sdx_schedule_do(sdx_schedule_state *s, uint32_t step);
void sdx_schedule_undo(sdx_schedule_state *s, uint32_t step); /* the last one done */

/* Orders the steps of one part (before which everything earlier has run) and runs them. Raises
 * s->limit where no order keeps to it, and s->bound with it as long as that is certain. */
sdx_status sdx_schedule_part(sdx_schedule_state *s, uint32_t *steps, uint32_t count,
                             sdx_error *error);
/* The best order of a part that a beam of states finds, and its peak (at least s->limit). Runs nothing. */
sdx_status sdx_schedule_beam(sdx_schedule_state *s, const uint32_t *steps, uint32_t count,
                             uint32_t *order, size_t *peak, sdx_error *error);

#endif
