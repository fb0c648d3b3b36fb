/* movement.h - what the operators share that move elements without computing on them: the box (a
 * strided copy of any rank, which Transpose, Slice, Concat, Expand, ... are made of), fills, index
 * reading, and the symbolic side of small shape tensors. Private to this family: reshape.c,
 * transpose.c, concat.c, slice.c, gather.c, scatter.c, pad.c, expand.c, generate.c, space.c,
 * select_index.c and shape_*.c. */
#ifndef SDX_OPS_MOVEMENT_H
#define SDX_OPS_MOVEMENT_H

#include "ops/op.h"

/* ---- boxes (shape_box.c) -------------------------------------------------------------------- */

#define SDX_BOX_RANK (2 * SDX_MAX_RANK)

/* A loop nest, outermost axis first, that copies one element per round. Steps are in elements;
 * those of the source may be 0 (broadcast) or negative. */
typedef struct sdx_box {
    int32_t rank;
    int64_t size[SDX_BOX_RANK], from[SDX_BOX_RANK], to[SDX_BOX_RANK];
} sdx_box;

static inline void sdx_box_add(sdx_box *box, int64_t size, int64_t from, int64_t to) {
    int32_t i = box->rank++;
    box->size[i] = size;
    box->from[i] = from;
    box->to[i] = to;
}
/* unit: bytes of one element, 1, 2, 4, 8 or 16. pool may be NULL. Nothing overlaps. */
void sdx_box_copy(const sdx_box *box, size_t unit, const void *from, void *to, sdx_pool *pool);

/* Plain bytes, in parallel when many. from == to is fine, and so is NULL when there are none. */
void sdx_move_bytes(const void *from, void *to, size_t bytes, sdx_pool *pool);
/* count copies of one element of `unit` bytes (1, 2, 4, 8 or 16); the second in parallel. */
void sdx_fill_row(void *to, const void *element, size_t unit, size_t count);
void sdx_move_fill(void *to, const void *element, size_t unit, size_t count, sdx_pool *pool);

/* ---- parts along an axis (concat.c) --------------------------------------------------------- */

/* Positions [first, first + length) on an axis of `whole`, to or from contiguous memory. */
void sdx_part_read(const sdx_tensor *whole, int32_t axis, int64_t first, int64_t length,
                   void *part, sdx_pool *pool);
void sdx_part_write(sdx_tensor *whole, int32_t axis, int64_t first, int64_t length,
                    const void *part, sdx_pool *pool);

/* ---- elements (shape_common.c) -------------------------------------------------------------- */

#define SDX_MAX_UNIT 16

/* Zero, false or the empty string; one or true. out has room for SDX_MAX_UNIT bytes. */
void sdx_move_zero(sdx_dtype dtype, unsigned char *out);
void sdx_move_one(sdx_dtype dtype, unsigned char *out);
/* value as an element of a float type. */
void sdx_move_float(sdx_dtype dtype, double value, unsigned char *out);

/* Element i of an int32 or int64 tensor. */
static inline int64_t sdx_move_index(const sdx_tensor *tensor, size_t i) {
    return tensor->dtype == SDX_DTYPE_INT64 ? ((const int64_t *)tensor->data)[i]
                                            : ((const int32_t *)tensor->data)[i];
}
/* All of them lie in [-size, size), or a failure that names the first that does not. */
sdx_status sdx_move_check_indices(sdx_call *call, const sdx_tensor *indices, int64_t size,
                                  const char *what);
/* Any real element as an integer: floats are truncated and saturated, NaN is INT64_MIN. */
int64_t sdx_move_int(const sdx_tensor *tensor, size_t i);

/* Output o: the tensor that is there already, else a new one. *out is NULL when not wanted. */
sdx_status sdx_move_output(sdx_call *call, uint32_t o, sdx_dtype dtype, int32_t rank,
                           const int64_t *dims, sdx_tensor **out);

/* ---- infer (shape_common.c) ----------------------------------------------------------------- */

/* Integers of an input: from the data where it is known (saturated to what an expression holds,
 * so that INT64_MAX stays "as far as possible"), else the symbolic contents. Single elements may
 * be unknown. */
bool sdx_move_ints(const sdx_infer *inf, uint32_t i, sdx_expr *out, size_t capacity, size_t *count);
/* The one element of input i; unknown when it is not known now. */
sdx_expr sdx_move_scalar(const sdx_infer *inf, uint32_t i);
sdx_expr sdx_move_saturated(int64_t value);
/* Fails unless input i has rank 0 or 1; *length is its element count, or -1 when not known. */
sdx_status sdx_move_vector(sdx_infer *inf, uint32_t i, int64_t *length);
/* Fails unless inputs a and b have one element type (as far as known). */
sdx_status sdx_move_same_dtype(sdx_infer *inf, uint32_t a, uint32_t b);
/* Fails unless input i has one element (as far as known). */
sdx_status sdx_move_require_scalar(sdx_infer *inf, uint32_t i);
/* True while loading, when the dims of input i are plain numbers and it has between one and
 * SDX_MAX_CONTENTS elements: worth asking for its contents, and no product of dims can overflow. */
bool sdx_move_small(const sdx_infer *inf, uint32_t i, int64_t dims[SDX_MAX_RANK]);
/* Output o has the flat contents of input i. */
void sdx_move_same_contents(sdx_infer *inf, uint32_t o, uint32_t i);
/* Contents of output o are what the box moves out of the contents of input i (sdx_move_small), read
 * from element `first` on. Does nothing when they are not known or too many. */
void sdx_move_box_contents(sdx_infer *inf, uint32_t o, uint32_t i, const sdx_box *box,
                           int64_t first);
/* As sdx_infer_set_shape, for outputs that the executor makes: during a run, when all inputs are
 * known, dims that are not can only be too large to count, and are refused. */
sdx_status sdx_move_shape(sdx_infer *inf, uint32_t o, int32_t rank, const sdx_expr *dims);
/* The same, with this rank and no known dims. */
sdx_status sdx_move_unknown_dims(sdx_infer *inf, uint32_t o, int64_t rank);
/* dims[0..rank) of input i. Only when its rank is known. */
void sdx_move_copy_dims(const sdx_infer *inf, uint32_t i, sdx_expr *dims);
/* *out = total / parts, which must come out even; unknown when that cannot be told. */
sdx_status sdx_move_divide(sdx_infer *inf, sdx_expr total, sdx_expr parts, const char *what,
                           sdx_expr *out);

/* Axes from an attribute or an input, in [0, rank) each, as a set. `unique` refuses repeats. */
sdx_status sdx_move_axis_set(sdx_infer *inf, const sdx_expr *axes, size_t count, int32_t rank,
                             bool unique, uint32_t *set, bool *known);

/* ---- typed updates (shape_update.c) --------------------------------------------------------- */

typedef enum sdx_update_mode {
    SDX_UPDATE_NONE, /* the order of the words in `reduction` */
    SDX_UPDATE_ADD,
    SDX_UPDATE_MUL,
    SDX_UPDATE_MIN,
    SDX_UPDATE_MAX
} sdx_update_mode;

/* to[offsets[i]] = mode(to[offsets[i]], from[i]) in order of i; offsets NULL: i itself. */
typedef void (*sdx_update)(void *to, const int64_t *offsets, const void *from, size_t count);
/* NULL when the mode does not exist for the type (min of complex, add of strings, ...). */
sdx_update sdx_update_find(sdx_update_mode mode, sdx_dtype dtype);
/* to[i] = from[offsets[i]]. */
void sdx_pick(size_t unit, void *to, const void *from, const int64_t *offsets, size_t count);

/* ---- one index per element: GatherElements, ScatterElements (gather.c) ---------------------- */

#define SDX_OFFSET_BATCH 256 /* offsets computed at a time */

typedef struct sdx_element_walk {
    const sdx_tensor *indices;
    int64_t axis_size, axis_step;
    int64_t steps[SDX_MAX_RANK]; /* of the data, 0 for the axis */
} sdx_element_walk;

/* Axis, ranks and dims of data (input 0) and indices (input 1). */
sdx_status sdx_element_check(sdx_infer *inf, int64_t axis);
/* Fails on an index outside its axis. */
sdx_status sdx_element_walk_init(sdx_call *call, sdx_element_walk *walk, const sdx_tensor *data,
                                 const sdx_tensor *indices, int64_t axis);
/* Offsets into data, in elements, for the index elements [begin, begin + count). */
void sdx_element_walk_offsets(const sdx_element_walk *walk, size_t begin, size_t count,
                              int64_t *offsets);

/* ---- one index tuple per block: GatherND, ScatterND (gather.c) ------------------------------ */

typedef struct sdx_tuple_walk {
    const sdx_tensor *indices;
    size_t tuples;                                   /* how many */
    int64_t length;                                  /* of each */
    int64_t dims[SDX_MAX_RANK], steps[SDX_MAX_RANK]; /* of the indexed axes, in elements */
    size_t block;                                    /* elements behind one tuple */
} sdx_tuple_walk;

/* Tuples index the axes from first_axis on. Fails on an index outside its axis. */
sdx_status sdx_tuple_walk_init(sdx_call *call, sdx_tuple_walk *walk, const sdx_tensor *data,
                               const sdx_tensor *indices, int32_t first_axis);
int64_t sdx_tuple_walk_offset(const sdx_tuple_walk *walk, size_t tuple);

#endif
