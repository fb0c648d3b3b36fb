/* conv_depthwise.c - DEPTHWISE of conv.h: bands of rows of the results. */
#include "kernels/conv_ways.h"

#define POINTERS    256 /* on the stack: rows of a band times rows of the kernel */
#define BAND_FLOATS ((size_t)64 << 10) /* of the image that a band reads: a part of a second-level cache */

typedef struct rows_job {
    const sdx_conv_shape *shape;
    const float *packed, *x;
    size_t ring;  /* rows of x after which it begins again */
    size_t first; /* row of results that out begins with */
    size_t band;  /* rows of results at a time */
    float *out, *sums;
    const sdx_tail *tail;
} rows_job;

/* Rows of results at a time: each vector of channels goes over all of them before the next one. */
static size_t band_rows(const sdx_conv_shape *s) {
    size_t row = s->in_w * s->channels * s->stride_h, rows = row ? BAND_FLOATS / row : 0;
    if (rows < 2) rows = 2;
    return rows < POINTERS / s->kernel_h ? rows : POINTERS / s->kernel_h;
}

static void one_band(const rows_job *j, size_t row, size_t count) {
    const sdx_conv_shape *s = j->shape;
    const float *rows[POINTERS];
    size_t taps = s->kernel_h * s->kernel_w, line = s->out_w * s->channels;
    for (size_t i = 0; i < count; i++) {
        size_t oy = (row + i) % s->out_h, n = (row + i) / s->out_h;
        for (size_t ky = 0; ky < s->kernel_h; ky++) {
            size_t y = oy * s->stride_h + ky * s->dilation_h;
            bool inside = y >= s->pad_top && y - s->pad_top < s->in_h;
            size_t from = (n * s->in_h + y - s->pad_top) % j->ring;
            rows[i * s->kernel_h + ky] = inside ? j->x + from * s->in_w * s->channels : NULL;
        }
    }
    sdx_depthwise job = {.rows = rows, .row_count = count, .kernel_h = s->kernel_h,
                         .kernel_w = s->kernel_w, .stride_w = s->stride_w,
                         .dilation_w = s->dilation_w, .pad_left = s->pad_left, .in_w = s->in_w,
                         .out_w = s->out_w, .channels = s->channels, .weights = j->packed,
                         .bias = j->packed + taps * s->channels,
                         .out = j->out + (row - j->first) * line,
                         .addend = j->tail->addend ? j->tail->addend + row * line : NULL,
                         .sums = j->sums ? j->sums + (row - j->first) * s->channels : NULL,
                         .act = j->tail->act, .a = j->tail->a, .b = j->tail->b};
    sdx_kernels_get()->f32_depthwise(&job);
}

static void some_rows(void *arg, size_t begin, size_t end) {
    const rows_job *j = arg;
    for (size_t row = begin; row < end; row += j->band)
        one_band(j, j->first + row, end - row < j->band ? end - row : j->band);
}

void sdx_conv_depthwise_rows(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                             const float *x, size_t ring, size_t first, size_t count, float *out,
                             float *sums, const sdx_tail *tail) {
    rows_job job = {shape, packed, x, ring, first, band_rows(shape), out, sums, tail};
    size_t threads = sdx_pool_threads(pool), grain = count;
    if (threads > 1) grain = count / (threads * 4) ? count / (threads * 4) : 1;
    sdx_parallel_for(pool, count, grain, some_rows, &job);
}

void sdx_conv_depthwise(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                        const float *x, float *out, const sdx_tail *tail) {
    sdx_conv_depthwise_rows(pool, shape, packed, x, SIZE_MAX, 0, shape->batch * shape->out_h, out,
                            NULL, tail);
}
