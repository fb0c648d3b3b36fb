/* tiles.c - rows times packed panels against a loop in double precision: every height and width of
 * tile, parts of vectors, several taps, sums that go on, biases, addends, activations. */
#include "kernels_test.h"

#define MOST_ROWS 30

static double activated(const sdx_tail *tail, double x) {
    const double a = (double)tail->a, b = (double)tail->b;
    switch (tail->act) {
    case SDX_ACT_CLIP: return x < a ? a : x > b ? b : x;
    case SDX_ACT_LEAKY: return x < 0 ? a * x : x;
    case SDX_ACT_SIGMOID: return 1 / (1 + exp(-x));
    case SDX_ACT_SWISH: return x / (1 + exp(-a * x));
    case SDX_ACT_HARD_SIGMOID: x = a * x + b; return x < 0 ? 0 : x > 1 ? 1 : x;
    case SDX_ACT_HARD_SWISH: return x * (x < -3 ? 0 : x > 3 ? 1 : x / 6 + 0.5);
    case SDX_ACT_TANH: return tanh(x);
    case SDX_ACT_GELU: return 0.5 * x * erfc(-x * M_SQRT1_2);
    case SDX_ACT_GELU_TANH: return x / (1 + exp(-2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    default: return x;
    }
}

typedef struct tile_case {
    sdx_tiles job;
    float *a, *panel, *bias, *addend, *out, *before;
    size_t out_size, panel_stride, panels; /* panels: of row_panels; else 1 */
    const float *rows[MOST_ROWS * 4];
} tile_case;

static void make(tile_case *c, size_t lanes) {
    sdx_tiles *job = &c->job;
    const size_t width = job->vectors * lanes, places = job->row_count * job->row_taps;
    const size_t depth = job->offset + job->depth;
    c->a = guarded(places * depth);
    random_fill(c->a, places * depth);
    for (size_t i = 0; i < places; i++) c->rows[i] = c->a + i * depth;
    c->panel_stride = job->taps * job->depth * width + 8;
    c->panel = guarded(c->panel_stride * c->panels);
    random_fill(c->panel, c->panel_stride * c->panels);
    c->bias = guarded(width * c->panels);
    random_fill(c->bias, width * c->panels);
    job->out_stride = job->columns + 3;
    job->tail.addend_stride = job->columns + 5;
    c->out_size = (job->row_count - 1) * job->out_stride + job->columns;
    c->out = guarded(c->out_size);
    c->before = guarded(c->out_size);
    random_fill(c->out, c->out_size);
    memcpy(c->before, c->out, c->out_size * sizeof(float));
    const size_t addend_size = (job->row_count - 1) * job->tail.addend_stride + job->columns;
    c->addend = guarded(addend_size);
    random_fill(c->addend, addend_size);
    job->rows = c->rows;
    job->panel = c->panel;
    job->out = c->out;
    if (job->tail.bias) job->tail.bias = c->bias;
    if (job->tail.addend) job->tail.addend = c->addend;
}

static void release(tile_case *c) {
    guarded_free(c->a);
    guarded_free(c->panel);
    guarded_free(c->bias);
    guarded_free(c->addend);
    guarded_free(c->out);
    guarded_free(c->before);
}

static void compare(const tile_case *c, size_t lanes, const char *what) {
    const sdx_tiles *job = &c->job;
    const size_t width = job->vectors * lanes;
    for (size_t i = 0; i < job->row_count; i++)
        for (size_t j = 0; j < job->out_stride && i * job->out_stride + j < c->out_size; j++) {
            const size_t at = i * job->out_stride + j;
            if (j >= job->columns) {
                near((double)c->out[at], (double)c->before[at], 0, "between rows", at);
                continue;
            }
            const float *b = c->panel + j / width * c->panel_stride + j % width;
            double sum = job->add         ? (double)c->before[at]
                         : job->tail.bias ? (double)job->tail.bias[j]
                                          : 0;
            for (size_t t = 0; t < job->taps; t++)
                for (size_t k = 0; k < job->depth; k++, b += width)
                    sum += (double)job->rows[i * job->row_taps + t][job->offset + k] * (double)*b;
            if (job->finish && job->tail.addend)
                sum += (double)job->tail.addend[i * job->tail.addend_stride + j];
            if (job->finish) sum = activated(&job->tail, sum);
            const double count = (double)(job->taps * job->depth + 2);
            if (!near((double)c->out[at], sum, 2e-7 * count * 2, what, at)) return;
        }
    guarded_check(c->out, c->out_size, what);
}

/* Options by the bits of a number, so that all pairs of them come up. */
static void set_options(sdx_tiles *job, unsigned options) {
    static const float present;
    job->add = (options & 1) != 0;
    job->finish = (options & 2) != 0;
    job->tail.bias = (options & 4) != 0 ? &present : NULL;
    job->tail.addend = (options & 8) != 0 ? &present : NULL;
    job->tail.act = (sdx_act)(options / 16 % SDX_ACT_COUNT);
    job->tail.a = job->tail.act == SDX_ACT_CLIP ? -0.5f : 0.25f;
    job->tail.b = 0.75f;
}

static void every_tile(const sdx_kernels *set) {
    const size_t lanes = set->lanes;
    unsigned options = 0;
    for (size_t rows = 1; rows <= MOST_ROWS; rows++)
        for (size_t vectors = 1; vectors <= 3; vectors++)
            for (size_t columns = 1; columns <= vectors * lanes; columns++) {
                static const size_t depths[] = {1, 2, 7, 64, 33, 4, 0};
                tile_case c = {.panels = 1, .job = {.row_count = rows, .vectors = vectors}};
                c.job.columns = columns;
                c.job.taps = 1 + options % 3;
                c.job.row_taps = c.job.taps + options % 2;
                c.job.depth = depths[options % 7];
                c.job.offset = options % 5 == 0 ? 3 : 0;
                set_options(&c.job, options++);
                make(&c, lanes);
                set->f32_tiles(&c.job);
                char what[96];
                snprintf(what, sizeof what, "%zux%zu tiles, %zu columns, depth %zu, options %u",
                         rows, vectors, columns, c.job.depth, options - 1);
                compare(&c, lanes, what);
                release(&c);
            }
}

void test_tiles(const sdx_kernels *set) {
    const bool share = sdx_kernels_share_loads();
    every_tile(set);
    sdx_kernels_set_sharing(!share);
    every_tile(set);
    sdx_kernels_set_sharing(share);
}

void test_tile_pairs(const sdx_kernels *set) {
    const size_t lanes = set->lanes;
    unsigned options = 0;
    for (size_t rows = 1; rows <= MOST_ROWS && set->pairs; rows++)
        for (size_t columns = 3 * lanes; columns <= 4 * lanes; columns++) {
            tile_case c = {.panels = 2, .job = {.row_count = rows, .vectors = 2}};
            c.job.columns = columns;
            c.job.taps = c.job.row_taps = 1 + options % 3;
            c.job.depth = 1 + options % 40;
            set_options(&c.job, options++);
            make(&c, lanes);
            c.job.pair = c.panel_stride;
            set->f32_tiles(&c.job);
            char what[64];
            snprintf(what, sizeof what, "%zu rows, %zu columns, options %u", rows, columns,
                     options - 1);
            compare(&c, lanes, what);
            release(&c);
        }
}

void test_row_panels(const sdx_kernels *set) {
    const size_t lanes = set->lanes;
    unsigned options = 0;
    for (size_t panels = 1; panels <= 11; panels++)
        for (size_t last = 1; last <= 2 * lanes; last++) {
            tile_case c = {.panels = panels, .job = {.row_count = 1, .vectors = 2}};
            c.job.columns = (panels - 1) * 2 * lanes + last;
            c.job.taps = c.job.row_taps = 1 + options % 2;
            c.job.depth = 1 + options % 40;
            set_options(&c.job, options++);
            make(&c, lanes);
            set->f32_row_panels(&c.job, panels, c.panel_stride);
            char what[64];
            snprintf(what, sizeof what, "%zu panels, options %u", panels, options - 1);
            compare(&c, lanes, what);
            release(&c);
        }
}

void test_activate(const sdx_kernels *set) {
    for (unsigned act = 0; act < SDX_ACT_COUNT; act++)
        for (size_t count = 0; count <= 5 * set->lanes + 3; count++) {
            sdx_tail tail = {.act = (sdx_act)act, .a = 0.2f, .b = 0.5f};
            float *x = guarded(count), *before = guarded(count);
            for (size_t i = 0; i < count; i++) x[i] = before[i] = 20 * random_float();
            set->f32_activate(x, count, tail.act, tail.a, tail.b);
            for (size_t i = 0; i < count; i++) {
                const double exact = activated(&tail, (double)before[i]);
                near((double)x[i], exact, 4e-7 * fabs(exact) + 1e-6, "activation", i);
            }
            guarded_check(x, count, "activation");
            guarded_free(x);
            guarded_free(before);
        }
}
