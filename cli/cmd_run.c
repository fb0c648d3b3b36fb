/* cmd_run.c - `sardonyx run`: inputs from files or from a seed, one run or several, results as files
 * or as a summary (run_results.c). */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run.h"

static const char help[] =
    "usage: sardonyx run MODEL [--input NAME=FILE.npy|.pb].. [--random SEED] [--dim NAME=N]..\n"
    "                    [--output DIR] [--format npy|pb] [--threads N] [--cpus LIST]\n"
    "                    [--optimize 0|1|2|3] [--winograd on|off] [--repeat N]\n"
    "                    [--slice N|off|auto] [--profile FILE] [--verify] [--json]\n\n"
    "Runs a model and prints a summary of each output.\n\n"
    "  --input NAME=FILE  an input from a .npy file, or from a .pb file that holds what the model\n"
    "                     declares: a TensorProto, SequenceProto or OptionalProto\n"
    "  --random SEED      inputs not given: floats in [0, 1), integers 0 to 3, from the seed\n"
    "  --dim NAME=N       the size of a named dimension: of random inputs, and the program is made\n"
    "                     for this size alone\n"
    "  --output DIR       write each output to DIR/NAME.npy; in NAME, whatever is not a letter,\n"
    "                     digit, '.', '-' or '_' becomes '_'\n"
    "  --format F         npy (default) or pb; sequences and maps are always pb\n"
    "  --threads N        threads (default: the environment variable SARDONYX_THREADS, else as many\n"
    "                     as --cpus names, else as many as the process may use)\n"
    "  --cpus LIST        CPUs for them, in turn, such as 0,2-3\n"
    "  --optimize L       optimisation level (default 3)\n"
    "  --winograd off     3x3 convolutions multiply as they are written: more exact, slower\n"
    "  --repeat N         run N times; the best and the median time are printed\n"
    "  --slice N          run a batch N samples at a time, where samples do not touch one another;\n"
    "                     off: whole, auto (default): as many as suit the machine's caches;\n"
    "                     threads share them out where there are enough\n"
    "  --profile FILE     run again as often (10 times at most) and write what each step took to\n"
    "                     FILE, a trace for Perfetto or chrome://tracing; the 10 steps that took\n"
    "                     longest go to stderr\n"
    "  --verify           of a packed file: compare all data with their digests first\n"
    "  --json             the summary as JSON: outputs, memory, times\n\n"
    "example: sardonyx run resnet50.onnx --random 1 --dim batch=4 --output results\n";

#define PROFILED_RUNS 10 /* at most */

typedef struct run_options {
    const char *model, *output, *profile, *slice_text, *cpus_text;
    bool json, verify;
    int format; /* 0 npy, 1 pb */
    int winograd; /* 0 on, 1 off */
    int64_t seed, threads, optimize, repeat; /* seed -1: no random inputs */
    int64_t slice;
    cpu_list cpus;
    text_list positionals, inputs, dim_texts;
    dim_list dims;
} run_options;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool parse(run_options *o, int argc, char **argv) {
    const option options[] = {
        {.name = "--input", .kind = OPTION_LIST, .to = &o->inputs},
        {.name = "--random", .kind = OPTION_INTEGER, .to = &o->seed, .low = 0, .high = INT64_MAX},
        {.name = "--dim", .kind = OPTION_LIST, .to = &o->dim_texts},
        {.name = "--output", .kind = OPTION_TEXT, .to = &o->output},
        {.name = "--format", .kind = OPTION_CHOICE, .to = &o->format, .choices = "npy|pb"},
        {.name = "--threads", .kind = OPTION_INTEGER, .to = &o->threads, .low = 1, .high = 1024},
        {.name = "--optimize", .kind = OPTION_INTEGER, .to = &o->optimize, .low = 0, .high = 3},
        {.name = "--winograd", .kind = OPTION_CHOICE, .to = &o->winograd, .choices = "on|off"},
        {.name = "--repeat", .kind = OPTION_INTEGER, .to = &o->repeat, .low = 1, .high = 1000000},
        {.name = "--cpus", .kind = OPTION_TEXT, .to = &o->cpus_text},
        {.name = "--slice", .kind = OPTION_TEXT, .to = &o->slice_text},
        {.name = "--profile", .kind = OPTION_TEXT, .to = &o->profile},
        {.name = "--verify", .kind = OPTION_FLAG, .to = &o->verify},
        {.name = "--json", .kind = OPTION_FLAG, .to = &o->json},
    };
    if (!parse_arguments(&cmd_run, argc, argv, options, sizeof options / sizeof *options,
                         &o->positionals) ||
        !dims_parse(&o->dims, &o->dim_texts, &cmd_run))
        return false;
    for (size_t i = 0; i < o->inputs.count; i++)
        if (!strchr(o->inputs.items[i], '=')) {
            usage_error(&cmd_run, "--input is '%s', expected NAME=FILE", o->inputs.items[i]);
            return false;
        }
    if (o->positionals.count > 1)
        usage_error(&cmd_run, "two models given, '%s' and '%s'", o->positionals.items[0],
                    o->positionals.items[1]);
    else if (o->positionals.count == 0) usage_error(&cmd_run, "no model given");
    else if (o->output && !o->output[0]) usage_error(&cmd_run, "--output needs a value");
    else if (o->profile && !o->profile[0]) usage_error(&cmd_run, "--profile needs a value");
    else if (slice_parse(o->slice_text, &o->slice, &cmd_run) &&
             cpus_parse(o->cpus_text, &o->cpus, &cmd_run))
        o->model = o->positionals.items[0];
    return o->model != NULL;
}

/* ---- inputs ----------------------------------------------------------------------------------- */

static void input_info(const run_session *s, size_t index, sdx_value_info *info) {
    *info = (sdx_value_info){.struct_size = sizeof *info};
    sdx_model_get_value(s->model, sdx_model_input(s->model, index), info);
}

static bool ends_with(const char *string, const char *ending) {
    size_t a = strlen(string), b = strlen(ending);
    return a >= b && strcmp(string + a - b, ending) == 0;
}

/* The input that a text NAME=FILE means, and the file. Both may hold a '=', so that the longest
 * name that fits decides. */
static size_t find_input(const run_session *s, const char *argument, const char **file) {
    size_t found = SIZE_MAX, longest = 0;
    for (size_t i = 0; i < s->info.input_count; i++) {
        sdx_value_info info;
        input_info(s, i, &info);
        size_t length = strlen(info.name);
        bool fits = strncmp(argument, info.name, length) == 0 && argument[length] == '=';
        if (!fits || (found != SIZE_MAX && length < longest)) continue;
        found = i;
        longest = length;
        *file = argument + length + 1;
    }
    return found;
}

static int no_such_input(const run_session *s, const char *argument) {
    text names = {0};
    for (size_t i = 0; i < s->info.input_count; i++) {
        sdx_value_info info;
        input_info(s, i, &info);
        text_add(&names, "%s'%s'", i ? ", " : "", info.name);
    }
    complain("the model has no input '%.*s'; it has %s", (int)strcspn(argument, "="), argument,
             names.data ? names.data : "none");
    text_free(&names);
    return EXIT_USAGE;
}

static int set_from_file(run_session *s, size_t index, const char *file) {
    sdx_value_info info;
    input_info(s, index, &info);
    bool npy = ends_with(file, ".npy");
    if (!npy && !ends_with(file, ".pb"))
        return usage_error(&cmd_run, "input '%s': '%s' is neither .npy nor .pb", info.name, file);
    sdx_error error;
    sdx_error_clear(&error);
    sdx_value *value = NULL;
    sdx_kind kind = info.kind == SDX_KIND_NONE ? SDX_KIND_TENSOR : info.kind;
    sdx_status status = npy ? sdx_value_read_npy(file, NULL, &value, &error)
                            : sdx_value_read_pb(file, kind, NULL, &value, &error);
    if (status != SDX_STATUS_OK) return report_error(file, &error);
    status = sdx_context_set_input_value(s->context, index, value, &error);
    sdx_value_release(value);
    return status == SDX_STATUS_OK ? EXIT_OK : report_error(file, &error);
}

/* Dims for a random input: all must be known. */
static int random_dims(const run_session *s, const sdx_shapes *shapes, size_t index,
                       sdx_tensor *like) {
    sdx_value_info info;
    input_info(s, index, &info);
    uint32_t value = sdx_model_input(s->model, index);
    sdx_shapes_get(shapes, value, &like->rank, like->dims);
    like->dtype = info.dtype;
    for (int32_t i = 0; i < like->rank; i++)
        if (like->dims[i] < 0) {
            complain_open_dim(s->model, value, i, "--random");
            return EXIT_USAGE;
        }
    const char *missing = info.kind != SDX_KIND_TENSOR && info.kind != SDX_KIND_NONE
                              ? "content"
                          : like->rank < 0                    ? "rank"
                          : info.dtype == SDX_DTYPE_UNDEFINED ? "element type"
                                                              : NULL;
    if (!missing) return EXIT_OK;
    text type = {0};
    text_add_type(&type, s->model, value);
    complain("--random cannot make input '%s' (%s), whose %s is not known; use --input %s=FILE",
             info.name, type.data ? type.data : "", missing, info.name);
    text_free(&type);
    return EXIT_USAGE;
}

static int set_random(run_session *s, const run_options *o, const sdx_shapes *shapes,
                      size_t index) {
    sdx_tensor like = {0};
    int code = random_dims(s, shapes, index, &like);
    if (code != EXIT_OK) return code;
    sdx_error error;
    sdx_error_clear(&error);
    sdx_value *value = NULL;
    sdx_status status = sdx_value_new_tensor(NULL, &like, &value, &error);
    if (status == SDX_STATUS_OK) {
        sdx_tensor tensor = *sdx_value_tensor(value);
        fill_random(&tensor, (uint64_t)o->seed + index);
        status = sdx_context_set_input_value(s->context, index, value, &error);
        sdx_value_release(value);
    }
    if (status == SDX_STATUS_OK) return EXIT_OK;
    sdx_value_info info;
    input_info(s, index, &info);
    complain("--random cannot make input '%s': %s", info.name, error.message);
    return exit_code(status);
}

/* Inputs that no option named. */
static int set_others(run_session *s, const run_options *o, const bool *given) {
    sdx_shapes *shapes = NULL;
    sdx_error error;
    if (sdx_shapes_create(s->model, o->dims.items, o->dims.count, &shapes, &error) != SDX_STATUS_OK)
        return report_error(o->model, &error);
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < s->info.input_count; i++) {
        sdx_value_info info;
        input_info(s, i, &info);
        if (given[i] || info.has_default) continue;
        if (o->seed >= 0) {
            code = set_random(s, o, shapes, i);
            continue;
        }
        text type = {0};
        text_add_type(&type, s->model, sdx_model_input(s->model, i));
        complain("input '%s' (%s) is not given; use --input %s=FILE or --random SEED", info.name,
                 type.data ? type.data : "", info.name);
        text_free(&type);
        code = EXIT_USAGE;
    }
    sdx_shapes_release(shapes);
    return code;
}

static int set_inputs(run_session *s, const run_options *o) {
    bool *given = calloc(s->info.input_count + 1, sizeof *given);
    if (!given) return out_of_memory();
    int code = EXIT_OK;
    for (size_t k = 0; code == EXIT_OK && k < o->inputs.count; k++) {
        const char *file = NULL;
        size_t at = find_input(s, o->inputs.items[k], &file);
        if (at == SIZE_MAX) code = no_such_input(s, o->inputs.items[k]);
        else if (given[at])
            code = usage_error(&cmd_run, "--input %.*s is given twice",
                               (int)(file - 1 - o->inputs.items[k]), o->inputs.items[k]);
        else code = set_from_file(s, at, file);
        if (at != SIZE_MAX) given[at] = true;
    }
    if (code == EXIT_OK) code = set_others(s, o, given);
    free(given);
    return code;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int execute(run_session *s, const run_options *o) {
    double *times = calloc(s->repeat, sizeof *times);
    if (!times) return out_of_memory();
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < s->repeat; i++) {
        sdx_error error;
        double start = now_ms();
        if (sdx_context_run(s->context, &error) != SDX_STATUS_OK) code = report_error(o->model, &error);
        times[i] = now_ms() - start;
    }
    qsort(times, s->repeat, sizeof *times, by_value);
    s->best_ms = times[0];
    s->median_ms = times[s->repeat / 2];
    free(times);
    return code;
}

static uint32_t thread_count(const run_options *o) {
    if (o->threads || getenv("SARDONYX_THREADS")) return (uint32_t)o->threads;
    return (uint32_t)o->cpus.count;
}

/* The context reads a clock around every step, so it is one of its own, and the one that was timed is
 * gone by then. */
static int profile_runs(run_session *s, const run_options *o, sdx_context_options context) {
    profile *p = profile_create(s->model);
    if (!p) return out_of_memory();
    context.profile = profile_add;
    context.profile_user = p;
    sdx_context_release(s->context);
    s->context = NULL;
    sdx_error error;
    int code = EXIT_OK;
    if (sdx_context_create(s->program, &context, &s->context, &error) != SDX_STATUS_OK)
        code = report_error(o->model, &error);
    if (code == EXIT_OK) code = set_inputs(s, o);
    size_t runs = s->repeat < PROFILED_RUNS ? s->repeat : PROFILED_RUNS;
    for (size_t i = 0; code == EXIT_OK && i <= runs; i++) {
        if (sdx_context_run(s->context, &error) != SDX_STATUS_OK)
            code = report_error(o->model, &error);
        profile_next_run(p, i > 0); /* the first touches memory that no run has touched */
    }
    if (code == EXIT_OK) code = profile_report(p, o->profile);
    profile_free(p);
    return code;
}

static int run_model(run_session *s, const run_options *o) {
    sdx_error error;
    double start = now_ms();
    sdx_load_options load = {.struct_size = sizeof load, .limits = limits_given(),
                             .flags = (o->verify ? (uint32_t)SDX_LOAD_VERIFY : 0u) | load_flags_given()};
    sdx_program_options program = {.struct_size = sizeof program, .optimize = (int)o->optimize,
                                   .fixed = o->dims.items, .fixed_count = o->dims.count,
                                   .slice = o->slice, .threads = thread_count(o),
                                   .kernels = o->winograd ? SDX_KERNELS_NO_WINOGRAD : 0};
    sdx_context_options context = {.struct_size = sizeof context, .threads = thread_count(o),
                                   .cpus = o->cpus.items, .cpu_count = o->cpus.count,
                                   .seed = o->seed > 0 ? (uint64_t)o->seed : 0};
    if (sdx_model_load_file(o->model, &load, &s->model, &error) != SDX_STATUS_OK)
        return report_error(o->model, &error);
    if (!dims_check(&o->dims, s->model)) return EXIT_USAGE;
    if (sdx_program_create(s->model, &program, &s->program, &error) != SDX_STATUS_OK ||
        sdx_context_create(s->program, &context, &s->context, &error) != SDX_STATUS_OK)
        return report_error(o->model, &error);
    if (o->cpus.count && !use_cpu(o->cpus.items[0]))
        return usage_error(&cmd_run, "CPU %u cannot be used", o->cpus.items[0]);
    s->load_ms = now_ms() - start;
    s->info.struct_size = sizeof s->info;
    sdx_model_get_info(s->model, &s->info);
    s->files = calloc(s->info.output_count + 1, sizeof *s->files);
    if (!s->files) return out_of_memory();
    int code = set_inputs(s, o);
    if (code == EXIT_OK) code = execute(s, o);
    if (code == EXIT_OK && o->output) code = write_results(s, o->output, o->format == 1);
    if (code != EXIT_OK) return code;
    if (o->json) print_results_json(s);
    else print_results_text(s);
    return o->profile ? profile_runs(s, o, context) : EXIT_OK;
}

static int run(int argc, char **argv) {
    run_options o = {.seed = -1, .optimize = 3, .repeat = 1};
    run_session s = {0};
    int code = EXIT_USAGE;
    if (parse(&o, argc, argv)) {
        s.repeat = (size_t)o.repeat;
        code = run_model(&s, &o);
    }
    for (size_t i = 0; s.files && i < s.info.output_count; i++) free(s.files[i]);
    free(s.files);
    sdx_context_release(s.context);
    sdx_program_release(s.program);
    sdx_model_release(s.model);
    text_list_free(&o.positionals);
    text_list_free(&o.inputs);
    text_list_free(&o.dim_texts);
    dims_free(&o.dims);
    return code;
}

const command cmd_run = {"run", "run a model on inputs from files or a seed", help, run, true};
