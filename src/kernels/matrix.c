/* matrix.c - see matrix.h. */
#include "kernels/matrix.h"

#include <string.h>

#include "base/checked.h"
#include "base/parts.h"
#include "kernels/product.h"

#define SCALE_FLOATS ((size_t)16 << 10) /* of a thread's share: about 2 us */
#define NARROW 48 /* columns: of more, half an empty vector is a small part */

/* With half vectors where whole ones would leave most of the last one empty. */
static const sdx_kernels *kernels_of(size_t columns) {
    const sdx_kernels *kernels = sdx_kernels_get();
    const size_t used = columns % kernels->lanes;
    return kernels->half && columns <= NARROW && used > 0 && used <= kernels->half->lanes
               ? kernels->half
               : kernels;
}

sdx_panels sdx_matrix_panels(size_t columns) {
    return sdx_panels_of(columns, kernels_of(columns)->lanes);
}

size_t sdx_matrix_packed_size(size_t depth, size_t columns) {
    sdx_panels panels = sdx_matrix_panels(columns);
    if (panels.vectors == 1) sdx_part_take(SDX_PART_narrow_tiles);
    size_t size;
    bool fits = sdx_size_mul(depth, sdx_panels_width(&panels), &size) &&
                sdx_size_add(size, sdx_panels_width(&panels), &size);
    return fits ? size : SIZE_MAX;
}

typedef struct pack_job {
    sdx_panels panels;
    sdx_panel_source from;
    float *to;
    const sdx_source_end *end;
} pack_job;

/* Lines of the source, which follow one another, have been read. */
static void end_lines(const pack_job *j, size_t first, size_t count, size_t step) {
    if (j->end)
        j->end->call(j->end->user, (const char *)j->from.data + first * step * sizeof(float),
                     count * step * sizeof(float));
}

/* Columns are lines of the source. */
static void pack_panels(void *arg, size_t begin, size_t end) {
    const pack_job *j = arg;
    for (size_t panel = begin; panel < end; panel++)
        sdx_panel_pack(&j->panels, panel, &j->from,
                       j->to + sdx_panel_first(&j->panels, panel) * j->from.depth);
    size_t first = sdx_panel_first(&j->panels, begin);
    size_t behind = end < j->panels.count ? sdx_panel_first(&j->panels, end) : j->panels.columns;
    end_lines(j, first, behind - first, j->from.column);
}

/* Rows are lines of the source: a part of each panel. */
static void pack_rows(void *arg, size_t begin, size_t end) {
    const pack_job *j = arg;
    sdx_panel_source part = j->from;
    part.data = (const char *)j->from.data + begin * j->from.row * sizeof(float);
    part.depth = end - begin;
    for (size_t panel = 0; panel < j->panels.count; panel++) {
        size_t width = sdx_panel_vectors(&j->panels, panel) * j->panels.lanes;
        sdx_panel_pack(&j->panels, panel, &part,
                       j->to + sdx_panel_first(&j->panels, panel) * j->from.depth + begin * width);
    }
    end_lines(j, begin, end - begin, j->from.row);
}

void sdx_matrix_pack(sdx_pool *pool, size_t depth, size_t columns, const void *from, size_t row,
                     size_t column, float scale, const void *bias, float *packed,
                     const sdx_source_end *end) {
    pack_job job = {sdx_matrix_panels(columns),
                    {from, column, row, 0, 1, depth, scale},
                    packed,
                    end};
    if (column == 1) sdx_parallel_for(pool, depth, 64, pack_rows, &job);
    else sdx_parallel_for(pool, job.panels.count, 4, pack_panels, &job);
    float *to = packed + depth * sdx_panels_width(&job.panels);
    memset(to, 0, sdx_panels_width(&job.panels) * sizeof *to);
    if (bias) memcpy(to, bias, columns * sizeof *to);
}

void sdx_matrix_scale(size_t depth, size_t columns, const void *factors, float *packed) {
    sdx_panels panels = sdx_matrix_panels(columns);
    for (size_t p = 0; p < panels.count; p++) {
        size_t first = sdx_panel_first(&panels, p);
        size_t width = sdx_panel_vectors(&panels, p) * panels.lanes;
        size_t used = columns - first < width ? columns - first : width;
        for (size_t k = 0; k < depth; k++, packed += width)
            for (size_t n = 0; n < used; n++) packed[n] *= sdx_float_at(factors, first + n);
    }
}

typedef struct scale_job {
    sdx_panels panels;
    size_t depth;
    const float *packed, *factors;
    float *to;
} scale_job;

/* Rows [begin, end) of each panel. */
static void scale_rows(void *arg, size_t begin, size_t end) {
    const scale_job *j = arg;
    for (size_t p = 0; p < j->panels.count; p++) {
        size_t width = sdx_panel_vectors(&j->panels, p) * j->panels.lanes;
        size_t at = sdx_panel_first(&j->panels, p) * j->depth + begin * width;
        SDX_KERNEL_OF(sdx_kernels_get(), f32_binary)(&(sdx_f32_pairs){
            .operator = SDX_F32_MUL, .a = j->packed + at, .b = j->factors + begin, .out = j->to + at,
            .rows = end - begin, .n = width, .a_row = width, .b_row = 1, .out_row = width,
            .a_step = true});
    }
}

void sdx_matrix_scale_rows(sdx_pool *pool, size_t depth, size_t columns, const float *packed,
                           const float *factors, float *to) {
    scale_job job = {sdx_matrix_panels(columns), depth, packed, factors, to};
    const size_t width = sdx_panels_width(&job.panels), bias = depth * width;
    sdx_parallel_for(pool, depth, SCALE_FLOATS / width + 1, scale_rows, &job);
    memcpy(to + bias, packed + bias, width * sizeof *to);
}

static void fill_rows(const sdx_product *product, size_t first, size_t count, size_t tap,
                      size_t taps, const float **to) {
    (void)tap, (void)taps;
    const float *x = product->user;
    for (size_t i = 0; i < count; i++) to[i] = x + (first + i) * product->depth;
}

static void run_panels(sdx_pool *pool, size_t rows, size_t depth, size_t all, size_t columns,
                       const float *packed, const float *bias, const float *x, float *out,
                       size_t out_stride, const sdx_tail *tail) {
    const sdx_kernels *kernels = kernels_of(all);
    sdx_product product = {.rows = rows, .taps = 1, .depth = depth, .groups = 1,
                           .panels = sdx_panels_of(columns, kernels->lanes),
                           .packed = packed, .bias = bias, .out = out, .out_stride = out_stride,
                           .tail = *tail, .fill = fill_rows, .user = x, .kernels = kernels};
    sdx_product_run(pool, &product);
}

static const float *bias_of(size_t depth, size_t columns, const float *packed) {
    sdx_panels panels = sdx_matrix_panels(columns);
    return packed + depth * sdx_panels_width(&panels);
}

void sdx_matrix_run(sdx_pool *pool, size_t rows, size_t depth, size_t columns, const float *packed,
                    const float *x, float *out, const sdx_tail *tail) {
    sdx_matrix_run_apart(pool, rows, depth, columns, packed, x, out, columns, tail);
}

void sdx_matrix_run_apart(sdx_pool *pool, size_t rows, size_t depth, size_t columns,
                          const float *packed, const float *x, float *out, size_t out_stride,
                          const sdx_tail *tail) {
    run_panels(pool, rows, depth, columns, columns, packed, bias_of(depth, columns, packed), x, out,
               out_stride, tail);
}

void sdx_matrix_run_columns(size_t rows, size_t depth, size_t columns, const float *packed,
                            size_t first, size_t count, const float *x, float *out,
                            const sdx_tail *tail) {
    run_panels(NULL, rows, depth, columns, count, packed + first * depth,
               bias_of(depth, columns, packed) + first, x, out, count, tail);
}
