/* pnm.c - the portable formats of Netpbm: P1 to P6 (bits, gray, colour, as text or bytes) and P7 (PAM).
 * Written by hand: a header of a few numbers, then samples. Values are scaled to 0..255; where they
 * are bytes, the file must hold all of them before memory is taken. */
#include <string.h>

#include "image/decoder.h"

typedef struct pnm_reader {
    sdx_image_job *job;
    const uint8_t *at, *end;
    uint32_t width, height, maximum;
    uint32_t depth; /* samples of a pixel in the file; those past the native ones are dropped */
    bool text;      /* samples are decimal numbers */
    bool bits;      /* 1 is black; as bytes: eight in one */
} pnm_reader;

static bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Comments count as space, as Netpbm has it. */
static void skip_space(pnm_reader *r) {
    while (r->at < r->end && (is_space(*r->at) || *r->at == '#')) {
        if (*r->at++ != '#') continue;
        while (r->at < r->end && *r->at != '\n' && *r->at != '\r') r->at++;
    }
}

static sdx_status read_number(pnm_reader *r, const char *what, uint32_t most, uint32_t *out) {
    uint32_t value = 0;
    skip_space(r);
    const uint8_t *start = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        const uint32_t digit = (uint32_t)(*r->at - '0');
        if (digit > most || value > (most - digit) / 10)
            return sdx_image_fail(r->job, "has a %s of more than %lu", what, (unsigned long)most);
        value = value * 10 + digit;
    }
    if (r->at == start) {
        if (r->at == r->end) return sdx_image_fail(r->job, "ends too early, before a %s", what);
        return sdx_image_fail(r->job, "has no number at byte %zu, where a %s is expected",
                              (size_t)(r->at - r->job->bytes), what);
    }
    *out = value;
    return SDX_STATUS_OK;
}

/* The single space between the header and samples as bytes. */
static sdx_status end_header(pnm_reader *r) {
    if (r->at == r->end || !is_space(*r->at))
        return sdx_image_fail(r->job, "has no space after its header");
    r->at++;
    return SDX_STATUS_OK;
}

static sdx_status read_header(pnm_reader *r, uint8_t kind) {
    SDX_TRY(read_number(r, "width", INT32_MAX, &r->width));
    SDX_TRY(read_number(r, "height", INT32_MAX, &r->height));
    r->text = kind <= '3';
    r->bits = kind == '1' || kind == '4';
    r->depth = kind == '3' || kind == '6' ? 3 : 1;
    r->maximum = 1;
    if (!r->bits) SDX_TRY(read_number(r, "largest value", 65535, &r->maximum));
    return r->text ? SDX_STATUS_OK : end_header(r);
}

static bool take_word(pnm_reader *r, const char *word) {
    const size_t length = strlen(word);
    if ((size_t)(r->end - r->at) <= length || memcmp(r->at, word, length) != 0 ||
        !is_space(r->at[length]))
        return false;
    r->at += length;
    return true;
}

static void skip_line(pnm_reader *r) {
    while (r->at < r->end && *r->at != '\n') r->at++;
}

static sdx_status read_pam_header(pnm_reader *r) {
    for (;;) {
        skip_space(r);
        if (take_word(r, "ENDHDR")) break;
        if (take_word(r, "WIDTH"))
            SDX_TRY(read_number(r, "width", INT32_MAX, &r->width));
        else if (take_word(r, "HEIGHT"))
            SDX_TRY(read_number(r, "height", INT32_MAX, &r->height));
        else if (take_word(r, "DEPTH"))
            SDX_TRY(read_number(r, "depth", 4, &r->depth));
        else if (take_word(r, "MAXVAL"))
            SDX_TRY(read_number(r, "largest value", 65535, &r->maximum));
        else if (take_word(r, "TUPLTYPE"))
            skip_line(r); /* the depth says enough */
        else if (r->at == r->end)
            return sdx_image_fail(r->job, "ends within its header");
        else
            return sdx_image_fail(r->job, "has an unknown line in its header, at byte %zu",
                                  (size_t)(r->at - r->job->bytes));
    }
    if (r->depth == 0) return sdx_image_fail(r->job, "has no depth in its header");
    return end_header(r);
}

/* All samples as bytes must be there; of text at least a digit each. */
static sdx_status check_length(const pnm_reader *r) {
    const size_t sample = r->maximum > 255 ? 2 : 1;
    size_t row, need = 0;
    const bool fits = sdx_size_mul(r->width, r->depth * sample, &row) &&
                      sdx_size_mul(r->bits && !r->text ? (row + 7) / 8 : row, r->height, &need);
    if (r->text && sample == 2) need /= 2;
    const size_t left = (size_t)(r->end - r->at);
    if (!fits || need > left)
        return sdx_image_fail(r->job, "ends too early: its samples need %zu bytes, and there are %zu",
                              fits ? need : SIZE_MAX, left);
    return SDX_STATUS_OK;
}

static sdx_status next_sample(pnm_reader *r, uint32_t *out) {
    if (!r->text) {
        *out = *r->at++;
        if (r->maximum > 255) *out = *out << 8 | *r->at++;
    } else if (r->bits) { /* digits may touch each other */
        skip_space(r);
        if (r->at == r->end || (*r->at != '0' && *r->at != '1'))
            return sdx_image_fail(r->job, "has neither 0 nor 1 at byte %zu",
                                  (size_t)(r->at - r->job->bytes));
        *out = *r->at++ == '0';
    } else {
        SDX_TRY(read_number(r, "sample", 65535, out));
    }
    if (*out > r->maximum)
        return sdx_image_fail(r->job, "has a sample of %lu, more than its largest value %lu",
                              (unsigned long)*out, (unsigned long)r->maximum);
    return SDX_STATUS_OK;
}

static sdx_status read_row(pnm_reader *r, uint8_t *row) {
    const uint32_t native = r->job->native;
    if (!r->text && !r->bits && r->maximum == 255 && r->depth == native) {
        memcpy(row, r->at, (size_t)r->width * native);
        r->at += (size_t)r->width * native;
        return SDX_STATUS_OK;
    }
    for (uint32_t x = 0; x < r->width; x++)
        for (uint32_t c = 0; c < r->depth; c++) {
            uint32_t value;
            SDX_TRY(next_sample(r, &value));
            if (c < native)
                row[(size_t)x * native + c] =
                    (uint8_t)((value * 255 + r->maximum / 2) / r->maximum);
        }
    return SDX_STATUS_OK;
}

static void unpack_bits(pnm_reader *r, uint8_t *row) {
    for (uint32_t x = 0; x < r->width; x++)
        row[x] = r->at[x / 8] >> (7 - x % 8) & 1 ? 0 : 255;
    r->at += ((size_t)r->width + 7) / 8;
}

sdx_status sdx_image_pnm(sdx_image_job *job) {
    pnm_reader r = {.job = job, .at = job->bytes + 2, .end = job->bytes + job->size};
    const uint8_t kind = job->bytes[1];
    SDX_TRY(kind == '7' ? read_pam_header(&r) : read_header(&r, kind));
    if (r.maximum == 0) return sdx_image_fail(job, "has 0 as its largest value");
    SDX_TRY(sdx_image_check_size(job, r.width, r.height));
    SDX_TRY(check_length(&r));
    SDX_TRY(sdx_image_begin(job, r.width, r.height, r.depth >= 3 ? 3 : 1));
    for (uint32_t y = 0; y < r.height; y++) {
        if (r.bits && !r.text)
            unpack_bits(&r, sdx_image_row(job, y));
        else
            SDX_TRY(read_row(&r, sdx_image_row(job, y)));
    }
    return SDX_STATUS_OK;
}
