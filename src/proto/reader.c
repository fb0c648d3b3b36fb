/* reader.c - the bounded protobuf reader: the first code that bytes of a model file meet. It
 * checks every length against the enclosing message before it is used, copies nothing and
 * allocates nothing. src/onnx builds on it the messages of ONNX. What it refuses it refuses with
 * the byte of the file at which the field starts. */
#include "proto/reader.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

#define LARGEST_FIELD  0x1fffffffu /* 2^29 - 1, by the format */
#define WIRE_GROUP     3u
#define WIRE_GROUP_END 4u
/* Groups are not in ONNX at all; this bounds the memory for skipping those of a strange file,
 * whatever depth the caller allows. */
#define MOST_GROUPS 100u

sdx_pb_reader sdx_pb_open(sdx_span bytes, const uint8_t *base, uint32_t depth_limit) {
    sdx_pb_reader in = {.base = base == NULL ? bytes.data : base,
                        .next = bytes.data,
                        .end = bytes.data,
                        .depth_left = depth_limit};
    if (bytes.size > 0) in.end += bytes.size; /* NULL must not be added to, not even 0 */
    return in;
}

static size_t bytes_left(const sdx_pb_reader *in) {
    return in->next == in->end ? 0 : (size_t)(in->end - in->next);
}

static uint64_t position_of(const sdx_pb_reader *in, const uint8_t *at) {
    return at == in->base ? 0 : (uint64_t)(at - in->base);
}

uint64_t sdx_pb_position(const sdx_pb_reader *in) { return position_of(in, in->next); }

/* ---- varints ------------------------------------------------------------------------------ */

typedef enum varint_end { VARINT_OK, VARINT_SHORT, VARINT_LONG } varint_end;

/* Ten bytes hold 70 bits: the tenth may only carry the 64th. A longer or larger number is
 * refused rather than cut, since two readers could otherwise see two different numbers. */
static varint_end read_varint(const uint8_t **next, const uint8_t *end, uint64_t *out) {
    const uint8_t *at = *next;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (at == end) return VARINT_SHORT;
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1) return VARINT_LONG;
        value |= (uint64_t)(byte & 0x7fu) << shift;
        if (byte < 0x80) {
            *next = at;
            *out = value;
            return VARINT_OK;
        }
    }
    return VARINT_LONG;
}

bool sdx_pb_varint(sdx_span *bytes, uint64_t *out) {
    if (bytes->size == 0) return false;
    const uint8_t *next = bytes->data, *end = bytes->data + bytes->size;
    if (read_varint(&next, end, out) != VARINT_OK) return false;
    bytes->size = (size_t)(end - next);
    bytes->data = next;
    return true;
}

bool sdx_pb_count_varints(sdx_span bytes, size_t *count) {
    size_t found = 0;
    uint64_t value;
    while (bytes.size > 0) {
        if (!sdx_pb_varint(&bytes, &value)) return false;
        found++;
    }
    *count = found;
    return true;
}

/* ---- fields ------------------------------------------------------------------------------- */

static uint64_t load_le(const uint8_t *from, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static const char *varint_problem(varint_end how) {
    return how == VARINT_SHORT ? "its number is cut off by the end of the message"
                               : "its number does not fit 64 bits";
}

/* The tag at in->next: field number and raw wire type (0 to 7). */
static sdx_status read_tag(sdx_pb_reader *in, uint32_t *number, uint32_t *wire, sdx_error *error) {
    uint64_t position = sdx_pb_position(in), tag;
    varint_end how = read_varint(&in->next, in->end, &tag);
    if (how != VARINT_OK)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, position,
                           "field tag at byte %" PRIu64 ": %s", position, varint_problem(how));
    if (tag >> 3 == 0)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, position,
                           "field tag at byte %" PRIu64 ": field number 0 is not allowed",
                           position);
    if (tag >> 3 > LARGEST_FIELD)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, position,
                           "field tag at byte %" PRIu64 ": field number %" PRIu64
                           " passes the largest, %" PRIu32,
                           position, tag >> 3, LARGEST_FIELD);
    *number = (uint32_t)(tag >> 3);
    *wire = (uint32_t)(tag & 7);
    return SDX_STATUS_OK;
}

static sdx_status read_fixed(sdx_pb_reader *in, sdx_pb_field *field, unsigned size,
                             sdx_error *error) {
    if (bytes_left(in) < size)
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, field->position,
                           "field %" PRIu32 " at byte %" PRIu64
                           ": %u bytes pass the end of the enclosing message (%zu bytes left)",
                           field->number, field->position, size, bytes_left(in));
    field->varint = load_le(in->next, size);
    in->next += size;
    return SDX_STATUS_OK;
}

static sdx_status read_number(sdx_pb_reader *in, sdx_pb_field *field, uint64_t *out,
                              sdx_error *error) {
    varint_end how = read_varint(&in->next, in->end, out);
    if (how == VARINT_OK) return SDX_STATUS_OK;
    return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, field->position,
                       "field %" PRIu32 " at byte %" PRIu64 ": %s", field->number, field->position,
                       varint_problem(how));
}

/* The content after a tag that is no group's. */
static sdx_status read_content(sdx_pb_reader *in, sdx_pb_field *field, uint32_t wire,
                               sdx_error *error) {
    uint64_t length = 0;
    switch (wire) {
    case SDX_WIRE_VARINT:
        field->wire = SDX_WIRE_VARINT;
        return read_number(in, field, &field->varint, error);
    case SDX_WIRE_FIXED64: field->wire = SDX_WIRE_FIXED64; return read_fixed(in, field, 8, error);
    case SDX_WIRE_FIXED32: field->wire = SDX_WIRE_FIXED32; return read_fixed(in, field, 4, error);
    case SDX_WIRE_BYTES:
        field->wire = SDX_WIRE_BYTES;
        SDX_TRY(read_number(in, field, &length, error));
        if (length > bytes_left(in))
            return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, field->position,
                               "field %" PRIu32 " at byte %" PRIu64 ": length %" PRIu64
                               " passes the end of the enclosing message (%zu bytes left)",
                               field->number, field->position, length, bytes_left(in));
        field->bytes = (sdx_span){in->next, (size_t)length};
        in->next += (size_t)length;
        return SDX_STATUS_OK;
    default:
        return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, field->position,
                           "field %" PRIu32 " at byte %" PRIu64 ": wire type %" PRIu32
                           " does not exist",
                           field->number, field->position, wire);
    }
}

static sdx_status fail_stray_end(const sdx_pb_field *field, sdx_error *error) {
    return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, field->position,
                       "field %" PRIu32 " at byte %" PRIu64 ": end of a group that was not begun",
                       field->number, field->position);
}

/* Everything up to the end of the group that *start began. A loop with a stack of its own, since
 * recursion would let the file choose how much of the C stack is used. */
static sdx_status skip_group(sdx_pb_reader *in, const sdx_pb_field *start, sdx_error *error) {
    uint32_t open[MOST_GROUPS], depth = 0, wire = WIRE_GROUP;
    const uint32_t most = in->depth_left < MOST_GROUPS ? in->depth_left : MOST_GROUPS;
    sdx_pb_field field = *start;
    for (;;) {
        if (wire == WIRE_GROUP) {
            if (depth == most)
                return sdx_fail_at(error, SDX_STATUS_LIMIT, field.position,
                                   "field %" PRIu32 " at byte %" PRIu64
                                   ": groups are nested deeper than the limit allows",
                                   field.number, field.position);
            open[depth++] = field.number;
        } else if (wire == WIRE_GROUP_END) {
            if (open[depth - 1] != field.number)
                return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, field.position,
                                   "field %" PRIu32 " at byte %" PRIu64
                                   ": ends a group while group %" PRIu32 " is open",
                                   field.number, field.position, open[depth - 1]);
            if (--depth == 0) return SDX_STATUS_OK;
        } else {
            SDX_TRY(read_content(in, &field, wire, error));
        }
        if (in->next == in->end)
            return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, start->position,
                               "field %" PRIu32 " at byte %" PRIu64
                               ": the group is not ended before the enclosing message ends",
                               start->number, start->position);
        field.position = sdx_pb_position(in);
        SDX_TRY(read_tag(in, &field.number, &wire, error));
    }
}

bool sdx_pb_next(sdx_pb_reader *in, sdx_pb_field *field, sdx_status *status, sdx_error *error) {
    *status = SDX_STATUS_OK;
    while (in->next != in->end) {
        const uint8_t *tag = in->next;
        uint32_t wire = 0;
        *field = (sdx_pb_field){.position = sdx_pb_position(in)};
        *status = read_tag(in, &field->number, &wire, error);
        if (*status == SDX_STATUS_OK) {
            if (wire == WIRE_GROUP) {
                *status = skip_group(in, field, error);
            } else if (wire == WIRE_GROUP_END) {
                *status = fail_stray_end(field, error);
            } else {
                *status = read_content(in, field, wire, error);
                if (*status == SDX_STATUS_OK) return true;
            }
        }
        if (*status != SDX_STATUS_OK) {
            in->next = tag; /* asked again, it fails again */
            return false;
        }
    }
    return false;
}

sdx_status sdx_pb_enter(const sdx_pb_reader *in, const sdx_pb_field *field, sdx_pb_reader *out,
                        sdx_error *error) {
    SDX_TRY(sdx_pb_expect(field, SDX_WIRE_BYTES, "message", error));
    if (in->depth_left == 0)
        return sdx_fail_at(error, SDX_STATUS_LIMIT, field->position,
                           "field %" PRIu32 " at byte %" PRIu64
                           ": messages are nested deeper than the limit allows",
                           field->number, field->position);
    *out = sdx_pb_open(field->bytes, in->base, in->depth_left - 1);
    return SDX_STATUS_OK;
}

/* ---- typed access ------------------------------------------------------------------------- */

static const char *wire_name(sdx_wire wire) {
    switch (wire) {
    case SDX_WIRE_VARINT: return "varint";
    case SDX_WIRE_FIXED64: return "fixed64";
    case SDX_WIRE_BYTES: return "length-delimited";
    case SDX_WIRE_FIXED32: return "fixed32";
    }
    return "unknown";
}

sdx_status sdx_pb_expect(const sdx_pb_field *field, sdx_wire wire, const char *name,
                         sdx_error *error) {
    if (field->wire == wire) return SDX_STATUS_OK;
    return sdx_fail_at(
        error, SDX_STATUS_BAD_MODEL, field->position,
        "field %" PRIu32 " '%s' at byte %" PRIu64 ": wire type is %s but should be %s",
        field->number, name, field->position, wire_name(field->wire), wire_name(wire));
}

sdx_status sdx_pb_int64(const sdx_pb_field *field, const char *name, int64_t *out,
                        sdx_error *error) {
    SDX_TRY(sdx_pb_expect(field, SDX_WIRE_VARINT, name, error));
    *out = (int64_t)field->varint;
    return SDX_STATUS_OK;
}

/* The low half alone counts: negative numbers are written with their sign drawn out to 64 bits. */
sdx_status sdx_pb_int32(const sdx_pb_field *field, const char *name, int32_t *out,
                        sdx_error *error) {
    SDX_TRY(sdx_pb_expect(field, SDX_WIRE_VARINT, name, error));
    *out = (int32_t)(uint32_t)field->varint;
    return SDX_STATUS_OK;
}

sdx_status sdx_pb_float(const sdx_pb_field *field, const char *name, float *out, sdx_error *error) {
    SDX_TRY(sdx_pb_expect(field, SDX_WIRE_FIXED32, name, error));
    uint32_t bits = (uint32_t)field->varint;
    memcpy(out, &bits, sizeof *out);
    return SDX_STATUS_OK;
}

sdx_status sdx_pb_span(const sdx_pb_field *field, const char *name, sdx_span *out,
                       sdx_error *error) {
    SDX_TRY(sdx_pb_expect(field, SDX_WIRE_BYTES, name, error));
    *out = field->bytes;
    return SDX_STATUS_OK;
}

sdx_status sdx_pb_string(const sdx_pb_field *field, const char *name, sdx_span *out,
                         sdx_error *error) {
    SDX_TRY(sdx_pb_expect(field, SDX_WIRE_BYTES, name, error));
    const uint8_t *text = field->bytes.data;
    size_t at = 0, size = field->bytes.size;
    while (at < size) {
        size_t step = sdx_utf8_step(text + at, size - at);
        if (step == 0 || text[at] == 0)
            return sdx_fail_at(error, SDX_STATUS_BAD_MODEL, field->position,
                               "field %" PRIu32 " '%s' at byte %" PRIu64
                               ": %s at byte %zu of the text",
                               field->number, name, field->position,
                               step == 0 ? "not valid UTF-8" : "a NUL character", at);
        at += step;
    }
    *out = field->bytes;
    return SDX_STATUS_OK;
}
