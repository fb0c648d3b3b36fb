/* save_collect.c - what of a program's module goes into a packed file: the graphs that its steps lead to, the
 * steps as nodes in the order in which they run, the values that those touch, and the model's nodes that
 * they stand for. Values keep their order, so that the planner, which goes by it where all else is equal,
 * sees the same problem again. */
#include "pack/save.h"

static bool make_table(sdx_saver *s, sdx_renumber *table, size_t count) {
    table->list = sdx_arena_array(&s->scratch, count + 1, sizeof(sdx_id));
    table->number = sdx_arena_array(&s->scratch, count + 1, sizeof(uint32_t));
    return table->list && table->number;
}

static void add(sdx_renumber *table, sdx_id id) {
    if (table->number[id]) return;
    table->list[table->count++] = id;
    table->number[id] = table->count;
}

/* A graph's nodes, then, in turn, those of the graphs that they hold. */
static void collect_graphs(sdx_saver *s) {
    add(&s->graphs, 0);
    for (uint32_t g = 0; g < s->graphs.count; g++) {
        const sdx_block *block = &s->program->blocks[s->graphs.list[g]];
        for (uint32_t i = 0; i < block->step_count; i++) {
            const sdx_node *node = block->steps[i].node;
            add(&s->nodes, block->steps[i].id);
            for (uint32_t a = 0; a < node->attr_count; a++) {
                const sdx_attr *attr = &node->attrs[a];
                if (attr->kind != SDX_ATTR_GRAPH && attr->kind != SDX_ATTR_GRAPHS) continue;
                for (size_t k = 0; k < attr->count; k++) add(&s->graphs, attr->as.graphs[k]);
            }
        }
    }
}

static void mark_list(uint8_t *used, const sdx_id *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (list[i] != SDX_NONE) used[list[i]] = 1;
}

static void collect_values(sdx_saver *s, uint8_t *used) {
    for (uint32_t g = 0; g < s->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(s->module, s->graphs.list[g]);
        mark_list(used, graph->inputs, graph->input_count);
        mark_list(used, graph->outputs, graph->output_count);
    }
    for (uint32_t n = 0; n < s->nodes.count; n++) {
        const sdx_node *node = sdx_node_at(s->module, s->nodes.list[n]);
        mark_list(used, node->inputs, node->input_count);
        mark_list(used, node->outputs, node->output_count);
        for (uint32_t a = 0; a < node->attr_count; a++)
            if (node->attrs[a].kind == SDX_ATTR_VALUES)
                mark_list(used, node->attrs[a].as.values, node->attrs[a].count);
    }
    for (size_t v = 0; v < s->module->values.count; v++)
        if (used[v]) add(&s->values, (sdx_id)v);
}

static void collect_origins(sdx_saver *s) {
    for (uint32_t n = 0; n < s->nodes.count; n++) {
        const sdx_node *node = sdx_node_at(s->module, s->nodes.list[n]);
        add(&s->origins, node->origin);
        for (uint32_t i = 0; i < node->origin_count; i++) add(&s->origins, node->origins[i]);
    }
    if (s->program->slice.node != SDX_NO_INDEX) add(&s->origins, s->program->slice.node);
}

sdx_status sdx_save_collect(sdx_saver *s) {
    const sdx_module *module = s->module;
    size_t values = module->values.count;
    uint8_t *used = sdx_arena_array(&s->scratch, values + 1, 1);
    s->taken = sdx_arena_array(&s->scratch, values + 1, 1);
    s->plain = sdx_arena_array(&s->scratch, values + 1, 1);
    s->expr_number = sdx_arena_array(&s->scratch, sdx_expr_pool_size(module->pool) + 1,
                                     sizeof(uint32_t));
    if (!used || !s->taken || !s->plain || !s->expr_number ||
        !make_table(s, &s->graphs, module->graphs.count) ||
        !make_table(s, &s->nodes, module->nodes.count) ||
        !make_table(s, &s->values, values) ||
        !make_table(s, &s->origins, s->program->model->module->nodes.count))
        return sdx_save_no_memory(s);
    collect_graphs(s);
    collect_values(s, used);
    collect_origins(s);
    return SDX_STATUS_OK;
}
