/* classify_once.c - the whole of Sardonyx in forty lines: load a model, run it once on a grey image,
 * print the class with the highest score. usage: classify_once MODEL.onnx */
#include <stdio.h>
#include <stdlib.h>

#include "sardonyx.h"

int main(int argc, char **argv) {
    sdx_error error;
    sdx_model *model = NULL;
    sdx_program *program = NULL;
    sdx_context *context = NULL;
    const int64_t dims[] = {1, 3, 224, 224};
    float *pixels = calloc(3 * 224 * 224, sizeof *pixels);
    sdx_tensor image;
    int code = 1;
    if (argc != 2 || !pixels) {
        fprintf(stderr, "usage: %s MODEL.onnx\n", argv[0]);
        free(pixels);
        return 2;
    }
    if (sdx_model_load_file(argv[1], NULL, &model, &error) ||
        sdx_program_create(model, NULL, &program, &error) ||
        sdx_context_create(program, NULL, &context, &error) ||
        sdx_tensor_init(&image, SDX_DTYPE_FLOAT32, 4, dims, pixels, &error) ||
        sdx_context_set_input(context, 0, &image, &error) ||
        sdx_context_run(context, &error)) {
        fprintf(stderr, "%s\n", error.message);
    } else {
        const sdx_tensor *scores = sdx_context_output(context, 0);
        size_t best = 0;
        for (size_t i = 1; i < scores->count; i++)
            if (((float *)scores->data)[i] > ((float *)scores->data)[best]) best = i;
        printf("class %zu, score %.3f\n", best, (double)((float *)scores->data)[best]);
        code = 0;
    }
    sdx_context_release(context);
    sdx_program_release(program);
    sdx_model_release(model);
    free(pixels);
    return code;
}
