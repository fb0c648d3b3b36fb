/* strip.c - strips against their stages one by one, on the whole image: the same bits, for any number of
 * threads; guard words behind what is written. Shapes at the borders of the ways of strip.c: channels
 * that are no whole panel, one row, strides, dilation, padding, several images.
 * With --bench: the strips of well-known networks.
 * usage: test_strip [--bench [THREADS [NAME]]] */
#include "drivers/driver.h"
#include "kernels/conv_ways.h"
#include "kernels/matrix.h"
#include "kernels/strip.h"

typedef struct layer {
    const char *name;
    size_t batch, high, wide;
    size_t channels, middle, maps; /* channels: 0: no expansion; maps: 0: no projection */
    size_t kernel, stride, dilation, pad;
    sdx_act first, second;
    bool means;
} layer;

typedef struct operands {
    sdx_strip strip;
    float *x, *expand, *depthwise, *project, *addend;
    size_t outs; /* of the last stage */
} operands;

static sdx_tail tail_of(sdx_act act) {
    return (sdx_tail){.act = act, .a = act == SDX_ACT_SWISH ? 1.0f : -0.25f, .b = 0.25f};
}

static float *pack_matrix(size_t depth, size_t columns) {
    float *w = random_floats(depth * columns), *bias = random_floats(columns);
    float *packed = random_floats(sdx_matrix_packed_size(depth, columns));
    sdx_matrix_pack(NULL, depth, columns, w, 1, depth, 1.0f, bias, packed, NULL);
    free(w);
    free(bias);
    return packed;
}

static size_t results(size_t in, const layer *l) {
    return (in + 2 * l->pad - (l->kernel - 1) * l->dilation - 1) / l->stride + 1;
}

static operands make_operands(const layer *l) {
    operands o = {.strip = {.channels = l->channels ? l->channels : l->middle,
                            .maps = l->maps ? l->maps : l->middle}};
    sdx_conv_shape *s = &o.strip.middle;
    *s = (sdx_conv_shape){.batch = l->batch, .in_h = l->high, .in_w = l->wide,
                          .channels = l->middle, .maps = l->middle, .groups = l->middle,
                          .out_h = results(l->high, l), .out_w = results(l->wide, l),
                          .kernel_h = l->kernel, .kernel_w = l->kernel, .stride_h = l->stride,
                          .stride_w = l->stride, .dilation_h = l->dilation,
                          .dilation_w = l->dilation, .pad_top = l->pad, .pad_left = l->pad};
    o.outs = l->batch * s->out_h * s->out_w * o.strip.maps;
    o.x = random_floats(l->batch * l->high * l->wide * o.strip.channels);
    if (l->channels) o.strip.expand = o.expand = pack_matrix(l->channels, l->middle);
    float *w = random_floats(l->middle * l->kernel * l->kernel), *bias = random_floats(l->middle);
    o.strip.depthwise = o.depthwise = random_floats(sdx_conv_packed_size(s, SDX_CONV_DEPTHWISE));
    sdx_conv_pack(NULL, s, SDX_CONV_DEPTHWISE, w, bias, o.depthwise);
    free(w);
    free(bias);
    if (l->maps) o.strip.project = o.project = pack_matrix(l->middle, l->maps);
    o.strip.tails[0] = tail_of(l->first);
    o.strip.tails[1] = tail_of(l->second);
    o.strip.tails[2] = tail_of(SDX_ACT_NONE);
    if (l->maps) {
        o.addend = random_floats(o.outs);
        o.strip.tails[2].addend = o.addend;
        o.strip.tails[2].addend_stride = l->maps;
    }
    return o;
}

static void free_operands(operands *o) {
    float *all[] = {o->x, o->expand, o->depthwise, o->project, o->addend};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* What the depthwise convolution makes, which the means are taken of; *out: what comes of all. */
static float *stage_by_stage(const operands *o, float **out) {
    const sdx_strip *strip = &o->strip;
    const sdx_conv_shape *s = &strip->middle;
    const size_t pixels = s->batch * s->in_h * s->in_w, outs = s->batch * s->out_h * s->out_w;
    float *wide = random_floats(pixels * s->channels), *deep = random_floats(outs * s->channels);
    *out = random_floats(o->outs);
    if (strip->expand)
        sdx_matrix_run(NULL, pixels, strip->channels, s->channels, strip->expand, o->x, wide,
                       &strip->tails[0]);
    sdx_conv_depthwise(NULL, s, strip->depthwise, strip->expand ? wide : o->x, deep,
                       &strip->tails[1]);
    if (strip->project)
        sdx_matrix_run(NULL, outs, s->channels, strip->maps, strip->project, deep, *out,
                       &strip->tails[2]);
    else
        memcpy(*out, deep, o->outs * sizeof **out);
    free(wide);
    return deep;
}

static int compare(const layer *l, size_t threads, const char *what, const float *got,
                   const float *expected, size_t count, double limit) {
    for (size_t i = 0; i < count; i++) {
        if (fabs((double)got[i] - (double)expected[i]) <= limit) continue;
        printf("%s, %zu threads: %s %zu is %g, not %g\n", l->name, threads, what, i,
               (double)got[i], (double)expected[i]);
        return 1;
    }
    for (size_t i = 0; i < GUARD; i++)
        if (got[count + i] != MARK) {
            printf("%s, %zu threads: %s %zu behind the end was written\n", l->name, threads, what, i);
            return 1;
        }
    return 0;
}

static float *guarded(size_t count) {
    float *to = random_floats(count + GUARD);
    for (size_t i = 0; i < GUARD; i++) to[count + i] = MARK;
    return to;
}

static float *means_of(const sdx_conv_shape *s, const float *deep) {
    float *means = random_floats(s->batch * s->channels);
    const size_t pixels = s->out_h * s->out_w;
    for (size_t n = 0; n < s->batch; n++)
        for (size_t c = 0; c < s->channels; c++) {
            double sum = 0;
            for (size_t i = 0; i < pixels; i++)
                sum += (double)deep[(n * pixels + i) * s->channels + c];
            means[n * s->channels + c] = (float)(sum / (double)pixels);
        }
    return means;
}

static int check(const layer *l) {
    operands o = make_operands(l);
    const sdx_conv_shape *s = &o.strip.middle;
    const size_t count = s->batch * s->channels, room = sdx_strip_scratch(&o.strip);
    float *expected, *deep = stage_by_stage(&o, &expected), *means = means_of(s, deep);
    int wrong = 0;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        sdx_error error;
        sdx_pool *pool;
        if (sdx_pool_create(&sdx_default_allocator, threads, &pool, &error) != SDX_STATUS_OK) return 1;
        float *out = guarded(o.outs), *got = guarded(count);
        o.strip.means = l->means ? got : NULL;
        const size_t size = l->means ? sdx_strip_scratch(&o.strip) : room;
        float *scratch = guarded(size);
        sdx_strip_run(pool, &o.strip, o.x, out, scratch);
        wrong += compare(l, threads, "result", out, expected, o.outs, 0);
        if (l->means) wrong += compare(l, threads, "mean", got, means, count, 1e-6);
        for (size_t i = 0; i < GUARD; i++)
            if (scratch[size + i] != MARK) {
                printf("%s, %u threads: beyond the scratch\n", l->name, threads);
                wrong++;
            }
        free(out);
        free(got);
        free(scratch);
        sdx_pool_release(pool);
    }
    free(expected);
    free(deep);
    free(means);
    free_operands(&o);
    return wrong;
}

#define SWISH SDX_ACT_SWISH
#define CLIP  SDX_ACT_CLIP

static const layer shapes[] = {
    /* name, images, rows, columns, channels in, between, out, kernel, stride, dilation, padding */
    {"wide", 1, 40, 120, 16, 96, 0, 3, 2, 1, 1, SWISH, SWISH, true},
    {"wide with a projection", 1, 40, 112, 16, 96, 24, 3, 2, 1, 1, CLIP, CLIP, false},
    {"some channels more", 2, 33, 120, 24, 100, 0, 3, 1, 1, 1, SWISH, SWISH, true},
    {"a vector more", 1, 30, 120, 24, 112, 24, 3, 1, 1, 1, CLIP, CLIP, true},
    {"one channel more", 1, 30, 120, 5, 97, 7, 3, 2, 1, 1, CLIP, SWISH, false},
    {"fewer than a panel", 2, 50, 300, 3, 19, 0, 3, 1, 1, 1, SWISH, CLIP, true},
    {"fewer than a vector", 1, 50, 500, 3, 6, 4, 5, 1, 1, 2, SWISH, CLIP, true},
    {"large kernel", 2, 41, 90, 24, 144, 40, 5, 2, 1, 2, SDX_ACT_HARD_SWISH, SWISH, true},
    {"dilation", 1, 44, 110, 8, 72, 0, 3, 1, 2, 2, CLIP, CLIP, true},
    {"dilation beyond the image", 1, 5, 110, 8, 72, 16, 3, 1, 4, 4, CLIP, CLIP, false},
    {"much padding", 1, 20, 120, 16, 96, 0, 3, 2, 1, 4, SWISH, SWISH, true},
    {"no padding", 3, 23, 120, 16, 96, 8, 3, 1, 1, 0, SWISH, SWISH, true},
    {"one row", 2, 1, 400, 16, 96, 0, 3, 1, 1, 1, SWISH, SWISH, true},
    {"one row of results", 1, 3, 400, 16, 96, 24, 3, 2, 1, 0, CLIP, CLIP, true},
    {"even kernel, large stride", 1, 31, 120, 16, 80, 0, 4, 3, 1, 1, CLIP, SDX_ACT_SIGMOID, true},
    {"one pixel wide", 1, 300, 1, 16, 96, 24, 3, 1, 1, 1, CLIP, CLIP, true},
    {"small image", 2, 7, 7, 16, 96, 24, 3, 1, 1, 1, CLIP, CLIP, true},
    {"strips of channels", 2, 14, 14, 40, 240, 0, 3, 2, 1, 1, SWISH, SWISH, true},
    {"no expansion", 1, 50, 90, 0, 40, 16, 3, 1, 1, 1, SWISH, CLIP, false},
};

static int check_all(sdx_pool *pool) {
    (void)pool; /* each shape has its own */
    int wrong = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) wrong += check(&shapes[i]);
    return wrong;
}

static const layer layers[] = {
    {"efficientnet-120", 1, 120, 120, 16, 96, 0, 3, 2, 1, 1, SWISH, SWISH, true},
    {"efficientnet-60", 1, 60, 60, 24, 144, 0, 3, 1, 1, 1, SWISH, SWISH, true},
    {"efficientnet-60-5", 1, 60, 60, 24, 144, 0, 5, 2, 1, 2, SWISH, SWISH, true},
    {"efficientnet-30", 1, 30, 30, 40, 240, 0, 5, 1, 1, 2, SWISH, SWISH, true},
    {"mobilenet-112", 1, 112, 112, 16, 96, 24, 3, 2, 1, 1, CLIP, CLIP, false},
    {"mobilenet-56", 1, 56, 56, 24, 144, 24, 3, 1, 1, 1, CLIP, CLIP, false},
    {"mobilenet-56-2", 1, 56, 56, 24, 144, 0, 3, 2, 1, 1, CLIP, CLIP, false},
    {"mobilenet-28", 1, 28, 28, 32, 192, 32, 3, 1, 1, 1, CLIP, CLIP, false},
    {"mobilenet3-112", 1, 112, 112, 16, 64, 24, 3, 2, 1, 1, CLIP, CLIP, false},
    {"mobilenet3-56", 1, 56, 56, 24, 72, 24, 3, 1, 1, 1, CLIP, CLIP, false},
};

static void bench(sdx_pool *pool, const char *name) {
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        if (name && strcmp(name, layers[i].name) != 0) continue;
        operands o = make_operands(&layers[i]);
        const sdx_conv_shape *s = &o.strip.middle;
        float *means = guarded(s->batch * s->channels), *out = guarded(o.outs);
        if (layers[i].means) o.strip.means = means;
        float *scratch = guarded(sdx_strip_scratch(&o.strip));
        double best = 1e9;
        for (size_t run = 0; run < 200; run++) {
            double start = now();
            sdx_strip_run(pool, &o.strip, o.x, out, scratch);
            double took = now() - start;
            if (took < best) best = took;
        }
        printf("%-20s %8.1f us\n", layers[i].name, best * 1e6);
        free(means);
        free(out);
        free(scratch);
        free_operands(&o);
    }
}

int main(int argc, char **argv) { return run_driver(argc, argv, check_all, bench); }
