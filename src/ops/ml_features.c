/* ml_features.c - the operators of domain ai.onnx.ml that change features one by one or pick them:
 * ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, Normalizer, Scaler. */
#include <float.h>
#include <math.h>

#include "ops/elementwise.h"
#include "ops/ml.h"

#define GRAIN ((size_t)1 << 14) /* elements */

/* body for each of the four element types that these operators take. */
#define BY_TYPE(dtype, body)                                                                      \
    switch (dtype) {                                                                              \
    case SDX_DTYPE_FLOAT64: body(double); break;                                                  \
    case SDX_DTYPE_INT32: body(int32_t); break;                                                   \
    case SDX_DTYPE_INT64: body(int64_t); break;                                                   \
    default: body(float); break;                                                                  \
    }

/* Attribute `name` with `count` numbers has one, or one per feature, which the last axis counts. */
static sdx_status check_per_feature(sdx_infer *inf, const char *name, size_t count) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 1));
    if (count == 1 || rank < 1) return SDX_STATUS_OK;
    const sdx_expr features = sdx_infer_dim(inf, 0, rank - 1);
    if (sdx_expr_is_const(features) && sdx_expr_value(features) != (int64_t)count)
        return sdx_infer_fail(inf, "attribute '%s' has %zu numbers for %lld features", name, count,
                              (long long)sdx_expr_value(features));
    return sdx_infer_require_equal(inf, features, sdx_expr_const((int64_t)count),
                                   "number of features and of attribute values");
}

/* Element i of a list of one, or of one per feature, is list[step * feature]: step is 0 or 1. The
 * elements [begin, end) are walked as stretches of whole rows, so that nothing is divided. */
typedef struct stretch {
    size_t at, count;   /* elements */
    size_t feature;     /* of the first */
} stretch;

static stretch next_stretch(size_t at, size_t end, size_t width) {
    stretch s = {.at = at, .feature = at % width};
    s.count = width - s.feature < end - at ? width - s.feature : end - at;
    return s;
}

/* ---- ArrayFeatureExtractor ------------------------------------------------------------------- */

static sdx_status extract_infer(sdx_infer *inf) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr dims[SDX_MAX_RANK];
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 1));
    if (rank < 0) return SDX_STATUS_OK;
    const int32_t out_rank = rank == 1 ? 2 : rank;
    dims[0] = sdx_expr_const(1); /* a single row stays a row */
    for (int32_t i = 0; i < rank - 1; i++) dims[i] = sdx_infer_dim(inf, 0, i);
    dims[out_rank - 1] = sdx_infer_product(inf, 1, 0, sdx_infer_rank(inf, 1));
    return sdx_infer_set_shape(inf, 0, out_rank, dims);
}

typedef struct extract_job {
    const char *x;
    char *z;
    const int64_t *index;
    size_t features, picked, size;
} extract_job;

#define EXTRACT(type)                                                                             \
    do {                                                                                          \
        const type *from = (const void *)(job->x + row * job->features * sizeof(type));           \
        type *to = (void *)(job->z + row * job->picked * sizeof(type));                           \
        for (size_t j = 0; j < job->picked; j++) to[j] = from[job->index[j]];                     \
    } while (0)

static void extract_rows(void *arg, size_t begin, size_t end) {
    const extract_job *job = arg;
    for (size_t row = begin; row < end; row++) {
        switch (job->size) {
        case sizeof(uint32_t): EXTRACT(uint32_t); break;
        case sizeof(uint64_t): EXTRACT(uint64_t); break;
        default: EXTRACT(sdx_string); break;
        }
    }
}

static sdx_status extract_run(sdx_call *call) {
    const sdx_tensor *x = sdx_in(call, 0), *y = sdx_in(call, 1);
    sdx_tensor *z = sdx_out(call, 0);
    extract_job job = {.x = x->data, .z = z->data, .index = y->data, .picked = y->count,
                       .features = (size_t)x->dims[x->rank - 1],
                       .size = sdx_dtype_size(x->dtype)};
    for (size_t i = 0; i < y->count; i++)
        if (job.index[i] < 0 || (uint64_t)job.index[i] >= job.features)
            return sdx_call_fail(call, "index %zu is %lld; there are %zu features", i,
                                 (long long)job.index[i], job.features);
    if (z->count && y->count)
        sdx_call_parallel(call, z->count / job.picked, sdx_ml_grain(job.picked), extract_rows,
                          &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_array_feature_extractor = {
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_ML | SDX_T(STRING), SDX_T(INT64)},
    .infer = extract_infer, .run = SDX_BODY(sdx_op_ml_array_feature_extractor, extract_run),
};

/* ---- Binarizer ------------------------------------------------------------------------------- */

typedef struct binarize_params {
    float threshold;
} binarize_params;

static sdx_status binarize_prepare(sdx_prep *prep) {
    binarize_params *p = prep->params;
    return sdx_attr_get_float(prep, "threshold", 0, &p->threshold);
}

static sdx_status same_infer(sdx_infer *inf) { return sdx_infer_copy(inf, 0, 0, false); }

typedef struct element_job {
    sdx_dtype dtype;
    const void *in;
    void *out;
    const void *params;
    size_t width; /* features */
} element_job;

#define BINARIZE(type)                                                                            \
    for (size_t i = begin; i < end; i++)                                                          \
        ((type *)job->out)[i] = (double)((const type *)job->in)[i] > threshold

static void binarize_body(void *arg, size_t begin, size_t end) {
    const element_job *job = arg;
    const double threshold = ((const binarize_params *)job->params)->threshold;
    BY_TYPE(job->dtype, BINARIZE)
}

static void run_elements(sdx_call *call, sdx_loop_body body) {
    const sdx_tensor *x = sdx_in(call, 0);
    element_job job = {.dtype = x->dtype, .in = x->data, .out = sdx_out(call, 0)->data,
                       .params = call->params,
                       .width = x->rank ? (size_t)x->dims[x->rank - 1] : 1};
    if (x->count) sdx_call_parallel(call, x->count, GRAIN, body, &job);
}

static sdx_status binarize_run(sdx_call *call) {
    run_elements(call, binarize_body);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_binarizer = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_IN_PLACE_FIRST,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(binarize_params),
    .prepare = binarize_prepare, .infer = same_infer,
    .run = SDX_BODY(sdx_op_ml_binarizer, binarize_run),
};

/* ---- Imputer --------------------------------------------------------------------------------- */

typedef struct impute_params {
    const float *floats;
    const int64_t *ints;
    size_t count; /* of those given */
    float replaced_float;
    int64_t replaced_int;
} impute_params;

static sdx_status impute_prepare(sdx_prep *prep) {
    impute_params *p = prep->params;
    size_t floats, ints;
    SDX_TRY(sdx_attr_get_floats(prep, "imputed_value_floats", &p->floats, &floats));
    SDX_TRY(sdx_attr_get_ints(prep, "imputed_value_int64s", &p->ints, &ints));
    SDX_TRY(sdx_attr_get_float(prep, "replaced_value_float", 0, &p->replaced_float));
    SDX_TRY(sdx_attr_get_int(prep, "replaced_value_int64", 0, &p->replaced_int));
    if ((floats > 0) == (ints > 0))
        return sdx_prep_fail(prep, "one of imputed_value_floats and imputed_value_int64s must be "
                                   "given, and not both");
    if (!floats) p->floats = NULL;
    p->count = floats + ints;
    return SDX_STATUS_OK;
}

static sdx_status impute_infer(sdx_infer *inf) {
    const impute_params *p = inf->params;
    const sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    const bool is_float = sdx_dtypes_has(SDX_T_FLOATS, dtype);
    if (dtype && is_float != (p->floats != NULL))
        return sdx_infer_fail(inf, "the input is %s, which needs %s", sdx_dtype_name(dtype),
                              is_float ? "imputed_value_floats" : "imputed_value_int64s");
    for (size_t i = 0; dtype == SDX_DTYPE_INT32 && i < p->count; i++)
        if (p->ints[i] != (int32_t)p->ints[i])
            return sdx_infer_fail(inf, "imputed_value_int64s[%zu] is %lld, the input is int32", i,
                                  (long long)p->ints[i]);
    SDX_TRY(check_per_feature(inf, p->floats ? "imputed_value_floats" : "imputed_value_int64s",
                              p->count));
    return sdx_infer_copy(inf, 0, 0, false);
}

/* x itself, or the value that stands for it. */
#define IMPUTE(type, values, missing)                                                             \
    for (size_t i = 0; i < s.count; i++) {                                                        \
        const type x = ((const type *)job->in)[s.at + i];                                         \
        ((type *)job->out)[s.at + i] =                                                            \
            (missing) ? (type)(values)[step * (s.feature + i)] : x;                               \
    }
#define IMPUTE_FLOAT(type)                                                                        \
    IMPUTE(type, p->floats,                                                               \
           (double)x == (double)p->replaced_float || (nan_replaced && isnan(x)))
#define IMPUTE_INT(type) IMPUTE(type, p->ints, x == p->replaced_int)

static void impute_body(void *arg, size_t begin, size_t end) {
    const element_job *job = arg;
    const impute_params *p = job->params;
    const bool nan_replaced = isnan(p->replaced_float);
    const size_t step = p->count > 1;
    for (size_t at = begin; at < end;) {
        const stretch s = next_stretch(at, end, job->width);
        switch (job->dtype) {
        case SDX_DTYPE_FLOAT64: IMPUTE_FLOAT(double); break;
        case SDX_DTYPE_INT32: IMPUTE_INT(int32_t); break;
        case SDX_DTYPE_INT64: IMPUTE_INT(int64_t); break;
        default: IMPUTE_FLOAT(float); break;
        }
        at += s.count;
    }
}

static sdx_status impute_run(sdx_call *call) {
    run_elements(call, impute_body);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_imputer = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_IN_PLACE_FIRST,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(impute_params),
    .prepare = impute_prepare, .infer = impute_infer,
    .run = SDX_BODY(sdx_op_ml_imputer, impute_run),
};

/* ---- Scaler ---------------------------------------------------------------------------------- */

typedef struct scale_params {
    const float *scale, *offset;
    size_t scale_count, offset_count;
} scale_params;

static sdx_status scale_prepare(sdx_prep *prep) {
    static const float one = 1, zero = 0; /* what an absent attribute stands for */
    scale_params *p = prep->params;
    SDX_TRY(sdx_attr_get_floats(prep, "scale", &p->scale, &p->scale_count));
    SDX_TRY(sdx_attr_get_floats(prep, "offset", &p->offset, &p->offset_count));
    if (!p->scale_count) {
        p->scale = &one;
        p->scale_count = 1;
    }
    if (!p->offset_count) {
        p->offset = &zero;
        p->offset_count = 1;
    }
    return SDX_STATUS_OK;
}

static sdx_status scale_infer(sdx_infer *inf) {
    const scale_params *p = inf->params;
    SDX_TRY(check_per_feature(inf, "scale", p->scale_count));
    SDX_TRY(check_per_feature(inf, "offset", p->offset_count));
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    return SDX_STATUS_OK;
}

/* Computed in float64 for a float64 input, in float32 for all others. */
#define SCALE(type, real)                                                                         \
    for (size_t i = 0; i < s.count; i++) {                                                        \
        const real offset = p->offset[offset_step * (s.feature + i)];                             \
        const real scale = p->scale[scale_step * (s.feature + i)];                                \
        out[s.at + i] = (float)(((real)((const type *)job->in)[s.at + i] - offset) * scale);      \
    }

static void scale_body(void *arg, size_t begin, size_t end) {
    const element_job *job = arg;
    const scale_params *p = job->params;
    const size_t scale_step = p->scale_count > 1, offset_step = p->offset_count > 1;
    float *out = job->out;
    for (size_t at = begin; at < end;) {
        const stretch s = next_stretch(at, end, job->width);
        switch (job->dtype) {
        case SDX_DTYPE_FLOAT64: SCALE(double, double); break;
        case SDX_DTYPE_INT32: SCALE(int32_t, float); break;
        case SDX_DTYPE_INT64: SCALE(int64_t, float); break;
        default: SCALE(float, float); break;
        }
        at += s.count;
    }
}

static sdx_status scale_run(sdx_call *call) {
    run_elements(call, scale_body);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_scaler = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_IN_PLACE_FIRST,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(scale_params),
    .prepare = scale_prepare, .infer = scale_infer, .run = SDX_BODY(sdx_op_ml_scaler, scale_run),
};

/* ---- Normalizer ------------------------------------------------------------------------------ */

enum { NORM_MAX, NORM_L1, NORM_L2 };

typedef struct normalize_params {
    int norm;
} normalize_params;

static sdx_status normalize_prepare(sdx_prep *prep) {
    static const char *const words[] = {"MAX", "L1", "L2", NULL};
    normalize_params *p = prep->params;
    return sdx_attr_get_choice(prep, "norm", NORM_MAX, words, &p->norm);
}

static sdx_status normalize_infer(sdx_infer *inf) {
    sdx_expr rows, features;
    SDX_TRY(sdx_ml_infer_rows(inf, 0, &rows, &features));
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    return SDX_STATUS_OK;
}

static void normalize_row(int norm, float *row, size_t count) {
    float most = -FLT_MAX, sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (norm == NORM_MAX) most = row[i] > most ? row[i] : most;
        else sum += norm == NORM_L1 ? fabsf(row[i]) : row[i] * row[i];
    }
    const float divisor = norm == NORM_MAX ? most : sum;
    if (divisor == 0) return;
    if (norm != NORM_L2)
        for (size_t i = 0; i < count; i++) row[i] /= divisor;
    else
        for (size_t i = 0; i < count; i++)
            row[i] = copysignf(sqrtf(row[i] * row[i] / divisor), row[i]);
}

static void normalize_rows(void *arg, size_t begin, size_t end) {
    const element_job *job = arg;
    const size_t size = sdx_dtype_size(job->dtype), width = job->width;
    const normalize_params *p = job->params;
    for (size_t row = begin; row < end; row++) {
        const char *in = (const char *)job->in + row * width * size;
        float *out = (float *)job->out + row * width;
        if ((const void *)in != (const void *)out)
            sdx_convert(job->dtype, SDX_DTYPE_FLOAT32, in, out, width);
        normalize_row(p->norm, out, width);
    }
}

static sdx_status normalize_run(sdx_call *call) {
    const sdx_tensor *x = sdx_in(call, 0);
    const sdx_ml_rows shape = sdx_ml_rows_of(x);
    element_job job = {.dtype = x->dtype, .in = x->data, .out = sdx_out(call, 0)->data,
                       .params = call->params, .width = shape.features};
    if (x->count)
        sdx_call_parallel(call, shape.rows, sdx_ml_grain(3 * shape.features), normalize_rows,
                          &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_normalizer = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_IN_PLACE_FIRST,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(normalize_params),
    .prepare = normalize_prepare, .infer = normalize_infer,
    .run = SDX_BODY(sdx_op_ml_normalizer, normalize_run),
};

/* ---- FeatureVectorizer ----------------------------------------------------------------------- */

typedef struct vectorize_params {
    const int64_t *widths; /* per input; NULL: each as wide as it is */
} vectorize_params;

static sdx_status vectorize_prepare(sdx_prep *prep) {
    vectorize_params *p = prep->params;
    size_t count;
    int64_t total = 0;
    SDX_TRY(sdx_attr_get_ints(prep, "inputdimensions", &p->widths, &count));
    if (!count) p->widths = NULL;
    if (count && count != prep->node->input_count)
        return sdx_prep_fail(prep, "inputdimensions has %zu entries for %u inputs", count,
                             prep->node->input_count);
    for (size_t i = 0; i < count; i++)
        if (p->widths[i] < 0 || !sdx_i64_add(total, p->widths[i], &total) ||
            total >= SDX_EXPR_MAX)
            return sdx_prep_fail(prep, "inputdimensions[%zu] is %lld", i, (long long)p->widths[i]);
    for (uint32_t i = 0; i < prep->node->input_count; i++)
        if (prep->node->inputs[i] == SDX_NONE) return sdx_prep_fail(prep, "input %u is missing", i);
    return SDX_STATUS_OK;
}

static sdx_status vectorize_infer(sdx_infer *inf) {
    const vectorize_params *p = inf->params;
    sdx_expr rows = SDX_EXPR_UNKNOWN, total = sdx_expr_const(0);
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    for (uint32_t i = 0; i < inf->in_count; i++) {
        const int32_t rank = sdx_infer_rank(inf, i);
        SDX_TRY(sdx_infer_require_min_rank(inf, i, 1));
        const sdx_expr own = rank == 1 ? sdx_expr_const(1) : sdx_infer_dim(inf, i, 0);
        SDX_TRY(sdx_infer_require_equal(inf, rows, own, "rows of the inputs"));
        if (sdx_expr_is_unknown(rows)) rows = own;
        const sdx_expr width = p->widths   ? sdx_expr_const(p->widths[i])
                               : rank == 1 ? sdx_infer_dim(inf, i, 0)
                                           : sdx_infer_product(inf, i, 1, rank);
        total = sdx_inf_add(inf, total, width);
    }
    const sdx_expr dims[2] = {rows, total};
    return sdx_infer_set_shape(inf, 0, 2, dims);
}

typedef struct vectorize_job {
    const sdx_call *call;
    const int64_t *widths;
    float *out;
    size_t width, rows;
} vectorize_job;

static void vectorize_rows(void *arg, size_t begin, size_t end) {
    const vectorize_job *job = arg;
    size_t column = 0;
    for (uint32_t i = 0; i < job->call->in_count; i++) {
        const sdx_tensor *x = sdx_in(job->call, i);
        const size_t own = x->count / job->rows, size = sdx_dtype_size(x->dtype);
        const size_t width = job->widths ? (size_t)job->widths[i] : own;
        const size_t used = own < width ? own : width; /* too much is cut, too little filled up */
        for (size_t row = begin; row < end; row++) {
            float *out = job->out + row * job->width + column;
            if (used)
                sdx_convert(x->dtype, SDX_DTYPE_FLOAT32, (const char *)x->data + row * own * size,
                            out, used);
            for (size_t k = used; k < width; k++) out[k] = 0;
        }
        column += width;
    }
}

static sdx_status vectorize_run(sdx_call *call) {
    const vectorize_params *p = call->params;
    sdx_tensor *y = sdx_out(call, 0);
    vectorize_job job = {.call = call, .widths = p->widths, .out = y->data,
                         .rows = (size_t)y->dims[0], .width = (size_t)y->dims[1]};
    if (y->count)
        sdx_call_parallel(call, job.rows, sdx_ml_grain(2 * job.width), vectorize_rows, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_ml_feature_vectorizer = {
    .min_in = 1, .max_in = SDX_VARIADIC, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_ML},
    .params_size = sizeof(vectorize_params),
    .prepare = vectorize_prepare, .infer = vectorize_infer,
    .run = SDX_BODY(sdx_op_ml_feature_vectorizer, vectorize_run),
};
