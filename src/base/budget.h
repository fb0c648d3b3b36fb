/* budget.h - an allocator over another that counts what is held and refuses what passes a limit. Each model,
 * program and context has one and takes all its memory from it: the one place where max_memory holds. */
#ifndef SDX_BASE_BUDGET_H
#define SDX_BASE_BUDGET_H

#include <stdatomic.h>

#include "base/memory.h"

typedef struct sdx_budget {
    sdx_allocator allocator; /* for whoever spends; its user points here, so a budget does not move */
    const sdx_allocator *under;
    size_t limit;
    bool machine; /* no limit was given: what the machine has left is one */
    atomic_size_t used, peak;
    atomic_size_t refused; /* bytes of the last request that was too much; 0: none */
    atomic_size_t allowed, held; /* then: bytes that there were in all, or were left; that were in use */
} sdx_budget;

/* `under` must stay. A limit of 0 stands for what the machine has, where under is the default allocator:
 * one that the caller brings can refuse by itself. SIZE_MAX or more: none at all. */
void sdx_budget_init(sdx_budget *budget, const sdx_allocator *under, uint64_t limit);
/* For memory that a library takes by itself: counts it in the budget that `allocator` belongs to, and in those
 * under it, without taking any. False: it passes the limit. An allocator that is none of a budget counts
 * nothing. What was counted has to be returned. */
bool sdx_budget_reserve(const sdx_allocator *allocator, size_t size);
void sdx_budget_return(const sdx_allocator *allocator, size_t size);
/* A failure for want of memory that the budget caused is one of its limit: changes code and message.
 * Returns the code; other failures stay as they are. */
sdx_status sdx_budget_explain(sdx_budget *budget, sdx_status status, sdx_error *error);

#endif
