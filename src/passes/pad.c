/* pad.c - pass: a Pad of zeros in front of a Conv or AveragePool, or of minus infinity in front of a
 * MaxPool, goes into the pads of that node. */
#include <math.h>
#include <string.h>

#include "passes/passes.h"

#define AXES (SDX_MAX_RANK - 2)

/* Begins, then ends, of the axes behind the channels; false where others are padded or data decides. */
static bool padding(const sdx_rewrite *r, const sdx_node *pad, int32_t rank, int64_t *pads) {
    int64_t list[2 * SDX_MAX_RANK];
    size_t count = 0;
    if (rank < 3 || pad->version < 2 || sdx_node_input(pad, 3) != SDX_NONE ||
        !sdx_node_text_is(pad, "mode", "constant", "constant"))
        return false;
    const sdx_attr *attr = sdx_node_attr(pad, "pads", SDX_ATTR_INTS);
    if (attr && attr->count == 2 * (size_t)rank) {
        count = attr->count;
        memcpy(list, attr->as.ints, count * sizeof *list);
    } else if (!sdx_build_known(&r->build, sdx_node_input(pad, 1), list, SDX_COUNT(list), &count)) {
        return false;
    }
    if (count != 2 * (size_t)rank) return false;
    for (int32_t side = 0; side < 2; side++)
        for (int32_t i = 0; i < rank; i++) {
            int64_t size = list[side * rank + i];
            if (size < 0 || size > 1 << 20 || (i < 2 && size != 0)) return false;
            if (i >= 2) pads[side * (rank - 2) + i - 2] = size;
        }
    return true;
}

static bool pad_value(const sdx_rewrite *r, const sdx_node *pad, double *value) {
    sdx_id given = sdx_node_input(pad, 2);
    *value = (double)sdx_node_float(pad, "value", 0);
    return given == SDX_NONE || sdx_constant_number(r, given, value);
}

/* Whether the node treats what its pads add as this value. */
static bool agrees(const sdx_node *node, double value, bool *count_pads) {
    *count_pads = false;
    if (strcmp(node->op_type, "Conv") == 0) return value == 0;
    if (strcmp(node->op_type, "MaxPool") == 0)
        return value == -INFINITY && node->output_count == 1; /* indices would be others */
    const sdx_attr *pads = sdx_node_attr(node, "pads", SDX_ATTR_INTS);
    bool own = false;
    for (size_t i = 0; pads && i < pads->count; i++) own |= pads->as.ints[i] != 0;
    *count_pads = true;
    /* Windows that reach past the pads are counted otherwise. */
    return value == 0 && !sdx_node_int(node, "ceil_mode", 0) &&
           (!own || sdx_node_int(node, "count_include_pad", 0));
}

/* Pools take no more padding than their kernel has room for. */
static bool has_room(const sdx_node *node, const int64_t *pads, int32_t axes) {
    const sdx_attr *kernel = sdx_node_attr(node, "kernel_shape", SDX_ATTR_INTS);
    if (strcmp(node->op_type, "Conv") == 0) return true;
    if (!kernel || kernel->count != (size_t)axes) return false;
    for (int32_t i = 0; i < 2 * axes; i++)
        if (pads[i] >= kernel->as.ints[i % axes]) return false;
    return true;
}

static void try_node(sdx_rewrite *r, sdx_id id) {
    const sdx_node node = *sdx_node_at(r->module, id); /* a copy: the table grows */
    const sdx_node *pad = sdx_maker_if(r, node.inputs[0], "Pad");
    int64_t pads[2 * AXES] = {0};
    double value;
    bool count_pads;
    if (!pad || sdx_sole_user(r, node.inputs[0]) != id) return;
    sdx_id x = pad->inputs[0];
    int32_t rank = sdx_build_rank(&r->build, x), axes = rank - 2;
    if (!padding(r, pad, rank, pads) || !pad_value(r, pad, &value) ||
        !agrees(&node, value, &count_pads))
        return;
    bool valid = sdx_node_text_is(&node, "auto_pad", "NOTSET", "VALID");
    if (!valid && !sdx_node_text_is(&node, "auto_pad", "NOTSET", "NOTSET")) return;
    const sdx_attr *own = sdx_node_attr(&node, "pads", SDX_ATTR_INTS);
    for (int32_t i = 0; own && !valid && i < 2 * axes && (size_t)i < own->count; i++)
        pads[i] += own->as.ints[i];
    if (!has_room(&node, pads, axes)) return;
    sdx_attr attrs[16];
    uint32_t count = 0;
    for (uint32_t a = 0; a < node.attr_count && count < 14; a++) {
        const char *name = node.attrs[a].name;
        if (strcmp(name, "pads") != 0 && strcmp(name, "auto_pad") != 0 &&
            (!count_pads || strcmp(name, "count_include_pad") != 0))
            attrs[count++] = node.attrs[a];
    }
    const sdx_id from[] = {id, sdx_maker(r, node.inputs[0])};
    sdx_rewrite_from(r, from, 2);
    attrs[count++] = sdx_a_ints(&r->build, "pads", pads, 2 * (size_t)axes);
    if (count_pads) attrs[count++] = sdx_a_int(&r->build, "count_include_pad", 1);
    const sdx_id in[3] = {x, sdx_node_input(&node, 1), sdx_node_input(&node, 2)};
    sdx_id out = sdx_emit(&r->build, node.op_type, attrs, count, in,
                          node.input_count < 3 ? node.input_count : 3);
    if (out != SDX_NONE) sdx_supplant(r, node.outputs[0], out);
}

sdx_status sdx_pass_pad(sdx_rewrite *r) {
    for (size_t g = 0; g < r->module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(r->module, (sdx_id)g);
        for (uint32_t i = 0; i < graph->node_count && r->build.status == SDX_STATUS_OK; i++) {
            sdx_id id = graph->nodes[i];
            if (sdx_node_if(r, id, "Conv") || sdx_node_if(r, id, "AveragePool") ||
                sdx_node_if(r, id, "MaxPool"))
                try_node(r, id);
        }
    }
    return SDX_STATUS_OK;
}
