/* unary_clip.c - Clip. Its bounds were attributes until version 10 and are scalar inputs since;
 * both reach the kernel as operands that stay put, in the type of the data. */
#include <float.h>
#include <math.h>

#include "ops/elementwise.h"

/* Operands 1 and 2 are the bounds, either may be missing. With min above max, max wins. NaN fails
 * both comparisons and stays. */
#define CLIP(op, suffix, TYPE, DTYPE)                                                             \
    static void op##_##suffix(const sdx_tile *t) {                                                \
        const TYPE least = t->in[1] ? *(const TYPE *)t->in[1] : LEAST_##suffix;                   \
        const TYPE most = t->in[2] ? *(const TYPE *)t->in[2] : MOST_##suffix;                     \
        const TYPE *a = t->in[0]; /* same shape as the output: one row */                         \
        TYPE *o = t->out;                                                                         \
        const size_t n = t->n;                                                                    \
        SDX_EW_LOOP for (size_t i = 0; i < n; i++) {                                              \
            const TYPE raised = a[i] < least ? least : a[i];                                      \
            o[i] = raised > most ? most : raised;                                                 \
        }                                                                                         \
    }
#define LEAST_f64 -(double)INFINITY
#define LEAST_i8 INT8_MIN
#define LEAST_i16 INT16_MIN
#define LEAST_i32 INT32_MIN
#define LEAST_i64 INT64_MIN
#define LEAST_u8 0
#define LEAST_u16 0
#define LEAST_u32 0
#define LEAST_u64 0
#define MOST_f64 (double)INFINITY
#define MOST_i8 INT8_MAX
#define MOST_i16 INT16_MAX
#define MOST_i32 INT32_MAX
#define MOST_i64 INT64_MAX
#define MOST_u8 UINT8_MAX
#define MOST_u16 UINT16_MAX
#define MOST_u32 UINT32_MAX
#define MOST_u64 UINT64_MAX

CLIP(clip, f64, double, FLOAT64)
SDX_EW_INTS(CLIP, clip)

static void clip_f32(const sdx_tile *t) {
    sdx_ew_f32_unary(t, (sdx_f32_function)SDX_ACT_CLIP,
                     t->in[1] ? *(const float *)t->in[1] : -INFINITY,
                     t->in[2] ? *(const float *)t->in[2] : INFINITY);
}

static const sdx_ew_kernels clip_kernels = {
    .of = {SDX_EW_FLOATS(SDX_EW_ENTRY, clip) SDX_EW_INTS(SDX_EW_ENTRY, clip)}};

typedef struct clip_params {
    bool has[2]; /* min, max given as attributes (versions below 11) */
    float bound[2];
} clip_params;

static sdx_status clip_prepare(sdx_prep *prep) {
    static const char *const names[2] = {"min", "max"};
    clip_params *params = prep->params;
    if (prep->version >= 11) return SDX_STATUS_OK;
    for (int i = 0; i < 2; i++) {
        /* Version 1 leaves a missing bound open, version 6 gives it a default. */
        params->has[i] = prep->version >= 6 || sdx_attr_has(prep, names[i]);
        SDX_TRY(sdx_attr_get_float(prep, names[i], i == 0 ? -FLT_MAX : FLT_MAX,
                                   &params->bound[i]));
    }
    if (prep->version < 6) sdx_attr_ignore(prep, "consumed_inputs");
    return SDX_STATUS_OK;
}

static sdx_expr content_at(const sdx_infer *inf, uint32_t i) {
    sdx_expr value = SDX_EXPR_UNKNOWN;
    size_t count;
    return sdx_infer_contents(inf, i, &value, 1, &count) && count == 1 ? value : SDX_EXPR_UNKNOWN;
}

static void clip_contents(sdx_infer *inf) {
    sdx_expr data[SDX_MAX_CONTENTS];
    size_t count;
    if (!inf->pool || !sdx_dtypes_has(SDX_T_INDEX, sdx_infer_dtype(inf, 0)) ||
        !sdx_infer_contents(inf, 0, data, SDX_MAX_CONTENTS, &count))
        return;
    for (size_t e = 0; e < count; e++) {
        if (sdx_infer_present(inf, 1))
            data[e] = sdx_expr_max(inf->pool, data[e], content_at(inf, 1));
        if (sdx_infer_present(inf, 2))
            data[e] = sdx_expr_min(inf->pool, data[e], content_at(inf, 2));
    }
    sdx_infer_set_contents(inf, 0, data, count);
}

static sdx_status clip_infer(sdx_infer *inf) {
    for (uint32_t i = 1; i < 3; i++)
        for (int32_t d = 0; d < sdx_infer_rank(inf, i); d++)
            SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, d), sdx_expr_const(1),
                                            "min and max must be scalars"));
    SDX_TRY(sdx_ew_infer_like(inf, SDX_DTYPE_UNDEFINED));
    clip_contents(inf);
    return SDX_STATUS_OK;
}

static sdx_status clip_run(sdx_call *call) {
    const clip_params *params = call->params;
    const sdx_tensor *in[3] = {sdx_in(call, 0), NULL, NULL};
    sdx_tensor *out = sdx_out(call, 0);
    if (!out || out->count == 0) return SDX_STATUS_OK;
    sdx_tensor scalar[2]; /* attributes as tensors of the data's type */
    double bound[2];
    for (int i = 0; i < 2; i++) {
        in[i + 1] = sdx_in(call, (uint32_t)i + 1);
        if (!params->has[i]) continue;
        scalar[i] = (sdx_tensor){.dtype = out->dtype, .count = 1, .data = &bound[i]};
        sdx_convert(SDX_DTYPE_FLOAT32, out->dtype, &params->bound[i], &bound[i], 1);
        in[i + 1] = &scalar[i];
    }
    sdx_ew_apply(call, &clip_kernels, NULL, out, in, 3);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_clip = {.min_in = 1,
                                .max_in = 3,
                                .min_out = 1,
                                .max_out = 1,
                                .flags = SDX_OP_IN_PLACE | SDX_OP_SAME_TYPE,
                                .in_types = {SDX_T_NUMERIC},
                                .params_size = sizeof(clip_params),
                                .prepare = clip_prepare,
                                .infer = clip_infer,
                                .run = SDX_BODY(sdx_op_clip, clip_run)};
