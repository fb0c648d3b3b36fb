/* gemm.h - matrix products in float32 and float64: C = A*B or C += A*B on row-major C, with A and B
 * under any pair of strides. Used by MatMul, Gemm, Einsum, Attention, the recurrent and the
 * convolution operators. The same bits come out for any number of threads:
 * every element of C is summed in an order that depends on the sizes alone. */
#ifndef SDX_KERNELS_GEMM_H
#define SDX_KERNELS_GEMM_H

#include "base/threads.h"

/* Blocks of k, of columns of B and of rows of A that are packed at a time. */
#define SDX_GEMM_KC 1024
#define SDX_GEMM_NC 512
#define SDX_GEMM_MC 96
/* Up to this many rows (or columns) of C, the other operand is read where it lies, not packed. */
#define SDX_GEMM_SKINNY 8

/* Bytes of scratch, aligned to a cache line, that a product of these sizes needs; grows with each
 * of the three, and is at most max(SDX_GEMM_SCRATCH_MAX, SDX_GEMM_SKINNY elements per k). */
size_t sdx_f32_gemm_scratch(size_t m, size_t n, size_t k);
size_t sdx_f64_gemm_scratch(size_t m, size_t n, size_t k);
#define SDX_GEMM_SCRATCH_MAX(element)                                                             \
    ((size_t)SDX_GEMM_KC * (SDX_GEMM_NC + SDX_GEMM_MC) * (element) + 128)

/* C (m x n, rows ldc apart) = A (m x k) * B (k x n), or += when accumulate. pool may be NULL. */
void sdx_f32_gemm(sdx_pool *pool, size_t m, size_t n, size_t k, const float *a, size_t lda,
                  const float *b, size_t ldb, float *c, size_t ldc, bool accumulate,
                  void *scratch);
void sdx_f64_gemm(sdx_pool *pool, size_t m, size_t n, size_t k, const double *a, size_t lda,
                  const double *b, size_t ldb, double *c, size_t ldc, bool accumulate,
                  void *scratch);

/* A matrix under any strides, in elements: element (i, j) is data[i * row + j * col]. A transposed
 * operand is one with the strides swapped. */
typedef struct sdx_f32_matrix {
    const float *data;
    size_t row, col;
} sdx_f32_matrix;
typedef struct sdx_f64_matrix {
    const double *data;
    size_t row, col;
} sdx_f64_matrix;

void sdx_f32_gemm_strided(sdx_pool *pool, size_t m, size_t n, size_t k, sdx_f32_matrix a,
                          sdx_f32_matrix b, float *c, size_t ldc, bool accumulate, void *scratch);
void sdx_f64_gemm_strided(sdx_pool *pool, size_t m, size_t n, size_t k, sdx_f64_matrix a,
                          sdx_f64_matrix b, double *c, size_t ldc, bool accumulate, void *scratch);

/* The same in two steps, for a B that several blocks of rows are multiplied with, in float32 and on one
 * thread: B (k x n) packed into k times n floats, n rounded up to a multiple of 32; then C (m x n) = A * B
 * for at most SDX_GEMM_PANEL_ROWS rows of adjacent elements. */
#define SDX_GEMM_PANEL_ROWS 144
void sdx_f32_pack_panels(sdx_f32_matrix b, size_t k, size_t n, float *packed);
void sdx_f32_panel_product(size_t m, size_t n, size_t k, const float *a, size_t lda,
                           const float *packed, float *c, size_t ldc);

#endif
