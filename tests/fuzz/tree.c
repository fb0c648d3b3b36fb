/* tree.c - protobuf of ONNX to a tree of fields and back. */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "proto/reader.h"

#define DEPTH 48

static const struct {
    message parent;
    uint32_t number;
    message inside;
} messages[] = {
    {MESSAGE_MODEL, 7, MESSAGE_GRAPH},         {MESSAGE_MODEL, 8, MESSAGE_OPSET},
    {MESSAGE_MODEL, 14, MESSAGE_ENTRY},        {MESSAGE_MODEL, 25, MESSAGE_FUNCTION},
    {MESSAGE_GRAPH, 1, MESSAGE_NODE},          {MESSAGE_GRAPH, 5, MESSAGE_TENSOR},
    {MESSAGE_GRAPH, 15, MESSAGE_SPARSE},       {MESSAGE_GRAPH, 11, MESSAGE_VALUE},
    {MESSAGE_GRAPH, 12, MESSAGE_VALUE},        {MESSAGE_GRAPH, 13, MESSAGE_VALUE},
    {MESSAGE_NODE, 5, MESSAGE_ATTRIBUTE},      {MESSAGE_ATTRIBUTE, 5, MESSAGE_TENSOR},
    {MESSAGE_ATTRIBUTE, 6, MESSAGE_GRAPH},     {MESSAGE_ATTRIBUTE, 10, MESSAGE_TENSOR},
    {MESSAGE_ATTRIBUTE, 11, MESSAGE_GRAPH},    {MESSAGE_ATTRIBUTE, 14, MESSAGE_TYPE},
    {MESSAGE_ATTRIBUTE, 15, MESSAGE_TYPE},     {MESSAGE_ATTRIBUTE, 22, MESSAGE_SPARSE},
    {MESSAGE_ATTRIBUTE, 23, MESSAGE_SPARSE},   {MESSAGE_TENSOR, 13, MESSAGE_ENTRY},
    {MESSAGE_SPARSE, 1, MESSAGE_TENSOR},       {MESSAGE_SPARSE, 2, MESSAGE_TENSOR},
    {MESSAGE_VALUE, 2, MESSAGE_TYPE},          {MESSAGE_TYPE, 1, MESSAGE_TENSOR_TYPE},
    {MESSAGE_TYPE, 4, MESSAGE_INNER_TYPE},     {MESSAGE_TYPE, 5, MESSAGE_MAP_TYPE},
    {MESSAGE_TYPE, 8, MESSAGE_TENSOR_TYPE},    {MESSAGE_TYPE, 9, MESSAGE_INNER_TYPE},
    {MESSAGE_INNER_TYPE, 1, MESSAGE_TYPE},     {MESSAGE_MAP_TYPE, 2, MESSAGE_TYPE},
    {MESSAGE_TENSOR_TYPE, 2, MESSAGE_SHAPE},   {MESSAGE_SHAPE, 1, MESSAGE_DIM},
    {MESSAGE_FUNCTION, 7, MESSAGE_NODE},       {MESSAGE_FUNCTION, 9, MESSAGE_OPSET},
    {MESSAGE_FUNCTION, 11, MESSAGE_ATTRIBUTE},
};

message tree_inside(message parent, uint32_t number) {
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (messages[i].parent == parent && messages[i].number == number) return messages[i].inside;
    return MESSAGE_NONE;
}

void tree_free(tree_field *field) {
    for (size_t i = 0; i < field->count; i++) tree_free(&field->fields[i]);
    free(field->fields);
    free(field->bytes);
    *field = (tree_field){0};
}

/* A new field at the end, zeroed; NULL: no memory. */
static tree_field *push(tree_field *parent) {
    if (parent->count == parent->capacity) {
        size_t capacity = parent->capacity ? 2 * parent->capacity : 8;
        tree_field *bigger = realloc(parent->fields, capacity * sizeof *bigger);
        if (!bigger) return NULL;
        parent->fields = bigger;
        parent->capacity = capacity;
    }
    parent->fields[parent->count] = (tree_field){0};
    return &parent->fields[parent->count++];
}

static bool set_bytes(tree_field *field, const uint8_t *bytes, size_t size) {
    field->bytes = malloc(size + 1);
    if (!field->bytes) return false;
    if (size) memcpy(field->bytes, bytes, size);
    field->size = size;
    return true;
}

static bool read_fields(tree_field *parent, sdx_span bytes, int depth) {
    sdx_pb_reader in = sdx_pb_open(bytes, bytes.data, DEPTH);
    sdx_pb_field field;
    sdx_status status = SDX_STATUS_OK;
    while (sdx_pb_next(&in, &field, &status, NULL)) {
        tree_field *made = push(parent);
        if (!made) return false;
        made->number = field.number;
        made->wire = (int)field.wire;
        made->value = field.varint;
        if (field.wire != SDX_WIRE_BYTES) continue;
        made->inside = depth < DEPTH ? tree_inside(parent->inside, field.number) : MESSAGE_NONE;
        if (made->inside && read_fields(made, field.bytes, depth + 1)) continue;
        /* No message after all: kept as the bytes that it is. */
        message none = MESSAGE_NONE;
        tree_free(made);
        *made = (tree_field){.number = field.number, .wire = (int)field.wire, .inside = none};
        if (!set_bytes(made, field.bytes.data, field.bytes.size)) return false;
    }
    return status == SDX_STATUS_OK;
}

bool tree_read(tree_field *model, const uint8_t *data, size_t size) {
    *model = (tree_field){.wire = 2, .inside = MESSAGE_MODEL};
    if (read_fields(model, (sdx_span){data, size}, 0)) return true;
    tree_free(model);
    return false;
}

bool tree_copy(tree_field *to, const tree_field *from) {
    *to = *from;
    to->bytes = NULL;
    to->fields = NULL;
    to->count = to->capacity = 0;
    bool good = !from->bytes || set_bytes(to, from->bytes, from->size);
    for (size_t i = 0; good && i < from->count; i++) {
        tree_field *made = push(to);
        good = made && tree_copy(made, &from->fields[i]);
    }
    if (!good) tree_free(to);
    return good;
}

bool tree_insert(tree_field *parent, size_t at, const tree_field *field) {
    tree_field copy;
    if (!tree_copy(&copy, field)) return false;
    if (!push(parent)) {
        tree_free(&copy);
        return false;
    }
    memmove(&parent->fields[at + 1], &parent->fields[at],
            (parent->count - 1 - at) * sizeof *parent->fields);
    parent->fields[at] = copy;
    return true;
}

void tree_remove(tree_field *parent, size_t at) {
    tree_free(&parent->fields[at]);
    memmove(&parent->fields[at], &parent->fields[at + 1],
            (parent->count - at - 1) * sizeof *parent->fields);
    parent->count--;
}

/* ---- writing: sizes first, then the bytes
 * --------------------------------------------------------- */

static size_t varint_size(uint64_t value) {
    size_t size = 1;
    while (value >>= 7) size++;
    return size;
}

static size_t field_size(const tree_field *field);

static size_t content_size(const tree_field *field) {
    if (!field->inside) return field->size;
    size_t size = 0;
    for (size_t i = 0; i < field->count; i++) size += field_size(&field->fields[i]);
    return size;
}

static size_t field_size(const tree_field *field) {
    size_t tag = varint_size((uint64_t)field->number << 3), content;
    switch (field->wire) {
    case 0: return tag + varint_size(field->value);
    case 1: return tag + 8;
    case 5: return tag + 4;
    default: content = content_size(field); return tag + varint_size(content) + content;
    }
}

static uint8_t *put_varint(uint8_t *at, uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_content(uint8_t *at, const tree_field *field) {
    if (!field->inside && field->size) memcpy(at, field->bytes, field->size);
    at += field->inside ? 0 : field->size;
    for (size_t i = 0; i < field->count; i++) {
        const tree_field *one = &field->fields[i];
        at = put_varint(at, (uint64_t)one->number << 3 | (unsigned)one->wire);
        if (one->wire == 0) at = put_varint(at, one->value);
        for (int byte = 0; byte < (one->wire == 1 ? 8 : one->wire == 5 ? 4 : 0); byte++)
            *at++ = (uint8_t)(one->value >> 8 * byte);
        if (one->wire != 2) continue;
        at = put_varint(at, content_size(one));
        at = put_content(at, one);
    }
    return at;
}

size_t tree_write(const tree_field *model, uint8_t *out, size_t capacity) {
    if (content_size(model) > capacity) return 0;
    return (size_t)(put_content(out, model) - out);
}
