/* conv_depthwise.c - DEPTHWISE of conv.h: bands of rows of the results. */
#include "kernels/conv_ways.h"

#define POINTERS    256 /* on the stack: rows of a band times rows of the kernel */
#define BAND_FLOATS ((size_t)64 << 10) /* of the image that a band reads: a part of a second-level cache */

#define LEAST_ROWS    6 /* of a thread: with fewer it takes some channels of all rows instead */
#define WORTH_THREADS ((size_t)64 << 10) /* multiply-adds */

typedef struct rows_job {
    const sdx_conv_shape *shape;
    const float *packed, *x;
    size_t ring;         /* rows of x after which it begins again */
    size_t first, count; /* rows of results: the one that out begins with */
    sdx_conv_channels in; /* those that x has */
    float *out, *sums;
    const sdx_tail *tail;
} rows_job;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Rows of results at a time: each vector of channels goes over all of them before the next one. */
static size_t band_rows(const sdx_conv_shape *s) {
    size_t row = s->in_w * s->channels * s->stride_h, rows = row ? BAND_FLOATS / row : 0;
    if (rows < 2) rows = 2;
    return least(rows, POINTERS / s->kernel_h);
}

static void one_band(const rows_job *j, size_t row, size_t count, const sdx_conv_channels *part) {
    const sdx_conv_shape *s = j->shape;
    const float *rows[POINTERS];
    size_t taps = s->kernel_h * s->kernel_w, line = s->out_w * s->channels, c = part->first;
    for (size_t i = 0; i < count; i++) {
        size_t oy = (row + i) % s->out_h, n = (row + i) / s->out_h;
        for (size_t ky = 0; ky < s->kernel_h; ky++) {
            size_t y = oy * s->stride_h + ky * s->dilation_h;
            bool inside = y >= s->pad_top && y - s->pad_top < s->in_h;
            size_t from = (n * s->in_h + y - s->pad_top) % j->ring * s->in_w * j->in.count;
            rows[i * s->kernel_h + ky] = inside ? j->x + from + c - j->in.first : NULL;
        }
    }
    float *sums = j->sums ? j->sums + (row - j->first) * s->channels + c : NULL;
    sdx_depthwise job = {.rows = rows, .row_count = count, .kernel_h = s->kernel_h,
                         .kernel_w = s->kernel_w, .stride_w = s->stride_w,
                         .dilation_w = s->dilation_w, .pad_left = s->pad_left, .in_w = s->in_w,
                         .out_w = s->out_w, .channels = part->count, .in_step = j->in.count,
                         .step = s->channels, .weights = j->packed + c,
                         .bias = j->packed + taps * s->channels + c,
                         .out = j->out + (row - j->first) * line + c,
                         .addend = j->tail->addend ? j->tail->addend + row * line + c : NULL,
                         .sums = sums, .act = j->tail->act, .a = j->tail->a, .b = j->tail->b};
    SDX_KERNEL_OF(sdx_kernels_get(), f32_depthwise)(&job);
}

/* Bands of about the same height: each begins by loading the weights. */
static void run_part(const rows_job *j, size_t begin, size_t end, const sdx_conv_channels *part) {
    const size_t most = band_rows(j->shape);
    size_t bands = (end - begin + most - 1) / most;
    for (size_t row = begin; row < end; bands--) {
        const size_t count = (end - row + bands - 1) / bands;
        one_band(j, j->first + row, count, part);
        row += count;
    }
}

static void some_rows(void *arg, size_t begin, size_t end) {
    const rows_job *j = arg;
    run_part(j, begin, end, &j->in);
}

/* Vectors [begin, end) of the channels; the last has what is no whole vector too. */
static void some_channels(void *arg, size_t begin, size_t end) {
    const rows_job *j = arg;
    const size_t lanes = sdx_kernels_get()->lanes, all = j->in.count;
    size_t last = end == all / lanes ? all : end * lanes;
    const sdx_conv_channels part = {begin * lanes, last - begin * lanes};
    run_part(j, 0, j->count, &part);
}

void sdx_conv_depthwise_rows(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                             const float *x, size_t ring, size_t first, size_t count, float *out,
                             float *sums, const sdx_tail *tail) {
    rows_job job = {.shape = shape, .packed = packed, .x = x, .ring = ring, .first = first,
                    .count = count, .in = {0, shape->channels}, .out = out, .sums = sums,
                    .tail = tail};
    size_t threads = sdx_pool_threads(pool), vectors = shape->channels / sdx_kernels_get()->lanes;
    size_t work = count * shape->out_w * shape->kernel_h * shape->kernel_w * shape->channels;
    if (threads < 2 || work <= WORTH_THREADS) {
        some_rows(&job, 0, count);
    } else if (count < LEAST_ROWS * threads && vectors >= threads) {
        sdx_parallel_for(pool, vectors, (vectors - 1) / (threads * 2) + 1, some_channels, &job);
    } else {
        size_t each = least(count / (LEAST_ROWS * threads) + 1, 4);
        sdx_parallel_for(pool, count, (count - 1) / (threads * each) + 1, some_rows, &job);
    }
}

void sdx_conv_depthwise_channels(const sdx_conv_shape *shape, const float *packed, const float *x,
                                 size_t image, const sdx_conv_channels *channels, float *out,
                                 float *sums, const sdx_tail *tail) {
    rows_job job = {.shape = shape, .packed = packed, .x = x, .ring = shape->in_h,
                    .first = image * shape->out_h, .count = shape->out_h, .in = *channels,
                    .out = out, .sums = sums, .tail = tail};
    some_rows(&job, 0, shape->out_h);
}

void sdx_conv_depthwise(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                        const float *x, float *out, const sdx_tail *tail) {
    sdx_conv_depthwise_rows(pool, shape, packed, x, SIZE_MAX, 0, shape->batch * shape->out_h, out,
                            NULL, tail);
}
