/* cse.c - pass: of nodes of one graph that compute the same from the same, the first serves for all. Small
 * constants that are equal count as the same. */
#include <string.h>

#include "base/map.h"
#include "passes/passes.h"

#define SMALL 256 /* bytes of a constant that is compared by what it holds */

/* A key is the text of what makes two nodes or constants alike; built in one buffer. */
typedef struct key {
    sdx_rewrite *r;
    sdx_vector bytes; /* char */
    bool failed;      /* out of memory: what is there is not the whole key */
} key;

static void add(key *k, const void *data, size_t size) {
    const char *from = data;
    for (size_t i = 0; i < size; i++) {
        char *slot = sdx_vector_push(&k->bytes, k->r->module->allocator, 1);
        if (slot) *slot = from[i];
        else k->failed = true;
    }
}

static void add_text(key *k, const char *text) { add(k, text, strlen(text) + 1); }

static void add_constant(key *k, const sdx_const *constant) {
    size_t bytes = constant->count * sdx_dtype_size(constant->dtype);
    char *data = sdx_arena_alloc(&k->r->scratch, bytes + 1);
    add(k, &constant->dtype, sizeof constant->dtype);
    add(k, &constant->rank, sizeof constant->rank);
    add(k, constant->dims, (size_t)constant->rank * sizeof *constant->dims);
    k->failed |= !data;
    if (data && constant->count) sdx_const_decode(constant, data);
    if (data) add(k, data, bytes);
}

static bool is_small(const sdx_const *constant) {
    return constant->dtype != SDX_DTYPE_STRING && constant->count <= SMALL &&
           constant->count * sdx_dtype_size(constant->dtype) <= SMALL;
}

/* False: an attribute that is not compared (a graph, a large tensor …). */
static bool add_attr(key *k, const sdx_attr *attr) {
    add_text(k, attr->name);
    add(k, &attr->kind, sizeof attr->kind);
    add(k, &attr->count, sizeof attr->count);
    switch (attr->kind) {
    case SDX_ATTR_FLOAT:
    case SDX_ATTR_FLOATS: add(k, attr->as.floats, attr->count * sizeof(float)); return true;
    case SDX_ATTR_INT:
    case SDX_ATTR_INTS: add(k, attr->as.ints, attr->count * sizeof(int64_t)); return true;
    case SDX_ATTR_EXPRS: add(k, attr->as.exprs, attr->count * sizeof(sdx_expr)); return true;
    case SDX_ATTR_STRING:
    case SDX_ATTR_STRINGS:
        for (size_t i = 0; i < attr->count; i++) {
            add(k, &attr->as.strings[i].size, sizeof(size_t));
            add(k, attr->as.strings[i].data, attr->as.strings[i].size);
        }
        return true;
    case SDX_ATTR_TENSOR:
        if (!is_small(attr->as.tensors[0])) return false;
        add_constant(k, attr->as.tensors[0]);
        return true;
    default: return false;
    }
}

/* The first value that the map has for this key; `value` itself where it is the first. */
static uint32_t first_of(key *k, sdx_map *map, uint32_t value) {
    sdx_arena *memory = &k->r->scratch;
    if (k->failed) return value;
    uint32_t found = sdx_map_get(map, k->bytes.data, k->bytes.count);
    if (found != SDX_MAP_NONE) return found;
    char *kept = sdx_arena_string(memory, k->bytes.data, k->bytes.count);
    if (!kept || !sdx_map_put(map, kept, k->bytes.count, value)) return value;
    return value;
}

static bool add_node(key *k, sdx_map *constants, uint32_t *same, const sdx_node *node) {
    k->bytes.count = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        sdx_id in = node->inputs[i];
        const sdx_const *constant = sdx_constant_of(k->r, in);
        if (constant && is_small(constant) && same[in] == 0) {
            add_constant(k, constant);
            same[in] = first_of(k, constants, in) + 1;
            k->bytes.count = 0;
        }
    }
    add_text(k, node->domain);
    add_text(k, node->op_type);
    add(k, &node->version, sizeof node->version);
    add(k, &node->output_count, sizeof node->output_count);
    for (uint32_t i = 0; i < node->input_count; i++) {
        sdx_id in = node->inputs[i];
        if (in != SDX_NONE && same[in]) in = same[in] - 1;
        add(k, &in, sizeof in);
    }
    for (uint32_t a = 0; a < node->attr_count; a++)
        if (!add_attr(k, &node->attrs[a])) return false;
    return true;
}

/* Every output of the second is one of the first. */
static void merge(sdx_rewrite *r, sdx_id first, sdx_id second) {
    const sdx_node *a = sdx_node_at(r->module, first), *b = sdx_node_at(r->module, second);
    for (uint32_t o = 0; o < b->output_count; o++)
        if (b->outputs[o] != SDX_NONE && a->outputs[o] == SDX_NONE) return;
    for (uint32_t o = 0; o < b->output_count && !b->dead; o++)
        if (b->outputs[o] != SDX_NONE) sdx_supplant(r, b->outputs[o], a->outputs[o]);
}

sdx_status sdx_pass_cse(sdx_rewrite *r) {
    sdx_module *module = r->module;
    key k = {.r = r};
    sdx_map constants;
    sdx_map_init(&constants, module->allocator);
    uint32_t *same = sdx_arena_array(&r->scratch, module->values.count + 1, sizeof *same);
    for (size_t g = 0; same && g < module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(module, (sdx_id)g);
        sdx_map nodes;
        sdx_map_init(&nodes, module->allocator);
        for (uint32_t i = 0; i < graph->node_count && r->build.status == SDX_STATUS_OK; i++) {
            const sdx_node *node = sdx_node_at(module, graph->nodes[i]);
            if (node->dead || !node->op || (node->op->def->flags & SDX_OP_RANDOM)) continue;
            if (!add_node(&k, &constants, same, node)) continue;
            sdx_id first = first_of(&k, &nodes, graph->nodes[i]);
            if (first != graph->nodes[i] && !sdx_node_at(module, first)->dead)
                merge(r, first, graph->nodes[i]);
        }
        sdx_map_free(&nodes);
    }
    sdx_map_free(&constants);
    sdx_vector_free(&k.bytes, module->allocator, 1);
    return same && !k.failed ? SDX_STATUS_OK : sdx_fail_memory(r->build.error, 0, "a pass");
}
