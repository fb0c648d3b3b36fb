/* tree.h - an ONNX model as a tree of its fields, for the mutator that knows the structure: bytes
 * to tree and back. Fields whose message type is not listed in tree.c are bytes. */
#ifndef SDX_TESTS_FUZZ_TREE_H
#define SDX_TESTS_FUZZ_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum message {
    MESSAGE_NONE, /* a leaf */
    MESSAGE_MODEL,
    MESSAGE_GRAPH,
    MESSAGE_NODE,
    MESSAGE_ATTRIBUTE,
    MESSAGE_TENSOR,
    MESSAGE_SPARSE,
    MESSAGE_VALUE,
    MESSAGE_TYPE,
    MESSAGE_TENSOR_TYPE,
    MESSAGE_INNER_TYPE, /* Sequence, Optional: one TypeProto inside */
    MESSAGE_MAP_TYPE,
    MESSAGE_SHAPE,
    MESSAGE_DIM,
    MESSAGE_OPSET,
    MESSAGE_ENTRY, /* StringStringEntryProto */
    MESSAGE_FUNCTION,
    MESSAGE_COUNT
} message;

typedef struct tree_field {
    uint32_t number;
    int wire;       /* as protobuf has it: 0 varint, 1 and 5 fixed, 2 bytes */
    message inside; /* of a message: which */
    uint64_t value; /* varint or fixed */
    uint8_t *bytes; /* of a leaf of wire 2; owned */
    size_t size;
    struct tree_field *fields; /* of a message; owned */
    size_t count, capacity;
} tree_field;

/* The model; false where the bytes are no protobuf at the top. */
bool tree_read(tree_field *model, const uint8_t *data, size_t size);
/* Bytes written; 0 where capacity does not suffice. */
size_t tree_write(const tree_field *model, uint8_t *out, size_t capacity);
void tree_free(tree_field *field);
bool tree_copy(tree_field *to, const tree_field *from);
/* Puts a copy behind `at`, or at its place; false: no memory. */
bool tree_insert(tree_field *parent, size_t at, const tree_field *field);
void tree_remove(tree_field *parent, size_t at);
/* Which message a field of that number holds; MESSAGE_NONE: it is a leaf. */
message tree_inside(message parent, uint32_t number);

#endif
