/* linalg.c - Det: determinants of the innermost square matrices, by elimination with row
 * pivoting, in double whatever the type. */
#include <math.h>

#include "ops/op.h"

#define SLOTS 8 /* matrices worked on at a time */

static sdx_status det_infer(sdx_infer *inf) {
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    inf->scratch = SDX_EXPR_UNKNOWN;
    int32_t rank = sdx_infer_rank(inf, 0);
    if (rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 2));
    sdx_expr rows = sdx_infer_dim(inf, 0, rank - 2), dims[SDX_MAX_RANK];
    SDX_TRY(sdx_infer_require_equal(inf, rows, sdx_infer_dim(inf, 0, rank - 1),
                                    "rows and columns of a matrix"));
    inf->scratch = sdx_inf_mul(inf, sdx_inf_mul(inf, rows, rows),
                               sdx_expr_const(SLOTS * (int64_t)sizeof(double)));
    for (int32_t d = 0; d + 2 < rank; d++) dims[d] = sdx_infer_dim(inf, 0, d);
    return sdx_infer_set_shape(inf, 0, rank - 2, dims);
}

/* Destroys the n x n matrix. */
static double determinant(double *matrix, size_t n) {
    double result = 1;
    for (size_t c = 0; c < n; c++) {
        size_t pivot = c;
        for (size_t r = c + 1; r < n; r++)
            if (fabs(matrix[r * n + c]) > fabs(matrix[pivot * n + c])) pivot = r;
        double top = matrix[pivot * n + c];
        if (top == 0) return 0;
        result *= pivot == c ? top : -top;
        for (size_t k = c; k < n && pivot != c; k++) {
            double swap = matrix[c * n + k];
            matrix[c * n + k] = matrix[pivot * n + k];
            matrix[pivot * n + k] = swap;
        }
        for (size_t r = c + 1; r < n; r++) {
            if (sdx_watch_work(n - c)) return 0;
            double factor = matrix[r * n + c] / top;
            for (size_t k = c + 1; k < n; k++) matrix[r * n + k] -= factor * matrix[c * n + k];
        }
    }
    return result;
}

typedef struct det_job {
    const sdx_tensor *in;
    sdx_tensor *out;
    size_t n;
    double *work;
} det_job;

static void det_slots(void *arg, size_t begin, size_t end) {
    const det_job *job = arg;
    size_t each = job->n * job->n;
    for (size_t slot = begin; slot < end; slot++) {
        double *matrix = job->work + slot * each;
        for (size_t i = slot; i < job->out->count && !sdx_watch_work(each); i += SLOTS) {
            for (size_t k = 0; k < each; k++) matrix[k] = sdx_tensor_double(job->in, i * each + k);
            double value = determinant(matrix, job->n);
            void *data = job->out->data;
            switch (job->out->dtype) {
            case SDX_DTYPE_FLOAT64: ((double *)data)[i] = value; break;
            case SDX_DTYPE_FLOAT16: ((uint16_t *)data)[i] = sdx_f64_to_f16(value); break;
            case SDX_DTYPE_BFLOAT16: ((uint16_t *)data)[i] = sdx_f64_to_bf16(value); break;
            default: ((float *)data)[i] = (float)value; break;
            }
        }
    }
}

static sdx_status det_run(sdx_call *call) {
    const sdx_tensor *in = sdx_in(call, 0);
    det_job job = {in, sdx_out(call, 0), (size_t)in->dims[in->rank - 1], call->scratch};
    sdx_call_parallel(call, SLOTS, in->count * job.n < 16384 ? SLOTS : 1, det_slots, &job);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_det = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_FLOATS},
    .infer = det_infer,
    .run = SDX_BODY(sdx_op_det, det_run),
};
