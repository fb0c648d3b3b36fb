/* argminmax.c - ArgMax and ArgMin in all versions, one body: the tensor seen as outer x axis x
 * inner, with a strip of inner positions decided side by side. */
#include "ops/op.h"

typedef struct arg_params {
    int64_t axis;
    bool keepdims, last;
} arg_params;

static sdx_status arg_prepare(sdx_prep *prep) {
    arg_params *params = prep->params;
    SDX_TRY(sdx_attr_get_int(prep, "axis", 0, &params->axis));
    SDX_TRY(sdx_attr_get_bool(prep, "keepdims", true, &params->keepdims));
    return sdx_attr_get_bool(prep, "select_last_index", false, &params->last);
}

static sdx_status arg_infer(sdx_infer *inf) {
    const arg_params *params = inf->params;
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_INT64);
    int32_t rank = sdx_infer_rank(inf, 0), axis, out_rank = 0;
    if (rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    sdx_expr dims[SDX_MAX_RANK];
    if (rank == 0) { /* one element: its index is 0 */
        if (params->axis != 0 && params->axis != -1)
            return sdx_infer_fail(inf, "axis %lld of a scalar", (long long)params->axis);
        return sdx_infer_set_shape(inf, 0, 0, dims);
    }
    SDX_TRY(sdx_infer_axis(inf, params->axis, rank, &axis));
    if (sdx_expr_is(sdx_infer_dim(inf, 0, axis), 0))
        return sdx_infer_fail(inf, "axis %d has no elements to choose from", axis);
    for (int32_t d = 0; d < rank; d++) {
        if (d != axis)
            dims[out_rank++] = sdx_infer_dim(inf, 0, d);
        else if (params->keepdims)
            dims[out_rank++] = sdx_expr_const(1);
    }
    return sdx_infer_set_shape(inf, 0, out_rank, dims);
}

#define STRIP 64

typedef struct arg_job {
    const void *in;
    int64_t *out;
    size_t axis, inner, strips;
    bool min, last;
} arg_job;

/* The first NaN, if there is one, is the answer both ways, as in numpy. */
#define ARG_BODY(name, type, number, LOAD)                                                        \
    static void name(void *arg, size_t begin, size_t end) {                                       \
        const arg_job *job = arg;                                                                 \
        for (size_t s = begin; s < end; s++) {                                                    \
            size_t outer = s / job->strips, at = s % job->strips * STRIP;                         \
            size_t n = job->inner - at < STRIP ? job->inner - at : STRIP;                         \
            const type *x = (const type *)job->in + outer * job->axis * job->inner + at;          \
            int64_t *out = job->out + outer * job->inner + at;                                    \
            number best[STRIP];                                                                   \
            for (size_t j = 0; j < n; j++) {                                                      \
                best[j] = LOAD(x[j]);                                                             \
                out[j] = 0;                                                                       \
            }                                                                                     \
            for (size_t k = 1; k < job->axis; k++) {                                              \
                x += job->inner;                                                                  \
                for (size_t j = 0; j < n; j++) {                                                  \
                    number v = LOAD(x[j]), b = best[j];                                           \
                    bool better = job->min ? v < b : v > b;                                       \
                    bool nan = v != v, held = b != b;                                             \
                    bool tie = job->last && (v == b || (nan && held));                            \
                    if (better || tie || (nan && !held)) {                                        \
                        best[j] = v;                                                              \
                        out[j] = (int64_t)k;                                                      \
                    }                                                                             \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }
#define AS_IS(v) (v)
ARG_BODY(arg_f32, float, float, AS_IS)
ARG_BODY(arg_f64, double, double, AS_IS)
ARG_BODY(arg_f16, uint16_t, float, sdx_f16_to_f32)
ARG_BODY(arg_bf16, uint16_t, float, sdx_bf16_to_f32)
ARG_BODY(arg_i8, int8_t, int8_t, AS_IS)
ARG_BODY(arg_u8, uint8_t, uint8_t, AS_IS)
ARG_BODY(arg_i16, int16_t, int16_t, AS_IS)
ARG_BODY(arg_u16, uint16_t, uint16_t, AS_IS)
ARG_BODY(arg_i32, int32_t, int32_t, AS_IS)
ARG_BODY(arg_u32, uint32_t, uint32_t, AS_IS)
ARG_BODY(arg_i64, int64_t, int64_t, AS_IS)
ARG_BODY(arg_u64, uint64_t, uint64_t, AS_IS)

static const sdx_loop_body arg_bodies[SDX_DTYPE_COUNT] = {
    [SDX_DTYPE_FLOAT32] = arg_f32, [SDX_DTYPE_FLOAT64] = arg_f64,
    [SDX_DTYPE_FLOAT16] = arg_f16, [SDX_DTYPE_BFLOAT16] = arg_bf16,
    [SDX_DTYPE_INT8] = arg_i8,     [SDX_DTYPE_UINT8] = arg_u8,
    [SDX_DTYPE_INT16] = arg_i16,   [SDX_DTYPE_UINT16] = arg_u16,
    [SDX_DTYPE_INT32] = arg_i32,   [SDX_DTYPE_UINT32] = arg_u32,
    [SDX_DTYPE_INT64] = arg_i64,   [SDX_DTYPE_UINT64] = arg_u64,
};

static sdx_status arg_run(sdx_call *call) {
    const arg_params *params = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    if (out->count == 0) return SDX_STATUS_OK;
    arg_job job = {.in = in->data, .out = out->data, .axis = 1, .inner = 1};
    job.min = call->def->aux != NULL;
    job.last = params->last;
    if (in->rank > 0) {
        int32_t axis = (int32_t)(params->axis < 0 ? params->axis + in->rank : params->axis);
        job.axis = (size_t)in->dims[axis];
        job.inner = sdx_dims_product(in->dims, axis + 1, in->rank);
    }
    if (job.axis == 0) return sdx_call_fail(call, "the axis has no elements to choose from");
    job.strips = (job.inner + STRIP - 1) / STRIP;
    size_t outer = in->count / job.axis / job.inner;
    size_t work = job.axis * (job.inner < STRIP ? job.inner : STRIP);
    sdx_call_parallel(call, outer * job.strips, 16384 / work + 1, arg_bodies[in->dtype], &job);
    return SDX_STATUS_OK;
}

static const char arg_min_mark; /* aux of ArgMin: any address */
#define ARG_DEF(name, mark)                                                                       \
    const sdx_op_def sdx_op_##name = {                                                            \
        .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,                                     \
        .in_types = {SDX_T_NUMERIC},                                                              \
        .params_size = sizeof(arg_params),                                                        \
        .prepare = arg_prepare,                                                                   \
        .infer = arg_infer,                                                                       \
        .run = SDX_BODY(sdx_op_##name, arg_run),                                                  \
        .aux = mark,                                                                              \
    }
ARG_DEF(arg_max, NULL);
ARG_DEF(arg_min, &arg_min_mark);
