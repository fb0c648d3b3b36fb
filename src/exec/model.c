/* model.c - loading: bytes from a file, memory or a reader -> onnx/ -> operators -> shapes. */
#include "exec/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/parts.h"
#include "exec/stored.h"
#include "kernels/kernels.h"
#include "onnx/loader.h"
#include "ops/resolve.h"
#include "passes/gradient.h"

static sdx_status read_options(const sdx_load_options *given, sdx_load_options *out,
                               sdx_error *error) {
    memset(out, 0, sizeof *out);
    if (!given) return SDX_STATUS_OK;
    if (given->struct_size < sizeof(size_t) + sizeof(uint32_t))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "sdx_load_options.struct_size is %zu", given->struct_size);
    size_t size = given->struct_size < sizeof *out ? given->struct_size : sizeof *out;
    memcpy(out, given, size);
    return SDX_STATUS_OK;
}

static sdx_status create(const sdx_load_options *options, sdx_model **out, sdx_error *error) {
    if (!sdx_kernels_get())
        return sdx_fail(error, SDX_STATUS_UNSUPPORTED,
                        "this library was built for " SDX_SETS ", which this machine does not run");
    const sdx_allocator *allocator =
        options->allocator ? options->allocator : &sdx_default_allocator;
    sdx_model *model = sdx_alloc(allocator, sizeof *model, _Alignof(max_align_t));
    if (!model) return sdx_fail_memory(error, sizeof *model, "the model");
    memset(model, 0, sizeof *model);
    model->own_allocator = *allocator;
    sdx_budget_init(&model->budget, &model->own_allocator,
                    sdx_limits_over(NULL, options->limits).max_memory);
    model->allocator = &model->budget.allocator;
    if (options->log) model->log = *options->log;
    *out = model;
    return SDX_STATUS_OK;
}

static sdx_status first_problem(const sdx_module *module, sdx_error *error) {
    const sdx_error *problem = module->problems.data;
    if (error) *error = *problem;
    return problem->code;
}

/* Everything after the bytes are there. */
static sdx_status build(sdx_model *model, sdx_span bytes, const sdx_load_options *options,
                        const char *root, sdx_error *error) {
    bool copy = (options->flags & SDX_LOAD_COPY) != 0;
    SDX_TRY(sdx_module_create(model->allocator, options->limits,
                              model->log.write ? &model->log : NULL, &model->module, error));
    if (sdx_is_packed(bytes.data, bytes.size)) {
        SDX_TRY(SDX_NEED(packed_files, error));
        bool verify = (options->flags & SDX_LOAD_VERIFY) != 0;
        SDX_TRY(sdx_packed_load(model, bytes.data, bytes.size, verify, error));
        model->file_bytes = bytes.size;
    } else {
        SDX_TRY(SDX_NEED(onnx_files, error));
        sdx_file_read_once(&model->file);
        SDX_TRY(sdx_external_create(model->allocator, root, copy, &model->external, error));
        SDX_TRY(sdx_onnx_load(bytes, model->external, model->module, error));
        model->file_bytes = bytes.size + sdx_external_bytes(model->external);
    }
    SDX_TRY(sdx_model_find_symbols(model, error));
    SDX_TRY(sdx_resolve_ops(model->module, error));
    bool keep = (options->flags & SDX_LOAD_KEEP_UNSUPPORTED) != 0;
    if (!keep && model->module->problems.count) return first_problem(model->module, error);
    sdx_status status = sdx_infer_module(model->module, error);
#if !SDX_WITHOUT_GRADIENT /* in a build for certain models: none of them has one */
    if (status == SDX_STATUS_OK && !model->stored)
        status = sdx_expand_gradients(model->module, error);
#endif
    /* A problem comes before what followed from it. */
    if (!keep && model->module->problems.count) return first_problem(model->module, error);
    if (status == SDX_STATUS_OK && sdx_expr_out_of_memory(model->module->pool))
        return sdx_fail_memory(error, 0, "the model's shapes");
    return status;
}

/* Messages about a file begin with its name. */
static void prefix_path(sdx_error *error, const char *path) {
    size_t size = strlen(path);
    if (!error || (strncmp(error->message, path, size) == 0 && error->message[size] == ':')) return;
    sdx_error copy = *error;
    sdx_error_clear(error);
    sdx_fail_at(error, copy.code, copy.position, "%.300s: %s", path, copy.message);
    memcpy(error->node, copy.node, sizeof copy.node);
    memcpy(error->op, copy.op, sizeof copy.op);
}

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

sdx_status sdx_model_load_file(const char *path, const sdx_load_options *options, sdx_model **out,
                               sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!path || !out)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_model_load_file: NULL given");
    *out = NULL;
    sdx_load_options checked;
    SDX_TRY(read_options(options, &checked, error));
    sdx_model *model = NULL;
    SDX_TRY(create(&checked, &model, error));
    char *folder = checked.external_root ? NULL : folder_of(path);
    bool copy = (checked.flags & SDX_LOAD_COPY) != 0;
    sdx_status status = folder || checked.external_root
                            ? sdx_file_open(path, copy, model->allocator, &model->file, error)
                            : sdx_fail_memory(error, strlen(path), "the model's folder");
    if (status == SDX_STATUS_OK)
        status = build(model, (sdx_span){model->file.data, model->file.size}, &checked,
                       checked.external_root ? checked.external_root : folder, error);
    free(folder);
    status = sdx_budget_explain(&model->budget, status, error);
    if (status != SDX_STATUS_OK) {
        prefix_path(error, path);
        sdx_model_release(model);
        return status;
    }
    *out = model;
    return SDX_STATUS_OK;
}

sdx_status sdx_model_load_memory(const void *bytes, size_t size, const sdx_load_options *options,
                                 sdx_model **out, sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!out || (!bytes && size))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_model_load_memory: NULL given");
    *out = NULL;
    sdx_load_options checked;
    SDX_TRY(read_options(options, &checked, error));
    sdx_model *model = NULL;
    SDX_TRY(create(&checked, &model, error));
    sdx_status status =
        build(model, (sdx_span){bytes, size}, &checked, checked.external_root, error);
    status = sdx_budget_explain(&model->budget, status, error);
    if (status != SDX_STATUS_OK) sdx_model_release(model);
    else *out = model;
    return status;
}

sdx_status sdx_model_load_reader(const sdx_reader *reader, const sdx_load_options *options,
                                 sdx_model **out, sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!reader || !reader->read || !out)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_model_load_reader: NULL given");
    *out = NULL;
    sdx_load_options checked;
    SDX_TRY(read_options(options, &checked, error));
    const uint64_t most = sdx_limits_over(NULL, checked.limits).max_memory;
    if (reader->size > SIZE_MAX / 2 || (most && reader->size > most))
        return sdx_fail(error, SDX_STATUS_LIMIT, "the model has %llu bytes, more than may be held",
                        (unsigned long long)reader->size);
    sdx_model *model = NULL;
    SDX_TRY(create(&checked, &model, error));
    size_t size = (size_t)reader->size;
    uint8_t *bytes = sdx_alloc(model->allocator, size, SDX_CACHE_LINE);
    sdx_status status = SDX_STATUS_OK;
    if (!bytes) status = sdx_fail_memory(error, size, "the model");
    else model->file = (sdx_file){.data = bytes, .size = size, .allocator = model->allocator};
    if (bytes && size && !reader->read(reader->user, 0, bytes, size))
        status = sdx_fail(error, SDX_STATUS_IO, "the reader could not give %zu bytes", size);
    if (status == SDX_STATUS_OK)
        status = build(model, (sdx_span){bytes, size}, &checked, checked.external_root, error);
    status = sdx_budget_explain(&model->budget, status, error);
    if (status != SDX_STATUS_OK) sdx_model_release(model);
    else *out = model;
    return status;
}

void sdx_model_release(sdx_model *model) {
    if (!model) return;
    sdx_module_release(model->module);
    sdx_external_release(model->external);
    sdx_file_close(&model->file);
    sdx_allocator allocator = model->own_allocator;
    sdx_free(&allocator, model, sizeof *model);
}
