/* conv_float.c - convolution in float32 and float64 by matrix products. A 1x1 kernel without
 * stride or padding is one as it stands. Otherwise blocks of the patch matrix are written to
 * scratch, few rows and columns at a time, and multiplied while they are warm: the scratch has a
 * fixed bound whatever the sizes. Single planes go to conv_direct.c. */
#include <string.h>

#include "kernels/gemm.h"
#include "ops/conv.h"

/* Rows and columns of the patch matrix that exist at a time. */
#define BLOCK_ROWS 256
#define BLOCK_COLUMNS 512
/* Groups run side by side in at most this many pieces, each with scratch of its own. */
#define PIECES 8
#define PIECE_COLUMNS 256

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static size_t gemm_scratch(sdx_dtype dtype, size_t m, size_t n, size_t k) {
    size_t bytes = dtype == SDX_DTYPE_FLOAT64 ? sdx_f64_gemm_scratch(m, n, k)
                                              : sdx_f32_gemm_scratch(m, n, k);
    return (bytes + SDX_CACHE_LINE - 1) / SDX_CACHE_LINE * SDX_CACHE_LINE;
}

/* How one convolution is done; everything follows from sizes that infer may know. */
typedef struct layout {
    size_t columns, rows;   /* of a block of the patch matrix */
    size_t block, product;  /* bytes: the block, and what the matrix product needs */
    size_t pieces;          /* that run side by side */
} layout;

/* SIZE_MAX stands for a size not known: the layout then has room for any. `depth` is the number of
 * rows of the patch matrix. A 1x1 kernel may go without a block, but needs the whole depth. */
static layout plan(sdx_dtype dtype, size_t groups, size_t maps, size_t depth, bool whole_depth) {
    layout l;
    size_t size = sdx_dtype_size(dtype);
    l.pieces = min_size(groups, PIECES);
    l.rows = min_size(depth, BLOCK_ROWS);
    l.columns = groups > 1 ? PIECE_COLUMNS : BLOCK_COLUMNS;
    l.block = l.rows * l.columns * size;
    l.product = gemm_scratch(dtype, min_size(maps, SDX_GEMM_MC), SDX_GEMM_NC,
                             whole_depth && depth != SIZE_MAX ? depth : l.rows);
    return l;
}

/* Too few rows of patches per plane for a matrix product to pay. */
static bool goes_direct(size_t planes, size_t maps) { return planes == 1 && maps <= 4; }

static size_t known_or_max(sdx_expr e) {
    return sdx_expr_is_const(e) && sdx_expr_value(e) >= 0 ? (size_t)sdx_expr_value(e) : SIZE_MAX;
}

void sdx_conv_scratch(sdx_infer *inf, const sdx_conv_params *params) {
    int32_t rank = sdx_infer_rank(inf, 1);
    size_t maps = known_or_max(sdx_infer_dim(inf, 1, 0)), groups = (size_t)params->group;
    size_t planes = known_or_max(sdx_infer_dim(inf, 1, 1));
    size_t taps = known_or_max(sdx_infer_product(inf, 1, 2, rank));
    sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    if (dtype != SDX_DTYPE_FLOAT64) dtype = SDX_DTYPE_FLOAT32;
    if (maps != SIZE_MAX) maps /= groups;
    if (goes_direct(planes, maps) && taps > 1 && taps != SIZE_MAX) {
        sdx_conv_direct_scratch(inf, params, taps);
        return;
    }
    size_t depth = SIZE_MAX;
    if (planes != SIZE_MAX && taps != SIZE_MAX && !sdx_size_mul(planes, taps, &depth))
        depth = SIZE_MAX;
    layout l = plan(dtype, groups, maps, depth, taps == 1);
    sdx_infer_add_scratch(inf, l.pieces * (l.block + l.product));
}

/* ---- one group of one image ------------------------------------------------------------------ */

typedef struct job {
    const sdx_conv *conv;
    layout layout;
    bool pointwise; /* the image is its own patch matrix */
    sdx_pool *pool; /* for the inside of a group; NULL when groups run side by side */
    size_t size;
    const char *x, *w, *bias;
    char *y;
    char *scratch;
} job;

static void multiply(const job *j, size_t m, size_t n, size_t k, const void *a, size_t lda,
                     const void *b, size_t ldb, void *c, size_t ldc, bool add, void *scratch) {
    if (j->conv->dtype == SDX_DTYPE_FLOAT64)
        sdx_f64_gemm(j->pool, m, n, k, a, lda, b, ldb, c, ldc, add, scratch);
    else
        sdx_f32_gemm(j->pool, m, n, k, a, lda, b, ldb, c, ldc, add, scratch);
}

/* Rows of C start as their bias, and the products are added to it. */
static void fill_bias(const job *j, const char *bias, char *c, size_t m, size_t n, size_t ldc) {
    for (size_t i = 0; i < m; i++) {
        if (j->conv->dtype == SDX_DTYPE_FLOAT64) {
            double value = ((const double *)(const void *)bias)[i];
            double *row = (double *)(void *)c + i * ldc;
            for (size_t p = 0; p < n; p++) row[p] = value;
        } else {
            float value = ((const float *)(const void *)bias)[i];
            float *row = (float *)(void *)c + i * ldc;
            for (size_t p = 0; p < n; p++) row[p] = value;
        }
    }
}

typedef struct block {
    const job *job;
    const char *image;
    char *to;
    size_t row, column, columns;
} block;

static void fill_block(void *arg, size_t begin, size_t end) {
    const block *b = arg;
    sdx_im2col(&b->job->conv->window, b->job->size, b->image, b->row + begin, end - begin,
               b->column, b->columns, b->to + begin * b->columns * b->job->size, b->columns);
}

/* Group `item` of all images in turn. */
static void one_group(const job *j, size_t item, char *scratch) {
    const sdx_conv *conv = j->conv;
    size_t group = item % conv->groups, size = j->size, outs = conv->window.out_count;
    size_t depth = conv->in_planes * conv->window.kernel_count, maps = conv->out_planes;
    const char *image = j->x + item * conv->in_planes * conv->window.in_count * size;
    const char *w = j->w + group * maps * depth * size;
    const char *bias = j->bias ? j->bias + group * maps * size : NULL;
    char *y = j->y + item * maps * outs * size;

    size_t step = j->pointwise ? SDX_GEMM_NC : j->layout.columns;
    for (size_t column = 0; column < outs; column += step) {
        size_t columns = min_size(outs - column, step);
        char *c = y + column * size;
        if (bias) fill_bias(j, bias, c, maps, columns, outs);
        if (j->pointwise) {
            multiply(j, maps, columns, depth, w, depth, image + column * size, outs, c, outs,
                     bias != NULL, scratch);
            continue;
        }
        for (size_t row = 0; row == 0 || row < depth; row += j->layout.rows) {
            size_t rows = min_size(depth - row, j->layout.rows);
            if (sdx_watch_work(columns * rows + maps * columns / 16 * rows)) return;
            block b = {j, image, scratch, row, column, columns};
            sdx_parallel_for(j->pool, rows, ((size_t)1 << 14) / columns + 1, fill_block, &b);
            multiply(j, maps, columns, rows, w + row * size, depth, scratch, columns, c, outs,
                     bias != NULL || row > 0, scratch + j->layout.block);
            if (rows == 0) break; /* no input channels: just the bias, or zero */
        }
    }
}

static void piece_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    size_t items = j->conv->batch * j->conv->groups, pieces = j->layout.pieces;
    for (size_t piece = begin; piece < end; piece++) {
        char *scratch = j->scratch + piece * (j->layout.block + j->layout.product);
        size_t last = (piece + 1) * items / pieces;
        for (size_t item = piece * items / pieces; item < last; item++)
            one_group(j, item, scratch);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool is_pointwise(const sdx_window *w) {
    for (int32_t a = 0; a < w->rank; a++)
        if (w->kernel[a] != 1 || w->stride[a] != 1 || w->pad[a] != 0 || w->pad_end[a] != 0)
            return false;
    return true;
}

sdx_status sdx_conv_run(sdx_call *call, const sdx_conv *conv, const void *x, const void *w,
                        const void *bias, void *y) {
    size_t depth = conv->in_planes * conv->window.kernel_count;
    if (conv->batch == 0 || conv->out_planes == 0 || conv->window.out_count == 0)
        return SDX_STATUS_OK;
    if (goes_direct(conv->in_planes, conv->out_planes) && !is_pointwise(&conv->window))
        return sdx_conv_direct(call, conv, x, w, bias, y);
    job j = {.conv = conv, .size = sdx_dtype_size(conv->dtype), .x = x, .w = w, .bias = bias,
             .y = y, .pointwise = is_pointwise(&conv->window)};
    j.layout = plan(conv->dtype, conv->groups, conv->out_planes, depth, j.pointwise);
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, j.layout.pieces * (j.layout.block + j.layout.product),
                             &scratch));
    j.scratch = scratch.data;
    if (conv->groups > 1) {
        sdx_call_parallel(call, j.layout.pieces, 1, piece_body, &j);
    } else {
        j.pool = call->host->pool;
        piece_body(&j, 0, 1);
    }
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}
