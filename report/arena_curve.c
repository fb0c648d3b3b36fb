/* arena_curve.c - bytes live over time: the lower bound that pictures of an arena carry. */
#include <stdlib.h>

#include "arena.h"

typedef struct event {
    int64_t time;
    uint64_t size;
    bool begins;
} event;

static int by_time(const void *a, const void *b) {
    const event *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

bool arena_make_curve(const arena_picture *picture, arena_curve *curve) {
    size_t count = picture->buffer_count * 2;
    event *events = calloc(count + 1, sizeof *events);
    *curve = (arena_curve){.at = calloc(count + 1, sizeof *curve->at),
                           .live = calloc(count + 1, sizeof *curve->live)};
    if (!events || !curve->at || !curve->live) {
        free(events);
        arena_free_curve(curve);
        return false;
    }
    for (size_t i = 0; i < picture->buffer_count; i++) {
        const arena_buffer *b = &picture->buffers[i];
        events[2 * i] = (event){b->lower, b->size, true};
        events[2 * i + 1] = (event){b->upper, b->size, false};
    }
    qsort(events, count, sizeof *events, by_time);
    uint64_t live = 0;
    for (size_t i = 0; i < count;) {
        int64_t time = events[i].time;
        for (; i < count && events[i].time == time; i++)
            live = events[i].begins ? live + events[i].size : live - events[i].size;
        curve->at[curve->count] = time;
        curve->live[curve->count++] = live;
    }
    if (curve->count) curve->count--; /* the last entry is where all ends */
    free(events);
    return true;
}

void arena_free_curve(arena_curve *curve) {
    free(curve->at);
    free(curve->live);
    *curve = (arena_curve){0};
}
