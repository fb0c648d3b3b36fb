/* conv_transpose.h - the adjoint of a convolution, on float32 images whose channels lie side by
 * side, with weights that were packed beforehand.
 *
 * With a stride of s, rows of results that lie s apart meet the same rows of the kernel, and others
 * meet others: the results fall into s classes along each axis. Each class is an ordinary
 * convolution without stride by the part of the kernel that it meets, so that nothing is computed
 * twice or added up in memory. Results have the same bits for any number of threads. */
#ifndef SDX_KERNELS_CONV_TRANSPOSE_H
#define SDX_KERNELS_CONV_TRANSPOSE_H

#include "base/threads.h"
#include "kernels/kernels.h"

#define SDX_CONV_TRANSPOSE_STRIDE 64 /* at most: each class costs a little, met or not */

typedef struct sdx_conv_transpose {
    size_t batch, in_h, in_w, channels; /* channels of all groups */
    size_t out_h, out_w, maps;
    size_t groups;
    size_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    size_t pad_top, pad_left; /* that are cut off the result */
} sdx_conv_transpose;

/* Floats of the packed weights and bias; SIZE_MAX: more than can be. Batch, sizes of images and
 * pads do not matter, here and for packing. */
size_t sdx_conv_transpose_packed_size(const sdx_conv_transpose *shape);
/* weights: (channels, maps / groups, kernel_h, kernel_w); bias may be NULL; of any alignment. */
void sdx_conv_transpose_pack(sdx_pool *pool, const sdx_conv_transpose *shape, const void *weights,
                             const void *bias, float *packed);
/* tail: addend and activation; its bias is not looked at. */
void sdx_conv_transpose_run(sdx_pool *pool, const sdx_conv_transpose *shape, const float *packed,
                            const float *x, float *out, const sdx_tail *tail);

#endif
