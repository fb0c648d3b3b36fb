/* shapes.c - the shapes of all values for sizes given by name, and the plan of a run for them: what
 * `inspect` and callers that allocate ahead ask before any input exists. */
#include <string.h>

#include "exec/context.h"

struct sdx_shapes {
    const sdx_allocator *allocator;
    const sdx_module *module;
    int64_t *results; /* by expression; behind the struct in one allocation */
    size_t size;
};

sdx_status sdx_bind_names(const sdx_expr_pool *pool, const sdx_binding *bindings, size_t count,
                          int64_t *symbols, sdx_error *error) {
    size_t symbol_count = sdx_expr_symbol_count(pool);
    for (size_t i = 0; i < symbol_count; i++) symbols[i] = -1;
    for (size_t i = 0; i < count; i++) {
        const char *name = bindings[i].name;
        size_t symbol = name ? sdx_expr_find_symbol(pool, name, strlen(name)) : SIZE_MAX;
        if (symbol == SIZE_MAX)
            return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                            "the model has no dimension named '%.64s'", name ? name : "");
        if (bindings[i].value < 0 || bindings[i].value >= SDX_EXPR_MAX)
            return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                            "dimension '%.64s' cannot have the size %lld", name,
                            (long long)bindings[i].value);
        symbols[symbol] = bindings[i].value;
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_shapes_create(const sdx_model *model, const sdx_binding *bindings,
                             size_t binding_count, sdx_shapes **out, sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!model || !out || (binding_count && !bindings))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_shapes_create: NULL given");
    *out = NULL;
    const sdx_expr_pool *pool = model->module->pool;
    size_t symbols = sdx_expr_symbol_count(pool), results = sdx_expr_pool_size(pool);
    size_t size = sizeof(sdx_shapes) + (symbols + results) * sizeof(int64_t);
    sdx_shapes *shapes = sdx_alloc(model->allocator, size, _Alignof(max_align_t));
    if (!shapes) return sdx_fail_memory(error, size, "the shapes");
    int64_t *numbers = (int64_t *)(void *)(shapes + 1);
    *shapes = (sdx_shapes){.allocator = model->allocator, .module = model->module,
                           .results = numbers + symbols, .size = size};
    sdx_status status = sdx_bind_names(pool, bindings, binding_count, numbers, error);
    if (status != SDX_STATUS_OK) {
        sdx_shapes_release(shapes);
        return status;
    }
    sdx_expr_evaluate(pool, numbers, shapes->results);
    *out = shapes;
    return SDX_STATUS_OK;
}

void sdx_shapes_release(sdx_shapes *shapes) {
    if (shapes) sdx_free(shapes->allocator, shapes, shapes->size);
}

sdx_status sdx_shapes_get(const sdx_shapes *shapes, size_t value, int32_t *rank,
                          int64_t dims[SDX_MAX_RANK]) {
    if (!shapes || !rank || !dims || value >= shapes->module->values.count)
        return SDX_STATUS_INVALID_ARGUMENT;
    const sdx_type *type = &sdx_value_at(shapes->module, (sdx_id)value)->type;
    *rank = type->kind == SDX_KIND_TENSOR ? type->rank : -1;
    for (int32_t i = 0; i < *rank; i++) {
        int64_t size = sdx_expr_result(type->dims[i], shapes->results);
        dims[i] = size >= 0 ? size : -1;
    }
    return SDX_STATUS_OK;
}

/* Every dim of every input, as a run would find them. */
static sdx_status check_inputs_bound(const sdx_context *context, sdx_error *error) {
    const sdx_module *module = context->program->module;
    const sdx_graph *graph = sdx_graph_at(module, 0);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const sdx_value_def *input = sdx_value_at(module, graph->inputs[i]);
        if (input->type.kind != SDX_KIND_TENSOR) continue;
        for (int32_t axis = 0; axis < input->type.rank; axis++) {
            int64_t size = sdx_expr_result(input->type.dims[axis], context->now->results);
            if (size >= 0) continue;
            char text[128];
            sdx_expr_text(module->pool, input->type.dims[axis], text, sizeof text);
            return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                            size == SDX_EVAL_FAILED
                                ? "dimension %d of input '%.64s' is '%s', which has no size yet"
                                : "dimension %d of input '%.64s' is '%s', which is negative",
                            axis, input->name, text);
        }
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_context_bind_dims(sdx_context *context, const sdx_binding *bindings,
                                 size_t binding_count, sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!context || (binding_count && !bindings))
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_context_bind_dims: NULL given");
    const sdx_expr_pool *pool = context->program->module->pool;
    context->has_run = false; /* the tables are written over */
    int64_t *sizes = context->given;
    SDX_TRY(sdx_bind_names(pool, bindings, binding_count, sizes, error));
    /* Anew, also where they are kept: what is asked here is what the plan is, and what it costs. */
    sdx_bound_take(context, sizes);
    SDX_TRY(check_inputs_bound(context, error));
    const sdx_program *program = context->program;
    context->slice = 0;
    context->side_by_side = 0;
    if (program->slice.symbol != SIZE_MAX) {
        SDX_TRY(sdx_slice_choose(context, sizes, error));
        if (context->side_by_side) return SDX_STATUS_OK; /* planned in a lane */
        if (context->slice) sizes[program->slice.symbol] = context->slice;
        sdx_bound_take(context, sizes);
    }
    return sdx_context_plan(context, error);
}
