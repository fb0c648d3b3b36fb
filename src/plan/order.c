/* order.c - the orders in which list strategies take the items. Ties go to the lower index, which is
 * the earlier begin, so that every order is the same on every machine. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

/* Falling by the keys, one after another. */
typedef struct ranked {
    size_t keys[3];
    uint32_t index;
} ranked;

static int by_keys(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    for (int i = 0; i < 3; i++)
        if (x->keys[i] != y->keys[i]) return x->keys[i] > y->keys[i] ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static size_t highest_load(const size_t *loads, const sdx_plan_item *item) {
    size_t most = 0;
    for (uint32_t s = item->begin; s < item->end; s++)
        if (loads[s] > most) most = loads[s];
    return most;
}

/* Sizes stay below a quarter of the address space, but times a number of sections they need not. */
static size_t area(const sdx_plan_item *item) {
    size_t product;
    return __builtin_mul_overflow(item->size, (size_t)(item->end - item->begin), &product)
               ? SIZE_MAX
               : product;
}

static void set_keys(ranked *r, const sdx_plan_task *task, sdx_plan_order by,
                     const size_t *loads) {
    const sdx_plan_item *item = &task->items[r->index];
    size_t width = item->end - item->begin;
    switch (by) {
    case SDX_PLAN_BY_SIZE: r->keys[0] = item->size; break;
    case SDX_PLAN_BY_AREA: r->keys[0] = area(item); break;
    case SDX_PLAN_BY_DURATION: r->keys[0] = width, r->keys[1] = item->size; break;
    case SDX_PLAN_BY_END: r->keys[0] = item->end, r->keys[1] = item->size; break;
    case SDX_PLAN_BY_LOAD_AREA:
        r->keys[0] = highest_load(loads, item), r->keys[1] = area(item);
        break;
    case SDX_PLAN_BY_LOAD_WIDTH:
        r->keys[0] = highest_load(loads, item), r->keys[1] = width, r->keys[2] = item->size;
        break;
    /* The first section that meets an item is the one of its highest load. */
    case SDX_PLAN_BY_BREADTH:
        r->keys[0] = highest_load(loads, item), r->keys[2] = item->size;
        for (uint32_t s = item->begin; s < item->end && r->keys[1] == 0; s++)
            if (loads[s] == r->keys[0]) r->keys[1] = task->section_count - s;
        break;
    case SDX_PLAN_BY_START:
    case SDX_PLAN_ORDER_COUNT: break;
    }
}

sdx_status sdx_plan_sort(const sdx_plan_task *task, sdx_plan_order by, uint32_t *order,
                         sdx_error *error) {
    size_t bytes = task->count * sizeof(ranked), load_bytes = task->section_count * sizeof(size_t);
    ranked *ranks = sdx_alloc(task->allocator, bytes, 1);
    size_t *loads = sdx_alloc(task->allocator, load_bytes, 1);
    bool good = ranks && loads;
    if (good) {
        sdx_plan_loads(task, loads);
        for (uint32_t i = 0; i < task->count; i++) {
            ranks[i] = (ranked){.index = i};
            set_keys(&ranks[i], task, by, loads);
        }
        qsort(ranks, task->count, sizeof *ranks, by_keys);
        for (uint32_t i = 0; i < task->count; i++) order[i] = ranks[i].index;
    }
    sdx_free(task->allocator, ranks, bytes);
    sdx_free(task->allocator, loads, load_bytes);
    return good ? SDX_STATUS_OK : sdx_fail_memory(error, bytes + load_bytes, "an order of items");
}
