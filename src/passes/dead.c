/* dead.c - pass: removes nodes that lead to no output of the model. */
#include "passes/passes.h"

static bool is_read(sdx_rewrite *r, const sdx_node *node) {
    for (uint32_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] != SDX_NONE && sdx_use_count(r, node->outputs[o])) return true;
    return false;
}

sdx_status sdx_pass_dead(sdx_rewrite *r) {
    for (size_t g = 0; g < r->module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(r->module, (sdx_id)g);
        for (uint32_t i = graph->node_count; i-- > 0;) {
            const sdx_node *node = sdx_node_at(r->module, graph->nodes[i]);
            if (node->dead || is_read(r, node)) continue;
            sdx_kill(r, graph->nodes[i]);
            r->changes++;
        }
    }
    return SDX_STATUS_OK;
}
