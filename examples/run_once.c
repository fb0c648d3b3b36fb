/* run_once.c - runs a model once on zeros, with as little of the library as that takes: what a program on a small
 * machine links (docs/small-targets.md has its size).
 *
 * usage: run_once MODEL
 * Exit codes: 0 done, 1 it could not be done. */
#include <stdio.h>
#include <stdlib.h>

#include "sardonyx.h"

#define MOST_INPUTS 8

/* Zeros for each input; sizes that are open are 1. The caller frees the data. */
static bool set_inputs(const sdx_model *model, sdx_context *context, void *data[MOST_INPUTS],
                       sdx_error *error) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(model, &info);
    for (size_t i = 0; i < info.input_count && i < MOST_INPUTS; i++) {
        sdx_value_info value = {.struct_size = sizeof value};
        sdx_tensor tensor;
        sdx_model_get_value(model, sdx_model_input(model, i), &value);
        for (int32_t d = 0; d < value.rank; d++)
            if (value.dims[d] < 0) value.dims[d] = 1;
        if (sdx_tensor_init(&tensor, value.dtype, value.rank, value.dims, NULL, error) !=
            SDX_STATUS_OK)
            return false;
        tensor.data = data[i] = calloc(tensor.count, sdx_dtype_size(value.dtype));
        if (sdx_context_set_input(context, i, &tensor, error) != SDX_STATUS_OK) return false;
    }
    return true;
}

int main(int argc, char **argv) {
    sdx_error error = {.message = "usage: run_once MODEL"};
    sdx_model *model = NULL;
    sdx_program *program = NULL;
    sdx_context *context = NULL;
    void *data[MOST_INPUTS] = {0};
    sdx_program_options options = {.struct_size = sizeof options, .optimize = 3};
    bool done = argc == 2 &&
                sdx_model_load_file(argv[1], NULL, &model, &error) == SDX_STATUS_OK &&
                sdx_program_create(model, &options, &program, &error) == SDX_STATUS_OK &&
                sdx_context_create(program, NULL, &context, &error) == SDX_STATUS_OK &&
                set_inputs(model, context, data, &error) &&
                sdx_context_run(context, &error) == SDX_STATUS_OK;
    if (done) printf("%g\n", sdx_element_as_double(sdx_context_output(context, 0), 0));
    else fprintf(stderr, "%s\n", error.message);
    sdx_context_release(context);
    sdx_program_release(program);
    sdx_model_release(model);
    for (size_t i = 0; i < MOST_INPUTS; i++) free(data[i]);
    return done ? 0 : 1;
}
