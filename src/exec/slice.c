/* slice.c - whether a batch may be run in slices: follows the samples from the inputs through every node
 * to the outputs. See slice.h. */
#include "exec/slice.h"

#include <stdio.h>
#include <string.h>

#define MOST_CANDIDATES 4 /* symbols that are tried */

static void give_reason(sdx_slice *slice, uint32_t node, const char *text) {
    snprintf(slice->reason, sizeof slice->reason, "%s", text);
    slice->node = node;
}

/* ---- which nodes count -------------------------------------------------------------------------- */

/* Marks the nodes of the main graph that lead to an output; the list is in order, so that one walk
 * backwards sees a node after all its readers. */
static void mark_needed(const sdx_module *module, uint8_t *needed) {
    const sdx_graph *graph = sdx_graph_at(module, 0);
    for (uint32_t i = 0; i < graph->output_count; i++) {
        sdx_id maker = sdx_value_at(module, graph->outputs[i])->producer;
        if (maker != SDX_NONE) needed[maker] = 1;
    }
    for (uint32_t n = graph->node_count; n-- > 0;) {
        const sdx_node *node = sdx_node_at(module, graph->nodes[n]);
        if (!needed[graph->nodes[n]]) continue;
        for (uint32_t i = 0; i < node->input_count; i++) {
            if (node->inputs[i] == SDX_NONE) continue;
            sdx_id maker = sdx_value_at(module, node->inputs[i])->producer;
            if (maker != SDX_NONE) needed[maker] = 1;
        }
    }
}

/* ---- one symbol ---------------------------------------------------------------------------------- */

static bool spread_inputs(sdx_slicing *s, sdx_slice *slice) {
    const sdx_graph *graph = sdx_graph_at(s->module, 0);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const sdx_value_def *input = sdx_value_at(s->module, graph->inputs[i]);
        sdx_spread spread = {.kind = SDX_SPREAD_SAME};
        slice->inputs[i] = false;
        for (int32_t d = 0; input->type.kind == SDX_KIND_TENSOR && d < input->type.rank; d++) {
            if (!sdx_expr_uses(s->module->pool, input->type.dims[d], s->symbol)) continue;
            sdx_expr each = sdx_expr_divide_exact(s->module->pool, input->type.dims[d], s->batch);
            if (d != 0 || sdx_expr_is_unknown(each) ||
                sdx_expr_uses(s->module->pool, each, s->symbol)) {
                snprintf(s->reason, sizeof s->reason,
                         "input '%.64s' does not have its samples along the first axis",
                         input->name);
                return false;
            }
            spread = (sdx_spread){SDX_SPREAD_AXIS, 0, sdx_expr_const(1)};
            slice->inputs[i] = true;
        }
        s->spreads[graph->inputs[i]] = spread;
    }
    return true;
}

static bool check_outputs(sdx_slicing *s) {
    const sdx_graph *graph = sdx_graph_at(s->module, 0);
    for (uint32_t i = 0; i < graph->output_count; i++) {
        const sdx_spread *spread = &s->spreads[graph->outputs[i]];
        const sdx_value_def *output = sdx_value_at(s->module, graph->outputs[i]);
        if (spread->kind == SDX_SPREAD_AXIS && spread->axis == 0 && sdx_expr_is(spread->outer, 1))
            continue;
        snprintf(s->reason, sizeof s->reason,
                 "output '%.64s' does not have its samples along the first axis", output->name);
        return false;
    }
    return true;
}

/* A size that must equal the batch's would be compared with the slice's. */
static bool check_constraints(sdx_slicing *s, const uint8_t *needed, uint32_t *node) {
    const sdx_constraint *constraints = s->module->constraints.data;
    for (size_t i = 0; i < s->module->constraints.count; i++) {
        const sdx_constraint *c = &constraints[i];
        if (!needed[c->node] || (!sdx_expr_uses(s->module->pool, c->a, s->symbol) &&
                                 !sdx_expr_uses(s->module->pool, c->b, s->symbol)))
            continue;
        snprintf(s->reason, sizeof s->reason, "the batch must agree with another size: %.80s",
                 c->what);
        *node = c->node;
        return false;
    }
    return true;
}

static bool follow(sdx_slicing *s, sdx_slice *slice, uint8_t *needed) {
    const sdx_graph *graph = sdx_graph_at(s->module, 0);
    uint32_t node = SDX_NO_INDEX;
    mark_needed(s->module, needed);
    for (size_t v = 0; v < s->module->values.count; v++)
        if (sdx_value_at(s->module, (sdx_id)v)->constant)
            s->spreads[v].kind = SDX_SPREAD_SAME;
    bool good = spread_inputs(s, slice);
    for (uint32_t i = 0; good && i < graph->node_count; i++) {
        if (!needed[graph->nodes[i]]) continue;
        good = sdx_slice_node(s, sdx_node_at(s->module, graph->nodes[i]));
        if (!good) node = graph->nodes[i];
    }
    good = good && check_outputs(s) && check_constraints(s, needed, &node);
    if (good) return true;
    if (node == SDX_NO_INDEX) {
        give_reason(slice, node, s->reason);
        return false;
    }
    const sdx_node *blamed = sdx_node_at(s->module, node);
    slice->node = node;
    snprintf(slice->reason, sizeof slice->reason, "node '%.64s' (%.32s): %s", blamed->name,
             blamed->op_type, s->reason);
    return false;
}

/* In a copy of the model, since expressions are made on the way. */
static sdx_status try_symbol(sdx_program *program, const int64_t *fixed, size_t symbol, bool *good,
                             sdx_error *error) {
    const sdx_module *from = program->model->module;
    size_t symbols = sdx_expr_symbol_count(from->pool);
    sdx_arena memory;
    sdx_module *module = NULL;
    sdx_arena_init(&memory, program->allocator, 0);
    int64_t *sizes = sdx_arena_array(&memory, symbols + 1, sizeof *sizes);
    uint8_t *needed = sdx_arena_array(&memory, from->nodes.count + 1, 1);
    sdx_spread *spreads = sdx_arena_array(&memory, from->values.count + 1, sizeof *spreads);
    sdx_status status = SDX_STATUS_OK;
    if (!sizes || !needed || !spreads) status = sdx_fail_memory(error, 0, "the program");
    if (status == SDX_STATUS_OK) {
        memcpy(sizes, fixed, symbols * sizeof *sizes);
        sizes[symbol] = -1;
        status = sdx_module_copy(from, program->allocator, sizes, &module, error);
    }
    if (status == SDX_STATUS_OK) {
        const char *name = sdx_expr_symbol_name(module->pool, symbol);
        sdx_slicing s = {.module = module, .symbol = symbol, .spreads = spreads,
                         .batch = sdx_expr_symbol(module->pool, name, strlen(name))};
        *good = follow(&s, &program->slice, needed);
    }
    sdx_module_release(module);
    sdx_arena_free(&memory);
    return status;
}

/* ---- all candidates -------------------------------------------------------------------------------- */

/* Symbols that are the first dim of an input of more than one. */
static size_t find_candidates(const sdx_module *module, size_t *symbols) {
    const sdx_graph *graph = sdx_graph_at(module, 0);
    size_t count = 0;
    for (uint32_t i = 0; i < graph->input_count && count < MOST_CANDIDATES; i++) {
        const sdx_type *type = &sdx_value_at(module, graph->inputs[i])->type;
        if (type->kind != SDX_KIND_TENSOR || type->rank < 1) continue;
        size_t symbol = sdx_expr_symbol_index(module->pool, type->dims[0]);
        bool known = symbol == SIZE_MAX;
        for (size_t k = 0; k < count; k++) known |= symbols[k] == symbol;
        if (!known) symbols[count++] = symbol;
    }
    return count;
}

sdx_status sdx_slice_find(sdx_program *program, const int64_t *fixed, sdx_error *error) {
    const sdx_module *module = program->model->module;
    sdx_slice *slice = &program->slice;
    size_t symbols[MOST_CANDIDATES], count = find_candidates(module, symbols);
    slice->symbol = SIZE_MAX;
    slice->fixed = -1;
    give_reason(slice, SDX_NO_INDEX, "no input has an open size as its first");
    slice->inputs = sdx_arena_array(&program->arena,
                                    (size_t)sdx_graph_at(module, 0)->input_count + 1, sizeof(bool));
    if (!slice->inputs) return sdx_fail_memory(error, 0, "the program");
    if (slice->wanted < 0) {
        give_reason(slice, SDX_NO_INDEX, "switched off");
        return SDX_STATUS_OK;
    }
    /* Products that are not packed take another way for a few rows, and sum in another order. */
    if (slice->wanted == 0 && program->optimize < 2) {
        give_reason(slice, SDX_NO_INDEX, "at this optimisation level sums depend on the batch");
        return SDX_STATUS_OK;
    }
    bool explained = false;
    for (size_t i = 0; i < count; i++) {
        if (fixed[symbols[i]] >= 0 && fixed[symbols[i]] < 2) {
            if (!explained) give_reason(slice, SDX_NO_INDEX, "the batch is one sample");
            continue;
        }
        sdx_slice before = *slice;
        bool good = false;
        SDX_TRY(try_symbol(program, fixed, symbols[i], &good, error));
        if (good) {
            slice->symbol = symbols[i];
            slice->fixed = fixed[symbols[i]];
            give_reason(slice, SDX_NO_INDEX, "");
            return SDX_STATUS_OK;
        }
        if (explained) *slice = before; /* the first candidate's reason says most */
        explained = true;
    }
    return SDX_STATUS_OK;
}
