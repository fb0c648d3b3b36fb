/* jpeg2000_check.c - bounds what a JPEG 2000 file makes OpenJPEG allocate. OpenJPEG makes tables for
 * every tile, component, precinct and code block that the headers declare, before any of their data
 * is read: a hundred bytes can ask for terabytes. In an honest file each tile has a header of 14
 * bytes and each precinct a packet of at least one, so those counts are held against the file's
 * size. Walks boxes (JP2), the main header and the headers of the tile parts. */
#include "image/jpeg2000_check.h"

/* OpenJPEG holds 4 bytes for each sample twice, and for each code block of 16 samples or more some 430 bytes
 * (measured with 2.5.0). */
#define SAMPLE_BYTES 8
#define BLOCK_BYTES 512
#define PIXEL_COST 4
#define MAX_COMPONENTS 16
#define TILE_PART_BYTES 14

enum { SOC = 0xff4f, SIZ = 0xff51, COD = 0xff52, COC = 0xff53, SOT = 0xff90, SOD = 0xff93,
       EOC = 0xffd9 };

typedef struct j2k_walk {
    sdx_image_job *job;
    size_t at, end; /* of the codestream */
    uint64_t width, height, components;
    uint32_t block; /* samples of the smallest code block, as a power of two; 0: none is declared */
} j2k_walk;

static uint32_t big16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static uint32_t big32(const uint8_t *p) { return big16(p) << 16 | big16(p + 2); }

/* The contiguous codestream among the boxes of a JP2 file. */
static sdx_status find_codestream(j2k_walk *w) {
    const uint8_t *b = w->job->bytes;
    while (w->end - w->at >= 8) {
        uint64_t length = big32(b + w->at), header = 8;
        const uint32_t type = big32(b + w->at + 4);
        if (length == 1 && w->end - w->at >= 16) {
            length = (uint64_t)big32(b + w->at + 8) << 32 | big32(b + w->at + 12);
            header = 16;
        }
        if (length == 0) length = w->end - w->at; /* up to the end of the file */
        if (length < header || length > w->end - w->at)
            return sdx_image_fail(w->job, "has a box at byte %zu that passes its end", w->at);
        if (type == 0x6a703263) { /* jp2c */
            w->end = w->at + (size_t)length;
            w->at += (size_t)header;
            return SDX_STATUS_OK;
        }
        w->at += (size_t)length;
    }
    return sdx_image_fail(w->job, "has no codestream, or ends before it");
}

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

static sdx_status check_siz(j2k_walk *w, const uint8_t *p, size_t length) {
    sdx_image_job *job = w->job;
    if (length < 38) return sdx_image_fail(job, "has a size marker of %zu bytes", length);
    const uint64_t x1 = big32(p + 4), y1 = big32(p + 8), x0 = big32(p + 12), y0 = big32(p + 16);
    const uint64_t tile_w = big32(p + 20), tile_h = big32(p + 24);
    const uint64_t tile_x = big32(p + 28), tile_y = big32(p + 32);
    w->components = big16(p + 36);
    if (x1 <= x0 || y1 <= y0 || tile_w == 0 || tile_h == 0 || tile_x > x0 || tile_y > y0 ||
        w->components == 0 || length < 38 + 3 * w->components)
        return sdx_image_fail(job, "has a size marker that contradicts itself");
    w->width = x1 - x0;
    w->height = y1 - y0;
    SDX_TRY(sdx_image_check_size(job, w->width, w->height));
    if (w->width > job->max_pixels / PIXEL_COST / w->height)
        return sdx_fail(job->error, SDX_STATUS_LIMIT,
                        "the JPEG 2000 image is %llu by %llu, more than the limit of %llu pixels for "
                        "this format",
                        (unsigned long long)w->width, (unsigned long long)w->height,
                        (unsigned long long)(job->max_pixels / PIXEL_COST));
    if (w->components > MAX_COMPONENTS)
        return sdx_image_unsupported(job, "has %llu components, more than %d",
                                     (unsigned long long)w->components, MAX_COMPONENTS);
    const uint64_t across = ceil_div(x1 - tile_x, tile_w), down = ceil_div(y1 - tile_y, tile_h);
    if (across > job->size / TILE_PART_BYTES / down)
        return sdx_image_fail(job, "declares %llu by %llu tiles, more than its %zu bytes can hold",
                              (unsigned long long)across, (unsigned long long)down, job->size);
    return SDX_STATUS_OK;
}

/* p is the coding style's own part: levels, code block size, transformation, precincts. */
static sdx_status check_precincts(j2k_walk *w, const uint8_t *p, size_t length, bool given) {
    if (length < 5) return sdx_image_fail(w->job, "has a coding style that is too short");
    const uint32_t levels = p[0];
    if (levels > 32 || (given && length < 6u + levels))
        return sdx_image_fail(w->job, "has a coding style that contradicts itself");
    const uint32_t block = (p[1] & 15u) + (p[2] & 15u) + 4;
    if (w->block == 0 || block < w->block) w->block = block;
    uint64_t total = 0;
    for (uint32_t r = 0; given && r <= levels; r++) {
        const uint32_t px = p[5 + r] & 15, py = p[5 + r] >> 4, down = levels - r;
        total += ceil_div(ceil_div(w->width, (uint64_t)1 << down), (uint64_t)1 << px) *
                 ceil_div(ceil_div(w->height, (uint64_t)1 << down), (uint64_t)1 << py);
    }
    if (total > w->job->size)
        return sdx_image_fail(w->job, "declares %llu precincts, more than its %zu bytes can hold",
                              (unsigned long long)total, w->job->size);
    return SDX_STATUS_OK;
}

/* One marker segment; p points at its length field. */
static sdx_status check_segment(j2k_walk *w, uint32_t marker, const uint8_t *p, size_t length) {
    if (marker == SIZ) {
        if (w->components) return sdx_image_fail(w->job, "has two size markers");
        return check_siz(w, p, length);
    }
    if (marker == COD && length >= 7)
        return check_precincts(w, p + 7, length - 7, p[2] & 1);
    const size_t wide = w->components < 257 ? 1 : 2;
    if (marker == COC && length >= 3 + wide)
        return check_precincts(w, p + 3 + wide, length - 3 - wide, p[2 + wide] & 1);
    return SDX_STATUS_OK;
}

/* A header: markers up to SOT or EOC (main) or SOD (tile part). Leaves w->at at that marker. */
static sdx_status walk_header(j2k_walk *w, uint32_t *stop) {
    const uint8_t *b = w->job->bytes;
    while (w->end - w->at >= 4) {
        const uint32_t marker = big16(b + w->at);
        if (marker == SOT || marker == SOD || marker == EOC) {
            *stop = marker;
            return SDX_STATUS_OK;
        }
        const size_t length = big16(b + w->at + 2);
        if (marker < 0xff00 || length < 2 || length > w->end - w->at - 2)
            return sdx_image_fail(w->job, "has no valid marker at byte %zu", w->at);
        SDX_TRY(check_segment(w, marker, b + w->at + 2, length));
        w->at += 2 + length;
    }
    return sdx_image_fail(w->job, "ends within a header");
}

sdx_status sdx_jpeg2000_check(sdx_image_job *job) {
    j2k_walk w = {.job = job, .end = job->size};
    const uint8_t *b = job->bytes;
    uint32_t stop;
    if (b[0] != 0xff) SDX_TRY(find_codestream(&w));
    if (w.end - w.at < 4 || big16(b + w.at) != SOC || big16(b + w.at + 2) != SIZ)
        return sdx_image_fail(job, "has a codestream that does not begin as it must");
    w.at += 2;
    SDX_TRY(walk_header(&w, &stop));
    while (stop == SOT) {
        const size_t start = w.at;
        if (w.end - start < 12 || big16(b + start + 2) != 10)
            return sdx_image_fail(job, "ends within the header of a tile");
        const size_t length = big32(b + start + 6); /* 0: up to the end */
        if (length != 0 && (length < TILE_PART_BYTES || length > w.end - start))
            return sdx_image_fail(job, "has a tile at byte %zu that passes its end", start);
        w.at = start + 12;
        SDX_TRY(walk_header(&w, &stop));
        if (stop != SOD) return sdx_image_fail(job, "has a tile without data");
        if (length == 0) break;
        w.at = start + length;
        if (w.end - w.at < 2) return sdx_image_fail(job, "ends too early");
        stop = big16(b + w.at);
    }
    const uint64_t pixels = w.width * w.height; /* below 2^62, components at most 16 */
    if (pixels > UINT64_MAX / MAX_COMPONENTS / (SAMPLE_BYTES + BLOCK_BYTES))
        return sdx_image_reserve(job, UINT64_MAX);
    const uint64_t samples = pixels * w.components, blocks = w.block ? samples >> w.block : 0;
    return sdx_image_reserve(job, samples * SAMPLE_BYTES + blocks * BLOCK_BYTES);
}
