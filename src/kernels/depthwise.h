/* depthwise.h - rows of results of a convolution whose channels do not mix. */
#ifndef SDX_KERNELS_DEPTHWISE_H
#define SDX_KERNELS_DEPTHWISE_H

#include "kernels/tail.h"

typedef struct sdx_depthwise {
    const float *const *rows; /* [row of results][row of the kernel]: a row of the image; NULL: outside */
    size_t row_count;         /* of results */
    size_t kernel_h, kernel_w, stride_w, dilation_w, pad_left;
    size_t in_w, out_w;
    size_t channels;      /* that are computed */
    size_t in_step, step; /* channels that there are: in the image, in all else */
    const float *weights, *bias; /* [tap][channel], [channel] */
    float *out;                  /* row after row */
    const float *addend;         /* as out; NULL: none */
    float *sums; /* [row][channel]: the results of a row added up; NULL: not wanted */
    sdx_act act;
    float a, b;
} sdx_depthwise;

#endif
