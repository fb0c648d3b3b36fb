/* context.c - the context object: its tables, the run-time heap, inputs, outputs, the run call. */
#include "exec/context.h"

#include <string.h>

#include "exec/lanes.h"

/* ---- what bodies may ask of the host --------------------------------------------------------- */

static bool host_cancelled(sdx_host *host) {
    return sdx_watch_over(sdx_context_of(host)->watch);
}

static char *host_text(sdx_host *host, size_t size) {
    return sdx_arena_alloc(&sdx_context_of(host)->text, size ? size : 1);
}

/* splitmix64: a fixed sequence for a given context seed and run. Draws are counted, so that the
 * rounds of a Loop differ. */
static uint64_t host_seed(sdx_host *host, sdx_id node) {
    sdx_context *context = sdx_context_of(host);
    context->draws++;
    uint64_t x = context->seed + context->runs * 0x9e3779b97f4a7c15u +
                 ((uint64_t)node << 32 ^ context->draws) * 0xd1342543de82ef95u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* ---- creation --------------------------------------------------------------------------------- */

static void init_storage(sdx_context *context) {
    const sdx_program *program = context->program;
    for (uint32_t i = 0; i < program->storage_count; i++) {
        sdx_value *value = &context->storage[i];
        atomic_init(&value->references, 1);
        value->kind = SDX_KIND_TENSOR;
        value->borrowed = true;
        sdx_id id = program->storage_values[i];
        if (program->slots[id].place != SDX_PLACE_INPUT) context->slots[id] = value;
    }
    for (uint32_t i = 0; i < program->sized_count; i++) {
        const sdx_sized *sized = &program->sized[i];
        const sdx_type *type =
            &sdx_value_at(program->module, program->storage_values[sized->storage])->type;
        sdx_tensor *tensor = &context->storage[sized->storage].tensor;
        tensor->dtype = type->dtype;
        tensor->rank = type->rank;
        for (int32_t axis = 0; axis < type->rank; axis++)
            if (!(sized->axes >> axis & 1)) tensor->dims[axis] = sdx_expr_value(type->dims[axis]);
    }
    for (size_t v = 0; v < program->module->values.count; v++)
        if (program->slots[v].place == SDX_PLACE_CONST)
            context->slots[v] = &program->constants[program->slots[v].index];
    for (size_t g = 0; g < program->module->graphs.count; g++)
        for (uint32_t s = 0; s < program->blocks[g].step_count; s++) {
            const sdx_step *step = &program->blocks[g].steps[s];
            bool *wanted = context->wanted + step->edges + step->node->input_count;
            for (uint32_t o = 0; o < step->node->output_count; o++)
                wanted[o] = step->node->outputs[o] != SDX_NONE;
        }
}

static sdx_status make_tables(sdx_context *context, sdx_error *error) {
    const sdx_program *program = context->program;
    const sdx_module *module = program->module;
    sdx_arena *memory = &context->memory;
    context->storage = sdx_arena_array(memory, (size_t)program->storage_count + 1, sizeof(sdx_value));
    context->slots = sdx_arena_array(memory, module->values.count + 1, sizeof(sdx_value *));
    context->edges = sdx_arena_array(memory, (size_t)program->edge_count + 1, sizeof(sdx_value *));
    context->wanted = sdx_arena_array(memory, (size_t)program->edge_count + 1, sizeof(bool));
    context->in_info = sdx_arena_array(memory, (size_t)program->max_inputs + 1, sizeof(sdx_infer_in));
    context->out_info =
        sdx_arena_array(memory, (size_t)program->max_outputs + 1, sizeof(sdx_infer_out));
    context->in_dims =
        sdx_arena_array(memory, (size_t)program->max_inputs + 1, sizeof *context->in_dims);
    context->input_set = sdx_arena_array(
        memory, (size_t)sdx_graph_at(module, 0)->input_count + 1, sizeof(bool));
    bool have = context->storage && context->slots && context->edges && context->wanted &&
                context->in_info && context->out_info && context->in_dims && context->input_set;
    if (!have) return sdx_fail_memory(error, 0, "the context");
    SDX_TRY(sdx_bound_make(context, error));
    init_storage(context);
    return program->slice.symbol == SIZE_MAX ? SDX_STATUS_OK : sdx_slice_tables(context, error);
}

static void init_host(sdx_context *context) {
    context->host = (sdx_host){.pool = context->pool,
                               .heap = &context->heap.allocator,
                               .max_rounds = context->program->limits.max_rounds,
                               .run_graph = sdx_run_graph,
                               .cancelled = host_cancelled,
                               .text = host_text,
                               .random_seed = host_seed};
}

/* An empty context; its heap is over `heap`, or its own memory. */
static sdx_context *begin(const sdx_program *program, const sdx_allocator *allocator,
                          uint64_t max_memory, const sdx_allocator *heap) {
    sdx_context *context = sdx_alloc(allocator, sizeof *context, _Alignof(max_align_t));
    if (!context) return NULL;
    memset(context, 0, sizeof *context);
    context->own_allocator = *allocator;
    sdx_budget_init(&context->budget, &context->own_allocator, max_memory);
    context->allocator = &context->budget.allocator;
    context->program = program;
    context->watch = &context->own_watch;
    sdx_budget_init(&context->heap, heap ? heap : context->allocator, UINT64_MAX);
    sdx_arena_init(&context->memory, context->allocator, 0);
    sdx_arena_init(&context->text, &context->heap.allocator, 0);
    return context;
}

sdx_status sdx_context_create(const sdx_program *program, const sdx_context_options *options,
                              sdx_context **out, sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!program || !out)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_context_create: NULL given");
    *out = NULL;
    sdx_context_options given = {0};
    if (options)
        memcpy(&given, options,
               options->struct_size < sizeof given ? options->struct_size : sizeof given);
    if (given.arena && (uintptr_t)given.arena % SDX_CACHE_LINE)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "the arena is not aligned to %d bytes", SDX_CACHE_LINE);
    const sdx_allocator *allocator = given.allocator ? given.allocator : &program->own_allocator;
    const sdx_limits limits = sdx_limits_over(&program->limits, given.limits);
    sdx_context *context = begin(program, allocator, limits.max_memory, NULL);
    if (!context) return sdx_fail_memory(error, sizeof *context, "the context");
    context->seed = given.seed ? given.seed : 0x5a17d0u;
    context->observe = given.observe;
    context->observe_user = given.observe_user;
    context->profile = given.profile;
    context->profile_user = given.profile_user;
    context->arena = given.arena;
    context->arena_size = given.arena ? given.arena_size : 0;
    context->arena_given = given.arena != NULL;
    uint32_t threads = sdx_useful_threads(given.threads);
    sdx_status status = sdx_pool_create(context->allocator, threads, &context->pool, error);
    if (status == SDX_STATUS_OK && !sdx_pool_set_cpus(context->pool, given.cpus, given.cpu_count))
        status = sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                          "a CPU of the list cannot be used by this process");
    if (status == SDX_STATUS_OK) status = make_tables(context, error);
    if (status != SDX_STATUS_OK) {
        status = sdx_budget_explain(&context->budget, status, error);
        sdx_context_release(context);
        return status;
    }
    init_host(context);
    context->host.max_rounds = limits.max_rounds;
    context->max_time_ms = limits.max_time_ms;
    sdx_pool_watch(context->pool, context->watch);
    *out = context;
    return SDX_STATUS_OK;
}

sdx_status sdx_context_create_lane(sdx_context *of, uint32_t number, const sdx_allocator *heap,
                                   sdx_context **out, sdx_error *error) {
    *out = NULL;
    /* The same limit again is for messages alone: all comes from the budget of the context. */
    sdx_context *lane = begin(of->program, of->allocator, of->budget.limit, heap);
    if (!lane) return sdx_fail_memory(error, sizeof *lane, "a thread's slices");
    lane->arena_given = true;
    lane->lane = number;
    lane->watch = of->watch;
    lane->max_time_ms = of->max_time_ms;
    sdx_status status = make_tables(lane, error);
    if (status != SDX_STATUS_OK) {
        sdx_context_release(lane);
        return status;
    }
    init_host(lane);
    lane->host.max_rounds = of->host.max_rounds;
    *out = lane;
    return SDX_STATUS_OK;
}

/* Drops every value of the run-time heap that a slot still holds. */
static void drop_heap_values(sdx_context *context) {
    const sdx_program *program = context->program;
    for (size_t v = 0; context->slots && v < program->module->values.count; v++) {
        if (program->slots[v].place != SDX_PLACE_HEAP) continue;
        sdx_value_release(context->slots[v]);
        context->slots[v] = NULL;
    }
}

void sdx_context_clear(sdx_context *context) {
    sdx_lanes_clear(context->lanes);
    drop_heap_values(context);
    if (!context->text.blocks) return;
    sdx_arena_free(&context->text);
    sdx_arena_init(&context->text, &context->heap.allocator, 0);
}

void sdx_context_release(sdx_context *context) {
    if (!context) return;
    sdx_lanes_release(context->lanes);
    drop_heap_values(context);
    const sdx_graph *graph = sdx_graph_at(context->program->module, 0);
    for (uint32_t i = 0; context->slots && i < graph->input_count; i++)
        sdx_value_release(context->slots[graph->inputs[i]]);
    sdx_pool_release(context->pool);
    if (!context->arena_given) sdx_free(context->allocator, context->arena, context->arena_size);
    for (uint32_t o = 0; context->outputs && o < graph->output_count; o++)
        sdx_free(context->allocator, context->outputs[o].memory, context->outputs[o].size);
    sdx_arena_free(&context->text);
    sdx_arena_free(&context->memory);
    sdx_allocator allocator = context->own_allocator;
    sdx_free(&allocator, context, sizeof *context);
}

/* ---- inputs and outputs ------------------------------------------------------------------------ */

static sdx_status no_such_input(const sdx_context *context, size_t index, sdx_error *error) {
    return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "there is no input %zu; the model has %u",
                    index, sdx_graph_at(context->program->module, 0)->input_count);
}

static void put_input(sdx_context *context, size_t index, sdx_value *value) {
    sdx_id id = sdx_graph_at(context->program->module, 0)->inputs[index];
    sdx_value_release(context->slots[id]);
    context->slots[id] = value;
    context->input_set[index] = true;
}

sdx_status sdx_context_set_input(sdx_context *context, size_t index, const sdx_tensor *tensor,
                                 sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!context || !tensor)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_context_set_input: NULL given");
    const sdx_graph *graph = sdx_graph_at(context->program->module, 0);
    if (index >= graph->input_count) return no_such_input(context, index, error);
    sdx_tensor checked;
    SDX_TRY(sdx_tensor_init(&checked, tensor->dtype, tensor->rank, tensor->dims, tensor->data,
                            error));
    if (checked.count && !checked.data)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "input %zu has no data", index);
    sdx_id id = graph->inputs[index];
    const sdx_value given = {.kind = SDX_KIND_TENSOR, .tensor = checked};
    SDX_TRY(sdx_check_input(context->program->model->module, id, &given, error));
    sdx_value *value = &context->storage[context->program->slots[id].index];
    value->kind = SDX_KIND_TENSOR;
    value->tensor = checked;
    put_input(context, index, sdx_value_retain(value));
    return SDX_STATUS_OK;
}

sdx_status sdx_context_set_input_value(sdx_context *context, size_t index, sdx_value *value,
                                       sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!context || !value)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "sdx_context_set_input_value: NULL given");
    const sdx_module *module = context->program->model->module;
    if (index >= sdx_graph_at(module, 0)->input_count) return no_such_input(context, index, error);
    SDX_TRY(sdx_check_input(module, sdx_graph_at(module, 0)->inputs[index], value, error));
    put_input(context, index, sdx_value_retain(value));
    return SDX_STATUS_OK;
}

/* Inputs nobody set take the default that the model has for them; optional ones are empty. */
static void use_defaults(sdx_context *context) {
    const sdx_program *program = context->program;
    const sdx_graph *graph = sdx_graph_at(program->module, 0);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (context->input_set[i]) continue;
        sdx_id id = graph->inputs[i];
        sdx_value *value = NULL;
        if (program->input_defaults[i] != SDX_NONE) {
            value = &program->constants[program->input_defaults[i]];
        } else if (sdx_value_at(program->module, id)->type.kind == SDX_KIND_OPTIONAL) {
            value = &context->storage[program->slots[id].index];
            value->kind = SDX_KIND_NONE;
        }
        if (!value) continue;
        sdx_value_release(context->slots[id]);
        context->slots[id] = sdx_value_retain(value);
    }
}

static sdx_status run(sdx_context *context, sdx_error *error) {
    context->has_run = false;
    sdx_context_clear(context);
    use_defaults(context);
    context->slice = 0;
    context->side_by_side = 0;
    context->arena_used = 0;
    context->draws = 0;
    atomic_store(&context->heap.peak, atomic_load(&context->heap.used));
    if (context->program->slice.symbol != SIZE_MAX && !context->observe) {
        SDX_TRY(sdx_bind_inputs(context, context->given, error));
        SDX_TRY(sdx_slice_prepare(context, context->given, error));
    }
    if (!context->slice) SDX_TRY(sdx_context_bind(context, error));
    sdx_watch_start(&context->own_watch, context->max_time_ms);
    const sdx_watch *outer = sdx_watch_set(&context->own_watch);
    sdx_pool_begin_run(context->pool);
    sdx_status status = context->slice ? sdx_run_slices(context, error)
                                       : sdx_run_block(context, 0, error);
    sdx_pool_end_run(context->pool);
    sdx_watch_set(outer);
    atomic_store(&context->own_watch.cancelled, false);
    context->runs++;
    context->has_run = status == SDX_STATUS_OK;
    return status;
}

sdx_status sdx_context_run(sdx_context *context, sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!context)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_context_run: NULL given");
    atomic_store(&context->budget.refused, 0);
    return sdx_budget_explain(&context->budget, run(context, error), error);
}

const sdx_value *sdx_context_output_value(const sdx_context *context, size_t index) {
    if (!context || !context->has_run) return NULL;
    const sdx_graph *graph = sdx_graph_at(context->program->module, 0);
    if (index >= graph->output_count) return NULL;
    return context->slice ? &context->outputs[index].value
                          : context->slots[graph->outputs[index]];
}

const sdx_tensor *sdx_context_output(const sdx_context *context, size_t index) {
    return sdx_value_tensor(sdx_context_output_value(context, index));
}

void sdx_context_cancel(sdx_context *context) {
    if (context) atomic_store(&context->own_watch.cancelled, true);
}

void sdx_context_get_memory(const sdx_context *context, sdx_memory_info *info) {
    /* The last slices may be smaller; what a run took is the first one's. */
    bool several = context->side_by_side || (context->slice && context->has_run);
    const sdx_needs *needs = several ? &context->largest : &context->now->needs;
    const uint32_t lanes = context->side_by_side ? context->side_by_side : 1;
    sdx_memory_info full = {.struct_size = info->struct_size,
                            .arena_bytes = needs->arena,
                            .arena_used = context->arena_used,
                            .heap_peak = atomic_load(&context->heap.peak),
                            .constant_bytes = context->program->constant_bytes +
                                              context->program->module->owned_bytes,
                            .naive_bytes = needs->naive,
                            .scratch_bytes = needs->scratch,
                            .mapped_bytes = (size_t)context->program->model->file_bytes,
                            .model_bytes = sdx_module_bytes(context->program->model->module),
                            .program_bytes = sdx_module_bytes(context->program->module) +
                                             sdx_arena_used(&context->program->arena) -
                                             context->program->constant_bytes,
                            .context_bytes = context->memory.total + sizeof *context +
                                             sdx_lanes_bytes(context->lanes),
                            .slice = (uint64_t)context->slice * lanes,
                            .output_bytes = sdx_slice_output_bytes(context),
                            .lanes = context->side_by_side};
    memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
}
