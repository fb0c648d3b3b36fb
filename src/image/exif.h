/* exif.h - the orientation that a camera noted in a file's EXIF block: 1 (upright) to 8. */
#ifndef SDX_IMAGE_EXIF_H
#define SDX_IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* 1 where there is no EXIF block, or a damaged one: the pixels themselves may be sound. */
uint32_t sdx_exif_in_jpeg(const uint8_t *bytes, size_t size);
uint32_t sdx_exif_in_png(const uint8_t *bytes, size_t size);
uint32_t sdx_exif_in_webp(const uint8_t *bytes, size_t size);

#endif
