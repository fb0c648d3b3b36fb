/* model.c - a model from bytes to results, as a program does that trusts nobody: with limits on
 * memory and time, all texts asked for, run at two levels of optimisation and with two choices of
 * sizes. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define INPUT_BYTES ((size_t)1 << 20) /* that the caller is willing to supply for one input */

static const sdx_limits limits = {.struct_size = sizeof limits,
                                  .max_memory = FUZZ_MEMORY,
                                  .max_nodes = 20000,
                                  .max_time_ms = 500,
                                  .max_pixels = 1 << 20};

/* ---- what the model says of itself -------------------------------------------------------------
 */

static void touch_text(const char *text) {
    if (text) fuzz_touch(text, strlen(text));
}

static void describe_values(const sdx_model *model, const sdx_model_info *about) {
    char text[200];
    for (size_t i = 0; i < about->value_count; i++) {
        sdx_value_info info = {.struct_size = sizeof info};
        FUZZ_CHECK(sdx_model_get_value(model, i, &info) == SDX_STATUS_OK);
        touch_text(info.name);
        FUZZ_CHECK(info.rank <= SDX_MAX_RANK);
        sdx_model_type_text(model, i, text, sizeof text);
        sdx_model_declared_text(model, i, text, sizeof text);
        for (int32_t d = 0; d < info.rank; d++) sdx_model_dim_text(model, i, d, text, sizeof text);
        sdx_tensor tensor;
        if (info.data && info.kind == SDX_KIND_TENSOR && info.dtype != SDX_DTYPE_STRING &&
            sdx_tensor_init(&tensor, info.dtype, info.rank, info.dims, NULL, NULL) == SDX_STATUS_OK)
            fuzz_touch(info.data, tensor.count * sdx_dtype_size(info.dtype));
    }
}

static void describe(const sdx_model *model, sdx_model_info *about) {
    char text[200];
    *about = (sdx_model_info){.struct_size = sizeof *about};
    sdx_model_get_info(model, about);
    touch_text(about->producer_name);
    touch_text(about->graph_name);
    touch_text(about->doc);
    const char *key, *value;
    int64_t version;
    for (size_t i = 0; i < about->opset_count; i++) {
        FUZZ_CHECK(sdx_model_opset(model, i, &key, &version) == SDX_STATUS_OK);
        touch_text(key);
    }
    for (size_t i = 0; i < about->metadata_count; i++) {
        FUZZ_CHECK(sdx_model_metadata(model, i, &key, &value) == SDX_STATUS_OK);
        touch_text(key);
        touch_text(value);
    }
    for (size_t i = 0; i < about->problem_count; i++)
        touch_text(sdx_model_problem(model, i)->message);
    for (size_t i = 0; i < about->symbol_count; i++) touch_text(sdx_model_symbol(model, i));
    for (size_t i = 0; i < about->node_count; i++) {
        sdx_node_info info = {.struct_size = sizeof info};
        FUZZ_CHECK(sdx_model_get_node(model, i, &info) == SDX_STATUS_OK);
        touch_text(info.name);
        touch_text(info.op);
        for (size_t k = 0; k < info.input_count; k++)
            FUZZ_CHECK(info.inputs[k] == SDX_NO_INDEX || info.inputs[k] < about->value_count);
        for (size_t k = 0; k < info.output_count; k++)
            FUZZ_CHECK(info.outputs[k] == SDX_NO_INDEX || info.outputs[k] < about->value_count);
        for (size_t k = 0; k < info.attribute_count; k++)
            sdx_model_attribute_text(model, i, k, text, sizeof text);
    }
    describe_values(model, about);
}

/* ---- inputs
 * ---------------------------------------------------------------------------------------- */

/* Small numbers of either sign, whatever the type; halves and smaller floats get some of their
 * bits. */
static void fill(sdx_tensor *tensor) {
    size_t size = sdx_dtype_size(tensor->dtype);
    fuzz_random random = {tensor->count};
    for (size_t i = 0; i < tensor->count; i++) {
        uint8_t *at = (uint8_t *)tensor->data + i * size;
        int64_t number = (int64_t)fuzz_below(&random, 6) - 1;
        double wide = (double)number + 0.25;
        float single = (float)wide;
        switch (tensor->dtype) {
        case SDX_DTYPE_FLOAT32: memcpy(at, &single, size); break;
        case SDX_DTYPE_FLOAT64: memcpy(at, &wide, size); break;
        case SDX_DTYPE_STRING:
            *(sdx_string *)(void *)at = (sdx_string){"a b", (size_t)number & 3};
            break;
        case SDX_DTYPE_COMPLEX64:
        case SDX_DTYPE_COMPLEX128: memset(at, 0, size); break;
        case SDX_DTYPE_FLOAT16:
        case SDX_DTYPE_BFLOAT16: memcpy(at, &(uint16_t){(uint16_t)(0x3c00 + number)}, size); break;
        case SDX_DTYPE_BOOL: *at = (uint8_t)(number & 1); break;
        case SDX_DTYPE_INT8:
        case SDX_DTYPE_INT16:
        case SDX_DTYPE_INT32:
        case SDX_DTYPE_INT64: memcpy(at, &number, size); break;
        case SDX_DTYPE_UINT16:
        case SDX_DTYPE_UINT32:
        case SDX_DTYPE_UINT64: memcpy(at, &(uint64_t){(uint64_t)number & 7}, size); break;
        default: *at = (uint8_t)(number & 1); break; /* of less than a byte, or 8 bits */
        }
    }
}

static sdx_value *make_tensor(sdx_dtype dtype, int32_t rank, const int64_t *dims) {
    sdx_tensor tensor;
    sdx_value *value = NULL;
    if (sdx_tensor_init(&tensor, dtype, rank, dims, NULL, NULL) != SDX_STATUS_OK) return NULL;
    if (tensor.count > INPUT_BYTES / sdx_dtype_size(dtype)) return NULL;
    tensor.data = calloc(tensor.count + 1, sdx_dtype_size(dtype));
    FUZZ_CHECK(tensor.data);
    fill(&tensor);
    FUZZ_CHECK(sdx_value_new_tensor(NULL, &tensor, &value, NULL) == SDX_STATUS_OK);
    free(tensor.data);
    return value;
}

/* A value of the declared type, open sizes as the shapes have them; NULL: none that small. */
static sdx_value *make_input(const sdx_value_info *info, int32_t rank, int64_t *dims) {
    static const int64_t two[] = {2};
    sdx_dtype dtype = info->dtype ? info->dtype : SDX_DTYPE_FLOAT32;
    for (int32_t i = 0; i < rank; i++)
        if (dims[i] < 0) dims[i] = 1;
    sdx_value *made = rank < 0 ? make_tensor(dtype, 1, two) : make_tensor(dtype, rank, dims);
    if (!made || info->kind == SDX_KIND_TENSOR || info->kind == SDX_KIND_OPTIONAL) return made;
    sdx_value *parts[2] = {made, made}, *out = NULL;
    if (info->kind == SDX_KIND_SEQUENCE) sdx_value_new_sequence(NULL, parts, 2, &out, NULL);
    if (info->kind == SDX_KIND_MAP) {
        sdx_value *keys = make_tensor(SDX_DTYPE_INT64, 1, two),
                  *values = make_tensor(dtype, 1, two);
        sdx_value_new_map(NULL, keys, values, &out, NULL);
        sdx_value_release(keys);
        sdx_value_release(values);
    }
    sdx_value_release(made);
    return out;
}

static bool set_inputs(sdx_context *context, const sdx_model *model, const sdx_shapes *shapes) {
    sdx_model_info about = {.struct_size = sizeof about};
    sdx_model_get_info(model, &about);
    for (size_t i = 0; i < about.input_count; i++) {
        uint32_t index = sdx_model_input(model, i);
        sdx_value_info info = {.struct_size = sizeof info};
        sdx_model_get_value(model, index, &info);
        int32_t rank = info.rank;
        int64_t dims[SDX_MAX_RANK];
        memcpy(dims, info.dims, sizeof dims);
        if (shapes) sdx_shapes_get(shapes, index, &rank, dims);
        sdx_value *value = make_input(&info, rank, dims);
        if (!value) return false;
        sdx_error error = {0};
        sdx_status status = sdx_context_set_input_value(context, i, value, &error);
        fuzz_check_error(status, &error);
        sdx_value_release(value);
        if (status != SDX_STATUS_OK) return false;
    }
    return true;
}

/* ---- running
 * ------------------------------------------------------------------------------------- */

static void touch_value(const sdx_value *value, int depth) {
    if (!value || depth > 4) return;
    const sdx_tensor *tensor = sdx_value_tensor(value);
    if (tensor && tensor->dtype == SDX_DTYPE_STRING) {
        for (size_t i = 0; i < tensor->count; i++) {
            sdx_string text = ((const sdx_string *)tensor->data)[i];
            fuzz_touch(text.data, text.size);
        }
    } else if (tensor) {
        fuzz_touch(tensor->data, tensor->count * sdx_dtype_size(tensor->dtype));
    } else if (sdx_value_kind(value) == SDX_KIND_SEQUENCE) {
        for (size_t i = 0; i < sdx_value_count(value); i++)
            touch_value(sdx_value_item(value, i), depth + 1);
    } else if (sdx_value_kind(value) == SDX_KIND_MAP) {
        touch_value(sdx_value_map_keys(value), depth + 1);
        touch_value(sdx_value_map_values(value), depth + 1);
    }
}

/* All symbols bound to numbers near `size`. NULL where that contradicts the model. */
static sdx_shapes *bind(const sdx_model *model, size_t count, int64_t size) {
    sdx_binding *bindings = calloc(count + 1, sizeof *bindings);
    FUZZ_CHECK(bindings);
    for (size_t i = 0; i < count; i++)
        bindings[i] = (sdx_binding){sdx_model_symbol(model, i), size + (int64_t)(i % 2)};
    sdx_shapes *shapes = NULL;
    sdx_error error = {0};
    fuzz_check_error(sdx_shapes_create(model, bindings, count, &shapes, &error), &error);
    free(bindings);
    return shapes;
}

static void run(const sdx_program *program, const sdx_model *model, const sdx_model_info *about,
                int runs, bool apart) {
    fuzz_memory memory;
    fuzz_memory_init(&memory, FUZZ_MEMORY);
    sdx_context_options options = {.struct_size = sizeof options,
                                   .allocator = &memory.allocator,
                                   .limits = &limits,
                                   .threads = apart ? 2 : 1};
    sdx_context *context = NULL;
    sdx_error error = {0};
    sdx_status status = sdx_context_create(program, &options, &context, &error);
    fuzz_check_error(status, &error);
    for (int i = 0; context && i < runs; i++) {
        sdx_shapes *shapes = bind(model, about->symbol_count, 1 + (apart ? 3 : 2) * i);
        sdx_error_clear(&error);
        if (set_inputs(context, model, shapes)) {
            status = sdx_context_run(context, &error);
            fuzz_check_error(status, &error);
            for (size_t k = 0; status == SDX_STATUS_OK && k < about->output_count; k++)
                touch_value(sdx_context_output_value(context, k), 0);
        }
        sdx_shapes_release(shapes);
    }
    sdx_context_release(context);
    fuzz_memory_check(&memory);
}

static void describe_program(const sdx_program *program) {
    char text[200];
    for (size_t i = 0; i < sdx_program_node_count(program); i++) {
        sdx_program_node node = {.struct_size = sizeof node};
        FUZZ_CHECK(sdx_program_get_node(program, i, &node) == SDX_STATUS_OK);
        touch_text(node.name);
        for (size_t k = 0; k < node.attribute_count; k++)
            sdx_program_attribute_text(program, i, k, text, sizeof text);
        for (size_t k = 0; k < node.output_count; k++)
            if (node.outputs[k] != SDX_NO_INDEX)
                sdx_program_type_text(program, node.outputs[k], text, sizeof text);
    }
    for (size_t i = 0; i < sdx_program_buffer_count(program); i++) {
        sdx_program_buffer_text(program, i, SDX_BUFFER_SIZE, text, sizeof text);
        sdx_program_buffer_text(program, i, SDX_BUFFER_OFFSET, text, sizeof text);
    }
}

/* apart: batches go in slices, side by side where there are two threads. */
static void make_and_run(const sdx_model *model, const sdx_model_info *about, int optimize,
                         bool apart) {
    fuzz_memory memory;
    fuzz_memory_init(&memory, FUZZ_MEMORY);
    sdx_program_options options = {.struct_size = sizeof options,
                                   .allocator = &memory.allocator,
                                   .limits = &limits,
                                   .optimize = optimize,
                                   .threads = 1,
                                   .slice = apart ? 2 : 0,
                                   .memory = optimize ? SDX_MEMORY_DESCRIBE : 0};
    sdx_program *program = NULL;
    sdx_error error = {0};
    fuzz_check_error(sdx_program_create(model, &options, &program, &error), &error);
    if (program) {
        describe_program(program);
        run(program, model, about, optimize ? 2 : 1, apart);
    }
    sdx_program_release(program);
    fuzz_memory_check(&memory);
}

void fuzz_model(const uint8_t *data, size_t size) {
    fuzz_memory memory;
    fuzz_memory_init(&memory, FUZZ_MEMORY);
    sdx_load_options options = {.struct_size = sizeof options,
                                .flags = SDX_LOAD_KEEP_UNSUPPORTED,
                                .allocator = &memory.allocator,
                                .limits = &limits};
    sdx_model *model = NULL;
    sdx_error error = {0};
    fuzz_check_error(sdx_model_load_memory(data, size, &options, &model, &error), &error);
    if (model) {
        sdx_model_info about;
        describe(model, &about);
        sdx_packing_info packing;
        bool packed = sdx_model_get_packing(model, &packing) == SDX_STATUS_OK;
        make_and_run(model, &about, packed ? packing.optimize : 3, size % 2 != 0);
        if (!packed) make_and_run(model, &about, 0, false);
    }
    sdx_model_release(model);
    fuzz_memory_check(&memory);
}
