/* strip.c - see strip.h. The rows that the depthwise convolution reads stand in a ring; those that the
 * next strip needs again stay where they are. */
#include "kernels/strip.h"

#include "kernels/conv_ways.h"
#include "kernels/matrix.h"

#define STRIP_FLOATS ((size_t)88 << 10) /* between the convolutions: most of a second-level cache */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static bool has_ring(const sdx_strip *strip) { return strip->expand || strip->stem; }

/* Rows of the ring for a strip of `rows` results. */
static size_t ring_rows(const sdx_conv_shape *s, size_t rows) {
    return (rows - 1) * s->stride_h + (s->kernel_h - 1) * s->dilation_h + 1;
}

/* Behind what lies between the convolutions: sums of rows, then totals of the image as doubles. */
static size_t mean_floats(const sdx_strip *strip, size_t rows) {
    return strip->means ? (rows + 3) * strip->middle.channels + 1 : 0;
}

/* The part of the stem's image, padded, that a strip reads at the most. */
static size_t stem_floats(const sdx_strip *strip, size_t rows) {
    sdx_conv_shape part = strip->first;
    part.out_h = ring_rows(&strip->middle, rows);
    return strip->stem ? sdx_conv_rows_scratch(&part) : 0;
}

static size_t strip_floats(const sdx_strip *strip, size_t rows) {
    const sdx_conv_shape *s = &strip->middle;
    size_t ring = has_ring(strip) ? ring_rows(s, rows) * s->in_w * s->channels : 0;
    return ring + (strip->project ? rows * s->out_w * s->channels : 0);
}

size_t sdx_strip_rows(const sdx_strip *strip) {
    size_t rows = 1;
    while (rows < 16 && strip_floats(strip, rows + 1) <= STRIP_FLOATS) rows++;
    return rows;
}

size_t sdx_strip_scratch(const sdx_strip *strip) {
    size_t rows = sdx_strip_rows(strip);
    return strip_floats(strip, rows) + mean_floats(strip, rows) + stem_floats(strip, rows);
}

/* Rows [from, from + count) of the stem's results for image n. */
static void stem_rows(sdx_pool *pool, const sdx_strip *strip, const float *x, size_t n, size_t from,
                      size_t count, float *out, float *scratch) {
    const sdx_conv_shape *s = &strip->first;
    size_t rows = sdx_strip_rows(strip);
    sdx_conv_rows_part(pool, s, strip->stem, x + n * s->in_h * s->in_w * s->channels, from, count,
                       out, &strip->tails[0],
                       scratch + strip_floats(strip, rows) + mean_floats(strip, rows));
}

/* Rows [from, to) of image n through the first convolution, into the ring, which the scratch begins
 * with. */
static void expand_rows(sdx_pool *pool, const sdx_strip *strip, const float *x, size_t n,
                        size_t from, size_t to, float *ring, size_t ring_size) {
    const sdx_conv_shape *s = &strip->middle;
    while (from < to) {
        size_t at = (n * s->in_h + from) % ring_size, count = least(to - from, ring_size - at);
        float *to_row = ring + at * s->in_w * s->channels;
        if (strip->stem)
            stem_rows(pool, strip, x, n, from, count, to_row, ring);
        else
            sdx_matrix_run(pool, count * s->in_w, strip->channels, s->channels, strip->expand,
                           x + (n * s->in_h + from) * s->in_w * strip->channels, to_row,
                           &strip->tails[0]);
        from += count;
    }
}

static sdx_tail tail_at(const sdx_strip *strip, size_t stage, size_t row) {
    sdx_tail tail = strip->tails[stage];
    if (tail.addend) tail.addend += row * strip->middle.out_w * strip->maps;
    return tail;
}

/* Where the sums of rows and the totals stand; NULL: not wanted. */
static float *sums_at(const sdx_strip *strip, float *scratch) {
    return strip->means ? scratch + strip_floats(strip, sdx_strip_rows(strip)) : NULL;
}
static double *totals_at(const sdx_strip *strip, float *scratch) {
    size_t sums = sdx_strip_rows(strip) * strip->middle.channels;
    sums += (strip_floats(strip, sdx_strip_rows(strip)) + sums) % 2; /* whole doubles */
    return (double *)(void *)(sums_at(strip, scratch) + sums);
}

/* Row after row, so that the bits depend on nothing else. */
static void add_sums(const sdx_strip *strip, float *scratch, size_t first, size_t count) {
    const size_t channels = strip->middle.channels;
    const float *sums = sums_at(strip, scratch);
    double *totals = totals_at(strip, scratch);
    if (first == 0)
        for (size_t c = 0; c < channels; c++) totals[c] = 0;
    for (size_t r = 0; r < count; r++, sums += channels)
        for (size_t c = 0; c < channels; c++) totals[c] += (double)sums[c];
}

/* Results [first, first + count) of image n; rows of the ring below `ready` are there. */
static size_t run_strip(sdx_pool *pool, const sdx_strip *strip, const float *x, float *out,
                        float *scratch, size_t n, size_t first, size_t count, size_t ready) {
    const sdx_conv_shape *s = &strip->middle;
    size_t ring = has_ring(strip) ? ring_rows(s, sdx_strip_rows(strip)) : SIZE_MAX;
    float *between = scratch + (has_ring(strip) ? ring * s->in_w * s->channels : 0);
    if (has_ring(strip)) {
        size_t top = first * s->stride_h;
        size_t bottom = top + ring_rows(s, count);
        size_t from = top > s->pad_top ? top - s->pad_top : 0;
        size_t to = least(bottom > s->pad_top ? bottom - s->pad_top : 0, s->in_h);
        if (from < ready) from = ready;
        expand_rows(pool, strip, x, n, from, to, scratch, ring);
        if (to > ready) ready = to;
    }
    size_t row = n * s->out_h + first;
    float *to = out + row * s->out_w * strip->maps;
    sdx_tail middle = strip->tails[1];
    /* An addend of the depthwise convolution is looked up by the row among all. */
    sdx_conv_depthwise_rows(pool, s, strip->depthwise, has_ring(strip) ? scratch : x, ring, row,
                            count, strip->project ? between : to, sums_at(strip, scratch), &middle);
    if (strip->means) add_sums(strip, scratch, first, count);
    if (strip->project) {
        sdx_tail last = tail_at(strip, 2, row);
        sdx_matrix_run(pool, count * s->out_w, s->channels, strip->maps, strip->project, between,
                       to, &last);
    }
    return ready;
}

void sdx_strip_run(sdx_pool *pool, const sdx_strip *strip, const float *x, float *out,
                   float *scratch) {
    const sdx_conv_shape *s = &strip->middle;
    size_t rows = sdx_strip_rows(strip);
    for (size_t n = 0; n < s->batch; n++) {
        for (size_t first = 0, ready = 0; first < s->out_h; first += rows)
            ready = run_strip(pool, strip, x, out, scratch, n, first,
                              least(rows, s->out_h - first), ready);
        for (size_t c = 0; strip->means && c < s->channels; c++)
            strip->means[n * s->channels + c] =
                (float)(totals_at(strip, scratch)[c] / (double)(s->out_h * s->out_w));
    }
}
