/* strip.h - a depthwise convolution together with the 1x1 convolutions before and behind it, or with the
 * first convolution of a network, on an image of few channels, in place of the one before; a few rows
 * of the image at a time: what lies between them is as large as a strip, not as the image, and stays
 * in the cache. The means of the depthwise convolution's channels over all pixels, which
 * squeeze-and-excite asks for, can be had on the way. */
#ifndef SDX_KERNELS_STRIP_H
#define SDX_KERNELS_STRIP_H

#include "kernels/conv.h"

typedef struct sdx_strip {
    sdx_conv_shape middle;   /* of the depthwise convolution */
    size_t channels, maps;   /* of the image that comes in and of the one that goes out */
    const float *expand;     /* packed by sdx_matrix_pack; NULL: none */
    const float *stem;       /* packed by sdx_conv_pack for ROWS, in place of expand; NULL: none */
    sdx_conv_shape first;    /* of the stem */
    const float *depthwise;  /* packed by sdx_conv_pack */
    const float *project;    /* as expand */
    sdx_tail tails[3];       /* of each; the last stage's alone may have an addend */
    float *means;            /* [image][channel] of what the depthwise convolution makes; NULL: none */
} sdx_strip;

/* Floats of scratch, which do not depend on the number of images or threads, nor on the image's height
 * unless means are wanted. */
size_t sdx_strip_scratch(const sdx_strip *strip);
void sdx_strip_run(sdx_pool *pool, const sdx_strip *strip, const float *x, float *out,
                   float *scratch);

#endif
