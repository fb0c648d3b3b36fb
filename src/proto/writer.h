/* writer.h - writes protobuf into a growing buffer; for TensorProto files and tests. */
#ifndef SDX_PROTO_WRITER_H
#define SDX_PROTO_WRITER_H

#include "base/memory.h"

typedef struct sdx_pb_writer {
    const sdx_allocator *allocator;
    uint8_t *data;
    size_t size, capacity;
    bool failed; /* out of memory: checked once, at the end */
} sdx_pb_writer;

void sdx_pb_writer_init(sdx_pb_writer *out, const sdx_allocator *allocator);
void sdx_pb_writer_free(sdx_pb_writer *out);
void sdx_pb_write_varint(sdx_pb_writer *out, uint32_t field, uint64_t value);
void sdx_pb_write_bytes(sdx_pb_writer *out, uint32_t field, const void *data, size_t size);
void sdx_pb_write_float(sdx_pb_writer *out, uint32_t field, float value);
/* A nested message: everything written between begin and end is its content. */
size_t sdx_pb_write_begin(sdx_pb_writer *out, uint32_t field);
void sdx_pb_write_end(sdx_pb_writer *out, size_t mark);

#endif
