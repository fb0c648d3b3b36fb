/* shuffle.c - pass: a shuffle of channels, which exporters write as Reshape, Transpose, Reshape, becomes one
 * node that takes in the Concat before it and the slices of channels behind it: each element moves
 * once, and with channels side by side the layout need not be left. */
#include <string.h>

#include "passes/passes.h"

#define MOST 16 /* inputs; parts of the result */

static bool is_reshape(const sdx_node *node) {
    return !node->dead && node->op && strcmp(node->op_type, "Reshape") == 0;
}

static bool same_dim(const sdx_type *a, int i, const sdx_type *b, int k) {
    return sdx_expr_same(a->dims[i], b->dims[k]);
}

typedef struct shuffle {
    sdx_id first, middle, last; /* nodes */
    sdx_id in[MOST], result;
    uint32_t in_count;
    int64_t channels, groups;
} shuffle;

/* (n, g c, h, w) seen as (n, g, c, h, w), groups and their channels change places, and back. */
static bool find(sdx_rewrite *r, sdx_id id, shuffle *s) {
    static const int64_t wanted[5] = {0, 2, 1, 3, 4};
    const sdx_build *b = &r->build;
    const sdx_node *node = sdx_node_if(r, id, "Transpose");
    const sdx_attr *perm = node ? sdx_node_attr(node, "perm", SDX_ATTR_INTS) : NULL;
    if (!perm || perm->count != 5 || memcmp(perm->as.ints, wanted, sizeof wanted) != 0) return false;
    s->middle = id;
    s->first = sdx_maker(r, node->inputs[0]);
    s->last = sdx_sole_user(r, node->outputs[0]);
    if (s->first == SDX_NONE || s->last == SDX_NONE ||
        sdx_sole_user(r, node->inputs[0]) != id ||
        !is_reshape(sdx_node_at(r->module, s->first)) ||
        !is_reshape(sdx_node_at(r->module, s->last)))
        return false;
    s->in[0] = sdx_node_at(r->module, s->first)->inputs[0];
    s->in_count = 1;
    s->result = sdx_node_at(r->module, s->last)->outputs[0];
    const sdx_type *x = sdx_build_type(b, s->in[0]), *m = sdx_build_type(b, node->inputs[0]);
    const sdx_type *y = sdx_build_type(b, s->result);
    if (x->rank != 4 || m->rank != 5 || y->rank != 4 || x->dtype != SDX_DTYPE_FLOAT32 ||
        !same_dim(x, 0, m, 0) || !same_dim(x, 2, m, 3) || !same_dim(x, 3, m, 4) ||
        !sdx_expr_is_const(x->dims[1]) || !sdx_expr_is_const(m->dims[1]))
        return false;
    for (int i = 0; i < 4; i++)
        if (!same_dim(x, i, y, i)) return false;
    s->channels = sdx_expr_value(x->dims[1]);
    s->groups = sdx_expr_value(m->dims[1]);
    return s->groups > 0 && s->groups <= 64 && s->channels % s->groups == 0;
}

/* The inputs of a Concat of whole groups take its place. */
static void take_concat(sdx_rewrite *r, shuffle *s) {
    const sdx_node *node = sdx_maker_if(r, s->in[0], "Concat");
    int64_t group = s->channels / s->groups;
    if (!node || sdx_node_int(node, "axis", 0) != 1 || node->input_count > MOST ||
        sdx_sole_user(r, s->in[0]) != s->first)
        return;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const sdx_type *type = sdx_build_type(&r->build, node->inputs[i]);
        if (type->rank != 4 || !sdx_expr_is_const(type->dims[1]) ||
            sdx_expr_value(type->dims[1]) <= 0 || sdx_expr_value(type->dims[1]) % group != 0)
            return;
    }
    s->in_count = node->input_count;
    memcpy(s->in, node->inputs, s->in_count * sizeof *s->in);
}

typedef struct cut {
    int64_t from, to; /* channels */
    sdx_id value;
} cut;

/* A Slice of channels alone. */
static bool read_slice(sdx_rewrite *r, sdx_id id, int64_t channels, cut *to) {
    const sdx_node *node = sdx_node_if(r, id, "Slice");
    int64_t axis, step = 1;
    size_t count;
    if (!node || node->version < 10 || sdx_node_input(node, 3) == SDX_NONE) return false;
    const sdx_build *b = &r->build;
    if (!sdx_build_known(b, node->inputs[1], &to->from, 1, &count) || count != 1 ||
        !sdx_build_known(b, node->inputs[2], &to->to, 1, &count) || count != 1 ||
        !sdx_build_known(b, node->inputs[3], &axis, 1, &count) || count != 1 ||
        (sdx_node_input(node, 4) != SDX_NONE &&
         (!sdx_build_known(b, node->inputs[4], &step, 1, &count) || count != 1)))
        return false;
    if (to->to > channels) to->to = channels;
    to->value = node->outputs[0];
    return (axis == 1 || axis == -3) && step == 1 && to->from >= 0 && to->from < to->to;
}

/* Where slices alone read the result, which make it up one after the other in whole turns: the parts.
 * Else there is one. */
static uint32_t find_cuts(sdx_rewrite *r, const shuffle *s, cut *cuts) {
    uint32_t count = 0, at = SDX_NONE;
    int64_t total = 0;
    const cut whole = {0, s->channels, s->result};
    bool fits = sdx_use_count(r, s->result) <= MOST && !sdx_use_is_output(r, s->result);
    for (const sdx_use *use; fits && (use = sdx_use_next(r, s->result, &at));) {
        cut one;
        fits = read_slice(r, use->node, s->channels, &one) && one.from % s->groups == 0 &&
               one.to % s->groups == 0;
        uint32_t place = count++;
        for (; fits && place > 0 && cuts[place - 1].from > one.from; place--)
            cuts[place] = cuts[place - 1];
        cuts[place] = one;
    }
    for (uint32_t i = 0; fits && i < count; i++) {
        fits = cuts[i].from == total;
        total = cuts[i].to;
    }
    if (fits && count > 0 && total == s->channels) return count;
    cuts[0] = whole;
    return 1;
}

static void rewrite(sdx_rewrite *r, shuffle *s) {
    sdx_build *b = &r->build;
    cut cuts[MOST];
    sdx_id out[MOST];
    int64_t sizes[MOST];
    take_concat(r, s);
    uint32_t count = find_cuts(r, s, cuts);
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = cuts[i].to - cuts[i].from;
        out[i] = SDX_NONE;
    }
    const sdx_id from[3] = {s->middle, s->first, s->last};
    sdx_rewrite_from(r, from, 3);
    const sdx_attr attrs[] = {sdx_a_int(b, "axis", 1), sdx_a_int(b, "groups", s->groups),
                              sdx_a_ints(b, "sizes", sizes, count)};
    sdx_emit_many(b, "sardonyx:Shuffle", attrs, SDX_COUNT(attrs), s->in, s->in_count, out, count);
    for (uint32_t i = 0; i < count && b->status == SDX_STATUS_OK; i++)
        sdx_supplant(r, cuts[i].value, out[i]);
}

sdx_status sdx_pass_shuffle(sdx_rewrite *r) {
    size_t count = r->module->nodes.count;
    for (size_t id = 0; id < count && r->build.status == SDX_STATUS_OK; id++) {
        shuffle s;
        if (find(r, (sdx_id)id, &s)) rewrite(r, &s);
    }
    return r->build.status;
}
