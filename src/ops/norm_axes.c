/* norm_axes.c - LpNormalization and MeanVarianceNormalization: statistics over any axes. Elements
 * with the same place on the axes that stay share one; they are gathered in scratch by a walk over
 * the tensor in memory order, whose innermost axis is a plain loop. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/half.h"

typedef struct params {
    const int64_t *axes;
    size_t axis_count;
    int64_t p; /* 1 or 2; 0: mean and variance */
} params;

static sdx_status lp_prepare(sdx_prep *prep) {
    params *p = prep->params;
    int64_t *axis = sdx_prep_array(prep, 1, sizeof *axis);
    if (!axis) return SDX_STATUS_NO_MEMORY;
    SDX_TRY(sdx_attr_get_int(prep, "axis", -1, axis));
    SDX_TRY(sdx_attr_get_int(prep, "p", 2, &p->p));
    if (p->p != 1 && p->p != 2)
        return sdx_prep_fail(prep, "p is %" PRId64 ", expected 1 or 2", p->p);
    p->axes = axis;
    p->axis_count = 1;
    return SDX_STATUS_OK;
}

static sdx_status mvn_prepare(sdx_prep *prep) {
    static const int64_t usual[] = {0, 2, 3};
    params *p = prep->params;
    SDX_TRY(sdx_attr_get_ints(prep, "axes", &p->axes, &p->axis_count));
    if (p->axes) return SDX_STATUS_OK;
    p->axes = usual;
    p->axis_count = 3;
    return SDX_STATUS_OK;
}

/* gone[a]: axis a is one of those that statistics are taken over. */
static void mark_axes(const params *p, int32_t rank, bool gone[SDX_MAX_RANK]) {
    memset(gone, 0, SDX_MAX_RANK * sizeof *gone);
    for (size_t i = 0; i < p->axis_count; i++)
        gone[p->axes[i] < 0 ? p->axes[i] + rank : p->axes[i]] = true;
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    int32_t rank = sdx_infer_rank(inf, 0), axis;
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    for (size_t i = 0; rank >= 0 && i < p->axis_count; i++)
        SDX_TRY(sdx_infer_axis(inf, p->axes[i], rank, &axis));
    sdx_infer_half_scratch(inf);
    if (rank < 0) return SDX_STATUS_OK;
    bool gone[SDX_MAX_RANK];
    mark_axes(p, rank, gone);
    sdx_expr kept = sdx_expr_const(2 * sizeof(double));
    for (int32_t a = 0; a < rank; a++)
        if (!gone[a]) kept = sdx_inf_mul(inf, kept, sdx_infer_dim(inf, 0, a));
    sdx_infer_add_scratch_expr(inf, kept);
    return SDX_STATUS_OK;
}

/* ---- run ------------------------------------------------------------------------------------- */

typedef struct job {
    const sdx_tensor *x;
    sdx_tensor *y;
    int64_t strides[SDX_MAX_RANK]; /* of the statistics along the axes of x; 0 where gone */
    double *first, *second;        /* two numbers per place */
} job;

enum { SUM, SUM_ABS, SUM_SQUARES, SUM_DEVIATIONS, DIVIDE, STANDARDIZE };

/* One innermost row: n elements whose statistics lie `step` (0 or 1) apart. */
#define DEFINE_ROW(T, f)                                                                          \
    static void f##_row(const job *j, int pass, size_t at, size_t n, double *a, double *b,        \
                        int64_t step) {                                                           \
        const T *x = (const T *)j->x->data + at;                                                  \
        T *y = (T *)j->y->data + at;                                                              \
        for (size_t i = 0; i < n; i++, a += step, b += step) {                                    \
            double v = (double)x[i];                                                              \
            switch (pass) {                                                                       \
            case SUM: *a += v; break;                                                             \
            case SUM_ABS: *a += fabs(v); break;                                                   \
            case SUM_SQUARES: *a += v * v; break;                                                 \
            case SUM_DEVIATIONS: *b += (v - *a) * (v - *a); break;                                \
            case DIVIDE: y[i] = *a > 0 || *a != *a ? (T)(v / *a) : 0; break;                      \
            default: y[i] = (T)((v - *a) / *b);                                                   \
            }                                                                                     \
        }                                                                                         \
    }

DEFINE_ROW(float, f32)
DEFINE_ROW(double, f64)

static void walk(const job *j, int pass) {
    const sdx_tensor *x = j->x;
    int32_t last = x->rank - 1;
    size_t width = x->rank > 0 ? (size_t)x->dims[last] : 1;
    int64_t at[SDX_MAX_RANK] = {0}, offset = 0, step = x->rank > 0 ? j->strides[last] : 0;
    for (size_t from = 0; from < x->count; from += width) {
        (x->dtype == SDX_DTYPE_FLOAT64 ? f64_row : f32_row)(j, pass, from, width,
                                                            j->first + offset, j->second + offset,
                                                            step);
        for (int32_t a = last - 1; a >= 0; a--) {
            offset += j->strides[a];
            if (++at[a] < x->dims[a]) break;
            offset -= j->strides[a] * x->dims[a];
            at[a] = 0;
        }
    }
}

static void finish(const job *j, const params *p, size_t places, double count) {
    if (p->p == 0) {
        walk(j, SUM);
        for (size_t i = 0; i < places; i++) j->first[i] /= count;
        walk(j, SUM_DEVIATIONS);
        /* The standard's function adds this epsilon to the deviation, not to the variance. */
        for (size_t i = 0; i < places; i++) j->second[i] = sqrt(j->second[i] / count) + 1e-9;
        walk(j, STANDARDIZE);
    } else {
        walk(j, p->p == 1 ? SUM_ABS : SUM_SQUARES);
        for (size_t i = 0; i < places && p->p == 2; i++) j->first[i] = sqrt(j->first[i]);
        walk(j, DIVIDE);
    }
}

static sdx_status body(sdx_call *call) {
    const params *p = call->params;
    job j = {.x = sdx_in(call, 0), .y = sdx_out(call, 0)};
    if (j.x->count == 0) return SDX_STATUS_OK;
    bool gone[SDX_MAX_RANK];
    mark_axes(p, j.x->rank, gone);
    size_t places = 1;
    for (int32_t a = j.x->rank - 1; a >= 0; a--) {
        j.strides[a] = gone[a] ? 0 : (int64_t)places;
        if (!gone[a]) places *= (size_t)j.x->dims[a];
    }
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, places * 2 * sizeof(double), &scratch));
    memset(scratch.data, 0, places * 2 * sizeof(double));
    j.first = scratch.data;
    j.second = j.first + places;
    finish(&j, p, places, (double)j.x->count / (double)places);
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

#define NORM(name, prepare_rule)                                                                  \
    const sdx_op_def name = {                                                                     \
        .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,                                     \
        .flags = SDX_OP_IN_PLACE_FIRST,                                                           \
        .in_types = {SDX_T_FLOATS},                                                               \
        .params_size = sizeof(params),                                                            \
        .prepare = prepare_rule, .infer = infer, .run = SDX_BODY(name, run),                      \
    }

NORM(sdx_op_lp_normalization, lp_prepare);
NORM(sdx_op_mean_variance_normalization, mvn_prepare);
