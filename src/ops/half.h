/* half.h - float16 and bfloat16 for operators whose bodies know float32 and float64 only: the body
 * runs on float32 stand-ins, which are widened before and narrowed after. Also scratch memory that
 * falls back to the heap where infer could not tell its size. */
#ifndef SDX_OPS_HALF_H
#define SDX_OPS_HALF_H

#include "ops/op.h"

static inline bool sdx_is_half(sdx_dtype dtype) {
    return dtype == SDX_DTYPE_FLOAT16 || dtype == SDX_DTYPE_BFLOAT16;
}

/* Adds room for the stand-ins to inf->scratch. Call after the outputs have types and shapes. */
void sdx_infer_half_scratch(sdx_infer *inf);
/* Adds a number of bytes, rounded up to whole cache lines if it is fixed. One that is not known is
 * left out: the body then takes what is missing from the heap (sdx_call_scratch). */
void sdx_infer_add_scratch(sdx_infer *inf, size_t bytes);
void sdx_infer_add_scratch_expr(sdx_infer *inf, sdx_expr bytes);

/* What a body may take for granted: *run is false if no output is wanted; fails if a wanted output
 * was not made, because its size could not even be computed. */
sdx_status sdx_call_ready(sdx_call *call, bool *run);

/* body(call) if it is to run (sdx_call_ready), with float32 in place of each float16 or bfloat16
 * input and output. */
sdx_status sdx_call_half(sdx_call *call, sdx_status (*body)(sdx_call *call));

/* count values that were computed in float64 become elements of an integer type or bool: cut off
 * at the ends of its range, then toward zero. The values are changed on the way. */
void sdx_from_f64(sdx_dtype to, double *values, void *out, size_t count);

/* `bytes` of memory for the length of the body: the call's scratch if it is large enough, else from
 * the heap. Aligned to a cache line. */
typedef struct sdx_scratch {
    void *data;
    void *temp; /* what came from the heap, or NULL */
} sdx_scratch;
sdx_status sdx_call_scratch(sdx_call *call, size_t bytes, sdx_scratch *scratch);
void sdx_call_scratch_end(sdx_call *call, sdx_scratch *scratch);

#endif
