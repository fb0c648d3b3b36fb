/* slice_rules.c - what operators do to the samples of a batch: a table of operators and a function for
 * each family. An operator that is missing here counts as one that mixes samples. */
#include <stdio.h>
#include <string.h>

#include "exec/slice.h"

#define MOST_INTS 64

typedef struct rule rule;
struct rule {
    const char *op;
    bool (*apply)(sdx_slicing *s, const sdx_node *node, const rule *r);
    uint32_t inputs; /* bit i: input i may have the samples too; what that means is the family's */
};

/* ---- asking ------------------------------------------------------------------------------------ */

static bool no(sdx_slicing *s, const char *why) {
    snprintf(s->reason, sizeof s->reason, "%s", why);
    return false;
}

static bool present(const sdx_node *node, uint32_t i) {
    return i < node->input_count && node->inputs[i] != SDX_NONE;
}

static const sdx_spread *spread_of(const sdx_slicing *s, const sdx_node *node, uint32_t i) {
    return &s->spreads[node->inputs[i]];
}

static bool has_samples(const sdx_slicing *s, const sdx_node *node, uint32_t i) {
    return present(node, i) && spread_of(s, node, i)->kind == SDX_SPREAD_AXIS;
}

static const sdx_type *type_of(const sdx_slicing *s, sdx_id value) {
    return &sdx_value_at(s->module, value)->type;
}

static const sdx_attr *find_attr(const sdx_node *node, const char *name) {
    for (uint32_t i = 0; i < node->attr_count; i++)
        if (strcmp(node->attrs[i].name, name) == 0) return &node->attrs[i];
    return NULL;
}

static int64_t attr_int(const sdx_node *node, const char *name, int64_t fallback) {
    const sdx_attr *attr = find_attr(node, name);
    return attr && attr->kind == SDX_ATTR_INT && attr->count ? attr->as.ints[0] : fallback;
}

static bool attr_is(const sdx_node *node, const char *name, const char *text) {
    const sdx_attr *attr = find_attr(node, name);
    return attr && attr->kind == SDX_ATTR_STRING && attr->count &&
           strcmp(attr->as.strings[0].data, text) == 0;
}

/* Integers that are known now, from an input or from an attribute of the same meaning in older
 * versions. False: there are none that are known. */
static bool known_ints(const sdx_slicing *s, const sdx_node *node, uint32_t input,
                       const char *attribute, int64_t *out, size_t *count) {
    const sdx_attr *attr = attribute ? find_attr(node, attribute) : NULL;
    if (attr && attr->kind == SDX_ATTR_INTS && attr->count <= MOST_INTS) {
        for (size_t i = 0; i < attr->count; i++) out[i] = attr->as.ints[i];
        *count = attr->count;
        return true;
    }
    if (!present(node, input)) return false;
    const sdx_value_def *def = sdx_value_at(s->module, node->inputs[input]);
    if (def->contents && def->content_count <= MOST_INTS) {
        for (size_t i = 0; i < def->content_count; i++) {
            if (!sdx_expr_is_const(def->contents[i])) return false;
            out[i] = sdx_expr_value(def->contents[i]);
        }
        *count = def->content_count;
        return true;
    }
    const sdx_const *c = def->constant;
    if (!c || c->count > MOST_INTS) return false;
    if (c->dtype != SDX_DTYPE_INT64 && c->dtype != SDX_DTYPE_INT32) return false;
    int64_t wide[MOST_INTS];
    int32_t narrow[MOST_INTS];
    const bool is_wide = c->dtype == SDX_DTYPE_INT64;
    sdx_const_decode(c, is_wide ? (void *)wide : (void *)narrow);
    for (size_t i = 0; i < c->count; i++) out[i] = is_wide ? wide[i] : narrow[i];
    *count = c->count;
    return true;
}

/* ---- answering --------------------------------------------------------------------------------- */

static bool put(sdx_slicing *s, sdx_id value, int32_t axis, sdx_expr outer) {
    const sdx_type *type = type_of(s, value);
    if (type->kind != SDX_KIND_TENSOR || axis < 0 || axis >= type->rank)
        return no(s, "its result has no axis for the samples");
    for (int32_t i = 0; i < type->rank; i++) {
        bool uses = sdx_expr_uses(s->module->pool, type->dims[i], s->symbol);
        if (sdx_expr_is_unknown(type->dims[i])) return no(s, "its shape depends on data");
        if (uses != (i == axis)) return no(s, "its result has no single axis for the samples");
    }
    sdx_expr whole = sdx_expr_mul(s->module->pool, outer, s->batch);
    sdx_expr each = sdx_expr_divide_exact(s->module->pool, type->dims[axis], whole);
    if (sdx_expr_is_unknown(each) || sdx_expr_uses(s->module->pool, each, s->symbol))
        return no(s, "its result has no axis that is a multiple of the batch");
    s->spreads[value] = (sdx_spread){SDX_SPREAD_AXIS, axis, outer};
    return true;
}

static bool put_all(sdx_slicing *s, const sdx_node *node, int32_t axis, sdx_expr outer) {
    for (uint32_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] != SDX_NONE && !put(s, node->outputs[o], axis, outer)) return false;
    return true;
}

/* The axis of output 0 that mentions the batch; -1: none or several. */
static int32_t batch_axis(const sdx_slicing *s, const sdx_type *type) {
    int32_t found = -1;
    for (int32_t i = 0; i < type->rank; i++) {
        if (!sdx_expr_uses(s->module->pool, type->dims[i], s->symbol)) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

static sdx_expr product(const sdx_slicing *s, const sdx_type *type, int32_t to) {
    sdx_expr p = sdx_expr_const(1);
    for (int32_t i = 0; i < to; i++) p = sdx_expr_mul(s->module->pool, p, type->dims[i]);
    return p;
}

/* Only the inputs of the mask may have samples; no input may be a count. */
static bool only(sdx_slicing *s, const sdx_node *node, uint32_t mask) {
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!present(node, i)) continue;
        const sdx_spread *spread = spread_of(s, node, i);
        if (spread->kind == SDX_SPREAD_COUNT) return no(s, "the size of the batch is used as a number");
        if (spread->kind == SDX_SPREAD_AXIS && (i > 31 || !(mask >> i & 1u)))
            return no(s, "an input that all samples share comes from the samples");
    }
    return true;
}

/* ---- families ---------------------------------------------------------------------------------- */

/* Each element from those at its place, with broadcasting. */
static bool elementwise(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    if (!only(s, node, UINT32_MAX)) return false;
    if (find_attr(node, "axis") || find_attr(node, "broadcast"))
        return no(s, "it broadcasts in the old way");
    const sdx_type *out = type_of(s, node->outputs[0]);
    int32_t axis = -1;
    sdx_expr outer = sdx_expr_const(1);
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!has_samples(s, node, i)) continue;
        const sdx_spread *spread = spread_of(s, node, i);
        int32_t at = spread->axis + out->rank - type_of(s, node->inputs[i])->rank;
        if (axis >= 0 && (at != axis || !sdx_expr_same(outer, spread->outer)))
            return no(s, "samples lie along different axes");
        axis = at;
        outer = spread->outer;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!present(node, i)) continue;
        const sdx_type *type = type_of(s, node->inputs[i]);
        int32_t at = axis - (out->rank - type->rank);
        if (at < 0) continue;
        bool fits = has_samples(s, node, i) ? sdx_expr_same(type->dims[at], out->dims[axis])
                                            : sdx_expr_is(type->dims[at], 1);
        if (!fits) return no(s, "samples meet in broadcasting");
    }
    return put_all(s, node, axis, outer);
}

/* In training, elements are drawn; otherwise, or with a ratio of 0, it does nothing. */
static bool dropout(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    uint8_t training = node->version < 7;
    float ratio = 0.5f;
    if (present(node, 1)) {
        const sdx_const *constant = sdx_value_at(s->module, node->inputs[1])->constant;
        if (constant && constant->count == 1 && constant->dtype == SDX_DTYPE_FLOAT32)
            sdx_const_decode(constant, &ratio);
    }
    if (present(node, 2)) {
        const sdx_const *constant = sdx_value_at(s->module, node->inputs[2])->constant;
        training = 1;
        if (constant && constant->count == 1 && constant->dtype == SDX_DTYPE_BOOL)
            sdx_const_decode(constant, &training);
    }
    if (training && ratio != 0) return no(s, "it may draw elements at random");
    const sdx_spread *x = spread_of(s, node, 0);
    return only(s, node, 1) && put_all(s, node, x->axis, x->outer);
}

/* Images of axis 0, each for itself. r->inputs: those that have samples. */
static bool images(sdx_slicing *s, const sdx_node *node, const rule *r) {
    if (!only(s, node, r->inputs)) return false;
    if (!has_samples(s, node, 0)) return no(s, "an input that all samples share comes from the samples");
    sdx_expr outer = spread_of(s, node, 0)->outer;
    sdx_expr dim = type_of(s, node->inputs[0])->dims[0];
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!present(node, i) || i > 31 || !(r->inputs >> i & 1u)) continue;
        const sdx_spread *spread = spread_of(s, node, i);
        const sdx_type *type = type_of(s, node->inputs[i]);
        if (spread->kind != SDX_SPREAD_AXIS || spread->axis != 0 ||
            !sdx_expr_same(spread->outer, outer) || !sdx_expr_same(type->dims[0], dim))
            return no(s, "the samples do not lie along the first axis");
    }
    for (uint32_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] != SDX_NONE &&
            !sdx_expr_same(type_of(s, node->outputs[o])->dims[0], dim))
            return no(s, "its result has another number of images");
    return put_all(s, node, 0, outer);
}

/* The same, where a second output would count over all images or average over them. */
static bool images_one_output(sdx_slicing *s, const sdx_node *node, const rule *r) {
    for (uint32_t o = 1; o < node->output_count; o++)
        if (node->outputs[o] != SDX_NONE) return no(s, "its further outputs are of the whole batch");
    if (attr_int(node, "training_mode", 0) != 0) return no(s, "it trains");
    return images(s, node, r);
}

/* Sizes may follow from the batch's, as long as the axis of the samples keeps its own. */
static bool resize(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    if (!has_samples(s, node, 0) || attr_is(node, "coordinate_transformation_mode", "tf_crop_and_resize"))
        return no(s, "it crops");
    const sdx_spread *x = spread_of(s, node, 0);
    for (uint32_t i = 1; i < node->input_count; i++)
        if (has_samples(s, node, i)) return no(s, "its sizes come from the samples");
    const sdx_type *in = type_of(s, node->inputs[0]), *out = type_of(s, node->outputs[0]);
    if (out->rank != in->rank || !sdx_expr_same(in->dims[x->axis], out->dims[x->axis]))
        return no(s, "it resizes the axis of the samples");
    return put(s, node->outputs[0], x->axis, x->outer);
}

static bool transpose(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    const sdx_spread *x = spread_of(s, node, 0);
    int32_t rank = type_of(s, node->inputs[0])->rank;
    const sdx_attr *perm = find_attr(node, "perm");
    for (int32_t i = 0; i < rank; i++) {
        int64_t from = perm && (size_t)i < perm->count ? perm->as.ints[i] : rank - 1 - i;
        if (from == x->axis) return put(s, node->outputs[0], i, x->outer);
    }
    return no(s, "its order of axes is not known");
}

/* The same elements in the same order under another shape: what lies before a sample stays as much. */
static bool reshape(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    if (!has_samples(s, node, 0)) return no(s, "its shape comes from the samples");
    for (uint32_t i = 1; i < node->input_count; i++)
        if (has_samples(s, node, i)) return no(s, "its shape comes from the samples");
    const sdx_spread *x = spread_of(s, node, 0);
    const sdx_type *in = type_of(s, node->inputs[0]), *out = type_of(s, node->outputs[0]);
    int32_t axis = batch_axis(s, out);
    if (axis < 0) return no(s, "its result has no single axis for the samples");
    sdx_expr before = sdx_expr_mul(s->module->pool, product(s, in, x->axis), x->outer);
    sdx_expr outer = sdx_expr_divide_exact(s->module->pool, before, product(s, out, axis));
    if (sdx_expr_is_unknown(outer)) return no(s, "it does not keep the samples together");
    return put(s, node->outputs[0], axis, outer);
}

/* Copies of one thing: alike for all samples, or each sample's own. */
static bool expand(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    if (present(node, 1) && has_samples(s, node, 1)) return no(s, "its shape comes from the samples");
    const sdx_type *in = type_of(s, node->inputs[0]), *out = type_of(s, node->outputs[0]);
    int32_t axis = batch_axis(s, out), at = axis - (out->rank - in->rank);
    const sdx_spread *x = spread_of(s, node, 0);
    if (axis < 0 || x->kind == SDX_SPREAD_COUNT)
        return no(s, "its result has no single axis for the samples");
    if (x->kind == SDX_SPREAD_AXIS)
        return at == x->axis && sdx_expr_same(in->dims[at], out->dims[axis])
                   ? put(s, node->outputs[0], axis, x->outer)
                   : no(s, "samples meet in broadcasting");
    /* Tile lays whole copies one after the other, Expand one element: either way the same a sample. */
    bool tile = strcmp(node->op_type, "Tile") == 0;
    if (at >= 0 && !tile && !sdx_expr_is(in->dims[at], 1)) return no(s, "samples meet in broadcasting");
    if (tile) {
        sdx_expr each = sdx_expr_divide_exact(s->module->pool, out->dims[axis], s->batch);
        if (!sdx_expr_same(each, in->dims[at])) return no(s, "it does not repeat once a sample");
    }
    return put(s, node->outputs[0], axis, sdx_expr_const(1));
}

static bool constant_of_shape(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    int32_t axis = batch_axis(s, type_of(s, node->outputs[0]));
    if (axis < 0) return no(s, "its result has no single axis for the samples");
    return put(s, node->outputs[0], axis, sdx_expr_const(1));
}

/* Sums run over an axis of each; the others are rows, columns and batches. */
static bool matmul(sdx_slicing *s, const sdx_node *node, const rule *r) {
    if (!only(s, node, r->inputs)) return false;
    uint32_t second = r->inputs & 2u ? 1 : 3; /* QLinearMatMul has scale and zero point between */
    bool a = has_samples(s, node, 0), b = has_samples(s, node, second);
    const sdx_type *ta = type_of(s, node->inputs[0]), *tb = type_of(s, node->inputs[second]);
    const sdx_type *out = type_of(s, node->outputs[0]);
    const sdx_spread *one = spread_of(s, node, a ? 0 : second);
    const sdx_type *type = a ? ta : tb;
    if (ta->rank < 2 || tb->rank < 2) return no(s, "a factor is a vector");
    int32_t from_end = type->rank - one->axis, axis = out->rank - from_end;
    if (from_end == 1) return no(s, "it sums over the samples");
    if (from_end == 2 && (!a || b)) return no(s, "it sums over the samples");
    if (from_end > 2) {
        int32_t at_a = ta->rank - from_end, at_b = tb->rank - from_end;
        if (a && b) {
            const sdx_spread *other = spread_of(s, node, second);
            if (at_b != other->axis || !sdx_expr_same(one->outer, other->outer) ||
                !sdx_expr_same(ta->dims[at_a], tb->dims[at_b]))
                return no(s, "samples lie along different axes");
        } else if ((a && at_b >= 0 && !sdx_expr_is(tb->dims[at_b], 1)) ||
                   (b && at_a >= 0 && !sdx_expr_is(ta->dims[at_a], 1))) {
            return no(s, "samples meet in broadcasting");
        }
    }
    return put(s, node->outputs[0], axis, one->outer);
}

static bool gemm(sdx_slicing *s, const sdx_node *node, const rule *r) {
    if (!only(s, node, r->inputs)) return false;
    const sdx_spread *a = spread_of(s, node, 0);
    if (a->kind != SDX_SPREAD_AXIS || a->axis != (attr_int(node, "transA", 0) ? 1 : 0))
        return no(s, "it sums over the samples");
    if (present(node, 2)) {
        const sdx_type *c = type_of(s, node->inputs[2]), *out = type_of(s, node->outputs[0]);
        const sdx_spread *spread = spread_of(s, node, 2);
        bool fits = spread->kind == SDX_SPREAD_AXIS
                        ? c->rank == 2 && spread->axis == 0 &&
                              sdx_expr_same(spread->outer, a->outer) &&
                              sdx_expr_same(c->dims[0], out->dims[0])
                        : c->rank < 2 || sdx_expr_is(c->dims[0], 1);
        if (!fits) return no(s, "samples meet in broadcasting");
    }
    return put(s, node->outputs[0], 0, a->outer);
}

static int32_t wrap(int64_t axis, int32_t rank) {
    return (int32_t)(axis < 0 ? axis + rank : axis);
}

/* Works along one axis, or from one axis on: r->inputs 0: along; 1: from there on. */
static bool along_axis(sdx_slicing *s, const sdx_node *node, const rule *r) {
    if (!only(s, node, 1)) return false;
    const sdx_spread *x = spread_of(s, node, 0);
    int32_t rank = type_of(s, node->inputs[0])->rank;
    bool softmax = strstr(node->op_type, "max") != NULL, old = softmax && node->version < 13;
    int32_t axis = wrap(attr_int(node, "axis", old ? 1 : -1), rank);
    bool after = r->inputs == 1 || old;
    if (after ? x->axis >= axis : x->axis == axis) return no(s, "it works across the samples");
    return put_all(s, node, x->axis, x->outer);
}

/* Axes that are summed up go, or become 1. */
static bool reduced(sdx_slicing *s, const sdx_node *node, const int64_t *axes, size_t count,
                    bool keep) {
    const sdx_spread *x = spread_of(s, node, 0);
    int32_t rank = type_of(s, node->inputs[0])->rank, before = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t axis = wrap(axes[i], rank);
        if (axis == x->axis) return no(s, "it reduces the samples to one");
        before += axis < x->axis;
    }
    return put_all(s, node, keep ? x->axis : x->axis - before, x->outer);
}

static bool reduce(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    int64_t axes[MOST_INTS];
    size_t count = 0;
    if (!only(s, node, 1)) return false;
    if (!known_ints(s, node, 1, "axes", axes, &count) || count == 0) {
        if (attr_int(node, "noop_with_empty_axes", 0) == 0)
            return no(s, "it reduces the samples to one");
        count = 0;
    }
    return reduced(s, node, axes, count, attr_int(node, "keepdims", 1) != 0);
}

static bool arg_reduce(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    int64_t axis = attr_int(node, "axis", 0);
    return only(s, node, 1) && reduced(s, node, &axis, 1, attr_int(node, "keepdims", 1) != 0);
}

static bool topk(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    int64_t axis = attr_int(node, "axis", -1);
    return only(s, node, 1) && reduced(s, node, &axis, 1, true);
}

/* Concat, and elements taken or put along one axis: all that have samples must have them alike. */
static bool join(sdx_slicing *s, const sdx_node *node, const rule *r) {
    if (!only(s, node, UINT32_MAX)) return false;
    (void)r;
    const sdx_spread *x = spread_of(s, node, 0);
    const sdx_type *in = type_of(s, node->inputs[0]);
    if (wrap(attr_int(node, "axis", 0), in->rank) == x->axis || x->kind != SDX_SPREAD_AXIS)
        return no(s, "it works across the samples");
    for (uint32_t i = 0; i < node->input_count; i++) {
        const sdx_spread *other = spread_of(s, node, i);
        if (other->kind != SDX_SPREAD_AXIS || other->axis != x->axis ||
            !sdx_expr_same(other->outer, x->outer) ||
            !sdx_expr_same(type_of(s, node->inputs[i])->dims[x->axis], in->dims[x->axis]))
            return no(s, "samples lie along different axes");
    }
    return put_all(s, node, x->axis, x->outer);
}

static bool split(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    if (!only(s, node, 1)) return false;
    const sdx_spread *x = spread_of(s, node, 0);
    if (wrap(attr_int(node, "axis", 0), type_of(s, node->inputs[0])->rank) == x->axis)
        return no(s, "it works across the samples");
    return put_all(s, node, x->axis, x->outer);
}

/* Whatever is cut, the axis of the samples stays whole: not named, or named from 0 in steps of 1. */
static bool slice(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    for (uint32_t i = 1; i < node->input_count; i++)
        if (has_samples(s, node, i)) return no(s, "what it cuts comes from the samples");
    const sdx_spread *x = spread_of(s, node, 0);
    const sdx_type *in = type_of(s, node->inputs[0]), *out = type_of(s, node->outputs[0]);
    int64_t axes[MOST_INTS], starts[MOST_INTS], steps[MOST_INTS];
    size_t count = 0, start_count = 0, step_count = 0;
    bool starts_known = known_ints(s, node, 1, "starts", starts, &start_count);
    bool axes_given = present(node, 3) || find_attr(node, "axes");
    if (!known_ints(s, node, 3, "axes", axes, &count)) {
        if (axes_given || !starts_known) return no(s, "the axes that it cuts are not known");
        for (count = 0; count < start_count; count++) axes[count] = (int64_t)count;
    }
    bool steps_known = !present(node, 4) || known_ints(s, node, 4, NULL, steps, &step_count);
    for (size_t i = 0; i < count; i++) {
        if (wrap(axes[i], in->rank) != x->axis) continue;
        bool whole = starts_known && i < start_count && starts[i] == 0 && steps_known &&
                     (i >= step_count || steps[i] == 1) &&
                     sdx_expr_same(in->dims[x->axis], out->dims[x->axis]);
        if (!whole) return no(s, "it works across the samples");
    }
    return put(s, node->outputs[0], x->axis, x->outer);
}

static bool gather(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    if (!only(s, node, 3)) return false;
    bool data = has_samples(s, node, 0), indices = has_samples(s, node, 1);
    if (data && indices) return no(s, "indices and data both come from the samples");
    int32_t rank = type_of(s, node->inputs[0])->rank;
    int32_t axis = wrap(attr_int(node, "axis", 0), rank);
    const sdx_spread *x = spread_of(s, node, data ? 0 : 1);
    if (indices) return put(s, node->outputs[0], axis + x->axis, x->outer);
    if (x->axis == axis) return no(s, "it works across the samples");
    int32_t more = type_of(s, node->inputs[1])->rank - 1;
    return put(s, node->outputs[0], x->axis < axis ? x->axis : x->axis + more, x->outer);
}

static bool pad(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    int64_t pads[MOST_INTS];
    size_t count = 0;
    if (!only(s, node, 1)) return false;
    const sdx_spread *x = spread_of(s, node, 0);
    size_t rank = (size_t)type_of(s, node->inputs[0])->rank, axis = (size_t)x->axis;
    if (present(node, 3) || !known_ints(s, node, 1, "pads", pads, &count) || count != 2 * rank)
        return no(s, "what it pads is not known");
    if (pads[axis] != 0 || pads[axis + rank] != 0) return no(s, "it pads the axis of the samples");
    return put(s, node->outputs[0], x->axis, x->outer);
}

/* Scales and zero points of one axis must not be the samples'. */
static bool quantize(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    if (!only(s, node, 1)) return false;
    const sdx_spread *x = spread_of(s, node, 0);
    const sdx_type *scale = type_of(s, node->inputs[1]);
    int32_t axis = wrap(attr_int(node, "axis", 1), type_of(s, node->inputs[0])->rank);
    bool single = scale->rank == 0 || (scale->rank == 1 && sdx_expr_is(scale->dims[0], 1));
    if (!single && (scale->rank != 1 || axis == x->axis)) return no(s, "its scales follow the samples");
    return put_all(s, node, x->axis, x->outer);
}

/* The letter of the samples' axis stands in every term that has samples, in no other, and in the
 * result. */
static bool einsum(sdx_slicing *s, const sdx_node *node, const rule *r) {
    (void)r;
    const sdx_attr *equation = find_attr(node, "equation");
    if (!only(s, node, UINT32_MAX) || !equation) return false;
    char terms[MOST_INTS][SDX_MAX_RANK + 1] = {{0}};
    size_t term = 0, length = 0;
    for (const char *c = equation->as.strings[0].data; *c; c++) {
        if (*c == ' ') continue;
        if (*c == ',' || (*c == '-' && c[1] == '>')) {
            c += *c == '-';
            length = 0;
            if (++term >= MOST_INTS) return no(s, "its equation is too long");
        } else if (*c == '.' || length >= SDX_MAX_RANK) {
            return no(s, "its equation leaves axes open");
        } else {
            terms[term][length++] = *c;
        }
    }
    if (term != node->input_count) return no(s, "its equation names no result");
    char letter = 0;
    sdx_expr outer = sdx_expr_const(1);
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!has_samples(s, node, i)) continue;
        const sdx_spread *x = spread_of(s, node, i);
        char mine = terms[i][x->axis];
        if (letter && (letter != mine || !sdx_expr_same(outer, x->outer)))
            return no(s, "samples lie along different axes");
        letter = mine;
        outer = x->outer;
    }
    for (uint32_t i = 0; i < node->input_count; i++)
        if (!has_samples(s, node, i) && strchr(terms[i], letter))
            return no(s, "samples meet in broadcasting");
    const char *at = strchr(terms[term], letter);
    if (!at) return no(s, "it sums over the samples");
    return put(s, node->outputs[0], (int32_t)(at - terms[term]), outer);
}

/* ---- the table ---------------------------------------------------------------------------------- */

static const rule rules[] = {
#define SDX_SLICE_RULE(op, family, inputs) {#op, family, inputs},
#include "exec/slice_rules.def"
#undef SDX_SLICE_RULE
};

static const rule *find_rule(const sdx_node *node) {
    size_t low = 0, high = node->domain[0] ? 0 : sizeof rules / sizeof *rules;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(node->op_type, rules[middle].op);
        if (order == 0) return &rules[middle];
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

/* What inference knows of the elements decides for itself: sizes, and what is computed from them. */
static bool put_contents(sdx_slicing *s, sdx_id value) {
    const sdx_value_def *def = sdx_value_at(s->module, value);
    if (!def->contents) return false;
    bool uses = false;
    for (size_t i = 0; i < def->content_count; i++) {
        if (sdx_expr_is_unknown(def->contents[i])) return false;
        uses |= sdx_expr_uses(s->module->pool, def->contents[i], s->symbol);
    }
    for (int32_t i = 0; i < def->type.rank; i++)
        uses |= sdx_expr_uses(s->module->pool, def->type.dims[i], s->symbol);
    s->spreads[value] = (sdx_spread){.kind = uses ? SDX_SPREAD_COUNT : SDX_SPREAD_SAME};
    return true;
}

/* No input has samples, so no output can, except where a size makes as many of something. */
static bool without_samples(sdx_slicing *s, const sdx_node *node, bool counts, const rule *r) {
    bool spreads = counts && r && (r->apply == expand || r->apply == constant_of_shape);
    if (spreads && batch_axis(s, type_of(s, node->outputs[0])) >= 0 && r->apply(s, node, r))
        return true;
    for (uint32_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] != SDX_NONE)
            s->spreads[node->outputs[o]] =
                (sdx_spread){.kind = counts ? SDX_SPREAD_COUNT : SDX_SPREAD_SAME};
    return true;
}

bool sdx_slice_node(sdx_slicing *s, const sdx_node *node) {
    const rule *r = find_rule(node);
    if (!node->op) return no(s, "it is not supported");
    if ((node->op->def->flags & SDX_OP_RANDOM) && (!r || r->apply != dropout))
        return no(s, "it draws at random");
    bool samples = false, counts = false;
    bool shape = !node->domain[0] && (strcmp(node->op_type, "Shape") == 0 ||
                                      strcmp(node->op_type, "Size") == 0);
    for (uint32_t a = 0; a < node->attr_count; a++)
        if (node->attrs[a].kind == SDX_ATTR_GRAPH || node->attrs[a].kind == SDX_ATTR_GRAPHS)
            return no(s, "it runs a graph of its own");
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (!present(node, i)) continue;
        samples |= has_samples(s, node, i);
        counts |= spread_of(s, node, i)->kind == SDX_SPREAD_COUNT;
    }
    bool known = node->output_count == 1 && put_contents(s, node->outputs[0]);
    if (known) return true;
    if (shape) counts = true;
    if (!samples || shape) return without_samples(s, node, counts, r);
    for (uint32_t o = 0; o < node->output_count; o++)
        if (node->outputs[o] != SDX_NONE && !sdx_type_fixed(type_of(s, node->outputs[o])))
            return no(s, "its shape depends on data");
    if (!r) return no(s, "nothing says that it keeps samples apart");
    return r->apply(s, node, r);
}
