/* strategies.c - the table of strategies, made from strategies.def, and what every strategy asks of
 * its task: to take an answer, and whether time is over. */
#include <string.h>

#include "base/clock.h"
#include "plan/plan.h"

#define SDX_STRATEGY(function, name, summary) {name, summary, sdx_plan_##function},
static const sdx_plan_strategy strategies[] = {
#include "plan/strategies.def"
};
#undef SDX_STRATEGY
#define STRATEGY_COUNT (sizeof strategies / sizeof *strategies)

const sdx_plan_strategy *sdx_plan_find_strategy(const char *name) {
    for (size_t i = 0; i < STRATEGY_COUNT; i++)
        if (strcmp(strategies[i].name, name) == 0) return &strategies[i];
    return NULL;
}

SDX_API size_t sdx_plan_strategy_count(void) { return STRATEGY_COUNT; }

SDX_API sdx_status sdx_plan_strategy_get_info(size_t index, sdx_plan_strategy_info *info) {
    if (index >= STRATEGY_COUNT) return SDX_STATUS_INVALID_ARGUMENT;
    sdx_plan_strategy_info full = {.struct_size = info->struct_size,
                                   .name = strategies[index].name,
                                   .summary = strategies[index].summary};
    memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
    return SDX_STATUS_OK;
}

sdx_status sdx_plan_run_strategy(sdx_plan_task *task, const char *name, sdx_error *error) {
    const sdx_plan_strategy *strategy = sdx_plan_find_strategy(name);
    if (!strategy) return sdx_fail(error, SDX_STATUS_INTERNAL, "no strategy '%s'", name);
    task->running = strategy->name;
    return strategy->run(task, error);
}

void sdx_plan_offer(sdx_plan_task *task, const size_t *offsets) {
    size_t arena = 0;
    for (uint32_t i = 0; i < task->count; i++) {
        size_t end = offsets[i] + task->items[i].size;
        if (end > arena) arena = end;
    }
    if (arena >= task->arena) return;
    task->arena = arena;
    task->winner = task->running;
    memcpy(task->offsets, offsets, task->count * sizeof *offsets);
}

bool sdx_plan_stopped_now(sdx_plan_task *task) {
    if (task->stopped) return true;
    if (task->max_work > 0 && task->work >= task->max_work) task->stopped = true;
    if (task->deadline > 0 && sdx_seconds() >= task->deadline) task->stopped = true;
    if (task->cancelled && task->cancelled(task->user)) task->stopped = true;
    return task->stopped;
}

bool sdx_plan_stopped(sdx_plan_task *task) {
    return (++task->ticks & 255) == 0 ? sdx_plan_stopped_now(task) : task->stopped;
}
