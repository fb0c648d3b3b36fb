/* conv_col2im.c - Col2Im: adds the columns of a patch matrix back into the image they could have
 * been taken from. Shares the sliding window with the convolutions. */
#include <inttypes.h>
#include <string.h>

#include "ops/half.h"
#include "ops/window.h"

enum { INPUT, IMAGE_SHAPE, BLOCK_SHAPE };

static sdx_status prepare(sdx_prep *prep) {
    sdx_window_attrs *attrs = prep->params;
    SDX_TRY(sdx_window_attr(prep, attrs, "strides", 1, 1, &attrs->strides));
    SDX_TRY(sdx_window_attr(prep, attrs, "dilations", 1, 1, &attrs->dilations));
    return sdx_window_attr(prep, attrs, "pads", 2, 0, &attrs->pads);
}

/* Number of spatial axes from whatever says it; -1: nothing does. */
static sdx_status spatial_rank(sdx_infer *inf, const sdx_window_attrs *attrs, int32_t *rank) {
    *rank = attrs->axes != 0 ? (int32_t)attrs->axes : -1;
    for (uint32_t i = IMAGE_SHAPE; i <= BLOCK_SHAPE; i++) {
        SDX_TRY(sdx_infer_require_rank(inf, i, 1));
        if (sdx_infer_rank(inf, i) != 1) continue;
        sdx_expr count = sdx_infer_dim(inf, i, 0);
        if (!sdx_expr_is_const(count)) continue;
        int64_t found = sdx_expr_value(count);
        if (found < 1 || found > SDX_MAX_RANK - 2)
            return sdx_infer_fail(inf, "input %u speaks of %" PRId64 " spatial axes, "
                                       "expected 1 to %d", i, found, SDX_MAX_RANK - 2);
        if (*rank >= 0 && found != *rank)
            return sdx_infer_fail(inf, "input %u speaks of %" PRId64 " spatial axes, "
                                       "others of %d", i, found, *rank);
        *rank = (int32_t)found;
    }
    return SDX_STATUS_OK;
}

/* The image must be as long as the input has columns, and channels a multiple of the block. */
static sdx_status check(sdx_infer *inf, const sdx_window_attrs *attrs, int32_t rank,
                        const sdx_expr *image, const sdx_expr *block, sdx_expr *planes) {
    sdx_expr positions = sdx_expr_const(1), taps = sdx_expr_const(1);
    for (int32_t a = 0; a < rank; a++) {
        sdx_expr steps;
        SDX_TRY(sdx_window_out_dim(inf, attrs, a, image[a], block[a], &steps));
        positions = sdx_inf_mul(inf, positions, steps);
        taps = sdx_inf_mul(inf, taps, block[a]);
    }
    sdx_expr rows = sdx_infer_dim(inf, INPUT, 1);
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, INPUT, 2), positions,
                                    "columns and positions of the block"));
    *planes = sdx_expr_floordiv(inf->pool, rows, taps);
    return sdx_infer_require_equal(inf, rows, sdx_inf_mul(inf, *planes, taps),
                                   "rows and a multiple of the block");
}

static sdx_status infer(sdx_infer *inf) {
    const sdx_window_attrs *attrs = inf->params;
    int32_t rank;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, INPUT));
    SDX_TRY(sdx_infer_require_rank(inf, INPUT, 3));
    SDX_TRY(spatial_rank(inf, attrs, &rank));
    if (rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    sdx_expr dims[SDX_MAX_RANK], block[SDX_MAX_RANK];
    size_t images = 0, blocks = 0;
    bool known = sdx_infer_contents(inf, IMAGE_SHAPE, dims + 2, SDX_MAX_RANK - 2, &images);
    bool block_known = sdx_infer_contents(inf, BLOCK_SHAPE, block, SDX_MAX_RANK, &blocks);
    for (int32_t a = 0; a < rank; a++) {
        if (!known || (size_t)a >= images) dims[a + 2] = SDX_EXPR_UNKNOWN;
        if (!block_known || (size_t)a >= blocks) block[a] = SDX_EXPR_UNKNOWN;
        if (sdx_expr_is_const(dims[a + 2]) && (sdx_expr_value(dims[a + 2]) < 0 ||
                                               sdx_expr_value(dims[a + 2]) > INT32_MAX))
            return sdx_infer_fail(inf, "image_shape[%d] is %" PRId64, a,
                                  sdx_expr_value(dims[a + 2]));
    }
    dims[0] = sdx_infer_dim(inf, INPUT, 0);
    SDX_TRY(check(inf, attrs, rank, dims + 2, block, &dims[1]));
    SDX_TRY(sdx_infer_set_shape(inf, 0, rank + 2, dims));
    sdx_infer_half_scratch(inf);
    return SDX_STATUS_OK;
}

typedef struct job {
    sdx_window window;
    const sdx_tensor *x;
    sdx_tensor *y;
} job;

/* Output planes [begin, end). */
static void planes_body(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    const sdx_window *w = &j->window;
    size_t size = sdx_dtype_size(j->y->dtype), rows = (end - begin) * w->kernel_count;
    memset((char *)j->y->data + begin * w->in_count * size, 0, (end - begin) * w->in_count * size);
    if (w->out_count == 0) return;
    const char *from = (const char *)j->x->data + begin * w->kernel_count * w->out_count * size;
    sdx_col2im(w, j->y->dtype, from, w->out_count, begin * w->kernel_count, rows, 0, w->out_count,
               j->y->data);
}

static sdx_status body(sdx_call *call) {
    const sdx_window_attrs *attrs = call->params;
    const sdx_tensor *x = sdx_in(call, INPUT), *block = sdx_in(call, BLOCK_SHAPE);
    job j = {.x = x, .y = sdx_out(call, 0)};
    if (j.y->count == 0) return SDX_STATUS_OK;
    int32_t rank = j.y->rank - 2;
    int64_t taps[SDX_MAX_RANK], steps[SDX_MAX_RANK];
    for (int32_t a = 0; a < rank; a++) {
        taps[a] = sdx_tensor_int(block, (size_t)a);
        int64_t pads = attrs->pads ? attrs->pads[a] + attrs->pads[(size_t)a + attrs->axes] : 0;
        int64_t wide = (taps[a] - 1) * sdx_window_dilation(attrs, a) + 1;
        steps[a] = (j.y->dims[a + 2] + pads - wide) / sdx_window_stride(attrs, a) + 1;
    }
    sdx_window_resolve(attrs, rank, j.y->dims + 2, taps, steps, &j.window);
    sdx_call_parallel(call, (size_t)(j.y->dims[0] * j.y->dims[1]),
                      ((size_t)1 << 15) / (j.window.kernel_count * j.window.out_count + 1) + 1,
                      planes_body, &j);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

const sdx_op_def sdx_op_col2im = {
    .min_in = 3, .max_in = 3, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_NUMERIC | SDX_T_COMPLEX | SDX_T(BOOL), SDX_T(INT64)},
    .params_size = sizeof(sdx_window_attrs),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_col2im, run),
};
