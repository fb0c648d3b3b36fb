/* conv.c - every way of a convolution against a plain loop in double precision, over kernels,
 * strides, padding, dilation, groups, channel counts and tails; guard words around what is written.
 * With --bench: the speed of layers of well-known networks.
 * usage: test_conv [--bench [THREADS [WAY]]] */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drivers/driver.h"
#include "kernels/conv.h"

static double reference(const sdx_conv_shape *s, const float *x, const float *w, const float *bias,
                        size_t n, size_t oy, size_t ox, size_t m) {
    size_t depth = s->channels / s->groups, group = m / (s->maps / s->groups);
    double sum = bias ? (double)bias[m] : 0;
    for (size_t c = 0; c < depth; c++)
        for (size_t ky = 0; ky < s->kernel_h; ky++)
            for (size_t kx = 0; kx < s->kernel_w; kx++) {
                size_t y = oy * s->stride_h + ky * s->dilation_h - s->pad_top;
                size_t xx = ox * s->stride_w + kx * s->dilation_w - s->pad_left;
                if (y >= s->in_h || xx >= s->in_w) continue;
                size_t channel = group * depth + c;
                size_t at = s->planar
                                ? ((n * s->channels + channel) * s->in_h + y) * s->in_w + xx
                                : ((n * s->in_h + y) * s->in_w + xx) * s->channels + channel;
                sum += (double)x[at] *
                       (double)w[((m * depth + c) * s->kernel_h + ky) * s->kernel_w + kx];
            }
    return sum;
}

typedef struct operands {
    float *x, *w, *bias, *addend, *packed, *scratch, *out;
} operands;

static size_t out_count(const sdx_conv_shape *s) {
    return s->batch * s->out_h * s->out_w * s->maps;
}

static operands make_operands(sdx_pool *pool, const sdx_conv_shape *s, sdx_conv_way way) {
    size_t depth = s->channels / s->groups * s->kernel_h * s->kernel_w;
    operands o = {.x = random_floats(s->batch * s->in_h * s->in_w * s->channels),
                  .w = random_floats(s->maps * depth),
                  .bias = random_floats(s->maps),
                  .addend = random_floats(out_count(s)),
                  .packed = random_floats(sdx_conv_packed_size(s, way)),
                  .scratch = random_floats(sdx_conv_scratch_size(s, way)),
                  .out = random_floats(out_count(s) + 2 * GUARD)};
    sdx_conv_pack(pool, s, way, o.w, o.bias, o.packed);
    return o;
}

static void free_operands(operands *o) {
    float *all[] = {o->x, o->w, o->bias, o->addend, o->packed, o->scratch, o->out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static int check(sdx_pool *pool, const sdx_conv_shape *s, sdx_conv_way way, sdx_tail tail,
                 bool add) {
    operands o = make_operands(pool, s, way);
    for (size_t i = 0; i < GUARD; i++) o.out[i] = o.out[GUARD + out_count(s) + i] = MARK;
    tail.addend = add ? o.addend : NULL;
    tail.addend_stride = s->maps;
    float *out = o.out + GUARD;
    sdx_conv_run_packed(pool, s, way, o.packed, o.x, out, &tail, o.scratch);
    int wrong = 0;
    for (size_t i = 0; i < GUARD; i++)
        wrong += o.out[i] != MARK || o.out[GUARD + out_count(s) + i] != MARK;
    double depth = (double)(s->channels / s->groups * s->kernel_h * s->kernel_w);
    double allowed = (way == SDX_CONV_WINOGRAD_4 ? 2e-5 : 2e-6) * (1 + sqrt(depth));
    for (size_t i = 0; i < out_count(s); i++) {
        size_t m = i % s->maps, pixel = i / s->maps, ox = pixel % s->out_w;
        size_t oy = pixel / s->out_w % s->out_h, n = pixel / s->out_w / s->out_h;
        double want = reference(s, o.x, o.w, o.bias, n, oy, ox, m);
        want = activation(&tail, want + (add ? (double)o.addend[i] : 0));
        if (fabs((double)out[i] - want) <= allowed) continue;
        if (wrong++ == 0)
            printf("%s %zux%zux%zu -> %zux%zux%zu kernel %zux%zu stride %zu groups %zu: "
                   "[%zu] is %g, expected %g\n",
                   sdx_conv_way_name(way), s->in_h, s->in_w, s->channels, s->out_h, s->out_w,
                   s->maps, s->kernel_h, s->kernel_w, s->stride_h, s->groups, i, (double)out[i],
                   want);
    }
    free_operands(&o);
    return wrong != 0;
}

static sdx_conv_shape shape_of(size_t batch, size_t in, size_t channels, size_t maps, size_t kernel,
                               size_t stride, size_t pad, size_t dilation, size_t groups) {
    sdx_conv_shape s = {.batch = batch, .in_h = in, .in_w = in + 1, .channels = channels,
                        .maps = maps, .groups = groups, .kernel_h = kernel, .kernel_w = kernel,
                        .stride_h = stride, .stride_w = stride, .dilation_h = dilation,
                        .dilation_w = dilation, .pad_top = pad, .pad_left = pad};
    size_t reach = (kernel - 1) * dilation;
    s.out_h = s.in_h + 2 * pad > reach ? (s.in_h + 2 * pad - reach - 1) / stride + 1 : 0;
    s.out_w = s.in_w + 2 * pad > reach ? (s.in_w + 2 * pad - reach - 1) / stride + 1 : 0;
    return s;
}

static int check_all(sdx_pool *pool) {
    int wrong = 0, cases = 0;
    static const size_t counts[] = {1, 3, 7, 8, 9, 16, 17, 24, 33, 40};
    const sdx_tail tails[] = {{.act = SDX_ACT_NONE},
                              {.act = SDX_ACT_CLIP, .a = 0, .b = 1},
                              {.act = SDX_ACT_SWISH, .a = 1}};
    for (size_t i = 0; i < 600; i++) {
        state = i + 1;
        noise();
        size_t r[10];
        for (size_t k = 0; k < 10; k++) r[k] = (size_t)((noise() + 0.5f) * 1000);
        size_t groups = r[0] % 3 == 0 ? 1 + r[1] % 4 : 1;
        size_t channels = counts[r[2] % 10] * groups, maps = counts[r[3] % 10] * groups;
        size_t kernel = 1 + r[4] % 5, stride = 1 + r[5] % 3, dilation = 1 + (r[6] % 4 == 0);
        if (r[0] % 5 == 1) {
            groups = maps = channels;
            kernel = 1 + r[4] % 8;
        }
        sdx_conv_shape s = shape_of(1 + r[7] % 3, 1 + r[8] % 14, channels, maps, kernel, stride,
                                    r[9] % (kernel + 1), dilation, groups);
        sdx_conv_way ways[4] = {SDX_CONV_TILES};
        size_t count = 1;
        if (groups > 1 && channels == groups && maps == groups) ways[count++] = SDX_CONV_DEPTHWISE;
        if (groups == 1 && dilation == 1) ways[count++] = SDX_CONV_ROWS;
        if (i % 2) {
            s = shape_of(1 + r[7] % 3, 1 + r[8] % 19, channels, maps, 3, 1, r[9] % 3, 1, groups);
            ways[0] = SDX_CONV_WINOGRAD_2;
            ways[1] = SDX_CONV_WINOGRAD_4;
            count = 2;
        }
        if (!s.out_h || !s.out_w) continue;
        for (size_t w = 0; w < count; w++, cases++) {
            s.planar = ways[w] == SDX_CONV_ROWS && i % 4 == 0;
            wrong += check(pool, &s, ways[w], tails[i % 3], i % 5 == 0);
            s.planar = false;
        }
    }
    printf("%d convolutions, %d wrong\n", cases, wrong);
    return wrong;
}

static void time_layer(sdx_pool *pool, sdx_conv_shape s, sdx_conv_way way) {
    s.in_w = s.in_h;
    s.out_w = s.out_h;
    operands o = make_operands(pool, &s, way);
    const sdx_tail tail = {.act = SDX_ACT_CLIP, .a = 0, .b = INFINITY};
    double best = INFINITY, begin = now();
    for (int i = 0; i < 3 || now() - begin < 0.15; i++) {
        double t = now();
        sdx_conv_run_packed(pool, &s, way, o.packed, o.x, o.out, &tail, o.scratch);
        t = now() - t;
        if (t < best) best = t;
    }
    double macs = (double)out_count(&s) * (double)(s.channels / s.groups * s.kernel_h * s.kernel_w);
    printf("%-13s %4zu^2 x %4zu -> %4zu, kernel %zu stride %zu groups %4zu: %8.3f ms %7.1f GFLOP/s\n",
           sdx_conv_way_name(way), s.in_h, s.channels, s.maps, s.kernel_h, s.stride_h, s.groups,
           best * 1e3, 2 * macs / best * 1e-9);
    free_operands(&o);
}

static void bench(sdx_pool *pool, const char *only) {
    static const size_t layers[][7] = {/* in, channels, maps, kernel, stride, pad, groups */
        {224, 3, 64, 7, 2, 3, 1}, {224, 3, 32, 3, 2, 1, 1}, {56, 64, 64, 1, 1, 0, 1},
        {56, 64, 256, 1, 1, 0, 1}, {56, 64, 64, 3, 1, 1, 1}, {28, 128, 128, 3, 1, 1, 1},
        {14, 256, 256, 3, 1, 1, 1}, {7, 512, 512, 3, 1, 1, 1}, {28, 512, 128, 1, 1, 0, 1},
        {14, 256, 1024, 1, 1, 0, 1}, {7, 2048, 512, 1, 1, 0, 1}, {7, 512, 2048, 1, 1, 0, 1},
        {56, 128, 128, 3, 2, 1, 1}, {112, 16, 96, 1, 1, 0, 1}, {56, 24, 144, 1, 1, 0, 1},
        {56, 144, 24, 1, 1, 0, 1}, {14, 96, 576, 1, 1, 0, 1}, {7, 160, 960, 1, 1, 0, 1},
        {7, 320, 1280, 1, 1, 0, 1}, {1, 1280, 1000, 1, 1, 0, 1}, {28, 64, 64, 3, 1, 1, 4},
        {14, 160, 160, 3, 1, 1, 10}, {28, 448, 448, 3, 1, 1, 4}, {14, 1232, 1232, 3, 1, 1, 11},
        {7, 400, 400, 3, 1, 1, 25}, {112, 32, 32, 3, 1, 1, 32}, {112, 96, 96, 3, 2, 1, 96},
        {28, 192, 192, 3, 1, 1, 192}, {14, 576, 576, 3, 1, 1, 576}, {7, 960, 960, 3, 1, 1, 960},
        {14, 672, 672, 5, 1, 2, 672}, {7, 1152, 1152, 5, 1, 2, 1152}, {56, 96, 96, 7, 1, 3, 96},
        {14, 384, 384, 7, 1, 3, 384}, {28, 240, 240, 5, 2, 2, 240}, {28, 58, 58, 3, 1, 1, 58},
        {14, 768, 3072, 1, 1, 0, 1},
        {14, 3072, 768, 1, 1, 0, 1}, {56, 96, 384, 1, 1, 0, 1}, {56, 384, 96, 1, 1, 0, 1},
        {27, 64, 192, 5, 1, 2, 1}};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const size_t *l = layers[i];
        sdx_conv_shape s = shape_of(1, l[0], l[1], l[2], l[3], l[4], l[5], 1, l[6]);
        sdx_conv_way way = sdx_conv_choose(&s, false);
        if (only && strcmp(only, sdx_conv_way_name(way)) != 0) continue;
        time_layer(pool, s, way);
        if (l[3] == 3 && l[4] == 1 && l[1] / l[6] >= 16) {
            time_layer(pool, s, SDX_CONV_WINOGRAD_2);
            time_layer(pool, s, SDX_CONV_WINOGRAD_4);
        }
    }
}

int main(int argc, char **argv) { return run_driver(argc, argv, check_all, bench); }
