/* parts.c - see parts.h. */
#include "base/parts.h"

#include <stdatomic.h>

static const struct {
    const char *name, *about;
    bool here;
} parts[] = {
#define SDX_PART(name, about) {#name, about, SDX_HAS(name)},
#include "base/parts.def"
#undef SDX_PART
};

static atomic_bool noted[SDX_PART_COUNT];

bool sdx_part_take(sdx_part part) {
    atomic_store_explicit(&noted[part], true, memory_order_relaxed);
    return parts[part].here;
}

const char *sdx_part_about(sdx_part part) { return parts[part].about; }

sdx_status sdx_part_need(sdx_part part, sdx_error *error) {
    if (sdx_part_take(part)) return SDX_STATUS_OK;
    return sdx_fail(error, SDX_STATUS_UNSUPPORTED, "%s is " SDX_NOT_IN_BUILD, parts[part].about);
}

const char *sdx_part_noted(size_t index) {
    for (size_t i = 0; i < SDX_PART_COUNT; i++) {
        if (!atomic_load_explicit(&noted[i], memory_order_relaxed)) continue;
        if (index == 0) return parts[i].name;
        index--;
    }
    return NULL;
}
