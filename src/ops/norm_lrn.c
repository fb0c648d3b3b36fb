/* norm_lrn.c - LRN: every element is divided by a power of the squares of its neighbours in the
 * channels around it. */
#include <inttypes.h>
#include <math.h>

#include "ops/half.h"

typedef struct params {
    float alpha, beta, bias;
    int64_t size;
} params;

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    SDX_TRY(sdx_attr_get_float(prep, "alpha", 0.0001f, &p->alpha));
    SDX_TRY(sdx_attr_get_float(prep, "beta", 0.75f, &p->beta));
    SDX_TRY(sdx_attr_get_float(prep, "bias", 1.0f, &p->bias));
    SDX_TRY(sdx_attr_need_int(prep, "size", &p->size));
    if (p->size < 1)
        return sdx_prep_fail(prep, "size is %" PRId64 ", expected at least 1", p->size);
    return SDX_STATUS_OK;
}

static sdx_status infer(sdx_infer *inf) {
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 2));
    sdx_infer_half_scratch(inf);
    return SDX_STATUS_OK;
}

typedef struct job {
    const params *params;
    const void *x;
    void *y;
    size_t channels, plane;
} job;

enum { CHUNK = 256 }; /* elements of a plane at a time: their sums stay in the first cache */

#define DEFINE_LRN(T, f, SQRT, POW)                                                               \
    /* Planes (image, channel) [begin, end). */                                                   \
    static void f##_planes(void *arg, size_t begin, size_t end) {                                 \
        const job *j = arg;                                                                       \
        const params *p = j->params;                                                              \
        uint64_t below = (uint64_t)(p->size - 1) / 2, above = (uint64_t)(p->size - 1) - below;    \
        T alpha = (T)p->alpha / (T)p->size, beta = (T)p->beta, bias = (T)p->bias;                 \
        for (size_t i = begin; i < end; i++) {                                                    \
            size_t c = i % j->channels, left = j->channels - 1 - c;                               \
            size_t first = i - (below < c ? (size_t)below : c);                                   \
            size_t last = i + (above < left ? (size_t)above : left);                              \
            for (size_t from = 0; from < j->plane; from += CHUNK) {                               \
                size_t n = j->plane - from < CHUNK ? j->plane - from : CHUNK;                     \
                T sum[CHUNK] = {0};                                                               \
                for (size_t k = first; k <= last; k++) {                                          \
                    const T *x = (const T *)j->x + k * j->plane + from;                           \
                    for (size_t e = 0; e < n; e++) sum[e] += x[e] * x[e];                         \
                }                                                                                 \
                const T *x = (const T *)j->x + i * j->plane + from;                               \
                T *y = (T *)j->y + i * j->plane + from;                                           \
                for (size_t e = 0; e < n; e++) sum[e] = bias + alpha * sum[e];                    \
                if (p->beta == 0.75f) /* the usual one: three roots in place of a power */        \
                    for (size_t e = 0; e < n; e++) y[e] = x[e] / SQRT(sum[e] * SQRT(sum[e]));     \
                else                                                                              \
                    for (size_t e = 0; e < n; e++) y[e] = x[e] / POW(sum[e], beta);               \
            }                                                                                     \
        }                                                                                         \
    }

DEFINE_LRN(float, f32, sqrtf, powf)
DEFINE_LRN(double, f64, sqrt, pow)

static sdx_status body(sdx_call *call) {
    const sdx_tensor *x = sdx_in(call, 0);
    job j = {.params = call->params, .x = x->data, .y = sdx_out(call, 0)->data,
             .channels = (size_t)x->dims[1], .plane = sdx_dims_product(x->dims, 2, x->rank)};
    if (x->count == 0) return SDX_STATUS_OK;
    sdx_call_parallel(call, x->count / j.plane, 16384 / (j.plane * 8) + 1,
                      x->dtype == SDX_DTYPE_FLOAT64 ? f64_planes : f32_planes, &j);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

const sdx_op_def sdx_op_lrn = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_lrn, run),
};
