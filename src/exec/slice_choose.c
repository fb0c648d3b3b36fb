/* slice_choose.c - how many samples of a batch go through a program at a time, and whether the threads take
 * slices side by side or all work on the same one. See slice.h and lanes.h. */
#include <string.h>

#include "base/cpus.h"
#include "exec/lanes.h"

/* With more samples at a time than this, a sample's share of the weights is little. */
#define MOST_SAMPLES 16
/* What fits one part in so many of the cache is small. */
#define TINY 32
/* Threads that run slices by themselves may be idle for one part in so many: together they lose as much. */
#define MOST_IDLE 6

static uint64_t constant_bytes(const sdx_program *program) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < program->constant_count; i++) {
        const sdx_tensor *tensor = &program->constants[i].tensor;
        sum += (uint64_t)tensor->count * sdx_dtype_size(tensor->dtype);
    }
    return sum;
}

/* Steps on a few rows leave threads without work and vectors half full: so many samples for each thread,
 * where they fit a part of the cache. */
#define SAMPLES_A_THREAD 2

/* Every slice reads all weights once more, unless the cache keeps them; twice as many samples at a time
 * halve a sample's share of that. It pays as long as that share is more than what a sample itself moves,
 * and is worth a little memory: a part of what the weights take. Slices that fill a small part of the
 * cache only would save nothing at all. */
static int64_t best_size(uint64_t weights, uint64_t sample, uint32_t threads, uint64_t cache) {
    int64_t size = 1;
    while (size < SAMPLES_A_THREAD * (int64_t)threads && sample <= cache / 4 / (uint64_t)size)
        size *= 2;
    while (size < INT64_MAX / 4 && sample <= cache / TINY / (uint64_t)size) size *= 2;
    if (weights <= cache / 2) return size;
    uint64_t room = weights / 4 > cache / 8 ? weights / 4 : cache / 8;
    while (size < MOST_SAMPLES && sample <= room / (uint64_t)size / 2 &&
           sample < weights / (uint64_t)size / 2)
        size *= 2;
    return size;
}

/* What suits a sample of so many bytes of arena. Threads side by side share out what they would run together, so
 * that they need no more memory. Each needs a part of the cache that keeps a sample; large samples give all
 * threads enough to do in every layer. */
static void set_sizes(sdx_context *context, uint64_t sample) {
    const int64_t wanted = context->program->slice.wanted;
    const uint32_t threads = sdx_pool_threads(context->pool);
    const uint64_t cache = sdx_cache_bytes("");
    context->together =
        wanted > 0 ? wanted : best_size(constant_bytes(context->program), sample, threads, cache);
    context->tiny = wanted > 0 || sample == 0 ? 0 : (int64_t)(cache / TINY / sample);
    bool apart = threads > 1 && sample <= cache / threads / 2;
    context->alone = apart ? context->together / threads : 0;
}

/* Sizes of slices for these symbols. All but the batch count, so that they are found once for all batches. */
static sdx_status find_sizes(sdx_context *context, const int64_t *symbols, sdx_error *error) {
    const sdx_program *program = context->program;
    size_t count = sdx_expr_symbol_count(program->pool), symbol = program->slice.symbol;
    bool same = context->together > 0;
    for (size_t i = 0; same && i < count; i++)
        same = i == symbol || symbols[i] == context->slice_symbols[i];
    if (same) return SDX_STATUS_OK;
    context->together = 0;
    memcpy(context->slice_symbols, symbols, count * sizeof *symbols);
    context->slice_symbols[symbol] = 1;
    if (!sdx_bound_find(context, context->slice_symbols)) {
        sdx_bound_take(context, context->slice_symbols);
        SDX_TRY(sdx_context_plan(context, error));
    }
    set_sizes(context, context->now->needs.arena);
    return SDX_STATUS_OK;
}

/* As many slices as needed, all of about the same size; a multiple of `at_once` if there may be as many. */
static void cut(sdx_context *context, int64_t size, int64_t at_once) {
    int64_t slices = (context->batch + size - 1) / size;
    slices = (slices + at_once - 1) / at_once * at_once;
    if (slices > context->batch) slices = context->batch;
    context->slices = slices;
    context->slice = (context->batch + slices - 1) / slices;
}

/* All threads on one slice after another, or on the whole batch. */
static void choose_together(sdx_context *context) {
    context->side_by_side = 0;
    context->slice = 0;
    if (context->together < context->batch) cut(context, context->together, 1);
}

/* Each thread on slices of its own, unless some would wait long for the others in the end. A batch that fits a
 * small part of the cache, or the memory that the caller gave, needs no slices, which have their outputs
 * elsewhere. */
static bool choose_side_by_side(sdx_context *context) {
    const int64_t threads = sdx_pool_threads(context->pool), batch = context->batch;
    if (!context->alone || batch < threads || batch <= context->tiny) return false;
    if (context->arena_given && batch <= context->together) return false;
    const int64_t idle = (threads - batch % threads) % threads; /* samples that could be run meanwhile */
    if (idle > batch / MOST_IDLE) return false;
    cut(context, context->alone, threads);
    context->side_by_side = (uint32_t)threads;
    return true;
}

/* There is no memory for slices side by side, but there may be for one at a time. */
static void go_on_without(sdx_context *context, sdx_error *error) {
    sdx_error_clear(error);
    atomic_store(&context->budget.refused, 0);
}

sdx_status sdx_slice_choose(sdx_context *context, const int64_t *symbols, sdx_error *error) {
    const sdx_slice *slice = &context->program->slice;
    context->slice = 0;
    context->side_by_side = 0;
    if (slice->symbol == SIZE_MAX) return SDX_STATUS_OK;
    int64_t batch = symbols[slice->symbol];
    if (slice->fixed >= 0 && batch != slice->fixed)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                        "'%.64s' is %lld, the program was made for %lld alone",
                        sdx_expr_symbol_name(context->program->model->module->pool, slice->symbol),
                        (long long)batch, (long long)slice->fixed);
    if (batch < 2) return SDX_STATUS_OK;
    context->batch = batch;
    SDX_TRY(find_sizes(context, symbols, error));
    if (choose_side_by_side(context)) {
        if (sdx_lanes_plan(context, context->slice_symbols, error) == SDX_STATUS_OK)
            return SDX_STATUS_OK;
        go_on_without(context, error);
    }
    choose_together(context);
    return SDX_STATUS_OK;
}

sdx_status sdx_slice_prepare(sdx_context *context, const int64_t *symbols, sdx_error *error) {
    SDX_TRY(sdx_slice_choose(context, symbols, error));
    if (!context->side_by_side || sdx_lanes_provide(context, error) == SDX_STATUS_OK)
        return SDX_STATUS_OK;
    go_on_without(context, error);
    choose_together(context);
    return SDX_STATUS_OK;
}
