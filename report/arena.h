/* arena.h - pictures of an arena: time across, address up, a rectangle for each buffer, and the curve of
 * what is live, whose top no arrangement can beat. */
#ifndef SDX_REPORT_ARENA_H
#define SDX_REPORT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct arena_buffer {
    const char *name;
    const char *detail; /* type and the like; "" for none */
    uint64_t size;
    int64_t lower, upper; /* live from lower until before upper */
    bool scratch;
} arena_buffer;

/* One arrangement of all buffers. */
typedef struct arena_view {
    const char *name;
    const uint64_t *offsets; /* one for each buffer */
    uint64_t arena;
    bool proved; /* no arena is smaller */
} arena_view;

typedef struct arena_picture {
    const char *title;
    const arena_buffer *buffers;
    size_t buffer_count;
    const arena_view *views; /* the first is drawn where there is room for one */
    size_t view_count;
    uint64_t bound; /* most bytes live at once */
} arena_picture;

/* False when writing failed or memory ran out. */
bool arena_write_svg(const arena_picture *picture, FILE *out);
bool arena_write_html(const arena_picture *picture, FILE *out);

/* What is live over time, as steps: at[i] to at[i + 1] live[i] bytes. False: no memory. */
typedef struct arena_curve {
    int64_t *at; /* count + 1 entries */
    uint64_t *live;
    size_t count;
} arena_curve;
bool arena_make_curve(const arena_picture *picture, arena_curve *curve);
void arena_free_curve(arena_curve *curve);

#endif
