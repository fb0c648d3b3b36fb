/* norm.c - pass: normalisations that exporters write out become one node.
 *
 *   LayerNormalization: d = x - mean(x); d / sqrt(mean(d * d) + epsilon) * scale + bias
 *   RMSNormalization:   x / sqrt(mean(x * x) + epsilon) * scale
 *
 * with the means over the last axes; the division may be a product with the reciprocal. Also a mean over
 * all axes behind the channels: GlobalAveragePool. */
#include "passes/passes.h"

typedef struct norm {
    sdx_id x, out;
    int32_t axis; /* first that is normalised */
    double epsilon;
    sdx_id nodes[12]; /* that it is made from */
    uint32_t count;
} norm;

static void note(norm *n, sdx_id node) {
    if (n->count < SDX_COUNT(n->nodes)) n->nodes[n->count++] = node;
}

/* The mean of `of` over its last axes, these kept as 1; *axis is the first of them. */
static bool is_mean(const sdx_rewrite *r, sdx_id value, sdx_id of, int32_t *axis) {
    const sdx_node *node = sdx_maker_if(r, value, "ReduceMean");
    int64_t known[SDX_MAX_RANK];
    const int64_t *axes = known;
    size_t count = 0;
    int32_t rank = sdx_build_rank(&r->build, of);
    if (!node || node->inputs[0] != of || rank < 1 || !sdx_node_int(node, "keepdims", 1))
        return false;
    const sdx_attr *attr = sdx_node_attr(node, "axes", SDX_ATTR_INTS);
    if (attr) {
        axes = attr->as.ints;
        count = attr->count;
    } else if (!sdx_build_known(&r->build, sdx_node_input(node, 1), known, SDX_MAX_RANK, &count)) {
        return false;
    }
    uint32_t set = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t a = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (a < 0 || a >= rank || set >> a & 1u) return false;
        set |= 1u << a;
    }
    *axis = rank - (int32_t)count;
    return count > 0 && set == (((uint32_t)1 << count) - 1) << *axis;
}

static bool is_square(const sdx_rewrite *r, sdx_id value, sdx_id of) {
    const sdx_node *mul = sdx_maker_if(r, value, "Mul"), *pow = sdx_maker_if(r, value, "Pow");
    if (mul) return mul->inputs[0] == of && mul->inputs[1] == of;
    return pow && pow->inputs[0] == of && sdx_constant_is(r, pow->inputs[1], 2);
}

/* sqrt(mean(of * of) + epsilon) */
static bool is_root(const sdx_rewrite *r, sdx_id value, sdx_id of, norm *n) {
    const sdx_node *root = sdx_maker_if(r, value, "Sqrt");
    const sdx_node *sum = root ? sdx_maker_if(r, root->inputs[0], "Add") : NULL;
    if (!sum || (sum->version < 7 && sum->attr_count)) return false;
    uint32_t number = sdx_constant_number(r, sum->inputs[1], &n->epsilon);
    if (!sdx_constant_number(r, sum->inputs[number], &n->epsilon) || n->epsilon < 0) return false;
    const sdx_node *mean = sdx_maker_if(r, sum->inputs[!number], "ReduceMean");
    if (!mean || !is_square(r, mean->inputs[0], of) ||
        !is_mean(r, sum->inputs[!number], mean->inputs[0], &n->axis))
        return false;
    note(n, sdx_maker(r, value));
    note(n, sdx_maker(r, root->inputs[0]));
    note(n, sdx_maker(r, sum->inputs[!number]));
    note(n, sdx_maker(r, mean->inputs[0]));
    return true;
}

/* of / sqrt(mean(of * of) + epsilon), for some `of`. */
static bool is_quotient(const sdx_rewrite *r, sdx_id id, norm *n, sdx_id *of) {
    const sdx_node *node = sdx_node_if(r, id, "Div");
    *n = (norm){.count = 0};
    if (node) {
        *of = node->inputs[0];
        note(n, id);
        n->out = node->outputs[0];
        return is_root(r, node->inputs[1], *of, n);
    }
    node = sdx_node_if(r, id, "Mul");
    for (uint32_t i = 0; node && i < 2; i++) {
        const sdx_node *inverse = sdx_maker_if(r, node->inputs[i], "Reciprocal");
        if (!inverse) continue;
        *of = node->inputs[1 - i];
        note(n, id);
        note(n, sdx_maker(r, node->inputs[i]));
        n->out = node->outputs[0];
        return is_root(r, inverse->inputs[0], *of, n);
    }
    return false;
}

/* A value with the shape of x from the axis on. */
static bool fits(const sdx_rewrite *r, const norm *n, sdx_id value) {
    const sdx_type *x = sdx_build_type(&r->build, n->x), *p = sdx_build_type(&r->build, value);
    if (p->kind != SDX_KIND_TENSOR || p->dtype != x->dtype || p->rank != x->rank - n->axis)
        return false;
    for (int32_t i = 0; i < p->rank; i++)
        if (!sdx_expr_same(p->dims[i], x->dims[n->axis + i])) return false;
    return true;
}

/* The other operand of the only reader of n->out, if that is `op` and the operand fits. */
static sdx_id next_operand(sdx_rewrite *r, norm *n, const char *op) {
    sdx_id user = sdx_sole_user(r, n->out);
    const sdx_node *node = sdx_node_if(r, user, op);
    if (!node || (node->version < 7 && node->attr_count)) return SDX_NONE;
    sdx_id other = node->inputs[node->inputs[0] == n->out];
    if (!fits(r, n, other)) return SDX_NONE;
    note(n, user);
    n->out = node->outputs[0];
    return other;
}

/* Nothing but the result leaves the pattern: else all would be computed twice. */
static bool is_closed(sdx_rewrite *r, const norm *n, sdx_id centred) {
    for (uint32_t i = 0; i < n->count; i++) {
        const sdx_node *node = sdx_node_at(r->module, n->nodes[i]);
        sdx_id value = node->outputs[0];
        if (value == n->out || value == centred) continue;
        uint32_t at = SDX_NONE;
        for (const sdx_use *use; (use = sdx_use_next(r, value, &at));) {
            bool inside = false;
            for (uint32_t k = 0; k < n->count; k++) inside |= n->nodes[k] == use->node;
            if (!inside || use->node == SDX_NONE) return false;
        }
    }
    return true;
}

static sdx_id ones(sdx_rewrite *r, const norm *n) {
    const sdx_type *x = sdx_build_type(&r->build, n->x);
    int64_t dims[SDX_MAX_RANK];
    size_t count = 1;
    for (int32_t i = n->axis; i < x->rank; i++) {
        if (!sdx_expr_is_const(x->dims[i])) return SDX_NONE;
        dims[i - n->axis] = sdx_expr_value(x->dims[i]);
        if (dims[i - n->axis] < 1 || dims[i - n->axis] > 1 << 20) return SDX_NONE;
        count *= (size_t)dims[i - n->axis];
        if (count > 1 << 20) return SDX_NONE;
    }
    double *values = sdx_arena_array(&r->scratch, count, sizeof *values);
    for (size_t i = 0; values && i < count; i++) values[i] = 1;
    return values ? sdx_emit_floats(r, x->dtype, x->rank - n->axis, dims, values) : SDX_NONE;
}

static void try_quotient(sdx_rewrite *r, sdx_id id) {
    norm n;
    sdx_id of;
    int32_t axis;
    if (!is_quotient(r, id, &n, &of)) return;
    n.x = of;
    const sdx_node *sub = sdx_maker_if(r, of, "Sub");
    bool centred = sub && is_mean(r, sub->inputs[1], sub->inputs[0], &axis) && axis == n.axis;
    if (centred) {
        n.x = sub->inputs[0];
        note(&n, sdx_maker(r, of));
        note(&n, sdx_maker(r, sub->inputs[1]));
    }
    sdx_dtype dtype = sdx_build_dtype(&r->build, n.x);
    if (!sdx_dtypes_has(SDX_T_FLOATS, dtype)) return;
    sdx_id scale = next_operand(r, &n, "Mul");
    sdx_id bias = centred && scale != SDX_NONE ? next_operand(r, &n, "Add") : SDX_NONE;
    if (!is_closed(r, &n, SDX_NONE) ||
        !sdx_build_same_shape(&r->build, n.x, n.out))
        return;
    sdx_rewrite_from(r, n.nodes, n.count);
    if (scale == SDX_NONE) scale = ones(r, &n);
    if (scale == SDX_NONE) return;
    sdx_attr attrs[2] = {sdx_a_int(&r->build, "axis", n.axis),
                         sdx_a_float(&r->build, "epsilon", (float)n.epsilon)};
    const sdx_id in[3] = {n.x, scale, bias};
    sdx_id made = sdx_emit(&r->build, centred ? "LayerNormalization" : "RMSNormalization", attrs, 2,
                           in, bias == SDX_NONE ? 2 : 3);
    if (made != SDX_NONE) sdx_supplant(r, n.out, made);
}

static void try_mean(sdx_rewrite *r, sdx_id id) {
    const sdx_node *node = sdx_node_if(r, id, "ReduceMean");
    int32_t axis;
    sdx_id x = node->inputs[0], out = node->outputs[0];
    sdx_dtype dtype = sdx_build_dtype(&r->build, x);
    if (!is_mean(r, out, x, &axis) || axis != 2 || sdx_build_rank(&r->build, x) < 3 ||
        (dtype != SDX_DTYPE_FLOAT32 && dtype != SDX_DTYPE_FLOAT64))
        return;
    sdx_rewrite_at(r, id);
    sdx_id made = SDX_EMIT(&r->build, "GlobalAveragePool", x);
    if (made != SDX_NONE) sdx_supplant(r, out, made);
}

sdx_status sdx_pass_norm(sdx_rewrite *r) {
    for (size_t g = 0; g < r->module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(r->module, (sdx_id)g);
        for (uint32_t i = 0; i < graph->node_count && r->build.status == SDX_STATUS_OK; i++) {
            sdx_id id = graph->nodes[i];
            if (sdx_node_if(r, id, "Div") || sdx_node_if(r, id, "Mul")) try_quotient(r, id);
        }
        /* Means that are left; those of a normalisation have gone with it. */
        for (uint32_t i = 0; i < graph->node_count && r->build.status == SDX_STATUS_OK; i++)
            if (sdx_node_if(r, graph->nodes[i], "ReduceMean")) try_mean(r, graph->nodes[i]);
    }
    return SDX_STATUS_OK;
}
