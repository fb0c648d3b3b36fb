/* fused_tail.c - see fused.h. */
#include "base/parts.h"
#include "ops/fused.h"

static sdx_status prepare_named(sdx_prep *prep, const char *act, const char *a, const char *b,
                                sdx_fused_tail *tail) {
    SDX_TRY(sdx_attr_get_int(prep, act, SDX_ACT_NONE, &tail->act));
    SDX_TRY(sdx_attr_get_float(prep, a, 0.0f, &tail->a));
    SDX_TRY(sdx_attr_get_float(prep, b, 0.0f, &tail->b));
    if (tail->act < SDX_ACT_NONE || tail->act >= SDX_ACT_COUNT)
        return sdx_prep_fail(prep, "there is no activation %lld", (long long)tail->act);
    if (tail->act <= SDX_ACT_CLIP) return SDX_STATUS_OK;
    sdx_part part = (sdx_part)(SDX_PART_act_leaky + (tail->act - SDX_ACT_LEAKY));
    if (sdx_part_take(part)) return SDX_STATUS_OK;
    return sdx_prep_unsupported(prep, "%s is " SDX_NOT_IN_BUILD, sdx_part_about(part));
}

sdx_status sdx_fused_tail_prepare(sdx_prep *prep, sdx_fused_tail *tail) {
    return prepare_named(prep, "act", "act_a", "act_b", tail);
}

sdx_status sdx_fused_require_count(sdx_infer *inf, uint32_t i, sdx_expr count, const char *what) {
    if (!sdx_infer_present(inf, i)) return SDX_STATUS_OK;
    return sdx_infer_require_equal(inf, sdx_infer_product(inf, i, 0, sdx_infer_rank(inf, i)), count,
                                   what);
}

sdx_status sdx_fused_require_like_output(sdx_infer *inf, uint32_t i) {
    const sdx_infer_out *out = &inf->out[0];
    sdx_expr count = out->rank_known ? sdx_expr_const(1) : SDX_EXPR_UNKNOWN;
    for (int32_t d = 0; out->rank_known && d < out->type.rank; d++)
        count = sdx_inf_mul(inf, count, out->dims[d]);
    return sdx_fused_require_count(inf, i, count, "elements of the result and of what is added");
}

sdx_status sdx_fused_require_shape(sdx_infer *inf, uint32_t i, int32_t rank) {
    if (sdx_infer_rank(inf, i) != rank)
        return sdx_infer_fail(inf, "input %u has rank %d, expected %d", i, sdx_infer_rank(inf, i),
                              rank);
    for (int32_t d = 0; d < rank; d++)
        if (sdx_expr_is(sdx_infer_dim(inf, i, d), 0))
            return sdx_infer_fail(inf, "input %u is empty", i);
    return SDX_STATUS_OK;
}

const char *const sdx_tail_names[3][3] = {{"act0", "act0_a", "act0_b"},
                                          {"act1", "act1_a", "act1_b"},
                                          {"act2", "act2_a", "act2_b"}};

sdx_status sdx_fused_tail_prepare_stage(sdx_prep *prep, uint32_t stage, sdx_fused_tail *tail) {
    const char *const *names = sdx_tail_names[stage];
    return prepare_named(prep, names[0], names[1], names[2], tail);
}

sdx_tail sdx_fused_tail_of(const sdx_fused_tail *tail, const sdx_tensor *addend, size_t stride) {
    return (sdx_tail){.addend = addend ? addend->data : NULL, .addend_stride = stride,
                      .act = (sdx_act)tail->act, .a = tail->a, .b = tail->b};
}
