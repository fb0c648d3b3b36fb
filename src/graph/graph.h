/* graph.h - the model in memory: values, nodes and graphs in tables addressed by index, made by
 * onnx/, annotated by ops/ (operator, parameters, shapes), rewritten by passes/, lowered by exec/.
 * Subgraphs share the tables with the main graph, so an outer-scope name is just an index.
 * Everything variable in size lies in the module's arena or in the mapped file. */
#ifndef SDX_GRAPH_GRAPH_H
#define SDX_GRAPH_GRAPH_H

#include "base/dtype.h"
#include "base/memory.h"
#include "base/watch.h"
#include "graph/expr.h"

typedef uint32_t sdx_id; /* index into a table of the module */
#define SDX_NONE UINT32_MAX

/* A type as ONNX has it. Shapes sit inside, since a sequence's tensors have one too. */
typedef struct sdx_type {
    sdx_kind kind;   /* NONE: not known */
    sdx_dtype dtype; /* TENSOR, SPARSE: element; MAP: key; UNDEFINED: not known */
    int32_t rank;    /* TENSOR, SPARSE; -1: not known */
    const sdx_expr *dims;         /* rank entries */
    const struct sdx_type *inner; /* SEQUENCE, OPTIONAL: content; MAP: value */
} sdx_type;

/* Data of an initializer or attribute. Bytes as they lie in the file (little-endian, sub-byte
 * types packed, any alignment), unless `host`. */
typedef struct sdx_const {
    sdx_dtype dtype;
    int32_t rank;
    const int64_t *dims;
    size_t count;
    const void *data;
    size_t bytes;      /* at data; strings: count * sizeof(sdx_string) */
    bool host;         /* data is in memory layout: host order, unpacked, aligned */
    bool half;         /* of FLOAT32: data are float16, to be widened */
    const struct sdx_const *sparse_values, *sparse_indices; /* set: data is NULL */
    uint64_t position; /* in the file, for messages */
    const char *name;
    uint32_t owned;    /* index + 1 into the module's `owned`: data is an allocation of its own */
} sdx_const;

typedef enum sdx_attr_kind { /* the numbers of AttributeProto.AttributeType */
    SDX_ATTR_UNDEFINED = 0,
    SDX_ATTR_FLOAT = 1,
    SDX_ATTR_INT = 2,
    SDX_ATTR_STRING = 3,
    SDX_ATTR_TENSOR = 4,
    SDX_ATTR_GRAPH = 5,
    SDX_ATTR_FLOATS = 6,
    SDX_ATTR_INTS = 7,
    SDX_ATTR_STRINGS = 8,
    SDX_ATTR_TENSORS = 9,
    SDX_ATTR_GRAPHS = 10,
    SDX_ATTR_SPARSE_TENSOR = 11,
    SDX_ATTR_SPARSE_TENSORS = 12,
    SDX_ATTR_TYPE = 13,
    SDX_ATTR_TYPES = 14,
    SDX_ATTR_VALUES = 100, /* in no file: names of values, looked up where the node stands */
    SDX_ATTR_EXPRS = 101   /* in no file: expressions of the module's pool, put there by a pass */
} sdx_attr_kind;

/* Scalars are arrays of one: count is 1 and the element is at [0]. */
typedef struct sdx_attr {
    const char *name;
    sdx_attr_kind kind;
    size_t count;
    union {
        const int64_t *ints;
        const float *floats;
        const sdx_string *strings;      /* also NUL-terminated behind .size */
        const sdx_const *const *tensors; /* TENSOR(S), SPARSE_TENSOR(S) */
        const sdx_id *graphs;
        const sdx_id *values;
        const sdx_expr *exprs;
        const sdx_type *const *types;
    } as;
} sdx_attr;

struct sdx_op; /* ops/op.h */

typedef struct sdx_node {
    const char *name; /* never NULL: unnamed nodes get "#index" */
    const char *op_type, *domain, *overload; /* domain "" is ai.onnx */
    int64_t version;  /* opset version of the domain, as imported where the node stands */
    sdx_id graph;
    uint32_t input_count, output_count, attr_count;
    sdx_id *inputs, *outputs; /* SDX_NONE: left out */
    sdx_attr *attrs;
    uint64_t position;
    const struct sdx_op *op; /* NULL: unknown operator (kept only for inspection) */
    const void *params;      /* made by the op's prepare */
    sdx_expr scratch;        /* bytes of scratch memory that a run needs */
    bool dead;               /* removed by a pass */
    /* In a program's module: the node of the model that this one stands for most of all, and all
     * that went into it (origins NULL: that one alone). A node that no pass made is its own. */
    sdx_id origin;
    const sdx_id *origins;
    uint32_t origin_count;
    uint32_t mark;           /* scratch of the algorithm at hand; 0 between two */
} sdx_node;

typedef struct sdx_value_def {
    const char *name;
    sdx_type type;
    const sdx_type *declared; /* by the file, or NULL */
    const sdx_const *constant; /* initializer or Constant node; NULL otherwise */
    const sdx_const *fallback; /* default of a graph input that may be overridden */
    const sdx_expr *contents;  /* elements of a small integer tensor where known, else NULL */
    size_t content_count;
    /* How the bytes relate to those of other values, where the shapes before the axis are all 1:
     * run_axis, axis + 1: this is a run of the producer's input 0 from run_start on (Slice, Split);
     * join_axis, axis + 1: the producer's inputs one after the other (Concat). 0: neither. */
    uint8_t run_axis, join_axis;
    sdx_expr run_start;
    sdx_id producer; /* node, or SDX_NONE */
    sdx_id graph;
    uint32_t output_index; /* of the producer */
    bool is_input, is_output; /* of its graph */
    bool contradicted;        /* the declared shape cannot be the inferred one, which counts */
    uint32_t mark;            /* scratch of the algorithm at hand; 0 between two */
} sdx_value_def;

typedef struct sdx_graph {
    const char *name;
    sdx_id owner; /* node whose attribute holds it; SDX_NONE for the main graph */
    sdx_id *inputs, *outputs, *nodes; /* nodes in an executable order */
    sdx_id *captures;                 /* values of enclosing graphs used here or deeper */
    uint32_t input_count, output_count, node_count, capture_count;
} sdx_graph;

/* Two dims that must turn out equal; checked whenever symbols are bound. */
typedef struct sdx_constraint {
    sdx_expr a, b;
    sdx_id node;
    const char *what; /* "inner dimension of A and B" */
    bool broadcast;   /* a may also be 1 */
} sdx_constraint;

typedef struct sdx_opset {
    const char *domain; /* "" is ai.onnx */
    int64_t version;
} sdx_opset;

typedef struct sdx_property {
    const char *key, *value;
} sdx_property;

/* Data of one constant that a pass made; data NULL: given back. */
typedef struct sdx_owned {
    void *data;
    size_t size;
} sdx_owned;

typedef struct sdx_module {
    const sdx_allocator *allocator;
    sdx_arena arena;
    sdx_expr_pool *pool;
    sdx_limits limits; /* with the defaults filled in */
    sdx_watch watch;   /* over the work that makes it: begins with its creation */
    const sdx_log *log;
    sdx_vector values, nodes, graphs, constraints, problems; /* _def, _node, _graph, …, sdx_error */
    sdx_vector owned;   /* sdx_owned: can go one by one, unlike what lies in the arena */
    size_t owned_bytes; /* held by those */
    int64_t ir_version, model_version;
    const char *producer_name, *producer_version, *domain, *doc;
    sdx_opset *opsets;
    size_t opset_count;
    sdx_property *metadata;
    size_t metadata_count, function_count;
    /* From a packed file: passes have been over it, it may have operators that they alone make, and its
     * nodes know their origins, which stand behind the others in the table, dead. */
    bool packed;
} sdx_module;

static inline sdx_value_def *sdx_value_at(const sdx_module *m, sdx_id id) {
    return (sdx_value_def *)m->values.data + id;
}
static inline sdx_node *sdx_node_at(const sdx_module *m, sdx_id id) {
    return (sdx_node *)m->nodes.data + id;
}
static inline sdx_graph *sdx_graph_at(const sdx_module *m, sdx_id id) {
    return (sdx_graph *)m->graphs.data + id;
}

/* The limits that `given` names, as far as its struct_size reaches; those of `base` (NULL: the defaults)
 * where it has none or is NULL. max_memory 0: whatever the machine has (base/budget.h). */
sdx_limits sdx_limits_over(const sdx_limits *base, const sdx_limits *given);

sdx_status sdx_module_create(const sdx_allocator *allocator, const sdx_limits *limits,
                             const sdx_log *log, sdx_module **out, sdx_error *error);
void sdx_module_release(sdx_module *module);
/* LIMIT once the time for making it is over; asked for every node, by whoever goes through them. */
sdx_status sdx_module_in_time(const sdx_module *module, sdx_error *error);
/* Append to a table; pointers from sdx_*_at are invalid afterwards. SDX_NONE: out of memory. */
sdx_id sdx_module_add_value(sdx_module *module, const char *name, sdx_id graph);
sdx_id sdx_module_add_node(sdx_module *module);
sdx_id sdx_module_add_graph(sdx_module *module);
/* Memory for the data of one constant, aligned to a cache line, not cleared; *owned is what
 * sdx_const.owned takes. NULL: out of memory or over the limit. */
void *sdx_module_own(sdx_module *module, size_t size, uint32_t *owned);
void sdx_module_disown(sdx_module *module, uint32_t owned);
/* Bytes that the module holds: arena, tables and expressions, without the data of constants. */
size_t sdx_module_bytes(const sdx_module *module);

/* A module with the same tables, that may be rewritten while `from`, which must outlive it, stays as
 * it is. Indices keep their meaning. Names, attributes, parameters and constants are shared; lists
 * of edges and nodes are copied. Expressions live in a pool of its own, with numbers in place of the
 * symbols that have one (fixed[i] >= 0; NULL: none); what the numbers contradict (a broadcast of 2
 * and 3) becomes a symbol that nobody binds, named as the expression reads. */
sdx_status sdx_module_copy(const sdx_module *from, const sdx_allocator *allocator,
                           const int64_t *fixed, sdx_module **out, sdx_error *error);

/* Puts the nodes of a graph into an order in which each follows what it reads (stable where the
 * given order already does); fails naming a node on a cycle. Also fills captures. */
sdx_status sdx_graph_sort(sdx_module *module, sdx_id graph, sdx_error *error);

/* "float32[batch,3,224,224]" or "sequence(int64[?])" into buffer; returns the length needed. */
size_t sdx_type_text(const sdx_module *module, const sdx_type *type, char *buffer, size_t size);

/* Bytes of a constant in memory layout; out must have room for count elements. Decodes order,
 * packing and sparseness. */
void sdx_const_decode(const sdx_const *constant, void *out);
/* True when data can be used where it lies: host layout and aligned for its type. */
bool sdx_const_in_place(const sdx_const *constant);
/* Known by its shape alone: a packed file has it only in the layout of some kernels. */
static inline bool sdx_const_absent(const sdx_const *constant) {
    return constant->count > 0 && !constant->data && !constant->sparse_values;
}

#endif
