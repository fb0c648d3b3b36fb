/* tile.h - products of rows with packed panels: what matrix products and convolutions come down to.
 *
 * A is a set of rows, each given by `taps` pointers to `depth` floats: one tap for a matrix
 * product, one for each place of the kernel for a convolution. B is packed in panels of 1 to 3
 * vectors of columns: [tap][depth][width]. Each element of the result is summed in the order of B's
 * rows, in chains of at most SDX_CHAIN terms, each added to the bias and those before it: rounding
 * errors of a single chain would grow with its length. (In half a vector, see panels.h, the even terms of
 * a chain and the odd ones are summed apart.) Where a chain ends follows from the depth
 * alone, whatever the shape of the tiles, so that the bits do not depend on how the work is cut, as
 * long as jobs that share a sum are cut where chains end. */
#ifndef SDX_KERNELS_TILE_H
#define SDX_KERNELS_TILE_H

#include <stdbool.h>

#include "kernels/tail.h"

#define SDX_CHAIN      384
#define SDX_BIAS_TERMS 48 /* up to which the bias comes first */
#define SDX_CHAIN_TAPS 64 /* at most; rows of pointers have room for as many */
/* Taps of a chain. Where a tap is longer than a chain, one ends after each SDX_CHAIN of its terms
 * and at its end. */
static inline size_t sdx_chain_taps(size_t depth) {
    const size_t taps = SDX_CHAIN / (depth ? depth : 1);
    return taps < 1 ? 1 : taps > SDX_CHAIN_TAPS ? SDX_CHAIN_TAPS : taps;
}

typedef struct sdx_tiles {
    const float *const *rows; /* [row][tap] */
    size_t row_count, taps;
    size_t row_taps; /* pointers from row to row; taps, or more if only some are taken */
    size_t depth;    /* floats behind each pointer */
    size_t offset;   /* floats to skip there */
    const float *panel;
    ptrdiff_t ahead; /* bytes from the panel to what is wanted next, to be brought nearer; 0: nothing */
    size_t vectors; /* width of the panel */
    size_t pair;    /* floats from the panel, of two vectors, to another that is taken along; 0: none */
    size_t columns; /* that are stored */
    float *out;
    size_t out_stride; /* from row to row */
    bool add;          /* to what out holds; else to the bias, if any */
    bool finish;       /* addend and activation follow */
    bool half;         /* the panel's last vector is one for two rows (panels.h); taps == 1 then */
    sdx_tail tail;     /* addend as for out */
} sdx_tiles;

/* The bias in front of a chain would lend its size to each rounding error behind it, so it is added
 * at the end; but in front of a few terms, where it costs little accuracy and an addition would
 * cost time. */
static inline bool sdx_bias_first(const sdx_tiles *job) {
    return job->tail.bias && !job->add && job->taps * job->depth <= SDX_BIAS_TERMS;
}

#endif
