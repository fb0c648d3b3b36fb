/* pool_planes.c - the loops of the pools, made from pool_template.h once for each kind and element
 * type. A template instance is told what to start with, how an element enters the result, and what
 * to do with a finished row. */
#include <math.h>

#include "ops/pool.h"

/* Elements under the window at output index `o` of an axis; with pads, those count too. As a
 * double, since products of padded windows may be large. */
static double taps_at(const sdx_pool_job *job, int32_t axis, int64_t o) {
    const sdx_window *w = &job->window;
    bool pads = job->params->count_include_pad;
    int64_t lo, hi;
    sdx_window_taps(w, axis, o, pads ? w->pad[axis] : 0, pads ? w->pad_end[axis] : 0, &lo, &hi);
    return (double)(hi - lo);
}

/* The same over all axes but the innermost. */
static double outer_taps(const sdx_pool_job *job, const int64_t *at) {
    double product = 1;
    for (int32_t a = 0; a < job->window.rank - 1; a++) product *= taps_at(job, a, at[a]);
    return product;
}

/* Outputs [*from, *to) of the innermost axis whose window lies inside the input; from -1: none. */
static void full_outputs(const sdx_window *w, int64_t *from, int64_t *to) {
    int32_t last = w->rank - 1;
    int64_t skip;
    sdx_window_outputs(w, last, 0, from, &skip);
    sdx_window_outputs(w, last, w->kernel[last] - 1, &skip, to);
    if (*from >= *to) *from = -1;
}

/* Index of the same element of a plane when the first axis runs fastest. */
static int64_t column_major(const sdx_window *w, int64_t index) {
    int64_t size = (int64_t)w->in_count, result = 0;
    for (int32_t a = w->rank - 1; a >= 0; a--) {
        size /= w->in[a];
        result += index % w->in[a] * size;
        index /= w->in[a];
    }
    return result;
}

/* Not a number wins, so that it does not get lost. */
#define STEP(best, v) ((v) > (best) || (v) != (v) ? (v) : (best))
#define BETTER(best, v) ((v) > (best) || ((v) != (v) && (best) == (best)))
#define PREPARE
#define FINISH(row, width)

#define T float
#define LOCAL(x) max_f32_##x
#define START (-(T)INFINITY)
#include "ops/pool_template.h"
#include "ops/pool_argmax_template.h"
#undef T
#undef LOCAL

#define T double
#define LOCAL(x) max_f64_##x
#include "ops/pool_template.h"
#include "ops/pool_argmax_template.h"
#undef T
#undef LOCAL
#undef START
#undef STEP
#undef BETTER

#define STEP(best, v) ((v) > (best) ? (v) : (best))
#define BETTER(best, v) ((v) > (best))
#define T int8_t
#define LOCAL(x) max_i8_##x
#define START INT8_MIN
#include "ops/pool_template.h"
#include "ops/pool_argmax_template.h"
#undef T
#undef LOCAL
#undef START

#define T uint8_t
#define LOCAL(x) max_u8_##x
#define START 0
#include "ops/pool_template.h"
#include "ops/pool_argmax_template.h"
#undef T
#undef LOCAL
#undef START
#undef STEP
#undef FINISH

/* Averages. A window without any element gives 0. */
#define START 0
#define STEP(sum, v) ((sum) + (v))
#define FINISH(row, width)                                                                        \
    const double outer_count = outer_taps(job, at);                                               \
    const T full = (T)(outer_count * (double)w->kernel[w->rank - 1]);                             \
    int64_t from, to;                                                                             \
    full_outputs(w, &from, &to);                                                                  \
    for (int64_t o = 0; o < (width); o++) {                                                       \
        if (o == from && full > 0)                                                                \
            for (; o < to; o++) (row)[o] /= full;                                                 \
        if (o == (width)) break;                                                                  \
        T count = (T)(outer_count * taps_at(job, w->rank - 1, o));                                \
        (row)[o] = count > 0 ? (row)[o] / count : 0;                                              \
    }

#define T float
#define LOCAL(x) average_f32_##x
#include "ops/pool_template.h"
#undef T
#undef LOCAL

#define T double
#define LOCAL(x) average_f64_##x
#include "ops/pool_template.h"
#undef T
#undef LOCAL
#undef STEP
#undef PREPARE
#undef FINISH

/* Lp norms. */
#define PREPARE                                                                                   \
    const T p = (T)job->params->p;                                                                \
    const bool squares = job->params->p == 2, plain = job->params->p == 1;
#define STEP(sum, v) ((sum) + (squares ? (v) * (v) : plain ? ABS(v) : POW(ABS(v), p)))
#define FINISH(row, width)                                                                        \
    for (int64_t o = 0; o < (width) && !plain; o++)                                               \
        (row)[o] = squares ? SQRT((row)[o]) : POW((row)[o], 1 / p);

#define T float
#define LOCAL(x) lp_f32_##x
#define ABS fabsf
#define POW powf
#define SQRT sqrtf
#include "ops/pool_template.h"
#undef T
#undef LOCAL
#undef ABS
#undef POW
#undef SQRT

#define T double
#define LOCAL(x) lp_f64_##x
#define ABS fabs
#define POW pow
#define SQRT sqrt
#include "ops/pool_template.h"
#undef T
#undef LOCAL

sdx_loop_body sdx_pool_max_body(sdx_dtype dtype, bool indices) {
    switch (dtype) {
    case SDX_DTYPE_FLOAT32: return indices ? max_f32_argmax : max_f32_planes;
    case SDX_DTYPE_FLOAT64: return indices ? max_f64_argmax : max_f64_planes;
    case SDX_DTYPE_INT8: return indices ? max_i8_argmax : max_i8_planes;
    case SDX_DTYPE_UINT8: return indices ? max_u8_argmax : max_u8_planes;
    default: return NULL;
    }
}

sdx_loop_body sdx_pool_average_body(sdx_dtype dtype) {
    return dtype == SDX_DTYPE_FLOAT64 ? average_f64_planes : average_f32_planes;
}

sdx_loop_body sdx_pool_lp_body(sdx_dtype dtype) {
    return dtype == SDX_DTYPE_FLOAT64 ? lp_f64_planes : lp_f32_planes;
}
