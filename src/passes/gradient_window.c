/* gradient_window.c - rules of convolutions and pools. The gradient of a convolution's input is the
 * transposed convolution with the same kernel; that of the kernel is a convolution of input and
 * gradient in which batch and channels, strides and dilations change places. */
#include "passes/gradient.h"

typedef struct window {
    int32_t axes; /* spatial */
    int64_t stride[SDX_MAX_RANK], dilation[SDX_MAX_RANK];
    int64_t pads[2 * SDX_MAX_RANK]; /* begins, then ends */
    int64_t group;
} window;

static int64_t attr_at(const sdx_node *node, const char *name, int32_t i, int64_t fallback) {
    const sdx_attr *attr = sdx_node_attr(node, name, SDX_ATTR_INTS);
    return attr && (size_t)i < attr->count ? attr->as.ints[i] : fallback;
}

static bool same_pad(const sdx_node *node) {
    return sdx_node_text_is(node, "auto_pad", "NOTSET", "SAME_UPPER") ||
           sdx_node_text_is(node, "auto_pad", "NOTSET", "SAME_LOWER");
}

/* Everything but pads that follow from sizes. */
static window window_of(const sdx_node *node, int32_t axes) {
    window w = {.axes = axes, .group = sdx_node_int(node, "group", 1)};
    bool explicit_pads = sdx_node_text_is(node, "auto_pad", "NOTSET", "NOTSET");
    for (int32_t a = 0; a < axes; a++) {
        w.stride[a] = attr_at(node, "strides", a, 1);
        w.dilation[a] = attr_at(node, "dilations", a, 1);
        for (int32_t end = 0; end < 2; end++)
            w.pads[end * axes + a] = explicit_pads ? attr_at(node, "pads", end * axes + a, 0) : 0;
    }
    return w;
}

static sdx_expr dim_of(const sdx_build *b, sdx_id value, int32_t axis) {
    return sdx_build_type(b, value)->dims[axis];
}

/* What `windows` steps and one kernel span on spatial axis a, less `in`: what pads,
 * output_padding and a rest make up between them. */
static sdx_expr overhang(const sdx_build *b, const window *w, int32_t a, sdx_expr in,
                         sdx_expr windows, sdx_expr kernel) {
    sdx_expr_pool *pool = b->module->pool;
    sdx_expr one = sdx_expr_const(1);
    sdx_expr steps = sdx_expr_mul(pool, sdx_expr_sub(pool, windows, one),
                                  sdx_expr_const(w->stride[a]));
    sdx_expr wide = sdx_expr_mul(pool, sdx_expr_sub(pool, kernel, one),
                                 sdx_expr_const(w->dilation[a]));
    return sdx_expr_sub(pool, sdx_expr_add(pool, sdx_expr_add(pool, steps, wide), one), in);
}

/* Halves `total` pads on axis a; more of them at the end where `upper`. */
static void share_pads(window *w, int32_t a, int64_t total, bool upper) {
    if (total < 0) total = 0;
    w->pads[a] = upper ? total / 2 : total - total / 2;
    w->pads[w->axes + a] = total - w->pads[a];
}

static sdx_attr pads_attr(sdx_build *b, const window *w) {
    return sdx_a_ints(b, "pads", w->pads, 2 * (size_t)w->axes);
}

/* ---- the three products ---------------------------------------------------------------------- */

/* A convolution as `w` says. */
static sdx_id convolve(sdx_build *b, const window *w, sdx_id x, sdx_id kernel) {
    size_t axes = (size_t)w->axes;
    return SDX_EMIT_WITH(b, "Conv",
                         SDX_ATTRS(sdx_a_ints(b, "strides", w->stride, axes),
                                   sdx_a_ints(b, "dilations", w->dilation, axes),
                                   pads_attr(b, w), sdx_a_int(b, "group", w->group)),
                         x, kernel);
}

/* Its adjoint: from the shape of its output back to that of x. What the windows do not reach at
 * the end is the rest of a division by the stride; where that is not known now, the end is cut
 * or filled up with zeros during the run. */
static sdx_id convolve_back(sdx_build *b, const window *w, sdx_id gradient, sdx_id kernel,
                            sdx_id x) {
    const size_t axes = (size_t)w->axes;
    int64_t rest[SDX_MAX_RANK], zeros[2 * SDX_MAX_RANK] = {0};
    window open = *w;
    bool known = true;
    for (int32_t a = 0; a < w->axes; a++) {
        sdx_expr over = overhang(b, w, a, dim_of(b, x, a + 2), dim_of(b, gradient, a + 2),
                                 dim_of(b, kernel, a + 2));
        known &= sdx_expr_is_const(over);
        if (known) rest[a] = w->pads[a] + w->pads[w->axes + a] - sdx_expr_value(over);
    }
    for (int32_t a = 0; a < w->axes && !known; a++) open.pads[w->axes + a] = rest[a] = 0;
    sdx_id full = SDX_EMIT_WITH(b, "ConvTranspose",
                                SDX_ATTRS(sdx_a_ints(b, "strides", w->stride, axes),
                                          sdx_a_ints(b, "dilations", w->dilation, axes),
                                          pads_attr(b, &open), sdx_a_int(b, "group", w->group),
                                          sdx_a_ints(b, "output_padding", rest, axes)),
                                gradient, kernel);
    if (known) return full;
    int32_t rank = w->axes + 2;
    sdx_id behind = SDX_EMIT(b, "Sub", sdx_build_dims(b, x, 2, rank),
                             sdx_build_dims(b, full, 2, rank));
    sdx_id pads = SDX_EMIT_WITH(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 0)),
                                sdx_build_ints(b, zeros, (size_t)rank + 2), behind);
    return SDX_EMIT(b, "Pad", full, pads);
}

/* The spatial positions that `like` has, the first of those that `value` has. */
static sdx_id cut_to(sdx_build *b, sdx_id value, sdx_id like, int32_t axes) {
    int64_t zeros[SDX_MAX_RANK] = {0}, at[SDX_MAX_RANK];
    bool same = true;
    for (int32_t a = 0; a < axes; a++) {
        at[a] = a + 2;
        same &= sdx_expr_same(dim_of(b, value, a + 2), dim_of(b, like, a + 2));
    }
    if (same) return value;
    return SDX_EMIT(b, "Slice", value, sdx_build_ints(b, zeros, (size_t)axes),
                    sdx_build_dims(b, like, 2, axes + 2), sdx_build_ints(b, at, (size_t)axes));
}

/* Gradient of the kernel of the convolution of x that gives the shape of `gradient`: channels
 * become the batch, and the batch, group by group, the channels. */
static sdx_id kernel_gradient(sdx_build *b, const window *w, sdx_id x, sdx_id gradient,
                              sdx_id kernel) {
    const int32_t rank = w->axes + 2;
    int64_t swap[SDX_MAX_RANK], lift[SDX_MAX_RANK + 1];
    sdx_attr axis = sdx_a_int(b, "axis", 0);
    for (int32_t i = 0; i < rank; i++) swap[i] = i < 2 ? 1 - i : i;
    for (int32_t i = 0; i <= rank; i++) lift[i] = i < 3 ? 2 - i : i;
    sdx_id images = x;
    if (w->group == 1) {
        images = sdx_build_transpose(b, x, swap, rank);
    } else {
        sdx_id planes = sdx_build_dims(b, kernel, 1, 2), space = sdx_build_dims(b, x, 2, rank);
        sdx_id apart = SDX_EMIT_WITH(b, "Concat", SDX_ATTRS(axis), sdx_build_dims(b, x, 0, 1),
                                     sdx_build_ints(b, &w->group, 1), planes, space);
        sdx_id joined = SDX_EMIT_WITH(b, "Concat", SDX_ATTRS(axis), planes,
                                      sdx_build_ints(b, (int64_t[]){-1}, 1), space);
        images = sdx_build_transpose(b, SDX_EMIT(b, "Reshape", x, apart), lift, rank + 1);
        images = SDX_EMIT(b, "Reshape", images, joined);
    }
    window turned = *w;
    for (int32_t a = 0; a < w->axes; a++) {
        turned.stride[a] = w->dilation[a];
        turned.dilation[a] = w->stride[a];
    }
    sdx_id result = convolve(b, &turned, images, sdx_build_transpose(b, gradient, swap, rank));
    if (b->status != SDX_STATUS_OK) return SDX_NONE;
    return sdx_build_transpose(b, cut_to(b, result, kernel, w->axes), swap, rank);
}

static sdx_id bias_gradient(sdx_build *b, sdx_id gradient, int32_t axes) {
    int64_t all[SDX_MAX_RANK] = {0};
    for (int32_t a = 0; a < axes; a++) all[a + 1] = a + 2;
    return SDX_EMIT_WITH(b, "ReduceSum", SDX_ATTRS(sdx_a_int(b, "keepdims", 0)), gradient,
                         sdx_build_ints(b, all, (size_t)axes + 1));
}

/* ---- Conv and ConvTranspose ------------------------------------------------------------------ */

static bool need_ranks(sdx_gradient *g, const sdx_node *node) {
    return sdx_gradient_need_rank(g, node, node->inputs[0]) &&
           sdx_gradient_need_rank(g, node, node->inputs[1]);
}

static const char open_size[] = "has pads that follow from a size not known before the run";

SDX_GRADIENT_RULE(conv) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id x = node->inputs[0], kernel = node->inputs[1], gradient = sdx_gradient_of(g, node, 0);
    if (!need_ranks(g, node)) return;
    window w = window_of(node, sdx_build_rank(b, x) - 2);
    for (int32_t a = 0; a < w.axes && same_pad(node); a++) {
        sdx_expr total = overhang(b, &w, a, dim_of(b, x, a + 2),
                                  dim_of(b, node->outputs[0], a + 2), dim_of(b, kernel, a + 2));
        if (!sdx_expr_is_const(total)) {
            sdx_gradient_refuse(g, node, open_size);
            return;
        }
        share_pads(&w, a, sdx_expr_value(total),
                   sdx_node_text_is(node, "auto_pad", "", "SAME_UPPER"));
    }
    if (sdx_gradient_wanted(g, node, 0))
        sdx_gradient_give(g, node, 0, convolve_back(b, &w, gradient, kernel, x));
    if (sdx_gradient_wanted(g, node, 1))
        sdx_gradient_give(g, node, 1, kernel_gradient(b, &w, x, gradient, kernel));
    if (sdx_gradient_wanted(g, node, 2))
        sdx_gradient_give(g, node, 2, bias_gradient(b, gradient, w.axes));
}

SDX_GRADIENT_RULE(conv_transpose) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id x = node->inputs[0], kernel = node->inputs[1], gradient = sdx_gradient_of(g, node, 0);
    if (!need_ranks(g, node)) return;
    window w = window_of(node, sdx_build_rank(b, x) - 2);
    const sdx_attr *shape = sdx_node_attr(node, "output_shape", SDX_ATTR_INTS);
    bool computed = same_pad(node) || (shape && shape->count);
    for (int32_t a = 0; a < w.axes && computed; a++) {
        sdx_expr total = overhang(b, &w, a, dim_of(b, node->outputs[0], a + 2),
                                  dim_of(b, x, a + 2), dim_of(b, kernel, a + 2));
        if (!sdx_expr_is_const(total)) {
            sdx_gradient_refuse(g, node, open_size);
            return;
        }
        share_pads(&w, a, sdx_expr_value(total) + attr_at(node, "output_padding", a, 0),
                   sdx_node_text_is(node, "auto_pad", "NOTSET", "SAME_UPPER"));
    }
    if (sdx_gradient_wanted(g, node, 0)) {
        sdx_id back = convolve(b, &w, gradient, kernel);
        if (b->status == SDX_STATUS_OK)
            sdx_gradient_give(g, node, 0, cut_to(b, back, x, w.axes));
    }
    if (sdx_gradient_wanted(g, node, 1))
        sdx_gradient_give(g, node, 1, kernel_gradient(b, &w, gradient, x, kernel));
    if (sdx_gradient_wanted(g, node, 2))
        sdx_gradient_give(g, node, 2, bias_gradient(b, gradient, w.axes));
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* Elements go back to where the maxima came from; a place may be the maximum of several windows. */
SDX_GRADIENT_RULE(max_pool) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id x = node->inputs[0], out[2] = {SDX_NONE, SDX_NONE};
    bool usable = node->version >= 8 && sdx_node_int(node, "storage_order", 0) == 0;
    if (usable) {
        out[1] = sdx_gradient_need_output(g, node, 1);
    } else { /* once more, with indices in the order of the elements */
        sdx_attr attrs[16];
        uint32_t count = 0;
        for (uint32_t i = 0; i < node->attr_count && count < SDX_COUNT(attrs); i++)
            if (strcmp(node->attrs[i].name, "storage_order") != 0) attrs[count++] = node->attrs[i];
        sdx_emit_many(b, "MaxPool", attrs, count, &x, 1, out, 2);
    }
    sdx_id flat = sdx_build_ints(b, (int64_t[]){-1}, 1);
    sdx_id size = sdx_build_reshape(b, SDX_EMIT(b, "Size", x), (int64_t[]){1}, 1);
    sdx_id zeros = sdx_build_fill(b, size, sdx_build_dtype(b, x), 0);
    sdx_id sums = SDX_EMIT_WITH(b, "ScatterElements", SDX_ATTRS(sdx_a_text(b, "reduction", "add")),
                                zeros, SDX_EMIT(b, "Reshape", out[1], flat),
                                SDX_EMIT(b, "Reshape", sdx_gradient_of(g, node, 0), flat));
    sdx_gradient_give(g, node, 0, sdx_build_reshape_like(b, sums, x));
}

static sdx_id pooled_sums(sdx_build *b, const sdx_node *node, const window *w, sdx_id planes,
                          sdx_id kernel) {
    if (!same_pad(node)) return convolve(b, w, planes, kernel);
    const sdx_attr *pad = sdx_node_attr(node, "auto_pad", SDX_ATTR_STRING);
    return SDX_EMIT_WITH(b, "Conv",
                         SDX_ATTRS(sdx_a_ints(b, "strides", w->stride, (size_t)w->axes),
                                   sdx_a_ints(b, "dilations", w->dilation, (size_t)w->axes), *pad),
                         planes, kernel);
}

/* Elements under each window. In ceil mode the last one may reach behind what pads give. */
static sdx_id pooled_counts(sdx_build *b, const sdx_node *node, const window *w, sdx_id x,
                            sdx_id kernel, double taps) {
    sdx_dtype dtype = sdx_build_dtype(b, x);
    bool padded = sdx_node_int(node, "count_include_pad", 0) != 0;
    if (padded && (same_pad(node) || sdx_node_int(node, "ceil_mode", 0) == 0))
        return sdx_build_number(b, dtype, taps);
    sdx_id shape = SDX_EMIT_WITH(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 0)),
                                 sdx_build_ints(b, (int64_t[]){1, 1}, 2),
                                 sdx_build_dims(b, x, 2, w->axes + 2));
    sdx_id ones = sdx_build_fill(b, shape, dtype, 1);
    window counting = *w;
    if (padded) {
        int64_t pads[2 * SDX_MAX_RANK] = {0};
        for (int32_t a = 0; a < w->axes; a++) {
            pads[2 + a] = attr_at(node, "pads", a, 0);
            pads[4 + w->axes + a] = attr_at(node, "pads", w->axes + a, 0);
            counting.pads[a] = 0;
            counting.pads[w->axes + a] -= pads[4 + w->axes + a];
        }
        ones = SDX_EMIT(b, "Pad", ones, sdx_build_ints(b, pads, 2 * (size_t)w->axes + 4),
                        sdx_build_number(b, dtype, 1));
    }
    /* A window over no element at all gives 0. */
    return SDX_EMIT(b, "Max", pooled_sums(b, node, &counting, ones, kernel),
                    sdx_build_number(b, dtype, 1));
}

/* An average is a convolution of each plane with ones, divided by the number of elements. */
SDX_GRADIENT_RULE(average_pool) {
    sdx_build *b = sdx_gradient_build(g);
    sdx_id x = node->inputs[0];
    const size_t first = sdx_gradient_mark(g);
    const sdx_attr *size = sdx_node_attr(node, "kernel_shape", SDX_ATTR_INTS);
    if (!sdx_gradient_need_rank(g, node, x)) return;
    window w = window_of(node, sdx_build_rank(b, x) - 2);
    int64_t shape[SDX_MAX_RANK] = {1, 1};
    double taps = 1;
    for (int32_t a = 0; a < w.axes; a++) {
        shape[a + 2] = size->as.ints[a];
        taps *= (double)size->as.ints[a];
        if (sdx_node_int(node, "ceil_mode", 0)) w.pads[w.axes + a] += w.stride[a] - 1;
    }
    sdx_id kernel = sdx_build_fill(b, sdx_build_ints(b, shape, (size_t)w.axes + 2),
                                   sdx_build_dtype(b, x), 1);
    sdx_id space = sdx_build_dims(b, x, 2, w.axes + 2);
    sdx_id apart = SDX_EMIT_WITH(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 0)),
                                 sdx_build_ints(b, (int64_t[]){-1, 1}, 2), space);
    sdx_id sums = pooled_sums(b, node, &w, SDX_EMIT(b, "Reshape", x, apart), kernel);
    sdx_id mean = SDX_EMIT(b, "Div", sums, pooled_counts(b, node, &w, x, kernel, taps));
    if (b->status != SDX_STATUS_OK) return;
    sdx_id y = sdx_build_reshape_like(b, cut_to(b, mean, node->outputs[0], w.axes),
                                      node->outputs[0]);
    sdx_gradient_through(g, node, first, &y, 1);
}

SDX_GRADIENT_RULE(global_pool) {
    sdx_build *b = sdx_gradient_build(g);
    const size_t first = sdx_gradient_mark(g);
    int64_t axes[SDX_MAX_RANK];
    if (!sdx_gradient_need_rank(g, node, node->inputs[0])) return;
    int32_t count = sdx_build_rank(b, node->inputs[0]) - 2;
    for (int32_t a = 0; a < count; a++) axes[a] = a + 2;
    const char *op = strcmp(node->op_type, "GlobalMaxPool") == 0 ? "ReduceMax" : "ReduceMean";
    sdx_id y = SDX_EMIT_WITH(b, op, SDX_ATTRS(sdx_a_int(b, "noop_with_empty_axes", 1)),
                             node->inputs[0], sdx_build_ints(b, axes, (size_t)count));
    sdx_gradient_through(g, node, first, &y, 1);
}
