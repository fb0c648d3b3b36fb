/* load_graph.c - values, nodes and graphs of a packed file, and the checks that make them what the ONNX
 * loader would have made: every value comes from one place, a node reads what it can see, subgraphs form
 * a tree. The model's nodes that they stand for come behind the others, dead, and lend their names. */
#include "pack/load.h"

#include <string.h>

typedef struct graph_loader {
    sdx_unpacker *u;
    sdx_module *module;
    sdx_source *in;
    uint32_t graph_count, value_count, origin_count;
    sdx_node *origins;     /* until they get their place in the table */
    uint32_t *node_counts; /* by graph */
} graph_loader;

/* ---- types and attributes ------------------------------------------------------------------------- */

static const sdx_type *take_type(graph_loader *g, uint32_t depth) {
    sdx_type *type = sdx_take_array(g->in, &g->module->arena, 1, sizeof *type);
    if (!type) return NULL;
    type->kind = (sdx_kind)sdx_take_below(g->in, SDX_KIND_SPARSE + 1);
    type->dtype = (sdx_dtype)sdx_take_below(g->in, SDX_DTYPE_COUNT);
    type->rank = (int32_t)sdx_take_below(g->in, SDX_MAX_RANK + 2) - 1;
    if (type->rank >= 0) {
        sdx_expr *dims =
            sdx_take_array(g->in, &g->module->arena, (size_t)type->rank, sizeof *dims);
        for (int32_t i = 0; i < type->rank && !g->in->failed; i++) {
            dims[i] = sdx_take_expr(g->u);
            if (sdx_expr_is_const(dims[i]) && sdx_expr_value(dims[i]) < 0) g->in->failed = true;
        }
        type->dims = dims;
    }
    bool nests = type->kind == SDX_KIND_SEQUENCE || type->kind == SDX_KIND_OPTIONAL ||
                 type->kind == SDX_KIND_MAP;
    bool inner = sdx_take_below(g->in, 2) != 0;
    if (inner != nests || (inner && depth == 0)) g->in->failed = true;
    if (inner && !g->in->failed) type->inner = take_type(g, depth - 1);
    return g->in->failed ? NULL : type;
}

static const sdx_const *take_constant(graph_loader *g) {
    uint32_t number = sdx_take_below(g->in, g->u->constant_count);
    return g->in->failed ? NULL : &g->u->constants[number];
}

/* A subgraph belongs to one node, and stands behind the graph of that node in the table. */
static sdx_id take_subgraph(graph_loader *g, sdx_id owner) {
    uint32_t number = sdx_take_below(g->in, g->graph_count);
    if (g->in->failed) return 0;
    sdx_graph *graph = sdx_graph_at(g->module, number);
    if (number <= sdx_node_at(g->module, owner)->graph || graph->owner != SDX_NONE) {
        g->in->failed = true;
        return 0;
    }
    graph->owner = owner;
    return number;
}

static size_t element_size(sdx_attr_kind kind) {
    switch (kind) {
    case SDX_ATTR_INT:
    case SDX_ATTR_INTS: return sizeof(int64_t);
    case SDX_ATTR_FLOAT:
    case SDX_ATTR_FLOATS: return sizeof(float);
    case SDX_ATTR_STRING:
    case SDX_ATTR_STRINGS: return sizeof(sdx_string);
    case SDX_ATTR_TENSOR:
    case SDX_ATTR_TENSORS:
    case SDX_ATTR_TYPE:
    case SDX_ATTR_TYPES: return sizeof(void *);
    case SDX_ATTR_GRAPH:
    case SDX_ATTR_GRAPHS:
    case SDX_ATTR_VALUES: return sizeof(sdx_id);
    case SDX_ATTR_EXPRS: return sizeof(sdx_expr);
    default: return 0;
    }
}

static bool is_scalar(sdx_attr_kind kind) {
    return kind == SDX_ATTR_INT || kind == SDX_ATTR_FLOAT || kind == SDX_ATTR_STRING ||
           kind == SDX_ATTR_TENSOR || kind == SDX_ATTR_GRAPH || kind == SDX_ATTR_TYPE;
}

static void take_element(graph_loader *g, sdx_id owner, sdx_attr_kind kind, void *to) {
    switch (kind) {
    case SDX_ATTR_INT:
    case SDX_ATTR_INTS: *(int64_t *)to = sdx_take_signed(g->in); break;
    case SDX_ATTR_FLOAT:
    case SDX_ATTR_FLOATS: *(float *)to = sdx_take_float(g->in); break;
    case SDX_ATTR_STRING:
    case SDX_ATTR_STRINGS: {
        sdx_string *string = to;
        string->data = sdx_take_text(g->in, &g->module->arena, &string->size);
        break;
    }
    case SDX_ATTR_TENSOR:
    case SDX_ATTR_TENSORS: {
        const sdx_const *constant = take_constant(g);
        if (constant && sdx_const_absent(constant)) g->in->failed = true;
        *(const sdx_const **)to = constant;
        break;
    }
    case SDX_ATTR_TYPE:
    case SDX_ATTR_TYPES:
        *(const sdx_type **)to = take_type(g, g->module->limits.max_depth);
        break;
    case SDX_ATTR_GRAPH:
    case SDX_ATTR_GRAPHS: *(sdx_id *)to = take_subgraph(g, owner); break;
    case SDX_ATTR_EXPRS: *(sdx_expr *)to = sdx_take_expr(g->u); break;
    default: g->in->failed = true;
    }
}

static void take_attr(graph_loader *g, sdx_id owner, sdx_attr *attr) {
    attr->name = sdx_take_text(g->in, &g->module->arena, NULL);
    attr->kind = (sdx_attr_kind)sdx_take_below(g->in, SDX_ATTR_EXPRS + 1);
    attr->count = sdx_take_count(g->in, 1);
    size_t size = element_size(attr->kind);
    if (size == 0 || (is_scalar(attr->kind) && attr->count != 1)) g->in->failed = true;
    char *elements = sdx_take_array(g->in, &g->module->arena, attr->count, size);
    for (size_t i = 0; i < attr->count && !g->in->failed; i++)
        take_element(g, owner, attr->kind, elements + i * size);
    attr->as.ints = (const int64_t *)(void *)elements;
}

/* ---- values --------------------------------------------------------------------------------------- */

static void take_value(graph_loader *g) {
    const char *name = sdx_take_text(g->in, &g->module->arena, NULL);
    uint32_t graph = sdx_take_below(g->in, g->graph_count);
    uint32_t flags = sdx_take_below(g->in, 16);
    if (g->in->failed) return;
    sdx_id id = sdx_module_add_value(g->module, name, graph);
    if (id == SDX_NONE) {
        g->in->failed = g->in->no_memory = true;
        return;
    }
    const sdx_const *constant = flags & SDX_VALUE_CONSTANT ? take_constant(g) : NULL;
    const sdx_const *fallback = flags & SDX_VALUE_FALLBACK ? take_constant(g) : NULL;
    uint32_t depth = g->module->limits.max_depth;
    const sdx_type *declared = flags & SDX_VALUE_DECLARED ? take_type(g, depth) : NULL;
    const sdx_type *type = flags & SDX_VALUE_TYPE ? take_type(g, depth) : NULL;
    sdx_value_def *value = sdx_value_at(g->module, id);
    value->constant = constant;
    value->fallback = fallback;
    value->declared = declared;
    if (type) value->type = *type;
    if (fallback && sdx_const_absent(fallback)) g->in->failed = true;
}

/* ---- nodes ---------------------------------------------------------------------------------------- */

/* Numbers of things, 0 standing for none where that is allowed. */
static sdx_id *take_ids(graph_loader *g, uint32_t bound, bool none, uint32_t *count) {
    *count = sdx_take_count(g->in, 1);
    sdx_id *ids = sdx_take_array(g->in, &g->module->arena, *count, sizeof *ids);
    for (uint32_t i = 0; i < *count && !g->in->failed; i++) {
        uint32_t number = sdx_take_below(g->in, (uint64_t)bound + 1);
        if (number == 0 && !none) g->in->failed = true;
        ids[i] = number ? number - 1 : SDX_NONE;
    }
    if (g->in->failed) *count = 0;
    return ids;
}

static sdx_status claim_outputs(graph_loader *g, sdx_id id) {
    const sdx_node *node = sdx_node_at(g->module, id);
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == SDX_NONE) continue;
        sdx_value_def *value = sdx_value_at(g->module, node->outputs[i]);
        if (value->producer != SDX_NONE || value->constant || value->graph != node->graph)
            return sdx_unpack_fail(g->u, "node '%.64s' makes the value '%.64s', which comes from "
                                         "elsewhere", node->name, value->name);
        value->producer = id;
        value->output_index = i;
    }
    return SDX_STATUS_OK;
}

static sdx_status take_node(graph_loader *g) {
    sdx_arena *arena = &g->module->arena;
    sdx_node node = {.name = sdx_take_text(g->in, arena, NULL)};
    node.op_type = sdx_take_text(g->in, arena, NULL);
    node.domain = sdx_take_text(g->in, arena, NULL);
    node.overload = sdx_take_text(g->in, arena, NULL);
    node.version = sdx_take_signed(g->in);
    node.graph = sdx_take_below(g->in, g->graph_count);
    bool chosen = sdx_take_below(g->in, 2) != 0;
    node.inputs = take_ids(g, g->value_count, true, &node.input_count);
    node.outputs = take_ids(g, g->value_count, true, &node.output_count);
    node.origin = sdx_take_below(g->in, g->origin_count);
    sdx_id *origins = take_ids(g, g->origin_count, false, &node.origin_count);
    node.origins = origins;
    node.attr_count = sdx_take_count(g->in, 3);
    node.attrs = sdx_take_array(g->in, arena, node.attr_count, sizeof *node.attrs);
    node.position = SDX_NO_POSITION;
    node.scratch = sdx_expr_const(0);
    sdx_id id = g->in->failed ? SDX_NONE : sdx_module_add_node(g->module);
    if (!g->in->failed && id == SDX_NONE) g->in->failed = g->in->no_memory = true;
    SDX_TRY(sdx_unpack_check(g->u, "nodes"));
    *sdx_node_at(g->module, id) = node;
    for (uint32_t a = 0; a < node.attr_count && !g->in->failed; a++)
        take_attr(g, id, &node.attrs[a]);
    SDX_TRY(sdx_unpack_check(g->u, "attributes"));
    g->u->stored->chosen[id] = chosen;
    g->node_counts[node.graph]++;
    return claim_outputs(g, id);
}

/* From now on their numbers are those of the table. */
static sdx_status place_origins(graph_loader *g) {
    uint32_t first = g->u->stored->node_count;
    for (uint32_t i = 0; i < g->origin_count; i++) {
        sdx_id id = sdx_module_add_node(g->module);
        if (id == SDX_NONE) return sdx_fail_memory(g->u->error, sizeof(sdx_node), "a node");
        *sdx_node_at(g->module, id) = g->origins[i];
        sdx_node_at(g->module, id)->origin = id;
    }
    for (uint32_t n = 0; n < first; n++) {
        sdx_node *node = sdx_node_at(g->module, n);
        node->origin += first;
        for (uint32_t i = 0; i < node->origin_count; i++)
            ((sdx_id *)(uintptr_t)node->origins)[i] += first;
        if (node->origin_count == 0) node->origins = NULL;
    }
    return SDX_STATUS_OK;
}

/* ---- graphs --------------------------------------------------------------------------------------- */

static sdx_status claim_inputs(graph_loader *g, sdx_id id) {
    const sdx_graph *graph = sdx_graph_at(g->module, id);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        sdx_value_def *value = sdx_value_at(g->module, graph->inputs[i]);
        if (value->producer != SDX_NONE || value->constant || value->is_input || value->graph != id)
            return sdx_unpack_fail(g->u, "input '%.64s' of graph '%.64s' comes from elsewhere",
                                   value->name, graph->name);
        value->is_input = true;
        const sdx_type *type = &value->type;
        for (int32_t d = 0; id == 0 && type->kind == SDX_KIND_TENSOR && d < type->rank; d++)
            if (sdx_expr_is_unknown(type->dims[d]))
                return sdx_unpack_fail(g->u, "dimension %d of input '%.64s' has no name", d,
                                       value->name);
    }
    return SDX_STATUS_OK;
}

/* Whether a value of one graph can be read in another: in its own and in those inside. */
static bool is_visible(const graph_loader *g, const sdx_value_def *value, sdx_id graph) {
    if (value->constant) return true;
    if (value->producer == SDX_NONE && !value->is_input) return false;
    while (graph > value->graph) /* a graph stands behind the one that it lies in */
        graph = sdx_node_at(g->module, sdx_graph_at(g->module, graph)->owner)->graph;
    return graph == value->graph;
}

static sdx_status check_reads(graph_loader *g) {
    for (uint32_t n = 0; n < g->u->stored->node_count; n++) {
        const sdx_node *node = sdx_node_at(g->module, n);
        for (uint32_t i = 0; i < node->input_count; i++) {
            if (node->inputs[i] == SDX_NONE) continue;
            const sdx_value_def *value = sdx_value_at(g->module, node->inputs[i]);
            if (!is_visible(g, value, node->graph))
                return sdx_unpack_fail(g->u, "node '%.64s' reads the value '%.64s', which is not "
                                             "there", node->name, value->name);
        }
    }
    for (size_t v = 0; v < g->module->values.count; v++) {
        const sdx_value_def *value = sdx_value_at(g->module, (sdx_id)v);
        if (!value->is_input && (value->fallback || value->type.kind != SDX_KIND_NONE))
            return sdx_unpack_fail(g->u, "the value '%.64s' is no input, but described as one",
                                   value->name);
    }
    return SDX_STATUS_OK;
}

/* Every graph but the first has an owner; so they are a tree. Counts its levels. */
static sdx_status check_tree(graph_loader *g) {
    uint32_t *depth = sdx_take_array(g->in, &g->module->arena, g->graph_count, sizeof *depth);
    SDX_TRY(sdx_unpack_check(g->u, "graphs"));
    for (sdx_id id = 1; id < g->graph_count; id++) {
        const sdx_graph *graph = sdx_graph_at(g->module, id);
        if (graph->owner == SDX_NONE)
            return sdx_unpack_fail(g->u, "graph '%.64s' belongs to no node", graph->name);
        depth[id] = depth[sdx_node_at(g->module, graph->owner)->graph] + 1;
        if (depth[id] > g->module->limits.max_depth)
            return sdx_fail(g->u->error, SDX_STATUS_LIMIT, "graphs are nested more than %u deep",
                            g->module->limits.max_depth);
    }
    return SDX_STATUS_OK;
}

static sdx_status list_nodes(graph_loader *g) {
    for (sdx_id id = 0; id < g->graph_count; id++) {
        sdx_graph *graph = sdx_graph_at(g->module, id);
        graph->nodes = sdx_take_array(g->in, &g->module->arena, g->node_counts[id],
                                      sizeof *graph->nodes);
        SDX_TRY(sdx_unpack_check(g->u, "graphs"));
    }
    for (uint32_t n = 0; n < g->u->stored->node_count; n++) {
        sdx_graph *graph = sdx_graph_at(g->module, sdx_node_at(g->module, n)->graph);
        graph->nodes[graph->node_count++] = n;
    }
    /* From the innermost out: what a subgraph reads counts for the node that owns it. */
    for (sdx_id id = g->graph_count; id-- > 0;)
        SDX_TRY(sdx_graph_sort(g->module, id, g->u->error));
    return SDX_STATUS_OK;
}

static sdx_status take_ends(graph_loader *g) {
    for (sdx_id id = 0; id < g->graph_count; id++) {
        sdx_graph *graph = sdx_graph_at(g->module, id);
        graph->inputs = take_ids(g, g->value_count, false, &graph->input_count);
        graph->outputs = take_ids(g, g->value_count, false, &graph->output_count);
        SDX_TRY(sdx_unpack_check(g->u, "graphs"));
        SDX_TRY(claim_inputs(g, id));
    }
    SDX_TRY(check_tree(g));
    for (sdx_id id = 0; id < g->graph_count; id++) {
        const sdx_graph *graph = sdx_graph_at(g->module, id);
        for (uint32_t i = 0; i < graph->output_count; i++) {
            sdx_value_def *value = sdx_value_at(g->module, graph->outputs[i]);
            if (!is_visible(g, value, id))
                return sdx_unpack_fail(g->u, "output '%.64s' of graph '%.64s' is not there",
                                       value->name, graph->name);
            if (value->graph == id) value->is_output = true;
        }
    }
    return check_reads(g);
}

static sdx_status take_tables(graph_loader *g) {
    sdx_arena *arena = &g->module->arena;
    g->origin_count = sdx_take_count(g->in, 4);
    g->origins = sdx_take_array(g->in, arena, g->origin_count, sizeof *g->origins);
    for (uint32_t i = 0; i < g->origin_count && !g->in->failed; i++) {
        sdx_node *node = &g->origins[i];
        node->name = sdx_take_text(g->in, arena, NULL);
        node->op_type = sdx_take_text(g->in, arena, NULL);
        node->domain = sdx_take_text(g->in, arena, NULL);
        node->version = sdx_take_signed(g->in);
        node->overload = "";
        node->dead = true;
        node->position = SDX_NO_POSITION;
        node->scratch = sdx_expr_const(0);
    }
    g->graph_count = sdx_take_count(g->in, 1);
    if (g->graph_count == 0) g->in->failed = true;
    for (uint32_t i = 0; i < g->graph_count && !g->in->failed; i++) {
        const char *name = sdx_take_text(g->in, arena, NULL);
        sdx_id id = sdx_module_add_graph(g->module);
        if (id == SDX_NONE) g->in->failed = g->in->no_memory = true;
        else sdx_graph_at(g->module, id)->name = name;
    }
    g->node_counts = sdx_take_array(g->in, arena, g->graph_count, sizeof *g->node_counts);
    g->value_count = sdx_take_count(g->in, 3);
    for (uint32_t i = 0; i < g->value_count && !g->in->failed; i++) take_value(g);
    return sdx_unpack_check(g->u, "values");
}

sdx_status sdx_load_packed_graph(sdx_unpacker *u) {
    graph_loader g = {.u = u, .module = u->module, .in = &u->in};
    SDX_TRY(take_tables(&g));
    uint32_t count = sdx_take_count(&u->in, 12);
    uint64_t most = u->module->limits.max_nodes;
    if ((uint64_t)count > most || g.origin_count > most)
        return sdx_fail(u->error, SDX_STATUS_LIMIT, "the model has more than %llu nodes",
                        (unsigned long long)most);
    u->stored->node_count = count;
    u->stored->chosen =
        sdx_take_array(&u->in, &u->module->arena, count, sizeof *u->stored->chosen);
    SDX_TRY(sdx_unpack_check(u, "nodes"));
    for (uint32_t i = 0; i < count; i++) SDX_TRY(take_node(&g));
    SDX_TRY(take_ends(&g));
    SDX_TRY(place_origins(&g));
    return list_nodes(&g);
}
