/* squeaky_wheel.c - the strategy "squeaky-wheel": a list placement shows which items an order treats
 * badly, namely those that end above the target; they move to the front, and the list is placed again.
 * On the buffers of real models a few rounds often do. */
#include <string.h>

#include "plan/plan.h"

#define ROUNDS 25 /* of one start; beyond that an order goes in circles */

/* Moves what sticks out to the front, each group in the order it had; false if nothing does. */
static bool promote(const sdx_plan_task *task, const size_t *offsets, uint32_t *order,
                    uint32_t *rest) {
    uint32_t front = 0, left = 0;
    for (uint32_t i = 0; i < task->count; i++) {
        uint32_t item = order[i];
        if (offsets[item] + task->items[item].size > task->target) order[front++] = item;
        else rest[left++] = item;
    }
    memcpy(order + front, rest, left * sizeof *order);
    return front > 0;
}

sdx_status sdx_plan_squeaky_wheel(sdx_plan_task *task, sdx_error *error) {
    static const sdx_plan_order starts[] = {SDX_PLAN_BY_SIZE, SDX_PLAN_BY_BREADTH,
                                            SDX_PLAN_BY_LOAD_AREA, SDX_PLAN_BY_AREA,
                                            SDX_PLAN_BY_START};
    size_t bytes = task->count * (2 * sizeof(uint32_t) + sizeof(size_t));
    size_t *offsets = sdx_alloc(task->allocator, bytes, _Alignof(size_t));
    if (!offsets) return sdx_fail_memory(error, bytes, "a placement");
    uint32_t *order = (uint32_t *)(offsets + task->count), *rest = order + task->count;
    sdx_status status = SDX_STATUS_OK;
    for (size_t k = 0; k < 2 * sizeof starts / sizeof *starts && status == SDX_STATUS_OK; k++) {
        status = sdx_plan_sort(task, starts[k / 2], order, error);
        for (int round = 0; round < ROUNDS && status == SDX_STATUS_OK; round++) {
            status = sdx_plan_list_into(task, order, k % 2 ? SDX_PLAN_BEST_FIT : SDX_PLAN_FIRST_FIT,
                                        NULL, 0, offsets, error);
            task->nodes += task->count;
            if (sdx_plan_done(task) || sdx_plan_stopped_now(task)) goto end;
            if (status == SDX_STATUS_OK && !promote(task, offsets, order, rest)) break;
        }
    }
end:
    sdx_free(task->allocator, offsets, bytes);
    return status;
}
