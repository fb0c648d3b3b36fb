/* program.h - a model lowered to steps. A step is a body with everything it needs; a block is the
 * list of steps of one graph. Shared by program.c (lowering), bind.c and context.c. */
#ifndef SDX_EXEC_PROGRAM_H
#define SDX_EXEC_PROGRAM_H

#include "exec/model.h"
#include "ops/op.h"

typedef struct sdx_step {
    const sdx_node *node;
    sdx_id id; /* of the node */
    bool fixed; /* all output shapes follow from the symbols: outputs lie in the arena */
    bool skip;  /* a view whose memory is its input's: nothing to do */
    uint32_t scratch;            /* buffer index, or SDX_NONE */
    uint32_t release, release_count; /* into program->releases: heap values to drop afterwards */
    uint32_t edges;              /* into a context's edge table: inputs, then outputs */
} sdx_step;

typedef struct sdx_block {
    sdx_step *steps;
    uint32_t step_count;
} sdx_block;

typedef enum sdx_place {
    SDX_PLACE_HEAP = 0, /* made during the run */
    SDX_PLACE_CONST,    /* bytes in the file or in the program */
    SDX_PLACE_INPUT,    /* the caller's */
    SDX_PLACE_ARENA,    /* at an offset that the plan gives */
    SDX_PLACE_ALIAS     /* the bytes of another value (a view) */
} sdx_place;

typedef struct sdx_slot_info {
    sdx_place place;
    uint32_t index; /* CONST: into constants; others but HEAP: into a context's storage */
    uint32_t buffer; /* ARENA and ALIAS of it: buffer; else SDX_NONE */
    sdx_id root;     /* ALIAS: the value whose bytes these are */
} sdx_slot_info;

/* Memory of an arena value or of a step's scratch, before symbols are bound. */
typedef struct sdx_planned {
    uint32_t first, last; /* steps of the main block */
    sdx_id value;         /* SDX_NONE: scratch */
    sdx_expr bytes;       /* of scratch */
} sdx_planned;

struct sdx_program {
    const sdx_allocator *allocator;
    sdx_allocator own_allocator;
    const sdx_model *model;
    const sdx_module *module;
    sdx_limits limits;
    int optimize;
    sdx_arena arena;
    sdx_block *blocks;     /* by graph id */
    sdx_slot_info *slots;  /* by value id */
    bool *node_fixed;      /* by node id: a step whose shapes follow from the symbols */
    sdx_value *constants;  /* borrowed values, refcount never reaches 0 */
    uint32_t constant_count;
    uint32_t *input_defaults; /* by main input: constant to use where the caller sets none */
    sdx_id *storage_values; /* value of each storage entry of a context */
    uint32_t storage_count;
    sdx_planned *planned;   /* sorted by first */
    uint32_t planned_count;
    sdx_id *releases;
    uint32_t edge_count, step_count;
    uint32_t max_inputs, max_outputs; /* of any step */
    size_t constant_bytes; /* copied, because they could not be used in place */
};

/* Whether every dim is an expression of symbols. */
bool sdx_type_fixed(const sdx_type *type);

#endif
