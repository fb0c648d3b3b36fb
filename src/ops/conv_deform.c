/* conv_deform.c - DeformConv: a convolution whose taps are moved by offsets that are an input, and
 * weighted by a mask. Taps fall between elements, so the patch matrix is made by linear
 * interpolation over the corners of the cell around each; the rest is a matrix product. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/gemm.h"
#include "ops/conv.h"

typedef struct params {
    sdx_conv_params conv;
    int64_t offset_group;
} params;

enum { X, W, OFFSET, BIAS, MASK };
enum { COLUMNS = 64, PLACES = 128 }; /* output positions at a time; and times axes */

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    SDX_TRY(sdx_conv_prepare(prep, &p->conv));
    SDX_TRY(sdx_attr_get_int(prep, "offset_group", 1, &p->offset_group));
    if (p->offset_group < 1 || p->offset_group > INT32_MAX)
        return sdx_prep_fail(prep, "offset_group is %" PRId64 ", expected at least 1",
                             p->offset_group);
    return SDX_STATUS_OK;
}

/* ---- infer ----------------------------------------------------------------------------------- */

/* Offsets and mask have `channels`, and the spatial dims of the output. */
static sdx_status check_map(sdx_infer *inf, uint32_t i, sdx_expr channels, const char *what) {
    const sdx_infer_out *out = &inf->out[0];
    if (!sdx_infer_present(inf, i) || sdx_infer_rank(inf, i) < 0 || !out->rank_known)
        return SDX_STATUS_OK;
    SDX_TRY(sdx_infer_require_rank(inf, i, out->type.rank));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, 1), channels, what));
    for (int32_t a = 0; a < out->type.rank; a++)
        if (a != 1)
            SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, i, a), out->dims[a], what));
    return SDX_STATUS_OK;
}

static size_t block_bytes(sdx_dtype dtype, size_t rows) {
    return (rows * COLUMNS * sdx_dtype_size(dtype) + 63) / 64 * 64;
}
static size_t product_bytes(sdx_dtype dtype, size_t maps, size_t depth) {
    return dtype == SDX_DTYPE_FLOAT64 ? sdx_f64_gemm_scratch(maps, COLUMNS, depth)
                                      : sdx_f32_gemm_scratch(maps, COLUMNS, depth);
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, X));
    SDX_TRY(sdx_conv_infer_shape(inf, &p->conv, X, W, BIAS));
    sdx_infer_half_scratch(inf);
    int32_t rank = sdx_infer_rank(inf, W);
    if (rank < 0) return SDX_STATUS_OK;
    sdx_expr taps = sdx_infer_product(inf, W, 2, rank);
    sdx_expr mask = sdx_inf_mul(inf, taps, sdx_expr_const(p->offset_group));
    SDX_TRY(check_map(inf, OFFSET, sdx_inf_mul(inf, mask, sdx_expr_const(rank - 2)), "offset"));
    SDX_TRY(check_map(inf, MASK, mask, "mask"));
    sdx_expr maps = sdx_infer_dim(inf, W, 0), planes = sdx_infer_dim(inf, W, 1);
    sdx_expr channels = sdx_inf_mul(inf, planes, sdx_expr_const(p->conv.group));
    SDX_TRY(sdx_require_groups(inf, channels, p->offset_group, "channels with offsets"));
    sdx_expr depth = sdx_inf_mul(inf, planes, taps), rows = sdx_inf_mul(inf, channels, taps);
    if (sdx_expr_is_const(maps) && sdx_expr_is_const(depth) && sdx_expr_is_const(rows)) {
        sdx_dtype dtype = sdx_infer_dtype(inf, X);
        if (dtype != SDX_DTYPE_FLOAT64) dtype = SDX_DTYPE_FLOAT32;
        sdx_infer_add_scratch(inf, block_bytes(dtype, (size_t)sdx_expr_value(rows)));
        sdx_infer_add_scratch(inf, product_bytes(dtype, (size_t)sdx_expr_value(maps),
                                                 (size_t)sdx_expr_value(depth)));
    }
    return SDX_STATUS_OK;
}

/* ---- run ------------------------------------------------------------------------------------- */

typedef struct job {
    sdx_conv conv;
    size_t offset_groups, planes_per_offset;
    const void *x, *offset, *mask; /* of the image at hand */
    void *rows;
    size_t column, columns;
} job;

#define T float
#define LOCAL(x) f32_##x
#include "ops/conv_deform_template.h"
#undef T
#undef LOCAL

#define T double
#define LOCAL(x) f64_##x
#include "ops/conv_deform_template.h"
#undef T
#undef LOCAL

/* Patches of a block of columns, times the kernels of each group. */
static void one_block(sdx_call *call, const job *j, const char *w, char *y, char *product) {
    const sdx_conv *conv = &j->conv;
    bool wide = conv->dtype == SDX_DTYPE_FLOAT64;
    size_t size = sdx_dtype_size(conv->dtype), outs = conv->window.out_count;
    size_t depth = conv->in_planes * conv->window.kernel_count, maps = conv->out_planes;
    sdx_call_parallel(call, j->offset_groups * conv->window.kernel_count,
                      ((size_t)1 << 12) / (j->planes_per_offset * j->columns + 1) + 1,
                      wide ? f64_fill : f32_fill, (void *)j);
    for (size_t g = 0; g < conv->groups; g++) {
        const char *a = w + g * maps * depth * size;
        char *b = (char *)j->rows + g * depth * j->columns * size;
        char *c = y + (g * maps * outs + j->column) * size;
        if (wide)
            sdx_f64_gemm(call->host->pool, maps, j->columns, depth, (const void *)a, depth,
                         (void *)b, j->columns, (void *)c, outs, true, product);
        else
            sdx_f32_gemm(call->host->pool, maps, j->columns, depth, (const void *)a, depth,
                         (void *)b, j->columns, (void *)c, outs, true, product);
    }
}

static sdx_status body(sdx_call *call) {
    const params *p = call->params;
    const sdx_tensor *x = sdx_in(call, X), *w = sdx_in(call, W), *offset = sdx_in(call, OFFSET);
    const sdx_tensor *bias = sdx_in(call, BIAS), *mask = sdx_in(call, MASK);
    sdx_tensor *y = sdx_out(call, 0);
    if (y->count == 0) return SDX_STATUS_OK;
    job j = {.offset_groups = (size_t)p->offset_group};
    sdx_conv_resolve(&p->conv, x, w, y, &j.conv);
    size_t size = sdx_dtype_size(x->dtype), channels = j.conv.in_planes * j.conv.groups;
    size_t taps = j.conv.window.kernel_count, outs = j.conv.window.out_count;
    size_t maps = j.conv.out_planes * j.conv.groups, block = block_bytes(x->dtype, channels * taps);
    j.planes_per_offset = channels / j.offset_groups;
    size_t most = PLACES / (size_t)j.conv.window.rank;
    if (most > COLUMNS) most = COLUMNS;
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(
        call, block + product_bytes(x->dtype, j.conv.out_planes, j.conv.in_planes * taps),
        &scratch));
    j.rows = scratch.data;
    for (size_t i = 0; i < j.conv.batch; i++) {
        char *out = (char *)y->data + i * maps * outs * size;
        j.x = x->count == 0 ? NULL : (char *)x->data + i * channels * j.conv.window.in_count * size;
        size_t at = i * j.offset_groups * taps * outs * size;
        j.offset = (char *)offset->data + at * (size_t)j.conv.window.rank;
        j.mask = mask ? (char *)mask->data + at : NULL;
        if (x->dtype == SDX_DTYPE_FLOAT64)
            f64_start(bias ? bias->data : NULL, maps, outs, (void *)out);
        else
            f32_start(bias ? bias->data : NULL, maps, outs, (void *)out);
        for (j.column = 0; channels > 0 && j.column < outs; j.column += most) {
            j.columns = outs - j.column < most ? outs - j.column : most;
            one_block(call, &j, w->data, out, (char *)scratch.data + block);
        }
    }
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

const sdx_op_def sdx_op_deform_conv = {
    .min_in = 3, .max_in = 5, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_deform_conv, run),
};
