/* norm_batch.c - BatchNormalization: statistics per channel that come from outside, or in training
 * mode from the batch itself, which then also updates the running ones. */
#include <math.h>

#include "ops/norm.h"
#include "ops/norm_stats.h"

enum { X, SCALE, BIAS, MEAN, VARIANCE };
enum { Y, RUNNING_MEAN, RUNNING_VARIANCE, SAVED_MEAN, SAVED_VARIANCE }; /* the last two before 14 */

typedef struct params {
    float epsilon, momentum;
    bool training;
    bool per_element; /* spatial=0, up to version 8: every element of an image is a channel */
} params;

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    bool spatial = true, is_test = false;
    SDX_TRY(sdx_attr_get_float(prep, "epsilon", 1e-5f, &p->epsilon));
    SDX_TRY(sdx_attr_get_float(prep, "momentum", 0.9f, &p->momentum));
    if (prep->version >= 14) return sdx_attr_get_bool(prep, "training_mode", false, &p->training);
    if (prep->version < 9) SDX_TRY(sdx_attr_get_bool(prep, "spatial", true, &spatial));
    if (prep->version < 7) {
        sdx_attr_ignore(prep, "consumed_inputs");
        SDX_TRY(sdx_attr_get_bool(prep, "is_test", false, &is_test));
    }
    p->per_element = !spatial;
    /* With the output Y alone a node is in test mode, whatever is_test says. */
    p->training = prep->node->output_count > 1 && !is_test;
    return SDX_STATUS_OK;
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    int32_t rank = sdx_infer_rank(inf, X);
    SDX_TRY(sdx_infer_copy(inf, Y, X, false));
    SDX_TRY(sdx_infer_require_min_rank(inf, X, 1));
    sdx_expr channels = rank == 1           ? sdx_expr_const(1)
                        : rank < 0          ? SDX_EXPR_UNKNOWN
                        : p->per_element    ? sdx_infer_product(inf, X, 1, rank)
                                            : sdx_infer_dim(inf, X, 1);
    for (uint32_t i = SCALE; i <= VARIANCE; i++) {
        int32_t own = sdx_infer_rank(inf, i);
        if (!p->per_element) SDX_TRY(sdx_infer_require_rank(inf, i, 1));
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_product(inf, i, 0, own), channels,
                                        "channels of the input and of a parameter"));
    }
    for (uint32_t o = RUNNING_MEAN; o <= SAVED_VARIANCE; o++)
        SDX_TRY(sdx_infer_copy(inf, o, o == RUNNING_MEAN || o == SAVED_MEAN ? MEAN : VARIANCE,
                               false));
    sdx_infer_half_scratch(inf);
    sdx_infer_add_scratch_expr(inf, sdx_inf_mul(inf, channels, sdx_expr_const(3 * sizeof(double))));
    return SDX_STATUS_OK;
}

/* ---- run ------------------------------------------------------------------------------------- */

typedef struct job {
    sdx_call *call;
    const sdx_tensor *x;
    size_t batch, channels, plane;
    void *mean, *factor, *shift; /* per channel: y = (x - mean) * factor + shift */
} job;

#define DEFINE_BATCH(T, f)                                                                        \
    static void f##_batch_stats(const job *j, size_t c, double *mean, double *variance) {         \
        const T *x = j->x->data;                                                                  \
        double sum = 0, spread = 0, count = (double)j->batch * (double)j->plane;                  \
        for (size_t n = 0; n < j->batch; n++)                                                     \
            sum += sdx_##f##_row_sum(x + (n * j->channels + c) * j->plane, j->plane, 0);          \
        *mean = sum / count;                                                                      \
        for (size_t n = 0; n < j->batch; n++)                                                     \
            spread += sdx_##f##_row_deviations(x + (n * j->channels + c) * j->plane, j->plane,    \
                                               (T)*mean);                                         \
        *variance = spread / count;                                                               \
    }                                                                                             \
    /* Planes [begin, end), or images where a plane is one element. */                            \
    static void f##_apply(void *arg, size_t begin, size_t end) {                                  \
        const job *j = arg;                                                                       \
        const T *mean = j->mean, *factor = j->factor, *shift = j->shift;                          \
        T *out = sdx_out(j->call, Y)->data;                                                       \
        size_t row = j->plane == 1 ? j->channels : j->plane;                                      \
        for (size_t i = begin; i < end; i++) {                                                    \
            const T *x = (const T *)j->x->data + i * row;                                         \
            T *y = out + i * row;                                                                 \
            if (j->plane == 1) {                                                                  \
                for (size_t c = 0; c < row; c++) y[c] = (x[c] - mean[c]) * factor[c] + shift[c];  \
                continue;                                                                         \
            }                                                                                     \
            T m = mean[i % j->channels], k = factor[i % j->channels], b = shift[i % j->channels]; \
            for (size_t e = 0; e < row; e++) y[e] = (x[e] - m) * k + b;                           \
        }                                                                                         \
    }                                                                                             \
    static void f##_set(const job *j, size_t c, double mean, double factor, double shift) {       \
        ((T *)j->mean)[c] = (T)mean;                                                              \
        ((T *)j->factor)[c] = (T)factor;                                                          \
        ((T *)j->shift)[c] = (T)shift;                                                            \
    }

DEFINE_BATCH(float, f32)
DEFINE_BATCH(double, f64)

/* Everything that is one number per channel: channels [begin, end). */
static void channels_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    sdx_call *call = j->call;
    const params *p = call->params;
    bool wide = j->x->dtype == SDX_DTYPE_FLOAT64;
    double momentum = (double)p->momentum;
    for (size_t c = begin; c < end; c++) {
        double mean = sdx_tensor_double(sdx_in(call, MEAN), c);
        double variance = sdx_tensor_double(sdx_in(call, VARIANCE), c);
        double old_mean = mean, old_variance = variance, keep = 1;
        if (p->training) {
            (wide ? f64_batch_stats : f32_batch_stats)(j, c, &mean, &variance);
            keep = momentum;
        }
        sdx_norm_store(sdx_out(call, RUNNING_MEAN), c, old_mean * keep + mean * (1 - keep));
        sdx_norm_store(sdx_out(call, RUNNING_VARIANCE), c,
                       old_variance * keep + variance * (1 - keep));
        sdx_norm_store(sdx_out(call, SAVED_MEAN), c, mean);
        sdx_norm_store(sdx_out(call, SAVED_VARIANCE), c, variance);
        double factor = sdx_tensor_double(sdx_in(call, SCALE), c) /
                        sqrt(variance + (double)p->epsilon);
        (wide ? f64_set : f32_set)(j, c, mean, factor, sdx_tensor_double(sdx_in(call, BIAS), c));
    }
}

static sdx_status body(sdx_call *call) {
    const params *p = call->params;
    job j = {.call = call, .x = sdx_in(call, X)};
    int32_t first = p->per_element ? j.x->rank : 2; /* axes that belong to a plane begin here */
    j.batch = (size_t)j.x->dims[0];
    j.channels = j.x->rank == 1 ? 1 : sdx_dims_product(j.x->dims, 1, first);
    j.plane = j.x->rank == 1 ? 1 : sdx_dims_product(j.x->dims, first, j.x->rank);
    size_t size = sdx_dtype_size(j.x->dtype);
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, j.channels * 3 * size, &scratch));
    j.mean = scratch.data;
    j.factor = (char *)scratch.data + j.channels * size;
    j.shift = (char *)scratch.data + j.channels * 2 * size;
    size_t work = p->training ? j.batch * j.plane : 64;
    sdx_call_parallel(call, j.channels, 32768 / (work + 1) + 1, channels_body, &j);
    if (sdx_out(call, Y) && j.x->count > 0) {
        size_t row = j.plane == 1 ? j.channels : j.plane;
        sdx_call_parallel(call, j.x->count / row, 32768 / row + 1,
                          j.x->dtype == SDX_DTYPE_FLOAT64 ? f64_apply : f32_apply, &j);
    }
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

const sdx_op_def sdx_op_batch_normalization = {
    .min_in = 5, .max_in = 5, .min_out = 1, .max_out = 5,
    .flags = SDX_OP_IN_PLACE_FIRST,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_batch_normalization, run),
};
