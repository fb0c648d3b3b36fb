/* reader.h - a bounded protobuf reader over bytes in memory. It never copies: a length-delimited
 * field is a span of the input. Positions are kept so that errors can name the byte.
 *
 *     sdx_pb_reader in = sdx_pb_open(span, base, limit);
 *     sdx_pb_field field;
 *     while (sdx_pb_next(&in, &field, &status, error)) switch (field.number) { … }
 *     SDX_TRY(status);
 */
#ifndef SDX_PROTO_READER_H
#define SDX_PROTO_READER_H

#include "base/status.h"

typedef struct sdx_span {
    const uint8_t *data; /* NULL when size is 0 and nothing was there */
    size_t size;
} sdx_span;

typedef enum sdx_wire {
    SDX_WIRE_VARINT = 0,
    SDX_WIRE_FIXED64 = 1,
    SDX_WIRE_BYTES = 2,
    SDX_WIRE_FIXED32 = 5 /* groups (3, 4) are skipped inside the reader */
} sdx_wire;

typedef struct sdx_pb_reader {
    const uint8_t *base; /* first byte of the whole file: positions count from here */
    const uint8_t *next, *end;
    uint32_t depth_left; /* levels of messages or groups that may still be opened */
} sdx_pb_reader;

typedef struct sdx_pb_field {
    uint32_t number;
    sdx_wire wire;
    uint64_t varint; /* VARINT value, or FIXED32/FIXED64 bits */
    sdx_span bytes;  /* BYTES */
    uint64_t position; /* of the field's tag in the file */
} sdx_pb_field;

sdx_pb_reader sdx_pb_open(sdx_span bytes, const uint8_t *base, uint32_t depth_limit);
/* A reader for a BYTES field that holds a message; fails past the depth limit. */
sdx_status sdx_pb_enter(const sdx_pb_reader *in, const sdx_pb_field *field, sdx_pb_reader *out,
                        sdx_error *error);
/* The next field; false at the end (*status OK) or on malformed input (*status set). Groups are
 * skipped with their depth counted; unknown fields are the caller's to ignore. */
bool sdx_pb_next(sdx_pb_reader *in, sdx_pb_field *field, sdx_status *status, sdx_error *error);
uint64_t sdx_pb_position(const sdx_pb_reader *in);

/* Fails, naming the field, unless it has the wanted wire type. */
sdx_status sdx_pb_expect(const sdx_pb_field *field, sdx_wire wire, const char *name,
                         sdx_error *error);
/* Typed access with the wire type checked. Strings must be valid UTF-8 without NUL bytes. */
sdx_status sdx_pb_int64(const sdx_pb_field *field, const char *name, int64_t *out,
                        sdx_error *error);
sdx_status sdx_pb_int32(const sdx_pb_field *field, const char *name, int32_t *out,
                        sdx_error *error);
sdx_status sdx_pb_float(const sdx_pb_field *field, const char *name, float *out, sdx_error *error);
sdx_status sdx_pb_span(const sdx_pb_field *field, const char *name, sdx_span *out,
                       sdx_error *error);
sdx_status sdx_pb_string(const sdx_pb_field *field, const char *name, sdx_span *out,
                         sdx_error *error);

/* One varint from the front of *bytes (for packed fields); false if malformed. */
bool sdx_pb_varint(sdx_span *bytes, uint64_t *out);
/* How many varints a packed field holds; false if malformed. */
bool sdx_pb_count_varints(sdx_span bytes, size_t *count);

#endif
