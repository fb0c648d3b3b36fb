/* reduce_rows.c - the inner loops of the reductions: contiguous elements folded into one result or
 * into results side by side. Eight partial results break the chain of dependent additions and
 * give the compiler whole vectors; their order is fixed, so results do not depend on threads. */
#include "ops/reduce.h"

#include <math.h>

#define LANES 8

double sdx_fold_start(sdx_fold fold) {
    if (fold == SDX_FOLD_PROD) return 1;
    if (fold == SDX_FOLD_MAX) return -INFINITY;
    return fold == SDX_FOLD_MIN ? INFINITY : 0;
}

/* acc = acc (+) v for each kind. A NaN on either side stays. */
#define STEP_SUM(acc, v) acc += (v)
#define STEP_ABS(acc, v) acc += fabs(v)
#define STEP_SQUARE(acc, v) acc += (v) * (v)
#define STEP_PROD(acc, v) acc *= (v)
#define STEP_MAX(acc, v) acc = (((v) > acc) | ((v) != (v))) ? (v) : acc
#define STEP_MIN(acc, v) acc = (((v) < acc) | ((v) != (v))) ? (v) : acc

/* STEP takes an element in, MERGE joins two partial results. */
#define ROW(STEP, MERGE, start)                                                                   \
    do {                                                                                          \
        double lane[LANES];                                                                       \
        size_t i = 0;                                                                             \
        for (size_t l = 0; l < LANES; l++) lane[l] = (start);                                     \
        for (; i + LANES <= n; i += LANES)                                                        \
            for (size_t l = 0; l < LANES; l++) {                                                  \
                double v = (double)x[i + l];                                                      \
                STEP(lane[l], v);                                                                 \
            }                                                                                     \
        for (; i < n; i++) {                                                                      \
            double v = (double)x[i];                                                              \
            STEP(acc, v);                                                                         \
        }                                                                                         \
        for (size_t l = 0; l < LANES; l++) MERGE(acc, lane[l]);                                   \
        return acc;                                                                               \
    } while (0)

#define STRIP(STEP)                                                                               \
    do {                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                          \
            double v = (double)x[i];                                                              \
            STEP(acc[i], v);                                                                      \
        }                                                                                         \
        return;                                                                                   \
    } while (0)

#define FLOAT_FOLDS(suffix, type)                                                                 \
    double sdx_fold_row_##suffix(sdx_fold fold, const type *x, size_t n, double acc,              \
                                 double shift) {                                                  \
        switch (fold) {                                                                           \
        case SDX_FOLD_SUM: ROW(STEP_SUM, STEP_SUM, 0.0);                                          \
        case SDX_FOLD_ABS: ROW(STEP_ABS, STEP_SUM, 0.0);                                          \
        case SDX_FOLD_SQUARE: ROW(STEP_SQUARE, STEP_SUM, 0.0);                                    \
        case SDX_FOLD_PROD: ROW(STEP_PROD, STEP_PROD, 1.0);                                       \
        case SDX_FOLD_MAX: ROW(STEP_MAX, STEP_MAX, -INFINITY);                                    \
        case SDX_FOLD_MIN: ROW(STEP_MIN, STEP_MIN, INFINITY);                                     \
        case SDX_FOLD_EXP: break;                                                                 \
        }                                                                                         \
        for (size_t i = 0; i < n; i++) acc += exp((double)x[i] - shift);                          \
        return acc;                                                                               \
    }                                                                                             \
    void sdx_fold_strip_##suffix(sdx_fold fold, const type *x, size_t n, double *acc,             \
                                 const double *shift) {                                           \
        switch (fold) {                                                                           \
        case SDX_FOLD_SUM: STRIP(STEP_SUM);                                                       \
        case SDX_FOLD_ABS: STRIP(STEP_ABS);                                                       \
        case SDX_FOLD_SQUARE: STRIP(STEP_SQUARE);                                                 \
        case SDX_FOLD_PROD: STRIP(STEP_PROD);                                                     \
        case SDX_FOLD_MAX: STRIP(STEP_MAX);                                                       \
        case SDX_FOLD_MIN: STRIP(STEP_MIN);                                                       \
        case SDX_FOLD_EXP: break;                                                                 \
        }                                                                                         \
        for (size_t i = 0; i < n; i++) acc[i] += exp((double)x[i] - shift[i]);                    \
    }
FLOAT_FOLDS(f32, float)
FLOAT_FOLDS(f64, double)

/* Integers: through unsigned, which wraps. ABS of the lowest value wraps to itself. */
static inline int64_t int_step(sdx_fold fold, int64_t acc, int64_t v) {
    uint64_t a = (uint64_t)acc, u = (uint64_t)v;
    switch (fold) {
    case SDX_FOLD_SUM: return (int64_t)(a + u);
    case SDX_FOLD_ABS: return (int64_t)(a + (v < 0 ? 0 - u : u));
    case SDX_FOLD_SQUARE: return (int64_t)(a + u * u);
    case SDX_FOLD_PROD: return (int64_t)(a * u);
    case SDX_FOLD_MAX: return v > acc ? v : acc;
    case SDX_FOLD_MIN: return v < acc ? v : acc;
    case SDX_FOLD_EXP: break;
    }
    return acc;
}

/* The switch inside is on a constant in each loop, so that it is gone after inlining. */
#define INT_LOOPS(LOOP)                                                                           \
    switch (fold) {                                                                               \
    case SDX_FOLD_SUM: LOOP(SDX_FOLD_SUM) break;                                                  \
    case SDX_FOLD_ABS: LOOP(SDX_FOLD_ABS) break;                                                  \
    case SDX_FOLD_SQUARE: LOOP(SDX_FOLD_SQUARE) break;                                            \
    case SDX_FOLD_PROD: LOOP(SDX_FOLD_PROD) break;                                                \
    case SDX_FOLD_MAX: LOOP(SDX_FOLD_MAX) break;                                                  \
    case SDX_FOLD_MIN: LOOP(SDX_FOLD_MIN) break;                                                  \
    case SDX_FOLD_EXP: break;                                                                     \
    }

int64_t sdx_fold_row_i64(sdx_fold fold, const int64_t *x, size_t n, int64_t acc) {
#define INT_ROW(kind)                                                                             \
    for (size_t i = 0; i < n; i++) acc = int_step(kind, acc, x[i]);
    INT_LOOPS(INT_ROW)
    return acc;
}

void sdx_fold_strip_i64(sdx_fold fold, const int64_t *x, size_t n, int64_t *acc) {
#define INT_STRIP(kind)                                                                           \
    for (size_t i = 0; i < n; i++) acc[i] = int_step(kind, acc[i], x[i]);
    INT_LOOPS(INT_STRIP)
}
