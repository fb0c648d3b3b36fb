/* matrix.h - rows of floats times a packed matrix: fully connected layers and matrix products whose
 * second factor does not change. */
#ifndef SDX_KERNELS_MATRIX_H
#define SDX_KERNELS_MATRIX_H

#include "base/threads.h"
#include "kernels/kernels.h"
#include "kernels/panels.h"

/* Floats of a packed matrix of `depth` rows and `columns` columns with its bias. */
size_t sdx_matrix_packed_size(size_t depth, size_t columns);
/* Element (k, n) is from[k * row + n * column] * scale; bias may be NULL. Both may have any alignment.
 * end, which may be NULL, is told of parts that are read. */
void sdx_matrix_pack(sdx_pool *pool, size_t depth, size_t columns, const void *from, size_t row,
                     size_t column, float scale, const void *bias, float *packed,
                     const sdx_source_end *end);
/* How its columns are cut: the lanes are those of the kernels that run it. */
sdx_panels sdx_matrix_panels(size_t columns);
/* Multiplies each column of a packed matrix, but not the bias, by its factor; `factors` may have any
 * alignment. */
void sdx_matrix_scale(size_t depth, size_t columns, const void *factors, float *packed);
/* The same for each row, into another matrix of the same size; the bias goes along as it is. */
void sdx_matrix_scale_rows(sdx_pool *pool, size_t depth, size_t columns, const float *packed,
                           const float *factors, float *to);
/* out (rows x columns) = x (rows x depth) times the matrix, and a tail, whose bias is not looked at. */
void sdx_matrix_run(sdx_pool *pool, size_t rows, size_t depth, size_t columns, const float *packed,
                    const float *x, float *out, const sdx_tail *tail);
/* The same with rows of the result `out_stride` apart. */
void sdx_matrix_run_apart(sdx_pool *pool, size_t rows, size_t depth, size_t columns,
                          const float *packed, const float *x, float *out, size_t out_stride,
                          const sdx_tail *tail);
/* The same for columns [first, first + count) alone, whole panels, in the calling thread; out has no other
 * columns, and there is no addend. */
void sdx_matrix_run_columns(size_t rows, size_t depth, size_t columns, const float *packed,
                            size_t first, size_t count, const float *x, float *out,
                            const sdx_tail *tail);

#endif
