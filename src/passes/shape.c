/* shape.c - pass: a Reshape or Expand whose result inference can write down takes its shape from there, and
 * the nodes that would compute it go. Where a size is open (the batch), known.c cannot make the shape a
 * constant; an expression of the symbols does as well. */
#include "passes/passes.h"

static bool is_known(const sdx_type *type) {
    if (type->kind != SDX_KIND_TENSOR || type->rank < 0 || !type->dtype) return false;
    for (int32_t i = 0; i < type->rank; i++)
        if (sdx_expr_is_unknown(type->dims[i])) return false;
    return true;
}

static void try_node(sdx_rewrite *r, sdx_id id, const char *op) {
    const sdx_node *node = sdx_node_at(r->module, id);
    sdx_id x = node->inputs[0], out = node->outputs[0];
    /* In a subgraph, symbols are not all there is to a shape. Integers whose elements are followed
     * (contents) are somebody's shape: left to the rules that know them. */
    if (node->graph != 0 || node->input_count != 2 || sdx_constant_of(r, node->inputs[1]) ||
        sdx_value_at(r->module, out)->contents)
        return;
    const sdx_type type = *sdx_build_type(&r->build, out);
    if (!is_known(&type) || !is_known(sdx_build_type(&r->build, x))) return;
    sdx_rewrite_at(r, id);
    sdx_attr shape = sdx_a_exprs(&r->build, "shape", type.dims, (size_t)type.rank);
    sdx_id made = sdx_emit(&r->build, op, &shape, 1, &x, 1);
    if (made != SDX_NONE) sdx_supplant(r, out, made);
}

sdx_status sdx_pass_shape(sdx_rewrite *r) {
    const sdx_graph *graph = sdx_graph_at(r->module, 0);
    for (uint32_t i = 0; i < graph->node_count && r->build.status == SDX_STATUS_OK; i++) {
        sdx_id id = graph->nodes[i];
        if (sdx_node_if(r, id, "Reshape")) try_node(r, id, "sardonyx:Reshape");
        else if (sdx_node_if(r, id, "Expand")) try_node(r, id, "sardonyx:Expand");
    }
    return SDX_STATUS_OK;
}
