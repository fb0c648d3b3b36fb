/* classify_once.c - the whole of Sardonyx in sixty lines: load a model, bring an image into the form that
 * it wants, run it, print the class with the highest score. Without an image, a black one.
 * usage: classify_once MODEL.onnx [IMAGE [PRESET]] */
#include <stdio.h>
#include <stdlib.h>

#include "sardonyx.h"

static char *read_file(const char *path, size_t *size) {
    char *bytes = NULL;
    FILE *file = fopen(path, "rb");
    if (file && fseek(file, 0, SEEK_END) == 0 && ftell(file) > 0) {
        *size = (size_t)ftell(file);
        rewind(file);
        bytes = malloc(*size);
        if (bytes) *size = fread(bytes, 1, *size, file);
    }
    if (file) fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    sdx_error error = {0};
    sdx_model *model = NULL;
    sdx_program *program = NULL;
    sdx_context *context = NULL;
    sdx_image_preset preset = {.struct_size = sizeof preset};
    sdx_tensor image = {0};
    size_t size = 0, input = 0;
    char *bytes = argc > 2 ? read_file(argv[2], &size) : NULL;
    int code = 1;
    if (argc < 2 || argc > 4 || (argc > 2 && !bytes)) {
        fprintf(stderr, "usage: %s MODEL.onnx [IMAGE [PRESET]]\n", argv[0]);
        free(bytes);
        return 2;
    }
    if (sdx_model_load_file(argv[1], NULL, &model, &error) ||
        sdx_image_preset_set(&preset, argc > 3 ? argv[3] : "torchvision", &error) ||
        sdx_image_preset_fit(&preset, model, &input, &image, &error) ||
        !(image.data = calloc(image.count, sdx_dtype_size(image.dtype))) ||
        (bytes && sdx_image_to_tensor(&preset, bytes, size, NULL, NULL, &image, &error)) ||
        sdx_program_create(model, NULL, &program, &error) ||
        sdx_context_create(program, NULL, &context, &error) ||
        sdx_context_set_input(context, input, &image, &error) ||
        sdx_context_run(context, &error)) {
        fprintf(stderr, "%s\n", error.message);
    } else {
        const sdx_tensor *scores = sdx_context_output(context, 0);
        size_t best = 0;
        for (size_t i = 1; i < scores->count; i++)
            if (sdx_element_as_double(scores, i) > sdx_element_as_double(scores, best)) best = i;
        printf("class %zu, score %.3f\n", best, sdx_element_as_double(scores, best));
        code = 0;
    }
    sdx_context_release(context);
    sdx_program_release(program);
    sdx_model_release(model);
    free(image.data);
    free(bytes);
    return code;
}
