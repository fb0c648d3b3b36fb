/* op.h - what an operator is made of. An operator is one sdx_op_def in its family's file and one
 * line in ops.def. Its functions, in the order in which they are called:
 *
 *   prepare  once, while loading: attributes -> a parameter struct; checks them
 *   infer    types and shapes, and every check on shapes. Runs on symbolic dims while loading; and
 *            again on plain numbers during a run where a shape depends on data. May set scratch.
 *   pack     where there is one: once, while a program is made: brings constant inputs into the layout
 *            that the body wants
 *   run      the portable body. Trusts shapes and types, since infer checked them; checks index
 *            *values* itself.
 *   describe where there is one: after run, in a profile only: which way was taken, how much work
 *
 * docs/adding-an-operator.md walks through one. */
#ifndef SDX_OPS_OP_H
#define SDX_OPS_OP_H

#include "base/checked.h"
#include "base/dtype.h"
#include "base/kept.h"
#include "base/threads.h"
#include "base/value.h"
#include "graph/graph.h"

typedef struct sdx_prep sdx_prep;
typedef struct sdx_infer sdx_infer;
typedef struct sdx_pack sdx_pack;
typedef struct sdx_call sdx_call;

/* What a step has done, for a profile. */
typedef struct sdx_work {
    char way[64]; /* the kernel that was chosen: "winograd 4x4, avx2"; empty: there is one only */
    double flops; /* floating-point operations of the definition, whatever the way; 0: not told */
} sdx_work;

enum {
    SDX_OP_VIEW = 1,     /* output 0 is input 0's bytes under another shape: no copy needed */
    SDX_OP_IN_PLACE = 2, /* output 0 may share the memory of an input of its type and shape */
    SDX_OP_HEAP = 4,     /* makes its outputs itself (sdx_call_alloc, sdx_call_set); its infer is
                            not called again at run time, so its body checks what it needs */
    SDX_OP_RANDOM = 8,   /* never folded or merged */
    SDX_OP_SAME_TYPE = 16, /* all tensor inputs present must have one element type */
    SDX_OP_IN_PLACE_FIRST = 64, /* as SDX_OP_IN_PLACE, but input 0 only */
    SDX_OP_DATA_SHAPE = 32 /* an output's shape may be known to the body alone, which makes it */
};

/* A body, or another function of `definition` that steps alone call. A build for certain models has those of
 * operators that steps of their programs have; of the others it knows types and shapes. */
#define SDX_BODY(definition, function) (SDX_HAS(definition) ? (function) : NULL)

#define SDX_VARIADIC 0xffff
#define SDX_TYPE_SLOTS 8

typedef struct sdx_op_def {
    /* The first min_in inputs must be there; max_in and max_out: SDX_VARIADIC for any number. */
    uint16_t min_in, max_in, min_out, max_out;
    uint32_t flags;
    /* Element types that input i takes; the last non-zero entry serves all further inputs; all
     * zero: anything, sequences and optionals included. */
    sdx_dtypes in_types[SDX_TYPE_SLOTS];
    /* Bit i: input i, where it is there, must be a constant. For operators with a pack function; infer
     * then knows its dims. */
    uint32_t constants;
    size_t params_size;
    sdx_status (*prepare)(sdx_prep *prep); /* may be NULL */
    sdx_status (*infer)(sdx_infer *inf);
    sdx_status (*run)(sdx_call *call); /* NULL: this build lacks it (SDX_BODY) */
    sdx_status (*pack)(sdx_pack *pack); /* may be NULL */
    const char *const *lacks; /* NULL, or libraries that this build is without; NULL ends them */
    void (*describe)(const sdx_call *call, sdx_work *work); /* after run; may be NULL */
    const void *aux; /* what tells siblings with the same functions apart: a table, a function */
} sdx_op_def;

/* A line of ops.def. */
typedef struct sdx_op {
    const char *domain, *name; /* domain "" is ai.onnx */
    int first, last;           /* opset versions; last 0: to the newest */
    const sdx_op_def *def;
} sdx_op;

extern const sdx_op sdx_ops[];
extern const size_t sdx_ops_count;
/* NULL if there is none. */
const sdx_op *sdx_op_find(const char *domain, const char *name, int64_t version);
/* Operators that passes alone make (fused.def): no model file can name one. */
#define SDX_DOMAIN_FUSED "sardonyx"
const sdx_op *sdx_op_find_fused(const char *name);
/* The index-th of those that one of the two has found so far; NULL past the end. */
const sdx_op *sdx_op_found(size_t index);
/* Whether there is a body, which the caller is about to use; and whether any caller was. */
bool sdx_op_runs(const sdx_op *op);
bool sdx_op_has_run(const sdx_op *op);
/* What to say about an operator that is not there ("… is supported in versions 7 to 28"). */
void sdx_op_explain_missing(const char *domain, const char *name, int64_t version, char *buffer,
                            size_t size);
sdx_dtypes sdx_op_input_types(const sdx_op_def *def, uint32_t input); /* 0: anything */

/* ---- prepare ------------------------------------------------------------------------------- */

struct sdx_prep {
    const sdx_module *module;
    const sdx_node *node;
    const sdx_op_def *def;
    int64_t version;
    void *params;     /* zeroed, def->params_size bytes */
    sdx_arena *arena; /* for arrays that params point to; lives as long as the model */
    sdx_error *error;
    uint64_t seen;    /* bit i: attribute i was asked for (those left over are refused) */
};

/* Each fails if the attribute has another kind. `get` fills in the fallback where it is absent,
 * `need` fails. Arrays stay where they are (no copy) and are NULL/0 when absent. */
bool sdx_attr_has(sdx_prep *prep, const char *name);
sdx_status sdx_attr_get_int(sdx_prep *prep, const char *name, int64_t fallback, int64_t *out);
sdx_status sdx_attr_need_int(sdx_prep *prep, const char *name, int64_t *out);
sdx_status sdx_attr_get_bool(sdx_prep *prep, const char *name, bool fallback, bool *out);
sdx_status sdx_attr_get_float(sdx_prep *prep, const char *name, float fallback, float *out);
sdx_status sdx_attr_need_float(sdx_prep *prep, const char *name, float *out);
sdx_status sdx_attr_get_string(sdx_prep *prep, const char *name, const char *fallback,
                               const char **out); /* NUL-terminated */
sdx_status sdx_attr_get_ints(sdx_prep *prep, const char *name, const int64_t **out, size_t *count);
sdx_status sdx_attr_get_floats(sdx_prep *prep, const char *name, const float **out, size_t *count);
sdx_status sdx_attr_get_strings(sdx_prep *prep, const char *name, const sdx_string **out,
                                size_t *count);
/* Values that the attribute names. `written`: STRING or STRINGS, as the file must have it. */
sdx_status sdx_attr_get_values(sdx_prep *prep, const char *name, sdx_attr_kind written,
                               const sdx_id **out, size_t *count);
/* Expressions that a pass has put there. */
sdx_status sdx_attr_get_exprs(sdx_prep *prep, const char *name, const sdx_expr **out,
                              size_t *count);
sdx_status sdx_attr_get_tensor(sdx_prep *prep, const char *name, const sdx_const **out);
sdx_status sdx_attr_need_graph(sdx_prep *prep, const char *name, sdx_id *out);
sdx_status sdx_attr_get_dtype(sdx_prep *prep, const char *name, sdx_dtype fallback,
                              sdx_dtype *out);
/* One of a NULL-terminated list of words, as its index. */
sdx_status sdx_attr_get_choice(sdx_prep *prep, const char *name, int fallback,
                               const char *const *words, int *out);
/* Accepts the attribute without reading it (legacy ones such as consumed_inputs). */
void sdx_attr_ignore(sdx_prep *prep, const char *name);
sdx_status sdx_prep_fail(sdx_prep *prep, const char *format, ...) SDX_PRINTF(2, 3); /* BAD_MODEL */
sdx_status sdx_prep_unsupported(sdx_prep *prep, const char *format, ...) SDX_PRINTF(2, 3);
void *sdx_prep_array(sdx_prep *prep, size_t count, size_t size); /* NULL: out of memory */

/* ---- infer --------------------------------------------------------------------------------- */

typedef struct sdx_infer_in {
    bool present;
    sdx_type type;             /* kind TENSOR, SEQUENCE, …; rank -1 and unknown dims possible */
    const sdx_tensor *tensor;  /* at run time: the data; use sdx_infer_tensor */
    const sdx_const *constant; /* while loading: the initializer, where it is one */
    const sdx_expr *contents;  /* symbolic elements where known (while loading) */
    size_t content_count;
    sdx_id value;              /* SDX_NONE at run time */
} sdx_infer_in;

typedef struct sdx_infer_out {
    bool wanted;
    bool rank_known;
    sdx_type type; /* kind and dtype set by the rule; dims below */
    sdx_expr dims[SDX_MAX_RANK];
    const sdx_expr *contents;
    size_t content_count;
    uint8_t run_axis, join_axis; /* as in sdx_value_def */
    sdx_expr run_start;
} sdx_infer_out;

struct sdx_infer {
    const sdx_op_def *def;
    const void *params;
    int64_t version;
    uint32_t in_count, out_count; /* as written in the node, left-out ones included */
    const sdx_infer_in *in;
    sdx_infer_out *out;
    sdx_expr scratch; /* bytes; starts as 0 */
    sdx_expr_pool *pool; /* NULL at run time: all dims are constants then */
    sdx_module *module;  /* NULL at run time */
    sdx_id node;
    sdx_error *error;
};

static inline bool sdx_infer_present(const sdx_infer *inf, uint32_t i) {
    return i < inf->in_count && inf->in[i].present;
}
static inline bool sdx_infer_wanted(const sdx_infer *inf, uint32_t o) {
    return o < inf->out_count && inf->out[o].wanted;
}
/* Rank of input i; -1 unknown or absent. */
static inline int32_t sdx_infer_rank(const sdx_infer *inf, uint32_t i) {
    return sdx_infer_present(inf, i) ? inf->in[i].type.rank : -1;
}
static inline sdx_dtype sdx_infer_dtype(const sdx_infer *inf, uint32_t i) {
    return sdx_infer_present(inf, i) ? inf->in[i].type.dtype : SDX_DTYPE_UNDEFINED;
}
/* Dim of input i (axis within its rank); unknown if the rank is. */
sdx_expr sdx_infer_dim(const sdx_infer *inf, uint32_t i, int32_t axis);
/* Product of dims [from, to) of input i; unknown if any is. */
sdx_expr sdx_infer_product(const sdx_infer *inf, uint32_t i, int32_t from, int32_t to);

/* Elements of a small integer (or bool) tensor, symbolic or plain: copies at most capacity and
 * sets *count. False when not known now, or more than capacity. */
#define SDX_MAX_CONTENTS 224
bool sdx_infer_contents(const sdx_infer *inf, uint32_t i, sdx_expr *out, size_t capacity,
                        size_t *count);
/* The data itself when it is known now: constants while loading, any input at run time. */
const sdx_tensor *sdx_infer_tensor(const sdx_infer *inf, uint32_t i);

/* Outputs. Unwanted ones may be set too: ignored. */
void sdx_infer_set_dtype(sdx_infer *inf, uint32_t o, sdx_dtype dtype); /* kind becomes TENSOR */
/* Kind, dtype, inner as in `type`, for sequences and optionals (and tensors with shape). */
void sdx_infer_set_type(sdx_infer *inf, uint32_t o, const sdx_type *type);
/* rank -1: unknown. dims may hold unknown ones. Fails past SDX_MAX_RANK. */
sdx_status sdx_infer_set_shape(sdx_infer *inf, uint32_t o, int32_t rank, const sdx_expr *dims);
/* Output o has dtype and shape (and contents, when same_contents) of input i. */
sdx_status sdx_infer_copy(sdx_infer *inf, uint32_t o, uint32_t i, bool same_contents);
void sdx_infer_set_contents(sdx_infer *inf, uint32_t o, const sdx_expr *contents, size_t count);

/* Output o is input 0 from `start` on along the axis, for its own length: where nothing lies before
 * that axis, no copy is needed. */
void sdx_infer_set_run(sdx_infer *inf, uint32_t o, int32_t axis, sdx_expr start);
/* Output 0 is the inputs one after the other along the axis: they may be written there at once. The
 * body must leave an input alone that lies at its place already. */
void sdx_infer_set_join(sdx_infer *inf, int32_t axis);

/* Checks. Symbolic dims that might differ are remembered and checked when bound. */
sdx_status sdx_infer_require_equal(sdx_infer *inf, sdx_expr a, sdx_expr b, const char *what);
/* dim must be 1 or equal to `whole`. */
sdx_status sdx_infer_require_broadcast(sdx_infer *inf, sdx_expr dim, sdx_expr whole);
sdx_status sdx_infer_require_rank(sdx_infer *inf, uint32_t i, int32_t rank); /* unknown passes */
sdx_status sdx_infer_require_min_rank(sdx_infer *inf, uint32_t i, int32_t rank);
/* axis in [-rank, rank) -> [0, rank); fails naming both. */
sdx_status sdx_infer_axis(sdx_infer *inf, int64_t axis, int32_t rank, int32_t *out);
/* Size of a dim that two are broadcast to; `what` names them in the error. Unknown where it cannot
 * be told yet. */
sdx_status sdx_infer_broadcast_dim(sdx_infer *inf, sdx_expr a, sdx_expr b, const char *what,
                                   sdx_expr *out);
/* Shape of the broadcast of inputs [first, first+n): out_rank -1 if any rank is unknown. */
sdx_status sdx_infer_broadcast(sdx_infer *inf, uint32_t first, uint32_t n, int32_t *out_rank,
                               sdx_expr out_dims[SDX_MAX_RANK]);
sdx_status sdx_infer_fail(sdx_infer *inf, const char *format, ...) SDX_PRINTF(2, 3);
/* Infers a subgraph with these input types; fills out_types[output_count]. While loading only. */
sdx_status sdx_infer_subgraph(sdx_infer *inf, sdx_id graph, const sdx_type *in_types,
                              uint32_t in_count, const sdx_type **out_types);

/* Symbolic arithmetic in the rule's pool. */
static inline sdx_expr sdx_inf_add(sdx_infer *f, sdx_expr a, sdx_expr b) {
    return sdx_expr_add(f->pool, a, b);
}
static inline sdx_expr sdx_inf_sub(sdx_infer *f, sdx_expr a, sdx_expr b) {
    return sdx_expr_sub(f->pool, a, b);
}
static inline sdx_expr sdx_inf_mul(sdx_infer *f, sdx_expr a, sdx_expr b) {
    return sdx_expr_mul(f->pool, a, b);
}

/* ---- pack ---------------------------------------------------------------------------------- */

/* What is packed must be usable where it lies in a mapped file, by any process: it consists of pieces,
 * arrays of numbers without a pointer, asked for in an order and in sizes that follow from shapes,
 * parameters and the instruction set alone. What refers to them, a struct for run, is made anew each
 * time. Whoever changes the bytes of a piece raises this number: files packed with another are
 * packed again, or refused if they have lost the plain weights. */
#define SDX_PACK_LAYOUT 3

#define SDX_PACK_PIECES 8 /* of one node, at most */
typedef struct sdx_pack_bytes {
    const void *data;
    size_t size;
} sdx_pack_bytes;

/* The pieces of a node, each from a multiple of a cache line on. */
typedef struct sdx_packed_blob {
    const uint8_t *data;
    size_t size;
    uint32_t way;
} sdx_packed_blob;

struct sdx_pack {
    const sdx_module *module;
    const sdx_node *node;
    const sdx_op_def *def;
    const void *params;
    int optimize;      /* level of the program */
    sdx_arena *arena;  /* of the program; structs and pieces are taken from it */
    sdx_arena *temp;   /* gone after the call */
    sdx_pool *threads; /* may be NULL */
    struct sdx_pages *pages; /* of the arena's block, asked for as pieces are taken; or NULL (base/pages.h) */
    const struct sdx_source_end *read; /* to be told of parts of large constants that are packed, so
                                          that they are not there twice (kernels/panels.h) */
    const sdx_packed_blob *stored; /* what a packed file has for the node and the set; or NULL */
    bool measuring;    /* only `bytes` is asked for: pieces have no memory, and count as filled */
    bool clear;        /* pieces are zero where nobody writes: files must not hold chance */
    uint32_t way;      /* set before the first piece: which of several layouts its bytes have */
    bool filled;       /* by sdx_pack_piece: pieces come from a packed file, ready and read-only */
    uint32_t taken;    /* result, bit i: input i, a constant, is not read by run any more; its slot
                          then has a shape but no data */
    void *packed;      /* result: handed to run as call->packed */
    sdx_pack_bytes pieces[SDX_PACK_PIECES];
    uint32_t piece_count;
    size_t bytes;      /* of the pieces that were made here; measuring: with structs and alignment */
    size_t used;       /* of stored->data */
    sdx_error *error;
};

/* Input i where it is a constant, else NULL. Defaults of inputs are none: a caller may replace them. */
const sdx_const *sdx_pack_constant(const sdx_pack *pack, uint32_t i);
/* Its elements as floats, of any alignment: in the file where they lie ready there, else decoded, until
 * the call ends. */
sdx_status sdx_pack_floats(sdx_pack *pack, uint32_t i, const void **out);
/* Two inputs at once, the second of which may be left out: then *bias is NULL. */
sdx_status sdx_pack_weights(sdx_pack *pack, uint32_t weights_input, uint32_t bias_input, const void **weights,
                            const void **bias);
/* A cleared struct for run that lives as long as the program; may point to pieces. NULL: error is set. */
void *sdx_pack_struct(sdx_pack *pack, size_t size);
/* The next piece: count elements, aligned to a cache line, not cleared; the caller fills it unless
 * pack->filled. NULL: error is set. */
void *sdx_pack_piece(sdx_pack *pack, sdx_dtype dtype, size_t count);

/* ---- run ----------------------------------------------------------------------------------- */

/* What the executor offers to a body. */
typedef struct sdx_host {
    sdx_pool *pool;
    const sdx_allocator *heap; /* run-time heap, bounded by the limits */
    uint64_t max_rounds;       /* of a Loop; UINT64_MAX: none */
    /* Runs a subgraph. out receives retained values (may borrow; sdx_value_keep before storing). */
    sdx_status (*run_graph)(struct sdx_host *host, sdx_id graph, sdx_value *const *in,
                            uint32_t in_count, sdx_value **out, uint32_t out_count,
                            sdx_error *error);
    bool (*cancelled)(struct sdx_host *host);
    /* Bytes for string elements; live until the next run. */
    char *(*text)(struct sdx_host *host, size_t size);
    uint64_t (*random_seed)(struct sdx_host *host, sdx_id node); /* differs from run to run */
} sdx_host;

struct sdx_call {
    const sdx_op_def *def;
    const void *params;
    int64_t version;
    uint32_t in_count, out_count;
    sdx_value **in;  /* NULL: left out */
    sdx_value **out; /* slots; NULL: not wanted, or not made yet (shape unknown or SDX_OP_HEAP) */
    const bool *out_wanted;
    const void *packed; /* by pack; NULL where it made nothing */
    void *scratch;   /* at least what infer asked for, aligned to a cache line */
    size_t scratch_bytes;
    sdx_host *host;
    const sdx_node *node;
    sdx_error *error;
};

/* Tensor of input i; NULL when left out (or not a tensor). */
static inline const sdx_tensor *sdx_in(const sdx_call *call, uint32_t i) {
    return i < call->in_count && call->in[i] && call->in[i]->kind == SDX_KIND_TENSOR
               ? &call->in[i]->tensor
               : NULL;
}
/* Tensor of output o; NULL when not wanted. Its shape is what infer said. */
static inline sdx_tensor *sdx_out(const sdx_call *call, uint32_t o) {
    return o < call->out_count && call->out[o] ? &call->out[o]->tensor : NULL;
}
static inline bool sdx_call_wanted(const sdx_call *call, uint32_t o) {
    return o < call->out_count && call->out_wanted[o];
}
/* Makes output o with a shape that only the body knows. *out is NULL when it is not wanted. */
sdx_status sdx_call_alloc(sdx_call *call, uint32_t o, sdx_dtype dtype, int32_t rank,
                          const int64_t *dims, sdx_tensor **out);
/* Output o becomes this value (retained or copied as needed; sequences, optionals). */
sdx_status sdx_call_set(sdx_call *call, uint32_t o, sdx_value *value);
/* As sdx_call_set, but takes over the caller's reference. */
sdx_status sdx_call_give(sdx_call *call, uint32_t o, sdx_value *value);
/* Memory for the length of the call beyond what scratch gives; NULL: error is set. */
void *sdx_call_temp(sdx_call *call, size_t count, size_t size);
void sdx_call_temp_free(sdx_call *call, void *memory);
/* BAD_INPUT, with the node named. */
sdx_status sdx_call_fail(sdx_call *call, const char *format, ...) SDX_PRINTF(2, 3);
sdx_status sdx_call_fail_with(sdx_call *call, sdx_status code, const char *format, ...)
    SDX_PRINTF(3, 4);
/* index in [-size, size) -> [0, size); fails naming index, size and `what`. */
sdx_status sdx_call_index(sdx_call *call, int64_t index, int64_t size, const char *what,
                          int64_t *out);
static inline void sdx_call_parallel(sdx_call *call, size_t count, size_t grain,
                                     sdx_loop_body body, void *arg) {
    sdx_parallel_for(call->host->pool, count, grain, body, arg);
}

/* ---- common helpers (ops/common.c) ------------------------------------------------------------ */

/* Row-major strides in elements; a dim that is broadcast against out gets stride 0. */
void sdx_strides(const sdx_tensor *tensor, int64_t strides[SDX_MAX_RANK]);
void sdx_broadcast_strides(const sdx_tensor *tensor, const sdx_tensor *out,
                           int64_t strides[SDX_MAX_RANK]);
/* Element i of an int32/int64 (or any integer, bool) tensor. */
int64_t sdx_tensor_int(const sdx_tensor *tensor, size_t i);
double sdx_tensor_double(const sdx_tensor *tensor, size_t i); /* any real numeric type */
size_t sdx_dims_product(const int64_t *dims, int32_t from, int32_t to);
void sdx_copy_elements(const sdx_tensor *from, sdx_tensor *to); /* same dtype and count */

#endif
