/* known.h - what analyzers cannot know, for tests/static/run.py, which includes it ahead of each file of src/ that
 * does not define one of these. They look at one file at a time. */
#ifndef SDX_TESTS_STATIC_KNOWN_H
#define SDX_TESTS_STATIC_KNOWN_H

#include "base/status.h"
#include "image/decoder.h"
#include "onnx/loader.h"
#include "ops/op.h"
#include "pack/load.h"
#include "passes/build.h"

/* A function that reports a failure returns one. Without that they go on behind it as if all were well: with
 * results that are not there, divisors of 0, memory that nobody wrote. */
static inline sdx_status sdx_not_ok(sdx_status status) {
    if (status == SDX_STATUS_OK) __builtin_unreachable();
    return status;
}

/* A macro does not meet itself again in its own text. */
#define sdx_fail(...) sdx_not_ok(sdx_fail(__VA_ARGS__))
#define sdx_fail_at(...) sdx_not_ok(sdx_fail_at(__VA_ARGS__))
#define sdx_fail_va(...) sdx_not_ok(sdx_fail_va(__VA_ARGS__))
#define sdx_fail_memory(...) sdx_not_ok(sdx_fail_memory(__VA_ARGS__))
#define sdx_prep_fail(...) sdx_not_ok(sdx_prep_fail(__VA_ARGS__))
#define sdx_prep_unsupported(...) sdx_not_ok(sdx_prep_unsupported(__VA_ARGS__))
#define sdx_infer_fail(...) sdx_not_ok(sdx_infer_fail(__VA_ARGS__))
#define sdx_call_fail(...) sdx_not_ok(sdx_call_fail(__VA_ARGS__))
#define sdx_call_fail_with(...) sdx_not_ok(sdx_call_fail_with(__VA_ARGS__))
#define sdx_image_fail(...) sdx_not_ok(sdx_image_fail(__VA_ARGS__))
#define sdx_image_unsupported(...) sdx_not_ok(sdx_image_unsupported(__VA_ARGS__))
#define sdx_build_fail(...) sdx_not_ok(sdx_build_fail(__VA_ARGS__))
#define sdx_unpack_fail(...) sdx_not_ok(sdx_unpack_fail(__VA_ARGS__))
#define sdx_bad(...) sdx_not_ok(sdx_bad(__VA_ARGS__))
#define sdx_load_no_memory(...) sdx_not_ok(sdx_load_no_memory(__VA_ARGS__))

/* Whether a node has an input or output is what its rules looked at before it runs: these are neither NULL nor
 * known not to be, until the code itself asks. */
const sdx_tensor *sdx_some_in(const sdx_call *call, uint32_t i);
sdx_tensor *sdx_some_out(const sdx_call *call, uint32_t o);
#define sdx_in(call, i) sdx_some_in(call, i)
#define sdx_out(call, o) sdx_some_out(call, o)

#endif
