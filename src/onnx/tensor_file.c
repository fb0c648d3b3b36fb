/* tensor_file.c - TensorProto, SequenceProto and OptionalProto files (.pb), as ONNX's backend tests
 * keep their inputs and outputs; read through the same checked path as a model's initializers. */
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/file.h"
#include "base/value.h"
#include "onnx/loader.h"
#include "proto/writer.h"

/* Kinds of content in SequenceProto.elem_type and OptionalProto.elem_type. */
enum { HOLDS_NOTHING = 0, HOLDS_TENSOR = 1, HOLDS_SPARSE = 2, HOLDS_SEQUENCE = 3, HOLDS_MAP = 4,
       HOLDS_OPTIONAL = 5 };

/* Field numbers: a sequence keeps its tensors in 3, sparse ones in 4, sequences in 5, maps in 6,
 * optionals in 7; an optional has the same numbers. */
#define FIRST_VALUE_FIELD 3

static sdx_status read_value(sdx_loader *loader, sdx_pb_reader in, sdx_kind kind,
                             const sdx_allocator *allocator, sdx_value **out);

static sdx_status read_tensor(sdx_loader *loader, sdx_pb_reader in,
                              const sdx_allocator *allocator, sdx_value **out) {
    const sdx_const *constant;
    SDX_TRY(sdx_load_tensor(loader, in, &constant));
    if (constant->dtype == SDX_DTYPE_STRING) {
        sdx_tensor tensor;
        SDX_TRY(sdx_tensor_init(&tensor, constant->dtype, constant->rank, constant->dims,
                                (void *)(uintptr_t)constant->data, loader->error));
        return sdx_value_new_tensor(allocator, &tensor, out, loader->error);
    }
    SDX_TRY(sdx_value_alloc_tensor(allocator, constant->dtype, constant->rank, constant->dims, out,
                                   loader->error));
    if (constant->count) sdx_const_decode(constant, (*out)->tensor.data);
    return SDX_STATUS_OK;
}

static sdx_kind kind_of_field(uint32_t number) {
    switch (number) {
    case FIRST_VALUE_FIELD: return SDX_KIND_TENSOR;
    case FIRST_VALUE_FIELD + 2: return SDX_KIND_SEQUENCE;
    case FIRST_VALUE_FIELD + 3: return SDX_KIND_MAP;
    case FIRST_VALUE_FIELD + 4: return SDX_KIND_OPTIONAL;
    default: return SDX_KIND_NONE;
    }
}

/* The contents of a sequence, or the at most one content of an optional. */
static sdx_status read_list(sdx_loader *loader, sdx_pb_reader in, sdx_kind kind,
                            const sdx_allocator *allocator, sdx_value **out) {
    size_t count = 0;
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    sdx_pb_reader again = in;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        /* A TensorProto has its dims there: without this it would pass for an empty list. */
        if (field.number == 1)
            SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "name", loader->error));
        count += kind_of_field(field.number) != SDX_KIND_NONE;
    }
    SDX_TRY(status);
    sdx_value *list;
    SDX_TRY(sdx_value_alloc_list(allocator, SDX_KIND_SEQUENCE, count, &list, loader->error));
    size_t index = 0;
    while (status == SDX_STATUS_OK && sdx_pb_next(&again, &field, &status, loader->error)) {
        sdx_kind inner_kind = kind_of_field(field.number);
        if (inner_kind == SDX_KIND_NONE) continue;
        sdx_pb_reader inner;
        status = sdx_pb_expect(&field, SDX_WIRE_BYTES, "value", loader->error);
        if (status == SDX_STATUS_OK) status = sdx_pb_enter(&again, &field, &inner, loader->error);
        if (status == SDX_STATUS_OK)
            status = read_value(loader, inner, inner_kind, allocator, &list->items[index++]);
    }
    if (status == SDX_STATUS_OK && kind == SDX_KIND_OPTIONAL) {
        status = count ? SDX_STATUS_OK : sdx_value_alloc_none(allocator, out, loader->error);
        if (count) *out = sdx_value_retain(list->items[0]);
        sdx_value_release(list);
        return status;
    }
    if (status != SDX_STATUS_OK) sdx_value_release(list);
    else *out = list;
    return status;
}

enum { MAP_INT_KEYS = 3, MAP_STRING_KEYS = 4, MAP_VALUES = 5 };

/* Keys are collected as the elements of the tensor that they become. */
static size_t key_size(uint32_t key_field) {
    return key_field == MAP_STRING_KEYS ? sizeof(sdx_string) : sizeof(int64_t);
}

/* One field of keys: a string, an integer, or a packed run of integers. */
static sdx_status read_keys(sdx_loader *loader, const sdx_pb_field *field, sdx_vector *keys) {
    sdx_span run = field->bytes;
    uint64_t number = field->varint;
    bool text = field->number == MAP_STRING_KEYS;
    bool packed = !text && field->wire == SDX_WIRE_BYTES;
    if (!packed)
        SDX_TRY(sdx_pb_expect(field, text ? SDX_WIRE_BYTES : SDX_WIRE_VARINT, "keys",
                              loader->error));
    for (bool more = !packed || run.size; more; more = packed && run.size) {
        if (packed && !sdx_pb_varint(&run, &number))
            return sdx_bad(loader, field->position, "a map's keys end within a number");
        void *slot = sdx_vector_push(keys, loader->module->allocator, key_size(field->number));
        if (!slot) return sdx_load_no_memory(loader);
        if (text)
            *(sdx_string *)slot = (sdx_string){(const char *)field->bytes.data, field->bytes.size};
        else *(int64_t *)slot = (int64_t)number;
    }
    return SDX_STATUS_OK;
}

static sdx_status read_map_fields(sdx_loader *loader, sdx_pb_reader in,
                                  const sdx_allocator *allocator, sdx_vector *keys,
                                  uint32_t *key_field, sdx_value **values) {
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, loader->error)) {
        if (field.number == MAP_INT_KEYS || field.number == MAP_STRING_KEYS) {
            if (*key_field && *key_field != field.number)
                return sdx_bad(loader, field.position, "a map has integers and strings as keys");
            *key_field = field.number;
            SDX_TRY(read_keys(loader, &field, keys));
        }
        if (field.number != MAP_VALUES) continue;
        if (*values) return sdx_bad(loader, field.position, "a map has its values twice");
        sdx_pb_reader inner;
        SDX_TRY(sdx_pb_expect(&field, SDX_WIRE_BYTES, "values", loader->error));
        SDX_TRY(sdx_pb_enter(&in, &field, &inner, loader->error));
        SDX_TRY(read_list(loader, inner, SDX_KIND_SEQUENCE, allocator, values));
    }
    SDX_TRY(status);
    size_t count = *values ? (*values)->item_count : 0;
    if (count == keys->count) return SDX_STATUS_OK;
    return sdx_bad(loader, sdx_pb_position(&in), "a map has %zu keys and %zu values", keys->count,
                   count);
}

static sdx_status make_keys(const sdx_vector *keys, bool text, const sdx_allocator *allocator,
                            sdx_value **out, sdx_error *error) {
    const sdx_tensor like = {.dtype = text ? SDX_DTYPE_STRING : SDX_DTYPE_INT64, .rank = 1,
                             .dims = {(int64_t)keys->count}, .data = keys->data};
    return sdx_value_new_tensor(allocator, &like, out, error);
}

/* MapProto: keys as integers or strings, values as a SequenceProto. */
static sdx_status read_map(sdx_loader *loader, sdx_pb_reader in, const sdx_allocator *allocator,
                           sdx_value **out) {
    sdx_vector found = {0};
    uint32_t key_field = 0;
    sdx_value *keys = NULL, *values = NULL;
    sdx_status status = SDX_STATUS_OK;
    SDX_TRY_GOTO(read_map_fields(loader, in, allocator, &found, &key_field, &values));
    SDX_TRY_GOTO(make_keys(&found, key_field == MAP_STRING_KEYS, allocator, &keys, loader->error));
    if (!values)
        SDX_TRY_GOTO(
            sdx_value_alloc_list(allocator, SDX_KIND_SEQUENCE, 0, &values, loader->error));
    SDX_TRY_GOTO(sdx_value_new_map(allocator, keys, values, out, loader->error));
fail:
    sdx_vector_free(&found, loader->module->allocator, key_size(key_field));
    sdx_value_release(keys);
    sdx_value_release(values);
    return status;
}

static sdx_status read_value(sdx_loader *loader, sdx_pb_reader in, sdx_kind kind,
                             const sdx_allocator *allocator, sdx_value **out) {
    switch (kind) {
    case SDX_KIND_TENSOR: return read_tensor(loader, in, allocator, out);
    case SDX_KIND_SEQUENCE:
    case SDX_KIND_OPTIONAL: return read_list(loader, in, kind, allocator, out);
    case SDX_KIND_MAP: return read_map(loader, in, allocator, out);
    default:
        return sdx_fail(loader->error, SDX_STATUS_UNSUPPORTED,
                        "files of sparse values are not supported");
    }
}

sdx_status sdx_value_read_pb(const char *path, sdx_kind kind, const sdx_allocator *allocator,
                             sdx_value **out, sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!path || !out)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_value_read_pb: NULL given");
    *out = NULL;
    sdx_file file;
    SDX_TRY(sdx_file_open(path, false, allocator, &file, error));
    sdx_loader loader = {.file = {file.data, file.size}, .error = error};
    sdx_status status = sdx_module_create(allocator, NULL, NULL, &loader.module, error);
    if (status == SDX_STATUS_OK) {
        sdx_pb_reader in =
            sdx_pb_open(loader.file, file.data, loader.module->limits.max_depth);
        status = read_value(&loader, in, kind, allocator, out);
        sdx_module_release(loader.module);
    }
    sdx_file_close(&file);
    if (status != SDX_STATUS_OK) {
        sdx_error inner = *error;
        sdx_error_clear(error);
        sdx_fail_at(error, inner.code == SDX_STATUS_BAD_MODEL ? SDX_STATUS_BAD_INPUT : inner.code,
                    inner.position, "%.300s: %s", path, inner.message);
        return error->code;
    }
    return SDX_STATUS_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

static void write_tensor(sdx_pb_writer *to, const sdx_tensor *tensor, const char *name) {
    for (int32_t i = 0; i < tensor->rank; i++)
        sdx_pb_write_varint(to, 1, (uint64_t)tensor->dims[i]);
    sdx_pb_write_varint(to, 2, (uint64_t)tensor->dtype);
    if (name) sdx_pb_write_bytes(to, 8, name, strlen(name));
    if (tensor->dtype == SDX_DTYPE_STRING) {
        const sdx_string *strings = tensor->data;
        for (size_t i = 0; i < tensor->count; i++)
            sdx_pb_write_bytes(to, 6, strings[i].data, strings[i].size);
        return;
    }
    size_t bytes;
    if (!sdx_dtype_file_size(tensor->dtype, tensor->count, &bytes)) {
        to->failed = true;
        return;
    }
    const bool whole = sdx_dtype_file_bits(tensor->dtype) >= 8;
    if (whole && sdx_little_endian()) {
        sdx_pb_write_bytes(to, 9, tensor->data, bytes);
        return;
    }
    uint8_t *packed = sdx_alloc(to->allocator, bytes, 1);
    if (!packed) {
        to->failed = true;
        return;
    }
    if (whole) {
        const bool complex = tensor->dtype == SDX_DTYPE_COMPLEX64 || tensor->dtype == SDX_DTYPE_COMPLEX128;
        if (bytes) memcpy(packed, tensor->data, bytes);
        sdx_swap_bytes(packed, bytes, sdx_dtype_size(tensor->dtype) / (complex ? 2 : 1));
    } else {
        sdx_dtype_pack(tensor->dtype, tensor->data, tensor->count, packed);
    }
    sdx_pb_write_bytes(to, 9, packed, bytes);
    sdx_free(to->allocator, packed, bytes);
}

static void write_value(sdx_pb_writer *to, const sdx_value *value, const char *name);

static void write_items(sdx_pb_writer *to, const sdx_value *value) {
    sdx_kind inner = value->item_count ? value->items[0]->kind : SDX_KIND_TENSOR;
    uint32_t holds = inner == SDX_KIND_SEQUENCE ? HOLDS_SEQUENCE
                     : inner == SDX_KIND_MAP    ? HOLDS_MAP
                                                : HOLDS_TENSOR;
    sdx_pb_write_varint(to, 2, holds);
    for (size_t i = 0; i < value->item_count; i++) {
        size_t mark = sdx_pb_write_begin(to, FIRST_VALUE_FIELD + holds - 1);
        write_value(to, value->items[i], NULL);
        sdx_pb_write_end(to, mark);
    }
}

/* The values of a map held in one tensor: in a file, a sequence of scalars. */
static void write_elements(sdx_pb_writer *to, const sdx_tensor *tensor) {
    size_t size = sdx_dtype_size(tensor->dtype);
    sdx_pb_write_varint(to, 2, HOLDS_TENSOR);
    for (size_t i = 0; i < tensor->count; i++) {
        size_t mark = sdx_pb_write_begin(to, FIRST_VALUE_FIELD);
        write_tensor(to, &(sdx_tensor){.dtype = tensor->dtype, .count = 1,
                                       .data = (char *)tensor->data + i * size}, NULL);
        sdx_pb_write_end(to, mark);
    }
}

static void write_map(sdx_pb_writer *to, const sdx_value *value) {
    const sdx_tensor *keys = &value->items[0]->tensor;
    sdx_pb_write_varint(to, 2, (uint64_t)keys->dtype);
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->dtype == SDX_DTYPE_STRING) {
            const sdx_string *text = (const sdx_string *)keys->data + i;
            sdx_pb_write_bytes(to, MAP_STRING_KEYS, text->data, text->size);
        } else {
            sdx_pb_write_varint(to, MAP_INT_KEYS, (uint64_t)((const int64_t *)keys->data)[i]);
        }
    }
    size_t mark = sdx_pb_write_begin(to, MAP_VALUES);
    if (value->items[1]->kind == SDX_KIND_TENSOR) write_elements(to, &value->items[1]->tensor);
    else write_value(to, value->items[1], NULL);
    sdx_pb_write_end(to, mark);
}

static void write_value(sdx_pb_writer *to, const sdx_value *value, const char *name) {
    if (value->kind == SDX_KIND_TENSOR) {
        write_tensor(to, &value->tensor, name);
        return;
    }
    if (name) sdx_pb_write_bytes(to, 1, name, strlen(name));
    if (value->kind == SDX_KIND_MAP) write_map(to, value);
    else if (value->kind == SDX_KIND_SEQUENCE) write_items(to, value);
}

sdx_status sdx_value_write_pb(const char *path, const sdx_value *value, const char *name,
                              sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!path || !value)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_value_write_pb: NULL given");
    sdx_pb_writer writer;
    sdx_pb_writer_init(&writer, &sdx_default_allocator);
    write_value(&writer, value, name);
    sdx_status status =
        writer.failed
            ? sdx_fail_memory(error, writer.size, "a tensor file")
            : sdx_file_write(path, &(sdx_piece){writer.data, writer.size}, 1, error);
    sdx_pb_writer_free(&writer);
    return status;
}
