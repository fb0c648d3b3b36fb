/* context.h - one run at a time: storage of the values, the arena, the run-time heap, bindings.
 * Shared by context.c (objects, inputs, outputs), input.c (what may be handed in), bind.c (symbols ->
 * sizes -> offsets), bound.c (bindings that are kept), run.c, slice_*.c and lanes.c (batches in slices). */
#ifndef SDX_EXEC_CONTEXT_H
#define SDX_EXEC_CONTEXT_H

#include "base/budget.h"
#include "exec/bound.h"
#include "exec/program.h"
#include "plan/plan.h"

typedef struct sdx_lanes sdx_lanes; /* see lanes.h */

/* An output of a batch that was run in slices. */
typedef struct sdx_output {
    sdx_value value;
    void *memory;
    size_t size; /* of the memory, which stays for later runs */
    bool made;   /* for the run at hand */
} sdx_output;

struct sdx_context {
    const sdx_allocator *allocator; /* the budget's */
    sdx_allocator own_allocator;    /* the caller's */
    sdx_budget budget;              /* over all that the context holds */
    const sdx_program *program;
    sdx_arena memory; /* for the tables below */
    sdx_value *storage;  /* program->storage_count: arena values, aliases, inputs */
    sdx_value **slots;   /* by value id: what is there now; NULL: nothing */
    sdx_value **edges;   /* by step: pointers handed to the body */
    bool *wanted;        /* by edge, for outputs */
    sdx_bound kept[SDX_BOUND_KEPT]; /* bindings, of which `now` is the one at hand */
    uint32_t kept_count;
    sdx_bound *now;
    uint64_t bindings; /* counts uses of bindings */
    int64_t *given;    /* symbols as the inputs of this run have them */
    sdx_infer_in *in_info;
    sdx_infer_out *out_info;
    sdx_expr (*in_dims)[SDX_MAX_RANK];
    bool *input_set;
    bool placed; /* the tensors in storage are those of `now`, in the arena as it is */
    void *arena;
    size_t arena_size, arena_used;
    bool arena_given; /* by the caller, or by the context that this is a lane of: may not grow */
    int64_t batch;        /* samples in all */
    int64_t slice;        /* and at most in one slice; 0: the batch is run whole */
    int64_t slices;       /* all of `slice` samples or one less, the larger ones first */
    uint32_t side_by_side; /* slices that are run at the same time, each in a lane; 0: one after another */
    sdx_needs largest;      /* of the slices of a run, of all lanes together */
    int64_t together; /* samples of a slice that all threads run; 0: not found yet for slice_symbols */
    int64_t alone;    /* and of one that a thread runs by itself; 0: none does */
    int64_t tiny;     /* samples that are not worth slices of their own */
    int64_t *slice_symbols;
    sdx_lanes *lanes; /* NULL until they are wanted */
    uint32_t lane;    /* which one this is of its context's */
    sdx_value **whole;   /* by main input: the caller's, while parts of it are run */
    sdx_value *parts;    /* by main input: borrowed values, parts of the caller's */
    sdx_output *outputs; /* by main output */
    sdx_budget heap; /* over values that a run makes; the budget has the limit */
    sdx_arena text; /* bytes of string elements made in this run */
    sdx_pool *pool;
    sdx_host host;
    void (*observe)(void *user, uint32_t value, const sdx_tensor *tensor);
    void *observe_user;
    void (*profile)(void *user, const sdx_step_profile *step);
    void *profile_user;
    uint64_t seed, runs;
    uint64_t draws; /* seeds handed out in this run */
    const sdx_watch *watch; /* own_watch; a lane's: that of the context that it is a lane of */
    sdx_watch own_watch;
    uint64_t max_time_ms; /* of a run; 0: any */
    bool has_run;
};

static inline sdx_context *sdx_context_of(sdx_host *host) {
    return (sdx_context *)(void *)((char *)host - offsetof(sdx_context, host));
}

/* Fails unless the value is of the type that the model declares for its input `id`. */
sdx_status sdx_check_input(const sdx_module *module, sdx_id id, const sdx_value *value,
                           sdx_error *error);
/* symbols[i] becomes the size that the inputs give symbol i, else -1. */
sdx_status sdx_bind_inputs(sdx_context *context, int64_t *symbols, sdx_error *error);
/* Binds symbols from the inputs that are set; plans the arena unless these sizes are kept. */
sdx_status sdx_context_bind(sdx_context *context, sdx_error *error);
/* Sizes and offsets of everything in the arena, from the results of the binding at hand, which then holds a
 * plan. */
sdx_status sdx_context_plan(sdx_context *context, sdx_error *error);
/* symbols[i] becomes the size that a binding gives symbol i, else -1. */
sdx_status sdx_bind_names(const sdx_expr_pool *pool, const sdx_binding *bindings, size_t count,
                          int64_t *symbols, sdx_error *error);
/* An arena of so many bytes at least; one that moves has no values in place any more. */
sdx_status sdx_context_provide(sdx_context *context, size_t needed, sdx_error *error);
/* A context without threads and arena for the slices of another, from whose budget it takes its memory;
 * what it makes during a run comes from `heap`. */
sdx_status sdx_context_create_lane(sdx_context *of, uint32_t number, const sdx_allocator *heap,
                                   sdx_context **out, sdx_error *error);
/* Nothing of the last run is left on the heap. */
void sdx_context_clear(sdx_context *context);
/* Sets batch, slice, slices and side_by_side for these sizes. Plans on the way: binding comes after. Prepare
 * takes the memory of lanes as well, or does without them where there is none. */
sdx_status sdx_slice_prepare(sdx_context *context, const int64_t *symbols, sdx_error *error);
sdx_status sdx_slice_choose(sdx_context *context, const int64_t *symbols, sdx_error *error);
/* Binds and runs all slices. */
sdx_status sdx_run_slices(sdx_context *context, sdx_error *error);
sdx_status sdx_slice_tables(sdx_context *context, sdx_error *error);
size_t sdx_slice_output_bytes(const sdx_context *context); /* of memory for outputs */
/* A run has ended before it was done, at this step or in front of it: says why. */
sdx_status sdx_run_stopped(const sdx_context *context, const sdx_step *step, sdx_error *error);
/* Runs the steps of one graph; its inputs are in their slots. */
sdx_status sdx_run_block(sdx_context *context, sdx_id graph, sdx_error *error);
sdx_status sdx_run_graph(sdx_host *host, sdx_id graph, sdx_value *const *in, uint32_t in_count,
                         sdx_value **out, uint32_t out_count, sdx_error *error);
/* Tells the profile of a step that began at begin_ns and has just ended; see profile.c. */
void sdx_profile_step(const sdx_context *context, const sdx_step *step, sdx_call *call,
                      uint64_t begin_ns);

#endif
