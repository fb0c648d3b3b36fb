/* naive.c - the strategy "naive": every buffer has its own place; what no planning costs. */
#include "plan/plan.h"

sdx_status sdx_plan_naive(sdx_plan_task *task, sdx_error *error) {
    size_t bytes = task->count * sizeof(size_t), at = 0;
    size_t *offsets = sdx_alloc(task->allocator, bytes, 1);
    if (!offsets) return sdx_fail_memory(error, bytes, "a plan");
    for (uint32_t i = 0; i < task->count; i++) {
        const sdx_plan_item *item = &task->items[i];
        at += (item->align - at % item->align) % item->align;
        offsets[i] = at;
        at += item->size;
    }
    sdx_plan_offer(task, offsets);
    sdx_free(task->allocator, offsets, bytes);
    return SDX_STATUS_OK;
}
