/* cmd_test.c - `sardonyx test`: runs folders in the layout of ONNX's backend tests. A folder with a
 * model.onnx is a case; each test_data_set_N in it holds input_K.pb and output_K.pb. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

static const char help[] =
    "usage: sardonyx test DIR.. [--rtol R] [--atol A] [--threads N] [--optimize 0|1|2|3]\n"
    "                     [--quiet] [--filter TEXT]\n\n"
    "Runs ONNX backend tests, found recursively: a case is a folder with model.onnx and folders\n"
    "test_data_set_N of input_K.pb and output_K.pb. A file tolerance.txt in the case, with lines\n"
    "`rtol R` and `atol A`, sets its tolerances; without it those of the options hold.\n\n"
    "  --rtol R       relative tolerance (default 0.001)\n"
    "  --atol A       absolute tolerance (default 1e-7)\n"
    "  --threads N    threads (default: as many as the process may use)\n"
    "  --optimize L   optimisation level (default 3)\n"
    "  --quiet        print failures and the summary only\n"
    "  --filter TEXT  only cases whose path contains TEXT\n\n"
    "The last line is `N passed, N failed, N skipped`; a case whose operators are not supported\n"
    "is skipped, with the reason. Exit code 1 if any failed or none ran.\n\n"
    "example: sardonyx test onnx/backend/test/data/node --quiet\n";

typedef struct totals {
    size_t passed, failed, skipped;
    double rtol, atol;
    uint32_t threads;
    int optimize;
    bool quiet;
    const char *filter;
} totals;

typedef struct test_case {
    const char *folder;
    double rtol, atol;
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    char message[1200];
} test_case;

static bool exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

static char *join(const char *folder, const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0) return NULL;
    return path;
}

static void read_tolerances(test_case *t) {
    char *path = join(t->folder, "tolerance.txt");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[128];
    while (file && fgets(line, sizeof line, file)) {
        double value;
        if (sscanf(line, "rtol %lf", &value) == 1) t->rtol = value;
        if (sscanf(line, "atol %lf", &value) == 1) t->atol = value;
    }
    if (file) fclose(file);
    free(path);
}

static sdx_kind value_kind(const sdx_model *model, uint32_t index) {
    sdx_value_info info = {.struct_size = sizeof info};
    if (sdx_model_get_value(model, index, &info) != SDX_STATUS_OK) return SDX_KIND_TENSOR;
    return info.kind == SDX_KIND_NONE ? SDX_KIND_TENSOR : info.kind;
}

static bool set_inputs(test_case *t, const char *data, size_t count, sdx_error *error) {
    for (size_t i = 0; i < count; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/input_%zu.pb", data, i) < 0) return false;
        if (!exists(path)) { /* an input that may be left out */
            free(path);
            continue;
        }
        sdx_value *value;
        sdx_kind kind = value_kind(t->model, sdx_model_input(t->model, i));
        sdx_status status = sdx_value_read_pb(path, kind, NULL, &value, error);
        free(path);
        if (status != SDX_STATUS_OK) return false;
        status = sdx_context_set_input_value(t->context, i, value, error);
        sdx_value_release(value);
        if (status != SDX_STATUS_OK) return false;
    }
    return true;
}

static bool check_outputs(test_case *t, const char *data, size_t count, sdx_error *error) {
    size_t compared = 0;
    for (size_t i = 0; i < count; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s/output_%zu.pb", data, i) < 0) return false;
        if (!exists(path)) {
            free(path);
            continue;
        }
        sdx_value *want;
        sdx_kind kind = value_kind(t->model, sdx_model_output(t->model, i));
        sdx_status status = sdx_value_read_pb(path, kind, NULL, &want, error);
        free(path);
        if (status != SDX_STATUS_OK) return false;
        char difference[600];
        bool good = values_close(sdx_context_output_value(t->context, i), want, t->rtol, t->atol,
                                 difference, sizeof difference);
        sdx_value_release(want);
        compared++;
        if (good) continue;
        snprintf(t->message, sizeof t->message, "output %zu: %s", i, difference);
        return false;
    }
    if (compared == 0) snprintf(t->message, sizeof t->message, "%s has no outputs", data);
    return compared > 0;
}

static bool run_data_sets(test_case *t, sdx_error *error) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(t->model, &info);
    size_t sets = 0;
    for (;; sets++) {
        char *data = NULL;
        if (asprintf(&data, "%s/test_data_set_%zu", t->folder, sets) < 0) return false;
        if (!exists(data)) {
            free(data);
            break;
        }
        bool good = set_inputs(t, data, info.input_count, error) &&
                    sdx_context_run(t->context, error) == SDX_STATUS_OK &&
                    check_outputs(t, data, info.output_count, error);
        free(data);
        if (!good) return false;
    }
    if (sets == 0) snprintf(t->message, sizeof t->message, "no test_data_set_0");
    return sets > 0;
}

static bool prepare(test_case *t, const totals *sum, sdx_error *error) {
    char *path = join(t->folder, "model.onnx");
    if (!path) return false;
    sdx_program_options program = {.struct_size = sizeof program, .optimize = sum->optimize};
    sdx_context_options context = {.struct_size = sizeof context, .threads = sum->threads};
    bool good = sdx_model_load_file(path, NULL, &t->model, error) == SDX_STATUS_OK &&
                sdx_program_create(t->model, &program, &t->program, error) == SDX_STATUS_OK &&
                sdx_context_create(t->program, &context, &t->context, error) == SDX_STATUS_OK;
    free(path);
    return good;
}

static void run_case(const char *folder, totals *sum) {
    if (sum->filter && !strstr(folder, sum->filter)) return;
    test_case t = {.folder = folder, .rtol = sum->rtol, .atol = sum->atol};
    read_tolerances(&t);
    sdx_error error;
    sdx_error_clear(&error);
    bool good = prepare(&t, sum, &error) && run_data_sets(&t, &error);
    bool skipped = !good && !t.message[0] && error.code == SDX_STATUS_UNSUPPORTED;
    const char *reason = t.message[0] ? t.message : error.message;
    if (good) sum->passed++;
    else if (skipped) sum->skipped++;
    else sum->failed++;
    if (good && !sum->quiet) printf("pass %s\n", folder);
    else if (skipped) printf("skip %s: %s\n", folder, reason);
    else if (!good) printf("FAIL %s: %s\n", folder, reason);
    sdx_context_release(t.context);
    sdx_program_release(t.program);
    sdx_model_release(t.model);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Entries in order of their names, so that output is the same everywhere. */
static void walk(const char *folder, totals *sum, int depth) {
    char *model = join(folder, "model.onnx");
    bool is_case = model && exists(model);
    free(model);
    if (is_case) {
        run_case(folder, sum);
        return;
    }
    DIR *dir = depth ? opendir(folder) : NULL;
    char **names = NULL;
    size_t count = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char **more = realloc(names, (count + 1) * sizeof *names);
        if (!more) break;
        names = more;
        names[count] = strdup(entry->d_name);
        if (names[count]) count++;
    }
    if (dir) closedir(dir);
    if (count) qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        char *path = join(folder, names[i]);
        struct stat info;
        if (path && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) walk(path, sum, depth - 1);
        free(path);
        free(names[i]);
    }
    free(names);
}

static bool read_tolerance(arguments *args, double *out) {
    const char *text = option_value(args);
    char *end;
    if (!text) return false;
    *out = strtod(text, &end);
    if (end != text && *end == 0 && *out >= 0) return true;
    usage_error(args, "%s is '%s', expected a number from 0 up", args->option, text);
    return false;
}

#define MAX_DEPTH 16 /* of folders below those named */

static int run(int argc, char **argv) {
    totals sum = {.rtol = 1e-3, .atol = 1e-7, .optimize = 3};
    const char **folders = calloc((size_t)argc, sizeof *folders);
    size_t count = 0;
    arguments args;
    const char *positional;
    int code = EXIT_OK;
    long long number;
    arguments_start(&args, argc, argv, &cmd_test);
    while (folders && code == EXIT_OK && arguments_next(&args, &positional)) {
        bool good = true;
        if (positional) folders[count++] = positional;
        else if (option_is(&args, "--rtol")) good = read_tolerance(&args, &sum.rtol);
        else if (option_is(&args, "--atol")) good = read_tolerance(&args, &sum.atol);
        else if (option_is(&args, "--quiet")) sum.quiet = true;
        else if (option_is(&args, "--filter")) good = (sum.filter = option_value(&args)) != NULL;
        else if (option_is(&args, "--threads")) {
            if ((good = option_integer(&args, 1, 1024, &number))) sum.threads = (uint32_t)number;
        } else if (option_is(&args, "--optimize")) {
            if ((good = option_integer(&args, 0, 3, &number))) sum.optimize = (int)number;
        } else code = usage_error(&args, "unknown option '%s'", args.option);
        if (!good) code = EXIT_USAGE;
    }
    if (code == EXIT_OK && count == 0) code = usage_error(&args, "no folder given");
    for (size_t i = 0; code == EXIT_OK && i < count; i++) {
        if (!exists(folders[i])) {
            fprintf(stderr, "sardonyx: %s: no such folder\n", folders[i]);
            code = EXIT_BAD_INPUT;
        } else {
            walk(folders[i], &sum, MAX_DEPTH);
        }
    }
    free(folders);
    if (code != EXIT_OK) return code;
    printf("%zu passed, %zu failed, %zu skipped\n", sum.passed, sum.failed, sum.skipped);
    return sum.failed || sum.passed + sum.skipped == 0 ? EXIT_NO : EXIT_OK;
}

const command cmd_test = {"test", "run ONNX backend test folders", help, run};
