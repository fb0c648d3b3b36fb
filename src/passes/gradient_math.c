/* gradient_math.c - rules of elementwise operators that no single formula says: any number of
 * inputs, optional ones, or modes; and the sum that undoes their broadcasting. */
#include <string.h>

#include "passes/gradient.h"

/* ---- broadcasting ---------------------------------------------------------------------------- */

/* The axes on which `value` is longer than `like` (1 there), from what is known. False where that
 * depends on the run. */
static bool broadcast_axes(const sdx_build *b, sdx_id value, sdx_id like, int64_t *axes,
                           size_t *count) {
    const sdx_type *from = sdx_build_type(b, value), *to = sdx_build_type(b, like);
    *count = 0;
    if (from->rank < 0 || to->rank < 0 || to->rank > from->rank) return false;
    for (int32_t i = 0; i < from->rank; i++) {
        int32_t own = i - (from->rank - to->rank);
        if (own >= 0 && sdx_expr_same(from->dims[i], to->dims[own])) continue;
        if (own < 0 || sdx_expr_is(to->dims[own], 1)) axes[(*count)++] = i;
        else if (!sdx_expr_is_const(to->dims[own])) return false;
    }
    return true;
}

sdx_id sdx_gradient_sum_to(sdx_gradient *g, sdx_id value, sdx_id like) {
    sdx_build *b = sdx_gradient_build(g);
    int64_t axes[SDX_MAX_RANK];
    size_t count;
    if (sdx_build_same_shape(b, value, like)) return value;
    if (broadcast_axes(b, value, like, axes, &count))
        return sdx_build_reshape_like(b, sdx_build_sum(b, value, axes, count), like);
    /* The shapes are compared during the run, the shorter one filled up with ones in front. */
    sdx_id from = sdx_build_shape(b, value), to = sdx_build_shape(b, like);
    sdx_id missing = SDX_EMIT(b, "Sub", SDX_EMIT(b, "Shape", from), SDX_EMIT(b, "Shape", to));
    sdx_id ones = sdx_build_fill(b, missing, SDX_DTYPE_INT64, 1);
    sdx_id full = SDX_EMIT_WITH(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 0)), ones, to);
    sdx_id differ = SDX_EMIT(b, "Not", SDX_EMIT(b, "Equal", from, full));
    sdx_id where = sdx_build_reshape(b, SDX_EMIT(b, "NonZero", differ), (int64_t[]){-1}, 1);
    sdx_id sum = SDX_EMIT_WITH(b, "ReduceSum", SDX_ATTRS(sdx_a_int(b, "noop_with_empty_axes", 1)),
                               value, where);
    return sdx_build_reshape_like(b, sum, like);
}

/* How many dims of A lie behind those of B, by the attributes of versions before 7. -1 and no axis
 * at all meant "at the end". */
static int32_t dims_behind_axis(const sdx_node *node, int32_t a, int32_t b) {
    int64_t axis = sdx_node_int(node, "axis", -1);
    if (axis == -1) return 0;
    if (axis < 0) axis += a;
    return axis < 0 || axis > a - b ? 0 : a - b - (int32_t)axis; /* outside: one element only */
}

/* The same of PRelu, where a vector lies along the channels: before version 7 if it fits there at
 * all, since then only if it cannot lie at the end. */
static int32_t dims_behind_slope(const sdx_node *node, const sdx_type *x, const sdx_type *slope) {
    if (slope->rank != 1 || x->rank < 3) return 0;
    const sdx_expr length = slope->dims[0], channels = x->dims[1], end = x->dims[x->rank - 1];
    const bool told = sdx_expr_is_const(length);
    bool along = sdx_expr_same(length, channels);
    if (node->version < 7) along |= !told || !sdx_expr_is_const(channels);
    else along &= told && sdx_expr_is_const(end) && !sdx_expr_same(length, end);
    return along && !sdx_expr_is(length, 1) ? x->rank - 2 : 0;
}

bool sdx_gradient_realign(sdx_gradient *g, const sdx_node *node) {
    sdx_build *b = sdx_gradient_build(g);
    const bool prelu = strcmp(node->op_type, "PRelu") == 0;
    const bool placed = node->version < 7 && sdx_node_int(node, "broadcast", 0) != 0 &&
                        sdx_node_int(node, "axis", -1) != -1;
    if (!prelu && !placed) return false;
    for (uint32_t i = 0; i < 2 && node->version < 7; i++)
        if (!sdx_gradient_need_rank(g, node, node->inputs[i])) return true;
    const sdx_type *first = sdx_build_type(b, node->inputs[0]);
    const sdx_type *second = sdx_build_type(b, node->inputs[1]);
    const int32_t rank = second->rank;
    const int32_t behind = prelu ? dims_behind_slope(node, first, second)
                                 : dims_behind_axis(node, first->rank, rank);
    if (behind == 0) return false;
    int64_t axes[SDX_MAX_RANK];
    for (int32_t i = 0; i < behind; i++) axes[i] = rank + i;
    const size_t mark = sdx_gradient_mark(g);
    sdx_id spread = SDX_EMIT(b, "Unsqueeze", node->inputs[1],
                             sdx_build_ints(b, axes, (size_t)behind));
    sdx_id y = SDX_EMIT(b, node->op_type, node->inputs[0], spread);
    sdx_gradient_through(g, node, mark, &y, 1);
    return true;
}

/* ---- rules ----------------------------------------------------------------------------------- */

SDX_GRADIENT_RULE(sum) {
    for (uint32_t i = 0; i < node->input_count; i++)
        sdx_gradient_give_sum(g, node, i, sdx_gradient_of(g, node, 0));
}

SDX_GRADIENT_RULE(mean) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = sdx_gradient_of(g, node, 0);
    sdx_id count = sdx_build_number(b, sdx_build_dtype(b, gradient), node->input_count);
    sdx_id share = SDX_EMIT(b, "Div", gradient, count);
    for (uint32_t i = 0; i < node->input_count; i++) sdx_gradient_give_sum(g, node, i, share);
}

/* Inputs that are equal to the output share its gradient in equal parts. */
SDX_GRADIENT_RULE(extremum) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = sdx_gradient_of(g, node, 0), count = SDX_NONE, share = gradient;
    sdx_dtype dtype = sdx_build_dtype(b, gradient);
    sdx_id *hit = sdx_gradient_list(g, node->input_count);
    if (!hit) return;
    for (uint32_t i = 0; i < node->input_count; i++) {
        sdx_id equal = SDX_EMIT(b, "Equal", node->inputs[i], node->outputs[0]);
        hit[i] = sdx_build_cast(b, equal, dtype);
        count = i == 0 ? hit[i] : SDX_EMIT(b, "Add", count, hit[i]);
    }
    if (node->input_count > 1) share = SDX_EMIT(b, "Div", gradient, count);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (sdx_gradient_wanted(g, node, i))
            sdx_gradient_give_sum(g, node, i, SDX_EMIT(b, "Mul", share, hit[i]));
}

/* The exponent may be of another type. With the exponent 0 nothing depends on the base, not even at
 * 0, where the formula would multiply 0 by infinity; and 0 to any positive power stays 0. */
SDX_GRADIENT_RULE(pow) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = sdx_gradient_of(g, node, 0), base = node->inputs[0];
    sdx_dtype dtype = sdx_build_dtype(b, gradient);
    sdx_id exponent = sdx_build_cast(b, node->inputs[1], dtype);
    sdx_id zero = sdx_build_number(b, dtype, 0), one = sdx_build_number(b, dtype, 1);
    if (sdx_gradient_wanted(g, node, 0)) {
        sdx_id flat = SDX_EMIT(b, "Equal", exponent, zero);
        sdx_id less = SDX_EMIT(b, "Sub", SDX_EMIT(b, "Where", flat, one, exponent), one);
        sdx_id slope = SDX_EMIT(b, "Mul", exponent, SDX_EMIT(b, "Pow", base, less));
        sdx_gradient_give_sum(g, node, 0, SDX_EMIT(b, "Mul", gradient, slope));
    }
    if (sdx_gradient_wanted(g, node, 1)) {
        sdx_id gone = SDX_EMIT(b, "Equal", base, zero);
        sdx_id log = SDX_EMIT(b, "Log", SDX_EMIT(b, "Where", gone, one, base));
        sdx_id slope = SDX_EMIT(b, "Mul", node->outputs[0], log);
        sdx_gradient_give_sum(g, node, 1, SDX_EMIT(b, "Mul", gradient, slope));
    }
}

/* The gradient goes to what the output is: the input within the bounds, else a bound. */
SDX_GRADIENT_RULE(clip) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = sdx_gradient_of(g, node, 0), x = node->inputs[0];
    sdx_dtype dtype = sdx_build_dtype(b, gradient);
    sdx_id zero = sdx_build_number(b, dtype, 0), bounds[2] = {SDX_NONE, SDX_NONE};
    static const char *const names[2] = {"min", "max"}, *const past[2] = {"Less", "Greater"};
    for (uint32_t k = 0; k < 2; k++) {
        const sdx_attr *attr = sdx_node_attr(node, names[k], SDX_ATTR_FLOAT);
        if (attr) bounds[k] = sdx_build_number(b, dtype, (double)attr->as.floats[0]);
        else if (k + 1 < node->input_count) bounds[k] = node->inputs[k + 1];
    }
    /* Where min lies above max, the output is max. */
    for (uint32_t k = 2; k-- > 0;) {
        if (bounds[k] == SDX_NONE) continue;
        sdx_id reached = k == 1 && bounds[0] != SDX_NONE ? SDX_EMIT(b, "Max", x, bounds[0]) : x;
        sdx_id outside = SDX_EMIT(b, past[k], reached, bounds[k]);
        if (sdx_gradient_wanted(g, node, k + 1))
            sdx_gradient_give_sum(g, node, k + 1, SDX_EMIT(b, "Where", outside, gradient, zero));
        gradient = SDX_EMIT(b, "Where", outside, zero, gradient);
    }
    sdx_gradient_give(g, node, 0, gradient);
}

SDX_GRADIENT_RULE(gelu) {
    size_t first = sdx_gradient_mark(g);
    bool tanh = sdx_node_text_is(node, "approximate", "none", "tanh");
    sdx_id y = sdx_gradient_formula(
        g, node,
        tanh ? "a 0.5 Mul a a Mul a Mul 0.044715 Mul a Add 0.7978845608028654 Mul Tanh 1 Add Mul"
             : "a 0.5 Mul a 0.7071067811865476 Mul Erf 1 Add Mul");
    sdx_gradient_through(g, node, first, &y, 1);
}

/* Whether a Dropout drops anything: 0 never, 1 always, 2 as its third input says during the run. */
static int dropout_mode(const sdx_build *b, const sdx_node *node) {
    if (node->version < 7) return sdx_node_int(node, "is_test", 0) == 0;
    if (node->version < 12 || node->input_count < 3 || node->inputs[2] == SDX_NONE) return 0;
    const sdx_const *training = sdx_value_at(b->module, node->inputs[2])->constant;
    if (!training || training->count != 1) return 2;
    uint8_t value;
    sdx_const_decode(training, &value);
    return value != 0;
}

/* What was dropped gets nothing, what was kept gets its scale: the mask says which. */
SDX_GRADIENT_RULE(dropout) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = sdx_gradient_of(g, node, 0);
    sdx_dtype dtype = sdx_build_dtype(b, gradient);
    int mode = dropout_mode(b, node);
    if (mode != 0) {
        sdx_id one = sdx_build_number(b, dtype, 1), ratio;
        if (node->version < 12 || node->inputs[1] == SDX_NONE)
            ratio = sdx_build_number(b, dtype, (double)sdx_node_float(node, "ratio", 0.5f));
        else ratio = sdx_build_cast(b, node->inputs[1], dtype);
        sdx_id scale = SDX_EMIT(b, "Div", one, SDX_EMIT(b, "Sub", one, ratio));
        if (mode == 2) scale = SDX_EMIT(b, "Where", node->inputs[2], scale, one);
        sdx_id mask = sdx_build_cast(b, sdx_gradient_need_output(g, node, 1), dtype);
        gradient = SDX_EMIT(b, "Mul", gradient, SDX_EMIT(b, "Mul", mask, scale));
    }
    sdx_gradient_give(g, node, 0, gradient);
}
