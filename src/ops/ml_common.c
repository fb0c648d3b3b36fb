/* ml_common.c - rows, labels and scores for the operators of domain ai.onnx.ml; see ml.h. */
#include <float.h>
#include <math.h>

#include "ops/elementwise.h"
#include "ops/ml.h"

/* ---- rows ------------------------------------------------------------------------------------ */

sdx_status sdx_ml_infer_rows(sdx_infer *inf, uint32_t i, sdx_expr *rows, sdx_expr *features) {
    const int32_t rank = sdx_infer_rank(inf, i);
    *rows = *features = SDX_EXPR_UNKNOWN;
    if (rank < 0) return SDX_STATUS_OK;
    if (rank != 1 && rank != 2)
        return sdx_infer_fail(inf, "input %u has rank %d, expected [N,F] or [F]", i, rank);
    *rows = rank == 1 ? sdx_expr_const(1) : sdx_infer_dim(inf, i, 0);
    *features = sdx_infer_dim(inf, i, rank - 1);
    return SDX_STATUS_OK;
}

sdx_ml_rows sdx_ml_rows_of(const sdx_tensor *x) {
    return (sdx_ml_rows){.rows = x->rank == 1 ? 1 : (size_t)x->dims[0],
                         .features = (size_t)x->dims[x->rank - 1]};
}

const float *sdx_ml_as_float(const sdx_tensor *x, float *room) {
    if (x->dtype == SDX_DTYPE_FLOAT32) return x->data;
    if (x->count) sdx_convert(x->dtype, SDX_DTYPE_FLOAT32, x->data, room, x->count);
    return room;
}

sdx_expr sdx_ml_infer_room(sdx_infer *inf, uint32_t i) {
    if (sdx_infer_dtype(inf, i) == SDX_DTYPE_FLOAT32) return sdx_expr_const(0);
    const sdx_expr count = sdx_infer_product(inf, i, 0, sdx_infer_rank(inf, i));
    const sdx_expr bytes = sdx_inf_mul(inf, count, sdx_expr_const((int64_t)sizeof(float)));
    return sdx_inf_add(inf, bytes, sdx_expr_const(SDX_CACHE_LINE));
}

size_t sdx_ml_room(const sdx_tensor *x) {
    if (x->dtype == SDX_DTYPE_FLOAT32) return 0;
    return (x->count * sizeof(float) + SDX_CACHE_LINE - 1) / SDX_CACHE_LINE * SDX_CACHE_LINE;
}

#define PIECE_WORK ((size_t)1 << 15)

size_t sdx_ml_grain(size_t work) { return work < PIECE_WORK ? PIECE_WORK / (work ? work : 1) : 1; }

/* ---- labels ---------------------------------------------------------------------------------- */

sdx_status sdx_ml_read_labels(sdx_prep *prep, const char *numbers, const char *strings,
                              sdx_ml_labels *out) {
    size_t number_count, string_count;
    SDX_TRY(sdx_attr_get_ints(prep, numbers, &out->numbers, &number_count));
    SDX_TRY(sdx_attr_get_strings(prep, strings, &out->strings, &string_count));
    if (number_count && string_count)
        return sdx_prep_fail(prep, "both '%s' and '%s' are given, expected one of them", numbers,
                             strings);
    if (!number_count) out->numbers = NULL;
    if (!string_count) out->strings = NULL;
    out->count = number_count + string_count;
    return SDX_STATUS_OK;
}

void sdx_ml_put_label(const sdx_ml_labels *labels, size_t index, sdx_tensor *out, size_t row) {
    if (!out) return;
    if (labels->strings) ((sdx_string *)out->data)[row] = labels->strings[index];
    else ((int64_t *)out->data)[row] = labels->numbers[index];
}

/* ---- scores ---------------------------------------------------------------------------------- */

sdx_status sdx_ml_read_post(sdx_prep *prep, int *out) {
    static const char *const words[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT",
                                        NULL};
    return sdx_attr_get_choice(prep, "post_transform", SDX_ML_NONE, words, out);
}

/* The quantile of the normal distribution, by the approximation of the inverse error function that
 * Winitzki gave: it is the one that models were made for. Near 1/2 its terms cancel, hence double. */
static double probit(double value) {
    const double a = 0.147, pi = 3.14159265358979323846, root2 = 1.41421356237309504880;
    const double x = 2 * value - 1;
    const double log_term = log((1 - x) * (1 + x));
    const double first = 2 / (pi * a) + 0.5 * log_term;
    const double root = sqrt(sqrt(first * first - log_term / a) - first);
    return root2 * (x < 0 ? -root : root);
}

/* With keep_zeros, scores of (nearly) zero stay out of the sum and only shrink with the rest. */
#define DEFINE_TRANSFORM(real, lowest, exponential, magnitude, logistic, softmax, transform)      \
    real logistic(real value) {                                                                   \
        const real high = 1 / (1 + exponential(-magnitude(value)));                               \
        return value < 0 ? 1 - high : high;                                                       \
    }                                                                                             \
    static void softmax(real *scores, size_t count, bool keep_zeros) {                            \
        const real nearly = (real)1e-7;                                                           \
        real sum = 0, most = lowest;                                                              \
        for (size_t i = 0; i < count; i++)                                                        \
            if (scores[i] > most) most = scores[i];                                               \
        for (size_t i = 0; i < count; i++) {                                                      \
            if (keep_zeros && magnitude(scores[i]) <= nearly) {                                   \
                scores[i] *= exponential(-most);                                                  \
                continue;                                                                         \
            }                                                                                     \
            scores[i] = exponential(scores[i] - most);                                            \
            sum += scores[i];                                                                     \
        }                                                                                         \
        for (size_t i = 0; i < count; i++) scores[i] /= sum;                                      \
    }                                                                                             \
    void transform(int post, real *scores, size_t count) {                                        \
        if (post == SDX_ML_SOFTMAX || post == SDX_ML_SOFTMAX_ZERO)                                \
            softmax(scores, count, post == SDX_ML_SOFTMAX_ZERO);                                  \
        for (size_t i = 0; post == SDX_ML_LOGISTIC && i < count; i++)                             \
            scores[i] = logistic(scores[i]);                                                      \
        for (size_t i = 0; post == SDX_ML_PROBIT && i < count; i++)                               \
            scores[i] = (real)probit((double)scores[i]);                                          \
    }
DEFINE_TRANSFORM(float, -FLT_MAX, expf, fabsf, sdx_ml_logistic, softmax_narrow, sdx_ml_transform)
static double logistic_wide(double value);
DEFINE_TRANSFORM(double, -DBL_MAX, exp, fabs, logistic_wide, softmax_wide, sdx_ml_transform_wide)

void sdx_ml_pair_scores(int post, sdx_ml_pair pair, float score, float out[2]) {
    if (post == SDX_ML_PROBIT) {
        out[0] = (float)probit((double)score);
        out[1] = 0;
    } else if (post == SDX_ML_LOGISTIC) {
        out[0] = sdx_ml_logistic(-score);
        out[1] = sdx_ml_logistic(score);
    } else {
        out[0] = pair == SDX_ML_NEGATE ? -score : 1 - score;
        out[1] = score;
    }
}
