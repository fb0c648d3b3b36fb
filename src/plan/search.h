/* search.h - exact search for a placement within a capacity. For exact.c. */
#ifndef SDX_PLAN_SEARCH_H
#define SDX_PLAN_SEARCH_H

#include "plan/plan.h"

typedef struct sdx_search sdx_search;

typedef enum sdx_search_end {
    SDX_SEARCH_FOUND,
    SDX_SEARCH_NONE,     /* proved: there is no placement within the capacity */
    SDX_SEARCH_LIMIT,    /* of nodes, or time is over */
    SDX_SEARCH_NO_MEMORY
} sdx_search_end;

/* What one search is to do. What it learns of dead ends serves all later ones. */
typedef struct sdx_search_goal {
    size_t capacity;
    const uint32_t *rank; /* of each item: low ones are tried first */
    float noise;          /* 0: by rank and fit alone; 1: chance counts as much as rank */
    uint64_t seed;
    uint64_t node_limit;
} sdx_search_goal;

sdx_status sdx_search_create(sdx_plan_task *task, sdx_search **out, sdx_error *error);
void sdx_search_free(sdx_search *search);
/* offsets (task->count) are filled where it ends with SDX_SEARCH_FOUND. */
sdx_search_end sdx_search_run(sdx_search *search, const sdx_search_goal *goal, size_t *offsets);

#endif
