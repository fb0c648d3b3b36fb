/* conv_tiles.c - convolution as a product of rows of pixels with packed weights: TILES and ROWS of
 * conv.h. */
#include <string.h>

#include "kernels/conv_ways.h"
#include "kernels/product.h"

typedef struct image {
    const sdx_conv_shape *shape;
    const float *x, *zeros;
} image;

/* Taps of pixels side by side whose windows may lie partly outside. */
static const float **fill_edge(const image *im, size_t n, ptrdiff_t top, size_t ox, size_t end,
                               size_t tap, size_t taps, const float **to) {
    const sdx_conv_shape *s = im->shape;
    for (; ox < end; ox++) {
        const ptrdiff_t left = (ptrdiff_t)(ox * s->stride_w) - (ptrdiff_t)s->pad_left;
        size_t ky = tap / s->kernel_w, kx = tap % s->kernel_w;
        for (size_t t = 0; t < taps; t++) {
            /* Left of and above the image the numbers wrap around to large ones. */
            size_t y = (size_t)(top + (ptrdiff_t)(ky * s->dilation_h));
            size_t x = (size_t)(left + (ptrdiff_t)(kx * s->dilation_w));
            *to++ = y < s->in_h && x < s->in_w
                        ? im->x + ((n * s->in_h + y) * s->in_w + x) * s->channels
                        : im->zeros;
            if (++kx < s->kernel_w) continue;
            kx = 0;
            ky++;
        }
    }
    return to;
}

/* Where the taps lie from the first place of a window on, in floats. */
static void list_offsets(const sdx_conv_shape *s, size_t tap, size_t taps, size_t *to) {
    size_t ky = tap / s->kernel_w, kx = tap % s->kernel_w;
    for (size_t t = 0; t < taps; t++) {
        to[t] = (ky * s->dilation_h * s->in_w + kx * s->dilation_w) * s->channels;
        if (++kx < s->kernel_w) continue;
        kx = 0;
        ky++;
    }
}

/* Pixels side by side whose windows lie inside, the first one's from `corner` on, `step` floats apart. The usual
 * numbers of taps have loops of their own: tiles of few terms take little longer than a list of their pixels. */
static inline __attribute__((always_inline)) void fill_taps(const float *corner, size_t step, size_t count,
                                                            const size_t *offsets, const size_t taps,
                                                            const float **to) {
    for (size_t i = 0; i < count; i++, corner += step, to += taps)
        for (size_t t = 0; t < taps; t++) to[t] = corner + offsets[t];
}

static const float **fill_inside(const float *corner, size_t step, size_t count,
                                 const size_t *offsets, size_t taps, const float **to) {
    switch (taps) {
    case 1: fill_taps(corner, step, count, offsets, 1, to); break;
    case 3: fill_taps(corner, step, count, offsets, 3, to); break;
    case 9: fill_taps(corner, step, count, offsets, 9, to); break;
    default: fill_taps(corner, step, count, offsets, taps, to);
    }
    return to + count * taps;
}

static size_t between(size_t x, size_t low, size_t high) {
    return x < low ? low : x > high ? high : x;
}

/* Row by row of the results; of each, what lies inside needs no look at single pixels. */
static void fill_pixels(const sdx_product *product, size_t first, size_t count, size_t tap,
                        size_t taps, const float **to) {
    const image *im = product->user;
    const sdx_conv_shape *s = im->shape;
    size_t ox = first % s->out_w, rest = first / s->out_w, oy = rest % s->out_h;
    size_t n = rest / s->out_h, offsets[SDX_PRODUCT_TAPS];
    const size_t reach_h = (s->kernel_h - 1) * s->dilation_h, reach_w = (s->kernel_w - 1) * s->dilation_w;
    /* Columns of the results from `inside` to `outside` have windows that begin and end in a row. */
    const size_t inside = (s->pad_left + s->stride_w - 1) / s->stride_w;
    const size_t room = s->in_w + s->pad_left;
    const size_t outside = room > reach_w ? (room - reach_w - 1) / s->stride_w + 1 : 0;
    list_offsets(s, tap, taps, offsets);
    while (count) {
        const size_t end = count < s->out_w - ox ? ox + count : s->out_w;
        const ptrdiff_t top = (ptrdiff_t)(oy * s->stride_h) - (ptrdiff_t)s->pad_top;
        size_t from = end, until = end;
        if (top >= 0 && (size_t)top + reach_h < s->in_h) {
            from = between(inside, ox, end);
            until = between(outside, from, end);
        }
        to = fill_edge(im, n, top, ox, from, tap, taps, to);
        if (from < until) {
            const size_t y = n * s->in_h + (size_t)top, x = from * s->stride_w - s->pad_left;
            to = fill_inside(im->x + (y * s->in_w + x) * s->channels, s->stride_w * s->channels,
                             until - from, offsets, taps, to);
        }
        to = fill_edge(im, n, top, until, end, tap, taps, to);
        count -= end - ox;
        ox = 0;
        if (++oy < s->out_h) continue;
        oy = 0;
        n++;
    }
}

static sdx_product product_of(const sdx_conv_shape *s, const float *packed, float *out,
                              const sdx_tail *tail) {
    sdx_conv_tiles_pack p = sdx_conv_tiles_layout(s, sdx_kernels_get()->lanes);
    return (sdx_product){.rows = s->batch * s->out_h * s->out_w,
                         .taps = s->kernel_h * s->kernel_w,
                         .depth = p.group_depth,
                         .groups = s->groups,
                         .panels = p.panels,
                         .packed = packed,
                         .bias = packed + p.bias,
                         .out = out,
                         .out_stride = s->maps,
                         .tail = *tail};
}

void sdx_conv_tiles(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                    const float *x, float *out, const sdx_tail *tail) {
    sdx_conv_tiles_pack layout = sdx_conv_tiles_layout(shape, sdx_kernels_get()->lanes);
    image im = {shape, x, packed + layout.zeros};
    sdx_product product = product_of(shape, packed, out, tail);
    product.fill = fill_pixels;
    product.user = &im;
    sdx_product_run(pool, &product);
}

/* ---- few channels ----------------------------------------------------------------------------- */

/* Rows and columns of the padded image that windows reach. */
static size_t padded_h(const sdx_conv_shape *s) {
    return (s->out_h - 1) * s->stride_h + (s->kernel_h - 1) * s->dilation_h + 1;
}
static size_t padded_w(const sdx_conv_shape *s) {
    return (s->out_w - 1) * s->stride_w + s->kernel_w;
}

size_t sdx_conv_rows_scratch(const sdx_conv_shape *s) {
    return padded_h(s) * padded_w(s) * s->channels;
}

typedef struct padding {
    const sdx_conv_shape *shape;
    const float *x; /* one image */
    float *to;
    size_t first; /* row of the padded image that `to` begins with */
} padding;

/* One row of the padded image. */
static void pad_row(const padding *p, size_t row) {
    const sdx_conv_shape *s = p->shape;
    size_t width = padded_w(s), c = s->channels;
    float *to = p->to + row * width * c;
    row += p->first;
    size_t left = s->pad_left < width ? s->pad_left : width;
    size_t inner = width - left < s->in_w ? width - left : s->in_w;
    if (row < s->pad_top || row - s->pad_top >= s->in_h) {
        memset(to, 0, width * c * sizeof *to);
        return;
    }
    memset(to, 0, left * c * sizeof *to);
    memset(to + (left + inner) * c, 0, (width - left - inner) * c * sizeof *to);
    size_t y = row - s->pad_top;
    to += left * c;
    if (!s->planar) {
        memcpy(to, p->x + y * s->in_w * c, inner * c * sizeof *to);
    } else if (c == 3) {
        const float *a = p->x + y * s->in_w, *b = a + s->in_h * s->in_w, *d = b + s->in_h * s->in_w;
        SDX_KERNEL_OF(sdx_kernels_get(), f32_interleave_3)(a, b, d, to, inner);
    } else {
        for (size_t k = 0; k < c; k++) {
            const float *from = p->x + (k * s->in_h + y) * s->in_w;
            for (size_t i = 0; i < inner; i++) to[i * c + k] = from[i];
        }
    }
}

static void pad_rows(void *arg, size_t begin, size_t end) {
    for (size_t row = begin; row < end; row++) pad_row(arg, row);
}

static void fill_runs(const sdx_product *product, size_t first, size_t count, size_t tap,
                      size_t taps, const float **to) {
    const padding *p = product->user;
    const sdx_conv_shape *s = p->shape;
    const size_t row = padded_w(s) * s->channels, step = s->stride_w * s->channels;
    size_t ox = first % s->out_w, oy = first / s->out_w, offsets[SDX_PRODUCT_TAPS];
    for (size_t t = 0; t < taps; t++) offsets[t] = t * s->dilation_h * row;
    for (size_t run; count; count -= run, ox = 0, oy++) {
        run = count < s->out_w - ox ? count : s->out_w - ox;
        to = fill_inside(p->to + (oy * s->stride_h + tap * s->dilation_h) * row + ox * step, step, run,
                         offsets, taps, to);
    }
}

void sdx_conv_rows_part(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                        const float *x, size_t first, size_t count, float *out,
                        const sdx_tail *tail, float *scratch) {
    sdx_conv_shape part = *shape;
    part.batch = 1;
    part.out_h = count;
    padding p = {&part, x, scratch, first * shape->stride_h};
    sdx_parallel_for(pool, padded_h(&part), 32, pad_rows, &p);
    sdx_product product = product_of(&part, packed, out, tail);
    product.taps = shape->kernel_h;
    product.depth *= shape->kernel_w;
    product.fill = fill_runs;
    product.user = &p;
    sdx_product_run(pool, &product);
}

void sdx_conv_rows(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                   const float *x, float *out, const sdx_tail *tail, float *scratch) {
    size_t outs = shape->out_h * shape->out_w;
    for (size_t n = 0; n < shape->batch; n++) {
        sdx_tail own = *tail;
        if (tail->addend) own.addend += n * outs * tail->addend_stride;
        sdx_conv_rows_part(pool, shape, packed,
                           x + n * shape->in_h * shape->in_w * shape->channels, 0, shape->out_h,
                           out + n * outs * shape->maps, &own, scratch);
    }
}
