/* matmul.h - matrix products over every element type, for MatMul, Gemm, Einsum and the quantised
 * products. A type is computed in one of four: float16 and bfloat16 in float32, the narrow
 * integers modulo 2^32 in uint32, the 64-bit ones in uint64, float32 and float64 as they are. */
#ifndef SDX_OPS_MATMUL_H
#define SDX_OPS_MATMUL_H

#include "kernels/gemm.h"
#include "ops/op.h"

/* FLOAT32, FLOAT64, UINT32 or UINT64: what a product of `dtype` is computed in. */
sdx_dtype sdx_product_type(sdx_dtype dtype);
/* True when elements of dtype can be used as they lie (signed ones by their bits). */
bool sdx_product_direct(sdx_dtype dtype);
/* Elements of dtype as elements of its product type, and back (rounded, or cut to the low bits). */
void sdx_product_widen(sdx_dtype dtype, const void *in, void *out, size_t count);
void sdx_product_narrow(sdx_dtype dtype, const void *in, void *out, size_t count);

/* One operand: element (i, j) is at data[i * row + j * col], in elements of the product type. */
typedef struct sdx_matrix {
    const void *data;
    size_t row, col;
} sdx_matrix;

/* C (m x n, rows ldc apart) = A*B, or += when accumulate. `type` is a product type. Scratch is
 * what sdx_product_scratch says. */
void sdx_product(sdx_pool *pool, sdx_dtype type, size_t m, size_t n, size_t k, sdx_matrix a,
                 sdx_matrix b, void *c, size_t ldc, bool accumulate, void *scratch);
size_t sdx_product_scratch(sdx_dtype type, size_t m, size_t n, size_t k);
/* An upper bound of the same for symbolic sizes; unknown if one of them is. */
sdx_expr sdx_infer_product_scratch(sdx_infer *inf, sdx_dtype type, sdx_expr m, sdx_expr n,
                                   sdx_expr k);

/* Many products of one shape, spread over some dims. Strides in elements of the product type. */
typedef struct sdx_batch {
    int32_t rank;
    size_t size[SDX_MAX_RANK];
    size_t a_stride[SDX_MAX_RANK], b_stride[SDX_MAX_RANK], c_stride[SDX_MAX_RANK];
} sdx_batch;
void sdx_product_batch(sdx_pool *pool, sdx_dtype type, size_t m, size_t n, size_t k, sdx_matrix a,
                       sdx_matrix b, void *c, size_t ldc, const sdx_batch *batch, void *scratch,
                       size_t scratch_bytes);
/* Scratch that lets a batch run in parallel; `batch` may be any number of products. */
sdx_expr sdx_infer_batch_scratch(sdx_infer *inf, sdx_dtype type, sdx_expr batch, sdx_expr m,
                                 sdx_expr n, sdx_expr k);

/* value rounded up to a cache line, so that the next part of a scratch area is aligned. */
static inline size_t sdx_scratch_part(size_t bytes) {
    return (bytes + (SDX_CACHE_LINE - 1)) & ~(size_t)(SDX_CACHE_LINE - 1);
}
/* count * element as the symbolic size of such a part (rounding included). */
sdx_expr sdx_infer_scratch_part(sdx_infer *inf, sdx_expr count, size_t element);

/* Shape of numpy.matmul on dims a and b: the one rule of MatMul, MatMulInteger, QLinearMatMul. */
sdx_status sdx_infer_matmul(sdx_infer *inf, uint32_t a, uint32_t b, sdx_dtype out);

/* The sizes of such a product, once all dims are plain. Batch strides count elements. When B is
 * one matrix for the whole batch, the batch is folded into m. */
typedef struct sdx_matmul_shape {
    size_t m, n, k;
    sdx_batch batch;
} sdx_matmul_shape;
void sdx_matmul_shape_of(const sdx_tensor *a, const sdx_tensor *b, const sdx_tensor *y,
                         sdx_matmul_shape *shape);

#endif
