/* infer_module.c - drives the shape rules: over a whole module while loading, and over one node with
 * real tensors during a run. */
#include <stdio.h>
#include <string.h>

#include "ops/resolve.h"

bool sdx_type_constant(sdx_module *module, const sdx_const *constant, sdx_type *type) {
    sdx_expr *dims = sdx_arena_array(&module->arena, (size_t)constant->rank + 1, sizeof *dims);
    *type = (sdx_type){.kind = SDX_KIND_TENSOR, .dtype = constant->dtype, .rank = -1};
    if (!dims) return false;
    for (int32_t i = 0; i < constant->rank; i++) dims[i] = sdx_expr_const(constant->dims[i]);
    type->rank = constant->rank;
    type->dims = dims;
    return true;
}

static void describe_input(sdx_module *module, sdx_id id, sdx_infer_in *in) {
    memset(in, 0, sizeof *in);
    in->value = id;
    in->type.rank = -1;
    if (id == SDX_NONE) return;
    const sdx_value_def *value = sdx_value_at(module, id);
    in->present = true;
    in->type = value->type;
    in->contents = value->contents;
    in->content_count = value->content_count;
    in->constant = value->constant;
}

static sdx_status check_types(sdx_infer *inf, const sdx_node *node) {
    const sdx_op_def *def = inf->def;
    sdx_dtype common = SDX_DTYPE_UNDEFINED;
    for (uint32_t i = 0; i < inf->in_count; i++) {
        sdx_dtypes allowed = sdx_op_input_types(def, i);
        if (inf->module && i < 32 && def->constants >> i & 1u && inf->in[i].present &&
            !inf->in[i].constant)
            return sdx_infer_fail(inf, "input %u is not a constant", i);
        if (!allowed || !inf->in[i].present || inf->in[i].type.kind == SDX_KIND_NONE) continue;
        if (inf->in[i].type.kind != SDX_KIND_TENSOR)
            return sdx_infer_fail(inf, "input %u is not a tensor", i);
        sdx_dtype dtype = inf->in[i].type.dtype;
        if (dtype == SDX_DTYPE_UNDEFINED) continue;
        if (!sdx_dtypes_has(allowed, dtype)) {
            char text[256];
            sdx_dtypes_text(allowed, text, sizeof text);
            return sdx_fail_at(inf->error, SDX_STATUS_UNSUPPORTED, node->position,
                               "input %u has type %s; operator %s version %lld of domain %s takes "
                               "%s there",
                               i, sdx_dtype_name(dtype), node->op_type, (long long)node->version,
                               sdx_domain_shown(node->domain), text);
        }
        if (!(def->flags & SDX_OP_SAME_TYPE)) continue;
        if (common != SDX_DTYPE_UNDEFINED && common != dtype)
            return sdx_infer_fail(inf, "input %u has type %s, an earlier one %s; they must agree",
                                  i, sdx_dtype_name(dtype), sdx_dtype_name(common));
        common = dtype;
    }
    return SDX_STATUS_OK;
}

static sdx_status store_output(sdx_module *module, sdx_id id, const sdx_infer_out *out,
                               sdx_error *error) {
    sdx_value_def *value = sdx_value_at(module, id);
    value->type = out->type;
    value->contents = out->contents;
    value->content_count = out->content_count;
    value->run_axis = out->run_axis;
    value->run_start = out->run_start;
    value->join_axis = out->join_axis;
    value->type.rank = -1;
    value->type.dims = NULL;
    if (out->type.kind == SDX_KIND_TENSOR && out->rank_known) {
        size_t rank = (size_t)out->type.rank;
        sdx_expr *dims = sdx_arena_array(&module->arena, rank + 1, sizeof *dims);
        if (!dims) return sdx_fail_memory(error, rank * sizeof *dims, "a shape");
        memcpy(dims, out->dims, rank * sizeof *dims);
        value->type.rank = out->type.rank;
        value->type.dims = dims;
    }
    const sdx_type *declared = value->declared;
    if (!declared || declared->kind == SDX_KIND_NONE) return SDX_STATUS_OK;
    if (value->type.kind == SDX_KIND_NONE) {
        /* Its shape is only what the file says: nothing could check it, and its symbols may be ones
         * that no input binds. */
        value->type = *declared;
        value->type.rank = -1;
        value->type.dims = NULL;
    }
    bool both = value->type.kind == SDX_KIND_TENSOR && declared->kind == SDX_KIND_TENSOR &&
                value->type.dtype && declared->dtype;
    if (value->type.kind != declared->kind || (both && value->type.dtype != declared->dtype)) {
        char said[128], is[128];
        sdx_type_text(module, declared, said, sizeof said);
        sdx_type_text(module, &value->type, is, sizeof is);
        return sdx_fail(error, SDX_STATUS_BAD_MODEL,
                        "output '%.64s' is declared as %s, but the operator makes %s",
                        value->name, said, is);
    }
    return SDX_STATUS_OK;
}

/* An unknown operator's outputs have the types that the file declares. */
static void adopt_declared(sdx_module *module, const sdx_node *node) {
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == SDX_NONE) continue;
        sdx_value_def *value = sdx_value_at(module, node->outputs[i]);
        if (value->declared) value->type = *value->declared;
    }
}

sdx_status sdx_infer_node(sdx_module *module, sdx_id id, sdx_error *error) {
    const sdx_node node = *sdx_node_at(module, id); /* a copy: tables may move */
    sdx_arena scratch;
    sdx_arena_init(&scratch, module->allocator, 0);
    sdx_infer_in *in = sdx_arena_array(&scratch, (size_t)node.input_count + 1, sizeof *in);
    sdx_infer_out *out = sdx_arena_array(&scratch, (size_t)node.output_count + 1, sizeof *out);
    sdx_status status = SDX_STATUS_OK;
    if (!in || !out) {
        status = sdx_fail_memory(error, 0, "shape inference");
        goto fail;
    }
    for (uint32_t i = 0; i < node.input_count; i++) describe_input(module, node.inputs[i], &in[i]);
    for (uint32_t o = 0; o < node.output_count; o++) {
        out[o].wanted = node.outputs[o] != SDX_NONE;
        out[o].type.rank = -1;
    }
    sdx_infer inf = {.def = node.op->def, .params = node.params, .version = node.version,
                     .in_count = node.input_count, .out_count = node.output_count, .in = in,
                     .out = out, .scratch = sdx_expr_const(0), .pool = module->pool,
                     .module = module, .node = id, .error = error};
    SDX_TRY_GOTO(check_types(&inf, &node));
    SDX_TRY_GOTO(node.op->def->infer(&inf));
    sdx_node_at(module, id)->scratch = inf.scratch;
    for (uint32_t o = 0; o < node.output_count; o++)
        if (out[o].wanted) SDX_TRY_GOTO(store_output(module, node.outputs[o], &out[o], error));
fail:
    sdx_arena_free(&scratch);
    if (status != SDX_STATUS_OK) sdx_error_set_node(error, node.name, node.op_type);
    return status;
}

/* What is unsupported becomes a problem of the module, and the node one without an operator: so all
 * are found in one go, and a body that is inferred again names each once. */
static sdx_status infer_or_note(sdx_module *module, sdx_id id, sdx_error *error) {
    sdx_status status = sdx_module_in_time(module, error);
    if (status == SDX_STATUS_OK && sdx_node_at(module, id)->op) status = sdx_infer_node(module, id, error);
    if (status != SDX_STATUS_OK && status != SDX_STATUS_UNSUPPORTED) return status;
    sdx_node *node = sdx_node_at(module, id);
    if (status == SDX_STATUS_UNSUPPORTED) {
        sdx_error problem = *error;
        sdx_error_clear(error);
        node->op = NULL;
        SDX_TRY(sdx_add_problem(module, &problem, error));
    }
    if (!node->op) adopt_declared(module, node);
    return SDX_STATUS_OK;
}

static sdx_status infer_graph(sdx_module *module, sdx_id graph_id, sdx_error *error) {
    for (uint32_t i = 0; i < sdx_graph_at(module, graph_id)->node_count; i++)
        SDX_TRY(infer_or_note(module, sdx_graph_at(module, graph_id)->nodes[i], error));
    return SDX_STATUS_OK;
}

/* Whether no sizes make the two shapes equal. */
static bool shapes_differ(sdx_module *module, const sdx_type *a, const sdx_type *b) {
    if (a->kind != SDX_KIND_TENSOR || b->kind != SDX_KIND_TENSOR || a->rank < 0 || b->rank < 0)
        return false;
    if (a->rank != b->rank) return true;
    for (int32_t i = 0; i < a->rank; i++) {
        sdx_expr gap = sdx_expr_sub(module->pool, a->dims[i], b->dims[i]);
        if (sdx_expr_is_const(gap) && sdx_expr_value(gap) != 0) return true;
    }
    return false;
}

/* Exporters leave stale shapes behind: what the operators make counts, but the reader is told. */
static void note_contradictions(sdx_module *module) {
    for (size_t i = 0; i < module->values.count; i++) {
        sdx_value_def *value = sdx_value_at(module, (sdx_id)i);
        if (!value->declared || value->producer == SDX_NONE || value->contradicted ||
            !shapes_differ(module, value->declared, &value->type))
            continue;
        value->contradicted = true;
        if (!module->log) continue;
        const sdx_node *node = sdx_node_at(module, value->producer);
        char said[128], is[128], message[512];
        sdx_type_text(module, value->declared, said, sizeof said);
        sdx_type_text(module, &value->type, is, sizeof is);
        snprintf(message, sizeof message,
                 "value '%.64s': the file declares %s, but node '%.64s' (%.64s) makes %s, which counts",
                 value->name, said, node->name, node->op_type, is);
        module->log->write(module->log->user, SDX_LOG_WARNING, message);
    }
}

sdx_status sdx_infer_module(sdx_module *module, sdx_error *error) {
    for (size_t i = 0; i < module->values.count; i++) {
        sdx_value_def *value = sdx_value_at(module, (sdx_id)i);
        if (value->constant && !sdx_type_constant(module, value->constant, &value->type))
            return sdx_fail_memory(error, 0, "shape inference");
    }
    SDX_TRY(infer_graph(module, 0, error));
    note_contradictions(module);
    return SDX_STATUS_OK;
}

sdx_status sdx_infer_subgraph(sdx_infer *inf, sdx_id graph_id, const sdx_type *in_types,
                              uint32_t in_count, const sdx_type **out_types) {
    sdx_module *module = inf->module;
    const sdx_graph *graph = sdx_graph_at(module, graph_id);
    if (graph->input_count != in_count)
        return sdx_infer_fail(inf, "its subgraph '%.64s' has %u inputs, expected %u", graph->name,
                              graph->input_count, in_count);
    for (uint32_t i = 0; i < in_count; i++) {
        sdx_value_def *value = sdx_value_at(module, graph->inputs[i]);
        if (in_types[i].kind != SDX_KIND_NONE) value->type = in_types[i];
        else if (value->declared) value->type = *value->declared;
        value->contents = NULL; /* differs from round to round */
        value->content_count = 0;
    }
    /* Bodies are checked on real numbers during the run: their constraints would be stale. */
    size_t constraints = module->constraints.count;
    sdx_status status = infer_graph(module, graph_id, inf->error);
    module->constraints.count = constraints;
    SDX_TRY(status);
    graph = sdx_graph_at(module, graph_id);
    for (uint32_t i = 0; i < graph->output_count; i++)
        out_types[i] = &sdx_value_at(module, graph->outputs[i])->type;
    return SDX_STATUS_OK;
}

static void type_of_value(const sdx_value *value, sdx_expr *dims, sdx_type *type) {
    *type = (sdx_type){.kind = value->kind, .rank = -1};
    if (value->kind != SDX_KIND_TENSOR) return;
    type->dtype = value->tensor.dtype;
    type->rank = value->tensor.rank;
    for (int32_t i = 0; i < type->rank; i++) dims[i] = sdx_expr_const(value->tensor.dims[i]);
    type->dims = dims;
}

sdx_status sdx_infer_run(sdx_run_shapes *shapes, sdx_error *error) {
    const sdx_node *node = shapes->node;
    for (uint32_t i = 0; i < node->input_count; i++) {
        sdx_infer_in *in = &shapes->in_info[i];
        memset(in, 0, sizeof *in);
        in->value = SDX_NONE;
        in->type.rank = -1;
        if (!shapes->in[i]) continue;
        in->present = true;
        type_of_value(shapes->in[i], shapes->in_dims[i], &in->type);
        if (in->type.kind == SDX_KIND_TENSOR) in->tensor = &shapes->in[i]->tensor;
    }
    memset(shapes->out_info, 0, node->output_count * sizeof *shapes->out_info);
    for (uint32_t o = 0; o < node->output_count; o++) {
        shapes->out_info[o].wanted = node->outputs[o] != SDX_NONE;
        shapes->out_info[o].type.rank = -1;
    }
    sdx_infer inf = {.def = node->op->def, .params = node->params, .version = node->version,
                     .in_count = node->input_count, .out_count = node->output_count,
                     .in = shapes->in_info, .out = shapes->out_info,
                     .scratch = sdx_expr_const(0), .node = SDX_NONE, .error = error};
    SDX_TRY(check_types(&inf, node));
    SDX_TRY(node->op->def->infer(&inf));
    if (!sdx_expr_is_const(inf.scratch) || sdx_expr_value(inf.scratch) < 0)
        return sdx_fail(error, SDX_STATUS_LIMIT, "its scratch memory is too large to count");
    shapes->scratch_bytes = (size_t)sdx_expr_value(inf.scratch);
    return SDX_STATUS_OK;
}
