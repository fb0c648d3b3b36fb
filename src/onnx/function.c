/* function.c - model-local functions. A body is read again from its bytes for each call, with the
 * call's values and attributes in place of the formal ones, straight into the caller's graph. */
#include <string.h>

#include "onnx/loader.h"

enum { FN_NAME = 1, FN_INPUT = 4, FN_OUTPUT = 5, FN_ATTRIBUTE = 6, FN_NODE = 7,
       FN_OPSET_IMPORT = 9, FN_DOMAIN = 10, FN_ATTRIBUTE_PROTO = 11, FN_OVERLOAD = 13 };

static sdx_status make_key(sdx_loader *loader, sdx_span domain, sdx_span name, sdx_span overload,
                           char **key, size_t *size) {
    if (domain.size == 7 && memcmp(domain.data, "ai.onnx", 7) == 0) domain.size = 0;
    *size = domain.size + name.size + overload.size + 2;
    char *text = sdx_arena_alloc(&loader->module->arena, *size + 1);
    if (!text) return sdx_load_no_memory(loader);
    char *at = text;
    const sdx_span parts[3] = {domain, name, overload};
    for (int i = 0; i < 3; i++) {
        if (parts[i].size) memcpy(at, parts[i].data, parts[i].size);
        at += parts[i].size + 1; /* separated by the NUL that the arena left */
    }
    *key = text;
    return SDX_STATUS_OK;
}

static sdx_status read_header(sdx_loader *loader, sdx_pb_reader in, sdx_function *function) {
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    sdx_error *error = loader->error;
    size_t opsets = 0;
    sdx_pb_reader again = in;
    while (sdx_pb_next(&in, &field, &status, error)) {
        if (field.number == FN_NAME)
            SDX_TRY(sdx_pb_string(&field, "name", &function->name, error));
        if (field.number == FN_DOMAIN)
            SDX_TRY(sdx_pb_string(&field, "domain", &function->domain, error));
        if (field.number == FN_OVERLOAD)
            SDX_TRY(sdx_pb_string(&field, "overload", &function->overload, error));
        if (field.number == FN_OPSET_IMPORT) opsets++;
    }
    SDX_TRY(status);
    if (function->name.size == 0)
        return sdx_bad(loader, function->position, "a function has no name");
    SDX_TRY(sdx_alloc_opsets(loader, opsets, &function->opsets));
    while (sdx_pb_next(&again, &field, &status, error)) {
        if (field.number != FN_OPSET_IMPORT) continue;
        sdx_pb_reader inner;
        SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "opset_import", error));
        SDX_TRY(sdx_pb_enter(&again, &field, &inner, error));
        SDX_TRY(sdx_load_opset(loader, inner, function->opsets, &function->opset_count));
    }
    for (size_t i = 0; i < function->opset_count; i++)
        if (strcmp(function->opsets[i].domain, SDX_DOMAIN_TRAINING) == 0)
            function->own_inputs = true;
    return status;
}

sdx_status sdx_load_functions(sdx_loader *loader, const sdx_pb_field *fields, size_t count,
                              const sdx_pb_reader *model) {
    size_t functions = 0;
    for (size_t i = 0; i < count; i++) functions += fields[i].number == 25;
    if (!functions) return SDX_STATUS_OK;
    SDX_TRY(SDX_NEED(functions, loader->error));
    loader->functions = sdx_arena_array(&loader->module->arena, functions, sizeof(sdx_function));
    if (!loader->functions) return sdx_load_no_memory(loader);
    for (size_t i = 0; i < count; i++) {
        if (fields[i].number != 25) continue;
        sdx_pb_reader in;
        SDX_TRY(sdx_pb_expect(&fields[i], SDX_WIRE_BYTES, "functions", loader->error));
        SDX_TRY(sdx_pb_enter(model, &fields[i], &in, loader->error));
        sdx_function *function = &loader->functions[loader->function_count];
        function->body = fields[i].bytes;
        function->position = fields[i].position;
        SDX_TRY(read_header(loader, in, function));
        char *key = NULL;
        size_t size;
        SDX_TRY(make_key(loader, function->domain, function->name, function->overload, &key,
                         &size));
        if (sdx_map_get(&loader->function_index, key, size) != SDX_MAP_NONE)
            return sdx_bad(loader, function->position, "function '%.*s' is defined twice",
                           (int)function->name.size, (const char *)function->name.data);
        if (!sdx_map_put(&loader->function_index, key, size, (uint32_t)loader->function_count++))
            return sdx_load_no_memory(loader);
    }
    loader->module->function_count = loader->function_count;
    return SDX_STATUS_OK;
}

sdx_function *sdx_find_function(const sdx_loader *loader, sdx_span domain, sdx_span name,
                                sdx_span overload) {
    if (!SDX_HAS(functions) || loader->function_count == 0) return NULL;
    if (domain.size == 7 && memcmp(domain.data, "ai.onnx", 7) == 0) domain.size = 0;
    char buffer[3 * SDX_MOST_OP_NAME + 2];
    size_t size = domain.size + name.size + overload.size + 2;
    if (size > sizeof buffer) return NULL;
    memset(buffer, 0, sizeof buffer);
    if (domain.size) memcpy(buffer, domain.data, domain.size);
    memcpy(buffer + domain.size + 1, name.data, name.size);
    if (overload.size)
        memcpy(buffer + domain.size + name.size + 2, overload.data, overload.size);
    uint32_t index = sdx_map_get(&loader->function_index, buffer, size);
    return index == SDX_MAP_NONE ? NULL : &loader->functions[index];
}

/* The call's attributes, then the function's defaults for those not given. */
static sdx_status gather_attrs(sdx_loader *loader, const sdx_fields *fields,
                               const sdx_pb_reader *body, const sdx_node *call,
                               sdx_call_site *site) {
    size_t defaults = 0;
    for (size_t i = 0; i < fields->count; i++)
        defaults += fields->items[i].number == FN_ATTRIBUTE_PROTO;
    if (defaults > SDX_MOST_ATTRS)
        return sdx_bad(loader, call->position, "the function has %zu default attributes; at most "
                                               "%d are allowed",
                       defaults, SDX_MOST_ATTRS);
    sdx_attr *attrs = sdx_arena_array(&loader->module->arena, call->attr_count + defaults + 1,
                                      sizeof *attrs);
    if (!attrs) return sdx_load_no_memory(loader);
    if (call->attr_count) memcpy(attrs, call->attrs, call->attr_count * sizeof *attrs);
    site->attr_count = call->attr_count;
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->items[i].number != FN_ATTRIBUTE_PROTO) continue;
        sdx_pb_reader inner;
        bool present;
        SDX_TRY(sdx_pb_expect(&fields->items[i], SDX_WIRE_BYTES, "attribute_proto",
                              loader->error));
        SDX_TRY(sdx_pb_enter(body, &fields->items[i], &inner, loader->error));
        SDX_TRY(sdx_load_attr(loader, inner, NULL, SDX_NONE, &attrs[site->attr_count],
                              &present));
        for (uint32_t k = 0; k < call->attr_count; k++)
            if (strcmp(attrs[k].name, attrs[site->attr_count].name) == 0) present = false;
        if (present) site->attr_count++;
    }
    site->attrs = attrs;
    return SDX_STATUS_OK;
}

/* A copy `from` -> `to`, for a formal output that the body does not itself produce freshly, or a
 * formal input that must not be the caller's value. */
static sdx_status add_identity(sdx_loader *loader, sdx_scope *scope, const sdx_node *call,
                               sdx_id from, sdx_id to) {
    sdx_arena *arena = &loader->module->arena;
    sdx_id id = sdx_module_add_node(loader->module);
    sdx_id *edges = sdx_arena_array(arena, 2, sizeof *edges);
    sdx_id *slot = sdx_vector_push(scope->nodes, loader->module->allocator, sizeof *slot);
    if (id == SDX_NONE || !edges || !slot) return sdx_load_no_memory(loader);
    *slot = id;
    edges[0] = from;
    edges[1] = to;
    sdx_node *node = sdx_node_at(loader->module, id);
    *node = (sdx_node){.name = call->name, .op_type = "Identity", .domain = "", .overload = "",
                       .version = 16, .graph = scope->graph, .input_count = 1,
                       .output_count = 1, .inputs = edges, .outputs = edges + 1,
                       .position = call->position};
    sdx_value_def *value = sdx_value_at(loader->module, to);
    value->producer = id;
    value->output_index = 0;
    return SDX_STATUS_OK;
}

/* A value of the function's own for what the call hands in. */
static sdx_status copy_input(sdx_loader *loader, sdx_scope *scope, const sdx_node *call,
                             sdx_span name, sdx_id *value) {
    const sdx_const *constant = sdx_value_at(loader->module, *value)->constant;
    const char *text = sdx_call_name(loader, scope, name);
    sdx_id copy = text ? sdx_module_add_value(loader->module, text, scope->graph) : SDX_NONE;
    if (copy == SDX_NONE) return sdx_load_no_memory(loader);
    sdx_value_at(loader->module, copy)->constant = constant;
    if (!constant) SDX_TRY(add_identity(loader, scope, call, *value, copy));
    *value = copy;
    return SDX_STATUS_OK;
}

/* Formal inputs name the call's values. */
static sdx_status bind_inputs(sdx_loader *loader, const sdx_fields *fields, const sdx_node *call,
                              sdx_scope *scope) {
    uint32_t count = 0;
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->items[i].number != FN_INPUT) continue;
        sdx_span name;
        SDX_TRY(sdx_pb_string(&fields->items[i], "input", &name, loader->error));
        sdx_id value = count < call->input_count ? call->inputs[count] : SDX_NONE;
        count++;
        if (sdx_map_get(&scope->names, (const char *)name.data, name.size) != SDX_MAP_NONE)
            return sdx_bad(loader, fields->items[i].position,
                           "function input '%.*s' is defined twice", (int)name.size,
                           (const char *)name.data);
        if (value != SDX_NONE && scope->call->function->own_inputs)
            SDX_TRY(copy_input(loader, scope, call, name, &value));
        if (!sdx_map_put(&scope->names, (const char *)name.data, name.size,
                         value == SDX_NONE ? SDX_ABSENT : value))
            return sdx_load_no_memory(loader);
    }
    if (call->input_count > count)
        return sdx_bad(loader, call->position, "the call gives %u inputs, the function takes %u",
                       call->input_count, count);
    return SDX_STATUS_OK;
}

/* Formal outputs take the call's values where the body defines them. */
static sdx_status bind_outputs(sdx_loader *loader, const sdx_fields *fields, const sdx_node *call,
                               sdx_scope *scope) {
    uint32_t count = 0;
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->items[i].number != FN_OUTPUT) continue;
        sdx_span name;
        SDX_TRY(sdx_pb_string(&fields->items[i], "output", &name, loader->error));
        sdx_id target = count < call->output_count ? call->outputs[count] : SDX_NONE;
        count++;
        if (target == SDX_NONE) continue;
        sdx_id source;
        SDX_TRY(sdx_resolve(loader, scope, name, fields->items[i].position, &source));
        if (source == SDX_NONE)
            return sdx_bad(loader, call->position, "function output '%.*s' is an input that the "
                                                   "call leaves out",
                           (int)name.size, (const char *)name.data);
        SDX_TRY(add_identity(loader, scope, call, source, target));
    }
    if (call->output_count > count)
        return sdx_bad(loader, call->position, "the call wants %u outputs, the function has %u",
                       call->output_count, count);
    return SDX_STATUS_OK;
}

static sdx_status read_body(sdx_loader *loader, const sdx_fields *fields,
                            const sdx_pb_reader *body, sdx_scope *scope) {
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < fields->count; i++) {
            if (fields->items[i].number != FN_NODE) continue;
            sdx_pb_reader inner;
            SDX_TRY(sdx_pb_expect(&fields->items[i], SDX_WIRE_BYTES, "node", loader->error));
            SDX_TRY(sdx_pb_enter(body, &fields->items[i], &inner, loader->error));
            SDX_TRY(pass == 0 ? sdx_declare_outputs(loader, inner, scope)
                              : sdx_load_node(loader, inner, scope));
        }
    return SDX_STATUS_OK;
}

sdx_status sdx_inline_call(sdx_loader *loader, sdx_function *function, const sdx_node *call,
                           sdx_scope *scope) {
    if (function->active)
        return sdx_bad(loader, call->position, "function '%.*s' calls itself",
                       (int)function->name.size, (const char *)function->name.data);
    sdx_call_site site = {.function = function, .prefix = call->name};
    sdx_scope inner = {.graph = scope->graph, .nodes = scope->nodes, .call = &site,
                       .opsets = function->opsets, .opset_count = function->opset_count,
                       .depth = scope->depth + 1};
    sdx_fields fields = {0};
    sdx_pb_reader body =
        sdx_pb_open(function->body, loader->file.data, sdx_message_depth(loader));
    sdx_status status = sdx_scope_open(loader, &inner, call->position);
    function->active = true;
    if (status == SDX_STATUS_OK) status = sdx_fields_read(loader, body, &fields);
    if (status == SDX_STATUS_OK) status = gather_attrs(loader, &fields, &body, call, &site);
    if (status == SDX_STATUS_OK) status = bind_inputs(loader, &fields, call, &inner);
    if (status == SDX_STATUS_OK) status = read_body(loader, &fields, &body, &inner);
    if (status == SDX_STATUS_OK) status = bind_outputs(loader, &fields, call, &inner);
    function->active = false;
    sdx_fields_free(loader, &fields);
    sdx_map_free(&inner.names);
    return status;
}
