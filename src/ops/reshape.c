/* reshape.c - operators that keep the bytes and change the shape: Reshape, Flatten, Squeeze,
 * Unsqueeze, Identity. All are views: the planner gives input and output one place where it can,
 * and the shared body copies where it cannot. Here the work is in the symbolic shapes. */
#include "ops/movement.h"
#include "ops/shape_known.h"

/* Nothing to do where memory is shared, else a copy. */
static sdx_status view_run(sdx_call *call) {
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    if (out && in) {
        sdx_move_bytes(in->data, out->data, out->count * sdx_dtype_size(out->dtype),
                       call->host->pool);
        return SDX_STATUS_OK;
    }
    /* A sequence, an optional, or nothing. */
    return sdx_call_wanted(call, 0) ? sdx_call_set(call, 0, call->in[0]) : SDX_STATUS_OK;
}

/* ---- Reshape -------------------------------------------------------------------------------- */

typedef struct reshape_params {
    const int64_t *shape; /* versions 1 to 4 */
    size_t count;
    bool from_input;
    bool allow_zero;
} reshape_params;

static sdx_status reshape_prepare(sdx_prep *prep) {
    reshape_params *p = prep->params;
    p->from_input = prep->version >= 5;
    if (!p->from_input) {
        sdx_attr_ignore(prep, "consumed_inputs");
        SDX_TRY(sdx_attr_get_ints(prep, "shape", &p->shape, &p->count));
        if (p->count > SDX_MAX_RANK)
            return sdx_prep_fail(prep, "shape has %zu entries; at most %d are supported", p->count,
                                 SDX_MAX_RANK);
    }
    if (prep->version >= 14) SDX_TRY(sdx_attr_get_bool(prep, "allowzero", false, &p->allow_zero));
    return SDX_STATUS_OK;
}

/* What the entries of the wanted shape mean. */
typedef struct reshape_plan {
    sdx_expr dims[SDX_MAX_RANK];
    int32_t rank;
    int32_t hole;    /* the entry to be computed, or -1 */
    int32_t holes;   /* entries of -1, and those not known */
    uint32_t copied; /* axes taken from the input */
    bool computed;   /* the hole is a real -1 */
} reshape_plan;

static sdx_status reshape_entry(sdx_infer *inf, const reshape_params *p, reshape_plan *plan,
                                int32_t axis) {
    const sdx_expr want = plan->dims[axis];
    const int32_t rank = sdx_infer_rank(inf, 0);
    if (sdx_expr_is(want, 0) && !p->allow_zero) {
        if (rank >= 0 && axis >= rank)
            return sdx_infer_fail(inf, "shape[%d] is 0 (copy the dim), but the input has rank %d",
                                  (int)axis, (int)rank);
        plan->dims[axis] = rank < 0 ? SDX_EXPR_UNKNOWN : sdx_infer_dim(inf, 0, axis);
        if (rank >= 0) plan->copied |= (uint32_t)1 << axis;
        else ++plan->holes;
    } else if (sdx_expr_is(want, -1)) {
        if (plan->computed) return sdx_infer_fail(inf, "more than one entry of shape is -1");
        plan->computed = true;
        plan->hole = axis;
        ++plan->holes;
        plan->dims[axis] = SDX_EXPR_UNKNOWN;
    } else if (sdx_expr_is_unknown(want)) {
        if (!plan->computed) plan->hole = axis;
        ++plan->holes;
    } else if (sdx_expr_is_const(want) && sdx_expr_value(want) < 0) {
        return sdx_infer_fail(inf, "shape[%d] is %lld; only -1 may be negative", (int)axis,
                              (long long)sdx_expr_value(want));
    }
    return SDX_STATUS_OK;
}

/* Product of the dims outside a set of axes. One 0 makes it 0, whatever overflows beside it. */
static sdx_expr product_without(sdx_infer *inf, const sdx_expr *dims, int32_t rank, uint32_t set) {
    sdx_expr product = sdx_expr_const(1);
    for (int32_t i = 0; i < rank; ++i) {
        if ((set >> i & 1u) != 0) continue;
        if (sdx_expr_is(dims[i], 0)) return dims[i];
        product = sdx_inf_mul(inf, product, dims[i]);
    }
    return product;
}

/* Dims that are copied stand on both sides and are left out, so that [0, -1] has an answer even
 * where the copied dim is 0. */
static sdx_status reshape_fill_hole(sdx_infer *inf, const sdx_expr *in_dims, int32_t rank,
                                    reshape_plan *plan) {
    const sdx_expr total = product_without(inf, in_dims, rank, plan->copied);
    const sdx_expr others =
        product_without(inf, plan->dims, plan->rank, plan->copied | (uint32_t)1 << plan->hole);
    if (!plan->computed && sdx_expr_is(others, 0)) return SDX_STATUS_OK;
    return sdx_move_divide(inf, total, others, "elements of the input over the dims given in shape",
                           &plan->dims[plan->hole]);
}

static sdx_status reshape_resolve(sdx_infer *inf, const reshape_params *p, reshape_plan *plan) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr in_dims[SDX_MAX_RANK];
    bool zero = false;
    plan->hole = -1;
    for (int32_t i = 0; i < plan->rank; ++i) {
        zero |= sdx_expr_is(plan->dims[i], 0);
        SDX_TRY(reshape_entry(inf, p, plan, i));
    }
    if (p->allow_zero && zero && plan->computed)
        return sdx_infer_fail(inf, "with allowzero, shape must not hold both 0 and -1");
    if (rank < 0) return SDX_STATUS_OK;
    sdx_move_copy_dims(inf, 0, in_dims);
    if (plan->holes == 1 && plan->hole >= 0) return reshape_fill_hole(inf, in_dims, rank, plan);
    if (plan->holes > 0) return SDX_STATUS_OK;
    const sdx_expr total = product_without(inf, plan->dims, plan->rank, 0);
    if (sdx_expr_is_unknown(total) && !inf->module)
        return sdx_infer_fail(inf, "shape asks for more elements than can be counted");
    return sdx_infer_require_equal(inf, product_without(inf, in_dims, rank, 0), total,
                                   "number of elements before and after");
}

static sdx_status reshape_infer(sdx_infer *inf) {
    const reshape_params *p = inf->params;
    sdx_expr entries[SDX_MAX_CONTENTS];
    reshape_plan plan = {0};
    size_t count = p->count;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    sdx_move_same_contents(inf, 0, 0);
    if (p->from_input) {
        int64_t length;
        SDX_TRY(sdx_move_vector(inf, 1, &length));
        if (length > SDX_MAX_RANK)
            return sdx_infer_fail(inf, "shape has %lld entries; at most %d are supported",
                                  (long long)length, SDX_MAX_RANK);
        if (length == 0) /* a scalar, whether the data is there or not */
            count = 0;
        else if (!sdx_move_ints(inf, 1, entries, SDX_MAX_RANK, &count))
            return sdx_move_unknown_dims(inf, 0, length);
    } else {
        for (size_t i = 0; i < count; ++i) entries[i] = sdx_move_saturated(p->shape[i]);
    }
    plan.rank = (int32_t)count;
    for (size_t i = 0; i < count; ++i) plan.dims[i] = entries[i];
    SDX_TRY(reshape_resolve(inf, p, &plan));
    return sdx_move_shape(inf, 0, plan.rank, plan.dims);
}

const sdx_op_def sdx_op_reshape_1 = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .flags = SDX_OP_VIEW,
    .in_types = {SDX_T_ALL},
    .params_size = sizeof(reshape_params),
    .prepare = reshape_prepare,
    .infer = reshape_infer,
    .run = SDX_BODY(sdx_op_reshape_1, view_run),
};
const sdx_op_def sdx_op_reshape_known = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .flags = SDX_OP_VIEW,
    .in_types = {SDX_T_ALL},
    .params_size = sizeof(sdx_shape_known),
    .prepare = sdx_shape_known_prepare,
    .infer = sdx_reshape_known_infer,
    .run = SDX_BODY(sdx_op_reshape_known, view_run),
};

const sdx_op_def sdx_op_reshape = {
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .flags = SDX_OP_VIEW,
    .in_types = {SDX_T_ALL, SDX_T(INT64)},
    .params_size = sizeof(reshape_params),
    .prepare = reshape_prepare,
    .infer = reshape_infer,
    .run = SDX_BODY(sdx_op_reshape, view_run),
};

/* ---- Flatten -------------------------------------------------------------------------------- */

typedef struct flatten_params {
    int64_t axis;
} flatten_params;

static sdx_status flatten_prepare(sdx_prep *prep) {
    flatten_params *p = prep->params;
    return sdx_attr_get_int(prep, "axis", 1, &p->axis);
}

static sdx_status flatten_infer(sdx_infer *inf) {
    const flatten_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    sdx_move_same_contents(inf, 0, 0);
    if (rank < 0) return sdx_move_unknown_dims(inf, 0, 2);
    if (p->axis < -rank || p->axis > rank)
        return sdx_infer_fail(inf, "axis %lld is outside [%d, %d]", (long long)p->axis, (int)-rank,
                              (int)rank);
    const int32_t axis = (int32_t)(p->axis < 0 ? p->axis + rank : p->axis);
    const sdx_expr dims[2] = {sdx_infer_product(inf, 0, 0, axis),
                              sdx_infer_product(inf, 0, axis, rank)};
    return sdx_move_shape(inf, 0, 2, dims);
}

const sdx_op_def sdx_op_flatten = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .flags = SDX_OP_VIEW,
    .in_types = {SDX_T_ALL},
    .params_size = sizeof(flatten_params),
    .prepare = flatten_prepare,
    .infer = flatten_infer,
    .run = SDX_BODY(sdx_op_flatten, view_run),
};

/* ---- Squeeze, Unsqueeze --------------------------------------------------------------------- */

typedef struct axes_params {
    const int64_t *axes; /* before version 13 */
    size_t count;
    bool given; /* as an attribute */
    bool from_input;
} axes_params;

/* aux: non-NULL when axes must be given. */
static const char axes_needed[] = "axes";

static sdx_status axes_prepare(sdx_prep *prep) {
    axes_params *p = prep->params;
    p->from_input = prep->version >= 13;
    if (p->from_input) return SDX_STATUS_OK;
    p->given = sdx_attr_has(prep, "axes");
    SDX_TRY(sdx_attr_get_ints(prep, "axes", &p->axes, &p->count));
    if (!p->given && prep->def->aux) return sdx_prep_fail(prep, "attribute 'axes' is missing");
    if (p->count > SDX_MAX_RANK)
        return sdx_prep_fail(prep, "axes has %zu entries; at most %d are supported", p->count,
                             SDX_MAX_RANK);
    return SDX_STATUS_OK;
}

typedef struct axes_list {
    sdx_expr entries[SDX_MAX_RANK];
    int64_t count; /* -1: not known */
    bool given, known;
} axes_list;

static sdx_status axes_read(sdx_infer *inf, const axes_params *p, axes_list *list) {
    size_t count;
    list->given = p->from_input ? sdx_infer_present(inf, 1) : p->given;
    list->known = true;
    list->count = (int64_t)p->count;
    if (!list->given) return SDX_STATUS_OK;
    if (!p->from_input) {
        for (size_t i = 0; i < p->count; ++i) list->entries[i] = sdx_move_saturated(p->axes[i]);
        return SDX_STATUS_OK;
    }
    SDX_TRY(sdx_move_vector(inf, 1, &list->count));
    if (list->count > SDX_MAX_RANK)
        return sdx_infer_fail(inf, "axes has %lld entries; at most %d are supported",
                              (long long)list->count, SDX_MAX_RANK);
    list->known = sdx_move_ints(inf, 1, list->entries, SDX_MAX_RANK, &count);
    if (list->known) list->count = (int64_t)count;
    return SDX_STATUS_OK;
}

/* Without axes every dim of 1 goes, which a symbolic dim leaves open. */
static bool squeeze_all(const sdx_infer *inf, int32_t rank, uint32_t *set) {
    *set = 0;
    for (int32_t i = 0; i < rank; ++i) {
        const sdx_expr dim = sdx_infer_dim(inf, 0, i);
        if (!sdx_expr_is_const(dim)) return false;
        if (sdx_expr_is(dim, 1)) *set |= (uint32_t)1 << i;
    }
    return true;
}

static sdx_status squeeze_infer(sdx_infer *inf) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    axes_list list;
    sdx_expr dims[SDX_MAX_RANK];
    uint32_t set;
    bool known;
    int32_t kept = 0;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    sdx_move_same_contents(inf, 0, 0);
    SDX_TRY(axes_read(inf, inf->params, &list));
    if (rank < 0) return sdx_move_shape(inf, 0, -1, NULL);
    if (!list.given) {
        if (!squeeze_all(inf, rank, &set)) return sdx_move_shape(inf, 0, -1, NULL);
    } else {
        known = false;
        if (list.known)
            SDX_TRY(sdx_move_axis_set(inf, list.entries, (size_t)list.count, rank, false, &set,
                                      &known));
        if (!known) {
            const bool fits = list.count >= 0 && list.count < rank;
            return sdx_move_unknown_dims(inf, 0, fits ? rank - list.count : -1);
        }
    }
    for (int32_t i = 0; i < rank; ++i) {
        const sdx_expr dim = sdx_infer_dim(inf, 0, i);
        if ((set >> i & 1u) == 0) {
            dims[kept++] = dim;
            continue;
        }
        if (sdx_expr_is_const(dim) && !sdx_expr_is(dim, 1))
            return sdx_infer_fail(inf, "axis %d is %lld long; only axes of length 1 can go", (int)i,
                                  (long long)sdx_expr_value(dim));
        if (!sdx_expr_is_unknown(dim))
            SDX_TRY(sdx_infer_require_equal(inf, dim, sdx_expr_const(1), "squeezed dim and 1"));
    }
    return sdx_move_shape(inf, 0, kept, dims);
}

static sdx_status unsqueeze_infer(sdx_infer *inf) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    axes_list list;
    sdx_expr dims[SDX_MAX_RANK];
    uint32_t set = 0;
    bool known = false;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    sdx_move_same_contents(inf, 0, 0);
    SDX_TRY(axes_read(inf, inf->params, &list));
    if (rank < 0 || list.count < 0) return sdx_move_shape(inf, 0, -1, NULL);
    const int64_t new_rank = rank + list.count;
    if (new_rank > SDX_MAX_RANK || !list.known) return sdx_move_unknown_dims(inf, 0, new_rank);
    SDX_TRY(sdx_move_axis_set(inf, list.entries, (size_t)list.count, (int32_t)new_rank, true, &set,
                              &known));
    if (!known) return sdx_move_unknown_dims(inf, 0, new_rank);
    for (int32_t i = 0, from = 0; i < new_rank; ++i)
        dims[i] = (set >> i & 1u) != 0 ? sdx_expr_const(1) : sdx_infer_dim(inf, 0, from++);
    return sdx_move_shape(inf, 0, (int32_t)new_rank, dims);
}

#define AXES_OP(name, least, most, rule, needed)                                                   \
    const sdx_op_def name = {                                                                      \
        .min_in = least,                                                                           \
        .max_in = most,                                                                            \
        .min_out = 1,                                                                              \
        .max_out = 1,                                                                              \
        .flags = SDX_OP_VIEW,                                                                      \
        .in_types = {SDX_T_ALL, SDX_T(INT64)},                                                     \
        .params_size = sizeof(axes_params),                                                        \
        .prepare = axes_prepare,                                                                   \
        .infer = rule,                                                                             \
        .run = SDX_BODY(name, view_run),                                                           \
        .aux = needed,                                                                             \
    }
AXES_OP(sdx_op_squeeze_1, 1, 1, squeeze_infer, NULL);
AXES_OP(sdx_op_squeeze, 1, 2, squeeze_infer, NULL);
AXES_OP(sdx_op_unsqueeze_1, 1, 1, unsqueeze_infer, axes_needed);
AXES_OP(sdx_op_unsqueeze, 2, 2, unsqueeze_infer, axes_needed);

/* ---- Identity ------------------------------------------------------------------------------- */

static sdx_status identity_infer(sdx_infer *inf) {
    if (!sdx_infer_present(inf, 0)) return sdx_infer_fail(inf, "the input is missing");
    if (inf->in[0].type.kind == SDX_KIND_TENSOR) return sdx_infer_copy(inf, 0, 0, true);
    sdx_infer_set_type(inf, 0, &inf->in[0].type);
    return SDX_STATUS_OK;
}

/* Any type, sequences and optionals included. */
const sdx_op_def sdx_op_identity = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .flags = SDX_OP_VIEW | SDX_OP_DATA_SHAPE,
    .infer = identity_infer,
    .run = SDX_BODY(sdx_op_identity, view_run),
};
