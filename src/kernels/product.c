/* product.c - see product.h. A block of rows meets all panels of a task before the next one does, and
 * so much of the depth at a time that partial sums seldom go through memory. */
#include "kernels/product.h"

#define POINTERS    416 /* on the stack: rows of a block times taps of a block */
#define MOST_ROWS   256
/* Rows of a panel at a time: 72 KiB of two vectors of 8 floats, 288 KiB where vectors have 16, since the
 * second-level caches of such machines are larger. Whole chains of sums, since blocks end where they do. */
#define PANEL_DEPTH(lanes) ((lanes) >= 16 ? 6 * (size_t)SDX_CHAIN : 3 * (size_t)SDX_CHAIN)
#define MANY_ROWS   64
#define FEW_ROWS    6   /* so few that a panel is met once or twice: no need to cut its depth */
/* Fewer rows of a thread would leave its tiles half empty; with as many, it does better with all columns of
 * its own rows, which it has often made itself, than with some columns of all rows. */
#define LEAST_BLOCK 24
#define OWN_TASKS    4 /* of each thread */
#define LEAST_PANELS 6 /* of such a task */
/* Multiply-adds of a row and a tap that pay for finding it; of all that pay for other threads. */
#define WORTH_LISTING 1024
#define WORTH_THREADS ((size_t)64 << 10)

typedef struct plan {
    const sdx_product *product;
    const sdx_kernels *kernels;
    bool pairs; /* of panels where they can be */
    size_t block_rows, row_blocks;
    size_t tap_step;          /* taps of a block */
    size_t depth_step;        /* floats of each tap; less than the depth for one tap only */
    size_t panels_all, panels_step, panel_parts; /* panels of all groups; of a task */
    bool by_panels; /* tasks of the same panels follow one another, not those of the same rows */
} plan;

static size_t divide_up(size_t a, size_t b) { return (a + b - 1) / b; }
static size_t round_up(size_t a, size_t unit) { return divide_up(a, unit) * unit; }
static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Lower tiles over two panels at a time, where the registers allow them: rows that lie a multiple of
 * 4 KiB apart share one set of the first-level cache, and twelve are more than it holds; and with many
 * rows each panel stays near anyway. */
static bool wants_pairs(const sdx_product *product, const sdx_kernels *kernels) {
    const size_t step = product->depth * product->groups * sizeof(float);
    return kernels->pairs && (product->rows > MANY_ROWS || step % 4096 == 0);
}

/* Taps of a block: at most `most`, which is at least a chain's; about as many in each. */
static size_t taps_step(size_t taps, size_t most, size_t chain) {
    most -= most % chain;
    return taps <= most ? taps : round_up(divide_up(taps, divide_up(taps, most)), chain);
}

static void plan_blocks(plan *p) {
    const sdx_product *product = p->product;
    size_t depth = product->depth ? product->depth : 1;
    const size_t most = PANEL_DEPTH(p->kernels->lanes);
    const size_t chain = sdx_chain_taps(depth); /* blocks end where chains do */
    p->depth_step = depth;
    if (product->rows <= FEW_ROWS) {
        p->tap_step = taps_step(product->taps, SDX_PRODUCT_TAPS, chain);
    } else if (depth >= most) {
        p->tap_step = 1;
        p->depth_step = round_up(divide_up(depth, divide_up(depth, most)), SDX_CHAIN);
    } else {
        p->tap_step = taps_step(product->taps, least(most / depth, SDX_PRODUCT_TAPS), chain);
    }
    p->block_rows = least(least(POINTERS / p->tap_step, MOST_ROWS), product->rows);
    p->row_blocks = divide_up(product->rows, p->block_rows);
}

/* Tasks of panels where rows are few: as many as make shares of threads about equal. */
static void cut_panels(plan *p, size_t threads) {
    const size_t rows = p->product->rows;
    /* A single row reads four panels at a time. */
    size_t tasks = threads * (rows == 1 ? 4 : 16);
    p->by_panels = true;
    p->panels_step = divide_up(p->panels_all, tasks);
    /* The rows are listed once a task. */
    size_t width = least(p->product->panels.columns, 2 * p->product->panels.lanes);
    size_t worth = divide_up(WORTH_LISTING, p->product->depth * width + 1);
    if (p->panels_step < worth) p->panels_step = worth;
    size_t count = divide_up(p->panels_all, p->panels_step) * p->row_blocks;
    size_t idle = count % threads ? threads - count % threads : 0; /* in the last round */
    if (idle * 12 > count && rows / threads >= FEW_ROWS)
        p->row_blocks = divide_up(p->row_blocks, threads) * threads;
}

/* As many tasks for each thread, and several, so that none waits long for the last one: its own rows with some
 * panels after the other, where there are many, since fewer rows would read all panels more often. */
static void cut_rows(plan *p, size_t threads) {
    const size_t rows = p->product->rows;
    size_t each = divide_up(p->row_blocks, threads); /* blocks of a thread, at least */
    size_t parts = least(divide_up(OWN_TASKS, each), p->panels_all / LEAST_PANELS);
    if (parts > 1) p->panels_step = divide_up(p->panels_all, parts);
    else parts = 1;
    size_t more = least(divide_up(OWN_TASKS, parts), rows / (LEAST_BLOCK * threads));
    p->row_blocks = (each > more ? each : more) * threads;
}

static plan make_plan(const sdx_product *product, size_t threads) {
    plan p = {.product = product, .kernels = sdx_kernels_get()};
    p.pairs = wants_pairs(product, p.kernels);
    p.panels_all = product->groups * product->panels.count;
    p.panels_step = p.panels_all;
    plan_blocks(&p);
    if (threads > 1 && product->rows >= LEAST_BLOCK * threads) {
        cut_rows(&p, threads);
    } else if (threads > 1) {
        cut_panels(&p, threads);
    }
    p.block_rows = divide_up(product->rows, p.row_blocks);
    p.row_blocks = divide_up(product->rows, p.block_rows);
    if (p.pairs) p.panels_step += p.panels_step % 2;
    p.panel_parts = divide_up(p.panels_all, p.panels_step);
    return p;
}

/* Row k of a panel of any group. */
static const float *panel_at(const sdx_product *product, size_t panel, size_t k) {
    const sdx_panels *panels = &product->panels;
    size_t group = panel / panels->count, index = panel % panels->count;
    size_t depth = product->taps * product->depth;
    return product->packed + group * sdx_panels_width(panels) * depth +
           sdx_panel_first(panels, index) * depth +
           k * sdx_panel_width(panels, index);
}

/* One panel against the rows of `job`; for a single row, all neighbouring panels of two vectors. */
static size_t run_panel(const plan *p, sdx_tiles *job, size_t panel, size_t last, size_t k,
                        size_t depth_at) {
    const sdx_product *product = p->product;
    const sdx_panels *panels = &product->panels;
    size_t group = panel / panels->count, index = panel % panels->count;
    size_t width = sdx_panels_width(panels), depth = product->taps * product->depth;
    size_t first = sdx_panel_first(panels, index), vectors = sdx_panel_vectors(panels, index);
    size_t column = group * panels->columns + first;
    sdx_tiles tiles = *job;
    tiles.panel = panel_at(product, panel, k);
    if (panel + 1 < last)
        tiles.ahead = (const char *)panel_at(product, panel + 1, k) - (const char *)tiles.panel;
    tiles.vectors = vectors;
    tiles.half = sdx_panel_half(panels, index);
    tiles.columns = panels->columns - first;
    tiles.offset = group * product->depth + depth_at;
    tiles.out = job->out + column;
    if (product->bias) tiles.tail.bias = product->bias + group * width + first;
    if (job->tail.addend) tiles.tail.addend = job->tail.addend + column;
    size_t count = 0;
    while (job->row_count == 1 && index + count < panels->count && panel + count < last &&
           sdx_panel_vectors(panels, index + count) == 2 && !sdx_panel_half(panels, index + count))
        count++;
    if (count > 1) {
        size_t stride = 2 * panels->lanes * depth;
        tiles.columns = least(tiles.columns, count * 2 * panels->lanes);
        SDX_KERNEL_OF(p->kernels, f32_row_panels)(&tiles, count, stride);
        return count;
    }
    if (p->pairs && index + 1 < panels->count && panel + 1 < last &&
        tiles.columns >= 4 * panels->lanes && sdx_panel_vectors(panels, index + 1) == 2) {
        tiles.pair = 2 * panels->lanes * depth;
        tiles.columns = 4 * panels->lanes;
        tiles.ahead = panel + 2 < last ? 2 * tiles.ahead : 0;
        SDX_KERNEL_OF(p->kernels, f32_tiles)(&tiles);
        return 2;
    }
    tiles.columns = least(tiles.columns, vectors * panels->lanes);
    SDX_KERNEL_OF(p->kernels, f32_tiles)(&tiles);
    return 1;
}

static void run_task(const plan *p, size_t task) {
    const sdx_product *product = p->product;
    size_t first = (p->by_panels ? task % p->row_blocks : task / p->panel_parts) * p->block_rows;
    size_t panel = (p->by_panels ? task / p->row_blocks : task % p->panel_parts) * p->panels_step;
    size_t last = least(panel + p->panels_step, p->panels_all);
    const float *pointers[POINTERS];
    sdx_tiles job = {.rows = pointers, .row_count = least(p->block_rows, product->rows - first),
                     .out_stride = product->out_stride,
                     .out = product->out + first * product->out_stride, .tail = product->tail};
    job.tail.bias = NULL;
    if (job.tail.addend) job.tail.addend += first * job.tail.addend_stride;
    for (size_t tap = 0; tap < product->taps; tap += p->tap_step) {
        size_t taps = least(p->tap_step, product->taps - tap);
        product->fill(product, first, job.row_count, tap, taps, pointers);
        job.taps = job.row_taps = taps;
        for (size_t at = 0; at < product->depth || at == 0; at += p->depth_step) {
            job.depth = least(p->depth_step, product->depth - at);
            job.add = tap > 0 || at > 0;
            job.finish = tap + taps == product->taps && at + job.depth == product->depth;
            for (size_t i = panel; i < last;)
                i += run_panel(p, &job, i, last, tap * product->depth + at, at);
        }
    }
}

static void run_tasks(void *arg, size_t begin, size_t end) {
    for (size_t task = begin; task < end; task++) run_task(arg, task);
}

void sdx_product_run(sdx_pool *pool, const sdx_product *product) {
    if (!product->rows || !product->panels.columns) return;
    if (product->rows * product->taps * product->depth <=
        WORTH_THREADS / (product->groups * product->panels.columns))
        pool = NULL;
    plan p = make_plan(product, sdx_pool_threads(pool));
    sdx_parallel_for(pool, p.row_blocks * p.panel_parts, 1, run_tasks, &p);
}
