/* matrix.c - see matrix.h. */
#include "kernels/matrix.h"

#include <string.h>

#include "base/checked.h"
#include "kernels/product.h"

size_t sdx_matrix_packed_size(size_t depth, size_t columns) {
    sdx_panels panels = sdx_panels_of(columns, sdx_kernels_get()->lanes);
    size_t size;
    bool fits = sdx_size_mul(depth, sdx_panels_width(&panels), &size) &&
                sdx_size_add(size, sdx_panels_width(&panels), &size);
    return fits ? size : SIZE_MAX;
}

typedef struct pack_job {
    sdx_panels panels;
    size_t depth, row, column;
    const float *from;
    float scale;
    float *to;
} pack_job;

/* Along whichever axis the source is contiguous, so that each of its lines is read once. */
static void pack_panel(const pack_job *j, size_t panel) {
    size_t first = sdx_panel_first(&j->panels, panel);
    size_t width = sdx_panel_vectors(&j->panels, panel) * j->panels.lanes;
    size_t columns = j->panels.columns - first < width ? j->panels.columns - first : width;
    float *to = j->to + first * j->depth;
    const float *from = j->from + first * j->column;
    if (columns < width) memset(to, 0, width * j->depth * sizeof *to);
    if (j->row == 1) {
        for (size_t n = 0; n < columns; n++)
            for (size_t k = 0; k < j->depth; k++)
                to[k * width + n] = from[n * j->column + k] * j->scale;
    } else {
        for (size_t k = 0; k < j->depth; k++)
            for (size_t n = 0; n < columns; n++)
                to[k * width + n] = from[k * j->row + n * j->column] * j->scale;
    }
}

static void pack_panels(void *arg, size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; panel++) pack_panel(arg, panel);
}

void sdx_matrix_pack(sdx_pool *pool, size_t depth, size_t columns, const float *from, size_t row,
                     size_t column, float scale, const float *bias, float *packed) {
    pack_job job = {sdx_panels_of(columns, sdx_kernels_get()->lanes), depth, row, column, from,
                    scale, packed};
    sdx_parallel_for(pool, job.panels.count, 4, pack_panels, &job);
    float *to = packed + depth * sdx_panels_width(&job.panels);
    memset(to, 0, sdx_panels_width(&job.panels) * sizeof *to);
    if (bias) memcpy(to, bias, columns * sizeof *to);
}

static void fill_rows(const sdx_product *product, size_t first, size_t count, size_t tap,
                      size_t taps, const float **to) {
    (void)tap, (void)taps;
    const float *x = product->user;
    for (size_t i = 0; i < count; i++) to[i] = x + (first + i) * product->depth;
}

void sdx_matrix_run(sdx_pool *pool, size_t rows, size_t depth, size_t columns, const float *packed,
                    const float *x, float *out, const sdx_tail *tail) {
    sdx_product product = {.rows = rows, .taps = 1, .depth = depth, .groups = 1,
                           .panels = sdx_panels_of(columns, sdx_kernels_get()->lanes),
                           .packed = packed, .out = out, .out_stride = columns, .tail = *tail,
                           .fill = fill_rows, .user = x};
    product.bias = packed + depth * sdx_panels_width(&product.panels);
    sdx_product_run(pool, &product);
}
