/* conv_ways.h - private to conv*.c and winograd.c: the ways of conv.h one by one. */
#ifndef SDX_KERNELS_CONV_WAYS_H
#define SDX_KERNELS_CONV_WAYS_H

#include "kernels/conv.h"
#include "kernels/panels.h"

/* Where things lie in packed weights of TILES and ROWS, in floats. */
typedef struct sdx_conv_tiles_pack {
    sdx_panels panels; /* of one group */
    size_t group_depth, depth; /* channels of a group; times the taps */
    size_t width;      /* of a group's panels */
    size_t group_size; /* floats of a group's weights */
    size_t bias, zeros; /* where they begin */
} sdx_conv_tiles_pack;
sdx_conv_tiles_pack sdx_conv_tiles_layout(const sdx_conv_shape *shape, size_t lanes);

/* The weights as a packer reads them: panel after panel, of one group after the other. */
typedef struct sdx_conv_source {
    const void *weights;
    size_t map;                /* bytes of one map's weights */
    const sdx_source_end *end; /* may be NULL */
} sdx_conv_source;
sdx_conv_source sdx_conv_source_of(const sdx_conv_shape *shape, const void *weights,
                                   const sdx_source_end *end);
/* Panels that a thread takes at a time. */
size_t sdx_conv_source_grain(const sdx_conv_source *source, const sdx_panels *panels);
/* Panels [first, behind) have been read. */
void sdx_conv_source_read(const sdx_conv_source *source, const sdx_panels *panels, size_t first,
                          size_t behind);

void sdx_conv_tiles(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                    const float *x, float *out, const sdx_tail *tail);
size_t sdx_conv_rows_scratch(const sdx_conv_shape *shape);
void sdx_conv_rows(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                   const float *x, float *out, const sdx_tail *tail, float *scratch);
/* Rows [first, first + count) of the results of one image, with its own part of the addend; the scratch
 * is that of an image with `count` rows of results. */
void sdx_conv_rows_part(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                        const float *x, size_t first, size_t count, float *out,
                        const sdx_tail *tail, float *scratch);
#define SDX_CONV_DEPTHWISE_ROWS 64 /* of a kernel: their pointers stand on the stack */
void sdx_conv_depthwise(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                        const float *x, float *out, const sdx_tail *tail);
/* Rows [first, first + count) of the results of all images, one after the other; `out` begins with the
 * first. Row r of x, counted over all images too, is at r % ring. sums, unless NULL: [row][channel],
 * the results of each row added up. */
void sdx_conv_depthwise_rows(sdx_pool *pool, const sdx_conv_shape *shape, const float *packed,
                             const float *x, size_t ring, size_t first, size_t count, float *out,
                             float *sums, const sdx_tail *tail);
/* Channels [first, first + count). */
typedef struct sdx_conv_channels {
    size_t first, count;
} sdx_conv_channels;
/* Those channels of one image, in the calling thread; x is that image and has no others. */
void sdx_conv_depthwise_channels(const sdx_conv_shape *shape, const float *packed, const float *x,
                                 size_t image, const sdx_conv_channels *channels, float *out,
                                 float *sums, const sdx_tail *tail);
void sdx_winograd_pack(sdx_pool *pool, const sdx_conv_shape *shape, sdx_conv_way way,
                       const void *weights, const void *bias, float *packed,
                       const sdx_source_end *end);
size_t sdx_winograd_scratch(const sdx_conv_shape *shape, sdx_conv_way way);
void sdx_winograd_run(sdx_pool *pool, const sdx_conv_shape *shape, sdx_conv_way way,
                      const float *packed, const float *x, float *out, const sdx_tail *tail,
                      float *scratch);

#endif
