/* attention.c - pass: attention as exporters write it out becomes one node that never holds all scores.
 *
 *   MatMul(Softmax(MatMul(Q, K') [+ mask] [+ mask]), V)
 *
 * Q, K' or the scores may be multiplied by a number. What brings the heads side by side (Reshape, Transpose,
 * Slice, Gather before Q, K', V; a Transpose behind) goes into the strides that the node reads and writes with.
 * A mask may be added under another shape of the batch (Reshape, Add, Reshape), as shifted windows do. */
#include <math.h>

#include "passes/passes.h"
#include "passes/view.h"

#define MOST_NODES 16

typedef struct pattern {
    sdx_id q, k, v, out;
    sdx_id masks[2];
    int64_t inner[2][SDX_MAX_RANK]; /* by mask: dims of the batch but the first */
    size_t inner_count[2];
    uint32_t mask_count;
    double scale;
    int32_t rank; /* of Q, K', V and scores */
    sdx_id nodes[MOST_NODES];
    uint32_t count;
} pattern;

static void note(pattern *p, sdx_id node) {
    if (p->count < MOST_NODES) p->nodes[p->count++] = node;
}

static const sdx_type *type_of(const sdx_rewrite *r, sdx_id value) {
    return sdx_build_type(&r->build, value);
}

/* The value without factors that are numbers; these go into the scale. */
static sdx_id without_scale(sdx_rewrite *r, pattern *p, sdx_id value) {
    for (;;) {
        const sdx_node *mul = sdx_maker_if(r, value, "Mul"), *div = sdx_maker_if(r, value, "Div");
        const sdx_node *node = mul ? mul : div;
        double number;
        if (!node || (node->version < 7 && node->attr_count)) return value;
        uint32_t at = mul && sdx_constant_number(r, mul->inputs[0], &number) ? 0 : 1;
        if (!sdx_constant_number(r, node->inputs[at], &number) || !(number > 0) ||
            number > 1e30 || number < 1e-30 ||
            !sdx_build_same_shape(&r->build, value, node->inputs[1 - at]))
            return value;
        p->scale *= mul ? number : 1 / number;
        note(p, sdx_maker(r, value));
        value = node->inputs[1 - at];
    }
}

/* A mask that is added to scores of the shape of `value`: aligned to it from the last dim on. */
static bool take_mask(sdx_rewrite *r, pattern *p, sdx_id mask, sdx_id value) {
    const sdx_type *m = type_of(r, mask), *s = type_of(r, value);
    if (p->mask_count >= 2 || m->dtype != SDX_DTYPE_FLOAT32 || m->rank < 1 || m->rank > s->rank ||
        !sdx_expr_same(m->dims[m->rank - 1], s->dims[s->rank - 1]))
        return false;
    for (int32_t i = 0; i < m->rank - 1; i++) {
        sdx_expr dim = m->dims[i], whole = s->dims[s->rank - m->rank + i];
        if (!sdx_expr_is(dim, 1) && !sdx_expr_same(dim, whole)) return false;
    }
    size_t count = 0;
    for (int32_t i = 1; i < s->rank - 2; i++) {
        if (!sdx_expr_is_const(s->dims[i])) return false;
        p->inner[p->mask_count][count++] = sdx_expr_value(s->dims[i]);
    }
    p->inner_count[p->mask_count] = count;
    p->masks[p->mask_count++] = mask;
    return true;
}

/* Reshape of the model's or of another pass. */
static const sdx_node *reshape_of(sdx_rewrite *r, sdx_id value) {
    sdx_id id = sdx_maker(r, value);
    const sdx_node *node = id == SDX_NONE ? NULL : sdx_node_at(r->module, id);
    return node && node->op && strcmp(node->op_type, "Reshape") == 0 && node->outputs[0] == value
               ? node
               : NULL;
}

/* The last two dims, rows and keys, stay what they are. */
static bool reshapes_batch_only(const sdx_rewrite *r, sdx_id a, sdx_id b) {
    const sdx_type *x = type_of(r, a), *y = type_of(r, b);
    return x->rank >= 2 && y->rank >= 2 &&
           sdx_expr_same(x->dims[x->rank - 1], y->dims[y->rank - 1]) &&
           sdx_expr_same(x->dims[x->rank - 2], y->dims[y->rank - 2]);
}

/* Nobody else reads the value. */
static bool is_ours(sdx_rewrite *r, sdx_id value) {
    return sdx_use_count(r, value) == 1 && !sdx_use_is_output(r, value);
}

/* From what Softmax reads back to the product that made the scores; *shape is a value of their shape. */
static sdx_id find_scores(sdx_rewrite *r, pattern *p, sdx_id value) {
    for (uint32_t steps = 0; steps < 8; steps++) {
        if (!is_ours(r, value)) return SDX_NONE;
        if (sdx_maker_if(r, value, "MatMul")) return value;
        const sdx_node *reshape = reshape_of(r, value);
        if (reshape && reshapes_batch_only(r, value, reshape->inputs[0])) {
            note(p, sdx_maker(r, value));
            value = reshape->inputs[0];
            continue;
        }
        const sdx_node *add = sdx_maker_if(r, value, "Add");
        if (add && !(add->version < 7 && add->attr_count)) {
            sdx_id in[2] = {add->inputs[0], add->inputs[1]};
            bool first = is_ours(r, in[0]) &&
                         (sdx_maker_if(r, in[0], "MatMul") || sdx_maker_if(r, in[0], "Add") ||
                          sdx_maker_if(r, in[0], "Div") || sdx_maker_if(r, in[0], "Mul") ||
                          reshape_of(r, in[0])) &&
                         sdx_build_same_shape(&r->build, in[0], value);
            sdx_id scores = in[!first], mask = in[first];
            if (!sdx_build_same_shape(&r->build, scores, value) || p->scale != 1 ||
                !take_mask(r, p, mask, value))
                return SDX_NONE;
            note(p, sdx_maker(r, value));
            value = scores;
            continue;
        }
        sdx_id inner = without_scale(r, p, value);
        if (inner == value) return SDX_NONE;
        value = inner;
    }
    return SDX_NONE;
}

static bool same_batch(const sdx_rewrite *r, sdx_id a, sdx_id b) {
    const sdx_type *x = type_of(r, a), *y = type_of(r, b);
    if (x->rank != y->rank || x->rank < 3 || x->dtype != SDX_DTYPE_FLOAT32 ||
        y->dtype != SDX_DTYPE_FLOAT32)
        return false;
    for (int32_t i = 0; i < x->rank - 2; i++)
        if (!sdx_expr_same(x->dims[i], y->dims[i])) return false;
    return true;
}

static bool find(sdx_rewrite *r, sdx_id id, pattern *p) {
    const sdx_node *second = sdx_node_if(r, id, "MatMul");
    *p = (pattern){.scale = 1};
    if (!second) return false;
    p->v = second->inputs[1];
    p->out = second->outputs[0];
    note(p, id);
    sdx_id weights = second->inputs[0];
    const sdx_node *reshape = reshape_of(r, weights);
    if (reshape && is_ours(r, weights) && reshapes_batch_only(r, weights, reshape->inputs[0])) {
        note(p, sdx_maker(r, weights));
        weights = reshape->inputs[0];
    }
    const sdx_node *softmax = sdx_maker_if(r, weights, "Softmax");
    if (!softmax || !is_ours(r, weights)) return false;
    int32_t rank = sdx_build_rank(&r->build, weights);
    int64_t axis = sdx_node_int(softmax, "axis", softmax->version < 13 ? 1 : -1);
    if (rank < 2 || (axis != -1 && axis != rank - 1)) return false;
    note(p, sdx_maker(r, weights));
    sdx_id scores = find_scores(r, p, softmax->inputs[0]);
    const sdx_node *first = scores == SDX_NONE ? NULL : sdx_maker_if(r, scores, "MatMul");
    if (!first) return false;
    note(p, sdx_maker(r, scores));
    p->q = first->inputs[0];
    p->k = first->inputs[1];
    p->rank = sdx_build_rank(&r->build, p->v);
    if (!same_batch(r, p->q, p->k) || !same_batch(r, p->q, p->v)) return false;
    p->q = without_scale(r, p, p->q);
    p->k = without_scale(r, p, p->k);
    return isfinite(p->scale) && p->scale > 0;
}

/* As far back as rows and columns keep one stride each. */
static bool view_of(sdx_rewrite *r, sdx_id value, sdx_view *view) {
    if (!sdx_view_begin(r, value, view)) return false;
    for (;;) {
        sdx_view next = *view;
        if (!sdx_view_back(r, &next) || sdx_view_parts(&next, next.rank - 1) != 1 ||
            sdx_view_parts(&next, next.rank - 2) != 1)
            return true;
        *view = next;
    }
}

/* Five numbers a factor, then where the source's dims begin. */
static sdx_attr view_attr(sdx_rewrite *r, const char *name, const sdx_view *view) {
    int64_t ints[4 * SDX_VIEW_FACTORS + SDX_MAX_RANK + 1];
    size_t n = 0;
    ints[n++] = view->count;
    for (uint32_t i = 0; i < view->count; i++) {
        const sdx_view_factor *f = &view->factors[i];
        ints[n++] = f->group < view->rank - 2 ? 0 : f->group == view->rank - 2 ? 1 : 2;
        ints[n++] = f->dim;
        ints[n++] = f->mult;
        ints[n++] = f->extent;
    }
    for (int32_t i = 0; i < sdx_build_rank(&r->build, view->source); i++) ints[n++] = view->start[i];
    return sdx_a_ints(&r->build, name, ints, n);
}

/* The order of the result's axes, from a Transpose that nobody else reads past; columns stay last. */
static void take_transpose(sdx_rewrite *r, pattern *p, int64_t *perm) {
    for (int32_t i = 0; i < p->rank; i++) perm[i] = i;
    sdx_id user = sdx_sole_user(r, p->out);
    const sdx_node *node = sdx_node_if(r, user, "Transpose");
    const sdx_attr *attr = node ? sdx_node_attr(node, "perm", SDX_ATTR_INTS) : NULL;
    if (!attr || attr->count != (size_t)p->rank || attr->as.ints[p->rank - 1] != p->rank - 1) return;
    for (int32_t i = 0; i < p->rank; i++) perm[i] = attr->as.ints[i];
    note(p, user);
    p->out = node->outputs[0];
}

static void fuse(sdx_rewrite *r, pattern *p) {
    sdx_build *b = &r->build;
    sdx_view q, k, v;
    int64_t perm[SDX_MAX_RANK];
    if (!view_of(r, p->q, &q) || !view_of(r, p->k, &k) || !view_of(r, p->v, &v)) return;
    const sdx_type *tq = type_of(r, p->q), *tk = type_of(r, p->k), *tv = type_of(r, p->v);
    sdx_expr sizes[5] = {sdx_expr_const(1), tq->dims[p->rank - 2], tk->dims[p->rank - 1],
                         tk->dims[p->rank - 2], tv->dims[p->rank - 1]};
    for (int32_t i = 0; i < p->rank - 2; i++)
        sizes[0] = sdx_expr_mul(r->module->pool, sizes[0], tq->dims[i]);
    for (uint32_t i = 0; i < 5; i++)
        if (sdx_expr_is_unknown(sizes[i])) return;
    take_transpose(r, p, perm);
    const sdx_type *ty = type_of(r, p->out);
    for (int32_t i = 0; i < ty->rank; i++)
        if (sdx_expr_is_unknown(ty->dims[i])) return;
    sdx_rewrite_from(r, p->nodes, p->count);
    const sdx_attr attrs[] = {
        view_attr(r, "q", &q), view_attr(r, "k", &k), view_attr(r, "v", &v),
        sdx_a_ints(b, "perm", perm, (size_t)p->rank), sdx_a_float(b, "scale", (float)p->scale),
        sdx_a_exprs(b, "sizes", sizes, 5), sdx_a_exprs(b, "shape", ty->dims, (size_t)ty->rank),
        sdx_a_ints(b, "inner0", p->inner[0], p->inner_count[0]),
        sdx_a_ints(b, "inner1", p->inner[1], p->inner_count[1])};
    const sdx_id in[5] = {q.source, k.source, v.source, p->mask_count > 0 ? p->masks[0] : SDX_NONE,
                          p->mask_count > 1 ? p->masks[1] : SDX_NONE};
    sdx_id made = sdx_emit(b, "sardonyx:Attention", attrs, SDX_COUNT(attrs), in, 3 + p->mask_count);
    if (made != SDX_NONE) sdx_supplant(r, p->out, made);
}

sdx_status sdx_pass_attention(sdx_rewrite *r) {
    size_t count = r->module->nodes.count;
    for (size_t id = 0; id < count && r->build.status == SDX_STATUS_OK; id++) {
        pattern p;
        if (find(r, (sdx_id)id, &p)) fuse(r, &p);
    }
    return r->build.status;
}
