/* softmax.c - Softmax, LogSoftmax and Hardmax: versions 1 and 11 over the tail of the dims as one
 * row, version 13 over one axis. The tensor is seen as outer x axis x inner; float32 runs on the
 * vector exponential, the other types through one generic body. Safe in place. */
#include <math.h>

#include "kernels/vexp.h"
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

static void soft_row(const float *x, float *y, size_t n) {
    float scale = 1.0f / sdx_f32_exp_sum(x, sdx_f32_max(x, n), y, n);
    for (size_t k = 0; k < n; k++) y[k] *= scale;
}

static void log_row(const float *x, float *y, size_t n) {
    float max = sdx_f32_max(x, n), part[256];
    double sum = 0;
    for (size_t k = 0; k < n; k += 256)
        sum += (double)sdx_f32_exp_sum(x + k, max, part, n - k < 256 ? n - k : 256);
    float log_sum = (float)log(sum);
    for (size_t k = 0; k < n; k++) y[k] = (x[k] - max) - log_sum;
}

static void rows_f32(void *arg, size_t begin, size_t end) {
    const softmax_job *job = arg;
    void (*row)(const float *, float *, size_t) =
        job->kind == SOFTMAX ? soft_row : job->kind == LOG_SOFTMAX ? log_row : hard_row;
    for (size_t r = begin; r < end; r++)
        row((const float *)job->in + r * job->axis, (float *)job->out + r * job->axis, job->axis);
}

/* n adjacent columns, inner apart from one row to the next. */
static void strip_f32(const softmax_job *job, const float *x, float *y, size_t n) {
    float max[STRIP], part[STRIP], sum[STRIP] = {0};
    size_t step = job->inner;
    memcpy(max, x, n * sizeof(float));
    for (size_t k = 1; k < job->axis; k++)
        for (size_t j = 0; j < n; j++) {
            float v = x[k * step + j];
            max[j] = v > max[j] || v != v ? v : max[j];
        }
    for (size_t k = 0; k < job->axis; k++) {
        float *e = job->kind == SOFTMAX ? y + k * step : part;
        for (size_t j = 0; j < n; j++) part[j] = x[k * step + j] - max[j];
        sdx_f32_exp(part, e, n);
        for (size_t j = 0; j < n; j++) sum[j] += e[j];
    }
    for (size_t j = 0; j < n; j++) sum[j] = job->kind == SOFTMAX ? 1.0f / sum[j] : logf(sum[j]);
    for (size_t k = 0; k < job->axis; k++) {
        const float *from = x + k * step;
        float *to = y + k * step;
        if (job->kind == SOFTMAX)
            for (size_t j = 0; j < n; j++) to[j] *= sum[j];
        else
            for (size_t j = 0; j < n; j++) to[j] = (from[j] - max[j]) - sum[j];
    }
}

static void strips_f32(void *arg, size_t begin, size_t end) {
    const softmax_job *job = arg;
    for (size_t s = begin; s < end; s++) {
        size_t at = s % job->strips * STRIP;
        size_t n = job->inner - at < STRIP ? job->inner - at : STRIP;
        size_t offset = s / job->strips * job->axis * job->inner + at;
        strip_f32(job, (const float *)job->in + offset, (float *)job->out + offset, n);
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
            sdx_call_parallel(call, columns, 2 * grain, rows_f32, &job);
        else if (job.kind == HARDMAX)
            sdx_call_parallel(call, columns, grain, columns_f32, &job);
        else
            sdx_call_parallel(call, columns / job.inner * job.strips, grain / STRIP + 1,
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
        .run = softmax_run,                                                                       \
        .aux = &name##_mode,                                                                      \
    }
SOFTMAX_DEF(softmax, SOFTMAX);
SOFTMAX_DEF(log_softmax, LOG_SOFTMAX);
SOFTMAX_DEF(hardmax, HARDMAX);
