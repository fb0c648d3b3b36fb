/* conv_transpose.c - ConvTranspose: the adjoint of a convolution. Blocks of the patch matrix are
 * made by a product of the transposed kernel with the input, and added into the output where the
 * convolution would have read them. */
#include <inttypes.h>
#include <string.h>

#include "kernels/gemm.h"
#include "ops/conv_transpose.h"

typedef sdx_conv_transpose_params params;

sdx_status sdx_conv_transpose_prepare(sdx_prep *prep, params *p) {
    SDX_TRY(sdx_conv_prepare(prep, &p->conv));
    sdx_window_attrs *window = &p->conv.window;
    SDX_TRY(sdx_window_attr(prep, window, "output_padding", 1, 0, &p->output_padding));
    const int64_t *shape;
    size_t count;
    SDX_TRY(sdx_attr_get_ints(prep, "output_shape", &shape, &count));
    if (count == 0) return SDX_STATUS_OK;
    /* Some writers put batch and channels in front. */
    if (window->axes != 0 && count == window->axes + 2) {
        shape += 2;
        count -= 2;
    }
    if (window->axes == 0) window->axes = count;
    if (count != window->axes || count > SDX_MAX_RANK - 2)
        return sdx_prep_fail(prep, "output_shape has %zu values, expected one for each of %zu "
                                   "spatial axes", count, window->axes);
    for (size_t i = 0; i < count; i++)
        if (shape[i] < 1 || shape[i] > INT32_MAX)
            return sdx_prep_fail(prep, "output_shape[%zu] is %" PRId64 ", expected at least 1", i,
                                 shape[i]);
    p->output_shape = shape;
    return SDX_STATUS_OK;
}

static sdx_status prepare(sdx_prep *prep) {
    return sdx_conv_transpose_prepare(prep, prep->params);
}

/* ---- infer ----------------------------------------------------------------------------------- */

/* stride * (in - 1) + output_padding + (kernel - 1) * dilation + 1: the axis before pads cut it. */
static sdx_expr full_dim(sdx_infer *inf, const params *p, int32_t axis, sdx_expr in,
                         sdx_expr kernel) {
    const sdx_window_attrs *window = &p->conv.window;
    sdx_expr one = sdx_expr_const(1);
    sdx_expr steps = sdx_inf_mul(inf, sdx_inf_sub(inf, in, one),
                                 sdx_expr_const(sdx_window_stride(window, axis)));
    sdx_expr wide = sdx_inf_mul(inf, sdx_inf_sub(inf, kernel, one),
                                sdx_expr_const(sdx_window_dilation(window, axis)));
    int64_t extra = 1 + (p->output_padding ? p->output_padding[axis] : 0);
    return sdx_inf_add(inf, sdx_inf_add(inf, steps, wide), sdx_expr_const(extra));
}

sdx_status sdx_conv_transpose_out_dim(sdx_infer *inf, const params *p, int32_t axis, sdx_expr in,
                                      sdx_expr kernel, sdx_expr *out) {
    const sdx_window_attrs *window = &p->conv.window;
    if (sdx_expr_is_const(kernel) &&
        (sdx_expr_value(kernel) < 1 || sdx_expr_value(kernel) > INT32_MAX))
        return sdx_infer_fail(inf, "the kernel has %" PRId64 " taps along spatial axis %d",
                              sdx_expr_value(kernel), axis);
    if (p->output_shape) {
        *out = sdx_expr_const(p->output_shape[axis]);
        return SDX_STATUS_OK;
    }
    if (window->auto_pad == SDX_PAD_SAME_UPPER || window->auto_pad == SDX_PAD_SAME_LOWER) {
        *out = sdx_inf_mul(inf, in, sdx_expr_const(sdx_window_stride(window, axis)));
        return SDX_STATUS_OK;
    }
    *out = full_dim(inf, p, axis, in, kernel);
    if (window->auto_pad == SDX_PAD_NOTSET && window->pads) {
        int64_t pads = window->pads[axis] + window->pads[(size_t)axis + window->axes];
        *out = sdx_inf_sub(inf, *out, sdx_expr_const(pads));
    }
    if (sdx_expr_is_const(*out) && sdx_expr_value(*out) < 0)
        return sdx_infer_fail(inf, "pads cut spatial axis %d of the output to a length of %" PRId64,
                              axis, sdx_expr_value(*out));
    return SDX_STATUS_OK;
}

static sdx_status check_kernel(sdx_infer *inf, const params *p) {
    int32_t rank = sdx_infer_rank(inf, 0), w_rank = sdx_infer_rank(inf, 1);
    SDX_TRY(sdx_window_check_rank(inf, &p->conv.window, rank));
    SDX_TRY(sdx_window_check_rank(inf, &p->conv.window, w_rank));
    sdx_expr planes = sdx_infer_dim(inf, 1, 0);
    if (rank >= 0) SDX_TRY(sdx_infer_require_rank(inf, 1, rank));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 0, 1), planes,
                                    "channels of the input and of the kernel"));
    SDX_TRY(sdx_require_groups(inf, planes, p->conv.group, "input channels"));
    if (p->conv.window.kernel)
        for (int32_t a = 2; a < w_rank; a++)
            SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 1, a),
                                            sdx_expr_const(p->conv.window.kernel[a - 2]),
                                            "kernel_shape and kernel"));
    return SDX_STATUS_OK;
}

/* ---- sizes of the blocks --------------------------------------------------------------------- */

typedef struct layout {
    size_t maps, columns; /* output planes, and input positions, of a block */
    size_t block, product;
} layout;

static layout plan(sdx_dtype dtype, size_t maps, size_t taps, size_t planes) {
    layout l;
    size_t size = sdx_dtype_size(dtype), budget = ((size_t)1 << 20) / size;
    l.maps = taps < 256 ? 256 / taps : 1;
    if (l.maps > maps) l.maps = maps;
    size_t rows = l.maps * taps;
    l.columns = rows > 0 ? budget / rows : 0;
    l.columns = l.columns < 16 ? 16 : l.columns > 512 ? 512 : l.columns;
    l.block = (rows * l.columns * size + SDX_CACHE_LINE - 1) / SDX_CACHE_LINE * SDX_CACHE_LINE;
    l.product = dtype == SDX_DTYPE_FLOAT64 ? sdx_f64_gemm_scratch(rows, l.columns, planes)
                                           : sdx_f32_gemm_scratch(rows, l.columns, planes);
    return l;
}

static void add_scratch(sdx_infer *inf, const params *p) {
    int32_t rank = sdx_infer_rank(inf, 1);
    if (rank < 3) return;
    sdx_expr planes = sdx_infer_dim(inf, 1, 0), maps = sdx_infer_dim(inf, 1, 1);
    sdx_expr taps = sdx_infer_product(inf, 1, 2, rank);
    if (!sdx_expr_is_const(planes) || !sdx_expr_is_const(maps) || !sdx_expr_is_const(taps)) return;
    sdx_dtype dtype = sdx_infer_dtype(inf, 0);
    if (dtype != SDX_DTYPE_FLOAT64) dtype = SDX_DTYPE_FLOAT32;
    layout l = plan(dtype, (size_t)sdx_expr_value(maps), (size_t)sdx_expr_value(taps),
                    (size_t)(sdx_expr_value(planes) / p->conv.group));
    sdx_infer_add_scratch(inf, l.block + l.product);
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    int32_t rank = sdx_infer_rank(inf, 0), w_rank = sdx_infer_rank(inf, 1);
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(check_kernel(inf, p));
    sdx_expr maps = sdx_inf_mul(inf, sdx_infer_dim(inf, 1, 1), sdx_expr_const(p->conv.group));
    SDX_TRY(sdx_infer_require_rank(inf, 2, 1));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 2, 0), maps,
                                    "bias and output channels"));
    if (rank < 0 && w_rank < 0) return sdx_infer_set_shape(inf, 0, -1, NULL);
    sdx_expr dims[SDX_MAX_RANK];
    int32_t out_rank = rank >= 0 ? rank : w_rank;
    dims[0] = sdx_infer_dim(inf, 0, 0);
    dims[1] = maps;
    for (int32_t a = 0; a < out_rank - 2; a++) {
        sdx_expr taps = sdx_infer_dim(inf, 1, a + 2);
        if (p->conv.window.kernel) taps = sdx_expr_const(p->conv.window.kernel[a]);
        SDX_TRY(sdx_conv_transpose_out_dim(inf, p, a, sdx_infer_dim(inf, 0, a + 2), taps,
                                           &dims[a + 2]));
    }
    SDX_TRY(sdx_infer_set_shape(inf, 0, out_rank, dims));
    sdx_infer_half_scratch(inf);
    add_scratch(inf, p);
    return SDX_STATUS_OK;
}

/* ---- run ------------------------------------------------------------------------------------- */

typedef struct job {
    sdx_window window; /* of the convolution whose adjoint this is: in and out change places */
    sdx_dtype dtype;
    size_t size, maps, planes; /* of one group */
    const char *bias;
    char *y, *patches;
    size_t map, column, columns;
} job;

/* Pads follow from the wanted output where that is given: the doc of the operator has the rule. */
void sdx_conv_transpose_resolve(const params *p, int32_t axes, const int64_t *in,
                                const int64_t *kernel, const int64_t *out, sdx_window *window) {
    const sdx_window_attrs *attrs = &p->conv.window;
    sdx_window_resolve(attrs, axes, out, kernel, in, window);
    bool same = attrs->auto_pad == SDX_PAD_SAME_UPPER || attrs->auto_pad == SDX_PAD_SAME_LOWER;
    if (!p->output_shape && !same) return;
    for (int32_t a = 0; a < window->rank; a++) {
        int64_t total = window->stride[a] * (window->out[a] - 1) +
                        (p->output_padding ? p->output_padding[a] : 0) +
                        (window->kernel[a] - 1) * window->dilation[a] + 1 - window->in[a];
        if (total < 0) total = 0;
        int64_t small = total / 2;
        window->pad[a] = attrs->auto_pad == SDX_PAD_SAME_UPPER ? small : total - small;
        window->pad_end[a] = total - window->pad[a];
    }
}

/* Planes [begin, end) of the output start as their bias. */
static void start_planes(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    size_t count = j->window.in_count;
    for (size_t i = begin; i < end; i++) {
        if (!j->bias) {
            memset(j->y + i * count * j->size, 0, count * j->size);
        } else if (j->dtype == SDX_DTYPE_FLOAT64) {
            double value = ((const double *)(const void *)j->bias)[i];
            double *out = (double *)(void *)j->y + i * count;
            for (size_t k = 0; k < count; k++) out[k] = value;
        } else {
            float value = ((const float *)(const void *)j->bias)[i];
            float *out = (float *)(void *)j->y + i * count;
            for (size_t k = 0; k < count; k++) out[k] = value;
        }
    }
}

/* Adds the patches of planes [begin, end) of the block at hand. */
static void add_planes(void *arg, size_t begin, size_t end) {
    const job *j = arg;
    size_t taps = j->window.kernel_count;
    sdx_col2im(&j->window, j->dtype, j->patches + begin * taps * j->columns * j->size, j->columns,
               (j->map + begin) * taps, (end - begin) * taps, j->column, j->columns, j->y);
}

static void one_group(sdx_call *call, job *j, const layout *l, const char *x, const char *w,
                      char *product) {
    size_t taps = j->window.kernel_count, ins = j->window.out_count, rows = j->maps * taps;
    sdx_pool *pool = call->host->pool;
    sdx_call_parallel(call, j->maps, ((size_t)1 << 16) / (j->window.in_count + 1) + 1,
                      start_planes, j);
    if (j->planes == 0) return;
    for (j->map = 0; j->map < j->maps; j->map += l->maps)
        for (j->column = 0; j->column < ins; j->column += l->columns) {
            if (sdx_watch_work(l->maps * taps * l->columns)) return;
            size_t maps = j->maps - j->map < l->maps ? j->maps - j->map : l->maps;
            j->columns = ins - j->column < l->columns ? ins - j->column : l->columns;
            const char *a = w + j->map * taps * j->size, *b = x + j->column * j->size;
            if (j->dtype == SDX_DTYPE_FLOAT64)
                sdx_f64_gemm_strided(pool, maps * taps, j->columns, j->planes,
                                     (sdx_f64_matrix){(const void *)a, 1, rows},
                                     (sdx_f64_matrix){(const void *)b, ins, 1},
                                     (void *)j->patches, j->columns, false, product);
            else
                sdx_f32_gemm_strided(pool, maps * taps, j->columns, j->planes,
                                     (sdx_f32_matrix){(const void *)a, 1, rows},
                                     (sdx_f32_matrix){(const void *)b, ins, 1},
                                     (void *)j->patches, j->columns, false, product);
            sdx_call_parallel(call, maps, ((size_t)1 << 14) / (taps * j->columns) + 1, add_planes,
                              j);
        }
}

static sdx_status body(sdx_call *call) {
    const params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0), *w = sdx_in(call, 1), *bias = sdx_in(call, 2);
    sdx_tensor *y = sdx_out(call, 0);
    if (y->count == 0) return SDX_STATUS_OK;
    job j = {.dtype = x->dtype, .size = sdx_dtype_size(x->dtype)};
    size_t groups = (size_t)p->conv.group, batch = (size_t)x->dims[0];
    sdx_conv_transpose_resolve(p, x->rank - 2, x->dims + 2, w->dims + 2, y->dims + 2, &j.window);
    j.maps = (size_t)w->dims[1];
    j.planes = (size_t)w->dims[0] / groups;
    layout l = plan(j.dtype, j.maps, j.window.kernel_count, j.planes);
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, l.block + l.product, &scratch));
    j.patches = scratch.data;
    for (size_t item = 0; item < batch * groups; item++) {
        size_t group = item % groups;
        j.bias = bias ? (const char *)bias->data + group * j.maps * j.size : NULL;
        j.y = (char *)y->data + item * j.maps * j.window.in_count * j.size;
        size_t in_at = item * j.planes * j.window.out_count * j.size;
        size_t kernel_at = group * j.planes * j.maps * j.window.kernel_count * j.size;
        const char *in = x->count == 0 ? NULL : (const char *)x->data + in_at;
        const char *kernel = w->count == 0 ? NULL : (const char *)w->data + kernel_at;
        one_group(call, &j, &l, in, kernel, j.patches + l.block);
    }
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

const sdx_op_def sdx_op_conv_transpose = {
    .min_in = 2, .max_in = 3, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T_FLOATS},
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_conv_transpose, run),
};
