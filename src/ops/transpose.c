/* transpose.c - Transpose: axes in another order. The copying itself, tiles included, is the box
 * (shape_box.c). */
#include "ops/movement.h"

typedef struct transpose_params {
    bool given; /* else the axes are reversed */
    int32_t rank;
    int32_t perm[SDX_MAX_RANK];
} transpose_params;

static sdx_status transpose_prepare(sdx_prep *prep) {
    transpose_params *p = prep->params;
    const int64_t *perm;
    size_t count;
    uint32_t seen = 0;
    p->given = sdx_attr_has(prep, "perm");
    SDX_TRY(sdx_attr_get_ints(prep, "perm", &perm, &count));
    if (count > SDX_MAX_RANK)
        return sdx_prep_fail(prep, "perm has %zu entries; at most %d are supported", count,
                             SDX_MAX_RANK);
    p->rank = (int32_t)count;
    for (size_t i = 0; i < count; ++i) {
        if (perm[i] < 0 || perm[i] >= (int64_t)count)
            return sdx_prep_fail(prep, "perm[%zu] is %lld, outside [0, %zu)", i, (long long)perm[i],
                                 count);
        p->perm[i] = (int32_t)perm[i];
        if ((seen >> p->perm[i] & 1u) != 0)
            return sdx_prep_fail(prep, "perm has axis %lld twice", (long long)perm[i]);
        seen |= (uint32_t)1 << p->perm[i];
    }
    return SDX_STATUS_OK;
}

static int32_t source_axis(const transpose_params *p, int32_t rank, int32_t axis) {
    return p->given ? p->perm[axis] : rank - 1 - axis;
}

/* The nest over the output's axes for an input of these dims. */
static sdx_box transpose_box(const transpose_params *p, const int64_t *dims, int32_t rank) {
    int64_t from[SDX_MAX_RANK], to[SDX_MAX_RANK], step = 1;
    sdx_box box = {0};
    for (int32_t i = rank - 1; i >= 0; --i) {
        from[i] = step;
        step *= dims[i];
    }
    step = 1;
    for (int32_t i = rank - 1; i >= 0; --i) {
        to[i] = step;
        step *= dims[source_axis(p, rank, i)];
    }
    for (int32_t i = 0; i < rank; ++i) {
        const int32_t axis = source_axis(p, rank, i);
        sdx_box_add(&box, dims[axis], from[axis], to[i]);
    }
    return box;
}

static sdx_status transpose_infer(sdx_infer *inf) {
    const transpose_params *p = inf->params;
    const int32_t rank = sdx_infer_rank(inf, 0);
    sdx_expr dims[SDX_MAX_RANK];
    int64_t plain[SDX_MAX_RANK];
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    if (rank < 0) return sdx_move_unknown_dims(inf, 0, p->given ? p->rank : -1);
    if (p->given && p->rank != rank)
        return sdx_infer_fail(inf, "perm has %d entries, but the input has rank %d", (int)p->rank,
                              (int)rank);
    for (int32_t i = 0; i < rank; ++i) dims[i] = sdx_infer_dim(inf, 0, source_axis(p, rank, i));
    if (sdx_move_small(inf, 0, plain)) {
        const sdx_box box = transpose_box(p, plain, rank);
        sdx_move_box_contents(inf, 0, 0, &box, 0);
    }
    return sdx_move_shape(inf, 0, rank, dims);
}

static sdx_status transpose_run(sdx_call *call) {
    const sdx_tensor *in = sdx_in(call, 0);
    sdx_tensor *out = sdx_out(call, 0);
    if (out->count == 0) return SDX_STATUS_OK;
    const sdx_box box = transpose_box(call->params, in->dims, in->rank);
    sdx_box_copy(&box, sdx_dtype_size(in->dtype), in->data, out->data, call->host->pool);
    return SDX_STATUS_OK;
}

const sdx_op_def sdx_op_transpose = {
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .in_types = {SDX_T_ALL},
    .params_size = sizeof(transpose_params),
    .prepare = transpose_prepare,
    .infer = transpose_infer,
    .run = SDX_BODY(sdx_op_transpose, transpose_run),
};
