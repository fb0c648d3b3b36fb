/* shape_known.c - rules of Reshape and Expand to a known shape; see shape_known.h. The bodies are those of
 * the ordinary operators, in reshape.c and expand.c. */
#include "ops/shape_known.h"

sdx_status sdx_shape_known_prepare(sdx_prep *prep) {
    sdx_shape_known *p = prep->params;
    SDX_TRY(sdx_attr_get_exprs(prep, "shape", &p->dims, &p->rank));
    return p->rank <= SDX_MAX_RANK ? SDX_STATUS_OK
                                   : sdx_prep_fail(prep, "shape has %zu entries", p->rank);
}

static sdx_status set_shape(sdx_infer *inf) {
    const sdx_shape_known *p = inf->params;
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    return sdx_infer_set_shape(inf, 0, (int32_t)p->rank, p->dims);
}

sdx_status sdx_reshape_known_infer(sdx_infer *inf) {
    const sdx_shape_known *p = inf->params;
    sdx_expr count = sdx_expr_const(1);
    for (size_t i = 0; i < p->rank; i++) count = sdx_inf_mul(inf, count, p->dims[i]);
    SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_product(inf, 0, 0, sdx_infer_rank(inf, 0)), count,
                                    "elements of the input and of the shape"));
    return set_shape(inf);
}

sdx_status sdx_expand_known_infer(sdx_infer *inf) {
    const sdx_shape_known *p = inf->params;
    int32_t rank = sdx_infer_rank(inf, 0), extra = (int32_t)p->rank - rank;
    if (rank < 0 || extra < 0) return sdx_infer_fail(inf, "the shape has fewer dims than the input");
    for (int32_t i = 0; i < rank; i++)
        SDX_TRY(sdx_infer_require_broadcast(inf, sdx_infer_dim(inf, 0, i), p->dims[extra + i]));
    return set_shape(inf);
}
