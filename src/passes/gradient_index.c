/* gradient_index.c - rules of operators that take elements from where indices say, or put them
 * there. One serves all operators that only move elements: it moves the elements' numbers the
 * same way, and adds each element of the gradient to the place whose number has come to stand
 * there. */
#include "passes/gradient.h"

static sdx_id zeros_like(sdx_build *b, sdx_id value) {
    return sdx_build_fill(b, sdx_build_shape(b, value), sdx_build_dtype(b, value), 0);
}

static sdx_id flat(sdx_build *b, sdx_id value) {
    return sdx_build_reshape(b, value, (int64_t[]){-1}, 1);
}

/* Numbers start with 1: elements that the operator made up are 0 and collect in a place of their
 * own, which is cut off at the end. */
SDX_GRADIENT_RULE(moved) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id x = node->inputs[0], moved = SDX_NONE; /* these operators have one output */
    sdx_id one = sdx_build_number(b, SDX_DTYPE_INT64, 1);
    sdx_id end = SDX_EMIT(b, "Add", SDX_EMIT(b, "Size", x), one);
    sdx_id numbers = sdx_build_reshape_like(b, SDX_EMIT(b, "Range", one, end, one), x);
    sdx_id *in = sdx_gradient_list(g, node->input_count);
    if (!in) return;
    for (uint32_t i = 0; i < node->input_count; i++) in[i] = i == 0 ? numbers : node->inputs[i];
    sdx_emit_copy(b, node, in, &moved);
    sdx_id places = sdx_build_fill(b, sdx_build_reshape(b, end, (int64_t[]){1}, 1),
                                   sdx_build_dtype(b, x), 0);
    sdx_id sums = SDX_EMIT_WITH(b, "ScatterElements", SDX_ATTRS(sdx_a_text(b, "reduction", "add")),
                                places, flat(b, moved), flat(b, sdx_gradient_of(g, node, 0)));
    sdx_id kept = SDX_EMIT(b, "Slice", sums, sdx_build_ints(b, (int64_t[]){1}, 1),
                           sdx_build_ints(b, (int64_t[]){INT64_MAX}, 1));
    sdx_gradient_give(g, node, 0, sdx_build_reshape_like(b, kept, x));
}

SDX_GRADIENT_RULE(resize) {
    if (sdx_node_text_is(node, "mode", "nearest", "nearest")) sdx_gradient_moved(g, node);
    else sdx_gradient_refuse(g, node, "interpolates: only the mode 'nearest' has a rule");
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Along axis 0 this is ScatterND of the gradient's rows; another axis is brought to the front. */
SDX_GRADIENT_RULE(gather) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id x = node->inputs[0], indices = node->inputs[1], gradient = sdx_gradient_of(g, node, 0);
    if (!sdx_gradient_need_rank(g, node, x) || !sdx_gradient_need_rank(g, node, indices)) return;
    int32_t rank = sdx_build_rank(b, x), taken = sdx_build_rank(b, indices);
    int64_t axis = sdx_node_int(node, "axis", 0), front[SDX_MAX_RANK], back[SDX_MAX_RANK];
    if (axis < 0) axis += rank;
    for (int32_t i = 0; i < taken; i++) front[i] = axis + i;
    for (int32_t i = 0; i < axis; i++) front[taken + i] = i;
    for (int32_t i = (int32_t)axis + taken; i < rank - 1 + taken; i++) front[i] = i;
    gradient = sdx_build_transpose(b, gradient, front, rank - 1 + taken);
    sdx_id dims[3] = {sdx_build_dims(b, x, (int32_t)axis, (int32_t)axis + 1),
                      sdx_build_dims(b, x, 0, (int32_t)axis),
                      sdx_build_dims(b, x, (int32_t)axis + 1, rank)};
    sdx_id shape = sdx_emit(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 0)), dims, 3);
    sdx_id rows = sdx_build_cast(b, indices, SDX_DTYPE_INT64);
    rows = SDX_EMIT(b, "Unsqueeze", rows, sdx_build_ints(b, (int64_t[]){-1}, 1));
    sdx_id sums = SDX_EMIT_WITH(b, "ScatterND", SDX_ATTRS(sdx_a_text(b, "reduction", "add")),
                                sdx_build_fill(b, shape, sdx_build_dtype(b, x), 0), rows,
                                gradient);
    for (int32_t i = 0; i < rank; i++) back[i] = i < axis ? i + 1 : i == axis ? 0 : i;
    sdx_gradient_give(g, node, 0, sdx_build_transpose(b, sums, back, rank));
}

static sdx_id add_elements(sdx_build *b, sdx_id like, sdx_id indices, sdx_id gradient,
                           int64_t axis) {
    return SDX_EMIT_WITH(b, "ScatterElements",
                         SDX_ATTRS(sdx_a_int(b, "axis", axis), sdx_a_text(b, "reduction", "add")),
                         zeros_like(b, like), indices, gradient);
}

SDX_GRADIENT_RULE(gather_elements) {
    sdx_gradient_give(g, node, 0,
                      add_elements(sdx_gradient_build(g), node->inputs[0], node->inputs[1],
                                   sdx_gradient_of(g, node, 0), sdx_node_int(node, "axis", 0)));
}

SDX_GRADIENT_RULE(topk) {
    sdx_gradient_give(g, node, 0,
                      add_elements(sdx_gradient_build(g), node->inputs[0],
                                   sdx_gradient_need_output(g, node, 1),
                                   sdx_gradient_of(g, node, 0), sdx_node_int(node, "axis", -1)));
}

SDX_GRADIENT_RULE(gather_nd) {
    sdx_build *b = sdx_gradient_build(g);
    if (sdx_node_int(node, "batch_dims", 0) != 0) {
        sdx_gradient_moved(g, node);
        return;
    }
    sdx_gradient_give(g, node, 0,
                      SDX_EMIT_WITH(b, "ScatterND", SDX_ATTRS(sdx_a_text(b, "reduction", "add")),
                                    zeros_like(b, node->inputs[0]), node->inputs[1],
                                    sdx_gradient_of(g, node, 0)));
}

/* ---- putting --------------------------------------------------------------------------------- */

enum { PUT_DATA, PUT_INDICES, PUT_UPDATES };

/* Updates get the gradient of the place that they went to; data keep theirs unless overwritten.
 * Where indices repeat, the order of writing is open, and so is the gradient. */
static void scatter(sdx_gradient *g, const sdx_node *node, const char *take, const char *put,
                    const sdx_attr *axis) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = sdx_gradient_of(g, node, 0), indices = node->inputs[PUT_INDICES];
    const uint32_t attrs = axis ? 1 : 0;
    bool adds = sdx_node_text_is(node, "reduction", "none", "add");
    if (!adds && !sdx_node_text_is(node, "reduction", "none", "none")) {
        sdx_gradient_refuse(g, node, "has a reduction other than 'none' and 'add'");
        return;
    }
    if (sdx_gradient_wanted(g, node, PUT_UPDATES))
        sdx_gradient_give(g, node, PUT_UPDATES,
                          sdx_emit(b, take, axis, attrs, SDX_IDS(gradient, indices)));
    if (sdx_gradient_wanted(g, node, PUT_DATA) && !adds)
        gradient = sdx_emit(b, put, axis, attrs,
                            SDX_IDS(gradient, indices, zeros_like(b, node->inputs[PUT_UPDATES])));
    sdx_gradient_give(g, node, PUT_DATA, gradient);
}

SDX_GRADIENT_RULE(scatter_elements) {
    sdx_attr axis = sdx_a_int(sdx_gradient_build(g), "axis", sdx_node_int(node, "axis", 0));
    scatter(g, node, "GatherElements", "ScatterElements", &axis);
}

SDX_GRADIENT_RULE(scatter_nd) { scatter(g, node, "GatherND", "ScatterND", NULL); }
