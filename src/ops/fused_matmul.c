/* fused_matmul.c - sardonyx:MatMul, which passes put in place of MatMul and Gemm whose second factor is
 * a constant matrix: float32, packed, with a tail. Inputs: rows (any rank, the last dim is summed
 * over), matrix, bias or none, addend or none, factors of the columns or none. The factors are put in
 * while packing, so that no second copy of a large matrix is ever made. */
#include <stdio.h>

#include "kernels/matrix.h"
#include "ops/fused.h"

enum { FACTORS = 4 };

typedef struct params {
    sdx_fused_tail tail;
    bool transposed; /* the matrix is (columns, depth) */
    float scale;     /* of the product */
} params;

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    SDX_TRY(sdx_attr_get_bool(prep, "transposed", false, &p->transposed));
    SDX_TRY(sdx_attr_get_float(prep, "scale", 1.0f, &p->scale));
    return sdx_fused_tail_prepare(prep, &p->tail);
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    int32_t rank = sdx_infer_rank(inf, 0);
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 1));
    SDX_TRY(sdx_fused_require_shape(inf, 1, 2));
    SDX_TRY(sdx_fused_require_count(inf, 2, sdx_infer_dim(inf, 1, p->transposed ? 0 : 1),
                                    "bias and columns"));
    SDX_TRY(sdx_fused_require_count(inf, FACTORS, sdx_infer_dim(inf, 1, p->transposed ? 0 : 1),
                                    "factors and columns"));
    if (rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 0, rank - 1),
                                    sdx_infer_dim(inf, 1, p->transposed ? 1 : 0),
                                    "inner dimension of A and B"));
    sdx_expr dims[SDX_MAX_RANK];
    for (int32_t i = 0; i < rank - 1; i++) dims[i] = sdx_infer_dim(inf, 0, i);
    dims[rank - 1] = sdx_infer_dim(inf, 1, p->transposed ? 0 : 1);
    SDX_TRY(sdx_infer_set_shape(inf, 0, rank, dims));
    return sdx_fused_require_like_output(inf, 3);
}

static sdx_status pack(sdx_pack *pack) {
    const params *p = pack->params;
    const sdx_fused_matrix matrix = {1, 2, FACTORS, p->transposed, p->scale};
    size_t depth, columns;
    float *to;
    SDX_TRY(sdx_fused_matrix_pack(pack, &matrix, &depth, &columns, &to));
    pack->packed = to;
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) {
    const params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0), *addend = sdx_in(call, 3);
    sdx_tensor *y = sdx_out(call, 0);
    size_t depth = (size_t)x->dims[x->rank - 1], columns = (size_t)y->dims[y->rank - 1];
    sdx_tail tail = sdx_fused_tail_of(&p->tail, addend, columns);
    if (y->count)
        sdx_matrix_run(call->host->pool, y->count / columns, depth, columns, call->packed, x->data,
                       y->data, &tail);
    return SDX_STATUS_OK;
}

static void describe(const sdx_call *call, sdx_work *work) {
    const sdx_tensor *x = sdx_in(call, 0), *y = sdx_out(call, 0);
    snprintf(work->way, sizeof work->way, "panels, %s", sdx_kernels_get()->isa);
    work->flops = 2.0 * (double)y->count * (double)x->dims[x->rank - 1];
}

const sdx_op_def sdx_op_fused_matmul = {
    .min_in = 2, .max_in = 5, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT32)},
    .constants = 1u << 1 | 1u << 2 | 1u << FACTORS,
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_matmul, run),
    .pack = SDX_BODY(sdx_op_fused_matmul, pack),
    .describe = SDX_BODY(sdx_op_fused_matmul, describe),
};
