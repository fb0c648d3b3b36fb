/* ml_svm.c - SVMClassifier and SVMRegressor of domain ai.onnx.ml. Rows are taken in blocks: first
 * the kernel of each row with each support vector, then what the operator makes of it. Without
 * support vectors both are linear models ("liblinear"), and the coefficients play their part. */
#include <math.h>

#include "kernels/vexp.h"
#include "ops/half.h"
#include "ops/matmul.h"
#include "ops/ml.h"

enum { KERNEL_LINEAR, KERNEL_POLY, KERNEL_RBF, KERNEL_SIGMOID };

#define BLOCK 128 /* rows whose kernels are held at a time */

typedef struct svm_params {
    int kernel, post;
    float gamma, coef0, degree;
    const float *vectors;  /* vector_count x features; RBF: features x vector_count */
    size_t vector_count, features;
    const float *coefficients, *rho;
    size_t coefficient_count, rho_count;
    bool linear; /* no support vectors: `vectors` are the coefficients */
    /* SVMRegressor */
    bool one_class;
    /* SVMClassifier */
    sdx_ml_labels labels;
    const float *prob_a, *prob_b; /* per pair of classes, or NULL */
    const int64_t *per_class;     /* support vectors of each class */
    size_t classes, pairs;
} svm_params;

/* ---- while loading --------------------------------------------------------------------------- */

static sdx_status read_kernel(sdx_prep *prep, svm_params *p) {
    static const char *const kernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID", NULL};
    const float *numbers;
    size_t count;
    SDX_TRY(sdx_attr_get_choice(prep, "kernel_type", KERNEL_LINEAR, kernels, &p->kernel));
    SDX_TRY(sdx_attr_get_floats(prep, "kernel_params", &numbers, &count));
    SDX_TRY(sdx_attr_get_floats(prep, "coefficients", &p->coefficients, &p->coefficient_count));
    SDX_TRY(sdx_attr_get_floats(prep, "rho", &p->rho, &p->rho_count));
    SDX_TRY(sdx_ml_read_post(prep, &p->post));
    if (count && count < 3)
        return sdx_prep_fail(prep, "kernel_params has %zu numbers, expected gamma, coef0, degree",
                             count);
    if (count) {
        p->gamma = numbers[0];
        p->coef0 = numbers[1];
        p->degree = numbers[2];
    }
    if (!p->coefficient_count) return sdx_prep_fail(prep, "attribute 'coefficients' is empty");
    if (!p->rho_count) return sdx_prep_fail(prep, "attribute 'rho' is empty");
    return SDX_STATUS_OK;
}

/* Attribute support_vectors as `count` vectors. Distances are computed for many vectors at a time,
 * one feature after the other, so that for RBF the features come to lie side by side. */
static sdx_status read_vectors(sdx_prep *prep, svm_params *p, size_t count) {
    const float *vectors;
    size_t total;
    SDX_TRY(sdx_attr_get_floats(prep, "support_vectors", &vectors, &total));
    p->vector_count = count;
    p->linear = count == 0;
    if (p->linear) return SDX_STATUS_OK;
    if (total == 0 || total % count)
        return sdx_prep_fail(prep, "support_vectors has %zu numbers for %zu vectors", total,
                             count);
    p->features = total / count;
    p->vectors = vectors;
    if (p->kernel != KERNEL_RBF) return SDX_STATUS_OK;
    float *turned = sdx_prep_array(prep, total, sizeof *turned);
    if (!turned) return SDX_STATUS_NO_MEMORY;
    for (size_t v = 0; v < count; v++)
        for (size_t f = 0; f < p->features; f++)
            turned[f * count + v] = vectors[v * p->features + f];
    p->vectors = turned;
    return SDX_STATUS_OK;
}

/* A linear model of `outputs` rows of coefficients. */
static sdx_status make_linear(sdx_prep *prep, svm_params *p, size_t outputs) {
    if (p->coefficient_count % outputs)
        return sdx_prep_fail(prep, "%zu coefficients do not divide into %zu classes",
                             p->coefficient_count, outputs);
    p->kernel = KERNEL_LINEAR;
    p->vectors = p->coefficients;
    p->vector_count = outputs;
    p->features = p->coefficient_count / outputs;
    return SDX_STATUS_OK;
}

static sdx_status regressor_prepare(sdx_prep *prep) {
    svm_params *p = prep->params;
    int64_t supports;
    SDX_TRY(read_kernel(prep, p));
    SDX_TRY(sdx_attr_get_int(prep, "n_supports", 0, &supports));
    SDX_TRY(sdx_attr_get_bool(prep, "one_class", false, &p->one_class));
    if (supports < 0)
        return sdx_prep_fail(prep, "n_supports is %lld", (long long)supports);
    SDX_TRY(read_vectors(prep, p, (size_t)supports));
    if (p->linear) return make_linear(prep, p, 1);
    if (p->coefficient_count < p->vector_count)
        return sdx_prep_fail(prep, "there are %zu coefficients for %zu support vectors",
                             p->coefficient_count, p->vector_count);
    return SDX_STATUS_OK;
}

/* Support vectors of all classes. */
static sdx_status sum_per_class(sdx_prep *prep, svm_params *p, size_t *total) {
    size_t count;
    *total = 0;
    SDX_TRY(sdx_attr_get_ints(prep, "vectors_per_class", &p->per_class, &count));
    for (size_t i = 0; i < count; i++)
        if (p->per_class[i] < 0 || !sdx_size_add(*total, (size_t)p->per_class[i], total))
            return sdx_prep_fail(prep, "vectors_per_class[%zu] is %lld", i,
                                 (long long)p->per_class[i]);
    if (*total && count != p->classes)
        return sdx_prep_fail(prep, "vectors_per_class has %zu entries for %zu classes", count,
                             p->classes);
    return SDX_STATUS_OK;
}

static sdx_status check_pairs(sdx_prep *prep, const svm_params *p, size_t prob_count) {
    size_t needed;
    if (p->classes < 2)
        return sdx_prep_fail(prep, "support vectors need at least two classes, there is %zu",
                             p->classes);
    if (!sdx_size_mul(p->classes - 1, p->vector_count, &needed) || p->coefficient_count < needed)
        return sdx_prep_fail(prep, "there are %zu coefficients for %zu classes and %zu support "
                                   "vectors",
                             p->coefficient_count, p->classes, p->vector_count);
    if (p->rho_count < p->pairs || (prob_count && prob_count < p->pairs))
        return sdx_prep_fail(prep, "rho has %zu entries and prob_a %zu for %zu pairs of classes",
                             p->rho_count, prob_count, p->pairs);
    return SDX_STATUS_OK;
}

#define MAX_CLASSES 65535

static sdx_status classifier_prepare(sdx_prep *prep) {
    svm_params *p = prep->params;
    size_t a_count, b_count, supports;
    SDX_TRY(read_kernel(prep, p));
    SDX_TRY(sdx_ml_read_labels(prep, "classlabels_ints", "classlabels_strings", &p->labels));
    SDX_TRY(sdx_attr_get_floats(prep, "prob_a", &p->prob_a, &a_count));
    SDX_TRY(sdx_attr_get_floats(prep, "prob_b", &p->prob_b, &b_count));
    if (a_count != b_count)
        return sdx_prep_fail(prep, "prob_a has %zu entries, prob_b has %zu", a_count, b_count);
    if (!a_count) p->prob_a = NULL;
    p->classes = p->labels.count;
    if (p->classes == 0 || p->classes > MAX_CLASSES)
        return sdx_prep_fail(prep, "there are %zu class labels, expected 1 to %d", p->classes,
                             MAX_CLASSES);
    p->pairs = p->classes * (p->classes - 1) / 2;
    SDX_TRY(sum_per_class(prep, p, &supports));
    SDX_TRY(read_vectors(prep, p, supports));
    return p->linear ? make_linear(prep, p, p->classes) : check_pairs(prep, p, a_count);
}

/* Columns of the scores. */
static size_t score_count(const svm_params *p) {
    if (p->linear || p->prob_a) return p->classes;
    return p->classes > 2 ? p->pairs : 2;
}

/* The scratch memory, in bytes. */
typedef struct svm_sizes {
    size_t kernels; /* of a block */
    size_t slot;    /* what a classifier computes of one row on the way: scores of the pairs, votes,
                       the matrix of pairwise probabilities and that of the iteration */
    size_t slots;   /* rows that are classified at a time */
    size_t product;
} svm_sizes;

#define SLOTS_BYTES ((size_t)4 << 20)

static bool scratch_sizes(const svm_params *p, svm_sizes *sizes) {
    const size_t n = p->classes;
    const size_t floats = p->pairs + n + (p->prob_a && !p->linear ? 2 * n * n + n : 0);
    if (!sdx_size_mul(p->vector_count, BLOCK * sizeof(float), &sizes->kernels) ||
        !sdx_size_align(sizes->kernels, SDX_CACHE_LINE, &sizes->kernels) ||
        !sdx_size_mul(floats, sizeof(float), &sizes->slot) ||
        !sdx_size_align(sizes->slot, SDX_CACHE_LINE, &sizes->slot) ||
        sizes->slot > SIZE_MAX / 8 || sizes->kernels > SIZE_MAX / 8)
        return false;
    sizes->slots = BLOCK;
    if (sizes->slot > SLOTS_BYTES / BLOCK) sizes->slots = SLOTS_BYTES / sizes->slot;
    if (sizes->slots == 0) sizes->slots = 1;
    sizes->product = sdx_scratch_part(
        sdx_product_scratch(SDX_DTYPE_FLOAT32, BLOCK, p->vector_count, p->features));
    return true;
}

static size_t total_size(const svm_sizes *sizes) {
    return sizes->kernels + sizes->slots * sizes->slot + sizes->product;
}

static sdx_status svm_infer(sdx_infer *inf) {
    const svm_params *p = inf->params;
    const bool classifier = p->classes > 0;
    sdx_expr rows, features;
    svm_sizes sizes;
    SDX_TRY(sdx_ml_infer_rows(inf, 0, &rows, &features));
    if (sdx_expr_is_const(features) && (uint64_t)sdx_expr_value(features) != p->features)
        return sdx_infer_fail(inf, "the input has %lld features, the model has %zu",
                              (long long)sdx_expr_value(features), p->features);
    SDX_TRY(sdx_infer_require_equal(inf, features, sdx_expr_const((int64_t)p->features),
                                    "features of the input and of the model"));
    const sdx_expr dims[2] = {rows,
                              sdx_expr_const(classifier ? (int64_t)score_count(p) : 1)};
    if (classifier) {
        sdx_infer_set_dtype(inf, 0, sdx_ml_label_type(&p->labels));
        SDX_TRY(sdx_infer_set_shape(inf, 0, 1, dims));
    }
    const uint32_t score_output = classifier ? 1 : 0;
    sdx_infer_set_dtype(inf, score_output, SDX_DTYPE_FLOAT32);
    inf->scratch = SDX_EXPR_UNKNOWN;
    if (scratch_sizes(p, &sizes))
        inf->scratch = sdx_inf_add(inf, sdx_ml_infer_room(inf, 0),
                                   sdx_expr_const((int64_t)total_size(&sizes)));
    return sdx_infer_set_shape(inf, score_output, 2, dims);
}

/* ---- kernels --------------------------------------------------------------------------------- */

typedef struct svm_job {
    const svm_params *p;
    const float *x;   /* of the block */
    float *kernels;   /* rows of the block x vector_count */
    char *slots;      /* room for the rows of a stretch of the block */
    size_t slot;
    size_t begin;     /* of that stretch */
    size_t first_row; /* of the block */
    sdx_tensor *labels, *out;
} svm_job;

/* exp(-gamma * squared distance), a stretch of vectors at a time. */
#define STRETCH 512
static void rbf_row(const svm_params *p, const float *x, float *out) {
    for (size_t from = 0; from < p->vector_count; from += STRETCH) {
        const size_t left = p->vector_count - from, count = left < STRETCH ? left : STRETCH;
        float *sum = out + from;
        for (size_t v = 0; v < count; v++) sum[v] = 0;
        for (size_t f = 0; f < p->features; f++) {
            const float *vectors = p->vectors + f * p->vector_count + from, own = x[f];
            for (size_t v = 0; v < count; v++) {
                const float difference = own - vectors[v];
                sum[v] += difference * difference;
            }
        }
        for (size_t v = 0; v < count; v++) sum[v] *= -p->gamma;
        sdx_f32_exp(sum, sum, count);
    }
}

/* From the product of a row with the vectors to the kernel. */
static void bend_row(const svm_params *p, float *row) {
    const size_t n = p->vector_count;
    for (size_t v = 0; v < n; v++) row[v] = row[v] * p->gamma + p->coef0;
    if (p->kernel == KERNEL_SIGMOID) {
        sdx_f32_tanh(row, row, n);
    } else if (p->degree == 2) {
        for (size_t v = 0; v < n; v++) row[v] *= row[v];
    } else if (p->degree == 3) {
        for (size_t v = 0; v < n; v++) row[v] *= row[v] * row[v];
    } else {
        for (size_t v = 0; v < n; v++) row[v] = powf(row[v], p->degree);
    }
}

static void kernel_rows(void *arg, size_t begin, size_t end) {
    const svm_job *job = arg;
    const svm_params *p = job->p;
    for (size_t row = begin; row < end; row++) {
        float *out = job->kernels + row * p->vector_count;
        if (p->kernel == KERNEL_RBF) rbf_row(p, job->x + row * p->features, out);
        else bend_row(p, out);
    }
}

static void compute_kernels(sdx_call *call, svm_job *job, size_t rows, void *scratch) {
    const svm_params *p = job->p;
    if (p->kernel != KERNEL_RBF) {
        const sdx_f32_matrix a = {job->x, p->features, 1}, b = {p->vectors, 1, p->features};
        sdx_f32_gemm_strided(call->host->pool, rows, p->vector_count, p->features, a, b,
                             job->kernels, p->vector_count, false, scratch);
    }
    const size_t work = p->vector_count * (p->kernel == KERNEL_RBF ? p->features + 8 : 8);
    if (p->kernel != KERNEL_LINEAR)
        sdx_call_parallel(call, rows, sdx_ml_grain(work), kernel_rows, job);
}

/* ---- what is made of them -------------------------------------------------------------------- */

static void regress_rows(void *arg, size_t begin, size_t end) {
    const svm_job *job = arg;
    const svm_params *p = job->p;
    for (size_t row = begin; row < end; row++) {
        const float *kernels = job->kernels + row * p->vector_count;
        double sum = p->linear ? (double)kernels[0] : 0;
        for (size_t v = 0; !p->linear && v < p->vector_count; v++)
            sum += (double)(p->coefficients[v] * kernels[v]);
        float score = (float)(sum + (double)p->rho[0]);
        if (p->one_class) score = score > 0 ? 1.0f : -1.0f;
        else sdx_ml_transform(p->post, &score, 1);
        if (job->out) ((float *)job->out->data)[job->first_row + row] = score;
    }
}

/* One against one: a score for each pair of classes, and a vote for the winner. */
static void vote(const svm_params *p, const float *kernels, float *scores, float *votes) {
    const size_t n = p->classes;
    size_t pair = 0, start_i = 0;
    for (size_t i = 0; i < n; i++) votes[i] = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t count_i = (size_t)p->per_class[i];
        size_t start_j = start_i + count_i;
        for (size_t j = i + 1; j < n; j++, pair++) {
            const size_t count_j = (size_t)p->per_class[j];
            const float *row_i = p->coefficients + (j - 1) * p->vector_count;
            const float *row_j = p->coefficients + i * p->vector_count;
            double sum = 0;
            for (size_t v = start_i; v < start_i + count_i; v++)
                sum += (double)(row_i[v] * kernels[v]);
            for (size_t v = start_j; v < start_j + count_j; v++)
                sum += (double)(row_j[v] * kernels[v]);
            sum += (double)p->rho[pair];
            scores[pair] = (float)sum;
            votes[sum > 0 ? i : j]++;
            start_j += count_j;
        }
        start_i += count_i;
    }
}

/* Class probabilities from those of the pairs: the second method of Wu, Lin and Weng (2004), whose
 * equations are solved by going round the classes. r[i*n+j]: that of i against j. */
static void couple(size_t n, const float *r, float *q, float *qp, float *out) {
    const float enough = 0.005f / (float)n;
    for (size_t i = 0; i < n; i++) {
        out[i] = 1 / (float)n;
        q[i * n + i] = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            q[i * n + i] += r[j * n + i] * r[j * n + i];
            q[i * n + j] = j < i ? q[j * n + i] : -r[j * n + i] * r[i * n + j];
        }
    }
    for (int round = 0; round < 100; round++) {
        float pqp = 0, worst = 0;
        for (size_t i = 0; i < n; i++) {
            qp[i] = 0;
            for (size_t j = 0; j < n; j++) qp[i] += q[i * n + j] * out[j];
            pqp += out[i] * qp[i];
        }
        for (size_t i = 0; i < n; i++)
            if (fabsf(qp[i] - pqp) > worst) worst = fabsf(qp[i] - pqp);
        if (worst < enough) return;
        for (size_t i = 0; i < n; i++) {
            const float step = (pqp - qp[i]) / q[i * n + i];
            out[i] += step;
            pqp = (pqp + step * (step * q[i * n + i] + 2 * qp[i])) / (1 + step) / (1 + step);
            for (size_t j = 0; j < n; j++) {
                qp[j] = (qp[j] + step * q[i * n + j]) / (1 + step);
                out[j] /= 1 + step;
            }
        }
    }
}

/* `room`: 2 n^2 + n floats. */
static void probabilities(const svm_params *p, const float *scores, float *room, float *out) {
    const size_t n = p->classes;
    const float least = 1e-7f;
    size_t pair = 0;
    float *r = room, *q = room + n * n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++, pair++) {
            float own = 1 - sdx_ml_logistic(scores[pair] * p->prob_a[pair] + p->prob_b[pair]);
            if (own < least) own = least;
            if (own > 1 - least) own = 1 - least;
            r[i * n + j] = own;
            r[j * n + i] = 1 - own;
        }
    couple(n, r, q, q + n * n, out);
}

static size_t index_of_largest(const float *values, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (values[i] > values[best]) best = i;
    return best;
}

static void classify_rows(void *arg, size_t begin, size_t end) {
    const svm_job *job = arg;
    const svm_params *p = job->p;
    const size_t width = score_count(p);
    for (size_t row = begin; row < end; row++) {
        const float *kernels = job->kernels + (job->begin + row) * p->vector_count;
        float *scores = (float *)(void *)(job->slots + row * job->slot);
        float *votes = scores + p->pairs, *room = votes + p->classes;
        const size_t at = job->first_row + job->begin + row;
        float *out = job->out ? (float *)job->out->data + at * width : NULL;
        if (p->linear) {
            for (size_t i = 0; i < p->classes; i++) votes[i] = kernels[i] + p->rho[0];
            sdx_ml_put_label(&p->labels, index_of_largest(votes, p->classes), job->labels,
                             at);
            if (out) memcpy(out, votes, width * sizeof *out);
        } else {
            vote(p, kernels, scores, votes);
            sdx_ml_put_label(&p->labels, index_of_largest(votes, p->classes), job->labels, at);
            if (out && p->prob_a) probabilities(p, scores, room, out);
            else if (out && p->classes > 2) memcpy(out, scores, width * sizeof *out);
        }
        if (!out) continue;
        if (!p->linear && !p->prob_a && p->classes == 2)
            sdx_ml_pair_scores(p->post, p->post == SDX_ML_NONE ? SDX_ML_NEGATE : SDX_ML_COMPLEMENT,
                               scores[0], out);
        else
            sdx_ml_transform(p->post, out, width);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

/* The rows of a block whose kernels are there. */
static void finish_block(sdx_call *call, svm_job *job, size_t rows, size_t slots) {
    const svm_params *p = job->p;
    const size_t grain = sdx_ml_grain((p->classes + 8) * p->vector_count);
    if (!p->classes) {
        sdx_call_parallel(call, rows, grain, regress_rows, job);
        return;
    }
    for (job->begin = 0; job->begin < rows; job->begin += slots) {
        const size_t left = rows - job->begin;
        sdx_call_parallel(call, left < slots ? left : slots, grain, classify_rows, job);
    }
}

static sdx_status svm_run(sdx_call *call) {
    const svm_params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0);
    const sdx_ml_rows shape = sdx_ml_rows_of(x);
    const bool classifier = p->classes > 0;
    const size_t room = sdx_ml_room(x);
    svm_job job = {.p = p, .labels = classifier ? sdx_out(call, 0) : NULL,
                   .out = sdx_out(call, classifier ? 1 : 0)};
    svm_sizes sizes;
    sdx_scratch scratch;
    if (shape.rows == 0) return SDX_STATUS_OK;
    if (!scratch_sizes(p, &sizes))
        return sdx_call_fail_with(call, SDX_STATUS_LIMIT, "the model is too large");
    SDX_TRY(sdx_call_scratch(call, room + total_size(&sizes), &scratch));
    const float *input = sdx_ml_as_float(x, scratch.data);
    job.kernels = (float *)(void *)((char *)scratch.data + room);
    job.slots = (char *)job.kernels + sizes.kernels;
    job.slot = sizes.slot;
    for (size_t row = 0; row < shape.rows; row += BLOCK) {
        const size_t left = shape.rows - row, count = left < BLOCK ? left : BLOCK;
        job.x = input + row * p->features;
        job.first_row = row;
        compute_kernels(call, &job, count, job.slots + sizes.slots * sizes.slot);
        finish_block(call, &job, count, sizes.slots);
    }
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_svm_classifier = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 2,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(svm_params),
    .prepare = classifier_prepare, .infer = svm_infer,
    .run = SDX_BODY(sdx_op_ml_svm_classifier, svm_run),
};

const sdx_op_def sdx_op_ml_svm_regressor = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(svm_params),
    .prepare = regressor_prepare, .infer = svm_infer,
    .run = SDX_BODY(sdx_op_ml_svm_regressor, svm_run),
};
