/* panels.h - how the columns of a packed matrix are cut: panels of two vectors, the last of three where
 * the count is odd, or a single one. */
#ifndef SDX_KERNELS_PANELS_H
#define SDX_KERNELS_PANELS_H

#include <stddef.h>
#include <string.h>

typedef struct sdx_panels {
    size_t columns; /* of the matrix */
    size_t lanes;   /* of a vector */
    size_t vectors; /* of all panels */
    size_t count;
} sdx_panels;

static inline sdx_panels sdx_panels_of(size_t columns, size_t lanes) {
    sdx_panels p = {columns, lanes, (columns + lanes - 1) / lanes, 0};
    p.count = p.vectors < 2 ? p.vectors : p.vectors / 2;
    return p;
}
/* Columns with the padding of the last panel. */
static inline size_t sdx_panels_width(const sdx_panels *p) { return p->vectors * p->lanes; }
/* Vectors of panel i, and its first column. */
static inline size_t sdx_panel_vectors(const sdx_panels *p, size_t i) {
    return i + 1 < p->count ? 2 : p->vectors - 2 * i;
}
static inline size_t sdx_panel_first(const sdx_panels *p, size_t i) { return 2 * i * p->lanes; }

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

/* Packs one panel: [tap][row][column], padded with zeros. */
void sdx_panel_pack(const sdx_panels *panels, size_t panel, const sdx_panel_source *from,
                    float *to);

#endif
