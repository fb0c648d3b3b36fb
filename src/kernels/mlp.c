/* mlp.c - see mlp.h. Each thread takes blocks of its own through both products. */
#include "kernels/mlp.h"

#include "base/checked.h"
#include "kernels/matrix.h"

#define BLOCK_FLOATS ((size_t)64 << 10) /* between the products: a part of a second-level cache */
#define LEAST_ROWS   12                 /* fewer would leave tiles of a product half empty */

bool sdx_mlp_pays(size_t depth, size_t hidden, size_t columns) {
    /* A block saves writing and reading what lies between, and reads the matrices once more. */
    size_t wide, matrices;
    return sdx_size_add(depth, columns, &wide) && sdx_size_mul(wide, hidden, &matrices) &&
           matrices <= 5 * BLOCK_FLOATS;
}

static size_t block_rows(size_t hidden) {
    size_t rows = hidden ? BLOCK_FLOATS / hidden : LEAST_ROWS;
    rows -= rows % LEAST_ROWS;
    return rows ? rows : LEAST_ROWS;
}

size_t sdx_mlp_scratch(size_t hidden) { return block_rows(hidden) * hidden; }

typedef struct job {
    const sdx_mlp *mlp;
    const float *x;
    float *out, *scratch;
    size_t rows, step; /* of all; of a block */
} job;

/* Rows [begin, end) through both products. */
static void run_rows(const job *j, sdx_pool *pool, float *between, size_t begin, size_t end) {
    const sdx_mlp *m = j->mlp;
    sdx_tail last = m->tails[1];
    if (last.addend) last.addend += begin * last.addend_stride;
    sdx_matrix_run(pool, end - begin, m->depth, m->hidden, m->first, j->x + begin * m->depth,
                   between, &m->tails[0]);
    sdx_matrix_run(pool, end - begin, m->hidden, m->columns, m->second, between,
                   j->out + begin * m->columns, &last);
}

static void run_block(void *arg, uint32_t slot, size_t begin, size_t end) {
    const job *j = arg;
    float *between = j->scratch + slot * j->step * j->mlp->hidden;
    for (size_t row = begin; row < end; row += j->step)
        run_rows(j, NULL, between, row, end - row < j->step ? end : row + j->step);
}

void sdx_mlp_run(sdx_pool *pool, const sdx_mlp *mlp, size_t rows, const float *x, float *out,
                 float *scratch) {
    size_t all = block_rows(mlp->hidden), threads = sdx_pool_threads(pool);
    job j = {mlp, x, out, scratch, rows, all / threads};
    if (j.step >= LEAST_ROWS) {
        sdx_parallel_for_slots(pool, rows, j.step, run_block, &j);
        return;
    }
    /* More threads than blocks of a sensible height have room: all of them on one block. */
    for (size_t row = 0; row < rows; row += all)
        run_rows(&j, pool, scratch, row, rows - row < all ? rows : row + all);
}
