/* conv_depthwise.c - DEPTHWISE of conv.h: row by row of the results. */
#include "kernels/conv_ways.h"

typedef struct rows_job {
    const sdx_conv_shape *shape;
    const float *packed, *x;
    size_t ring;  /* rows of x after which it begins again */
    size_t first; /* row of results that out begins with */
    float *out;
    const sdx_tail *tail;
} rows_job;

/* What the row kernel leaves: an addend, activations that are more than a comparison. */
static void finish_row(const rows_job *j, size_t row, float *out) {
    const sdx_conv_shape *s = j->shape;
    size_t count = s->out_w * s->maps;
    if (j->tail->addend) {
        const float *addend = j->tail->addend + row * count;
        for (size_t i = 0; i < count; i++) out[i] += addend[i];
    }
    if (j->tail->act > SDX_ACT_CLIP || j->tail->addend)
        sdx_kernels_get()->f32_activate(out, count, j->tail->act, j->tail->a, j->tail->b);
}

static void one_row(const rows_job *j, size_t row) {
    const sdx_conv_shape *s = j->shape;
    const float *rows[SDX_CONV_DEPTHWISE_ROWS];
    size_t oy = row % s->out_h, n = row / s->out_h, taps = s->kernel_h * s->kernel_w;
    for (size_t ky = 0; ky < s->kernel_h; ky++) {
        size_t y = oy * s->stride_h + ky * s->dilation_h;
        bool inside = y >= s->pad_top && y - s->pad_top < s->in_h;
        size_t from = (n * s->in_h + y - s->pad_top) % j->ring;
        rows[ky] = inside ? j->x + from * s->in_w * s->channels : NULL;
    }
    sdx_depthwise job = {.rows = rows, .kernel_h = s->kernel_h, .kernel_w = s->kernel_w,
                         .stride_w = s->stride_w, .dilation_w = s->dilation_w,
                         .pad_left = s->pad_left, .in_w = s->in_w, .out_w = s->out_w,
                         .channels = s->channels, .weights = j->packed,
                         .bias = j->packed + taps * s->channels,
                         .out = j->out + (row - j->first) * s->out_w * s->channels,
                         .act = j->tail->addend ? SDX_ACT_NONE : j->tail->act, .a = j->tail->a,
                         .b = j->tail->b};
    sdx_kernels_get()->f32_depthwise(&job);
    finish_row(j, row, job.out);
}

static void some_rows(void *arg, size_t begin, size_t end) {
    const rows_job *j = arg;
    for (size_t row = begin; row < end; row++) one_row(j, j->first + row);
}

void sdx_conv_depthwise_rows(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                             const float *x, size_t ring, size_t first, size_t count, float *out,
                             const sdx_tail *tail) {
    rows_job job = {shape, packed, x, ring, first, out, tail};
    size_t threads = sdx_pool_threads(pool);
    size_t grain = count / (threads * 8) ? count / (threads * 8) : 1;
    sdx_parallel_for(pool, count, grain, some_rows, &job);
}

void sdx_conv_depthwise(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                        const float *x, float *out, const sdx_tail *tail) {
    sdx_conv_depthwise_rows(pool, shape, packed, x, SIZE_MAX, 0, shape->batch * shape->out_h, out,
                            tail);
}
