/* fused_project.c - sardonyx:Project, which passes put in place of a 1x1 convolution whose image is
 * multiplied by factors of its channels first, as squeeze-and-excite does. The factors of an image go into
 * a copy of the weights, which is smaller than the image. Inputs: image (batch, height, width, channels),
 * factors (batch, 1, 1, channels), weights, bias or none, addend or none. */
#include <stdio.h>

#include "kernels/matrix.h"
#include "ops/fused.h"
#include "ops/half.h"

enum { IMAGE, FACTORS, WEIGHTS, BIAS, ADDEND };

static sdx_status prepare(sdx_prep *prep) { return sdx_fused_tail_prepare(prep, prep->params); }

static sdx_status infer(sdx_infer *inf) {
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_FLOAT32);
    if (sdx_infer_rank(inf, IMAGE) != 4)
        return sdx_infer_fail(inf, "the image has rank %d, expected 4", sdx_infer_rank(inf, IMAGE));
    SDX_TRY(sdx_fused_require_shape(inf, WEIGHTS, 4));
    const sdx_expr batch = sdx_infer_dim(inf, IMAGE, 0), depth = sdx_infer_dim(inf, WEIGHTS, 1);
    const sdx_expr maps = sdx_infer_dim(inf, WEIGHTS, 0);
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, IMAGE, 3), depth,
                                    "channels of the image and of the weights"));
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_product(inf, WEIGHTS, 2, 4), sdx_expr_const(1),
                                    "places of a 1x1 kernel"));
    SDX_TRY(sdx_fused_require_count(inf, FACTORS, sdx_inf_mul(inf, batch, depth),
                                    "factors and channels of all images"));
    SDX_TRY(sdx_fused_require_count(inf, BIAS, maps, "bias and output channels"));
    if (sdx_expr_is_const(depth) && sdx_expr_is_const(maps)) {
        size_t floats = sdx_matrix_packed_size((size_t)sdx_expr_value(depth),
                                               (size_t)sdx_expr_value(maps));
        if (floats > SIZE_MAX / sizeof(float)) return sdx_infer_fail(inf, "the weights are too large");
        sdx_infer_add_scratch(inf, floats * sizeof(float));
    }
    const sdx_expr dims[4] = {batch, sdx_infer_dim(inf, IMAGE, 1), sdx_infer_dim(inf, IMAGE, 2), maps};
    SDX_TRY(sdx_infer_set_shape(inf, 0, 4, dims));
    return sdx_fused_require_like_output(inf, ADDEND);
}

static sdx_status pack(sdx_pack *pack) {
    const sdx_const *weights = sdx_pack_constant(pack, WEIGHTS);
    size_t maps = (size_t)weights->dims[0], depth = (size_t)weights->dims[1];
    float *to = sdx_pack_piece(pack, SDX_DTYPE_FLOAT32, sdx_matrix_packed_size(depth, maps));
    if (!to) return pack->error->code;
    pack->taken = 1u << WEIGHTS | 1u << BIAS;
    pack->packed = to;
    if (pack->filled) return SDX_STATUS_OK;
    const void *from, *bias;
    SDX_TRY(sdx_pack_weights(pack, WEIGHTS, BIAS, &from, &bias));
    sdx_matrix_pack(pack->threads, depth, maps, from, 1, depth, 1.0f, bias, to, NULL);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) {
    const sdx_tensor *x = sdx_in(call, IMAGE), *factors = sdx_in(call, FACTORS);
    const sdx_tensor *addend = sdx_in(call, ADDEND);
    sdx_tensor *y = sdx_out(call, 0);
    const size_t batch = (size_t)x->dims[0], depth = (size_t)x->dims[3], maps = (size_t)y->dims[3];
    if (y->count == 0) return SDX_STATUS_OK;
    if (factors->count != batch * depth)
        return sdx_call_fail(call, "%zu factors for %zu images of %zu channels", factors->count, batch,
                             depth);
    const size_t rows = y->count / (batch * maps);
    sdx_tail tail = sdx_fused_tail_of(call->params, addend, maps);
    sdx_scratch scratch;
    SDX_TRY(sdx_call_scratch(call, sdx_matrix_packed_size(depth, maps) * sizeof(float), &scratch));
    for (size_t image = 0; image < batch; image++) {
        sdx_matrix_scale_rows(call->host->pool, depth, maps, call->packed,
                              (const float *)factors->data + image * depth, scratch.data);
        sdx_matrix_run(call->host->pool, rows, depth, maps, scratch.data,
                       (const float *)x->data + image * rows * depth,
                       (float *)y->data + image * rows * maps, &tail);
        if (tail.addend) tail.addend += rows * maps;
    }
    sdx_call_scratch_end(call, &scratch);
    return SDX_STATUS_OK;
}

static void describe(const sdx_call *call, sdx_work *work) {
    const sdx_tensor *x = sdx_in(call, IMAGE), *y = sdx_out(call, 0);
    snprintf(work->way, sizeof work->way, "scaled panels, %s", sdx_kernels_get()->isa);
    work->flops = 2.0 * (double)y->count * (double)x->dims[3];
}

const sdx_op_def sdx_op_fused_project = {
    .min_in = 3, .max_in = 5, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T(FLOAT32)},
    .constants = 1u << WEIGHTS | 1u << BIAS,
    .params_size = sizeof(sdx_fused_tail),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_fused_project, run),
    .pack = SDX_BODY(sdx_op_fused_project, pack),
    .describe = SDX_BODY(sdx_op_fused_project, describe),
};
