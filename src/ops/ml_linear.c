/* ml_linear.c - LinearClassifier and LinearRegressor of domain ai.onnx.ml: one product with the
 * coefficients, whatever the element type of the input in float32. */
#include "ops/half.h"
#include "ops/matmul.h"
#include "ops/ml.h"

typedef struct linear_params {
    const float *coefficients; /* targets x features */
    const float *intercepts;   /* per target, or NULL */
    size_t coefficient_count, targets; /* targets 0: as many as the coefficients make */
    int post;
    bool classifier;
    sdx_ml_labels labels;
} linear_params;

/* ---- while loading --------------------------------------------------------------------------- */

static sdx_status read_weights(sdx_prep *prep, linear_params *p, size_t *intercepts) {
    SDX_TRY(sdx_attr_get_floats(prep, "coefficients", &p->coefficients, &p->coefficient_count));
    SDX_TRY(sdx_attr_get_floats(prep, "intercepts", &p->intercepts, intercepts));
    if (!*intercepts) p->intercepts = NULL;
    if (!p->coefficient_count) return sdx_prep_fail(prep, "attribute 'coefficients' is empty");
    return sdx_ml_read_post(prep, &p->post);
}

static sdx_status check_targets(sdx_prep *prep, const linear_params *p) {
    if (p->targets == 0 ||
        (p->targets <= p->coefficient_count && p->coefficient_count % p->targets == 0))
        return SDX_STATUS_OK;
    return sdx_prep_fail(prep, "%zu coefficients do not divide into %zu targets",
                         p->coefficient_count, p->targets);
}

static sdx_status regressor_prepare(sdx_prep *prep) {
    linear_params *p = prep->params;
    int64_t targets;
    size_t intercepts;
    SDX_TRY(read_weights(prep, p, &intercepts));
    SDX_TRY(sdx_attr_get_int(prep, "targets", 1, &targets));
    if (targets < 1)
        return sdx_prep_fail(prep, "targets is %lld, expected at least 1", (long long)targets);
    p->targets = (size_t)targets;
    if (p->intercepts && intercepts != p->targets)
        return sdx_prep_fail(prep, "there are %zu intercepts for %zu targets", intercepts,
                             p->targets);
    return check_targets(prep, p);
}

static sdx_status classifier_prepare(sdx_prep *prep) {
    linear_params *p = prep->params;
    p->classifier = true;
    sdx_attr_ignore(prep, "multi_class"); /* makes no difference to the scores */
    SDX_TRY(read_weights(prep, p, &p->targets));
    SDX_TRY(sdx_ml_read_labels(prep, "classlabels_ints", "classlabels_strings", &p->labels));
    if (!p->labels.count)
        return sdx_prep_fail(prep, "neither classlabels_ints nor classlabels_strings is given");
    if (p->targets > 1 && p->labels.count < p->targets)
        return sdx_prep_fail(prep, "there are %zu labels for %zu intercepts", p->labels.count,
                             p->targets);
    return check_targets(prep, p);
}

/* The number of targets for this many features; fails if the coefficients do not divide so. */
static sdx_status count_targets(sdx_infer *inf, int64_t features, size_t *targets) {
    const linear_params *p = inf->params;
    const uint64_t width = (uint64_t)features;
    const bool fits = p->targets ? width == p->coefficient_count / p->targets
                                 : width > 0 && p->coefficient_count % width == 0;
    if (!fits && p->targets)
        return sdx_infer_fail(inf, "there are %zu coefficients for %lld features and %zu targets",
                              p->coefficient_count, (long long)features, p->targets);
    if (!fits)
        return sdx_infer_fail(inf, "%zu coefficients do not divide into targets of %lld features",
                              p->coefficient_count, (long long)features);
    *targets = p->targets ? p->targets : p->coefficient_count / (size_t)width;
    if (p->classifier && *targets > 1 && p->labels.count < *targets)
        return sdx_infer_fail(inf, "there are %zu labels for %zu classes", p->labels.count,
                              *targets);
    return SDX_STATUS_OK;
}

/* A classifier that tells two classes apart by one score reports two. */
static bool is_pair(const linear_params *p, size_t targets) {
    return p->classifier && targets == 1 && p->labels.count == 2;
}

static sdx_status linear_infer(sdx_infer *inf) {
    const linear_params *p = inf->params;
    const uint32_t score_output = p->classifier ? 1 : 0;
    sdx_expr rows, features;
    size_t targets = p->targets;
    SDX_TRY(sdx_ml_infer_rows(inf, 0, &rows, &features));
    if (sdx_expr_is_const(features))
        SDX_TRY(count_targets(inf, sdx_expr_value(features), &targets));
    else if (targets) /* symbolic: remembered */
        SDX_TRY(sdx_infer_require_equal(
            inf, features, sdx_expr_const((int64_t)(p->coefficient_count / targets)),
            "features of the input and coefficients per target"));
    const sdx_expr width =
        targets ? sdx_expr_const(is_pair(p, targets) ? 2 : (int64_t)targets) : SDX_EXPR_UNKNOWN;
    const sdx_expr dims[2] = {rows, width};
    if (p->classifier) {
        sdx_infer_set_dtype(inf, 0, sdx_ml_label_type(&p->labels));
        SDX_TRY(sdx_infer_set_shape(inf, 0, 1, dims));
    }
    sdx_infer_set_dtype(inf, score_output, SDX_DTYPE_FLOAT32);
    /* The input and the scores in float32, and what the product needs. */
    const sdx_expr n = targets ? sdx_expr_const((int64_t)targets) : SDX_EXPR_UNKNOWN;
    const sdx_expr scores = sdx_infer_scratch_part(inf, sdx_inf_mul(inf, rows, n), sizeof(float));
    inf->scratch = sdx_infer_product_scratch(inf, SDX_DTYPE_FLOAT32, rows, n, features);
    inf->scratch = sdx_inf_add(inf, inf->scratch, sdx_ml_infer_room(inf, 0));
    inf->scratch = sdx_inf_add(inf, inf->scratch, scores);
    return sdx_infer_set_shape(inf, score_output, 2, dims);
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct linear_job {
    const linear_params *p;
    float *scores; /* rows x targets, without the intercepts */
    size_t targets;
    sdx_tensor *labels, *out; /* may be NULL */
} linear_job;

static void put_class(const linear_job *job, const float *scores, size_t row) {
    const sdx_ml_labels *labels = &job->p->labels;
    static const sdx_string yes = {"1", 1}, no = {"0", 1};
    size_t best = 0;
    if (job->targets > 1) {
        for (size_t i = 1; i < job->targets; i++)
            if (scores[i] > scores[best]) best = i;
    } else {
        best = scores[0] > 0;
        if (labels->count != 2) { /* one class: whether it is that one */
            if (labels->strings) ((sdx_string *)job->labels->data)[row] = best ? yes : no;
            else ((int64_t *)job->labels->data)[row] = (int64_t)best;
            return;
        }
    }
    sdx_ml_put_label(labels, best, job->labels, row);
}

static void finish_rows(void *arg, size_t begin, size_t end) {
    const linear_job *job = arg;
    const linear_params *p = job->p;
    const bool pair = is_pair(p, job->targets);
    for (size_t row = begin; row < end; row++) {
        float *scores = job->scores + row * job->targets;
        for (size_t i = 0; p->intercepts && i < job->targets; i++) scores[i] += p->intercepts[i];
        if (job->labels) put_class(job, scores, row);
        if (!job->out) continue;
        float *out = (float *)job->out->data + row * (pair ? 2 : job->targets);
        if (pair) {
            sdx_ml_pair_scores(p->post, SDX_ML_COMPLEMENT, scores[0], out);
            continue;
        }
        if (out != scores) memcpy(out, scores, job->targets * sizeof *out);
        sdx_ml_transform(p->post, out, job->targets);
    }
}

static sdx_status linear_run(sdx_call *call) {
    const linear_params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0);
    const sdx_ml_rows shape = sdx_ml_rows_of(x);
    linear_job job = {.p = p, .targets = p->targets, .out = sdx_out(call, p->classifier ? 1 : 0),
                      .labels = p->classifier ? sdx_out(call, 0) : NULL};
    if (shape.rows == 0) return SDX_STATUS_OK;
    if (!job.targets) job.targets = p->coefficient_count / shape.features;
    const bool direct = job.out && !is_pair(p, job.targets);
    const size_t room = sdx_ml_room(x);
    const size_t score_bytes = sdx_scratch_part(shape.rows * job.targets * sizeof(float));
    const size_t product =
        sdx_product_scratch(SDX_DTYPE_FLOAT32, shape.rows, job.targets, shape.features);
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, room + score_bytes + product, &scratch));
    const float *input = sdx_ml_as_float(x, scratch.data);
    job.scores = direct ? job.out->data : (float *)(void *)((char *)scratch.data + room);
    const sdx_f32_matrix a = {input, shape.features, 1}, b = {p->coefficients, 1, shape.features};
    sdx_f32_gemm_strided(call->host->pool, shape.rows, job.targets, shape.features, a, b,
                         job.scores, job.targets, false,
                         (char *)scratch.data + room + score_bytes);
    sdx_call_parallel(call, shape.rows, sdx_ml_grain(16 * job.targets), finish_rows, &job);
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_linear_classifier = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 2,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(linear_params),
    .prepare = classifier_prepare, .infer = linear_infer,
    .run = SDX_BODY(sdx_op_ml_linear_classifier, linear_run),
};

const sdx_op_def sdx_op_ml_linear_regressor = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(linear_params),
    .prepare = regressor_prepare, .infer = linear_infer,
    .run = SDX_BODY(sdx_op_ml_linear_regressor, linear_run),
};
