/* winograd.h - the transforms of Winograd's minimal filtering for 3x3 kernels, on tiles whose channels
 * lie side by side. A tile of edge n = 4 or 6 gives 2x2 or 4x4 results.
 *
 * The points of a line are 0, 1, -1, 2, -2 and infinity, of which 4 has no 2 and -2. Where the image ends within a tile, fewer points are enough: two more than there are
 * results, the first of them and infinity. The weights do not know: what the points that are left out
 * would have divided by is made up for by the transform of the pixels. */
#ifndef SDX_KERNELS_WINOGRAD_H
#define SDX_KERNELS_WINOGRAD_H

#include "kernels/tail.h"

#define SDX_WINOGRAD_EDGE   6  /* the largest */
#define SDX_WINOGRAD_POINTS 36
#define SDX_WINOGRAD_RESULTS 16

typedef struct sdx_winograd_weights {
    const float *from; /* [channel][3 * 3 weights][map] */
    float *to;         /* point p of a channel at to + p * stride + channel * to_step */
    size_t to_step, stride;
    size_t channels, maps; /* maps: whole vectors */
} sdx_winograd_weights;

typedef struct sdx_winograd_in {
    size_t edge;
    size_t rows, columns;     /* points of this tile, and pixels that they need */
    const float *const *from; /* pixels [row * edge + column]; zeros outside the image */
    float *const *to;         /* points alike; where one is left out, nothing is looked at */
    size_t channels;
} sdx_winograd_in;

typedef struct sdx_winograd_out {
    size_t edge;
    size_t rows, columns;     /* points of this tile: two more than results */
    const float *const *from; /* points [row * edge + column] */
    size_t channels;
    float *const *to;  /* results [row * (edge - 2) + column] */
    const float *const *addend; /* alike; NULL: none */
    const float *bias;
    sdx_act act; /* NONE or CLIP */
    float a, b;
} sdx_winograd_out;

#endif
