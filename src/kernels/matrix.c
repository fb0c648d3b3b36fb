/* matrix.c - see matrix.h. */
#include "kernels/matrix.h"

#include <string.h>

#include "base/checked.h"
#include "base/parts.h"
#include "kernels/product.h"

#define SCALE_FLOATS ((size_t)16 << 10) /* of a thread's share: about 2 us */

sdx_panels sdx_matrix_panels(size_t columns) {
    const sdx_kernels *kernels = sdx_kernels_get();
    return kernels->halves ? sdx_panels_halved(columns, kernels->lanes)
                           : sdx_panels_of(columns, kernels->lanes);
}

/* Floats in front of the bias. */
static size_t bias_at(size_t depth, const sdx_panels *panels) {
    return depth * sdx_panels_width(panels) +
           (sdx_panels_rows(panels, depth) - depth) * sdx_panel_width(panels, panels->count - 1);
}

size_t sdx_matrix_packed_size(size_t depth, size_t columns) {
    sdx_panels panels = sdx_matrix_panels(columns);
    if (panels.vectors == 1 || panels.half) sdx_part_take(SDX_PART_narrow_tiles);
    const size_t width = sdx_panels_width(&panels);
    size_t size;
    /* With room for another row than the last panel's may need, and the bias. */
    bool fits = sdx_size_mul(depth, width, &size) && sdx_size_add(size, 2 * width, &size);
    return fits ? bias_at(depth, &panels) + width : SIZE_MAX;
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

/* Rows, two by two, are lines of the source: a part of each panel. */
static void pack_rows(void *arg, size_t begin, size_t end) {
    const pack_job *j = arg;
    begin *= 2;
    end = 2 * end < j->from.depth ? 2 * end : j->from.depth;
    sdx_panel_source part = j->from;
    part.data = (const char *)j->from.data + begin * j->from.row * sizeof(float);
    part.depth = end - begin;
    for (size_t panel = 0; panel < j->panels.count; panel++) {
        size_t width = sdx_panel_width(&j->panels, panel);
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
    if (column == 1) sdx_parallel_for(pool, depth / 2 + depth % 2, 32, pack_rows, &job);
    else sdx_parallel_for(pool, job.panels.count, 4, pack_panels, &job);
    float *to = packed + bias_at(depth, &job.panels);
    memset(to, 0, sdx_panels_width(&job.panels) * sizeof *to);
    if (bias) memcpy(to, bias, columns * sizeof *to);
}

void sdx_matrix_scale(size_t depth, size_t columns, const void *factors, float *packed) {
    sdx_panels panels = sdx_matrix_panels(columns);
    for (size_t p = 0; p < panels.count; p++) {
        const size_t first = sdx_panel_first(&panels, p), all = columns - first;
        const bool half = sdx_panel_half(&panels, p);
        const size_t whole = (sdx_panel_vectors(&panels, p) - half) * panels.lanes;
        const size_t used = all < whole ? all : whole;
        const size_t rows = half ? 2 : 1; /* of the depth at a time */
        for (size_t k = 0; k < depth; k += rows) {
            for (size_t r = 0; r < rows; r++, packed += whole)
                for (size_t n = 0; n < used; n++) packed[n] *= sdx_float_at(factors, first + n);
            if (!half) continue;
            for (size_t n = 0; n < 2 * (all - whole); n++)
                packed[n] *= sdx_float_at(factors, first + whole + n / 2);
            packed += panels.lanes;
        }
    }
}

typedef struct scale_job {
    sdx_panels panels;
    size_t depth;
    const float *packed, *factors;
    float *to;
} scale_job;

/* Pieces of `n` floats that lie `row` apart, by factors that lie `step` apart. */
static void scale_pieces(const scale_job *j, size_t at, size_t pieces, size_t n, size_t row,
                         const float *factors, size_t step) {
    if (!pieces || !n) return;
    SDX_KERNEL_OF(sdx_kernels_get(), f32_binary)(&(sdx_f32_pairs){
        .operator = SDX_F32_MUL, .a = j->packed + at, .b = factors, .out = j->to + at, .rows = pieces,
        .n = n, .a_row = row, .b_row = step, .out_row = row, .a_step = true});
}

/* Rows [begin, end) of a panel that ends with half a vector; begin is even. */
static void scale_half(const scale_job *j, size_t p, size_t begin, size_t end) {
    const size_t lanes = j->panels.lanes, width = sdx_panel_width(&j->panels, p);
    const size_t whole = width - lanes / 2, count = end - begin;
    size_t at = sdx_panel_first(&j->panels, p) * j->depth + begin * width;
    scale_pieces(j, at, (count + 1) / 2, whole, 2 * width, j->factors + begin, 2);
    scale_pieces(j, at + whole, count / 2, whole, 2 * width, j->factors + begin + 1, 2);
    if (count % 2) memset(j->to + at + (count - 1) * width + whole, 0, whole * sizeof *j->to);
    for (size_t k = begin; k < end; k += 2, at += 2 * width) {
        const float even = j->factors[k], odd = k + 1 < end ? j->factors[k + 1] : 0.0f;
        const float *from = j->packed + at + 2 * whole;
        float *to = j->to + at + 2 * whole;
        for (size_t n = 0; n < lanes; n += 2) {
            to[n] = from[n] * even;
            to[n + 1] = from[n + 1] * odd;
        }
    }
}

/* Rows [2 begin, 2 end) of each panel. */
static void scale_rows(void *arg, size_t begin, size_t end) {
    const scale_job *j = arg;
    begin *= 2;
    end = 2 * end < j->depth ? 2 * end : j->depth;
    for (size_t p = 0; p < j->panels.count; p++) {
        const size_t width = sdx_panel_width(&j->panels, p);
        if (sdx_panel_half(&j->panels, p))
            scale_half(j, p, begin, end);
        else
            scale_pieces(j, sdx_panel_first(&j->panels, p) * j->depth + begin * width, end - begin,
                         width, width, j->factors + begin, 1);
    }
}

void sdx_matrix_scale_rows(sdx_pool *pool, size_t depth, size_t columns, const float *packed,
                           const float *factors, float *to) {
    scale_job job = {sdx_matrix_panels(columns), depth, packed, factors, to};
    const size_t width = sdx_panels_width(&job.panels), bias = bias_at(depth, &job.panels);
    sdx_parallel_for(pool, depth / 2 + depth % 2, SCALE_FLOATS / 2 / width + 1, scale_rows, &job);
    memcpy(to + bias, packed + bias, width * sizeof *to);
}

static void fill_rows(const sdx_product *product, size_t first, size_t count, size_t tap,
                      size_t taps, const float **to) {
    (void)tap, (void)taps;
    const float *x = product->user;
    for (size_t i = 0; i < count; i++) to[i] = x + (first + i) * product->depth;
}

static void run_panels(sdx_pool *pool, size_t rows, size_t depth, size_t columns, const float *packed,
                       const float *bias, const float *x, float *out,
                       size_t out_stride, const sdx_tail *tail) {
    sdx_product product = {.rows = rows, .taps = 1, .depth = depth, .groups = 1,
                           .panels = sdx_matrix_panels(columns), .packed = packed, .bias = bias,
                           .out = out, .out_stride = out_stride, .tail = *tail, .fill = fill_rows,
                           .user = x};
    sdx_product_run(pool, &product);
}

static const float *bias_of(size_t depth, size_t columns, const float *packed) {
    sdx_panels panels = sdx_matrix_panels(columns);
    return packed + bias_at(depth, &panels);
}

void sdx_matrix_run(sdx_pool *pool, size_t rows, size_t depth, size_t columns, const float *packed,
                    const float *x, float *out, const sdx_tail *tail) {
    sdx_matrix_run_apart(pool, rows, depth, columns, packed, x, out, columns, tail);
}

void sdx_matrix_run_apart(sdx_pool *pool, size_t rows, size_t depth, size_t columns,
                          const float *packed, const float *x, float *out, size_t out_stride,
                          const sdx_tail *tail) {
    run_panels(pool, rows, depth, columns, packed, bias_of(depth, columns, packed), x, out,
               out_stride, tail);
}

void sdx_matrix_run_columns(size_t rows, size_t depth, size_t columns, const float *packed,
                            size_t first, size_t count, const float *x, float *out,
                            const sdx_tail *tail) {
    run_panels(NULL, rows, depth, count, packed + first * depth,
               bias_of(depth, columns, packed) + first, x, out, count, tail);
}
