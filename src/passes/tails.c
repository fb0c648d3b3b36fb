/* tails.c - what follows a convolution or a packed product and touches each result once goes into its
 * tail: a bias, the sum with another value (the residual of a block), an activation. A Conv that has kept
 * its layout becomes a sardonyx:PlainConv by it. */
#include <math.h>
#include <string.h>

#include "kernels/tail.h"
#include "passes/passes.h"

static bool is_fused(const sdx_node *node) { return strcmp(node->domain, SDX_DOMAIN_FUSED) == 0; }

/* On planes: channels are not the last axis. */
static bool is_plain_conv(const sdx_node *node) {
    return strcmp(node->op_type, is_fused(node) ? "PlainConv" : "Conv") == 0 &&
           (is_fused(node) || !node->domain[0]);
}

/* Operators with a tail; where they have a bias and an addend, these are inputs 2 and 3. */
static bool has_tail(const sdx_rewrite *r, const sdx_node *node) {
    if (node->dead || !node->op) return false;
    if (is_plain_conv(node))
        return sdx_value_at(r->module, node->outputs[0])->type.dtype == SDX_DTYPE_FLOAT32;
    if (!is_fused(node)) return false;
    return strcmp(node->op_type, "Conv") == 0 || strcmp(node->op_type, "ConvTranspose") == 0 ||
           strcmp(node->op_type, "MatMul") == 0 || strcmp(node->op_type, "Affine") == 0;
}

static bool has_addend(const sdx_node *node) { return strcmp(node->op_type, "Affine") != 0; }

typedef struct activation {
    sdx_act act;
    float a, b;
} activation;

static bool read_clip(sdx_rewrite *r, const sdx_node *node, activation *to) {
    double low = -INFINITY, high = INFINITY;
    to->act = SDX_ACT_CLIP;
    if (node->version < 11) {
        low = (double)sdx_node_float(node, "min", -INFINITY);
        high = (double)sdx_node_float(node, "max", INFINITY);
    } else {
        sdx_id min = sdx_node_input(node, 1), max = sdx_node_input(node, 2);
        if ((min != SDX_NONE && !sdx_constant_number(r, min, &low)) ||
            (max != SDX_NONE && !sdx_constant_number(r, max, &high)))
            return false;
    }
    to->a = (float)low;
    to->b = (float)high;
    return true;
}

/* The activation that a node is, if it is one that tails know. */
static bool read_activation(sdx_rewrite *r, const sdx_node *node, activation *to) {
    const char *op = node->op_type;
    *to = (activation){SDX_ACT_NONE, 0, 0};
    if (node->domain[0] || !node->op) return false;
    if (strcmp(op, "Clip") == 0) return read_clip(r, node, to);
    if (strcmp(op, "Relu") == 0) *to = (activation){SDX_ACT_CLIP, 0, INFINITY};
    else if (strcmp(op, "LeakyRelu") == 0)
        *to = (activation){SDX_ACT_LEAKY, sdx_node_float(node, "alpha", 0.01f), 0};
    else if (strcmp(op, "Sigmoid") == 0) to->act = SDX_ACT_SIGMOID;
    else if (strcmp(op, "Tanh") == 0) to->act = SDX_ACT_TANH;
    else if (strcmp(op, "HardSwish") == 0) to->act = SDX_ACT_HARD_SWISH;
    else if (strcmp(op, "Swish") == 0)
        *to = (activation){SDX_ACT_SWISH, sdx_node_float(node, "alpha", 1.0f), 0};
    else if (strcmp(op, "HardSigmoid") == 0)
        *to = (activation){SDX_ACT_HARD_SIGMOID, sdx_node_float(node, "alpha", 0.2f),
                           sdx_node_float(node, "beta", 0.5f)};
    else if (strcmp(op, "Gelu") == 0)
        to->act = sdx_node_text_is(node, "approximate", "none", "tanh") ? SDX_ACT_GELU_TANH
                                                                        : SDX_ACT_GELU;
    return to->act != SDX_ACT_NONE;
}

/* The node with another list of inputs and activation takes the place of `user`. */
static bool absorb(sdx_rewrite *r, sdx_id id, sdx_id user, const sdx_id in[5],
                   const activation *act) {
    const sdx_node node = *sdx_node_at(r->module, id);
    sdx_id out = sdx_node_at(r->module, user)->outputs[0], made = SDX_NONE;
    sdx_node copy = node;
    if (has_addend(&node) && node.input_count < 4) copy.input_count = 4;
    if (is_plain_conv(&node)) {
        copy.op_type = "PlainConv";
        copy.domain = SDX_DOMAIN_FUSED;
        copy.version = 1;
    }
    copy.attrs = sdx_arena_array(&r->module->arena, (size_t)node.attr_count + 4,
                                 sizeof *copy.attrs);
    if (!copy.attrs) return false;
    if (node.attr_count) memcpy(copy.attrs, node.attrs, node.attr_count * sizeof *node.attrs);
    if (act) {
        copy.attrs[copy.attr_count++] = sdx_a_int(&r->build, "act", act->act);
        copy.attrs[copy.attr_count++] = sdx_a_float(&r->build, "act_a", act->a);
        copy.attrs[copy.attr_count++] = sdx_a_float(&r->build, "act_b", act->b);
    }
    const sdx_id from[2] = {id, user};
    sdx_rewrite_from(r, from, 2);
    sdx_emit_copy(&r->build, &copy, in, &made);
    return sdx_supplant(r, out, made);
}

/* The other operand of a sum: a constant for each column is a bias, a value of the same shape an
 * addend. */
static bool take_sum(sdx_rewrite *r, sdx_id id, sdx_id user, sdx_id in[5]) {
    const sdx_node *node = sdx_node_at(r->module, id), *sum = sdx_node_at(r->module, user);
    sdx_id own = node->outputs[0], result = sum->outputs[0];
    sdx_id other = sum->inputs[sum->inputs[0] == own ? 1 : 0];
    if (other == own || !sdx_build_same_shape(&r->build, own, result)) return false;
    const sdx_type *type = sdx_build_type(&r->build, own);
    const sdx_const *constant = sdx_constant_of(r, other);
    if (constant && !is_plain_conv(node) && in[2] == SDX_NONE && in[3] == SDX_NONE && constant->rank > 0 &&
        constant->rank <= type->rank &&
        (size_t)constant->dims[constant->rank - 1] == constant->count &&
        sdx_expr_is(type->dims[type->rank - 1], constant->dims[constant->rank - 1])) {
        in[2] = other;
        return absorb(r, id, user, in, NULL);
    }
    if (in[3] != SDX_NONE || !sdx_build_same_shape(&r->build, own, other)) return false;
    in[3] = other;
    return absorb(r, id, user, in, NULL);
}

/* One step: what reads the node's result goes into it. */
static bool extend(sdx_rewrite *r, sdx_id id) {
    const sdx_node *node = sdx_node_at(r->module, id);
    if (!has_tail(r, node) || sdx_node_int(node, "act", SDX_ACT_NONE) != SDX_ACT_NONE) return false;
    sdx_id user = sdx_sole_user(r, node->outputs[0]);
    if (user == SDX_NONE) return false;
    const sdx_node *next = sdx_node_at(r->module, user);
    activation act;
    sdx_id in[5];
    for (uint32_t i = 0; i < 5; i++) in[i] = sdx_node_input(node, i);
    if (next->domain[0] == 0 && strcmp(next->op_type, "Add") == 0 && has_addend(node))
        return take_sum(r, id, user, in);
    if (next->inputs[0] != node->outputs[0] || !read_activation(r, next, &act)) return false;
    return absorb(r, id, user, in, &act);
}

sdx_status sdx_pass_tails(sdx_rewrite *r) {
    /* Nodes that are made stand at the end and are looked at in turn. Convolutions from the back:
     * of two that are added, the one that runs later takes the other's result. */
    size_t count = r->module->nodes.count;
    for (size_t id = count; id-- > 0 && r->build.status == SDX_STATUS_OK;) {
        size_t before = r->module->nodes.count;
        for (sdx_id at = (sdx_id)id; extend(r, at); at = (sdx_id)r->module->nodes.count - 1)
            if (r->module->nodes.count == before) break;
    }
    return r->build.status;
}
