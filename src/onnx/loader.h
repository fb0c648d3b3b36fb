/* loader.h - shared by the files of onnx/: what is known while a ModelProto becomes a module.
 * Spans point into the model file; names are looked up through a chain of scopes. */
#ifndef SDX_ONNX_LOADER_H
#define SDX_ONNX_LOADER_H

#include "base/map.h"
#include "base/parts.h"
#include "graph/graph.h"
#include "onnx/external.h"
#include "proto/reader.h"

#define SDX_IR_OLDEST 3
#define SDX_IR_NEWEST 14

/* What no real model comes near; the loader looks such lists through one by one. */
#define SDX_MOST_OPSETS 256
#define SDX_MOST_ATTRS 1024     /* of a node or a function */
#define SDX_MOST_OP_NAME 512    /* bytes of an operator's name, domain or overload */
#define SDX_MOST_CALL_NAME 200  /* bytes kept of a name within a function: one copy for each call */

/* A FunctionProto, kept as bytes: its body is read anew for each call. */
typedef struct sdx_function {
    sdx_span name, domain, overload;
    sdx_span body; /* the whole message */
    sdx_opset *opsets;
    size_t opset_count;
    uint64_t position;
    bool own_inputs; /* a Gradient in it may tell two formal inputs apart that get one value */
    bool active; /* being inlined (or counted) now: a second entry is a recursion */
    bool counted;
    uint64_t nodes; /* that a call comes to, once counted */
} sdx_function;

/* The call through which a function body is being read. */
typedef struct sdx_call_site {
    const sdx_function *function;
    const sdx_attr *attrs; /* the node's, then the function's defaults */
    size_t attr_count;
    const char *prefix; /* name of the calling node */
} sdx_call_site;

typedef struct sdx_scope {
    struct sdx_scope *parent; /* enclosing graph; NULL at the main graph and in a function body */
    sdx_map names;            /* -> value id, or SDX_ABSENT */
    sdx_id graph;
    sdx_vector *nodes;        /* ids of the graph's nodes so far */
    const sdx_call_site *call; /* NULL outside functions */
    const sdx_opset *opsets;
    size_t opset_count;
    uint32_t depth; /* of subgraphs and calls */
} sdx_scope;

#define SDX_DOMAIN_TRAINING "ai.onnx.preview.training" /* whose Gradient names values */
#define SDX_ABSENT (UINT32_MAX - 1) /* a formal input that the caller left out */

typedef struct sdx_loader {
    sdx_module *module;
    sdx_span file;
    sdx_error *error;
    sdx_external *external;
    sdx_function *functions;
    size_t function_count;
    sdx_map function_index; /* "domain\0name\0overload" -> index */
    uint64_t nodes_read;    /* calls included, against limits.max_nodes */
} sdx_loader;

sdx_status sdx_load_graph(sdx_loader *loader, const sdx_pb_reader *in, sdx_scope *parent,
                          const sdx_scope *model_scope, sdx_id owner, sdx_id *out);
/* Reads one NodeProto into the scope's graph: a node, a constant, or an inlined call. */
sdx_status sdx_load_node(sdx_loader *loader, sdx_pb_reader in, sdx_scope *scope);
/* Makes values for what the node will define, so that order in the file does not matter. */
sdx_status sdx_declare_outputs(sdx_loader *loader, sdx_pb_reader in, sdx_scope *scope);
/* *present false: a reference to an attribute that the function's call does not give. */
sdx_status sdx_load_attr(sdx_loader *loader, sdx_pb_reader in, sdx_scope *scope, sdx_id owner,
                         sdx_attr *out, bool *present);
const char *sdx_attr_kind_name(sdx_attr_kind kind); /* as in AttributeProto.AttributeType */
sdx_status sdx_load_tensor(sdx_loader *loader, sdx_pb_reader in, const sdx_const **out);
sdx_status sdx_load_sparse(sdx_loader *loader, sdx_pb_reader in, const sdx_const **out);
sdx_status sdx_load_type(sdx_loader *loader, sdx_pb_reader in, sdx_type *out);
sdx_status sdx_load_functions(sdx_loader *loader, const sdx_pb_field *fields, size_t count,
                              const sdx_pb_reader *model);
/* Adds an opset import to a list with room for it; fails on one that contradicts the others. */
sdx_status sdx_load_opset(sdx_loader *loader, sdx_pb_reader in, sdx_opset *list, size_t *count);
/* Room for the opset imports among the fields, of which there are `count`. */
sdx_status sdx_alloc_opsets(sdx_loader *loader, size_t count, sdx_opset **out);
sdx_status sdx_inline_call(sdx_loader *loader, sdx_function *function, const sdx_node *call,
                           sdx_scope *scope);
/* Fails where inlining all calls would pass the limits; costs one look at each function. */
sdx_status sdx_check_expansion(sdx_loader *loader, const sdx_pb_reader *graph);
/* Levels of messages that the limit on subgraphs and functions allows. */
uint32_t sdx_message_depth(const sdx_loader *loader);
sdx_function *sdx_find_function(const sdx_loader *loader, sdx_span domain, sdx_span name,
                                sdx_span overload);
/* A Constant node's attribute as a constant. */
sdx_status sdx_constant_from_attr(sdx_loader *loader, const sdx_attr *attr,
                                  const sdx_const **out);

/* Looks the name up in the scope and those around it. */
sdx_status sdx_resolve(sdx_loader *loader, const sdx_scope *scope, sdx_span name,
                       uint64_t position, sdx_id *out);
/* A new value of that name; fails when the scope has one. */
sdx_status sdx_declare(sdx_loader *loader, sdx_scope *scope, sdx_span name, uint64_t position,
                       const char *what, sdx_id *out);
/* A name inside a function: that of the calling node in front, so that a reader can tell calls
 * apart. Cut where too long, since each call makes a copy; nothing is looked up by it. */
const char *sdx_call_name(sdx_loader *loader, const sdx_scope *scope, sdx_span name);
sdx_status sdx_scope_open(sdx_loader *loader, sdx_scope *scope, uint64_t position);
sdx_status sdx_bad(sdx_loader *loader, uint64_t position, const char *format, ...)
    SDX_PRINTF(3, 4);
sdx_status sdx_load_no_memory(sdx_loader *loader);
/* NUL-terminated copy in the module's arena. */
sdx_status sdx_load_text(sdx_loader *loader, sdx_span text, const char **out);

/* Collects the fields of a message. */
typedef struct sdx_fields {
    sdx_pb_field *items;
    size_t count;
    sdx_vector vector;
} sdx_fields;
sdx_status sdx_fields_read(sdx_loader *loader, sdx_pb_reader in, sdx_fields *out);
void sdx_fields_free(sdx_loader *loader, sdx_fields *fields);

/* The one entry: bytes of a ModelProto -> module (graphs sorted, operators not yet resolved). */
sdx_status sdx_onnx_load(sdx_span file, sdx_external *external, sdx_module *module,
                         sdx_error *error);

#endif
