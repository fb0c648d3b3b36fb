/* resample.h - a part of an image in another size. */
#ifndef SDX_IMAGE_RESAMPLE_H
#define SDX_IMAGE_RESAMPLE_H

#include "image/image.h"

typedef struct sdx_resample {
    double x, y, width, height;   /* the part of the source that counts: all of it, or a fraction less */
    double out_width, out_height; /* of the whole result */
    uint64_t left, top;           /* the window of the result that is made … */
    uint32_t window_width, window_height; /* … which lies inside it */
    bool bicubic; /* else bilinear */
} sdx_resample;

/* Writes window_height rows of window_width pixels to `out`, `stride` bytes apart. The values are those
 * of Pillow's Image.resize, to the bit. */
sdx_status sdx_image_resample(const sdx_image *image, const sdx_resample *how, uint8_t *out,
                              size_t stride, const sdx_allocator *allocator, sdx_error *error);

#endif
