/* budget.c - counts memory and refuses what passes a limit, before it is taken. Where the caller gave no limit,
 * a large piece is compared with what the machine has left: systems hand out more addresses than they have
 * memory, and end the process, or another one, once it is touched. */
#include "base/budget.h"

#include <stdio.h>
#include <string.h>

#include "base/cpus.h"

/* The machine is asked when the sum passes a multiple of this: reading its files takes some 50 microseconds,
 * touching so much memory many milliseconds. */
#define STEP ((size_t)64 << 20)

static bool refuse(sdx_budget *budget, size_t before, size_t size, size_t allowed) {
    atomic_store(&budget->held, before);
    atomic_store(&budget->refused, size);
    atomic_store(&budget->allowed, allowed);
    return false;
}

/* Whether `size` more fit where `before` bytes are held. */
static bool fits(sdx_budget *budget, size_t before, size_t size) {
    if (size > budget->limit || before > budget->limit - size)
        return refuse(budget, before, size, budget->limit);
    if (!budget->machine || before / STEP == (before + size) / STEP) return true;
    uint64_t total, left;
    sdx_machine_memory("", &total, &left);
    if (size > left) return refuse(budget, before, size, (size_t)left);
    return before + size <= total || refuse(budget, before, size, (size_t)total);
}

static void raise_peak(sdx_budget *budget, size_t to) {
    size_t peak = atomic_load(&budget->peak);
    while (to > peak && !atomic_compare_exchange_weak(&budget->peak, &peak, to)) {
    }
}

static void *budget_allocate(void *user, size_t size, size_t alignment) {
    sdx_budget *budget = user;
    size_t before = atomic_fetch_add(&budget->used, size);
    void *memory = fits(budget, before, size) ? sdx_alloc(budget->under, size, alignment) : NULL;
    if (!memory) {
        atomic_fetch_sub(&budget->used, size);
        return NULL;
    }
    raise_peak(budget, before + size);
    return memory;
}

static void budget_release(void *user, void *memory, size_t size) {
    sdx_budget *budget = user;
    atomic_fetch_sub(&budget->used, size);
    sdx_free(budget->under, memory, size);
}

bool sdx_budget_reserve(const sdx_allocator *allocator, size_t size) {
    if (allocator->allocate != budget_allocate) return true;
    sdx_budget *budget = allocator->user;
    size_t before = atomic_fetch_add(&budget->used, size);
    if (!fits(budget, before, size) || !sdx_budget_reserve(budget->under, size)) {
        atomic_fetch_sub(&budget->used, size);
        return false;
    }
    raise_peak(budget, before + size);
    return true;
}

void sdx_budget_return(const sdx_allocator *allocator, size_t size) {
    if (allocator->allocate != budget_allocate) return;
    sdx_budget *budget = allocator->user;
    atomic_fetch_sub(&budget->used, size);
    sdx_budget_return(budget->under, size);
}

void sdx_budget_init(sdx_budget *budget, const sdx_allocator *under, uint64_t limit) {
    if (!under) under = &sdx_default_allocator;
    budget->allocator = (sdx_allocator){budget, budget_allocate, budget_release};
    budget->under = under;
    budget->machine = limit == 0 && under->allocate == sdx_default_allocator.allocate;
    /* Half, so that sums of two sizes below it cannot wrap. */
    budget->limit = limit == 0 || limit > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)limit;
    atomic_init(&budget->used, 0);
    atomic_init(&budget->peak, 0);
    atomic_init(&budget->refused, 0);
    atomic_init(&budget->allowed, 0);
    atomic_init(&budget->held, 0);
}

sdx_status sdx_budget_explain(sdx_budget *budget, sdx_status status, sdx_error *error) {
    size_t size = atomic_load(&budget->refused);
    if (status != SDX_STATUS_NO_MEMORY || size == 0) return status;
    if (!error || error->code != SDX_STATUS_NO_MEMORY) return SDX_STATUS_LIMIT;
    error->code = SDX_STATUS_LIMIT;
    size_t used = strlen(error->message), room = sizeof error->message - used;
    size_t held = atomic_load(&budget->held), allowed = atomic_load(&budget->allowed);
    if (budget->machine)
        snprintf(error->message + used, room,
                 "; %zu bytes beside the %zu that are held pass what the machine has left, %zu", size, held,
                 allowed);
    else
        snprintf(error->message + used, room,
                 "; %zu bytes beside the %zu that are held pass the limit max_memory, %zu", size, held,
                 allowed);
    return SDX_STATUS_LIMIT;
}
