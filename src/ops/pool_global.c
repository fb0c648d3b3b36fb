/* pool_global.c - GlobalAveragePool, GlobalMaxPool and GlobalLpPool: one number per plane. */
#include "ops/norm_stats.h"
#include "ops/pool.h"

enum { MAX, AVERAGE, LP };
static const int kinds[] = {MAX, AVERAGE, LP};

static sdx_status prepare(sdx_prep *prep) {
    if (*(const int *)prep->def->aux != LP) return SDX_STATUS_OK;
    return sdx_pool_get_p(prep, prep->params);
}

static sdx_status infer(sdx_infer *inf) {
    int32_t rank = sdx_infer_rank(inf, 0);
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 2));
    sdx_expr dims[SDX_MAX_RANK];
    for (int32_t a = 0; a < rank; a++)
        dims[a] = a < 2 ? sdx_infer_dim(inf, 0, a) : sdx_expr_const(1);
    SDX_TRY(sdx_infer_set_shape(inf, 0, rank, dims));
    sdx_infer_half_scratch(inf);
    return SDX_STATUS_OK;
}

typedef struct job {
    const void *x;
    void *y;
    size_t count; /* elements of a plane */
    double p;
} job;

#define DEFINE_PLANES(T, f, ABS, POW)                                                             \
    static void f##_average(void *arg, size_t begin, size_t end) {                                \
        const job *j = arg;                                                                       \
        for (size_t i = begin; i < end; i++)                                                      \
            ((T *)j->y)[i] = (T)(sdx_##f##_row_sum((const T *)j->x + i * j->count, j->count, 0) / \
                                 (double)j->count);                                               \
    }                                                                                             \
    static void f##_max(void *arg, size_t begin, size_t end) {                                    \
        const job *j = arg;                                                                       \
        for (size_t i = begin; i < end; i++) {                                                    \
            const T *x = (const T *)j->x + i * j->count;                                          \
            T best = -(T)INFINITY;                                                                \
            for (size_t k = 0; k < j->count; k++)                                                 \
                best = x[k] > best || x[k] != x[k] ? x[k] : best;                                 \
            ((T *)j->y)[i] = best;                                                                \
        }                                                                                         \
    }                                                                                             \
    static void f##_lp(void *arg, size_t begin, size_t end) {                                     \
        const job *j = arg;                                                                       \
        for (size_t i = begin; i < end; i++) {                                                    \
            const T *x = (const T *)j->x + i * j->count;                                          \
            double sum = 0;                                                                       \
            if (j->p == 1)                                                                        \
                sum = sdx_##f##_row_abs(x, j->count, 0);                                          \
            else if (j->p == 2)                                                                   \
                sum = sqrt(sdx_##f##_row_squares(x, j->count, 0));                                \
            else {                                                                                \
                for (size_t k = 0; k < j->count; k++) sum += (double)POW(ABS(x[k]), (T)j->p);     \
                sum = pow(sum, 1 / j->p);                                                         \
            }                                                                                     \
            ((T *)j->y)[i] = (T)sum;                                                              \
        }                                                                                         \
    }

DEFINE_PLANES(float, f32, fabsf, powf)
DEFINE_PLANES(double, f64, fabs, pow)

static sdx_status body(sdx_call *call) {
    static const sdx_loop_body loops[][2] = {
        [MAX] = {f32_max, f64_max},
        [AVERAGE] = {f32_average, f64_average},
        [LP] = {f32_lp, f64_lp},
    };
    const sdx_tensor *x = sdx_in(call, 0);
    sdx_tensor *y = sdx_out(call, 0);
    job j = {.x = x->data, .y = y->data, .count = sdx_dims_product(x->dims, 2, x->rank)};
    int kind = *(const int *)call->def->aux;
    if (kind == LP) j.p = *(const double *)call->params;
    sdx_call_parallel(call, y->count, 32768 / (j.count + 1) + 1,
                      loops[kind][x->dtype == SDX_DTYPE_FLOAT64], &j);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

#define GLOBAL_POOL(name, kind)                                                                   \
    const sdx_op_def name = {                                                                     \
        .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,                                     \
        .in_types = {SDX_T_FLOATS},                                                               \
        .params_size = sizeof(double),                                                            \
        .prepare = prepare, .infer = infer, .run = SDX_BODY(name, run),                           \
        .aux = &kinds[kind],                                                                      \
    }

GLOBAL_POOL(sdx_op_global_max_pool, MAX);
GLOBAL_POOL(sdx_op_global_average_pool, AVERAGE);
GLOBAL_POOL(sdx_op_global_lp_pool, LP);
