/* slice.h - running a batch in slices. Where samples do not touch one another, a batch of N goes through
 * the program a few samples at a time, in the memory that those few need.
 *
 *   slice.c        finds out, while a program is made, whether they do, and along which symbol
 *   slice_rules.c  what each operator does to the samples of its inputs
 *   slice_choose.c how many at a time, and by how many threads
 *   slice_run.c    the run
 *   lanes.c        threads that run slices by themselves
 *
 * The question is asked of the model as the file has it: passes keep its meaning, so that they need no
 * rules here. */
#ifndef SDX_EXEC_SLICE_H
#define SDX_EXEC_SLICE_H

#include "exec/program.h"

/* How a value relates to the samples of the batch, N. */
typedef enum sdx_spread_kind {
    SDX_SPREAD_OPEN = 0, /* not known yet */
    SDX_SPREAD_SAME,     /* does not depend on the batch at all */
    SDX_SPREAD_COUNT,    /* follows from N alone, not from any sample: sizes, and what is computed of them */
    SDX_SPREAD_AXIS      /* dims[axis] is outer * N * k, the samples lying in it as in an array
                            [outer][N][k]; each part depends on its own sample alone */
} sdx_spread_kind;

typedef struct sdx_spread {
    sdx_spread_kind kind;
    int32_t axis;
    sdx_expr outer; /* does not mention N */
} sdx_spread;

/* The analysis of one symbol. */
typedef struct sdx_slicing {
    const sdx_module *module; /* whose pool may grow */
    size_t symbol;
    sdx_expr batch;      /* the symbol as an expression */
    sdx_spread *spreads; /* by value id */
    char reason[160];    /* a rule's, where the samples meet */
} sdx_slicing;

/* Sets the spreads of the node's outputs from those of its inputs; false, with a reason, where it mixes
 * samples or has no rule. */
bool sdx_slice_node(sdx_slicing *s, const sdx_node *node);

/* Fills program->slice. fixed: sizes of the model's symbols that are put in, or -1. */
sdx_status sdx_slice_find(sdx_program *program, const int64_t *fixed, sdx_error *error);

#endif
