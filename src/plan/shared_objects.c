/* shared_objects.c - the strategy "shared-objects": buffers of disjoint lifetimes take turns in one
 * place as a whole, so that a runtime needs a few allocations and no arena. The greedy-by-size for
 * shared objects of Pisarchyk and Lee (arXiv 2001.03288). */
#include "plan/plan.h"

/* Items come by falling size, so an object is as large as its first item and holds all others. Of
 * the objects that are free, the one that stood idle for the shortest time is taken. */
typedef struct object {
    size_t offset;
    uint32_t last; /* item that it took last; a list through `before` */
} object;

#define NO_ITEM UINT32_MAX

/* Idle sections around the item's lifetime; SIZE_MAX where the object is taken during it. */
static size_t idle(const sdx_plan_task *task, const uint32_t *before, uint32_t last,
                   const sdx_plan_item *item) {
    size_t left = item->begin, right = task->section_count - item->end;
    for (uint32_t i = last; i != NO_ITEM; i = before[i]) {
        const sdx_plan_item *other = &task->items[i];
        if (other->begin < item->end && item->begin < other->end) return SIZE_MAX;
        if (other->end <= item->begin && item->begin - other->end < left)
            left = item->begin - other->end;
        if (item->end <= other->begin && other->begin - item->end < right)
            right = other->begin - item->end;
    }
    return left < right ? left : right;
}

static void share(const sdx_plan_task *task, const uint32_t *order, uint32_t *before,
                  object *objects, size_t *offsets) {
    uint32_t count = 0;
    size_t top = 0;
    for (uint32_t i = 0; i < task->count; i++) {
        const sdx_plan_item *item = &task->items[order[i]];
        size_t least = SIZE_MAX;
        uint32_t chosen = count;
        for (uint32_t k = 0; k < count; k++) {
            if (objects[k].offset % item->align != 0) continue;
            size_t gap = idle(task, before, objects[k].last, item);
            if (gap < least) {
                least = gap;
                chosen = k;
            }
        }
        if (chosen == count) {
            top += (item->align - top % item->align) % item->align;
            objects[count++] = (object){.offset = top, .last = NO_ITEM};
            top += item->size;
        }
        before[order[i]] = objects[chosen].last;
        objects[chosen].last = order[i];
        offsets[order[i]] = objects[chosen].offset;
    }
}

sdx_status sdx_plan_shared_objects(sdx_plan_task *task, sdx_error *error) {
    sdx_arena memory;
    sdx_arena_init(&memory, task->allocator, 0);
    uint32_t *order = sdx_arena_array(&memory, task->count, sizeof *order);
    uint32_t *before = sdx_arena_array(&memory, task->count, sizeof *before);
    object *objects = sdx_arena_array(&memory, task->count, sizeof *objects);
    size_t *offsets = sdx_arena_array(&memory, task->count, sizeof *offsets);
    sdx_status status = SDX_STATUS_OK;
    if (!order || !before || !objects || !offsets)
        status = sdx_fail_memory(error, task->count * sizeof *objects, "shared objects");
    else status = sdx_plan_sort(task, SDX_PLAN_BY_SIZE, order, error);
    if (status == SDX_STATUS_OK) {
        share(task, order, before, objects, offsets);
        sdx_plan_offer(task, offsets);
    }
    sdx_arena_free(&memory);
    return status;
}
