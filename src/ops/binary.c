/* binary.c - what operators of two broadcast tensors share, among it the broadcasting of versions
 * before 7, where an attribute allows it and another says at which axis of A the dims of B begin.
 * The operators are in the other binary_*.c files. */
#include "ops/elementwise.h"

sdx_status sdx_binary_prepare(sdx_prep *prep) {
    sdx_binary_params *params = prep->params;
    if (prep->version >= 7) return SDX_STATUS_OK;
    params->has_axis = sdx_attr_has(prep, "axis");
    SDX_TRY(sdx_attr_get_int(prep, "axis", 0, &params->axis));
    SDX_TRY(sdx_attr_get_bool(prep, "broadcast", false, &params->broadcast));
    if (prep->version < 6) sdx_attr_ignore(prep, "consumed_inputs");
    return SDX_STATUS_OK;
}

/* Where the dims of B begin in A. -1 meant "at the end" to the exporters of the time, as does no
 * axis at all. */
static int64_t old_axis(const sdx_binary_params *params, int32_t rank_a, int32_t rank_b) {
    if (!params->has_axis || params->axis == -1) return rank_a - rank_b;
    return params->axis < 0 ? params->axis + rank_a : params->axis;
}

/* The output of an old version has the shape of A. */
static sdx_status infer_old(sdx_infer *inf) {
    const sdx_binary_params *params = inf->params;
    const int32_t rank_a = sdx_infer_rank(inf, 0), rank_b = sdx_infer_rank(inf, 1);
    if (rank_a < 0 || rank_b < 0) return SDX_STATUS_OK;
    if (rank_b > rank_a || (!params->broadcast && rank_b != rank_a))
        return sdx_infer_fail(inf, "B of rank %d does not fit A of rank %d%s", (int)rank_b,
                              (int)rank_a, params->broadcast ? "" : " (broadcast is not set)");
    bool single = true;
    for (int32_t d = 0; d < rank_b; d++) single &= sdx_expr_is(sdx_infer_dim(inf, 1, d), 1);
    if (params->broadcast && single) return SDX_STATUS_OK;
    const int64_t axis = params->broadcast ? old_axis(params, rank_a, rank_b) : 0;
    if (axis < 0 || axis > rank_a - rank_b)
        return sdx_infer_fail(inf, "axis %lld places B of rank %d outside A of rank %d",
                              (long long)params->axis, (int)rank_b, (int)rank_a);
    for (int32_t d = 0; d < rank_b; d++) {
        const sdx_expr a = sdx_infer_dim(inf, 0, d + (int32_t)axis), b = sdx_infer_dim(inf, 1, d);
        SDX_TRY(params->broadcast ? sdx_infer_require_broadcast(inf, b, a)
                                  : sdx_infer_require_equal(inf, a, b, "a dim of A and of B"));
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_binary_infer_as(sdx_infer *inf, sdx_dtype dtype, sdx_ew_content content) {
    if (inf->version >= 7) return sdx_ew_infer_broadcast(inf, 0, dtype, content);
    SDX_TRY(infer_old(inf));
    SDX_TRY(sdx_infer_copy(inf, 0, 0, false));
    if (dtype != SDX_DTYPE_UNDEFINED) sdx_infer_set_dtype(inf, 0, dtype);
    if (content && sdx_infer_rank(inf, 0) >= 0)
        sdx_ew_fold_contents(inf, dtype, sdx_infer_rank(inf, 0), inf->in[0].type.dims, content);
    return SDX_STATUS_OK;
}

sdx_status sdx_binary_infer(sdx_infer *inf) {
    const sdx_binary_op *op = inf->def->aux;
    const sdx_dtype dtype = op->out != SDX_DTYPE_UNDEFINED ? op->out : sdx_ew_input_type(inf, 0);
    return sdx_binary_infer_as(inf, dtype, op->content);
}

/* Index of the first zero among count integers of `size` bytes; count if there is none. */
static size_t find_zero(const void *data, size_t size, size_t count) {
    size_t i = 0;
    switch (size) {
    case 1:
        while (i < count && ((const sdx_bits8 *)data)[i] != 0) i++;
        return i;
    case 2:
        while (i < count && ((const sdx_bits16 *)data)[i] != 0) i++;
        return i;
    case 4:
        while (i < count && ((const sdx_bits32 *)data)[i] != 0) i++;
        return i;
    default:
        while (i < count && ((const sdx_bits64 *)data)[i] != 0) i++;
        return i;
    }
}

void sdx_binary_operands(const sdx_call *call, sdx_ew *ew, bool swap) {
    const sdx_binary_params *params = call->params;
    const sdx_tensor *in[2] = {sdx_in(call, 0), sdx_in(call, 1)};
    int32_t axis[2] = {ew->rank - in[0]->rank, ew->rank - in[1]->rank};
    if (call->version < 7) axis[1] = (int32_t)old_axis(params, in[0]->rank, in[1]->rank);
    const int first = swap ? 1 : 0;
    sdx_ew_operand_at(ew, in[first], axis[first]);
    sdx_ew_operand_at(ew, in[1 - first], axis[1 - first]);
}

sdx_status sdx_binary_run(sdx_call *call) {
    const sdx_binary_op *op = call->def->aux;
    const sdx_tensor *b = sdx_in(call, 1);
    sdx_tensor *out = sdx_out(call, 0);
    if (!out || out->count == 0) return SDX_STATUS_OK;
    if (op->divides && sdx_dtypes_has(SDX_T_INTS, b->dtype)) {
        const size_t zero = find_zero(b->data, sdx_dtype_size(b->dtype), b->count);
        if (zero < b->count)
            return sdx_call_fail(call, "integer division by zero: element %zu of input B is 0",
                                 zero);
    }
    sdx_ew ew;
    sdx_dtype compute;
    sdx_ew_begin(&ew, out);
    sdx_binary_operands(call, &ew, op->swap);
    ew.kernel = sdx_ew_pick(&op->kernels, b->dtype, &compute);
    ew.params = call->params;
    ew.in_compute[0] = ew.in_compute[1] = compute;
    if (op->out == SDX_DTYPE_UNDEFINED) ew.out_compute = compute;
    sdx_ew_run(call, &ew, op->kernels.grain);
    return SDX_STATUS_OK;
}
