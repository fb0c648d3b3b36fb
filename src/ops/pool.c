/* pool.c - the operators MaxPool, AveragePool and LpPool: attributes, shapes, and the choice of
 * the loop; the loops are in pool_planes.c. */
#include "ops/pool.h"

#include <inttypes.h>

enum { MAX, AVERAGE, LP };
static const int kinds[] = {MAX, AVERAGE, LP};

sdx_status sdx_pool_get_p(sdx_prep *prep, double *p) {
    if (prep->version < 2) {
        float value;
        SDX_TRY(sdx_attr_get_float(prep, "p", 2, &value));
        *p = (double)value;
    } else {
        int64_t value;
        SDX_TRY(sdx_attr_get_int(prep, "p", 2, &value));
        *p = (double)value;
    }
    if (!(*p > 0)) return sdx_prep_fail(prep, "p is %g, expected more than 0", *p);
    return SDX_STATUS_OK;
}

static sdx_status prepare(sdx_prep *prep) {
    sdx_pool_params *params = prep->params;
    int64_t order;
    SDX_TRY(sdx_window_prepare(prep, &params->window, true));
    switch (*(const int *)prep->def->aux) {
    case MAX:
        SDX_TRY(sdx_attr_get_int(prep, "storage_order", 0, &order));
        if (order != 0 && order != 1)
            return sdx_prep_fail(prep, "storage_order is %" PRId64 ", expected 0 or 1", order);
        params->column_major = order == 1;
        return SDX_STATUS_OK;
    case AVERAGE:
        return sdx_attr_get_bool(prep, "count_include_pad", false, &params->count_include_pad);
    default: return sdx_pool_get_p(prep, &params->p);
    }
}

static sdx_status infer(sdx_infer *inf) {
    const sdx_pool_params *params = inf->params;
    int32_t rank = sdx_infer_rank(inf, 0);
    sdx_infer_set_dtype(inf, 0, sdx_infer_dtype(inf, 0));
    sdx_infer_set_dtype(inf, 1, SDX_DTYPE_INT64);
    SDX_TRY(sdx_window_check_rank(inf, &params->window, rank));
    sdx_expr dims[SDX_MAX_RANK] = {SDX_EXPR_UNKNOWN};
    int32_t out_rank = (int32_t)params->window.axes + 2;
    for (int32_t a = 0; a < out_rank; a++) {
        dims[a] = sdx_infer_dim(inf, 0, a);
        if (a >= 2)
            SDX_TRY(sdx_window_out_dim(inf, &params->window, a - 2, dims[a],
                                       sdx_expr_const(params->window.kernel[a - 2]), &dims[a]));
    }
    SDX_TRY(sdx_infer_set_shape(inf, 0, out_rank, dims));
    SDX_TRY(sdx_infer_set_shape(inf, 1, out_rank, dims));
    sdx_infer_half_scratch(inf);
    return SDX_STATUS_OK;
}

static sdx_status body(sdx_call *call) {
    const sdx_pool_params *params = call->params;
    const sdx_tensor *x = sdx_in(call, 0), *y = sdx_out(call, 0), *indices = sdx_out(call, 1);
    const sdx_tensor *shape = y ? y : indices;
    if (!shape || shape->count == 0) return SDX_STATUS_OK;
    sdx_pool_job job = {.params = params, .x = x->data, .y = y ? y->data : NULL,
                        .indices = indices ? indices->data : NULL};
    sdx_window_resolve(&params->window, x->rank - 2, x->dims + 2, params->window.kernel,
                       shape->dims + 2, &job.window);
    int kind = *(const int *)call->def->aux;
    sdx_loop_body loop = kind == MAX       ? sdx_pool_max_body(x->dtype, indices != NULL)
                         : kind == AVERAGE ? sdx_pool_average_body(x->dtype)
                                           : sdx_pool_lp_body(x->dtype);
    double work = (double)job.window.out_count + 1;
    for (int32_t a = 0; a < job.window.rank; a++) work *= (double)job.window.kernel[a];
    size_t grain = work < 65536 ? (size_t)(65536 / work) + 1 : 1;
    sdx_call_parallel(call, (size_t)(x->dims[0] * x->dims[1]), grain, loop, &job);
    return SDX_STATUS_OK;
}

static sdx_status run(sdx_call *call) { return sdx_call_half(call, body); }

#define POOL(name, outputs, types, kind)                                                          \
    const sdx_op_def name = {                                                                     \
        .min_in = 1, .max_in = 1, .min_out = 1, .max_out = outputs,                               \
        .in_types = {types},                                                                      \
        .params_size = sizeof(sdx_pool_params),                                                   \
        .prepare = prepare, .infer = infer, .run = SDX_BODY(name, run),                           \
        .aux = &kinds[kind],                                                                      \
    }

POOL(sdx_op_max_pool, 2, SDX_T_FLOATS | SDX_T(INT8) | SDX_T(UINT8), MAX);
POOL(sdx_op_average_pool, 1, SDX_T_FLOATS, AVERAGE);
POOL(sdx_op_lp_pool, 1, SDX_T_FLOATS, LP);
