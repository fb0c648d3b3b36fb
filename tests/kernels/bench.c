/* bench.c - how fast the kernels are, on one thread: functions, rows, pools, moves. Products have targets:
 * bench_products.c. */
#include "kernels/pool_nhwc.h"
#include "kernels_test.h"

#define BUDGET 0.15 /* seconds for each measurement */

static const sdx_kernels *kernels;
static float *large, *other; /* LARGE floats each: far beyond the caches */
#define LARGE ((size_t)12 << 20)

/* ---- elementwise, rows, pools, moves --------------------------------------------------------- */

#define NEAR ((size_t)2048) /* floats that stay in the first cache */

typedef struct unary {
    sdx_f32_function function;
    size_t count;
} unary;

static void run_unary(void *arg) {
    const unary *u = arg;
    kernels->f32_unary(u->function, large, other, u->count, 0.5f, 2.0f);
}

static void bench_unary(const char *name, unsigned function) {
    unary u = {(sdx_f32_function)function, NEAR};
    const double near_time = best_time(run_unary, &u, BUDGET / 3) / (double)NEAR;
    u.count = LARGE;
    const double far_time = best_time(run_unary, &u, BUDGET) / (double)LARGE;
    printf("  %-12s %6.3f ns an element in cache, %6.3f from memory\n", name, near_time * 1e9,
           far_time * 1e9);
}

static void run_pairs(void *arg) { kernels->f32_binary(arg); }

static void bench_pairs(const char *name, size_t rows, size_t n, bool b_row) {
    sdx_f32_pairs job = {.operator = SDX_F32_ADD, .a = large, .b = large + LARGE / 2, .out = other,
                         .rows = rows, .n = n, .a_row = n, .b_row = b_row ? n : 0, .out_row = n,
                         .a_step = true, .b_step = true};
    printf("  %-24s %6.3f ns an element\n", name,
           best_time(run_pairs, &job, BUDGET) / (double)(rows * n) * 1e9);
}

static void run_softmax(void *arg) {
    const size_t n = *(const size_t *)arg;
    kernels->f32_softmax(large, other, 100000 / n, n, false);
}

static void run_norm(void *arg) {
    const size_t n = *(const size_t *)arg;
    for (size_t r = 0; r < 100000 / n; r++) {
        double sum, square;
        kernels->f32_sum(large + r * n, n, &sum);
        kernels->f32_deviations(large + r * n, n, (float)(sum / (double)n), &square);
        kernels->f32_normalize(large + r * n, other + r * n, n, (float)sum, (float)square, large,
                               large);
    }
}

static void run_pool(void *arg) { sdx_f32_pool_nhwc(NULL, arg); }

static void bench_pool(const char *name, size_t side, size_t channels, int64_t kernel,
                       int64_t stride, bool average) {
    sdx_f32_pool job = {.x = large, .y = other, .batch = 1, .channels = channels,
                        .average = average};
    sdx_window *w = &job.window;
    w->rank = 2;
    for (int a = 0; a < 2; a++) {
        w->in[a] = (int64_t)side;
        w->kernel[a] = kernel;
        w->stride[a] = stride;
        w->dilation[a] = 1;
        w->pad[a] = w->pad_end[a] = kernel / 2;
        w->out[a] = ((int64_t)side + 2 * (kernel / 2) - kernel) / stride + 1;
    }
    sdx_window_count(w);
    const double time = best_time(run_pool, &job, BUDGET);
    printf("  %-24s %6.3f ns an element read, %7.1f us\n", name,
           time * 1e9 / (double)(side * side * channels), time * 1e6);
}

typedef struct turn {
    size_t rows, columns;
} turn;

static void run_turn(void *arg) {
    const turn *t = arg;
    kernels->f32_transpose(large, (ptrdiff_t)t->columns, other, (ptrdiff_t)t->rows, t->rows,
                           t->columns);
}

static void bench_turn(size_t rows, size_t columns) {
    turn t = {rows, columns};
    printf("  transpose %5zu x %6zu  %6.1f GB/s written\n", rows, columns,
           (double)(rows * columns) * sizeof(float) / best_time(run_turn, &t, BUDGET) * 1e-9);
}

size_t bench_all(const sdx_kernels *set) {
    kernels = set;
    sdx_kernels_use(set);
    large = guarded(LARGE);
    other = guarded(LARGE);
    random_fill(large, LARGE);
    random_fill(other, LARGE);
    printf("kernels for %s, %zu floats a vector; one thread\n", set->isa, set->lanes);
    const size_t missed = bench_products(set);
    printf("functions\n");
    bench_unary("relu", SDX_ACT_CLIP);
    bench_unary("exp", SDX_F32_EXP);
    bench_unary("log", SDX_F32_LOG);
    bench_unary("sigmoid", SDX_ACT_SIGMOID);
    bench_unary("swish", SDX_ACT_SWISH);
    bench_unary("tanh", SDX_ACT_TANH);
    bench_unary("erf", SDX_F32_ERF);
    bench_unary("gelu", SDX_ACT_GELU);
    bench_unary("hard_swish", SDX_ACT_HARD_SWISH);
    bench_pairs("add, same shape", 1, LARGE / 2, true);
    bench_pairs("add, rows of 64", 3136, 64, false);
    bench_pairs("add, rows of 4096", 24, 4096, false);
    size_t n = 197;
    printf("  softmax, rows of 197     %6.3f ns an element\n",
           best_time(run_softmax, &n, BUDGET) * 1e4);
    n = 768;
    printf("  layer norm, rows of 768  %6.3f ns an element\n",
           best_time(run_norm, &n, BUDGET) * 1e4);
    bench_pool("max 3x3/2 of 112x112x64", 112, 64, 3, 2, false);
    bench_pool("average 3x3 of 35x35x192", 35, 192, 3, 1, true);
    bench_turn(3, 224 * 224);
    bench_turn(224 * 224, 3);
    bench_turn(64, 112 * 112);
    bench_turn(112 * 112, 64);
    bench_turn(2048, 2048);
    guarded_free(large);
    guarded_free(other);
    sdx_kernels_use(NULL);
    return missed;
}
