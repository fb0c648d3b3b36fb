/* identity.c - pass: removes nodes whose first output is their first input for every input: Identity,
 * Dropout outside training, a Cast to the same type, a Transpose that moves nothing, a Reshape, Expand or
 * Slice to the same proven shape, a Concat of one, a multiplication by one and the like. */
#include <string.h>

#include "passes/passes.h"

/* Elements of an input, or of an attribute where older versions have one, are all `number`. */
static bool all_ints(const sdx_rewrite *r, const sdx_node *node, uint32_t input,
                     const char *attribute, int64_t number) {
    int64_t ints[64];
    size_t count = 0;
    const int64_t *list = ints;
    const sdx_attr *attr = sdx_node_attr(node, attribute, SDX_ATTR_INTS);
    if (attr) {
        list = attr->as.ints;
        count = attr->count;
    } else if (!sdx_build_known(&r->build, sdx_node_input(node, input), ints, 64, &count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (list[i] != number) return false;
    return true;
}

static bool no_mask(sdx_rewrite *r, const sdx_node *node) {
    return node->output_count < 2 || node->outputs[1] == SDX_NONE ||
           sdx_use_count(r, node->outputs[1]) == 0;
}

static bool dropout_keeps(sdx_rewrite *r, const sdx_node *node) {
    if (!no_mask(r, node)) return false;
    if (node->version < 7) return sdx_node_int(node, "is_test", 0) != 0;
    sdx_id ratio = sdx_node_input(node, 1), training = sdx_node_input(node, 2);
    return node->version < 12 || training == SDX_NONE || sdx_constant_is(r, training, 0) ||
           (ratio != SDX_NONE && sdx_constant_is(r, ratio, 0)); /* nothing is dropped */
}

static bool transpose_keeps(const sdx_rewrite *r, const sdx_node *node) {
    const sdx_attr *perm = sdx_node_attr(node, "perm", SDX_ATTR_INTS);
    int32_t rank = sdx_build_rank(&r->build, node->inputs[0]);
    if (!perm) return rank >= 0 && rank < 2;
    for (size_t i = 0; i < perm->count; i++)
        if (perm->as.ints[i] != (int64_t)i) return false;
    return true;
}

/* The other operand is a constant of one element that changes nothing. */
static bool arithmetic_keeps(const sdx_rewrite *r, const sdx_node *node, sdx_id *kept) {
    bool times = strcmp(node->op_type, "Mul") == 0, plus = strcmp(node->op_type, "Add") == 0;
    double neutral = times || strcmp(node->op_type, "Div") == 0 ? 1 : 0;
    for (uint32_t i = 0; i < 2; i++) {
        double number;
        if (i == 0 && !times && !plus) continue; /* 1 / x is not x */
        if (!sdx_constant_number(r, node->inputs[i], &number) || number != neutral) continue;
        *kept = node->inputs[1 - i];
        return true;
    }
    return false;
}

typedef enum rule {
    ALWAYS,     /* the first output is the first input */
    ONE_INPUT,  /* where there is one input */
    SAME_SHAPE, /* where both have the same shape */
    SAME_TYPE,  /* where both have the same element type */
    DROPOUT, TRANSPOSE, SLICE, PAD, SPLIT, ARITHMETIC
} rule;

static const struct {
    const char *op;
    rule rule;
} rules[] = {{"Identity", ALWAYS},        {"Cast", SAME_TYPE},       {"CastLike", SAME_TYPE},
             {"Reshape", SAME_SHAPE},     {"Expand", SAME_SHAPE},    {"Flatten", SAME_SHAPE},
             {"Squeeze", SAME_SHAPE},     {"Unsqueeze", SAME_SHAPE}, {"Tile", SAME_SHAPE},
             {"Concat", ONE_INPUT},       {"Sum", ONE_INPUT},        {"Max", ONE_INPUT},
             {"Min", ONE_INPUT},          {"Mean", ONE_INPUT},       {"Dropout", DROPOUT},
             {"Transpose", TRANSPOSE},    {"Slice", SLICE},          {"Pad", PAD},
             {"Split", SPLIT},            {"Mul", ARITHMETIC},       {"Div", ARITHMETIC},
             {"Add", ARITHMETIC},         {"Sub", ARITHMETIC}};

/* The input that output 0 always equals, or SDX_NONE. */
static sdx_id same_as(sdx_rewrite *r, sdx_id id) {
    const sdx_node *node = sdx_node_at(r->module, id);
    sdx_id in = sdx_node_input(node, 0), kept = in;
    if (in == SDX_NONE || node->output_count == 0 || node->outputs[0] == SDX_NONE) return SDX_NONE;
    size_t k = 0;
    while (k < SDX_COUNT(rules) && !sdx_node_if(r, id, rules[k].op)) k++;
    if (k == SDX_COUNT(rules)) return SDX_NONE;
    const sdx_build *b = &r->build;
    sdx_id out = node->outputs[0];
    bool keeps = false;
    switch (rules[k].rule) {
    case ALWAYS: keeps = true; break;
    case ONE_INPUT: keeps = node->input_count == 1; break;
    case SAME_SHAPE: keeps = sdx_build_same_shape(b, in, out); break;
    case SAME_TYPE:
        keeps = sdx_build_dtype(b, in) && sdx_build_dtype(b, in) == sdx_build_dtype(b, out);
        break;
    case DROPOUT: keeps = dropout_keeps(r, node); break;
    case TRANSPOSE: keeps = transpose_keeps(r, node); break;
    case SLICE: /* a step of -1 keeps the shape but not the order */
        keeps = sdx_build_same_shape(b, in, out) &&
                (sdx_node_input(node, 4) == SDX_NONE || all_ints(r, node, 4, "", 1));
        break;
    case PAD: keeps = all_ints(r, node, 1, node->version < 2 ? "paddings" : "pads", 0); break;
    case SPLIT: keeps = node->output_count == 1 && sdx_build_same_shape(b, in, out); break;
    case ARITHMETIC:
        keeps = arithmetic_keeps(r, node, &kept) && sdx_build_same_shape(b, kept, out);
        break;
    }
    return keeps ? kept : SDX_NONE;
}

sdx_status sdx_pass_identity(sdx_rewrite *r) {
    for (size_t g = 0; g < r->module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(r->module, (sdx_id)g);
        for (uint32_t i = 0; i < graph->node_count; i++) {
            sdx_id id = graph->nodes[i];
            if (sdx_node_at(r->module, id)->dead) continue;
            sdx_id kept = same_as(r, id);
            if (kept != SDX_NONE) sdx_supplant(r, sdx_node_at(r->module, id)->outputs[0], kept);
        }
    }
    return SDX_STATUS_OK;
}
