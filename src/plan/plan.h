/* plan.h - placing buffers with known lifetimes into one arena. Knows nothing of graphs: a problem is
 * a list of sizes and intervals, an answer a list of offsets.
 *
 * A strategy is one file with one function and one line in strategies.def. It sees a task: the
 * problem brought into a simple form (task.c), the best answer so far, and the clock. solve.c runs
 * one and checks its answer with the validator, which shares no code with any strategy. */
#ifndef SDX_PLAN_PLAN_H
#define SDX_PLAN_PLAN_H

#include "base/memory.h"

/* ---- the problem ------------------------------------------------------------------------------ */

typedef struct sdx_buffer {
    size_t size;          /* bytes; with sdx_plan_best_fit already rounded to the alignment */
    uint32_t first, last; /* steps during which it is live, both included */
    size_t offset;        /* the answer */
    size_t align;         /* that its offset must be a multiple of; 0 or 1: none of its own */
} sdx_buffer;

typedef struct sdx_plan_request {
    const char *strategy; /* a name of the table; NULL: "best" */
    size_t align;         /* of all offsets and sizes, a power of two; 0 or 1: none */
    size_t capacity;      /* an arena as small as this will do; 0: as small as possible */
    double time_limit;    /* seconds; 0: none */
    uint64_t max_work;    /* effort of the searches, about a nanosecond's worth each, but the same on
                           * every machine; 0: no limit */
    uint64_t seed;
    const sdx_allocator *allocator;
    bool (*cancelled)(void *user); /* asked now and then; NULL: never */
    void *user;
} sdx_plan_request;

/* Sets the offsets of the buffers; fills *result. Fails where the request or a buffer makes no
 * sense, sizes add up to more than half the address space, memory runs out, or it is cancelled; an
 * arena above the capacity is no failure. */
sdx_status sdx_plan_place(sdx_buffer *buffers, uint32_t count, const sdx_plan_request *request,
                          sdx_plan_result *result, sdx_error *error);

/* The bounds and the sum alone. */
sdx_status sdx_plan_measure(const sdx_buffer *buffers, uint32_t count,
                            const sdx_plan_request *request, sdx_plan_result *result,
                            sdx_error *error);

/* By start with best fit: walks the buffers in order of their first step and puts each into the
 * smallest gap that holds it. Buffers must be sorted by first. active has room for count entries.
 * Takes no memory and microseconds. False when the arena's size does not fit size_t. */
bool sdx_plan_best_fit(sdx_buffer *buffers, uint32_t count, uint32_t *active, size_t *arena);

/* Whether no two buffers that live at the same time overlap, all end within the arena and all are
 * aligned; the error names what is wrong. Trusts nothing that a strategy computed. */
sdx_status sdx_plan_validate(const sdx_buffer *buffers, uint32_t count, size_t arena, size_t align,
                             const sdx_allocator *allocator, sdx_error *error);

/* Gives a public problem (sdx_plan_problem) its answer: one offset for each buffer, in order. */
void sdx_plan_problem_answer(sdx_plan_problem *problem, const sdx_buffer *buffers);

/* ---- what a strategy sees ----------------------------------------------------------------------- */

/* Sizes and offsets count units (see sdx_plan_task), time counts sections: the stretches between
 * moments at which some lifetime begins or ends. */
typedef struct sdx_plan_item {
    size_t size;         /* never 0 */
    uint32_t begin, end; /* sections, end excluded */
    size_t align;        /* at least 1 */
} sdx_plan_item;

typedef struct sdx_plan_task {
    const sdx_plan_item *items; /* by rising begin, then falling size */
    uint32_t count;             /* never 0 */
    uint32_t section_count;
    size_t unit;   /* bytes; the greatest common divisor of sizes and alignments */
    bool mixed;    /* whether some align is more than 1 */
    size_t bound;  /* no arena is smaller: most live at once, or what a search has proved since */
    size_t target; /* an arena of this size ends the work */
    uint64_t seed;
    const sdx_allocator *allocator;

    size_t *offsets; /* the best answer so far */
    size_t arena;    /* its size; SIZE_MAX: none yet */
    uint64_t nodes;  /* placements tried by searches */
    const char *running, *winner; /* names: the strategy at work, and whose answer is the best */

    uint64_t node_limit; /* searches end when nodes get there; 0: none */
    double deadline; /* of sdx_seconds; 0: none */
    uint64_t work, max_work; /* done so far; 0: no limit */
    bool (*cancelled)(void *user);
    void *user;
    uint32_t ticks;
    bool stopped; /* time is over, or it was cancelled */
} sdx_plan_task;

/* Offsets for all items, at best with task->arena <= task->target; hands them in by
 * sdx_plan_offer, as often as it finds better ones. Fails only for want of memory. */
typedef sdx_status sdx_plan_strategy_fn(sdx_plan_task *task, sdx_error *error);

typedef struct sdx_plan_strategy {
    const char *name, *summary;
    sdx_plan_strategy_fn *run;
} sdx_plan_strategy;

#define SDX_STRATEGY(function, name, summary) sdx_plan_strategy_fn sdx_plan_##function;
#include "plan/strategies.def"
#undef SDX_STRATEGY

const sdx_plan_strategy *sdx_plan_find_strategy(const char *name); /* NULL: no such one */
sdx_status sdx_plan_run_strategy(sdx_plan_task *task, const char *name, sdx_error *error);

/* Takes the answer if it is better than the best so far. */
void sdx_plan_offer(sdx_plan_task *task, const size_t *offsets);
static inline bool sdx_plan_done(const sdx_plan_task *task) { return task->arena <= task->target; }
/* Whether time is over. Cheap: reads the clock once in many calls. */
bool sdx_plan_stopped(sdx_plan_task *task);
bool sdx_plan_stopped_now(sdx_plan_task *task); /* reads the clock */

/* ---- helpers that strategies share: list.c, order.c ----------------------------------------------- */

typedef enum sdx_plan_fit { SDX_PLAN_FIRST_FIT, SDX_PLAN_BEST_FIT } sdx_plan_fit;

typedef enum sdx_plan_order {
    SDX_PLAN_BY_START,
    SDX_PLAN_BY_SIZE,
    SDX_PLAN_BY_AREA,     /* size times sections */
    SDX_PLAN_BY_DURATION, /* sections */
    SDX_PLAN_BY_END,
    SDX_PLAN_BY_LOAD_AREA,  /* most live in any of its sections, then area */
    SDX_PLAN_BY_LOAD_WIDTH, /* the same, then duration, then size */
    SDX_PLAN_BY_BREADTH,    /* the order in which sections of falling load meet them */
    SDX_PLAN_ORDER_COUNT
} sdx_plan_order;

/* Fills order (task->count entries) with the indices of the items. */
sdx_status sdx_plan_sort(const sdx_plan_task *task, sdx_plan_order by, uint32_t *order,
                         sdx_error *error);
/* Places the items one by one in this order, each into the first or the smallest gap between those
 * it shares a section with, else on top; offers the result. The first `fixed` of them have their
 * places already (NULL where none has). */
sdx_status sdx_plan_list(sdx_plan_task *task, const uint32_t *order, sdx_plan_fit fit,
                         const size_t *places, uint32_t fixed, sdx_error *error);
/* The same; offsets (task->count entries) receives the result, also where it is not the best. */
sdx_status sdx_plan_list_into(sdx_plan_task *task, const uint32_t *order, sdx_plan_fit fit,
                              const size_t *places, uint32_t fixed, size_t *offsets,
                              sdx_error *error);
/* Both in one. */
sdx_status sdx_plan_sorted_list(sdx_plan_task *task, sdx_plan_order by, sdx_plan_fit fit,
                                sdx_error *error);
/* Most live in each section (section_count entries). */
void sdx_plan_loads(const sdx_plan_task *task, size_t *loads);

#endif
