/* view.c - see view.h. */
#include "passes/view.h"

#include <string.h>

static const sdx_type *type_of(const sdx_rewrite *r, sdx_id value) {
    return sdx_build_type(&r->build, value);
}

/* A dim as an extent: its number, or 0. */
static int64_t extent_of(sdx_expr dim) {
    return sdx_expr_is_const(dim) ? sdx_expr_value(dim) : 0;
}

static bool add_factor(sdx_view *view, int32_t group, int32_t dim, int64_t mult, int64_t extent) {
    if (view->count >= SDX_VIEW_FACTORS) return false;
    view->factors[view->count++] = (sdx_view_factor){group, dim, mult, extent};
    return true;
}

bool sdx_view_begin(const sdx_rewrite *r, sdx_id value, sdx_view *view) {
    const sdx_type *type = type_of(r, value);
    *view = (sdx_view){.source = value, .rank = type->rank};
    if (type->kind != SDX_KIND_TENSOR || type->rank < 0) return false;
    for (int32_t i = 0; i < type->rank; i++) {
        if (sdx_expr_is_unknown(type->dims[i]) || sdx_expr_is(type->dims[i], 0)) return false;
        if (!add_factor(view, i, i, 1, extent_of(type->dims[i]))) return false;
    }
    return true;
}

uint32_t sdx_view_parts(const sdx_view *view, int32_t group) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->count; i++) count += view->factors[i].group == group;
    return count;
}

/* ---- dims that move ---------------------------------------------------------------------------- */

static bool through_transpose(const sdx_node *node, int32_t rank, sdx_view *view) {
    const sdx_attr *perm = sdx_node_attr(node, "perm", SDX_ATTR_INTS);
    int64_t start[SDX_MAX_RANK] = {0};
    int32_t to[SDX_MAX_RANK];
    for (int32_t i = 0; i < rank; i++) {
        to[i] = perm ? (int32_t)perm->as.ints[i] : rank - 1 - i;
        start[to[i]] = view->start[i];
    }
    for (uint32_t f = 0; f < view->count; f++) view->factors[f].dim = to[view->factors[f].dim];
    memcpy(view->start, start, sizeof start);
    return true;
}

/* A dim is put in at `axis` of the source, of which the value has index `at` alone. */
static void widen(sdx_view *view, int32_t axis, int32_t rank, int64_t at) {
    for (uint32_t f = 0; f < view->count; f++) view->factors[f].dim += view->factors[f].dim >= axis;
    for (int32_t i = rank - 1; i > axis; i--) view->start[i] = view->start[i - 1];
    view->start[axis] = at;
}

static bool through_gather(sdx_rewrite *r, const sdx_node *node, sdx_view *view) {
    const sdx_type *in = type_of(r, node->inputs[0]);
    int64_t axis = sdx_node_int(node, "axis", 0), index;
    size_t count;
    if (axis < 0) axis += in->rank;
    if (in->rank < 1 || axis < 0 || axis >= in->rank || type_of(r, node->inputs[1])->rank != 0 ||
        !sdx_build_known(&r->build, node->inputs[1], &index, 1, &count) || count != 1 ||
        !sdx_expr_is_const(in->dims[axis]))
        return false;
    if (index < 0) index += sdx_expr_value(in->dims[axis]);
    if (index < 0 || index >= sdx_expr_value(in->dims[axis])) return false;
    widen(view, (int32_t)axis, in->rank, index);
    return true;
}

/* Slices with known starts and steps of 1, of dims that numbers are known of. */
static bool through_slice(sdx_rewrite *r, const sdx_node *node, sdx_view *view) {
    const sdx_type *in = type_of(r, node->inputs[0]), *out = type_of(r, node->outputs[0]);
    int64_t starts[SDX_MAX_RANK], axes[SDX_MAX_RANK], steps[SDX_MAX_RANK];
    size_t count, axis_count, step_count;
    if (in->rank < 1 || node->input_count < 3 ||
        !sdx_build_known(&r->build, node->inputs[1], starts, SDX_MAX_RANK, &count))
        return false;
    for (size_t i = 0; i < count; i++) axes[i] = (int64_t)i, steps[i] = 1;
    sdx_id axis_input = sdx_node_input(node, 3), step_input = sdx_node_input(node, 4);
    if (axis_input != SDX_NONE &&
        (!sdx_build_known(&r->build, axis_input, axes, SDX_MAX_RANK, &axis_count) ||
         axis_count != count))
        return false;
    if (step_input != SDX_NONE &&
        (!sdx_build_known(&r->build, step_input, steps, SDX_MAX_RANK, &step_count) ||
         step_count != count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (axes[i] < 0) axes[i] += in->rank;
        if (axes[i] < 0 || axes[i] >= in->rank || steps[i] != 1) return false;
        sdx_expr whole = in->dims[axes[i]], part = out->dims[axes[i]];
        if (!sdx_expr_is_const(whole) || !sdx_expr_is_const(part)) return false;
        if (starts[i] < 0) starts[i] += sdx_expr_value(whole);
        if (starts[i] < 0 || starts[i] + sdx_expr_value(part) > sdx_expr_value(whole)) return false;
    }
    for (size_t i = 0; i < count; i++) view->start[axes[i]] += starts[i];
    return true;
}

/* ---- Reshape ----------------------------------------------------------------------------------- */

/* What a dim of one shape and a dim of the other have in common. */
typedef struct piece {
    int32_t in, out;
    int64_t in_mult, out_mult;
    sdx_expr size;
    bool outermost; /* of both dims: nothing lies above it */
} piece;

typedef struct pieces {
    piece all[2 * SDX_MAX_RANK]; /* from the innermost out */
    uint32_t count;
} pieces;

/* The smaller of what is left of two dims, if it divides the other. */
static sdx_expr common_part(sdx_expr_pool *pool, sdx_expr *a, sdx_expr *b) {
    sdx_expr part = *a;
    if (sdx_expr_same(*a, *b)) {
        *a = *b = sdx_expr_const(1);
        return part;
    }
    sdx_expr rest = sdx_expr_divide_exact(pool, *b, *a);
    if (!sdx_expr_is_unknown(rest) && !sdx_expr_is(*a, 1)) {
        *a = sdx_expr_const(1);
        *b = rest;
        return part;
    }
    rest = sdx_expr_divide_exact(pool, *a, *b);
    if (sdx_expr_is_unknown(rest)) return SDX_EXPR_UNKNOWN;
    part = *b;
    *b = sdx_expr_const(1);
    *a = rest;
    return part;
}

/* What a dim has left to be cut from the innermost on. */
typedef struct rest {
    const sdx_type *type;
    int32_t dim;
    int64_t mult; /* of what was cut off */
    sdx_expr left;
} rest;

/* Goes on to the next dim further out that is not used up; false at the end. */
static bool next_dim(rest *r) {
    while (sdx_expr_is(r->left, 1)) {
        if (r->dim == 0) return false;
        r->left = r->type->dims[--r->dim];
        r->mult = 1;
    }
    return true;
}

/* Nothing may lie above a part of a size that is no number: it could not be told how far up. */
static bool take(rest *r, sdx_expr size) {
    if (sdx_expr_is_const(size)) r->mult *= sdx_expr_value(size);
    return sdx_expr_is_const(size) || sdx_expr_is(r->left, 1);
}

/* Cuts two shapes of as many elements into pieces that both have, from the last dim on. */
static bool cut(sdx_expr_pool *pool, const sdx_type *in, const sdx_type *out, pieces *p) {
    rest a = {in, in->rank, 1, sdx_expr_const(1)}, b = {out, out->rank, 1, sdx_expr_const(1)};
    p->count = 0;
    for (;;) {
        const bool more_a = next_dim(&a), more_b = next_dim(&b);
        if (!more_a || !more_b) return more_a == more_b;
        if (p->count >= SDX_COUNT(p->all)) return false;
        piece *at = &p->all[p->count++];
        *at = (piece){.in = a.dim, .out = b.dim, .in_mult = a.mult, .out_mult = b.mult};
        at->size = common_part(pool, &a.left, &b.left);
        at->outermost = sdx_expr_is(a.left, 1) && sdx_expr_is(b.left, 1);
        if (sdx_expr_is_unknown(at->size) || !take(&a, at->size) || !take(&b, at->size))
            return false;
    }
}

/* One factor of the reshaped value as factors of what it was made from. */
static bool refactor(const pieces *p, const sdx_view_factor *f, sdx_view *view) {
    const int64_t mult = f->mult, extent = f->extent;
    int64_t covered = 1;
    uint32_t first = view->count;
    for (uint32_t k = p->count; k-- > 0;) { /* from the outermost in */
        const piece *at = &p->all[k];
        if (at->out != f->dim) continue;
        const int64_t size = sdx_expr_is_const(at->size) ? sdx_expr_value(at->size) : 0;
        if (size && extent && mult % at->out_mult == 0 &&
            mult * extent <= at->out_mult * size) /* inside this piece */
            return view->count == first &&
                   add_factor(view, f->group, at->in, at->in_mult * (mult / at->out_mult), extent);
        const bool above = extent && at->out_mult >= mult * extent, below = size &&
                           at->out_mult * size <= mult;
        if (above || below) continue;
        if (at->out_mult < mult || (extent && (!size || at->out_mult * size > mult * extent)) ||
            (!size && !at->outermost))
            return false;
        if (!add_factor(view, f->group, at->in, at->in_mult, size)) return false;
        covered *= size ? size : 1;
    }
    return (view->count > first || extent == 1) && (!extent || covered == extent);
}

static bool through_reshape(sdx_rewrite *r, const sdx_node *node, sdx_view *view) {
    const sdx_type *in = type_of(r, node->inputs[0]), *out = type_of(r, node->outputs[0]);
    pieces p;
    if (in->rank < 0 || in->rank > SDX_MAX_RANK || out->rank < 0) return false;
    for (int32_t i = 0; i < in->rank; i++)
        if (sdx_expr_is_unknown(in->dims[i]) || sdx_expr_is(in->dims[i], 0)) return false;
    if (!cut(r->module->pool, in, out, &p)) return false;
    sdx_view next = {.source = view->source, .rank = view->rank};
    for (int32_t o = 0; o < out->rank; o++) { /* a start needs a dim that is one piece */
        const piece *only = NULL;
        uint32_t parts = 0;
        for (uint32_t k = 0; k < p.count; k++)
            if (p.all[k].out == o) only = &p.all[k], parts++;
        if (view->start[o] == 0) continue;
        if (parts != 1) return false;
        next.start[only->in] += view->start[o] * only->in_mult;
    }
    for (uint32_t f = 0; f < view->count; f++)
        if (!refactor(&p, &view->factors[f], &next)) return false;
    *view = next;
    return true;
}

/* ---- one node ---------------------------------------------------------------------------------- */

bool sdx_view_back(sdx_rewrite *r, sdx_view *view) {
    sdx_id id = sdx_maker(r, view->source);
    if (id == SDX_NONE) return false;
    const sdx_node *node = sdx_node_at(r->module, id);
    const bool fused = strcmp(node->domain, SDX_DOMAIN_FUSED) == 0;
    if (!node->op || (node->domain[0] && !fused) || node->input_count < 1 ||
        node->outputs[0] != view->source || type_of(r, node->inputs[0])->rank < 1 ||
        type_of(r, node->inputs[0])->dtype != SDX_DTYPE_FLOAT32)
        return false;
    sdx_view next = *view;
    const char *op = node->op_type;
    bool done = false;
    if (strcmp(op, "Reshape") == 0 || strcmp(op, "Squeeze") == 0 || strcmp(op, "Unsqueeze") == 0 ||
        strcmp(op, "Flatten") == 0)
        done = through_reshape(r, node, &next);
    else if (fused)
        done = false;
    else if (strcmp(op, "Transpose") == 0)
        done = through_transpose(node, type_of(r, view->source)->rank, &next);
    else if (strcmp(op, "Gather") == 0)
        done = through_gather(r, node, &next);
    else if (strcmp(op, "Slice") == 0)
        done = through_slice(r, node, &next);
    if (!done) return false;
    next.source = node->inputs[0];
    *view = next;
    return true;
}
