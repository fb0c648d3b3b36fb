/* random_choice.c - random numbers that depend on data: Bernoulli (one draw per probability) and
 * Multinomial (draws from the classes of a row). */
#include <math.h>

#include "ops/movement.h"
#include "ops/random.h"

#define GRAIN 8192

/* ---- Bernoulli ------------------------------------------------------------------------------ */

typedef struct bernoulli_params {
    sdx_dtype dtype; /* UNDEFINED: that of the input */
    sdx_seed seed;
} bernoulli_params;

static sdx_status bernoulli_prepare(sdx_prep *prep) {
    bernoulli_params *p = prep->params;
    SDX_TRY(sdx_seed_prepare(prep, &p->seed));
    SDX_TRY(sdx_attr_get_dtype(prep, "dtype", SDX_DTYPE_UNDEFINED, &p->dtype));
    if (p->dtype && !sdx_dtypes_has(SDX_T_NUMERIC | SDX_T(BOOL), p->dtype))
        return sdx_prep_unsupported(prep, "results of type %s", sdx_dtype_name(p->dtype));
    return SDX_STATUS_OK;
}

static sdx_status bernoulli_infer(sdx_infer *inf) {
    const bernoulli_params *p = inf->params;
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    sdx_infer_set_dtype(inf, 0, p->dtype ? p->dtype : sdx_infer_dtype(inf, 0));
    return SDX_STATUS_OK;
}

typedef struct bernoulli_job {
    const sdx_tensor *in;
    sdx_tensor *out;
    uint64_t key;
} bernoulli_job;

static void bernoulli_draw(void *arg, size_t begin, size_t end) {
    const bernoulli_job *job = arg;
    const size_t size = sdx_dtype_size(job->out->dtype);
    unsigned char value[2][SDX_MAX_UNIT];
    sdx_move_zero(job->out->dtype, value[0]);
    sdx_move_one(job->out->dtype, value[1]);
    for (size_t i = begin; i < end; i++) {
        const bool hit = sdx_random_unit(job->key, i) < sdx_tensor_double(job->in, i);
        memcpy((char *)job->out->data + i * size, value[hit], size);
    }
}

static sdx_status bernoulli_run(sdx_call *call) {
    const bernoulli_params *p = call->params;
    bernoulli_job job = {.in = sdx_in(call, 0), .out = sdx_out(call, 0),
                         .key = sdx_seed_key(call, &p->seed)};
    sdx_call_parallel(call, job.out->count, GRAIN, bernoulli_draw, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_bernoulli = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_RANDOM,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(bernoulli_params),
    .prepare = bernoulli_prepare, .infer = bernoulli_infer,
    .run = SDX_BODY(sdx_op_bernoulli, bernoulli_run),
};

/* ---- Multinomial ---------------------------------------------------------------------------- */

typedef struct multinomial_params {
    sdx_dtype dtype;
    sdx_seed seed;
    int64_t samples;
} multinomial_params;

static sdx_status multinomial_prepare(sdx_prep *prep) {
    multinomial_params *p = prep->params;
    SDX_TRY(sdx_seed_prepare(prep, &p->seed));
    SDX_TRY(sdx_attr_get_dtype(prep, "dtype", SDX_DTYPE_INT32, &p->dtype));
    SDX_TRY(sdx_attr_get_int(prep, "sample_size", 1, &p->samples));
    if (!sdx_dtypes_has(SDX_T_INDEX, p->dtype))
        return sdx_prep_unsupported(prep, "class numbers of type %s; int32 and int64 are known",
                                    sdx_dtype_name(p->dtype));
    if (p->samples < 0 || p->samples >= SDX_EXPR_MAX)
        return sdx_prep_fail(prep, "sample_size is %lld", (long long)p->samples);
    return SDX_STATUS_OK;
}

static sdx_status multinomial_infer(sdx_infer *inf) {
    const multinomial_params *p = inf->params;
    SDX_TRY(sdx_infer_require_rank(inf, 0, 2));
    const sdx_expr dims[2] = {sdx_infer_dim(inf, 0, 0), sdx_expr_const(p->samples)};
    sdx_infer_set_dtype(inf, 0, p->dtype);
    inf->scratch = sdx_inf_mul(inf, sdx_infer_dim(inf, 0, 1), sdx_expr_const(sizeof(double)));
    return sdx_infer_set_shape(inf, 0, 2, dims);
}

/* Sums of the probabilities up to and with each class, times an unknown factor: the input holds
 * logarithms, and the largest is taken off so that none overflows. Returns the whole sum. */
static double add_up(const sdx_tensor *in, size_t row, size_t classes, double *sums) {
    double largest = -INFINITY, sum = 0;
    for (size_t c = 0; c < classes; c++)
        largest = fmax(largest, sdx_tensor_double(in, row * classes + c));
    for (size_t c = 0; c < classes; c++) {
        const double chance = exp(sdx_tensor_double(in, row * classes + c) - largest);
        sums[c] = sum += chance > 0 ? chance : 0; /* a class of NaN is never drawn */
    }
    return sum;
}

/* First class whose sum exceeds the target. */
static size_t find_class(const double *sums, size_t classes, double target) {
    size_t low = 0, high = classes - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sums[middle] > target) high = middle;
        else low = middle + 1;
    }
    return low;
}

static sdx_status multinomial_run(sdx_call *call) {
    const multinomial_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    const size_t rows = (size_t)out->dims[0], samples = (size_t)out->dims[1];
    const size_t classes = (size_t)in->dims[1];
    const uint64_t key = sdx_seed_key(call, &p->seed);
    double *sums = call->scratch;
    for (size_t row = 0; out->count && row < rows; row++) {
        const double whole = classes ? add_up(in, row, classes, sums) : 0;
        if (!(whole > 0 && isfinite(whole)))
            return sdx_call_fail(call, "no class of row %zu can be drawn", row);
        for (size_t s = 0; s < samples; s++) {
            const uint64_t at = row * samples + s;
            const size_t found = find_class(sums, classes, sdx_random_unit(key, at) * whole);
            if (out->dtype == SDX_DTYPE_INT64) ((int64_t *)out->data)[at] = (int64_t)found;
            else ((int32_t *)out->data)[at] = (int32_t)found;
        }
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_multinomial = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_RANDOM,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(multinomial_params),
    .prepare = multinomial_prepare, .infer = multinomial_infer,
    .run = SDX_BODY(sdx_op_multinomial, multinomial_run),
};
