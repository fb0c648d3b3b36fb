/* infer.c - what shape rules call: dims, contents, checks, results. Works on symbols while loading
 * and on plain numbers during a run. */
#include <stdio.h>
#include <string.h>

#include "ops/op.h"

sdx_expr sdx_infer_dim(const sdx_infer *inf, uint32_t i, int32_t axis) {
    int32_t rank = sdx_infer_rank(inf, i);
    return axis >= 0 && axis < rank ? inf->in[i].type.dims[axis] : SDX_EXPR_UNKNOWN;
}

sdx_expr sdx_infer_product(const sdx_infer *inf, uint32_t i, int32_t from, int32_t to) {
    if (sdx_infer_rank(inf, i) < 0) return SDX_EXPR_UNKNOWN;
    sdx_expr product = sdx_expr_const(1);
    for (int32_t axis = from; axis < to; axis++)
        product = sdx_expr_mul(inf->pool, product, sdx_infer_dim(inf, i, axis));
    return product;
}

/* A small constant in memory layout: where it lies in the file if that will do, else a copy. */
#define SMALL_CONSTANT 4096 /* elements; larger constants are never shape arithmetic */
static const sdx_tensor *constant_tensor(sdx_module *module, const sdx_const *constant) {
    if (constant->count > SMALL_CONSTANT || sdx_const_absent(constant)) return NULL;
    sdx_tensor *tensor = sdx_arena_alloc(&module->arena, sizeof *tensor);
    void *data = (void *)(uintptr_t)constant->data;
    if (!sdx_const_in_place(constant)) {
        data = sdx_arena_alloc(&module->arena,
                               constant->count * sdx_dtype_size(constant->dtype) + 1);
        if (data && constant->count) sdx_const_decode(constant, data);
    }
    if (!tensor || !data) return NULL;
    sdx_tensor_init(tensor, constant->dtype, constant->rank, constant->dims, data, NULL);
    return tensor;
}

const sdx_tensor *sdx_infer_tensor(const sdx_infer *inf, uint32_t i) {
    if (!sdx_infer_present(inf, i)) return NULL;
    if (inf->in[i].constant) return constant_tensor(inf->module, inf->in[i].constant);
    return inf->in[i].tensor;
}

static bool is_integer(sdx_dtype dtype) {
    return sdx_dtypes_has(SDX_T_INTS | SDX_T(BOOL), dtype);
}

bool sdx_infer_contents(const sdx_infer *inf, uint32_t i, sdx_expr *out, size_t capacity,
                        size_t *count) {
    if (!sdx_infer_present(inf, i)) return false;
    const sdx_infer_in *in = &inf->in[i];
    if (in->contents) {
        if (in->content_count > capacity) return false;
        memcpy(out, in->contents, in->content_count * sizeof *out);
        *count = in->content_count;
        return true;
    }
    if (!is_integer(in->type.dtype)) return false;
    const sdx_tensor *tensor = sdx_infer_tensor(inf, i);
    if (!tensor || tensor->count > capacity) return false;
    for (size_t k = 0; k < tensor->count; k++) {
        int64_t value = sdx_tensor_int(tensor, k);
        if (value < -SDX_EXPR_MAX || value >= SDX_EXPR_MAX) {
            /* INT64_MAX and its neighbours mean "to the end" in Slice: any huge number does. */
            value = value < 0 ? -SDX_EXPR_MAX : SDX_EXPR_MAX - 1;
        }
        out[k] = sdx_expr_const(value);
    }
    *count = tensor->count;
    return true;
}

void sdx_infer_set_dtype(sdx_infer *inf, uint32_t o, sdx_dtype dtype) {
    if (o >= inf->out_count) return;
    inf->out[o].type.kind = SDX_KIND_TENSOR;
    inf->out[o].type.dtype = dtype;
}

void sdx_infer_set_type(sdx_infer *inf, uint32_t o, const sdx_type *type) {
    if (o >= inf->out_count || !type) return;
    sdx_infer_out *out = &inf->out[o];
    out->type = *type;
    bool has_shape = type->kind == SDX_KIND_TENSOR && type->rank >= 0;
    out->rank_known = has_shape;
    for (int32_t i = 0; has_shape && i < type->rank; i++) out->dims[i] = type->dims[i];
}

sdx_status sdx_infer_set_shape(sdx_infer *inf, uint32_t o, int32_t rank, const sdx_expr *dims) {
    if (rank > SDX_MAX_RANK)
        return sdx_infer_fail(inf, "output %u would have rank %d; at most %d is supported", o,
                              rank, SDX_MAX_RANK);
    if (o >= inf->out_count) return SDX_STATUS_OK;
    sdx_infer_out *out = &inf->out[o];
    out->rank_known = rank >= 0;
    out->type.rank = rank;
    for (int32_t i = 0; i < rank; i++) {
        if (sdx_expr_is_const(dims[i]) && sdx_expr_value(dims[i]) < 0)
            return sdx_infer_fail(inf, "dimension %d of output %u would be %lld", i, o,
                                  (long long)sdx_expr_value(dims[i]));
        out->dims[i] = dims[i];
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_infer_copy(sdx_infer *inf, uint32_t o, uint32_t i, bool same_contents) {
    if (!sdx_infer_present(inf, i)) return SDX_STATUS_OK;
    sdx_infer_set_type(inf, o, &inf->in[i].type);
    if (same_contents && o < inf->out_count && inf->in[i].contents) {
        inf->out[o].contents = inf->in[i].contents;
        inf->out[o].content_count = inf->in[i].content_count;
    }
    return SDX_STATUS_OK;
}

void sdx_infer_set_contents(sdx_infer *inf, uint32_t o, const sdx_expr *contents, size_t count) {
    if (!inf->module || o >= inf->out_count || count > SDX_MAX_CONTENTS) return;
    sdx_expr *copy = sdx_arena_array(&inf->module->arena, count + 1, sizeof *copy);
    if (!copy) return; /* contents are a help, never needed for correctness */
    if (count) memcpy(copy, contents, count * sizeof *copy);
    inf->out[o].contents = copy;
    inf->out[o].content_count = count;
}

void sdx_infer_set_run(sdx_infer *inf, uint32_t o, int32_t axis, sdx_expr start) {
    if (o >= inf->out_count) return;
    inf->out[o].run_axis = (uint8_t)(axis + 1);
    inf->out[o].run_start = start;
}

void sdx_infer_set_join(sdx_infer *inf, int32_t axis) {
    inf->out[0].join_axis = (uint8_t)(axis + 1);
}

static sdx_status remember(sdx_infer *inf, const sdx_constraint *constraint) {
    if (!inf->module) return SDX_STATUS_OK;
    sdx_constraint *slot =
        sdx_vector_push(&inf->module->constraints, inf->module->allocator, sizeof *slot);
    if (!slot) return sdx_fail_memory(inf->error, sizeof *slot, "a constraint");
    *slot = *constraint;
    return SDX_STATUS_OK;
}

sdx_status sdx_infer_require_equal(sdx_infer *inf, sdx_expr a, sdx_expr b, const char *what) {
    if (sdx_expr_is_unknown(a) || sdx_expr_is_unknown(b) || sdx_expr_same(a, b))
        return SDX_STATUS_OK;
    if (sdx_expr_is_const(a) && sdx_expr_is_const(b))
        return sdx_infer_fail(inf, "%s: %lld and %lld differ", what, (long long)sdx_expr_value(a),
                              (long long)sdx_expr_value(b));
    return remember(inf, &(sdx_constraint){.a = a, .b = b, .node = inf->node, .what = what});
}

sdx_status sdx_infer_require_broadcast(sdx_infer *inf, sdx_expr dim, sdx_expr whole) {
    if (sdx_expr_is_unknown(dim) || sdx_expr_is_unknown(whole) || sdx_expr_same(dim, whole) ||
        sdx_expr_is(dim, 1))
        return SDX_STATUS_OK;
    if (sdx_expr_is_const(dim) && sdx_expr_is_const(whole))
        return sdx_infer_fail(inf, "dimension %lld cannot be broadcast to %lld",
                              (long long)sdx_expr_value(dim), (long long)sdx_expr_value(whole));
    return remember(inf, &(sdx_constraint){.a = dim, .b = whole, .node = inf->node,
                                           .what = "broadcast dimensions", .broadcast = true});
}

sdx_status sdx_infer_require_rank(sdx_infer *inf, uint32_t i, int32_t rank) {
    int32_t found = sdx_infer_rank(inf, i);
    if (found < 0 || found == rank) return SDX_STATUS_OK;
    return sdx_infer_fail(inf, "input %u has rank %d, expected %d", i, found, rank);
}

sdx_status sdx_infer_require_min_rank(sdx_infer *inf, uint32_t i, int32_t rank) {
    int32_t found = sdx_infer_rank(inf, i);
    if (found < 0 || found >= rank) return SDX_STATUS_OK;
    return sdx_infer_fail(inf, "input %u has rank %d, expected at least %d", i, found, rank);
}

sdx_status sdx_infer_axis(sdx_infer *inf, int64_t axis, int32_t rank, int32_t *out) {
    if (axis < -(int64_t)rank || axis >= rank)
        return sdx_infer_fail(inf, "axis %lld lies outside [%d, %d)", (long long)axis, -rank,
                              rank);
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return SDX_STATUS_OK;
}

/* Whether two dims can be broadcast only where they are equal, as sequence and min(sequence, 512)
 * can: small <= large, and 1 in one of them means 1 in the other. */
static bool equal_or_wrong(sdx_infer *inf, sdx_expr small, sdx_expr large) {
    int64_t bound;
    if (!sdx_expr_lower_bound(inf->pool, sdx_inf_sub(inf, large, small), &bound) || bound < 0)
        return false;
    sdx_expr least = sdx_expr_min(inf->pool, large, sdx_expr_const(2));
    return sdx_expr_lower_bound(inf->pool, sdx_inf_sub(inf, small, least), &bound) && bound >= 0;
}

sdx_status sdx_infer_broadcast_dim(sdx_infer *inf, sdx_expr a, sdx_expr b, const char *what,
                                   sdx_expr *out) {
    bool a_const = sdx_expr_is_const(a), b_const = sdx_expr_is_const(b);
    if (sdx_expr_is(a, 1) || sdx_expr_same(a, b)) {
        *out = b;
    } else if (sdx_expr_is(b, 1)) {
        *out = a;
    } else if (a_const && b_const) {
        return sdx_infer_fail(inf, "%s %lld and %lld cannot be broadcast together", what,
                              (long long)sdx_expr_value(a), (long long)sdx_expr_value(b));
    } else if (a_const || b_const) {
        *out = a_const ? a : b;
        return sdx_infer_require_broadcast(inf, a_const ? b : a, *out);
    } else if (equal_or_wrong(inf, a, b)) {
        *out = b;
        return sdx_infer_require_equal(inf, a, b, what);
    } else if (equal_or_wrong(inf, b, a)) {
        *out = a;
        return sdx_infer_require_equal(inf, a, b, what);
    } else {
        *out = sdx_expr_broadcast(inf->pool, a, b); /* fails when bound if they do not fit */
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_infer_broadcast(sdx_infer *inf, uint32_t first, uint32_t n, int32_t *out_rank,
                               sdx_expr out_dims[SDX_MAX_RANK]) {
    int32_t rank = 0;
    *out_rank = -1;
    for (uint32_t i = first; i < first + n; i++) {
        if (!sdx_infer_present(inf, i)) continue;
        int32_t one = sdx_infer_rank(inf, i);
        if (one < 0) return SDX_STATUS_OK;
        if (one > rank) rank = one;
    }
    for (int32_t axis = 0; axis < rank; axis++) {
        sdx_expr dim = sdx_expr_const(1);
        for (uint32_t i = first; i < first + n; i++) {
            if (!sdx_infer_present(inf, i)) continue;
            int32_t own = axis - (rank - sdx_infer_rank(inf, i));
            if (own < 0) continue;
            SDX_TRY(sdx_infer_broadcast_dim(inf, dim, sdx_infer_dim(inf, i, own), "dimensions",
                                            &dim));
        }
        out_dims[axis] = dim;
    }
    *out_rank = rank;
    return SDX_STATUS_OK;
}

sdx_status sdx_infer_fail(sdx_infer *inf, const char *format, ...) {
    /* A shape that only a run can know is wrong because of the data handed in. */
    sdx_status code = inf->module ? SDX_STATUS_BAD_MODEL : SDX_STATUS_BAD_INPUT;
    va_list args;
    va_start(args, format);
    sdx_fail_va(inf->error, code, SDX_NO_POSITION, format, args);
    va_end(args);
    return code;
}
