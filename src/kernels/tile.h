/* tile.h - products of rows with packed panels: what matrix products and convolutions come down to.
 *
 * A is a set of rows, each given by `taps` pointers to `depth` floats: one tap for a matrix product,
 * one for each place of the kernel for a convolution. B is packed in panels of 1 to 3 vectors of
 * columns: [tap][depth][width]. Each element of the result is summed in the order of B's rows,
 * whatever the shape of the tiles, so that the bits do not depend on how the work is cut. */
#ifndef SDX_KERNELS_TILE_H
#define SDX_KERNELS_TILE_H

#include <stdbool.h>

#include "kernels/tail.h"

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
    bool add;          /* to what out holds; else it begins with the bias or 0 */
    bool finish;       /* addend and activation follow */
    sdx_tail tail;     /* addend as for out */
} sdx_tiles;

#endif
