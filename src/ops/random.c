/* random.c - RandomUniform, RandomNormal and their -Like forms: one body over two distributions. */
#include "ops/random.h"

#include <math.h>

#define GRAIN 4096 /* pairs of numbers worth a thread */
#define TWO_PI 6.283185307179586476925286766559

sdx_status sdx_seed_prepare(sdx_prep *prep, sdx_seed *out) {
    out->given = sdx_attr_has(prep, "seed");
    return sdx_attr_get_float(prep, "seed", 0, &out->value);
}

uint64_t sdx_seed_key(const sdx_call *call, const sdx_seed *seed) {
    uint32_t bits;
    /* The first output's id stands for the node: no other has it. */
    if (!seed->given) return call->host->random_seed(call->host, call->node->outputs[0]);
    memcpy(&bits, &seed->value, sizeof bits);
    return sdx_random_mix(bits ^ 0x5a12d07e00000000u);
}

/* ---- distributions -------------------------------------------------------------------------- */

typedef struct random_params {
    sdx_dtype dtype; /* UNDEFINED: that of the input */
    sdx_seed seed;
    float a, b; /* low and high; mean and scale */
    const int64_t *dims; /* NULL: those of the input */
    size_t rank;
} random_params;

/* Numbers 2i and 2i + 1 of the stream. */
typedef void (*draw_pair)(const random_params *p, uint64_t key, uint64_t i, double out[2]);

static void uniform_pair(const random_params *p, uint64_t key, uint64_t i, double out[2]) {
    const double width = (double)p->b - (double)p->a;
    out[0] = (double)p->a + sdx_random_unit(key, 2 * i) * width;
    out[1] = (double)p->a + sdx_random_unit(key, 2 * i + 1) * width;
}

/* Box and Muller: a point of the plane by its angle and its distance from the middle. */
static void normal_pair(const random_params *p, uint64_t key, uint64_t i, double out[2]) {
    const double distance = sqrt(-2 * log(1 - sdx_random_unit(key, 2 * i))); /* log of (0, 1] */
    const double angle = TWO_PI * sdx_random_unit(key, 2 * i + 1);
    out[0] = (double)p->a + (double)p->b * distance * cos(angle);
    out[1] = (double)p->a + (double)p->b * distance * sin(angle);
}

typedef struct distribution {
    const char *first, *second; /* attributes, and what they are when absent */
    float first_default, second_default;
    draw_pair draw;
    bool bounded; /* the second is a bound that is not reached */
} distribution;

static const distribution uniform = {"low", "high", 0, 1, uniform_pair, true};
static const distribution normal = {"mean", "scale", 0, 1, normal_pair, false};

/* ---- the operators -------------------------------------------------------------------------- */

static sdx_status random_prepare(sdx_prep *prep) {
    random_params *p = prep->params;
    const distribution *d = prep->def->aux;
    const bool like = prep->def->max_in > 0;
    SDX_TRY(sdx_attr_get_float(prep, d->first, d->first_default, &p->a));
    SDX_TRY(sdx_attr_get_float(prep, d->second, d->second_default, &p->b));
    SDX_TRY(sdx_seed_prepare(prep, &p->seed));
    SDX_TRY(sdx_attr_get_dtype(prep, "dtype", like ? SDX_DTYPE_UNDEFINED : SDX_DTYPE_FLOAT32,
                               &p->dtype));
    if (p->dtype && !sdx_dtypes_has(SDX_T_FLOATS, p->dtype))
        return sdx_prep_unsupported(prep, "random numbers of type %s", sdx_dtype_name(p->dtype));
    if (like) return SDX_STATUS_OK;
    if (!sdx_attr_has(prep, "shape")) return sdx_prep_fail(prep, "attribute 'shape' is missing");
    SDX_TRY(sdx_attr_get_ints(prep, "shape", &p->dims, &p->rank));
    if (p->rank > SDX_MAX_RANK)
        return sdx_prep_unsupported(prep, "a shape of rank %zu; at most %d is supported", p->rank,
                                    SDX_MAX_RANK);
    for (size_t i = 0; i < p->rank; i++)
        if (p->dims[i] < 0 || p->dims[i] >= SDX_EXPR_MAX)
            return sdx_prep_fail(prep, "shape[%zu] is %lld", i, (long long)p->dims[i]);
    return SDX_STATUS_OK;
}

static sdx_status random_infer(sdx_infer *inf) {
    const random_params *p = inf->params;
    sdx_expr dims[SDX_MAX_RANK];
    if (inf->def->max_in > 0) {
        const sdx_dtype dtype = p->dtype ? p->dtype : sdx_infer_dtype(inf, 0);
        if (dtype && !sdx_dtypes_has(SDX_T_FLOATS, dtype))
            return sdx_infer_fail(inf, "without attribute 'dtype' the random numbers would be %s",
                                  sdx_dtype_name(dtype));
        SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
        sdx_infer_set_dtype(inf, 0, dtype);
        return SDX_STATUS_OK;
    }
    for (size_t i = 0; i < p->rank; i++) dims[i] = sdx_expr_const(p->dims[i]);
    sdx_infer_set_dtype(inf, 0, p->dtype);
    return sdx_infer_set_shape(inf, 0, (int32_t)p->rank, dims);
}

typedef struct random_job {
    const random_params *p;
    const distribution *d;
    uint64_t key;
    sdx_tensor *out;
} random_job;

/* Rounding may reach the upper bound of a uniform distribution, which is not part of it: then the
 * next number below is taken. In both 16-bit formats that is the neighbour by its bits. */
static void stay_below(const random_job *job, void *elements, size_t count) {
    const float high = job->p->b;
    if (!job->d->bounded || !(job->p->a < high)) return;
    for (size_t i = 0; i < count; i++) {
        float value;
        if (job->out->dtype == SDX_DTYPE_FLOAT64) {
            double *at = (double *)elements + i;
            if (*at >= (double)high) *at = nextafter((double)high, -INFINITY);
            continue;
        }
        if (job->out->dtype == SDX_DTYPE_FLOAT32) {
            float *at = (float *)elements + i;
            if (*at >= high) *at = nextafterf(high, -INFINITY);
            continue;
        }
        uint16_t *bits = (uint16_t *)elements + i;
        sdx_to_f32(job->out->dtype, bits, &value, 1);
        if (value >= high)
            *bits = (uint16_t)(value == 0 ? 0x8001 : value > 0 ? *bits - 1 : *bits + 1);
    }
}

static void draw(void *arg, size_t begin, size_t end) {
    const random_job *job = arg;
    const sdx_tensor *out = job->out;
    const size_t size = sdx_dtype_size(out->dtype);
    for (size_t i = begin; i < end; i++) {
        double pair[2];
        float narrow[2];
        const size_t count = out->count - 2 * i < 2 ? 1 : 2;
        job->d->draw(job->p, job->key, i, pair);
        void *to = (char *)out->data + 2 * i * size;
        if (out->dtype == SDX_DTYPE_FLOAT64) {
            memcpy(to, pair, count * sizeof *pair);
        } else {
            narrow[0] = (float)pair[0];
            narrow[1] = (float)pair[1];
            sdx_from_f32(out->dtype, narrow, to, count);
        }
        stay_below(job, to, count);
    }
}

static sdx_status random_run(sdx_call *call) {
    const random_params *p = call->params;
    random_job job = {.p = p, .d = call->def->aux, .key = sdx_seed_key(call, &p->seed),
                      .out = sdx_out(call, 0)};
    sdx_call_parallel(call, job.out->count / 2 + job.out->count % 2, GRAIN, draw, &job);
    return SDX_STATUS_OK;
}

#define RANDOM_OP(id, inputs, distribution_)                                                       \
    const sdx_op_def sdx_op_##id = {                                                               \
        .min_in = inputs, .max_in = inputs, .min_out = 1, .max_out = 1,                            \
        .flags = SDX_OP_RANDOM,                                                                    \
        .in_types = {(inputs) ? SDX_T_ALL : 0},                                                    \
        .params_size = sizeof(random_params),                                                      \
        .prepare = random_prepare, .infer = random_infer,                                         \
        .run = SDX_BODY(sdx_op_##id, random_run),                                                 \
        .aux = &(distribution_),                                                                   \
    }
RANDOM_OP(random_uniform, 0, uniform);
RANDOM_OP(random_uniform_like, 1, uniform);
RANDOM_OP(random_normal, 0, normal);
RANDOM_OP(random_normal_like, 1, normal);
