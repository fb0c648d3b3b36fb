/* winograd.c - pass: which 3x3 convolutions may take Winograd's ways. Their weights have 16 or 36 points in
 * place of 9, so that a program could come to hold four times its model; what they take beyond the plain
 * weights is bounded for the program as a whole, and goes first to where a byte saves most time. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "ops/fused.h"
#include "passes/passes.h"

/* Bytes beyond the plain weights: two fifths of those of all nodes, and at least so many, which are little
 * beside what any process holds. */
#define LEAST_EXTRA ((size_t)64 << 20)
#define SHARE_OF    5
#define SHARE       2

/* A convolution by Winograd's way, in place of tiles or of a way with fewer points. */
typedef struct offer {
    size_t position; /* of the convolution in the list */
    size_t tile, extra; /* bytes */
    double rate;        /* time saved for a byte */
} offer;

typedef struct conv {
    sdx_id node;
    sdx_conv_shape shape;
    size_t tile;   /* taken so far */
    size_t second; /* bytes of tiles of 2x2 where these save time, too, for when 4x4 do not fit; or 0 */
} conv;

typedef struct choice {
    conv *convs;
    offer *offers; /* two a convolution at most */
    size_t conv_count, offer_count;
} choice;

/* Bytes of the constants that nodes read, each once. */
static bool plain_bytes(sdx_rewrite *r, size_t *bytes) {
    bool *seen = sdx_arena_array(&r->scratch, r->module->values.count + 1, sizeof *seen);
    *bytes = 0;
    for (size_t id = 0; seen && id < r->module->nodes.count; id++) {
        const sdx_node *node = sdx_node_at(r->module, (sdx_id)id);
        for (uint32_t i = 0; !node->dead && i < node->input_count; i++) {
            const sdx_const *constant = sdx_constant_of(r, node->inputs[i]);
            size_t own;
            if (!constant || seen[node->inputs[i]]) continue;
            seen[node->inputs[i]] = true;
            if (!sdx_size_mul(constant->count, sdx_dtype_size(constant->dtype), &own) ||
                !sdx_size_add(*bytes, own, bytes))
                return false;
        }
    }
    return seen != NULL;
}

static void add_offer(choice *c, const conv *of, size_t tile, size_t extra, double saved) {
    c->offers[c->offer_count++] =
        (offer){(size_t)(of - c->convs), tile, extra, saved / (double)extra};
}

/* Tiles of 2x2 first, where a byte saves more by them than by 4x4 at once. */
static void add_offers(choice *c, conv *of) {
    const sdx_conv_shape *s = &of->shape;
    sdx_conv_way best = sdx_conv_choose(s, 4);
    if (best != SDX_CONV_WINOGRAD_2 && best != SDX_CONV_WINOGRAD_4) return;
    size_t plain = sdx_conv_packed_size(s, SDX_CONV_TILES);
    size_t two = sdx_conv_packed_size(s, SDX_CONV_WINOGRAD_2);
    size_t four = sdx_conv_packed_size(s, SDX_CONV_WINOGRAD_4);
    if (four >= SIZE_MAX / sizeof(float)) return;
    two = (two - plain) * sizeof(float);
    four = (four - plain) * sizeof(float);
    double direct = sdx_conv_cost(s, SDX_CONV_TILES);
    double by_two = direct - sdx_conv_cost(s, SDX_CONV_WINOGRAD_2);
    double by_four = direct - sdx_conv_cost(s, SDX_CONV_WINOGRAD_4);
    of->second = by_two > 0 ? two : 0;
    if (best == SDX_CONV_WINOGRAD_2) {
        add_offer(c, of, 2, two, by_two);
    } else if (by_two > 0 && by_two * (double)four >= by_four * (double)two) {
        add_offer(c, of, 2, two, by_two);
        add_offer(c, of, 4, four - two, by_four - by_two);
    } else {
        add_offer(c, of, 4, four, by_four);
    }
}

/* The most time for a byte first; the order of the nodes where that is equal. */
static int compare(const void *a, const void *b) {
    const offer *x = a, *y = b;
    if (x->rate != y->rate) return x->rate > y->rate ? -1 : 1;
    if (x->position != y->position) return x->position < y->position ? -1 : 1;
    return x->tile < y->tile ? -1 : x->tile > y->tile;
}

static void take_offers(choice *c, size_t budget) {
    qsort(c->offers, c->offer_count, sizeof *c->offers, compare);
    for (size_t i = 0; i < c->offer_count; i++) {
        const offer *o = &c->offers[i];
        conv *of = &c->convs[o->position];
        if (o->extra <= budget) {
            of->tile = o->tile;
            budget -= o->extra;
        } else if (!of->tile && of->second && of->second <= budget) {
            of->tile = 2;
            budget -= of->second;
        }
    }
}

/* The node with another `winograd` takes its place. */
static void set_tile(sdx_rewrite *r, const conv *of) {
    const sdx_node node = *sdx_node_at(r->module, of->node);
    sdx_node copy = node;
    sdx_id made = SDX_NONE, in[8];
    copy.attrs = sdx_arena_array(&r->module->arena, (size_t)node.attr_count + 1,
                                 sizeof *copy.attrs);
    if (!copy.attrs || node.input_count > SDX_COUNT(in)) return;
    copy.attr_count = 0;
    for (uint32_t i = 0; i < node.attr_count; i++)
        if (strcmp(node.attrs[i].name, "winograd") != 0)
            copy.attrs[copy.attr_count++] = node.attrs[i];
    copy.attrs[copy.attr_count++] = sdx_a_int(&r->build, "winograd", (int64_t)of->tile);
    for (uint32_t i = 0; i < node.input_count; i++) in[i] = node.inputs[i];
    sdx_rewrite_at(r, of->node);
    sdx_emit_copy(&r->build, &copy, in, &made);
    sdx_supplant(r, node.outputs[0], made);
}

sdx_status sdx_pass_winograd(sdx_rewrite *r) {
    if (r->kernels & SDX_KERNELS_NO_WINOGRAD) return SDX_STATUS_OK;
    size_t count = r->module->nodes.count, plain;
    choice c = {.convs = sdx_arena_array(&r->scratch, count + 1, sizeof *c.convs),
                .offers = sdx_arena_array(&r->scratch, 2 * count + 1, sizeof *c.offers)};
    if (!c.convs || !c.offers || !plain_bytes(r, &plain))
        return sdx_fail_memory(r->build.error, 0, "the passes");
    for (size_t id = 0; id < count; id++) {
        const sdx_node *node = sdx_node_at(r->module, (sdx_id)id);
        conv *of = &c.convs[c.conv_count];
        if (!sdx_is_fused(node, "Conv") || !sdx_fused_conv_shape(r->module, node, &of->shape)) continue;
        of->node = (sdx_id)id;
        c.conv_count++;
        add_offers(&c, of);
    }
    size_t share = plain / SHARE_OF * SHARE;
    take_offers(&c, share > LEAST_EXTRA ? share : LEAST_EXTRA);
    for (size_t i = 0; i < c.conv_count && r->build.status == SDX_STATUS_OK; i++) {
        const conv *of = &c.convs[i];
        const sdx_node *node = sdx_node_at(r->module, of->node);
        size_t now = (size_t)sdx_node_int(node, "winograd", 0);
        if (sdx_conv_choose(&of->shape, now) != sdx_conv_choose(&of->shape, of->tile))
            set_tile(r, of);
    }
    return r->build.status;
}
