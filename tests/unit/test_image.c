/* test_image.c - unit tests of src/image: the formats read by hand in all their variants, a tiny file of
 * each library's format, sizes past the limit (refused before memory is taken), every prefix of
 * every file, single damaged bytes, failing allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "image/image.h"

/* ---- files of 2 by 2 pixels: red, green / blue, (10, 20, 30); the JPEG is 8 by 8 of gray ------ */

static const uint8_t tiny_png[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x08, 0x02, 0x00, 0x00, 0x00, 0xfd, 0xd4, 0x9a,
    0x73, 0x00, 0x00, 0x00, 0x16, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xc0,
    0xf0, 0x9f, 0x81, 0x81, 0x81, 0xe1, 0x3f, 0x97, 0x88, 0x1c, 0x00, 0x1a, 0x58, 0x03, 0x3a, 0x82,
    0xe0, 0xab, 0x53, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};
static const uint8_t tiny_webp[] = {
    0x52, 0x49, 0x46, 0x46, 0x32, 0x00, 0x00, 0x00, 0x57, 0x45, 0x42, 0x50, 0x56, 0x50, 0x38, 0x4c,
    0x26, 0x00, 0x00, 0x00, 0x2f, 0x01, 0x40, 0x00, 0x00, 0x1f, 0x20, 0x10, 0x20, 0x78, 0xf0, 0xbf,
    0x6a, 0x43, 0x48, 0x90, 0xd0, 0xfd, 0xbf, 0x57, 0x81, 0x00, 0xc1, 0x88, 0xff, 0x4b, 0xf3, 0x1f,
    0xf8, 0xe4, 0xa8, 0xe0, 0x06, 0x0c, 0x11, 0xfd, 0x0f, 0x01,
};
static const uint8_t tiny_jpeg[] = {
    0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01,
    0x00, 0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x03, 0x02, 0x02, 0x03, 0x02, 0x02, 0x03,
    0x03, 0x03, 0x03, 0x04, 0x03, 0x03, 0x04, 0x05, 0x08, 0x05, 0x05, 0x04, 0x04, 0x05, 0x0a, 0x07,
    0x07, 0x06, 0x08, 0x0c, 0x0a, 0x0c, 0x0c, 0x0b, 0x0a, 0x0b, 0x0b, 0x0d, 0x0e, 0x12, 0x10, 0x0d,
    0x0e, 0x11, 0x0e, 0x0b, 0x0b, 0x10, 0x16, 0x10, 0x11, 0x13, 0x14, 0x15, 0x15, 0x15, 0x0c, 0x0f,
    0x17, 0x18, 0x16, 0x14, 0x18, 0x12, 0x14, 0x15, 0x14, 0xff, 0xc0, 0x00, 0x0b, 0x08, 0x00, 0x08,
    0x00, 0x08, 0x01, 0x01, 0x11, 0x00, 0xff, 0xc4, 0x00, 0x14, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0xff, 0xc4, 0x00, 0x14,
    0x10, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x3f, 0x00, 0x60, 0x3f, 0xff, 0xd9,
};
static const uint8_t tiny_j2k[] = {
    0xff, 0x4f, 0xff, 0x51, 0x00, 0x2f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x07, 0x01, 0x01, 0x07, 0x01, 0x01,
    0x07, 0x01, 0x01, 0xff, 0x52, 0x00, 0x0c, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x04, 0x04, 0x00,
    0x01, 0xff, 0x5c, 0x00, 0x04, 0x40, 0x40, 0xff, 0x64, 0x00, 0x25, 0x00, 0x01, 0x43, 0x72, 0x65,
    0x61, 0x74, 0x65, 0x64, 0x20, 0x62, 0x79, 0x20, 0x4f, 0x70, 0x65, 0x6e, 0x4a, 0x50, 0x45, 0x47,
    0x20, 0x76, 0x65, 0x72, 0x73, 0x69, 0x6f, 0x6e, 0x20, 0x32, 0x2e, 0x35, 0x2e, 0x34, 0xff, 0x90,
    0x00, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x28, 0x00, 0x01, 0xff, 0x93, 0xdf, 0x80, 0x28, 0x0b,
    0xec, 0x64, 0x65, 0x4c, 0xdf, 0x80, 0x30, 0x08, 0xf2, 0x7e, 0xe8, 0xcd, 0xcb, 0xdf, 0x80, 0x30,
    0x06, 0x41, 0x24, 0x0f, 0xab, 0x5f, 0xff, 0xd9,
};
static const uint8_t tiny_tiff[] = {
    0x49, 0x49, 0x2a, 0x00, 0x08, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x01, 0x04, 0x00, 0x01, 0x00,
    0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x01, 0x04, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00,
    0x00, 0x00, 0x02, 0x01, 0x03, 0x00, 0x03, 0x00, 0x00, 0x00, 0x86, 0x00, 0x00, 0x00, 0x03, 0x01,
    0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x06, 0x01, 0x03, 0x00, 0x01, 0x00,
    0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x11, 0x01, 0x04, 0x00, 0x01, 0x00, 0x00, 0x00, 0x8c, 0x00,
    0x00, 0x00, 0x15, 0x01, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x16, 0x01,
    0x04, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x17, 0x01, 0x04, 0x00, 0x01, 0x00,
    0x00, 0x00, 0x0c, 0x00, 0x00, 0x00, 0x1c, 0x01, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x08, 0x00, 0x08, 0x00, 0xff, 0x00, 0x00, 0x00,
    0xff, 0x00, 0x00, 0x00, 0xff, 0x0a, 0x14, 0x1e,
};

static const uint8_t tiny_ppm[] = "P6\n2 2\n255\n\xff\0\0\0\xff\0\0\0\xff\x0a\x14\x1e";
static const uint8_t tiny_bmp[] = {
    'B', 'M', 70, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, /* pixels at 54 */
    40, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 24, 0, 0, 0, 0, 0, 16, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    255, 0, 0, 30, 20, 10, 0, 0, 0, 0, 255, 0, 255, 0, 0, 0,
};
static const uint8_t tiny_pixels[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30};

typedef struct sample {
    const char *format;
    const uint8_t *bytes;
    size_t size;
    size_t optional; /* bytes at the end that a decoder may do without */
} sample;

static const sample samples[] = {
    {"PNG", tiny_png, sizeof tiny_png, 0},      {"WebP", tiny_webp, sizeof tiny_webp, 1},
    {"JPEG", tiny_jpeg, sizeof tiny_jpeg, 0},   {"JPEG 2000", tiny_j2k, sizeof tiny_j2k, 0},
    {"TIFF", tiny_tiff, sizeof tiny_tiff, 0},   {"PNM", tiny_ppm, sizeof tiny_ppm - 1, 0},
    {"BMP", tiny_bmp, sizeof tiny_bmp, 2},
};
#define SAMPLES (sizeof samples / sizeof samples[0])

/* ---- helpers -------------------------------------------------------------------------------- */

static size_t allocations, held; /* of the counting allocator */
static bool exhausted;

static void *count_allocate(void *user, size_t size, size_t alignment) {
    (void)user;
    if (exhausted) return NULL;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, size) != 0) return NULL;
    allocations++;
    held += size;
    return memory;
}

static void count_release(void *user, void *memory, size_t size) {
    (void)user;
    held -= size;
    free(memory);
}

static const sdx_allocator counting = {NULL, count_allocate, count_release};

/* Decodes a copy in a block of just this size, so that sanitizers see a byte read too far. */
static sdx_status decode(const uint8_t *bytes, size_t size, sdx_image_format wanted, uint64_t most,
                         sdx_image *image, sdx_error *error) {
    const sdx_image_options limits = {.max_pixels = most};
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    allocations = 0;
    sdx_error_clear(error);
    const sdx_status status =
        sdx_image_decode(copy, size, wanted, &limits, &counting, image, error);
    free(copy);
    if (status != SDX_STATUS_OK) {
        assert_null(image->pixels);
        assert_int_equal(held, 0);
        assert_true(error->message[0] != 0);
    }
    return status;
}

static void expect_pixels(const void *bytes, size_t size, sdx_image_format wanted, uint32_t height,
                          uint32_t width, const uint8_t *expected) {
    sdx_image image;
    sdx_error error;
    if (decode(bytes, size, wanted, 0, &image, &error) != SDX_STATUS_OK) fail_msg("%s", error.message);
    assert_int_equal(image.height, height);
    assert_int_equal(image.width, width);
    assert_int_equal(image.channels, wanted == SDX_IMAGE_GRAYSCALE ? 1 : 3);
    assert_memory_equal(image.pixels, expected, (size_t)height * width * image.channels);
    sdx_image_release(&image, &counting);
    assert_null(image.pixels);
    assert_int_equal(held, 0);
}

static void expect_failure(const void *bytes, size_t size, sdx_status code, const char *word) {
    sdx_image image;
    sdx_error error;
    if (decode(bytes, size, SDX_IMAGE_RGB, 0, &image, &error) != code)
        fail_msg("another status than expected where '%s' should fail: %s", word, error.message);
    assert_int_equal(allocations, 0);
    if (!strstr(error.message, word)) fail_msg("'%s' is not in: %s", word, error.message);
}

/* ---- all formats ---------------------------------------------------------------------------- */

static void test_every_format(void **state) {
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const sample *s = &samples[i];
        if (!sdx_image_can_read(s->format)) {
            expect_failure(s->bytes, s->size, SDX_STATUS_UNSUPPORTED, "built without");
            continue;
        }
        if (s->bytes == tiny_jpeg) {
            uint8_t gray[8 * 8 * 3];
            memset(gray, 200, sizeof gray);
            expect_pixels(s->bytes, s->size, SDX_IMAGE_RGB, 8, 8, gray);
            expect_pixels(s->bytes, s->size, SDX_IMAGE_BGR, 8, 8, gray);
            expect_pixels(s->bytes, s->size, SDX_IMAGE_GRAYSCALE, 8, 8, gray);
            continue;
        }
        static const uint8_t bgr[] = {0, 0, 255, 0, 255, 0, 255, 0, 0, 30, 20, 10};
        static const uint8_t gray[] = {76, 150, 29, 18};
        expect_pixels(s->bytes, s->size, SDX_IMAGE_RGB, 2, 2, tiny_pixels);
        expect_pixels(s->bytes, s->size, SDX_IMAGE_BGR, 2, 2, bgr);
        expect_pixels(s->bytes, s->size, SDX_IMAGE_GRAYSCALE, 2, 2, gray);
    }
}

static void test_unknown(void **state) {
    (void)state;
    expect_failure("", 0, SDX_STATUS_BAD_INPUT, "0 bytes");
    expect_failure("GIF89a", 6, SDX_STATUS_BAD_INPUT, "known format");
    expect_failure("B", 1, SDX_STATUS_BAD_INPUT, "known format");
    expect_failure("P8\n1 1\n", 7, SDX_STATUS_BAD_INPUT, "known format");
    expect_failure("RIFF\4\0\0\0WAVE", 12, SDX_STATUS_BAD_INPUT, "known format");
    assert_false(sdx_image_can_read("GIF"));
    assert_true(sdx_image_can_read("BMP"));
    sdx_image image;
    assert_int_equal(sdx_image_decode(NULL, 0, SDX_IMAGE_RGB, NULL, NULL, &image, NULL),
                     SDX_STATUS_BAD_INPUT);
}

static void test_truncated(void **state) {
    (void)state;
    sdx_image image;
    sdx_error error;
    for (size_t i = 0; i < SAMPLES; i++) {
        const sample *s = &samples[i];
        for (size_t size = 0; size < s->size - s->optional; size++)
            if (decode(s->bytes, size, SDX_IMAGE_RGB, 0, &image, &error) == SDX_STATUS_OK)
                fail_msg("%s passes with %zu of %zu bytes", s->format, size, s->size);
    }
}

/* Any answer will do, as long as it comes and fits its memory. */
static void test_damaged(void **state) {
    (void)state;
    static const uint8_t patterns[] = {0x01, 0x80, 0xff};
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t at = 0; at < samples[i].size; at++)
            for (size_t p = 0; p < sizeof patterns; p++) {
                uint8_t copy[256];
                sdx_image image;
                sdx_error error;
                assert_true(samples[i].size <= sizeof copy);
                memcpy(copy, samples[i].bytes, samples[i].size);
                copy[at] ^= patterns[p];
                if (decode(copy, samples[i].size, (sdx_image_format)(at % 3), 1 << 16, &image,
                           &error) != SDX_STATUS_OK)
                    continue;
                assert_true((size_t)image.width * image.height * image.channels <=
                            image.allocation);
                sdx_image_release(&image, &counting);
                assert_int_equal(held, 0);
            }
}

static void test_no_memory(void **state) {
    (void)state;
    sdx_image image;
    sdx_error error;
    exhausted = true;
    for (size_t i = 0; i < SAMPLES; i++)
        if (sdx_image_can_read(samples[i].format))
            assert_int_equal(decode(samples[i].bytes, samples[i].size, SDX_IMAGE_RGB, 0, &image,
                                    &error),
                             SDX_STATUS_NO_MEMORY);
    exhausted = false;
}

static void test_pixel_limit(void **state) {
    (void)state;
    sdx_image image;
    sdx_error error;
    for (size_t i = 0; i < SAMPLES; i++) {
        const sample *s = &samples[i];
        if (!sdx_image_can_read(s->format)) continue;
        /* What OpenJPEG needs for a pixel counts four times. */
        const uint64_t least = s->bytes == tiny_jpeg ? 64 : s->bytes == tiny_j2k ? 16 : 4;
        assert_int_equal(decode(s->bytes, s->size, SDX_IMAGE_RGB, least - 1, &image, &error),
                         SDX_STATUS_LIMIT);
        assert_int_equal(allocations, 0);
        assert_non_null(strstr(error.message, "limit"));
        assert_int_equal(decode(s->bytes, s->size, SDX_IMAGE_RGB, least, &image, &error),
                         SDX_STATUS_OK);
        sdx_image_release(&image, &counting);
    }
}

/* What a codec takes by itself counts: an image that just fits does not with a byte less, whatever takes it. */
static void test_memory_limit(void **state) {
    (void)state;
    sdx_image image;
    sdx_error error;
    for (size_t i = 0; i < SAMPLES; i++) {
        const sample *s = &samples[i];
        if (!sdx_image_can_read(s->format)) continue;
        sdx_budget whole, budget;
        sdx_error_clear(&error);
        sdx_budget_init(&whole, &counting, UINT64_MAX);
        assert_int_equal(sdx_image_decode(s->bytes, s->size, SDX_IMAGE_RGB, NULL, &whole.allocator, &image,
                                          &error),
                         SDX_STATUS_OK);
        assert_int_equal(whole.used, image.allocation); /* the codec's share has been returned */
        const size_t peak = whole.peak;
        if (s->bytes != (const void *)tiny_ppm && s->bytes != tiny_bmp)
            assert_true(peak > image.allocation);
        sdx_image_release(&image, &whole.allocator);
        for (size_t less = 0; less < 2; less++) {
            sdx_budget_init(&budget, &counting, peak - less);
            assert_int_equal(sdx_image_decode(s->bytes, s->size, SDX_IMAGE_RGB, NULL, &budget.allocator,
                                              &image, &error),
                             less ? SDX_STATUS_NO_MEMORY : SDX_STATUS_OK);
            assert_int_equal(budget.used, image.allocation);
            sdx_image_release(&image, &budget.allocator);
            assert_int_equal(budget.used, 0);
        }
        assert_int_equal(sdx_budget_explain(&budget, SDX_STATUS_NO_MEMORY, &error), SDX_STATUS_LIMIT);
        assert_non_null(strstr(error.message, "max_memory"));
    }
}

/* A side that no signed number of 32 bits holds is refused however many pixels the caller allows. */
static void test_side_limit(void **state) {
    (void)state;
    uint8_t copy[sizeof tiny_bmp];
    memcpy(copy, tiny_bmp, sizeof copy);
    for (size_t i = 18; i < 26; i++) copy[i] = i == 21 ? 0x80 : i == 22; /* 2^31 by 1 */
    sdx_image image;
    sdx_error error;
    assert_int_equal(decode(copy, sizeof copy, SDX_IMAGE_RGB, UINT64_MAX, &image, &error), SDX_STATUS_LIMIT);
    assert_int_equal(allocations, 0);
    assert_non_null(strstr(error.message, "2147483648 by 1, more than the limit of 2147483647 pixels for one side"));
}

/* 60,000 by 60,000 written into the headers, with the default limit. */
static void test_huge_headers(void **state) {
    (void)state;
    static const struct {
        size_t sample, width, height; /* byte positions */
        uint8_t first, second;        /* of 60000 in the format's byte order */
    } headers[] = {
        {2, 0, 0, 0xea, 0x60}, {3, 10, 14, 0xea, 0x60}, {4, 18, 30, 0x60, 0xea}, {6, 18, 22, 0x60, 0xea},
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        const sample *s = &samples[headers[i].sample];
        if (!sdx_image_can_read(s->format)) continue;
        uint8_t copy[256];
        size_t width = headers[i].width, height = headers[i].height;
        memcpy(copy, s->bytes, s->size);
        if (s->bytes == tiny_jpeg) {
            const uint8_t *frame = memmem(copy, s->size, "\xff\xc0\0\x0b", 4);
            assert_non_null(frame);
            height = (size_t)(frame - copy) + 5;
            width = height + 2;
        }
        copy[width] = copy[height] = headers[i].first;
        copy[width + 1] = copy[height + 1] = headers[i].second;
        expect_failure(copy, s->size, SDX_STATUS_LIMIT, "60000 by 60000");
    }
    static const char pnm[] = "P6 60000 60000 255 abc";
    expect_failure(pnm, sizeof pnm - 1, SDX_STATUS_LIMIT, "60000 by 60000");
    static const char wide[] = "P5 2147483647 2147483647 255 abc";
    expect_failure(wide, sizeof wide - 1, SDX_STATUS_LIMIT, "2147483647");
}

/* Tables that OpenJPEG would make before it reads any data. */
static void test_jpeg2000_bombs(void **state) {
    (void)state;
    if (!sdx_image_can_read("JPEG 2000")) skip();
    uint8_t copy[sizeof tiny_j2k];
    memcpy(copy, tiny_j2k, sizeof copy);
    copy[10] = copy[14] = 4; /* 1026 by 1026 in tiles of 2 by 2 */
    expect_failure(copy, sizeof copy, SDX_STATUS_BAD_INPUT, "tiles");
    memcpy(copy, tiny_j2k, sizeof copy);
    copy[40] = 0x40; /* 16387 components */
    expect_failure(copy, sizeof copy, SDX_STATUS_BAD_INPUT, "contradicts");
    /* One tile of 1026 by 1026 in precincts of 2 by 2: a coding style with its own precincts, of
     * one byte more. */
    uint8_t longer[sizeof tiny_j2k + 1];
    const size_t style = 51; /* the marker's place */
    memcpy(longer, tiny_j2k, style + 14);
    longer[style + 14] = 0x11;
    memcpy(longer + style + 15, tiny_j2k + style + 14, sizeof tiny_j2k - style - 14);
    longer[style + 3]++;
    longer[style + 4] |= 1;
    longer[10] = longer[14] = longer[26] = longer[30] = 4;
    expect_failure(longer, sizeof longer, SDX_STATUS_BAD_INPUT, "precincts");
}

/* ---- PNM ------------------------------------------------------------------------------------ */

#define PNM_PIXELS(text, height, width, ...)                                                       \
    expect_pixels(text, sizeof text - 1, SDX_IMAGE_GRAYSCALE, height, width,                       \
                  (const uint8_t[]){__VA_ARGS__})

static void test_pnm(void **state) {
    (void)state;
    PNM_PIXELS("P1 # bits may touch\n3 2\n101 0\n#c\n1 1", 2, 3, 0, 255, 0, 255, 0, 0);
    PNM_PIXELS("P4\n10 2\n\xaa\x80\x55\x7f", 2, 10, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 255, 0,
               255, 0, 255, 0, 255, 0, 255, 0);
    PNM_PIXELS("P2\n# c\n4 1\n7\n0 1 6 7\n", 1, 4, 0, 36, 219, 255);
    PNM_PIXELS("P5 3 1 200 \x00\x64\xc8", 1, 3, 0, 128, 255);
    PNM_PIXELS("P5 3 1 65535 \x00\x00\x80\x00\xff\xff", 1, 3, 0, 128, 255);
    PNM_PIXELS("P5#c\n1 1 255\n#", 1, 1, '#'); /* no comment after the header */
    PNM_PIXELS("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n"
               "\x05\x00\x06\x00",
               1, 2, 5, 6);
    static const char text[] = "P3 2 1 100 0 50 100 1 2 3";
    expect_pixels(text, sizeof text - 1, SDX_IMAGE_RGB, 1, 2,
                  (const uint8_t[]){0, 128, 255, 3, 5, 8});
    static const char pam[] = "P7\nDEPTH 4\n# c\nMAXVAL 255\nHEIGHT 1\nWIDTH 1\nENDHDR\n\1\2\3\4";
    expect_pixels(pam, sizeof pam - 1, SDX_IMAGE_BGR, 1, 1, (const uint8_t[]){3, 2, 1});
}

static void test_bad_pnm(void **state) {
    (void)state;
    static const struct {
        const char *text, *word;
    } bad[] = {
        {"P6 ", "ends too early"},
        {"P6 x", "no number"},
        {"P6 4294967296 1 255 ", "width"},
        {"P6 1 1 65536 abcdef", "largest value"},
        {"P6 1 1 0 abc", "largest value"},
        {"P6 0 1 255 ", "no pixels"},
        {"P6 1 1 255", "space"},
        {"P6 1 1 255 ab", "need 3 bytes"},
        {"P5 100 100 255 ab", "need 10000 bytes"},
        {"P4 9 2 abc", "need 4 bytes"},
        {"P3 100 100 255 1 2 3", "ends too early"},
        {"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 5\nMAXVAL 255\nENDHDR\nabcde", "depth"},
        {"P7\nWIDTH 1\nHEIGHT 1\nMAXVAL 255\nENDHDR\nabc", "depth"},
        {"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nENDHDR\na", "largest value"},
        {"P7\nCOLOUR 1\n", "unknown line"},
        {"P7\nWIDTH 1\n", "ends within"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        expect_failure(bad[i].text, strlen(bad[i].text), SDX_STATUS_BAD_INPUT, bad[i].word);

    /* Found while the pixels are read. */
    sdx_image image;
    sdx_error error;
    static const char *const late[] = {"P2 3 1 7 1 8 2", "P1 3 1 1 2 1", "P2 2 1 255 1 x",
                                       "P5 2 1 100 \x20\x7f"};
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++)
        assert_int_equal(decode((const uint8_t *)late[i], strlen(late[i]), SDX_IMAGE_RGB, 0, &image,
                                &error),
                         SDX_STATUS_BAD_INPUT);
}

/* ---- BMP ------------------------------------------------------------------------------------ */

typedef struct bmp_file {
    uint8_t bytes[512];
    size_t size;
} bmp_file;

static void put(bmp_file *file, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++) file->bytes[file->size++] = (uint8_t)(value >> 8 * i);
}

/* A header of 40 bytes; `extra` (masks, palette) and the pixels follow. */
static bmp_file make_bmp(uint32_t width, int32_t height, uint32_t bits, uint32_t compression,
                         const void *extra, size_t extra_size, const void *pixels, size_t size) {
    bmp_file file = {.size = 0};
    put(&file, 'B' | 'M' << 8, 2);
    put(&file, 0, 4);
    put(&file, 0, 4);
    put(&file, (uint32_t)(54 + extra_size), 4);
    put(&file, 40, 4);
    put(&file, width, 4);
    put(&file, (uint32_t)height, 4);
    put(&file, 1, 2);
    put(&file, bits, 2);
    put(&file, compression, 4);
    for (int i = 0; i < 5; i++) put(&file, 0, 4);
    if (extra_size) memcpy(file.bytes + file.size, extra, extra_size);
    file.size += extra_size;
    if (size) memcpy(file.bytes + file.size, pixels, size);
    file.size += size;
    return file;
}

/* Gray palette of 16: entry i is 17 i. */
static const uint8_t *gray_palette(void) {
    static uint8_t palette[64];
    for (size_t i = 0; i < 64; i++) palette[i] = (uint8_t)(i / 4 * 17);
    return palette;
}

static void test_bmp_depths(void **state) {
    (void)state;
    static const uint8_t bits1[] = {0xa0, 0, 0, 0, 0x40, 0, 0, 0};
    bmp_file f = make_bmp(3, 2, 1, 0, "\0\0\0\0\xff\xff\xff", 8, bits1, sizeof bits1);
    expect_pixels(f.bytes, f.size, SDX_IMAGE_GRAYSCALE, 2, 3,
                  (const uint8_t[]){0, 255, 0, 255, 0, 255});
    f = make_bmp(3, -2, 1, 0, "\0\0\0\0\xff\xff\xff", 8, bits1, sizeof bits1);
    expect_pixels(f.bytes, f.size, SDX_IMAGE_GRAYSCALE, 2, 3,
                  (const uint8_t[]){255, 0, 255, 0, 255, 0});
    f = make_bmp(3, 1, 4, 0, gray_palette(), 64, "\x1f\x20\0", 4);
    expect_pixels(f.bytes, f.size, SDX_IMAGE_GRAYSCALE, 1, 3, (const uint8_t[]){17, 255, 34});
    /* An index past the palette is black. */
    f = make_bmp(2, 1, 8, 0, gray_palette(), 64, "\x0f\xfe\0", 4);
    expect_pixels(f.bytes, f.size, SDX_IMAGE_GRAYSCALE, 1, 2, (const uint8_t[]){255, 0});
    f = make_bmp(2, 1, 16, 0, NULL, 0, "\x00\x7c\x1f\x00", 4); /* five bits each */
    expect_pixels(f.bytes, f.size, SDX_IMAGE_RGB, 1, 2, (const uint8_t[]){255, 0, 0, 0, 0, 255});
    f = make_bmp(1, 1, 16, 3, "\0\xf8\0\0\xe0\7\0\0\x1f\0\0", 12, "\xe0\x07\0", 4);
    expect_pixels(f.bytes, f.size, SDX_IMAGE_RGB, 1, 1, (const uint8_t[]){0, 255, 0});
    f = make_bmp(1, 1, 32, 0, NULL, 0, "\1\2\3", 4);
    expect_pixels(f.bytes, f.size, SDX_IMAGE_RGB, 1, 1, (const uint8_t[]){3, 2, 1});
    /* A mask of all bits, and an empty one. */
    f = make_bmp(1, 1, 32, 3, "\xff\xff\xff\xff\0\0\0\0\xff\0\0", 12, "\xff\xff\xff\xff", 4);
    expect_pixels(f.bytes, f.size, SDX_IMAGE_RGB, 1, 1, (const uint8_t[]){255, 0, 255});
    static const uint8_t old[] = {'B', 'M', 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 12, 0,    0, 0,
                                  1,   0,   1, 0, 1, 0, 1, 0, 1, 2, 3,  4, 5, 6, 0x80, 0, 0, 0};
    expect_pixels(old, sizeof old, SDX_IMAGE_RGB, 1, 1, (const uint8_t[]){6, 5, 4});
}

static void test_bmp_runs(void **state) {
    (void)state;
    /* From the bottom: a run and the row's end; three as they are; a jump; a run that is too long. */
    static const uint8_t rle8[] = {4, 1, 0, 0, 0, 3, 2, 3, 4, 0, 0, 0, 0, 2, 2, 0, 9, 5, 0, 1};
    bmp_file f = make_bmp(4, 3, 8, 1, gray_palette(), 64, rle8, sizeof rle8);
    static const uint8_t expected[] = {0, 0, 85, 85, 34, 51, 68, 0, 17, 17, 17, 17};
    expect_pixels(f.bytes, f.size, SDX_IMAGE_GRAYSCALE, 3, 4, expected);
    static const uint8_t rle4[] = {3, 0x12, 0, 0, 0, 3, 0x34, 0x50, 0, 1};
    f = make_bmp(3, 2, 4, 2, gray_palette(), 64, rle4, sizeof rle4);
    expect_pixels(f.bytes, f.size, SDX_IMAGE_GRAYSCALE, 2, 3,
                  (const uint8_t[]){51, 68, 85, 17, 34, 17});
    sdx_image image;
    sdx_error error;
    for (size_t size = 0; size < 18; size++) { /* the mark at the end may be missing, no run */
        f = make_bmp(4, 3, 8, 1, gray_palette(), 64, rle8, size);
        assert_int_equal(decode(f.bytes, f.size, SDX_IMAGE_RGB, 0, &image, &error),
                         SDX_STATUS_BAD_INPUT);
    }
    /* A jump far outside is no write outside. */
    f = make_bmp(2, 2, 8, 1, gray_palette(), 64, "\0\2\xff\xff\x05\x01\0\0\x05\x01\0\1", 12);
    expect_pixels(f.bytes, f.size, SDX_IMAGE_GRAYSCALE, 2, 2, (const uint8_t[]){0, 0, 0, 0});
}

static void test_bad_bmp(void **state) {
    (void)state;
    bmp_file f = make_bmp(2, 2, 24, 0, NULL, 0, "", 1);
    expect_failure(f.bytes, f.size, SDX_STATUS_BAD_INPUT, "need 16 bytes");
    f = make_bmp(0, 2, 24, 0, NULL, 0, "", 1);
    expect_failure(f.bytes, f.size, SDX_STATUS_BAD_INPUT, "no pixels");
    f = make_bmp(2, INT32_MIN, 24, 0, NULL, 0, "", 1);
    expect_failure(f.bytes, f.size, SDX_STATUS_LIMIT, "2147483648");
    f = make_bmp(UINT32_MAX, 1, 32, 0, NULL, 0, "", 1);
    expect_failure(f.bytes, f.size, SDX_STATUS_LIMIT, "4294967295");
    f = make_bmp(1, 1, 3, 0, NULL, 0, "", 1);
    expect_failure(f.bytes, f.size, SDX_STATUS_UNSUPPORTED, "3 bits");
    f = make_bmp(1, 1, 24, 4, NULL, 0, "", 1);
    expect_failure(f.bytes, f.size, SDX_STATUS_UNSUPPORTED, "compression 4");
    f = make_bmp(1, -1, 8, 1, NULL, 0, "", 1);
    expect_failure(f.bytes, f.size, SDX_STATUS_BAD_INPUT, "top to bottom");
    f = make_bmp(1, 1, 32, 3, "\5\0\0\0\0\0\0\0\0\0\0", 12, "\0\0\0", 4);
    expect_failure(f.bytes, f.size, SDX_STATUS_BAD_INPUT, "gaps");
    f = make_bmp(1, 1, 24, 0, NULL, 0, "\0\0\0", 4);
    f.bytes[10] = 20; /* pixels within the header */
    expect_failure(f.bytes, f.size, SDX_STATUS_BAD_INPUT, "begin at byte 20");
    f.bytes[13] = 0xff;
    expect_failure(f.bytes, f.size, SDX_STATUS_BAD_INPUT, "begin at byte");
    f.bytes[14] = 13;
    expect_failure(f.bytes, f.size, SDX_STATUS_UNSUPPORTED, "header of 13");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_format),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_pixel_limit),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_side_limit),
        cmocka_unit_test(test_huge_headers),
        cmocka_unit_test(test_jpeg2000_bombs),
        cmocka_unit_test(test_pnm),
        cmocka_unit_test(test_bad_pnm),
        cmocka_unit_test(test_bmp_depths),
        cmocka_unit_test(test_bmp_runs),
        cmocka_unit_test(test_bad_bmp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
