/* control.h - what the operators share that run subgraphs or carry values other than tensors: If,
 * Loop, Scan, SequenceMap, the sequence and optional operators. Three things: types that cover
 * several possibilities, a subgraph with its arguments, and a stack that collects one tensor per
 * round. Private to control_*.c, sequence*.c and optional.c. */
#ifndef SDX_OPS_CONTROL_H
#define SDX_OPS_CONTROL_H

#include "ops/op.h"

/* ---- types (control_types.c) ---------------------------------------------------------------- */

bool sdx_type_same(const sdx_type *a, const sdx_type *b);
/* The narrowest type that both a and b fit; dims that differ become unknown. Fails when no value
 * can have either type by the rules of ONNX (float32 here, int64 there); `what` names it. */
sdx_status sdx_type_cover(sdx_infer *inf, const sdx_type *a, const sdx_type *b, const char *what,
                          sdx_type *out);
/* The same type with all shapes unknown. */
sdx_status sdx_type_open(sdx_infer *inf, const sdx_type *type, sdx_type *out);
/* Wraps `inner` (copied) into a sequence or optional. */
sdx_status sdx_type_wrap(sdx_infer *inf, sdx_kind kind, const sdx_type *inner, sdx_type *out);
/* A tensor type with these dims (copied); rank -1: none known. */
sdx_status sdx_type_tensor(sdx_infer *inf, sdx_dtype dtype, int32_t rank, const sdx_expr *dims,
                           sdx_type *out);
/* Type of the items of input i, which must be a sequence; kind NONE when not known. */
sdx_status sdx_infer_items(sdx_infer *inf, uint32_t i, sdx_type *out);

/* ---- subgraphs while loading (control_types.c) ---------------------------------------------- */

typedef struct sdx_subgraph {
    sdx_id graph;
    uint32_t in_count, out_count;
} sdx_subgraph;

/* Reads the graph attribute and checks the number of its inputs and outputs. */
sdx_status sdx_subgraph_need(sdx_prep *prep, const char *attr, uint32_t in_count,
                             uint32_t out_count, sdx_subgraph *out);
/* Fails if one of the node's inputs from `first` on is left out. */
sdx_status sdx_subgraph_need_inputs(sdx_prep *prep, uint32_t first);

/* A body that is run again and again. in[first_state + s] and out[s] are the same variable. */
typedef struct sdx_rounds {
    const sdx_subgraph *body;
    uint32_t states, first_state;
    sdx_type *in;  /* body->in_count; of the states: first what they start with, then what holds in
                      every round and at the end */
    sdx_type *out; /* body->out_count; result */
    bool *filled;  /* states that start as an optional and leave the body as its content */
} sdx_rounds;

sdx_status sdx_rounds_begin(sdx_infer *inf, const sdx_subgraph *body, uint32_t states,
                            uint32_t first_state, sdx_rounds *out);
/* Finds types that hold in every round. The tables live as long as the model. */
sdx_status sdx_rounds_infer(sdx_infer *inf, sdx_rounds *rounds);
/* Output o is state s after the last round, perhaps the zeroth. */
void sdx_rounds_set_state(sdx_infer *inf, const sdx_rounds *rounds, uint32_t o, uint32_t s);
/* Output o holds one element per round: lead[0..lead_rank) stand at `axis` of its dims (negative:
 * from the back); `full`: every position gets an element. *shown is what an element is known to
 * be, for a run without rounds. */
sdx_status sdx_rounds_set_stack(sdx_infer *inf, uint32_t o, const sdx_type *element,
                                const sdx_expr *lead, int32_t lead_rank, int64_t axis, bool full,
                                sdx_type *shown);

/* ---- subgraphs during a run (control_body.c) ------------------------------------------------ */

/* A subgraph with its arguments: in[] and out[] hold references of their own. */
typedef struct sdx_body {
    sdx_call *call;
    sdx_subgraph graph;
    sdx_value **in, **out;
} sdx_body;

sdx_status sdx_body_open(sdx_body *body, sdx_call *call, const sdx_subgraph *graph);
void sdx_body_close(sdx_body *body);
void sdx_body_set(sdx_body *body, uint32_t i, sdx_value *value);  /* retains */
void sdx_body_give(sdx_body *body, uint32_t i, sdx_value *value); /* takes the reference over */
/* Runs it once; what out[] held before is dropped. */
sdx_status sdx_body_run(sdx_body *body);
/* out[o] becomes the argument i of the next round; fails if it turned into another type. */
sdx_status sdx_body_carry(sdx_body *body, uint32_t o, uint32_t i, const char *what);
/* Output o becomes argument i as it stands after the last round. */
sdx_status sdx_body_finish(sdx_body *body, uint32_t i, uint32_t o, bool filled);
/* To be asked before each round: fails when cancelled or past the limit on rounds. */
sdx_status sdx_round_allowed(sdx_call *call, uint64_t round);
/* A tensor of one element, rank 0 or 1. */
sdx_status sdx_call_scalar(sdx_call *call, sdx_dtype dtype, int32_t rank, int64_t value,
                           sdx_value **out);
/* The one element of an input or body output that has to be a bool or an index. */
sdx_status sdx_call_read_bool(sdx_call *call, const sdx_value *value, const char *what, bool *out);
sdx_status sdx_call_read_index(sdx_call *call, const sdx_value *value, const char *what,
                               int64_t *out);
/* The sequence at input i. */
sdx_status sdx_call_sequence(sdx_call *call, uint32_t i, sdx_value **out);

/* ---- one tensor per round (control_stack.c) ------------------------------------------------- */

/* Elements of one shape side by side. The dims lead[] stand at `axis` of the result and count the
 * elements; a position is an index into them, row by row. */
typedef struct sdx_stack {
    sdx_value *value; /* NULL until the first element shows shape and type */
    int32_t lead_rank, axis;
    int64_t lead[2];
    int64_t axis_given; /* may count from the back */
    bool grows;         /* lead[0] is not known ahead: lead_rank 1, axis 0 */
    bool sparse;        /* positions may stay empty: zeros there */
} sdx_stack;

sdx_status sdx_stack_put(sdx_call *call, sdx_stack *stack, int64_t position,
                         const sdx_value *element, const char *what);
/* Makes output o of it. rounds: elements put, for a stack that grows. Without any element the
 * shape is that of `shown`. */
sdx_status sdx_stack_finish(sdx_call *call, sdx_stack *stack, uint32_t o, int64_t rounds,
                            const sdx_type *shown);


#endif
