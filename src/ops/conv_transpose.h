/* conv_transpose.h - shared by ConvTranspose and what passes put in its place. */
#ifndef SDX_OPS_CONV_TRANSPOSE_H
#define SDX_OPS_CONV_TRANSPOSE_H

#include "ops/conv.h"

typedef struct sdx_conv_transpose_params {
    sdx_conv_params conv;
    const int64_t *output_padding; /* one per spatial axis, or NULL */
    const int64_t *output_shape;   /* the spatial axes, or NULL */
} sdx_conv_transpose_params;

sdx_status sdx_conv_transpose_prepare(sdx_prep *prep, sdx_conv_transpose_params *params);
/* Size of output axis `axis` for an input of size `in` and `kernel` taps. */
sdx_status sdx_conv_transpose_out_dim(sdx_infer *inf, const sdx_conv_transpose_params *params,
                                      int32_t axis, sdx_expr in, sdx_expr kernel, sdx_expr *out);
/* The window of the convolution whose adjoint this is: in and out change places. Sizes of the
 * spatial axes are those of the operator. */
void sdx_conv_transpose_resolve(const sdx_conv_transpose_params *params, int32_t axes,
                                const int64_t *in, const int64_t *kernel, const int64_t *out,
                                sdx_window *window);

#endif
