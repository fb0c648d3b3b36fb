/* shape_common.c - small things that the data movement operators share (movement.h): constant
 * elements, index checks, and the symbolic handling of shape tensors. */
#include "ops/movement.h"

/* ---- elements ------------------------------------------------------------------------------- */

void sdx_move_zero(sdx_dtype dtype, unsigned char *out) {
    memset(out, 0, SDX_MAX_UNIT);
    if (dtype == SDX_DTYPE_STRING) {
        const sdx_string empty = {"", 0};
        memcpy(out, &empty, sizeof empty);
    }
}

void sdx_move_float(sdx_dtype dtype, double value, unsigned char *out) {
    memset(out, 0, SDX_MAX_UNIT);
    if (dtype == SDX_DTYPE_FLOAT64) {
        memcpy(out, &value, sizeof value);
    } else if (dtype == SDX_DTYPE_FLOAT16 || dtype == SDX_DTYPE_BFLOAT16) {
        const uint16_t bits =
            dtype == SDX_DTYPE_FLOAT16 ? sdx_f64_to_f16(value) : sdx_f64_to_bf16(value);
        memcpy(out, &bits, sizeof bits);
    } else {
        const float single = (float)value;
        memcpy(out, &single, sizeof single);
    }
}

void sdx_move_one(sdx_dtype dtype, unsigned char *out) {
    if (sdx_dtypes_has(SDX_T_FLOATS, dtype)) {
        sdx_move_float(dtype, 1.0, out);
        return;
    }
    memset(out, 0, SDX_MAX_UNIT);
    const uint16_t one16 = 1;
    const uint32_t one32 = 1;
    const uint64_t one64 = 1;
    switch (sdx_dtype_size(dtype)) {
    case 1: out[0] = 1; break;
    case 2: memcpy(out, &one16, sizeof one16); break;
    case 4: memcpy(out, &one32, sizeof one32); break;
    case 8: memcpy(out, &one64, sizeof one64); break;
    default: break;
    }
}

static int64_t truncated(double value) {
    if (!(value >= -9223372036854775808.0)) return INT64_MIN; /* NaN too */
    return value >= 9223372036854775808.0 ? INT64_MAX : (int64_t)value;
}

int64_t sdx_move_int(const sdx_tensor *tensor, size_t i) {
    if (!sdx_dtypes_has(SDX_T_FLOATS, tensor->dtype)) return sdx_tensor_int(tensor, i);
    return truncated(sdx_tensor_double(tensor, i));
}

sdx_status sdx_move_check_indices(sdx_call *call, const sdx_tensor *indices, int64_t size,
                                  const char *what) {
    for (size_t i = 0; i < indices->count; ++i) {
        const int64_t index = sdx_move_index(indices, i);
        int64_t ignored;
        if (SDX_UNLIKELY(index < -size || index >= size))
            return sdx_call_index(call, index, size, what, &ignored);
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_move_output(sdx_call *call, uint32_t o, sdx_dtype dtype, int32_t rank,
                           const int64_t *dims, sdx_tensor **out) {
    *out = sdx_out(call, o);
    return *out ? SDX_STATUS_OK : sdx_call_alloc(call, o, dtype, rank, dims, out);
}

/* ---- reading shape tensors ------------------------------------------------------------------ */

sdx_expr sdx_move_saturated(int64_t value) {
    if (value >= SDX_EXPR_MAX) value = SDX_EXPR_MAX - 1;
    if (value < -SDX_EXPR_MAX) value = -SDX_EXPR_MAX;
    return sdx_expr_const(value);
}

bool sdx_move_ints(const sdx_infer *inf, uint32_t i, sdx_expr *out, size_t capacity,
                   size_t *count) {
    const sdx_tensor *tensor = sdx_infer_tensor(inf, i);
    if (!tensor) return sdx_infer_contents(inf, i, out, capacity, count);
    *count = tensor->count;
    if (tensor->count > capacity) return false;
    for (size_t k = 0; k < tensor->count; ++k) out[k] = sdx_move_saturated(sdx_move_int(tensor, k));
    return true;
}

sdx_expr sdx_move_scalar(const sdx_infer *inf, uint32_t i) {
    sdx_expr value;
    size_t count;
    if (!sdx_infer_present(inf, i) || !sdx_move_ints(inf, i, &value, 1, &count) || count != 1)
        return SDX_EXPR_UNKNOWN;
    return value;
}

sdx_status sdx_move_vector(sdx_infer *inf, uint32_t i, int64_t *length) {
    const int32_t rank = sdx_infer_rank(inf, i);
    *length = rank == 0 ? 1 : -1;
    if (rank > 1)
        return sdx_infer_fail(inf, "input %u must have rank 1, not %d", (unsigned)i, (int)rank);
    if (rank == 1) {
        const sdx_expr dim = sdx_infer_dim(inf, i, 0);
        if (sdx_expr_is_const(dim)) *length = sdx_expr_value(dim);
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_move_same_dtype(sdx_infer *inf, uint32_t a, uint32_t b) {
    const sdx_dtype left = sdx_infer_dtype(inf, a), right = sdx_infer_dtype(inf, b);
    if (left == right || left == SDX_DTYPE_UNDEFINED || right == SDX_DTYPE_UNDEFINED)
        return SDX_STATUS_OK;
    return sdx_infer_fail(inf, "input %u is %s, but input %u is %s; they must be the same",
                          (unsigned)a, sdx_dtype_name(left), (unsigned)b, sdx_dtype_name(right));
}

sdx_status sdx_move_require_scalar(sdx_infer *inf, uint32_t i) {
    const int32_t rank = sdx_infer_rank(inf, i);
    if (rank <= 0) return SDX_STATUS_OK;
    return sdx_infer_require_equal(inf, sdx_infer_product(inf, i, 0, rank), sdx_expr_const(1),
                                   "number of elements of a scalar input");
}

static bool plain_dims(const sdx_infer *inf, uint32_t i, int64_t dims[SDX_MAX_RANK]) {
    const int32_t rank = sdx_infer_rank(inf, i);
    if (rank < 0) return false;
    for (int32_t axis = 0; axis < rank; ++axis) {
        const sdx_expr dim = sdx_infer_dim(inf, i, axis);
        if (!sdx_expr_is_const(dim)) return false;
        dims[axis] = sdx_expr_value(dim);
    }
    return true;
}

bool sdx_move_small(const sdx_infer *inf, uint32_t i, int64_t dims[SDX_MAX_RANK]) {
    size_t count;
    return inf->module && plain_dims(inf, i, dims) &&
           sdx_dims_count(dims, sdx_infer_rank(inf, i), &count) && count > 0 &&
           count <= SDX_MAX_CONTENTS;
}

void sdx_move_copy_dims(const sdx_infer *inf, uint32_t i, sdx_expr *dims) {
    const int32_t rank = sdx_infer_rank(inf, i);
    for (int32_t axis = 0; axis < rank; ++axis) dims[axis] = sdx_infer_dim(inf, i, axis);
}

/* ---- writing what is known ------------------------------------------------------------------ */

/* During a run nobody asks for contents: the data itself is there. */
void sdx_move_same_contents(sdx_infer *inf, uint32_t o, uint32_t i) {
    sdx_expr contents[SDX_MAX_CONTENTS];
    size_t count;
    if (inf->module && sdx_infer_contents(inf, i, contents, SDX_MAX_CONTENTS, &count))
        sdx_infer_set_contents(inf, o, contents, count);
}

void sdx_move_box_contents(sdx_infer *inf, uint32_t o, uint32_t i, const sdx_box *box,
                           int64_t first) {
    sdx_expr from[SDX_MAX_CONTENTS], to[SDX_MAX_CONTENTS];
    int64_t dims[SDX_MAX_RANK];
    size_t count, held, moved;
    if (!sdx_move_small(inf, i, dims) || !sdx_dims_count(dims, sdx_infer_rank(inf, i), &held))
        return;
    if (!sdx_dims_count(box->size, box->rank, &moved) || moved > SDX_MAX_CONTENTS) return;
    if (!sdx_infer_contents(inf, i, from, SDX_MAX_CONTENTS, &count) || count != held) return;
    if (moved != 0) sdx_box_copy(box, sizeof *from, from + first, to, NULL);
    sdx_infer_set_contents(inf, o, to, moved);
}

sdx_status sdx_move_shape(sdx_infer *inf, uint32_t o, int32_t rank, const sdx_expr *dims) {
    bool known = rank >= 0;
    for (int32_t i = 0; i < rank && i < SDX_MAX_RANK; ++i) known &= !sdx_expr_is_unknown(dims[i]);
    if (!known && !inf->module)
        return sdx_infer_fail(inf, "output %u is too large: its dims cannot be counted",
                              (unsigned)o);
    return sdx_infer_set_shape(inf, o, rank, dims);
}

sdx_status sdx_move_unknown_dims(sdx_infer *inf, uint32_t o, int64_t rank) {
    sdx_expr dims[SDX_MAX_RANK] = {{0}};
    if (rank > SDX_MAX_RANK)
        return sdx_infer_fail(inf, "output %u would have rank %lld; at most %d is supported",
                              (unsigned)o, (long long)rank, SDX_MAX_RANK);
    return sdx_move_shape(inf, o, (int32_t)rank, dims);
}

sdx_status sdx_move_divide(sdx_infer *inf, sdx_expr total, sdx_expr parts, const char *what,
                           sdx_expr *out) {
    int64_t least;
    *out = SDX_EXPR_UNKNOWN;
    if (sdx_expr_is_unknown(total) || sdx_expr_is_unknown(parts)) return SDX_STATUS_OK;
    if (sdx_expr_is_const(total) && sdx_expr_is_const(parts)) {
        const int64_t t = sdx_expr_value(total), p = sdx_expr_value(parts);
        if (p <= 0 || t % p != 0)
            return sdx_infer_fail(inf, "%s: %lld cannot be divided by %lld without rest", what,
                                  (long long)t, (long long)p);
        *out = sdx_expr_const(t / p);
        return SDX_STATUS_OK;
    }
    *out = sdx_expr_divide_exact(inf->pool, total, parts);
    if (!sdx_expr_is_unknown(*out)) return SDX_STATUS_OK;
    if (!sdx_expr_lower_bound(inf->pool, parts, &least) || least < 1) return SDX_STATUS_OK;
    *out = sdx_expr_floordiv(inf->pool, total, parts);
    if (sdx_expr_is_unknown(*out)) return SDX_STATUS_OK;
    return sdx_infer_require_equal(inf, sdx_inf_mul(inf, *out, parts), total, what);
}

sdx_status sdx_move_axis_set(sdx_infer *inf, const sdx_expr *axes, size_t count, int32_t rank,
                             bool unique, uint32_t *set, bool *known) {
    *set = 0;
    *known = true;
    for (size_t i = 0; i < count; ++i) {
        int32_t axis;
        if (!sdx_expr_is_const(axes[i])) {
            *known = false;
            continue;
        }
        SDX_TRY(sdx_infer_axis(inf, sdx_expr_value(axes[i]), rank, &axis));
        if (unique && (*set >> axis & 1u) != 0)
            return sdx_infer_fail(inf, "axis %d is given twice", (int)axis);
        *set |= (uint32_t)1 << axis;
    }
    return SDX_STATUS_OK;
}
