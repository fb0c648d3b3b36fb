/* lowering.h - what the files lower*.c and storage*.c share while a program is made:
 *
 *   lower.c          nodes -> steps, constants, lifetimes, releases; drives the rest
 *   lower_pack.c     constants brought into the layout that a step wants
 *   storage.c        which values share memory: views, in place, inside one another
 *   lower_memory.c   sizes to plan for, which sharings pay, where values live
 *   lower_layout.c   one arrangement of the buffers for all sizes
 *   lower_order.c    an order of the steps that needs less memory
 */
#ifndef SDX_EXEC_LOWERING_H
#define SDX_EXEC_LOWERING_H

#include "exec/program.h"

typedef struct sdx_lowering {
    sdx_program *program;
    sdx_module *module;
    sdx_error *error;
    sdx_arena scratch;     /* gone when the program is made */
    uint8_t *needed;       /* by node id */
    uint8_t *value_used;   /* by value id: read by a needed node, or an output */
    uint8_t *plain;        /* by value id: its bytes are read as they are, not only packed */
    uint32_t *last_use;    /* by value id: step of its own block */
    sdx_vector releases;   /* sdx_id */
    sdx_expr *bytes;       /* by value id: fixed tensors of the main graph */
} sdx_lowering;

sdx_status sdx_lower(sdx_lowering *l);
/* Lets operators pack their constants: fills packed and taken of all steps. */
sdx_status sdx_lower_pack(sdx_lowering *l);
/* Constants whose bytes nobody reads plainly any more: gives back what can be. */
void sdx_lower_give_back(sdx_lowering *l);
/* Pages of the model's file that are still there: borders of what was packed, and what was only looked at.
 * Constants that runs read in place come back when they do. */
void sdx_lower_forget_file(const sdx_lowering *l);
static inline bool sdx_step_takes(const sdx_step *step, uint32_t input) {
    return input < 32 && (step->taken >> input & 1u);
}
/* last_use of the values of a graph, for the order in which its steps stand. */
void sdx_find_lifetimes(sdx_lowering *l, sdx_id graph);
/* A node reads its inputs and what its subgraphs capture: calls back for each (SDX_NONE left out). */
void sdx_each_read(const sdx_module *module, const sdx_node *node,
                   void (*visit)(void *user, sdx_id value), void *user);

/* ---- storage --------------------------------------------------------------------------------- */

/* A piece of memory. One with a parent lies inside it. */
typedef struct sdx_storage {
    sdx_id value;   /* the first that lives here */
    sdx_expr bytes;
    uint32_t parent; /* SDX_NONE: a buffer of its own */
    sdx_expr offset; /* in the parent */
    uint32_t over;   /* the storage that it takes over where `own` is 0, or SDX_NONE */
    sdx_expr own;    /* bytes that it needs of its own; those without a parent */
    uint32_t first, last; /* steps; of those without a parent */
} sdx_storage;

/* Where a value lives: in a storage, or (storage SDX_NONE) in the bytes of `root`, a constant or an
 * input; or (both SDX_NONE) on the run-time heap. */
typedef struct sdx_residence {
    uint32_t storage;
    sdx_id root;
    sdx_expr offset;
} sdx_residence;

typedef struct sdx_storages {
    sdx_storage *items;
    uint32_t count;
    sdx_residence *residence; /* by value id */
    bool *chosen; /* by node id: Concat whose inputs are written in place, Slice or Split without a
                     copy */
} sdx_storages;

sdx_status sdx_storages_init(sdx_lowering *l, sdx_storages *storages);
/* Whether a node is one of those for which `chosen` says something. */
bool sdx_storage_is_choice(const sdx_lowering *l, const sdx_step *step);
/* Fills items and residence for the steps as they stand and what is chosen. */
void sdx_storages_find(sdx_lowering *l, sdx_storages *storages);
/* Whether output 0 of a node may lie over input i, which fills the buffer, once nobody reads it. */
bool sdx_storage_may_take(const sdx_lowering *l, const sdx_storages *storages,
                          const sdx_node *node, uint32_t i, uint32_t buffer);
/* The same where only the sizes of a run decide whether the shapes are equal (x + y, each of its own
 * height): the bytes that output 0 needs of its own, 0 where it may lie over the input. Unknown: not
 * even then. */
sdx_expr sdx_storage_spare(const sdx_lowering *l, const sdx_storages *storages,
                           const sdx_node *node, uint32_t i, uint32_t buffer);
/* Makes the expressions that sdx_storage_spare can give, so that the pool does not grow later. */
void sdx_storages_foresee(const sdx_lowering *l);
/* The buffer that a storage lies in; adds its place there to *offset unless that is NULL. */
uint32_t sdx_storage_top(const sdx_lowering *l, const sdx_storages *storages, uint32_t storage,
                         sdx_expr *offset);

/* ---- memory and order -------------------------------------------------------------------------- */

/* A binding that the plan is tried at. */
typedef struct sdx_sample {
    int64_t *symbols;
    int64_t *results;
} sdx_sample;
#define SDX_SAMPLES 12

/* Chooses, plans, and fills slots, planned and layout of the program. */
sdx_status sdx_lower_memory(sdx_lowering *l);
/* Arranges program->planned. */
sdx_status sdx_lower_layout(sdx_lowering *l, const sdx_sample *samples, uint32_t count);
/* The arrangements of a packed file, if they are of as many buffers as there are here (a set of kernels may
 * need scratch memory where another does not). */
sdx_status sdx_lower_stored_layout(sdx_lowering *l, bool *placed);
/* Puts the main graph's steps into an order that needs less memory, where there is one. `results`
 * are the values of the program's pool at the sizes to plan for. */
sdx_status sdx_lower_order(sdx_lowering *l, const int64_t *results);
/* Bytes rounded up to whole cache lines; 0 where there is no number for them. */
size_t sdx_bytes_at(sdx_expr bytes, const int64_t *results);
/* Most bytes live at once, for the steps as they stand. */
size_t sdx_storages_peak(const sdx_lowering *l, const sdx_storages *storages,
                         const int64_t *results);

#endif
