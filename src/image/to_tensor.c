/* to_tensor.c - the whole way from an image file's bytes to a model's input: decoded, upright, resized,
 * cropped, scaled, in the layout and type that the tensor has. See sdx_image_preset in sardonyx.h. */
#include <math.h>
#include <string.h>

#include "base/budget.h"
#include "base/dtype.h"
#include "image/image.h"
#include "image/resample.h"

/* A large JPEG is decoded at this many times the size that it is resized to, at least. Shrinking by the
 * codec and then by a filter differs from the filter alone: for photographs by 0.2 of 255 on average at
 * 3, by 0.4 at 2, by 1.2 at 1 (tests/classify/large.py). */
#define SHRINK_GAP 3

typedef struct conversion {
    const sdx_image_preset *preset;
    const sdx_allocator *allocator;
    sdx_tensor *tensor;
    sdx_error *error;
    uint32_t channels, height, width; /* of the tensor */
    sdx_image image;
    uint8_t *cropped; /* height rows of width pixels */
    size_t cropped_size;
} conversion;

/* ---- sizes ------------------------------------------------------------------------------------ */

/* The shorter side after the resize; 0: it does not go by that. */
static uint32_t shorter_side(const conversion *c) {
    const sdx_image_preset *p = c->preset;
    if (p->resize == SDX_RESIZE_SHORTER) return p->resize_height;
    if (p->resize != SDX_RESIZE_FRACTION) return 0;
    const uint32_t crop = c->height < c->width ? c->height : c->width;
    const double side = floor(crop / p->resize_fraction);
    return side > crop ? (uint32_t)side : crop;
}

/* The size of the resized image. The longer side is rounded down, as torchvision's Resize does. */
static void resized_size(const conversion *c, double *height, double *width) {
    const sdx_image_preset *p = c->preset;
    const uint64_t h = c->image.full_height, w = c->image.full_width, shorter = shorter_side(c);
    if (shorter) {
        *height = (double)(h <= w ? shorter : shorter * h / w);
        *width = (double)(w <= h ? shorter : shorter * w / h);
    } else if (p->resize == SDX_RESIZE_OFF) {
        *height = (double)h;
        *width = (double)w;
    } else {
        const bool exact = p->resize == SDX_RESIZE_EXACT;
        *height = exact ? p->resize_height : c->height;
        *width = exact ? p->resize_width : c->width;
    }
}

static sdx_image_options decode_options(const conversion *c, uint64_t max_pixels) {
    sdx_image_options options = {.max_pixels = max_pixels, .upright = true};
    const sdx_image_preset *p = c->preset;
    const uint32_t shorter = shorter_side(c);
    if (p->whole || p->resize == SDX_RESIZE_OFF) return options;
    const bool exact = p->resize == SDX_RESIZE_EXACT;
    const uint32_t height = shorter ? shorter : exact ? p->resize_height : c->height;
    const uint32_t width = shorter ? shorter : exact ? p->resize_width : c->width;
    /* Sides are far below 2^31; what does not fit could not be reached anyway. */
    options.least_height = height < UINT32_MAX / SHRINK_GAP ? height * SHRINK_GAP : UINT32_MAX;
    options.least_width = width < UINT32_MAX / SHRINK_GAP ? width * SHRINK_GAP : UINT32_MAX;
    return options;
}

/* Where a crop begins in a longer side, and how many pixels of black come before a shorter one. Halves
 * go to the even number, as Python's round does for torchvision's CenterCrop. */
static void centre(double side, uint32_t crop, uint64_t *start, uint32_t *before, uint32_t *count) {
    *start = 0;
    *before = 0;
    *count = crop;
    if (side < crop) {
        *before = (crop - (uint32_t)side) / 2;
        *count = (uint32_t)side;
    } else {
        const uint64_t rest = (uint64_t)side - crop;
        *start = rest / 2;
        if (rest % 2 && *start % 2) ++*start;
    }
}

/* ---- steps ------------------------------------------------------------------------------------ */

static sdx_status resize_and_crop(conversion *c) {
    sdx_resample how = {.width = c->image.width, .height = c->image.height,
                        .bicubic = c->preset->bicubic};
    uint32_t left, top;
    /* A shrunken image has its last pixel in part only: what counts is the true size. */
    const bool lies = c->image.width > c->image.height;
    const uint32_t full = lies ? c->image.full_width : c->image.full_height;
    const uint32_t longer = lies ? c->image.width : c->image.height;
    if (longer != full) {
        const double by = floor((double)full / longer + 0.5); /* only images of many pixels shrink */
        how.width = c->image.full_width / by;
        how.height = c->image.full_height / by;
        if (c->image.mirrored_x) how.x = c->image.width - how.width;
        if (c->image.mirrored_y) how.y = c->image.height - how.height;
    }
    resized_size(c, &how.out_height, &how.out_width);
    centre(how.out_width, c->width, &how.left, &left, &how.window_width);
    centre(how.out_height, c->height, &how.top, &top, &how.window_height);
    const size_t row = (size_t)c->width * c->channels;
    c->cropped_size = row * c->height; /* no more than the tensor's count */
    c->cropped = sdx_alloc(c->allocator, c->cropped_size, SDX_CACHE_LINE);
    if (!c->cropped) return sdx_fail_memory(c->error, c->cropped_size, "an image");
    if (how.window_width < c->width || how.window_height < c->height)
        memset(c->cropped, 0, c->cropped_size);
    return sdx_image_resample(&c->image, &how,
                              c->cropped + top * row + (size_t)left * c->channels, row,
                              c->allocator, c->error);
}

/* What a byte of a channel becomes. Computed in float, step by step, as PyTorch does. */
static float level(const sdx_image_preset *p, size_t channel, unsigned byte) {
    const float value = (float)(byte * (p->scale != 0 ? p->scale : 1));
    const float deviation = (float)(p->std[channel] != 0 ? p->std[channel] : 1);
    return (value - (float)p->mean[channel]) / deviation;
}

static void store(const sdx_tensor *tensor, size_t index, float value) {
    if (tensor->dtype == SDX_DTYPE_FLOAT32) ((float *)tensor->data)[index] = value;
    else if (tensor->dtype == SDX_DTYPE_FLOAT16)
        ((uint16_t *)tensor->data)[index] = sdx_f32_to_f16(value);
    else
        ((uint8_t *)tensor->data)[index] =
            (uint8_t)(value > 255 ? 255 : value > 0 ? lrintf(value) : 0);
}

static void fill(const conversion *c) {
    const size_t pixels = (size_t)c->height * c->width, n = c->channels;
    const bool last = c->preset->layout == SDX_LAYOUT_NHWC;
    const bool swap = c->preset->channels == SDX_CHANNELS_BGR;
    for (size_t channel = 0; channel < n; channel++) {
        float levels[256];
        for (unsigned v = 0; v < 256; v++) levels[v] = level(c->preset, channel, v);
        const uint8_t *from = c->cropped + (swap ? n - 1 - channel : channel);
        for (size_t i = 0; i < pixels; i++)
            store(c->tensor, last ? i * n + channel : channel * pixels + i, levels[from[i * n]]);
    }
}

/* ---- the entry ---------------------------------------------------------------------------------- */

static sdx_status check(conversion *c) {
    const sdx_image_preset *p = c->preset;
    const sdx_tensor *t = c->tensor;
    if (!p || p->struct_size < sizeof *p || !t || !t->data)
        return sdx_fail(c->error, SDX_STATUS_INVALID_ARGUMENT,
                        "no preset or no tensor to fill, or struct_size is not set");
    const bool last = p->layout == SDX_LAYOUT_NHWC;
    if (t->rank != 4 || t->dims[0] != 1 || p->layout == SDX_LAYOUT_MODEL ||
        p->channels == SDX_CHANNELS_MODEL ||
        t->dims[last ? 3 : 1] != (p->channels == SDX_CHANNELS_GRAY ? 1 : 3) ||
        (t->dtype != SDX_DTYPE_FLOAT32 && t->dtype != SDX_DTYPE_FLOAT16 &&
         t->dtype != SDX_DTYPE_UINT8))
        return sdx_fail(c->error, SDX_STATUS_INVALID_ARGUMENT,
                        "the tensor is not one that sdx_image_preset_fit gave for this preset");
    const int64_t height = t->dims[last ? 1 : 2], width = t->dims[last ? 2 : 3];
    c->channels = p->channels == SDX_CHANNELS_GRAY ? 1 : 3;
    if (height < 1 || height > INT32_MAX || width < 1 || width > INT32_MAX ||
        t->count != (size_t)height * (size_t)width * c->channels)
        return sdx_fail(c->error, SDX_STATUS_INVALID_ARGUMENT,
                        "the tensor has %lld by %lld pixels", (long long)height, (long long)width);
    c->height = (uint32_t)height;
    c->width = (uint32_t)width;
    if ((p->resize == SDX_RESIZE_FRACTION && !(p->resize_fraction > 0 && p->resize_fraction <= 1)) ||
        ((p->resize == SDX_RESIZE_SHORTER || p->resize == SDX_RESIZE_EXACT) &&
         (!p->resize_height || (p->resize == SDX_RESIZE_EXACT && !p->resize_width))))
        return sdx_fail(c->error, SDX_STATUS_INVALID_ARGUMENT, "the preset's resize has no size");
    return SDX_STATUS_OK;
}

/* All of it from `c->allocator`, a budget. */
static sdx_status convert(conversion *c, const void *bytes, size_t size, uint64_t max_pixels) {
    const sdx_image_options options = decode_options(c, max_pixels);
    const sdx_image_format wanted = c->channels == 1 ? SDX_IMAGE_GRAYSCALE : SDX_IMAGE_RGB;
    sdx_status status =
        sdx_image_decode(bytes, size, wanted, &options, c->allocator, &c->image, c->error);
    if (status == SDX_STATUS_OK) status = resize_and_crop(c);
    if (status == SDX_STATUS_OK) fill(c);
    sdx_free(c->allocator, c->cropped, c->cropped_size);
    sdx_image_release(&c->image, c->allocator);
    return status;
}

sdx_status sdx_image_to_tensor(const sdx_image_preset *preset, const void *bytes, size_t size,
                               const sdx_limits *limits, const sdx_allocator *allocator,
                               sdx_tensor *image, sdx_error *error) {
    sdx_budget budget;
    conversion c = {.preset = preset, .tensor = image, .error = error, .allocator = &budget.allocator};
    sdx_limits given = {0};
    sdx_error_clear(error);
    SDX_TRY(check(&c));
    if (limits)
        memcpy(&given, limits, limits->struct_size < sizeof given ? limits->struct_size : sizeof given);
    sdx_budget_init(&budget, allocator, given.max_memory);
    return sdx_budget_explain(&budget, convert(&c, bytes, size, given.max_pixels), error);
}
