/* turn.h - brings an image upright. */
#ifndef SDX_IMAGE_TURN_H
#define SDX_IMAGE_TURN_H

#include "image/image.h"

/* orientation: as EXIF numbers them, 1 (upright already) to 8. */
sdx_status sdx_image_turn(sdx_image *image, uint32_t orientation, const sdx_allocator *allocator,
                          sdx_error *error);

#endif
