/* program.h - a model lowered to steps. A step is a body with everything it needs; a block is the
 * list of steps of one graph. Made by program.c and lower*.c, used by bind.c and context.c. */
#ifndef SDX_EXEC_PROGRAM_H
#define SDX_EXEC_PROGRAM_H

#include "exec/model.h"
#include "ops/op.h"
#include "plan/layout.h"

/* What is known of the order of the main graph's steps. */
typedef struct sdx_order_info {
    bool changed; /* from the order of the file */
    bool proved;  /* no order needs less at the sizes planned for */
    size_t given, peak, bound; /* bytes live at once: in the file's order, found, and at least */
} sdx_order_info;

typedef struct sdx_step {
    const sdx_node *node;
    sdx_id id; /* of the node */
    bool fixed; /* all output shapes follow from the symbols: outputs lie in the arena */
    bool skip;  /* a view whose memory is its input's: nothing to do */
    uint32_t scratch;            /* buffer index, or SDX_NONE */
    uint32_t release, release_count; /* into program->releases: heap values to drop afterwards */
    uint32_t edges;              /* into a context's edge table: inputs, then outputs */
    const void *packed;          /* by the operator's pack, or NULL */
    uint32_t taken;              /* bit i: input i is a constant that lies in `packed` alone */
} sdx_step;

typedef struct sdx_block {
    sdx_step *steps;
    uint32_t step_count;
} sdx_block;

typedef enum sdx_place {
    SDX_PLACE_HEAP = 0, /* made during the run */
    SDX_PLACE_CONST,    /* bytes in the file or in the program */
    SDX_PLACE_INPUT,    /* the caller's */
    SDX_PLACE_ARENA,    /* in a buffer of the arena, which several values may share */
    SDX_PLACE_ALIAS     /* in a constant or in the caller's input (a view) */
} sdx_place;

typedef struct sdx_slot_info {
    sdx_place place;
    uint32_t index; /* CONST: into constants; others but HEAP: into a context's storage */
    uint32_t buffer; /* ARENA: into planned; else SDX_NONE */
    sdx_id root;     /* ALIAS: the value whose bytes these are */
    bool view;       /* made by no step of its own: bytes that another value has too */
    sdx_expr offset; /* ARENA, ALIAS: bytes from the start of the buffer or root */
} sdx_slot_info;

/* A buffer of the arena before symbols are bound: one value or several that follow one another or
 * lie side by side; or a step's scratch. */
typedef struct sdx_planned {
    uint32_t first, last; /* steps of the main block */
    sdx_id value;         /* the one that gives it its size; SDX_NONE: scratch of step `first` */
    sdx_expr bytes;
    uint32_t over;        /* buffer in which its values live where bytes is 0, or SDX_NONE */
    sdx_expr size, offset; /* bytes rounded up, and where it lies; only if they are to be told */
    uint32_t values;      /* that live in it */
} sdx_planned;

/* What binding works out of a value in the arena or an alias. Apart from slots and types, of which it
 * needs little: after a run nothing of either is in a cache any more. */
typedef struct sdx_sized {
    sdx_expr offset;  /* as its slot's */
    size_t fixed;     /* product of the dims that are numbers */
    uint32_t storage; /* entry of a context */
    uint32_t buffer;  /* as its slot's; SDX_NONE: an alias */
    uint16_t axes;    /* bit i: dims[i] is open, it follows from the symbols; the others stay */
    uint16_t element; /* bytes of one */
    uint8_t open;     /* bits of axes */
    bool view;        /* as its slot's */
} sdx_sized;

#define SDX_LAYOUTS 4

/* Whether a batch may be run in slices; see slice.h. */
typedef struct sdx_slice {
    size_t symbol;    /* that counts the samples; SIZE_MAX: batches are run whole, for this reason: */
    char reason[320];
    uint32_t node;    /* of the model that the reason is about; SDX_NO_INDEX: none */
    int64_t wanted;   /* samples at a time, as the caller has it; 0: what suits, -1: whole batches */
    int64_t fixed;    /* the only size of the batch that the program is made for; -1: any */
    bool *inputs;     /* by main input: has samples, along its first axis */
} sdx_slice;

/* A program that is not run but written: as sdx_program_create, without packing. */
sdx_status sdx_program_create_saving(const sdx_model *model, const sdx_program_options *options,
                                     sdx_program **out, sdx_error *error);

struct sdx_program {
    const sdx_allocator *allocator;
    sdx_allocator own_allocator; /* the caller's; `allocator` is the budget's */
    sdx_budget budget;
    const sdx_model *model;
    sdx_module *module; /* a copy of the model's, rewritten by passes; fixed sizes put in */
    sdx_limits limits;
    int optimize;
    sdx_arena arena;
    sdx_expr_pool *pool; /* the module's; has offsets too */
    int64_t *fixed;      /* by symbol of the model: the size that the program is made for, or -1 */
    int64_t *expected;   /* by symbol of `pool`: the size that it plans for, or -1 */
    uint32_t levers;     /* SDX_MEMORY_* */
    uint32_t kernels;    /* SDX_KERNELS_* */
    uint32_t threads;    /* that pack weights; 0: the default */
    const char *strategy;
    uint32_t *pass_changes; /* by pass: how often it did something */
    sdx_id *nodes;          /* all that are alive, in order, graph after graph */
    size_t node_count;
    sdx_block *blocks;     /* by graph id */
    sdx_slot_info *slots;  /* by value id */
    bool saving; /* made to be written to a packed file: constants stay as they are, nothing is packed */
    bool *node_fixed;      /* by node id: a step whose shapes follow from the symbols */
    sdx_value *constants;  /* borrowed values, refcount never reaches 0 */
    uint32_t constant_count;
    uint32_t *input_defaults; /* by main input: constant to use where the caller sets none */
    sdx_id *storage_values; /* value of each storage entry of a context */
    uint32_t storage_count;
    sdx_sized *sized;       /* aliases first */
    uint32_t sized_count, alias_count;
    sdx_expr *open;         /* the open dims of one entry of sized after the other */
    uint32_t open_count;
    sdx_planned *planned;   /* sorted by first */
    uint32_t planned_count;
    sdx_layout layouts[SDX_LAYOUTS]; /* of planned; the smallest one counts at each binding */
    uint32_t layout_count;  /* 1 as a rule */
    bool *chosen;           /* by node: sharings that are made, as in sdx_storages */
    sdx_order_info order;
    sdx_slice slice;
    sdx_id *releases;
    uint32_t edge_count, step_count;
    uint32_t max_inputs, max_outputs; /* of any step */
    size_t constant_bytes; /* copied or packed, because they could not be used in place */
};

/* Whether every dim is an expression of symbols. */
bool sdx_type_fixed(const sdx_type *type);
/* The node of the model that a node of the program stands for; and that named in an error. */
const sdx_node *sdx_program_origin(const sdx_program *program, const sdx_node *node);
void sdx_program_blame(const sdx_program *program, const sdx_node *node, sdx_error *error);
/* The index that the model has for a value of the program; SDX_NO_INDEX: a pass made it. */
static inline uint32_t sdx_program_value(const sdx_program *program, sdx_id value) {
    return value < program->model->module->values.count ? value : SDX_NO_INDEX;
}

#endif
