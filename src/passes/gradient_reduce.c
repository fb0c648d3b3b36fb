/* gradient_reduce.c - rules of the Reduce operators, Softmax and LogSoftmax. A reduced tensor is
 * brought back to the rank of the input first, so that it can be broadcast against it. */
#include <string.h>

#include "passes/gradient.h"

typedef struct reduction {
    sdx_build *b;
    sdx_id x;
    sdx_id axes; /* SDX_NONE: all, or none */
    bool keeps;  /* the reduced dims stay, with length 1 */
    bool noop;   /* no axes mean none */
} reduction;

static reduction reduction_of(sdx_gradient *g, const sdx_node *node) {
    const sdx_attr *axes = sdx_node_attr(node, "axes", SDX_ATTR_INTS);
    reduction r = {.b = sdx_gradient_build(g), .x = node->inputs[0], .axes = SDX_NONE,
                   .keeps = sdx_node_int(node, "keepdims", 1) != 0,
                   .noop = sdx_node_int(node, "noop_with_empty_axes", 0) != 0};
    if (axes && axes->count) r.axes = sdx_build_ints(r.b, axes->as.ints, axes->count);
    else if (node->input_count > 1) r.axes = node->inputs[1];
    return r;
}

/* With the reduced dims as 1. All dims gone, it is a scalar, which broadcasts as well. */
static sdx_id restored(const reduction *r, sdx_id value) {
    if (r->keeps || r->axes == SDX_NONE) return value;
    return SDX_EMIT(r->b, "Unsqueeze", value, r->axes);
}

/* The same reduction by sums, restored. */
static sdx_id sum_again(const reduction *r, sdx_id value) {
    return SDX_EMIT_WITH(r->b, "ReduceSum",
                         SDX_ATTRS(sdx_a_int(r->b, "noop_with_empty_axes", r->noop)), value,
                         r->axes);
}

static sdx_id spread(const reduction *r, sdx_id value) {
    if (sdx_build_same_shape(r->b, value, r->x)) return value;
    return SDX_EMIT(r->b, "Expand", value, sdx_build_shape(r->b, r->x));
}

/* Elements behind one result. */
static sdx_id reduced_count(const reduction *r, sdx_id y, sdx_dtype dtype) {
    sdx_build *b = r->b;
    return SDX_EMIT(b, "Div", sdx_build_cast(b, SDX_EMIT(b, "Size", r->x), dtype),
                    sdx_build_cast(b, SDX_EMIT(b, "Size", y), dtype));
}

/* The input's derivative of one of the Reduce operators; `gradient` and y are restored. */
static sdx_id slope(const reduction *r, const char *op, sdx_id gradient, sdx_id y) {
    sdx_build *b = r->b;
    sdx_id x = r->x;
    sdx_dtype dtype = sdx_build_dtype(b, gradient);
    if (strcmp(op, "Sum") == 0) return gradient;
    if (strcmp(op, "Mean") == 0) return SDX_EMIT(b, "Div", gradient, reduced_count(r, y, dtype));
    if (strcmp(op, "L1") == 0) return SDX_EMIT(b, "Mul", gradient, SDX_EMIT(b, "Sign", x));
    if (strcmp(op, "LogSum") == 0)
        return SDX_EMIT(b, "Mul", gradient, SDX_EMIT(b, "Exp", SDX_EMIT(b, "Neg", y)));
    if (strcmp(op, "LogSumExp") == 0)
        return SDX_EMIT(b, "Mul", gradient, SDX_EMIT(b, "Exp", SDX_EMIT(b, "Sub", x, y)));
    if (strcmp(op, "SumSquare") == 0)
        return SDX_EMIT(b, "Mul", SDX_EMIT(b, "Mul", gradient, sdx_build_number(b, dtype, 2)), x);
    if (strcmp(op, "L2") == 0) {
        /* At the origin there is no derivative; 0 is one of the subgradients. */
        sdx_id zero = sdx_build_number(b, dtype, 0), one = sdx_build_number(b, dtype, 1);
        sdx_id origin = SDX_EMIT(b, "Equal", y, zero);
        sdx_id share = SDX_EMIT(b, "Div", gradient, SDX_EMIT(b, "Where", origin, one, y));
        return SDX_EMIT(b, "Mul", SDX_EMIT(b, "Where", origin, zero, share), x);
    }
    /* Max and Min: elements that are equal to the result share its gradient in equal parts. */
    sdx_id hit = sdx_build_cast(b, SDX_EMIT(b, "Equal", x, y), dtype);
    return SDX_EMIT(b, "Mul", hit, SDX_EMIT(b, "Div", gradient, sum_again(r, hit)));
}

SDX_GRADIENT_RULE(reduce) {
    reduction r = reduction_of(g, node);
    sdx_id gradient = restored(&r, sdx_gradient_of(g, node, 0));
    const char *op = node->op_type + strlen("Reduce");
    sdx_gradient_give(g, node, 0,
                      spread(&r, slope(&r, op, gradient, restored(&r, node->outputs[0]))));
}

/* ---- ReduceProd ------------------------------------------------------------------------------ */

/* The product of all other elements: of those before times of those behind, so that no zero is ever
 * divided by. The reduced axes are joined into one at the end for that. */
SDX_GRADIENT_RULE(reduce_prod) {
    reduction r = reduction_of(g, node);
    sdx_build *b = r.b;
    int64_t axes[SDX_MAX_RANK], perm[SDX_MAX_RANK], back[SDX_MAX_RANK];
    size_t count = 0;
    if (!sdx_gradient_need_rank(g, node, r.x)) return;
    int32_t rank = sdx_build_rank(b, r.x), kept = 0;
    if (r.axes != SDX_NONE && !sdx_build_known(b, r.axes, axes, SDX_MAX_RANK, &count)) {
        sdx_gradient_refuse(g, node, "has axes that are not known before the run");
        return;
    }
    bool reduced[SDX_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) reduced[i] = count == 0 && !r.noop;
    for (size_t i = 0; i < count; i++) reduced[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
    for (int32_t i = 0; i < rank; i++)
        if (!reduced[i]) perm[kept++] = i;
    int32_t all = kept;
    for (int32_t i = 0; i < rank; i++)
        if (reduced[i]) perm[all++] = i;
    for (int32_t i = 0; i < rank; i++) back[perm[i]] = i;
    sdx_id turned = sdx_build_transpose(b, r.x, perm, rank);
    sdx_id tail = sdx_build_ints(b, (int64_t[]){-1}, 1);
    sdx_id shape = SDX_EMIT_WITH(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 0)),
                                 sdx_build_dims(b, turned, 0, kept), tail);
    sdx_id rows = SDX_EMIT(b, "Reshape", turned, shape);
    sdx_id axis = sdx_build_number(b, SDX_DTYPE_INT64, kept), sides[2];
    for (int k = 0; k < 2; k++)
        sides[k] = SDX_EMIT_WITH(b, "CumProd",
                                 SDX_ATTRS(sdx_a_int(b, "exclusive", 1),
                                           sdx_a_int(b, "reverse", k)),
                                 rows, axis);
    sdx_id others = sdx_build_reshape_like(b, SDX_EMIT(b, "Mul", sides[0], sides[1]), turned);
    others = sdx_build_transpose(b, others, back, rank);
    sdx_id gradient = restored(&r, sdx_gradient_of(g, node, 0));
    sdx_gradient_give(g, node, 0, SDX_EMIT(b, "Mul", gradient, others));
}

/* ---- Softmax --------------------------------------------------------------------------------- */

/* Before version 13 all axes from `axis` on were one. */
static sdx_id as_rows(sdx_build *b, const sdx_node *node, sdx_id value) {
    if (node->version >= 13) return value;
    sdx_attr axis = sdx_a_int(b, "axis", sdx_node_int(node, "axis", 1));
    return SDX_EMIT_WITH(b, "Flatten", SDX_ATTRS(axis), value);
}

static sdx_id sum_of_rows(sdx_build *b, const sdx_node *node, sdx_id value) {
    int64_t axis = node->version >= 13 ? sdx_node_int(node, "axis", -1) : 1;
    return sdx_build_sum(b, value, &axis, 1);
}

SDX_GRADIENT_RULE(softmax) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = as_rows(b, node, sdx_gradient_of(g, node, 0));
    sdx_id y = as_rows(b, node, node->outputs[0]);
    sdx_id mean = sum_of_rows(b, node, SDX_EMIT(b, "Mul", gradient, y));
    sdx_id result = SDX_EMIT(b, "Mul", SDX_EMIT(b, "Sub", gradient, mean), y);
    sdx_gradient_give(g, node, 0, sdx_build_reshape_like(b, result, node->inputs[0]));
}

SDX_GRADIENT_RULE(log_softmax) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id gradient = as_rows(b, node, sdx_gradient_of(g, node, 0));
    sdx_id y = as_rows(b, node, node->outputs[0]);
    sdx_id share = SDX_EMIT(b, "Mul", SDX_EMIT(b, "Exp", y), sum_of_rows(b, node, gradient));
    sdx_gradient_give(g, node, 0,
                      sdx_build_reshape_like(b, SDX_EMIT(b, "Sub", gradient, share),
                                             node->inputs[0]));
}
