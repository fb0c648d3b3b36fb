/* gemm.c - Gemm: alpha * A' * B' + beta * C, where ' may transpose and C is broadcast. C is laid
 * into Y first and the product added, unless alpha asks for a pass of its own. */
#include <math.h>

#include "ops/matmul.h"

typedef struct gemm_params {
    bool trans_a, trans_b;
    float alpha, beta;
} gemm_params;

static sdx_status gemm_prepare(sdx_prep *prep) {
    gemm_params *params = prep->params;
    /* Version 1 and 6 let C be broadcast only when told to; what they allow is a subset. */
    sdx_attr_ignore(prep, "broadcast");
    SDX_TRY(sdx_attr_get_bool(prep, "transA", false, &params->trans_a));
    SDX_TRY(sdx_attr_get_bool(prep, "transB", false, &params->trans_b));
    SDX_TRY(sdx_attr_get_float(prep, "alpha", 1.0f, &params->alpha));
    SDX_TRY(sdx_attr_get_float(prep, "beta", 1.0f, &params->beta));
    /* Versions before 11 require C. */
    if (prep->version < 11 && (prep->node->input_count < 3 || prep->node->inputs[2] == SDX_NONE))
        return sdx_prep_fail(prep, "Gemm before version 11 needs the input C");
    return SDX_STATUS_OK;
}

/* C must be broadcastable to M x N without changing it. */
static sdx_status check_c(sdx_infer *inf, sdx_expr m, sdx_expr n) {
    int32_t rank = sdx_infer_rank(inf, 2);
    if (rank > 2) return sdx_infer_fail(inf, "C has rank %d, expected at most 2", rank);
    for (int32_t d = 0; d < rank; d++) {
        sdx_expr own = sdx_infer_dim(inf, 2, d), whole = d == rank - 1 ? n : m;
        SDX_TRY(sdx_infer_require_broadcast(inf, own, whole));
    }
    return SDX_STATUS_OK;
}

static sdx_status gemm_infer(sdx_infer *inf) {
    const gemm_params *params = inf->params;
    sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    sdx_infer_set_dtype(inf, 0, dtype);
    SDX_TRY(sdx_infer_require_rank(inf, 0, 2));
    SDX_TRY(sdx_infer_require_rank(inf, 1, 2));
    bool a_known = sdx_infer_rank(inf, 0) == 2, b_known = sdx_infer_rank(inf, 1) == 2;
    sdx_expr unknown = SDX_EXPR_UNKNOWN;
    sdx_expr m = a_known ? sdx_infer_dim(inf, 0, params->trans_a) : unknown;
    sdx_expr n = b_known ? sdx_infer_dim(inf, 1, !params->trans_b) : unknown;
    sdx_expr k = a_known ? sdx_infer_dim(inf, 0, !params->trans_a) : unknown;
    if (a_known && b_known)
        SDX_TRY(sdx_infer_require_equal(inf, k, sdx_infer_dim(inf, 1, params->trans_b),
                                        "inner dimension of A and B"));
    SDX_TRY(check_c(inf, m, n));
    inf->scratch = unknown;
    if (dtype != SDX_DTYPE_UNDEFINED) {
        sdx_dtype type = sdx_product_type(dtype);
        sdx_expr bytes = sdx_infer_product_scratch(inf, type, m, n, k);
        if (!sdx_product_direct(dtype)) { /* A, B, Y and one row of C in the product type */
            sdx_expr count = sdx_inf_add(inf, sdx_inf_mul(inf, m, k), sdx_inf_mul(inf, k, n));
            count = sdx_inf_add(inf, count, sdx_inf_mul(inf, m, n));
            count = sdx_inf_add(inf, count, n);
            sdx_expr parts = sdx_infer_scratch_part(inf, count, sdx_dtype_size(type));
            bytes = sdx_inf_add(inf, bytes, parts);
            bytes = sdx_inf_add(inf, bytes, sdx_expr_const(3 * SDX_CACHE_LINE));
        }
        inf->scratch = bytes;
    }
    sdx_expr dims[2] = {m, n};
    return sdx_infer_set_shape(inf, 0, 2, dims);
}

/* ---- C --------------------------------------------------------------------------------------- */

/* Integer after a pass through real numbers: cut toward zero, held inside the type. */
static int64_t whole(double value) {
    if (!(value > -9223372036854775808.0)) return INT64_MIN;
    return value >= 9223372036854775808.0 ? INT64_MAX : (int64_t)value;
}
static uint64_t whole_unsigned(double value) {
    if (!(value > 0)) return 0;
    return value >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)value;
}

/* y = alpha * y + beta * c over one row; c is NULL, one element (step 0) or a row. */
#define FLOAT_ROW(type)                                                                           \
    do {                                                                                          \
        type *y = y_row, scale = (type)alpha, weight = (type)beta;                                \
        const type *c = c_row;                                                                    \
        if (c == NULL)                                                                            \
            for (size_t j = 0; j < n; j++) y[j] = scale * y[j];                                   \
        else if (step == 0)                                                                       \
            for (size_t j = 0; j < n; j++) y[j] = scale * y[j] + weight * c[0];                   \
        else                                                                                      \
            for (size_t j = 0; j < n; j++) y[j] = scale * y[j] + weight * c[j];                   \
    } while (0)
#define INT_ROW(type, convert)                                                                    \
    do {                                                                                          \
        type *y = y_row;                                                                          \
        const type *c = c_row;                                                                    \
        for (size_t j = 0; j < n; j++) {                                                          \
            double sum = (double)alpha * (double)y[j];                                            \
            if (c != NULL) sum += (double)beta * (double)c[j * step];                             \
            y[j] = (type)convert(sum);                                                            \
        }                                                                                         \
    } while (0)

static void scale_row(sdx_dtype dtype, void *y_row, const void *c_row, size_t step, size_t n,
                      float alpha, float beta) {
    switch (dtype) {
    case SDX_DTYPE_FLOAT64: FLOAT_ROW(double); break;
    case SDX_DTYPE_INT32: INT_ROW(int32_t, whole); break;
    case SDX_DTYPE_UINT32: INT_ROW(uint32_t, whole_unsigned); break;
    case SDX_DTYPE_INT64: INT_ROW(int64_t, whole); break;
    case SDX_DTYPE_UINT64: INT_ROW(uint64_t, whole_unsigned); break;
    default: FLOAT_ROW(float); break;
    }
}

/* Y row = C row as it is, repeated where C has one column. */
static void copy_row(size_t size, char *y_row, const char *c_row, size_t step, size_t n) {
    if (step == 1) {
        memcpy(y_row, c_row, n * size);
        return;
    }
    for (size_t j = 0; j < n; j++) memcpy(y_row + j * size, c_row, size);
}

typedef struct gemm_job {
    const sdx_tensor *c; /* NULL: none */
    sdx_dtype dtype;     /* of C's elements */
    char *y;             /* product type */
    char *row;           /* room for one row of C in the product type; NULL: not needed */
    size_t n, size;
    float alpha, beta;
    bool copy; /* Y = C instead of alpha * Y + beta * C */
} gemm_job;

static void c_rows(void *arg, size_t begin, size_t end) {
    const gemm_job *job = arg;
    size_t c_rows_count = 1, c_columns = 1, c_size = sdx_dtype_size(job->dtype);
    if (job->c != NULL) {
        const sdx_tensor *c = job->c;
        c_columns = c->rank > 0 ? (size_t)c->dims[c->rank - 1] : 1;
        c_rows_count = c->rank > 1 ? (size_t)c->dims[0] : 1;
    }
    size_t step = c_columns > 1 ? 1 : 0;
    for (size_t i = begin; i < end; i++) {
        char *y = job->y + i * job->n * job->size;
        const char *c = NULL;
        if (job->c != NULL) {
            c = (const char *)job->c->data + (c_rows_count > 1 ? i : 0) * c_columns * c_size;
            if (job->row != NULL) {
                sdx_product_widen(job->dtype, c, job->row, c_columns);
                c = job->row;
            }
        }
        if (c != NULL && job->copy)
            copy_row(job->size, y, c, step, job->n);
        else
            scale_row(job->dtype, y, c, step, job->n, job->alpha, job->beta);
    }
}

/* ---- run ------------------------------------------------------------------------------------- */

static sdx_status gemm_run(sdx_call *call) {
    const gemm_params *params = call->params;
    const sdx_tensor *a = sdx_in(call, 0), *b = sdx_in(call, 1), *c = sdx_in(call, 2);
    sdx_tensor *y = sdx_out(call, 0);
    if (y->count == 0) return SDX_STATUS_OK;
    size_t m = (size_t)y->dims[0], n = (size_t)y->dims[1];
    size_t k = (size_t)a->dims[params->trans_a ? 0 : 1];
    sdx_dtype type = sdx_product_type(a->dtype);
    size_t size = sdx_dtype_size(type);
    const void *a_data = a->data, *b_data = b->data;
    char *scratch = call->scratch;
    gemm_job job = {c, a->dtype, y->data, NULL, n, size, params->alpha, params->beta, false};
    if (params->beta == 0) job.c = NULL;
    if (!sdx_product_direct(a->dtype)) {
        sdx_product_widen(a->dtype, a->data, scratch, a->count);
        a_data = scratch;
        scratch += sdx_scratch_part(a->count * size);
        sdx_product_widen(b->dtype, b->data, scratch, b->count);
        b_data = scratch;
        scratch += sdx_scratch_part(b->count * size);
        job.y = scratch;
        scratch += sdx_scratch_part(y->count * size);
        job.row = scratch;
        scratch += sdx_scratch_part(n * size);
    }
    sdx_matrix am = {a_data, params->trans_a ? 1 : k, params->trans_a ? m : 1};
    sdx_matrix bm = {b_data, params->trans_b ? 1 : n, params->trans_b ? k : 1};
    /* The shared row of job.row allows one thread only. */
    size_t grain = job.row != NULL ? m : 65536 / n + 1;
    job.copy = job.c != NULL && params->alpha == 1 && params->beta == 1;
    if (job.copy) sdx_call_parallel(call, m, grain, c_rows, &job);
    sdx_product(call->host->pool, type, m, n, k, am, bm, job.y, n, job.copy, scratch);
    if (!job.copy && (job.c != NULL || params->alpha != 1))
        sdx_call_parallel(call, m, grain, c_rows, &job);
    if (job.row != NULL) sdx_product_narrow(y->dtype, job.y, y->data, y->count);
    return SDX_STATUS_OK;
}

static void gemm_describe(const sdx_call *call, sdx_work *work) {
    const gemm_params *params = call->params;
    const sdx_tensor *a = sdx_in(call, 0), *y = sdx_out(call, 0);
    work->flops = 2.0 * (double)y->count * (double)a->dims[params->trans_a ? 0 : 1];
}

const sdx_op_def sdx_op_gemm = {
    .min_in = 2, .max_in = 3, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T_FLOATS | SDX_T_INDEX | SDX_T(UINT32) | SDX_T(UINT64)},
    .params_size = sizeof(gemm_params),
    .prepare = gemm_prepare,
    .infer = gemm_infer,
    .run = SDX_BODY(sdx_op_gemm, gemm_run),
    .describe = SDX_BODY(sdx_op_gemm, gemm_describe),
};
