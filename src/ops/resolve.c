/* resolve.c - finds each node's operator in the registry, checks its arity, and lets it prepare its
 * parameters. Unsupported things are collected, so that `inspect` can list them all. */
#include "ops/resolve.h"

#include <string.h>

sdx_status sdx_add_problem(sdx_module *module, const sdx_error *problem, sdx_error *error) {
    sdx_error *slot = sdx_vector_push(&module->problems, module->allocator, sizeof *slot);
    if (!slot) return sdx_fail_memory(error, sizeof *slot, "the list of problems");
    *slot = *problem;
    return SDX_STATUS_OK;
}

static sdx_status check_arity(const sdx_node *node, const sdx_op_def *def, sdx_error *error) {
    uint32_t inputs = node->input_count, outputs = node->output_count;
    /* Trailing inputs that are left out count as absent. */
    while (inputs && node->inputs[inputs - 1] == SDX_NONE) inputs--;
    if (inputs < def->min_in || (def->max_in != SDX_VARIADIC && inputs > def->max_in))
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, node->position,
                           def->max_in == SDX_VARIADIC ? "%u inputs, expected at least %u"
                           : def->min_in == def->max_in ? "%u inputs, expected %u"
                                                        : "%u inputs, expected %u to %u",
                           inputs, def->min_in, def->max_in);
    for (uint32_t i = 0; i < def->min_in; i++)
        if (node->inputs[i] == SDX_NONE)
            return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, node->position,
                               "input %u is required but left out", i);
    if (outputs < def->min_out || (def->max_out != SDX_VARIADIC && outputs > def->max_out))
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, node->position,
                           def->min_out == def->max_out ? "%u outputs, expected %u"
                                                        : "%u outputs, expected %u to %u",
                           outputs, def->min_out, def->max_out);
    return SDX_STATUS_OK;
}

/* An output that the operator always makes is made even if the model gives it no name, so that
 * bodies have a place to put it. */
static sdx_status name_outputs(sdx_module *module, sdx_node *node, const sdx_op_def *def,
                               sdx_error *error) {
    for (uint32_t i = 0; i < def->min_out; i++) {
        if (node->outputs[i] != SDX_NONE) continue;
        const char *name = sdx_arena_printf(&module->arena, "%.64s:%u", node->name, i);
        sdx_id id = name ? sdx_module_add_value(module, name, node->graph) : SDX_NONE;
        if (id == SDX_NONE) return sdx_fail_memory(error, sizeof(sdx_value_def), "a value");
        sdx_value_at(module, id)->producer = (sdx_id)(node - sdx_node_at(module, 0));
        sdx_value_at(module, id)->output_index = i;
        node->outputs[i] = id;
    }
    return SDX_STATUS_OK;
}

static sdx_status prepare(sdx_module *module, sdx_node *node, sdx_error *error) {
    const sdx_op_def *def = node->op->def;
    SDX_TRY(check_arity(node, def, error));
    SDX_TRY(name_outputs(module, node, def, error));
    sdx_prep prep = {.module = module, .node = node, .def = def, .version = node->version,
                     .arena = &module->arena, .error = error};
    if (node->attr_count > 64)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, node->position,
                           "%u attributes; no operator has that many", node->attr_count);
    if (def->params_size) {
        prep.params = sdx_arena_alloc(&module->arena, def->params_size);
        if (!prep.params) return sdx_fail_memory(error, def->params_size, "parameters");
    }
    if (def->prepare) SDX_TRY(def->prepare(&prep));
    sdx_attr_ignore(&prep, "consumed_inputs"); /* opset 1 relic of many operators */
    for (uint32_t i = 0; i < node->attr_count; i++)
        if (!(prep.seen >> i & 1u))
            return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, node->position,
                               "unknown attribute '%.64s'", node->attrs[i].name);
    node->params = prep.params;
    return SDX_STATUS_OK;
}

/* `made`: by a pass, which may use what no file can name. */
static sdx_status resolve(sdx_module *module, sdx_node *node, bool made, sdx_error *error) {
    if (made && strcmp(node->domain, SDX_DOMAIN_FUSED) == 0)
        node->op = sdx_op_find_fused(node->op_type);
    else
        node->op = sdx_op_find(node->domain, node->op_type, node->version);
    node->scratch = sdx_expr_const(0);
    if (!node->op) {
        char text[400];
        sdx_op_explain_missing(node->domain, node->op_type, node->version, text, sizeof text);
        return sdx_fail_at(error, SDX_STATUS_UNSUPPORTED, node->position, "%s", text);
    }
    return prepare(module, node, error);
}

static sdx_status resolve_named(sdx_module *module, sdx_id id, bool made, sdx_error *error) {
    sdx_node *node = sdx_node_at(module, id);
    sdx_status status = resolve(module, node, made, error);
    if (status != SDX_STATUS_OK) sdx_error_set_node(error, node->name, node->op_type);
    return status;
}

sdx_status sdx_resolve_node(sdx_module *module, sdx_id id, sdx_error *error) {
    return resolve_named(module, id, true, error);
}

sdx_status sdx_resolve_ops(sdx_module *module, sdx_error *error) {
    for (size_t i = 0; i < module->nodes.count; i++) {
        sdx_node *node = sdx_node_at(module, (sdx_id)i);
        if (node->dead) continue;
        sdx_error problem;
        sdx_error_clear(&problem);
        sdx_status status = resolve_named(module, (sdx_id)i, module->packed, &problem);
        if (status == SDX_STATUS_OK) continue;
        if (status != SDX_STATUS_UNSUPPORTED) {
            if (error) *error = problem;
            return status;
        }
        node->op = NULL;
        SDX_TRY(sdx_add_problem(module, &problem, error));
    }
    return SDX_STATUS_OK;
}
