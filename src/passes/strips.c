/* strips.c - a depthwise convolution and the 1x1 convolutions before and behind it become one step
 * that works on a few rows at a time (kernels/strip.h), where what lies between them is larger than a
 * cache: that saves memory and the way to it. The first convolution of a network, on an image of few
 * channels, can stand in place of the 1x1 convolution before. Where squeeze-and-excite asks for the mean of each channel
 * of what the depthwise convolution makes, the same step makes it on the way. */
#include <string.h>

#include "kernels/tail.h"
#include "ops/fused.h"
#include "passes/passes.h"

#define WORTH_BYTES ((int64_t)512 << 10)

static bool is_conv(const sdx_node *node) {
    return sdx_is_fused(node, "Conv") && !sdx_node_int(node, "planar", 0);
}

static bool all_are(const sdx_node *node, const char *name, int64_t value) {
    const sdx_attr *attr = sdx_node_attr(node, name, SDX_ATTR_INTS);
    for (size_t i = 0; attr && i < attr->count; i++)
        if (attr->as.ints[i] != value) return false;
    return true;
}

static bool is_pointwise(const sdx_rewrite *r, const sdx_node *node) {
    return is_conv(node) && sdx_node_int(node, "group", 1) == 1 &&
           all_are(node, "kernel_shape", 1) && all_are(node, "strides", 1) &&
           all_are(node, "pads", 0) && sdx_constant_of(r, node->inputs[1]);
}

static bool is_depthwise(const sdx_rewrite *r, const sdx_node *node) {
    const sdx_const *weights = is_conv(node) ? sdx_constant_of(r, node->inputs[1]) : NULL;
    int64_t group = sdx_node_int(node, "group", 1);
    return weights && group > 1 && weights->dims[0] == group && weights->dims[1] == 1 &&
           weights->dims[2] <= 64 && sdx_node_input(node, 3) == SDX_NONE;
}

/* Bytes of one image; 0 where they are not known. */
static int64_t image_bytes(const sdx_rewrite *r, sdx_id value) {
    const sdx_type *type = sdx_build_type(&r->build, value);
    int64_t bytes = sizeof(float);
    for (int32_t i = 1; i < 4; i++) {
        if (type->rank != 4 || !sdx_expr_is_const(type->dims[i])) return 0;
        bytes *= sdx_expr_value(type->dims[i]);
    }
    return bytes;
}

/* A convolution of few channels, whose way is ROWS, from an image of known size. */
static bool is_stem(const sdx_rewrite *r, const sdx_node *node) {
    const sdx_const *weights =
        sdx_is_fused(node, "Conv") ? sdx_constant_of(r, node->inputs[1]) : NULL;
    return weights && sdx_node_int(node, "group", 1) == 1 && weights->dims[1] <= 4 &&
           weights->dims[3] > 1 && all_are(node, "dilations", 1) &&
           sdx_node_text_is(node, "auto_pad", "NOTSET", "NOTSET") &&
           sdx_node_attr(node, "strides", SDX_ATTR_INTS) &&
           sdx_node_attr(node, "pads", SDX_ATTR_INTS) && image_bytes(r, node->inputs[0]) > 0;
}

/* The convolution that makes the input, if it is 1x1 or a stem and nobody else reads it. */
static sdx_id find_before(sdx_rewrite *r, sdx_id input) {
    sdx_id maker = sdx_maker(r, input);
    if (maker == SDX_NONE || sdx_use_count(r, input) != 1) return SDX_NONE;
    const sdx_node *node = sdx_node_at(r->module, maker);
    bool fits = is_pointwise(r, node) || is_stem(r, node);
    return fits && sdx_node_input(node, 3) == SDX_NONE ? maker : SDX_NONE;
}

static sdx_id find_behind(sdx_rewrite *r, sdx_id output) {
    sdx_id user = sdx_sole_user(r, output);
    if (user == SDX_NONE) return SDX_NONE;
    const sdx_node *node = sdx_node_at(r->module, user);
    return is_pointwise(r, node) && node->inputs[0] == output ? user : SDX_NONE;
}

/* The node that takes the mean of the pixels, channel by channel; SDX_NONE: there is not just one. */
static sdx_id find_mean(sdx_rewrite *r, sdx_id value) {
    sdx_id found = SDX_NONE;
    uint32_t at = SDX_NONE;
    for (const sdx_use *use; (use = sdx_use_next(r, value, &at));) {
        const sdx_node *node = use->node == SDX_NONE ? NULL : sdx_node_if(r, use->node, "ReduceMean");
        int64_t axes[2];
        size_t count;
        if (!node || use->index != 0 || sdx_node_int(node, "keepdims", 1) != 1 ||
            !sdx_build_known(&r->build, sdx_node_input(node, 1), axes, 2, &count) || count != 2)
            continue;
        if (axes[0] < 1 || axes[1] < 1 || axes[0] + axes[1] != 3) continue;
        if (found != SDX_NONE || use->graph != sdx_node_at(r->module, use->node)->graph)
            return SDX_NONE;
        found = use->node;
    }
    return found;
}

typedef struct attrs {
    sdx_attr items[17];
    uint32_t count;
} attrs;

static void add_tail(sdx_rewrite *r, attrs *to, const sdx_node *node, const char *const names[3]) {
    sdx_build *b = &r->build;
    to->items[to->count++] = sdx_a_int(b, names[0], sdx_node_int(node, "act", SDX_ACT_NONE));
    to->items[to->count++] = sdx_a_float(b, names[1], sdx_node_float(node, "act_a", 0.0f));
    to->items[to->count++] = sdx_a_float(b, names[2], sdx_node_float(node, "act_b", 0.0f));
}

static void add_stem(sdx_rewrite *r, attrs *to, const sdx_node *node) {
    const int64_t *strides = sdx_node_attr(node, "strides", SDX_ATTR_INTS)->as.ints;
    const int64_t *pads = sdx_node_attr(node, "pads", SDX_ATTR_INTS)->as.ints;
    const int64_t stem[] = {sdx_node_int(node, "planar", 0), strides[0], strides[1], pads[0],
                            pads[1], pads[2], pads[3]};
    to->items[to->count++] = sdx_a_ints(&r->build, "stem", stem, SDX_COUNT(stem));
}

static void join(sdx_rewrite *r, sdx_id before, sdx_id id, sdx_id behind, sdx_id mean) {
    static const char *const kept[] = {"kernel_shape", "strides", "dilations", "pads",
                                       "auto_pad", "group"};
    const sdx_id stages[3] = {before, id, behind};
    sdx_id in[8], from[4], results[2] = {SDX_NONE, SDX_NONE};
    uint32_t from_count = 1;
    attrs a = {.count = 0};
    for (uint32_t i = 0; i < 8; i++) in[i] = SDX_NONE;
    const sdx_node *middle = sdx_node_at(r->module, id);
    for (uint32_t i = 0; i < middle->attr_count; i++)
        for (uint32_t k = 0; k < SDX_COUNT(kept); k++)
            if (strcmp(middle->attrs[i].name, kept[k]) == 0)
                a.items[a.count++] = middle->attrs[i];
    in[0] = middle->inputs[0];
    sdx_id out = middle->outputs[0];
    from[0] = id;
    for (uint32_t i = 0; i < 3; i++) {
        if (stages[i] == SDX_NONE) continue;
        const sdx_node *node = sdx_node_at(r->module, stages[i]);
        in[1 + 2 * i] = node->inputs[1];
        in[2 + 2 * i] = sdx_node_input(node, 2);
        add_tail(r, &a, node, sdx_tail_names[i]);
        if (i == 0) in[0] = node->inputs[0];
        if (i == 0 && is_stem(r, node)) add_stem(r, &a, node);
        if (i == 2) {
            in[7] = sdx_node_input(node, 3);
            out = node->outputs[0];
        }
        if (i != 1) from[from_count++] = stages[i];
    }
    if (mean != SDX_NONE) from[from_count++] = mean;
    sdx_rewrite_from(r, from, from_count);
    sdx_emit_many(&r->build, "sardonyx:Strip", a.items, a.count, in, 8, results,
                  mean != SDX_NONE ? 2 : 1);
    if (r->build.status != SDX_STATUS_OK) return;
    if (mean != SDX_NONE) sdx_supplant(r, sdx_node_at(r->module, mean)->outputs[0], results[1]);
    sdx_supplant(r, out, results[0]);
}

sdx_status sdx_pass_strips(sdx_rewrite *r) {
    size_t count = r->module->nodes.count;
    for (size_t id = 0; id < count && r->build.status == SDX_STATUS_OK; id++) {
        const sdx_node *node = sdx_node_at(r->module, (sdx_id)id);
        if (!is_depthwise(r, node)) continue;
        sdx_id before = SDX_NONE, behind = SDX_NONE;
        if (image_bytes(r, node->inputs[0]) >= WORTH_BYTES)
            before = find_before(r, node->inputs[0]);
        if (image_bytes(r, node->outputs[0]) >= WORTH_BYTES)
            behind = find_behind(r, node->outputs[0]);
        sdx_id mean = SDX_NONE;
        if (behind == SDX_NONE && image_bytes(r, node->outputs[0]) > 0)
            mean = find_mean(r, node->outputs[0]);
        if (before != SDX_NONE || behind != SDX_NONE || mean != SDX_NONE)
            join(r, before, (sdx_id)id, behind, mean);
    }
    return r->build.status;
}
