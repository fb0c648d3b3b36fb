/* im2col.h - windows that slide over an image of any number of spatial axes: which input elements
 * an output position sees, the matrix of all such patches (im2col), and its adjoint that adds the
 * patches back into the image (col2im). Used by the convolutions, the pools and Col2Im. Sees
 * nothing but base/. */
#ifndef SDX_KERNELS_IM2COL_H
#define SDX_KERNELS_IM2COL_H

#include "base/status.h"

/* Numbers of one sliding window. Axis a of output position o and tap t of the kernel look at input
 * index o * stride + t * dilation - pad; what falls outside [0, in) is padding. */
typedef struct sdx_window {
    int32_t rank; /* spatial axes, at least 1 */
    int64_t in[SDX_MAX_RANK], out[SDX_MAX_RANK], kernel[SDX_MAX_RANK];
    int64_t stride[SDX_MAX_RANK], dilation[SDX_MAX_RANK];
    int64_t pad[SDX_MAX_RANK], pad_end[SDX_MAX_RANK];
    size_t in_count, out_count, kernel_count; /* products of in, out, kernel */
} sdx_window;

/* Fills in the three products; false if one does not fit. */
bool sdx_window_count(sdx_window *window);

/* Output indices [*lo, *hi) of an axis for which tap t lies inside the input. */
void sdx_window_outputs(const sdx_window *window, int32_t axis, int64_t tap, int64_t *lo,
                        int64_t *hi);
/* Taps [*lo, *hi) of an axis that lie inside [-before, in + after) for output index o. */
void sdx_window_taps(const sdx_window *window, int32_t axis, int64_t o, int64_t before,
                     int64_t after, int64_t *lo, int64_t *hi);
/* Taps [*lo, *hi) of an axis that lie inside the input for at least one output index, or more. */
void sdx_window_used_taps(const sdx_window *window, int32_t axis, int64_t *lo, int64_t *hi);

/* Rows [row, row + rows) and columns [column, column + columns) of the patch matrix of an image of
 * planes. A row is a (plane, tap) pair in row-major order, a column an output position; padding
 * reads as zero. size is that of an element: 1, 2, 4 or 8. Rows of `to` are `ld` elements apart. */
void sdx_im2col(const sdx_window *window, size_t size, const void *image, size_t row, size_t rows,
                size_t column, size_t columns, void *to, size_t ld);

/* The adjoint: adds rows and columns of a patch matrix to the image, which the caller has set to
 * its start value. Integers wrap; bool is a logical or; complex numbers add part by part. Rows of
 * different planes may run at the same time. */
void sdx_col2im(const sdx_window *window, sdx_dtype dtype, const void *from, size_t ld, size_t row,
                size_t rows, size_t column, size_t columns, void *image);

#endif
