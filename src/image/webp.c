/* webp.c - WebP by way of libwebp, lossy and lossless, decoded straight into the output's memory.
 * Animations need another library and are refused. */
#include "image/decoder.h"

#ifdef SDX_WITH_WEBP

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

sdx_status sdx_image_webp(sdx_image_job *job) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return sdx_image_unsupported(job, "needs another version of libwebp");
    VP8StatusCode code = WebPGetFeatures(job->bytes, job->size, &config.input);
    if (code != VP8_STATUS_OK) return sdx_image_fail(job, "%s", reason(code));
    if (config.input.has_animation) return sdx_image_unsupported(job, "is an animation");
    if (config.input.width < 0 || config.input.height < 0)
        return sdx_image_fail(job, "has a negative size");
    SDX_TRY(sdx_image_begin(job, (uint64_t)config.input.width, (uint64_t)config.input.height, 3));
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = job->out->pixels;
    config.output.u.RGBA.stride = config.input.width * 3; /* WebP has at most 16384 columns */
    config.output.u.RGBA.size = (size_t)config.input.width * 3 * (size_t)config.input.height;
    code = WebPDecode(job->bytes, job->size, &config);
    WebPFreeDecBuffer(&config.output);
    if (code == VP8_STATUS_OUT_OF_MEMORY) return sdx_fail_memory(job->error, 0, "libwebp");
    if (code != VP8_STATUS_OK) return sdx_image_fail(job, "%s", reason(code));
    if (job->upright) job->orientation = sdx_exif_in_webp(job->bytes, job->size);
    return SDX_STATUS_OK;
}

#endif
