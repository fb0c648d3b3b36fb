/* graph.c - the module's tables: creation, growth, release. Filled by onnx/, read by all after. */
#include "graph/graph.h"

#include <string.h>

#include "base/checked.h"

#define DEFAULT_MAX_NODES 4000000u
#define DEFAULT_MAX_DEPTH 64u

static const sdx_limits default_limits = {.struct_size = sizeof(sdx_limits),
                                          .max_nodes = DEFAULT_MAX_NODES,
                                          .max_depth = DEFAULT_MAX_DEPTH,
                                          .max_rounds = UINT64_MAX};

sdx_limits sdx_limits_over(const sdx_limits *base, const sdx_limits *given) {
    sdx_limits l = base ? *base : default_limits, g = {0};
    if (given)
        memcpy(&g, given, given->struct_size < sizeof g ? given->struct_size : sizeof g);
    if (g.max_memory) l.max_memory = g.max_memory < SIZE_MAX ? g.max_memory : SIZE_MAX;
    if (g.max_nodes) l.max_nodes = g.max_nodes;
    if (g.max_depth) l.max_depth = g.max_depth;
    if (g.max_rounds) l.max_rounds = g.max_rounds;
    if (g.max_time_ms) l.max_time_ms = g.max_time_ms;
    return l;
}

sdx_status sdx_module_in_time(const sdx_module *module, sdx_error *error) {
    if (!sdx_watch_late(&module->watch)) return SDX_STATUS_OK;
    return sdx_fail(error, SDX_STATUS_LIMIT, "preparing the model takes longer than the limit max_time_ms, %llu",
                    (unsigned long long)module->limits.max_time_ms);
}

sdx_status sdx_module_create(const sdx_allocator *allocator, const sdx_limits *limits,
                             const sdx_log *log, sdx_module **out, sdx_error *error) {
    if (!allocator) allocator = &sdx_default_allocator;
    sdx_module *module = sdx_alloc(allocator, sizeof *module, _Alignof(max_align_t));
    if (!module) return sdx_fail_memory(error, sizeof *module, "the model");
    memset(module, 0, sizeof *module);
    module->allocator = allocator;
    module->log = log;
    module->limits = sdx_limits_over(NULL, limits);
    sdx_watch_start(&module->watch, module->limits.max_time_ms);
    uint64_t most = module->limits.max_memory;
    sdx_arena_init(&module->arena, allocator, most < SIZE_MAX ? (size_t)most : 0);
    sdx_status status = sdx_expr_pool_create(allocator, &module->pool, error);
    if (status != SDX_STATUS_OK) {
        sdx_module_release(module);
        return status;
    }
    *out = module;
    return SDX_STATUS_OK;
}

void sdx_module_release(sdx_module *module) {
    if (!module) return;
    const sdx_allocator *allocator = module->allocator;
    sdx_vector_free(&module->values, allocator, sizeof(sdx_value_def));
    sdx_vector_free(&module->nodes, allocator, sizeof(sdx_node));
    sdx_vector_free(&module->graphs, allocator, sizeof(sdx_graph));
    sdx_vector_free(&module->constraints, allocator, sizeof(sdx_constraint));
    sdx_vector_free(&module->problems, allocator, sizeof(sdx_error));
    for (size_t i = 0; i < module->owned.count; i++) sdx_module_disown(module, (uint32_t)i + 1);
    sdx_vector_free(&module->owned, allocator, sizeof(sdx_owned));
    sdx_expr_pool_release(module->pool);
    sdx_arena_free(&module->arena);
    sdx_free(allocator, module, sizeof *module);
}

static void *append(sdx_module *module, sdx_vector *table, size_t element, sdx_id *id) {
    *id = SDX_NONE;
    if (table->count >= SDX_NONE) return NULL;
    void *slot = sdx_vector_push(table, module->allocator, element);
    if (slot) *id = (sdx_id)(table->count - 1);
    return slot;
}

sdx_id sdx_module_add_value(sdx_module *module, const char *name, sdx_id graph) {
    sdx_id id;
    sdx_value_def *value = append(module, &module->values, sizeof *value, &id);
    if (!value) return SDX_NONE;
    value->name = name;
    value->type.rank = -1;
    value->producer = SDX_NONE;
    value->graph = graph;
    return id;
}

sdx_id sdx_module_add_node(sdx_module *module) {
    sdx_id id;
    append(module, &module->nodes, sizeof(sdx_node), &id);
    return id;
}

sdx_id sdx_module_add_graph(sdx_module *module) {
    sdx_id id;
    sdx_graph *graph = append(module, &module->graphs, sizeof *graph, &id);
    if (graph) graph->owner = SDX_NONE;
    return id;
}

void *sdx_module_own(sdx_module *module, size_t size, uint32_t *owned) {
    size_t held, limit = module->arena.limit;
    if (!sdx_size_add(module->owned_bytes, size, &held) || module->owned.count >= UINT32_MAX - 1)
        return NULL;
    if (limit && (held > limit || module->arena.total > limit - held)) return NULL;
    sdx_owned *entry = sdx_vector_push(&module->owned, module->allocator, sizeof *entry);
    if (!entry) return NULL;
    entry->data = sdx_alloc(module->allocator, size, SDX_CACHE_LINE);
    if (!entry->data) {
        module->owned.count--;
        return NULL;
    }
    entry->size = size;
    module->owned_bytes = held;
    *owned = (uint32_t)module->owned.count;
    return entry->data;
}

void sdx_module_disown(sdx_module *module, uint32_t owned) {
    sdx_owned *entry = (sdx_owned *)module->owned.data + (owned - 1);
    if (!entry->data) return;
    sdx_free(module->allocator, entry->data, entry->size);
    module->owned_bytes -= entry->size;
    *entry = (sdx_owned){0};
}

size_t sdx_module_bytes(const sdx_module *module) {
    return module->arena.total + module->values.capacity * sizeof(sdx_value_def) +
           module->nodes.capacity * sizeof(sdx_node) +
           module->graphs.capacity * sizeof(sdx_graph) +
           module->constraints.capacity * sizeof(sdx_constraint) +
           module->owned.capacity * sizeof(sdx_owned) + sdx_expr_pool_bytes(module->pool);
}

typedef struct text_out {
    char *buffer;
    size_t size, length;
} text_out;

static void put(text_out *out, const char *text) {
    size_t n = strlen(text);
    if (out->length < out->size) {
        size_t room = out->size - out->length - 1;
        memcpy(out->buffer + out->length, text, n < room ? n : room);
        out->buffer[out->length + (n < room ? n : room)] = 0;
    }
    out->length += n;
}

static void put_type(const sdx_module *module, const sdx_type *type, text_out *out, int depth) {
    char text[256];
    switch (type ? type->kind : SDX_KIND_NONE) {
    case SDX_KIND_SEQUENCE:
    case SDX_KIND_OPTIONAL:
    case SDX_KIND_MAP:
        put(out, type->kind == SDX_KIND_SEQUENCE   ? "sequence("
                 : type->kind == SDX_KIND_OPTIONAL ? "optional("
                                                   : "map(");
        if (type->kind == SDX_KIND_MAP) {
            put(out, sdx_dtype_name(type->dtype));
            put(out, ",");
        }
        if (depth > 0) put_type(module, type->inner, out, depth - 1);
        put(out, ")");
        return;
    case SDX_KIND_SPARSE: put(out, "sparse "); break;
    case SDX_KIND_TENSOR: break;
    case SDX_KIND_NONE: put(out, "?"); return;
    }
    put(out, type->dtype == SDX_DTYPE_UNDEFINED ? "?" : sdx_dtype_name(type->dtype));
    put(out, "[");
    for (int32_t i = 0; i < type->rank; i++) {
        if (i) put(out, ",");
        sdx_expr_text(module->pool, type->dims[i], text, sizeof text);
        put(out, text);
    }
    put(out, type->rank < 0 ? "...]" : "]");
}

size_t sdx_type_text(const sdx_module *module, const sdx_type *type, char *buffer, size_t size) {
    text_out out = {buffer, size, 0};
    if (size) buffer[0] = 0;
    put_type(module, type, &out, 16);
    return out.length;
}
