/* fused_conv.c - sardonyx:Conv, which passes put in place of Conv: two-dimensional, float32, constant
 * weights, images with their channels side by side, and a tail. Inputs: image, weights as in Conv,
 * bias or none, addend or none. The attribute `planar` says that the image is as in Conv after all,
 * `winograd` which tiles of Winograd's ways may be used. */
#include <stdio.h>

#include "kernels/conv.h"
#include "ops/conv.h"
#include "ops/fused.h"

/* Images whose size is open are taken to be of about this size when a way is chosen. */
#define USUAL_SIZE 28

typedef struct params {
    sdx_conv_params conv;
    sdx_fused_tail tail;
    bool planar;
    int64_t tile; /* of Winograd's: 2 or 4 results along an edge at most, or 0 */
} params;

/* Where an axis of the image stands. */
static int32_t axis_h(const params *p) { return p->planar ? 2 : 1; }
static int32_t axis_c(const params *p) { return p->planar ? 1 : 3; }

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    SDX_TRY(sdx_conv_prepare(prep, &p->conv));
    SDX_TRY(sdx_attr_get_bool(prep, "planar", false, &p->planar));
    SDX_TRY(sdx_attr_get_int(prep, "winograd", 0, &p->tile));
    if (p->tile == 1) p->tile = 4; /* packed files of earlier versions */
    if (p->tile != 0 && p->tile != 2 && p->tile != 4)
        return sdx_prep_fail(prep, "winograd is %lld; it can be 0, 2 or 4", (long long)p->tile);
    if (p->planar && (p->conv.group != 1 || sdx_window_dilation(&p->conv.window, 1) != 1))
        return sdx_prep_fail(prep, "planes are taken in one group and without dilation");
    return sdx_fused_tail_prepare(prep, &p->tail);
}

static size_t known(sdx_expr e) {
    return sdx_expr_is_const(e) && sdx_expr_value(e) > 0 ? (size_t)sdx_expr_value(e) : 0;
}

/* What stays the same for all images; weights: (maps, channels / group, height, width). */
static sdx_conv_shape shape_of(const params *p, const size_t weights[4]) {
    return (sdx_conv_shape){.channels = weights[1] * (size_t)p->conv.group,
                            .maps = weights[0],
                            .groups = (size_t)p->conv.group,
                            .kernel_h = weights[2],
                            .kernel_w = weights[3],
                            .stride_h = (size_t)sdx_window_stride(&p->conv.window, 0),
                            .stride_w = (size_t)sdx_window_stride(&p->conv.window, 1),
                            .dilation_h = (size_t)sdx_window_dilation(&p->conv.window, 0),
                            .dilation_w = (size_t)sdx_window_dilation(&p->conv.window, 1),
                            .planar = p->planar};
}

static size_t size_or_usual(size_t size) { return size ? size : USUAL_SIZE; }

/* The way follows from what is known of the result's size before any run, so that infer and pack
 * come to the same. */
static sdx_conv_way choose(const params *p, sdx_conv_shape shape, size_t out_h, size_t out_w) {
    shape.out_h = size_or_usual(out_h);
    shape.out_w = size_or_usual(out_w);
    return p->planar ? SDX_CONV_ROWS : sdx_conv_choose(&shape, (size_t)p->tile);
}

/* Room for the padded image of ROWS: (out - 1) * stride + reach of the kernel, along each axis. */
static sdx_expr padded(sdx_infer *inf, sdx_expr out, size_t stride, size_t kernel,
                       size_t dilation) {
    sdx_expr steps = sdx_inf_mul(inf, sdx_inf_sub(inf, out, sdx_expr_const(1)),
                                 sdx_expr_const((int64_t)stride));
    return sdx_inf_add(inf, steps, sdx_expr_const((int64_t)((kernel - 1) * dilation + 1)));
}

static sdx_status ask_scratch(sdx_infer *inf, const params *p, const sdx_conv_shape *shape,
                              sdx_expr out_h, sdx_expr out_w) {
    sdx_conv_way way = choose(p, *shape, known(out_h), known(out_w));
    SDX_TRY(sdx_conv_need(way, inf->error));
    if (way != SDX_CONV_ROWS) {
        sdx_infer_add_scratch(inf, sdx_conv_scratch_size(shape, way) * sizeof(float));
        return SDX_STATUS_OK;
    }
    sdx_expr rows = padded(inf, out_h, shape->stride_h, shape->kernel_h, shape->dilation_h);
    sdx_expr columns = padded(inf, out_w, shape->stride_w, shape->kernel_w, shape->dilation_w);
    sdx_expr pixel = sdx_expr_const((int64_t)(shape->channels * sizeof(float)));
    sdx_infer_add_scratch_expr(inf, sdx_inf_mul(inf, pixel, sdx_inf_mul(inf, rows, columns)));
    return SDX_STATUS_OK;
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    SDX_TRY(sdx_infer_require_rank(inf, 0, 4));
    if (sdx_infer_rank(inf, 0) < 0) return sdx_infer_fail(inf, "the rank of the image is not known");
    SDX_TRY(sdx_fused_require_shape(inf, 1, 4));
    SDX_TRY(sdx_window_check_rank(inf, &p->conv.window, 4));
    SDX_TRY(sdx_require_groups(inf, sdx_infer_dim(inf, 1, 0), p->conv.group, "output channels"));
    SDX_TRY(sdx_fused_require_count(inf, 2, sdx_infer_dim(inf, 1, 0), "bias and output channels"));
    size_t weights[4];
    for (int32_t i = 0; i < 4; i++) weights[i] = known(sdx_infer_dim(inf, 1, i));
    sdx_conv_shape shape = shape_of(p, weights);
    sdx_expr dims[4] = {sdx_infer_dim(inf, 0, 0), SDX_EXPR_UNKNOWN, SDX_EXPR_UNKNOWN,
                        sdx_infer_dim(inf, 1, 0)};
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 0, axis_c(p)),
                                    sdx_expr_const((int64_t)shape.channels),
                                    "channels of the input and of the kernel times group"));
    for (int32_t a = 0; a < 2; a++)
        SDX_TRY(sdx_window_out_dim(inf, &p->conv.window, a,
                                   sdx_infer_dim(inf, 0, axis_h(p) + a),
                                   sdx_infer_dim(inf, 1, 2 + a), &dims[1 + a]));
    SDX_TRY(ask_scratch(inf, p, &shape, dims[1], dims[2]));
    SDX_TRY(sdx_infer_set_shape(inf, 0, 4, dims));
    return sdx_fused_require_like_output(inf, 3);
}

bool sdx_fused_conv_shape(const sdx_module *module, const sdx_node *node, sdx_conv_shape *to) {
    const params *p = node->params;
    const sdx_type *out = &sdx_value_at(module, node->outputs[0])->type;
    const sdx_const *constant = sdx_value_at(module, node->inputs[1])->constant;
    size_t weights[4];
    if (p->planar || !constant) return false;
    for (int32_t i = 0; i < 4; i++) weights[i] = (size_t)constant->dims[i];
    *to = shape_of(p, weights);
    to->out_h = size_or_usual(known(out->dims[1]));
    to->out_w = size_or_usual(known(out->dims[2]));
    return true;
}

typedef struct packed {
    sdx_conv_shape shape; /* without the sizes of a run */
    sdx_conv_way way;
    const float *weights;
} packed;

static sdx_status pack(sdx_pack *pack) {
    const params *p = pack->params;
    const sdx_const *constant = sdx_pack_constant(pack, 1);
    const sdx_type *out = &sdx_value_at(pack->module, pack->node->outputs[0])->type;
    size_t weights[4];
    for (int32_t i = 0; i < 4; i++) weights[i] = (size_t)constant->dims[i];
    packed *to = sdx_pack_struct(pack, sizeof *to);
    if (!to) return SDX_STATUS_NO_MEMORY;
    to->shape = shape_of(p, weights);
    to->way = choose(p, to->shape, known(out->dims[1]), known(out->dims[2]));
    pack->way = (uint32_t)to->way;
    float *piece =
        sdx_pack_piece(pack, SDX_DTYPE_FLOAT32, sdx_conv_packed_size(&to->shape, to->way));
    if (!piece) return pack->error->code;
    to->weights = piece;
    pack->taken = 1u << 1 | 1u << 2;
    pack->packed = to;
    if (pack->filled) return SDX_STATUS_OK;
    const void *from, *bias;
    SDX_TRY(sdx_pack_weights(pack, 1, 2, &from, &bias));
    sdx_conv_pack_large(pack->threads, &to->shape, to->way, from, bias, piece, pack->read);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) {
    const params *p = call->params;
    const packed *ready = call->packed;
    const sdx_tensor *x = sdx_in(call, 0), *addend = sdx_in(call, 3);
    sdx_tensor *y = sdx_out(call, 0);
    sdx_conv_shape shape = ready->shape;
    const int64_t kernel[2] = {(int64_t)shape.kernel_h, (int64_t)shape.kernel_w};
    sdx_window window;
    sdx_window_resolve(&p->conv.window, 2, x->dims + axis_h(p), kernel, y->dims + 1, &window);
    shape.batch = (size_t)x->dims[0];
    shape.in_h = (size_t)window.in[0];
    shape.in_w = (size_t)window.in[1];
    shape.out_h = (size_t)window.out[0];
    shape.out_w = (size_t)window.out[1];
    shape.pad_top = (size_t)window.pad[0];
    shape.pad_left = (size_t)window.pad[1];
    if (y->count == 0) return SDX_STATUS_OK;
    sdx_scratch scratch;
    size_t floats = sdx_conv_scratch_size(&shape, ready->way);
    SDX_TRY(sdx_call_scratch(call, floats * sizeof(float), &scratch));
    sdx_tail tail = sdx_fused_tail_of(&p->tail, addend, shape.maps);
    sdx_conv_run_packed(call->host->pool, &shape, ready->way, ready->weights, x->data, y->data,
                        &tail, scratch.data);
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

static void describe(const sdx_call *call, sdx_work *work) {
    const packed *ready = call->packed;
    const sdx_conv_shape *s = &ready->shape;
    snprintf(work->way, sizeof work->way, "%s, %s", sdx_conv_way_name(ready->way),
             sdx_kernels_get()->isa);
    const size_t products = s->channels / s->groups * s->kernel_h * s->kernel_w;
    work->flops = 2.0 * (double)sdx_out(call, 0)->count * (double)products;
}

const sdx_op_def sdx_op_fused_conv = {
    .min_in = 2, .max_in = 4, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT32)},
    .constants = 1u << 1 | 1u << 2,
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_conv, run),
    .pack = SDX_BODY(sdx_op_fused_conv, pack),
    .describe = SDX_BODY(sdx_op_fused_conv, describe),
};
