/* softmax.c - Softmax, LogSoftmax and Hardmax: versions 1 and 11 over the tail of the dims as one
 * row, version 13 over one axis. The tensor is seen as outer x axis x inner; float32 runs on
 * vector kernels, the other types through one generic body. Safe in place. */
#include <math.h>

#include "kernels/kernels.h"
#include "ops/op.h"

typedef enum softmax_kind { SOFTMAX, LOG_SOFTMAX, HARDMAX } softmax_kind;

typedef struct softmax_params {
    int64_t axis;
} softmax_params;

static sdx_status softmax_prepare(sdx_prep *prep) {
    softmax_params *params = prep->params;
    return sdx_attr_get_int(prep, "axis", prep->version < 13 ? 1 : -1, &params->axis);
}

static sdx_status softmax_infer(sdx_infer *inf) {
    const softmax_params *params = inf->params;
    int32_t rank = sdx_infer_rank(inf, 0), axis;
    /* The old versions allow an axis behind the last dim: rows of one element. */
    if (rank > 0 && (inf->version >= 13 || params->axis != rank))
        SDX_TRY(sdx_infer_axis(inf, params->axis, rank, &axis));
    return sdx_infer_copy(inf, 0, 0, false);
}

#define STRIP 64

typedef struct softmax_job {
    const void *in;
    void *out;
    softmax_kind kind;
    size_t axis, inner, strips;
} softmax_job;

/* ---- float32 --------------------------------------------------------------------------------- */

static void hard_row(const float *x, float *y, size_t n) {
    size_t best = 0;
    for (size_t k = 1; k < n; k++)
        if (x[k] > x[best]) best = k;
    for (size_t k = 0; k < n; k++) y[k] = 0;
    y[best] = 1;
}

static void rows_f32(void *arg, size_t begin, size_t end) {
    const softmax_job *job = arg;
    const float *x = (const float *)job->in + begin * job->axis;
    float *y = (float *)job->out + begin * job->axis;
    if (job->kind == HARDMAX)
        for (size_t r = begin; r < end; r++, x += job->axis, y += job->axis)
            hard_row(x, y, job->axis);
    else
        SDX_KERNEL_OF(sdx_kernels_get(), f32_softmax)(x, y, end - begin, job->axis, job->kind == LOG_SOFTMAX);
}

/* Strips of adjacent columns, inner apart from one row to the next. */
static void strips_f32(void *arg, size_t begin, size_t end) {
    const softmax_job *job = arg;
    for (size_t s = begin; s < end; s++) {
        size_t at = s % job->strips * STRIP;
        size_t n = job->inner - at < STRIP ? job->inner - at : STRIP;
        size_t offset = s / job->strips * job->axis * job->inner + at;
        SDX_KERNEL_OF(sdx_kernels_get(), f32_softmax_columns)((const float *)job->in + offset,
                                               (float *)job->out + offset, job->axis, job->inner,
                                               n, job->kind == LOG_SOFTMAX);
    }
}

/* ---- other types ----------------------------------------------------------------------------- */

/* One column at a time, computed in `number`; columns are numbered over outer, then inner. ROUND
 * brings what the definition by Sub, Exp, ReduceSum and Div would store down to float16; with
 * the few digits of bfloat16 that would be visible, so there it is left. */
#define COLUMNS(name, type, number, LOAD, SAVE, ROUND)                                            \
    static void name(void *arg, size_t begin, size_t end) {                                       \
        const softmax_job *job = arg;                                                             \
        size_t step = job->inner, n = job->axis;                                                  \
        for (size_t c = begin; c < end; c++) {                                                    \
            size_t offset = c / step * n * step + c % step, best = 0;                             \
            const type *x = (const type *)job->in + offset;                                       \
            type *y = (type *)job->out + offset;                                                  \
            number max = LOAD(x[0]), sum = 0;                                                     \
            for (size_t k = 1; k < n; k++) {                                                      \
                number v = LOAD(x[k * step]);                                                     \
                if (v > max || v != v) {                                                          \
                    max = v;                                                                      \
                    best = k;                                                                     \
                }                                                                                 \
            }                                                                                     \
            for (size_t k = 0; k < n && job->kind != HARDMAX; k++)                                \
                sum += ROUND((number)exp((double)ROUND(LOAD(x[k * step]) - max)));                \
            sum = ROUND(sum);                                                                     \
            if (job->kind == LOG_SOFTMAX) sum = ROUND((number)log((double)sum));                  \
            for (size_t k = 0; k < n; k++) {                                                      \
                number v = ROUND(LOAD(x[k * step]) - max);                                        \
                if (job->kind == HARDMAX)                                                         \
                    v = k == best;                                                                \
                else                                                                              \
                    v = job->kind == SOFTMAX ? ROUND((number)exp((double)v)) / sum : v - sum;     \
                y[k * step] = SAVE(v);                                                            \
            }                                                                                     \
        }                                                                                         \
    }
#define AS_IS(v) (v)
#define ROUND_F16(v) sdx_f16_to_f32(sdx_f32_to_f16(v))
COLUMNS(columns_f32, float, float, AS_IS, AS_IS, AS_IS)
COLUMNS(columns_f64, double, double, AS_IS, AS_IS, AS_IS)
COLUMNS(columns_f16, uint16_t, float, sdx_f16_to_f32, sdx_f32_to_f16, ROUND_F16)
COLUMNS(columns_bf16, uint16_t, float, sdx_bf16_to_f32, sdx_f32_to_bf16, AS_IS)

static sdx_status softmax_run(sdx_call *call) {
    const softmax_params *params = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    if (in->count == 0) return SDX_STATUS_OK;
    softmax_job job = {.in = in->data, .out = out->data, .inner = 1, .axis = 1};
    job.kind = *(const softmax_kind *)call->def->aux;
    if (in->rank > 0) {
        int32_t axis = (int32_t)(params->axis < 0 ? params->axis + in->rank : params->axis);
        if (call->version < 13) {
            job.axis = sdx_dims_product(in->dims, axis, in->rank);
        } else {
            job.axis = (size_t)in->dims[axis];
            job.inner = sdx_dims_product(in->dims, axis + 1, in->rank);
        }
    }
    job.strips = (job.inner + STRIP - 1) / STRIP;
    size_t columns = in->count / job.axis, grain = 4096 / job.axis + 1;
    switch (in->dtype) {
    case SDX_DTYPE_FLOAT64: sdx_call_parallel(call, columns, grain, columns_f64, &job); break;
    case SDX_DTYPE_FLOAT16: sdx_call_parallel(call, columns, grain, columns_f16, &job); break;
    case SDX_DTYPE_BFLOAT16: sdx_call_parallel(call, columns, grain, columns_bf16, &job); break;
    default:
        if (job.inner == 1)
            sdx_call_parallel(call, columns, 4 * grain, rows_f32, &job);
        else if (job.kind == HARDMAX)
            sdx_call_parallel(call, columns, grain, columns_f32, &job);
        else
            sdx_call_parallel(call, columns / job.inner * job.strips, 4 * grain / STRIP + 1,
                              strips_f32, &job);
    }
    return SDX_STATUS_OK;
}

#define SOFTMAX_DEF(name, kind_)                                                                  \
    static const softmax_kind name##_mode = kind_;                                                \
    const sdx_op_def sdx_op_##name = {                                                            \
        .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,                                     \
        .flags = SDX_OP_IN_PLACE_FIRST,                                                           \
        .in_types = {SDX_T_FLOATS},                                                               \
        .params_size = sizeof(softmax_params),                                                    \
        .prepare = softmax_prepare,                                                               \
        .infer = softmax_infer,                                                                   \
        .run = SDX_BODY(sdx_op_##name, softmax_run),                                              \
        .aux = &name##_mode,                                                                      \
    }
SOFTMAX_DEF(softmax, SOFTMAX);
SOFTMAX_DEF(log_softmax, LOG_SOFTMAX);
SOFTMAX_DEF(hardmax, HARDMAX);
