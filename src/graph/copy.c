/* copy.c - a module of a program's own, made from the model's: passes rewrite it and lowering adds
 * expressions to its pool, while the model, which threads share, stays as it is. */
#include <string.h>

#include "base/checked.h"
#include "graph/graph.h"

typedef struct copier {
    const sdx_module *from;
    sdx_module *to;
    sdx_expr *map; /* by index in the pool of `from` */
    sdx_id *edges; /* what is left of one array for all lists of indices */
    bool failed;   /* out of memory */
} copier;

/* ---- expressions ----------------------------------------------------------------------------- */

static bool is_pooled(sdx_expr e) { return !sdx_expr_is_const(e) && !sdx_expr_is_unknown(e); }

static sdx_expr mapped(const copier *c, sdx_expr e) {
    return is_pooled(e) ? c->map[e.word >> 1] : e;
}

/* Numbers need no pool: a list of them alone is shared. */
static const sdx_expr *copy_exprs(copier *c, const sdx_expr *exprs, size_t count) {
    bool pooled = false;
    for (size_t i = 0; i < count; i++) pooled |= is_pooled(exprs[i]);
    if (!pooled) return exprs;
    sdx_expr *copy = sdx_arena_array(&c->to->arena, count, sizeof *copy);
    c->failed |= !copy;
    for (size_t i = 0; copy && i < count; i++) copy[i] = mapped(c, exprs[i]);
    return copy;
}

static bool has_pooled(const sdx_type *type) {
    for (; type; type = type->inner)
        for (int32_t i = 0; type->dims && i < type->rank; i++)
            if (is_pooled(type->dims[i])) return true;
    return false;
}

static const sdx_type *copy_type(copier *c, const sdx_type *type);

static void copy_type_into(copier *c, sdx_type *type) {
    if (type->dims && type->rank > 0) type->dims = copy_exprs(c, type->dims, (size_t)type->rank);
    type->inner = copy_type(c, type->inner);
}

/* Nesting is bounded by the loader's limit on depth. */
static const sdx_type *copy_type(copier *c, const sdx_type *type) {
    if (!type || !has_pooled(type)) return type;
    sdx_type *copy = sdx_arena_alloc(&c->to->arena, sizeof *copy);
    c->failed |= !copy;
    if (!copy) return NULL;
    *copy = *type;
    copy_type_into(c, copy);
    return copy;
}

static sdx_status copy_pool(copier *c, const int64_t *fixed, sdx_error *error) {
    const sdx_expr_pool *from = c->from->pool;
    SDX_TRY(sdx_expr_rebuild(from, fixed, c->to->pool, c->map, error));
    for (size_t i = 1; fixed && i < sdx_expr_pool_size(from); i++) {
        if (!sdx_expr_is_unknown(c->map[i])) continue;
        char text[256];
        sdx_expr_text(from, (sdx_expr){(int64_t)i * 2}, text, sizeof text);
        c->map[i] = sdx_expr_symbol(c->to->pool, text, strlen(text));
    }
    return SDX_STATUS_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void copy_table(copier *c, sdx_vector *to, const sdx_vector *from, size_t element) {
    size_t bytes = from->count * element; /* as much as there is already */
    if (from->count == 0) return;
    to->data = sdx_alloc(c->to->allocator, bytes, _Alignof(max_align_t));
    c->failed |= !to->data;
    if (!to->data) return;
    memcpy(to->data, from->data, bytes);
    to->count = to->capacity = from->count;
}

static void copy_list(copier *c, sdx_id **list, uint32_t count) {
    if (count) memcpy(c->edges, *list, count * sizeof **list);
    *list = c->edges;
    c->edges += count;
}

static size_t count_edges(const sdx_module *from) {
    size_t total = 0;
    for (size_t i = 0; i < from->nodes.count; i++) {
        const sdx_node *node = sdx_node_at(from, (sdx_id)i);
        total += (size_t)node->input_count + node->output_count;
    }
    for (size_t i = 0; i < from->graphs.count; i++) {
        const sdx_graph *graph = sdx_graph_at(from, (sdx_id)i);
        total += (size_t)graph->input_count + graph->output_count + graph->node_count +
                 graph->capture_count;
    }
    return total;
}

static void copy_values(copier *c) {
    for (size_t i = 0; i < c->to->values.count; i++) {
        sdx_value_def *value = sdx_value_at(c->to, (sdx_id)i);
        copy_type_into(c, &value->type);
        value->declared = copy_type(c, value->declared);
        if (value->contents)
            value->contents = copy_exprs(c, value->contents, value->content_count);
        value->run_start = mapped(c, value->run_start);
    }
}

static void copy_lists(copier *c) {
    for (size_t i = 0; i < c->to->nodes.count; i++) {
        sdx_node *node = sdx_node_at(c->to, (sdx_id)i);
        copy_list(c, &node->inputs, node->input_count);
        copy_list(c, &node->outputs, node->output_count);
        node->scratch = mapped(c, node->scratch);
        if (c->from->packed) continue; /* they know better */
        node->origin = (sdx_id)i;
        node->origins = NULL;
        node->origin_count = 0;
    }
    for (size_t i = 0; i < c->to->graphs.count; i++) {
        sdx_graph *graph = sdx_graph_at(c->to, (sdx_id)i);
        copy_list(c, &graph->inputs, graph->input_count);
        copy_list(c, &graph->outputs, graph->output_count);
        copy_list(c, &graph->nodes, graph->node_count);
        copy_list(c, &graph->captures, graph->capture_count);
    }
    sdx_constraint *constraints = c->to->constraints.data;
    for (size_t i = 0; i < c->to->constraints.count; i++) {
        constraints[i].a = mapped(c, constraints[i].a);
        constraints[i].b = mapped(c, constraints[i].b);
    }
}

static sdx_status copy_tables(copier *c, sdx_error *error) {
    const sdx_module *from = c->from;
    copy_table(c, &c->to->values, &from->values, sizeof(sdx_value_def));
    copy_table(c, &c->to->nodes, &from->nodes, sizeof(sdx_node));
    copy_table(c, &c->to->graphs, &from->graphs, sizeof(sdx_graph));
    copy_table(c, &c->to->constraints, &from->constraints, sizeof(sdx_constraint));
    c->edges = sdx_arena_array(&c->to->arena, count_edges(from) + 1, sizeof *c->edges);
    if (c->failed || !c->edges) return sdx_fail_memory(error, 0, "the program");
    copy_values(c);
    copy_lists(c);
    return c->failed ? sdx_fail_memory(error, 0, "the program") : SDX_STATUS_OK;
}

/* What the file says of itself. */
static void copy_header(sdx_module *to, const sdx_module *from) {
    to->ir_version = from->ir_version;
    to->model_version = from->model_version;
    to->producer_name = from->producer_name;
    to->producer_version = from->producer_version;
    to->domain = from->domain;
    to->doc = from->doc;
    to->opsets = from->opsets;
    to->opset_count = from->opset_count;
    to->metadata = from->metadata;
    to->metadata_count = from->metadata_count;
    to->function_count = from->function_count;
    to->packed = from->packed;
}

sdx_status sdx_module_copy(const sdx_module *from, const sdx_allocator *allocator,
                           const int64_t *fixed, sdx_module **out, sdx_error *error) {
    copier c = {.from = from};
    size_t map_bytes;
    *out = NULL;
    SDX_TRY(sdx_module_create(allocator, &from->limits, from->log, &c.to, error));
    copy_header(c.to, from);
    sdx_status status = SDX_STATUS_OK;
    if (sdx_size_mul(sdx_expr_pool_size(from->pool) + 1, sizeof *c.map, &map_bytes))
        c.map = sdx_alloc(c.to->allocator, map_bytes, _Alignof(sdx_expr));
    if (!c.map) status = sdx_fail_memory(error, 0, "the program");
    if (status == SDX_STATUS_OK) status = copy_pool(&c, fixed, error);
    if (status == SDX_STATUS_OK) status = copy_tables(&c, error);
    if (c.map) sdx_free(c.to->allocator, c.map, map_bytes);
    if (status != SDX_STATUS_OK) sdx_module_release(c.to);
    else *out = c.to;
    return status;
}
