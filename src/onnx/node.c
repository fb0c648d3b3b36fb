/* node.c - NodeProto -> a node of the graph being read, a constant, or an inlined function body. */
#include <string.h>

#include "onnx/loader.h"

enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5,
       NODE_DOMAIN = 7, NODE_OVERLOAD = 8 };

sdx_status sdx_declare_outputs(sdx_loader *loader, sdx_pb_reader in, sdx_scope *scope) {
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number != NODE_OUTPUT) continue;
        sdx_span name;
        SDX_TRY(sdx_pb_string(&field, "output", &name, loader->error));
        if (name.size == 0) continue;
        sdx_id ignored;
        SDX_TRY(sdx_declare(loader, scope, name, field.position, "node output", &ignored));
    }
    return status;
}

typedef struct node_parts {
    sdx_span name, op_type, domain, overload;
    uint32_t inputs, outputs, attrs;
    uint64_t position;
} node_parts;

static sdx_status read_parts(sdx_loader *loader, sdx_pb_reader in, node_parts *parts) {
    memset(parts, 0, sizeof *parts);
    parts->position = sdx_pb_position(&in);
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    sdx_error *error = loader->error;
    while (sdx_pb_next(&in, &field, &status, error)) {
        switch (field.number) {
        case NODE_INPUT: parts->inputs++; break;
        case NODE_OUTPUT: parts->outputs++; break;
        case NODE_ATTRIBUTE: parts->attrs++; break;
        case NODE_NAME: SDX_TRY(sdx_pb_string(&field, "name", &parts->name, error)); break;
        case NODE_OP_TYPE: SDX_TRY(sdx_pb_string(&field, "op_type", &parts->op_type, error)); break;
        case NODE_DOMAIN: SDX_TRY(sdx_pb_string(&field, "domain", &parts->domain, error)); break;
        case NODE_OVERLOAD:
            SDX_TRY(sdx_pb_string(&field, "overload", &parts->overload, error));
            break;
        default: break;
        }
    }
    SDX_TRY(status);
    if (parts->op_type.size == 0)
        return sdx_bad(loader, parts->position, "a node has no op_type");
    const sdx_span texts[3] = {parts->op_type, parts->domain, parts->overload};
    static const char *const what[3] = {"op_type", "domain", "overload"};
    for (int i = 0; i < 3; i++)
        if (texts[i].size > SDX_MOST_OP_NAME)
            return sdx_bad(loader, parts->position, "the %s of a node has %zu bytes; at most %d "
                                                    "are allowed",
                           what[i], texts[i].size, SDX_MOST_OP_NAME);
    if (parts->domain.size == 7 && memcmp(parts->domain.data, "ai.onnx", 7) == 0)
        parts->domain.size = 0; /* the long spelling of the default domain */
    return SDX_STATUS_OK;
}

static sdx_status read_edges(sdx_loader *loader, sdx_pb_reader in, sdx_scope *scope,
                             sdx_node *node) {
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    uint32_t inputs = 0, outputs = 0;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number != NODE_INPUT && field.number != NODE_OUTPUT) continue;
        bool is_input = field.number == NODE_INPUT;
        sdx_span name;
        SDX_TRY(sdx_pb_string(&field, is_input ? "input" : "output", &name, loader->error));
        sdx_id *slot = is_input ? &node->inputs[inputs++] : &node->outputs[outputs++];
        *slot = SDX_NONE;
        if (name.size) SDX_TRY(sdx_resolve(loader, scope, name, field.position, slot));
    }
    return status;
}

static sdx_status read_attrs(sdx_loader *loader, sdx_pb_reader in, sdx_scope *scope, sdx_id id,
                             sdx_node *node) {
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    uint32_t count = 0;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number != NODE_ATTRIBUTE) continue;
        sdx_pb_reader inner;
        bool present;
        SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "attribute", loader->error));
        SDX_TRY(sdx_pb_enter(&in, &field, &inner, loader->error));
        SDX_TRY(sdx_load_attr(loader, inner, scope, id, &node->attrs[count], &present));
        for (uint32_t i = 0; present && i < count; i++)
            if (strcmp(node->attrs[i].name, node->attrs[count].name) == 0)
                return sdx_bad(loader, field.position, "attribute '%s' is given twice",
                               node->attrs[count].name);
        if (present) count++;
    }
    node->attr_count = count;
    return status;
}

static sdx_status find_version(sdx_loader *loader, const sdx_scope *scope, sdx_node *node) {
    for (size_t i = 0; i < scope->opset_count; i++)
        if (strcmp(scope->opsets[i].domain, node->domain) == 0) {
            node->version = scope->opsets[i].version;
            return SDX_STATUS_OK;
        }
    return sdx_bad(loader, node->position, "the %s imports no opset of domain '%s'",
                   scope->call ? "function" : "model", node->domain[0] ? node->domain : "ai.onnx");
}

/* A Constant node is an initializer written as a node: no step is left of it. */
static sdx_status take_constant(sdx_loader *loader, const sdx_node *node) {
    if (node->output_count != 1 || node->outputs[0] == SDX_NONE || node->input_count != 0)
        return sdx_bad(loader, node->position, "Constant has no input and one output, not %u and "
                                               "%u",
                       node->input_count, node->output_count);
    if (node->attr_count != 1)
        return sdx_bad(loader, node->position, "Constant needs exactly one attribute, found %u",
                       node->attr_count);
    const sdx_const *constant;
    SDX_TRY(sdx_constant_from_attr(loader, &node->attrs[0], &constant));
    sdx_value_at(loader->module, node->outputs[0])->constant = constant;
    return SDX_STATUS_OK;
}

static sdx_status allocate(sdx_loader *loader, const node_parts *parts, const sdx_scope *scope,
                           sdx_node *node) {
    sdx_arena *arena = &loader->module->arena;
    memset(node, 0, sizeof *node);
    node->position = parts->position;
    node->graph = scope->graph;
    node->input_count = parts->inputs;
    node->output_count = parts->outputs;
    node->inputs = sdx_arena_array(arena, (size_t)parts->inputs + 1, sizeof(sdx_id));
    node->outputs = sdx_arena_array(arena, (size_t)parts->outputs + 1, sizeof(sdx_id));
    node->attrs = sdx_arena_array(arena, (size_t)parts->attrs + 1, sizeof(sdx_attr));
    if (!node->inputs || !node->outputs || !node->attrs) return sdx_load_no_memory(loader);
    SDX_TRY(sdx_load_text(loader, parts->op_type, &node->op_type));
    SDX_TRY(sdx_load_text(loader, parts->domain, &node->domain));
    SDX_TRY(sdx_load_text(loader, parts->overload, &node->overload));
    if (parts->name.size == 0)
        node->name = sdx_arena_printf(arena, "#%llu", (unsigned long long)loader->nodes_read);
    else if (scope->call)
        node->name = sdx_call_name(loader, scope, parts->name);
    else
        SDX_TRY(sdx_load_text(loader, parts->name, &node->name));
    return node->name ? SDX_STATUS_OK : sdx_load_no_memory(loader);
}

/* Attributes of Gradient name values, in the scope where the node stands: known only now. */
static sdx_status look_up_names(sdx_loader *loader, const sdx_scope *scope, const sdx_node *node) {
    static const struct {
        const char *name;
        sdx_attr_kind kind;
    } naming[] = {{"xs", SDX_ATTR_STRINGS}, {"zs", SDX_ATTR_STRINGS}, {"y", SDX_ATTR_STRING}};
    if (strcmp(node->op_type, "Gradient") != 0 ||
        strcmp(node->domain, SDX_DOMAIN_TRAINING) != 0)
        return SDX_STATUS_OK;
    for (uint32_t a = 0; a < node->attr_count; a++) {
        sdx_attr *attr = &node->attrs[a];
        size_t n = 0;
        while (n < 3 && strcmp(attr->name, naming[n].name) != 0) n++;
        if (n == 3 || attr->kind != naming[n].kind) continue;
        sdx_id *ids = sdx_arena_array(&loader->module->arena, attr->count + 1, sizeof *ids);
        if (!ids) return sdx_load_no_memory(loader);
        for (size_t i = 0; i < attr->count; i++) {
            const sdx_string *text = &attr->as.strings[i];
            sdx_span name = {(const uint8_t *)text->data, text->size};
            SDX_TRY(sdx_resolve(loader, scope, name, node->position, &ids[i]));
            if (ids[i] == SDX_NONE)
                return sdx_bad(loader, node->position, "attribute '%s' names '%.64s', an input "
                                                       "that the call leaves out",
                               attr->name, text->data);
        }
        attr->kind = SDX_ATTR_VALUES;
        attr->as.values = ids;
    }
    return SDX_STATUS_OK;
}

/* The id is taken before subgraphs are read, so that ids grow along each graph's list. */
static sdx_status add_node(sdx_loader *loader, sdx_pb_reader in, sdx_scope *scope,
                           sdx_node *node) {
    sdx_id id = sdx_module_add_node(loader->module);
    if (id == SDX_NONE) return sdx_load_no_memory(loader);
    SDX_TRY(read_attrs(loader, in, scope, id, node));
    SDX_TRY(look_up_names(loader, scope, node));
    *sdx_node_at(loader->module, id) = *node;
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == SDX_NONE) continue;
        sdx_value_def *value = sdx_value_at(loader->module, node->outputs[i]);
        value->producer = id;
        value->output_index = i;
    }
    sdx_id *slot = sdx_vector_push(scope->nodes, loader->module->allocator, sizeof *slot);
    if (!slot) return sdx_load_no_memory(loader);
    *slot = id;
    return SDX_STATUS_OK;
}

static sdx_status finish(sdx_loader *loader, sdx_pb_reader in, sdx_scope *scope,
                         const node_parts *parts, sdx_node *node) {
    if (parts->attrs > SDX_MOST_ATTRS)
        return sdx_bad(loader, node->position, "%u attributes; at most %d are allowed",
                       parts->attrs, SDX_MOST_ATTRS);
    SDX_TRY(read_edges(loader, in, scope, node));
    sdx_function *function =
        sdx_find_function(loader, parts->domain, parts->op_type, parts->overload);
    sdx_id next = (sdx_id)loader->module->nodes.count;
    if (SDX_HAS(functions) && function) {
        SDX_TRY(read_attrs(loader, in, scope, next, node));
        return sdx_inline_call(loader, function, node, scope);
    }
    SDX_TRY(find_version(loader, scope, node));
    if (strcmp(node->op_type, "Constant") == 0 && node->domain[0] == 0) {
        SDX_TRY(read_attrs(loader, in, scope, next, node));
        return take_constant(loader, node);
    }
    return add_node(loader, in, scope, node);
}

sdx_status sdx_load_node(sdx_loader *loader, sdx_pb_reader in, sdx_scope *scope) {
    node_parts parts;
    SDX_TRY(read_parts(loader, in, &parts));
    if (loader->nodes_read >= loader->module->limits.max_nodes)
        return sdx_fail_at(loader->error, SDX_STATUS_LIMIT, parts.position,
                           "the model has more nodes than the limit of %llu",
                           (unsigned long long)loader->module->limits.max_nodes);
    SDX_TRY(sdx_module_in_time(loader->module, loader->error));
    sdx_node node;
    SDX_TRY(allocate(loader, &parts, scope, &node));
    loader->nodes_read++;
    sdx_status status = finish(loader, in, scope, &parts, &node);
    if (status != SDX_STATUS_OK) sdx_error_set_node(loader->error, node.name, node.op_type);
    return status;
}
