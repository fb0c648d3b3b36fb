/* best.c - the strategy "best", the default everywhere: cheap strategies first, then dear ones, until
 * the bound is met, which proves that nothing smaller exists. */
#include "plan/layout.h"

typedef struct rung {
    const char *strategy;
    uint64_t nodes; /* it may search; 0: all that time allows */
} rung;

#define MANY 3000 /* items: most lists take long, and a search would not get far */

static const rung few[] = {{"tflite-micro", 0}, {"start-best-fit", 0}, {"size", 0}, {"breadth", 0},
                           {"squeaky-wheel", 0}, {"exact", 3000000},  {"hill-climb", 0},     {"exact", 0}};
static const rung many[] = {{"tflite-micro", 0}, {"hill-climb", 0}, {"exact", 0}};

/* Lets every buffer of the best answer fall onto those below it: what a strategy put aside may find
 * room again where others have been moved since. */
static sdx_status settle(sdx_plan_task *task, sdx_error *error) {
    if (task->mixed || task->arena == SIZE_MAX) return SDX_STATUS_OK;
    sdx_arena memory;
    sdx_arena_init(&memory, task->allocator, 0);
    sdx_buffer *buffers = sdx_arena_array(&memory, task->count, sizeof *buffers);
    size_t *offsets = sdx_arena_array(&memory, task->count, sizeof *offsets), arena;
    sdx_layout layout;
    sdx_status status = buffers && offsets ? SDX_STATUS_OK
                                           : sdx_fail_memory(error, 0, "a plan");
    for (uint32_t i = 0; status == SDX_STATUS_OK && i < task->count; i++)
        buffers[i] = (sdx_buffer){.size = task->items[i].size, .first = task->items[i].begin,
                                  .last = task->items[i].end - 1, .offset = task->offsets[i]};
    if (status == SDX_STATUS_OK)
        status = sdx_layout_make(buffers, task->count, &memory, &layout, error);
    if (status == SDX_STATUS_OK && sdx_layout_apply(&layout, buffers, &arena)) {
        for (uint32_t i = 0; i < task->count; i++) offsets[i] = buffers[i].offset;
        sdx_plan_offer(task, offsets);
    }
    sdx_arena_free(&memory);
    return status;
}

sdx_status sdx_plan_best(sdx_plan_task *task, sdx_error *error) {
    bool is_many = task->count > MANY;
    const rung *ladder = is_many ? many : few;
    size_t rungs = is_many ? sizeof many / sizeof *many : sizeof few / sizeof *few;
    for (size_t i = 0; i < rungs; i++) {
        if (i > 0 && (sdx_plan_done(task) || task->target < task->bound ||
                      sdx_plan_stopped_now(task)))
            break;
        task->node_limit = ladder[i].nodes == 0 ? 0 : task->nodes + ladder[i].nodes;
        SDX_TRY(sdx_plan_run_strategy(task, ladder[i].strategy, error));
        SDX_TRY(settle(task, error));
    }
    task->node_limit = 0;
    return SDX_STATUS_OK;
}
