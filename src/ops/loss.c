/* loss.c - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: the input (N, C, d1, ..) against
 * class numbers (N, d1, ..); the second takes the logarithm of the softmax first and can give it
 * out. Sums run in double. */
#include <math.h>

#include "ops/op.h"

typedef enum reduction { REDUCE_NONE, REDUCE_SUM, REDUCE_MEAN } reduction;

typedef struct loss_params {
    reduction reduction;
    bool has_ignore;
    int64_t ignore;
} loss_params;

enum { IN_SCORES, IN_TARGET, IN_WEIGHT };

static sdx_status loss_prepare(sdx_prep *prep) {
    static const char *const words[] = {"none", "sum", "mean", NULL};
    loss_params *params = prep->params;
    int choice;
    SDX_TRY(sdx_attr_get_choice(prep, "reduction", REDUCE_MEAN, words, &choice));
    params->reduction = (reduction)choice;
    params->has_ignore = sdx_attr_has(prep, "ignore_index");
    return sdx_attr_get_int(prep, "ignore_index", 0, &params->ignore);
}

static sdx_status loss_infer(sdx_infer *inf) {
    const loss_params *params = inf->params;
    sdx_dtype dtype = sdx_infer_dtype(inf, IN_SCORES), other = sdx_infer_dtype(inf, IN_WEIGHT);
    sdx_infer_set_dtype(inf, 0, dtype);
    if (dtype != SDX_DTYPE_UNDEFINED && other != SDX_DTYPE_UNDEFINED && dtype != other)
        return sdx_infer_fail(inf, "the weights are %s, expected %s", sdx_dtype_name(other),
                              sdx_dtype_name(dtype));
    if (inf->out_count > 1) SDX_TRY(sdx_infer_copy(inf, 1, IN_SCORES, false));
    SDX_TRY(sdx_infer_require_min_rank(inf, IN_SCORES, 2));
    SDX_TRY(sdx_infer_require_rank(inf, IN_WEIGHT, 1));
    int32_t rank = sdx_infer_rank(inf, IN_SCORES);
    if (rank >= 0) {
        SDX_TRY(sdx_infer_require_rank(inf, IN_TARGET, rank - 1));
        for (int32_t d = 0; d < rank - 1 && sdx_infer_rank(inf, IN_TARGET) == rank - 1; d++)
            SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, IN_TARGET, d),
                                            sdx_infer_dim(inf, IN_SCORES, d == 0 ? 0 : d + 1),
                                            "dim of the labels and the scores"));
        if (sdx_infer_rank(inf, IN_WEIGHT) == 1)
            SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, IN_WEIGHT, 0),
                                            sdx_infer_dim(inf, IN_SCORES, 1),
                                            "number of weights and of classes"));
    }
    sdx_expr dims[SDX_MAX_RANK];
    if (params->reduction != REDUCE_NONE) return sdx_infer_set_shape(inf, 0, 0, dims);
    rank = sdx_infer_rank(inf, IN_TARGET);
    for (int32_t d = 0; d < rank; d++) dims[d] = sdx_infer_dim(inf, IN_TARGET, d);
    return sdx_infer_set_shape(inf, 0, rank, dims);
}

/* ---- run ------------------------------------------------------------------------------------- */

static void store(sdx_tensor *out, size_t i, double value) {
    void *data = out->data;
    switch (out->dtype) {
    case SDX_DTYPE_FLOAT64: ((double *)data)[i] = value; break;
    case SDX_DTYPE_FLOAT16: ((uint16_t *)data)[i] = sdx_f64_to_f16(value); break;
    case SDX_DTYPE_BFLOAT16: ((uint16_t *)data)[i] = sdx_f64_to_bf16(value); break;
    default: ((float *)data)[i] = (float)value; break;
    }
}

typedef struct loss_job {
    const sdx_tensor *scores, *target, *weight;
    sdx_tensor *log_prob; /* NULL: not wanted */
    size_t classes, inner;
    bool softmax;
} loss_job;

/* What to take off a score to get its log probability: the logarithm of the column's sum. */
static double log_sum(const loss_job *job, size_t at) {
    double max = -INFINITY, sum = 0;
    for (size_t c = 0; c < job->classes; c++) {
        double x = sdx_tensor_double(job->scores, at + c * job->inner);
        max = x > max || x != x ? x : max;
    }
    for (size_t c = 0; c < job->classes; c++)
        sum += exp(sdx_tensor_double(job->scores, at + c * job->inner) - max);
    return max + log(sum);
}

/* Log probability of class c in column i, over batch and inner dims; all of them are stored if
 * somebody wants them. */
static double likelihood(const loss_job *job, size_t i, size_t c, bool used) {
    size_t at = i / job->inner * job->classes * job->inner + i % job->inner;
    double shift = job->softmax && (used || job->log_prob) ? log_sum(job, at) : 0;
    for (size_t k = 0; k < job->classes && job->log_prob; k++) {
        size_t element = at + k * job->inner;
        store(job->log_prob, element, sdx_tensor_double(job->scores, element) - shift);
    }
    return used ? sdx_tensor_double(job->scores, at + c * job->inner) - shift : 0;
}

static sdx_status loss_run(sdx_call *call) {
    const loss_params *params = call->params;
    const sdx_tensor *scores = sdx_in(call, IN_SCORES), *target = sdx_in(call, IN_TARGET);
    sdx_tensor *out = sdx_out(call, 0);
    loss_job job = {scores, target, sdx_in(call, IN_WEIGHT), sdx_out(call, 1), 0, 0, false};
    job.classes = (size_t)scores->dims[1];
    job.inner = sdx_dims_product(scores->dims, 2, scores->rank);
    job.softmax = call->def->aux != NULL;
    double sum = 0, weights = 0;
    for (size_t i = 0; i < target->count; i++) {
        int64_t label = sdx_tensor_int(target, i);
        bool used = !params->has_ignore || label != params->ignore;
        if (used && (label < 0 || label >= scores->dims[1]))
            return sdx_call_fail(call, "label %lld lies outside [0, %lld)", (long long)label,
                                 (long long)scores->dims[1]);
        double value = -likelihood(&job, i, used ? (size_t)label : 0, used), weight = used ? 1 : 0;
        if (used && job.weight) weight = sdx_tensor_double(job.weight, (size_t)label);
        value = used ? value * weight : 0;
        if (params->reduction == REDUCE_NONE && out) store(out, i, value);
        sum += value;
        weights += weight;
    }
    if (params->reduction == REDUCE_MEAN) sum /= weights;
    if (params->reduction != REDUCE_NONE && out) store(out, 0, sum);
    return SDX_STATUS_OK;
}

static const char softmax_mark; /* aux of SoftmaxCrossEntropyLoss: any address */
#define LOSS_DEF(name, outputs, mark)                                                             \
    const sdx_op_def sdx_op_##name = {                                                            \
        .min_in = 2, .max_in = 3, .min_out = 1, .max_out = outputs,                               \
        .in_types = {SDX_T_FLOATS, SDX_T_INDEX, SDX_T_FLOATS},                                    \
        .params_size = sizeof(loss_params),                                                       \
        .prepare = loss_prepare,                                                                  \
        .infer = loss_infer,                                                                      \
        .run = SDX_BODY(sdx_op_##name, loss_run),                                                 \
        .aux = mark,                                                                              \
    }
LOSS_DEF(negative_log_likelihood_loss, 1, NULL);
LOSS_DEF(softmax_cross_entropy_loss, 2, &softmax_mark);
