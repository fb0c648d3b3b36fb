/* pool_unpool.c - MaxUnpool: puts the maxima of a MaxPool back to where they came from. The indices
 * speak of the tensor that kernel, strides and pads imply; with an explicit output_shape that
 * tensor lies at the start of every axis of the output. */
#include <inttypes.h>
#include <string.h>

#include "ops/half.h"
#include "ops/window.h"

enum { X, INDICES, OUTPUT_SHAPE };

static sdx_status prepare(sdx_prep *prep) {
    sdx_window_attrs *attrs = prep->params;
    SDX_TRY(sdx_window_attr(prep, attrs, "kernel_shape", 1, 1, &attrs->kernel));
    if (!attrs->kernel) return sdx_prep_fail(prep, "the attribute kernel_shape is missing");
    SDX_TRY(sdx_window_attr(prep, attrs, "strides", 1, 1, &attrs->strides));
    return sdx_window_attr(prep, attrs, "pads", 2, 0, &attrs->pads);
}

/* (in - 1) * stride + kernel - pads. */
static sdx_expr implied_dim(sdx_infer *inf, const sdx_window_attrs *attrs, int32_t axis,
                            sdx_expr in) {
    int64_t rest = attrs->kernel[axis];
    if (attrs->pads) rest -= attrs->pads[axis] + attrs->pads[(size_t)axis + attrs->axes];
    sdx_expr steps = sdx_inf_mul(inf, sdx_inf_sub(inf, in, sdx_expr_const(1)),
                                 sdx_expr_const(sdx_window_stride(attrs, axis)));
    return sdx_inf_add(inf, steps, sdx_expr_const(rest));
}

static sdx_status infer(sdx_infer *inf) {
    const sdx_window_attrs *attrs = inf->params;
    int32_t rank = sdx_infer_rank(inf, X), out_rank = (int32_t)attrs->axes + 2;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, X));
    SDX_TRY(sdx_window_check_rank(inf, attrs, rank));
    if (rank >= 0) SDX_TRY(sdx_infer_require_rank(inf, INDICES, rank));
    for (int32_t a = 0; a < rank; a++)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, X, a),
                                        sdx_infer_dim(inf, INDICES, a), "input and indices"));
    sdx_expr dims[SDX_MAX_RANK], said[SDX_MAX_RANK];
    for (int32_t a = 0; a < out_rank; a++) {
        dims[a] = sdx_infer_dim(inf, X, a);
        if (a >= 2) dims[a] = implied_dim(inf, attrs, a - 2, dims[a]);
        if (sdx_expr_is_const(dims[a]) && sdx_expr_value(dims[a]) < 0)
            return sdx_infer_fail(inf, "pads cut axis %d of the output to a length of %" PRId64, a,
                                  sdx_expr_value(dims[a]));
    }
    if (!sdx_infer_present(inf, OUTPUT_SHAPE)) return sdx_infer_set_shape(inf, 0, out_rank, dims);

    size_t count;
    bool known = sdx_infer_contents(inf, OUTPUT_SHAPE, said, SDX_MAX_RANK, &count);
    if (known && count != (size_t)out_rank)
        return sdx_infer_fail(inf, "output_shape has %zu values, expected %d", count, out_rank);
    for (int32_t a = 0; a < out_rank; a++) {
        if (!known) said[a] = SDX_EXPR_UNKNOWN;
        if (a < 2)
            SDX_TRY(sdx_infer_require_equal(inf, said[a], dims[a],
                                            "batch and channels in output_shape"));
        else
            dims[a] = said[a];
        if (sdx_expr_is_const(dims[a]) && sdx_expr_value(dims[a]) < 0)
            return sdx_infer_fail(inf, "output_shape[%d] is %" PRId64, a, sdx_expr_value(dims[a]));
    }
    return sdx_infer_set_shape(inf, 0, out_rank, dims);
}

/* Where an index into the implied tensor lies in the output; -1: outside it. */
static int64_t translate(int64_t index, int32_t rank, const int64_t *implied, const int64_t *out) {
    int64_t at = 0, step = 1;
    for (int32_t a = rank - 1; a >= 0; a--) {
        int64_t i = index % implied[a];
        index /= implied[a];
        if (i >= out[a]) return -1;
        at += i * step;
        step *= out[a];
    }
    return at;
}

static sdx_status run(sdx_call *call) {
    const sdx_window_attrs *attrs = call->params;
    const sdx_tensor *x = sdx_in(call, X), *indices = sdx_in(call, INDICES);
    sdx_tensor *y = sdx_out(call, 0);
    bool wanted;
    SDX_TRY(sdx_call_ready(call, &wanted));
    if (!wanted) return SDX_STATUS_OK;
    size_t size = sdx_dtype_size(x->dtype), room;
    if (y->count > 0) memset(y->data, 0, y->count * size);
    int64_t implied[SDX_MAX_RANK] = {0};
    bool same = true;
    for (int32_t a = 0; a < x->rank; a++) {
        implied[a] = x->dims[a];
        if (a >= 2) {
            implied[a] = (x->dims[a] - 1) * sdx_window_stride(attrs, a - 2) + attrs->kernel[a - 2];
            if (attrs->pads)
                implied[a] -= attrs->pads[a - 2] + attrs->pads[(size_t)a - 2 + attrs->axes];
        }
        same = same && implied[a] == y->dims[a];
    }
    if (x->count == 0) return SDX_STATUS_OK;
    if (!sdx_dims_count(implied, x->rank, &room))
        return sdx_call_fail(call, "the tensor that the indices speak of has no valid size");
    const int64_t *index = indices->data;
    for (size_t i = 0; i < x->count; i++) {
        if (index[i] < 0 || (uint64_t)index[i] >= room)
            return sdx_call_fail(call, "index %" PRId64 " at position %zu is outside [0, %zu)",
                                 index[i], i, room);
        int64_t at = same ? index[i] : translate(index[i], x->rank, implied, y->dims);
        if (at < 0)
            return sdx_call_fail(call, "index %" PRId64 " at position %zu is outside output_shape",
                                 index[i], i);
        memcpy((char *)y->data + (size_t)at * size, (const char *)x->data + i * size, size);
    }
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_max_unpool = {
    .min_in = 2, .max_in = 3, .min_out = 1, .max_out = 1,
    .in_types = {SDX_T_FLOATS, SDX_T(INT64), SDX_T(INT64)},
    .params_size = sizeof(sdx_window_attrs),
    .prepare = prepare, .infer = infer, .run = SDX_BODY(sdx_op_max_unpool, run),
};
