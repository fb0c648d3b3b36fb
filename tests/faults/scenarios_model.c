/* scenarios_model.c - a model from its file to results: load, program, context, runs of several sizes; on the
 * way packed and loaded again, or described. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenarios.h"

enum { MOST_INPUTS = 16, PATH_ROOM = 1200 };

typedef struct session {
    scenario *s;
    sdx_model *model, *packed;
    sdx_program *program;
    sdx_context *context;
    sdx_value *inputs[MOST_INPUTS];
    size_t profiled; /* steps that the profile was handed */
} session;

static unsigned char *bytes;
static size_t byte_count;

/* A model in the caller's memory: read once, so that only the library's calls can fail. */
static bool read_bytes(const char *path) {
    static char for_path[PATH_ROOM];
    if (strcmp(path, for_path) == 0) return true;
    FILE *file = fopen(path, "rb");
    unsigned char *grown = realloc(bytes, 1 << 24);
    if (grown) bytes = grown;
    byte_count = file && grown ? fread(bytes, 1, 1 << 24, file) : 0;
    if (file) fclose(file);
    snprintf(for_path, sizeof for_path, "%s", path);
    return byte_count > 0;
}

static sdx_status load(session *x, const char *path, uint32_t flags, sdx_model **out) {
    scenario *s = x->s;
    sdx_load_options options = {.struct_size = sizeof options,
                                .flags = s->load_flags | flags,
                                .allocator = scenario_allocator(s)};
    if (!s->from_memory) return sdx_model_load_file(path, &options, out, &s->error);
    return sdx_model_load_memory(bytes, byte_count, &options, out, &s->error);
}

static sdx_status make_program(session *x) {
    sdx_program_options options = {.struct_size = sizeof options,
                                   .allocator = scenario_allocator(x->s),
                                   .optimize = x->s->level,
                                   .slice = x->s->slice,
                                   .memory = strcmp(x->s->what, "describe") == 0
                                                 ? (uint32_t)SDX_MEMORY_DESCRIBE : 0u,
                                   .threads = x->s->threads};
    return sdx_program_create(x->packed ? x->packed : x->model, &options, &x->program,
                              &x->s->error);
}

static void count_step(void *user, const sdx_step_profile *step) {
    (void)step;
    ((session *)user)->profiled++;
}

static sdx_status make_context(session *x) {
    sdx_context_options options = {.struct_size = sizeof options,
                                   .allocator = scenario_allocator(x->s),
                                   .threads = x->s->threads,
                                   .profile = strcmp(x->s->what, "describe") == 0 ? count_step
                                                                                  : NULL,
                                   .profile_user = x};
    return sdx_context_create(x->program, &options, &x->context, &x->s->error);
}

/* ---- texts ------------------------------------------------------------------------------------------ */

static bool describe(session *x) {
    scenario *s = x->s;
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_shapes *shapes = NULL;
    char text[300];
    sdx_model_get_info(x->model, &info);
    if (!STAGE(s, "shapes", sdx_shapes_create(x->model, NULL, 0, &shapes, &s->error))) return false;
    for (size_t i = 0; i < info.value_count; i++) {
        int32_t rank = -1;
        int64_t dims[SDX_MAX_RANK];
        sdx_shapes_get(shapes, i, &rank, dims);
        scenario_note_bytes(s, &rank, sizeof rank);
        sdx_model_type_text(x->model, i, text, sizeof text);
        scenario_note_bytes(s, text, strlen(text));
    }
    sdx_shapes_release(shapes);
    for (size_t i = 0; i < sdx_program_buffer_count(x->program); i++) {
        sdx_program_buffer_text(x->program, i, SDX_BUFFER_OFFSET, text, sizeof text);
        scenario_note_bytes(s, text, strlen(text));
    }
    return true;
}

/* ---- runs -------------------------------------------------------------------------------------------- */

static sdx_status set_and_run(session *x, size_t count) {
    const size_t profiled = x->profiled;
    for (size_t i = 0; i < count; i++) {
        if (!x->inputs[i]) continue;
        sdx_status status = sdx_context_set_input_value(x->context, i, x->inputs[i], &x->s->error);
        if (status != SDX_STATUS_OK) return status;
    }
    sdx_status status = sdx_context_run(x->context, &x->s->error);
    if (status != SDX_STATUS_OK) x->profiled = profiled; /* steps of a run that failed later do not count */
    return status;
}

static void drop_inputs(session *x) {
    for (size_t i = 0; i < MOST_INPUTS; i++) {
        sdx_value_release(x->inputs[i]);
        x->inputs[i] = NULL;
    }
}

/* One folder test_data_set_N; false: something failed. */
static bool run_set(session *x, size_t set) {
    scenario *s = x->s;
    char path[PATH_ROOM];
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(x->model, &info);
    for (size_t i = 0; i < info.input_count && i < MOST_INPUTS; i++) {
        sdx_value_info input = {.struct_size = sizeof input};
        sdx_model_get_value(x->model, sdx_model_input(x->model, i), &input);
        snprintf(path, sizeof path, "%s/test_data_set_%zu/input_%zu.pb", s->path, set, i);
        if (access(path, R_OK) != 0) continue; /* may have a default; if not, the run says so */
        if (!STAGE(s, "read", sdx_value_read_pb(path, input.kind, scenario_allocator(s),
                                                &x->inputs[i], &s->error)))
            return false;
    }
    if (!STAGE(s, "run", set_and_run(x, info.input_count))) return false;
    for (size_t i = 0; i < info.output_count; i++)
        scenario_note(s, sdx_context_output_value(x->context, i));
    return true;
}

static bool run_sets(session *x) {
    char path[PATH_ROOM];
    for (size_t set = 0; set < 3; set++) {
        snprintf(path, sizeof path, "%s/test_data_set_%zu/input_0.pb", x->s->path, set);
        if (set && access(path, R_OK) != 0) break; /* one call that is not made to fail */
        if (!run_set(x, set)) return false;
        drop_inputs(x);
    }
    return true;
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

static bool pack(session *x) {
    scenario *s = x->s;
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/packed.sdx", s->scratch);
    sdx_program_options program = {.struct_size = sizeof program, .optimize = s->level,
                                   .allocator = scenario_allocator(s), .threads = s->threads};
    sdx_pack_options options = {.struct_size = sizeof options, .flags = SDX_PACK_PLAIN};
    return STAGE(s, "pack", sdx_model_pack_file(x->model, &program, &options, path, &s->error)) &&
           STAGE(s, "load packed", load(x, path, SDX_LOAD_VERIFY, &x->packed));
}

static bool arena_plan(session *x) {
    scenario *s = x->s;
    sdx_plan_problem *problem = NULL;
    bool good = STAGE(s, "arena", sdx_context_get_plan(x->context, &problem, &s->error));
    size_t count = problem ? sdx_plan_problem_count(problem) : 0;
    scenario_note_bytes(s, &count, sizeof count);
    sdx_plan_problem_release(problem);
    return good;
}

void scenario_model(scenario *s) {
    session x = {.s = s};
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/model.onnx", s->path);
    if (s->from_memory && !read_bytes(path)) return;
    bool good = STAGE(s, "load", load(&x, path, 0, &x.model));
    if (good && strcmp(s->what, "pack") == 0) good = pack(&x);
    if (good) good = STAGE(s, "program", make_program(&x));
    if (good && strcmp(s->what, "describe") == 0) good = describe(&x);
    if (good) good = STAGE(s, "context", make_context(&x));
    if (good) good = run_sets(&x);
    if (good && strcmp(s->what, "describe") == 0) good = arena_plan(&x);
    scenario_note_bytes(s, &x.profiled, sizeof x.profiled);
    drop_inputs(&x);
    sdx_context_release(x.context);
    sdx_program_release(x.program);
    sdx_model_release(x.packed);
    sdx_model_release(x.model);
}
