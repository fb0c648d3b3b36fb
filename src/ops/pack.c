/* pack.c - what an operator's pack function may ask for: constants as they lie or as floats, and memory
 * that stays with the program or is a packed file's. */
#include "ops/op.h"

#include <string.h>

#include "base/checked.h"
#include "base/pages.h"

const sdx_const *sdx_pack_constant(const sdx_pack *pack, uint32_t i) {
    if (i >= pack->node->input_count || pack->node->inputs[i] == SDX_NONE) return NULL;
    return sdx_value_at(pack->module, pack->node->inputs[i])->constant;
}

static void *no_memory(sdx_pack *pack, size_t bytes) {
    sdx_fail_memory(pack->error, bytes, "packed constants");
    return NULL;
}

void *sdx_pack_struct(sdx_pack *pack, size_t size) {
    void *memory = sdx_arena_alloc(pack->arena, size);
    if (pack->measuring) pack->bytes += size + SDX_CACHE_LINE; /* and what alignment may take behind it */
    return memory ? memory : no_memory(pack, size);
}

/* The piece where a packed file has it; sizes were computed from shapes, so that whatever the file says
 * no body reads past the end. */
static void *stored_piece(sdx_pack *pack, size_t bytes) {
    size_t left = pack->stored->size - pack->used, whole;
    if (bytes > left || !sdx_size_align(bytes, SDX_CACHE_LINE, &whole)) {
        sdx_fail(pack->error, SDX_STATUS_BAD_MODEL,
                 "its packed weights have %zu bytes, %zu less than it needs", pack->stored->size,
                 bytes - left);
        return NULL;
    }
    const uint8_t *data = pack->stored->data + pack->used;
    pack->used = whole < left ? pack->used + whole : pack->stored->size;
    return (void *)(uintptr_t)data;
}

/* Whether a packed file has the pieces, in the layout that is wanted. */
static bool in_file(const sdx_pack *pack) {
    return pack->stored && pack->stored->way == pack->way;
}

/* Sizes are checked as if it were made; nobody looks at what is there. */
static void *measure_piece(sdx_pack *pack, size_t bytes) {
    static _Alignas(SDX_CACHE_LINE) float nothing;
    size_t whole;
    if (!sdx_size_align(bytes, SDX_CACHE_LINE, &whole) ||
        (!in_file(pack) && !sdx_size_add(pack->bytes, whole, &pack->bytes)))
        return no_memory(pack, bytes);
    pack->piece_count++;
    pack->filled = true;
    return &nothing;
}

void *sdx_pack_piece(sdx_pack *pack, sdx_dtype dtype, size_t count) {
    size_t bytes;
    if (!sdx_size_mul(count, sdx_dtype_size(dtype), &bytes)) return no_memory(pack, SIZE_MAX);
    if (pack->piece_count == SDX_PACK_PIECES) {
        sdx_fail(pack->error, SDX_STATUS_INTERNAL, "more than %d packed pieces", SDX_PACK_PIECES);
        return NULL;
    }
    if (pack->piece_count == 0) pack->filled = in_file(pack);
    if (pack->measuring) return measure_piece(pack, bytes);
    void *memory = pack->filled ? stored_piece(pack, bytes)
                                : sdx_arena_alloc_raw(pack->arena, bytes, SDX_CACHE_LINE);
    if (!memory) return pack->filled ? NULL : no_memory(pack, bytes);
    if (!pack->filled) pack->bytes += bytes;
    if (!pack->filled && pack->pages)
        sdx_pages_reach(pack->pages, (const char *)memory + bytes, pack->threads);
    if (pack->clear && !pack->filled) memset(memory, 0, bytes);
    pack->pieces[pack->piece_count++] = (sdx_pack_bytes){memory, bytes};
    return memory;
}

sdx_status sdx_pack_floats(sdx_pack *pack, uint32_t i, const void **out) {
    const sdx_const *constant = sdx_pack_constant(pack, i);
    *out = NULL;
    if (!constant || !sdx_dtypes_has(SDX_T_FLOATS, constant->dtype))
        return sdx_fail(pack->error, SDX_STATUS_INTERNAL,
                        "input %u is packed but no constant of floats", i);
    if (sdx_const_absent(constant))
        return sdx_fail(pack->error, SDX_STATUS_UNSUPPORTED,
                        "the file has its weights in another layout than is wanted here, and not "
                        "as they were; pack the model again");
    const uint16_t one = 1;
    bool little = *(const uint8_t *)&one == 1; /* as files are */
    if (constant->dtype == SDX_DTYPE_FLOAT32 && constant->data && !constant->half &&
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

sdx_status sdx_pack_weights(sdx_pack *pack, uint32_t weights_input, uint32_t bias_input, const void **weights,
                            const void **bias) {
    *bias = NULL;
    SDX_TRY(sdx_pack_floats(pack, weights_input, weights));
    return sdx_pack_constant(pack, bias_input) ? sdx_pack_floats(pack, bias_input, bias) : SDX_STATUS_OK;
}
