/* depthwise.h - one row of results of a convolution whose channels do not mix. */
#ifndef SDX_KERNELS_DEPTHWISE_H
#define SDX_KERNELS_DEPTHWISE_H

#include "kernels/tail.h"

typedef struct sdx_depthwise {
    const float *const *rows; /* by row of the kernel: a row of the image; NULL: outside */
    size_t kernel_h, kernel_w, stride_w, dilation_w, pad_left;
    size_t in_w, out_w, channels;
    const float *weights, *bias; /* [tap][channel], [channel] */
    float *out;
    sdx_act act; /* NONE or CLIP */
    float a, b;
} sdx_depthwise;

#endif
