/* program.c - the program object: options, its own pool of expressions, and what can be asked of it.
 * lower.c does the work. */
#include "exec/program.h"

#include <string.h>

#include "exec/context.h"
#include "exec/lowering.h"

static void set_limits(sdx_program *program, const sdx_limits *given) {
    program->limits = program->module->limits;
    if (given && given->max_memory) program->limits.max_memory = given->max_memory;
    if (given && given->max_rounds) program->limits.max_rounds = given->max_rounds;
}

static sdx_status set_strategy(sdx_program *program, const char *name, sdx_error *error) {
    const sdx_plan_strategy *found = sdx_plan_find_strategy(name ? name : "best");
    if (!found)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "there is no strategy '%.64s'", name);
    program->strategy = found->name;
    return SDX_STATUS_OK;
}

/* The program's own expressions, with the fixed sizes put in. */
static sdx_status make_pool(sdx_program *program, const sdx_program_options *options,
                            sdx_error *error) {
    const sdx_expr_pool *from = program->module->pool;
    size_t symbols = sdx_expr_symbol_count(from);
    program->fixed = sdx_arena_array(&program->arena, symbols + 1, sizeof(int64_t));
    program->expected = sdx_arena_array(&program->arena, symbols + 1, sizeof(int64_t));
    program->pool_map =
        sdx_arena_array(&program->arena, sdx_expr_pool_size(from) + 1, sizeof(sdx_expr));
    if (!program->fixed || !program->expected || !program->pool_map)
        return sdx_fail_memory(error, 0, "the program");
    SDX_TRY(sdx_bind_names(from, options->fixed, options->fixed_count, program->fixed, error));
    SDX_TRY(sdx_bind_names(from, options->expected, options->expected_count, program->expected,
                           error));
    for (size_t i = 0; i < symbols; i++)
        if (program->fixed[i] >= 0) program->expected[i] = program->fixed[i];
    SDX_TRY(sdx_expr_pool_create(program->allocator, &program->pool, error));
    return sdx_expr_rebuild(from, program->fixed, program->pool, program->pool_map, error);
}

static sdx_status run_lowering(sdx_program *program, sdx_error *error) {
    sdx_lowering l = {.program = program, .module = program->module, .error = error};
    sdx_arena_init(&l.scratch, program->allocator, 0);
    sdx_status status = sdx_lower(&l);
    sdx_vector_free(&l.releases, program->allocator, sizeof(sdx_id));
    sdx_arena_free(&l.scratch);
    return status;
}

sdx_status sdx_program_create(const sdx_model *model, const sdx_program_options *options,
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
    if (model->module->problems.count) {
        *error = *(const sdx_error *)model->module->problems.data;
        return error->code;
    }
    const sdx_allocator *allocator = given.allocator ? given.allocator : model->allocator;
    sdx_program *program = sdx_alloc(allocator, sizeof *program, _Alignof(max_align_t));
    if (!program) return sdx_fail_memory(error, sizeof *program, "the program");
    memset(program, 0, sizeof *program);
    program->own_allocator = *allocator;
    program->allocator = &program->own_allocator;
    program->model = model;
    program->module = model->module;
    program->optimize = given.optimize;
    program->levers = given.memory;
    set_limits(program, given.limits);
    uint64_t budget = program->limits.max_memory;
    sdx_arena_init(&program->arena, program->allocator, budget >= SIZE_MAX ? 0 : (size_t)budget);
    sdx_status status = set_strategy(program, given.strategy, error);
    if (status == SDX_STATUS_OK) status = make_pool(program, &given, error);
    if (status == SDX_STATUS_OK) status = run_lowering(program, error);
    if (status != SDX_STATUS_OK) sdx_program_release(program);
    else *out = program;
    return status;
}

void sdx_program_release(sdx_program *program) {
    if (!program) return;
    sdx_expr_pool_release(program->pool);
    sdx_arena_free(&program->arena);
    sdx_allocator allocator = program->own_allocator;
    sdx_free(&allocator, program, sizeof *program);
}

size_t sdx_program_step_count(const sdx_program *program) {
    return program ? program->step_count : 0;
}
