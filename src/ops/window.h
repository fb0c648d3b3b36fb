/* window.h - what convolutions and pools have in common: the attributes kernel_shape, strides,
 * dilations, pads, auto_pad and ceil_mode, the symbolic size of an output axis, and the numbers of
 * the sliding window once all dims are known. */
#ifndef SDX_OPS_WINDOW_H
#define SDX_OPS_WINDOW_H

#include "kernels/im2col.h"
#include "ops/op.h"

typedef enum sdx_auto_pad {
    SDX_PAD_NOTSET = 0, /* as `pads` says */
    SDX_PAD_SAME_UPPER,
    SDX_PAD_SAME_LOWER,
    SDX_PAD_VALID
} sdx_auto_pad;

/* Arrays belong to the node; NULL where the attribute is absent. */
typedef struct sdx_window_attrs {
    size_t axes; /* spatial axes that the attributes speak of; 0: none says */
    const int64_t *kernel, *strides, *dilations, *pads;
    sdx_auto_pad auto_pad;
    bool ceil_mode;
} sdx_window_attrs;

/* Reads the attributes; lengths must agree among themselves, and values must be sensible. A pool
 * must have a kernel_shape and may have a ceil_mode. */
sdx_status sdx_window_prepare(sdx_prep *prep, sdx_window_attrs *attrs, bool pool);
/* An attribute with one value per spatial axis (`per_axis` 2: a begin and an end), each at least
 * `least`; *out is NULL where it is absent or empty. */
sdx_status sdx_window_attr(sdx_prep *prep, sdx_window_attrs *attrs, const char *name,
                           size_t per_axis, int64_t least, const int64_t **out);

static inline int64_t sdx_window_stride(const sdx_window_attrs *attrs, int32_t axis) {
    return attrs->strides ? attrs->strides[axis] : 1;
}
static inline int64_t sdx_window_dilation(const sdx_window_attrs *attrs, int32_t axis) {
    return attrs->dilations ? attrs->dilations[axis] : 1;
}

/* `channels` must fall into `groups` equal groups. */
sdx_status sdx_require_groups(sdx_infer *inf, sdx_expr channels, int64_t groups, const char *what);
/* Fails unless the attributes fit a tensor of `rank` (batch, channels, spatial axes). */
sdx_status sdx_window_check_rank(sdx_infer *inf, const sdx_window_attrs *attrs, int32_t rank);
/* Size of output axis `axis` for an input of size `in` and `kernel` taps. Fails if the window does
 * not fit. */
sdx_status sdx_window_out_dim(sdx_infer *inf, const sdx_window_attrs *attrs, int32_t axis,
                              sdx_expr in, sdx_expr kernel, sdx_expr *out);

/* The numbers, from spatial dims of the input, the kernel and the output. */
void sdx_window_resolve(const sdx_window_attrs *attrs, int32_t rank, const int64_t *in,
                        const int64_t *kernel, const int64_t *out, sdx_window *window);

#endif
