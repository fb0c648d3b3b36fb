/* validate.c - an independent check of a plan. Trusts nothing that a strategy computed and shares no
 * code with any: it walks along time and keeps what is live in a row by address, where a newcomer
 * must not touch its neighbours. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

/* A buffer begins or ends. Ends come first at the same step, since `last` is included. */
typedef struct event {
    uint64_t key; /* step * 2, plus 1 for a begin */
    uint32_t buffer;
} event;

static int by_time(const void *a, const void *b) {
    const event *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

/* Position of the first live buffer whose offset is at least this. */
static uint32_t position(const sdx_buffer *buffers, const uint32_t *row, uint32_t live,
                         size_t offset) {
    uint32_t low = 0, high = live;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (buffers[row[middle]].offset < offset) low = middle + 1;
        else high = middle;
    }
    return low;
}

static sdx_status overlap(const sdx_buffer *buffers, uint32_t a, uint32_t b, sdx_error *error) {
    return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                    "buffers %u (offset %zu, size %zu) and %u (offset %zu, size %zu) overlap while "
                    "both are live",
                    a, buffers[a].offset, buffers[a].size, b, buffers[b].offset, buffers[b].size);
}

static sdx_status walk(const sdx_buffer *buffers, const event *events, size_t count, uint32_t *row,
                       sdx_error *error) {
    uint32_t live = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t index = events[i].buffer;
        const sdx_buffer *buffer = &buffers[index];
        uint32_t at = position(buffers, row, live, buffer->offset);
        if (events[i].key & 1) {
            if (at > 0 && buffers[row[at - 1]].offset + buffers[row[at - 1]].size > buffer->offset)
                return overlap(buffers, row[at - 1], index, error);
            if (at < live && buffer->offset + buffer->size > buffers[row[at]].offset)
                return overlap(buffers, index, row[at], error);
            memmove(&row[at + 1], &row[at], (live - at) * sizeof *row);
            row[at] = index;
            live++;
        } else {
            /* Live buffers do not overlap, so no other has this offset. */
            memmove(&row[at], &row[at + 1], (live - at - 1) * sizeof *row);
            live--;
        }
    }
    return SDX_STATUS_OK;
}

static sdx_status check_bounds(const sdx_buffer *buffers, uint32_t count, size_t arena,
                               size_t align, sdx_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        const sdx_buffer *b = &buffers[i];
        if (b->first > b->last)
            return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                            "buffer %u is live from step %u to step %u", i, b->first, b->last);
        if (b->size == 0) continue;
        if (b->size > arena || b->offset > arena - b->size)
            return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                            "buffer %u (offset %zu, size %zu) ends outside the arena of %zu bytes",
                            i, b->offset, b->size, arena);
        size_t wanted = b->align > 1 && b->offset % b->align != 0 ? b->align : align;
        if (wanted > 1 && b->offset % wanted != 0)
            return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                            "buffer %u has offset %zu, which is no multiple of %zu", i, b->offset,
                            wanted);
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_plan_validate(const sdx_buffer *buffers, uint32_t count, size_t arena, size_t align,
                             const sdx_allocator *allocator, sdx_error *error) {
    SDX_TRY(check_bounds(buffers, count, arena, align, error));
    size_t event_bytes = 2 * (size_t)count * sizeof(event), used = 0;
    size_t row_bytes = (size_t)count * sizeof(uint32_t);
    event *events = sdx_alloc(allocator, event_bytes, 1);
    uint32_t *row = sdx_alloc(allocator, row_bytes, 1);
    sdx_status status;
    if (events && row) {
        for (uint32_t i = 0; i < count; i++) {
            if (buffers[i].size == 0) continue;
            events[used++] = (event){(uint64_t)buffers[i].first * 2 + 1, i};
            events[used++] = (event){((uint64_t)buffers[i].last + 1) * 2, i};
        }
        qsort(events, used, sizeof *events, by_time);
        status = walk(buffers, events, used, row, error);
    } else {
        status = sdx_fail_memory(error, event_bytes + row_bytes, "checking a plan");
    }
    sdx_free(allocator, events, event_bytes);
    sdx_free(allocator, row, row_bytes);
    return status;
}
