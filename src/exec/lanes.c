/* lanes.c - slices side by side, each in the lane of a thread: see lanes.h. Which slice comes next is claimed,
 * so that a thread that is held up holds up no other. */
#include "exec/lanes.h"

#include <pthread.h>
#include <string.h>

#include "base/checked.h"

struct sdx_lanes {
    sdx_context *of;
    const sdx_allocator *allocator; /* of this and all that lanes hold */
    size_t size;                    /* of this allocation */
    pthread_mutex_t lock;           /* for what only one thread may do at a time */
    sdx_allocator heap;             /* of all lanes, under the lock: the caller's need not know threads */
    /* The plan: what is planned for, and bytes of arena for a lane. */
    int64_t slice;
    bool uneven; /* some slices have one sample less */
    const sdx_bound *bound;
    size_t stride;
    /* The run. */
    atomic_int_fast64_t next;   /* slice to be claimed */
    atomic_int_fast64_t failed; /* the first slice that has; none behind it is begun */
    sdx_error *error;           /* that slice's */
    sdx_status status;
    uint32_t count;
    struct {
        sdx_context *context;
        sdx_error error;
    } lanes[];
};

void sdx_lanes_lock(sdx_lanes *lanes) { pthread_mutex_lock(&lanes->lock); }
void sdx_lanes_unlock(sdx_lanes *lanes) { pthread_mutex_unlock(&lanes->lock); }

/* ---- making ------------------------------------------------------------------------------------ */

static void *allocate_alone(void *user, size_t size, size_t alignment) {
    sdx_lanes *lanes = user;
    sdx_lanes_lock(lanes);
    void *memory = sdx_alloc(&lanes->of->heap.allocator, size, alignment);
    sdx_lanes_unlock(lanes);
    return memory;
}

static void release_alone(void *user, void *memory, size_t size) {
    sdx_lanes *lanes = user;
    sdx_lanes_lock(lanes);
    sdx_free(&lanes->of->heap.allocator, memory, size);
    sdx_lanes_unlock(lanes);
}

static void profile_alone(void *user, const sdx_step_profile *step) {
    sdx_lanes *lanes = user;
    sdx_lanes_lock(lanes);
    lanes->of->profile(lanes->of->profile_user, step);
    sdx_lanes_unlock(lanes);
}

void sdx_lanes_release(sdx_lanes *lanes) {
    if (!lanes) return;
    for (uint32_t i = 0; i < lanes->count; i++) sdx_context_release(lanes->lanes[i].context);
    pthread_mutex_destroy(&lanes->lock);
    sdx_free(lanes->allocator, lanes, lanes->size);
}

static sdx_status make_lanes(sdx_context *context, sdx_error *error) {
    const uint32_t count = sdx_pool_threads(context->pool);
    sdx_lanes *lanes;
    const size_t size = sizeof *lanes + count * sizeof lanes->lanes[0];
    lanes = sdx_alloc(context->allocator, size, _Alignof(max_align_t));
    if (!lanes) return sdx_fail_memory(error, size, "the threads' slices");
    memset(lanes, 0, size);
    lanes->of = context;
    lanes->allocator = context->allocator;
    lanes->size = size;
    lanes->heap = (sdx_allocator){lanes, allocate_alone, release_alone};
    if (pthread_mutex_init(&lanes->lock, NULL) != 0) {
        sdx_free(lanes->allocator, lanes, size);
        return sdx_fail(error, SDX_STATUS_NO_MEMORY, "the system gave no lock for the threads' slices");
    }
    sdx_status status = SDX_STATUS_OK;
    while (status == SDX_STATUS_OK && lanes->count < count) {
        const uint32_t i = lanes->count;
        status = sdx_context_create_lane(context, i, &lanes->heap, &lanes->lanes[i].context, error);
        if (status == SDX_STATUS_OK) lanes->count++;
    }
    if (status != SDX_STATUS_OK) {
        sdx_lanes_release(lanes);
        return status;
    }
    context->lanes = lanes;
    return SDX_STATUS_OK;
}

/* ---- planning ------------------------------------------------------------------------------------ */

/* The binding of so many samples in this lane. */
static sdx_status plan_samples(sdx_context *lane, const int64_t *symbols, int64_t samples,
                               sdx_error *error) {
    const sdx_program *program = lane->program;
    memcpy(lane->given, symbols, sdx_expr_symbol_count(program->pool) * sizeof *symbols);
    lane->given[program->slice.symbol] = samples;
    if (sdx_bound_find(lane, lane->given)) return SDX_STATUS_OK;
    sdx_bound_take(lane, lane->given);
    return sdx_context_plan(lane, error);
}

static sdx_status plan_stride(sdx_lanes *lanes, const int64_t *symbols, int64_t slice, bool uneven,
                              sdx_error *error) {
    sdx_context *lane = lanes->lanes[0].context;
    lanes->slice = 0;
    size_t most = 0;
    if (uneven) { /* fewer samples need not need less: strips and kernels are cut by their number */
        SDX_TRY(plan_samples(lane, symbols, slice - 1, error));
        most = lane->now->needs.arena;
    }
    SDX_TRY(plan_samples(lane, symbols, slice, error));
    lanes->bound = lane->now;
    if (lane->now->needs.arena > most) most = lane->now->needs.arena;
    if (!sdx_size_align(most, SDX_CACHE_LINE, &lanes->stride))
        return sdx_fail(error, SDX_STATUS_LIMIT, "the intermediates pass the address space");
    lanes->slice = slice;
    lanes->uneven = uneven;
    return SDX_STATUS_OK;
}

/* Whether the plan is for these sizes, as it is in most runs. Others may have taken its tables meanwhile. */
static bool is_planned(const sdx_lanes *lanes, const int64_t *symbols, int64_t slice, bool uneven) {
    const sdx_program *program = lanes->of->program;
    if (lanes->slice != slice || lanes->uneven != uneven || !lanes->bound->used) return false;
    for (size_t i = 0; i < sdx_expr_symbol_count(program->pool); i++)
        if (lanes->bound->symbols[i] != (i == program->slice.symbol ? slice : symbols[i])) return false;
    return true;
}

sdx_status sdx_lanes_plan(sdx_context *context, const int64_t *symbols, sdx_error *error) {
    if (!context->lanes) SDX_TRY(make_lanes(context, error));
    sdx_lanes *lanes = context->lanes;
    const bool uneven = context->batch % context->slices != 0;
    if (!is_planned(lanes, symbols, context->slice, uneven))
        SDX_TRY(plan_stride(lanes, symbols, context->slice, uneven, error));
    sdx_needs needs = lanes->bound->needs;
    if (!sdx_size_mul(lanes->stride, lanes->count, &needs.arena) ||
        needs.arena > context->budget.limit ||
        (context->arena_given && needs.arena > context->arena_size))
        return sdx_fail(error, SDX_STATUS_LIMIT, "the intermediates of %u threads pass the limit",
                        lanes->count);
    if (!sdx_size_mul(needs.naive, lanes->count, &needs.naive)) needs.naive = SIZE_MAX;
    context->largest = needs;
    return SDX_STATUS_OK;
}

sdx_status sdx_lanes_provide(sdx_context *context, sdx_error *error) {
    sdx_lanes *lanes = context->lanes;
    SDX_TRY(sdx_context_provide(context, context->largest.arena, error));
    for (uint32_t i = 0; i < lanes->count; i++) {
        sdx_context *lane = lanes->lanes[i].context;
        void *arena = lanes->stride ? (char *)context->arena + i * lanes->stride : NULL;
        if (lane->arena != arena) lane->placed = false;
        lane->arena = arena;
        lane->arena_size = lanes->stride;
    }
    return SDX_STATUS_OK;
}

/* ---- running --------------------------------------------------------------------------------------- */

static void note_failure(sdx_lanes *lanes, int64_t slice, sdx_status status, sdx_error *error) {
    sdx_lanes_lock(lanes);
    if (slice < atomic_load(&lanes->failed)) {
        atomic_store(&lanes->failed, slice);
        lanes->status = status;
        lanes->error = error;
    }
    sdx_lanes_unlock(lanes);
}

/* A thread takes one slice after another until none is left. Slices are claimed in order, so that all in
 * front of one that fails are run to their end: the error is the one that a single thread would have met. */
static void run_lane(void *arg, uint32_t slot, size_t first, size_t last) {
    (void)first, (void)last;
    sdx_lanes *lanes = arg;
    sdx_context *lane = lanes->lanes[slot].context;
    for (;;) {
        const int64_t slice = atomic_fetch_add(&lanes->next, 1);
        if (slice >= lanes->of->slices || slice > atomic_load(&lanes->failed)) return;
        sdx_error *error = &lanes->lanes[slot].error;
        const sdx_status status = sdx_run_slice(lanes->of, lane, slice, error);
        if (status == SDX_STATUS_OK) continue;
        note_failure(lanes, slice, status, error);
        return;
    }
}

sdx_status sdx_lanes_run(sdx_context *context, sdx_error *error) {
    sdx_lanes *lanes = context->lanes;
    const sdx_graph *graph = sdx_graph_at(context->program->module, 0);
    atomic_store(&lanes->next, 0);
    atomic_store(&lanes->failed, INT64_MAX);
    lanes->status = SDX_STATUS_OK;
    for (uint32_t i = 0; i < lanes->count; i++) {
        sdx_context *lane = lanes->lanes[i].context;
        sdx_error_clear(&lanes->lanes[i].error);
        lane->arena_used = 0;
        lane->profile = context->profile ? profile_alone : NULL;
        lane->profile_user = lanes;
        for (uint32_t k = 0; k < graph->input_count; k++)
            lane->slots[graph->inputs[k]] = context->whole[k];
    }
    sdx_parallel_for_slots(context->pool, lanes->count, 1, run_lane, lanes);
    size_t used = 0;
    for (uint32_t i = 0; i < lanes->count; i++) {
        sdx_context *lane = lanes->lanes[i].context;
        if (lane->arena_used > used) used = lane->arena_used;
        for (uint32_t k = 0; k < graph->input_count; k++) lane->slots[graph->inputs[k]] = NULL;
    }
    context->arena_used = used * lanes->count;
    if (lanes->status != SDX_STATUS_OK) {
        *error = *lanes->error;
        return lanes->status;
    }
    /* A loop that the watch has ended leaves pieces out and says nothing. */
    if (!sdx_watch_over(context->watch)) return SDX_STATUS_OK;
    return sdx_run_stopped(context, context->program->blocks[0].steps, error);
}

/* ---- what is asked of them --------------------------------------------------------------------------- */

void sdx_lanes_clear(sdx_lanes *lanes) {
    for (uint32_t i = 0; lanes && i < lanes->count; i++) sdx_context_clear(lanes->lanes[i].context);
}

const sdx_bound *sdx_lanes_bound(const sdx_lanes *lanes) { return lanes->bound; }

size_t sdx_lanes_bytes(const sdx_lanes *lanes) {
    size_t sum = lanes ? lanes->size : 0;
    for (uint32_t i = 0; lanes && i < lanes->count; i++)
        sum += lanes->lanes[i].context->memory.total + sizeof *lanes->lanes[i].context;
    return sum;
}
