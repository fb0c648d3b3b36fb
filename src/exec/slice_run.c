/* slice_run.c - a run in slices: inputs as parts of the caller's, outputs put together. See slice.h. */
#include <string.h>

#include "base/checked.h"
#include "exec/lanes.h"

static size_t row_bytes(const sdx_tensor *tensor) {
    return tensor->dims[0] ? tensor->count / (size_t)tensor->dims[0] * sdx_dtype_size(tensor->dtype)
                           : 0;
}

/* The part of input i from sample `first` on takes its place in the lane. */
static void put_part(const sdx_context *whole, sdx_context *lane, uint32_t i, int64_t first,
                     int64_t samples) {
    const sdx_graph *graph = sdx_graph_at(whole->program->module, 0);
    const sdx_tensor *all = &whole->whole[i]->tensor;
    sdx_value *part = &lane->parts[i];
    int64_t each = all->dims[0] / whole->batch;
    part->tensor = *all;
    part->tensor.dims[0] = samples * each;
    part->tensor.count = all->count / (size_t)whole->batch * (size_t)samples;
    if (all->data) part->tensor.data = (char *)all->data + (size_t)(first * each) * row_bytes(all);
    lane->slots[graph->inputs[i]] = part;
}

/* Room for output o of the whole batch, which is as this slice's but longer. */
static sdx_status make_output(sdx_context *context, uint32_t o, const sdx_tensor *part,
                              int64_t samples, sdx_error *error) {
    sdx_output *out = &context->outputs[o];
    if (out->made) return SDX_STATUS_OK;
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
    out->made = true;
    return SDX_STATUS_OK;
}

static sdx_status keep_outputs(sdx_context *whole, const sdx_context *lane, int64_t first,
                               int64_t samples, sdx_error *error) {
    const sdx_graph *graph = sdx_graph_at(whole->program->module, 0);
    for (uint32_t o = 0; o < graph->output_count; o++) {
        const sdx_tensor *part = &lane->slots[graph->outputs[o]]->tensor;
        if (lane != whole) sdx_lanes_lock(whole->lanes);
        sdx_status status = make_output(whole, o, part, samples, error);
        if (lane != whole) sdx_lanes_unlock(whole->lanes);
        if (status != SDX_STATUS_OK) return status;
        size_t bytes = part->count * sdx_dtype_size(part->dtype);
        char *to = whole->outputs[o].memory;
        if (bytes) memcpy(to + bytes / (size_t)samples * (size_t)first, part->data, bytes);
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_run_slice(sdx_context *whole, sdx_context *lane, int64_t index, sdx_error *error) {
    const sdx_program *program = whole->program;
    const int64_t least = whole->batch / whole->slices, larger = whole->batch % whole->slices;
    const int64_t first = index * least + (index < larger ? index : larger);
    const int64_t samples = least + (index < larger);
    for (uint32_t i = 0; i < sdx_graph_at(program->module, 0)->input_count; i++)
        if (program->slice.inputs[i]) put_part(whole, lane, i, first, samples);
    SDX_TRY(sdx_context_bind(lane, error));
    if (lane == whole && index == 0) whole->largest = lane->now->needs;
    SDX_TRY(sdx_run_block(lane, 0, error));
    return keep_outputs(whole, lane, first, samples, error);
}

static sdx_status run_in_turn(sdx_context *context, sdx_error *error) {
    for (int64_t i = 0; i < context->slices; i++)
        SDX_TRY(sdx_run_slice(context, context, i, error));
    return SDX_STATUS_OK;
}

sdx_status sdx_run_slices(sdx_context *context, sdx_error *error) {
    const sdx_program *program = context->program;
    const sdx_graph *graph = sdx_graph_at(program->module, 0);
    for (uint32_t i = 0; i < graph->input_count; i++)
        context->whole[i] = context->slots[graph->inputs[i]];
    for (uint32_t o = 0; o < graph->output_count; o++) context->outputs[o].made = false;
    sdx_status status =
        context->side_by_side ? sdx_lanes_run(context, error) : run_in_turn(context, error);
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
