/* jpeg.c - JPEG by way of libjpeg(-turbo), with its defaults: the accurate DCT and the smooth chroma
 * upsampling that ONNX's description of ImageDecoder demands. CMYK becomes RGB. Where a smaller image will
 * do, each block of 8x8 is transformed to fewer pixels: a photograph of 12 megapixels then takes a
 * fraction of the time and memory. libjpeg reports by
 * longjmp, so everything that must survive the jump lives in one struct. */
#include "image/decoder.h"

#ifdef SDX_WITH_JPEG

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

#include "image/exif.h"

/* Each scan of a progressive file may visit every pixel: without a bound a small file takes hours. */
#define MAX_SCANS 256

typedef struct jpeg_reader {
    struct jpeg_decompress_struct codec;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    const char *reason; /* of our own; else libjpeg's message */
    sdx_image_job *job;
} jpeg_reader;

static void on_error(j_common_ptr codec) { longjmp(((jpeg_reader *)codec->client_data)->jump, 1); }

static _Noreturn void give_up(jpeg_reader *r, const char *reason) {
    r->reason = reason;
    longjmp(r->jump, 1);
}

static void stay_silent(j_common_ptr codec) { (void)codec; }

static void ignore_warning(j_common_ptr codec, int level) {
    (void)codec;
    (void)level;
}

static void start_source(j_decompress_ptr codec) { (void)codec; }

static boolean refill(j_decompress_ptr codec) {
    give_up(codec->client_data, "ends too early");
}

static void skip(j_decompress_ptr codec, long count) {
    if (count <= 0) return;
    if ((size_t)count > codec->src->bytes_in_buffer) refill(codec);
    codec->src->next_input_byte += count;
    codec->src->bytes_in_buffer -= (size_t)count;
}

static void watch_scans(j_common_ptr codec) {
    jpeg_reader *r = codec->client_data;
    if (r->codec.input_scan_number > MAX_SCANS) give_up(r, "has too many scans");
}

/* Adobe's programs store ink upside down, and say that it was them. */
static void ink_to_rgb(uint8_t *row, uint32_t width, bool inverted) {
    const unsigned flip = inverted ? 255 : 0;
    for (uint32_t x = 0; x < width; x++) {
        uint8_t *p = row + 4 * (size_t)x;
        const unsigned black = p[3] ^ flip;
        for (int c = 0; c < 3; c++) p[c] = sdx_image_from_ink(p[c] ^ flip, black);
    }
}

/* What libjpeg holds: some rows of samples, and all coefficients where they come in several scans. */
static uint64_t held_by_codec(j_decompress_ptr codec) {
    uint64_t bytes = 0;
    for (int c = 0; c < codec->num_components; c++) {
        const jpeg_component_info *part = &codec->comp_info[c];
        bytes += (uint64_t)codec->image_width * (unsigned)codec->max_v_samp_factor * (DCTSIZE + 4);
        if (jpeg_has_multiple_scans(codec))
            bytes += ((uint64_t)part->width_in_blocks + (unsigned)part->h_samp_factor) *
                     ((uint64_t)part->height_in_blocks + (unsigned)part->v_samp_factor) * sizeof(JBLOCK);
    }
    return bytes;
}

static sdx_status read_all(jpeg_reader *r) {
    j_decompress_ptr codec = &r->codec;
    sdx_image_job *job = r->job;
    jpeg_create_decompress(codec);
    codec->src = &r->source;
    codec->progress = &r->progress;
    jpeg_read_header(codec, TRUE);
    const bool ink = codec->jpeg_color_space == JCS_CMYK || codec->jpeg_color_space == JCS_YCCK;
    const bool gray = codec->jpeg_color_space == JCS_GRAYSCALE;
    codec->out_color_space = ink ? JCS_CMYK : gray ? JCS_GRAYSCALE : JCS_RGB;
    SDX_TRY(sdx_image_check_size(job, codec->image_width, codec->image_height));
    if (job->upright) job->orientation = sdx_exif_in_jpeg(job->bytes, job->size);
    codec->scale_num = 1;
    codec->scale_denom = sdx_image_may_shrink(job, codec->image_width, codec->image_height);
    jpeg_calc_output_dimensions(codec);
    SDX_TRY(sdx_image_reserve(job, held_by_codec(codec)));
    SDX_TRY(sdx_image_begin(job, codec->output_width, codec->output_height, ink ? 4 : gray ? 1 : 3));
    job->out->full_width = codec->image_width;
    job->out->full_height = codec->image_height;
    jpeg_start_decompress(codec);
    if (codec->output_width != job->out->width || codec->output_height != job->out->height ||
        (uint32_t)codec->output_components != job->native)
        give_up(r, "changes its size while decoding");
    while (codec->output_scanline < codec->output_height) {
        const uint32_t y = codec->output_scanline;
        JSAMPROW row = sdx_image_row(job, y);
        if (jpeg_read_scanlines(codec, &row, 1) != 1) give_up(r, "ends too early");
        if (ink) ink_to_rgb(row, job->out->width, codec->saw_Adobe_marker);
    }
    jpeg_finish_decompress(codec);
    return SDX_STATUS_OK;
}

static sdx_status guarded(jpeg_reader *r) {
    if (setjmp(r->jump) == 0) return read_all(r);
    if (r->reason) return sdx_image_fail(r->job, "%s", r->reason);
    char text[JMSG_LENGTH_MAX];
    r->errors.format_message((j_common_ptr)&r->codec, text);
    return sdx_image_fail(r->job, "is damaged: %s", text);
}

sdx_status sdx_image_jpeg(sdx_image_job *job) {
    jpeg_reader r = {.job = job};
    r.codec.err = jpeg_std_error(&r.errors);
    r.codec.client_data = &r; /* jpeg_create_decompress keeps these two */
    r.errors.error_exit = on_error;
    r.errors.emit_message = ignore_warning;
    r.errors.output_message = stay_silent;
    r.progress.progress_monitor = watch_scans;
    r.source = (struct jpeg_source_mgr){.next_input_byte = job->bytes,
                                        .bytes_in_buffer = job->size,
                                        .init_source = start_source,
                                        .fill_input_buffer = refill,
                                        .skip_input_data = skip,
                                        .resync_to_restart = jpeg_resync_to_restart,
                                        .term_source = start_source};
    const sdx_status status = guarded(&r);
    jpeg_destroy_decompress(&r.codec);
    return status;
}

#endif
