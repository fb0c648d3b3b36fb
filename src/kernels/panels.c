/* panels.c - packing; see panels.h. */
#include "kernels/panels.h"

#include "kernels/kernels.h"

#define LINES   16 /* at a time: a cache line of results */
#define STRETCH 48 /* floats of a line at a time */
#define TURNED  960 /* floats between lines and panel; less than a page of the stack */
#define WHOLE   480 /* floats of rows that become half a vector */

/* The next stretch of a line, where there is one: jumping from line to line defeats the hardware's own. */
static void prefetch_behind(const char *line) {
    for (size_t i = 0; i < STRETCH * sizeof(float); i += 64) __builtin_prefetch(line + i);
}

/* Neighbouring columns are neighbours in memory: a short piece of each row, and the next panel has the piece
 * behind it. */
static void pack_along_columns(const sdx_panel_source *from, const char *first, size_t columns,
                               size_t width, float *to) {
    for (size_t t = 0; t < from->taps; t++)
        for (size_t k = 0; k < from->depth; k++, to += width) {
            const char *row = first + (t * from->tap + k * from->row) * sizeof *to;
            memcpy(to, row, columns * sizeof *to);
            for (size_t i = 0; i < width * sizeof *to; i += 64)
                __builtin_prefetch(row + columns * sizeof *to + i);
        }
}

void sdx_lines_turn(const void *from, size_t step, size_t lines, size_t count, float *to,
                    size_t to_step) {
    _Alignas(64) float copy[LINES][STRETCH];
    const sdx_kernels *kernels = sdx_kernels_get();
    for (size_t first = 0; first < lines; first += LINES) {
        size_t part = lines - first < LINES ? lines - first : LINES;
        for (size_t begin = 0; begin < count; begin += STRETCH) {
            size_t length = count - begin < STRETCH ? count - begin : STRETCH;
            /* Lines of any alignment, often powers of two apart: side by side first. */
            for (size_t n = 0; n < part; n++) {
                const char *line = (const char *)from + ((first + n) * step + begin) * sizeof *to;
                memcpy(copy[n], line, length * sizeof *to);
                prefetch_behind(line + length * sizeof *to);
            }
            SDX_KERNEL_OF(kernels, f32_transpose)(copy[0], STRETCH, to + begin * to_step + first,
                                   (ptrdiff_t)to_step, part, length);
        }
    }
}

/* The rows of a column are neighbours in memory, tap by tap. */
static void pack_across(const sdx_panel_source *from, const char *first, size_t columns,
                        size_t width, float *to) {
    if (from->taps == 1) {
        sdx_lines_turn(first, from->column, columns, from->depth, to, width);
        return;
    }
    _Alignas(64) float turned[TURNED];
    size_t stretch = TURNED / width, total = from->taps * from->depth;
    for (size_t begin = 0; begin < total; begin += stretch) {
        size_t length = total - begin < stretch ? total - begin : stretch;
        size_t k = begin / from->taps, t = begin % from->taps;
        sdx_lines_turn(first + begin * sizeof *to, from->column, columns, length, turned, width);
        for (size_t i = 0; i < length; i++) {
            memcpy(to + (t * from->depth + k) * width, turned + i * width, columns * sizeof *to);
            if (++t == from->taps) t = 0, k++;
        }
    }
}

/* Whatever lies where. */
static void pack_any(const sdx_panel_source *from, const char *first, size_t columns, size_t width,
                     float *to) {
    for (size_t t = 0; t < from->taps; t++)
        for (size_t k = 0; k < from->depth; k++, to += width)
            for (size_t n = 0; n < columns; n++)
                to[n] = sdx_float_at(first, n * from->column + k * from->row + t * from->tap);
}

/* Through whole vectors, some rows at a time. */
static void pack_half(const sdx_panels *panels, size_t panel, const sdx_panel_source *from, float *to) {
    _Alignas(64) float whole[WHOLE];
    sdx_panels all = *panels;
    all.half = false;
    const size_t lanes = panels->lanes, vectors = sdx_panel_vectors(panels, panel);
    const size_t width = vectors * lanes, full = width - lanes, stretch = WHOLE / width / 2 * 2;
    for (size_t begin = 0; begin < from->depth; begin += stretch) {
        sdx_panel_source part = *from;
        part.data = (const char *)from->data + begin * from->row * sizeof *to;
        part.depth = from->depth - begin < stretch ? from->depth - begin : stretch;
        sdx_panel_pack(&all, panel, &part, whole);
        if (part.depth % 2) memset(whole + part.depth * width, 0, width * sizeof *whole);
        for (size_t k = 0; k < part.depth; k += 2) {
            const float *rows[2] = {whole + k * width, whole + (k + 1) * width};
            for (size_t r = 0; r < 2; r++, to += full) memcpy(to, rows[r], full * sizeof *to);
            for (size_t n = 0; n < lanes; n++) *to++ = rows[n % 2][full + n / 2];
        }
    }
}

void sdx_panel_pack(const sdx_panels *panels, size_t panel, const sdx_panel_source *from,
                    float *to) {
    if (sdx_panel_half(panels, panel)) {
        pack_half(panels, panel, from, to);
        return;
    }
    size_t first = sdx_panel_first(panels, panel);
    size_t width = sdx_panel_vectors(panels, panel) * panels->lanes;
    size_t columns = panels->columns - first < width ? panels->columns - first : width;
    const char *at = (const char *)from->data + first * from->column * sizeof(float);
    size_t total = from->taps * from->depth * width;
    if (columns < width) memset(to, 0, total * sizeof *to);
    bool lines = from->row == from->taps && (from->tap == 1 || from->taps == 1);
    if (from->column == 1) pack_along_columns(from, at, columns, width, to);
    else if (lines && width <= TURNED) pack_across(from, at, columns, width, to);
    else pack_any(from, at, columns, width, to);
    for (size_t i = 0; from->scale != 1.0f && i < total; i++) to[i] *= from->scale;
}
