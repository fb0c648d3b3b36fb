/* build.h - emits ordinary nodes into a graph: what rewrites in passes/ are made of. Each node
 * has its operator and the types of its outputs as soon as it is emitted, so that a rewrite can
 * ask for the rank of what it has just made. The first failure sticks: from then on calls do
 * nothing and return SDX_NONE, so that a rewrite reads like the formula it stands for. */
#ifndef SDX_PASSES_BUILD_H
#define SDX_PASSES_BUILD_H

#include "ops/resolve.h"

typedef struct sdx_build {
    sdx_module *module;
    sdx_error *error;
    sdx_status status;  /* of the first call that failed */
    sdx_id graph;       /* where new nodes stand */
    const char *prefix; /* of their names and of their values' */
    uint64_t position;  /* in the file, of what they come from */
    uint32_t serial;    /* numbers the names */
    uint64_t most;      /* nodes that the module may come to */
    /* Nodes that new ones stand for, the main one first: theirs is the name, and what a user is told
     * of. NULL while loading, where new nodes are part of the model. */
    const sdx_id *from;
    uint32_t from_count;
} sdx_build;

/* Version of ai.onnx that emitted nodes are of, whatever the model's: nodes carry their own. */
#define SDX_BUILD_OPSET 26

/* Writes the error and makes it stick. */
sdx_status sdx_build_fail(sdx_build *b, sdx_status code, const char *format, ...)
    SDX_PRINTF(3, 4);

/* One node with one output, of operator `op` of ai.onnx, or of fused.def if it is written
 * "sardonyx:Name". Inputs may be SDX_NONE (left out). */
sdx_id sdx_emit(sdx_build *b, const char *op, const sdx_attr *attrs, uint32_t attr_count,
                const sdx_id *in, uint32_t in_count);
/* The same with any number of outputs; SDX_NONE in `out` becomes a new value's id. */
void sdx_emit_many(sdx_build *b, const char *op, const sdx_attr *attrs, uint32_t attr_count,
                   const sdx_id *in, uint32_t in_count, sdx_id *out, uint32_t out_count);
/* A copy of a node that reads `in` (as many as the node does); fills `out` with its outputs. */
void sdx_emit_copy(sdx_build *b, const sdx_node *node, const sdx_id *in, sdx_id *out);

/* Output o of a node that is there already and has not asked for it so far. */
sdx_id sdx_build_add_output(sdx_build *b, sdx_id node, uint32_t o);

#define SDX_COUNT(array) ((uint32_t)(sizeof(array) / sizeof *(array)))
#define SDX_IDS(...) (const sdx_id[]){__VA_ARGS__}, SDX_COUNT(((const sdx_id[]){__VA_ARGS__}))
#define SDX_ATTRS(...) (const sdx_attr[]){__VA_ARGS__}, SDX_COUNT(((sdx_attr[]){__VA_ARGS__}))
/* SDX_EMIT(b, "Mul", x, y); SDX_EMIT_WITH(b, "Concat", SDX_ATTRS(sdx_a_int(b, "axis", 1)), x, y) */
#define SDX_EMIT(b, op, ...) sdx_emit(b, op, NULL, 0, SDX_IDS(__VA_ARGS__))
#define SDX_EMIT_WITH(b, op, attrs, ...) sdx_emit(b, op, attrs, SDX_IDS(__VA_ARGS__))

/* Attributes; arrays are copied. */
sdx_attr sdx_a_int(sdx_build *b, const char *name, int64_t value);
sdx_attr sdx_a_ints(sdx_build *b, const char *name, const int64_t *values, size_t count);
sdx_attr sdx_a_float(sdx_build *b, const char *name, float value);
sdx_attr sdx_a_text(sdx_build *b, const char *name, const char *text);
sdx_attr sdx_a_exprs(sdx_build *b, const char *name, const sdx_expr *exprs, size_t count);

/* Constants: a scalar of a float or integer type; a vector of int64. */
sdx_id sdx_build_number(sdx_build *b, sdx_dtype dtype, double value);
sdx_id sdx_build_ints(sdx_build *b, const int64_t *values, size_t count);
/* A constant of any type with elements in memory layout; they are copied. */
sdx_id sdx_build_tensor(sdx_build *b, sdx_dtype dtype, int32_t rank, const int64_t *dims,
                        const void *data);

/* What is known of a value; of SDX_NONE nothing is. */
const sdx_type *sdx_build_type(const sdx_build *b, sdx_id value);
static inline int32_t sdx_build_rank(const sdx_build *b, sdx_id value) {
    return sdx_build_type(b, value)->rank;
}
static inline sdx_dtype sdx_build_dtype(const sdx_build *b, sdx_id value) {
    return sdx_build_type(b, value)->dtype;
}
/* True when both have the same shape for every binding of the symbols. */
bool sdx_build_same_shape(const sdx_build *b, sdx_id a, sdx_id c);
/* Elements of a constant of integers; false when it is none, or has more than `capacity`. */
bool sdx_build_known(const sdx_build *b, sdx_id value, int64_t *out, size_t capacity,
                     size_t *count);

/* The shape of a value, or its dims [from, to), as an int64 vector: constant where it can be. */
sdx_id sdx_build_shape(sdx_build *b, sdx_id value);
sdx_id sdx_build_dims(sdx_build *b, sdx_id value, int32_t from, int32_t to);
/* A tensor of that shape, every element `number`. */
sdx_id sdx_build_fill(sdx_build *b, sdx_id shape, sdx_dtype dtype, double number);
/* `value` with the shape of `like`, which has as many elements. */
sdx_id sdx_build_reshape_like(sdx_build *b, sdx_id value, sdx_id like);
sdx_id sdx_build_reshape(sdx_build *b, sdx_id value, const int64_t *dims, size_t count);
/* Of lower rank, with ones in front up to that rank. */
sdx_id sdx_build_widen(sdx_build *b, sdx_id value, int32_t rank);
sdx_id sdx_build_transpose(sdx_build *b, sdx_id value, const int64_t *perm, int32_t rank);
/* ReduceSum that keeps the reduced dims. */
sdx_id sdx_build_sum(sdx_build *b, sdx_id value, const int64_t *axes, size_t count);
/* `value` itself if it is of that type, or if the type is not known (UNDEFINED). */
sdx_id sdx_build_cast(sdx_build *b, sdx_id value, sdx_dtype dtype);

/* Attributes of a node that is there already. */
const sdx_attr *sdx_node_attr(const sdx_node *node, const char *name, sdx_attr_kind kind);
int64_t sdx_node_int(const sdx_node *node, const char *name, int64_t fallback);
float sdx_node_float(const sdx_node *node, const char *name, float fallback);
bool sdx_node_text_is(const sdx_node *node, const char *name, const char *fallback,
                      const char *text);

#endif
