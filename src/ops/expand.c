/* expand.c - Expand and Tile: copies of a tensor along its axes. A copy is an axis of the box whose
 * source step is 0. */
#include "ops/movement.h"
#include "ops/shape_known.h"

typedef sdx_box (*box_maker)(const int64_t *dims, int32_t rank, const int64_t *in_dims,
                             int32_t in_rank);

/* Contents of output 0, when its dims and those of input 0 are plain numbers, and few. */
static void copies_contents(sdx_infer *inf, const sdx_expr *dims, int32_t rank, box_maker make) {
    int64_t in_dims[SDX_MAX_RANK], out_dims[SDX_MAX_RANK];
    size_t count;
    if (!sdx_move_small(inf, 0, in_dims)) return;
    for (int32_t i = 0; i < rank; ++i) {
        if (!sdx_expr_is_const(dims[i])) return;
        out_dims[i] = sdx_expr_value(dims[i]);
    }
    if (!sdx_dims_count(out_dims, rank, &count) || count == 0 || count > SDX_MAX_CONTENTS) return;
    const sdx_box box = make(out_dims, rank, in_dims, sdx_infer_rank(inf, 0));
    sdx_move_box_contents(inf, 0, 0, &box, 0);
}

static sdx_status run_copies(sdx_call *call, box_maker make) {
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    if (out->count == 0) return SDX_STATUS_OK;
    const sdx_box box = make(out->dims, out->rank, in->dims, in->rank);
    sdx_box_copy(&box, sdx_dtype_size(in->dtype), in->data, out->data, call->host->pool);
    return SDX_STATUS_OK;
}

/* ---- Expand --------------------------------------------------------------------------------- */

/* The dim that `dim` becomes when broadcast with `want`. */
static sdx_status expand_dim(sdx_infer *inf, sdx_expr dim, sdx_expr want, int32_t axis,
                             sdx_expr *out) {
    if (sdx_expr_is_const(want) && sdx_expr_value(want) < 0)
        return sdx_infer_fail(inf, "shape asks for length %lld on axis %d",
                              (long long)sdx_expr_value(want), (int)axis);
    if (sdx_expr_is_const(dim) && sdx_expr_is_const(want) && !sdx_expr_is(dim, 1) &&
        !sdx_expr_is(want, 1) && !sdx_expr_same(dim, want))
        return sdx_infer_fail(inf, "axis %d of length %lld cannot be expanded to %lld", (int)axis,
                              (long long)sdx_expr_value(dim), (long long)sdx_expr_value(want));
    return sdx_infer_broadcast_dim(inf, dim, want, "dimensions", out);
}

/* The nest over an output of these dims; right-aligned dims of 1 in the input repeat. */
static sdx_box expand_box(const int64_t *dims, int32_t rank, const int64_t *in_dims,
                          int32_t in_rank) {
    int64_t from[SDX_MAX_RANK], step = 1, to[SDX_MAX_RANK];
    sdx_box box = {0};
    for (int32_t i = rank - 1, k = in_rank - 1; i >= 0; --i, --k) {
        from[i] = k >= 0 && in_dims[k] != 1 ? step : 0;
        if (k >= 0) step *= in_dims[k];
    }
    step = 1;
    for (int32_t i = rank - 1; i >= 0; --i) {
        to[i] = step;
        step *= dims[i];
    }
    for (int32_t i = 0; i < rank; ++i) sdx_box_add(&box, dims[i], from[i], to[i]);
    return box;
}

static sdx_status expand_infer(sdx_infer *inf) {
    const int32_t in_rank = sdx_infer_rank(inf, 0);
    sdx_expr want[SDX_MAX_RANK], dims[SDX_MAX_RANK];
    int64_t length;
    size_t count;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    SDX_TRY(sdx_move_vector(inf, 1, &length));
    if (length > SDX_MAX_RANK)
        return sdx_infer_fail(inf, "shape has %lld entries; at most %d are supported",
                              (long long)length, SDX_MAX_RANK);
    if (sdx_move_ints(inf, 1, want, SDX_MAX_RANK, &count)) length = (int64_t)count;
    else
        for (int32_t i = 0; i < SDX_MAX_RANK; ++i) want[i] = SDX_EXPR_UNKNOWN;
    if (in_rank < 0 || length < 0) return sdx_move_shape(inf, 0, -1, NULL);
    const int32_t rank = in_rank > length ? in_rank : (int32_t)length;
    for (int32_t i = 0; i < rank; ++i) {
        const int32_t k = i - (rank - in_rank), w = i - (rank - (int32_t)length);
        SDX_TRY(expand_dim(inf, k >= 0 ? sdx_infer_dim(inf, 0, k) : sdx_expr_const(1),
                           w >= 0 ? want[w] : sdx_expr_const(1), i, &dims[i]));
    }
    copies_contents(inf, dims, rank, expand_box);
    return sdx_move_shape(inf, 0, rank, dims);
}

static sdx_status expand_run(sdx_call *call) { return run_copies(call, expand_box); }

const sdx_op_def sdx_op_expand_known = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL},
    .params_size = sizeof(sdx_shape_known),
    .prepare = sdx_shape_known_prepare,
    .infer = sdx_expand_known_infer,
    .run = SDX_BODY(sdx_op_expand_known, expand_run),
};

const sdx_op_def sdx_op_expand = {
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T(INT64)},
    .infer = expand_infer,
    .run = SDX_BODY(sdx_op_expand, expand_run),
};

/* ---- Tile ----------------------------------------------------------------------------------- */

/* Version 1 repeats one axis only; both numbers come as tensors, of the data's type. */
static sdx_status tile_1_repeats(sdx_infer *inf, int32_t rank, sdx_expr *repeats, bool *known) {
    const sdx_expr tiles = sdx_move_scalar(inf, 1), axis = sdx_move_scalar(inf, 2);
    int32_t at;
    SDX_TRY(sdx_move_require_scalar(inf, 1));
    SDX_TRY(sdx_move_require_scalar(inf, 2));
    *known = sdx_expr_is_const(axis);
    if (!*known) return SDX_STATUS_OK;
    SDX_TRY(sdx_infer_axis(inf, sdx_expr_value(axis), rank, &at));
    for (int32_t i = 0; i < rank; ++i) repeats[i] = sdx_expr_const(1);
    repeats[at] = tiles;
    return SDX_STATUS_OK;
}

static sdx_status tile_repeats(sdx_infer *inf, int32_t rank, sdx_expr *repeats, bool *known) {
    int64_t length;
    size_t count;
    if (inf->version < 6) return tile_1_repeats(inf, rank, repeats, known);
    SDX_TRY(sdx_move_vector(inf, 1, &length));
    *known = sdx_move_ints(inf, 1, repeats, SDX_MAX_RANK, &count);
    if (*known) length = (int64_t)count;
    if (length >= 0 && length != rank)
        return sdx_infer_fail(inf, "repeats has %lld entries, but the input has rank %d",
                              (long long)length, (int)rank);
    return SDX_STATUS_OK;
}

/* Each axis becomes two: the repeats, and what is repeated. */
static sdx_box tile_box(const int64_t *dims, int32_t rank, const int64_t *in_dims,
                        int32_t in_rank) {
    int64_t from[SDX_MAX_RANK], to[SDX_MAX_RANK], in_step = 1, out_step = 1;
    sdx_box box = {0};
    (void)in_rank; /* the same */
    for (int32_t i = rank - 1; i >= 0; --i) {
        from[i] = in_step;
        to[i] = out_step;
        in_step *= in_dims[i];
        out_step *= dims[i];
    }
    for (int32_t i = 0; i < rank; ++i) {
        sdx_box_add(&box, dims[i] / in_dims[i], 0, in_dims[i] * to[i]);
        sdx_box_add(&box, in_dims[i], from[i], to[i]);
    }
    return box;
}

static sdx_status tile_infer(sdx_infer *inf) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr repeats[SDX_MAX_RANK], dims[SDX_MAX_RANK];
    bool known = false;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    if (rank < 0) return sdx_move_shape(inf, 0, -1, NULL);
    SDX_TRY(tile_repeats(inf, rank, repeats, &known));
    if (!known) return sdx_move_unknown_dims(inf, 0, rank);
    for (int32_t i = 0; i < rank; ++i) {
        if (sdx_expr_is_const(repeats[i]) && sdx_expr_value(repeats[i]) < 0)
            return sdx_infer_fail(inf, "axis %d cannot be repeated %lld times", (int)i,
                                  (long long)sdx_expr_value(repeats[i]));
        dims[i] = sdx_inf_mul(inf, sdx_infer_dim(inf, 0, i), repeats[i]);
    }
    copies_contents(inf, dims, rank, tile_box);
    return sdx_move_shape(inf, 0, rank, dims);
}

static sdx_status tile_run(sdx_call *call) { return run_copies(call, tile_box); }

const sdx_op_def sdx_op_tile_1 = {
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_FLOATS},
    .infer = tile_infer,
    .run = SDX_BODY(sdx_op_tile_1, tile_run),
};
const sdx_op_def sdx_op_tile = {
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL, SDX_T(INT64)},
    .infer = tile_infer,
    .run = SDX_BODY(sdx_op_tile, tile_run),
};
