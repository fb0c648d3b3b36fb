/* writer.c - protobuf into a growing buffer: TensorProto files, and the models that tests build.
 * Running out of memory sets `failed` and turns every later call into nothing, so that callers
 * write a whole message and look once. Lengths are written in their shortest form. */
#include "proto/writer.h"

#include <string.h>

#include "base/checked.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

void sdx_pb_writer_init(sdx_pb_writer *out, const sdx_allocator *allocator) {
    *out = (sdx_pb_writer){.allocator = allocator};
}

void sdx_pb_writer_free(sdx_pb_writer *out) {
    sdx_free(out->allocator, out->data, out->capacity);
    *out = (sdx_pb_writer){.allocator = out->allocator};
}

/* Room for size more bytes, which *out does not yet count. */
static bool reserve(sdx_pb_writer *out, size_t size) {
    size_t needed;
    if (out->failed) return false;
    if (!sdx_size_add(out->size, size, &needed)) {
        out->failed = true;
        return false;
    }
    if (needed <= out->capacity) return true;
    size_t capacity = out->capacity == 0 ? 128 : out->capacity;
    if (!sdx_size_mul(capacity, 2, &capacity) || capacity < needed) capacity = needed;
    uint8_t *data = sdx_alloc(out->allocator, capacity, 1);
    if (data == NULL) {
        out->failed = true;
        return false;
    }
    if (out->size > 0) memcpy(data, out->data, out->size);
    sdx_free(out->allocator, out->data, out->capacity);
    out->data = data;
    out->capacity = capacity;
    return true;
}

static size_t encode(uint64_t value, uint8_t bytes[10]) {
    size_t size = 0;
    while (value >= 0x80) {
        bytes[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[size++] = (uint8_t)value;
    return size;
}

static void append(sdx_pb_writer *out, const void *data, size_t size) {
    if (!reserve(out, size) || size == 0) return;
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

static void append_varint(sdx_pb_writer *out, uint64_t value) {
    uint8_t bytes[10];
    append(out, bytes, encode(value, bytes));
}

static void append_tag(sdx_pb_writer *out, uint32_t field, unsigned wire) {
    append_varint(out, (uint64_t)field << 3 | wire);
}

void sdx_pb_write_varint(sdx_pb_writer *out, uint32_t field, uint64_t value) {
    append_tag(out, field, WIRE_VARINT);
    append_varint(out, value);
}

void sdx_pb_write_bytes(sdx_pb_writer *out, uint32_t field, const void *data, size_t size) {
    append_tag(out, field, WIRE_BYTES);
    append_varint(out, (uint64_t)size);
    append(out, data, size);
}

void sdx_pb_write_float(sdx_pb_writer *out, uint32_t field, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint8_t bytes[4];
    for (unsigned i = 0; i < 4; i++) bytes[i] = (uint8_t)(bits >> (8 * i));
    append_tag(out, field, WIRE_FIXED32);
    append(out, bytes, sizeof bytes);
}

size_t sdx_pb_write_begin(sdx_pb_writer *out, uint32_t field) {
    append_tag(out, field, WIRE_BYTES);
    return out->size;
}

/* Only now is the length known: the content moves up to let it in. */
void sdx_pb_write_end(sdx_pb_writer *out, size_t mark) {
    uint8_t bytes[10];
    if (out->failed) return;
    size_t content = out->size - mark;
    size_t size = encode((uint64_t)content, bytes);
    if (!reserve(out, size)) return;
    memmove(out->data + mark + size, out->data + mark, content);
    memcpy(out->data + mark, bytes, size);
    out->size += size;
}
