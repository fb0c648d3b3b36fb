/* bind.c - from the shapes of the inputs to the place of every value: symbols get numbers, all
 * expressions are evaluated in one pass, sizes follow, the planner gives offsets. All but the checks of
 * the inputs is kept for the last few sizes (bound.c); a return to one of them writes the tensors alone. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "exec/context.h"

static sdx_status bind_dim(sdx_context *context, int64_t *symbols, const sdx_value_def *input,
                           int32_t axis, int64_t size, sdx_error *error) {
    const sdx_expr_pool *pool = context->program->model->module->pool;
    sdx_expr dim = input->type.dims[axis];
    if (sdx_expr_is_const(dim)) {
        if (sdx_expr_value(dim) == size) return SDX_STATUS_OK;
        return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                        "input '%.64s' has size %lld in dimension %d, the model expects %lld",
                        input->name, (long long)size, axis, (long long)sdx_expr_value(dim));
    }
    size_t symbol = sdx_expr_symbol_index(pool, dim);
    if (symbol == SIZE_MAX) return SDX_STATUS_OK; /* an expression: compared once all are bound */
    if (symbols[symbol] < 0) symbols[symbol] = size;
    if (symbols[symbol] == size) return SDX_STATUS_OK;
    return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                    "input '%.64s' has size %lld in dimension %d ('%.64s'), another input has "
                    "%lld there",
                    input->name, (long long)size, axis, sdx_expr_symbol_name(pool, symbol),
                    (long long)symbols[symbol]);
}

/* By the model's own types: in the program's, sizes that are fixed have no symbol any more. */
static sdx_status bind_input(sdx_context *context, int64_t *symbols, uint32_t index,
                             sdx_error *error) {
    const sdx_module *model = context->program->model->module;
    sdx_id id = sdx_graph_at(model, 0)->inputs[index];
    const sdx_value_def *input = sdx_value_at(model, id);
    sdx_value *value = context->slots[id];
    if (!value)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT, "input '%.64s' is not set", input->name);
    if (input->type.kind != SDX_KIND_TENSOR || input->type.rank < 0) return SDX_STATUS_OK;
    if (value->tensor.rank != input->type.rank)
        return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                        "input '%.64s' has rank %d, the model expects %d", input->name,
                        value->tensor.rank, input->type.rank);
    for (int32_t i = 0; i < input->type.rank; i++)
        SDX_TRY(bind_dim(context, symbols, input, i, value->tensor.dims[i], error));
    return SDX_STATUS_OK;
}

/* Dims of inputs that are expressions, such as past + 1. */
static sdx_status check_input_expressions(sdx_context *context, sdx_error *error) {
    const sdx_module *module = context->program->module;
    const sdx_graph *graph = sdx_graph_at(module, 0);
    for (uint32_t i = 0; i < graph->input_count; i++) {
        const sdx_value_def *input = sdx_value_at(module, graph->inputs[i]);
        const sdx_value *value = context->slots[graph->inputs[i]];
        if (input->type.kind != SDX_KIND_TENSOR || value->kind != SDX_KIND_TENSOR) continue;
        for (int32_t axis = 0; axis < input->type.rank; axis++) {
            int64_t wanted = sdx_expr_result(input->type.dims[axis], context->now->results);
            if (wanted == value->tensor.dims[axis]) continue;
            char text[128];
            const sdx_module *model = context->program->model->module;
            sdx_expr_text(model->pool, sdx_value_at(model, graph->inputs[i])->type.dims[axis], text,
                          sizeof text);
            return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                            "input '%.64s' has size %lld in dimension %d, the model expects %s "
                            "(%lld)",
                            input->name, (long long)value->tensor.dims[axis], axis, text,
                            (long long)wanted);
        }
    }
    return SDX_STATUS_OK;
}

/* " (N = 4, M = 5)": what the first few symbols are bound to. */
static void list_symbols(const sdx_context *context, char *buffer, size_t size) {
    const sdx_expr_pool *pool = context->program->module->pool;
    size_t used = 0, listed = 0;
    buffer[0] = 0;
    for (size_t i = 0; i < sdx_expr_symbol_count(pool) && listed < 6 && used < size; i++) {
        if (context->now->symbols[i] < 0) continue;
        used += (size_t)snprintf(buffer + used, size - used, "%s%.32s = %lld",
                                 listed++ ? ", " : " (", sdx_expr_symbol_name(pool, i),
                                 (long long)context->now->symbols[i]);
    }
    if (listed && used < size) snprintf(buffer + used, size - used, ")");
}

/* What a rule could not decide while loading. Steps that are shaped during the run ask their rule
 * again then; the others rely on this. */
static sdx_status check_constraints(sdx_context *context, sdx_error *error) {
    const sdx_module *module = context->program->module;
    const sdx_constraint *constraints = module->constraints.data;
    for (size_t i = 0; i < module->constraints.count; i++) {
        const sdx_constraint *c = &constraints[i];
        int64_t a = sdx_expr_result(c->a, context->now->results);
        int64_t b = sdx_expr_result(c->b, context->now->results);
        bool known = a != SDX_EVAL_FAILED && b != SDX_EVAL_FAILED;
        if (!context->program->node_fixed[c->node] ||
            (known && (a == b || (c->broadcast && a == 1))))
            continue;
        const sdx_node *node = sdx_node_at(module, c->node);
        if (known) {
            sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: %lld and %lld differ", c->what,
                     (long long)a, (long long)b);
        } else {
            char text[128], sizes[256];
            sdx_expr_text(module->pool, a == SDX_EVAL_FAILED ? c->a : c->b, text, sizeof text);
            list_symbols(context, sizes, sizeof sizes);
            sdx_fail(error, SDX_STATUS_BAD_INPUT, "%s: %s has no value for these input shapes%s",
                     c->what, text, sizes);
        }
        sdx_program_blame(context->program, node, error);
        return SDX_STATUS_BAD_INPUT;
    }
    return SDX_STATUS_OK;
}

/* bytes: what it needs; negative: more than can be counted. */
static sdx_status over_limit(sdx_context *context, sdx_id id, int64_t bytes, sdx_error *error) {
    const sdx_module *module = context->program->module;
    const sdx_value_def *def = sdx_value_at(module, id);
    const sdx_node *node = sdx_node_at(module, def->producer);
    char text[256], sizes[256];
    sdx_type_text(module, &def->type, text, sizeof text);
    list_symbols(context, sizes, sizeof sizes);
    if (bytes >= 0)
        sdx_fail(error, SDX_STATUS_LIMIT,
                 "output '%.64s' of type %.200s%s needs %lld bytes, the limit is %zu", def->name, text,
                 sizes, (long long)bytes, context->budget.limit);
    else
        sdx_fail(error, SDX_STATUS_LIMIT,
                 "output '%.64s' of type %.200s%s is larger than the limit or any machine allows",
                 def->name, text, sizes);
    sdx_program_blame(context->program, node, error);
    return SDX_STATUS_LIMIT;
}

static sdx_status bad_dim(sdx_context *context, sdx_id id, int32_t axis, int64_t size,
                          sdx_error *error) {
    const sdx_module *module = context->program->module;
    const sdx_value_def *def = sdx_value_at(module, id);
    char text[128], sizes[256];
    sdx_expr_text(module->pool, def->type.dims[axis], text, sizeof text);
    list_symbols(context, sizes, sizeof sizes);
    const sdx_node *node = sdx_node_at(module, def->producer);
    sdx_fail(error, SDX_STATUS_BAD_INPUT, "dimension %d of output '%.64s', %s, %s%s", axis,
             def->name, text,
             size == SDX_EVAL_FAILED ? "has no value for these input shapes"
                                     : "is negative for these input shapes",
             sizes);
    sdx_program_blame(context->program, node, error);
    return SDX_STATUS_BAD_INPUT;
}

/* Each value in memory of its own: what sharing saves is measured against that. */
static void add_naive(sdx_needs *needs, size_t bytes) {
    if (!sdx_size_align(bytes, SDX_CACHE_LINE, &bytes) ||
        !sdx_size_add(needs->naive, bytes, &needs->naive))
        needs->naive = SIZE_MAX;
}

/* Count and open dims; the place follows when the buffers have theirs. */
static sdx_status size_value(sdx_context *context, const sdx_sized *sized, const sdx_expr *open,
                             int64_t *numbers, sdx_error *error) {
    sdx_id id = context->program->storage_values[sized->storage];
    size_t count = sized->fixed, bytes;
    bool empty = false, good = true;
    unsigned axes = sized->axes;
    for (uint32_t i = 0; i < sized->open; i++, axes &= axes - 1) {
        int64_t size = sdx_expr_result(open[i], context->now->results);
        if (size < 0) return bad_dim(context, id, __builtin_ctz(axes), size, error);
        numbers[2 + i] = size;
        empty = empty || size == 0;
        good = good && (uint64_t)size <= SIZE_MAX && sdx_size_mul(count, (size_t)size, &count);
    }
    if (empty) count = 0; /* however large the others: no overflow */
    if ((!empty && !good) || !sdx_size_mul(count, sized->element, &bytes) || bytes > PTRDIFF_MAX)
        return over_limit(context, id, -1, error);
    numbers[0] = (int64_t)count;
    if (sized->buffer != SDX_NONE && !sized->view) add_naive(&context->now->needs, bytes);
    return SDX_STATUS_OK;
}

static sdx_status size_values(sdx_context *context, sdx_error *error) {
    const sdx_program *program = context->program;
    const sdx_expr *open = program->open;
    int64_t *numbers = context->now->numbers;
    for (uint32_t i = 0; i < program->sized_count; i++) {
        const sdx_sized *sized = &program->sized[i];
        SDX_TRY(size_value(context, sized, open, numbers, error));
        open += sized->open;
        numbers += 2 + sized->open;
    }
    return SDX_STATUS_OK;
}

static sdx_status size_buffer(sdx_context *context, const sdx_planned *planned, size_t *size,
                              sdx_error *error) {
    int64_t bytes = sdx_expr_result(planned->bytes, context->now->results);
    if (bytes >= 0 && (uint64_t)bytes <= SIZE_MAX / 2 &&
        sdx_size_align((size_t)bytes, SDX_CACHE_LINE, size) && *size <= context->budget.limit)
        return SDX_STATUS_OK;
    if (bytes > INT64_MAX / 2) bytes = -1;
    if (planned->value != SDX_NONE) return over_limit(context, planned->value, bytes, error);
    const sdx_node *node = context->program->blocks[0].steps[planned->first].node;
    if (bytes >= 0)
        sdx_fail(error, SDX_STATUS_LIMIT, "its scratch memory needs %lld bytes, the limit is %zu",
                 (long long)bytes, context->budget.limit);
    else
        sdx_fail(error, SDX_STATUS_LIMIT, "its scratch memory passes the limit");
    sdx_program_blame(context->program, node, error);
    return SDX_STATUS_LIMIT;
}

static sdx_status size_buffers(sdx_context *context, sdx_error *error) {
    const sdx_program *program = context->program;
    for (uint32_t i = 0; i < program->planned_count; i++) {
        const sdx_planned *planned = &program->planned[i];
        sdx_buffer *buffer = &context->now->buffers[i];
        *buffer = (sdx_buffer){.first = planned->first, .last = planned->last};
        SDX_TRY(size_buffer(context, planned, &buffer->size, error));
        if (planned->value == SDX_NONE && buffer->size > context->now->needs.scratch)
            context->now->needs.scratch = buffer->size;
    }
    return SDX_STATUS_OK;
}

/* "the largest part, 4096 bytes, is for node 'x' (Op)": where to look. */
static const char *largest_part(const sdx_context *context, char *buffer, size_t size) {
    const sdx_program *program = context->program;
    uint32_t most = 0;
    for (uint32_t i = 1; i < program->planned_count; i++)
        if (context->now->buffers[i].size > context->now->buffers[most].size) most = i;
    const sdx_node *node = sdx_program_origin(
        program, program->blocks[0].steps[program->planned[most].first].node);
    snprintf(buffer, size, "the largest part, %zu bytes, is for node '%.64s' (%.64s)",
             context->now->buffers[most].size, node->name, node->op_type);
    return buffer;
}

sdx_status sdx_context_provide(sdx_context *context, size_t needed, sdx_error *error) {
    char part[256];
    if (needed > context->budget.limit)
        return sdx_fail(error, SDX_STATUS_LIMIT,
                        "the intermediates need %zu bytes, the limit is %zu; %s", needed,
                        context->budget.limit, largest_part(context, part, sizeof part));
    if (needed <= context->arena_size) return SDX_STATUS_OK;
    if (context->arena_given)
        return sdx_fail(error, SDX_STATUS_LIMIT,
                        "the intermediates need %zu bytes, the arena given has %zu; %s", needed,
                        context->arena_size, largest_part(context, part, sizeof part));
    sdx_free(context->allocator, context->arena, context->arena_size);
    context->arena_size = 0;
    context->placed = false;
    context->arena = sdx_alloc(context->allocator, needed, SDX_CACHE_LINE);
    if (!context->arena)
        return sdx_fail(error, SDX_STATUS_NO_MEMORY,
                        "not enough memory: %zu bytes for the intermediates; %s", needed,
                        largest_part(context, part, sizeof part));
    context->arena_size = needed;
    return SDX_STATUS_OK;
}

/* The buffer that a value lies in at these sizes. */
static const sdx_buffer *buffer_of(const sdx_context *context, uint32_t buffer) {
    const sdx_planned *planned = context->program->planned;
    const sdx_buffer *buffers = context->now->buffers;
    while (buffers[buffer].size == 0 && planned[buffer].over != SDX_NONE)
        buffer = planned[buffer].over;
    return &buffers[buffer];
}

/* Where values begin: from the start of the arena, aliases from that of the bytes that they look at. An
 * offset that could not be computed, or leads out of the buffer, would be a mistake of lowering; checked
 * all the same, since everything rests on it. */
static sdx_status find_places(sdx_context *context, sdx_error *error) {
    const sdx_program *program = context->program;
    int64_t *numbers = context->now->numbers;
    for (uint32_t i = 0; i < program->sized_count; i++) {
        const sdx_sized *sized = &program->sized[i];
        int64_t offset = sdx_expr_result(sized->offset, context->now->results);
        bool good = offset >= 0;
        numbers[1] = offset;
        if (good && sized->buffer != SDX_NONE) {
            const sdx_buffer *buffer = buffer_of(context, sized->buffer);
            size_t bytes = (size_t)numbers[0] * sized->element;
            good = bytes <= buffer->size && (uint64_t)offset <= buffer->size - bytes;
            numbers[1] = good ? (int64_t)buffer->offset + offset : 0;
        }
        if (!good)
            return sdx_fail(error, SDX_STATUS_INTERNAL, "value '%.64s' has no place in the arena",
                            sdx_value_at(program->module, program->storage_values[sized->storage])
                                ->name);
        numbers += 2 + sized->open;
    }
    return SDX_STATUS_OK;
}

/* Tensors as the binding at hand has them: all that changes with the sizes. */
static void place_values(sdx_context *context) {
    const sdx_program *program = context->program;
    const int64_t *numbers = context->now->numbers;
    for (uint32_t i = 0; i < program->sized_count; i++) {
        const sdx_sized *sized = &program->sized[i];
        sdx_tensor *tensor = &context->storage[sized->storage].tensor;
        tensor->count = (size_t)numbers[0];
        if (sized->buffer != SDX_NONE) tensor->data = (char *)context->arena + numbers[1];
        numbers += 2;
        for (unsigned axes = sized->axes; axes; axes &= axes - 1)
            tensor->dims[__builtin_ctz(axes)] = *numbers++;
    }
    context->placed = true;
}

static void place_aliases(sdx_context *context) {
    const sdx_program *program = context->program;
    const int64_t *numbers = context->now->numbers;
    for (uint32_t i = 0; i < program->alias_count; i++) {
        const sdx_sized *sized = &program->sized[i];
        sdx_id root = program->slots[program->storage_values[sized->storage]].root;
        char *bytes = context->slots[root]->tensor.data;
        context->storage[sized->storage].tensor.data = bytes ? bytes + numbers[1] : NULL;
        numbers += 2 + sized->open;
    }
}

static sdx_status check_fixed(const sdx_context *context, sdx_error *error) {
    const sdx_expr_pool *pool = context->program->model->module->pool;
    for (size_t i = 0; i < sdx_expr_symbol_count(pool); i++) {
        int64_t fixed = context->program->fixed[i], bound = context->now->symbols[i];
        if (fixed >= 0 && bound >= 0 && bound != fixed)
            return sdx_fail(error, SDX_STATUS_BAD_INPUT,
                            "'%.64s' is %lld, the program was made for %lld alone",
                            sdx_expr_symbol_name(pool, i), (long long)bound, (long long)fixed);
    }
    return SDX_STATUS_OK;
}

/* Offsets by the arrangement that needs least at these sizes. */
static sdx_status arrange_buffers(sdx_context *context, sdx_error *error) {
    const sdx_program *program = context->program;
    uint32_t best = program->layout_count, applied = best;
    size_t arena;
    for (uint32_t i = 0; i < program->layout_count; i++) {
        applied = i;
        if (!sdx_layout_apply(&program->layouts[i], context->now->buffers, &arena)) continue;
        if (best != program->layout_count && arena >= context->now->needs.arena) continue;
        best = i;
        context->now->needs.arena = arena;
    }
    if (best == program->layout_count)
        return sdx_fail(error, SDX_STATUS_LIMIT, "the intermediates pass the address space");
    if (applied != best) sdx_layout_apply(&program->layouts[best], context->now->buffers, &arena);
    return SDX_STATUS_OK;
}

sdx_status sdx_context_plan(sdx_context *context, sdx_error *error) {
    SDX_TRY(check_fixed(context, error));
    SDX_TRY(check_constraints(context, error));
    SDX_TRY(size_values(context, error));
    SDX_TRY(size_buffers(context, error));
    SDX_TRY(arrange_buffers(context, error));
    SDX_TRY(find_places(context, error));
    context->now->used = ++context->bindings;
    return SDX_STATUS_OK;
}

sdx_status sdx_bind_inputs(sdx_context *context, int64_t *symbols, sdx_error *error) {
    size_t count = sdx_expr_symbol_count(context->program->pool);
    for (size_t i = 0; i < count; i++) symbols[i] = -1;
    for (uint32_t i = 0; i < sdx_graph_at(context->program->module, 0)->input_count; i++)
        SDX_TRY(bind_input(context, symbols, i, error));
    return SDX_STATUS_OK;
}

sdx_status sdx_context_bind(sdx_context *context, sdx_error *error) {
    SDX_TRY(sdx_bind_inputs(context, context->given, error));
    bool kept = sdx_bound_find(context, context->given);
    if (!kept) {
        sdx_bound_take(context, context->given);
        SDX_TRY(check_fixed(context, error));
    }
    /* Also where the symbols are as before: they alone do not say what was handed in. */
    SDX_TRY(check_input_expressions(context, error));
    if (!kept) SDX_TRY(sdx_context_plan(context, error));
    if (!context->placed) {
        SDX_TRY(sdx_context_provide(context, context->now->needs.arena, error));
        place_values(context);
    }
    place_aliases(context); /* inputs may lie elsewhere than last time */
    return SDX_STATUS_OK;
}
