/* transpose.c - pass: transpositions meet and cancel. A Transpose asks for its input in another order of
 * axes; elementwise operators hand that question on to their own inputs, until it reaches another
 * Transpose (the two become one, or none), a constant (which is folded) or a scalar. Where fewer
 * transpositions are left than before, the nodes between are made anew in that order. One that only
 * moves axes of size 1 is a Reshape, which costs nothing. */
#include "passes/elementwise.h"
#include "passes/passes.h"

#define RANK  8
#define DEPTH 24 /* nodes between two transpositions */
#define WORK  64 /* nodes that are asked for one */

typedef struct order {
    int32_t rank;
    int64_t perm[RANK];
} order;

/* The order of a Transpose; false: not one that this pass looks at. */
static bool order_of(const sdx_rewrite *r, const sdx_node *node, order *to) {
    const sdx_attr *perm = sdx_node_attr(node, "perm", SDX_ATTR_INTS);
    to->rank = sdx_build_rank(&r->build, node->inputs[0]);
    if (to->rank < 0 || to->rank > RANK) return false;
    for (int32_t i = 0; i < to->rank; i++) to->perm[i] = perm ? perm->as.ints[i] : to->rank - 1 - i;
    return true;
}

/* First `inner`, then `outer`. Both have one rank. */
static order compose(const order *inner, const order *outer) {
    order both = {.rank = outer->rank};
    for (int32_t i = 0; i < both.rank; i++) both.perm[i] = inner->perm[outer->perm[i]];
    return both;
}

static bool keeps(const order *o) {
    for (int32_t i = 0; i < o->rank; i++)
        if (o->perm[i] != i) return false;
    return true;
}

static bool is_legacy(const sdx_node *node) {
    return sdx_node_attr(node, "broadcast", SDX_ATTR_INT) || node->input_count > 16;
}

/* Whether the question goes on from the value to the inputs of the node that makes it. */
static bool hands_on(sdx_rewrite *r, sdx_id value, const sdx_node *node) {
    if (!node->op || node->domain[0] || node->output_count > 1 ||
        sdx_sole_user(r, value) == SDX_NONE)
        return false;
    return sdx_is_unary(node->op_type) || (sdx_is_broadcast(node->op_type) && !is_legacy(node));
}

/* How many transpositions fewer there are if `value` is made in another order. */
static int gain(sdx_rewrite *r, sdx_id value, const order *wanted, int depth, int *work) {
    const sdx_build *b = &r->build;
    if (sdx_constant_of(r, value) || sdx_is_scalar(b, value)) return 0;
    sdx_id maker = sdx_maker(r, value);
    if (sdx_build_rank(b, value) != wanted->rank || maker == SDX_NONE || depth == 0 ||
        --*work < 0)
        return -1;
    const sdx_node *node = sdx_node_at(r->module, maker);
    order inner;
    if (sdx_node_if(r, maker, "Transpose") && order_of(r, node, &inner)) {
        order both = compose(&inner, wanted);
        return (sdx_use_count(r, value) == 1) - !keeps(&both);
    }
    if (!hands_on(r, value, node)) return -1;
    uint32_t asked = sdx_is_unary(node->op_type) ? 1 : node->input_count;
    int sum = 0;
    for (uint32_t i = 0; i < asked; i++) sum += gain(r, node->inputs[i], wanted, depth - 1, work);
    return sum;
}

/* The value in the wanted order; asks as `gain` did. */
static sdx_id make(sdx_rewrite *r, sdx_id value, const order *wanted, int depth, int *work) {
    sdx_build *b = &r->build;
    if (sdx_is_scalar(b, value)) return value;
    sdx_id maker = sdx_maker(r, value);
    if (sdx_constant_of(r, value) || sdx_build_rank(b, value) != wanted->rank ||
        maker == SDX_NONE || depth == 0 || --*work < 0)
        return sdx_build_transpose(b, sdx_build_widen(b, value, wanted->rank), wanted->perm, wanted->rank);
    sdx_node node = *sdx_node_at(r->module, maker); /* a copy: tables move when nodes are made */
    order inner;
    if (sdx_node_if(r, maker, "Transpose") && order_of(r, &node, &inner)) {
        order both = compose(&inner, wanted);
        return sdx_build_transpose(b, node.inputs[0], both.perm, both.rank);
    }
    if (!hands_on(r, value, &node))
        return sdx_build_transpose(b, value, wanted->perm, wanted->rank);
    sdx_id in[16], out = SDX_NONE;
    uint32_t asked = sdx_is_unary(node.op_type) ? 1 : node.input_count;
    for (uint32_t i = 0; i < node.input_count && i < 16; i++)
        in[i] = i < asked ? make(r, node.inputs[i], wanted, depth - 1, work) : node.inputs[i];
    if (node.input_count <= 16) sdx_emit_copy(b, &node, in, &out);
    return out;
}

/* Whether the axes that are not known to be 1 keep their order. */
static bool moves_ones(const sdx_rewrite *r, sdx_id value, const order *o) {
    const sdx_type *type = sdx_build_type(&r->build, value);
    int64_t last = -1;
    for (int32_t i = 0; i < o->rank; i++) {
        if (sdx_expr_is_unknown(type->dims[o->perm[i]])) return false;
        if (sdx_expr_is(type->dims[o->perm[i]], 1)) continue;
        if (o->perm[i] < last) return false;
        last = o->perm[i];
    }
    return true;
}

static void try_node(sdx_rewrite *r, sdx_id id) {
    const sdx_node *node = sdx_node_at(r->module, id);
    sdx_id x = node->inputs[0], out = node->outputs[0];
    order wanted;
    if (!order_of(r, node, &wanted) || keeps(&wanted)) return;
    const sdx_type type = *sdx_build_type(&r->build, out);
    int work = WORK;
    sdx_rewrite_at(r, id);
    if (node->graph == 0 && !sdx_value_at(r->module, out)->contents && moves_ones(r, x, &wanted)) {
        sdx_attr shape = sdx_a_exprs(&r->build, "shape", type.dims, (size_t)type.rank);
        sdx_supplant(r, out, sdx_emit(&r->build, "sardonyx:Reshape", &shape, 1, &x, 1));
        return;
    }
    if (gain(r, x, &wanted, DEPTH, &work) + 1 <= 0) return;
    work = WORK;
    sdx_id made = make(r, x, &wanted, DEPTH, &work);
    if (made != SDX_NONE) sdx_supplant(r, out, made);
}

sdx_status sdx_pass_transpose(sdx_rewrite *r) {
    size_t count = r->module->nodes.count;
    for (size_t id = 0; id < count && r->build.status == SDX_STATUS_OK; id++)
        if (sdx_node_if(r, (sdx_id)id, "Transpose")) try_node(r, (sdx_id)id);
    return r->build.status;
}
