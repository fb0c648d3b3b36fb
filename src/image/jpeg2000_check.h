/* jpeg2000_check.h - a look at a JPEG 2000 file before OpenJPEG sees it. */
#ifndef SDX_IMAGE_JPEG2000_CHECK_H
#define SDX_IMAGE_JPEG2000_CHECK_H

#include "image/decoder.h"

/* Walks the codestream's markers and refuses sizes, and numbers of components, tiles and precincts,
 * that the file cannot fill. */
sdx_status sdx_jpeg2000_check(sdx_image_job *job);

#endif
