/* plan_info.c - what can be asked of a program's memory plan: its buffers, their sizes and places as
 * expressions or, once sizes are bound, as a placement problem with its answer. */
#include <stdio.h>
#include <string.h>

#include "exec/lanes.h"

uint32_t sdx_program_step_node(const sdx_program *program, size_t step) {
    if (!program || step >= program->blocks[0].step_count) return SDX_NO_INDEX;
    return program->blocks[0].steps[step].node->origin;
}

size_t sdx_program_buffer_count(const sdx_program *program) {
    return program ? program->planned_count : 0;
}

sdx_status sdx_program_get_buffer(const sdx_program *program, size_t index,
                                  sdx_buffer_info *info) {
    if (!program || index >= program->planned_count) return SDX_STATUS_INVALID_ARGUMENT;
    const sdx_planned *planned = &program->planned[index];
    bool scratch = planned->value == SDX_NONE;
    sdx_id node = scratch ? program->blocks[0].steps[planned->first].id
                          : sdx_value_at(program->module, planned->value)->producer;
    sdx_buffer_info full = {.struct_size = info->struct_size,
                            .name = scratch ? sdx_node_at(program->module, node)->name
                                            : sdx_value_at(program->module, planned->value)->name,
                            .value = scratch ? SDX_NO_INDEX
                                             : sdx_program_value(program, planned->value),
                            .node = sdx_node_at(program->module, node)->origin,
                            .first_step = planned->first,
                            .last_step = planned->last,
                            .value_count = planned->values,
                            .is_scratch = scratch};
    memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
    return SDX_STATUS_OK;
}

size_t sdx_program_buffer_text(const sdx_program *program, size_t index, sdx_buffer_fact fact,
                               char *buffer, size_t size) {
    if (size) buffer[0] = 0;
    if (!program || index >= program->planned_count) return 0;
    const sdx_planned *planned = &program->planned[index];
    return sdx_expr_text(program->pool,
                         fact == SDX_BUFFER_SIZE ? planned->size : planned->offset, buffer, size);
}

size_t sdx_program_layout_count(const sdx_program *program) {
    return program ? program->layout_count : 0;
}

void sdx_program_get_order(const sdx_program *program, sdx_program_order *order) {
    const sdx_order_info *info = &program->order;
    sdx_program_order full = {.struct_size = order->struct_size, .changed = info->changed,
                              .proved = info->proved, .given = info->given,
                              .found = info->peak, .at_least = info->bound};
    memcpy(order, &full, order->struct_size < sizeof full ? order->struct_size : sizeof full);
}

/* Names for the buffers: values have their own, scratch that of its node. */
static sdx_status fill_buffers(const sdx_program *program, const sdx_buffer *from, sdx_arena *memory,
                               sdx_plan_buffer *buffers, sdx_error *error) {
    for (uint32_t i = 0; i < program->planned_count; i++) {
        sdx_buffer_info info = {.struct_size = sizeof info};
        sdx_program_get_buffer(program, i, &info);
        const char *id = info.name;
        if (info.is_scratch)
            id = sdx_arena_printf(memory, "scratch of %s", info.name);
        if (!id) return sdx_fail_memory(error, 0, "the plan");
        buffers[i] = (sdx_plan_buffer){.struct_size = sizeof *buffers,
                                       .id = id,
                                       .lower = from[i].first,
                                       .upper = (int64_t)from[i].last + 1,
                                       .size = from[i].size};
    }
    return SDX_STATUS_OK;
}

sdx_status sdx_context_get_plan(const sdx_context *context, sdx_plan_problem **out,
                                sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!context || !out)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_context_get_plan: NULL given");
    *out = NULL;
    const sdx_bound *bound =
        context->side_by_side ? sdx_lanes_bound(context->lanes) : context->now;
    if (!bound->used)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "sdx_context_get_plan: the context has no sizes yet");
    uint32_t count = context->program->planned_count;
    sdx_arena memory;
    sdx_arena_init(&memory, context->allocator, 0);
    sdx_plan_buffer *buffers = sdx_arena_array(&memory, (size_t)count + 1, sizeof *buffers);
    sdx_status status = buffers ? fill_buffers(context->program, bound->buffers, &memory, buffers, error)
                                : sdx_fail_memory(error, 0, "the plan");
    if (status == SDX_STATUS_OK)
        status = sdx_plan_problem_create(buffers, count, &context->own_allocator, out, error);
    if (status == SDX_STATUS_OK) sdx_plan_problem_answer(*out, bound->buffers);
    sdx_arena_free(&memory);
    return status;
}
