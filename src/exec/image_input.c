/* image_input.c - fits a preset for images (src/image) to a model's input: layout, channels, size and
 * type. The one place where images and models meet. */
#include <stdio.h>

#include "base/status.h"
#include "sardonyx.h"

#define USUAL_SIDE 224 /* where neither model nor preset says */

typedef struct input {
    const sdx_model *model;
    sdx_value_info info;
    uint32_t value;
    char type[160];
    sdx_error *error;
} input;

static sdx_status refuse(const input *in, sdx_status code, const char *why) {
    return sdx_fail(in->error, code, "input '%s' (%s) %s", in->info.name, in->type, why);
}

static sdx_status find_input(input *in, size_t *index) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(in->model, &info);
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < info.input_count; i++) {
        sdx_value_info value = {.struct_size = sizeof value};
        sdx_model_get_value(in->model, sdx_model_input(in->model, i), &value);
        if (value.has_default) continue;
        if (found != SIZE_MAX)
            return sdx_fail(in->error, SDX_STATUS_UNSUPPORTED,
                            "the model needs more than an image: it has the inputs '%s' and '%s'",
                            in->info.name, value.name);
        found = i;
        in->info = value;
    }
    if (found == SIZE_MAX)
        return sdx_fail(in->error, SDX_STATUS_UNSUPPORTED, "the model has no input to give an image to");
    in->value = sdx_model_input(in->model, found);
    sdx_model_type_text(in->model, in->value, in->type, sizeof in->type);
    *index = found;
    return SDX_STATUS_OK;
}

static bool may_be_channels(int64_t dim) { return dim == 1 || dim == 3 || dim < 0; }

/* Channels come second or last, and there are 1 or 3 of them; where all is open, they come second. */
static sdx_status fit_channels(sdx_image_preset *p, const input *in) {
    const int64_t *dims = in->info.dims;
    if (in->info.kind != SDX_KIND_TENSOR || in->info.rank != 4)
        return refuse(in, SDX_STATUS_UNSUPPORTED,
                      "takes no image, which would have the dimensions batch, channels, height and width");
    const bool given = p->layout != SDX_LAYOUT_MODEL;
    if (!given) {
        const bool first = dims[1] == 1 || dims[1] == 3, last = dims[3] == 1 || dims[3] == 3;
        p->layout = last && !first ? SDX_LAYOUT_NHWC : SDX_LAYOUT_NCHW;
    }
    const int64_t channels = dims[p->layout == SDX_LAYOUT_NHWC ? 3 : 1];
    if (!may_be_channels(channels))
        return refuse(in, given ? SDX_STATUS_INVALID_ARGUMENT : SDX_STATUS_UNSUPPORTED,
                      "has no dimension of 1 or 3 channels in its place");
    if (p->channels == SDX_CHANNELS_MODEL)
        p->channels = channels == 1 ? SDX_CHANNELS_GRAY : SDX_CHANNELS_RGB;
    if (channels > 0 && channels != (p->channels == SDX_CHANNELS_GRAY ? 1 : 3))
        return refuse(in, SDX_STATUS_INVALID_ARGUMENT, "has another number of channels than the preset");
    return SDX_STATUS_OK;
}

static sdx_status fit_size(sdx_image_preset *p, const input *in) {
    const bool last = p->layout == SDX_LAYOUT_NHWC;
    const int64_t height = in->info.dims[last ? 1 : 2], width = in->info.dims[last ? 2 : 3];
    if (height == 0 || width == 0 || height > INT32_MAX || width > INT32_MAX)
        return refuse(in, SDX_STATUS_UNSUPPORTED, "has no room for pixels");
    const bool exact = p->resize == SDX_RESIZE_EXACT;
    if (!p->crop_height)
        p->crop_height = height > 0 ? (uint32_t)height : exact ? p->resize_height : USUAL_SIDE;
    if (!p->crop_width)
        p->crop_width = width > 0 ? (uint32_t)width : exact ? p->resize_width : USUAL_SIDE;
    if ((height > 0 && p->crop_height != height) || (width > 0 && p->crop_width != width))
        return sdx_fail(in->error, SDX_STATUS_INVALID_ARGUMENT,
                        "input '%s' (%s) has another size than the preset, which crops to %lux%lu",
                        in->info.name, in->type, (unsigned long)p->crop_height,
                        (unsigned long)p->crop_width);
    return SDX_STATUS_OK;
}

sdx_status sdx_image_preset_fit(sdx_image_preset *preset, const sdx_model *model, size_t *index,
                                sdx_tensor *image, sdx_error *error) {
    sdx_error_clear(error);
    if (!preset || preset->struct_size < sizeof *preset || !model || !index || !image)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "a model, a preset or a place for the answer is missing, or struct_size is not set");
    input in = {.model = model, .error = error};
    sdx_image_preset fitted = *preset;
    SDX_TRY(find_input(&in, index));
    SDX_TRY(fit_channels(&fitted, &in));
    SDX_TRY(fit_size(&fitted, &in));
    if (in.info.dtype != SDX_DTYPE_FLOAT32 && in.info.dtype != SDX_DTYPE_FLOAT16 &&
        in.info.dtype != SDX_DTYPE_UINT8)
        return refuse(&in, SDX_STATUS_UNSUPPORTED, "takes no float32, float16 or uint8");
    const bool last = fitted.layout == SDX_LAYOUT_NHWC;
    const int64_t channels = fitted.channels == SDX_CHANNELS_GRAY ? 1 : 3;
    const int64_t dims[4] = {1, last ? fitted.crop_height : channels,
                             last ? fitted.crop_width : fitted.crop_height,
                             last ? channels : fitted.crop_width};
    SDX_TRY(sdx_tensor_init(image, in.info.dtype, 4, dims, NULL, error));
    *preset = fitted;
    return SDX_STATUS_OK;
}
