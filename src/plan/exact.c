/* exact.c - the strategy "exact": the smallest arena, by searches within a capacity (search.c). A
 * search that was unlucky early seldom recovers, so there are many short ones, in several orders of
 * preference and with some chance, and ever longer ones, so that one comes to its end at last: the
 * proof. In between, bisection between what is proved and what is found. */
#include "base/hash.h"
#include "plan/search.h"

static const sdx_plan_order orders[] = {SDX_PLAN_BY_SIZE, SDX_PLAN_BY_AREA, SDX_PLAN_BY_LOAD_WIDTH,
                                        SDX_PLAN_BY_DURATION};
#define ORDER_COUNT (sizeof orders / sizeof *orders)

typedef struct driver {
    sdx_plan_task *task;
    sdx_search *search;
    uint32_t *ranks[ORDER_COUNT];
    size_t *offsets;
    uint64_t first_nodes; /* of the shortest searches */
    uint32_t round;       /* searches so far */
    bool failed;          /* out of memory */
} driver;

#define SHORTEST_SEARCH 500   /* nodes */
#define FIRST_BUDGET    20000 /* nodes at the target, before bisection has its turn */
#define NOISE           0.7f

static bool over(const driver *d) {
    const sdx_plan_task *task = d->task;
    return d->failed || (task->node_limit != 0 && task->nodes >= task->node_limit) ||
           sdx_plan_stopped_now(d->task);
}

/* Searches within a capacity until it is decided or the nodes are used up. Their lengths follow
 * Luby's sequence 1 1 2 1 1 2 4 1 .., which is never far from the best choice. */
static sdx_search_end attempt(driver *d, size_t capacity, uint64_t nodes) {
    sdx_plan_task *task = d->task;
    uint64_t end_nodes = task->nodes + nodes, u = 1, v = 1;
    while (task->nodes < end_nodes && !over(d)) {
        sdx_search_goal goal = {.capacity = capacity,
                                .rank = d->ranks[d->round % ORDER_COUNT],
                                .noise = d->round < ORDER_COUNT ? 0 : NOISE,
                                .seed = sdx_hash_add(sdx_hash_mul(task->seed, 0x2545f4914f6cdd1du), d->round),
                                .node_limit = d->first_nodes * v};
        d->round++;
        sdx_search_end end = sdx_search_run(d->search, &goal, d->offsets);
        if (end == SDX_SEARCH_FOUND) sdx_plan_offer(task, d->offsets);
        if (end == SDX_SEARCH_NONE && task->bound <= capacity) task->bound = capacity + 1;
        if (end == SDX_SEARCH_NO_MEMORY) d->failed = true;
        if (end != SDX_SEARCH_LIMIT) return end;
        if ((u & (~u + 1)) == v) { /* its lowest bit */
            u++;
            v = 1;
        } else {
            v *= 2;
        }
    }
    return SDX_SEARCH_LIMIT;
}

/* Smaller arenas between the bound and the best one; what is not decided soon counts as too small
 * for this time. */
static void bisect(driver *d, uint64_t nodes) {
    size_t low = d->task->bound, high = d->task->arena - 1;
    while (low <= high && !over(d)) {
        size_t middle = low + (high - low) / 2;
        if (attempt(d, middle, nodes) == SDX_SEARCH_FOUND) high = d->task->arena - 1;
        else low = middle + 1;
    }
}

static void minimise(driver *d) {
    sdx_plan_task *task = d->task;
    bool smallest = task->target == task->bound;
    for (uint64_t budget = FIRST_BUDGET; !sdx_plan_done(task) && !over(d);) {
        attempt(d, task->target, budget);
        /* A capacity that is proved to be too small ends the work, unless the smallest is wanted. */
        if (task->bound > task->target && !smallest) return;
        if (smallest) task->target = task->bound;
        if (smallest && !sdx_plan_done(task)) bisect(d, budget / 8);
        if (smallest) task->target = task->bound;
        if (budget < UINT64_MAX / 4) budget *= 2;
    }
}

static sdx_status prepare(driver *d, sdx_arena *memory, sdx_error *error) {
    sdx_plan_task *task = d->task;
    uint32_t *order = sdx_arena_array(memory, task->count, sizeof *order);
    d->offsets = sdx_arena_array(memory, task->count, sizeof *d->offsets);
    if (!order || !d->offsets)
        return sdx_fail_memory(error, task->count * sizeof *d->offsets, "a search");
    for (size_t k = 0; k < ORDER_COUNT; k++) {
        d->ranks[k] = sdx_arena_array(memory, task->count, sizeof **d->ranks);
        if (!d->ranks[k]) return sdx_fail_memory(error, task->count * sizeof **d->ranks, "a search");
        SDX_TRY(sdx_plan_sort(task, orders[k], order, error));
        for (uint32_t i = 0; i < task->count; i++) d->ranks[k][order[i]] = i;
    }
    d->first_nodes = task->count > SHORTEST_SEARCH / 2 ? (uint64_t)task->count * 2 : SHORTEST_SEARCH;
    return sdx_search_create(task, &d->search, error);
}

sdx_status sdx_plan_exact(sdx_plan_task *task, sdx_error *error) {
    if (task->arena == SIZE_MAX)
        SDX_TRY(sdx_plan_sorted_list(task, SDX_PLAN_BY_SIZE, SDX_PLAN_FIRST_FIT, error));
    /* The search knows sizes only; with alignments of all kinds the lists have to do. */
    if (task->mixed || sdx_plan_done(task)) return SDX_STATUS_OK;
    driver d = {.task = task};
    sdx_arena memory;
    sdx_arena_init(&memory, task->allocator, 0);
    sdx_status status = prepare(&d, &memory, error);
    if (status == SDX_STATUS_OK) {
        minimise(&d);
        sdx_search_free(d.search);
        if (d.failed) status = sdx_fail_memory(error, task->count, "a search");
    }
    sdx_arena_free(&memory);
    return status;
}
