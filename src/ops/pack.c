/* pack.c - what an operator's pack function may ask for: constants as they lie or as floats, and memory
 * that stays with the program. */
#include "ops/op.h"

const sdx_const *sdx_pack_constant(const sdx_pack *pack, uint32_t i) {
    if (i >= pack->node->input_count || pack->node->inputs[i] == SDX_NONE) return NULL;
    return sdx_value_at(pack->module, pack->node->inputs[i])->constant;
}

static void *no_memory(sdx_pack *pack, size_t bytes) {
    sdx_fail_memory(pack->error, bytes, "packed constants");
    return NULL;
}

void *sdx_pack_alloc(sdx_pack *pack, size_t bytes) {
    void *memory = sdx_arena_alloc_raw(pack->arena, bytes, SDX_CACHE_LINE);
    if (!memory) return no_memory(pack, bytes);
    pack->bytes += bytes;
    return memory;
}

sdx_status sdx_pack_floats(sdx_pack *pack, uint32_t i, const void **out) {
    const sdx_const *constant = sdx_pack_constant(pack, i);
    *out = NULL;
    if (!constant || !sdx_dtypes_has(SDX_T_FLOATS, constant->dtype))
        return sdx_fail(pack->error, SDX_STATUS_INTERNAL,
                        "input %u is packed but no constant of floats", i);
    const uint16_t one = 1;
    bool little = *(const uint8_t *)&one == 1; /* as files are */
    if (constant->dtype == SDX_DTYPE_FLOAT32 && constant->data &&
        (constant->host || little)) {
        *out = constant->data;
        return SDX_STATUS_OK;
    }
    void *decoded = sdx_arena_array(pack->temp, constant->count + 1,
                                    sdx_dtype_size(constant->dtype));
    float *floats = decoded;
    if (constant->dtype != SDX_DTYPE_FLOAT32)
        floats = sdx_arena_array(pack->temp, constant->count + 1, sizeof *floats);
    if (!decoded || !floats)
        return sdx_fail_memory(pack->error, constant->count * sizeof *floats, "packed constants");
    sdx_const_decode(constant, decoded);
    if (constant->dtype != SDX_DTYPE_FLOAT32) {
        sdx_tensor tensor;
        SDX_TRY(sdx_tensor_init(&tensor, constant->dtype, constant->rank, constant->dims, decoded,
                                pack->error));
        for (size_t k = 0; k < constant->count; k++)
            floats[k] = (float)sdx_tensor_double(&tensor, k);
    }
    *out = floats;
    return SDX_STATUS_OK;
}
