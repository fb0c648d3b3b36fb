/* gradient_shape.c - rules of operators that lay a tensor out anew: shapes, parts, repetitions,
 * frames. Those that look elements up by index are in gradient_index.c. */
#include "passes/gradient.h"

SDX_GRADIENT_RULE(reshape) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_gradient_give(g, node, 0,
                      sdx_build_reshape_like(b, sdx_gradient_of(g, node, 0), node->inputs[0]));
}

SDX_GRADIENT_RULE(expand) { sdx_gradient_give_sum(g, node, 0, sdx_gradient_of(g, node, 0)); }

SDX_GRADIENT_RULE(transpose) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = sdx_gradient_of(g, node, 0);
    const sdx_attr *perm = sdx_node_attr(node, "perm", SDX_ATTR_INTS);
    int64_t back[SDX_MAX_RANK] = {0};
    if (!perm || perm->count == 0) { /* the axes are reversed, and so are they back */
        sdx_gradient_give(g, node, 0, SDX_EMIT(b, "Transpose", gradient));
        return;
    }
    for (size_t i = 0; i < perm->count; i++) back[perm->as.ints[i]] = (int64_t)i;
    sdx_gradient_give(g, node, 0,
                      sdx_build_transpose(b, gradient, back, (int32_t)perm->count));
}

SDX_GRADIENT_RULE(trilu) {
    sdx_id k = node->input_count > 1 ? node->inputs[1] : SDX_NONE;
    sdx_gradient_give(g, node, 0,
                      sdx_emit(sdx_gradient_build(g), "Trilu", node->attrs, node->attr_count,
                               SDX_IDS(sdx_gradient_of(g, node, 0), k)));
}

/* Element i of the input is in the sums from i on, or up to i: the gradient runs the other way. */
SDX_GRADIENT_RULE(cumsum) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_attr reverse = sdx_a_int(b, "reverse", sdx_node_int(node, "reverse", 0) == 0);
    sdx_attr exclusive = sdx_a_int(b, "exclusive", sdx_node_int(node, "exclusive", 0));
    sdx_gradient_give(g, node, 0, SDX_EMIT_WITH(b, "CumSum", SDX_ATTRS(reverse, exclusive),
                                                sdx_gradient_of(g, node, 0), node->inputs[1]));
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* An axis attribute of a node whose input has this rank. */
static int32_t axis_of(const sdx_node *node, int32_t rank, int64_t fallback) {
    int64_t axis = sdx_node_int(node, "axis", fallback);
    return (int32_t)(axis < 0 ? axis + rank : axis);
}

SDX_GRADIENT_RULE(concat) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = sdx_gradient_of(g, node, 0);
    if (!sdx_gradient_need_rank(g, node, gradient)) return;
    int32_t axis = axis_of(node, sdx_build_rank(b, gradient), 1); /* version 1 has a default */
    sdx_id *sizes = sdx_gradient_list(g, 2 * (size_t)node->input_count);
    if (!sizes) return;
    sdx_id *parts = sizes + node->input_count;
    for (uint32_t i = 0; i < node->input_count; i++) {
        sizes[i] = sdx_build_dims(b, node->inputs[i], axis, axis + 1);
        parts[i] = SDX_NONE;
    }
    sdx_id split = sdx_emit(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 0)), sizes,
                            node->input_count);
    sdx_emit_many(b, "Split", SDX_ATTRS(sdx_a_int(b, "axis", axis)), SDX_IDS(gradient, split),
                  parts, node->input_count);
    for (uint32_t i = 0; i < node->input_count; i++) sdx_gradient_give(g, node, i, parts[i]);
}

SDX_GRADIENT_RULE(split) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_dtype dtype = sdx_build_dtype(b, node->inputs[0]);
    sdx_id *parts = sdx_gradient_list(g, node->output_count);
    if (!parts) return;
    for (uint32_t o = 0; o < node->output_count; o++) {
        parts[o] = sdx_gradient_of(g, node, o);
        if (parts[o] != SDX_NONE) continue;
        sdx_id part = sdx_gradient_need_output(g, node, o);
        parts[o] = sdx_build_fill(b, sdx_build_shape(b, part), dtype, 0);
    }
    sdx_attr axis = sdx_a_int(b, "axis", sdx_node_int(node, "axis", 0));
    sdx_gradient_give(g, node, 0,
                      sdx_emit(b, "Concat", SDX_ATTRS(axis), parts, node->output_count));
}

/* ---- frames ---------------------------------------------------------------------------------- */

static sdx_id sum_of_all(sdx_build *b, sdx_id value) {
    return SDX_EMIT_WITH(b, "ReduceSum", SDX_ATTRS(sdx_a_int(b, "keepdims", 0)), value);
}

/* Padding by the negative cuts the frame off again. */
SDX_GRADIENT_RULE(pad) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = sdx_gradient_of(g, node, 0), pads;
    if (!sdx_node_text_is(node, "mode", "constant", "constant")) {
        sdx_gradient_moved(g, node);
        return;
    }
    if (node->version < 11) {
        const sdx_attr *given = sdx_node_attr(node, node->version < 2 ? "paddings" : "pads",
                                              SDX_ATTR_INTS);
        pads = sdx_build_ints(b, given->as.ints, given->count);
    } else {
        pads = node->inputs[1];
    }
    sdx_id axes = node->input_count > 3 ? node->inputs[3] : SDX_NONE;
    sdx_id inside = SDX_EMIT(b, "Pad", gradient, SDX_EMIT(b, "Neg", pads), SDX_NONE, axes);
    sdx_gradient_give(g, node, 0, inside);
    if (sdx_gradient_wanted(g, node, 2)) {
        sdx_id frame = SDX_EMIT(b, "Sub", sum_of_all(b, gradient), sum_of_all(b, inside));
        sdx_gradient_give(g, node, 2, sdx_build_reshape_like(b, frame, node->inputs[2]));
    }
}

/* Inputs 1 to 4 of Slice, which were attributes before version 10. */
static bool slice_list(const sdx_build *b, const sdx_node *node, uint32_t input, const char *name,
                       int64_t *out, size_t *count) {
    if (node->version >= 10) {
        if (input < node->input_count && node->inputs[input] != SDX_NONE)
            return sdx_build_known(b, node->inputs[input], out, SDX_MAX_RANK, count);
        *count = 0;
        return true;
    }
    const sdx_attr *attr = sdx_node_attr(node, name, SDX_ATTR_INTS);
    *count = attr ? attr->count : 0;
    if (*count > SDX_MAX_RANK) return false;
    for (size_t i = 0; i < *count; i++) out[i] = attr->as.ints[i];
    return true;
}

/* Where the slice begins on each axis; false where that is not known yet, or where it takes
 * steps. */
static bool slice_begins(const sdx_build *b, const sdx_node *node, int64_t *begin) {
    int64_t starts[SDX_MAX_RANK], axes[SDX_MAX_RANK], steps[SDX_MAX_RANK];
    size_t count, axis_count, step_count;
    const sdx_type *type = sdx_build_type(b, node->inputs[0]);
    if (!slice_list(b, node, 1, "starts", starts, &count) ||
        !slice_list(b, node, 3, "axes", axes, &axis_count) ||
        !slice_list(b, node, 4, "steps", steps, &step_count))
        return false;
    for (int32_t i = 0; i < type->rank; i++) begin[i] = 0;
    for (size_t i = 0; i < step_count; i++)
        if (steps[i] != 1) return false;
    for (size_t i = 0; i < count; i++) {
        int64_t axis = axis_count ? axes[i] : (int64_t)i, start = starts[i];
        if (axis < 0) axis += type->rank;
        if ((axis_count && i >= axis_count) || axis < 0 || axis >= type->rank) return false;
        sdx_expr dim = type->dims[axis];
        if (start < 0 && !sdx_expr_is_const(dim)) return false;
        if (start < 0) start += sdx_expr_value(dim);
        if (start < 0) start = 0;
        if (sdx_expr_is_const(dim) && start > sdx_expr_value(dim)) start = sdx_expr_value(dim);
        begin[axis] = start;
    }
    return true;
}

/* What was cut away comes back as a frame of zeros: begin before, and behind what is missing
 * then. */
SDX_GRADIENT_RULE(slice) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id x = node->inputs[0], gradient = sdx_gradient_of(g, node, 0);
    int64_t begin[SDX_MAX_RANK];
    int32_t rank = sdx_build_rank(b, x);
    if (rank < 0 || !slice_begins(b, node, begin)) {
        sdx_gradient_moved(g, node);
        return;
    }
    sdx_id before = sdx_build_ints(b, begin, (size_t)rank);
    sdx_id behind = SDX_EMIT(b, "Sub", SDX_EMIT(b, "Sub", sdx_build_shape(b, x), before),
                             sdx_build_shape(b, gradient));
    sdx_id pads = SDX_EMIT_WITH(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 0)), before, behind);
    sdx_gradient_give(g, node, 0, SDX_EMIT(b, "Pad", gradient, pads));
}

/* ---- repetitions ----------------------------------------------------------------------------- */

/* Each axis becomes two, copies and positions, and the copies are added up. */
SDX_GRADIENT_RULE(tile) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id x = node->inputs[0], pieces[2 * SDX_MAX_RANK];
    int32_t rank = sdx_build_rank(b, x);
    int64_t axes[SDX_MAX_RANK];
    if (rank < 0 || 2 * rank > SDX_MAX_RANK || node->version < 6) {
        sdx_gradient_moved(g, node);
        return;
    }
    if (rank == 0) {
        sdx_gradient_give(g, node, 0, sdx_gradient_of(g, node, 0));
        return;
    }
    for (int32_t i = 0; i < rank; i++) {
        int64_t at = i, next = i + 1;
        pieces[2 * i] = SDX_EMIT(b, "Slice", node->inputs[1], sdx_build_ints(b, &at, 1),
                                 sdx_build_ints(b, &next, 1));
        pieces[2 * i + 1] = sdx_build_dims(b, x, i, i + 1);
        axes[i] = 2 * i;
    }
    sdx_id shape = sdx_emit(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 0)), pieces,
                            2 * (uint32_t)rank);
    sdx_id spread = SDX_EMIT_WITH(b, "Reshape", SDX_ATTRS(sdx_a_int(b, "allowzero", 1)),
                                  sdx_gradient_of(g, node, 0), shape);
    sdx_id sum = sdx_build_sum(b, spread, axes, (size_t)rank);
    sdx_gradient_give(g, node, 0, sdx_build_reshape_like(b, sum, x));
}
