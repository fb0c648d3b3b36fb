/* bytes.c - see bytes.h. */
#include "pack/bytes.h"

#include <string.h>

#include "base/checked.h"

/* ---- writing --------------------------------------------------------------------------------- */

static bool make_room(sdx_sink *out, size_t size) {
    size_t need, capacity = out->capacity ? out->capacity : 4096;
    if (out->failed) return false;
    if (size <= out->capacity - out->size) return true;
    out->failed = !sdx_size_add(out->size, size, &need);
    while (!out->failed && capacity < need) out->failed = !sdx_size_mul(capacity, 2, &capacity);
    uint8_t *data = out->failed ? NULL : sdx_alloc(out->allocator, capacity, 1);
    out->failed |= !data;
    if (!data) return false;
    if (out->size) memcpy(data, out->data, out->size);
    if (out->data) sdx_free(out->allocator, out->data, out->capacity);
    out->data = data;
    out->capacity = capacity;
    return true;
}

void sdx_put_bytes(sdx_sink *out, const void *data, size_t size) {
    if (!size || !make_room(out, size)) return;
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

void sdx_put_number(sdx_sink *out, uint64_t value) {
    uint8_t bytes[10];
    size_t count = 0;
    for (; value > 127; value >>= 7) bytes[count++] = (uint8_t)(value | 128);
    bytes[count++] = (uint8_t)value;
    sdx_put_bytes(out, bytes, count);
}

void sdx_put_signed(sdx_sink *out, int64_t value) {
    sdx_put_number(out, value < 0 ? ~(uint64_t)value << 1 | 1u : (uint64_t)value << 1);
}

void sdx_put_fixed64(sdx_sink *out, uint64_t value) {
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> (8 * i));
    sdx_put_bytes(out, bytes, sizeof bytes);
}

void sdx_put_float(sdx_sink *out, float value) {
    uint32_t bits;
    uint8_t bytes[4];
    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = 0; i < 4; i++) bytes[i] = (uint8_t)(bits >> (8 * i));
    sdx_put_bytes(out, bytes, sizeof bytes);
}

void sdx_put_string(sdx_sink *out, const void *data, size_t size) {
    sdx_put_number(out, size);
    sdx_put_bytes(out, data, size);
}

void sdx_put_text(sdx_sink *out, const char *text) {
    sdx_put_string(out, text ? text : "", text ? strlen(text) : 0);
}

void sdx_sink_free(sdx_sink *out) {
    if (out->data) sdx_free(out->allocator, out->data, out->capacity);
    *out = (sdx_sink){.allocator = out->allocator};
}

/* ---- reading --------------------------------------------------------------------------------- */

static void fail(sdx_source *in) {
    in->failed = true;
    in->at = in->end;
}

const uint8_t *sdx_take_bytes(sdx_source *in, size_t size) {
    if (size > (size_t)(in->end - in->at)) fail(in);
    if (in->failed) return NULL;
    in->at += size;
    return in->at - size;
}

uint64_t sdx_take_number(sdx_source *in) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *byte = sdx_take_bytes(in, 1);
        if (!byte) return 0;
        uint64_t part = *byte & 127u;
        if (shift == 63 && part > 1) break;
        value |= part << shift;
        if (*byte < 128) return value;
    }
    fail(in);
    return 0;
}

uint32_t sdx_take_below(sdx_source *in, uint64_t bound) {
    uint64_t value = sdx_take_number(in);
    if (value >= bound || value > UINT32_MAX) fail(in);
    return in->failed ? 0 : (uint32_t)value;
}

uint32_t sdx_take_number32(sdx_source *in) { return sdx_take_below(in, (uint64_t)UINT32_MAX + 1); }

int64_t sdx_take_signed(sdx_source *in) {
    uint64_t value = sdx_take_number(in), half = value >> 1;
    return value & 1u ? -1 - (int64_t)half : (int64_t)half;
}

uint64_t sdx_take_fixed64(sdx_source *in) {
    const uint8_t *bytes = sdx_take_bytes(in, 8);
    uint64_t value = 0;
    for (unsigned i = 0; bytes && i < 8; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

float sdx_take_float(sdx_source *in) {
    const uint8_t *bytes = sdx_take_bytes(in, 4);
    uint32_t bits = 0;
    float value;
    for (unsigned i = 0; bytes && i < 4; i++) bits |= (uint32_t)bytes[i] << (8 * i);
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint32_t sdx_take_count(sdx_source *in, size_t each) {
    uint64_t count = sdx_take_number(in);
    if (count > (size_t)(in->end - in->at) / each || count >= UINT32_MAX) fail(in);
    return in->failed ? 0 : (uint32_t)count;
}

const char *sdx_take_text(sdx_source *in, sdx_arena *arena, size_t *size) {
    size_t length = sdx_take_count(in, 1);
    const uint8_t *bytes = sdx_take_bytes(in, length);
    if (size) *size = bytes ? length : 0;
    if (bytes && length && !size && memchr(bytes, 0, length)) fail(in);
    if (in->failed || length == 0) return "";
    const char *text = sdx_arena_string(arena, (const char *)bytes, length);
    if (text) return text;
    in->no_memory = true;
    fail(in);
    if (size) *size = 0;
    return "";
}

void *sdx_take_array(sdx_source *in, sdx_arena *arena, size_t count, size_t size) {
    void *array = in->failed ? NULL : sdx_arena_array(arena, count + 1, size);
    if (!array && !in->failed) {
        in->no_memory = true;
        fail(in);
    }
    return array;
}
