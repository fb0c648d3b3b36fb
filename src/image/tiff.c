/* tiff.c - TIFF by way of libtiff, whose RGBA interface knows the many layouts, colour spaces and
 * compressions. Reads the first page from memory. Needs libtiff 4.5 or newer: before that, messages
 * and allocation limits are global to the process, which a library must not touch. */
#include "image/decoder.h"

#ifdef SDX_WITH_TIFF

#include <stdio.h>
#include <string.h>

#include <tiffio.h>
#include <tiffvers.h>

#include "image/exif.h"

#if TIFFLIB_VERSION < 20221213

sdx_status sdx_image_tiff(sdx_image_job *job) {
    return sdx_image_unsupported(job, "needs libtiff 4.5; this library was built with an older one");
}

#else

/* Beside the pixels themselves: what one strip, tile or table may take in libtiff. */
#define SPARE_BYTES ((uint64_t)64 << 20)

typedef struct tiff_reader {
    sdx_image_job *job;
    uint64_t at;
    char text[160]; /* the first message */
} tiff_reader;

static tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t count) {
    tiff_reader *r = handle;
    if (count <= 0 || r->at >= r->job->size) return 0;
    const uint64_t left = r->job->size - r->at;
    const size_t take = (uint64_t)count < left ? (size_t)count : (size_t)left;
    memcpy(to, r->job->bytes + r->at, take);
    r->at += take;
    return (tmsize_t)take;
}

static tmsize_t write_bytes(thandle_t handle, void *from, tmsize_t count) {
    (void)handle, (void)from, (void)count;
    return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    tiff_reader *r = handle;
    const uint64_t base = whence == SEEK_CUR ? r->at : whence == SEEK_END ? r->job->size : 0;
    uint64_t to;
    if (__builtin_add_overflow(base, offset, &to)) return (toff_t)-1;
    return r->at = to;
}

static int close_file(thandle_t handle) {
    (void)handle;
    return 0;
}

static toff_t file_size(thandle_t handle) { return ((tiff_reader *)handle)->job->size; }

/* The whole file as memory: libtiff then copies less, and knows where it ends. */
static int map_file(thandle_t handle, void **base, toff_t *size) {
    tiff_reader *r = handle;
    *base = (void *)(uintptr_t)r->job->bytes;
    *size = r->job->size;
    return 1;
}

static void unmap_file(thandle_t handle, void *base, toff_t size) {
    (void)handle, (void)base, (void)size;
}

__attribute__((format(printf, 4, 0))) static int on_error(TIFF *tiff, void *user,
                                                          const char *module, const char *format,
                                                          va_list args) {
    tiff_reader *r = user;
    (void)tiff, (void)module;
    if (!r->text[0]) vsnprintf(r->text, sizeof r->text, format, args);
    return 1;
}

__attribute__((format(printf, 4, 0))) static int on_warning(TIFF *tiff, void *user,
                                                            const char *module, const char *format,
                                                            va_list args) {
    (void)tiff, (void)user, (void)module, (void)format, (void)args;
    return 1;
}

static sdx_status damaged(tiff_reader *r) {
    return sdx_image_fail(r->job, "is damaged: %s", r->text[0] ? r->text : "no reason was given");
}

/* libtiff multiplies colours by an alpha that is not "associated" with them; alpha is to be dropped
 * here, so its kind is forgotten. */
static void forget_alpha(TIFF *tiff) {
    uint16_t count = 0, *kinds = NULL;
    uint16_t plain[4] = {EXTRASAMPLE_ASSOCALPHA};
    if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) && count > 0 && count <= 4 &&
        kinds[0] == EXTRASAMPLE_UNASSALPHA)
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, count, plain);
}

/* libtiff mirrors, but does not transpose: where the image is to be upright, it gets the pixels as they
 * lie, and all eight orientations are made afterwards. */
static void take_orientation(sdx_image_job *job, TIFF *tiff) {
    uint16_t orientation = ORIENTATION_TOPLEFT;
    uint32_t size = 0, told = 0;
    void *packet = NULL;
    if (!job->upright) return;
    if (TIFFGetField(tiff, TIFFTAG_ORIENTATION, &orientation)) told = orientation;
    else if (TIFFGetField(tiff, TIFFTAG_XMLPACKET, &size, &packet))
        told = sdx_xmp_orientation(packet, size);
    if (told >= 1 && told <= 8) job->orientation = told;
    TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
}

/* What libtiff holds at a time: a strip or tile, or one of each sample where they lie apart, and about as much
 * again for what its own codecs need. */
static uint64_t held_by_codec(TIFF *tiff) {
    uint16_t planar = PLANARCONFIG_CONTIG, samples = 1;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    const tmsize_t piece = TIFFIsTiled(tiff) ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
    const uint64_t bytes = piece > 0 ? (uint64_t)piece * 2 : 0;
    const uint64_t pieces = planar == PLANARCONFIG_SEPARATE ? samples : 1;
    return bytes > INT64_MAX / pieces ? INT64_MAX : bytes * pieces;
}

static sdx_status decode(tiff_reader *r, TIFF *tiff) {
    sdx_image_job *job = r->job;
    uint32_t width = 0, height = 0;
    char reason[1024] = "";
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    SDX_TRY(sdx_image_check_size(job, width, height));
    if (!TIFFRGBAImageOK(tiff, reason))
        return sdx_image_unsupported(job, "has a layout that libtiff cannot turn into colours: %.120s",
                                     reason);
    forget_alpha(tiff);
    take_orientation(job, tiff);
    SDX_TRY(sdx_image_reserve(job, held_by_codec(tiff)));
    SDX_TRY(sdx_image_begin(job, width, height, 4));
    uint32_t *raster = (uint32_t *)(void *)job->out->pixels;
    if (!TIFFReadRGBAImageOriented(tiff, width, height, raster, ORIENTATION_TOPLEFT, 1))
        return damaged(r);
    const size_t count = (size_t)width * height;
    for (size_t i = 0; i < count; i++) {
        const uint32_t packed = raster[i];
        const uint8_t rgba[4] = {TIFFGetR(packed), TIFFGetG(packed), TIFFGetB(packed), 255};
        memcpy(raster + i, rgba, 4);
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_image_tiff(sdx_image_job *job) {
    tiff_reader r = {.job = job};
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) return sdx_fail_memory(job->error, 0, "libtiff's options");
    uint64_t most = job->max_pixels * 8; /* four channels of 16 bits */
    if (most / 8 != job->max_pixels || most > INT64_MAX - SPARE_BYTES)
        most = INT64_MAX - SPARE_BYTES;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)(most + SPARE_BYTES));
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, &r);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, &r);
    TIFF *tiff = TIFFClientOpenExt("image", "r", &r, read_bytes, write_bytes, seek, close_file,
                                   file_size, map_file, unmap_file, options);
    TIFFOpenOptionsFree(options);
    if (!tiff) return damaged(&r);
    const sdx_status status = decode(&r, tiff);
    TIFFClose(tiff);
    return status;
}

#endif
#endif
