/* channels_last.c - layout: images are held with their channels side by side (batch, height, width,
 * channels) wherever that saves work, since convolutions then need no copies and vectors no gaps.
 *
 * One walk in the order of execution keeps, for each value, its twin with channels last where there is
 * one. Convolutions begin it; pools, elementwise operators, Concat and the like follow their inputs;
 * whatever knows of no twin gets the plain value, by a Transpose that is made only if it is needed.
 * Transposes in the model that say just this become nothing: their result is the twin. */
#include <string.h>

#include "kernels/conv_transpose.h"
#include "passes/elementwise.h"
#include "passes/passes.h"

#define PLANES 4 /* up to so many channels a convolution reads the planes themselves */

typedef struct layout {
    sdx_rewrite *r;
    sdx_build *b;
    sdx_id *twin;  /* by value; SDX_NONE: none */
    size_t values; /* entries: values that were there at the start */
    sdx_id *moved; /* nodes whose results have twins in their place */
    size_t moved_count;
} layout;

static const int64_t to_last[4] = {0, 2, 3, 1}, to_planes[4] = {0, 3, 1, 2};
/* Where an axis of the planes stands with channels last. */
static const int32_t axis_of[4] = {0, 3, 1, 2};

static sdx_id twin_of(const layout *l, sdx_id value) {
    return value != SDX_NONE && value < l->values ? l->twin[value] : SDX_NONE;
}
static bool is_image(const layout *l, sdx_id value) {
    const sdx_type *type = sdx_build_type(l->b, value);
    return type->kind == SDX_KIND_TENSOR && type->rank == 4;
}
static bool is_f32(const layout *l, sdx_id value) {
    return sdx_build_dtype(l->b, value) == SDX_DTYPE_FLOAT32;
}

/* Swaps the places of channels and pixels; if one of them is 1, the bytes stay as they are. */
static sdx_id transpose(layout *l, sdx_id value, const int64_t perm[4]) {
    const sdx_type *type = sdx_build_type(l->b, value);
    bool last = perm == to_planes; /* how it is now */
    sdx_expr c = type->dims[last ? 3 : 1], h = type->dims[last ? 1 : 2], w = type->dims[last ? 2 : 3];
    bool pixels = sdx_expr_is(h, 1) && sdx_expr_is(w, 1);
    if (!pixels && !sdx_expr_is(c, 1)) return sdx_build_transpose(l->b, value, perm, 4);
    if (pixels) {
        int64_t planes[4] = {0, -1, 1, 1}, rows[4] = {0, 1, 1, -1};
        return sdx_build_reshape(l->b, value, last ? planes : rows, 4);
    }
    if (!sdx_expr_is_const(h) || !sdx_expr_is_const(w))
        return sdx_build_transpose(l->b, value, perm, 4);
    int64_t high = sdx_expr_value(h), wide = sdx_expr_value(w);
    int64_t planes[4] = {0, 1, high, wide}, rows[4] = {0, high, wide, 1};
    return sdx_build_reshape(l->b, value, last ? planes : rows, 4);
}

/* The twin of an image, made if there is none. */
static sdx_id last_of(layout *l, sdx_id value) {
    sdx_id twin = twin_of(l, value);
    if (twin != SDX_NONE) return twin;
    twin = transpose(l, value, to_last);
    if (value < l->values) l->twin[value] = twin;
    return twin;
}

/* From now on `twin` stands for the node's result. */
static void moved(layout *l, sdx_id node, sdx_id result, sdx_id twin) {
    if (twin == SDX_NONE) return; /* the build has failed */
    l->twin[result] = twin;
    l->moved[l->moved_count++] = node;
    l->r->changes++;
}

/* ---- convolution ----------------------------------------------------------------------------- */

static sdx_attr attr_or(const sdx_node *node, const char *name, sdx_attr_kind kind,
                        sdx_attr fallback) {
    const sdx_attr *attr = sdx_node_attr(node, name, kind);
    return attr ? *attr : fallback;
}

static bool move_conv(layout *l, sdx_id id, const sdx_node *node) {
    sdx_build *b = l->b;
    sdx_id x = node->inputs[0], w = node->inputs[1], bias = sdx_node_input(node, 2);
    const sdx_const *weights = sdx_constant_of(l->r, w);
    if (!is_image(l, x) || !is_f32(l, x) || !weights || weights->rank != 4 || weights->count == 0 ||
        (bias != SDX_NONE && !sdx_constant_of(l->r, bias)))
        return false;
    int64_t group = sdx_node_int(node, "group", 1);
    bool planar = group == 1 && weights->dims[1] <= PLANES && weights->dims[3] > 1 &&
                  twin_of(l, x) == SDX_NONE;
    const sdx_attr *dilations = sdx_node_attr(node, "dilations", SDX_ATTR_INTS);
    if (dilations && dilations->as.ints[1] != 1) planar = false;
    static const int64_t ones[2] = {1, 1}, zeros[4] = {0};
    const sdx_attr attrs[] = {
        sdx_a_ints(b, "kernel_shape", weights->dims + 2, 2),
        attr_or(node, "strides", SDX_ATTR_INTS, sdx_a_ints(b, "strides", ones, 2)),
        attr_or(node, "dilations", SDX_ATTR_INTS, sdx_a_ints(b, "dilations", ones, 2)),
        attr_or(node, "pads", SDX_ATTR_INTS, sdx_a_ints(b, "pads", zeros, 4)),
        attr_or(node, "auto_pad", SDX_ATTR_STRING, sdx_a_text(b, "auto_pad", "NOTSET")),
        sdx_a_int(b, "group", group),
        sdx_a_int(b, "planar", planar),
        sdx_a_int(b, "winograd", l->r->kernels & SDX_KERNELS_NO_WINOGRAD ? 0 : 4)};
    sdx_id out = node->outputs[0];
    sdx_id in[3] = {planar ? x : last_of(l, x), w, bias};
    moved(l, id, out, sdx_emit(b, "sardonyx:Conv", attrs, SDX_COUNT(attrs), in, 3));
    return true;
}

/* Fewer maps, of a group or in all, would leave most of a vector empty: products over the planes, whose rows
 * are maps times places of the kernel, do not. */
#define LEAST_MAPS 8

static bool move_conv_transpose(layout *l, sdx_id id, const sdx_node *node) {
    sdx_id x = node->inputs[0], w = node->inputs[1], bias = sdx_node_input(node, 2);
    const sdx_const *weights = sdx_constant_of(l->r, w);
    if (!is_image(l, x) || !is_f32(l, x) || !weights || weights->rank != 4 || weights->count == 0 ||
        (bias != SDX_NONE && !sdx_constant_of(l->r, bias)) ||
        weights->dims[1] < LEAST_MAPS)
        return false;
    const sdx_attr *strides = sdx_node_attr(node, "strides", SDX_ATTR_INTS);
    for (size_t i = 0; strides && i < strides->count; i++)
        if (strides->as.ints[i] > SDX_CONV_TRANSPOSE_STRIDE) return false;
    sdx_id in[3] = {last_of(l, x), w, bias}, out = node->outputs[0];
    moved(l, id, out, sdx_emit(l->b, "sardonyx:ConvTranspose", node->attrs, node->attr_count, in, 3));
    return true;
}

/* ---- normalisation that no convolution has taken in -------------------------------------------------- */

static bool move_batch_norm(layout *l, sdx_id id, const sdx_node *node) {
    sdx_id x = node->inputs[0];
    size_t count[4], channels = 0;
    const double *p[4]; /* scale, bias, mean, variance */
    if (twin_of(l, x) == SDX_NONE || !is_f32(l, x) || node->output_count > 1) return false;
    for (uint32_t i = 0; i < 4; i++) {
        p[i] = sdx_constant_doubles(l->r, node->inputs[i + 1], &count[i]);
        if (!p[i] || (i && count[i] != channels)) return false;
        channels = count[i];
    }
    double *both = sdx_arena_array(&l->r->scratch, channels * 2 + 1, sizeof *both);
    if (!both) return false;
    double epsilon = (double)sdx_node_float(node, "epsilon", 1e-5f);
    for (size_t c = 0; c < channels; c++) {
        both[c] = p[0][c] / __builtin_sqrt(p[3][c] + epsilon);
        both[channels + c] = p[1][c] - p[2][c] * both[c];
    }
    int64_t dims[1] = {(int64_t)channels};
    sdx_id out = node->outputs[0];
    sdx_id in[3] = {l->twin[x], sdx_emit_floats(l->r, SDX_DTYPE_FLOAT32, 1, dims, both),
                    sdx_emit_floats(l->r, SDX_DTYPE_FLOAT32, 1, dims, both + channels)};
    moved(l, id, out, sdx_emit(l->b, "sardonyx:Affine", NULL, 0, in, 3));
    return true;
}

/* ---- operators that do not care for the layout ------------------------------------------------------- */

static void emit_like(layout *l, sdx_id id, const sdx_node *node, const sdx_id *in) {
    sdx_id out[4];
    if (node->output_count > 4) return;
    sdx_emit_copy(l->b, node, in, out);
    moved(l, id, node->outputs[0], out[0]);
}

static bool move_unary(layout *l, sdx_id id, const sdx_node *node) {
    sdx_id in[8];
    if (twin_of(l, node->inputs[0]) == SDX_NONE || node->input_count > 8) return false;
    if (node->output_count > 1 && node->outputs[1] != SDX_NONE) return false;
    memcpy(in, node->inputs, node->input_count * sizeof *in);
    in[0] = l->twin[node->inputs[0]];
    emit_like(l, id, node, in);
    return true;
}

static bool move_broadcast(layout *l, sdx_id id, const sdx_node *node) {
    sdx_id in[16];
    bool any = false, legacy = sdx_node_attr(node, "broadcast", SDX_ATTR_INT) != NULL;
    if (node->input_count > 16 || !is_image(l, node->outputs[0]) || legacy) return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const sdx_type *type = sdx_build_type(l->b, node->inputs[i]);
        if (type->kind != SDX_KIND_TENSOR || type->rank < 0 || type->rank > 4) return false;
        any |= twin_of(l, node->inputs[i]) != SDX_NONE;
    }
    if (!any) return false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        sdx_id value = node->inputs[i];
        in[i] = twin_of(l, value);
        if (in[i] == SDX_NONE)
            in[i] = sdx_is_scalar(l->b, value) ? value
                    : is_image(l, value) ? last_of(l, value)
                                         : transpose(l, sdx_build_widen(l->b, value, 4), to_last);
    }
    emit_like(l, id, node, in);
    return true;
}

/* ---- operators with axes ----------------------------------------------------------------------------- */

static int64_t moved_axis(int64_t axis) { return axis_of[axis < 0 ? axis + 4 : axis]; }

static bool move_concat(layout *l, sdx_id id, const sdx_node *node) {
    bool any = false;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!is_image(l, node->inputs[i])) return false;
        any |= twin_of(l, node->inputs[i]) != SDX_NONE;
    }
    const sdx_attr *axis = sdx_node_attr(node, "axis", SDX_ATTR_INT);
    if (!any || !axis) return false;
    sdx_id *in = sdx_arena_array(&l->r->scratch, node->input_count + 1, sizeof *in);
    if (!in) return false;
    for (uint32_t i = 0; i < node->input_count; i++) in[i] = last_of(l, node->inputs[i]);
    const sdx_attr attrs[] = {sdx_a_int(l->b, "axis", moved_axis(axis->as.ints[0]))};
    moved(l, id, node->outputs[0], sdx_emit(l->b, "Concat", attrs, 1, in, node->input_count));
    return true;
}

static bool move_split(layout *l, sdx_id id, const sdx_node *node) {
    sdx_id x = node->inputs[0];
    if (twin_of(l, x) == SDX_NONE || node->output_count > 32 || node->version < 13) return false;
    const sdx_attr *outputs = sdx_node_attr(node, "num_outputs", SDX_ATTR_INT);
    sdx_attr attrs[2] = {sdx_a_int(l->b, "axis", moved_axis(sdx_node_int(node, "axis", 0)))};
    if (outputs) attrs[1] = *outputs;
    sdx_id in[2] = {l->twin[x], sdx_node_input(node, 1)}, out[32];
    uint32_t count = node->output_count;
    const sdx_id *results = node->outputs;
    for (uint32_t o = 0; o < count; o++) {
        if (results[o] == SDX_NONE) return false;
        out[o] = SDX_NONE;
    }
    bool sizes = in[1] != SDX_NONE || outputs;
    sdx_node copy = *node; /* of its own version: before 18, equal parts needed no attribute */
    copy.attrs = sdx_arena_array(&l->r->module->arena, 2, sizeof *copy.attrs);
    if (!copy.attrs || !sizes) return false;
    memcpy(copy.attrs, attrs, sizeof attrs);
    copy.attr_count = outputs ? 2 : 1;
    sdx_emit_copy(l->b, &copy, in, out);
    if (l->b->status != SDX_STATUS_OK) return true;
    moved(l, id, results[0], out[0]);
    for (uint32_t o = 1; o < count; o++) l->twin[results[o]] = out[o];
    return true;
}

/* sardonyx:Shuffle of the shuffle pass, which stands on the planes so far. */
static bool move_shuffle(layout *l, sdx_id id, const sdx_node *node) {
    sdx_id in[16], out[16];
    bool any = false;
    if (node->input_count > 16 || node->output_count > 16) return false;
    for (uint32_t i = 0; i < node->input_count; i++) any |= twin_of(l, node->inputs[i]) != SDX_NONE;
    if (!any || sdx_node_int(node, "axis", 1) != 1) return false;
    for (uint32_t i = 0; i < node->input_count; i++) in[i] = last_of(l, node->inputs[i]);
    for (uint32_t o = 0; o < node->output_count; o++) out[o] = SDX_NONE;
    const sdx_id *results = node->outputs;
    const sdx_attr attrs[] = {sdx_a_int(l->b, "axis", 3),
                              sdx_a_int(l->b, "groups", sdx_node_int(node, "groups", 1)),
                              *sdx_node_attr(node, "sizes", SDX_ATTR_INTS)};
    sdx_emit_many(l->b, "sardonyx:Shuffle", attrs, SDX_COUNT(attrs), in, node->input_count, out,
                  node->output_count);
    if (l->b->status != SDX_STATUS_OK) return true;
    moved(l, id, results[0], out[0]);
    for (uint32_t o = 1; o < node->output_count; o++) l->twin[results[o]] = out[o];
    return true;
}

/* Means and the like over chosen axes. Without the dims that are reduced, those that stay must keep
 * their order: all but the channels go. */
static bool move_reduce(layout *l, sdx_id id, const sdx_node *node) {
    sdx_id x = node->inputs[0];
    int64_t axes[4];
    size_t count = 0;
    bool keep = sdx_node_int(node, "keepdims", 1) == 1;
    if (twin_of(l, x) == SDX_NONE) return false;
    const sdx_attr *given = sdx_node_attr(node, "axes", SDX_ATTR_INTS);
    if (given && given->count <= 4) {
        count = given->count;
        memcpy(axes, given->as.ints, count * sizeof *axes);
    } else if (!sdx_build_known(l->b, sdx_node_input(node, 1), axes, 4, &count)) {
        return false;
    }
    if (count == 0) return false;
    for (size_t i = 0; i < count; i++) axes[i] = moved_axis(axes[i]);
    sdx_id out = node->outputs[0];
    sdx_id in[2] = {l->twin[x], sdx_build_ints(l->b, axes, count)};
    if (!keep) {
        bool pixels = count == 2 && axes[0] + axes[1] == 3 && axes[0] && axes[1];
        const sdx_attr attr = sdx_a_int(l->b, "keepdims", 0);
        return pixels && sdx_supplant(l->r, out, sdx_emit(l->b, node->op_type, &attr, 1, in, 2));
    }
    moved(l, id, out, sdx_emit(l->b, node->op_type, NULL, 0, in, 2));
    return true;
}

static bool move_global_pool(layout *l, sdx_id id, const sdx_node *node) {
    sdx_id x = node->inputs[0], out = node->outputs[0];
    if (twin_of(l, x) == SDX_NONE || !is_f32(l, x)) return false;
    bool average = strcmp(node->op_type, "GlobalAveragePool") == 0;
    int64_t axes[2] = {1, 2};
    sdx_id in[2] = {l->twin[x], sdx_build_ints(l->b, axes, 2)};
    moved(l, id, out, sdx_emit(l->b, average ? "ReduceMean" : "ReduceMax", NULL, 0, in, 2));
    return true;
}

/* Pools with a window; who wants indices has them of the planes. */
static bool move_pool(layout *l, sdx_id id, const sdx_node *node) {
    bool average = strcmp(node->op_type, "AveragePool") == 0;
    sdx_id x = node->inputs[0], out = node->outputs[0];
    if (twin_of(l, x) == SDX_NONE || !is_f32(l, x) ||
        (node->output_count > 1 && node->outputs[1] != SDX_NONE))
        return false;
    sdx_id made = sdx_emit(l->b, average ? "sardonyx:AveragePool" : "sardonyx:MaxPool",
                           node->attrs, node->attr_count, &l->twin[x], 1);
    moved(l, id, out, made);
    return true;
}

/* Scales or sizes of all four axes that are known now move with their axes. */
static bool move_resize(layout *l, sdx_id id, const sdx_node *node) {
    sdx_id x = node->inputs[0], scales = sdx_node_input(node, 2), sizes = sdx_node_input(node, 3);
    if (twin_of(l, x) == SDX_NONE || node->version < 11 || node->output_count != 1 ||
        sdx_node_attr(node, "axes", SDX_ATTR_INTS) ||
        sdx_node_text_is(node, "coordinate_transformation_mode", "half_pixel",
                         "tf_crop_and_resize"))
        return false;
    sdx_id in[4] = {l->twin[x], SDX_NONE, SDX_NONE, SDX_NONE};
    int64_t four = 4, given[4], lengths[4];
    double factors[4];
    size_t count = 0;
    const double *values = scales == SDX_NONE ? NULL : sdx_constant_doubles(l->r, scales, &count);
    if (values && count == 4) {
        for (size_t i = 0; i < 4; i++) factors[axis_of[i]] = values[i];
        in[2] = sdx_emit_floats(l->r, SDX_DTYPE_FLOAT32, 1, &four, factors);
    } else if (sizes != SDX_NONE && sdx_build_known(l->b, sizes, given, 4, &count) && count == 4) {
        for (size_t i = 0; i < 4; i++) lengths[axis_of[i]] = given[i];
        in[3] = sdx_build_ints(l->b, lengths, 4);
    } else {
        return false;
    }
    sdx_node copy = *node;
    copy.input_count = 4;
    sdx_id out = SDX_NONE;
    sdx_emit_copy(l->b, &copy, in, &out);
    moved(l, id, node->outputs[0], out);
    return true;
}

/* ---- Transposes of the model itself --------------------------------------------------------------------- */

static bool move_transpose(layout *l, sdx_id id, const sdx_node *node) {
    const sdx_attr *perm = sdx_node_attr(node, "perm", SDX_ATTR_INTS);
    sdx_id x = node->inputs[0], out = node->outputs[0];
    if (!perm || perm->count != 4) return false;
    if (memcmp(perm->as.ints, to_planes, sizeof to_planes) == 0) {
        /* The input has channels last already. If nobody wants it so, the node just stays. */
        l->twin[out] = x;
        l->moved[l->moved_count++] = id;
        return true;
    }
    if (memcmp(perm->as.ints, to_last, sizeof to_last) != 0 || twin_of(l, x) == SDX_NONE)
        return false;
    return sdx_supplant(l->r, out, l->twin[x]);
}

/* ---- the walk -------------------------------------------------------------------------------- */

typedef struct mover {
    const char *op;
    bool (*move)(layout *l, sdx_id id, const sdx_node *node);
} mover;

static const mover movers[] = {
    {"Conv", move_conv},
    {"ConvTranspose", move_conv_transpose},
    {"BatchNormalization", move_batch_norm},
    {"Concat", move_concat},
    {"Split", move_split},
    {"ReduceMean", move_reduce},
    {"ReduceSum", move_reduce},
    {"ReduceMax", move_reduce},
    {"GlobalAveragePool", move_global_pool},
    {"GlobalMaxPool", move_global_pool},
    {"MaxPool", move_pool},
    {"Resize", move_resize},
    {"AveragePool", move_pool},
    {"Transpose", move_transpose},
};

static void move(layout *l, sdx_id id) {
    sdx_node node = *sdx_node_at(l->r->module, id); /* a copy: tables move when nodes are made */
    bool fused = strcmp(node.domain, SDX_DOMAIN_FUSED) == 0;
    if (node.dead || !node.op || (node.domain[0] && !fused) || !node.input_count ||
        node.inputs[0] == SDX_NONE || node.outputs[0] == SDX_NONE)
        return;
    sdx_rewrite_at(l->r, id);
    if (fused) {
        if (strcmp(node.op_type, "Shuffle") == 0) move_shuffle(l, id, &node);
        return;
    }
    for (size_t i = 0; i < SDX_COUNT(movers); i++)
        if (strcmp(movers[i].op, node.op_type) == 0) {
            movers[i].move(l, id, &node);
            return;
        }
    if (sdx_is_unary(node.op_type)) move_unary(l, id, &node);
    else if (sdx_is_broadcast(node.op_type)) move_broadcast(l, id, &node);
}

/* The plain results that somebody still reads come from their twins; the rest goes. From the last to
 * the first, so that readers go before what they read. */
static void settle(layout *l) {
    for (size_t i = l->moved_count; i-- > 0 && l->b->status == SDX_STATUS_OK;) {
        sdx_node node = *sdx_node_at(l->r->module, l->moved[i]);
        bool stays = strcmp(node.op_type, "Transpose") == 0;
        sdx_rewrite_at(l->r, l->moved[i]);
        for (uint32_t o = 0; !stays && o < node.output_count; o++) {
            sdx_id value = node.outputs[o];
            if (value == SDX_NONE || sdx_use_count(l->r, value) == 0) continue;
            sdx_replace(l->r, value, transpose(l, l->twin[value], to_planes));
        }
        bool used = false;
        for (uint32_t o = 0; o < node.output_count; o++)
            used |= sdx_node_at(l->r->module, l->moved[i])->outputs[o] != SDX_NONE &&
                    sdx_use_count(l->r, sdx_node_at(l->r->module, l->moved[i])->outputs[o]) > 0;
        if (!used) sdx_kill(l->r, l->moved[i]);
    }
}

sdx_status sdx_pass_channels_last(sdx_rewrite *r) {
    sdx_module *module = r->module;
    const sdx_graph *graph = sdx_graph_at(module, 0);
    layout l = {.r = r, .b = &r->build, .values = module->values.count};
    l.twin = sdx_arena_array(&r->scratch, l.values + 1, sizeof *l.twin);
    l.moved = sdx_arena_array(&r->scratch, (size_t)graph->node_count + 1, sizeof *l.moved);
    if (!l.twin || !l.moved) return sdx_fail_memory(r->build.error, 0, "a pass");
    for (size_t i = 0; i < l.values; i++) l.twin[i] = SDX_NONE;
    const sdx_id *nodes = graph->nodes; /* nodes that are made meanwhile stand elsewhere */
    uint32_t count = graph->node_count;
    for (uint32_t i = 0; i < count && r->build.status == SDX_STATUS_OK; i++) move(&l, nodes[i]);
    settle(&l);
    return r->build.status;
}
