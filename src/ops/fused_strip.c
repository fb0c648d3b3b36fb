/* fused_strip.c - sardonyx:Strip, which passes put in place of a depthwise convolution and the 1x1
 * convolutions before and behind it (kernels/strip.h). Inputs: image, then weights and bias of each
 * of the three (left out where there is none), then the addend of the last. A second output, if it is
 * wanted, has the means of the depthwise convolution's channels over the pixels of each image. The
 * attributes of the depthwise convolution are those of Conv; each stage has a tail, act0, act0_a, act0_b
 * and so on. With the attribute `stem` the first stage is a convolution of few channels with strides and
 * padding. */
#include <stdio.h>

#include "kernels/conv_ways.h"
#include "kernels/matrix.h"
#include "kernels/strip.h"
#include "ops/conv.h"
#include "ops/fused.h"

enum { EXPAND = 1, DEPTHWISE = 3, PROJECT = 5, ADDEND = 7 };

/* What `stem` lists. */
enum { PLANAR, STRIDE_H, STRIDE_W, TOP, LEFT, BOTTOM, RIGHT, STEM_INTS };

typedef struct params {
    sdx_conv_params conv;
    const int64_t *stem; /* NULL: the first stage, if there is one, is a 1x1 convolution */
    sdx_fused_tail tails[3];
} params;

static sdx_status prepare(sdx_prep *prep) {
    params *p = prep->params;
    size_t count;
    SDX_TRY(sdx_conv_prepare(prep, &p->conv));
    SDX_TRY(sdx_attr_get_ints(prep, "stem", &p->stem, &count));
    bool good = !p->stem || count == STEM_INTS;
    for (size_t i = 0; p->stem && good && i < count; i++)
        good = p->stem[i] >= (i == STRIDE_H || i == STRIDE_W) && p->stem[i] <= INT32_MAX;
    if (!good) return sdx_prep_fail(prep, "stem is not what it should be");
    for (uint32_t i = 0; i < 3; i++)
        SDX_TRY(sdx_fused_tail_prepare_stage(prep, i, &p->tails[i]));
    return SDX_STATUS_OK;
}

static size_t number(sdx_expr e) {
    return sdx_expr_is_const(e) && sdx_expr_value(e) > 0 ? (size_t)sdx_expr_value(e) : 0;
}

/* All but the pointers and the sizes of a run. `weights` are those of the depthwise convolution. */
static sdx_strip shape_of(const params *p, const size_t weights[4]) {
    sdx_strip strip = {.middle = {.channels = weights[0],
                                  .maps = weights[0],
                                  .groups = weights[0],
                                  .kernel_h = weights[2],
                                  .kernel_w = weights[3],
                                  .stride_h = (size_t)sdx_window_stride(&p->conv.window, 0),
                                  .stride_w = (size_t)sdx_window_stride(&p->conv.window, 1),
                                  .dilation_h = (size_t)sdx_window_dilation(&p->conv.window, 0),
                                  .dilation_w = (size_t)sdx_window_dilation(&p->conv.window, 1)}};
    return strip;
}

/* The same of the stem, with the sizes of its image; weights: (maps, channels, height, width). False: the
 * kernel is larger than the image. */
static bool stem_shape(const params *p, const int64_t weights[4], const int64_t image[4],
                       sdx_conv_shape *to) {
    const int64_t *stem = p->stem, planar = stem[PLANAR];
    int64_t in_h = image[planar ? 2 : 1], in_w = image[planar ? 3 : 2];
    int64_t room_h = in_h + stem[TOP] + stem[BOTTOM] - weights[2];
    int64_t room_w = in_w + stem[LEFT] + stem[RIGHT] - weights[3];
    *to = (sdx_conv_shape){.batch = 1, .in_h = (size_t)in_h, .in_w = (size_t)in_w,
                           .channels = (size_t)weights[1], .maps = (size_t)weights[0], .groups = 1,
                           .kernel_h = (size_t)weights[2], .kernel_w = (size_t)weights[3],
                           .stride_h = (size_t)stem[STRIDE_H], .stride_w = (size_t)stem[STRIDE_W],
                           .dilation_h = 1, .dilation_w = 1, .pad_top = (size_t)stem[TOP],
                           .pad_left = (size_t)stem[LEFT], .planar = planar != 0};
    if (room_h < 0 || room_w < 0) return false;
    to->out_h = (size_t)(room_h / stem[STRIDE_H] + 1);
    to->out_w = (size_t)(room_w / stem[STRIDE_W] + 1);
    return true;
}

/* Height and width of what the depthwise convolution reads. */
static sdx_status infer_image(sdx_infer *inf, sdx_strip *strip, sdx_expr *high, sdx_expr *wide) {
    const params *p = inf->params;
    int64_t image[4], weights[4];
    *high = sdx_infer_dim(inf, 0, 1);
    *wide = sdx_infer_dim(inf, 0, 2);
    sdx_expr channels = sdx_infer_dim(inf, 0, p->stem && p->stem[PLANAR] ? 1 : 3);
    SDX_TRY(sdx_infer_require_equal(inf, channels,
                                    sdx_infer_present(inf, EXPAND)
                                        ? sdx_infer_dim(inf, EXPAND, 1)
                                        : sdx_infer_dim(inf, DEPTHWISE, 0),
                                    "channels of the image and of the first weights"));
    if (!p->stem) return SDX_STATUS_OK;
    for (int32_t i = 0; i < 4; i++) {
        image[i] = (int64_t)number(sdx_infer_dim(inf, 0, i));
        weights[i] = (int64_t)number(sdx_infer_dim(inf, EXPAND, i));
    }
    if (!stem_shape(p, weights, image, &strip->first))
        return sdx_infer_fail(inf, "the image is smaller than the kernel");
    *high = sdx_expr_const((int64_t)strip->first.out_h);
    *wide = sdx_expr_const((int64_t)strip->first.out_w);
    return SDX_STATUS_OK;
}

/* Weights of a 1x1 convolution, if there is one, with this many channels on one side. */
static sdx_status check_pointwise(sdx_infer *inf, uint32_t input, int32_t axis, sdx_expr middle) {
    if (!sdx_infer_present(inf, input)) return SDX_STATUS_OK;
    SDX_TRY(sdx_fused_require_shape(inf, input, 4));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, input, axis), middle,
                                    "channels between two convolutions"));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_product(inf, input, 2, 4), sdx_expr_const(1),
                                    "places of a 1x1 kernel"));
    return sdx_fused_require_count(inf, input + 1, sdx_infer_dim(inf, input, 0),
                                   "bias and output channels");
}

/* Weights of a first convolution with any kernel. */
static sdx_status check_stem(sdx_infer *inf, sdx_expr middle) {
    SDX_TRY(sdx_fused_require_shape(inf, EXPAND, 4));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, EXPAND, 0), middle,
                                    "channels between two convolutions"));
    return sdx_fused_require_count(inf, EXPAND + 1, middle, "bias and output channels");
}

static sdx_status check_weights(sdx_infer *inf, const params *p) {
    SDX_TRY(sdx_infer_require_rank(inf, 0, 4));
    if (sdx_infer_rank(inf, 0) < 0) return sdx_infer_fail(inf, "the rank of the image is not known");
    SDX_TRY(sdx_fused_require_shape(inf, DEPTHWISE, 4));
    sdx_expr middle = sdx_infer_dim(inf, DEPTHWISE, 0);
    SDX_TRY(sdx_window_check_rank(inf, &p->conv.window, 4));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, DEPTHWISE, 1), sdx_expr_const(1),
                                    "channels of a depthwise kernel"));
    if (number(sdx_infer_dim(inf, DEPTHWISE, 2)) > SDX_CONV_DEPTHWISE_ROWS)
        return sdx_infer_fail(inf, "the kernel has too many rows");
    SDX_TRY(sdx_fused_require_count(inf, DEPTHWISE + 1, middle, "bias and output channels"));
    SDX_TRY(p->stem ? check_stem(inf, middle) : check_pointwise(inf, EXPAND, 0, middle));
    return check_pointwise(inf, PROJECT, 1, middle);
}

static sdx_status infer(sdx_infer *inf) {
    const params *p = inf->params;
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    SDX_TRY(check_weights(inf, p));
    static const float present; /* stands for packed weights: only their being there counts */
    size_t weights[4];
    for (int32_t i = 0; i < 4; i++) weights[i] = number(sdx_infer_dim(inf, DEPTHWISE, i));
    sdx_strip strip = shape_of(p, weights);
    strip.expand = sdx_infer_present(inf, EXPAND) && !p->stem ? &present : NULL;
    strip.stem = p->stem ? &present : NULL;
    strip.project = sdx_infer_present(inf, PROJECT) ? &present : NULL;
    static float wanted;
    strip.means = sdx_infer_wanted(inf, 1) ? &wanted : NULL;
    sdx_expr image[2];
    SDX_TRY(infer_image(inf, &strip, &image[0], &image[1]));
    sdx_expr dims[4] = {sdx_infer_dim(inf, 0, 0), SDX_EXPR_UNKNOWN, SDX_EXPR_UNKNOWN,
                        sdx_infer_dim(inf, strip.project ? PROJECT : DEPTHWISE, 0)};
    for (int32_t a = 0; a < 2; a++)
        SDX_TRY(sdx_window_out_dim(inf, &p->conv.window, a, image[a],
                                   sdx_infer_dim(inf, DEPTHWISE, 2 + a), &dims[1 + a]));
    strip.middle.in_w = number(image[1]);
    strip.middle.out_w = number(dims[2]);
    strip.middle.out_h = number(dims[1]);
    if (strip.middle.in_w && strip.middle.out_w && (!strip.means || strip.middle.out_h))
        sdx_infer_add_scratch(inf, sdx_strip_scratch(&strip) * sizeof(float));
    SDX_TRY(sdx_infer_set_shape(inf, 0, 4, dims));
    SDX_TRY(sdx_fused_require_like_output(inf, ADDEND));
    if (!strip.means) return SDX_STATUS_OK;
    const sdx_expr one = sdx_expr_const(1);
    const sdx_expr means[4] = {dims[0], one, one, sdx_infer_dim(inf, DEPTHWISE, 0)};
    sdx_infer_set_dtype(inf, 1, SDX_DTYPE_FLOAT32);
    return sdx_infer_set_shape(inf, 1, 4, means);
}

/* A 1x1 convolution as a matrix; *to stays NULL where there is none. */
static sdx_status pack_pointwise(sdx_pack *pack, uint32_t input, const float **to) {
    const sdx_const *weights = sdx_pack_constant(pack, input);
    if (!weights) return SDX_STATUS_OK;
    size_t maps = (size_t)weights->dims[0], channels = (size_t)weights->dims[1];
    float *packed =
        sdx_pack_piece(pack, SDX_DTYPE_FLOAT32, sdx_matrix_packed_size(channels, maps));
    if (!packed) return pack->error->code;
    *to = packed;
    if (pack->filled) return SDX_STATUS_OK;
    const void *from, *bias;
    SDX_TRY(sdx_pack_weights(pack, input, input + 1, &from, &bias));
    sdx_matrix_pack(pack->threads, channels, maps, from, 1, channels, 1.0f, bias, packed,
                    NULL);
    return SDX_STATUS_OK;
}

static sdx_status pack_stem(sdx_pack *pack, sdx_strip *strip) {
    const int64_t any[4] = {1 << 10, 1 << 10, 1 << 10, 1 << 10}; /* weights do not depend on sizes */
    stem_shape(pack->params, sdx_pack_constant(pack, EXPAND)->dims, any, &strip->first);
    float *packed = sdx_pack_piece(pack, SDX_DTYPE_FLOAT32,
                                   sdx_conv_packed_size(&strip->first, SDX_CONV_ROWS));
    if (!packed) return pack->error->code;
    strip->stem = packed;
    if (pack->filled) return SDX_STATUS_OK;
    const void *from, *bias;
    SDX_TRY(sdx_pack_weights(pack, EXPAND, EXPAND + 1, &from, &bias));
    sdx_conv_pack(pack->threads, &strip->first, SDX_CONV_ROWS, from, bias, packed);
    return SDX_STATUS_OK;
}

static sdx_status pack(sdx_pack *pack) {
    const sdx_const *weights = sdx_pack_constant(pack, DEPTHWISE);
    const params *p = pack->params;
    size_t dims[4];
    for (int32_t i = 0; i < 4; i++) dims[i] = (size_t)weights->dims[i];
    sdx_strip *strip = sdx_pack_struct(pack, sizeof *strip);
    if (!strip) return SDX_STATUS_NO_MEMORY;
    *strip = shape_of(pack->params, dims);
    if (p->stem) SDX_TRY(pack_stem(pack, strip));
    else SDX_TRY(pack_pointwise(pack, EXPAND, &strip->expand));
    SDX_TRY(pack_pointwise(pack, PROJECT, &strip->project));
    float *packed = sdx_pack_piece(pack, SDX_DTYPE_FLOAT32,
                                   sdx_conv_packed_size(&strip->middle, SDX_CONV_DEPTHWISE));
    if (!packed) return pack->error->code;
    strip->depthwise = packed;
    for (uint32_t i = EXPAND; i < ADDEND; i++) pack->taken |= 1u << i;
    pack->packed = strip;
    if (pack->filled) return SDX_STATUS_OK;
    const void *from, *bias;
    SDX_TRY(sdx_pack_weights(pack, DEPTHWISE, DEPTHWISE + 1, &from, &bias));
    sdx_conv_pack(pack->threads, &strip->middle, SDX_CONV_DEPTHWISE, from, bias, packed);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) {
    const params *p = call->params;
    const sdx_tensor *x = sdx_in(call, 0), *addend = sdx_in(call, ADDEND);
    sdx_tensor *y = sdx_out(call, 0);
    sdx_strip strip = *(const sdx_strip *)call->packed;
    sdx_conv_shape *s = &strip.middle;
    const int64_t kernel[2] = {(int64_t)s->kernel_h, (int64_t)s->kernel_w};
    sdx_window window;
    int64_t image[2] = {x->dims[1], x->dims[2]};
    if (p->stem) {
        const int64_t weights[4] = {(int64_t)strip.first.maps, (int64_t)strip.first.channels,
                                    (int64_t)strip.first.kernel_h, (int64_t)strip.first.kernel_w};
        stem_shape(p, weights, x->dims, &strip.first);
        image[0] = (int64_t)strip.first.out_h;
        image[1] = (int64_t)strip.first.out_w;
    }
    sdx_window_resolve(&p->conv.window, 2, image, kernel, y->dims + 1, &window);
    s->batch = (size_t)x->dims[0];
    s->in_h = (size_t)window.in[0];
    s->in_w = (size_t)window.in[1];
    s->out_h = (size_t)window.out[0];
    s->out_w = (size_t)window.out[1];
    s->pad_top = (size_t)window.pad[0];
    s->pad_left = (size_t)window.pad[1];
    strip.channels = (size_t)x->dims[3];
    strip.maps = (size_t)y->dims[3];
    for (size_t i = 0; i < 3; i++)
        strip.tails[i] = sdx_fused_tail_of(&p->tails[i], i == 2 ? addend : NULL, strip.maps);
    if (call->out_count > 1 && call->out[1]) strip.means = sdx_out(call, 1)->data;
    if (y->count == 0) return SDX_STATUS_OK;
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, sdx_strip_scratch(&strip) * sizeof(float), &scratch));
    sdx_strip_run(call->host->pool, &strip, x->data, y->data, scratch.data);
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

static void describe(const sdx_call *call, sdx_work *work) {
    const sdx_tensor *x = sdx_in(call, 0), *y = sdx_out(call, 0);
    const sdx_strip *strip = call->packed;
    const sdx_conv_shape *s = &strip->middle;
    double in = (double)x->dims[0] * (double)x->dims[1] * (double)x->dims[2];
    double out = (double)y->dims[0] * (double)y->dims[1] * (double)y->dims[2];
    double middle = (double)s->channels;
    snprintf(work->way, sizeof work->way, "%sdepthwise%s%s in strips, %s",
             strip->expand ? "1x1, " : strip->stem ? "rows, " : "", strip->project ? ", 1x1" : "",
             call->out_count > 1 && call->out[1] ? ", means" : "", sdx_kernels_get()->isa);
    work->flops = 2.0 * out * middle * (double)(s->kernel_h * s->kernel_w);
    const int64_t *stem = ((const params *)call->params)->stem;
    const sdx_conv_shape *f = &strip->first;
    if (stem)
        work->flops += 2.0 * (double)x->count / (double)(stem[STRIDE_H] * stem[STRIDE_W]) * middle *
                       (double)(f->kernel_h * f->kernel_w);
    if (strip->expand) work->flops += 2.0 * in * middle * (double)x->dims[3];
    if (strip->project) work->flops += 2.0 * out * middle * (double)y->dims[3];
}

const sdx_op_def sdx_op_fused_strip = {
    .min_in = 1, .max_in = 8, .min_out = 1, .max_out = 2,
    .in_types = {SDX_T(FLOAT32)},
    .constants = 0x7eu, /* weights and biases */
    .params_size = sizeof(params),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_strip, run),
    .pack = SDX_BODY(sdx_op_fused_strip, pack),
    .describe = SDX_BODY(sdx_op_fused_strip, describe),
};
