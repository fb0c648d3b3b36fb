/* jpeg2000.c - JPEG 2000 by way of OpenJPEG, both as a bare codestream and in the JP2 container.
 * OpenJPEG allocates by what the header says before it says it itself, so jpeg2000_check.c looks at
 * the codestream first. Subsampled components are repeated, sYCC and CMYK become RGB. */
#include "image/decoder.h"

#ifdef SDX_WITH_OPENJPEG

#include <openjpeg.h>
#include <stdio.h>
#include <string.h>

#include "image/jpeg2000_check.h"

typedef struct j2k_reader {
    sdx_image_job *job;
    size_t at;
    char text[160]; /* the first message */
} j2k_reader;

static OPJ_SIZE_T read_bytes(void *to, OPJ_SIZE_T count, void *user) {
    j2k_reader *r = user;
    const size_t left = r->job->size - r->at, take = count < left ? count : left;
    if (take == 0) return (OPJ_SIZE_T)-1;
    memcpy(to, r->job->bytes + r->at, take);
    r->at += take;
    return take;
}

static OPJ_OFF_T skip(OPJ_OFF_T count, void *user) {
    j2k_reader *r = user;
    if (count < 0) return -1;
    const size_t left = r->job->size - r->at;
    const size_t take = (uint64_t)count < left ? (size_t)count : left;
    if (take == 0 && count > 0) return -1;
    r->at += take;
    return (OPJ_OFF_T)take;
}

static OPJ_BOOL seek(OPJ_OFF_T to, void *user) {
    j2k_reader *r = user;
    if (to < 0 || (uint64_t)to > r->job->size) return OPJ_FALSE;
    r->at = (size_t)to;
    return OPJ_TRUE;
}

static void on_error(const char *message, void *user) {
    j2k_reader *r = user;
    if (r->text[0]) return;
    snprintf(r->text, sizeof r->text, "%s", message);
    r->text[strcspn(r->text, "\r\n")] = 0;
}

static void on_message(const char *message, void *user) { (void)message, (void)user; }

static sdx_status damaged(j2k_reader *r) {
    return sdx_image_fail(r->job, "is damaged: %s", r->text[0] ? r->text : "no reason was given");
}

/* ---- planes to pixels ----------------------------------------------------------------------- */

/* A sample of any precision as a byte: more bits are rounded, fewer are shifted up. */
static uint8_t to_byte(int64_t value, const opj_image_comp_t *plane) {
    const int bits = (int)plane->prec;
    if (plane->sgnd) value += (int64_t)1 << (bits - 1);
    if (bits > 8) value = (value + ((int64_t)1 << (bits - 9))) >> (bits - 8);
    if (bits < 8) value = value * ((int64_t)1 << (8 - bits));
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void put_plane_row(const sdx_image_job *job, const opj_image_comp_t *plane, uint32_t y,
                          uint32_t channel) {
    const uint32_t py = y / plane->dy < plane->h ? y / plane->dy : plane->h - 1;
    const OPJ_INT32 *from = plane->data + (size_t)py * plane->w;
    uint8_t *row = sdx_image_row(job, y) + channel;
    for (uint32_t x = 0; x < job->out->width; x++) {
        const uint32_t px = x / plane->dx < plane->w ? x / plane->dx : plane->w - 1;
        row[(size_t)x * job->native] = to_byte(from[px], plane);
    }
}

static uint8_t clamp(int value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

/* JFIF's equations in 16 bits. */
static void sycc_to_rgb(uint8_t *p) {
    const int y = p[0] * 65536 + 32768, cb = p[1] - 128, cr = p[2] - 128;
    p[0] = clamp((y + 91881 * cr) >> 16);
    p[1] = clamp((y - 22554 * cb - 46802 * cr) >> 16);
    p[2] = clamp((y + 116130 * cb) >> 16);
}

static void recolour_row(const sdx_image_job *job, OPJ_COLOR_SPACE space, uint32_t y) {
    uint8_t *p = sdx_image_row(job, y);
    for (uint32_t x = 0; x < job->out->width; x++, p += job->native) {
        if (space == OPJ_CLRSPC_SYCC) sycc_to_rgb(p);
        for (int c = 0; space == OPJ_CLRSPC_CMYK && c < 3; c++) p[c] = sdx_image_from_ink(p[c], p[3]);
    }
}

static sdx_status check_planes(sdx_image_job *job, const opj_image_t *image, uint32_t used) {
    for (uint32_t c = 0; c < used; c++) {
        const opj_image_comp_t *plane = &image->comps[c];
        if (!plane->data || plane->w == 0 || plane->h == 0 || plane->dx == 0 || plane->dy == 0)
            return sdx_image_fail(job, "has an empty component %lu", (unsigned long)c);
        if (plane->prec == 0 || plane->prec > 31)
            return sdx_image_unsupported(job, "has %lu bits a sample", (unsigned long)plane->prec);
    }
    return SDX_STATUS_OK;
}

static sdx_status collect(sdx_image_job *job, const opj_image_t *image) {
    OPJ_COLOR_SPACE space = image->color_space;
    const uint32_t planes = image->numcomps;
    /* Without memory OpenJPEG may go on with none of the components. */
    if (planes == 0 || image->x1 <= image->x0 || image->y1 <= image->y0)
        return sdx_image_fail(job, "has no pixels");
    if (space == OPJ_CLRSPC_EYCC) return sdx_image_unsupported(job, "has the colour space e-sYCC");
    if (space == OPJ_CLRSPC_CMYK && planes < 4) space = OPJ_CLRSPC_UNSPECIFIED;
    const uint32_t used = planes < 3 ? 1 : space == OPJ_CLRSPC_CMYK ? 4 : 3;
    SDX_TRY(check_planes(job, image, used));
    SDX_TRY(sdx_image_begin(job, image->x1 - image->x0, image->y1 - image->y0, used));
    for (uint32_t y = 0; y < job->out->height; y++) {
        for (uint32_t c = 0; c < used; c++) put_plane_row(job, &image->comps[c], y, c);
        if (used >= 3 && (space == OPJ_CLRSPC_SYCC || space == OPJ_CLRSPC_CMYK))
            recolour_row(job, space, y);
    }
    return SDX_STATUS_OK;
}

/* ---- the codec ------------------------------------------------------------------------------ */

static sdx_status decode(j2k_reader *r, opj_codec_t *codec, opj_stream_t *stream) {
    /* Eight kilobytes: too much for a small stack. */
    opj_dparameters_t *parameters =
        sdx_alloc(r->job->allocator, sizeof *parameters, _Alignof(opj_dparameters_t));
    if (!parameters) return sdx_fail_memory(r->job->error, sizeof *parameters, "OpenJPEG");
    opj_image_t *image = NULL;
    opj_set_default_decoder_parameters(parameters);
    opj_set_info_handler(codec, on_message, r);
    opj_set_warning_handler(codec, on_message, r);
    opj_set_error_handler(codec, on_error, r);
    opj_stream_set_read_function(stream, read_bytes);
    opj_stream_set_skip_function(stream, skip);
    opj_stream_set_seek_function(stream, seek);
    opj_stream_set_user_data(stream, r, NULL);
    opj_stream_set_user_data_length(stream, r->job->size);
    const bool done = opj_setup_decoder(codec, parameters) &&
                      opj_read_header(stream, codec, &image) &&
                      opj_decode(codec, stream, image) && opj_end_decompress(codec, stream);
    const sdx_status status = done ? collect(r->job, image) : damaged(r);
    opj_image_destroy(image);
    sdx_free(r->job->allocator, parameters, sizeof *parameters);
    return status;
}

sdx_status sdx_image_jpeg2000(sdx_image_job *job) {
    SDX_TRY(sdx_jpeg2000_check(job));
    j2k_reader r = {.job = job};
    const bool bare = job->bytes[0] == 0xff;
    opj_codec_t *codec = opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    opj_stream_t *stream = opj_stream_create(1 << 16, OPJ_TRUE);
    const sdx_status status = codec && stream ? decode(&r, codec, stream)
                                              : sdx_fail_memory(job->error, 0, "OpenJPEG");
    opj_stream_destroy(stream);
    opj_destroy_codec(codec);
    return status;
}

#endif
