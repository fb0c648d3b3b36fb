/* png.c - PNG by way of libpng. All kinds of PNG become 8-bit gray or RGB by libpng's own
 * transformations; transparency is dropped, not blended. libpng reports by longjmp, so everything
 * that must survive the jump lives in one struct. */
#include "image/decoder.h"

#ifdef SDX_WITH_PNG

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "image/exif.h"

/* Chunks beside the pixels (text, profiles): none is kept, and no single one may be large. */
#define CHUNK_LIMIT ((png_alloc_size_t)8 << 20)

/* libpng holds two rows, with up to four samples of 16 bits a pixel. */
#define ROWS_BYTES 16

typedef struct png_reader {
    sdx_image_job *job;
    size_t at;
    png_structp png;
    png_infop info;
    char text[128];
} png_reader;

static void on_error(png_structp png, png_const_charp message) {
    png_reader *r = png_get_error_ptr(png);
    snprintf(r->text, sizeof r->text, "%s", message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void read_bytes(png_structp png, png_bytep to, size_t count) {
    png_reader *r = png_get_io_ptr(png);
    if (count > r->job->size - r->at) png_error(png, "it ends too early");
    memcpy(to, r->job->bytes + r->at, count);
    r->at += count;
}

/* Returns false where libpng jumped, with the reason in r->text (or the job's error already set). */
static bool read_header(png_reader *r) {
    if (setjmp(png_jmpbuf(r->png))) return false;
    png_set_read_fn(r->png, r, read_bytes);
    png_set_user_limits(r->png, INT32_MAX, INT32_MAX); /* sdx_image_begin has the say */
    png_set_chunk_malloc_max(r->png, CHUNK_LIMIT);
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    png_read_info(r->png, r->info);
    const int type = png_get_color_type(r->png, r->info);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(r->png);
    if (!(type & PNG_COLOR_MASK_COLOR)) png_set_expand_gray_1_2_4_to_8(r->png);
    png_set_strip_16(r->png);
    png_set_strip_alpha(r->png);
    return true;
}

static bool read_rows(png_reader *r) {
    if (setjmp(png_jmpbuf(r->png))) return false;
    const int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    const size_t row = (size_t)r->job->out->width * r->job->native;
    if (png_get_rowbytes(r->png, r->info) != row) png_error(r->png, "its rows have another size");
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < r->job->out->height; y++)
            png_read_row(r->png, sdx_image_row(r->job, y), NULL);
    png_read_end(r->png, NULL);
    return true;
}

static sdx_status decode(png_reader *r) {
    sdx_image_job *job = r->job;
    if (!read_header(r)) return sdx_image_fail(job, "is damaged: %s", r->text);
    const bool colour = png_get_color_type(r->png, r->info) & PNG_COLOR_MASK_COLOR;
    const uint32_t width = png_get_image_width(r->png, r->info);
    const uint32_t height = png_get_image_height(r->png, r->info);
    SDX_TRY(sdx_image_check_size(job, width, height));
    SDX_TRY(sdx_image_reserve(job, (uint64_t)width * ROWS_BYTES));
    SDX_TRY(sdx_image_begin(job, width, height, colour ? 3 : 1));
    if (!read_rows(r)) return sdx_image_fail(job, "is damaged: %s", r->text);
    if (job->upright) job->orientation = sdx_exif_in_png(job->bytes, job->size);
    return SDX_STATUS_OK;
}

sdx_status sdx_image_png(sdx_image_job *job) {
    png_reader r = {.job = job};
    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning);
    r.info = r.png ? png_create_info_struct(r.png) : NULL;
    const sdx_status status =
        r.info ? decode(&r) : sdx_fail_memory(job->error, 0, "libpng's reader");
    png_destroy_read_struct(&r.png, &r.info, NULL);
    return status;
}

#endif
