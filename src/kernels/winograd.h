/* winograd.h - the transforms of Winograd's minimal filtering for 3x3 kernels, on tiles whose channels
 * lie side by side. A tile of edge n = 4 or 6 gives 2x2 or 4x4 results. */
#ifndef SDX_KERNELS_WINOGRAD_H
#define SDX_KERNELS_WINOGRAD_H

#include "kernels/tail.h"

typedef struct sdx_winograd_weights {
    const float *from; /* [channel][3 * 3 weights][map] */
    float *to;         /* point p of a channel at to + p * stride + channel * to_step */
    size_t to_step, stride;
    size_t channels, maps; /* maps: whole vectors */
} sdx_winograd_weights;

typedef struct sdx_winograd_in {
    const float *const *from; /* n * n pixels; zeros outside the image */
    float *to;                /* point p at to + p * stride */
    size_t stride, channels;
} sdx_winograd_in;

typedef struct sdx_winograd_out {
    const float *from; /* point p at from + p * stride */
    size_t stride, channels;
    float *const *to;  /* results, row by row; NULL: outside the image */
    const float *const *addend; /* alike; NULL: none */
    const float *bias;
    sdx_act act; /* NONE or CLIP */
    float a, b;
} sdx_winograd_out;

#endif
