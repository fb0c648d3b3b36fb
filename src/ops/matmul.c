/* matmul.c - MatMul: numpy's matmul on every element type. The shape rule and the batch geometry
 * here serve the quantised products too; the arithmetic is in matmul_product.c. */
#include "ops/matmul.h"

/* Batch dims of the output, right-aligned. */
static sdx_status broadcast_batch(sdx_infer *inf, uint32_t a, uint32_t b, int32_t rank,
                                  sdx_expr *dims) {
    int32_t a_skip = rank - (sdx_infer_rank(inf, a) - 2);
    int32_t b_skip = rank - (sdx_infer_rank(inf, b) - 2);
    for (int32_t d = 0; d < rank; d++) {
        sdx_expr one = sdx_expr_const(1);
        sdx_expr x = d < a_skip ? one : sdx_infer_dim(inf, a, d - a_skip);
        sdx_expr y = d < b_skip ? one : sdx_infer_dim(inf, b, d - b_skip);
        SDX_TRY(sdx_infer_broadcast_dim(inf, x, y, "batch dims of A and B", &dims[d]));
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_infer_matmul(sdx_infer *inf, uint32_t a, uint32_t b, sdx_dtype out) {
    sdx_infer_set_dtype(inf, 0, out);
    int32_t ra = sdx_infer_rank(inf, a), rb = sdx_infer_rank(inf, b);
    if (ra == 0 || rb == 0)
        return sdx_infer_fail(inf, "A and B need at least one dim, found rank %d and %d", ra, rb);
    if (ra < 0 || rb < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, a, ra - 1),
                                    sdx_infer_dim(inf, b, rb > 1 ? rb - 2 : 0),
                                    "inner dimension of A and B"));
    sdx_expr dims[SDX_MAX_RANK + 2];
    int32_t batch = ra > rb ? ra - 2 : rb - 2, rank = batch > 0 ? batch : 0;
    SDX_TRY(broadcast_batch(inf, a, b, rank, dims));
    if (ra > 1) dims[rank++] = sdx_infer_dim(inf, a, ra - 2);
    if (rb > 1) dims[rank++] = sdx_infer_dim(inf, b, rb - 1);
    return sdx_infer_set_shape(inf, 0, rank, dims);
}

/* Strides of the batch dims of one operand, the last `own` of rank; 0 where it is broadcast. */
static void batch_strides(const int64_t *dims, int32_t own, int32_t rank, size_t matrix,
                          size_t strides[SDX_MAX_RANK]) {
    size_t stride = matrix;
    for (int32_t d = 0; d < rank; d++) strides[d] = 0;
    for (int32_t d = own - 1; d >= 0; d--) {
        size_t size = (size_t)dims[d];
        strides[rank - own + d] = size == 1 ? 0 : stride;
        stride *= size;
    }
}

void sdx_matmul_shape_of(const sdx_tensor *a, const sdx_tensor *b, const sdx_tensor *y,
                         sdx_matmul_shape *shape) {
    size_t m = a->rank > 1 ? (size_t)a->dims[a->rank - 2] : 1;
    size_t n = b->rank > 1 ? (size_t)b->dims[b->rank - 1] : 1;
    size_t k = (size_t)a->dims[a->rank - 1];
    int32_t rank = y->rank - (a->rank > 1) - (b->rank > 1);
    size_t count = sdx_dims_product(y->dims, 0, rank);
    if (b->rank <= 2) {
        m *= count;
        rank = 0;
    }
    shape->m = m;
    shape->n = n;
    shape->k = k;
    shape->batch.rank = rank;
    for (int32_t d = 0; d < rank; d++) shape->batch.size[d] = (size_t)y->dims[d];
    batch_strides(a->dims, rank > 0 && a->rank > 2 ? a->rank - 2 : 0, rank, m * k,
                  shape->batch.a_stride);
    batch_strides(b->dims, rank > 0 && b->rank > 2 ? b->rank - 2 : 0, rank, k * n,
                  shape->batch.b_stride);
    batch_strides(y->dims, rank, rank, m * n, shape->batch.c_stride);
}

/* ---- MatMul ---------------------------------------------------------------------------------- */

static sdx_status matmul_infer(sdx_infer *inf) {
    sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    SDX_TRY(sdx_infer_matmul(inf, 0, 1, dtype));
    int32_t ra = sdx_infer_rank(inf, 0), rb = sdx_infer_rank(inf, 1);
    inf->scratch = SDX_EXPR_UNKNOWN;
    if (ra < 1 || rb < 1 || dtype == SDX_DTYPE_UNDEFINED) return SDX_STATUS_OK;
    const sdx_infer_out *y = &inf->out[0];
    sdx_expr k = sdx_infer_dim(inf, 0, ra - 1), m = sdx_infer_product(inf, 0, 0, ra - 1);
    sdx_expr n = rb > 1 ? sdx_infer_dim(inf, 1, rb - 1) : sdx_expr_const(1);
    sdx_expr batch = sdx_expr_const(1);
    if (rb > 2) { /* as in sdx_matmul_shape_of, a batch of A alone is folded into m */
        int32_t rank = ra > rb ? ra - 2 : rb - 2;
        for (int32_t d = 0; d < rank; d++) batch = sdx_inf_mul(inf, batch, y->dims[d]);
        m = ra > 1 ? sdx_infer_dim(inf, 0, ra - 2) : sdx_expr_const(1);
    }
    sdx_expr bytes = sdx_infer_batch_scratch(inf, sdx_product_type(dtype), batch, m, n, k);
    if (!sdx_product_direct(dtype)) {
        sdx_expr result = sdx_inf_mul(inf, batch, sdx_inf_mul(inf, m, n));
        size_t size = sdx_dtype_size(sdx_product_type(dtype));
        sdx_expr a_part = sdx_infer_scratch_part(inf, sdx_infer_product(inf, 0, 0, ra), size);
        sdx_expr b_part = sdx_infer_scratch_part(inf, sdx_infer_product(inf, 1, 0, rb), size);
        sdx_expr y_part = sdx_infer_scratch_part(inf, result, size);
        bytes = sdx_inf_add(inf, bytes, sdx_inf_add(inf, a_part, sdx_inf_add(inf, b_part, y_part)));
    }
    inf->scratch = bytes;
    return SDX_STATUS_OK;
}

static sdx_status matmul_run(sdx_call *call) {
    const sdx_tensor *a = sdx_in(call, 0), *b = sdx_in(call, 1);
    sdx_tensor *y = sdx_out(call, 0);
    if (y->count == 0) return SDX_STATUS_OK;
    sdx_matmul_shape shape;
    sdx_matmul_shape_of(a, b, y, &shape);
    sdx_dtype type = sdx_product_type(a->dtype);
    size_t size = sdx_dtype_size(type), taken = 0;
    const void *a_data = a->data, *b_data = b->data;
    void *y_data = y->data;
    if (!sdx_product_direct(a->dtype)) {
        char *at = call->scratch;
        size_t a_bytes = sdx_scratch_part(a->count * size);
        size_t b_bytes = sdx_scratch_part(b->count * size);
        sdx_product_widen(a->dtype, a->data, at, a->count);
        sdx_product_widen(b->dtype, b->data, at + a_bytes, b->count);
        a_data = at;
        b_data = at + a_bytes;
        y_data = at + a_bytes + b_bytes;
        taken = a_bytes + b_bytes + sdx_scratch_part(y->count * size);
    }
    sdx_product_batch(call->host->pool, type, shape.m, shape.n, shape.k,
                      (sdx_matrix){a_data, shape.k, 1}, (sdx_matrix){b_data, shape.n, 1}, y_data,
                      shape.n, &shape.batch, (char *)call->scratch + taken,
                      call->scratch_bytes - taken);
    if (taken > 0) sdx_product_narrow(y->dtype, y_data, y->data, y->count);
    return SDX_STATUS_OK;
}

static void matmul_describe(const sdx_call *call, sdx_work *work) {
    const sdx_tensor *a = sdx_in(call, 0), *y = sdx_out(call, 0);
    work->flops = 2.0 * (double)y->count * (double)a->dims[a->rank - 1];
}

const sdx_op_def sdx_op_matmul = {
    .min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T_FLOATS | SDX_T_INDEX | SDX_T(UINT32) | SDX_T(UINT64)},
    .infer = matmul_infer,
    .run = SDX_BODY(sdx_op_matmul, matmul_run),
    .describe = SDX_BODY(sdx_op_matmul, matmul_describe),
};
