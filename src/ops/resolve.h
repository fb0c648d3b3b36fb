/* resolve.h - from a loaded module to one that can be lowered: operators found, attributes parsed,
 * shapes inferred. The entry points of ops/ that exec/ calls. */
#ifndef SDX_OPS_RESOLVE_H
#define SDX_OPS_RESOLVE_H

#include "ops/op.h"

/* Newest known opset version of a domain; 0 for an unknown domain. */
int sdx_domain_newest(const char *domain);
const char *sdx_domain_shown(const char *domain); /* "ai.onnx" for "" */

/* Finds each node's operator and prepares its parameters. What is unsupported goes to
 * module->problems (each a complete error); malformed nodes fail at once. */
sdx_status sdx_resolve_ops(sdx_module *module, sdx_error *error);
/* The same for one node, and its outputs' types from those of its inputs: for nodes that a pass makes.
 * What is unsupported fails. */
sdx_status sdx_resolve_node(sdx_module *module, sdx_id node, sdx_error *error);
sdx_status sdx_infer_node(sdx_module *module, sdx_id node, sdx_error *error);
/* The type of a constant; false: out of memory. */
bool sdx_type_constant(sdx_module *module, const sdx_const *constant, sdx_type *type);
sdx_status sdx_add_problem(sdx_module *module, const sdx_error *problem, sdx_error *error);
/* Infers types and shapes of all values of all graphs. Unsupported element types and the like go to
 * module->problems too; a node that has one loses its operator. */
sdx_status sdx_infer_module(sdx_module *module, sdx_error *error);

/* Runs one node's rule on plain tensors; used during a run where shapes depend on data. in[i]
 * NULL: left out. Fills out[o].type/dims; a dim that only the body knows stays unknown. */
typedef struct sdx_run_shapes {
    const sdx_node *node;
    sdx_value *const *in;
    sdx_infer_in *in_info;   /* scratch, input_count entries */
    sdx_infer_out *out_info; /* result, output_count entries */
    sdx_expr (*in_dims)[SDX_MAX_RANK]; /* scratch, input_count entries */
    size_t scratch_bytes;    /* result */
} sdx_run_shapes;
sdx_status sdx_infer_run(sdx_run_shapes *shapes, sdx_error *error);

#endif
