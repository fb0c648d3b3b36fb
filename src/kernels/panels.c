/* panels.c - packing; see panels.h. */
#include "kernels/panels.h"

#define ROWS 16 /* at a time, so that both sides stay in the first-level cache */

/* Neighbouring columns are neighbours in memory. */
static void pack_along_columns(const sdx_panel_source *from, const char *first, size_t columns,
                               size_t width, float *to) {
    for (size_t t = 0; t < from->taps; t++)
        for (size_t k = 0; k < from->depth; k++, to += width) {
            const char *line = first + (t * from->tap + k * from->row) * sizeof(float);
            for (size_t n = 0; n < columns; n++) to[n] = sdx_float_at(line, n) * from->scale;
        }
}

static void pack_across(const sdx_panel_source *from, const char *first, size_t columns,
                        size_t width, float *to) {
    for (size_t begin = 0; begin < from->depth; begin += ROWS) {
        size_t end = from->depth - begin < ROWS ? from->depth : begin + ROWS;
        for (size_t n = 0; n < columns; n++)
            for (size_t k = begin; k < end; k++)
                for (size_t t = 0; t < from->taps; t++)
                    to[(t * from->depth + k) * width + n] =
                        sdx_float_at(first, n * from->column + k * from->row + t * from->tap) *
                        from->scale;
    }
}

void sdx_panel_pack(const sdx_panels *panels, size_t panel, const sdx_panel_source *from,
                    float *to) {
    size_t first = sdx_panel_first(panels, panel);
    size_t width = sdx_panel_vectors(panels, panel) * panels->lanes;
    size_t columns = panels->columns - first < width ? panels->columns - first : width;
    const char *at = (const char *)from->data + first * from->column * sizeof(float);
    if (columns < width) memset(to, 0, from->taps * from->depth * width * sizeof *to);
    if (from->column == 1) pack_along_columns(from, at, columns, width, to);
    else pack_across(from, at, columns, width, to);
}
