/* training.c - the optimizers of domain ai.onnx.preview.training: Adagrad, Adam, Momentum. Inputs
 * are the learning rate, the update count, and then for n tensors that are optimized together: all
 * values, all gradients, and one or two kinds of state. Outputs: new values, then new states. */
#include <math.h>

#include "ops/elementwise.h"

#define GRAIN ((size_t)1 << 13) /* elements */
#define FIRST_TENSOR 2
#define MAX_STATES 2

typedef struct training_params {
    float alpha, beta, epsilon, norm, norm_post, decay;
    bool nesterov;
} training_params;

/* Scalars of one step, and the tensors at hand. */
typedef struct training_job {
    const training_params *p;
    double rate, beta;
    const void *value, *gradient, *state[MAX_STATES];
    void *new_value, *new_state[MAX_STATES];
} training_job;

typedef struct training_kind {
    uint32_t states;
    /* Fills in rate and beta from the learning rate and the update count. */
    void (*begin)(training_job *job, double rate, int64_t count);
    sdx_loop_body narrow, wide; /* on elements of float32, float64 */
} training_kind;

/* ---- the three methods ----------------------------------------------------------------------- */

static void adagrad_begin(training_job *job, double rate, int64_t count) {
    job->rate = rate / (1 + (double)count * (double)job->p->decay);
}

static void adam_begin(training_job *job, double rate, int64_t count) {
    const double alpha = job->p->alpha, beta = job->p->beta, n = (double)count;
    job->rate = count > 0 ? rate * sqrt(1 - pow(beta, n)) / (1 - pow(alpha, n)) : rate;
}

static void momentum_begin(training_job *job, double rate, int64_t count) {
    job->rate = rate;
    job->beta = count > 0 ? (double)job->p->beta : 1;
}

#define ADAGRAD(name, real, root)                                                                 \
    static void name(void *arg, size_t begin, size_t end) {                                       \
        const training_job *job = arg;                                                            \
        const real norm = job->p->norm, epsilon = job->p->epsilon, rate = (real)job->rate;        \
        const real *x = job->value, *g = job->gradient, *h = job->state[0];                       \
        real *new_x = job->new_value, *new_h = job->new_state[0];                                 \
        for (size_t i = begin; i < end; i++) {                                                    \
            const real slope = norm * x[i] + g[i], squares = h[i] + slope * slope;                \
            if (new_h) new_h[i] = squares;                                                        \
            if (new_x) new_x[i] = x[i] - rate * slope / (root(squares) + epsilon);                \
        }                                                                                         \
    }
ADAGRAD(adagrad_narrow, float, sqrtf)
ADAGRAD(adagrad_wide, double, sqrt)

#define ADAM(name, real, root)                                                                    \
    static void name(void *arg, size_t begin, size_t end) {                                       \
        const training_job *job = arg;                                                            \
        const real norm = job->p->norm, post = 1 - (real)job->p->norm_post;                       \
        const real alpha = job->p->alpha, beta = job->p->beta, epsilon = job->p->epsilon;         \
        const real rate = (real)job->rate;                                                        \
        const real *x = job->value, *g = job->gradient, *v = job->state[0], *h = job->state[1];   \
        real *new_x = job->new_value, *new_v = job->new_state[0], *new_h = job->new_state[1];     \
        for (size_t i = begin; i < end; i++) {                                                    \
            const real slope = norm * x[i] + g[i];                                                \
            const real mean = alpha * v[i] + (1 - alpha) * slope;                                 \
            const real squares = beta * h[i] + (1 - beta) * slope * slope;                        \
            const real step = rate * mean / (root(squares) + epsilon);                            \
            if (new_v) new_v[i] = mean;                                                           \
            if (new_h) new_h[i] = squares;                                                        \
            if (new_x) new_x[i] = post * (x[i] - step);                                           \
        }                                                                                         \
    }
ADAM(adam_narrow, float, sqrtf)
ADAM(adam_wide, double, sqrt)

#define MOMENTUM(name, real)                                                                      \
    static void name(void *arg, size_t begin, size_t end) {                                       \
        const training_job *job = arg;                                                            \
        const bool nesterov = job->p->nesterov;                                                   \
        const real norm = job->p->norm, alpha = job->p->alpha, beta = (real)job->beta;            \
        const real rate = (real)job->rate;                                                        \
        const real *x = job->value, *g = job->gradient, *v = job->state[0];                       \
        real *new_x = job->new_value, *new_v = job->new_state[0];                                 \
        for (size_t i = begin; i < end; i++) {                                                    \
            const real slope = norm * x[i] + g[i], mean = alpha * v[i] + beta * slope;            \
            if (new_v) new_v[i] = mean;                                                           \
            if (new_x) new_x[i] = x[i] - rate * (nesterov ? slope + alpha * mean : mean);         \
        }                                                                                         \
    }
MOMENTUM(momentum_narrow, float)
MOMENTUM(momentum_wide, double)

static const training_kind adagrad_kind = {1, adagrad_begin, adagrad_narrow, adagrad_wide};
static const training_kind adam_kind = {2, adam_begin, adam_narrow, adam_wide};
static const training_kind momentum_kind = {1, momentum_begin, momentum_narrow, momentum_wide};

/* ---- attributes ------------------------------------------------------------------------------ */

/* n tensors make n values, gradients and states go in, and values and states come out. */
static sdx_status check_counts(sdx_prep *prep) {
    const training_kind *kind = prep->def->aux;
    const uint32_t groups = 2 + kind->states, given = prep->node->input_count - FIRST_TENSOR;
    const uint32_t tensors = given / groups, expected = tensors * (1 + kind->states);
    if (given == 0 || given % groups)
        return sdx_prep_fail(prep, "there are %u inputs behind R and T, expected a multiple of %u",
                             given, groups);
    if (prep->node->output_count > expected)
        return sdx_prep_fail(prep, "there are %u outputs for %u optimized tensors, expected %u",
                             prep->node->output_count, tensors, expected);
    for (uint32_t i = 0; i < prep->node->input_count; i++)
        if (prep->node->inputs[i] == SDX_NONE) return sdx_prep_fail(prep, "input %u is missing", i);
    return SDX_STATUS_OK;
}

static sdx_status adagrad_prepare(sdx_prep *prep) {
    training_params *p = prep->params;
    SDX_TRY(sdx_attr_get_float(prep, "decay_factor", 0, &p->decay));
    SDX_TRY(sdx_attr_get_float(prep, "epsilon", 1e-6f, &p->epsilon));
    SDX_TRY(sdx_attr_get_float(prep, "norm_coefficient", 0, &p->norm));
    return check_counts(prep);
}

static sdx_status adam_prepare(sdx_prep *prep) {
    training_params *p = prep->params;
    SDX_TRY(sdx_attr_get_float(prep, "alpha", 0.9f, &p->alpha));
    SDX_TRY(sdx_attr_get_float(prep, "beta", 0.999f, &p->beta));
    SDX_TRY(sdx_attr_get_float(prep, "epsilon", 1e-6f, &p->epsilon));
    SDX_TRY(sdx_attr_get_float(prep, "norm_coefficient", 0, &p->norm));
    SDX_TRY(sdx_attr_get_float(prep, "norm_coefficient_post", 0, &p->norm_post));
    return check_counts(prep);
}

static sdx_status momentum_prepare(sdx_prep *prep) {
    static const char *const modes[] = {"standard", "nesterov", NULL};
    training_params *p = prep->params;
    int mode;
    SDX_TRY(sdx_attr_need_float(prep, "alpha", &p->alpha));
    SDX_TRY(sdx_attr_need_float(prep, "beta", &p->beta));
    SDX_TRY(sdx_attr_need_float(prep, "norm_coefficient", &p->norm));
    if (!sdx_attr_has(prep, "mode"))
        return sdx_prep_fail(prep, "attribute 'mode' is required but missing");
    SDX_TRY(sdx_attr_get_choice(prep, "mode", 0, modes, &mode));
    p->nesterov = mode == 1;
    return check_counts(prep);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static sdx_status check_same(sdx_infer *inf, uint32_t value, uint32_t other) {
    const sdx_dtype a = sdx_infer_dtype(inf, value), b = sdx_infer_dtype(inf, other);
    if (a && b && a != b)
        return sdx_infer_fail(inf, "input %u is %s, input %u is %s", value, sdx_dtype_name(a),
                              other, sdx_dtype_name(b));
    const int32_t rank = sdx_infer_rank(inf, value);
    if (rank < 0) return SDX_STATUS_OK;
    SDX_TRY(sdx_infer_require_rank(inf, other, rank));
    for (int32_t i = 0; i < rank; i++)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, value, i),
                                        sdx_infer_dim(inf, other, i),
                                        "dimensions of a tensor and its gradient or state"));
    return SDX_STATUS_OK;
}

static sdx_status training_infer(sdx_infer *inf) {
    const training_kind *kind = inf->def->aux;
    const uint32_t groups = 2 + kind->states, tensors = (inf->in_count - FIRST_TENSOR) / groups;
    for (uint32_t i = 0; i < FIRST_TENSOR; i++)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_product(inf, i, 0, sdx_infer_rank(inf, i)),
                                        sdx_expr_const(1), "elements of R or T"));
    for (uint32_t t = 0; t < tensors; t++) {
        const uint32_t value = FIRST_TENSOR + t;
        for (uint32_t g = 1; g < groups; g++)
            SDX_TRY(check_same(inf, value, value + g * tensors));
        for (uint32_t s = 0; s <= kind->states; s++)
            SDX_TRY(sdx_infer_copy(inf, t + s * tensors, value, false));
    }
    return SDX_STATUS_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static void *data_of(const sdx_tensor *tensor) { return tensor ? tensor->data : NULL; }

static sdx_status training_run(sdx_call *call) {
    const training_kind *kind = call->def->aux;
    const uint32_t groups = 2 + kind->states, tensors = (call->in_count - FIRST_TENSOR) / groups;
    training_job job = {.p = call->params};
    kind->begin(&job, sdx_tensor_double(sdx_in(call, 0), 0), sdx_tensor_int(sdx_in(call, 1), 0));
    for (uint32_t t = 0; t < tensors; t++) {
        const uint32_t value = FIRST_TENSOR + t;
        const sdx_tensor *x = sdx_in(call, value);
        job.value = x->data;
        job.gradient = sdx_in(call, value + tensors)->data;
        job.new_value = data_of(sdx_out(call, t));
        for (uint32_t s = 0; s < kind->states; s++) {
            job.state[s] = sdx_in(call, value + (2 + s) * tensors)->data;
            job.new_state[s] = data_of(sdx_out(call, t + (1 + s) * tensors));
        }
        if (x->count)
            sdx_call_parallel(call, x->count, GRAIN,
                              x->dtype == SDX_DTYPE_FLOAT64 ? kind->wide : kind->narrow, &job);
    }
    return SDX_STATUS_OK;
}

#define T_TRAINED (SDX_T(FLOAT32) | SDX_T(FLOAT64))

const sdx_op_def sdx_op_adagrad = {
    .min_in = 5, .max_in = SDX_VARIADIC, .min_out = 1, .max_out = SDX_VARIADIC,
    .in_types = {T_TRAINED, SDX_T(INT64), T_TRAINED},
    .params_size = sizeof(training_params),
    .prepare = adagrad_prepare, .infer = training_infer,
    .run = SDX_BODY(sdx_op_adagrad, training_run),
    .aux = &adagrad_kind,
};

const sdx_op_def sdx_op_adam = {
    .min_in = 6, .max_in = SDX_VARIADIC, .min_out = 1, .max_out = SDX_VARIADIC,
    .in_types = {T_TRAINED, SDX_T(INT64), T_TRAINED},
    .params_size = sizeof(training_params),
    .prepare = adam_prepare, .infer = training_infer, .run = SDX_BODY(sdx_op_adam, training_run),
    .aux = &adam_kind,
};

const sdx_op_def sdx_op_momentum = {
    .min_in = 5, .max_in = SDX_VARIADIC, .min_out = 1, .max_out = SDX_VARIADIC,
    .in_types = {T_TRAINED, SDX_T(INT64), T_TRAINED},
    .params_size = sizeof(training_params),
    .prepare = momentum_prepare, .infer = training_infer,
    .run = SDX_BODY(sdx_op_momentum, training_run),
    .aux = &momentum_kind,
};
