/* slice_run.c - a run in slices: how many samples at a time, inputs as parts of the caller's, outputs put
 * together. See slice.h. */
#include <string.h>

#include "base/checked.h"
#include "base/cpus.h"
#include "exec/context.h"
#include "exec/slice.h"

/* With more samples at a time than this, a sample's share of the weights is little. */
#define MOST_SAMPLES 16

/* ---- how many at a time ----------------------------------------------------------------------- */

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
static int64_t best_size(uint64_t weights, uint64_t sample, uint32_t threads) {
    uint64_t cache = sdx_cache_bytes("");
    int64_t size = 1;
    while (size < SAMPLES_A_THREAD * (int64_t)threads && sample <= cache / 4 / (uint64_t)size)
        size *= 2;
    while (size < INT64_MAX / 4 && sample <= cache / 32 / (uint64_t)size) size *= 2;
    if (weights <= cache / 2) return size;
    uint64_t room = weights / 4 > cache / 8 ? weights / 4 : cache / 8;
    while (size < MOST_SAMPLES && sample <= room / (uint64_t)size / 2 &&
           sample < weights / (uint64_t)size / 2)
        size *= 2;
    return size;
}

/* The size for these symbols. All but the batch count, so that it is found once for all batches. */
static sdx_status choose_size(sdx_context *context, const int64_t *symbols, int64_t *size,
                              sdx_error *error) {
    const sdx_program *program = context->program;
    size_t count = sdx_expr_symbol_count(program->pool), symbol = program->slice.symbol;
    *size = program->slice.wanted;
    if (*size > 0) return SDX_STATUS_OK;
    bool same = context->slice_size > 0;
    for (size_t i = 0; same && i < count; i++)
        same = i == symbol || symbols[i] == context->slice_symbols[i];
    if (!same) {
        context->slice_size = 0;
        memcpy(context->slice_symbols, symbols, count * sizeof *symbols);
        context->slice_symbols[symbol] = 1;
        if (!sdx_bound_find(context, context->slice_symbols)) {
            sdx_bound_take(context, context->slice_symbols);
            SDX_TRY(sdx_context_plan(context, error));
        }
        context->slice_size = best_size(constant_bytes(program), context->now->needs.arena,
                                        sdx_pool_threads(context->pool));
    }
    *size = context->slice_size;
    return SDX_STATUS_OK;
}

sdx_status sdx_slice_choose(sdx_context *context, const int64_t *symbols, sdx_error *error) {
    const sdx_program *program = context->program;
    const sdx_slice *slice = &program->slice;
    context->slice = 0;
    if (slice->symbol == SIZE_MAX) return SDX_STATUS_OK;
    int64_t batch = symbols[slice->symbol], size;
    if (slice->fixed >= 0 && batch != slice->fixed)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                        "'%.64s' is %lld, the program was made for %lld alone",
                        sdx_expr_symbol_name(program->model->module->pool, slice->symbol),
                        (long long)batch, (long long)slice->fixed);
    if (batch < 2) return SDX_STATUS_OK;
    SDX_TRY(choose_size(context, symbols, &size, error));
    if (size >= batch) return SDX_STATUS_OK;
    /* As many slices as needed, all of about the same size. */
    int64_t slices = (batch + size - 1) / size;
    context->batch = batch;
    context->slice = (batch + slices - 1) / slices;
    return SDX_STATUS_OK;
}

/* ---- the run -------------------------------------------------------------------------------------- */

static size_t row_bytes(const sdx_tensor *tensor) {
    return tensor->dims[0] ? tensor->count / (size_t)tensor->dims[0] * sdx_dtype_size(tensor->dtype)
                           : 0;
}

/* The part of input i from sample `first` on takes its place. */
static void put_part(sdx_context *context, uint32_t i, int64_t first, int64_t samples) {
    const sdx_graph *graph = sdx_graph_at(context->program->module, 0);
    const sdx_tensor *whole = &context->whole[i]->tensor;
    sdx_value *part = &context->parts[i];
    int64_t each = whole->dims[0] / context->batch;
    part->tensor = *whole;
    part->tensor.dims[0] = samples * each;
    part->tensor.count = whole->count / (size_t)context->batch * (size_t)samples;
    if (whole->data)
        part->tensor.data = (char *)whole->data + (size_t)(first * each) * row_bytes(whole);
    context->slots[graph->inputs[i]] = part;
}

/* Room for output o of the whole batch, which is as this slice's but longer. */
static sdx_status make_output(sdx_context *context, uint32_t o, const sdx_tensor *part,
                              int64_t samples, sdx_error *error) {
    sdx_output *out = &context->outputs[o];
    int64_t dims[SDX_MAX_RANK];
    memcpy(dims, part->dims, sizeof dims);
    dims[0] = part->dims[0] / samples * context->batch;
    SDX_TRY(sdx_tensor_init(&out->value.tensor, part->dtype, part->rank, dims, out->memory, error));
    size_t bytes;
    if (!sdx_size_mul(out->value.tensor.count, sdx_dtype_size(part->dtype), &bytes) ||
        bytes > context->budget.limit)
        return sdx_fail(error, SDX_STATUS_LIMIT, "output %u of the whole batch passes the limit", o);
    if (bytes > out->size) {
        sdx_free(context->allocator, out->memory, out->size);
        out->size = 0;
        out->memory = sdx_alloc(context->allocator, bytes, SDX_CACHE_LINE);
        if (!out->memory) return sdx_fail_memory(error, bytes, "the outputs");
        out->size = bytes;
    }
    out->value.tensor.data = out->memory;
    return SDX_STATUS_OK;
}

static sdx_status keep_outputs(sdx_context *context, int64_t first, int64_t samples,
                               sdx_error *error) {
    const sdx_graph *graph = sdx_graph_at(context->program->module, 0);
    for (uint32_t o = 0; o < graph->output_count; o++) {
        const sdx_tensor *part = &context->slots[graph->outputs[o]]->tensor;
        if (first == 0) SDX_TRY(make_output(context, o, part, samples, error));
        size_t bytes = part->count * sdx_dtype_size(part->dtype);
        char *to = context->outputs[o].memory;
        if (bytes) memcpy(to + bytes / (size_t)samples * (size_t)first, part->data, bytes);
    }
    return SDX_STATUS_OK;
}

static sdx_status run_parts(sdx_context *context, sdx_error *error) {
    const sdx_program *program = context->program;
    uint32_t inputs = sdx_graph_at(program->module, 0)->input_count;
    for (int64_t first = 0; first < context->batch; first += context->slice) {
        int64_t left = context->batch - first;
        int64_t samples = left < context->slice ? left : context->slice;
        for (uint32_t i = 0; i < inputs; i++)
            if (program->slice.inputs[i]) put_part(context, i, first, samples);
        SDX_TRY(sdx_context_bind(context, error));
        if (first == 0) context->largest = context->now->needs;
        SDX_TRY(sdx_run_block(context, 0, error));
        SDX_TRY(keep_outputs(context, first, samples, error));
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_run_slices(sdx_context *context, sdx_error *error) {
    const sdx_program *program = context->program;
    const sdx_graph *graph = sdx_graph_at(program->module, 0);
    for (uint32_t i = 0; i < graph->input_count; i++)
        context->whole[i] = context->slots[graph->inputs[i]];
    sdx_status status = run_parts(context, error);
    for (uint32_t i = 0; i < graph->input_count; i++)
        context->slots[graph->inputs[i]] = context->whole[i];
    return status;
}

size_t sdx_slice_output_bytes(const sdx_context *context) {
    size_t sum = 0;
    uint32_t count = sdx_graph_at(context->program->module, 0)->output_count;
    for (uint32_t o = 0; context->outputs && o < count; o++) sum += context->outputs[o].size;
    return sum;
}

sdx_status sdx_slice_tables(sdx_context *context, sdx_error *error) {
    const sdx_program *program = context->program;
    const sdx_graph *graph = sdx_graph_at(program->module, 0);
    sdx_arena *memory = &context->memory;
    size_t symbols = sdx_expr_symbol_count(program->pool);
    context->whole = sdx_arena_array(memory, (size_t)graph->input_count + 1, sizeof(sdx_value *));
    context->parts = sdx_arena_array(memory, (size_t)graph->input_count + 1, sizeof(sdx_value));
    context->outputs = sdx_arena_array(memory, (size_t)graph->output_count + 1, sizeof(sdx_output));
    context->slice_symbols = sdx_arena_array(memory, symbols + 1, sizeof(int64_t));
    if (!context->whole || !context->parts || !context->outputs || !context->slice_symbols)
        return sdx_fail_memory(error, 0, "the context");
    for (uint32_t i = 0; i < graph->input_count; i++) {
        atomic_init(&context->parts[i].references, 1);
        context->parts[i].kind = SDX_KIND_TENSOR;
        context->parts[i].borrowed = true;
    }
    for (uint32_t o = 0; o < graph->output_count; o++) {
        atomic_init(&context->outputs[o].value.references, 1);
        context->outputs[o].value.kind = SDX_KIND_TENSOR;
        context->outputs[o].value.borrowed = true;
    }
    return SDX_STATUS_OK;
}
