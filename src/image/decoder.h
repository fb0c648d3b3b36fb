/* decoder.h - what the decoders of this folder share. A decoder reads the header, calls
 * sdx_image_begin with the size and its own number of channels, and fills the rows; image.c turns
 * them into the wanted format afterwards, in place. So decoders know nothing of wanted formats. */
#ifndef SDX_IMAGE_DECODER_H
#define SDX_IMAGE_DECODER_H

#include "base/checked.h"
#include "image/image.h"

typedef struct sdx_image_job {
    const char *name; /* of the format, for messages */
    const uint8_t *bytes;
    size_t size;
    sdx_image_format wanted;
    uint64_t max_pixels;
    bool upright;
    uint32_t least_width, least_height; /* as in sdx_image_options */
    uint32_t orientation; /* as EXIF has it: 1 upright … 8; found by the decoder where upright is set */
    const sdx_allocator *allocator;
    sdx_error *error;
    sdx_image *out;
    size_t reserved; /* bytes counted for the codec, until it is done */
    uint32_t native; /* channels the decoder writes: 1 gray, 3 RGB, 4 RGB and a byte to drop */
} sdx_image_job;

/* Checks the size and nothing else: for libraries that allocate before they tell the size. */
sdx_status sdx_image_check_size(sdx_image_job *job, uint64_t width, uint64_t height);
/* The largest of 1, 2, 4, 8 that an image may be divided by: for codecs that shrink while decoding. */
uint32_t sdx_image_may_shrink(const sdx_image_job *job, uint32_t width, uint32_t height);
/* Checks the size and makes out->pixels, room for rows of width * native bytes without gaps. */
sdx_status sdx_image_begin(sdx_image_job *job, uint64_t width, uint64_t height, uint32_t native);
/* Counts what the codec is about to take by itself, for it does not ask the allocator: where that has a limit,
 * it holds for all of an image. Called with the size checked, before the codec takes it. */
sdx_status sdx_image_reserve(sdx_image_job *job, uint64_t bytes);
/* BAD_INPUT, with the format named. */
sdx_status sdx_image_fail(sdx_image_job *job, const char *format, ...) SDX_PRINTF(2, 3);
sdx_status sdx_image_unsupported(sdx_image_job *job, const char *format, ...) SDX_PRINTF(2, 3);

static inline uint8_t *sdx_image_row(const sdx_image_job *job, uint32_t y) {
    return job->out->pixels + (size_t)y * job->out->width * job->native;
}

/* Ink to light: the colour that `ink` of 255 and `black` of 255 leave. */
static inline uint8_t sdx_image_from_ink(unsigned ink, unsigned black) {
    return (uint8_t)(((255u - ink) * (255u - black) + 127u) / 255u);
}

sdx_status sdx_image_bmp(sdx_image_job *job);
sdx_status sdx_image_pnm(sdx_image_job *job);
sdx_status sdx_image_jpeg(sdx_image_job *job);
sdx_status sdx_image_png(sdx_image_job *job);
sdx_status sdx_image_webp(sdx_image_job *job);
sdx_status sdx_image_tiff(sdx_image_job *job);
sdx_status sdx_image_jpeg2000(sdx_image_job *job);

#endif
