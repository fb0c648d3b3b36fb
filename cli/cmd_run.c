/* cmd_run.c - `sardonyx run`: inputs from files or from a seed, one run, results as files or as a
 * summary. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"
#include "json.h"

static const char help[] =
    "usage: sardonyx run MODEL [--input NAME=FILE.npy|.pb].. [--random SEED] [--dim NAME=N]..\n"
    "                    [--output DIR] [--format npy|pb] [--threads N] [--optimize 0|1|2|3]\n"
    "                    [--repeat N] [--json]\n\n"
    "Runs a model once and prints a summary of each output.\n\n"
    "  --input NAME=FILE  an input from a .npy file or a TensorProto (.pb)\n"
    "  --random SEED      inputs not given: floats in [0, 1), integers 0 to 3, from the seed\n"
    "  --dim NAME=N       the size of a named dimension, for random inputs\n"
    "  --output DIR       write each output to DIR/NAME.npy ('/' and the like become '_')\n"
    "  --format F         npy (default) or pb; sequences and maps are always pb\n"
    "  --threads N        threads (default: as many as the process may use)\n"
    "  --optimize L       optimisation level (default 3)\n"
    "  --repeat N         run N times; the best and the median time are printed\n"
    "  --json             the summary as JSON: outputs, times, memory\n\n"
    "example: sardonyx run resnet50.onnx --random 1 --dim batch=4 --output results\n";

typedef struct run_options {
    const char *model, *output;
    bool random, json, pb;
    uint64_t seed;
    dim_list dims;
    char **input_names;
    const char **input_files;
    size_t input_count;
    uint32_t threads;
    int optimize;
    size_t repeat;
} run_options;

typedef struct session {
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    sdx_model_info info;
    double load_ms, best_ms, median_ms;
} session;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- options ---------------------------------------------------------------------------------- */

static bool add_input(run_options *o, arguments *args) {
    char *name;
    const char *file;
    if (!option_pair(args, &name, &file)) return false;
    o->input_names[o->input_count] = name;
    o->input_files[o->input_count++] = file;
    return true;
}

static bool parse_option(run_options *o, arguments *args, int *code) {
    long long number;
    if (option_is(args, "--input")) return add_input(o, args);
    if (option_is(args, "--dim")) return dims_add(&o->dims, args);
    if (option_is(args, "--json")) return o->json = true;
    if (option_is(args, "--output")) return (o->output = option_value(args)) != NULL;
    if (option_is(args, "--random")) {
        if (!option_integer(args, 0, INT64_MAX, &number)) return false;
        o->seed = (uint64_t)number;
        return o->random = true;
    }
    if (option_is(args, "--threads")) {
        if (!option_integer(args, 1, 1024, &number)) return false;
        o->threads = (uint32_t)number;
        return true;
    }
    if (option_is(args, "--optimize")) {
        if (!option_integer(args, 0, 3, &number)) return false;
        o->optimize = (int)number;
        return true;
    }
    if (option_is(args, "--repeat")) {
        if (!option_integer(args, 1, 1000000, &number)) return false;
        o->repeat = (size_t)number;
        return true;
    }
    if (option_is(args, "--format")) {
        const char *text = option_value(args);
        if (!text) return false;
        o->pb = strcmp(text, "pb") == 0;
        if (o->pb || strcmp(text, "npy") == 0) return true;
        usage_error(args, "--format is '%s', expected npy or pb", text);
        return false;
    }
    *code = usage_error(args, "unknown option '%s'", args->option);
    return false;
}

static int parse(run_options *o, int argc, char **argv) {
    arguments args;
    const char *positional;
    int code = EXIT_USAGE;
    arguments_start(&args, argc, argv, &cmd_run);
    o->input_names = calloc((size_t)argc, sizeof *o->input_names);
    o->input_files = calloc((size_t)argc, sizeof *o->input_files);
    if (!o->input_names || !o->input_files) return EXIT_BAD_INPUT;
    while (arguments_next(&args, &positional)) {
        if (positional && o->model)
            return usage_error(&args, "two models given, '%s' and '%s'", o->model, positional);
        if (positional) o->model = positional;
        else if (!parse_option(o, &args, &code)) return code;
    }
    return o->model ? EXIT_OK : usage_error(&args, "no model given");
}

/* ---- inputs ----------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *ending) {
    size_t a = strlen(text), b = strlen(ending);
    return a >= b && strcmp(text + a - b, ending) == 0;
}

static void input_info(const session *s, size_t index, sdx_value_info *info) {
    *info = (sdx_value_info){.struct_size = sizeof *info};
    sdx_model_get_value(s->model, sdx_model_input(s->model, index), info);
}

static sdx_status load_input(session *s, size_t index, const char *file, sdx_error *error) {
    sdx_value_info info;
    input_info(s, index, &info);
    sdx_value *value = NULL;
    sdx_kind kind = info.kind == SDX_KIND_NONE ? SDX_KIND_TENSOR : info.kind;
    sdx_status status = ends_with(file, ".npy")
                            ? sdx_value_read_npy(file, NULL, &value, error)
                            : sdx_value_read_pb(file, kind, NULL, &value, error);
    if (status == SDX_STATUS_OK)
        status = sdx_context_set_input_value(s->context, index, value, error);
    sdx_value_release(value);
    return status;
}

static sdx_status random_input(session *s, const run_options *o, size_t index, sdx_error *error) {
    sdx_value_info info;
    input_info(s, index, &info);
    int32_t rank;
    sdx_tensor like = {.dtype = info.dtype};
    sdx_status status = sdx_program_input_dims(s->program, index, o->dims.items, o->dims.count,
                                               &rank, like.dims, error);
    if (status != SDX_STATUS_OK) return status;
    like.rank = rank;
    sdx_value *value;
    status = sdx_value_new_tensor(NULL, &like, &value, error);
    if (status != SDX_STATUS_OK) return status;
    sdx_tensor tensor = *sdx_value_tensor(value);
    fill_random(&tensor, o->seed + index);
    status = sdx_context_set_input_value(s->context, index, value, error);
    sdx_value_release(value);
    return status;
}

static int set_inputs(session *s, const run_options *o, sdx_error *error) {
    bool *given = calloc(s->info.input_count + 1, sizeof *given);
    int code = given ? EXIT_OK : EXIT_BAD_INPUT;
    for (size_t k = 0; code == EXIT_OK && k < o->input_count; k++) {
        size_t at = 0;
        sdx_value_info info = {0};
        for (; at < s->info.input_count; at++) {
            input_info(s, at, &info);
            if (strcmp(info.name, o->input_names[k]) == 0) break;
        }
        if (at == s->info.input_count) {
            fprintf(stderr, "sardonyx: the model has no input '%s'; it has", o->input_names[k]);
            for (size_t i = 0; i < s->info.input_count; i++) {
                input_info(s, i, &info);
                fprintf(stderr, "%s '%s'", i ? "," : "", info.name);
            }
            fputc('\n', stderr);
            code = EXIT_USAGE;
        } else if (load_input(s, at, o->input_files[k], error) != SDX_STATUS_OK) {
            code = report_error(error);
        } else {
            given[at] = true;
        }
    }
    for (size_t i = 0; code == EXIT_OK && i < s->info.input_count; i++) {
        sdx_value_info info;
        input_info(s, i, &info);
        if (given[i] || info.has_default) continue;
        if (!o->random) {
            char type[512];
            sdx_model_type_text(s->model, sdx_model_input(s->model, i), type, sizeof type);
            fprintf(stderr,
                    "sardonyx: input '%s' (%s) is not given; use --input %s=FILE or --random "
                    "SEED\n",
                    info.name, type, info.name);
            code = EXIT_USAGE;
        } else if (random_input(s, o, i, error) != SDX_STATUS_OK) {
            code = report_error(error);
        }
    }
    free(given);
    return code;
}

/* ---- results ---------------------------------------------------------------------------------- */

typedef struct summary {
    double low, high, mean;
    size_t nan_count;
} summary;

static summary summarise(const sdx_tensor *tensor) {
    summary s = {.low = INFINITY, .high = -INFINITY};
    double sum = 0;
    size_t counted = 0;
    for (size_t i = 0; i < tensor->count && tensor->dtype != SDX_DTYPE_STRING; i++) {
        double x = sdx_element_as_double(tensor, i);
        if (isnan(x)) {
            s.nan_count++;
            continue;
        }
        if (x < s.low) s.low = x;
        if (x > s.high) s.high = x;
        sum += x;
        counted++;
    }
    s.mean = counted ? sum / (double)counted : 0;
    return s;
}

static void output_name(const session *s, size_t index, const char **name) {
    sdx_value_info info = {.struct_size = sizeof info};
    sdx_model_get_value(s->model, sdx_model_output(s->model, index), &info);
    *name = info.name;
}

static void shape_text(const sdx_tensor *tensor, char *buffer, size_t size) {
    size_t used = (size_t)snprintf(buffer, size, "%s[", sdx_dtype_name(tensor->dtype));
    for (int32_t i = 0; i < tensor->rank && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%lld", i ? "," : "",
                                 (long long)tensor->dims[i]);
    if (used < size) snprintf(buffer + used, size - used, "]");
}

static void print_text(const session *s) {
    for (size_t i = 0; i < s->info.output_count; i++) {
        const char *name;
        output_name(s, i, &name);
        const sdx_value *value = sdx_context_output_value(s->context, i);
        const sdx_tensor *tensor = sdx_value_tensor(value);
        if (!tensor) {
            sdx_kind kind = sdx_value_kind(value);
            printf("%s: %s of %zu\n", name,
                   kind == SDX_KIND_SEQUENCE ? "sequence" : kind == SDX_KIND_MAP ? "map" : "nothing",
                   sdx_value_count(value));
            continue;
        }
        char shape[256];
        shape_text(tensor, shape, sizeof shape);
        summary r = summarise(tensor);
        printf("%s: %s", name, shape);
        if (tensor->count && tensor->dtype != SDX_DTYPE_STRING)
            printf("  min %.6g  max %.6g  mean %.6g", r.low, r.high, r.mean);
        if (r.nan_count) printf("  %zu NaN", r.nan_count);
        putchar('\n');
    }
    fprintf(stderr, "loaded in %.2f ms, run in %.2f ms (median %.2f)\n", s->load_ms, s->best_ms,
            s->median_ms);
}

static void print_json(const session *s) {
    json_writer json;
    json_start(&json, stdout);
    json_object(&json, NULL);
    json_array(&json, "outputs");
    for (size_t i = 0; i < s->info.output_count; i++) {
        const char *name;
        output_name(s, i, &name);
        const sdx_value *value = sdx_context_output_value(s->context, i);
        const sdx_tensor *tensor = sdx_value_tensor(value);
        json_object(&json, NULL);
        json_string(&json, "name", name);
        if (tensor) {
            summary r = summarise(tensor);
            json_string(&json, "dtype", sdx_dtype_name(tensor->dtype));
            json_array(&json, "dims");
            for (int32_t d = 0; d < tensor->rank; d++) json_integer(&json, NULL, tensor->dims[d]);
            json_end(&json);
            if (tensor->count && tensor->dtype != SDX_DTYPE_STRING) {
                json_number(&json, "min", r.low);
                json_number(&json, "max", r.high);
                json_number(&json, "mean", r.mean);
            }
            json_integer(&json, "nan", (int64_t)r.nan_count);
        } else {
            json_integer(&json, "items", (int64_t)sdx_value_count(value));
        }
        json_end(&json);
    }
    json_end(&json);
    sdx_memory_info memory = {.struct_size = sizeof memory};
    sdx_context_get_memory(s->context, &memory);
    json_object(&json, "memory");
    json_integer(&json, "arena_bytes", (int64_t)memory.arena_bytes);
    json_integer(&json, "arena_used", (int64_t)memory.arena_used);
    json_integer(&json, "heap_peak", (int64_t)memory.heap_peak);
    json_integer(&json, "constant_bytes_copied", (int64_t)memory.constant_bytes);
    json_integer(&json, "naive_bytes", (int64_t)memory.naive_bytes);
    json_end(&json);
    json_object(&json, "time_ms");
    json_number(&json, "load", s->load_ms);
    json_number(&json, "best", s->best_ms);
    json_number(&json, "median", s->median_ms);
    json_end(&json);
    json_end(&json);
    json_finish(&json);
}

static int write_outputs(const session *s, const run_options *o, sdx_error *error) {
    if (mkdir(o->output, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "sardonyx: %s: cannot make the folder: %s\n", o->output, strerror(errno));
        return EXIT_BAD_INPUT;
    }
    for (size_t i = 0; i < s->info.output_count; i++) {
        const char *name;
        output_name(s, i, &name);
        const sdx_value *value = sdx_context_output_value(s->context, i);
        const sdx_tensor *tensor = sdx_value_tensor(value);
        bool pb = o->pb || !tensor;
        char *path = NULL;
        if (asprintf(&path, "%s/%s.%s", o->output, name, pb ? "pb" : "npy") < 0)
            return EXIT_BAD_INPUT;
        char *base = path + strlen(o->output) + 1, *dot = strrchr(base, '.');
        for (char *c = base; c < dot; c++)
            if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '_';
        if (base[0] == '.') base[0] = '_';
        sdx_status status = pb ? sdx_value_write_pb(path, value, name, error)
                               : sdx_value_write_npy(path, tensor, error);
        free(path);
        if (status != SDX_STATUS_OK) return report_error(error);
    }
    return EXIT_OK;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int execute(session *s, const run_options *o, sdx_error *error) {
    double *times = calloc(o->repeat, sizeof *times);
    if (!times) return EXIT_BAD_INPUT;
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < o->repeat; i++) {
        double start = now_ms();
        if (sdx_context_run(s->context, error) != SDX_STATUS_OK) code = report_error(error);
        times[i] = now_ms() - start;
    }
    qsort(times, o->repeat, sizeof *times, by_value);
    s->best_ms = times[0];
    s->median_ms = times[o->repeat / 2];
    free(times);
    return code;
}

static int run_model(session *s, const run_options *o) {
    sdx_error error;
    double start = now_ms();
    sdx_program_options program = {.struct_size = sizeof program, .optimize = o->optimize};
    sdx_context_options context = {.struct_size = sizeof context, .threads = o->threads,
                                   .seed = o->seed};
    if (sdx_model_load_file(o->model, NULL, &s->model, &error) != SDX_STATUS_OK ||
        sdx_program_create(s->model, &program, &s->program, &error) != SDX_STATUS_OK ||
        sdx_context_create(s->program, &context, &s->context, &error) != SDX_STATUS_OK)
        return report_error(&error);
    s->load_ms = now_ms() - start;
    s->info.struct_size = sizeof s->info;
    sdx_model_get_info(s->model, &s->info);
    if (!dims_check(&o->dims, s->model)) return EXIT_USAGE;
    int code = set_inputs(s, o, &error);
    if (code == EXIT_OK) code = execute(s, o, &error);
    if (code != EXIT_OK) return code;
    if (o->json) print_json(s);
    else print_text(s);
    return o->output ? write_outputs(s, o, &error) : EXIT_OK;
}

static int run(int argc, char **argv) {
    run_options o = {.optimize = 3, .repeat = 1};
    session s = {0};
    int code = parse(&o, argc, argv);
    if (code == EXIT_OK) code = run_model(&s, &o);
    sdx_context_release(s.context);
    sdx_program_release(s.program);
    sdx_model_release(s.model);
    for (size_t i = 0; i < o.input_count; i++) free(o.input_names[i]);
    free(o.input_names);
    free(o.input_files);
    dims_free(&o.dims);
    return code;
}

const command cmd_run = {"run", "run a model on inputs from files or a seed", help, run};
