/* dots.h - products of rows with rows, both contiguous: a matrix times a vector, or few rows times a
 * transposed matrix. */
#ifndef SDX_KERNELS_DOTS_H
#define SDX_KERNELS_DOTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct sdx_f32_dots_job {
    const float *a, *b;
    size_t a_row, b_row; /* floats from row to row */
    size_t a_rows, b_rows, depth;
    float *c;
    size_t c_row, c_column; /* from one row of A, and of B, to the next */
    bool add;
} sdx_f32_dots_job;

#endif
