/* fused_conv_transpose.c - sardonyx:ConvTranspose, which passes put in place of ConvTranspose:
 * two-dimensional, float32, constant weights, images with their channels side by side, and a tail. Inputs:
 * image, weights as in ConvTranspose, bias or none, addend or none. */
#include <stdio.h>

#include "kernels/conv_transpose.h"
#include "ops/conv_transpose.h"
#include "ops/fused.h"

typedef struct params {
    sdx_conv_transpose_params own;
    sdx_fused_tail tail;
} params;

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    SDX_TRY(sdx_conv_transpose_prepare(prep, &p->own));
    const sdx_window_attrs *window = &p->own.conv.window;
    for (int32_t a = 0; window->strides && window->axes == 2 && a < 2; a++)
        if (window->strides[a] > SDX_CONV_TRANSPOSE_STRIDE)
            return sdx_prep_fail(prep, "the stride is %lld, expected at most %d",
                                 (long long)window->strides[a], SDX_CONV_TRANSPOSE_STRIDE);
    return sdx_fused_tail_prepare(prep, &p->tail);
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    int64_t group = p->own.conv.group;
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    if (sdx_infer_rank(inf, 0) != 4)
        return sdx_infer_fail(inf, "the image has rank %d, expected 4", sdx_infer_rank(inf, 0));
    SDX_TRY(sdx_fused_require_shape(inf, 1, 4));
    SDX_TRY(sdx_window_check_rank(inf, &p->own.conv.window, 4));
    sdx_expr channels = sdx_infer_dim(inf, 1, 0);
    SDX_TRY(sdx_require_groups(inf, channels, group, "input channels"));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 0, 3), channels,
                                    "channels of the input and of the kernel"));
    sdx_expr maps = sdx_inf_mul(inf, sdx_infer_dim(inf, 1, 1), sdx_expr_const(group));
    SDX_TRY(sdx_fused_require_count(inf, 2, maps, "bias and output channels"));
    sdx_expr dims[4] = {sdx_infer_dim(inf, 0, 0), SDX_EXPR_UNKNOWN, SDX_EXPR_UNKNOWN, maps};
    for (int32_t a = 0; a < 2; a++)
        SDX_TRY(sdx_conv_transpose_out_dim(inf, &p->own, a, sdx_infer_dim(inf, 0, 1 + a),
                                           sdx_infer_dim(inf, 1, 2 + a), &dims[1 + a]));
    SDX_TRY(sdx_infer_set_shape(inf, 0, 4, dims));
    return sdx_fused_require_like_output(inf, 3);
}

typedef struct packed {
    sdx_conv_transpose shape; /* without the sizes of a run */
    const float *weights;
} packed;

static sdx_status pack(sdx_pack *pack) {
    const params *p = pack->params;
    const sdx_window_attrs *window = &p->own.conv.window;
    const sdx_const *constant = sdx_pack_constant(pack, 1);
    packed *to = sdx_pack_struct(pack, sizeof *to);
    if (!to) return SDX_STATUS_NO_MEMORY;
    size_t groups = (size_t)p->own.conv.group;
    to->shape = (sdx_conv_transpose){.channels = (size_t)constant->dims[0],
                                     .maps = (size_t)constant->dims[1] * groups,
                                     .groups = groups,
                                     .kernel_h = (size_t)constant->dims[2],
                                     .kernel_w = (size_t)constant->dims[3],
                                     .stride_h = (size_t)sdx_window_stride(window, 0),
                                     .stride_w = (size_t)sdx_window_stride(window, 1),
                                     .dilation_h = (size_t)sdx_window_dilation(window, 0),
                                     .dilation_w = (size_t)sdx_window_dilation(window, 1)};
    float *piece =
        sdx_pack_piece(pack, SDX_DTYPE_FLOAT32, sdx_conv_transpose_packed_size(&to->shape));
    if (!piece) return pack->error->code;
    to->weights = piece;
    pack->taken = 1u << 1 | 1u << 2;
    pack->packed = to;
    if (pack->filled) return SDX_STATUS_OK;
    const void *from, *bias;
    SDX_TRY(sdx_pack_weights(pack, 1, 2, &from, &bias));
    sdx_conv_transpose_pack(pack->threads, &to->shape, from, bias, piece);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) {
    const params *p = call->params;
    const packed *ready = call->packed;
    const sdx_tensor *x = sdx_in(call, 0), *addend = sdx_in(call, 3);
    sdx_tensor *y = sdx_out(call, 0);
    sdx_conv_transpose shape = ready->shape;
    const int64_t kernel[2] = {(int64_t)shape.kernel_h, (int64_t)shape.kernel_w};
    sdx_window window;
    if (y->count == 0) return SDX_STATUS_OK;
    sdx_conv_transpose_resolve(&p->own, 2, x->dims + 1, kernel, y->dims + 1, &window);
    shape.batch = (size_t)x->dims[0];
    shape.in_h = (size_t)x->dims[1];
    shape.in_w = (size_t)x->dims[2];
    shape.out_h = (size_t)y->dims[1];
    shape.out_w = (size_t)y->dims[2];
    shape.pad_top = (size_t)window.pad[0];
    shape.pad_left = (size_t)window.pad[1];
    sdx_tail tail = sdx_fused_tail_of(&p->tail, addend, shape.maps);
    sdx_conv_transpose_run(call->host->pool, &shape, ready->weights, x->data, y->data, &tail);
    return SDX_STATUS_OK;
}

static void describe(const sdx_call *call, sdx_work *work) {
    const packed *ready = call->packed;
    const sdx_conv_transpose *s = &ready->shape;
    snprintf(work->way, sizeof work->way, "tiles, %s", sdx_kernels_get()->isa);
    const size_t products = s->maps / s->groups * s->kernel_h * s->kernel_w;
    work->flops = 2.0 * (double)sdx_in(call, 0)->count * (double)products;
}

const sdx_op_def sdx_op_fused_conv_transpose = {
    .min_in = 2, .max_in = 4, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT32)},
    .constants = 1u << 1 | 1u << 2,
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_conv_transpose, run),
    .pack = SDX_BODY(sdx_op_fused_conv_transpose, pack),
    .describe = SDX_BODY(sdx_op_fused_conv_transpose, describe),
};
