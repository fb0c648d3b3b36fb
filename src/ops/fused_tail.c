/* fused_tail.c - see fused.h. */
#include "ops/fused.h"

sdx_status sdx_fused_tail_prepare(sdx_prep *prep, sdx_fused_tail *tail) {
    SDX_TRY(sdx_attr_get_int(prep, "act", SDX_ACT_NONE, &tail->act));
    SDX_TRY(sdx_attr_get_float(prep, "act_a", 0.0f, &tail->a));
    return sdx_attr_get_float(prep, "act_b", 0.0f, &tail->b);
}

const char *const sdx_tail_names[3][3] = {{"act0", "act0_a", "act0_b"},
                                          {"act1", "act1_a", "act1_b"},
                                          {"act2", "act2_a", "act2_b"}};

sdx_status sdx_fused_tail_prepare_stage(sdx_prep *prep, uint32_t stage, sdx_fused_tail *tail) {
    const char *const *names = sdx_tail_names[stage];
    SDX_TRY(sdx_attr_get_int(prep, names[0], SDX_ACT_NONE, &tail->act));
    SDX_TRY(sdx_attr_get_float(prep, names[1], 0.0f, &tail->a));
    return sdx_attr_get_float(prep, names[2], 0.0f, &tail->b);
}

sdx_tail sdx_fused_tail_of(const sdx_fused_tail *tail, const sdx_tensor *addend, size_t stride) {
    return (sdx_tail){.addend = addend ? addend->data : NULL, .addend_stride = stride,
                      .act = (sdx_act)tail->act, .a = tail->a, .b = tail->b};
}
