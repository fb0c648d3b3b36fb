/* reduce.h - the inner loops of the reductions (reduce_rows.c) for their driver (reduce.c).
 * Floats are summed in double, whatever their type; integers in 64 bits that wrap. */
#ifndef SDX_OPS_REDUCE_H
#define SDX_OPS_REDUCE_H

#include "ops/op.h"

/* What is done with each element on its way into the result. */
typedef enum sdx_fold {
    SDX_FOLD_SUM,
    SDX_FOLD_ABS,    /* sum of magnitudes */
    SDX_FOLD_SQUARE, /* sum of squares */
    SDX_FOLD_EXP,    /* sum of exp(x - shift); floats only */
    SDX_FOLD_PROD,
    SDX_FOLD_MAX,
    SDX_FOLD_MIN
} sdx_fold;

/* n contiguous elements into one result: returns it, starting from acc. */
double sdx_fold_row_f32(sdx_fold fold, const float *x, size_t n, double acc, double shift);
double sdx_fold_row_f64(sdx_fold fold, const double *x, size_t n, double acc, double shift);
int64_t sdx_fold_row_i64(sdx_fold fold, const int64_t *x, size_t n, int64_t acc);
/* n contiguous elements into n results side by side. */
void sdx_fold_strip_f32(sdx_fold fold, const float *x, size_t n, double *acc,
                        const double *shift);
void sdx_fold_strip_f64(sdx_fold fold, const double *x, size_t n, double *acc,
                        const double *shift);
void sdx_fold_strip_i64(sdx_fold fold, const int64_t *x, size_t n, int64_t *acc);

/* What to start from when there is nothing yet. NaN wins over numbers in MAX and MIN. */
double sdx_fold_start(sdx_fold fold);

#endif
