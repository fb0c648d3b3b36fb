/* gemm_f32.c - the matrix product of gemm.h in float32, on the tiles of the instruction set at hand.
 *
 * Packed path: a block of KC x NC of B is packed into panels of two vectors of columns; then blocks
 * of rows times panels are independent pieces. Rows of A are used where they lie if their elements
 * are adjacent; else, or if rows lie so that they push each other out of the caches, MC of them at
 * a time are copied. Sums run over k in order, whatever the cut, so the bits never depend on it.
 * Skinny path: a handful of rows (or columns) is multiplied with the other operand as it lies. */
#include <string.h>

#include "kernels/gemm.h"
#include "kernels/kernels.h"

#define KC     SDX_GEMM_KC
#define NC     SDX_GEMM_NC
#define MC     SDX_GEMM_MC
/* Rows of a piece: whole tiles of 6, 8 or 12; with KC of each in the second-level cache. */
#define BLOCK  96
#define WIDEST 32                /* columns of a panel at most: what room for panels is rounded to */
#define PIECE  ((size_t)1 << 19) /* multiply-adds that are worth handing to another thread */

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t divide_up(size_t value, size_t unit) { return (value + unit - 1) / unit; }
static size_t round_up(size_t value, size_t unit) { return divide_up(value, unit) * unit; }
/* Size of parts of `whole`, none above `most`, all about the same and multiples of `unit`, as `most` is. */
static size_t even_part(size_t whole, size_t most, size_t unit) {
    return min_size(whole, round_up(divide_up(whole, divide_up(whole, most)), unit));
}

size_t sdx_f32_gemm_scratch(size_t m, size_t n, size_t k) {
    size_t packed = (min_size(m, MC) + round_up(min_size(n, NC), WIDEST)) * min_size(k, KC);
    size_t skinny = SDX_GEMM_SKINNY * k;
    return (packed > skinny ? packed : skinny) * sizeof(float) + 128;
}

typedef struct job {
    const sdx_kernels *kernels;
    size_t m, n, k; /* of the block at hand */
    sdx_f32_matrix a, b;
    float *c;
    size_t ldc;
    bool accumulate;
    float *packed_a, *packed_b;
    size_t width;         /* columns of a panel */
    size_t block;         /* rows of a piece, at most SDX_GEMM_PANEL_ROWS */
    size_t panels, group; /* of B; that one piece takes */
    size_t groups;
    size_t strip, column; /* skinny: columns of a piece; distance of C's columns */
} job;

/* ---- packing --------------------------------------------------------------------------------- */

/* rows x columns under any strides to rows that lie `step` apart. */
static void copy_matrix(const sdx_kernels *kernels, sdx_f32_matrix from, size_t rows,
                        size_t columns, float *to, size_t step) {
    if (from.col == 1) {
        for (size_t r = 0; r < rows; r++)
            memcpy(to + r * step, from.data + r * from.row, columns * sizeof *to);
    } else if (from.row == 1) {
        SDX_KERNEL_OF(kernels, f32_transpose)(from.data, (ptrdiff_t)from.col, to, (ptrdiff_t)step, columns, rows);
    } else {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < columns; c++)
                to[r * step + c] = from.data[r * from.row + c * from.col];
    }
}

/* Width of the panel at column `at`: one vector is enough for a short last one. */
static size_t panel_width(const job *j, size_t at) {
    return j->n - at <= j->width / 2 ? j->width / 2 : j->width;
}

/* Panels [begin, end), where the elements of B's rows are not neighbours. */
static void pack_panels_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    for (size_t p = begin; p < end; p++) {
        const size_t at = p * j->width, width = panel_width(j, at);
        const size_t columns = min_size(j->n - at, width);
        const sdx_f32_matrix from = {j->b.data + at * j->b.col, j->b.row, j->b.col};
        float *to = j->packed_b + at * j->k;
        copy_matrix(j->kernels, from, j->k, columns, to, width);
        for (size_t r = 0; r < j->k && columns < width; r++)
            memset(to + r * width + columns, 0, (width - columns) * sizeof *to);
    }
}

/* `count` floats; those of whole panels without a call. */
static void copy_run(const float *from, float *to, size_t count) {
    if (count == 32) memcpy(to, from, 32 * sizeof *to);
    else if (count == 16) memcpy(to, from, 16 * sizeof *to);
    else if (count == 8) memcpy(to, from, 8 * sizeof *to);
    else memcpy(to, from, count * sizeof *to);
}

/* Of a piece of packing: few enough to be read along, enough for runs of lines in panels. */
#define B_ROWS 8

/* Pieces [begin, end) of B's rows, whose elements are neighbours. */
static void pack_rows_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    for (size_t piece = begin; piece < end; piece++) {
        const size_t first = piece * B_ROWS, last = min_size(first + B_ROWS, j->k);
        for (size_t at = 0; at < j->n; at += j->width) {
            const size_t width = panel_width(j, at), columns = min_size(j->n - at, width);
            float *to = j->packed_b + at * j->k + first * width;
            const float *from = j->b.data + first * j->b.row + at;
            for (size_t r = first; r < last; r++, to += width, from += j->b.row) {
                copy_run(from, to, columns);
                if (columns < width) memset(to + columns, 0, (width - columns) * sizeof *to);
            }
        }
    }
}

static void pack_b(sdx_pool *pool, job *j) {
    if (j->b.col == 1)
        sdx_parallel_for(pool, divide_up(j->k, B_ROWS), PIECE / 8 / (B_ROWS * j->n) + 1,
                         pack_rows_body, j);
    else
        sdx_parallel_for(pool, j->panels, PIECE / 8 / (j->k * j->width) + 1, pack_panels_body, j);
}

#define A_ROWS 16 /* of a piece of packing */

static void pack_a_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    for (size_t p = begin; p < end; p++) {
        const size_t at = p * A_ROWS, rows = min_size(j->m - at, A_ROWS);
        const sdx_f32_matrix from = {j->a.data + at * j->a.row, j->a.row, j->a.col};
        copy_matrix(j->kernels, from, rows, j->k, j->packed_a + at * j->k, j->k);
    }
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Pieces [begin, end): groups of panels within blocks of rows, so that a block of A stays near. */
static void tiles_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    const float *rows[SDX_GEMM_PANEL_ROWS];
    for (size_t piece = begin; piece < end; piece++) {
        const size_t first = piece / j->groups * j->block, count = min_size(j->m - first, j->block);
        const size_t p0 = piece % j->groups * j->group, p1 = min_size(p0 + j->group, j->panels);
        for (size_t i = 0; i < count; i++) rows[i] = j->a.data + (first + i) * j->a.row;
        for (size_t p = p0, taken; p < p1; p += taken) {
            const size_t at = p * j->width, width = panel_width(j, at);
            /* Two panels at a time where tiles take them: half as many rows of A have to be near. */
            const bool pair = j->kernels->pairs && p + 1 < p1 && j->n - at >= 2 * j->width;
            taken = pair ? 2 : 1;
            /* The panel that follows, or the first, which the next block of rows begins with. */
            const size_t next = p + taken < j->panels ? (p + taken) * j->width : 0;
            const sdx_tiles tiles = {.rows = rows, .row_count = count, .taps = 1, .row_taps = 1,
                                     .depth = j->k,
                                     .panel = j->packed_b + at * j->k,
                                     .ahead = ((ptrdiff_t)next - (ptrdiff_t)at) *
                                              (ptrdiff_t)(j->k * sizeof(float)),
                                     .vectors = width / j->kernels->lanes,
                                     .pair = pair ? j->width * j->k : 0,
                                     .columns = min_size(j->n - at, taken * width),
                                     .out = j->c + first * j->ldc + at,
                                     .out_stride = j->ldc,
                                     .add = j->accumulate};
            SDX_KERNEL_OF(j->kernels, f32_tiles)(&tiles);
        }
    }
}

/* Rows a multiple of 16 KB apart share so few sets of the caches that a block does not stay. */
static bool rows_collide(const job *j) {
    return j->a.row * sizeof(float) % 16384 == 0 && j->m > 16 && j->n > 4 * j->width;
}

/* One block of rows of A (all of them where they lie) against the packed block of B. */
static void run_block(sdx_pool *pool, job *j) {
    if (j->a.col != 1 || rows_collide(j)) {
        sdx_parallel_for(pool, divide_up(j->m, A_ROWS), PIECE / 8 / (A_ROWS * j->k) + 1,
                         pack_a_body, j);
        j->a = (sdx_f32_matrix){j->packed_a, j->k, 1};
    }
    const size_t rows = min_size(j->m, BLOCK), panel_work = rows * j->k * j->width;
    j->group = PIECE / panel_work + 1;
    if (j->kernels->pairs) j->group += j->group % 2;
    j->group = min_size(j->group, j->panels);
    j->groups = divide_up(j->panels, j->group);
    const size_t blocks = divide_up(j->m, BLOCK);
    sdx_parallel_for(pool, blocks * j->groups, 1, tiles_body, j);
}

static void packed_gemm(sdx_pool *pool, const job *whole, float *scratch) {
    const size_t nc = even_part(whole->n, NC, 2 * WIDEST), kc = even_part(whole->k, KC, 8);
    for (size_t jc = 0; jc < whole->n; jc += nc)
        for (size_t pc = 0; pc < whole->k; pc += kc) {
            job j = *whole;
            j.n = min_size(whole->n - jc, nc);
            j.k = min_size(whole->k - pc, kc);
            j.accumulate = whole->accumulate || pc > 0;
            j.b.data += pc * j.b.row + jc * j.b.col;
            j.panels = divide_up(j.n, j.width);
            j.packed_b = scratch;
            j.packed_a = scratch + round_up(j.n, j.width) * j.k;
            pack_b(pool, &j);
            const bool in_place = j.a.col == 1 && !rows_collide(&j);
            for (size_t ic = 0, step = in_place ? j.m : MC; ic < whole->m; ic += step) {
                job part = j;
                part.m = min_size(whole->m - ic, step);
                part.a.data = whole->a.data + ic * whole->a.row + pc * whole->a.col;
                part.c = whole->c + ic * whole->ldc + jc;
                run_block(pool, &part);
            }
        }
}

void sdx_f32_pack_panels(sdx_f32_matrix b, size_t k, size_t n, float *packed) {
    job j = {.kernels = sdx_kernels_get(), .n = n, .k = k, .b = b, .packed_b = packed};
    j.width = 2 * j.kernels->lanes;
    j.panels = divide_up(n, j.width);
    pack_b(NULL, &j);
}

void sdx_f32_panel_product(size_t m, size_t n, size_t k, const float *a, size_t lda,
                           const float *packed, float *c, size_t ldc) {
    job j = {.kernels = sdx_kernels_get(), .m = m, .n = n, .k = k, .a = {a, lda, 1}, .c = c,
             .ldc = ldc, .packed_b = (float *)(uintptr_t)packed, .block = m, .groups = 1};
    j.width = 2 * j.kernels->lanes;
    j.group = j.panels = divide_up(n, j.width);
    tiles_body(&j, 0, 1);
}

/* ---- skinny ---------------------------------------------------------------------------------- */

/* Strips [begin, end) of columns, where rows of B are contiguous. */
static void stream_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    for (size_t s = begin; s < end; s++) {
        const size_t at = s * j->strip, n = min_size(j->n - at, j->strip);
        for (size_t i = 0; i < j->m && !j->accumulate; i++)
            memset(j->c + i * j->ldc + at, 0, n * sizeof(float));
        SDX_KERNEL_OF(j->kernels, f32_stream_rows)(j->a.data, j->a.row, j->b.data + at, j->b.row, j->c + at,
                                    j->ldc, j->m, n, j->k);
    }
}

#define DOTS 16 /* columns of a piece */

/* Groups of columns, where columns of B are contiguous. */
static void dots_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    const size_t first = begin * DOTS, last = min_size(end * DOTS, j->n);
    const sdx_f32_dots_job dots = {.a = j->a.data, .a_row = j->a.row, .a_rows = j->m,
                                   .b = j->b.data + first * j->b.col, .b_row = j->b.col,
                                   .b_rows = last - first, .depth = j->k,
                                   .c = j->c + first * j->column, .c_row = j->ldc,
                                   .c_column = j->column, .add = j->accumulate};
    SDX_KERNEL_OF(j->kernels, f32_dots)(&dots);
}

/* A strip of C stays in a near cache while rows of B stream by; of a single row it may be long, for long
 * runs in memory, but some pieces should be left to share out. */
static size_t strip_of(size_t m, size_t n, size_t threads) {
    const size_t most = m == 1 ? 16384 : 512, parts = threads > 1 ? 4 * threads : m == 1 ? 1 : 8;
    const size_t wide = round_up(divide_up(n, parts), 64);
    return wide < 256 ? 256 : min_size(wide, most);
}

/* m rows against a B that is contiguous one way; C's columns lie `column` apart (1 unless the
 * product was turned over). The rows of A are made dense in scratch if their elements are not. */
static bool skinny_gemm(sdx_pool *pool, job j, float *scratch) {
    const bool by_rows = j.b.col == 1 && j.column == 1 && j.n > 1, by_columns = j.b.row == 1;
    if (j.m > SDX_GEMM_SKINNY || (!by_rows && !by_columns)) return false;
    if (by_rows && j.m > 4 && j.n < 256) return false; /* panels serve these better */
    if (j.a.col != 1) {
        copy_matrix(j.kernels, j.a, j.m, j.k, scratch, j.k);
        j.a = (sdx_f32_matrix){scratch, j.k, 1};
    }
    j.strip = strip_of(j.m, j.n, sdx_pool_threads(pool));
    if (by_rows)
        sdx_parallel_for(pool, divide_up(j.n, j.strip),
                         PIECE / 8 / (j.m * j.k * j.strip) + 1, stream_body, &j);
    else
        sdx_parallel_for(pool, divide_up(j.n, DOTS), PIECE / 8 / (j.m * j.k * DOTS) + 1,
                         dots_body, &j);
    return true;
}

/* ---- entry ----------------------------------------------------------------------------------- */

void sdx_f32_gemm_strided(sdx_pool *pool, size_t m, size_t n, size_t k, sdx_f32_matrix a,
                          sdx_f32_matrix b, float *c, size_t ldc, bool accumulate,
                          void *scratch) {
    if (m == 0 || n == 0) return;
    if (k == 0) {
        for (size_t i = 0; i < m && !accumulate; i++) memset(c + i * ldc, 0, n * sizeof *c);
        return;
    }
    job j = {.kernels = sdx_kernels_get(), .m = m, .n = n, .k = k, .a = a, .b = b, .c = c,
             .ldc = ldc, .accumulate = accumulate, .block = BLOCK, .column = 1};
    j.width = 2 * j.kernels->lanes;
    if (skinny_gemm(pool, j, scratch)) return;
    if (a.col == 1 && n <= SDX_GEMM_SKINNY) {
        /* Few columns: the same turned over, C' = B' A', by products of rows. */
        job turned = j;
        turned.m = n;
        turned.n = m;
        turned.a = (sdx_f32_matrix){b.data, b.col, b.row};
        turned.b = (sdx_f32_matrix){a.data, a.col, a.row};
        turned.ldc = 1;
        turned.column = ldc;
        if (skinny_gemm(pool, turned, scratch)) return;
    }
    packed_gemm(pool, &j, scratch);
}

void sdx_f32_gemm(sdx_pool *pool, size_t m, size_t n, size_t k, const float *a, size_t lda,
                  const float *b, size_t ldb, float *c, size_t ldc, bool accumulate,
                  void *scratch) {
    sdx_f32_gemm_strided(pool, m, n, k, (sdx_f32_matrix){a, lda, 1}, (sdx_f32_matrix){b, ldb, 1},
                         c, ldc, accumulate, scratch);
}
