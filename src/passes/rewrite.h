/* rewrite.h - what passes over a program's module are made of: who reads a value, putting one value in
 * place of another, removing nodes, reading constants; nodes are emitted through build.h. One sdx_rewrite
 * serves all passes of a program, so that the lists of uses are made once and kept up to date. */
#ifndef SDX_PASSES_REWRITE_H
#define SDX_PASSES_REWRITE_H

#include "passes/build.h"

/* One reader of a value. Subgraphs name outer values directly, so a reader may stand deeper. */
typedef struct sdx_use {
    sdx_id node;    /* SDX_NONE: an output of `graph` */
    sdx_id graph;
    uint32_t index; /* which input, or which output of the graph */
    uint32_t next;
} sdx_use;

typedef struct sdx_rewrite {
    sdx_build build; /* where nodes are emitted; see sdx_rewrite_at */
    sdx_module *module;
    int level;        /* of optimisation */
    uint32_t kernels; /* SDX_KERNELS_* */
    uint32_t changes; /* of the pass at hand: a pass counts what it did */
    bool settled;     /* the passes before it have found nothing to do in this round, or it is the last */
    sdx_arena scratch;  /* gone when the pass at hand ends */
    sdx_vector heads;   /* by value: uses */
    sdx_vector uses;    /* sdx_use */
    sdx_vector work;    /* sdx_id: nodes to remove */
    size_t known_nodes; /* whose uses are listed */
    size_t listed_nodes; /* that stand in their graphs' lists */
    bool untidy;         /* nodes have been made or removed since the lists were made */
} sdx_rewrite;

sdx_status sdx_rewrite_init(sdx_rewrite *r, sdx_module *module, int level, sdx_error *error);
void sdx_rewrite_free(sdx_rewrite *r);
/* Brings the graphs' lists of nodes up to date: without dead ones, with new ones, in order. */
sdx_status sdx_rewrite_tidy(sdx_rewrite *r);

/* New nodes stand in the graph of `node` and for it, or for all of `nodes`, the main one first. */
void sdx_rewrite_at(sdx_rewrite *r, sdx_id node);
void sdx_rewrite_from(sdx_rewrite *r, const sdx_id *nodes, uint32_t count);
/* Frees the scratch memory; the next node is emitted after sdx_rewrite_at or _from. */
void sdx_rewrite_forget(sdx_rewrite *r);

/* ---- uses ------------------------------------------------------------------------------------ */

/* How often a value is read; as an output of a graph too. */
uint32_t sdx_use_count(sdx_rewrite *r, sdx_id value);
/* Whether it is an output of the main graph or of a subgraph. */
bool sdx_use_is_output(sdx_rewrite *r, sdx_id value);
/* Goes through the readers: start with *at = SDX_NONE; NULL after the last. The graph may be changed
 * meanwhile only as far as this value's readers stay. */
const sdx_use *sdx_use_next(sdx_rewrite *r, sdx_id value, uint32_t *at);
/* The only reader, if it is a node of the value's own graph that reads it once; else SDX_NONE. */
sdx_id sdx_sole_user(sdx_rewrite *r, sdx_id value);

/* ---- changes --------------------------------------------------------------------------------- */

/* Whoever reads `old` reads `by` from now on. An output of a graph keeps its value: then the node that
 * makes `by` makes `old` from now on, whatever else read `by`. False where that cannot be (`by` is
 * made by no node, is an output itself, or both stand in different graphs): nothing has changed. */
bool sdx_replace(sdx_rewrite *r, sdx_id old, sdx_id by);
/* Makes one input of a node another value, or SDX_NONE. */
void sdx_set_input(sdx_rewrite *r, sdx_id node, uint32_t input, sdx_id value);
/* Removes a node, and with it what only it needed. Nobody may read its outputs any more. */
void sdx_kill(sdx_rewrite *r, sdx_id node);
/* sdx_replace, then sdx_kill of the node that made `old`. Counts as a change if it could be done. */
bool sdx_supplant(sdx_rewrite *r, sdx_id old, sdx_id by);

/* ---- what stands there ----------------------------------------------------------------------- */

/* The node if it is alive, supported, and operator `op` of ai.onnx, else NULL. Valid until a node is
 * emitted. */
const sdx_node *sdx_node_if(const sdx_rewrite *r, sdx_id node, const char *op);
/* The same for the node that makes a value (as its output 0). */
const sdx_node *sdx_maker_if(const sdx_rewrite *r, sdx_id value, const char *op);
bool sdx_is_fused(const sdx_node *node, const char *op); /* of the operators that passes make, and not dead */
sdx_id sdx_maker(const sdx_rewrite *r, sdx_id value); /* node, or SDX_NONE */
static inline sdx_id sdx_node_input(const sdx_node *node, uint32_t i) {
    return i < node->input_count ? node->inputs[i] : SDX_NONE;
}
const sdx_const *sdx_constant_of(const sdx_rewrite *r, sdx_id value); /* or NULL */
/* The only element of a constant of one element, whatever its rank. */
bool sdx_constant_number(const sdx_rewrite *r, sdx_id value, double *out);
bool sdx_constant_is(const sdx_rewrite *r, sdx_id value, double number); /* to 1e-5 of it */
/* All elements as doubles, until the pass ends; NULL if it is no constant of numbers (or there is no
 * memory: then build.status says so). */
const double *sdx_constant_doubles(sdx_rewrite *r, sdx_id value, size_t *count);
/* A constant of that float type from doubles. */
sdx_id sdx_emit_floats(sdx_rewrite *r, sdx_dtype dtype, int32_t rank, const int64_t *dims,
                       const double *values);

#endif
