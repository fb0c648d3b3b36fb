/* resample.c - resizing with antialiasing: the filter is widened by the factor that an image shrinks
 * by, so that every pixel of the source counts. Rows first, then columns, each with weights in fixed
 * point and rounded to bytes in between, because that is what Pillow does, and models are trained on
 * what Pillow makes. Only the window of the result that is asked for is computed. */
#include "image/resample.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"

/* A weight of 1 in fixed point. A byte times weights that add up to 1, with some to spare for the
 * negative ones of the cubic filter, fills 32 bits. */
#define WEIGHT_BITS 22

/* The sources of each result along one side: `count` weights from `first` on. */
typedef struct window {
    uint32_t first, count;
} window;

typedef struct side {
    window *windows;
    int32_t *weights; /* `most` for each result */
    size_t most;
    uint32_t results;
    size_t windows_size, weights_size; /* bytes */
} side;

static double triangle(double x) {
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

/* Keys' cubic with a = -1/2. */
static double cubic(double x) {
    x = fabs(x);
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    if (x < 2) return ((-0.5 * x + 2.5) * x - 4) * x + 2;
    return 0;
}

static void side_free(side *s, const sdx_allocator *allocator) {
    sdx_free(allocator, s->windows, s->windows_size);
    sdx_free(allocator, s->weights, s->weights_size);
}

/* One result's weights: the filter around its centre, brought to a sum of 1. `exact` is scratch. */
static window weigh(double centre, double support, double scale, uint32_t source,
                    double (*filter)(double), double *exact, int32_t *weights) {
    const double from = centre - support + 0.5, to = centre + support + 0.5;
    uint32_t first = from > 0 ? (uint32_t)from : 0;
    uint32_t last = to < source ? (uint32_t)to : source;
    if (first >= source) first = source - 1; /* a source that counts less than its last pixel */
    if (last <= first) last = first + 1;
    const uint32_t count = last - first;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        exact[i] = filter((i + first - centre + 0.5) / scale);
        sum += exact[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        const double weight = sum != 0 ? exact[i] / sum : exact[i];
        weights[i] = (int32_t)(weight * (1 << WEIGHT_BITS) + (weight < 0 ? -0.5 : 0.5));
    }
    return (window){first, count};
}

/* source: pixels there are; size: how much of them counts, from `from` on; out: what that becomes. */
static sdx_status side_make(side *s, uint32_t source, double from, double size, double out,
                            uint64_t start, uint32_t results, bool bicubic,
                            const sdx_allocator *allocator, sdx_error *error) {
    const double step = size / out, scale = step > 1 ? step : 1;
    const double support = (bicubic ? 2 : 1) * scale, taps = ceil(support) * 2 + 1;
    size_t count, exact_size;
    *s = (side){.results = results, .most = taps < source ? (size_t)taps : source};
    if (!sdx_size_mul(results, s->most, &count) ||
        !sdx_size_mul(count, sizeof *s->weights, &s->weights_size) ||
        !sdx_size_mul(results, sizeof *s->windows, &s->windows_size) ||
        !sdx_size_mul(s->most, sizeof(double), &exact_size))
        return sdx_fail_memory(error, SIZE_MAX, "the weights of a resize");
    s->windows = sdx_alloc(allocator, s->windows_size, SDX_CACHE_LINE);
    s->weights = sdx_alloc(allocator, s->weights_size, SDX_CACHE_LINE);
    double *exact = sdx_alloc(allocator, exact_size, SDX_CACHE_LINE);
    const bool made = s->windows && s->weights && exact;
    for (uint32_t i = 0; made && i < results; i++)
        s->windows[i] = weigh(from + ((double)(start + i) + 0.5) * step, support, scale, source,
                              bicubic ? cubic : triangle, exact, s->weights + i * s->most);
    sdx_free(allocator, exact, exact_size);
    return made ? SDX_STATUS_OK : sdx_fail_memory(error, s->weights_size, "the weights of a resize");
}

static inline uint8_t to_byte(int32_t sum) {
    sum >>= WEIGHT_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

static void shrink_row(const side *across, const uint8_t *from, size_t channels, uint8_t *to) {
    for (uint32_t x = 0; x < across->results; x++) {
        const window w = across->windows[x];
        const int32_t *weights = across->weights + x * across->most;
        const uint8_t *pixel = from + w.first * channels;
        int32_t sum[3] = {1 << (WEIGHT_BITS - 1), 1 << (WEIGHT_BITS - 1), 1 << (WEIGHT_BITS - 1)};
        if (channels == 3) {
            for (uint32_t i = 0; i < w.count; i++, pixel += 3) {
                sum[0] += pixel[0] * weights[i];
                sum[1] += pixel[1] * weights[i];
                sum[2] += pixel[2] * weights[i];
            }
            for (size_t c = 0; c < 3; c++) *to++ = to_byte(sum[c]);
        } else {
            for (uint32_t i = 0; i < w.count; i++) sum[0] += pixel[i] * weights[i];
            *to++ = to_byte(sum[0]);
        }
    }
}

static void shrink_columns(window w, const int32_t *weights, const uint8_t *from, size_t row,
                           int32_t *sums, uint8_t *to) {
    for (size_t i = 0; i < row; i++) sums[i] = 1 << (WEIGHT_BITS - 1);
    for (uint32_t k = 0; k < w.count; k++, from += row)
        for (size_t i = 0; i < row; i++) sums[i] += from[i] * weights[k];
    for (size_t i = 0; i < row; i++) to[i] = to_byte(sums[i]);
}

/* Both passes, once the weights are there. */
static sdx_status pass_twice(const sdx_image *image, const side *across, const side *down,
                             uint8_t *out, size_t stride, const sdx_allocator *allocator,
                             sdx_error *error) {
    const size_t channels = image->channels, row = across->results * channels;
    const window last = down->windows[down->results - 1];
    const uint32_t first = down->windows[0].first, rows = last.first + last.count - first;
    size_t bytes, sums_size;
    if (!sdx_size_mul(row, rows, &bytes) || !sdx_size_mul(row, sizeof(int32_t), &sums_size))
        return sdx_fail_memory(error, SIZE_MAX, "a resize");
    uint8_t *narrow = sdx_alloc(allocator, bytes, SDX_CACHE_LINE);
    int32_t *sums = sdx_alloc(allocator, sums_size, SDX_CACHE_LINE);
    const bool made = narrow && sums;
    for (uint32_t y = 0; made && y < rows; y++)
        shrink_row(across, image->pixels + (size_t)(first + y) * image->width * channels, channels,
                   narrow + y * row);
    for (uint32_t y = 0; made && y < down->results; y++) {
        const window w = down->windows[y];
        shrink_columns(w, down->weights + y * down->most, narrow + (w.first - first) * row, row, sums,
                       out + y * stride);
    }
    sdx_free(allocator, narrow, bytes);
    sdx_free(allocator, sums, sums_size);
    return made ? SDX_STATUS_OK : sdx_fail_memory(error, bytes, "a resize");
}

sdx_status sdx_image_resample(const sdx_image *image, const sdx_resample *how, uint8_t *out,
                              size_t stride, const sdx_allocator *allocator, sdx_error *error) {
    side across = {0}, down = {0};
    sdx_status status = side_make(&across, image->width, how->x, how->width, how->out_width,
                                  how->left, how->window_width, how->bicubic, allocator, error);
    if (status == SDX_STATUS_OK)
        status = side_make(&down, image->height, how->y, how->height, how->out_height,
                           how->top, how->window_height, how->bicubic, allocator, error);
    if (status == SDX_STATUS_OK)
        status = pass_twice(image, &across, &down, out, stride, allocator, error);
    side_free(&across, allocator);
    side_free(&down, allocator);
    return status;
}
