/* call.c - what a body calls while it runs: outputs made at run time, temporary memory, errors. */
#include <string.h>

#include "ops/op.h"

sdx_status sdx_call_alloc(sdx_call *call, uint32_t o, sdx_dtype dtype, int32_t rank,
                          const int64_t *dims, sdx_tensor **out) {
    *out = NULL;
    if (!sdx_call_wanted(call, o)) return SDX_STATUS_OK;
    sdx_value *value;
    SDX_TRY(sdx_value_alloc_tensor(call->host->heap, dtype, rank, dims, &value, call->error));
    SDX_TRY(sdx_call_give(call, o, value));
    *out = &value->tensor;
    return SDX_STATUS_OK;
}

sdx_status sdx_call_set(sdx_call *call, uint32_t o, sdx_value *value) {
    if (!sdx_call_wanted(call, o)) return SDX_STATUS_OK;
    sdx_value *kept;
    SDX_TRY(sdx_value_keep(call->host->heap, value, &kept, call->error));
    return sdx_call_give(call, o, kept);
}

sdx_status sdx_call_give(sdx_call *call, uint32_t o, sdx_value *value) {
    if (!sdx_call_wanted(call, o)) {
        sdx_value_release(value);
        return SDX_STATUS_OK;
    }
    sdx_value_release(call->out[o]);
    call->out[o] = value;
    return SDX_STATUS_OK;
}

/* The size is kept in front, so that freeing needs only the pointer. */
void *sdx_call_temp(sdx_call *call, size_t count, size_t size) {
    size_t bytes, total;
    if (!sdx_size_mul(count, size, &bytes) || !sdx_size_add(bytes, SDX_CACHE_LINE, &total)) {
        sdx_fail_memory(call->error, SIZE_MAX, "temporary data");
        return NULL;
    }
    char *memory = sdx_alloc(call->host->heap, total, SDX_CACHE_LINE);
    if (!memory) {
        sdx_fail_memory(call->error, total, "temporary data");
        return NULL;
    }
    memcpy(memory, &total, sizeof total);
    return memory + SDX_CACHE_LINE;
}

void sdx_call_temp_free(sdx_call *call, void *memory) {
    if (!memory) return;
    char *start = (char *)memory - SDX_CACHE_LINE;
    size_t total;
    memcpy(&total, start, sizeof total);
    sdx_free(call->host->heap, start, total);
}

sdx_status sdx_call_fail(sdx_call *call, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sdx_fail_va(call->error, SDX_STATUS_BAD_INPUT, SDX_NO_POSITION, format, args);
    va_end(args);
    return SDX_STATUS_BAD_INPUT;
}

sdx_status sdx_call_fail_with(sdx_call *call, sdx_status code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sdx_fail_va(call->error, code, SDX_NO_POSITION, format, args);
    va_end(args);
    return code;
}

sdx_status sdx_call_index(sdx_call *call, int64_t index, int64_t size, const char *what,
                          int64_t *out) {
    if (index < -size || index >= size)
        return sdx_call_fail(call, "%s %lld lies outside [%lld, %lld)", what,
                             (long long)index, (long long)-size, (long long)size);
    *out = index < 0 ? index + size : index;
    return SDX_STATUS_OK;
}
