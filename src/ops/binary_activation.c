/* binary_activation.c - activations of two tensors: PRelu, whose slope is broadcast one way only
 * (and in old models lies along the channels), and SwiGLU. */
#include <tgmath.h>

#include "ops/elementwise.h"

#define KERNEL(op, suffix, TYPE, DTYPE)                                                           \
    SDX_BINARY_KERNEL(op##_##suffix, TYPE, T, sdx_binary_params, DEFINE_##op)

/* ---- PRelu ---------------------------------------------------------------------------------- */

#define DEFINE_prelu x < 0 ? x *y : x
#define DEFINE_prelu_signed x < 0 ? (T)((uint64_t)x * (uint64_t)y) : x
#define DEFINE_prelu_unsigned ((void)y, x)

SDX_EW_FLOATS(KERNEL, prelu)
KERNEL(prelu_signed, i32, int32_t, INT32)
KERNEL(prelu_signed, i64, int64_t, INT64)
KERNEL(prelu_unsigned, u32, uint32_t, UINT32)
KERNEL(prelu_unsigned, u64, uint64_t, UINT64)

static const sdx_binary_op prelu_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, prelu)
                           SDX_EW_ENTRY(prelu_signed, i32, int32_t, INT32)
                               SDX_EW_ENTRY(prelu_signed, i64, int64_t, INT64)
                                   SDX_EW_ENTRY(prelu_unsigned, u32, uint32_t, UINT32)
                                       SDX_EW_ENTRY(prelu_unsigned, u64, uint64_t, UINT64)}}};

/* Whether slope dims fit those of x from axis on; -1 is a dim not known yet and fits. */
static bool fits_at(const int64_t *x, int32_t x_rank, const int64_t *slope, int32_t slope_rank,
                    int32_t axis) {
    if (axis < 0 || axis + slope_rank > x_rank) return false;
    for (int32_t d = 0; d < slope_rank; d++) {
        const int64_t a = x[axis + d], b = slope[d];
        if (a != b && b != 1 && a != -1 && b != -1) return false;
    }
    return true;
}

/* The axis of x that the slope begins at; -1 if it fits nowhere. Until version 6 a vector lies
 * along the channels; afterwards dims are aligned at the end, but converted models kept the
 * vector, and there it can mean nothing else where it does not fit at the end. */
static int32_t slope_axis(int64_t version, const int64_t *x, int32_t x_rank, const int64_t *slope,
                          int32_t slope_rank) {
    const bool channels = slope_rank == 1 && x_rank >= 2 && fits_at(x, x_rank, slope, 1, 1);
    if (channels && version < 7) return 1;
    if (fits_at(x, x_rank, slope, slope_rank, x_rank - slope_rank)) return x_rank - slope_rank;
    return channels ? 1 : -1;
}

static sdx_status prelu_prepare(sdx_prep *prep) {
    if (prep->version < 6) sdx_attr_ignore(prep, "consumed_inputs");
    return SDX_STATUS_OK;
}

static sdx_status prelu_infer(sdx_infer *inf) {
    const int32_t x_rank = sdx_infer_rank(inf, 0), slope_rank = sdx_infer_rank(inf, 1);
    int64_t dims[2][SDX_MAX_RANK];
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    if (x_rank < 0 || slope_rank < 0) return SDX_STATUS_OK;
    bool single = true;
    for (uint32_t i = 0; i < 2; i++) {
        for (int32_t d = 0; d < sdx_infer_rank(inf, i); d++) {
            const sdx_expr dim = sdx_infer_dim(inf, i, d);
            dims[i][d] = sdx_expr_is_const(dim) ? sdx_expr_value(dim) : -1;
            if (i == 1) single &= dims[i][d] == 1;
        }
    }
    if (!single && slope_axis(inf->version, dims[0], x_rank, dims[1], slope_rank) < 0)
        return sdx_infer_fail(inf, "the shape of slope cannot be broadcast to that of X");
    return SDX_STATUS_OK;
}

static sdx_status prelu_run(sdx_call *call) {
    const sdx_tensor *x = sdx_in(call, 0), *slope = sdx_in(call, 1);
    sdx_tensor *out = sdx_out(call, 0);
    if (!out || out->count == 0) return SDX_STATUS_OK;
    /* Checked again: which way a slope lies may hang on dims that were symbols before. */
    int32_t axis = 0;
    if (slope->count != 1)
        axis = slope_axis(call->version, x->dims, x->rank, slope->dims, slope->rank);
    if (axis < 0)
        return sdx_call_fail(call, "slope of %zu elements cannot be broadcast to the shape of X",
                             slope->count);
    sdx_ew ew;
    sdx_dtype compute;
    sdx_ew_begin(&ew, out);
    sdx_ew_operand(&ew, x);
    sdx_ew_operand_at(&ew, slope, axis);
    ew.kernel = sdx_ew_pick(&prelu_op.kernels, x->dtype, &compute);
    ew.in_compute[0] = ew.in_compute[1] = ew.out_compute = compute;
    sdx_ew_run(call, &ew, 0);
    return SDX_STATUS_OK;
}

SDX_BINARY_WITH(prelu, SDX_T_FLOATS | SDX_T_INDEX | SDX_T(UINT32) | SDX_T(UINT64), prelu_prepare,
                prelu_infer, prelu_run, prelu_op);

/* ---- SwiGLU --------------------------------------------------------------------------------- */

#define DEFINE_swiglu x / (1 + exp(-(T)p->alpha * x)) * y

SDX_EW_FLOATS(KERNEL, swiglu)

static sdx_status swiglu_prepare(sdx_prep *prep) {
    sdx_binary_params *params = prep->params;
    return sdx_attr_get_float(prep, "alpha", 1, &params->alpha);
}

static sdx_status swiglu_infer(sdx_infer *inf) {
    const int32_t rank = sdx_infer_rank(inf, 0);
    SDX_TRY(sdx_infer_copy(inf, 0, rank >= 0 ? 0 : 1, false));
    if (rank < 0) return SDX_STATUS_OK;
    SDX_TRY(sdx_infer_require_rank(inf, 1, rank));
    for (int32_t d = 0; d < rank && sdx_infer_rank(inf, 1) >= 0; d++)
        SDX_TRY(sdx_infer_require_equal(inf, sdx_infer_dim(inf, 0, d), sdx_infer_dim(inf, 1, d),
                                        "a dim of A and of B"));
    return SDX_STATUS_OK;
}

static const sdx_binary_op swiglu_op = {
    .kernels = {.of = {SDX_EW_FLOATS(SDX_EW_ENTRY, swiglu)}, .grain = SDX_EW_GRAIN_HEAVY}};
SDX_BINARY_WITH(swiglu, SDX_T_FLOATS, swiglu_prepare, swiglu_infer, sdx_binary_run, swiglu_op);
