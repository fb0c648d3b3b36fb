/* sardonyx.h - the public interface of libsardonyx, an ONNX engine.
 *
 * Objects, in the order in which they are made:
 *   sdx_model    what the file says; immutable, may be shared by threads
 *   sdx_program  the model lowered to steps; immutable, may be shared by threads
 *   sdx_context  one run at a time: memory, bindings, results; one per thread
 *
 * Every fallible call returns sdx_status and fills the caller's sdx_error (may be NULL).
 * Option structs begin with their own size: zero the struct, set struct_size, set what you need.
 * Compiles alone as C99 and as C++.
 */
#ifndef SARDONYX_H
#define SARDONYX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SDX_API __attribute__((visibility("default")))
#else
#define SDX_API
#endif

#define SDX_VERSION_STRING "0.1.0"

/* ---- status and errors ------------------------------------------------------------------- */

typedef enum sdx_status {
    SDX_STATUS_OK = 0,
    SDX_STATUS_INVALID_ARGUMENT, /* the caller's mistake: a NULL, a bad index, a bad option */
    SDX_STATUS_NO_MEMORY,
    SDX_STATUS_IO,          /* a file could not be opened, read or written */
    SDX_STATUS_BAD_MODEL,   /* the model file breaks the format or its own rules */
    SDX_STATUS_BAD_INPUT,   /* a tensor handed in, or an index computed from one, is wrong */
    SDX_STATUS_UNSUPPORTED, /* well-formed, but this library cannot do it */
    SDX_STATUS_LIMIT,       /* a limit of sdx_limits would be passed */
    SDX_STATUS_CANCELLED,
    SDX_STATUS_INTERNAL     /* a mistake of this library */
} sdx_status;

#define SDX_NO_POSITION UINT64_MAX

/* The first error wins: a struct that already carries one is not overwritten. */
typedef struct sdx_error {
    sdx_status code;
    uint64_t position; /* byte in the model file, or SDX_NO_POSITION */
    char node[128];    /* name of the node concerned, "" if none */
    char op[64];       /* its operator, "" if none */
    char message[768]; /* one sentence, complete in itself, names node and operator too */
} sdx_error;

SDX_API const char *sdx_status_name(sdx_status status);
SDX_API void sdx_error_clear(sdx_error *error);
SDX_API const char *sdx_version(void);

/* ---- tensors ----------------------------------------------------------------------------- */

/* The numbers are those of ONNX's TensorProto.DataType. */
typedef enum sdx_dtype {
    SDX_DTYPE_UNDEFINED = 0,
    SDX_DTYPE_FLOAT32 = 1,
    SDX_DTYPE_UINT8 = 2,
    SDX_DTYPE_INT8 = 3,
    SDX_DTYPE_UINT16 = 4,
    SDX_DTYPE_INT16 = 5,
    SDX_DTYPE_INT32 = 6,
    SDX_DTYPE_INT64 = 7,
    SDX_DTYPE_STRING = 8,
    SDX_DTYPE_BOOL = 9,
    SDX_DTYPE_FLOAT16 = 10,
    SDX_DTYPE_FLOAT64 = 11,
    SDX_DTYPE_UINT32 = 12,
    SDX_DTYPE_UINT64 = 13,
    SDX_DTYPE_COMPLEX64 = 14,
    SDX_DTYPE_COMPLEX128 = 15,
    SDX_DTYPE_BFLOAT16 = 16,
    SDX_DTYPE_FLOAT8E4M3FN = 17,
    SDX_DTYPE_FLOAT8E4M3FNUZ = 18,
    SDX_DTYPE_FLOAT8E5M2 = 19,
    SDX_DTYPE_FLOAT8E5M2FNUZ = 20,
    SDX_DTYPE_UINT4 = 21,
    SDX_DTYPE_INT4 = 22,
    SDX_DTYPE_FLOAT4E2M1 = 23,
    SDX_DTYPE_FLOAT8E8M0 = 24,
    SDX_DTYPE_UINT2 = 25,
    SDX_DTYPE_INT2 = 26,
    SDX_DTYPE_FLOAT6E2M3 = 27,
    SDX_DTYPE_FLOAT6E3M2 = 28,
    SDX_DTYPE_COUNT = 29
} sdx_dtype;

/* Bytes of one element in memory. Types below a byte take one byte each in memory (sign-extended
 * for int4 and int2); only files pack them. 0 for SDX_DTYPE_UNDEFINED. */
SDX_API size_t sdx_dtype_size(sdx_dtype dtype);
SDX_API const char *sdx_dtype_name(sdx_dtype dtype); /* "float32", "int4", … */

#define SDX_MAX_RANK 16

/* One element of a string tensor: bytes, not NUL-terminated. */
typedef struct sdx_string {
    const char *data;
    size_t size;
} sdx_string;

/* A dense row-major tensor. Plain data: it owns nothing. */
typedef struct sdx_tensor {
    sdx_dtype dtype;
    int32_t rank;
    int64_t dims[SDX_MAX_RANK];
    size_t count; /* product of dims */
    void *data;   /* count * sdx_dtype_size(dtype) bytes; may be NULL when count is 0 */
} sdx_tensor;

/* Fills *tensor, computing count; fails on a bad dtype, rank, negative dim or overflow. */
SDX_API sdx_status sdx_tensor_init(sdx_tensor *tensor, sdx_dtype dtype, int32_t rank,
                                   const int64_t *dims, void *data, sdx_error *error);

/* Element i as a number, whatever the type; NaN for strings, the real part for complex types. */
SDX_API double sdx_element_as_double(const sdx_tensor *tensor, size_t index);

/* ---- what the caller can supply ------------------------------------------------------------ */

typedef struct sdx_allocator {
    void *user;
    void *(*allocate)(void *user, size_t size, size_t alignment); /* NULL when out of memory */
    void (*release)(void *user, void *memory, size_t size);
} sdx_allocator;

typedef struct sdx_reader {
    void *user;
    uint64_t size; /* of the whole model, bytes */
    /* Fills buffer with exactly size bytes from offset; false on failure. */
    bool (*read)(void *user, uint64_t offset, void *buffer, size_t size);
} sdx_reader;

typedef enum sdx_log_level { SDX_LOG_WARNING, SDX_LOG_INFO, SDX_LOG_DEBUG } sdx_log_level;

typedef struct sdx_log {
    void *user;
    void (*write)(void *user, sdx_log_level level, const char *message);
} sdx_log;

/* A field of 0 means the default that stands behind it. */
typedef struct sdx_limits {
    size_t struct_size;
    uint64_t max_memory;  /* bytes that one model, program, context, or image that is decoded (with its
                             codec) may hold; what the machine or the control group has left, if memory
                             is not an allocator's of the caller's. UINT64_MAX: none */
    uint64_t max_nodes;   /* after functions are inlined; 4 million */
    uint32_t max_depth;   /* nesting of subgraphs, functions, messages; 64 */
    uint64_t max_rounds;  /* of one Loop or Scan; none */
    uint64_t max_time_ms; /* milliseconds of one load, of making one program, of one run; none */
    uint64_t max_pixels;  /* of an image, refused before it is decoded; 2^28 */
} sdx_limits;

/* ---- values: tensors, sequences, optionals, maps ---------------------------------------------- */

typedef enum sdx_kind {
    SDX_KIND_NONE = 0, /* an optional without content, or no value at all */
    SDX_KIND_TENSOR,
    SDX_KIND_SEQUENCE,
    SDX_KIND_OPTIONAL, /* in types only: a value of optional type is its content or NONE */
    SDX_KIND_MAP,      /* keys are a rank-1 tensor, values a tensor or a sequence */
    SDX_KIND_SPARSE    /* in types only */
} sdx_kind;

/* Reference-counted; made and released by the caller, or borrowed from a context. */
typedef struct sdx_value sdx_value;

SDX_API void sdx_value_release(sdx_value *value);
SDX_API sdx_value *sdx_value_retain(sdx_value *value);
SDX_API sdx_kind sdx_value_kind(const sdx_value *value);
/* A new tensor with memory of its own (aligned to 64 bytes); copies data unless it is NULL. */
SDX_API sdx_status sdx_value_new_tensor(const sdx_allocator *allocator, const sdx_tensor *like,
                                        sdx_value **out, sdx_error *error);
/* Elements are retained. */
SDX_API sdx_status sdx_value_new_sequence(const sdx_allocator *allocator, sdx_value *const *items,
                                          size_t count, sdx_value **out, sdx_error *error);
/* keys: a rank-1 tensor of an integer type or strings. values: as many, a rank-1 tensor or a
 * sequence; a sequence of scalars of one type becomes a tensor. Both are retained. */
SDX_API sdx_status sdx_value_new_map(const sdx_allocator *allocator, sdx_value *keys,
                                     sdx_value *values, sdx_value **out, sdx_error *error);
SDX_API const sdx_tensor *sdx_value_tensor(const sdx_value *value); /* NULL unless a tensor */
SDX_API size_t sdx_value_count(const sdx_value *value);              /* items of a sequence */
SDX_API sdx_value *sdx_value_item(const sdx_value *value, size_t index); /* borrowed */
SDX_API const sdx_value *sdx_value_map_keys(const sdx_value *value);
SDX_API const sdx_value *sdx_value_map_values(const sdx_value *value);

/* Files of tensors. `.pb` holds a TensorProto, SequenceProto or OptionalProto: `kind` says which. */
SDX_API sdx_status sdx_value_read_npy(const char *path, const sdx_allocator *allocator,
                                      sdx_value **out, sdx_error *error);
SDX_API sdx_status sdx_value_write_npy(const char *path, const sdx_tensor *tensor,
                                       sdx_error *error);
SDX_API sdx_status sdx_value_read_pb(const char *path, sdx_kind kind,
                                     const sdx_allocator *allocator, sdx_value **out,
                                     sdx_error *error);
SDX_API sdx_status sdx_value_write_pb(const char *path, const sdx_value *value, const char *name,
                                      sdx_error *error);

/* Every file that this library writes appears whole or not at all, whatever fails or ends the process: the
 * file that was there stays until then. The same for a caller's bytes, which are on the device on return. */
SDX_API sdx_status sdx_replace_file(const char *path, const void *bytes, size_t size,
                                    sdx_error *error);

/* ---- model ------------------------------------------------------------------------------------- */

typedef struct sdx_model sdx_model;

enum {
    SDX_LOAD_KEEP_UNSUPPORTED = 1, /* load although operators are missing; see sdx_model_problem */
    SDX_LOAD_COPY = 2,             /* read the file into memory in place of mapping it */
    SDX_LOAD_VERIFY = 4            /* of a packed file: compare all data with their digests too */
};

typedef struct sdx_load_options {
    size_t struct_size;
    uint32_t flags;
    const sdx_allocator *allocator; /* NULL: malloc */
    const sdx_limits *limits;       /* NULL: defaults */
    const sdx_log *log;             /* NULL: silent */
    /* Folder that external data must lie beneath. NULL: the model's own folder for a file, and no
     * external data at all for a model from memory or a reader. */
    const char *external_root;
} sdx_load_options;

/* A model is an ONNX file or one that sdx_model_pack_file wrote: the first bytes tell. */
SDX_API sdx_status sdx_model_load_file(const char *path, const sdx_load_options *options,
                                       sdx_model **out, sdx_error *error);
/* The bytes must stay valid and unchanged until the model is released. */
SDX_API sdx_status sdx_model_load_memory(const void *bytes, size_t size,
                                         const sdx_load_options *options, sdx_model **out,
                                         sdx_error *error);
SDX_API sdx_status sdx_model_load_reader(const sdx_reader *reader, const sdx_load_options *options,
                                         sdx_model **out, sdx_error *error);
SDX_API void sdx_model_release(sdx_model *model);

typedef struct sdx_model_info {
    size_t struct_size;
    int64_t ir_version;
    int64_t model_version;
    const char *producer_name, *producer_version, *domain, *graph_name, *doc;
    size_t opset_count, metadata_count, symbol_count;
    size_t input_count, output_count;
    size_t node_count, value_count, graph_count, function_count; /* over all graphs */
    size_t constant_count;
    uint64_t constant_bytes; /* in the memory layout */
    uint64_t file_bytes;     /* model file plus external data that was mapped */
    size_t problem_count;
} sdx_model_info;

SDX_API void sdx_model_get_info(const sdx_model *model, sdx_model_info *info);
SDX_API sdx_status sdx_model_opset(const sdx_model *model, size_t index, const char **domain,
                                   int64_t *version);
SDX_API sdx_status sdx_model_metadata(const sdx_model *model, size_t index, const char **key,
                                      const char **value);
/* The value of that key, NULL where the model has no such key. */
SDX_API const char *sdx_model_metadata_value(const sdx_model *model, const char *key);
#define SDX_METADATA_PRESET "sardonyx.preset" /* words for sdx_image_preset_set */
#define SDX_METADATA_LABELS "sardonyx.labels" /* names of the classes, one a line; or "imagenet" */
/* The index-th unsupported thing of the model; each is a complete sdx_error. */
SDX_API const sdx_error *sdx_model_problem(const sdx_model *model, size_t index);
/* Name of the index-th symbol that the inputs' shapes leave open ("batch", "height", …). */
SDX_API const char *sdx_model_symbol(const sdx_model *model, size_t index);

#define SDX_NO_INDEX UINT32_MAX

/* Strings and arrays belong to the model and live as long as it. */
typedef struct sdx_value_info {
    size_t struct_size;
    const char *name;
    sdx_kind kind;
    sdx_dtype dtype;      /* of the element, also for sequences and optionals */
    int32_t rank;         /* -1: not known before the run, or no tensor */
    int64_t dims[SDX_MAX_RANK]; /* -1 where it is symbolic or depends on data */
    uint32_t producer;    /* node index, or SDX_NO_INDEX for inputs and constants */
    uint32_t graph;       /* the graph it belongs to; 0 is the main graph */
    bool is_constant, is_input, is_output, has_default;
    const void *data; /* of a constant or default whose bytes lie ready in memory layout, or NULL */
    bool is_contradicted; /* the file declares a shape that the operator cannot make; the latter counts */
} sdx_value_info;

typedef struct sdx_node_info {
    size_t struct_size;
    const char *name, *op, *domain;
    int64_t version;        /* of the domain's opset that the node is read by */
    uint32_t graph;
    size_t input_count, output_count, attribute_count;
    const uint32_t *inputs, *outputs; /* value indices; SDX_NO_INDEX where left out */
    bool supported;
} sdx_node_info;

SDX_API sdx_status sdx_model_get_value(const sdx_model *model, size_t index, sdx_value_info *info);
SDX_API sdx_status sdx_model_get_node(const sdx_model *model, size_t index, sdx_node_info *info);
/* A value's type as text, "float32[batch,3,224,224]" or "sequence(int64[?])", and one of its dims,
 * "batch*2"; "?" stands for what depends on data. Written into buffer, cut off where it is full
 * (always terminated unless size is 0); returns the length it needs, 0 for a bad index. */
SDX_API size_t sdx_model_type_text(const sdx_model *model, size_t value, char *buffer,
                                   size_t size);
/* The same for what the file declares; 0 where it declares no shape. */
SDX_API size_t sdx_model_declared_text(const sdx_model *model, size_t value, char *buffer,
                                       size_t size);
SDX_API size_t sdx_model_dim_text(const sdx_model *model, size_t value, int32_t axis, char *buffer,
                                  size_t size);
/* Attribute as text ("kernel_shape=[3,3]"), written into buffer; returns the length it needs. */
SDX_API size_t sdx_model_attribute_text(const sdx_model *model, size_t node, size_t attribute,
                                        char *buffer, size_t size);
/* Value index of the main graph's index-th input or output. */
SDX_API uint32_t sdx_model_input(const sdx_model *model, size_t index);
SDX_API uint32_t sdx_model_output(const sdx_model *model, size_t index);

/* A size for a symbol, by name. */
typedef struct sdx_binding {
    const char *name;
    int64_t value;
} sdx_binding;

/* The shapes of all values for one choice of sizes. */
typedef struct sdx_shapes sdx_shapes;

/* Symbols that no binding names stay open; a name that is no symbol, or a negative size, is an
 * error. The model must outlive the shapes. */
SDX_API sdx_status sdx_shapes_create(const sdx_model *model, const sdx_binding *bindings,
                                     size_t binding_count, sdx_shapes **out, sdx_error *error);
SDX_API void sdx_shapes_release(sdx_shapes *shapes);
/* rank and dims of a value: -1 where open, dependent on data, or impossible for these sizes. */
SDX_API sdx_status sdx_shapes_get(const sdx_shapes *shapes, size_t value, int32_t *rank,
                                  int64_t dims[SDX_MAX_RANK]);

/* ---- program ---------------------------------------------------------------------------------- */

typedef struct sdx_program sdx_program;

enum {
    SDX_MEMORY_NO_IN_PLACE = 1, /* elementwise steps do not write over their input */
    SDX_MEMORY_NO_VIEWS = 2,    /* Reshape, Squeeze, Slice, Split and the like copy */
    SDX_MEMORY_NO_CONCAT = 4,   /* the inputs of Concat are not written where it wants them */
    SDX_MEMORY_KEEP_ORDER = 8,  /* steps run in the order of the file */
    SDX_MEMORY_DESCRIBE = 16    /* no saving: keep what sdx_program_buffer_text tells */
};

enum {
    SDX_KERNELS_NO_WINOGRAD = 1 /* 3x3 convolutions multiply as they are written: more exact, slower */
};

typedef struct sdx_program_options {
    size_t struct_size;
    const sdx_allocator *allocator;
    const sdx_limits *limits;
    int optimize; /* 0 none … 3 everything; values outside are refused */
    uint32_t memory;      /* SDX_MEMORY_*: savings to go without; 0: all are made */
    const char *strategy; /* of placing buffers in the arena; NULL: "best" */
    /* Sizes that never change: a program for these alone, which may need less memory. */
    const sdx_binding *fixed;
    size_t fixed_count;
    /* Sizes to plan for; a run may have others. */
    const sdx_binding *expected;
    size_t expected_count;
    uint32_t kernels; /* SDX_KERNELS_*: what to go without; 0: all that the level allows */
    /* A batch whose samples do not touch one another is run this many at a time, with the results and in
     * the memory of so few; 0: as many as suit the machine's caches, SDX_SLICE_OFF: never. Threads of a context
     * share them out where there are enough, and each runs its own. */
    int64_t slice;
    uint32_t threads; /* that pack weights while the program is made; 0: as sdx_context_options has it */
} sdx_program_options;

#define SDX_SLICE_OFF (-1)

/* The model must outlive the program. */
SDX_API sdx_status sdx_program_create(const sdx_model *model, const sdx_program_options *options,
                                      sdx_program **out, sdx_error *error);
SDX_API void sdx_program_release(sdx_program *program);
SDX_API size_t sdx_program_step_count(const sdx_program *program);
/* The node that a step of the main graph runs, in the order of running; SDX_NO_INDEX past the end.
 * Of several nodes that became one step, the one that does most of the work. */
SDX_API uint32_t sdx_program_step_node(const sdx_program *program, size_t step);

/* The graph that is run, once passes have rewritten the model's: its nodes in order, those of subgraphs
 * behind those of the main graph. Values keep the model's indices; new ones come after. */
typedef struct sdx_program_node {
    size_t struct_size;
    const char *name, *op, *domain; /* the domain "sardonyx": an operator that no file can name */
    uint32_t graph;
    size_t input_count, output_count, attribute_count, origin_count;
    const uint32_t *inputs, *outputs; /* values of the program; SDX_NO_INDEX where left out */
    const uint32_t *origins; /* nodes of the model that it stands for, the main one first */
} sdx_program_node;
SDX_API size_t sdx_program_node_count(const sdx_program *program);
SDX_API sdx_status sdx_program_get_node(const sdx_program *program, size_t index,
                                        sdx_program_node *info);
/* NULL for a bad index. */
SDX_API const char *sdx_program_value_name(const sdx_program *program, uint32_t value);
SDX_API bool sdx_program_value_is_constant(const sdx_program *program, uint32_t value);
/* As sdx_model_type_text and sdx_model_attribute_text. */
SDX_API size_t sdx_program_type_text(const sdx_program *program, uint32_t value, char *buffer,
                                     size_t size);
SDX_API size_t sdx_program_attribute_text(const sdx_program *program, size_t node,
                                          size_t attribute, char *buffer, size_t size);

/* The passes, in the order of running, and what they did to this program. */
typedef struct sdx_pass_info {
    size_t struct_size;
    const char *name, *summary;
    int level;        /* lowest optimisation level that it runs at */
    uint32_t changes; /* things that it changed */
} sdx_pass_info;
SDX_API size_t sdx_program_pass_count(const sdx_program *program);
SDX_API sdx_status sdx_program_get_pass(const sdx_program *program, size_t index,
                                        sdx_pass_info *info);

/* The arena is divided into buffers, each live from one step to another. */
typedef struct sdx_buffer_info {
    size_t struct_size;
    const char *name;  /* of the value; of the node, for scratch */
    uint32_t value;    /* the value that gives the buffer its size; SDX_NO_INDEX: scratch, or a
                        * value that the model does not have */
    uint32_t node;     /* that makes the value or uses the scratch */
    uint32_t first_step, last_step; /* both included; the latter may be one past the end: an output */
    size_t value_count; /* values that live in it, one after the other or side by side */
    bool is_scratch;
} sdx_buffer_info;
SDX_API size_t sdx_program_buffer_count(const sdx_program *program);
SDX_API sdx_status sdx_program_get_buffer(const sdx_program *program, size_t index,
                                          sdx_buffer_info *info);
typedef enum sdx_buffer_fact { SDX_BUFFER_SIZE, SDX_BUFFER_OFFSET } sdx_buffer_fact;
/* The size or offset as an expression of the symbols, "batch*1605632", for programs made with
 * SDX_MEMORY_DESCRIBE; "?" where it would be too long. Returns the length it needs. */
SDX_API size_t sdx_program_buffer_text(const sdx_program *program, size_t index,
                                       sdx_buffer_fact fact, char *buffer, size_t size);
/* Arrangements of the buffers that the program has: one, or a few where no single one is good for all
 * sizes. Binding takes the one that needs least; offsets as expressions are those of the first. */
SDX_API size_t sdx_program_layout_count(const sdx_program *program);

/* The order in which steps run, chosen for the sizes that the program plans for. */
typedef struct sdx_program_order {
    size_t struct_size;
    bool changed;      /* from the order of the file */
    bool proved;       /* no order needs less */
    uint64_t given;    /* most bytes live at once in the order of the file … */
    uint64_t found;    /* … in the one chosen … */
    uint64_t at_least; /* … and in any; pieces below a thousandth of the largest are left out */
} sdx_program_order;
SDX_API void sdx_program_get_order(const sdx_program *program, sdx_program_order *order);

/* Whether batches are run in slices: `symbol` counts their samples, or is NULL, and `reason` says why not:
 * "node 'pool' (ReduceMean): it reduces the samples to one". */
typedef struct sdx_slice_info {
    size_t struct_size;
    const char *symbol;
    int64_t size;       /* as in sdx_program_options; what 0 came to is in sdx_memory_info */
    const char *reason;
    uint32_t node;      /* of the model, that the reason is about; SDX_NO_INDEX: none */
} sdx_slice_info;
SDX_API void sdx_program_get_slice(const sdx_program *program, sdx_slice_info *info);

/* ---- packed files -------------------------------------------------------------------------------- */

enum {
    SDX_PACK_PLAIN = 1, /* keep the weights as they were, too: other machines can then pack them again */
    SDX_PACK_HALF = 2   /* keep them in half precision alone; they are widened and packed when loaded */
};

/* An entry of a model's metadata. */
typedef struct sdx_metadata {
    const char *key, *value;
} sdx_metadata;

typedef struct sdx_pack_options {
    size_t struct_size;
    uint32_t flags;          /* SDX_PACK_* */
    const char *const *sets; /* instruction sets to pack weights for, "scalar", "avx2", "avx512", "neon", of
                              * those that this machine runs; none: the one that runs here */
    size_t set_count;
    const sdx_metadata *metadata; /* added to the model's; replaces entries of the same key */
    size_t metadata_count;
} sdx_pack_options;

/* Writes the program that sdx_program_create would make: the graph after the passes, the plan, and the
 * weights in the layout of the kernels. Sizes that the options fix are fixed in the file. A model loaded
 * from it keeps these decisions: optimisation level and fixed sizes are the file's. The file appears
 * under its name only when it is whole. */
SDX_API sdx_status sdx_model_pack_file(const sdx_model *model,
                                       const sdx_program_options *program_options,
                                       const sdx_pack_options *options, const char *path,
                                       sdx_error *error);

typedef struct sdx_packing_info {
    size_t struct_size;
    uint32_t version;    /* of the format */
    const char *library; /* version that wrote the file */
    uint32_t flags;      /* SDX_PACK_* */
    int optimize;        /* level of the passes that made it */
    size_t set_count;    /* instruction sets that weights are packed for */
    bool ready;          /* the one at hand is among them */
} sdx_packing_info;
/* SDX_STATUS_INVALID_ARGUMENT for a model that comes from no packed file. */
SDX_API sdx_status sdx_model_get_packing(const sdx_model *model, sdx_packing_info *info);
SDX_API sdx_status sdx_model_packed_set(const sdx_model *model, size_t index, const char **name,
                                        uint64_t *bytes);

/* ---- context ---------------------------------------------------------------------------------- */

typedef struct sdx_context sdx_context;

/* One step of a run, handed to a profile right after it. Texts and arrays live during the call. */
typedef struct sdx_step_profile {
    size_t struct_size;
    uint32_t graph, step;  /* a graph of the model (0: the main one), and which step of it */
    const char *op;        /* operator that ran: "Relu", "sardonyx:Conv" where a pass made it */
    const char *way;       /* kernel that was chosen, "winograd 4x4, avx2"; "" where there is one only */
    const uint32_t *nodes; /* of the model that became this step, the main one first */
    size_t node_count;
    const sdx_tensor *output; /* the first, without its data; NULL: none, or no tensor */
    uint64_t begin_ns, end_ns; /* of a clock that only moves forward */
    double flops;  /* floating-point operations that the definition takes; 0: not known */
    uint64_t bytes; /* of all inputs and outputs */
    uint32_t lane;  /* 0, or which of the threads that run slices of a batch by themselves */
} sdx_step_profile;

typedef struct sdx_context_options {
    size_t struct_size;
    const sdx_allocator *allocator;
    const sdx_limits *limits;
    uint32_t threads;   /* 0: as the environment variable SARDONYX_THREADS says, else as many as
                         * the process may use */
    void *arena;        /* memory for the intermediates, or NULL: allocated and grown as needed */
    size_t arena_size;
    uint64_t seed;      /* for random operators whose node gives none; 0: a fixed default */
    /* Called with every tensor that a step has made, right after the step, whatever the graph; the
     * data may be written over by later steps. Batches are run whole then. NULL: not called. */
    void (*observe)(void *user, uint32_t value, const sdx_tensor *tensor);
    void *observe_user;
    /* Called after every step that did something, of any graph: a step that runs a subgraph comes
     * after the subgraph's. From several threads, but one at a time, where each runs slices of a batch by
     * itself; the same holds for the allocator. NULL: not called, and no clock is read. */
    void (*profile)(void *user, const sdx_step_profile *step);
    void *profile_user;
    /* CPUs for the threads that the context makes, taken in turn; the caller's thread is left where it
     * is. 0: wherever the system puts them. */
    const uint32_t *cpus;
    size_t cpu_count;
} sdx_context_options;

/* The program must outlive the context. */
SDX_API sdx_status sdx_context_create(const sdx_program *program,
                                      const sdx_context_options *options, sdx_context **out,
                                      sdx_error *error);
SDX_API void sdx_context_release(sdx_context *context);

/* Input data is borrowed, not copied, until the next run has ended. */
SDX_API sdx_status sdx_context_set_input(sdx_context *context, size_t index,
                                         const sdx_tensor *tensor, sdx_error *error);
SDX_API sdx_status sdx_context_set_input_value(sdx_context *context, size_t index,
                                               sdx_value *value, sdx_error *error);
SDX_API sdx_status sdx_context_run(sdx_context *context, sdx_error *error);
/* Results stay valid until the next run or release. NULL before the first run. */
SDX_API const sdx_tensor *sdx_context_output(const sdx_context *context, size_t index);
SDX_API const sdx_value *sdx_context_output_value(const sdx_context *context, size_t index);
/* Any thread may ask; the run returns SDX_STATUS_CANCELLED soon. */
SDX_API void sdx_context_cancel(sdx_context *context);

typedef struct sdx_memory_info {
    size_t struct_size;
    size_t arena_bytes;  /* that the bound plan needs */
    size_t arena_used;   /* highest byte that a step was handed in the last run, once for each lane */
    size_t heap_peak;    /* run-time heap: values whose shape depends on data */
    size_t constant_bytes; /* copied out of the file, or computed, for this program */
    size_t naive_bytes;  /* sum of all intermediates, for comparison */
    size_t scratch_bytes; /* largest scratch memory of a step; lies in the arena too */
    size_t mapped_bytes;  /* the model file, where it is mapped: pages come and go */
    size_t model_bytes, program_bytes, context_bytes; /* tables; without constants and arena */
    uint64_t slice;       /* samples that go through the arena at a time; 0: the whole batch */
    size_t output_bytes;  /* memory for outputs of batches that are run in slices */
    uint32_t lanes;       /* threads that share these samples out, each with as much of the arena; 0: they
                           * run all of them together */
} sdx_memory_info;
SDX_API void sdx_context_get_memory(const sdx_context *context, sdx_memory_info *info);

/* Plans the memory of a run for these sizes before inputs are there, and takes none of it yet:
 * sdx_context_get_memory then tells what such a run needs. Fails naming an input's dimension that
 * is left open. Results of an earlier run are gone. */
SDX_API sdx_status sdx_context_bind_dims(sdx_context *context, const sdx_binding *bindings,
                                         size_t binding_count, sdx_error *error);

/* ---- images: from the bytes of a file to an input ------------------------------------------------ */

typedef enum sdx_image_resize {
    SDX_RESIZE_FILL = 0, /* to the crop's size, whatever the proportions */
    SDX_RESIZE_SHORTER,  /* the shorter side becomes resize_height */
    SDX_RESIZE_FRACTION, /* the shorter side so that the crop's is resize_fraction of it, rounded down */
    SDX_RESIZE_EXACT,    /* to resize_height by resize_width */
    SDX_RESIZE_OFF
} sdx_image_resize;
typedef enum sdx_image_channels {
    SDX_CHANNELS_MODEL = 0, /* gray where the model's input has one channel, else RGB */
    SDX_CHANNELS_RGB,
    SDX_CHANNELS_BGR,
    SDX_CHANNELS_GRAY
} sdx_image_channels;
typedef enum sdx_image_layout { SDX_LAYOUT_MODEL = 0, SDX_LAYOUT_NCHW, SDX_LAYOUT_NHWC } sdx_image_layout;

/* How an image becomes a tensor: decoded to 8 bits, turned upright, resized as Pillow does (antialiased),
 * cropped in the middle (black around what is too small), then (value * scale - mean) / std. */
typedef struct sdx_image_preset {
    size_t struct_size;
    sdx_image_resize resize;
    uint32_t resize_height, resize_width;
    double resize_fraction;
    uint32_t crop_height, crop_width; /* 0: the size of the model's input, or 224 where that is open */
    sdx_image_channels channels;
    sdx_image_layout layout;
    double scale, mean[3], std[3]; /* by channel, in the tensor's order; a scale or std of 0 means 1 */
    bool bicubic;                  /* else bilinear */
    bool whole; /* large JPEGs are decoded whole too, not to the least size that serves the resize */
} sdx_image_preset;

/* Words between spaces: the name of a preset, which sets all but `whole`, or one thing, as in
 * "torchvision resize=232 crop=224x224 interpolation=bicubic scale=1/255 mean=0.5 std=0.5,0.5,0.5
 * channels=bgr layout=nhwc". docs/classify.md lists them. */
SDX_API sdx_status sdx_image_preset_set(sdx_image_preset *preset, const char *words, sdx_error *error);
/* The preset in such words; written into buffer, cut off where it is full; returns the length it needs. */
SDX_API size_t sdx_image_preset_text(const sdx_image_preset *preset, char *buffer, size_t size);
/* The index-th preset by name, and its words; NULL past the end. */
SDX_API const char *sdx_image_preset_name(size_t index, const char **words);
/* Fills in what the preset leaves to the model, and fails where the two contradict each other. *input is
 * the input that takes images, *image a tensor of one image without data. */
SDX_API sdx_status sdx_image_preset_fit(sdx_image_preset *preset, const sdx_model *model,
                                        size_t *input, sdx_tensor *image, sdx_error *error);
/* Fills image->data, of the type and dims that sdx_image_preset_fit gave, from an image file's bytes: JPEG,
 * PNG, WebP, BMP, PNM, TIFF, JPEG 2000. limits and allocator may be NULL. */
SDX_API sdx_status sdx_image_to_tensor(const sdx_image_preset *preset, const void *bytes, size_t size,
                                       const sdx_limits *limits, const sdx_allocator *allocator,
                                       sdx_tensor *image, sdx_error *error);

/* ---- placement: the memory laboratory ------------------------------------------------------------ */

/* Buffers, each with a size and a lifetime, that are to share one arena; and the latest answer, an
 * offset for each. Knows nothing of models. */
typedef struct sdx_plan_problem sdx_plan_problem;

typedef struct sdx_plan_buffer {
    size_t struct_size;
    const char *id;       /* belongs to the problem */
    int64_t lower, upper; /* live from lower on, until before upper */
    uint64_t size;        /* bytes */
    uint64_t alignment;   /* its offset is a multiple of this; 0 and 1: any */
    uint64_t offset;      /* the answer; not read when a problem is made */
} sdx_plan_buffer;

/* CSV with a header; the columns id, lower, upper and size in any order, alignment and offset if
 * wanted (with offsets for all buffers the problem has an answer from the start). Other names:
 * buffer or buffer_id for id, start or begin for lower, end for upper (then included in the
 * lifetime). `name` stands in messages, which also give the line. */
SDX_API sdx_status sdx_plan_problem_from_csv(const void *bytes, size_t size, const char *name,
                                             const sdx_allocator *allocator,
                                             sdx_plan_problem **out, sdx_error *error);
/* Buffers whose id is NULL are called by their index. */
SDX_API sdx_status sdx_plan_problem_create(const sdx_plan_buffer *buffers, size_t count,
                                           const sdx_allocator *allocator, sdx_plan_problem **out,
                                           sdx_error *error);
SDX_API void sdx_plan_problem_release(sdx_plan_problem *problem);
SDX_API size_t sdx_plan_problem_count(const sdx_plan_problem *problem);
SDX_API bool sdx_plan_problem_has_answer(const sdx_plan_problem *problem);
SDX_API sdx_status sdx_plan_problem_get(const sdx_plan_problem *problem, size_t index,
                                        sdx_plan_buffer *buffer);

/* A field of 0 means the default that stands behind it. */
typedef struct sdx_plan_options {
    size_t struct_size;
    const char *strategy; /* one of sdx_plan_strategy_info; "best" */
    uint64_t capacity;    /* an arena of this size is small enough; the smallest is looked for */
    uint64_t align;       /* sizes are rounded up to it, offsets are multiples of it; 1 */
    double time_limit;    /* seconds; none */
    uint64_t seed;        /* for searches that draw lots: the same seed, the same answer; 0 */
    bool (*cancelled)(void *user); /* asked now and then; true ends the work with
                                    * SDX_STATUS_CANCELLED; never */
    void *user;
} sdx_plan_options;

typedef struct sdx_plan_result {
    size_t struct_size;
    const char *strategy;  /* whose answer it is: with "best", the one that it settled for */
    uint64_t arena;        /* bytes */
    uint64_t lower_bound;  /* most bytes live at once */
    uint64_t proved_bound; /* no arena is smaller; at least lower_bound */
    uint64_t naive;        /* sum of all sizes */
    bool proved;           /* arena == proved_bound: it is the smallest */
    bool fits;             /* into the capacity, where one was given */
    double seconds;
    uint64_t nodes; /* placements that searches tried */
} sdx_plan_result;

/* Every answer is checked by a validator that shares no code with the strategies. An answer above
 * the capacity is no error; see fits. If proved_bound is above it too, none can fit. */
SDX_API sdx_status sdx_plan_problem_solve(sdx_plan_problem *problem,
                                          const sdx_plan_options *options,
                                          sdx_plan_result *result, sdx_error *error);
/* Takes the answer of another program: CSV with the columns id and offset at least. Checks it (an
 * error names what is wrong and leaves the problem's answer alone) and judges it by the options'
 * capacity and align. */
SDX_API sdx_status sdx_plan_problem_take_answer(sdx_plan_problem *problem, const void *bytes,
                                                size_t size, const char *name,
                                                const sdx_plan_options *options,
                                                sdx_plan_result *result, sdx_error *error);
/* Checks and judges the answer that the problem has. */
SDX_API sdx_status sdx_plan_problem_check(const sdx_plan_problem *problem,
                                          const sdx_plan_options *options,
                                          sdx_plan_result *result, sdx_error *error);
/* The problem as CSV, with the offsets if asked for; written into buffer, cut off where it is full
 * (always terminated unless size is 0); returns the length it needs. */
SDX_API size_t sdx_plan_problem_csv(const sdx_plan_problem *problem, bool offsets, char *buffer,
                                    size_t size);

typedef struct sdx_plan_strategy_info {
    size_t struct_size;
    const char *name, *summary;
} sdx_plan_strategy_info;
SDX_API size_t sdx_plan_strategy_count(void);
SDX_API sdx_status sdx_plan_strategy_get_info(size_t index, sdx_plan_strategy_info *info);

/* The arena of a context whose sizes are bound (by a run, or by sdx_context_bind_dims): the buffers in
 * the order of sdx_program_get_buffer, and the offsets at which a run has them, as an answer. */
SDX_API sdx_status sdx_context_get_plan(const sdx_context *context, sdx_plan_problem **out,
                                        sdx_error *error);

/* ---- operators ---------------------------------------------------------------------------------- */

typedef struct sdx_op_info {
    size_t struct_size;
    const char *domain, *name;
    int first_version, last_version; /* of the opset; last 0: the newest known */
    bool runs; /* of sdx_op_used: a program of this process has a step of it, or has computed constants by it */
} sdx_op_info;
SDX_API size_t sdx_op_count(void);
SDX_API sdx_status sdx_op_get_info(size_t index, sdx_op_info *info);
/* Whether the op takes dtype as element type of input `input`. */
SDX_API bool sdx_op_takes(size_t index, size_t input, sdx_dtype dtype);
/* The i-th library that the op uses and this build lacks ("PCRE2"); NULL: no more. ImageDecoder then
 * refuses images of that library's format, any other op every model that has it. */
SDX_API const char *sdx_op_lacks(size_t index, size_t i);
/* The index-th of the operators that this process has looked up so far, in model files or for passes (domain
 * "sardonyx"): what a build for these models alone needs. SDX_STATUS_INVALID_ARGUMENT past the end. */
SDX_API sdx_status sdx_op_used(size_t index, sdx_op_info *info);
/* The index-th of the other parts of the library that such a build may lack and this process has used so far:
 * "packed_files", "conv_depthwise" and the like; NULL past the end. */
SDX_API const char *sdx_part_used(size_t index);

#ifdef __cplusplus
}
#endif
#endif
