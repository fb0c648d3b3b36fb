/* project.c - pass: a product with factors of the channels of each image, as squeeze-and-excite ends
 * with, goes into the 1x1 convolution behind it: its weights are scaled in place of the image, where they
 * are fewer. */
#include "ops/fused.h"
#include "passes/passes.h"

#define WORTH_PIXELS 4 /* for each map: with 3 it takes as long either way */

/* A 1x1 convolution on channels last. */
static bool is_pointwise(const sdx_rewrite *r, const sdx_node *node) {
    static const char *const names[] = {"kernel_shape", "strides", "pads"};
    static const int64_t wanted[] = {1, 1, 0};
    if (!sdx_is_fused(node, "Conv") || sdx_node_int(node, "planar", 0) ||
        sdx_node_int(node, "group", 1) != 1)
        return false;
    for (uint32_t k = 0; k < SDX_COUNT(names); k++) {
        const sdx_attr *attr = sdx_node_attr(node, names[k], SDX_ATTR_INTS);
        for (size_t i = 0; attr && i < attr->count; i++)
            if (attr->as.ints[i] != wanted[k]) return false;
    }
    const sdx_const *weights = sdx_constant_of(r, node->inputs[1]);
    return weights && weights->dims[2] == 1 && weights->dims[3] == 1;
}

/* One factor for each channel of each image. */
static bool are_factors(const sdx_rewrite *r, sdx_id factors, sdx_id image) {
    const sdx_type *f = sdx_build_type(&r->build, factors), *x = sdx_build_type(&r->build, image);
    return f->rank == 4 && x->rank == 4 && sdx_expr_same(f->dims[0], x->dims[0]) &&
           sdx_expr_is(f->dims[1], 1) && sdx_expr_is(f->dims[2], 1) &&
           sdx_expr_same(f->dims[3], x->dims[3]);
}

/* So many more pixels than maps that scaling the weights anew for each image is the lesser work. */
static bool pays(const sdx_rewrite *r, sdx_id image, const sdx_const *weights) {
    const sdx_type *x = sdx_build_type(&r->build, image);
    int64_t pixels;
    return sdx_expr_is_const(x->dims[1]) && sdx_expr_is_const(x->dims[2]) &&
           !__builtin_mul_overflow(sdx_expr_value(x->dims[1]), sdx_expr_value(x->dims[2]),
                                   &pixels) &&
           pixels / WORTH_PIXELS >= weights->dims[0];
}

static void join(sdx_rewrite *r, sdx_id scaling, sdx_id conv, sdx_id image, sdx_id factors) {
    const sdx_node node = *sdx_node_at(r->module, conv);
    sdx_build *b = &r->build;
    const sdx_attr attrs[] = {
        sdx_a_int(b, "act", sdx_node_int(&node, "act", SDX_ACT_NONE)),
        sdx_a_float(b, "act_a", sdx_node_float(&node, "act_a", 0.0f)),
        sdx_a_float(b, "act_b", sdx_node_float(&node, "act_b", 0.0f))};
    const sdx_id in[5] = {image, factors, node.inputs[1], sdx_node_input(&node, 2),
                          sdx_node_input(&node, 3)};
    const sdx_id from[2] = {conv, scaling};
    sdx_rewrite_from(r, from, 2);
    sdx_supplant(r, node.outputs[0], sdx_emit(b, "sardonyx:Project", attrs, 3, in, 5));
}

sdx_status sdx_pass_project(sdx_rewrite *r) {
    size_t count = r->module->nodes.count;
    for (size_t id = 0; id < count && r->build.status == SDX_STATUS_OK; id++) {
        const sdx_node *node = sdx_node_at(r->module, (sdx_id)id);
        if (!is_pointwise(r, node) || sdx_use_count(r, node->inputs[0]) != 1) continue;
        const sdx_const *weights = sdx_constant_of(r, node->inputs[1]);
        const sdx_node *mul = sdx_maker_if(r, node->inputs[0], "Mul");
        if (!mul || mul->graph != node->graph) continue;
        for (uint32_t i = 0; i < 2; i++) {
            sdx_id image = mul->inputs[i], factors = mul->inputs[1 - i];
            if (!are_factors(r, factors, image) || !pays(r, image, weights)) continue;
            join(r, sdx_maker(r, node->inputs[0]), (sdx_id)id, image, factors);
            break;
        }
    }
    return r->build.status;
}
