/* gradient.h - shared by the files of the Gradient rewrite: the driver (gradient.c), the table
 * of rules (gradient_rules.c) and the rules of each family of operators. A rule sees one node
 * with the gradients of its outputs, emits the nodes that compute those of its inputs, and gives
 * them. Only exec/ calls in from outside: sdx_expand_gradients. */
#ifndef SDX_PASSES_GRADIENT_H
#define SDX_PASSES_GRADIENT_H

#include "passes/build.h"

/* Puts ordinary nodes in the place of every Gradient node, after types are inferred. What cannot be
 * differentiated goes to module->problems, as what is unsupported does elsewhere. */
sdx_status sdx_expand_gradients(sdx_module *module, sdx_error *error);

typedef struct sdx_gradient sdx_gradient; /* one expansion at work */

typedef struct sdx_gradient_rule {
    const char *op;   /* of ai.onnx */
    int64_t last;     /* version up to which this rule holds; 0: all */
    /* NULL: `text` says it. */
    void (*apply)(sdx_gradient *g, const sdx_node *node);
    bool forward;     /* text[0] computes the output anew, and that is differentiated */
    bool constant;    /* the derivative is zero wherever there is one */
    /* For inputs 0 to 2, NULL where there is no derivative: see sdx_gradient_formula. */
    const char *text[3];
} sdx_gradient_rule;

/* NULL: the operator cannot be differentiated. */
const sdx_gradient_rule *sdx_gradient_find(const sdx_node *node);

sdx_build *sdx_gradient_build(sdx_gradient *g);
/* Gradient of output o: SDX_NONE where nothing flows back through it. */
sdx_id sdx_gradient_of(const sdx_gradient *g, const sdx_node *node, uint32_t o);
/* True when somebody wants the gradient of input i. */
bool sdx_gradient_wanted(const sdx_gradient *g, const sdx_node *node, uint32_t i);
/* Adds to the gradient of input i a value of its shape, or (second) of a shape that it was
 * broadcast to: summed over the axes where it was. Both cast to its type. */
void sdx_gradient_give(sdx_gradient *g, const sdx_node *node, uint32_t i, sdx_id value);
void sdx_gradient_give_sum(sdx_gradient *g, const sdx_node *node, uint32_t i, sdx_id value);
/* Where input 1 is broadcast so that its dims do not end at the last of input 0, as attributes could
 * ask before version 7 and a slope of PRelu may lie: the node is written out with ones behind those
 * dims, and that is differentiated. False: broadcasts as today, nothing was done. */
bool sdx_gradient_realign(sdx_gradient *g, const sdx_node *node);
/* `value` summed down to the shape of `like`, which it is a broadcast of. */
sdx_id sdx_gradient_sum_to(sdx_gradient *g, sdx_id value, sdx_id like);
/* Differentiates what has been emitted since the node table had `first` entries: out[k] stands for
 * output k of the node, SDX_NONE for one that it does not have. */
void sdx_gradient_through(sdx_gradient *g, const sdx_node *node, size_t first, const sdx_id *out,
                          uint32_t count);
static inline size_t sdx_gradient_mark(sdx_gradient *g) {
    return sdx_gradient_build(g)->module->nodes.count;
}
/* A list with room for that many; NULL when out of memory, and that has been noted. */
sdx_id *sdx_gradient_list(sdx_gradient *g, size_t count);
/* Output o of a node that may not have asked for it. */
sdx_id sdx_gradient_need_output(sdx_gradient *g, const sdx_node *node, uint32_t o);
/* Says why this node cannot be differentiated: UNSUPPORTED. */
void sdx_gradient_refuse(sdx_gradient *g, const sdx_node *node, const char *why);
/* False, and refused, when the rank of the value is not known. */
bool sdx_gradient_need_rank(sdx_gradient *g, const sdx_node *node, sdx_id value);

/* A formula in postfix: a, b, c are the node's inputs, y its output, g the output's gradient; a
 * number is a constant of the type of g; @alpha=0.5 an attribute and its default; dup repeats
 * the top; any other word an operator of ai.onnx. "g b Mul" is g * b. */
sdx_id sdx_gradient_formula(sdx_gradient *g, const sdx_node *node, const char *text);

/* ---- rules, by file -------------------------------------------------------------------------- */

#define SDX_GRADIENT_RULE(name) void sdx_gradient_##name(sdx_gradient *g, const sdx_node *node)
/* gradient_math.c */
SDX_GRADIENT_RULE(clip);
SDX_GRADIENT_RULE(dropout);
SDX_GRADIENT_RULE(extremum); /* Max, Min */
SDX_GRADIENT_RULE(gelu);
SDX_GRADIENT_RULE(mean);
SDX_GRADIENT_RULE(pow);
SDX_GRADIENT_RULE(sum);
/* gradient_shape.c */
SDX_GRADIENT_RULE(concat);
SDX_GRADIENT_RULE(cumsum);
SDX_GRADIENT_RULE(expand);
SDX_GRADIENT_RULE(pad);
SDX_GRADIENT_RULE(reshape);
SDX_GRADIENT_RULE(slice);
SDX_GRADIENT_RULE(split);
SDX_GRADIENT_RULE(tile);
SDX_GRADIENT_RULE(transpose);
SDX_GRADIENT_RULE(trilu);
/* gradient_index.c */
SDX_GRADIENT_RULE(gather);
SDX_GRADIENT_RULE(gather_elements);
SDX_GRADIENT_RULE(gather_nd);
SDX_GRADIENT_RULE(moved); /* output elements are input elements, or zero */
SDX_GRADIENT_RULE(resize);
SDX_GRADIENT_RULE(scatter_elements);
SDX_GRADIENT_RULE(scatter_nd);
SDX_GRADIENT_RULE(topk);
/* gradient_reduce.c */
SDX_GRADIENT_RULE(log_softmax);
SDX_GRADIENT_RULE(reduce);
SDX_GRADIENT_RULE(reduce_prod);
SDX_GRADIENT_RULE(softmax);
/* gradient_linear.c */
SDX_GRADIENT_RULE(einsum);
SDX_GRADIENT_RULE(gemm);
SDX_GRADIENT_RULE(matmul);
/* gradient_window.c */
SDX_GRADIENT_RULE(average_pool);
SDX_GRADIENT_RULE(conv);
SDX_GRADIENT_RULE(conv_transpose);
SDX_GRADIENT_RULE(global_pool);
SDX_GRADIENT_RULE(max_pool);
/* gradient_norm.c */
SDX_GRADIENT_RULE(batch_norm);
SDX_GRADIENT_RULE(group_norm);
SDX_GRADIENT_RULE(instance_norm);
SDX_GRADIENT_RULE(layer_norm);
SDX_GRADIENT_RULE(loss);
SDX_GRADIENT_RULE(lp_norm);
SDX_GRADIENT_RULE(lrn);
SDX_GRADIENT_RULE(mean_variance_norm);
SDX_GRADIENT_RULE(rms_norm);

#endif
