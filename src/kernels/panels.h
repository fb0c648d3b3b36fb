/* panels.h - how the columns of a packed matrix are cut: panels of two vectors, the last of three where
 * the count is odd, or a single one. */
#ifndef SDX_KERNELS_PANELS_H
#define SDX_KERNELS_PANELS_H

#include <stddef.h>

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

/* A matrix by its strides: row k, column n is data[k * row + n * column]. */
typedef struct sdx_panel_source {
    const float *data;
    size_t row, column;
} sdx_panel_source;

/* Packs rows [0, depth) of all columns: panel i begins at to + first column * panel_depth, and holds
 * its rows one after the other; `to` may be moved on by rows to append (see sdx_panels_append). */
static inline void sdx_panels_fill(const sdx_panels *p, sdx_panel_source from, size_t depth,
                                   size_t first_row, size_t panel_depth, float *to) {
    for (size_t i = 0; i < p->count; i++) {
        size_t first = sdx_panel_first(p, i), width = sdx_panel_vectors(p, i) * p->lanes;
        float *out = to + first * panel_depth + first_row * width;
        for (size_t k = 0; k < depth; k++)
            for (size_t n = 0; n < width; n++)
                *out++ = first + n < p->columns
                             ? from.data[k * from.row + (first + n) * from.column]
                             : 0.0f;
    }
}

#endif
