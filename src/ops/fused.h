/* fused.h - shared by the operators that passes make (fused.def): the attributes of a tail. */
#ifndef SDX_OPS_FUSED_H
#define SDX_OPS_FUSED_H

#include "kernels/tail.h"
#include "ops/op.h"

/* Attributes `act` (an sdx_act), `act_a`, `act_b`; addend and bias are inputs. */
typedef struct sdx_fused_tail {
    int64_t act;
    float a, b;
} sdx_fused_tail;

sdx_status sdx_fused_tail_prepare(sdx_prep *prep, sdx_fused_tail *tail);
/* Of operators with several stages: act0, act0_a, act0_b and so on. */
extern const char *const sdx_tail_names[3][3];
sdx_status sdx_fused_tail_prepare_stage(sdx_prep *prep, uint32_t stage, sdx_fused_tail *tail);
/* The tail of a kernel; addend may be NULL, and has `stride` floats from row to row. */
sdx_tail sdx_fused_tail_of(const sdx_fused_tail *tail, const sdx_tensor *addend, size_t stride);

#endif
