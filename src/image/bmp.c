/* bmp.c - Windows and OS/2 bitmaps, read by hand: palettes of 1, 2, 4 and 8 bits, 16, 24 and 32 bits
 * with or without masks, run lengths of 4 and 8 bits, both row orders. Every offset and length in the
 * file is checked against the bytes there are. */
#include <string.h>

#include "image/decoder.h"

#define FILE_HEADER 14
#define OLD_HEADER 12   /* OS/2 1.x: 16-bit sizes, palette of three bytes each */
#define BASE_HEADER 40  /* longer ones continue it */

enum { PLAIN = 0, RLE8 = 1, RLE4 = 2, MASKS = 3, ALPHA_MASKS = 6 }; /* JPEG and PNG are refused */

typedef struct bmp_channel {
    uint32_t mask, shift, most; /* (pixel & mask) >> shift, 0..most */
} bmp_channel;

typedef struct bmp_reader {
    sdx_image_job *job;
    uint32_t header; /* its length */
    uint32_t width, height;
    uint32_t bits, compression, colours;
    size_t pixels; /* offset */
    bool top_down;
    uint8_t palette[256][3]; /* RGB; entries that the file lacks are black */
    bmp_channel channel[3];
} bmp_reader;

static uint32_t read16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }
static uint32_t read32(const uint8_t *p) { return read16(p) | read16(p + 2) << 16; }

static sdx_status read_header(bmp_reader *r) {
    sdx_image_job *job = r->job;
    if (job->size < FILE_HEADER + OLD_HEADER) return sdx_image_fail(job, "ends within its header");
    r->pixels = read32(job->bytes + 10);
    const uint8_t *h = job->bytes + FILE_HEADER;
    r->header = read32(h);
    if (r->header != OLD_HEADER && (r->header < BASE_HEADER || r->header > 4096))
        return sdx_image_unsupported(job, "has a header of %lu bytes, which no known version has",
                                     (unsigned long)r->header);
    if (job->size - FILE_HEADER < r->header) return sdx_image_fail(job, "ends within its header");
    if (r->header == OLD_HEADER) {
        r->width = read16(h + 4);
        r->height = read16(h + 6);
        r->bits = read16(h + 10);
        return SDX_STATUS_OK;
    }
    const uint32_t height = read32(h + 8);
    r->width = read32(h + 4);
    r->top_down = height > INT32_MAX; /* a negative one */
    r->height = r->top_down ? 0u - height : height;
    r->bits = read16(h + 14);
    r->compression = read32(h + 16);
    r->colours = read32(h + 32);
    return SDX_STATUS_OK;
}

static sdx_status check_kind(const bmp_reader *r) {
    const uint32_t bits = r->bits, kind = r->compression;
    bool known = false;
    switch (kind) {
    case PLAIN:
        known = bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 24 ||
                bits == 32;
        break;
    case RLE8: known = bits == 8; break;
    case RLE4: known = bits == 4; break;
    case MASKS:
    case ALPHA_MASKS: known = bits == 16 || bits == 32; break;
    }
    if (!known)
        return sdx_image_unsupported(r->job, "has %lu bits a pixel with compression %lu",
                                     (unsigned long)bits, (unsigned long)kind);
    if ((kind == RLE8 || kind == RLE4) && r->top_down)
        return sdx_image_fail(r->job, "has run lengths from top to bottom, which is not allowed");
    return SDX_STATUS_OK;
}

static sdx_status read_palette(bmp_reader *r) {
    const size_t entry = r->header == OLD_HEADER ? 3 : 4, most = (size_t)1 << r->bits;
    const size_t start = FILE_HEADER + r->header;
    size_t count = r->colours == 0 || r->colours > most ? most : r->colours;
    /* The palette may be cut short by the pixels: old writers leave unused entries out. */
    const size_t limit = r->pixels > start && r->pixels < r->job->size ? r->pixels : r->job->size;
    if (count > (limit - start) / entry) count = (limit - start) / entry;
    if (count == 0) return sdx_image_fail(r->job, "has no palette");
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < 3; c++)
            r->palette[i][c] = r->job->bytes[start + i * entry + 2 - c];
    return SDX_STATUS_OK;
}

static sdx_status read_masks(bmp_reader *r) {
    static const uint32_t usual[2][3] = {{0x7c00, 0x3e0, 0x1f}, {0xff0000, 0xff00, 0xff}};
    const bool given = r->compression != PLAIN;
    const size_t start = FILE_HEADER + BASE_HEADER;
    if (given && r->job->size < start + 12) return sdx_image_fail(r->job, "ends within its masks");
    for (size_t c = 0; c < 3; c++) {
        const uint32_t mask = given ? read32(r->job->bytes + start + 4 * c) : usual[r->bits == 32][c];
        const uint32_t shift = mask ? (uint32_t)__builtin_ctz(mask) : 0, most = mask >> shift;
        if (most & (most + 1)) /* not one run of ones; all 32 of them wrap to 0 and pass */
            return sdx_image_fail(r->job, "has the mask %08lx, which has gaps", (unsigned long)mask);
        r->channel[c] = (bmp_channel){mask, shift, most};
    }
    return SDX_STATUS_OK;
}

static uint8_t pick(uint32_t pixel, bmp_channel channel) {
    const uint64_t value = (pixel & channel.mask) >> channel.shift;
    if (channel.most == 0) return 0; /* an empty mask */
    return (uint8_t)(value * 255 / channel.most);
}

static void read_row(const bmp_reader *r, const uint8_t *from, uint8_t *row) {
    const uint32_t per_byte = r->bits < 8 ? 8 / r->bits : 1;
    for (uint32_t x = 0; x < r->width; x++, row += 3) {
        if (r->bits <= 8) {
            const uint32_t shift = 8 - r->bits * (x % per_byte + 1);
            const uint32_t index = (uint32_t)from[x / per_byte] >> shift & ((1u << r->bits) - 1);
            memcpy(row, r->palette[index], 3);
        } else if (r->bits == 24) {
            const uint8_t *p = from + 3 * (size_t)x;
            row[0] = p[2], row[1] = p[1], row[2] = p[0];
        } else {
            const uint32_t pixel = r->bits == 16 ? read16(from + 2 * (size_t)x)
                                                 : read32(from + 4 * (size_t)x);
            for (size_t c = 0; c < 3; c++) row[c] = pick(pixel, r->channel[c]);
        }
    }
}

static sdx_status read_rows(bmp_reader *r) {
    sdx_image_job *job = r->job;
    size_t row, need;
    /* Both factors are below 2^32, so the first product fits; rows fill up to four bytes. */
    row = (size_t)(((uint64_t)r->width * r->bits + 31) / 32 * 4);
    if (!sdx_size_mul(row, r->height, &need) || need > job->size - r->pixels)
        return sdx_image_fail(job, "ends too early: its pixels need %zu bytes, and there are %zu",
                              need, job->size - r->pixels);
    SDX_TRY(sdx_image_begin(job, r->width, r->height, 3));
    for (uint32_t y = 0; y < r->height; y++)
        read_row(r, job->bytes + r->pixels + y * row,
                 sdx_image_row(job, r->top_down ? y : r->height - 1 - y));
    return SDX_STATUS_OK;
}

/* Where the next pixel of a run goes; what lies past the right border or the top is not drawn. */
typedef struct bmp_pen {
    uint32_t x, y; /* y counts from the bottom */
} bmp_pen;

static void draw(const bmp_reader *r, bmp_pen *pen, uint32_t index) {
    if (pen->x >= r->width || pen->y >= r->height) return;
    uint8_t *row = sdx_image_row(r->job, r->height - 1 - pen->y);
    memcpy(row + 3 * (size_t)pen->x++, r->palette[index], 3);
}

static uint32_t nibble_or_byte(const bmp_reader *r, const uint8_t *from, uint32_t i) {
    if (r->bits == 8) return from[i];
    return i % 2 ? from[i / 2] & 15u : from[i / 2] >> 4;
}

static sdx_status read_runs(bmp_reader *r) {
    sdx_image_job *job = r->job;
    const uint8_t *at = job->bytes + r->pixels, *end = job->bytes + job->size;
    SDX_TRY(sdx_image_begin(job, r->width, r->height, 3));
    for (size_t i = 0, n = (size_t)r->width * r->height; i < n; i++)
        memcpy(job->out->pixels + 3 * i, r->palette[0], 3);
    bmp_pen pen = {0, 0};
    while (end - at >= 2) {
        const uint32_t count = at[0], code = at[1];
        at += 2;
        if (count > 0) { /* one byte (or two nibbles in turn), repeated */
            const uint8_t both[2] = {(uint8_t)code, (uint8_t)code};
            for (uint32_t i = 0; i < count; i++)
                draw(r, &pen, nibble_or_byte(r, both, r->bits == 8 ? 0 : i % 2));
        } else if (code == 0) {
            pen.x = 0;
            if (pen.y < r->height) pen.y++;
        } else if (code == 1) {
            return SDX_STATUS_OK;
        } else if (code == 2) {
            if (end - at < 2) break;
            pen.x = pen.x + at[0] < r->width ? pen.x + at[0] : r->width;
            pen.y = pen.y + at[1] < r->height ? pen.y + at[1] : r->height;
            at += 2;
        } else { /* code pixels as they are, filled up to two bytes */
            const uint32_t bytes = r->bits == 8 ? code : (code + 1) / 2, filled = bytes + bytes % 2;
            if (end - at < (ptrdiff_t)bytes) break;
            for (uint32_t i = 0; i < code; i++) draw(r, &pen, nibble_or_byte(r, at, i));
            at += end - at < (ptrdiff_t)filled ? bytes : filled;
        }
    }
    /* Some writers leave out the mark at the end; all rows must have been reached, though. */
    if (pen.y >= r->height || (pen.y + 1 == r->height && pen.x >= r->width)) return SDX_STATUS_OK;
    return sdx_image_fail(job, "ends too early, in row %lu of %lu", (unsigned long)pen.y,
                          (unsigned long)r->height);
}

sdx_status sdx_image_bmp(sdx_image_job *job) {
    bmp_reader r = {.job = job};
    SDX_TRY(read_header(&r));
    SDX_TRY(check_kind(&r));
    SDX_TRY(sdx_image_check_size(job, r.width, r.height));
    if (r.pixels < FILE_HEADER + r.header || r.pixels > job->size)
        return sdx_image_fail(job, "says that its pixels begin at byte %zu of %zu", r.pixels,
                              job->size);
    if (r.bits <= 8)
        SDX_TRY(read_palette(&r));
    else if (r.bits != 24)
        SDX_TRY(read_masks(&r));
    return r.compression == RLE8 || r.compression == RLE4 ? read_runs(&r) : read_rows(&r);
}
