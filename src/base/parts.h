/* parts.h - parts that a build for certain models may lack: noting in a full build that they are used, refusing
 * in another what is not there. They are asked for while a model is loaded or a program made, never later. */
#ifndef SDX_BASE_PARTS_H
#define SDX_BASE_PARTS_H

#include "base/kept.h"
#include "base/status.h"

typedef enum sdx_part {
#define SDX_PART(name, about) SDX_PART_##name,
#include "base/parts.def"
#undef SDX_PART
    SDX_PART_COUNT
} sdx_part;

/* Whether this build has it; notes that it was asked for. */
bool sdx_part_take(sdx_part part);
/* The same as a status; the error says what is missing. */
sdx_status sdx_part_need(sdx_part part, sdx_error *error);
/* "… is not part of this build …" */
const char *sdx_part_about(sdx_part part);
/* The index-th part that was asked for so far; NULL past the end. */
const char *sdx_part_noted(size_t index);

/* sdx_part_need(SDX_PART_name, error), of which a compiler knows that it fails where it does. */
#define SDX_NEED(name, error) sdx_part_need_if(SDX_HAS(name), SDX_PART_##name, error)
static inline sdx_status sdx_part_need_if(bool here, sdx_part part, sdx_error *error) {
    sdx_status status = sdx_part_need(part, error);
    return here ? status : SDX_STATUS_UNSUPPORTED;
}

#endif
