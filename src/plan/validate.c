/* validate.c - an independent check of a plan, for tests and debug builds. */
#include "plan/plan.h"

bool sdx_plan_valid(const sdx_buffer *buffers, uint32_t count, size_t arena) {
    for (uint32_t i = 0; i < count; i++) {
        const sdx_buffer *a = &buffers[i];
        if (a->size > arena || a->offset > arena - a->size) return false;
        if (a->size == 0) continue;
        for (uint32_t k = i + 1; k < count; k++) {
            const sdx_buffer *b = &buffers[k];
            if (b->size == 0 || a->last < b->first || b->last < a->first) continue;
            if (a->offset < b->offset + b->size && b->offset < a->offset + a->size) return false;
        }
    }
    return true;
}
