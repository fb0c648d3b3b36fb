/* layout.c - from offsets to "rests on" and back. The skyline over time, seen from above, is a list of
 * stretches, each with the buffer that is on top there; a new buffer rests on the ones that it
 * covers. What lies deeper is below those already, so the list stays linear in the buffers. */
#include "plan/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

typedef struct stretch {
    uint32_t begin; /* a step; the stretch ends where the next one begins */
    uint32_t top;   /* buffer, or UINT32_MAX for bare ground */
} stretch;

typedef struct ranked {
    size_t offset;
    uint32_t first, index;
} ranked;

static int by_offset(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

typedef struct maker {
    stretch *sky;
    size_t count;
    uint32_t *supports;
    size_t support_count;
} maker;

/* The stretch in which a step lies. */
static size_t find(const maker *m, uint32_t step) {
    size_t low = 0, high = m->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (m->sky[middle].begin <= step) low = middle;
        else high = middle;
    }
    return low;
}

/* Lays a buffer over [first, last]; notes what it covers. */
static void cover(maker *m, const sdx_buffer *buffer, uint32_t index) {
    size_t from = find(m, buffer->first), to = find(m, buffer->last);
    for (size_t i = from; i <= to; i++)
        if (m->sky[i].top != UINT32_MAX) m->supports[m->support_count++] = m->sky[i].top;
    stretch pieces[3];
    size_t piece_count = 0;
    if (m->sky[from].begin < buffer->first) pieces[piece_count++] = m->sky[from];
    pieces[piece_count++] = (stretch){buffer->first, index};
    uint32_t end = to + 1 < m->count ? m->sky[to + 1].begin : UINT32_MAX;
    if (buffer->last < UINT32_MAX - 1 && buffer->last + 1 < end)
        pieces[piece_count++] = (stretch){buffer->last + 1, m->sky[to].top};
    memmove(m->sky + from + piece_count, m->sky + to + 1, (m->count - to - 1) * sizeof *m->sky);
    memcpy(m->sky + from, pieces, piece_count * sizeof *pieces);
    m->count = m->count - (to + 1 - from) + piece_count;
}

sdx_status sdx_layout_make(const sdx_buffer *buffers, uint32_t count, sdx_arena *memory,
                           sdx_layout *layout, sdx_error *error) {
    size_t most = (size_t)count * 3 + 3; /* a buffer adds two stretches at most, each covered once */
    sdx_arena scratch;
    sdx_arena_init(&scratch, memory->allocator, 0);
    ranked *rank = sdx_arena_array(&scratch, (size_t)count + 1, sizeof *rank);
    maker m = {.sky = sdx_arena_array(&scratch, most, sizeof *m.sky),
               .supports = sdx_arena_array(&scratch, most, sizeof *m.supports)};
    *layout = (sdx_layout){.count = count,
                           .order = sdx_arena_array(memory, (size_t)count + 1, sizeof(uint32_t)),
                           .first = sdx_arena_array(memory, (size_t)count + 1, sizeof(uint32_t))};
    sdx_status status = SDX_STATUS_OK;
    if (!rank || !m.sky || !m.supports || !layout->order || !layout->first) goto no_memory;
    /* Empty ones have no place worth keeping; on top they push nothing up. */
    for (uint32_t i = 0; i < count; i++)
        rank[i] = (ranked){buffers[i].size ? buffers[i].offset : SIZE_MAX, buffers[i].first, i};
    qsort(rank, count, sizeof *rank, by_offset);
    m.sky[m.count++] = (stretch){0, UINT32_MAX};
    for (uint32_t i = 0; i < count; i++) {
        layout->order[i] = rank[i].index;
        layout->first[i] = (uint32_t)m.support_count;
        cover(&m, &buffers[rank[i].index], rank[i].index);
    }
    layout->first[count] = (uint32_t)m.support_count;
    layout->supports = sdx_arena_array(memory, m.support_count + 1, sizeof(uint32_t));
    if (!layout->supports) goto no_memory;
    memcpy(layout->supports, m.supports, m.support_count * sizeof(uint32_t));
    sdx_arena_free(&scratch);
    return status;
no_memory:
    sdx_arena_free(&scratch);
    return sdx_fail_memory(error, most * sizeof(uint32_t), "the layout of the arena");
}

static uint32_t *copy_list(const uint32_t *from, size_t count, sdx_arena *memory) {
    uint32_t *to = sdx_arena_array(memory, count + 1, sizeof *to);
    if (to && count) memcpy(to, from, count * sizeof *to);
    return to;
}

sdx_status sdx_layout_copy(const sdx_layout *layout, sdx_arena *memory, sdx_layout *copy,
                           sdx_error *error) {
    uint32_t count = layout->count;
    *copy = (sdx_layout){.count = count,
                         .order = copy_list(layout->order, count, memory),
                         .first = copy_list(layout->first, (size_t)count + 1, memory),
                         .supports = copy_list(layout->supports, layout->first[count], memory)};
    if (copy->order && copy->first && copy->supports) return SDX_STATUS_OK;
    return sdx_fail_memory(error, count * sizeof(uint32_t), "the layout of the arena");
}

bool sdx_layout_apply(const sdx_layout *layout, sdx_buffer *buffers, size_t *arena) {
    size_t top = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        sdx_buffer *buffer = &buffers[layout->order[i]];
        size_t offset = 0, end;
        for (uint32_t k = layout->first[i]; k < layout->first[i + 1]; k++) {
            const sdx_buffer *below = &buffers[layout->supports[k]];
            if (below->offset + below->size > offset) offset = below->offset + below->size;
        }
        buffer->offset = offset;
        if (!sdx_size_add(offset, buffer->size, &end)) return false;
        if (end > top) top = end;
    }
    *arena = top;
    return true;
}
