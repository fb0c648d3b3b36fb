/* known.c - pass: integers that inference knows already become constants. Exporters compute shapes by
 * chains of nodes (Shape, Gather, Concat …); where the sizes are numbers, nothing of that need run. */
#include "passes/passes.h"

static sdx_id constant_for(sdx_rewrite *r, sdx_id node, const sdx_value_def *value) {
    int64_t dims[SDX_MAX_RANK], wide[SDX_MAX_CONTENTS];
    int32_t narrow[SDX_MAX_CONTENTS];
    if (!value->contents || value->constant || value->type.kind != SDX_KIND_TENSOR ||
        value->type.rank < 0 || value->content_count > SDX_MAX_CONTENTS)
        return SDX_NONE;
    bool is_wide = value->type.dtype == SDX_DTYPE_INT64;
    if (!is_wide && value->type.dtype != SDX_DTYPE_INT32) return SDX_NONE;
    for (int32_t i = 0; i < value->type.rank; i++) {
        if (!sdx_expr_is_const(value->type.dims[i])) return SDX_NONE;
        dims[i] = sdx_expr_value(value->type.dims[i]);
    }
    if (sdx_dims_product(dims, 0, value->type.rank) != value->content_count) return SDX_NONE;
    for (size_t i = 0; i < value->content_count; i++) {
        if (!sdx_expr_is_const(value->contents[i])) return SDX_NONE;
        wide[i] = sdx_expr_value(value->contents[i]);
        narrow[i] = (int32_t)wide[i];
    }
    int32_t rank = value->type.rank;
    sdx_dtype dtype = value->type.dtype;
    sdx_rewrite_at(r, node);
    return sdx_build_tensor(&r->build, dtype, rank, dims,
                            is_wide ? (const void *)wide : (const void *)narrow);
}

sdx_status sdx_pass_known(sdx_rewrite *r) {
    for (size_t g = 0; g < r->module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(r->module, (sdx_id)g);
        /* From the end: what leads to a constant goes with it, before it is made one itself. */
        for (uint32_t i = graph->node_count; i-- > 0;) {
            const sdx_node *node = sdx_node_at(r->module, graph->nodes[i]);
            if (node->dead || !node->op || (node->op->def->flags & SDX_OP_RANDOM)) continue;
            for (uint32_t o = 0; o < node->output_count; o++) {
                sdx_id value = node->outputs[o];
                if (node->dead || value == SDX_NONE || sdx_use_is_output(r, value) ||
                    sdx_use_count(r, value) == 0)
                    continue;
                sdx_id constant = constant_for(r, graph->nodes[i], sdx_value_at(r->module, value));
                if (constant != SDX_NONE) sdx_supplant(r, value, constant);
            }
        }
    }
    return SDX_STATUS_OK;
}
