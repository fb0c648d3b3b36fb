/* count.c - how many nodes a model has once its functions are inlined, found without inlining them:
 * each body is looked at once, and is then a number. So a few kilobytes that stand for 2^40 nodes
 * are refused before anything is made of them. Damage is not judged here; the loader will. */
#include "onnx/loader.h"

enum { NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7, NODE_OVERLOAD = 8 };
enum { GRAPH_NODE = 1, FN_NODE = 7 };

/* A call copies a body's names and lists, so much of these counts like further nodes. */
#define FIELDS_PER_NODE 32
#define BYTES_PER_NODE 512

typedef struct counter {
    sdx_loader *loader;
    bool too_deep;
} counter;

static uint64_t add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

static uint64_t count_body(counter *c, sdx_pb_reader in, uint32_t node_field, uint32_t depth);

/* Bytes that loading the tensor copies: raw data, floats and doubles stay in the file. */
static uint64_t tensor_bytes(sdx_pb_reader in) {
    sdx_pb_field field;
    sdx_status status;
    uint64_t bytes = 0;
    while (sdx_pb_next(&in, &field, &status, NULL))
        if (field.number != 9 && field.number != 4 && field.number != 10)
            bytes += 8 + field.bytes.size;
    return bytes;
}

static uint64_t count_attr(counter *c, sdx_pb_reader in, uint32_t depth, uint64_t *bytes) {
    sdx_pb_field field;
    sdx_status status;
    uint64_t nodes = 0;
    while (sdx_pb_next(&in, &field, &status, NULL)) {
        bool is_graph = field.number == 6 || field.number == 11;
        bool is_tensor = field.number == 5 || field.number == 10;
        sdx_pb_reader inner;
        if (!is_graph && !is_tensor) *bytes += 8 + field.bytes.size;
        else if (sdx_pb_enter(&in, &field, &inner, NULL) != SDX_STATUS_OK) continue;
        else if (is_tensor) *bytes += tensor_bytes(inner);
        else nodes = add(nodes, count_body(c, inner, GRAPH_NODE, depth + 1));
    }
    return nodes;
}

/* The nodes that a call leaves behind. A function that is being counted already calls itself, which
 * the loader reports. */
static uint64_t count_call(counter *c, sdx_function *function, uint32_t depth) {
    if (!function->counted && !function->active) {
        function->active = true;
        sdx_pb_reader body =
            sdx_pb_open(function->body, c->loader->file.data, sdx_message_depth(c->loader));
        function->nodes = count_body(c, body, FN_NODE, depth + 1);
        function->active = false;
        function->counted = true;
    }
    return function->nodes;
}

static uint64_t count_node(counter *c, sdx_pb_reader in, uint32_t depth) {
    sdx_span op_type = {0}, domain = {0}, overload = {0};
    sdx_pb_field field;
    sdx_status status;
    uint64_t nodes = 1, fields = 0, bytes = 0;
    while (sdx_pb_next(&in, &field, &status, NULL)) {
        sdx_pb_reader attr;
        fields++;
        if (field.number == NODE_OP_TYPE) op_type = field.bytes;
        if (field.number == NODE_DOMAIN) domain = field.bytes;
        if (field.number == NODE_OVERLOAD) overload = field.bytes;
        if (field.number != NODE_ATTRIBUTE) bytes += field.bytes.size;
        else if (sdx_pb_enter(&in, &field, &attr, NULL) == SDX_STATUS_OK)
            nodes = add(nodes, count_attr(c, attr, depth, &bytes));
    }
    sdx_function *function =
        op_type.size ? sdx_find_function(c->loader, domain, op_type, overload) : NULL;
    if (function) nodes = add(nodes, count_call(c, function, depth));
    return add(nodes, fields / FIELDS_PER_NODE + bytes / BYTES_PER_NODE);
}

static uint64_t count_body(counter *c, sdx_pb_reader in, uint32_t node_field, uint32_t depth) {
    sdx_pb_field field;
    sdx_status status;
    uint64_t nodes = 0, others = 0;
    if (depth > c->loader->module->limits.max_depth) c->too_deep = true;
    while (!c->too_deep && sdx_pb_next(&in, &field, &status, NULL)) {
        sdx_pb_reader inner;
        if (field.number != node_field) others++;
        else if (sdx_pb_enter(&in, &field, &inner, NULL) == SDX_STATUS_OK)
            nodes = add(nodes, count_node(c, inner, depth));
    }
    return add(nodes, others / FIELDS_PER_NODE);
}

sdx_status sdx_check_expansion(sdx_loader *loader, const sdx_pb_reader *graph) {
    if (!SDX_HAS(functions) || loader->function_count == 0) return SDX_STATUS_OK;
    counter c = {.loader = loader};
    uint64_t nodes = count_body(&c, *graph, GRAPH_NODE, 1);
    const sdx_limits *limits = &loader->module->limits;
    if (c.too_deep)
        return sdx_fail_at(loader->error, SDX_STATUS_LIMIT, sdx_pb_position(graph),
                           "subgraphs and functions nest deeper than the limit of %u",
                           limits->max_depth);
    if (nodes > limits->max_nodes)
        return sdx_fail_at(loader->error, SDX_STATUS_LIMIT, sdx_pb_position(graph),
                           "with its functions inlined the model has more nodes than the limit of "
                           "%llu",
                           (unsigned long long)limits->max_nodes);
    return SDX_STATUS_OK;
}
