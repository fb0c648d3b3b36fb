/* image.h - decoding of image files that lie in memory, for the operator ImageDecoder and for
 * sdx_image_to_tensor. The format is found by its first bytes. Knows base alone; the codecs come from the system's libraries, each of
 * them optional, except for BMP and PNM, which are read here. The bytes are hostile: sizes are
 * checked before anything is allocated. */
#ifndef SDX_IMAGE_IMAGE_H
#define SDX_IMAGE_IMAGE_H

#include "base/memory.h"

typedef enum sdx_image_format {
    SDX_IMAGE_RGB,
    SDX_IMAGE_BGR,
    SDX_IMAGE_GRAYSCALE
} sdx_image_format;

#define SDX_IMAGE_MAX_PIXELS ((uint64_t)1 << 28)

typedef struct sdx_image_options {
    uint64_t max_pixels; /* 0: SDX_IMAGE_MAX_PIXELS */
    bool upright;        /* turned as the file's orientation (EXIF, or TIFF's own) says */
    /* A codec that can make a smaller image for less work may do so, down to this size (of the upright
     * image) but not below; 0: as it is. Images of few pixels always stay as they are. */
    uint32_t least_width, least_height;
} sdx_image_options;

typedef struct sdx_image {
    uint32_t width, height, channels;
    uint32_t full_width, full_height; /* of the image in the file, upright where that was asked for */
    /* Of a smaller image than the file's, the last column and row stand for less than a whole pixel
     * where the sides do not divide; once mirrored, it is the first. */
    bool mirrored_x, mirrored_y;
    uint8_t *pixels; /* [height, width, channels], without gaps */
    size_t allocation; /* bytes behind pixels, for release */
} sdx_image;

/* options may be NULL. BAD_INPUT: no image, damaged or truncated; LIMIT: more pixels than allowed;
 * UNSUPPORTED: a format whose library this build lacks, or a rare variant. Alpha is dropped, 16 bits
 * become 8, palettes become colours, and of several pages the first counts. */
sdx_status sdx_image_decode(const uint8_t *bytes, size_t size, sdx_image_format wanted,
                            const sdx_image_options *options, const sdx_allocator *allocator,
                            sdx_image *out, sdx_error *error);
void sdx_image_release(sdx_image *image, const sdx_allocator *allocator);

/* Whether this build can read a format ("PNG", "JPEG 2000", …). */
bool sdx_image_can_read(const char *format);
/* The libraries that this build is without; NULL ends them. */
extern const char *const sdx_image_lacks[];

#endif
