/* gemm.c - the matrix product of gemm.h in float64, made from gemm_template.h; float32 has one on
 * tiles of its own, gemm_f32.c. Blocks of A and B are packed into panels of a register tile's
 * height and width, then the tiles are computed one after the other from contiguous memory. */
#include "kernels/gemm.h"

#include <string.h>

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

/* Multiply-adds that are worth handing to another thread. */
#define PIECE_WORK ((size_t)1 << 18)

#define T double
#define MATRIX sdx_f64_matrix
#define NAME(x) sdx_f64_##x
#define LOCAL(x) f64_##x
#include "kernels/gemm_template.h"
