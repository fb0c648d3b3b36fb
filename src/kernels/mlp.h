/* mlp.h - two products in a row with packed matrices, a block of rows at a time: what lies between them,
 * often four times as wide as what comes in, is never there as a whole and stays in the cache. */
#ifndef SDX_KERNELS_MLP_H
#define SDX_KERNELS_MLP_H

#include "base/threads.h"
#include "kernels/tail.h"

typedef struct sdx_mlp {
    size_t depth, hidden, columns; /* of a row: what comes in, lies between, goes out */
    const float *first, *second;   /* packed by sdx_matrix_pack */
    sdx_tail tails[2];             /* of each; the second alone may have an addend */
} sdx_mlp;

/* Whether matrices of so many floats are small enough to be read again for each block. */
bool sdx_mlp_pays(size_t depth, size_t hidden, size_t columns);
/* Floats of scratch, whatever the number of rows and threads. */
size_t sdx_mlp_scratch(size_t hidden);
void sdx_mlp_run(sdx_pool *pool, const sdx_mlp *mlp, size_t rows, const float *x, float *out,
                 float *scratch);

#endif
