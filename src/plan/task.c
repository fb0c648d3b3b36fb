/* task.c - brings a problem into the simple form that strategies see: empty buffers dropped, sizes
 * rounded and divided by their common divisor, time cut into sections.
 *
 * Two buffers share memory unless they share a section, so only sections whose set of live buffers
 * is contained in no other matter: a cut is made where something begins after something has ended. */
#include "plan/task.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

static size_t common_divisor(size_t a, size_t b) {
    while (b != 0) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool round_up(size_t value, size_t multiple, size_t *out) {
    size_t rest = value % multiple;
    return rest == 0 ? (*out = value, true) : sdx_size_add(value, multiple - rest, out);
}

/* One end of a lifetime. Ends sort before begins at the same moment. */
typedef struct moment {
    uint64_t key; /* time * 2, plus 1 for a begin */
    uint32_t item;
} moment;

static int by_key(const void *a, const void *b) {
    const moment *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static sdx_status cut_sections(const sdx_buffer *buffers, const uint32_t *source,
                               sdx_plan_item *items, sdx_arena *memory, sdx_plan_task *task,
                               sdx_error *error) {
    size_t count = (size_t)task->count * 2;
    moment *moments = sdx_arena_array(memory, count, sizeof *moments);
    if (!moments) return sdx_fail_memory(error, count * sizeof *moments, "the plan's lifetimes");
    for (uint32_t i = 0; i < task->count; i++) {
        const sdx_buffer *buffer = &buffers[source[i]];
        moments[2 * i] = (moment){(uint64_t)buffer->first * 2 + 1, i};
        moments[2 * i + 1] = (moment){((uint64_t)buffer->last + 1) * 2, i};
    }
    qsort(moments, count, sizeof *moments, by_key);
    uint32_t section = 0;
    bool ended = false;
    for (size_t i = 0; i < count; i++) {
        bool begins = moments[i].key & 1;
        if (begins && ended) section++;
        ended = !begins;
        if (begins) items[moments[i].item].begin = section;
        else items[moments[i].item].end = section + 1;
    }
    task->section_count = section + 1;
    return SDX_STATUS_OK;
}

typedef struct numbered_item {
    sdx_plan_item item;
    uint32_t source;
} numbered_item;

static int by_begin(const void *a, const void *b) {
    const numbered_item *x = a, *y = b;
    if (x->item.begin != y->item.begin) return x->item.begin < y->item.begin ? -1 : 1;
    if (x->item.size != y->item.size) return x->item.size > y->item.size ? -1 : 1;
    return (x->source > y->source) - (x->source < y->source);
}

static sdx_status sort_items(sdx_plan_item *items, uint32_t *source, uint32_t count,
                             const sdx_allocator *allocator, sdx_error *error) {
    size_t bytes = (size_t)count * sizeof(numbered_item);
    numbered_item *sorted = sdx_alloc(allocator, bytes, 1);
    if (!sorted) return sdx_fail_memory(error, bytes, "the plan's items");
    for (uint32_t i = 0; i < count; i++) sorted[i] = (numbered_item){items[i], source[i]};
    qsort(sorted, count, sizeof *sorted, by_begin);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = sorted[i].item;
        source[i] = sorted[i].source;
    }
    sdx_free(allocator, sorted, bytes);
    return SDX_STATUS_OK;
}

/* The alignment that all buffers share: the request's, or a larger one that each of them has. */
static size_t shared_alignment(const sdx_buffer *buffers, uint32_t count, size_t align) {
    size_t shared = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (buffers[i].size == 0) continue;
        if (shared != 0 && buffers[i].align != shared) return align;
        shared = buffers[i].align;
    }
    return shared > align && shared % align == 0 ? shared : align;
}

/* Sizes in bytes, rounded; the unit; their sum. */
static sdx_status measure(const sdx_buffer *buffers, uint32_t count, size_t align,
                          sdx_plan_item *items, uint32_t *source, sdx_plan_task *task,
                          size_t *naive, sdx_error *error) {
    *naive = 0;
    size_t most = 0; /* no offset passes it, whatever is rounded on the way */
    for (uint32_t i = 0; i < count; i++) {
        const sdx_buffer *buffer = &buffers[i];
        if (buffer->first > buffer->last)
            return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                            "buffer %u is live from step %u to step %u", i, buffer->first,
                            buffer->last);
        if (buffer->size == 0) continue;
        size_t own = buffer->align > align ? buffer->align : align, size;
        if (!round_up(buffer->size, align, &size) || !sdx_size_add(most, size, &most) ||
            !sdx_size_add(most, own, &most) || most > SIZE_MAX / 4)
            return sdx_fail(error, SDX_STATUS_LIMIT,
                            "the sizes add up to more than the address space at buffer %u", i);
        if (own % align != 0 || (buffer->align > 1 && own % buffer->align != 0))
            return sdx_fail(error, SDX_STATUS_UNSUPPORTED,
                            "buffer %u has alignment %zu, which does not go with %zu for all", i,
                            buffer->align, align);
        *naive += size;
        task->unit = common_divisor(size, task->unit);
        source[task->count] = i;
        items[task->count++] = (sdx_plan_item){.size = size, .align = own};
    }
    return SDX_STATUS_OK;
}

void sdx_plan_loads(const sdx_plan_task *task, size_t *loads) {
    memset(loads, 0, task->section_count * sizeof *loads);
    for (uint32_t i = 0; i < task->count; i++)
        for (uint32_t s = task->items[i].begin; s < task->items[i].end; s++)
            loads[s] += task->items[i].size;
}

sdx_status sdx_plan_task_build(const sdx_buffer *buffers, uint32_t count, size_t align,
                               sdx_arena *memory, sdx_plan_task *task, uint32_t **source,
                               size_t *naive, sdx_error *error) {
    *task = (sdx_plan_task){.allocator = memory->allocator, .arena = SIZE_MAX};
    sdx_plan_item *items = sdx_arena_array(memory, count, sizeof *items);
    *source = sdx_arena_array(memory, count, sizeof **source);
    task->offsets = sdx_arena_array(memory, count, sizeof *task->offsets);
    if (!items || !*source || !task->offsets)
        return sdx_fail_memory(error, count * sizeof *items, "the plan's items");
    align = shared_alignment(buffers, count, align > 1 ? align : 1);
    SDX_TRY(measure(buffers, count, align, items, *source, task, naive, error));
    task->items = items;
    if (task->count == 0) return SDX_STATUS_OK;
    SDX_TRY(cut_sections(buffers, *source, items, memory, task, error));
    SDX_TRY(sort_items(items, *source, task->count, memory->allocator, error));
    /* Where every size is a multiple of the alignment, so is every sum of sizes. */
    for (uint32_t i = 0; i < task->count; i++)
        if (task->unit % items[i].align != 0) task->mixed = true;
    for (uint32_t i = 0; i < task->count && task->mixed; i++)
        task->unit = common_divisor(task->unit, items[i].align);
    for (uint32_t i = 0; i < task->count; i++) {
        items[i].size /= task->unit;
        items[i].align = task->mixed ? items[i].align / task->unit : 1;
    }
    size_t *loads = sdx_arena_array(memory, task->section_count, sizeof *loads);
    if (!loads) return sdx_fail_memory(error, task->section_count * sizeof *loads, "the plan");
    sdx_plan_loads(task, loads);
    for (uint32_t s = 0; s < task->section_count; s++)
        if (loads[s] > task->bound) task->bound = loads[s];
    return SDX_STATUS_OK;
}
