/* runner_image.c - the command `image` of the peers' protocol: pre-processing within the time. */
#include "runner_image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct runner_image {
    sdx_image_preset preset;
    sdx_tensor one; /* of one picture, without data */
    char **files;
    size_t file_count;
    unsigned char *bytes; /* of the file at hand */
    size_t capacity;
};

void runner_image_free(runner_image *image) {
    if (!image) return;
    for (size_t i = 0; i < image->file_count; i++) free(image->files[i]);
    free(image->files);
    free(image->bytes);
    free(image);
}

static void set_error(sdx_error *error, sdx_status code, const char *format, const char *what) {
    error->code = code;
    snprintf(error->message, sizeof error->message, format, what);
}

static bool copy_files(runner_image *image, char *const *files, size_t count) {
    image->files = calloc(count + 1, sizeof *image->files);
    for (size_t i = 0; image->files && i < count; i++) {
        image->files[i] = strdup(files[i]);
        if (!image->files[i]) return false;
        image->file_count++;
    }
    return image->files != NULL;
}

runner_image *runner_image_open(const sdx_model *model, const char *words, const sdx_tensor *batch,
                                char *const *files, size_t file_count, size_t *input,
                                sdx_error *error) {
    runner_image *image = calloc(1, sizeof *image);
    if (!image || !copy_files(image, files, file_count)) {
        set_error(error, SDX_STATUS_NO_MEMORY, "out of memory%s", "");
        runner_image_free(image);
        return NULL;
    }
    image->preset.struct_size = sizeof image->preset;
    bool good =
        sdx_image_preset_set(&image->preset, words, error) == SDX_STATUS_OK &&
        sdx_image_preset_fit(&image->preset, model, input, &image->one, error) == SDX_STATUS_OK;
    image->preset.whole = true; /* as all runners do: their tensors have to be equal */
    if (good) {
        bool same = batch->dtype == image->one.dtype && batch->rank == image->one.rank &&
                    batch->rank > 1 && image->one.count > 0;
        for (int32_t d = 1; same && d < batch->rank; d++)
            same = batch->dims[d] == image->one.dims[d];
        if (!same)
            set_error(error, SDX_STATUS_BAD_INPUT, "pictures become another size than %s",
                      "the input has");
        good = same;
    }
    if (good) return image;
    runner_image_free(image);
    return NULL;
}

/* The whole file into image->bytes; its size, or 0 with an error. */
static size_t read_file(runner_image *image, const char *path, sdx_error *error) {
    FILE *file = fopen(path, "rb");
    size_t size = 0;
    if (file) setvbuf(file, NULL, _IONBF, 0);
    for (bool more = file != NULL; more;) {
        if (size == image->capacity) {
            size_t capacity = size ? 2 * size : (size_t)1 << 20;
            unsigned char *bigger = realloc(image->bytes, capacity);
            if (!bigger) break;
            image->bytes = bigger;
            image->capacity = capacity;
        }
        size_t got = fread(image->bytes + size, 1, image->capacity - size, file);
        size += got;
        more = got > 0;
    }
    if (file) fclose(file);
    if (size == 0) set_error(error, SDX_STATUS_IO, "%s: cannot be read", path);
    return size;
}

sdx_status runner_image_fill(runner_image *image, sdx_tensor *batch, sdx_error *error) {
    size_t stride = image->one.count * sdx_dtype_size(image->one.dtype);
    for (int64_t i = 0; i < batch->dims[0]; i++) {
        size_t size = read_file(image, image->files[(size_t)i % image->file_count], error);
        if (size == 0) return SDX_STATUS_IO;
        sdx_tensor one = image->one;
        one.data = (char *)batch->data + (size_t)i * stride;
        sdx_status status =
            sdx_image_to_tensor(&image->preset, image->bytes, size, NULL, NULL, &one, error);
        if (status != SDX_STATUS_OK) return status;
    }
    return SDX_STATUS_OK;
}
