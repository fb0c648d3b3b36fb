/* cumulative.c - CumSum and CumProd: running sums and products along an axis that is an input.
 * One body per element type, over outer x axis x inner with strips of inner side by side.
 * Integers wrap. Safe in place. */
#include "ops/op.h"

typedef struct cumulative_params {
    bool exclusive, reverse;
} cumulative_params;

static sdx_status cumulative_prepare(sdx_prep *prep) {
    cumulative_params *params = prep->params;
    SDX_TRY(sdx_attr_get_bool(prep, "exclusive", false, &params->exclusive));
    return sdx_attr_get_bool(prep, "reverse", false, &params->reverse);
}

static sdx_status cumulative_infer(sdx_infer *inf) {
    int32_t rank = sdx_infer_rank(inf, 0), axis;
    if (sdx_infer_rank(inf, 1) > 1)
        return sdx_infer_fail(inf, "axis has rank %d, expected a scalar", sdx_infer_rank(inf, 1));
    if (rank == 0) return sdx_infer_fail(inf, "a scalar has no axis to go along");
    sdx_expr contents[1];
    size_t count;
    if (rank > 0 && sdx_infer_contents(inf, 1, contents, 1, &count) && count == 1 &&
        sdx_expr_is_const(contents[0]))
        SDX_TRY(sdx_infer_axis(inf, sdx_expr_value(contents[0]), rank, &axis));
    return sdx_infer_copy(inf, 0, 0, false);
}

#define STRIP 64

typedef struct cumulative_job {
    const void *in;
    void *out;
    size_t axis, inner, strips;
    bool exclusive, reverse, product;
} cumulative_job;

#define CUMULATIVE(name, type, number, LOAD, SAVE)                                                \
    static void name(void *arg, size_t begin, size_t end) {                                       \
        const cumulative_job *job = arg;                                                          \
        for (size_t s = begin; s < end; s++) {                                                    \
            size_t at = s % job->strips * STRIP;                                                  \
            size_t n = job->inner - at < STRIP ? job->inner - at : STRIP;                         \
            size_t offset = s / job->strips * job->axis * job->inner + at;                        \
            number acc[STRIP];                                                                    \
            for (size_t j = 0; j < n; j++) acc[j] = job->product ? 1 : 0;                         \
            for (size_t k = 0; k < job->axis; k++) {                                              \
                size_t row = job->reverse ? job->axis - 1 - k : k;                                \
                const type *x = (const type *)job->in + offset + row * job->inner;                \
                type *y = (type *)job->out + offset + row * job->inner;                           \
                for (size_t j = 0; j < n; j++) {                                                  \
                    number v = LOAD(x[j]), before = acc[j];                                       \
                    acc[j] = job->product ? before * v : before + v;                              \
                    y[j] = SAVE(job->exclusive ? before : acc[j]);                                \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }
#define AS_IS(v) (v)
CUMULATIVE(cumulative_f32, float, float, AS_IS, AS_IS)
CUMULATIVE(cumulative_f64, double, double, AS_IS, AS_IS)
CUMULATIVE(cumulative_f16, uint16_t, float, sdx_f16_to_f32, sdx_f32_to_f16)
CUMULATIVE(cumulative_bf16, uint16_t, float, sdx_bf16_to_f32, sdx_f32_to_bf16)
CUMULATIVE(cumulative_32, uint32_t, uint32_t, AS_IS, AS_IS)
CUMULATIVE(cumulative_64, uint64_t, uint64_t, AS_IS, AS_IS)

static sdx_loop_body body_of(sdx_dtype dtype) {
    switch (dtype) {
    case SDX_DTYPE_FLOAT64: return cumulative_f64;
    case SDX_DTYPE_FLOAT16: return cumulative_f16;
    case SDX_DTYPE_BFLOAT16: return cumulative_bf16;
    case SDX_DTYPE_INT32: /* signed ones by their bits */
    case SDX_DTYPE_UINT32: return cumulative_32;
    case SDX_DTYPE_INT64:
    case SDX_DTYPE_UINT64: return cumulative_64;
    default: return cumulative_f32;
    }
}

static sdx_status cumulative_run(sdx_call *call) {
    const cumulative_params *params = call->params;
    const sdx_tensor *in = sdx_in(call, 0), *axis_in = sdx_in(call, 1);
    if (axis_in->count != 1)
        return sdx_call_fail(call, "axis has %zu elements, expected 1", axis_in->count);
    int64_t axis;
    SDX_TRY(sdx_call_index(call, sdx_tensor_int(axis_in, 0), in->rank, "axis", &axis));
    if (in->count == 0) return SDX_STATUS_OK;
    cumulative_job job = {.in = in->data, .out = sdx_out(call, 0)->data};
    job.exclusive = params->exclusive;
    job.reverse = params->reverse;
    job.product = call->def->aux != NULL;
    job.axis = (size_t)in->dims[axis];
    job.inner = sdx_dims_product(in->dims, (int32_t)axis + 1, in->rank);
    job.strips = (job.inner + STRIP - 1) / STRIP;
    size_t work = job.axis * (job.inner < STRIP ? job.inner : STRIP);
    sdx_call_parallel(call, in->count / job.axis / job.inner * job.strips, 16384 / work + 1,
                      body_of(in->dtype), &job);
    return SDX_STATUS_OK;
}

static const char product_mark; /* aux of CumProd: any address */
#define CUMULATIVE_DEF(name, mark)                                                                \
    const sdx_op_def sdx_op_##name = {                                                            \
        .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,                                     \
        .flags = SDX_OP_IN_PLACE_FIRST,                                                           \
        .in_types = {SDX_T_FLOATS | SDX_T_INDEX | SDX_T(UINT32) | SDX_T(UINT64), SDX_T_INDEX},    \
        .params_size = sizeof(cumulative_params),                                                 \
        .prepare = cumulative_prepare,                                                            \
        .infer = cumulative_infer,                                                                \
        .run = SDX_BODY(sdx_op_##name, cumulative_run),                                           \
        .aux = mark,                                                                              \
    }
CUMULATIVE_DEF(cum_sum, NULL);
CUMULATIVE_DEF(cum_prod, &product_mark);
