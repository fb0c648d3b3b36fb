/* panels.h - how the columns of a packed matrix are cut: panels of two vectors, the last of three where
 * the count is odd, or a single one.
 *
 * Where half of the last vector would be empty, it may stand for two rows at a time instead: in its lanes
 * 2 j and 2 j + 1 are column j of rows 2 i and 2 i + 1. Such a panel has, for each two rows, the whole
 * vectors of the first, those of the second, and the shared one; rows that are odd in number end with
 * one of zeros. */
#ifndef SDX_KERNELS_PANELS_H
#define SDX_KERNELS_PANELS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct sdx_panels {
    size_t columns; /* of the matrix */
    size_t lanes;   /* of a vector */
    size_t vectors; /* of all panels */
    size_t count;
    bool half; /* the last vector is one for two rows */
} sdx_panels;

static inline sdx_panels sdx_panels_of(size_t columns, size_t lanes) {
    sdx_panels p = {columns, lanes, (columns + lanes - 1) / lanes, 0, false};
    p.count = p.vectors < 2 ? p.vectors : p.vectors / 2;
    return p;
}
/* The same with half a vector at the end where that is enough. */
static inline sdx_panels sdx_panels_halved(size_t columns, size_t lanes) {
    sdx_panels p = sdx_panels_of(columns, lanes);
    p.half = columns % lanes > 0 && columns % lanes <= lanes / 2;
    return p;
}
/* Columns with the padding of the last panel. */
static inline size_t sdx_panels_width(const sdx_panels *p) {
    return p->vectors * p->lanes - (p->half ? p->lanes / 2 : 0);
}
/* Vectors of panel i, and its first column. */
static inline size_t sdx_panel_vectors(const sdx_panels *p, size_t i) {
    return i + 1 < p->count ? 2 : p->vectors - 2 * i;
}
static inline size_t sdx_panel_first(const sdx_panels *p, size_t i) { return 2 * i * p->lanes; }
/* Whether its last vector is one for two rows; the floats of a row. */
static inline bool sdx_panel_half(const sdx_panels *p, size_t i) { return p->half && i + 1 == p->count; }
static inline size_t sdx_panel_width(const sdx_panels *p, size_t i) {
    return sdx_panel_vectors(p, i) * p->lanes - (sdx_panel_half(p, i) ? p->lanes / 2 : 0);
}
/* Rows that are packed where there are `depth`. */
static inline size_t sdx_panels_rows(const sdx_panels *p, size_t depth) {
    return depth + (p->half ? depth % 2 : 0);
}

/* What is packed: row k of tap t, column n, is element n * column + k * row + t * tap of floats that may
 * have any alignment, times `scale`. */
typedef struct sdx_panel_source {
    const void *data;
    size_t column, row, tap;
    size_t taps, depth; /* rows of a tap */
    float scale;
} sdx_panel_source;

/* Told of bytes of a source that a packer has read for the last time; from any thread. */
typedef struct sdx_source_end {
    void (*call)(void *user, const void *data, size_t bytes);
    void *user;
} sdx_source_end;

static inline float sdx_float_at(const void *floats, size_t i) {
    float x;
    memcpy(&x, (const char *)floats + i * sizeof x, sizeof x);
    return x;
}

/* Lines of `count` floats each, of any alignment and `step` floats apart, become columns:
 * to[i * to_step + n] is element i of line n. */
void sdx_lines_turn(const void *from, size_t step, size_t lines, size_t count, float *to,
                    size_t to_step);

/* Packs one panel: [tap][row][column], padded with zeros. Of one with half a vector, which has a single tap,
 * also a part that begins with an even row. */
void sdx_panel_pack(const sdx_panels *panels, size_t panel, const sdx_panel_source *from,
                    float *to);

#endif
