/* exif.h - the orientation that a camera or a program noted in a file's metadata: 1 (upright) to 8. */
#ifndef SDX_IMAGE_EXIF_H
#define SDX_IMAGE_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* As the EXIF block says, else the XMP packet; 1 where there is neither, or damaged ones: the pixels
 * themselves may be sound. */
uint32_t sdx_exif_in_jpeg(const uint8_t *bytes, size_t size);
uint32_t sdx_exif_in_png(const uint8_t *bytes, size_t size);
uint32_t sdx_exif_in_webp(const uint8_t *bytes, size_t size);
/* Of the text of a packet; 0 where it says nothing. */
uint32_t sdx_xmp_orientation(const uint8_t *text, size_t size);

#endif
