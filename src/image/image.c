/* image.c - finds the decoder for a file's first bytes, guards the size of what it makes, and turns
 * its rows into the wanted format in place. One decoder per file beside this one; see decoder.h. */
#include "image/image.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "image/decoder.h"
#include "image/turn.h"

/* ---- formats ------------------------------------------------------------------------------- */

static bool begins(const uint8_t *bytes, size_t size, size_t at, const char *magic, size_t length) {
    return size >= at + length && memcmp(bytes + at, magic, length) == 0;
}

#define BEGINS(at, text) begins(b, n, at, text, sizeof text - 1)

static bool is_jpeg(const uint8_t *b, size_t n) { return BEGINS(0, "\xff\xd8\xff"); }
static bool is_png(const uint8_t *b, size_t n) { return BEGINS(0, "\x89PNG\r\n\x1a\n"); }
static bool is_webp(const uint8_t *b, size_t n) { return BEGINS(0, "RIFF") && BEGINS(8, "WEBP"); }
static bool is_tiff(const uint8_t *b, size_t n) {
    return BEGINS(0, "II*\0") || BEGINS(0, "MM\0*") || BEGINS(0, "II+\0") || BEGINS(0, "MM\0+");
}
static bool is_jpeg2000(const uint8_t *b, size_t n) {
    return BEGINS(0, "\0\0\0\x0cjP  \r\n\x87\n") || BEGINS(0, "\xff\x4f\xff\x51");
}
static bool is_bmp(const uint8_t *b, size_t n) { return BEGINS(0, "BM"); }
static bool is_pnm(const uint8_t *b, size_t n) {
    return n >= 3 && b[0] == 'P' && b[1] >= '1' && b[1] <= '7' &&
           (b[2] == '#' || b[2] == ' ' || (b[2] >= '\t' && b[2] <= '\r'));
}

#ifdef SDX_WITH_JPEG
#define JPEG sdx_image_jpeg
#define NO_JPEG
#else
#define JPEG NULL
#define NO_JPEG "libjpeg",
#endif
#ifdef SDX_WITH_PNG
#define PNG sdx_image_png
#define NO_PNG
#else
#define PNG NULL
#define NO_PNG "libpng",
#endif
#ifdef SDX_WITH_WEBP
#define WEBP sdx_image_webp
#define NO_WEBP
#else
#define WEBP NULL
#define NO_WEBP "libwebp",
#endif
#ifdef SDX_WITH_TIFF
#define TIFF sdx_image_tiff
#define NO_TIFF
#else
#define TIFF NULL
#define NO_TIFF "libtiff",
#endif
#ifdef SDX_WITH_OPENJPEG
#define JPEG2000 sdx_image_jpeg2000
#define NO_JPEG2000
#else
#define JPEG2000 NULL
#define NO_JPEG2000 "OpenJPEG",
#endif

static const struct {
    const char *name, *library;
    bool (*is)(const uint8_t *bytes, size_t size);
    sdx_status (*decode)(sdx_image_job *job); /* NULL: built without the library */
} formats[] = {
    {"JPEG", "libjpeg", is_jpeg, JPEG},
    {"PNG", "libpng", is_png, PNG},
    {"WebP", "libwebp", is_webp, WEBP},
    {"TIFF", "libtiff", is_tiff, TIFF},
    {"JPEG 2000", "OpenJPEG", is_jpeg2000, JPEG2000},
    {"BMP", "", is_bmp, sdx_image_bmp},
    {"PNM", "", is_pnm, sdx_image_pnm},
};
#define FORMATS (sizeof formats / sizeof formats[0])

const char *const sdx_image_lacks[] = {NO_JPEG NO_PNG NO_WEBP NO_TIFF NO_JPEG2000 NULL};

bool sdx_image_can_read(const char *format) {
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, format) == 0) return formats[i].decode != NULL;
    return false;
}

/* ---- for the decoders ---------------------------------------------------------------------- */

static sdx_status fail_va(sdx_image_job *job, sdx_status code, const char *format, va_list args) {
    char text[256];
    vsnprintf(text, sizeof text, format, args);
    return sdx_fail(job->error, code, "the %s image %s", job->name, text);
}

sdx_status sdx_image_fail(sdx_image_job *job, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char text[256];
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* Codecs tell by words alone that memory ran out, which is no damage of the image. */
    const bool no_memory = strcasestr(text, "memory") != NULL;
    const sdx_status status =
        sdx_fail(job->error, no_memory ? SDX_STATUS_NO_MEMORY : SDX_STATUS_BAD_INPUT, "the %s image %s",
                 job->name, text);
    return status;
}

sdx_status sdx_image_unsupported(sdx_image_job *job, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const sdx_status status = fail_va(job, SDX_STATUS_UNSUPPORTED, format, args);
    va_end(args);
    return status;
}

sdx_status sdx_image_check_size(sdx_image_job *job, uint64_t width, uint64_t height) {
    if (width == 0 || height == 0)
        return sdx_image_fail(job, "has no pixels: it is %llu by %llu", (unsigned long long)width,
                              (unsigned long long)height);
    if (width > INT32_MAX || height > INT32_MAX)
        return sdx_fail(job->error, SDX_STATUS_LIMIT,
                        "the %s image is %llu by %llu, more than the limit of %d pixels for one side", job->name,
                        (unsigned long long)width, (unsigned long long)height, INT32_MAX);
    if (width > job->max_pixels / height)
        return sdx_fail(job->error, SDX_STATUS_LIMIT,
                        "the %s image is %llu by %llu, more than the limit of %llu pixels", job->name,
                        (unsigned long long)width, (unsigned long long)height,
                        (unsigned long long)job->max_pixels);
    return SDX_STATUS_OK;
}

/* Below this an image is decoded whole in a few milliseconds, and is then the same to the bit as what
 * Pillow makes of it. */
#define SHRINK_PIXELS ((uint64_t)4000000)

uint32_t sdx_image_may_shrink(const sdx_image_job *job, uint32_t width, uint32_t height) {
    if (job->least_width == 0 || job->least_height == 0 ||
        (uint64_t)width * height <= SHRINK_PIXELS)
        return 1;
    const bool lies = job->orientation >= 5;
    const uint32_t least_width = lies ? job->least_height : job->least_width;
    const uint32_t least_height = lies ? job->least_width : job->least_height;
    uint32_t by = 8;
    while (by > 1 && (width / by < least_width || height / by < least_height)) by /= 2;
    return by;
}

sdx_status sdx_image_reserve(sdx_image_job *job, uint64_t bytes) {
    const size_t size = bytes < SIZE_MAX / 2 ? (size_t)bytes : SIZE_MAX / 2;
    if (!sdx_budget_reserve(job->allocator, size))
        return sdx_fail_memory(job->error, size, "the codec of an image");
    job->reserved += size;
    return SDX_STATUS_OK;
}

static uint32_t wanted_channels(sdx_image_format wanted) {
    return wanted == SDX_IMAGE_GRAYSCALE ? 1 : 3;
}

sdx_status sdx_image_begin(sdx_image_job *job, uint64_t width, uint64_t height, uint32_t native) {
    SDX_TRY(sdx_image_check_size(job, width, height));
    /* Room for the wider of both layouts, as one becomes the other in place. */
    const uint32_t wanted = wanted_channels(job->wanted);
    size_t pixels, bytes;
    if (!sdx_size_mul((size_t)width, (size_t)height, &pixels) ||
        !sdx_size_mul(pixels, native > wanted ? native : wanted, &bytes))
        return sdx_fail_memory(job->error, SIZE_MAX, "an image");
    job->out->pixels = sdx_alloc(job->allocator, bytes, SDX_CACHE_LINE);
    if (!job->out->pixels) return sdx_fail_memory(job->error, bytes, "an image");
    job->out->allocation = bytes;
    job->out->width = (uint32_t)width;
    job->out->height = (uint32_t)height;
    job->out->full_width = (uint32_t)width;
    job->out->full_height = (uint32_t)height;
    job->native = native;
    return SDX_STATUS_OK;
}

/* ---- native rows to the wanted format ------------------------------------------------------- */

/* The weights of ITU-R 601 in 16 bits, rounded: what Pillow's conversion to gray computes. */
static uint8_t luma(const uint8_t *rgb) {
    return (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

/* From the end to the front, since the pixels grow. */
static void spread_gray(uint8_t *pixels, size_t count) {
    for (size_t i = count; i-- > 0;) {
        const uint8_t v = pixels[i];
        pixels[3 * i] = pixels[3 * i + 1] = pixels[3 * i + 2] = v;
    }
}

static void convert(const sdx_image_job *job) {
    uint8_t *pixels = job->out->pixels;
    const size_t count = (size_t)job->out->width * job->out->height, native = job->native;
    if (job->wanted == SDX_IMAGE_GRAYSCALE) {
        for (size_t i = 0; native > 1 && i < count; i++) pixels[i] = luma(pixels + native * i);
    } else if (native == 1) {
        spread_gray(pixels, count);
    } else if (native == 4 || job->wanted == SDX_IMAGE_BGR) {
        const bool swap = job->wanted == SDX_IMAGE_BGR;
        for (size_t i = 0; i < count; i++) {
            const uint8_t *from = pixels + native * i;
            const uint8_t first = from[swap ? 2 : 0], middle = from[1], last = from[swap ? 0 : 2];
            pixels[3 * i] = first;
            pixels[3 * i + 1] = middle;
            pixels[3 * i + 2] = last;
        }
    }
    job->out->channels = wanted_channels(job->wanted);
}

/* ---- the entry ------------------------------------------------------------------------------ */

sdx_status sdx_image_decode(const uint8_t *bytes, size_t size, sdx_image_format wanted,
                            const sdx_image_options *options, const sdx_allocator *allocator,
                            sdx_image *out, sdx_error *error) {
    *out = (sdx_image){0};
    size_t f = 0;
    while (f < FORMATS && !(size > 0 && formats[f].is(bytes, size))) f++;
    if (f == FORMATS)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                        "the %zu bytes to decode do not begin like an image of a known format "
                        "(JPEG, PNG, WebP, TIFF, JPEG 2000, BMP, PNM)",
                        size);
    if (!formats[f].decode)
        return sdx_fail(error, SDX_STATUS_UNSUPPORTED,
                        "this library was built without %s, which a %s image needs",
                        formats[f].library, formats[f].name);
    sdx_image_job job = {.name = formats[f].name, .bytes = bytes, .size = size, .wanted = wanted,
                         .orientation = 1, .allocator = allocator, .error = error, .out = out};
    if (options) {
        job.max_pixels = options->max_pixels;
        job.upright = options->upright;
        job.least_width = options->least_width;
        job.least_height = options->least_height;
    }
    if (job.max_pixels == 0) job.max_pixels = SDX_IMAGE_MAX_PIXELS;
    errno = 0;
    sdx_status status = formats[f].decode(&job);
    sdx_budget_return(allocator, job.reserved);
    /* Some codecs fail without a word where they get no memory, or leave out a part; malloc says so. */
    if (errno == ENOMEM && status != SDX_STATUS_NO_MEMORY) {
        sdx_error_clear(error); /* a message of damage, if any */
        status = sdx_fail_memory(error, 0, formats[f].library);
    }
    if (status == SDX_STATUS_OK) {
        convert(&job);
        status = sdx_image_turn(out, job.orientation, allocator, error);
    }
    if (status != SDX_STATUS_OK) sdx_image_release(out, allocator);
    return status;
}

void sdx_image_release(sdx_image *image, const sdx_allocator *allocator) {
    sdx_free(allocator, image->pixels, image->allocation);
    *image = (sdx_image){0};
}
