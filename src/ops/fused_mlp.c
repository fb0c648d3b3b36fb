/* fused_mlp.c - sardonyx:Mlp, which passes put in place of two sardonyx:MatMul in a row
 * (kernels/mlp.h). Inputs: rows, then matrix, bias and factors of each, then the addend of the second. The
 * attributes are those of the two, numbered: transposed0, scale0, act0 … */
#include <stdio.h>

#include "kernels/matrix.h"
#include "kernels/mlp.h"
#include "ops/fused.h"
#include "ops/half.h"

enum { FIRST = 1, SECOND = 4, ADDEND = 7 };

typedef struct params {
    bool transposed[2]; /* the matrix is (columns, depth) */
    float scale[2];     /* of the product */
    sdx_fused_tail tails[2];
} params;

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    for (uint32_t i = 0; i < 2; i++) {
        SDX_TRY(sdx_attr_get_bool(prep, i ? "transposed1" : "transposed0", false,
                                  &p->transposed[i]));
        SDX_TRY(sdx_attr_get_float(prep, i ? "scale1" : "scale0", 1.0f, &p->scale[i]));
        SDX_TRY(sdx_fused_tail_prepare_stage(prep, i, &p->tails[i]));
    }
    return SDX_STATUS_OK;
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    int32_t rank = sdx_infer_rank(inf, 0);
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    SDX_TRY(sdx_infer_require_min_rank(inf, 0, 1));
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t matrix = i ? SECOND : FIRST;
        SDX_TRY(sdx_fused_require_shape(inf, matrix, 2));
        sdx_expr columns = sdx_infer_dim(inf, matrix, p->transposed[i] ? 0 : 1);
        SDX_TRY(sdx_fused_require_count(inf, matrix + 1, columns, "bias and columns"));
        SDX_TRY(sdx_fused_require_count(inf, matrix + 2, columns, "factors and columns"));
    }
    if (rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    sdx_expr hidden = sdx_infer_dim(inf, FIRST, p->transposed[0] ? 0 : 1);
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 0, rank - 1),
                                    sdx_infer_dim(inf, FIRST, p->transposed[0] ? 1 : 0),
                                    "inner dimension of the first product"));
    SDX_TRY(sdx_infer_require_equal(inf, hidden,
                                    sdx_infer_dim(inf, SECOND, p->transposed[1] ? 1 : 0),
                                    "inner dimension of the second product"));
    if (sdx_expr_is_const(hidden))
        sdx_infer_add_scratch(inf, sdx_mlp_scratch((size_t)sdx_expr_value(hidden)) *
                                       sizeof(float));
    sdx_expr dims[SDX_MAX_RANK];
    for (int32_t i = 0; i < rank - 1; i++) dims[i] = sdx_infer_dim(inf, 0, i);
    dims[rank - 1] = sdx_infer_dim(inf, SECOND, p->transposed[1] ? 0 : 1);
    SDX_TRY(sdx_infer_set_shape(inf, 0, rank, dims));
    return sdx_fused_require_like_output(inf, ADDEND);
}

static sdx_status pack(sdx_pack *pack) {
    const params *p = pack->params;
    const sdx_fused_matrix first = {FIRST, FIRST + 1, FIRST + 2, p->transposed[0], p->scale[0]};
    const sdx_fused_matrix second = {SECOND, SECOND + 1, SECOND + 2, p->transposed[1], p->scale[1]};
    sdx_mlp *mlp = sdx_pack_struct(pack, sizeof *mlp);
    float *to[2];
    if (!mlp) return SDX_STATUS_NO_MEMORY;
    SDX_TRY(sdx_fused_matrix_pack(pack, &first, &mlp->depth, &mlp->hidden, &to[0]));
    SDX_TRY(sdx_fused_matrix_pack(pack, &second, &mlp->hidden, &mlp->columns, &to[1]));
    mlp->first = to[0];
    mlp->second = to[1];
    pack->packed = mlp;
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) {
    const params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0), *addend = sdx_in(call, ADDEND);
    sdx_tensor *y = sdx_out(call, 0);
    sdx_mlp mlp = *(const sdx_mlp *)call->packed;
    if (y->count == 0) return SDX_STATUS_OK;
    mlp.tails[0] = sdx_fused_tail_of(&p->tails[0], NULL, 0);
    mlp.tails[1] = sdx_fused_tail_of(&p->tails[1], addend, mlp.columns);
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, sdx_mlp_scratch(mlp.hidden) * sizeof(float), &scratch));
    sdx_mlp_run(call->host->pool, &mlp, y->count / mlp.columns, x->data, y->data, scratch.data);
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

static void describe(const sdx_call *call, sdx_work *work) {
    const sdx_mlp *mlp = call->packed;
    const size_t rows = sdx_out(call, 0)->count / mlp->columns;
    snprintf(work->way, sizeof work->way, "panels in blocks of rows, %s", sdx_kernels_get()->isa);
    work->flops = 2.0 * (double)rows * (double)mlp->hidden * (double)(mlp->depth + mlp->columns);
}

const sdx_op_def sdx_op_fused_mlp = {
    .min_in = 2, .max_in = 8, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT32)},
    .flags = SDX_OP_IN_PLACE_FIRST, /* rows of a block are read before any of them is written */
    .constants = 0x7eu, /* matrices, biases, factors */
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_mlp, run),
    .pack = SDX_BODY(sdx_op_fused_mlp, pack), .describe = SDX_BODY(sdx_op_fused_mlp, describe),
};
