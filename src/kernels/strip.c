/* strip.c - see strip.h. Each thread takes strips of its own through all stages. The rows that the
 * depthwise convolution reads stand in a ring; those that the thread's next strip needs again stay where
 * they are. Where nothing comes behind the depthwise convolution and the image is small, a strip is some
 * channels of all rows instead: nothing is computed twice at its borders. */
#include "kernels/strip.h"

#include "kernels/conv_ways.h"
#include "kernels/matrix.h"

#define STRIP_FLOATS ((size_t)88 << 10) /* between the convolutions: most of a second-level cache */
#define MOST_ROWS    16
#define MOST_SLOTS   64
#define MEANS        64 /* channels at a time */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t divide_up(size_t a, size_t b) { return (a + b - 1) / b; }

static bool has_ring(const sdx_strip *strip) { return strip->expand || strip->stem; }

/* Rows of the ring for a strip of `rows` results. */
static size_t ring_rows(const sdx_conv_shape *s, size_t rows) {
    return (rows - 1) * s->stride_h + (s->kernel_h - 1) * s->dilation_h + 1;
}

/* The part of the stem's image, padded, that a strip reads at the most. */
static size_t stem_floats(const sdx_strip *strip, size_t rows) {
    sdx_conv_shape part = strip->first;
    part.out_h = ring_rows(&strip->middle, rows);
    return strip->stem ? sdx_conv_rows_scratch(&part) : 0;
}

static size_t ring_floats(const sdx_strip *strip, size_t rows) {
    const sdx_conv_shape *s = &strip->middle;
    return has_ring(strip) ? ring_rows(s, rows) * s->in_w * s->channels : 0;
}

/* What lies between the convolutions. */
static size_t strip_floats(const sdx_strip *strip, size_t rows) {
    const sdx_conv_shape *s = &strip->middle;
    return ring_floats(strip, rows) + (strip->project ? rows * s->out_w * s->channels : 0);
}

static size_t slot_floats(const sdx_strip *strip, size_t rows) {
    return strip_floats(strip, rows) + stem_floats(strip, rows);
}

static size_t most_rows(const sdx_strip *strip) {
    size_t rows = 1;
    while (rows < MOST_ROWS && strip_floats(strip, rows + 1) <= STRIP_FLOATS) rows++;
    return rows;
}

/* One thread's strips, or those of two that are half as high. */
static size_t strips_scratch(const sdx_strip *strip) {
    if (!has_ring(strip) && !strip->project) return 0;
    size_t rows = most_rows(strip);
    size_t one = slot_floats(strip, rows), two = 2 * slot_floats(strip, divide_up(rows, 2));
    return one > two ? one : two;
}

size_t sdx_strip_scratch(const sdx_strip *strip) {
    const sdx_conv_shape *s = &strip->middle;
    return strips_scratch(strip) + (strip->means ? s->out_h * s->channels : 0);
}

typedef struct run_state {
    const sdx_strip *strip;
    const float *x;
    float *out, *scratch, *sums; /* sums: [row][channel] of an image; NULL: not wanted */
    size_t image;
    size_t strips;               /* of an image */
    size_t rows, ring, slot;     /* of a strip, of its ring; floats of a thread's scratch */
    struct {
        size_t behind, ready; /* the last strip, the last row of the ring; 0: none */
    } slots[MOST_SLOTS];
} run_state;

/* ---- strips of rows --------------------------------------------------------------------------- */

/* Rows [from, to) through the first convolution, into the ring, which the scratch begins with. */
static void expand_rows(sdx_pool *pool, const run_state *r, float *ring, size_t from, size_t to) {
    const sdx_strip *strip = r->strip;
    const sdx_conv_shape *s = &strip->middle, *f = &strip->first;
    const size_t n = r->image;
    while (from < to) {
        size_t at = (n * s->in_h + from) % r->ring, count = least(to - from, r->ring - at);
        float *to_row = ring + at * s->in_w * s->channels;
        if (strip->stem)
            sdx_conv_rows_part(pool, f, strip->stem, r->x + n * f->in_h * f->in_w * f->channels,
                               from, count, to_row, &strip->tails[0],
                               ring + strip_floats(strip, r->rows));
        else
            sdx_matrix_run(pool, count * s->in_w, strip->channels, s->channels, strip->expand,
                           r->x + (n * s->in_h + from) * s->in_w * strip->channels, to_row,
                           &strip->tails[0]);
        from += count;
    }
}

/* Results [first, first + count); rows of the ring below `ready` are there. */
static size_t run_rows(sdx_pool *pool, const run_state *r, float *scratch, size_t first,
                       size_t count, size_t ready) {
    const sdx_strip *strip = r->strip;
    const sdx_conv_shape *s = &strip->middle;
    if (has_ring(strip)) {
        size_t top = first * s->stride_h, bottom = top + ring_rows(s, count);
        size_t from = top > s->pad_top ? top - s->pad_top : 0;
        size_t to = least(bottom > s->pad_top ? bottom - s->pad_top : 0, s->in_h);
        if (from < ready) from = ready;
        expand_rows(pool, r, scratch, from, to);
        if (to > ready) ready = to;
    }
    size_t row = r->image * s->out_h + first;
    float *to = r->out + row * s->out_w * strip->maps;
    float *between = scratch + ring_floats(strip, r->rows);
    /* An addend of the depthwise convolution is looked up by the row among all. */
    sdx_conv_depthwise_rows(pool, s, strip->depthwise, has_ring(strip) ? scratch : r->x,
                            has_ring(strip) ? r->ring : SIZE_MAX, row, count,
                            strip->project ? between : to,
                            r->sums ? r->sums + first * s->channels : NULL, &strip->tails[1]);
    if (strip->project) {
        sdx_tail last = strip->tails[2];
        if (last.addend) last.addend += row * s->out_w * strip->maps;
        sdx_matrix_run(pool, count * s->out_w, s->channels, strip->maps, strip->project, between,
                       to, &last);
    }
    return ready;
}

/* Strips are all of about the same height. */
static size_t strip_first(const run_state *r, size_t i) {
    return i * r->strip->middle.out_h / r->strips;
}

static void own_strips(void *arg, uint32_t slot, size_t begin, size_t end) {
    run_state *r = arg;
    for (size_t i = begin; i < end; i++) {
        size_t first = strip_first(r, i), count = strip_first(r, i + 1) - first;
        size_t ready = r->slots[slot].behind == i ? r->slots[slot].ready : 0;
        r->slots[slot].ready =
            run_rows(NULL, r, r->scratch + slot * r->slot, first, count, ready);
        r->slots[slot].behind = i + 1;
    }
}

static void plan_rows(run_state *r, size_t rows, size_t threads) {
    const size_t high = r->strip->middle.out_h;
    r->rows = rows;
    r->ring = ring_rows(&r->strip->middle, rows);
    r->slot = slot_floats(r->strip, rows);
    /* As many for each thread. */
    r->strips = least(divide_up(divide_up(high, rows), threads) * threads, high);
}

static void run_image_rows(sdx_pool *pool, run_state *r) {
    const size_t threads = sdx_pool_threads(pool);
    size_t rows = most_rows(r->strip), all = strips_scratch(r->strip);
    while (rows > 1 && slot_floats(r->strip, rows) * threads > all) rows--;
    if (slot_floats(r->strip, rows) * threads <= all && threads <= MOST_SLOTS) {
        plan_rows(r, rows, threads);
        for (size_t i = 0; i < threads; i++) r->slots[i].behind = r->slots[i].ready = 0;
        sdx_parallel_for_slots(pool, r->strips, 1, own_strips, r);
        return;
    }
    /* More threads than have room: all of them on one strip. */
    plan_rows(r, most_rows(r->strip), 1);
    for (size_t i = 0, ready = 0; i < r->strips; i++) {
        size_t first = strip_first(r, i), count = strip_first(r, i + 1) - first;
        ready = run_rows(pool, r, r->scratch, first, count, ready);
    }
}

/* ---- means ------------------------------------------------------------------------------------- */

/* Row after row, so that the bits depend on nothing else. */
static void take_means(const run_state *r, const sdx_conv_channels *part) {
    const sdx_conv_shape *s = &r->strip->middle;
    const double pixels = (double)(s->out_h * s->out_w);
    float *to = r->strip->means + r->image * s->channels;
    for (size_t done = 0; done < part->count; done += MEANS) {
        size_t first = part->first + done, count = least(part->count - done, MEANS);
        double totals[MEANS] = {0};
        for (size_t row = 0; row < s->out_h; row++)
            for (size_t c = 0; c < count; c++)
                totals[c] += (double)r->sums[row * s->channels + first + c];
        for (size_t c = 0; c < count; c++) to[first + c] = (float)(totals[c] / pixels);
    }
}

/* ---- strips of channels ------------------------------------------------------------------------ */

static sdx_panels panels_of(const run_state *r) {
    return sdx_matrix_panels(r->strip->middle.channels);
}

/* First channel of a strip: whole panels of the matrix. */
static size_t channels_first(const run_state *r, const sdx_panels *panels, size_t i) {
    size_t panel = i * panels->count / r->strips;
    return panel < panels->count ? sdx_panel_first(panels, panel) : panels->columns;
}

static void own_channels(void *arg, uint32_t slot, size_t begin, size_t end) {
    const run_state *r = arg;
    const sdx_strip *strip = r->strip;
    const sdx_conv_shape *s = &strip->middle;
    const sdx_panels panels = panels_of(r);
    const size_t pixels = s->in_h * s->in_w;
    float *between = r->scratch + slot * r->slot;
    for (size_t i = begin; i < end; i++) {
        sdx_conv_channels part = {channels_first(r, &panels, i), 0};
        part.count = channels_first(r, &panels, i + 1) - part.first;
        sdx_matrix_run_columns(pixels, strip->channels, s->channels, strip->expand, part.first,
                               part.count, r->x + r->image * pixels * strip->channels, between,
                               &strip->tails[0]);
        sdx_conv_depthwise_channels(s, strip->depthwise, between, r->image, &part,
                                    r->out + r->image * s->out_h * s->out_w * s->channels, r->sums,
                                    &strip->tails[1]);
        if (r->sums) take_means(r, &part);
    }
}

/* False: the image is too large. */
static bool plan_channels(run_state *r, size_t threads) {
    const sdx_conv_shape *s = &r->strip->middle;
    if (!r->strip->expand || r->strip->project || !s->in_h || threads > MOST_SLOTS) return false;
    const sdx_panels panels = panels_of(r);
    /* One panel may have a vector more than the others. */
    size_t pixels = s->in_h * s->in_w, widest = 2 * panels.lanes;
    r->slot = strips_scratch(r->strip) / threads;
    size_t room = r->slot / pixels, fit = room > panels.lanes ? (room - panels.lanes) / widest : 0;
    if (!fit) return false;
    r->strips = divide_up(divide_up(panels.count, fit), threads) * threads;
    return r->strips <= panels.count;
}

/* ------------------------------------------------------------------------------------------------ */

void sdx_strip_run(sdx_pool *pool, const sdx_strip *strip, const float *x, float *out,
                   float *scratch) {
    const sdx_conv_shape *s = &strip->middle;
    const sdx_conv_channels all = {0, s->channels};
    run_state r = {.strip = strip, .x = x, .out = out, .scratch = scratch,
                   .sums = strip->means ? scratch + strips_scratch(strip) : NULL};
    const bool by_channels = plan_channels(&r, sdx_pool_threads(pool));
    for (; r.image < s->batch; r.image++) {
        if (by_channels) {
            sdx_parallel_for_slots(pool, r.strips, 1, own_channels, &r);
            continue;
        }
        if (has_ring(strip) || strip->project) run_image_rows(pool, &r);
        else run_rows(pool, &r, scratch, 0, s->out_h, 0);
        if (r.sums) take_means(&r, &all);
    }
}
