/* bound.c - the bindings that a context keeps: their tables, which one holds given sizes, which one gives
 * way. See bound.h; bind.c fills them. */
#include "exec/bound.h"

#include <string.h>

#include "exec/context.h"

/* Whether any size is left to the inputs. */
static bool sizes_open(const sdx_program *program) {
    size_t known = sdx_expr_symbol_count(program->model->module->pool);
    for (size_t i = 0; i < sdx_expr_symbol_count(program->pool); i++)
        if (i >= known || program->fixed[i] < 0) return true;
    return false;
}

sdx_status sdx_bound_make(sdx_context *context, sdx_error *error) {
    const sdx_program *program = context->program;
    sdx_arena *memory = &context->memory;
    size_t symbols = sdx_expr_symbol_count(program->pool), results = sdx_expr_pool_size(program->pool);
    size_t numbers = (size_t)program->sized_count * 2 + program->open_count;
    context->kept_count = sizes_open(program) ? SDX_BOUND_KEPT : 1;
    context->now = &context->kept[0];
    context->given = sdx_arena_array(memory, symbols + 1, sizeof(int64_t));
    bool have = context->given != NULL;
    for (uint32_t i = 0; have && i < context->kept_count; i++) {
        sdx_bound *bound = &context->kept[i];
        bound->symbols = sdx_arena_array(memory, symbols + 1, sizeof(int64_t));
        bound->results = sdx_arena_array(memory, results + 1, sizeof(int64_t));
        bound->buffers =
            sdx_arena_array(memory, (size_t)program->planned_count + 1, sizeof(sdx_buffer));
        bound->numbers = sdx_arena_array(memory, numbers + 1, sizeof(int64_t));
        have = bound->symbols && bound->results && bound->buffers && bound->numbers;
    }
    return have ? SDX_STATUS_OK : sdx_fail_memory(error, 0, "the context");
}

static bool holds(const sdx_context *context, const sdx_bound *bound, const int64_t *symbols) {
    size_t count = sdx_expr_symbol_count(context->program->pool);
    return bound->used && memcmp(bound->symbols, symbols, count * sizeof *symbols) == 0;
}

bool sdx_bound_find(sdx_context *context, const int64_t *symbols) {
    if (holds(context, context->now, symbols)) {
        context->now->used = ++context->bindings;
        return true;
    }
    for (uint32_t i = 0; i < context->kept_count; i++) {
        sdx_bound *bound = &context->kept[i];
        if (!holds(context, bound, symbols)) continue;
        context->now = bound;
        context->placed = false;
        bound->used = ++context->bindings;
        return true;
    }
    return false;
}

void sdx_bound_take(sdx_context *context, const int64_t *symbols) {
    const sdx_program *program = context->program;
    sdx_bound *taken = &context->kept[0];
    for (uint32_t i = 0; i < context->kept_count; i++) {
        sdx_bound *bound = &context->kept[i];
        if (bound->used < taken->used) taken = bound;
        if (!holds(context, bound, symbols)) continue;
        taken = bound;
        break;
    }
    taken->used = 0;
    taken->needs = (sdx_needs){0};
    context->now = taken;
    context->placed = false;
    memcpy(taken->symbols, symbols, sdx_expr_symbol_count(program->pool) * sizeof *symbols);
    sdx_expr_evaluate(program->pool, taken->symbols, taken->results);
}
