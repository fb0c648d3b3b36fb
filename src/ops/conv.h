/* conv.h - shared by the convolution operators: attributes, shape rule, and the float body. */
#ifndef SDX_OPS_CONV_H
#define SDX_OPS_CONV_H

#include "ops/half.h"
#include "ops/window.h"

typedef struct sdx_conv_params {
    sdx_window_attrs window;
    int64_t group;
} sdx_conv_params;

/* Numbers of one convolution. */
typedef struct sdx_conv {
    sdx_window window;
    size_t batch, groups;
    size_t in_planes, out_planes; /* channels of one group */
    sdx_dtype dtype;              /* FLOAT32 or FLOAT64 */
} sdx_conv;

sdx_status sdx_conv_prepare(sdx_prep *prep, sdx_conv_params *params);
/* Checks inputs x (batch, channels, ...), w (maps, channels / group, ...) and, if it is present,
 * bias (maps), and sets the shape of output 0. bias SDX_NONE: the operator has none. */
sdx_status sdx_conv_infer_shape(sdx_infer *inf, const sdx_conv_params *params, uint32_t x,
                                uint32_t w, uint32_t bias);
void sdx_conv_resolve(const sdx_conv_params *params, const sdx_tensor *x, const sdx_tensor *w,
                      const sdx_tensor *y, sdx_conv *conv);

/* Adds to inf->scratch what sdx_conv_run needs. Input 0 is the image, 1 the kernel. */
void sdx_conv_scratch(sdx_infer *inf, const sdx_conv_params *params);
/* y = x convolved with w, plus bias (which may be NULL), all of conv->dtype. */
sdx_status sdx_conv_run(sdx_call *call, const sdx_conv *conv, const void *x, const void *w,
                        const void *bias, void *y);

/* Convolution of single planes, without a patch matrix; plane i of y comes from plane
 * i / conv->out_planes of x. */
sdx_status sdx_conv_direct(sdx_call *call, const sdx_conv *conv, const void *x, const void *w,
                           const void *bias, void *y);
void sdx_conv_direct_scratch(sdx_infer *inf, const sdx_conv_params *params, size_t taps);

#endif
