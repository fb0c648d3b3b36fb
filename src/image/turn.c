/* turn.c - the eight orientations that a camera can note, undone: mirrored in place where rows stay
 * rows, copied where they become columns. */
#include "image/turn.h"

#include <string.h>

#include "base/checked.h"

static void swap_pixels(uint8_t *a, uint8_t *b, size_t channels) {
    for (size_t c = 0; c < channels; c++) {
        const uint8_t kept = a[c];
        a[c] = b[c];
        b[c] = kept;
    }
}

static void mirror_rows(sdx_image *image) {
    const size_t n = image->channels, width = image->width;
    for (uint32_t y = 0; y < image->height; y++) {
        uint8_t *row = image->pixels + y * width * n;
        for (size_t x = 0; x < width / 2; x++)
            swap_pixels(row + x * n, row + (width - 1 - x) * n, n);
    }
    image->mirrored_x = !image->mirrored_x;
}

static void mirror_columns(sdx_image *image) {
    const size_t row = (size_t)image->width * image->channels;
    for (uint32_t y = 0; y < image->height / 2; y++)
        swap_pixels(image->pixels + y * row, image->pixels + (image->height - 1 - y) * row, row);
    image->mirrored_y = !image->mirrored_y;
}

static sdx_status transpose(sdx_image *image, const sdx_allocator *allocator, sdx_error *error) {
    const size_t n = image->channels, width = image->width, height = image->height;
    const size_t bytes = width * height * n; /* no more than what is there already */
    uint8_t *turned = sdx_alloc(allocator, bytes, SDX_CACHE_LINE);
    if (!turned) return sdx_fail_memory(error, bytes, "an image that is turned upright");
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            memcpy(turned + (x * height + y) * n, image->pixels + (y * width + x) * n, n);
    sdx_free(allocator, image->pixels, image->allocation);
    *image = (sdx_image){.width = image->height, .height = image->width, .channels = image->channels,
                         .full_width = image->full_height, .full_height = image->full_width,
                         .pixels = turned, .allocation = bytes};
    return SDX_STATUS_OK;
}

sdx_status sdx_image_turn(sdx_image *image, uint32_t orientation, const sdx_allocator *allocator,
                          sdx_error *error) {
    /* By number: 2 mirrored, 3 upside down, 4 both; 5 to 8 lie on their side. */
    static const struct {
        bool transposed, left_right, up_down;
    } steps[9] = {
        [2] = {.left_right = true},
        [3] = {.left_right = true, .up_down = true},
        [4] = {.up_down = true},
        [5] = {.transposed = true},
        [6] = {.transposed = true, .left_right = true},
        [7] = {.transposed = true, .left_right = true, .up_down = true},
        [8] = {.transposed = true, .up_down = true},
    };
    if (orientation > 8) return SDX_STATUS_OK;
    if (steps[orientation].transposed) SDX_TRY(transpose(image, allocator, error));
    if (steps[orientation].left_right) mirror_rows(image);
    if (steps[orientation].up_down) mirror_columns(image);
    return SDX_STATUS_OK;
}
