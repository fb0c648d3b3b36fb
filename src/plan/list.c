/* list.c - placing items one by one: what most strategies come down to once they have an order. */
#include <string.h>

#include "plan/plan.h"

/* What has a place, by rising offset: just what the search for gaps reads, in one row. */
typedef struct placed {
    size_t offset, end;
    uint32_t begin, finish; /* sections */
} placed;

static size_t aligned(size_t offset, size_t align) {
    size_t rest = offset % align;
    return rest == 0 ? offset : offset + (align - rest);
}

static size_t find_place(const placed *row, uint32_t count, const sdx_plan_item *item,
                         sdx_plan_fit fit) {
    size_t end = 0, smallest = SIZE_MAX, found = SIZE_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const placed *other = &row[i];
        /* One branch in place of two: most of a large problem lives at another time. */
        if ((other->finish <= item->begin) | (other->begin >= item->end)) continue;
        size_t from = item->align == 1 ? end : aligned(end, item->align);
        if (other->offset >= from && other->offset - from >= item->size &&
            other->offset - from < smallest) {
            if (fit == SDX_PLAN_FIRST_FIT) return from;
            smallest = other->offset - from;
            found = from;
        }
        if (other->end > end) end = other->end;
    }
    return found != SIZE_MAX ? found : aligned(end, item->align);
}

static void insert(placed *row, uint32_t count, placed fresh) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (row[middle].offset <= fresh.offset) low = middle + 1;
        else high = middle;
    }
    memmove(&row[low + 1], &row[low], (count - low) * sizeof *row);
    row[low] = fresh;
}

/* The row grows with each item: a list costs about the square of their number. */
static void place_all(sdx_plan_task *task, const uint32_t *order, sdx_plan_fit fit,
                      const size_t *places, uint32_t fixed, placed *row, size_t *offsets) {
    task->work += (uint64_t)task->count * task->count / 2;
    for (uint32_t i = 0; i < task->count; i++) {
        const sdx_plan_item *item = &task->items[order[i]];
        size_t offset = i < fixed ? places[order[i]] : find_place(row, i, item, fit);
        offsets[order[i]] = offset;
        insert(row, i, (placed){offset, offset + item->size, item->begin, item->end});
    }
}

sdx_status sdx_plan_list_into(sdx_plan_task *task, const uint32_t *order, sdx_plan_fit fit,
                              const size_t *places, uint32_t fixed, size_t *offsets,
                              sdx_error *error) {
    size_t bytes = task->count * sizeof(placed);
    placed *row = sdx_alloc(task->allocator, bytes, 1);
    if (!row) return sdx_fail_memory(error, bytes, "a list placement");
    place_all(task, order, fit, places, fixed, row, offsets);
    sdx_plan_offer(task, offsets);
    sdx_free(task->allocator, row, bytes);
    return SDX_STATUS_OK;
}

sdx_status sdx_plan_list(sdx_plan_task *task, const uint32_t *order, sdx_plan_fit fit,
                         const size_t *places, uint32_t fixed, sdx_error *error) {
    size_t bytes = task->count * sizeof(size_t);
    size_t *offsets = sdx_alloc(task->allocator, bytes, 1);
    if (!offsets) return sdx_fail_memory(error, bytes, "a list placement");
    sdx_status status = sdx_plan_list_into(task, order, fit, places, fixed, offsets, error);
    sdx_free(task->allocator, offsets, bytes);
    return status;
}

sdx_status sdx_plan_sorted_list(sdx_plan_task *task, sdx_plan_order by, sdx_plan_fit fit,
                                sdx_error *error) {
    size_t bytes = task->count * sizeof(uint32_t);
    uint32_t *order = sdx_alloc(task->allocator, bytes, 1);
    if (!order) return sdx_fail_memory(error, bytes, "an order of items");
    sdx_status status = sdx_plan_sort(task, by, order, error);
    if (status == SDX_STATUS_OK) status = sdx_plan_list(task, order, fit, NULL, 0, error);
    sdx_free(task->allocator, order, bytes);
    return status;
}
