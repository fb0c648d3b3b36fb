/* bench.c - how fast the kernels are: multiplications beside the machine's measured peak. */
#include "kernels_test.h"

typedef struct peak_job {
    const sdx_kernels *set;
    sdx_tiles job;
} peak_job;

static void run_tiles(void *arg) {
    const peak_job *p = arg;
    p->set->f32_tiles(&p->job);
}

/* A tile whose operands stay in the first cache: nothing but multiply-adds limits it. */
static double tile_peak(const sdx_kernels *set) {
    enum { ROWS = 24, DEPTH = 256 };
    static float a[ROWS * DEPTH], panel[DEPTH * 64], out[ROWS * 64];
    const float *rows[ROWS];
    for (size_t i = 0; i < ROWS; i++) rows[i] = a + i * DEPTH;
    double best = 0;
    for (size_t vectors = 1; vectors <= 3; vectors++) {
        peak_job p = {set, {.rows = rows, .row_count = ROWS, .taps = 1, .row_taps = 1}};
        p.job.depth = DEPTH;
        p.job.panel = panel;
        p.job.vectors = vectors;
        p.job.columns = vectors * set->lanes;
        p.job.out = out;
        p.job.out_stride = 64;
        const double flops = 2.0 * ROWS * DEPTH * (double)p.job.columns;
        const double speed = flops / best_time(run_tiles, &p, 0.2) * 1e-9;
        printf("  tiles of %zu vectors    %7.1f GFLOP/s\n", vectors, speed);
        if (speed > best) best = speed;
    }
    return best;
}

void bench_all(const sdx_kernels *set) {
    printf("kernels for %s, %zu floats a vector; one thread\n", set->isa, set->lanes);
    tile_peak(set);
}
