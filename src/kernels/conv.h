/* conv.h - convolution of float32 images whose channels lie side by side (batch, height, width,
 * channels), with weights that were packed beforehand. Several ways, one interface:
 *
 *   TILES      any convolution as rows of pixels times packed weights (kernels/tile.h): a row has one
 *              pointer for each place of the kernel, so nothing is copied
 *   ROWS       few input channels: a row of the kernel over its neighbouring pixels is one run of
 *              memory in a padded copy of the image
 *   DEPTHWISE  one channel in, one out
 *   WINOGRAD_2, WINOGRAD_4   3x3 kernels by transformed tiles of 2x2 or 4x4 results
 *
 * Results have the same bits for any number of threads. */
#ifndef SDX_KERNELS_CONV_H
#define SDX_KERNELS_CONV_H

#include "base/threads.h"
#include "kernels/kernels.h"
#include "kernels/panels.h"

typedef enum sdx_conv_way {
    SDX_CONV_TILES,
    SDX_CONV_ROWS,
    SDX_CONV_DEPTHWISE,
    SDX_CONV_WINOGRAD_2,
    SDX_CONV_WINOGRAD_4
} sdx_conv_way;

typedef struct sdx_conv_shape {
    size_t batch, in_h, in_w, channels; /* channels of all groups */
    size_t out_h, out_w, maps;
    size_t groups;
    size_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    size_t pad_top, pad_left; /* what the kernel meets beyond the other edges follows */
    bool planar;              /* the image is (batch, channels, height, width); ROWS alone takes it */
} sdx_conv_shape;

/* The way to take. Sizes of 0 for in_h, in_w, out_h, out_w: not known. `tile`: Winograd's tiles of at most
 * so many results along an edge may be used (0, 2, 4). */
sdx_conv_way sdx_conv_choose(const sdx_conv_shape *shape, size_t tile);
/* What a convolution that Winograd's ways can do takes by TILES or by one of them: only which is less, and
 * by how much beside others, means anything. */
double sdx_conv_cost(const sdx_conv_shape *shape, sdx_conv_way way);
/* Fails where this build lacks the way. */
sdx_status sdx_conv_need(sdx_conv_way way, sdx_error *error);
const char *sdx_conv_way_name(sdx_conv_way way);

/* Floats of the packed weights and bias; SIZE_MAX: more than can be. */
size_t sdx_conv_packed_size(const sdx_conv_shape *shape, sdx_conv_way way);
/* weights: (maps, channels / groups, kernel_h, kernel_w); bias may be NULL; of any
 * alignment. */
void sdx_conv_pack(sdx_pool *pool, const sdx_conv_shape *shape, sdx_conv_way way,
                   const void *weights, const void *bias, float *packed);
/* The same; `end` is told of the weights that have been read, bit by bit. */
void sdx_conv_pack_large(sdx_pool *pool, const sdx_conv_shape *shape, sdx_conv_way way,
                         const void *weights, const void *bias, float *packed,
                         const sdx_source_end *end);
/* Floats of scratch that a run needs; for ROWS it grows with the image, else it is fixed. */
size_t sdx_conv_scratch_size(const sdx_conv_shape *shape, sdx_conv_way way);
/* tail: addend and activation; its bias is not looked at. */
void sdx_conv_run_packed(sdx_pool *pool, const sdx_conv_shape *shape, sdx_conv_way way,
                         const float *packed, const float *x, float *out, const sdx_tail *tail,
                         float *scratch);

#endif
