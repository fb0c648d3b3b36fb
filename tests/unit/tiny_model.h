/* tiny_model.h - builds small ModelProtos in memory for unit tests, so that they need no file. */
#ifndef SDX_TESTS_TINY_MODEL_H
#define SDX_TESTS_TINY_MODEL_H

#include <string.h>

#include "base/endian.h"
#include "base/memory.h"
#include "proto/writer.h"

typedef struct tiny_model {
    sdx_pb_writer out;
    size_t graph; /* mark of the open graph */
} tiny_model;

static inline void tiny_text(sdx_pb_writer *out, uint32_t field, const char *text) {
    sdx_pb_write_bytes(out, field, text, strlen(text));
}

static inline void tiny_begin(tiny_model *m, int64_t opset) {
    sdx_pb_writer_init(&m->out, &sdx_default_allocator);
    sdx_pb_write_varint(&m->out, 1, 8); /* ir_version */
    size_t import = sdx_pb_write_begin(&m->out, 8);
    sdx_pb_write_varint(&m->out, 2, (uint64_t)opset);
    sdx_pb_write_end(&m->out, import);
    m->graph = sdx_pb_write_begin(&m->out, 7);
    tiny_text(&m->out, 2, "tiny");
}

/* A type of tensors. dims is "batch,3,4": numbers are sizes, anything else a name. */
static inline void tiny_type(sdx_pb_writer *out, uint32_t field, int dtype, const char *dims) {
    size_t type = sdx_pb_write_begin(out, field), tensor = sdx_pb_write_begin(out, 1);
    sdx_pb_write_varint(out, 1, (uint64_t)dtype);
    size_t shape = sdx_pb_write_begin(out, 2);
    while (dims && *dims) {
        size_t length = strcspn(dims, ",");
        size_t dim = sdx_pb_write_begin(out, 1);
        if (dims[0] >= '0' && dims[0] <= '9') {
            uint64_t size = 0;
            for (size_t i = 0; i < length; i++) size = size * 10 + (uint64_t)(dims[i] - '0');
            sdx_pb_write_varint(out, 1, size);
        } else {
            sdx_pb_write_bytes(out, 2, dims, length);
        }
        sdx_pb_write_end(out, dim);
        dims += length + (dims[length] == ',');
    }
    sdx_pb_write_end(out, shape);
    sdx_pb_write_end(out, tensor);
    sdx_pb_write_end(out, type);
}

/* field: 11 input, 12 output. */
static inline void tiny_value(tiny_model *m, uint32_t field, const char *name, int dtype,
                              const char *dims) {
    size_t info = sdx_pb_write_begin(&m->out, field);
    tiny_text(&m->out, 1, name);
    tiny_type(&m->out, 2, dtype, dims);
    sdx_pb_write_end(&m->out, info);
}

/* inputs and outputs are names separated by commas; attribute may be NULL. */
static inline void tiny_node_int(tiny_model *m, const char *op, const char *inputs,
                                 const char *outputs, const char *attribute, int64_t value) {
    const char *lists[2] = {inputs, outputs};
    size_t node = sdx_pb_write_begin(&m->out, 1);
    for (uint32_t side = 0; side < 2; side++)
        for (const char *at = lists[side]; *at;) {
            size_t length = strcspn(at, ",");
            sdx_pb_write_bytes(&m->out, side + 1, at, length);
            at += length + (at[length] == ',');
        }
    tiny_text(&m->out, 4, op);
    if (attribute) {
        size_t attr = sdx_pb_write_begin(&m->out, 5);
        tiny_text(&m->out, 1, attribute);
        sdx_pb_write_varint(&m->out, 3, (uint64_t)value);
        sdx_pb_write_varint(&m->out, 20, 2); /* INT */
        sdx_pb_write_end(&m->out, attr);
    }
    sdx_pb_write_end(&m->out, node);
}

static inline void tiny_node(tiny_model *m, const char *op, const char *inputs,
                             const char *outputs) {
    tiny_node_int(m, op, inputs, outputs, NULL, 0);
}

/* raw_data, which is little-endian whatever the machine. */
static inline void tiny_raw(sdx_pb_writer *out, int dtype, const void *data, size_t bytes) {
    size_t unit = dtype == SDX_DTYPE_STRING ? 1 : sdx_dtype_size((sdx_dtype)dtype);
    uint8_t *copy = sdx_alloc(NULL, bytes, 1);
    if (!copy) return;
    if (bytes) memcpy(copy, data, bytes);
    if (!sdx_little_endian()) sdx_swap_bytes(copy, bytes, unit);
    sdx_pb_write_bytes(out, 9, copy, bytes);
    sdx_free(NULL, copy, bytes);
}

static inline void tiny_constant(tiny_model *m, const char *name, int dtype, int64_t count,
                                 const void *data, size_t bytes) {
    size_t tensor = sdx_pb_write_begin(&m->out, 5);
    sdx_pb_write_varint(&m->out, 1, (uint64_t)count);
    sdx_pb_write_varint(&m->out, 2, (uint64_t)dtype);
    tiny_text(&m->out, 8, name);
    tiny_raw(&m->out, dtype, data, bytes);
    sdx_pb_write_end(&m->out, tensor);
}

static inline void tiny_end(tiny_model *m) { sdx_pb_write_end(&m->out, m->graph); }
static inline void tiny_free(tiny_model *m) { sdx_pb_writer_free(&m->out); }

#endif
