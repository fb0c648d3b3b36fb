/* pool.h - shared by the files of the pooling operators. */
#ifndef SDX_OPS_POOL_H
#define SDX_OPS_POOL_H

#include "ops/half.h"
#include "ops/window.h"

/* Stretches longer than this look at the time themselves. */
#define SDX_WORTH_WATCHING 4096

typedef struct sdx_pool_params {
    sdx_window_attrs window;
    bool count_include_pad; /* AveragePool */
    bool column_major;      /* MaxPool: order of the indices */
    double p;               /* LpPool */
} sdx_pool_params;

/* One pool on numbers: what the loops over planes take. */
typedef struct sdx_pool_job {
    sdx_window window;
    const sdx_pool_params *params;
    const void *x;
    void *y;          /* NULL: only the indices are wanted */
    int64_t *indices; /* NULL: not wanted */
} sdx_pool_job;

/* Bodies over planes, for sdx_call_parallel with an sdx_pool_job. NULL: no such type. */
sdx_loop_body sdx_pool_max_body(sdx_dtype dtype, bool indices);
sdx_loop_body sdx_pool_average_body(sdx_dtype dtype);
sdx_loop_body sdx_pool_lp_body(sdx_dtype dtype);

/* p of an Lp norm, which is a float in version 1 of the operators and an integer later. */
sdx_status sdx_pool_get_p(sdx_prep *prep, double *p);

#endif
