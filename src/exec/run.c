/* run.c - the run loop. A fixed step allocates nothing: its values lie in the arena. For a step
 * whose shapes depend on data, the shape rule is asked again with the tensors at hand, and the
 * results come from the run-time heap. */
#include <string.h>

#include "base/clock.h"
#include "exec/context.h"
#include "ops/resolve.h"

static void set_slot(sdx_context *context, sdx_id id, sdx_value *value) {
    sdx_value_release(context->slots[id]);
    context->slots[id] = value;
}

static void note_arena_use(sdx_context *context, const sdx_step *step) {
    const sdx_program *program = context->program;
    for (uint32_t o = 0; o < step->node->output_count; o++) {
        sdx_id id = step->node->outputs[o];
        if (id == SDX_NONE || program->slots[id].buffer == SDX_NONE) continue;
        const sdx_buffer *buffer = &context->now->buffers[program->slots[id].buffer];
        size_t end = buffer->offset + buffer->size;
        if (end > context->arena_used) context->arena_used = end;
    }
    if (step->scratch == SDX_NONE) return;
    const sdx_buffer *scratch = &context->now->buffers[step->scratch];
    if (scratch->offset + scratch->size > context->arena_used)
        context->arena_used = scratch->offset + scratch->size;
}

static sdx_status run_fixed(sdx_context *context, const sdx_step *step, sdx_call *call) {
    note_arena_use(context, step);
    if (step->skip) return SDX_STATUS_OK;
    for (uint32_t o = 0; o < call->out_count; o++)
        call->out[o] = step->node->outputs[o] == SDX_NONE ? NULL
                                                          : context->slots[step->node->outputs[o]];
    if (step->scratch != SDX_NONE) {
        call->scratch = (char *)context->arena + context->now->buffers[step->scratch].offset;
        call->scratch_bytes = context->now->buffers[step->scratch].size;
    }
    return step->node->op->def->run(call);
}

/* Makes the output that the rule has given a full shape. */
static sdx_status make_output(sdx_context *context, const sdx_step *step, sdx_call *call,
                              uint32_t o) {
    const sdx_infer_out *out = &context->out_info[o];
    if (!out->wanted || out->type.kind != SDX_KIND_TENSOR || !out->rank_known ||
        !out->type.dtype)
        return SDX_STATUS_OK;
    int64_t dims[SDX_MAX_RANK];
    for (int32_t i = 0; i < out->type.rank; i++) {
        if (!sdx_expr_is_const(out->dims[i])) return SDX_STATUS_OK; /* the body's to make */
        dims[i] = sdx_expr_value(out->dims[i]);
    }
    bool view = o == 0 && (step->node->op->def->flags & SDX_OP_VIEW) != 0;
    if (view)
        return sdx_value_alloc_view(&context->heap.allocator, call->in[0], out->type.dtype,
                                    out->type.rank, dims, &call->out[o], call->error);
    return sdx_value_alloc_tensor(&context->heap.allocator, out->type.dtype, out->type.rank, dims,
                                  &call->out[o], call->error);
}

static sdx_status shape_outputs(sdx_context *context, const sdx_step *step, sdx_call *call) {
    sdx_run_shapes shapes = {.node = step->node, .in = call->in, .in_info = context->in_info,
                             .out_info = context->out_info, .in_dims = context->in_dims};
    SDX_TRY(sdx_infer_run(&shapes, call->error));
    for (uint32_t o = 0; o < call->out_count; o++)
        SDX_TRY(make_output(context, step, call, o));
    for (uint32_t o = 0; o < call->out_count; o++)
        if (call->out_wanted[o] && !call->out[o] && !(call->def->flags & SDX_OP_DATA_SHAPE))
            return sdx_fail(call->error, SDX_STATUS_LIMIT,
                            "the shape of output %u is not known or too large to count", o);
    if (shapes.scratch_bytes) {
        call->scratch = sdx_call_temp(call, shapes.scratch_bytes, 1);
        if (!call->scratch) return SDX_STATUS_NO_MEMORY;
        call->scratch_bytes = shapes.scratch_bytes;
    }
    return SDX_STATUS_OK;
}

/* What shape inference promised of a value made during the run must hold: steps behind it rely on it. */
static sdx_status check_promise(const sdx_context *context, sdx_id id, const sdx_value *made,
                                sdx_error *error) {
    const sdx_module *module = context->program->module;
    const sdx_value_def *def = sdx_value_at(module, id);
    if (def->graph != 0 || def->type.kind != SDX_KIND_TENSOR || def->type.rank < 0)
        return SDX_STATUS_OK;
    bool kept = made->kind == SDX_KIND_TENSOR && made->tensor.rank == def->type.rank &&
                (!def->type.dtype || made->tensor.dtype == def->type.dtype);
    for (int32_t i = 0; kept && i < def->type.rank; i++) {
        int64_t promised = sdx_expr_result(def->type.dims[i], context->now->results);
        kept = promised == SDX_EVAL_FAILED || promised == made->tensor.dims[i];
    }
    if (kept) return SDX_STATUS_OK;
    char text[256];
    sdx_type_text(module, &def->type, text, sizeof text);
    return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                    "output '%.64s' was inferred as %s but turned out otherwise", def->name, text);
}

static sdx_status run_open(sdx_context *context, const sdx_step *step, sdx_call *call) {
    sdx_status status = SDX_STATUS_OK;
    for (uint32_t o = 0; o < call->out_count; o++) call->out[o] = NULL;
    if (!(call->def->flags & SDX_OP_HEAP)) status = shape_outputs(context, step, call);
    if (status == SDX_STATUS_OK) status = call->def->run(call);
    sdx_call_temp_free(call, call->scratch);
    for (uint32_t o = 0; o < call->out_count; o++) {
        sdx_id id = step->node->outputs[o];
        sdx_value *made = call->out[o];
        call->out[o] = NULL;
        if (id == SDX_NONE) {
            sdx_value_release(made);
            continue;
        }
        if (!made && status == SDX_STATUS_OK)
            status = sdx_fail(call->error, SDX_STATUS_INTERNAL, "output %u was not made", o);
        if (made && status == SDX_STATUS_OK)
            status = check_promise(context, id, made, call->error);
        set_slot(context, id, made);
    }
    return status;
}

static void show_outputs(const sdx_context *context, const sdx_node *node) {
    for (uint32_t o = 0; o < node->output_count; o++) {
        const sdx_value *value =
            node->outputs[o] == SDX_NONE ? NULL : context->slots[node->outputs[o]];
        uint32_t index = sdx_program_value(context->program, node->outputs[o]);
        if (value && value->kind == SDX_KIND_TENSOR && index != SDX_NO_INDEX)
            context->observe(context->observe_user, index, &value->tensor);
    }
}

static sdx_status run_step(sdx_context *context, const sdx_step *step, sdx_error *error) {
    const sdx_node *node = step->node;
    sdx_value **edges = context->edges + step->edges;
    for (uint32_t i = 0; i < node->input_count; i++)
        edges[i] = node->inputs[i] == SDX_NONE ? NULL : context->slots[node->inputs[i]];
    sdx_call call = {.def = node->op->def, .params = node->params, .version = node->version,
                     .in_count = node->input_count, .out_count = node->output_count, .in = edges,
                     .out = edges + node->input_count,
                     .out_wanted = context->wanted + step->edges + node->input_count,
                     .packed = step->packed, .host = &context->host, .node = node,
                     .error = error};
    uint64_t begin = context->profile ? sdx_nanoseconds() : 0;
    sdx_status status =
        step->fixed ? run_fixed(context, step, &call) : run_open(context, step, &call);
    if (status != SDX_STATUS_OK) {
        sdx_program_blame(context->program, node, error);
        return status;
    }
    if (context->profile) sdx_profile_step(context, step, &call, begin);
    if (context->observe) show_outputs(context, node);
    const sdx_id *releases = context->program->releases + step->release;
    for (uint32_t i = 0; i < step->release_count; i++) set_slot(context, releases[i], NULL);
    return SDX_STATUS_OK;
}

sdx_status sdx_run_stopped(const sdx_context *context, const sdx_step *step, sdx_error *error) {
    sdx_error_clear(error);
    if (atomic_load(&context->watch->cancelled))
        return sdx_fail(error, SDX_STATUS_CANCELLED, "the run was cancelled");
    sdx_fail(error, SDX_STATUS_LIMIT, "the run takes longer than the limit max_time_ms, %llu",
             (unsigned long long)context->max_time_ms);
    sdx_program_blame(context->program, step->node, error);
    return SDX_STATUS_LIMIT;
}

sdx_status sdx_run_block(sdx_context *context, sdx_id graph, sdx_error *error) {
    const sdx_block *block = &context->program->blocks[graph];
    for (uint32_t s = 0; s < block->step_count; s++) {
        const sdx_step *step = &block->steps[s];
        if (sdx_watch_over(context->watch)) return sdx_run_stopped(context, step, error);
        sdx_status status = run_step(context, step, error);
        /* What a step that was stopped has made, or complains of, counts for nothing. */
        if (sdx_watch_over(context->watch)) return sdx_run_stopped(context, step, error);
        if (status != SDX_STATUS_OK) return status;
    }
    return SDX_STATUS_OK;
}

/* After a body has run, or failed on the way, nothing of it stays behind. */
static void clear_graph(sdx_context *context, sdx_id graph_id) {
    const sdx_program *program = context->program;
    const sdx_graph *graph = sdx_graph_at(program->module, graph_id);
    const sdx_block *block = &program->blocks[graph_id];
    for (uint32_t i = 0; i < graph->input_count; i++)
        if (program->slots[graph->inputs[i]].place == SDX_PLACE_HEAP)
            set_slot(context, graph->inputs[i], NULL);
    for (uint32_t s = 0; s < block->step_count; s++) {
        const sdx_node *node = block->steps[s].node;
        for (uint32_t o = 0; o < node->output_count; o++)
            if (node->outputs[o] != SDX_NONE) set_slot(context, node->outputs[o], NULL);
    }
}

sdx_status sdx_run_graph(sdx_host *host, sdx_id graph_id, sdx_value *const *in, uint32_t in_count,
                         sdx_value **out, uint32_t out_count, sdx_error *error) {
    sdx_context *context = sdx_context_of(host);
    const sdx_graph *graph = sdx_graph_at(context->program->module, graph_id);
    if (graph->input_count != in_count || graph->output_count != out_count)
        return sdx_fail(error, SDX_STATUS_BAD_MODEL,
                        "subgraph '%.64s' has %u inputs and %u outputs, expected %u and %u",
                        graph->name, graph->input_count, graph->output_count, in_count, out_count);
    for (uint32_t i = 0; i < in_count; i++)
        set_slot(context, graph->inputs[i], sdx_value_retain(in[i]));
    sdx_status status = sdx_run_block(context, graph_id, error);
    for (uint32_t i = 0; i < out_count; i++)
        out[i] = status == SDX_STATUS_OK ? sdx_value_retain(context->slots[graph->outputs[i]])
                                         : NULL;
    clear_graph(context, graph_id);
    return status;
}
