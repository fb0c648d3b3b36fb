/* pool_nhwc.c - cuts the pools of pool_nhwc.h into rows and finds what each window sees; the loops
 * over channels are kernels/simd/f32_pool.c. */
#include "kernels/pool_nhwc.h"

#include "kernels/kernels.h"

/* What is worth handing to another thread, in elements that are read. */
#define PIECE_WORK ((size_t)1 << 15)

/* Elements that an average over the window at output index `o` of an axis divides by. */
static double divisor(const sdx_f32_pool *job, int32_t axis, int64_t o) {
    const sdx_window *w = &job->window;
    int64_t lo, hi;
    sdx_window_taps(w, axis, o, job->count_pads ? w->pad[axis] : 0,
                    job->count_pads ? w->pad_end[axis] : 0, &lo, &hi);
    return (double)(hi - lo);
}

/* Rows [begin, end) of the output, numbered over the batch. */
static void rows_body(void *arg, size_t begin, size_t end) {
    const sdx_f32_pool *job = arg;
    const sdx_window *w = &job->window;
    const sdx_kernels *kernels = sdx_kernels_get();
    const size_t height = (size_t)w->out[0], width = (size_t)w->out[1], channels = job->channels;
    const int64_t step = (int64_t)channels * w->dilation[1];
    for (size_t r = begin; r < end; r++) {
        const int64_t oy = (int64_t)(r % height);
        const float *image = job->x + r / height * w->in_count * channels;
        float *out = job->y + r * width * channels;
        int64_t top, bottom;
        sdx_window_taps(w, 0, oy, 0, 0, &top, &bottom);
        const double rows = divisor(job, 0, oy);
        const int64_t y0 = oy * w->stride[0] + top * w->dilation[0] - w->pad[0];
        for (int64_t ox = 0; ox < w->out[1]; ox++, out += channels) {
            int64_t left, right;
            sdx_window_taps(w, 1, ox, 0, 0, &left, &right);
            sdx_f32_taps taps = {.channels = channels, .out = out, .column_step = (size_t)step};
            taps.row_step = (size_t)(w->in[1] * w->dilation[0]) * channels;
            if (top < bottom && left < right) {
                const int64_t x0 = ox * w->stride[1] + left * w->dilation[1] - w->pad[1];
                taps.rows = (size_t)(bottom - top);
                taps.columns = (size_t)(right - left);
                taps.x = image + (size_t)(y0 * w->in[1] + x0) * channels;
            }
            taps.divisor = job->average ? (float)(rows * divisor(job, 1, ox)) : 0;
            if (job->average) SDX_KERNEL_OF(kernels, f32_pool_average)(&taps);
            else SDX_KERNEL_OF(kernels, f32_pool_max)(&taps);
        }
    }
}

void sdx_f32_pool_nhwc(sdx_pool *pool, const sdx_f32_pool *job) {
    const sdx_window *w = &job->window;
    const size_t rows = job->batch * (size_t)w->out[0];
    if (rows == 0 || w->out[1] == 0 || job->channels == 0) return;
    const size_t work = (size_t)w->out[1] * job->channels * (w->kernel_count + 1);
    sdx_parallel_for(pool, rows, PIECE_WORK / work + 1, rows_body, (void *)(uintptr_t)job);
}

/* ---- the mean of all pixels ------------------------------------------------------------------ */

#define STRIP 32 /* channels of a piece */

typedef struct mean_job {
    const float *x;
    float *y;
    size_t pixels, channels, strips;
} mean_job;

static void mean_body(void *arg, size_t begin, size_t end) {
    const mean_job *job = arg;
    double sums[STRIP];
    for (size_t s = begin; s < end; s++) {
        const size_t image = s / job->strips, first = s % job->strips * STRIP;
        const size_t n = job->channels - first < STRIP ? job->channels - first : STRIP;
        SDX_KERNEL_OF(sdx_kernels_get(), f32_column_sums)(job->x + image * job->pixels * job->channels + first,
                                           job->pixels, job->channels, n, sums);
        float *y = job->y + image * job->channels + first;
        for (size_t i = 0; i < n; i++) y[i] = (float)(sums[i] / (double)job->pixels);
    }
}

void sdx_f32_mean_nhwc(sdx_pool *pool, const float *x, float *y, size_t batch, size_t pixels,
                       size_t channels) {
    mean_job job = {x, y, pixels, channels, (channels + STRIP - 1) / STRIP};
    sdx_parallel_for(pool, batch * job.strips, PIECE_WORK / (pixels * STRIP + 1) + 1, mean_body,
                     &job);
}
