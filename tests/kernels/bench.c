/* bench.c - how fast the kernels are, on one thread: products beside the peak of tiles whose
 * operands stay near, streams beside the measured speed of reading and copying. */
#include "kernels/gemm.h"
#include "kernels/pool_nhwc.h"
#include "kernels_test.h"

#define BUDGET 0.15 /* seconds for each measurement */

static const sdx_kernels *kernels;
static double peak, reading;
static float *large, *other; /* LARGE floats each: far beyond the caches */
#define LARGE ((size_t)12 << 20)

/* ---- the machine ----------------------------------------------------------------------------- */

static void run_tiles(void *arg) { kernels->f32_tiles(arg); }

static void bench_peak(void) {
    enum { ROWS = 24, DEPTH = 256 };
    static float a[ROWS * DEPTH], panel[DEPTH * 64], out[ROWS * 64];
    const float *rows[ROWS];
    for (size_t i = 0; i < ROWS; i++) rows[i] = a + i * DEPTH;
    for (size_t vectors = 1; vectors <= 3; vectors++) {
        sdx_tiles job = {.rows = rows, .row_count = ROWS, .taps = 1, .row_taps = 1,
                         .depth = DEPTH, .panel = panel, .vectors = vectors,
                         .columns = vectors * kernels->lanes, .out = out, .out_stride = 64};
        const double flops = 2.0 * ROWS * DEPTH * (double)job.columns;
        const double speed = flops / best_time(run_tiles, &job, BUDGET) * 1e-9;
        printf("  tiles of %zu vectors    %7.1f GFLOP/s\n", vectors, speed);
        if (speed > peak) peak = speed;
    }
}

static void run_sum(void *arg) {
    double sum;
    (void)arg;
    kernels->f32_sum(large, LARGE, &sum);
}
static void run_copy(void *arg) {
    (void)arg;
    memcpy(other, large, LARGE * sizeof *large);
}

static void bench_memory(void) {
    const double bytes = (double)LARGE * sizeof(float) * 1e-9;
    reading = bytes / best_time(run_sum, NULL, 2 * BUDGET);
    printf("  reading (sum)         %7.1f GB/s\n", reading);
    printf("  memcpy                %7.1f GB/s written\n",
           bytes / best_time(run_copy, NULL, 2 * BUDGET));
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct product {
    size_t m, n, k, count;
    bool turn_a, turn_b;
    float *scratch;
} product;

static void run_product(void *arg) {
    const product *p = arg;
    const size_t a_size = p->m * p->k, b_size = p->k * p->n, c_size = p->m * p->n;
    for (size_t i = 0; i < p->count; i++) {
        const sdx_f32_matrix a = {large + i * a_size, p->turn_a ? 1 : p->k, p->turn_a ? p->m : 1};
        const sdx_f32_matrix b = {large + LARGE / 2 + i * b_size, p->turn_b ? 1 : p->n,
                                  p->turn_b ? p->k : 1};
        sdx_f32_gemm_strided(NULL, p->m, p->n, p->k, a, b, other + i * c_size, p->n, false,
                             p->scratch);
    }
}

static void bench_product(size_t count, size_t m, size_t n, size_t k, bool turn_a, bool turn_b) {
    product p = {m, n, k, count, turn_a, turn_b, malloc(sdx_f32_gemm_scratch(m, n, k) + 64)};
    if (!p.scratch) exit(1);
    const double time = best_time(run_product, &p, BUDGET), all = (double)(count * m * n) * (double)k;
    printf("  %3zu x %5zu x %5zu x %5zu%s%s", count, m, n, k, turn_a ? " A'" : "   ",
           turn_b ? " B'" : "   ");
    if (m == 1 || n == 1) {
        const double speed = (double)(count * k * m * n) * sizeof(float) / time * 1e-9;
        printf(" %7.1f GB/s, %3.0f %% of reading\n", speed, 100 * speed / reading);
    } else {
        printf(" %7.1f GFLOP/s, %3.0f %% of peak\n", 2e-9 * all / time,
               100 * 2e-9 * all / time / peak);
    }
    free(p.scratch);
}

static void bench_products(void) {
    static const size_t squares[] = {64, 128, 256, 512, 1024, 2048};
    printf("products: count x m x n x k\n");
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
        bench_product(1, squares[i], squares[i], squares[i], false, false);
    bench_product(1, 1000, 1000, 1000, false, false);
    bench_product(1, 1000, 1000, 1000, true, false);
    bench_product(1, 1000, 1000, 1000, false, true);
    bench_product(12, 197, 197, 64, false, true);
    bench_product(12, 197, 64, 197, false, false);
    bench_product(64, 49, 49, 32, false, true);
    bench_product(64, 49, 32, 49, false, false);
    bench_product(1, 4, 4096, 1024, false, false);
    bench_product(1, 8, 4096, 1024, false, false);
    bench_product(1, 16, 4096, 1024, false, false);
    bench_product(1, 4, 1024, 4096, false, true);
    bench_product(1, 1, 4096, 1024, false, false);
    bench_product(1, 1, 1024, 4096, false, true);
    bench_product(1, 4096, 1, 1024, false, false);
}

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

void bench_all(const sdx_kernels *set) {
    kernels = set;
    large = guarded(LARGE);
    other = guarded(LARGE);
    random_fill(large, LARGE);
    random_fill(other, LARGE);
    printf("kernels for %s, %zu floats a vector; one thread\n", set->isa, set->lanes);
    bench_peak();
    bench_memory();
    bench_products();
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
}
