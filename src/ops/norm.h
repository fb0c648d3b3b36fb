/* norm.h - shared by the normalization operators: rows of contiguous elements are brought to mean 0
 * and variance 1 (or root mean square 1), then scaled and shifted. InstanceNormalization,
 * GroupNormalization, LayerNormalization and RMSNormalization differ only in what a row is and
 * which scale belongs to which element. */
#ifndef SDX_OPS_NORM_H
#define SDX_OPS_NORM_H

#include "ops/half.h"

/* A row consists of `runs` runs of `run` elements; run r of row i takes scale and bias at
 * (i % period) * runs + r. With `index` set, element e of the whole tensor takes them at
 * index(e) instead: broadcast in a way that no run describes. */
typedef struct sdx_norm_rows {
    const void *x, *scale, *bias; /* scale and bias may be NULL */
    void *y;                      /* may be x */
    size_t rows, runs, run, period;
    double epsilon;
    bool keep_mean;       /* RMSNormalization: the mean stays */
    sdx_dtype dtype;      /* FLOAT32 or FLOAT64, of all four */
    sdx_tensor *mean, *inverse; /* statistics of each row, FLOAT32 or FLOAT64; may be NULL */
    /* Broadcast: dims of x from the outermost on, and strides of scale and bias along them. */
    bool broadcast;
    int32_t rank;
    int64_t dims[SDX_MAX_RANK], scale_strides[SDX_MAX_RANK], bias_strides[SDX_MAX_RANK];
} sdx_norm_rows;

void sdx_norm_run_rows(sdx_call *call, const sdx_norm_rows *rows);

static inline void sdx_norm_store(sdx_tensor *to, size_t i, double value) {
    if (!to) return;
    if (to->dtype == SDX_DTYPE_FLOAT64)
        ((double *)to->data)[i] = value;
    else
        ((float *)to->data)[i] = (float)value;
}

#endif
