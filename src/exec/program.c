/* program.c - the program object: options, its own module, and what can be asked of it. passes/ and
 * lower.c do the work. */
#include "exec/program.h"

#include <string.h>

#include "exec/context.h"
#include "exec/lowering.h"
#include "exec/slice.h"
#include "exec/stored.h"
#include "passes/passes.h"

static sdx_status set_strategy(sdx_program *program, const char *name, sdx_error *error) {
    const sdx_plan_strategy *found = sdx_plan_find_strategy(name ? name : "best");
    if (!found)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "there is no strategy '%.64s'", name);
    program->strategy = found->name;
    return SDX_STATUS_OK;
}

static sdx_status list_nodes(sdx_program *program, sdx_error *error) {
    const sdx_module *module = program->module;
    size_t count = 0;
    for (size_t g = 0; g < module->graphs.count; g++)
        count += sdx_graph_at(module, (sdx_id)g)->node_count;
    program->nodes = sdx_arena_array(&program->arena, count + 1, sizeof(sdx_id));
    if (!program->nodes) return sdx_fail_memory(error, 0, "the program");
    for (size_t g = 0; g < module->graphs.count; g++) {
        const sdx_graph *graph = sdx_graph_at(module, (sdx_id)g);
        for (uint32_t i = 0; i < graph->node_count; i++)
            program->nodes[program->node_count++] = graph->nodes[i];
    }
    return SDX_STATUS_OK;
}

/* A module of its own with the fixed sizes put in, rewritten by passes. */
static sdx_status make_module(sdx_program *program, const sdx_program_options *options,
                              sdx_error *error) {
    const sdx_module *from = program->model->module;
    size_t symbols = sdx_expr_symbol_count(from->pool);
    program->fixed = sdx_arena_array(&program->arena, symbols + 1, sizeof(int64_t));
    int64_t *expected = sdx_arena_array(&program->arena, symbols + 1, sizeof(int64_t));
    if (!program->fixed || !expected) return sdx_fail_memory(error, 0, "the program");
    SDX_TRY(sdx_bind_names(from->pool, options->fixed, options->fixed_count, program->fixed,
                           error));
    SDX_TRY(sdx_bind_names(from->pool, options->expected, options->expected_count, expected,
                           error));
    const sdx_stored *stored = sdx_stored_of(program->model);
    if (stored) SDX_TRY(sdx_stored_slices(program, program->fixed, error));
    else if (SDX_HAS(onnx_files)) SDX_TRY(sdx_slice_find(program, program->fixed, error));
    if (program->slice.symbol != SIZE_MAX) {
        /* Open, so that it can be a slice's; runs compare the whole with slice.fixed. */
        program->fixed[program->slice.symbol] = -1;
        expected[program->slice.symbol] = -1;
    }
    for (size_t i = 0; i < symbols; i++)
        if (program->fixed[i] >= 0) expected[i] = program->fixed[i];
    /* Weights are packed by what was known of the sizes then: nothing more is put in now. */
    for (size_t i = 0; stored && i < symbols; i++) program->fixed[i] = -1;
    SDX_TRY(sdx_module_copy(from, program->allocator, program->fixed, &program->module, error));
    program->pool = program->module->pool;
    program->module->limits.max_time_ms = program->limits.max_time_ms;
    sdx_watch_start(&program->module->watch, program->limits.max_time_ms);
    program->pass_changes =
        sdx_arena_array(&program->arena, sdx_passes_count + 1, sizeof(uint32_t));
    if (!program->pass_changes) return sdx_fail_memory(error, 0, "the program");
    if (stored)
        memcpy(program->pass_changes, stored->pass_changes, sdx_passes_count * sizeof(uint32_t));
    else if (SDX_HAS(onnx_files))
        SDX_TRY(sdx_passes_run(program->module, program->optimize, program->kernels,
                               program->pass_changes, error));
    SDX_TRY(list_nodes(program, error));
    /* There may be more symbols now than the model has. */
    size_t all = sdx_expr_symbol_count(program->pool);
    program->expected = sdx_arena_array(&program->arena, all + 1, sizeof(int64_t));
    if (!program->expected) return sdx_fail_memory(error, 0, "the program");
    for (size_t i = 0; i < all; i++) program->expected[i] = i < symbols ? expected[i] : -1;
    return SDX_STATUS_OK;
}

static sdx_status run_lowering(sdx_program *program, sdx_error *error) {
    sdx_lowering l = {.program = program, .module = program->module, .error = error};
    sdx_arena_init(&l.scratch, program->allocator, 0);
    sdx_status status = sdx_lower(&l);
    sdx_vector_free(&l.releases, program->allocator, sizeof(sdx_id));
    sdx_arena_free(&l.scratch);
    return status;
}

static sdx_status create(const sdx_model *model, const sdx_program_options *options, bool saving,
                         sdx_program **out, sdx_error *error) {
    sdx_error local;
    if (!error) error = &local;
    sdx_error_clear(error);
    if (!model || !out)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "sdx_program_create: NULL given");
    *out = NULL;
    sdx_program_options given = {.optimize = 3};
    if (options) {
        size_t size =
            options->struct_size < sizeof given ? options->struct_size : sizeof given;
        memcpy(&given, options, size);
    }
    if (given.optimize < 0 || given.optimize > 3)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT,
                        "optimisation level %d; levels are 0 to 3", given.optimize);
    if (given.slice < SDX_SLICE_OFF)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "slices of %lld samples",
                        (long long)given.slice);
    if (model->module->problems.count) {
        *error = *(const sdx_error *)model->module->problems.data;
        return error->code;
    }
    const sdx_allocator *allocator = given.allocator ? given.allocator : &model->own_allocator;
    sdx_program *program = sdx_alloc(allocator, sizeof *program, _Alignof(max_align_t));
    if (!program) return sdx_fail_memory(error, sizeof *program, "the program");
    memset(program, 0, sizeof *program);
    program->own_allocator = *allocator;
    program->limits = sdx_limits_over(&model->module->limits, given.limits);
    sdx_budget_init(&program->budget, &program->own_allocator, program->limits.max_memory);
    program->allocator = &program->budget.allocator;
    program->model = model;
    program->optimize = model->stored ? model->stored->optimize : given.optimize;
    program->levers = given.memory;
    program->kernels = model->stored ? model->stored->kernels : given.kernels;
    program->threads = given.threads;
    program->slice.wanted = given.slice;
    program->saving = saving;
    sdx_arena_init(&program->arena, program->allocator, 0);
    sdx_status status = set_strategy(program, given.strategy, error);
    if (status == SDX_STATUS_OK) status = make_module(program, &given, error);
    if (status == SDX_STATUS_OK) status = run_lowering(program, error);
    /* A size that is unknown for want of memory would be another program. */
    if (status == SDX_STATUS_OK && sdx_expr_out_of_memory(program->pool))
        status = sdx_fail_memory(error, 0, "the sizes of the program's values");
    status = sdx_budget_explain(&program->budget, status, error);
    if (status != SDX_STATUS_OK) sdx_program_release(program);
    else *out = program;
    return status;
}

sdx_status sdx_program_create(const sdx_model *model, const sdx_program_options *options,
                              sdx_program **out, sdx_error *error) {
    return create(model, options, false, out, error);
}

sdx_status sdx_program_create_saving(const sdx_model *model, const sdx_program_options *options,
                                     sdx_program **out, sdx_error *error) {
    return create(model, options, true, out, error);
}

void sdx_program_release(sdx_program *program) {
    if (!program) return;
    sdx_module_release(program->module);
    sdx_arena_free(&program->arena);
    sdx_allocator allocator = program->own_allocator;
    sdx_free(&allocator, program, sizeof *program);
}

const sdx_node *sdx_program_origin(const sdx_program *program, const sdx_node *node) {
    return sdx_node_at(program->model->module, node->origin);
}

void sdx_program_blame(const sdx_program *program, const sdx_node *node, sdx_error *error) {
    const sdx_node *origin = sdx_program_origin(program, node);
    sdx_error_set_node(error, origin->name, origin->op_type);
}

size_t sdx_program_step_count(const sdx_program *program) {
    return program ? program->step_count : 0;
}
