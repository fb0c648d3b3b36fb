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

/* ---- neighbours in time ----------------------------------------------------------------------------- */

/* Time in stretches of equal length, each with a row of what lives in it. An item that covers a few of
 * them looks at their rows alone; else the whole row grows with each item, and a list costs the square
 * of their number. */
typedef struct stretches {
    uint32_t width; /* sections; 0: there are none */
    placed *rows;   /* of stretch s from first[s] on, used[s] of them */
    uint32_t *first, *used;
    placed *near; /* room for what one item meets */
} stretches;

#define MANY_ITEMS 500
#define MOST_ROWS  8 /* that one item looks at */

/* One allocation for rows and tables; *bytes tells how much, 0 where there are no stretches. */
static void *make_stretches(const sdx_plan_task *task, stretches *t, size_t *bytes) {
    uint64_t total = 0, entries = 0;
    *t = (stretches){0};
    *bytes = 0;
    if (task->count < MANY_ITEMS) return NULL;
    for (uint32_t i = 0; i < task->count; i++)
        total += task->items[i].end - task->items[i].begin;
    uint32_t width = 1 + (uint32_t)(total / task->count); /* an item covers about two */
    uint32_t count = task->section_count / width + 1;
    if (count <= MOST_ROWS) return NULL;
    for (uint32_t i = 0; i < task->count; i++)
        entries += (task->items[i].end - 1) / width - task->items[i].begin / width + 1;
    *bytes = (size_t)entries * 2 * sizeof(placed) + ((size_t)count + 1) * 2 * sizeof(uint32_t);
    char *memory = sdx_alloc(task->allocator, *bytes, _Alignof(placed));
    if (!memory) return NULL; /* slower, but as good */
    t->rows = (placed *)(void *)memory;
    t->near = t->rows + entries;
    t->first = (uint32_t *)(void *)(t->near + entries);
    t->used = t->first + count + 1;
    t->width = width;
    memset(t->first, 0, ((size_t)count + 1) * 2 * sizeof(uint32_t));
    for (uint32_t i = 0; i < task->count; i++)
        for (uint32_t s = task->items[i].begin / width; s <= (task->items[i].end - 1) / width; s++)
            t->first[s + 1]++;
    for (uint32_t s = 0; s < count; s++) t->first[s + 1] += t->first[s];
    return memory;
}

/* What has a place and shares a section with the item, by rising offset; some of it twice. */
static uint32_t meet(const stretches *t, const sdx_plan_item *item) {
    uint32_t from = item->begin / t->width, to = (item->end - 1) / t->width, count = 0;
    uint32_t at[MOST_ROWS] = {0}, rows = to - from + 1;
    for (;;) {
        const placed *next = NULL;
        uint32_t of = 0;
        for (uint32_t r = 0; r < rows; r++) {
            if (at[r] == t->used[from + r]) continue;
            const placed *head = &t->rows[t->first[from + r] + at[r]];
            if (next && head->offset >= next->offset) continue;
            next = head;
            of = r;
        }
        if (!next) return count;
        at[of]++;
        if (next->finish > item->begin && next->begin < item->end) t->near[count++] = *next;
    }
}

/* ---- lists -------------------------------------------------------------------------------------------- */

static size_t place_one(const stretches *t, const placed *row, uint32_t count,
                        const sdx_plan_item *item, sdx_plan_fit fit) {
    if (t->width == 0 || (item->end - 1) / t->width - item->begin / t->width >= MOST_ROWS)
        return find_place(row, count, item, fit);
    return find_place(t->near, meet(t, item), item, fit);
}

static void place_all(sdx_plan_task *task, const uint32_t *order, sdx_plan_fit fit,
                      const size_t *places, uint32_t fixed, placed *row, const stretches *t,
                      size_t *offsets) {
    task->work += (uint64_t)task->count * task->count / (t->width ? 16 : 2);
    for (uint32_t i = 0; i < task->count; i++) {
        const sdx_plan_item *item = &task->items[order[i]];
        size_t offset = i < fixed ? places[order[i]] : place_one(t, row, i, item, fit);
        placed fresh = {offset, offset + item->size, item->begin, item->end};
        offsets[order[i]] = offset;
        insert(row, i, fresh);
        if (t->width == 0) continue;
        for (uint32_t s = item->begin / t->width; s <= (item->end - 1) / t->width; s++)
            insert(t->rows + t->first[s], t->used[s]++, fresh);
    }
}

sdx_status sdx_plan_list_into(sdx_plan_task *task, const uint32_t *order, sdx_plan_fit fit,
                              const size_t *places, uint32_t fixed, size_t *offsets,
                              sdx_error *error) {
    size_t bytes = task->count * sizeof(placed), index_bytes;
    placed *row = sdx_alloc(task->allocator, bytes, 1);
    if (!row) return sdx_fail_memory(error, bytes, "a list placement");
    stretches t;
    void *index = make_stretches(task, &t, &index_bytes);
    place_all(task, order, fit, places, fixed, row, &t, offsets);
    sdx_plan_offer(task, offsets);
    if (index) sdx_free(task->allocator, index, index_bytes);
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
