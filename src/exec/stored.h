/* stored.h - what a packed file says of a program beyond its graph: under which options passes and planner
 * have worked, what they decided, and weights that are packed already. pack/ fills it, program.c and
 * lower*.c use it. Nothing in it is trusted: the order of the nodes is checked when the graph is read,
 * choices and arrangements by the rules that make them, sizes by the operators. */
#ifndef SDX_EXEC_STORED_H
#define SDX_EXEC_STORED_H

#include "base/kept.h"
#include "exec/model.h"
#include "exec/program.h"

/* Weights packed for one instruction set. */
typedef struct sdx_stored_set {
    const char *isa;
    uint64_t bytes;
} sdx_stored_set;

struct sdx_stored {
    const char *library; /* version that made the file */
    uint32_t layout;     /* SDX_PACK_LAYOUT of that version */
    bool plain;          /* weights are there as they were, too */
    bool half;           /* … in half precision */
    int optimize;
    uint32_t kernels, levers; /* SDX_KERNELS_*, SDX_MEMORY_* */
    const char *strategy;
    uint32_t node_count; /* without the origins behind them */
    uint32_t *pass_changes; /* by pass of this library; those that it does not know are left out */
    /* Slices: as in sdx_slice. */
    size_t slice_symbol; /* of the model's pool, or SIZE_MAX */
    const char *slice_reason;
    sdx_id slice_node;
    bool *slice_inputs;
    /* The plan. */
    sdx_order_info order;
    bool *chosen; /* by node: Concat written in place, Slice or Split without a copy */
    uint32_t buffer_count, layout_count;
    uint32_t *layouts[SDX_LAYOUTS]; /* buffers from the lowest up */
    /* Weights. */
    sdx_stored_set *sets;
    size_t set_count;
    sdx_packed_blob *blobs; /* by node, for the set at hand; NULL: the file has none for it */
    uint64_t data_begin, data_end; /* of the file: where those and the constants lie */
};

/* What the model's file stored, or NULL; a constant NULL where this build reads no such files. */
static inline const sdx_stored *sdx_stored_of(const sdx_model *model) {
    return SDX_HAS(packed_files) ? model->stored : NULL;
}
/* The names of the sets, "avx2 and avx512", into buffer. */
const char *sdx_stored_sets_text(const sdx_stored *stored, char *buffer, size_t size);
/* Takes the slices that were found when the model was packed. */
sdx_status sdx_stored_slices(sdx_program *program, const int64_t *fixed, sdx_error *error);
/* Whether the plan in the file is the one that the program's options ask for. */
bool sdx_stored_has_plan(const sdx_program *program);

/* What pack/ gives to sdx_model_load_*: whether bytes are a packed file, and the model from one. Fills
 * module, stored and file_bytes; operators are not resolved yet. */
bool sdx_is_packed(const void *bytes, size_t size);
sdx_status sdx_packed_load(sdx_model *model, const void *bytes, size_t size, bool verify,
                           sdx_error *error);

#endif
