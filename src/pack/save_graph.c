/* save_graph.c - the graph of a packed file: expressions, types, values, nodes with their attributes and
 * origins, graphs. load_graph.c reads it. */
#include <string.h>

#include "graph/expr_internal.h"
#include "pack/save.h"

/* ---- expressions ------------------------------------------------------------------------------- */

static void define(sdx_saver *s, uint32_t index);

/* Nesting is bounded by SDX_EXPR_NESTING. */
static uint32_t number_of(sdx_saver *s, uint32_t index) {
    if (!s->expr_number[index]) define(s, index);
    return s->expr_number[index] - 1;
}

void sdx_save_expr(sdx_saver *s, sdx_sink *out, sdx_expr e) {
    if (sdx_expr_is_unknown(e)) {
        sdx_put_number(out, SDX_REF_UNKNOWN);
    } else if (sdx_expr_is_const(e)) {
        sdx_put_number(out, SDX_REF_NUMBER);
        sdx_put_signed(out, sdx_expr_value(e));
    } else {
        uint32_t number = number_of(s, sdx_expr_index(e));
        sdx_put_number(out, SDX_REF_POOLED);
        sdx_put_number(out, number);
    }
}

static void define_sum(sdx_saver *s, const sdx_expr_entry *entry) {
    const sdx_expr_pool *pool = s->module->pool;
    uint32_t terms = 0;
    for (uint32_t at = 0; at < entry->count; at += 3 + pool->words[entry->first + at + 2]) {
        const uint32_t *word = pool->words + entry->first + at;
        for (uint32_t i = 0; i < word[2]; i++) number_of(s, word[3 + i]);
        terms++;
    }
    sdx_put_number(&s->exprs, entry->kind);
    sdx_put_number(&s->exprs, terms);
    for (uint32_t at = 0; at < entry->count; at += 3 + pool->words[entry->first + at + 2]) {
        const uint32_t *word = pool->words + entry->first + at;
        int64_t coefficient;
        memcpy(&coefficient, word, sizeof coefficient);
        sdx_put_signed(&s->exprs, coefficient);
        sdx_put_number(&s->exprs, word[2]);
        for (uint32_t i = 0; i < word[2]; i++)
            sdx_put_number(&s->exprs, number_of(s, word[3 + i]));
    }
}

static void define(sdx_saver *s, uint32_t index) {
    const sdx_expr_pool *pool = s->module->pool;
    const sdx_expr_entry *entry = sdx_pool_entry(pool, index);
    if (entry->kind == SDX_EXPR_KIND_SYMBOL) {
        const sdx_expr_name *name = &pool->symbols[entry->first];
        sdx_put_number(&s->exprs, entry->kind);
        sdx_put_string(&s->exprs, name->text, name->size);
    } else if (entry->kind == SDX_EXPR_KIND_SUM) {
        define_sum(s, entry);
    } else {
        size_t count = sdx_entry_operands(entry);
        for (size_t i = 0; i < count; i++) {
            sdx_expr operand = sdx_entry_operand(pool, entry, i);
            if (!sdx_expr_is_const(operand)) number_of(s, sdx_expr_index(operand));
        }
        sdx_put_number(&s->exprs, entry->kind);
        sdx_put_number(&s->exprs, count);
        for (size_t i = 0; i < count; i++)
            sdx_save_expr(s, &s->exprs, sdx_entry_operand(pool, entry, i));
    }
    s->expr_number[index] = ++s->expr_count;
}

/* ---- types and constants ------------------------------------------------------------------------ */

/* Nesting is bounded by the loader's limit on depth. */
static void save_type(sdx_saver *s, const sdx_type *type) {
    sdx_sink *out = &s->graph;
    sdx_put_number(out, type->kind);
    sdx_put_number(out, type->dtype);
    sdx_put_number(out, (uint64_t)((int64_t)type->rank + 1));
    for (int32_t i = 0; i < type->rank; i++) sdx_save_expr(s, out, type->dims[i]);
    sdx_put_number(out, type->inner != NULL);
    if (type->inner) save_type(s, type->inner);
}

uint32_t sdx_save_constant(sdx_saver *s, const sdx_const *constant) {
    uint32_t number =
        sdx_map_get(&s->constant_map, (const char *)&constant, sizeof constant);
    if (number != SDX_MAP_NONE) return number;
    const sdx_const **key = sdx_arena_alloc(&s->scratch, sizeof *key);
    const sdx_const **slot =
        key ? sdx_vector_push(&s->constant_list, s->allocator, sizeof *slot) : NULL;
    if (!slot) {
        s->graph.failed = true;
        return 0;
    }
    *key = *slot = constant;
    number = (uint32_t)s->constant_list.count - 1;
    if (!sdx_map_put(&s->constant_map, (const char *)key, sizeof *key, number))
        s->graph.failed = true;
    return number;
}

/* ---- values, nodes, graphs ----------------------------------------------------------------------- */

static void save_ids(sdx_saver *s, const sdx_renumber *table, const sdx_id *list, size_t count) {
    sdx_put_number(&s->graph, count);
    for (size_t i = 0; i < count; i++)
        sdx_put_number(&s->graph, list[i] == SDX_NONE ? 0 : table->number[list[i]]);
}

static void save_values(sdx_saver *s) {
    sdx_sink *out = &s->graph;
    sdx_put_number(out, s->values.count);
    for (uint32_t v = 0; v < s->values.count; v++) {
        const sdx_value_def *value = sdx_value_at(s->module, s->values.list[v]);
        bool typed = value->is_input && value->type.kind != SDX_KIND_NONE && value->graph == 0;
        sdx_put_text(out, value->name);
        sdx_put_number(out, s->graphs.number[value->graph] ? s->graphs.number[value->graph] - 1
                                                          : 0); /* a constant of a graph that went */
        sdx_put_number(out, (value->constant ? SDX_VALUE_CONSTANT : 0u) |
                                (value->fallback ? SDX_VALUE_FALLBACK : 0u) |
                                (value->declared ? SDX_VALUE_DECLARED : 0u) |
                                (typed ? SDX_VALUE_TYPE : 0u));
        if (value->constant) sdx_put_number(out, sdx_save_constant(s, value->constant));
        if (value->fallback) sdx_put_number(out, sdx_save_constant(s, value->fallback));
        if (value->declared) save_type(s, value->declared);
        if (typed) save_type(s, &value->type);
    }
}

static sdx_status save_attr(sdx_saver *s, const sdx_attr *attr) {
    sdx_sink *out = &s->graph;
    sdx_put_text(out, attr->name);
    sdx_put_number(out, attr->kind);
    sdx_put_number(out, attr->count);
    for (size_t i = 0; i < attr->count; i++) {
        switch (attr->kind) {
        case SDX_ATTR_INT:
        case SDX_ATTR_INTS: sdx_put_signed(out, attr->as.ints[i]); break;
        case SDX_ATTR_FLOAT:
        case SDX_ATTR_FLOATS: sdx_put_float(out, attr->as.floats[i]); break;
        case SDX_ATTR_STRING:
        case SDX_ATTR_STRINGS:
            sdx_put_string(out, attr->as.strings[i].data, attr->as.strings[i].size);
            break;
        case SDX_ATTR_TENSOR:
        case SDX_ATTR_TENSORS:
            sdx_put_number(out, sdx_save_constant(s, attr->as.tensors[i]));
            break;
        case SDX_ATTR_GRAPH:
        case SDX_ATTR_GRAPHS:
            sdx_put_number(out, s->graphs.number[attr->as.graphs[i]] - 1);
            break;
        case SDX_ATTR_VALUES: sdx_put_number(out, s->values.number[attr->as.values[i]]); break;
        case SDX_ATTR_EXPRS: sdx_save_expr(s, out, attr->as.exprs[i]); break;
        case SDX_ATTR_TYPE:
        case SDX_ATTR_TYPES: save_type(s, attr->as.types[i]); break;
        default:
            return sdx_fail(s->error, SDX_STATUS_UNSUPPORTED,
                            "the attribute '%.64s' is of a kind that cannot be packed", attr->name);
        }
    }
    return SDX_STATUS_OK;
}

static void save_origins(sdx_saver *s, const sdx_node *node) {
    const sdx_id *list = node->origins ? node->origins : &node->origin;
    uint32_t count = node->origins ? node->origin_count : 1;
    sdx_put_number(&s->graph, s->origins.number[node->origin] - 1);
    save_ids(s, &s->origins, list, count);
}

static sdx_status save_nodes(sdx_saver *s) {
    sdx_sink *out = &s->graph;
    sdx_put_number(out, s->nodes.count);
    for (uint32_t n = 0; n < s->nodes.count; n++) {
        const sdx_node *node = sdx_node_at(s->module, s->nodes.list[n]);
        sdx_put_text(out, node->name);
        sdx_put_text(out, node->op_type);
        sdx_put_text(out, node->domain);
        sdx_put_text(out, node->overload);
        sdx_put_signed(out, node->version);
        sdx_put_number(out, s->graphs.number[node->graph] - 1);
        sdx_put_number(out, s->program->chosen[s->nodes.list[n]]);
        save_ids(s, &s->values, node->inputs, node->input_count);
        save_ids(s, &s->values, node->outputs, node->output_count);
        save_origins(s, node);
        sdx_put_number(out, node->attr_count);
        for (uint32_t a = 0; a < node->attr_count; a++) {
            sdx_status status = save_attr(s, &node->attrs[a]);
            if (status == SDX_STATUS_OK) continue;
            sdx_program_blame(s->program, node, s->error);
            return status;
        }
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_save_graph(sdx_saver *s) {
    sdx_sink *out = &s->graph;
    const sdx_module *model = s->program->model->module;
    /* Symbols first, in their order: the reader then gives them the same numbers. */
    for (size_t i = 0; i < s->module->pool->symbol_count; i++)
        number_of(s, s->module->pool->symbols[i].entry);
    sdx_put_number(out, s->origins.count);
    for (uint32_t i = 0; i < s->origins.count; i++) {
        const sdx_node *node = sdx_node_at(model, s->origins.list[i]);
        sdx_put_text(out, node->name);
        sdx_put_text(out, node->op_type);
        sdx_put_text(out, node->domain);
        sdx_put_signed(out, node->version);
    }
    sdx_put_number(out, s->graphs.count);
    for (uint32_t g = 0; g < s->graphs.count; g++)
        sdx_put_text(out, sdx_graph_at(s->module, s->graphs.list[g])->name);
    save_values(s);
    SDX_TRY(save_nodes(s));
    for (uint32_t g = 0; g < s->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(s->module, s->graphs.list[g]);
        save_ids(s, &s->values, graph->inputs, graph->input_count);
        save_ids(s, &s->values, graph->outputs, graph->output_count);
    }
    return out->failed || s->exprs.failed ? sdx_save_no_memory(s) : SDX_STATUS_OK;
}
