/* solve.c - runs one strategy on a problem: builds the task, sets the clock, turns the answer back
 * into bytes, has it validated and judges it. */
#include <string.h>

#include "base/clock.h"
#include "plan/task.h"

static sdx_status check_request(const sdx_plan_request *request, uint32_t count,
                                sdx_error *error) {
    const char *name = request->strategy ? request->strategy : "best";
    if (!sdx_plan_find_strategy(name))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "there is no strategy '%.64s'", name);
    if (!(request->time_limit >= 0))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "the time limit is %g s",
                        request->time_limit);
    if (count > UINT32_MAX / 4)
        return sdx_fail(error, SDX_STATUS_LIMIT, "%u buffers are too many", count);
    return SDX_STATUS_OK;
}

static void set_goal(sdx_plan_task *task, const sdx_plan_request *request, double start) {
    task->seed = request->seed;
    task->max_work = request->max_work;
    task->cancelled = request->cancelled;
    task->user = request->user;
    task->deadline = request->time_limit > 0 ? start + request->time_limit : 0;
    task->target = task->bound;
    if (request->capacity != 0 && task->count > 0) {
        size_t capacity = request->capacity / task->unit;
        if (capacity > task->target) task->target = capacity;
    }
}

static void judge(const sdx_plan_task *task, const sdx_plan_request *request, size_t naive,
                  size_t lower, sdx_plan_result *result) {
    bool empty = task->count == 0;
    result->arena = empty ? 0 : task->arena * task->unit;
    result->lower_bound = lower;
    result->proved_bound = empty ? 0 : task->bound * task->unit;
    result->naive = naive;
    result->nodes = task->nodes;
    if (task->winner) result->strategy = task->winner;
    result->proved = result->arena == result->proved_bound;
    result->fits = request->capacity == 0 || result->arena <= request->capacity;
}

/* The task's answer as offsets of the buffers. */
static sdx_status hand_over(const sdx_plan_task *task, const uint32_t *source, sdx_buffer *buffers,
                            uint32_t count, const sdx_plan_request *request, sdx_error *error) {
    for (uint32_t i = 0; i < count; i++) buffers[i].offset = 0;
    for (uint32_t i = 0; i < task->count; i++)
        buffers[source[i]].offset = task->offsets[i] * task->unit;
    size_t arena = task->count == 0 ? 0 : task->arena * task->unit;
    sdx_error found;
    sdx_error_clear(&found);
    sdx_status status =
        sdx_plan_validate(buffers, count, arena, request->align, request->allocator, &found);
    if (status == SDX_STATUS_BAD_INPUT)
        return sdx_fail(error, SDX_STATUS_INTERNAL, "strategy '%s' gave a wrong answer: %s",
                        task->winner ? task->winner : "", found.message);
    if (status != SDX_STATUS_OK) return sdx_fail(error, status, "%s", found.message);
    return SDX_STATUS_OK;
}

sdx_status sdx_plan_place(sdx_buffer *buffers, uint32_t count, const sdx_plan_request *request,
                          sdx_plan_result *result, sdx_error *error) {
    double start = sdx_seconds();
    SDX_TRY(check_request(request, count, error));
    sdx_arena memory;
    sdx_arena_init(&memory, request->allocator, 0);
    sdx_plan_task task;
    uint32_t *source;
    size_t naive;
    const char *name = request->strategy ? request->strategy : "best";
    sdx_status status = sdx_plan_task_build(buffers, count, request->align, &memory, &task, &source,
                                            &naive, error);
    size_t lower = status == SDX_STATUS_OK && task.count > 0 ? task.bound * task.unit : 0;
    if (status == SDX_STATUS_OK) set_goal(&task, request, start);
    if (status == SDX_STATUS_OK && task.count > 0)
        status = sdx_plan_run_strategy(&task, name, error);
    if (status == SDX_STATUS_OK && request->cancelled && request->cancelled(request->user))
        status = sdx_fail(error, SDX_STATUS_CANCELLED, "the planning was cancelled");
    if (status == SDX_STATUS_OK)
        status = hand_over(&task, source, buffers, count, request, error);
    if (status == SDX_STATUS_OK) {
        result->strategy = sdx_plan_find_strategy(name)->name;
        judge(&task, request, naive, lower, result);
        result->seconds = sdx_seconds() - start;
    }
    sdx_arena_free(&memory);
    return status;
}

sdx_status sdx_plan_measure(const sdx_buffer *buffers, uint32_t count,
                            const sdx_plan_request *request, sdx_plan_result *result,
                            sdx_error *error) {
    sdx_arena memory;
    sdx_arena_init(&memory, request->allocator, 0);
    sdx_plan_task task;
    uint32_t *source;
    size_t naive;
    sdx_status status = sdx_plan_task_build(buffers, count, request->align, &memory, &task, &source,
                                            &naive, error);
    if (status == SDX_STATUS_OK) {
        result->naive = naive;
        result->lower_bound = result->proved_bound = task.bound * task.unit;
    }
    sdx_arena_free(&memory);
    return status;
}
