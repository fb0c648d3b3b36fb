/* tensor.c - TensorProto -> sdx_const. Raw bytes and packed floats stay where they lie in the file;
 * varint fields are decoded once into the arena. The element count is checked against the bytes
 * before anything is allocated. */
#include <string.h>

#include "base/checked.h"
#include "onnx/loader.h"

enum data_field { FLOAT_DATA = 4, INT32_DATA = 5, STRING_DATA = 6, INT64_DATA = 7, RAW_DATA = 9,
                  DOUBLE_DATA = 10, UINT64_DATA = 11 };

typedef struct tensor_parts {
    int64_t dims[SDX_MAX_RANK];
    int32_t rank;
    int32_t dtype;
    sdx_span name, raw;
    uint32_t data_field; /* which of enum data_field holds the data; 0: none */
    size_t entries;      /* in it; for strings, the number of fields */
    sdx_span packed;     /* the one packed chunk, where there is just one */
    size_t chunks;
    bool external;
    sdx_external_request request;
    uint64_t position;
} tensor_parts;

static const char *field_name(uint32_t number) {
    switch (number) {
    case FLOAT_DATA: return "float_data";
    case INT32_DATA: return "int32_data";
    case STRING_DATA: return "string_data";
    case INT64_DATA: return "int64_data";
    case RAW_DATA: return "raw_data";
    case DOUBLE_DATA: return "double_data";
    case UINT64_DATA: return "uint64_data";
    default: return "data";
    }
}

static size_t fixed_size(uint32_t number) {
    return number == FLOAT_DATA ? 4 : number == DOUBLE_DATA ? 8 : 0;
}

/* Entries in one occurrence of a repeated numeric field, packed or not. */
static sdx_status count_entries(sdx_loader *loader, const sdx_pb_field *field, size_t *count) {
    size_t fixed = fixed_size(field->number);
    sdx_wire single = fixed == 4 ? SDX_WIRE_FIXED32 : fixed == 8 ? SDX_WIRE_FIXED64
                                                                 : SDX_WIRE_VARINT;
    *count = 1;
    if (field->wire == single) return SDX_STATUS_OK;
    SDX_TRY(sdx_pb_expect(field, SDX_WIRE_BYTES, field_name(field->number), loader->error));
    bool good = fixed ? field->bytes.size % fixed == 0
                      : sdx_pb_count_varints(field->bytes, count);
    if (fixed) *count = field->bytes.size / fixed;
    return good ? SDX_STATUS_OK
                : sdx_bad(loader, field->position, "%s ends within a number",
                          field_name(field->number));
}

static sdx_status add_dim(sdx_loader *loader, tensor_parts *parts, int64_t dim,
                          uint64_t position) {
    if (dim < 0)
        return sdx_bad(loader, position, "a tensor has the dimension %lld; dimensions are at "
                                         "least 0",
                       (long long)dim);
    if (dim >= SDX_EXPR_MAX) /* even of an empty tensor: shapes could not hold it */
        return sdx_bad(loader, position, "a tensor has the dimension %lld: too large",
                       (long long)dim);
    if (parts->rank == SDX_MAX_RANK)
        return sdx_fail_at(loader->error, SDX_STATUS_UNSUPPORTED, position,
                           "a tensor has more than %d dimensions", SDX_MAX_RANK);
    parts->dims[parts->rank++] = dim;
    return SDX_STATUS_OK;
}

static sdx_status read_dims(sdx_loader *loader, const sdx_pb_field *field, tensor_parts *parts) {
    if (field->wire == SDX_WIRE_VARINT)
        return add_dim(loader, parts, (int64_t)field->varint, field->position);
    SDX_TRY(sdx_pb_expect(field, SDX_WIRE_BYTES, "dims", loader->error));
    sdx_span bytes = field->bytes;
    uint64_t value;
    while (bytes.size) {
        if (!sdx_pb_varint(&bytes, &value))
            return sdx_bad(loader, field->position, "dims ends within a number");
        SDX_TRY(add_dim(loader, parts, (int64_t)value, field->position));
    }
    return SDX_STATUS_OK;
}

static bool span_is(sdx_span span, const char *word) {
    return span.size == strlen(word) && memcmp(span.data, word, span.size) == 0;
}

static sdx_status read_number(sdx_loader *loader, sdx_span text, uint64_t position,
                              const char *key, uint64_t *out) {
    uint64_t value = 0;
    bool good = text.size > 0 && text.size < 20;
    for (size_t i = 0; good && i < text.size; i++) {
        good = text.data[i] >= '0' && text.data[i] <= '9';
        if (good) value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    *out = value;
    return good ? SDX_STATUS_OK
                : sdx_bad(loader, position, "external data: '%s' is '%.*s', not a number from 0 up",
                          key, text.size > 40 ? 40 : (int)text.size, (const char *)text.data);
}

static sdx_status read_external_entry(sdx_loader *loader, sdx_pb_reader in, tensor_parts *parts) {
    sdx_span key = {0}, value = {0};
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    uint64_t position = sdx_pb_position(&in);
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number == 1) SDX_TRY(sdx_pb_string(&field, "key", &key, loader->error));
        if (field.number == 2) SDX_TRY(sdx_pb_string(&field, "value", &value, loader->error));
    }
    SDX_TRY(status);
    sdx_external_request *request = &parts->request;
    if (key.size && span_is(key, "location")) {
        request->location = value;
    } else if (key.size && span_is(key, "offset")) {
        SDX_TRY(read_number(loader, value, position, "offset", &request->offset));
    } else if (key.size && span_is(key, "length")) {
        SDX_TRY(read_number(loader, value, position, "length", &request->length));
        request->has_length = true;
    } else if (key.size && span_is(key, "checksum")) {
        request->checksum = value;
    } else {
        return sdx_bad(loader, position,
                       "external data: unknown key '%.*s'; known are location, offset, length "
                       "and checksum",
                       key.size > 40 ? 40 : (int)key.size, (const char *)key.data);
    }
    return SDX_STATUS_OK;
}

static sdx_status note_data(sdx_loader *loader, const sdx_pb_field *field, tensor_parts *parts) {
    if (parts->data_field && parts->data_field != field->number)
        return sdx_bad(loader, field->position, "a tensor has two data fields, %s and %s",
                       field_name(parts->data_field), field_name(field->number));
    parts->data_field = field->number;
    if (field->number == RAW_DATA) {
        if (parts->entries++)
            return sdx_bad(loader, field->position, "a tensor has raw_data twice");
        return sdx_pb_span(field, "raw_data", &parts->raw, loader->error);
    }
    size_t entries = 1;
    if (field->number == STRING_DATA)
        SDX_TRY(sdx_pb_expect(field, SDX_WIRE_BYTES, "string_data", loader->error));
    else
        SDX_TRY(count_entries(loader, field, &entries));
    parts->entries += entries;
    parts->packed = field->wire == SDX_WIRE_BYTES ? field->bytes : (sdx_span){0};
    parts->chunks++;
    return SDX_STATUS_OK;
}

static sdx_status read_parts(sdx_loader *loader, sdx_pb_reader in, tensor_parts *parts) {
    memset(parts, 0, sizeof *parts);
    parts->position = sdx_pb_position(&in);
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        switch (field.number) {
        case 1: SDX_TRY(read_dims(loader, &field, parts)); break;
        case 2: SDX_TRY(sdx_pb_int32(&field, "data_type", &parts->dtype, loader->error)); break;
        case 3:
            return sdx_fail_at(loader->error, SDX_STATUS_UNSUPPORTED, field.position,
                               "a tensor is stored in segments, which no ONNX tool writes");
        case 8: SDX_TRY(sdx_pb_string(&field, "name", &parts->name, loader->error)); break;
        case 13: {
            SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "external_data", loader->error));
            sdx_pb_reader entry;
            SDX_TRY(sdx_pb_enter(&in, &field, &entry, loader->error));
            SDX_TRY(read_external_entry(loader, entry, parts));
            break;
        }
        case 14: {
            int32_t location;
            SDX_TRY(sdx_pb_int32(&field, "data_location", &location, loader->error));
            if (location != 0 && location != 1)
                return sdx_bad(loader, field.position, "data_location is %d; 0 and 1 are known",
                               location);
            parts->external = location == 1;
            break;
        }
        case FLOAT_DATA: case INT32_DATA: case STRING_DATA: case INT64_DATA: case RAW_DATA:
        case DOUBLE_DATA: case UINT64_DATA: SDX_TRY(note_data(loader, &field, parts)); break;
        default: break;
        }
    }
    return status;
}

/* The typed field that a dtype is stored in, where not in raw_data. */
static uint32_t typed_field(sdx_dtype dtype) {
    switch (dtype) {
    case SDX_DTYPE_FLOAT32: case SDX_DTYPE_COMPLEX64: return FLOAT_DATA;
    case SDX_DTYPE_FLOAT64: case SDX_DTYPE_COMPLEX128: return DOUBLE_DATA;
    case SDX_DTYPE_INT64: return INT64_DATA;
    case SDX_DTYPE_UINT32: case SDX_DTYPE_UINT64: return UINT64_DATA;
    case SDX_DTYPE_STRING: return STRING_DATA;
    default: return INT32_DATA;
    }
}

/* Entries that the typed field needs for count elements. */
static size_t entries_needed(sdx_dtype dtype, size_t count) {
    if (dtype == SDX_DTYPE_COMPLEX64 || dtype == SDX_DTYPE_COMPLEX128) return count * 2;
    unsigned bits = sdx_dtype_file_bits(dtype); /* 4- and 2-bit types share an entry, 6-bit not */
    return bits == 4 || bits == 2 ? (count + 8 / bits - 1) / (8 / bits) : count;
}

/* Writes value as an element (or a byte of packed ones) of `size` bytes in host order. */
static bool store_integer(sdx_dtype dtype, size_t size, uint64_t value, uint8_t *out) {
    int64_t number = (int64_t)value;
    bool is_signed = dtype == SDX_DTYPE_INT8 || dtype == SDX_DTYPE_INT16 ||
                     dtype == SDX_DTYPE_INT32 || dtype == SDX_DTYPE_INT64;
    if (size < 8) {
        unsigned bits = dtype == SDX_DTYPE_BOOL              ? 1
                        : sdx_dtype_file_bits(dtype) == 6 ? 6
                                                          : (unsigned)(8 * size);
        int64_t top = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
        int64_t bottom = is_signed ? -top - 1 : 0;
        if (number < bottom || number > top) return false;
    }
    switch (size) {
    case 1: *out = (uint8_t)value; break;
    case 2: memcpy(out, &(uint16_t){(uint16_t)value}, 2); break;
    case 4: memcpy(out, &(uint32_t){(uint32_t)value}, 4); break;
    default: memcpy(out, &value, 8); break;
    }
    return true;
}

typedef struct decoder {
    sdx_dtype dtype;
    size_t unit; /* bytes per entry in memory */
    size_t index;
    uint8_t *out;
} decoder;

static sdx_status store_entry(sdx_loader *loader, decoder *d, uint64_t value, uint64_t position) {
    if (!store_integer(d->dtype, d->unit, value, d->out + d->index * d->unit))
        return sdx_bad(loader, position, "entry %zu of the tensor is %lld, which does not fit %s",
                       d->index, (long long)value, sdx_dtype_name(d->dtype));
    d->index++;
    return SDX_STATUS_OK;
}

static sdx_status decode_field(sdx_loader *loader, const sdx_pb_field *field, decoder *d) {
    if (field->wire != SDX_WIRE_BYTES) return store_entry(loader, d, field->varint, field->position);
    sdx_span bytes = field->bytes;
    size_t fixed = fixed_size(field->number);
    while (bytes.size) {
        uint64_t value = 0;
        if (fixed) {
            for (size_t i = 0; i < fixed; i++) value |= (uint64_t)bytes.data[i] << (8 * i);
            bytes.data += fixed;
            bytes.size -= fixed;
        } else if (!sdx_pb_varint(&bytes, &value)) {
            return sdx_bad(loader, field->position, "%s ends within a number",
                           field_name(field->number));
        }
        SDX_TRY(store_entry(loader, d, value, field->position));
    }
    return SDX_STATUS_OK;
}

/* Typed fields other than one packed run of floats: decoded into the arena. */
static sdx_status decode_typed(sdx_loader *loader, sdx_pb_reader in, const tensor_parts *parts,
                               sdx_const *out) {
    unsigned bits = sdx_dtype_file_bits(out->dtype);
    bool shared = bits == 4 || bits == 2; /* several elements to an entry */
    decoder d = {.dtype = out->dtype};
    d.unit = shared ? 1 : sdx_dtype_size(out->dtype);
    if (out->dtype == SDX_DTYPE_COMPLEX64 || out->dtype == SDX_DTYPE_COMPLEX128) d.unit /= 2;
    d.out = sdx_arena_array(&loader->module->arena, parts->entries + 1, d.unit);
    if (!d.out) return sdx_load_no_memory(loader);
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error))
        if (field.number == parts->data_field) SDX_TRY(decode_field(loader, &field, &d));
    SDX_TRY(status);
    out->data = d.out;
    out->bytes = parts->entries * d.unit;
    out->host = !shared; /* those were decoded to file bytes */
    return SDX_STATUS_OK;
}

static sdx_status decode_strings(sdx_loader *loader, sdx_pb_reader in, sdx_const *out) {
    sdx_string *strings = sdx_arena_array(&loader->module->arena, out->count + 1, sizeof *strings);
    if (!strings) return sdx_load_no_memory(loader);
    size_t index = 0;
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error))
        if (field.number == STRING_DATA && index < out->count)
            strings[index++] =
                (sdx_string){field.bytes.size ? (const char *)field.bytes.data : "",
                             field.bytes.size};
    out->data = strings;
    out->bytes = out->count * sizeof *strings;
    out->host = true;
    return status;
}

static sdx_status take_raw(sdx_loader *loader, const tensor_parts *parts, sdx_const *out) {
    size_t needed;
    if (out->dtype == SDX_DTYPE_STRING)
        return sdx_bad(loader, parts->position, "string tensor '%s' has %s data; strings are in "
                                                "string_data",
                       out->name, parts->external ? "external" : "raw");
    if (!sdx_dtype_file_size(out->dtype, out->count, &needed))
        return sdx_bad(loader, parts->position, "tensor '%s' is too large for any machine",
                       out->name);
    sdx_span raw = parts->raw;
    if (parts->external) {
        SDX_TRY(SDX_NEED(external_data, loader->error));
        sdx_external_request request = parts->request;
        request.position = parts->position;
        request.tensor = out->name;
        SDX_TRY(sdx_external_get(loader->external, &request, needed, &raw, loader->error));
    }
    if (raw.size != needed)
        return sdx_bad(loader, parts->position,
                       "tensor '%s' has %zu bytes of data; its shape and type need %zu", out->name,
                       raw.size, needed);
    out->data = raw.data;
    out->bytes = raw.size;
    return SDX_STATUS_OK;
}

static sdx_status take_typed(sdx_loader *loader, sdx_pb_reader in, const tensor_parts *parts,
                             sdx_const *out) {
    uint32_t wanted = typed_field(out->dtype);
    if (parts->data_field && parts->data_field != wanted)
        return sdx_bad(loader, parts->position, "tensor '%s' of type %s has its data in %s; "
                                                "raw_data or %s is expected",
                       out->name, sdx_dtype_name(out->dtype), field_name(parts->data_field),
                       field_name(wanted));
    size_t entries = out->count ? entries_needed(out->dtype, out->count) : 0;
    if (entries != parts->entries || out->count > SIZE_MAX / 16)
        return sdx_bad(loader, parts->position, "tensor '%s' has %zu entries of data; its shape "
                                                "needs %zu",
                       out->name, parts->entries, entries);
    if (out->dtype == SDX_DTYPE_STRING) return decode_strings(loader, in, out);
    if (fixed_size(wanted) && parts->chunks == 1 && parts->packed.data) {
        out->data = parts->packed.data;
        out->bytes = parts->packed.size;
        return SDX_STATUS_OK;
    }
    return decode_typed(loader, in, parts, out);
}

sdx_status sdx_load_tensor(sdx_loader *loader, sdx_pb_reader in, const sdx_const **out) {
    tensor_parts parts;
    SDX_TRY(read_parts(loader, in, &parts));
    sdx_const *tensor = sdx_arena_alloc(&loader->module->arena, sizeof *tensor);
    int64_t *dims =
        sdx_arena_array(&loader->module->arena, (size_t)parts.rank + 1, sizeof *dims);
    if (!tensor || !dims) return sdx_load_no_memory(loader);
    SDX_TRY(sdx_load_text(loader, parts.name, &tensor->name));
    if (!sdx_dtype_valid(parts.dtype))
        return sdx_fail_at(loader->error,
                           parts.dtype > 0 ? SDX_STATUS_UNSUPPORTED : SDX_STATUS_BAD_MODEL,
                           parts.position,
                           "tensor '%s' has element type %d; types are 1 (float32) to %d (%s)",
                           tensor->name, parts.dtype, SDX_DTYPE_COUNT - 1,
                           sdx_dtype_name(SDX_DTYPE_COUNT - 1));
    memcpy(dims, parts.dims, (size_t)parts.rank * sizeof *dims);
    tensor->dtype = (sdx_dtype)parts.dtype;
    tensor->rank = parts.rank;
    tensor->dims = dims;
    tensor->position = parts.position;
    if (!sdx_dims_count(dims, parts.rank, &tensor->count))
        return sdx_bad(loader, parts.position, "tensor '%s': the product of its dimensions is too "
                                               "large",
                       tensor->name);
    if (parts.external && parts.data_field)
        return sdx_bad(loader, parts.position, "tensor '%s' has external data and %s at once",
                       tensor->name, field_name(parts.data_field));
    if (!parts.external && parts.request.location.size)
        return sdx_bad(loader, parts.position, "tensor '%s' names external data, but its "
                                               "data_location is the model itself",
                       tensor->name);
    *out = tensor;
    if (parts.external || parts.data_field == RAW_DATA) return take_raw(loader, &parts, tensor);
    return take_typed(loader, in, &parts, tensor);
}
