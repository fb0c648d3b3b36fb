/* model.c - ModelProto: header, opsets, metadata, functions, then the main graph. The entry of
 * onnx/: bytes in, module out. */
#include <string.h>

#include "onnx/loader.h"

enum { MODEL_IR_VERSION = 1, MODEL_PRODUCER_NAME = 2, MODEL_PRODUCER_VERSION = 3,
       MODEL_DOMAIN = 4, MODEL_VERSION = 5, MODEL_DOC = 6, MODEL_GRAPH = 7,
       MODEL_OPSET_IMPORT = 8, MODEL_METADATA = 14 };

static const char *shown(const char *domain) { return domain[0] ? domain : "ai.onnx"; }

sdx_status sdx_alloc_opsets(sdx_loader *loader, size_t count, sdx_opset **out) {
    if (count > SDX_MOST_OPSETS)
        return sdx_bad(loader, SDX_NO_POSITION, "%zu operator sets are imported; at most %d are "
                                                "allowed",
                       count, SDX_MOST_OPSETS);
    *out = sdx_arena_array(&loader->module->arena, count + 1, sizeof **out);
    return *out ? SDX_STATUS_OK : sdx_load_no_memory(loader);
}

sdx_status sdx_load_opset(sdx_loader *loader, sdx_pb_reader in, sdx_opset *list, size_t *count) {
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    sdx_span domain = {0};
    sdx_opset *opset = &list[*count];
    uint64_t position = sdx_pb_position(&in);
    opset->version = 0;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number == 1) SDX_TRY(sdx_pb_string(&field, "domain", &domain, loader->error));
        if (field.number == 2)
            SDX_TRY(sdx_pb_int64(&field, "version", &opset->version, loader->error));
    }
    SDX_TRY(status);
    if (domain.size == 7 && memcmp(domain.data, "ai.onnx", 7) == 0) domain.size = 0;
    SDX_TRY(sdx_load_text(loader, domain, &opset->domain));
    if (opset->version < 1)
        return sdx_bad(loader, position, "opset import of domain '%s' has version %lld",
                       shown(opset->domain), (long long)opset->version);
    for (size_t i = 0; i < *count; i++)
        if (strcmp(list[i].domain, opset->domain) == 0 && list[i].version != opset->version)
            return sdx_bad(loader, position, "domain '%s' is imported in versions %lld and %lld",
                           shown(opset->domain), (long long)list[i].version,
                           (long long)opset->version);
    ++*count;
    return SDX_STATUS_OK;
}

static sdx_status read_property(sdx_loader *loader, sdx_pb_reader in, sdx_property *out) {
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    sdx_span key = {0}, value = {0};
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number == 1) SDX_TRY(sdx_pb_string(&field, "key", &key, loader->error));
        if (field.number == 2) SDX_TRY(sdx_pb_string(&field, "value", &value, loader->error));
    }
    SDX_TRY(status);
    SDX_TRY(sdx_load_text(loader, key, &out->key));
    return sdx_load_text(loader, value, &out->value);
}

static sdx_status read_text_field(sdx_loader *loader, const sdx_pb_field *field, const char *name,
                                  const char **out) {
    sdx_span text;
    SDX_TRY(sdx_pb_string(field, name, &text, loader->error));
    return sdx_load_text(loader, text, out);
}

static sdx_status read_header_field(sdx_loader *loader, const sdx_pb_reader *in,
                                    const sdx_pb_field *field) {
    sdx_module *module = loader->module;
    sdx_error *error = loader->error;
    sdx_pb_reader inner;
    switch (field->number) {
    case MODEL_IR_VERSION: return sdx_pb_int64(field, "ir_version", &module->ir_version, error);
    case MODEL_VERSION: return sdx_pb_int64(field, "model_version", &module->model_version, error);
    case MODEL_PRODUCER_NAME:
        return read_text_field(loader, field, "producer_name", &module->producer_name);
    case MODEL_PRODUCER_VERSION:
        return read_text_field(loader, field, "producer_version", &module->producer_version);
    case MODEL_DOMAIN: return read_text_field(loader, field, "domain", &module->domain);
    case MODEL_DOC: return read_text_field(loader, field, "doc_string", &module->doc);
    case MODEL_OPSET_IMPORT:
        SDX_TRY(sdx_pb_expect(field, SDX_WIRE_BYTES, "opset_import", error));
        SDX_TRY(sdx_pb_enter(in, field, &inner, error));
        return sdx_load_opset(loader, inner, module->opsets, &module->opset_count);
    case MODEL_METADATA:
        SDX_TRY(sdx_pb_expect(field, SDX_WIRE_BYTES, "metadata_props", error));
        SDX_TRY(sdx_pb_enter(in, field, &inner, error));
        return read_property(loader, inner, &module->metadata[module->metadata_count++]);
    default: return SDX_STATUS_OK;
    }
}

static sdx_status read_header(sdx_loader *loader, const sdx_pb_reader *in,
                              const sdx_fields *fields) {
    sdx_module *module = loader->module;
    size_t opsets = 0, properties = 0;
    for (size_t i = 0; i < fields->count; i++) {
        opsets += fields->items[i].number == MODEL_OPSET_IMPORT;
        properties += fields->items[i].number == MODEL_METADATA;
    }
    module->producer_name = module->producer_version = module->domain = module->doc = "";
    SDX_TRY(sdx_alloc_opsets(loader, opsets, &module->opsets));
    module->metadata = sdx_arena_array(&module->arena, properties + 1, sizeof(sdx_property));
    if (!module->metadata) return sdx_load_no_memory(loader);
    for (size_t i = 0; i < fields->count; i++)
        SDX_TRY(read_header_field(loader, in, &fields->items[i]));
    if (module->ir_version < SDX_IR_OLDEST)
        return sdx_fail(loader->error,
                        module->ir_version > 0 ? SDX_STATUS_UNSUPPORTED : SDX_STATUS_BAD_MODEL,
                        module->ir_version > 0
                            ? "the model has IR version %lld; supported are %d and later"
                            : "not an ONNX model: it has no IR version (%lld; %d or later is "
                              "expected)",
                        (long long)module->ir_version, SDX_IR_OLDEST);
    if (module->ir_version > SDX_IR_NEWEST && module->log)
        module->log->write(module->log->user, SDX_LOG_WARNING,
                           "the model's IR version is newer than this library");
    if (module->opset_count == 0)
        return sdx_bad(loader, 0, "the model imports no operator set (opset_import is missing)");
    return SDX_STATUS_OK;
}

static sdx_status load(sdx_loader *loader, const sdx_pb_reader *in, const sdx_fields *fields) {
    SDX_TRY(read_header(loader, in, fields));
    SDX_TRY(sdx_load_functions(loader, fields->items, fields->count, in));
    const sdx_pb_field *graph_field = NULL;
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->items[i].number != MODEL_GRAPH) continue;
        if (graph_field) return sdx_bad(loader, fields->items[i].position, "the model has two graphs");
        graph_field = &fields->items[i];
    }
    if (!graph_field) return sdx_bad(loader, 0, "the model has no graph");
    sdx_pb_reader graph;
    SDX_TRY(sdx_pb_expect(graph_field, SDX_WIRE_BYTES, "graph", loader->error));
    SDX_TRY(sdx_pb_enter(in, graph_field, &graph, loader->error));
    SDX_TRY(sdx_check_expansion(loader, &graph));
    sdx_scope outermost = {.opsets = loader->module->opsets,
                           .opset_count = loader->module->opset_count};
    sdx_id id;
    return sdx_load_graph(loader, &graph, NULL, &outermost, SDX_NONE, &id);
}

/* A subgraph sits three messages deep in the one around it: node, attribute, graph. */
uint32_t sdx_message_depth(const sdx_loader *loader) {
    uint32_t depth = loader->module->limits.max_depth;
    return depth > UINT32_MAX / 8 ? UINT32_MAX : depth * 3 + 16;
}

sdx_status sdx_onnx_load(sdx_span file, sdx_external *external, sdx_module *module,
                         sdx_error *error) {
    sdx_loader loader = {.module = module, .file = file, .error = error, .external = external};
    if (file.size == 0) return sdx_fail(error, SDX_STATUS_BAD_MODEL, "the file is empty");
    sdx_map_init(&loader.function_index, module->allocator);
    sdx_pb_reader in = sdx_pb_open(file, file.data, sdx_message_depth(&loader));
    sdx_fields fields;
    sdx_status status = sdx_fields_read(&loader, in, &fields);
    if (status == SDX_STATUS_OK) status = load(&loader, &in, &fields);
    sdx_fields_free(&loader, &fields);
    sdx_map_free(&loader.function_index);
    return status;
}
