/* image_decoder.c - ImageDecoder: the bytes of an image file become uint8[height, width, channels].
 * The work is src/image's; only the body knows the size. Bytes that are no image, or a broken one,
 * give an image without pixels, as ONNX's text wants it. A sound image that this build cannot read,
 * or that passes a limit, is an error: the file is not at fault. */
#include <string.h>

#include "image/image.h"
#include "ops/op.h"

typedef struct image_params {
    sdx_image_format wanted;
} image_params;

static sdx_status image_prepare(sdx_prep *prep) {
    static const char *const words[] = {"RGB", "BGR", "Grayscale", NULL};
    static const sdx_image_format formats[] = {SDX_IMAGE_RGB, SDX_IMAGE_BGR, SDX_IMAGE_GRAYSCALE};
    image_params *p = prep->params;
    int choice;
    SDX_TRY(sdx_attr_get_choice(prep, "pixel_format", 0, words, &choice));
    p->wanted = formats[choice];
    return SDX_STATUS_OK;
}

static sdx_status image_infer(sdx_infer *inf) {
    const image_params *p = inf->params;
    SDX_TRY(sdx_infer_require_rank(inf, 0, 1));
    const sdx_expr channels = sdx_expr_const(p->wanted == SDX_IMAGE_GRAYSCALE ? 1 : 3);
    const sdx_expr dims[3] = {SDX_EXPR_UNKNOWN, SDX_EXPR_UNKNOWN, channels};
    sdx_infer_set_dtype(inf, 0, SDX_DTYPE_UINT8);
    return sdx_infer_set_shape(inf, 0, 3, dims);
}

static sdx_status image_run(sdx_call *call) {
    const image_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_image image;
    sdx_tensor *out;
    sdx_status status = sdx_image_decode(in->data, in->count, p->wanted, NULL, call->host->heap,
                                         &image, call->error);
    if (status == SDX_STATUS_BAD_INPUT) {
        const int64_t none[3] = {0, 0, p->wanted == SDX_IMAGE_GRAYSCALE ? 1 : 3};
        sdx_error_clear(call->error);
        return sdx_call_alloc(call, 0, SDX_DTYPE_UINT8, 3, none, &out);
    }
    SDX_TRY(status);
    const int64_t dims[3] = {image.height, image.width, image.channels};
    status = sdx_call_alloc(call, 0, SDX_DTYPE_UINT8, 3, dims, &out);
    if (status == SDX_STATUS_OK && out) memcpy(out->data, image.pixels, out->count);
    sdx_image_release(&image, call->host->heap);
    return status;
}

const sdx_op_def sdx_op_image_decoder = {
    .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,
    .flags = SDX_OP_DATA_SHAPE,
    .in_types = {SDX_T(UINT8)},
    .params_size = sizeof(image_params),
    .prepare = image_prepare, .infer = image_infer,
    .run = SDX_BODY(sdx_op_image_decoder, image_run),
    .lacks = sdx_image_lacks,
};
