/* conv_transpose.c - the adjoint of a convolution against a plain loop in double precision that
 * adds up patches, over kernels, strides, pads, dilation, groups, channel counts, sizes and tails;
 * guard words around what is written; the same bits with one thread. With --bench: the speed of
 * well-known layers. usage: test_conv_transpose [--bench [THREADS]] */
#include "drivers/driver.h"
#include "kernels/conv_transpose.h"

static size_t out_count(const sdx_conv_transpose *s) {
    return s->batch * s->out_h * s->out_w * s->maps;
}

/* Adds each pixel times each tap to where it belongs. */
static void reference(const sdx_conv_transpose *s, const float *x, const float *w, double *out) {
    size_t depth = s->channels / s->groups, maps = s->maps / s->groups;
    for (size_t pixel = 0; pixel < s->batch * s->in_h * s->in_w; pixel++)
        for (size_t ky = 0; ky < s->kernel_h; ky++)
            for (size_t kx = 0; kx < s->kernel_w; kx++) {
                size_t n = pixel / s->in_w / s->in_h;
                size_t y =
                    pixel / s->in_w % s->in_h * s->stride_h + ky * s->dilation_h - s->pad_top;
                size_t xx = pixel % s->in_w * s->stride_w + kx * s->dilation_w - s->pad_left;
                if (y >= s->out_h || xx >= s->out_w) continue;
                double *to = out + ((n * s->out_h + y) * s->out_w + xx) * s->maps;
                for (size_t c = 0; c < s->channels; c++)
                    for (size_t m = 0; m < maps; m++)
                        to[c / depth * maps + m] +=
                            (double)x[pixel * s->channels + c] *
                            (double)w[((c * maps + m) * s->kernel_h + ky) * s->kernel_w + kx];
            }
}

typedef struct operands {
    float *x, *w, *bias, *addend, *packed, *out, *again;
} operands;

static operands make_operands(sdx_pool *pool, const sdx_conv_transpose *s, bool bias) {
    operands o = {
        .x = random_floats(s->batch * s->in_h * s->in_w * s->channels),
        .w = random_floats(s->channels * (s->maps / s->groups) * s->kernel_h * s->kernel_w),
        .bias = bias ? random_floats(s->maps) : NULL,
        .addend = random_floats(out_count(s)),
        .packed = random_floats(sdx_conv_transpose_packed_size(s)),
        .out = random_floats(out_count(s) + 2 * GUARD),
        .again = random_floats(out_count(s))};
    sdx_conv_transpose_pack(pool, s, o.w, o.bias, o.packed);
    return o;
}

static void free_operands(operands *o) {
    float *all[] = {o->x, o->w, o->bias, o->addend, o->packed, o->out, o->again};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static int check(sdx_pool *pool, const sdx_conv_transpose *s, sdx_tail tail, bool add, bool bias) {
    operands o = make_operands(pool, s, bias);
    size_t count = out_count(s);
    double *want = calloc(count + 1, sizeof *want);
    reference(s, o.x, o.w, want);
    for (size_t i = 0; i < GUARD; i++) o.out[i] = o.out[GUARD + count + i] = MARK;
    tail.addend = add ? o.addend : NULL;
    tail.addend_stride = s->maps;
    float *out = o.out + GUARD;
    sdx_conv_transpose_run(pool, s, o.packed, o.x, out, &tail);
    sdx_conv_transpose_run(NULL, s, o.packed, o.x, o.again, &tail);
    int wrong = memcmp(out, o.again, count * sizeof *out) != 0;
    if (wrong) printf("other bits with one thread\n");
    for (size_t i = 0; i < GUARD; i++)
        wrong += o.out[i] != MARK || o.out[GUARD + count + i] != MARK;
    double depth = (double)(s->channels / s->groups * s->kernel_h * s->kernel_w);
    for (size_t i = 0; i < count; i++) {
        double sum = want[i] + (bias ? (double)o.bias[i % s->maps] : 0);
        sum = activation(&tail, sum + (add ? (double)o.addend[i] : 0));
        if (fabs((double)out[i] - sum) <= 2e-6 * (1 + sqrt(depth))) continue;
        if (wrong++ == 0)
            printf(
                "%zux%zux%zu -> %zux%zux%zu kernel %zux%zu stride %zux%zu pads %zu, %zu dilation "
                "%zu groups %zu: [%zu] is %g, expected %g\n",
                s->in_h, s->in_w, s->channels, s->out_h, s->out_w, s->maps, s->kernel_h,
                s->kernel_w, s->stride_h, s->stride_w, s->pad_top, s->pad_left, s->dilation_h,
                s->groups, i, (double)out[i], sum);
    }
    free(want);
    free_operands(&o);
    return wrong != 0;
}

static size_t out_size(size_t in, size_t kernel, size_t stride, size_t dilation, size_t pads,
                       size_t more) {
    size_t whole = (in - 1) * stride + (kernel - 1) * dilation + 1 + more;
    return whole > pads ? whole - pads : 0;
}

static int check_all(sdx_pool *pool) {
    int wrong = 0, cases = 0;
    static const size_t counts[] = {1, 3, 7, 8, 9, 16, 17, 24, 33, 40};
    const sdx_tail tails[] = {{.act = SDX_ACT_NONE},
                              {.act = SDX_ACT_CLIP, .a = 0, .b = 1},
                              {.act = SDX_ACT_SWISH, .a = 1}};
    for (size_t i = 0; i < 500; i++) {
        state = i + 1;
        noise();
        size_t r[16];
        for (size_t k = 0; k < 16; k++) r[k] = (size_t)((noise() + 0.5f) * 1000);
        size_t groups = r[0] % 3 == 0 ? 1 + r[1] % 4 : 1;
        sdx_conv_transpose s = {.batch = 1 + r[2] % 3,
                                .in_h = 1 + r[3] % 9,
                                .in_w = 1 + r[4] % 11,
                                .channels = counts[r[5] % 10] * groups,
                                .maps = counts[r[6] % 10] * groups,
                                .groups = groups,
                                .kernel_h = 1 + r[7] % 5,
                                .kernel_w = 1 + r[8] % 5,
                                .stride_h = 1 + r[9] % 4,
                                .stride_w = 1 + r[10] % 4,
                                .dilation_h = 1 + r[11] % 3,
                                .dilation_w = 1 + r[11] % 2,
                                .pad_top = r[12] % 4,
                                .pad_left = r[13] % 4};
        if (i % 50 == 0) s.channels = 2100 * groups; /* deeper than a panel that is taken at once */
        s.out_h = out_size(s.in_h, s.kernel_h, s.stride_h, s.dilation_h, s.pad_top + r[14] % 2,
                           r[15] % 3);
        s.out_w = out_size(s.in_w, s.kernel_w, s.stride_w, s.dilation_w, s.pad_left + r[14] % 3,
                           r[15] % 2);
        if (!s.out_h || !s.out_w) continue;
        wrong += check(pool, &s, tails[i % 3], i % 5 == 0, i % 7 != 0);
        cases++;
    }
    printf("%d convolutions, %d wrong\n", cases, wrong);
    return wrong;
}

static void bench(sdx_pool *pool, const char *only) {
    (void)only;
    static const size_t layers[][6] = {
        /* in, channels, maps, kernel, stride, pad */
        {32, 1024, 512, 2, 2, 0}, {64, 512, 256, 2, 2, 0}, {128, 256, 128, 2, 2, 0},
        {128, 128, 64, 2, 2, 0},  {4, 512, 256, 4, 2, 1},  {8, 256, 128, 4, 2, 1},
        {16, 128, 64, 4, 2, 1},   {32, 64, 3, 4, 2, 1},    {56, 128, 64, 3, 2, 1},
        {28, 256, 128, 3, 2, 1},  {32, 128, 128, 3, 1, 1}};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const size_t *l = layers[i], out = out_size(l[0], l[3], l[4], 1, 2 * l[5], 0);
        sdx_conv_transpose s = {.batch = 1,
                                .in_h = l[0],
                                .in_w = l[0],
                                .channels = l[1],
                                .out_h = out,
                                .out_w = out,
                                .maps = l[2],
                                .groups = 1,
                                .kernel_h = l[3],
                                .kernel_w = l[3],
                                .stride_h = l[4],
                                .stride_w = l[4],
                                .dilation_h = 1,
                                .dilation_w = 1,
                                .pad_top = l[5],
                                .pad_left = l[5]};
        operands o = make_operands(pool, &s, true);
        const sdx_tail tail = {.act = SDX_ACT_CLIP, .a = 0, .b = INFINITY};
        double best = INFINITY, begin = now();
        for (int k = 0; k < 3 || now() - begin < 0.15; k++) {
            double t = now();
            sdx_conv_transpose_run(pool, &s, o.packed, o.x, o.out, &tail);
            t = now() - t;
            if (t < best) best = t;
        }
        double macs = (double)(l[0] * l[0] * l[1] * l[2] * l[3] * l[3]);
        printf("%4zu^2 x %4zu -> %4zu^2 x %4zu, kernel %zu stride %zu: %8.3f ms %7.1f GFLOP/s\n",
               l[0], l[1], out, l[2], l[3], l[4], best * 1e3, 2 * macs / best * 1e-9);
        free_operands(&o);
    }
}

int main(int argc, char **argv) { return run_driver(argc, argv, check_all, bench); }
