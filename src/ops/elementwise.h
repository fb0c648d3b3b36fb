/* elementwise.h - private to the elementwise family (unary, binary, variadic, select, cast,
 * quantize): one machine that walks any number of broadcast operands and hands plain 2-d tiles to
 * a kernel, and the macros that kernels are made with.
 *
 * A kernel sees rows of n elements. Along a row an operand either moves by one element or stays;
 * so every inner loop is one of few, each simple enough for the compiler to vectorise. Types that
 * have no kernel (float16, bfloat16, …) are converted in blocks to one that has. */
#ifndef SDX_OPS_ELEMENTWISE_H
#define SDX_OPS_ELEMENTWISE_H

#include "kernels/elementwise.h"
#include "ops/op.h"

#define SDX_EW_INPUTS 3 /* operands of one kernel at most */
#define SDX_EW_BLOCK 112 /* elements converted at a time: several blocks lie on the stack, which may be small */

/* ---- kernels ------------------------------------------------------------------------------- */

typedef struct sdx_tile {
    const void *in[SDX_EW_INPUTS]; /* NULL: left out */
    void *out;                     /* may be the very memory of an operand that moves */
    size_t rows, n;
    size_t row[SDX_EW_INPUTS], out_row; /* elements from one row to the next */
    bool step[SDX_EW_INPUTS];           /* false: the operand stays put along a row */
    const void *params;
} sdx_tile;

typedef void (*sdx_tile_kernel)(const sdx_tile *tile);

/* An operator's kernels by element type, and how many elements make a piece worth a thread. */
typedef struct sdx_ew_kernels {
    sdx_tile_kernel of[SDX_DTYPE_COUNT];
    size_t grain; /* 0: SDX_EW_GRAIN */
} sdx_ew_kernels;

#define SDX_EW_GRAIN ((size_t)1 << 15)       /* memory-bound: add, compare, … */
#define SDX_EW_GRAIN_MIDDLE ((size_t)1 << 14) /* an exponential in vector code */
#define SDX_EW_GRAIN_HEAVY ((size_t)1 << 12)  /* a call of libm per element */

/* The loop carries nothing from one element to the next, in place or not. */
#if defined(__GNUC__) && !defined(__clang__) /* clang warns where it cannot make use of it */
#define SDX_EW_LOOP _Pragma("GCC ivdep")
#else
#define SDX_EW_LOOP
#endif

/* Kernel of one operand: EXPR in terms of x; T is its type, p the parameters. */
#define SDX_UNARY_KERNEL(name, TYPE, OUT, PARAMS, EXPR)                                           \
    static void name(const sdx_tile *t) {                                                         \
        typedef TYPE T;                                                                           \
        const PARAMS *p = t->params;                                                              \
        const size_t n = t->n; /* a store of bytes might change t for all the compiler knows */   \
        (void)p;                                                                                  \
        for (size_t r = 0; r < t->rows; r++) {                                                    \
            const T *a = (const T *)t->in[0] + r * t->row[0];                                     \
            OUT *o = (OUT *)t->out + r * t->out_row;                                              \
            SDX_EW_LOOP for (size_t i = 0; i < n; i++) {                                          \
                const T x = a[i];                                                                 \
                o[i] = (OUT)(EXPR);                                                               \
            }                                                                                     \
        }                                                                                         \
    }

/* float32 kernels for the instruction set at hand (kernels/elementwise.h). A and B are parameters of
 * the function, in terms of p. */
void sdx_ew_f32_unary(const sdx_tile *t, sdx_f32_function function, float a, float b);
void sdx_ew_f32_binary(const sdx_tile *t, sdx_f32_operator operator);
#define SDX_VECTOR_UNARY(name, PARAMS, FUNCTION, A, B)                                            \
    static void name(const sdx_tile *t) {                                                         \
        const PARAMS *p = t->params;                                                              \
        (void)p;                                                                                  \
        sdx_ew_f32_unary(t, (sdx_f32_function)(FUNCTION), A, B);                                  \
    }
#define SDX_VECTOR_BINARY(name, OPERATOR)                                                         \
    static void name(const sdx_tile *t) { sdx_ew_f32_binary(t, OPERATOR); }

/* Kernel of two operands of one type: EXPR in terms of x and y. */
#define SDX_BINARY_KERNEL(name, TYPE, OUT, PARAMS, EXPR)                                          \
    static void name(const sdx_tile *t) {                                                         \
        typedef TYPE T;                                                                           \
        const PARAMS *p = t->params;                                                              \
        const size_t n = t->n; /* a store of bytes might change t for all the compiler knows */   \
        (void)p;                                                                                  \
        for (size_t r = 0; r < t->rows; r++) {                                                    \
            const T *a = (const T *)t->in[0] + r * t->row[0];                                     \
            const T *b = (const T *)t->in[1] + r * t->row[1];                                     \
            OUT *o = (OUT *)t->out + r * t->out_row;                                              \
            if (t->step[0] && t->step[1]) {                                                       \
                SDX_EW_LOOP for (size_t i = 0; i < n; i++) {                                      \
                    const T x = a[i], y = b[i];                                                   \
                    o[i] = (OUT)(EXPR);                                                           \
                }                                                                                 \
            } else if (t->step[0]) {                                                              \
                const T y = *b;                                                                   \
                SDX_EW_LOOP for (size_t i = 0; i < n; i++) {                                      \
                    const T x = a[i];                                                             \
                    o[i] = (OUT)(EXPR);                                                           \
                }                                                                                 \
            } else { /* both stay only where a row is one element */                              \
                const T x = *a;                                                                   \
                SDX_EW_LOOP for (size_t i = 0; i < n; i++) {                                      \
                    const T y = b[i];                                                             \
                    o[i] = (OUT)(EXPR);                                                           \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }

/* M(op, suffix, C type, dtype) over groups of types. */
#define SDX_EW_FLOATS(M, op) M(op, f32, float, FLOAT32) M(op, f64, double, FLOAT64)
#define SDX_EW_SIGNED(M, op)                                                                      \
    M(op, i8, int8_t, INT8)                                                                       \
    M(op, i16, int16_t, INT16) M(op, i32, int32_t, INT32) M(op, i64, int64_t, INT64)
#define SDX_EW_UNSIGNED(M, op)                                                                    \
    M(op, u8, uint8_t, UINT8)                                                                     \
    M(op, u16, uint16_t, UINT16) M(op, u32, uint32_t, UINT32) M(op, u64, uint64_t, UINT64)
#define SDX_EW_INTS(M, op) SDX_EW_SIGNED(M, op) SDX_EW_UNSIGNED(M, op)
#define SDX_EW_ENTRY(op, suffix, TYPE, DTYPE) [SDX_DTYPE_##DTYPE] = op##_##suffix,
/* The same for kernels that only the body of sdx_op_<op> calls. */
#define SDX_EW_BODY(op, suffix, TYPE, DTYPE)                                                      \
    [SDX_DTYPE_##DTYPE] = SDX_BODY(sdx_op_##op, op##_##suffix),
/* Integers whose bits come out the same signed or not: the unsigned kernels serve both. */
#define SDX_EW_WRAPPING(op)                                                                       \
    [SDX_DTYPE_INT8] = op##_u8, [SDX_DTYPE_UINT8] = op##_u8, [SDX_DTYPE_INT16] = op##_u16,        \
    [SDX_DTYPE_UINT16] = op##_u16, [SDX_DTYPE_INT32] = op##_u32, [SDX_DTYPE_UINT32] = op##_u32,   \
    [SDX_DTYPE_INT64] = op##_u64, [SDX_DTYPE_UINT64] = op##_u64,

/* Elements moved without looking at them. They may have been written as another type, and eight bytes
 * may be a complex number, which is aligned like its halves. */
#if defined(__GNUC__)
#define SDX_EW_ANY __attribute__((may_alias))
#define SDX_EW_HALVES __attribute__((may_alias, aligned(4)))
#else
#define SDX_EW_ANY
#define SDX_EW_HALVES
#endif
typedef uint8_t SDX_EW_ANY sdx_bits8;
typedef uint16_t SDX_EW_ANY sdx_bits16;
typedef uint32_t SDX_EW_ANY sdx_bits32;
typedef uint64_t SDX_EW_HALVES sdx_bits64;

/* ---- the walk ------------------------------------------------------------------------------ */

/* One elementwise run: made on the stack, filled by begin and operand, then walked. */
typedef struct sdx_ew {
    sdx_tile_kernel kernel;
    const void *params;
    uint32_t inputs;
    bool converts;     /* some operand has another type than the kernel takes */
    bool accumulates;  /* operand 0 is what lies in out: out = kernel(out, operand 1) */
    const uint8_t *in[SDX_EW_INPUTS];
    uint8_t *out;
    sdx_dtype in_type[SDX_EW_INPUTS], in_compute[SDX_EW_INPUTS]; /* in memory; for the kernel */
    sdx_dtype out_type, out_compute;
    size_t in_size[SDX_EW_INPUTS], out_size;
    int32_t rank; /* at least 1 */
    size_t dims[SDX_MAX_RANK], stride[SDX_EW_INPUTS][SDX_MAX_RANK];
    size_t count;
} sdx_ew;

/* A run over the elements of out. Kernel and params are the caller's to set. */
void sdx_ew_begin(sdx_ew *ew, const sdx_tensor *out);
/* The next operand, broadcast to out with its dim 0 at out's dim `axis`. Dims of 1 stretch, all
 * others are trusted to agree. */
void sdx_ew_operand_at(sdx_ew *ew, const sdx_tensor *in, int32_t axis);
/* The same, last dims aligned as in NumPy; NULL for an operand that is left out. */
void sdx_ew_operand(sdx_ew *ew, const sdx_tensor *in);
/* Merges dims that every operand walks as one. Call once all operands are there. */
void sdx_ew_collapse(sdx_ew *ew);
/* Elements [begin, end) of out, written to `to` in place of where they belong. */
void sdx_ew_range(const sdx_ew *ew, size_t begin, size_t end, uint8_t *to);
/* Collapses and walks all of out on the call's threads. */
void sdx_ew_run(sdx_call *call, sdx_ew *ew, size_t grain);

/* Picks the kernel for operands of `dtype` and the type it computes in: its own; float32 for the
 * smaller floats; float64 for integers where only floats have kernels. */
sdx_tile_kernel sdx_ew_pick(const sdx_ew_kernels *kernels, sdx_dtype dtype, sdx_dtype *compute);
/* All of it: out = kernel(inputs), every input of the type of inputs[0] (NULL: left out). */
void sdx_ew_apply(sdx_call *call, const sdx_ew_kernels *kernels, const void *params,
                  sdx_tensor *out, const sdx_tensor *const *in, uint32_t count);

/* count elements from one numeric type (bool and the small ones included) to another, by the
 * rules of Cast with saturation. in and out may be the same only for equal types. */
void sdx_convert(sdx_dtype from, sdx_dtype to, const void *in, void *out, size_t count);

/* ---- rules --------------------------------------------------------------------------------- */

/* Output 0 is like input 0; dtype UNDEFINED: its element type too. */
sdx_status sdx_ew_infer_like(sdx_infer *inf, sdx_dtype dtype);
/* Output 0 is the broadcast of all inputs; dtype UNDEFINED: the type that inputs from `typed` on
 * have. content (may be NULL) folds the elements of small integer tensors. */
typedef sdx_expr (*sdx_ew_content)(sdx_infer *inf, sdx_expr a, sdx_expr b);
sdx_status sdx_ew_infer_broadcast(sdx_infer *inf, uint32_t typed, sdx_dtype dtype,
                                  sdx_ew_content content);
/* Folds contents into output 0, whose shape is given; does nothing where not all are known. With
 * one input its elements are handed over as a and as b. */
void sdx_ew_fold_contents(sdx_infer *inf, sdx_dtype dtype, int32_t rank, const sdx_expr *dims,
                          sdx_ew_content content);
/* The element type of the first input from `from` on that has one. */
sdx_dtype sdx_ew_input_type(const sdx_infer *inf, uint32_t from);
/* e, or unknown where it is a number that dtype cannot hold. */
sdx_expr sdx_ew_fit(sdx_dtype dtype, sdx_expr e);
/* Number of elements of a shape of constants; false when it is unknown or above `limit`. */
bool sdx_ew_known_count(int32_t rank, const sdx_expr *dims, size_t limit, size_t *count);

/* Bits of fact about a - b, from what is known of both. */
enum { SDX_EW_LESS = 1, SDX_EW_SAME = 2, SDX_EW_MORE = 4 };
/* Which of a < b, a = b, a > b are still possible. */
unsigned sdx_ew_order(sdx_infer *inf, sdx_expr a, sdx_expr b);

/* ---- operators of one tensor (unary.c) ------------------------------------------------------ */

typedef struct sdx_unary_params {
    float value[2]; /* the float attributes, in the order of sdx_unary_op */
    int mode;       /* whatever else a prepare of its own reads */
} sdx_unary_params;

/* aux of an operator that maps each element of input 0. */
typedef struct sdx_unary_op {
    sdx_ew_kernels kernels;
    sdx_dtype out;       /* UNDEFINED: that of the input */
    const char *attr[2]; /* float attributes and what they are when absent */
    float fallback[2];
    sdx_ew_content content;
} sdx_unary_op;

sdx_status sdx_unary_prepare(sdx_prep *prep);
sdx_status sdx_unary_infer(sdx_infer *inf);
sdx_status sdx_unary_run(sdx_call *call);

#define SDX_UNARY_WITH(id, types, prepare_, table)                                                \
    const sdx_op_def sdx_op_##id = {.min_in = 1,                                                  \
                                    .max_in = 1,                                                  \
                                    .min_out = 1,                                                 \
                                    .max_out = 1,                                                 \
                                    .flags = SDX_OP_IN_PLACE,                                     \
                                    .in_types = {types},                                          \
                                    .params_size = sizeof(sdx_unary_params),                      \
                                    .prepare = prepare_,                                          \
                                    .infer = sdx_unary_infer,                                     \
                                    .run = SDX_BODY(sdx_op_##id, sdx_unary_run),                  \
                                    .aux = &(table)}
#define SDX_UNARY(id, types, table) SDX_UNARY_WITH(id, types, sdx_unary_prepare, table)

/* ---- operators of two tensors (binary.c) ---------------------------------------------------- */

typedef struct sdx_binary_params {
    bool broadcast;  /* before version 7 broadcasting had to be asked for, … */
    bool has_axis;   /* … and B could stand at any axis of A */
    int64_t axis;
    int mode;        /* read by a prepare of the operator's own */
    float alpha;
} sdx_binary_params;

/* aux of an operator that maps pairs of broadcast elements. */
typedef struct sdx_binary_op {
    sdx_ew_kernels kernels;
    sdx_dtype out;     /* UNDEFINED: that of the inputs */
    bool swap;         /* the kernel takes B first */
    bool divides;      /* integer zeros in B are refused before the kernel runs */
    unsigned truth;    /* comparisons: SDX_EW_ bits; logic: bit 2a+b is the result */
    sdx_ew_content content;
} sdx_binary_op;

sdx_status sdx_binary_prepare(sdx_prep *prep);
sdx_status sdx_binary_infer(sdx_infer *inf);
sdx_status sdx_binary_run(sdx_call *call);
/* The shape rule alone: dtype is that of the output. */
sdx_status sdx_binary_infer_as(sdx_infer *inf, sdx_dtype dtype, sdx_ew_content content);
/* Adds A and B (swapped if so wished) to a run that has begun. */
void sdx_binary_operands(const sdx_call *call, sdx_ew *ew, bool swap);

#define SDX_BINARY_WITH(id, types, prepare_, infer_, run_, table)                                 \
    const sdx_op_def sdx_op_##id = {.min_in = 2,                                                  \
                                    .max_in = 2,                                                  \
                                    .min_out = 1,                                                 \
                                    .max_out = 1,                                                 \
                                    .flags = SDX_OP_IN_PLACE | SDX_OP_SAME_TYPE,                  \
                                    .in_types = {types},                                          \
                                    .params_size = sizeof(sdx_binary_params),                     \
                                    .prepare = prepare_,                                          \
                                    .infer = infer_,                                              \
                                    .run = SDX_BODY(sdx_op_##id, run_),                           \
                                    .aux = &(table)}
#define SDX_BINARY(id, types, table)                                                              \
    SDX_BINARY_WITH(id, types, sdx_binary_prepare, sdx_binary_infer, sdx_binary_run, table)

#endif
