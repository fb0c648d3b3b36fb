/* best_fit.c - the strategy "by start, best fit": what an allocator would do along the run, but
 * ahead of it. */
#include "base/checked.h"
#include "plan/plan.h"

/* active holds the live buffers by rising offset. */
static uint32_t drop_dead(const sdx_buffer *buffers, uint32_t *active, uint32_t live,
                          uint32_t now) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < live; i++)
        if (buffers[active[i]].last >= now) active[kept++] = active[i];
    return kept;
}

/* Position in active before which the buffer goes; *offset where it starts. */
static uint32_t find_gap(const sdx_buffer *buffers, const uint32_t *active, uint32_t live,
                         size_t size, size_t *offset) {
    size_t end = 0, best = SIZE_MAX;
    uint32_t place = live;
    for (uint32_t i = 0; i < live; i++) {
        const sdx_buffer *next = &buffers[active[i]];
        size_t gap = next->offset - end;
        if (gap >= size && gap < best) {
            best = gap;
            place = i;
            *offset = end;
        }
        end = next->offset + next->size;
    }
    if (place == live) *offset = end;
    return place;
}

bool sdx_plan_best_fit(sdx_buffer *buffers, uint32_t count, uint32_t *active, size_t *arena) {
    uint32_t live = 0;
    size_t top = 0;
    for (uint32_t i = 0; i < count; i++) {
        sdx_buffer *buffer = &buffers[i];
        buffer->offset = 0;
        if (buffer->size == 0) continue;
        live = drop_dead(buffers, active, live, buffer->first);
        uint32_t place = find_gap(buffers, active, live, buffer->size, &buffer->offset);
        size_t end;
        if (!sdx_size_add(buffer->offset, buffer->size, &end)) return false;
        if (end > top) top = end;
        for (uint32_t k = live; k > place; k--) active[k] = active[k - 1];
        active[place] = i;
        live++;
    }
    *arena = top;
    return true;
}
