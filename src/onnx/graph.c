/* graph.c - GraphProto -> sdx_graph: inputs, initializers, nodes, outputs, declared types; the main
 * graph and every subgraph alike. */
#include <string.h>

#include "onnx/loader.h"

enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12,
       GRAPH_VALUE_INFO = 13, GRAPH_SPARSE_INITIALIZER = 15 };

typedef struct graph_reader {
    sdx_loader *loader;
    const sdx_pb_reader *in;
    sdx_fields fields;
    sdx_scope scope;
    sdx_vector nodes;
} graph_reader;

static sdx_status enter(graph_reader *g, const sdx_pb_field *field, const char *name,
                        sdx_pb_reader *out) {
    SDX_TRY(sdx_pb_expect(field, SDX_WIRE_BYTES, name, g->loader->error));
    return sdx_pb_enter(g->in, field, out, g->loader->error);
}

static size_t count_fields(const graph_reader *g, uint32_t number) {
    size_t count = 0;
    for (size_t i = 0; i < g->fields.count; i++) count += g->fields.items[i].number == number;
    return count;
}

/* ValueInfoProto: a name and, perhaps, a type. */
static sdx_status read_value_info(graph_reader *g, const sdx_pb_field *message, sdx_span *name,
                                  const sdx_type **type) {
    sdx_loader *loader = g->loader;
    sdx_pb_reader in;
    SDX_TRY(enter(g, message, "value info", &in));
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    *name = (sdx_span){0};
    *type = NULL;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number == 1) SDX_TRY(sdx_pb_string(&field, "name", name, loader->error));
        if (field.number != 2) continue;
        sdx_pb_reader inner;
        SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "type", loader->error));
        SDX_TRY(sdx_pb_enter(&in, &field, &inner, loader->error));
        sdx_type *made = sdx_arena_alloc(&loader->module->arena, sizeof *made);
        if (!made) return sdx_load_no_memory(loader);
        sdx_status nested = sdx_load_type(loader, inner, made);
        if (nested != SDX_STATUS_OK) return nested;
        *type = made;
    }
    SDX_TRY(status);
    if (name->size == 0)
        return sdx_bad(loader, message->position, "an input, output or value info has no name");
    return SDX_STATUS_OK;
}

/* Open dims of a graph input become symbols of their own, "image.0", so that all can be bound. */
static sdx_status name_open_dims(sdx_loader *loader, sdx_value_def *value) {
    if (value->type.kind != SDX_KIND_TENSOR || value->type.rank <= 0) return SDX_STATUS_OK;
    size_t rank = (size_t)value->type.rank;
    sdx_expr *dims = sdx_arena_array(&loader->module->arena, rank, sizeof *dims);
    if (!dims) return sdx_load_no_memory(loader);
    for (size_t i = 0; i < rank; i++) {
        dims[i] = value->type.dims[i];
        if (!sdx_expr_is_unknown(dims[i])) continue;
        const char *name = sdx_arena_printf(&loader->module->arena, "%s.%zu", value->name, i);
        if (!name) return sdx_load_no_memory(loader);
        dims[i] = sdx_expr_symbol(loader->module->pool, name, strlen(name));
        if (sdx_expr_is_unknown(dims[i])) return sdx_load_no_memory(loader);
    }
    value->type.dims = dims;
    return SDX_STATUS_OK;
}

/* An input's dim that is an expression can be checked once the symbols in it are bound by plain dims;
 * where they are not, the expression as a whole is one symbol. */
static sdx_status name_unbound_expressions(sdx_loader *loader, const sdx_id *ids, uint32_t count) {
    sdx_module *module = loader->module;
    sdx_expr_pool *pool = module->pool;
    size_t symbols = sdx_expr_symbol_count(pool), size = sdx_expr_pool_size(pool);
    int64_t *bound = sdx_arena_array(&module->arena, symbols + size + 1, sizeof *bound);
    if (!bound) return sdx_load_no_memory(loader);
    int64_t *results = bound + symbols;
    for (size_t s = 0; s < symbols; s++) bound[s] = -1;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < count; i++) {
            const sdx_type *type = &sdx_value_at(module, ids[i])->type;
            for (int32_t d = 0; type->kind == SDX_KIND_TENSOR && d < type->rank; d++) {
                sdx_expr dim = type->dims[d];
                size_t symbol = sdx_expr_symbol_index(pool, dim);
                if (pass == 0 && symbol != SIZE_MAX) bound[symbol] = 1;
                if (pass == 0 || symbol != SIZE_MAX || sdx_expr_is_const(dim) ||
                    sdx_expr_result(dim, results) != SDX_EVAL_FAILED)
                    continue;
                char text[256];
                size_t length = sdx_expr_text(pool, dim, text, sizeof text);
                if (length >= sizeof text) length = sizeof text - 1;
                sdx_expr whole = sdx_expr_symbol(pool, text, length);
                if (sdx_expr_is_unknown(whole)) return sdx_load_no_memory(loader);
                /* The array is this loader's own: name_open_dims made it. */
                ((sdx_expr *)(uintptr_t)type->dims)[d] = whole;
            }
        }
        if (pass == 0) sdx_expr_evaluate(pool, bound, results);
    }
    return SDX_STATUS_OK;
}

static sdx_status read_inputs(graph_reader *g) {
    sdx_loader *loader = g->loader;
    size_t count = count_fields(g, GRAPH_INPUT);
    sdx_id *ids = sdx_arena_array(&loader->module->arena, count + 1, sizeof *ids);
    if (!ids) return sdx_load_no_memory(loader);
    uint32_t used = 0;
    for (size_t i = 0; i < g->fields.count; i++) {
        if (g->fields.items[i].number != GRAPH_INPUT) continue;
        sdx_span name;
        const sdx_type *type;
        SDX_TRY(read_value_info(g, &g->fields.items[i], &name, &type));
        SDX_TRY(sdx_declare(loader, &g->scope, name, g->fields.items[i].position, "graph input",
                            &ids[used]));
        sdx_value_def *value = sdx_value_at(loader->module, ids[used++]);
        value->is_input = true;
        value->declared = type;
        if (type) value->type = *type;
        bool is_main = sdx_graph_at(loader->module, g->scope.graph)->owner == SDX_NONE;
        if (is_main) SDX_TRY(name_open_dims(loader, value));
    }
    sdx_graph *graph = sdx_graph_at(loader->module, g->scope.graph);
    graph->inputs = ids;
    graph->input_count = used;
    return graph->owner == SDX_NONE ? name_unbound_expressions(loader, ids, used)
                                    : SDX_STATUS_OK;
}

/* An input's default must be a value that the input could be given. */
static sdx_status check_default(sdx_loader *loader, const sdx_value_def *value,
                                const sdx_const *constant, uint64_t position) {
    const sdx_type *type = &value->type;
    bool fits = type->rank < 0 || type->rank == constant->rank;
    for (int32_t i = 0; fits && i < type->rank; i++)
        fits = !sdx_expr_is_const(type->dims[i]) || sdx_expr_value(type->dims[i]) == constant->dims[i];
    if (type->kind != SDX_KIND_TENSOR || fits) return SDX_STATUS_OK;
    sdx_expr dims[SDX_MAX_RANK];
    for (int32_t i = 0; i < constant->rank; i++) dims[i] = sdx_expr_const(constant->dims[i]);
    const sdx_type own = {.kind = SDX_KIND_TENSOR, .dtype = constant->dtype, .rank = constant->rank, .dims = dims};
    char given[200], declared[200];
    sdx_type_text(loader->module, &own, given, sizeof given);
    sdx_type_text(loader->module, type, declared, sizeof declared);
    return sdx_bad(loader, position, "initializer '%s' is %s, the input of that name %s", constant->name, given,
                   declared);
}

static sdx_status add_initializer(graph_reader *g, const sdx_const *constant, uint64_t position) {
    sdx_loader *loader = g->loader;
    sdx_span name = {(const uint8_t *)constant->name, strlen(constant->name)};
    if (name.size == 0) return sdx_bad(loader, position, "an initializer has no name");
    uint32_t known = sdx_map_get(&g->scope.names, (const char *)name.data, name.size);
    if (known == SDX_MAP_NONE) {
        sdx_id id;
        SDX_TRY(sdx_declare(loader, &g->scope, name, position, "initializer", &id));
        sdx_value_at(loader->module, id)->constant = constant;
        return SDX_STATUS_OK;
    }
    sdx_value_def *value = sdx_value_at(loader->module, known);
    if (!value->is_input || value->constant || value->fallback)
        return sdx_bad(loader, position, "initializer '%s': the name is defined twice",
                       constant->name);
    if (value->type.kind != SDX_KIND_NONE && value->type.dtype != constant->dtype)
        return sdx_bad(loader, position, "initializer '%s' is %s, the input of that name %s",
                       constant->name, sdx_dtype_name(constant->dtype),
                       sdx_dtype_name(value->type.dtype));
    /* Before IR 4 every initializer was listed as an input too, and none could be overridden. */
    if (loader->module->ir_version < 4) {
        value->constant = constant;
        return SDX_STATUS_OK;
    }
    value->fallback = constant;
    return check_default(loader, value, constant, position);
}

static sdx_status read_initializers(graph_reader *g) {
    for (size_t i = 0; i < g->fields.count; i++) {
        const sdx_pb_field *field = &g->fields.items[i];
        bool sparse = field->number == GRAPH_SPARSE_INITIALIZER;
        if (!sparse && field->number != GRAPH_INITIALIZER) continue;
        sdx_pb_reader in;
        const sdx_const *constant;
        SDX_TRY(enter(g, field, "initializer", &in));
        SDX_TRY(sparse ? sdx_load_sparse(g->loader, in, &constant)
                       : sdx_load_tensor(g->loader, in, &constant));
        SDX_TRY(add_initializer(g, constant, field->position));
    }
    return SDX_STATUS_OK;
}

/* Inputs that are constants (IR 3) are no inputs any more. */
static void drop_constant_inputs(graph_reader *g) {
    sdx_graph *graph = sdx_graph_at(g->loader->module, g->scope.graph);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < graph->input_count; i++) {
        sdx_value_def *value = sdx_value_at(g->loader->module, graph->inputs[i]);
        value->is_input = value->constant == NULL;
        if (value->is_input) graph->inputs[kept++] = graph->inputs[i];
    }
    graph->input_count = kept;
}

static sdx_status read_nodes(graph_reader *g) {
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < g->fields.count; i++) {
            if (g->fields.items[i].number != GRAPH_NODE) continue;
            sdx_pb_reader in;
            SDX_TRY(enter(g, &g->fields.items[i], "node", &in));
            SDX_TRY(pass == 0 ? sdx_declare_outputs(g->loader, in, &g->scope)
                              : sdx_load_node(g->loader, in, &g->scope));
        }
    sdx_graph *graph = sdx_graph_at(g->loader->module, g->scope.graph);
    size_t count = g->nodes.count;
    graph->nodes = sdx_arena_array(&g->loader->module->arena, count + 1, sizeof(sdx_id));
    if (!graph->nodes) return sdx_load_no_memory(g->loader);
    if (count) memcpy(graph->nodes, g->nodes.data, count * sizeof(sdx_id));
    graph->node_count = (uint32_t)count;
    return SDX_STATUS_OK;
}

static sdx_status read_outputs(graph_reader *g) {
    sdx_loader *loader = g->loader;
    size_t count = count_fields(g, GRAPH_OUTPUT);
    sdx_id *ids = sdx_arena_array(&loader->module->arena, count + 1, sizeof *ids);
    if (!ids) return sdx_load_no_memory(loader);
    uint32_t used = 0;
    for (size_t i = 0; i < g->fields.count; i++) {
        if (g->fields.items[i].number != GRAPH_OUTPUT) continue;
        sdx_span name;
        const sdx_type *type;
        SDX_TRY(read_value_info(g, &g->fields.items[i], &name, &type));
        SDX_TRY(sdx_resolve(loader, &g->scope, name, g->fields.items[i].position, &ids[used]));
        if (ids[used] == SDX_NONE)
            return sdx_bad(loader, g->fields.items[i].position, "graph output '%.*s' is left out",
                           (int)name.size, (const char *)name.data);
        sdx_value_def *value = sdx_value_at(loader->module, ids[used++]);
        if (value->graph == g->scope.graph) {
            value->is_output = true;
            if (!value->declared) value->declared = type;
        }
    }
    sdx_graph *graph = sdx_graph_at(loader->module, g->scope.graph);
    graph->outputs = ids;
    graph->output_count = used;
    return SDX_STATUS_OK;
}

static sdx_status read_declared_types(graph_reader *g) {
    for (size_t i = 0; i < g->fields.count; i++) {
        if (g->fields.items[i].number != GRAPH_VALUE_INFO) continue;
        sdx_span name;
        const sdx_type *type;
        SDX_TRY(read_value_info(g, &g->fields.items[i], &name, &type));
        uint32_t id = sdx_map_get(&g->scope.names, (const char *)name.data, name.size);
        if (id == SDX_MAP_NONE || id == SDX_ABSENT) continue; /* left behind by a rewrite */
        sdx_value_def *value = sdx_value_at(g->loader->module, id);
        if (!value->declared) value->declared = type;
    }
    return SDX_STATUS_OK;
}

static sdx_status read_graph(graph_reader *g) {
    sdx_loader *loader = g->loader;
    SDX_TRY(sdx_fields_read(loader, *g->in, &g->fields));
    sdx_span name = {0};
    for (size_t i = 0; i < g->fields.count; i++)
        if (g->fields.items[i].number == GRAPH_NAME)
            SDX_TRY(sdx_pb_string(&g->fields.items[i], "name", &name, loader->error));
    const char *text;
    SDX_TRY(sdx_load_text(loader, name, &text));
    sdx_graph_at(loader->module, g->scope.graph)->name = text;
    SDX_TRY(read_inputs(g));
    SDX_TRY(read_initializers(g));
    drop_constant_inputs(g);
    SDX_TRY(read_nodes(g));
    SDX_TRY(read_outputs(g));
    SDX_TRY(read_declared_types(g));
    return sdx_graph_sort(loader->module, g->scope.graph, loader->error);
}

sdx_status sdx_load_graph(sdx_loader *loader, const sdx_pb_reader *in, sdx_scope *parent,
                          const sdx_scope *model_scope, sdx_id owner, sdx_id *out) {
    const sdx_scope *around = parent ? parent : model_scope;
    graph_reader g = {.loader = loader, .in = in};
    g.scope = (sdx_scope){.parent = parent, .nodes = &g.nodes, .call = around->call,
                          .opsets = around->opsets, .opset_count = around->opset_count,
                          .depth = around->depth + 1};
    g.scope.graph = sdx_module_add_graph(loader->module);
    if (g.scope.graph == SDX_NONE) return sdx_load_no_memory(loader);
    sdx_graph_at(loader->module, g.scope.graph)->owner = owner;
    *out = g.scope.graph;
    sdx_status status = sdx_scope_open(loader, &g.scope, sdx_pb_position(in));
    if (status == SDX_STATUS_OK) status = read_graph(&g);
    sdx_fields_free(loader, &g.fields);
    sdx_vector_free(&g.nodes, loader->module->allocator, sizeof(sdx_id));
    sdx_map_free(&g.scope.names);
    return status;
}
