/* slice.c - Slice: a range with a step along some axes, as in Python but with the clamping of the
 * ONNX standard. Bounds may be symbolic; a length is then an expression in min and max. */
#include "ops/movement.h"

/* Bounds this far out mean the end (or the front) whatever the dim is: what the standard
 * recommends INT_MAX and INT_MIN for. */
#define FAR ((int64_t)INT32_MAX)

typedef struct slice_params {
    const int64_t *starts, *ends, *axes; /* before version 10 */
    size_t count, axis_count;
    bool from_input;
} slice_params;

static sdx_status slice_prepare(sdx_prep *prep) {
    slice_params *p = prep->params;
    size_t ends;
    p->from_input = prep->version >= 10;
    if (p->from_input) return SDX_STATUS_OK;
    if (!sdx_attr_has(prep, "starts") || !sdx_attr_has(prep, "ends"))
        return sdx_prep_fail(prep, "attributes 'starts' and 'ends' are needed");
    SDX_TRY(sdx_attr_get_ints(prep, "starts", &p->starts, &p->count));
    SDX_TRY(sdx_attr_get_ints(prep, "ends", &p->ends, &ends));
    SDX_TRY(sdx_attr_get_ints(prep, "axes", &p->axes, &p->axis_count));
    if (p->count != ends)
        return sdx_prep_fail(prep, "starts has %zu entries, but ends has %zu", p->count, ends);
    if (p->axes && p->axis_count != p->count)
        return sdx_prep_fail(prep, "starts has %zu entries, but axes has %zu", p->count,
                             p->axis_count);
    if (p->count > SDX_MAX_RANK)
        return sdx_prep_fail(prep, "starts has %zu entries; at most %d are supported", p->count,
                             SDX_MAX_RANK);
    return SDX_STATUS_OK;
}

/* ---- one axis ------------------------------------------------------------------------------- */

/* Where the range begins and how many elements it has. step is not 0. */
static void slice_axis(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *first,
                       int64_t *length) {
    *first = *length = 0;
    if (dim == 0) return;
    const int64_t last = step > 0 ? dim : dim - 1; /* the largest start and end */
    if (start < 0) start = start < -dim || start <= -FAR ? 0 : start + dim;
    if (start > last || start >= FAR) start = last;
    if (end < 0) end = end < -dim || end <= -FAR ? -1 : end + dim;
    if (end > last || end >= FAR) end = last;
    if (end < 0 && step > 0) end = 0;
    *first = start;
    if (step > 0 && end > start) *length = (end - start - 1) / step + 1;
    if (step < 0 && end < start) *length = step == INT64_MIN ? 1 : (start - end - 1) / -step + 1;
}

/* A bound in [0, dim], counted from the front, for a positive step; unknown if its sign is. */
static sdx_expr forward_bound(sdx_infer *inf, sdx_expr dim, sdx_expr bound) {
    int64_t limit;
    const sdx_expr zero = sdx_expr_const(0);
    if (sdx_expr_is_unknown(bound)) return bound;
    if (sdx_expr_is_const(bound)) {
        if (sdx_expr_value(bound) >= FAR) return dim;
        if (sdx_expr_value(bound) <= -FAR) return zero;
    }
    if (sdx_expr_lower_bound(inf->pool, bound, &limit) && limit >= 0)
        return sdx_expr_min(inf->pool, bound, dim);
    if (sdx_expr_upper_bound(inf->pool, bound, &limit) && limit < 0)
        return sdx_expr_max(inf->pool, sdx_inf_add(inf, dim, bound), zero);
    return SDX_EXPR_UNKNOWN;
}

/* Length of a forward range; the usual forms [0:e] and [s:] come out short. */
static sdx_expr forward_length(sdx_infer *inf, sdx_expr dim, sdx_expr start, sdx_expr end,
                               int64_t step) {
    int64_t least;
    const sdx_expr from = forward_bound(inf, dim, start), to = forward_bound(inf, dim, end);
    if (sdx_expr_is_unknown(from) || sdx_expr_is_unknown(to)) return SDX_EXPR_UNKNOWN;
    sdx_expr length = sdx_inf_sub(inf, to, from);
    if (sdx_expr_same(to, dim) && sdx_expr_lower_bound(inf->pool, start, &least) && least >= 0)
        length = sdx_inf_sub(inf, dim, start);
    if (!sdx_expr_is(from, 0)) length = sdx_expr_max(inf->pool, length, sdx_expr_const(0));
    return step == 1 ? length : sdx_expr_ceildiv(inf->pool, length, sdx_expr_const(step));
}

/* Only the forms that reverse a whole axis, or begin at its end. */
static sdx_expr backward_length(sdx_infer *inf, sdx_expr dim, sdx_expr start, sdx_expr end,
                                int64_t step) {
    if (!sdx_expr_is_const(start) || !sdx_expr_is_const(end) || step < -FAR)
        return SDX_EXPR_UNKNOWN;
    const int64_t s = sdx_expr_value(start), e = sdx_expr_value(end);
    if ((s != -1 && s < FAR) || e > -FAR) return SDX_EXPR_UNKNOWN;
    return sdx_expr_ceildiv(inf->pool, dim, sdx_expr_const(-step));
}

static sdx_status slice_length(sdx_infer *inf, sdx_expr dim, sdx_expr start, sdx_expr end,
                               sdx_expr step, int64_t *first, sdx_expr *length) {
    *first = -1;
    *length = SDX_EXPR_UNKNOWN;
    if (sdx_expr_is(step, 0)) return sdx_infer_fail(inf, "a step is 0");
    if (!sdx_expr_is_const(step)) return SDX_STATUS_OK;
    const int64_t by = sdx_expr_value(step);
    if (sdx_expr_is_const(dim) && sdx_expr_is_const(start) && sdx_expr_is_const(end)) {
        int64_t count;
        slice_axis(sdx_expr_value(dim), sdx_expr_value(start), sdx_expr_value(end), by, first,
                   &count);
        *length = sdx_expr_const(count);
    } else if (!sdx_expr_is_unknown(dim)) {
        *length = by > 0 ? forward_length(inf, dim, start, end, by)
                         : backward_length(inf, dim, start, end, by);
    }
    return SDX_STATUS_OK;
}

/* ---- infer ---------------------------------------------------------------------------------- */

typedef struct slice_lists {
    sdx_expr starts[SDX_MAX_RANK], ends[SDX_MAX_RANK], axes[SDX_MAX_RANK], steps[SDX_MAX_RANK];
    int64_t count; /* -1: not known */
} slice_lists;

/* One list of an input: unknown elements where it is not known. Its length must be the others'. */
static sdx_status slice_list(sdx_infer *inf, uint32_t i, const char *name, slice_lists *lists,
                             sdx_expr *out) {
    int64_t length;
    size_t count;
    SDX_TRY(sdx_move_vector(inf, i, &length));
    if (length > SDX_MAX_RANK)
        return sdx_infer_fail(inf, "%s has %lld entries; at most %d are supported", name,
                              (long long)length, SDX_MAX_RANK);
    for (int32_t k = 0; k < SDX_MAX_RANK; ++k) out[k] = SDX_EXPR_UNKNOWN;
    if (sdx_move_ints(inf, i, out, SDX_MAX_RANK, &count)) length = (int64_t)count;
    if (length < 0) return SDX_STATUS_OK;
    if (lists->count >= 0 && lists->count != length)
        return sdx_infer_fail(inf, "starts has %lld entries, but %s has %lld",
                              (long long)lists->count, name, (long long)length);
    lists->count = length;
    return SDX_STATUS_OK;
}

static sdx_status slice_read(sdx_infer *inf, const slice_params *p, slice_lists *lists) {
    lists->count = p->from_input ? -1 : (int64_t)p->count;
    for (int32_t i = 0; i < SDX_MAX_RANK; ++i) {
        lists->axes[i] = sdx_expr_const(i);
        lists->steps[i] = sdx_expr_const(1);
    }
    for (size_t i = 0; i < p->count; ++i) {
        lists->starts[i] = sdx_move_saturated(p->starts[i]);
        lists->ends[i] = sdx_move_saturated(p->ends[i]);
        if (p->axes) lists->axes[i] = sdx_move_saturated(p->axes[i]);
    }
    if (!p->from_input) return SDX_STATUS_OK;
    SDX_TRY(slice_list(inf, 1, "starts", lists, lists->starts));
    SDX_TRY(slice_list(inf, 2, "ends", lists, lists->ends));
    if (sdx_infer_present(inf, 3)) SDX_TRY(slice_list(inf, 3, "axes", lists, lists->axes));
    if (sdx_infer_present(inf, 4)) SDX_TRY(slice_list(inf, 4, "steps", lists, lists->steps));
    return SDX_STATUS_OK;
}

/* Contents, when everything but they is plain numbers. */
static void slice_contents(sdx_infer *inf, int32_t rank, const int64_t *first, const int64_t *step,
                           const sdx_expr *dims) {
    int64_t from[SDX_MAX_RANK], source_step = 1, to = 1, begin = 0;
    sdx_box box = {0};
    if (!sdx_move_small(inf, 0, from)) return;
    for (int32_t i = 0; i < rank; ++i)
        if (first[i] < 0 || !sdx_expr_is_const(dims[i])) return;
    for (int32_t i = rank - 1; i >= 0; --i) {
        const int64_t dim = from[i];
        begin += first[i] * source_step;
        from[i] = source_step;
        source_step *= dim;
    }
    for (int32_t i = 0; i < rank; ++i) {
        to = 1;
        for (int32_t k = i + 1; k < rank; ++k) to *= sdx_expr_value(dims[k]);
        /* A single element needs no step, and an absurd one could overflow. */
        const int64_t length = sdx_expr_value(dims[i]);
        sdx_box_add(&box, length, length > 1 ? from[i] * step[i] : 0, to);
    }
    sdx_move_box_contents(inf, 0, 0, &box, begin);
}

/* Cut along one axis only, without gaps, from a place that is a plain number. */
static void slice_run_of_input(sdx_infer *inf, int32_t rank, const int64_t *first,
                               const int64_t *step, const sdx_expr *dims) {
    int32_t axis = -1;
    for (int32_t i = 0; i < rank; ++i) {
        if (sdx_expr_same(dims[i], sdx_infer_dim(inf, 0, i)) && step[i] == 1) continue;
        if (axis >= 0 || first[i] < 0 || step[i] != 1) return;
        axis = i;
    }
    if (axis >= 0) sdx_infer_set_run(inf, 0, axis, sdx_expr_const(first[axis]));
}

static sdx_status slice_infer(sdx_infer *inf) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr dims[SDX_MAX_RANK];
    int64_t first[SDX_MAX_RANK] = {0}, step[SDX_MAX_RANK];
    slice_lists lists;
    uint32_t seen = 0;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(slice_read(inf, inf->params, &lists));
    if (rank < 0) return sdx_move_shape(inf, 0, -1, NULL);
    if (lists.count < 0) return sdx_move_unknown_dims(inf, 0, rank);
    sdx_move_copy_dims(inf, 0, dims);
    for (int32_t i = 0; i < rank; ++i) step[i] = 1;
    for (int64_t i = 0; i < lists.count; ++i) {
        int32_t axis;
        if (!sdx_expr_is_const(lists.axes[i])) return sdx_move_unknown_dims(inf, 0, rank);
        SDX_TRY(sdx_infer_axis(inf, sdx_expr_value(lists.axes[i]), rank, &axis));
        if ((seen >> axis & 1u) != 0)
            return sdx_infer_fail(inf, "axis %d is sliced twice", (int)axis);
        seen |= (uint32_t)1 << axis;
        SDX_TRY(slice_length(inf, sdx_infer_dim(inf, 0, axis), lists.starts[i], lists.ends[i],
                             lists.steps[i], &first[axis], &dims[axis]));
        step[axis] = sdx_expr_is_const(lists.steps[i]) ? sdx_expr_value(lists.steps[i]) : 0;
    }
    slice_contents(inf, rank, first, step, dims);
    slice_run_of_input(inf, rank, first, step, dims);
    return sdx_move_shape(inf, 0, rank, dims);
}

/* ---- run ------------------------------------------------------------------------------------ */

/* Entry k of one of the lists, for a run. */
static int64_t slice_entry(const sdx_call *call, uint32_t input, const int64_t *attribute, size_t k,
                           int64_t fallback) {
    const sdx_tensor *tensor = sdx_in(call, input);
    if (tensor) return sdx_move_index(tensor, k);
    return attribute ? attribute[k] : fallback;
}

static sdx_status slice_run(sdx_call *call) {
    const slice_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    int64_t from[SDX_MAX_RANK], to[SDX_MAX_RANK], begin = 0;
    const size_t count = p->from_input ? sdx_in(call, 1)->count : p->count;
    sdx_box box = {0};
    if (out->count == 0) return SDX_STATUS_OK;
    sdx_strides(in, from);
    sdx_strides(out, to);
    for (size_t i = 0; i < count; ++i) {
        int64_t axis = slice_entry(call, 3, p->axes, i, (int64_t)i), first, length;
        const int64_t step = slice_entry(call, 4, NULL, i, 1);
        SDX_TRY(sdx_call_index(call, axis, in->rank, "axis", &axis)); /* of a scalar, say */
        slice_axis(in->dims[axis], slice_entry(call, 1, p->starts, i, 0),
                   slice_entry(call, 2, p->ends, i, 0), step, &first, &length);
        begin += first * from[axis];
        if (length > 1) from[axis] *= step; /* else it is not taken, and might overflow */
    }
    for (int32_t i = 0; i < in->rank; ++i) sdx_box_add(&box, out->dims[i], from[i], to[i]);
    const size_t unit = sdx_dtype_size(in->dtype);
    sdx_box_copy(&box, unit, (const char *)in->data + (size_t)begin * unit, out->data,
                 call->host->pool);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_slice_1 = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL},
    .params_size = sizeof(slice_params),
    .prepare = slice_prepare,
    .infer = slice_infer,
    .run = SDX_BODY(sdx_op_slice_1, slice_run),
};
const sdx_op_def sdx_op_slice = {
    .min_in = 3,
    .max_in = 5,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T_INDEX},
    .params_size = sizeof(slice_params),
    .prepare = slice_prepare,
    .infer = slice_infer,
    .run = SDX_BODY(sdx_op_slice, slice_run),
};
