/* bound.h - the bindings that a context keeps. All that follows from the numbers of the symbols stands in
 * tables: the value of every expression, the sizes and offsets of buffers, what the tensors of the arena are
 * at these sizes. A context has a few sets of them, so that sizes which come back, batches in turn or the
 * rest behind the whole slices of one, are not worked out again. They hold offsets, never addresses: the
 * arena may move between two uses. */
#ifndef SDX_EXEC_BOUND_H
#define SDX_EXEC_BOUND_H

#include "exec/program.h"

/* As many as sizes that are likely to come in turn; more is memory. */
#define SDX_BOUND_KEPT 4

/* Bytes that a run takes. */
typedef struct sdx_needs {
    size_t arena, naive, scratch;
} sdx_needs;

typedef struct sdx_bound {
    int64_t *symbols, *results; /* the numbers, and the value of every expression of the program */
    sdx_buffer *buffers;        /* as program->planned */
    int64_t *numbers;           /* by entry of program->sized: count, place, then the open dims */
    sdx_needs needs;
    uint64_t used; /* when it was used last, in bindings of the context; 0: holds no plan */
} sdx_bound;

/* The tables, from the context's memory; none is spent on further ones where the sizes are fixed. */
sdx_status sdx_bound_make(sdx_context *context, sdx_error *error);
/* Makes the binding of these symbols the context's; false, with nothing changed, where none is kept. */
bool sdx_bound_find(sdx_context *context, const int64_t *symbols);
/* Gives the context tables for these symbols, with the values of the expressions and no plan yet: those that
 * hold the symbols already, or else have not been used for longest. */
void sdx_bound_take(sdx_context *context, const int64_t *symbols);

#endif
