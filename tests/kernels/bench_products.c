/* bench_products.c - products and convolutions beside the rate of multiply-adds on registers alone, products
 * with a vector beside that of reading memory, each measured in turns with its limit, and their targets. */
#include "base/memory.h"
#include "kernels/conv.h"
#include "kernels/gemm.h"
#include "kernels/matrix.h"
#include "kernels_test.h"
#include "peak.h"

#define BUDGET     0.25 /* seconds for each measurement */
#define TURN       0.002
#define NEAR_PEAK  0.90
#define NEAR_READ  0.85
/* As the engine has it: aligned to lines of the caches, on large pages where it is large. */
static float *room(size_t floats) {
    float *memory = sdx_alloc(NULL, floats * sizeof *memory, SDX_CACHE_LINE);
    if (!memory) exit(1);
    return memory;
}

/* A matrix far beyond the last cache. */
#define DEEP       ((size_t)4096)
#define WIDE       ((size_t)12288)
#define FLOATS     (DEEP * WIDE)
#define VECTORS    ((size_t)3 << 22) /* floats: three squares of 2048 */

static const sdx_kernels *kernels;
static float *matrix, *vectors; /* FLOATS and a bias behind them; VECTORS */
static size_t missed;
static volatile float kept;

static double peak_rate(void) {
    const char *name;
    return bench_peak(TURN, kernels->isa, &name);
}

typedef float lanes8 __attribute__((vector_size(32), aligned(4)));

/* Bytes a second of one core that adds up the matrix. */
static double read_rate(void) {
    lanes8 sum[8] = {0};
    const double start = sdx_seconds();
    for (size_t i = 0; i + 64 <= FLOATS; i += 64)
        for (size_t v = 0; v < 8; v++) sum[v] += *(const lanes8 *)(const void *)(matrix + i + 8 * v);
    const double took = sdx_seconds() - start;
    for (size_t v = 1; v < 8; v++) sum[0] += sum[v];
    kept = sum[0][0];
    return (double)FLOATS * sizeof(float) / took;
}

/* The call and what bounds it take turns; `amount` is the work of a call. The best of each is what counts,
 * since whatever else the machine does can only slow them down. target: of the limit, or 0 for none. */
static void compare(const char *what, void (*call)(void *arg), void *arg, double amount,
                    double (*limit)(void), const char *unit, double target) {
    double best = 0, bound = 0, start = sdx_seconds();
    call(arg);
    for (size_t round = 0; round < 6 || sdx_seconds() - start < BUDGET; round++) {
        const double rate = limit(), begin = sdx_seconds();
        if (rate > bound) bound = rate;
        for (double now = begin, end; now - begin < TURN; now = end) {
            call(arg);
            end = sdx_seconds();
            if (amount / (end - now) > best) best = amount / (end - now);
        }
    }
    const bool good = best >= target * bound;
    printf("  %-40s %7.1f of %6.1f %s, %3.0f %%", what, best * 1e-9, bound * 1e-9, unit,
           100 * best / bound);
    if (target > 0) printf(", wanted %2.0f: %s", 100 * target, good ? "met" : "missed");
    printf("\n");
    missed += !good;
}

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct product {
    size_t count, m, n, k;
    bool turn_a, turn_b;
    float *scratch;
    const float *a, *b;
} product;

static void run_product(void *arg) {
    const product *p = arg;
    for (size_t i = 0; i < p->count; i++) {
        const sdx_f32_matrix a = {p->a + i * p->m * p->k, p->turn_a ? 1 : p->k,
                                  p->turn_a ? p->m : 1};
        const sdx_f32_matrix b = {p->b + i * p->k * p->n, p->turn_b ? 1 : p->n,
                                  p->turn_b ? p->k : 1};
        sdx_f32_gemm_strided(NULL, p->m, p->n, p->k, a, b, vectors + i * p->m * p->n, p->n, false,
                             p->scratch);
    }
}

static void time_product(const size_t *sizes, double target) {
    char what[64];
    product p = {.count = sizes[0], .m = sizes[1], .n = sizes[2], .k = sizes[3],
                 .turn_a = sizes[4] != 0, .turn_b = sizes[5] != 0};
    const bool vector = p.m == 1 || p.n == 1;
    snprintf(what, sizeof what, "%zu x %zu x %zu x %zu%s%s", p.count, p.m, p.n, p.k,
             p.turn_a ? " A'" : "", p.turn_b ? " B'" : "");
    const size_t scratch = sdx_f32_gemm_scratch(p.m, p.n, p.k) / sizeof(float) + 1;
    p.scratch = room(scratch);
    p.a = p.n == 1 ? matrix : matrix + FLOATS / 2;
    p.b = p.n == 1 ? vectors + 2 * WIDE : matrix;
    if (p.m == 1) p.a = vectors + 2 * WIDE;
    const double all = (double)(p.count * p.m * p.n) * (double)p.k;
    if (vector) compare(what, run_product, &p, 4 * all, read_rate, "GB/s", target);
    else compare(what, run_product, &p, 2 * all, peak_rate, "GFLOP/s", target);
    sdx_free(NULL, p.scratch, scratch * sizeof(float));
}

/* A packed matrix: what is in it does not matter here. */
static void run_packed_row(void *arg) {
    const sdx_tail *tail = arg;
    sdx_matrix_run(NULL, 1, DEEP, WIDE, matrix, vectors + 2 * WIDE, vectors, tail);
}

static void bench_matrices(void) {
    static const size_t squares[] = {512, 768, 1024, 1536, 2048};
    static const size_t others[][6] = {/* count, m, n, k, A and B turned over */
        {1, 64, 64, 64, 0, 0},       {1, 256, 256, 256, 0, 0},   {1, 1000, 1000, 1000, 0, 0},
        {1, 1000, 1000, 1000, 1, 0}, {1, 1000, 1000, 1000, 0, 1}, {12, 197, 197, 64, 0, 1},
        {12, 197, 64, 197, 0, 0},    {64, 49, 49, 32, 0, 1},     {64, 49, 32, 49, 0, 0},
        {1, 4, 4096, 1024, 0, 0},    {1, 16, 4096, 1024, 0, 0},  {1, 4, 1024, 4096, 0, 1}};
    sdx_tail tail = {.act = SDX_ACT_NONE};
    printf("products: count x m x n x k\n");
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
        time_product((size_t[]){1, squares[i], squares[i], squares[i], 0, 0}, NEAR_PEAK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) time_product(others[i], 0);
    printf("a matrix far beyond the caches times a vector, beside reading it\n");
    time_product((size_t[]){1, 1, WIDE, DEEP, 0, 0}, NEAR_READ);
    time_product((size_t[]){1, 1, WIDE, DEEP, 0, 1}, NEAR_READ);
    time_product((size_t[]){1, WIDE, 1, DEEP, 0, 0}, NEAR_READ);
    compare("1 x 12288 x 4096, packed", run_packed_row, &tail, (double)FLOATS * sizeof(float),
            read_rate, "GB/s", NEAR_READ);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

typedef struct layer {
    sdx_conv_shape shape;
    float *packed, *scratch;
} layer;

static void run_layer(void *arg) {
    const layer *l = arg;
    const sdx_tail tail = {.act = SDX_ACT_CLIP, .a = 0, .b = INFINITY};
    sdx_conv_run_packed(NULL, &l->shape, SDX_CONV_TILES, l->packed, matrix, vectors, &tail,
                        l->scratch);
}

static void bench_layers(void) {
    static const size_t layers[][5] = {/* of ResNet-50: side, channels, maps, kernel, stride */
        {56, 64, 64, 1, 1},    {56, 64, 64, 3, 1},     {56, 64, 256, 1, 1},  {56, 256, 64, 1, 1},
        {56, 256, 128, 1, 1},  {56, 128, 128, 3, 2},   {28, 128, 512, 1, 1}, {56, 256, 512, 1, 2},
        {28, 512, 128, 1, 1},  {28, 128, 128, 3, 1},   {28, 512, 256, 1, 1}, {28, 256, 256, 3, 2},
        {14, 256, 1024, 1, 1}, {28, 512, 1024, 1, 2},  {14, 1024, 256, 1, 1}, {14, 256, 256, 3, 1},
        {14, 1024, 512, 1, 1}, {14, 512, 512, 3, 2},   {7, 512, 2048, 1, 1}, {14, 1024, 2048, 1, 2},
        {7, 2048, 512, 1, 1},  {7, 512, 512, 3, 1}};
    printf("convolutions without Winograd\n");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const size_t *l = layers[i], side = l[0], pad = l[3] / 2, out = (side - 1) / l[4] + 1;
        layer one = {.shape = {.batch = 1, .in_h = side, .in_w = side, .channels = l[1],
                               .out_h = out, .out_w = out, .maps = l[2], .groups = 1,
                               .kernel_h = l[3], .kernel_w = l[3], .stride_h = l[4],
                               .stride_w = l[4], .dilation_h = 1, .dilation_w = 1, .pad_top = pad,
                               .pad_left = pad}};
        const size_t packed = sdx_conv_packed_size(&one.shape, SDX_CONV_TILES);
        const size_t scratch = sdx_conv_scratch_size(&one.shape, SDX_CONV_TILES) + 1;
        one.packed = room(packed);
        one.scratch = room(scratch);
        sdx_conv_pack(NULL, &one.shape, SDX_CONV_TILES, matrix + FLOATS / 2, NULL, one.packed);
        char what[64];
        snprintf(what, sizeof what, "%zu^2 x %zu -> %zu, %zux%zu, stride %zu", side, l[1], l[2],
                 l[3], l[3], l[4]);
        compare(what, run_layer, &one,
                2 * (double)(out * out * l[2]) * (double)(l[1] * l[3] * l[3]), peak_rate, "GFLOP/s",
                NEAR_PEAK);
        sdx_free(NULL, one.packed, packed * sizeof(float));
        sdx_free(NULL, one.scratch, scratch * sizeof(float));
    }
}

size_t bench_products(const sdx_kernels *set) {
    kernels = set;
    missed = 0;
    matrix = room(FLOATS + WIDE);
    vectors = room(VECTORS);
    random_fill(matrix, FLOATS + WIDE);
    random_fill(vectors, VECTORS);
    if (peak_rate() > 0) {
        bench_matrices();
        bench_layers();
        printf("%zu targets missed\n", missed);
    }
    sdx_free(NULL, matrix, (FLOATS + WIDE) * sizeof(float));
    sdx_free(NULL, vectors, VECTORS * sizeof(float));
    return missed;
}
