/* product.h - the loops around tiles: rows given by pointers, times panels, cut into blocks that stay
 * in the caches and into tasks for the threads. Convolutions and matrix products with packed weights
 * hand it a function that fills in the pointers. */
#ifndef SDX_KERNELS_PRODUCT_H
#define SDX_KERNELS_PRODUCT_H

#include "base/threads.h"
#include "kernels/kernels.h"
#include "kernels/panels.h"

typedef struct sdx_product sdx_product;
#define SDX_PRODUCT_TAPS SDX_CHAIN_TAPS /* at a time, at most */
/* Pointers of rows [first, first + count), taps [tap, tap + taps): to[row * taps + tap]. */
typedef void (*sdx_product_rows)(const sdx_product *product, size_t first, size_t count,
                                 size_t tap, size_t taps, const float **to);

struct sdx_product {
    size_t rows, taps, depth; /* depth: floats behind one pointer, of one group */
    size_t groups;            /* group g reads depth floats at g * depth behind each pointer */
    sdx_panels panels;        /* of one group */
    const float *packed;      /* group after group */
    const float *bias;        /* padded to the panels' width, group after group; or NULL */
    float *out;               /* rows of groups * columns floats */
    size_t out_stride;
    sdx_tail tail;
    sdx_product_rows fill;
    const void *user; /* for fill */
};

void sdx_product_run(sdx_pool *pool, const sdx_product *product);

#endif
