/* runner_image.h - an input of a runner that is made from image files anew in every run. */
#ifndef SDX_CLI_RUNNER_IMAGE_H
#define SDX_CLI_RUNNER_IMAGE_H

#include "sardonyx.h"

typedef struct runner_image runner_image;

/* For a batch of the given type and dims, whose pictures are the files in turn; words: a preset, as
 * sdx_image_preset_set takes it. *input is the input that it is for. NULL with an error. */
runner_image *runner_image_open(const sdx_model *model, const char *words, const sdx_tensor *batch,
                                char *const *files, size_t file_count, size_t *input, sdx_error *error);
/* Reads, decodes, resizes and scales all pictures of the batch. */
sdx_status runner_image_fill(runner_image *image, sdx_tensor *batch, sdx_error *error);
void runner_image_free(runner_image *image);

#endif
