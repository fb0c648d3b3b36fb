/* concat.c - Concat and Split: the same rows of bytes, gathered into one tensor or dealt out to
 * several. Both see a tensor as [outer, axis * inner]. */
#include "ops/movement.h"

/* ---- parts along an axis -------------------------------------------------------------------- */

/* A part of `whole` as a nest of rows. */
static sdx_box part_box(const sdx_tensor *whole, int32_t axis, int64_t length, bool to_whole) {
    const int64_t outer = (int64_t)sdx_dims_product(whole->dims, 0, axis);
    const int64_t inner = (int64_t)sdx_dims_product(whole->dims, axis + 1, whole->rank);
    const int64_t in_whole = whole->dims[axis] * inner, in_part = length * inner;
    sdx_box box = {0};
    sdx_box_add(&box, outer, to_whole ? in_part : in_whole, to_whole ? in_whole : in_part);
    sdx_box_add(&box, in_part, 1, 1);
    return box;
}

static char *part_start(const sdx_tensor *whole, int32_t axis, int64_t first) {
    return (char *)whole->data + (size_t)first *
                                     sdx_dims_product(whole->dims, axis + 1, whole->rank) *
                                     sdx_dtype_size(whole->dtype);
}

void sdx_part_read(const sdx_tensor *whole, int32_t axis, int64_t first, int64_t length,
                   void *part, sdx_pool *pool) {
    if (whole->count == 0 || length == 0) return;
    const sdx_box box = part_box(whole, axis, length, false);
    sdx_box_copy(&box, sdx_dtype_size(whole->dtype), part_start(whole, axis, first), part, pool);
}

void sdx_part_write(sdx_tensor *whole, int32_t axis, int64_t first, int64_t length,
                    const void *part, sdx_pool *pool) {
    if (whole->count == 0 || length == 0) return;
    const sdx_box box = part_box(whole, axis, length, true);
    sdx_box_copy(&box, sdx_dtype_size(whole->dtype), part, part_start(whole, axis, first), pool);
}

/* ---- Concat --------------------------------------------------------------------------------- */

typedef struct axis_params {
    int64_t axis;
} axis_params;

static sdx_status concat_prepare(sdx_prep *prep) {
    axis_params *p = prep->params;
    if (prep->version < 4) return sdx_attr_get_int(prep, "axis", 1, &p->axis);
    return sdx_attr_need_int(prep, "axis", &p->axis);
}

/* Contents of a concatenation of vectors. Elements of an input that is not known stay unknown:
 * their number alone fixes the rank of a Reshape behind. */
static void concat_contents(sdx_infer *inf) {
    sdx_expr all[SDX_MAX_CONTENTS];
    size_t used = 0;
    if (!inf->module || !sdx_dtypes_has(SDX_T_INTS | SDX_T(BOOL), sdx_infer_dtype(inf, 0))) return;
    for (uint32_t i = 0; i < inf->in_count; ++i) {
        const sdx_expr dim = sdx_infer_dim(inf, i, 0);
        size_t count;
        if (!sdx_expr_is_const(dim)) return;
        const int64_t length = sdx_expr_value(dim);
        if (length < 0 || length > (int64_t)(SDX_MAX_CONTENTS - used)) return;
        if (!sdx_infer_contents(inf, i, all + used, (size_t)length, &count) ||
            count != (size_t)length)
            for (int64_t k = 0; k < length; ++k) all[used + (size_t)k] = SDX_EXPR_UNKNOWN;
        used += (size_t)length;
    }
    for (size_t i = 0; i < used; ++i)
        if (!sdx_expr_is_unknown(all[i])) {
            sdx_infer_set_contents(inf, 0, all, used);
            return;
        }
}

static sdx_status concat_infer(sdx_infer *inf) {
    const axis_params *p = inf->params;
    sdx_expr dims[SDX_MAX_RANK];
    int32_t rank = -1, axis;
    sdx_expr total = sdx_expr_const(0);
    for (uint32_t i = 0; i < inf->in_count; ++i) {
        const int32_t other = sdx_infer_rank(inf, i);
        if (!sdx_infer_present(inf, i))
            return sdx_infer_fail(inf, "input %u is missing", (unsigned)i);
        if (other >= 0 && rank >= 0 && other != rank)
            return sdx_infer_fail(inf, "input %u has rank %d, but others have %d", (unsigned)i,
                                  (int)other, (int)rank);
        if (other >= 0) rank = other;
        if (sdx_infer_dtype(inf, i) != SDX_DTYPE_UNDEFINED)
            sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, i));
    }
    if (rank < 0) return sdx_move_shape(inf, 0, -1, NULL);
    SDX_TRY(sdx_infer_axis(inf, p->axis, rank, &axis));
    for (int32_t d = 0; d < rank; ++d) dims[d] = SDX_EXPR_UNKNOWN;
    for (uint32_t i = 0; i < inf->in_count; ++i) {
        total = sdx_infer_rank(inf, i) < 0 ? SDX_EXPR_UNKNOWN
                                           : sdx_inf_add(inf, total, sdx_infer_dim(inf, i, axis));
        for (int32_t d = 0; d < rank && sdx_infer_rank(inf, i) >= 0; ++d) {
            const sdx_expr dim = sdx_infer_dim(inf, i, d);
            if (d == axis || sdx_expr_is_unknown(dim)) continue;
            if (!sdx_expr_is_unknown(dims[d]))
                SDX_TRY(sdx_infer_require_equal(inf, dims[d], dim, "dims besides the axis"));
            if (!sdx_expr_is_const(dims[d])) dims[d] = dim;
        }
    }
    dims[axis] = total;
    if (rank == 1) concat_contents(inf);
    sdx_infer_set_join(inf, axis);
    return sdx_move_shape(inf, 0, rank, dims);
}

static sdx_status concat_run(sdx_call *call) {
    const axis_params *p = call->params;
    sdx_tensor *out = sdx_out(call, 0);
    const int32_t axis = (int32_t)(p->axis < 0 ? p->axis + out->rank : p->axis);
    int64_t first = 0;
    if (out->count == 0) return SDX_STATUS_OK;
    for (uint32_t i = 0; i < call->in_count; ++i) {
        const sdx_tensor *in = sdx_in(call, i);
        /* Inputs that lie at their place within the output already were written there. */
        if (in->data != part_start(out, axis, first))
            sdx_part_write(out, axis, first, in->dims[axis], in->data, call->host->pool);
        first += in->dims[axis];
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_concat = {
    .min_in = 1,
    .max_in = SDX_VARIADIC,
    .min_out = 1,
    .max_out = 1,
    .flags = SDX_OP_SAME_TYPE,
    .in_types = {SDX_T_ALL},
    .params_size = sizeof(axis_params),
    .prepare = concat_prepare,
    .infer = concat_infer,
    .run = SDX_BODY(sdx_op_concat, concat_run),
};

/* ---- Split ---------------------------------------------------------------------------------- */

typedef struct split_params {
    int64_t axis;
    const int64_t *sizes; /* before version 13 */
    size_t count;
    int64_t parts; /* num_outputs, from version 18; 0: absent */
} split_params;

static sdx_status split_prepare(sdx_prep *prep) {
    split_params *p = prep->params;
    SDX_TRY(sdx_attr_get_int(prep, "axis", 0, &p->axis));
    if (prep->version < 13) {
        SDX_TRY(sdx_attr_get_ints(prep, "split", &p->sizes, &p->count));
        for (size_t i = 0; i < p->count; ++i)
            if (p->sizes[i] < 0)
                return sdx_prep_fail(prep, "split[%zu] is negative: %lld", i,
                                     (long long)p->sizes[i]);
        if (p->count > 0 && p->count != prep->node->output_count)
            return sdx_prep_fail(prep, "split has %zu entries for %u outputs", p->count,
                                 (unsigned)prep->node->output_count);
    }
    if (prep->version >= 18 && sdx_attr_has(prep, "num_outputs")) {
        SDX_TRY(sdx_attr_need_int(prep, "num_outputs", &p->parts));
        if (p->parts != prep->node->output_count)
            return sdx_prep_fail(prep, "num_outputs is %lld, but the node has %u outputs",
                                 (long long)p->parts, (unsigned)prep->node->output_count);
    }
    return SDX_STATUS_OK;
}

/* Entry o of the sizes given; unknown when it is not known now. */
static sdx_expr split_size(const sdx_infer *inf, const split_params *p, const sdx_tensor *tensor,
                           uint32_t o) {
    if (tensor)
        return o < tensor->count ? sdx_move_saturated(sdx_move_int(tensor, o)) : SDX_EXPR_UNKNOWN;
    if (!sdx_infer_present(inf, 1)) return sdx_move_saturated(p->sizes[o]);
    return o < inf->in[1].content_count ? inf->in[1].contents[o] : SDX_EXPR_UNKNOWN;
}

/* How long output o is along the axis, dim the length of the input there. */
static sdx_status split_length(sdx_infer *inf, const split_params *p, const sdx_tensor *sizes,
                               sdx_expr dim, uint32_t o, sdx_expr *out) {
    if (sdx_infer_present(inf, 1) || p->count > 0) {
        *out = split_size(inf, p, sizes, o);
        if (sdx_expr_is_const(*out) && sdx_expr_value(*out) < 0)
            return sdx_infer_fail(inf, "split[%u] is negative: %lld", (unsigned)o,
                                  (long long)sdx_expr_value(*out));
        return SDX_STATUS_OK;
    }
    const sdx_expr parts = sdx_expr_const(inf->out_count);
    if (p->parts == 0)
        return sdx_move_divide(inf, dim, parts, "length of the axis over the number of outputs",
                               out);
    *out = sdx_expr_ceildiv(inf->pool, dim, parts);
    if (o + 1 < inf->out_count) return SDX_STATUS_OK;
    *out = sdx_inf_sub(inf, dim, sdx_inf_mul(inf, *out, sdx_expr_const((int64_t)o)));
    if (sdx_expr_is_const(*out) && sdx_expr_value(*out) < 0)
        return sdx_infer_fail(inf, "%u parts are too many for an axis of length %lld",
                              (unsigned)inf->out_count, (long long)sdx_expr_value(dim));
    return SDX_STATUS_OK;
}

static sdx_status split_check(sdx_infer *inf, const split_params *p) {
    int64_t length;
    if (!sdx_infer_present(inf, 1)) return SDX_STATUS_OK;
    SDX_TRY(sdx_move_vector(inf, 1, &length));
    if (p->parts != 0 || p->count != 0)
        return sdx_infer_fail(inf, "both the input split and an attribute give the parts");
    if (length >= 0 && length != inf->out_count)
        return sdx_infer_fail(inf, "split has %lld entries for %u outputs", (long long)length,
                              (unsigned)inf->out_count);
    return SDX_STATUS_OK;
}

/* Contents of a part of a vector, as long as its place is plain numbers. */
static void split_contents(sdx_infer *inf, uint32_t o, sdx_expr first, sdx_expr length,
                           sdx_expr dim) {
    sdx_box box = {0};
    if (!sdx_expr_is_const(first) || !sdx_expr_is_const(length) || !sdx_expr_is_const(dim)) return;
    if (sdx_expr_value(length) > sdx_expr_value(dim) - sdx_expr_value(first)) return;
    sdx_box_add(&box, sdx_expr_value(length), 1, 1);
    sdx_move_box_contents(inf, o, 0, &box, sdx_expr_value(first));
}

static sdx_status split_infer(sdx_infer *inf) {
    const split_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr dims[SDX_MAX_RANK], total = sdx_expr_const(0);
    int32_t axis;
    SDX_TRY(split_check(inf, p));
    for (uint32_t o = 0; o < inf->out_count; ++o)
        sdx_infer_set_dtype(inf, o, sdx_infer_dtype(inf, 0));
    if (rank < 0) return SDX_STATUS_OK;
    SDX_TRY(sdx_infer_axis(inf, p->axis, rank, &axis));
    sdx_move_copy_dims(inf, 0, dims);
    const sdx_expr dim = dims[axis];
    const sdx_tensor *sizes = sdx_infer_tensor(inf, 1);
    for (uint32_t o = 0; o < inf->out_count; ++o) {
        SDX_TRY(split_length(inf, p, sizes, dim, o, &dims[axis]));
        SDX_TRY(sdx_move_shape(inf, o, rank, dims));
        if (rank == 1) split_contents(inf, o, total, dims[axis], dim);
        sdx_infer_set_run(inf, o, axis, total);
        total = sdx_inf_add(inf, total, dims[axis]);
    }
    if (sdx_expr_is_unknown(total) || sdx_expr_is_unknown(dim)) return SDX_STATUS_OK;
    return sdx_infer_require_equal(inf, total, dim, "sum of the lengths and the split axis");
}

/* As split_length, for a run, where an output that nobody wants has no tensor to ask. */
static int64_t split_plain_length(const sdx_call *call, const split_params *p, int64_t dim,
                                  uint32_t o) {
    if (sdx_in(call, 1)) return sdx_move_int(sdx_in(call, 1), o);
    if (p->count > 0) return p->sizes[o];
    const int64_t each = (dim + call->out_count - 1) / call->out_count;
    return dim - each * o < each ? dim - each * o : each;
}

static sdx_status split_run(sdx_call *call) {
    const split_params *p = call->params;
    const sdx_tensor *in = sdx_in(call, 0);
    const int32_t axis = (int32_t)(p->axis < 0 ? p->axis + in->rank : p->axis);
    int64_t first = 0;
    if (in->count == 0) return SDX_STATUS_OK;
    for (uint32_t o = 0; o < call->out_count; ++o) {
        const int64_t length = split_plain_length(call, p, in->dims[axis], o);
        sdx_tensor *out = sdx_out(call, o);
        if (out && out->data != part_start(in, axis, first))
            sdx_part_read(in, axis, first, length, out->data, call->host->pool);
        first += length;
    }
    return SDX_STATUS_OK;
}

#define SPLIT_OP(name, most, lengths)                                                              \
    const sdx_op_def name = {                                                                      \
        .min_in = 1,                                                                               \
        .max_in = most,                                                                            \
        .min_out = 1,                                                                              \
        .max_out = SDX_VARIADIC,                                                                   \
        .in_types = {SDX_T_ALL, lengths},                                                          \
        .params_size = sizeof(split_params),                                                       \
        .prepare = split_prepare,                                                                  \
        .infer = split_infer,                                                                      \
        .run = SDX_BODY(name, split_run),                                                          \
    }
SPLIT_OP(sdx_op_split_1, 2, SDX_T_FLOATS); /* lengths are numbers of the data's own type */
SPLIT_OP(sdx_op_split_2, 1, 0);
SPLIT_OP(sdx_op_split, 2, SDX_T(INT64));
