/* webp.c - WebP by way of libwebp, lossy and lossless, decoded straight into the output's memory.
 * Of an animation the first frame is taken, as it lies on its canvas. */
#include "image/decoder.h"

#ifdef SDX_WITH_WEBP

#include <stdbool.h>
#include <string.h>

#include <webp/decode.h>

#include "image/exif.h"

static const char *reason(VP8StatusCode code) {
    switch (code) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: return "ends too early";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "uses a feature that libwebp does not know";
    default: return "is damaged";
    }
}

/* A still image within the file, and where it goes. */
typedef struct frame {
    const uint8_t *bytes;
    size_t size, left, top;
} frame;

#define LOSSLESS 2 /* WebPBitstreamFeatures.format */
#define FRAME_HEADER 16 /* bytes: place, size, duration, flags */

static size_t little(const uint8_t *p, int count) {
    size_t value = 0;
    for (int i = count; i-- > 0;) value = value << 8 | p[i];
    return value;
}

/* Chunks of name, length and content, filled up to an even size; those of a frame are inside of one. */
static bool first_frame(const uint8_t *bytes, size_t size, frame *out) {
    size_t at = 12;
    while (at <= size && size - at >= 8) {
        const size_t length = little(bytes + at + 4, 4);
        if (length > size - at - 8) break;
        const uint8_t *content = bytes + at + 8;
        if (memcmp(bytes + at, "ANMF", 4) == 0 && length > FRAME_HEADER) {
            *out = (frame){.bytes = content + FRAME_HEADER, .size = length - FRAME_HEADER,
                           .left = 2 * little(content, 3), .top = 2 * little(content + 3, 3)};
            return true;
        }
        at += 8 + length + length % 2;
    }
    return false;
}

/* What libwebp holds, about: rows of a lossy image, its alpha twice, all pixels of a lossless one in four bytes.
 * Not the Huffman tables of a lossless one, whose number only its bits tell. */
static uint64_t held_by_codec(const WebPBitstreamFeatures *features) {
    const uint64_t width = (uint64_t)features->width, pixels = width * (uint64_t)features->height;
    if (features->format == LOSSLESS) return pixels * 4 + width * 64;
    return width * 100 + (features->has_alpha ? pixels * 2 : 0);
}

/* Into the canvas, which is larger than the frame or as large. */
static sdx_status decode(sdx_image_job *job, const frame *from) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return sdx_image_unsupported(job, "needs another version of libwebp");
    VP8StatusCode code = WebPGetFeatures(from->bytes, from->size, &config.input);
    if (code != VP8_STATUS_OK) return sdx_image_fail(job, "%s", reason(code));
    const size_t canvas_width = job->out->width, canvas_height = job->out->height;
    const size_t width = (size_t)config.input.width, height = (size_t)config.input.height;
    if (config.input.width <= 0 || config.input.height <= 0 || from->left > canvas_width ||
        width > canvas_width - from->left || from->top > canvas_height ||
        height > canvas_height - from->top)
        return sdx_image_fail(job, "has a frame that reaches beyond its canvas");
    SDX_TRY(sdx_image_reserve(job, held_by_codec(&config.input)));
    const size_t stride = canvas_width * 3; /* WebP has at most 16384 columns, animations 2^24 */
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = job->out->pixels + from->top * stride + from->left * 3;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = (height - 1) * stride + width * 3;
    code = WebPDecode(from->bytes, from->size, &config);
    WebPFreeDecBuffer(&config.output);
    if (code == VP8_STATUS_OUT_OF_MEMORY) return sdx_fail_memory(job->error, 0, "libwebp");
    if (code != VP8_STATUS_OK) return sdx_image_fail(job, "%s", reason(code));
    return SDX_STATUS_OK;
}

sdx_status sdx_image_webp(sdx_image_job *job) {
    WebPBitstreamFeatures features;
    VP8StatusCode code = WebPGetFeatures(job->bytes, job->size, &features);
    if (code != VP8_STATUS_OK) return sdx_image_fail(job, "%s", reason(code));
    if (features.width < 0 || features.height < 0)
        return sdx_image_fail(job, "has a negative size");
    frame from = {.bytes = job->bytes, .size = job->size};
    if (features.has_animation && !first_frame(job->bytes, job->size, &from))
        return sdx_image_fail(job, "ends before its first frame");
    SDX_TRY(sdx_image_begin(job, (uint64_t)features.width, (uint64_t)features.height, 3));
    if (features.has_animation)
        memset(job->out->pixels, 0, (size_t)job->out->width * job->out->height * 3);
    SDX_TRY(decode(job, &from));
    if (job->upright) job->orientation = sdx_exif_in_webp(job->bytes, job->size);
    return SDX_STATUS_OK;
}

#endif
