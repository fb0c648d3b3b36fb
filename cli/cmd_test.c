/* cmd_test.c - `sardonyx test`: runs folders in the layout of ONNX's backend tests. A folder with a
 * model.onnx is a case; each test_data_set_N in it holds input_K.pb and output_K.pb. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static const char help[] =
    "usage: sardonyx test DIR.. [--rtol R] [--atol A] [--threads N] [--optimize 0|1|2|3]\n"
    "                     [--filter TEXT] [--packed] [--quiet]\n\n"
    "Runs ONNX backend tests, found recursively: a case is a folder with model.onnx or model.sdx\n"
    "and folders test_data_set_N of input_K.pb and output_K.pb. A file tolerance.txt in the case, with\n"
    "lines `rtol R` and `atol A`, sets its tolerances; without it those of the options hold. A line\n"
    "`random` in it says that the model draws its outputs: type and shape are compared then.\n\n"
    "The data sets of a case go through one context in order, then again in reverse: the second\n"
    "time, outputs must have the same bits as the first time.\n\n"
    "  --rtol R       relative tolerance (default 0.001)\n"
    "  --atol A       absolute tolerance (default 1e-7)\n"
    "  --threads N    threads (default: as many as the process may use)\n"
    "  --optimize L   optimisation level (default 3)\n"
    "  --filter TEXT  only cases whose path contains TEXT\n"
    "  --packed       write each model to a packed file and run what is read back\n"
    "  --quiet        do not print the cases that pass\n\n"
    "The last line is `N passed, N failed, N skipped`; a case whose operators are not supported\n"
    "is skipped, with the reason. Exit code 1 if any failed or no case was found.\n\n"
    "example: sardonyx test onnx/backend/test/data/node --quiet\n";

#define MAX_DEPTH 16 /* of folders below those named */

typedef struct totals {
    size_t passed, failed, skipped;
    tolerance tol;
    int64_t threads, optimize;
    bool quiet, packed;
    const char *filter;
} totals;

typedef struct test_case {
    const char *folder;
    tolerance tol;
    uint32_t threads;
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    sdx_model_info info;
    uint64_t *prints; /* of each data set's outputs in the first round */
    size_t set_count, set; /* set: the one that runs, or set_count */
    bool again;            /* in the second round */
    char message[1200]; /* why it failed, where no sdx_error says so */
} test_case;

static bool exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static char *join(const char *folder, const char *name) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static bool fail(test_case *t, const char *format, ...) CLI_PRINTF(2);
static bool fail(test_case *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(t->message, sizeof t->message, format, args);
    va_end(args);
    return false;
}

/* ---- one case ------------------------------------------------------------------------------ */

static bool read_tolerances(test_case *t) {
    char *path = join(t->folder, "tolerance.txt");
    if (!path) return fail(t, "out of memory");
    FILE *file = fopen(path, "r");
    int reason = errno;
    free(path);
    if (!file) return reason == ENOENT || fail(t, "tolerance.txt: %s", strerror(reason));
    char line[128], word[16];
    bool good = true;
    while (good && fgets(line, sizeof line, file)) {
        double value;
        if (line[strspn(line, " \t\r\n")] == 0) continue;
        if (strcmp(line, "random\n") == 0) {
            t->tol.shape_only = true;
            continue;
        }
        good = sscanf(line, "%15s %lf", word, &value) == 2 && isfinite(value) && value >= 0;
        if (good && strcmp(word, "rtol") == 0) t->tol.rtol = value;
        else if (good && strcmp(word, "atol") == 0) t->tol.atol = value;
        else good = fail(t, "tolerance.txt: expected `rtol R`, `atol A` or `random`");
    }
    fclose(file);
    return good;
}

/* The model of a case, *path NULL where the folder is none; false: out of memory. */
static bool model_path(const char *folder, char **path) {
    static const char *const names[] = {"model.onnx", "model.sdx"};
    for (size_t i = 0; i < 2; i++) {
        *path = join(folder, names[i]);
        if (!*path) return false;
        if (exists(*path)) return true;
        free(*path);
    }
    *path = NULL;
    return true;
}

/* Puts the model that comes back from a packed file in the place of the one given. */
static bool pack_model(test_case *t, const sdx_program_options *program,
                       const sdx_load_options *load, sdx_error *error) {
    const char *folder = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/sardonyx-test-XXXXXX", folder && folder[0] ? folder : "/tmp");
    hold_interrupts(true);
    int taken = mkstemp(path);
    if (taken < 0) {
        hold_interrupts(false);
        return fail(t, "no temporary file: %s", strerror(errno));
    }
    close(taken);
    sdx_load_options verify = *load;
    verify.flags |= SDX_LOAD_VERIFY;
    sdx_model *packed = NULL;
    bool good = sdx_model_pack_file(t->model, program, NULL, path, error) == SDX_STATUS_OK &&
                sdx_model_load_file(path, &verify, &packed, error) == SDX_STATUS_OK;
    unlink(path);
    hold_interrupts(false);
    if (!good) return false;
    sdx_model_release(t->model);
    t->model = packed;
    return true;
}

static bool open_model(test_case *t, int optimize, bool packed, sdx_error *error) {
    char *path;
    if (!model_path(t->folder, &path)) return fail(t, "out of memory");
    if (!path) return fail(t, "the model is gone");
    sdx_load_options load = {.struct_size = sizeof load, .flags = load_flags_given(),
                             .limits = limits_given()};
    sdx_program_options program = {.struct_size = sizeof program, .optimize = optimize};
    bool good = sdx_model_load_file(path, &load, &t->model, error) == SDX_STATUS_OK &&
                (!packed || pack_model(t, &program, &load, error)) &&
                sdx_program_create(t->model, &program, &t->program, error) == SDX_STATUS_OK;
    free(path);
    t->info.struct_size = sizeof t->info;
    if (good) sdx_model_get_info(t->model, &t->info);
    return good;
}

typedef enum side { INPUT, OUTPUT } side;
static const char *const side_names[] = {"input", "output"};

/* DATA/input_0.pb and so on */
static char *file_path(const char *data, side which, size_t index) {
    char *path = NULL;
    return asprintf(&path, "%s/%s_%zu.pb", data, side_names[which], index) < 0 ? NULL : path;
}

/* *value stays NULL where there is no such file. */
static bool read_value(test_case *t, const char *data, side which, size_t index, sdx_value **value,
                       sdx_error *error) {
    *value = NULL;
    char *path = file_path(data, which, index);
    if (!path) return fail(t, "out of memory");
    bool good = true;
    if (exists(path)) {
        sdx_value_info info = {.struct_size = sizeof info};
        sdx_model_get_value(t->model,
                            which == INPUT ? sdx_model_input(t->model, index)
                                           : sdx_model_output(t->model, index),
                            &info);
        sdx_kind kind = info.kind == SDX_KIND_NONE ? SDX_KIND_TENSOR : info.kind;
        good = sdx_value_read_pb(path, kind, NULL, value, error) == SDX_STATUS_OK;
    }
    free(path);
    return good;
}

/* A file beyond what the model has would go unnoticed. */
static bool no_file_beyond(test_case *t, const char *data, side which, size_t count) {
    char *path = file_path(data, which, count);
    if (!path) return fail(t, "out of memory");
    bool good = !exists(path) || fail(t, "there is %s_%zu.pb, the model has %zu %ss",
                                      side_names[which], count, count, side_names[which]);
    free(path);
    return good;
}

/* The context that the last data set ran in, or a new one where this set leaves an input out: it
 * must not keep the last set's value. */
static bool ready_context(test_case *t, const char *data, sdx_error *error) {
    bool whole = true;
    for (size_t i = 0; i < t->info.input_count && whole; i++) {
        char *path = file_path(data, INPUT, i);
        if (!path) return fail(t, "out of memory");
        whole = exists(path);
        free(path);
    }
    if (t->context && whole) return true;
    sdx_context_release(t->context);
    t->context = NULL;
    sdx_context_options options = {.struct_size = sizeof options, .threads = t->threads};
    return sdx_context_create(t->program, &options, &t->context, error) == SDX_STATUS_OK;
}

static bool set_inputs(test_case *t, const char *data, sdx_error *error) {
    for (size_t i = 0; i < t->info.input_count; i++) {
        sdx_value *value;
        if (!read_value(t, data, INPUT, i, &value, error)) return false;
        if (!value) continue; /* may have a default; if not, the run says so */
        sdx_status status = sdx_context_set_input_value(t->context, i, value, error);
        sdx_value_release(value);
        if (status != SDX_STATUS_OK) return false;
    }
    return no_file_beyond(t, data, INPUT, t->info.input_count);
}

static bool check_outputs(test_case *t, const char *data, sdx_error *error) {
    for (size_t i = 0; i < t->info.output_count; i++) {
        sdx_value *want;
        if (!read_value(t, data, OUTPUT, i, &want, error)) return false;
        if (!want) return fail(t, "output_%zu.pb is missing", i);
        char difference[600];
        bool good = values_close(sdx_context_output_value(t->context, i), want, &t->tol,
                                 difference, sizeof difference);
        sdx_value_release(want);
        if (!good) return fail(t, "output %zu: %s", i, difference);
    }
    return no_file_beyond(t, data, OUTPUT, t->info.output_count);
}

/* The plan is the truth: a run touches the arena up to the byte that was foretold, no more, no less. */
static bool check_memory(test_case *t) {
    sdx_memory_info info = {.struct_size = sizeof info};
    sdx_context_get_memory(t->context, &info);
    if (info.arena_used == info.arena_bytes) return true;
    return fail(t, "the run used %zu bytes of the arena, planned were %zu", info.arena_used,
                info.arena_bytes);
}

static bool run_data_set(test_case *t, const char *data, sdx_error *error) {
    bool good = ready_context(t, data, error) && set_inputs(t, data, error) &&
                sdx_context_run(t->context, error) == SDX_STATUS_OK &&
                check_outputs(t, data, error) && check_memory(t);
    uint64_t print = 0;
    for (size_t i = 0; good && i < t->info.output_count; i++)
        print = value_print(sdx_context_output_value(t->context, i), print);
    if (!t->again) t->prints[t->set] = print;
    else if (good && print != t->prints[t->set])
        return fail(t, "the outputs have not the same bits as the first time");
    return good;
}

/* "FOLDER/test_data_set_3" */
static char *set_path(const test_case *t, size_t set) {
    char *path = NULL;
    return asprintf(&path, "%s/test_data_set_%zu", t->folder, set) < 0 ? NULL : path;
}

static bool count_data_sets(test_case *t) {
    for (bool there = true; there; t->set_count += there) {
        char *data = set_path(t, t->set_count);
        if (!data) return fail(t, "out of memory");
        there = is_folder(data);
        free(data);
    }
    t->set = t->set_count;
    return t->set_count > 0 || fail(t, "there is no test_data_set_0");
}

/* All data sets in one direction. The first set of a round is the last of the one before, so that a
 * run with the shapes of the last one is tried as well as runs with others. */
static bool run_round(test_case *t, sdx_error *error) {
    for (size_t i = 0; i < t->set_count; i++) {
        t->set = t->again ? t->set_count - 1 - i : i;
        char *data = set_path(t, t->set);
        if (!data) return fail(t, "out of memory");
        bool good = run_data_set(t, data, error);
        free(data);
        if (!good) return false;
    }
    t->set = t->set_count;
    return true;
}

static bool run_data_sets(test_case *t, sdx_error *error) {
    if (!count_data_sets(t)) return false;
    t->prints = calloc(t->set_count, sizeof *t->prints);
    if (!t->prints) return fail(t, "out of memory");
    if (!run_round(t, error)) return false;
    if (t->tol.shape_only) return true; /* what is drawn at random is not drawn again */
    t->again = true;
    return run_round(t, error);
}

static void print_case(const char *verdict, const test_case *t, const char *reason) {
    printf("%s ", verdict);
    put_safe(stdout, t->folder);
    if (reason) fputs(": ", stdout);
    if (reason && t->set < t->set_count)
        printf("test_data_set_%zu%s: ", t->set, t->again ? ", run again" : "");
    if (reason) put_safe(stdout, reason);
    putchar('\n');
    fflush(stdout); /* should the next case crash, this one is known to be over */
}

static void run_case(const char *folder, totals *sum) {
    if (sum->filter && !strstr(folder, sum->filter)) return;
    test_case t = {.folder = folder, .tol = sum->tol,
                   .threads = (uint32_t)sum->threads};
    sdx_error error;
    sdx_error_clear(&error);
    bool good = read_tolerances(&t) && open_model(&t, (int)sum->optimize, sum->packed, &error) &&
                run_data_sets(&t, &error);
    const char *reason = t.message[0] ? t.message : error.message;
    size_t length = strlen(folder); /* the folder stands before the reason; not in it again */
    if (strncmp(reason, folder, length) == 0 && reason[length] == '/') reason += length + 1;
    if (good) {
        sum->passed++;
        if (!sum->quiet) print_case("pass", &t, NULL);
    } else if (!t.message[0] && error.code == SDX_STATUS_UNSUPPORTED) {
        sum->skipped++;
        print_case("skip", &t, reason);
    } else {
        sum->failed++;
        print_case("FAIL", &t, reason);
    }
    free(t.prints);
    sdx_context_release(t.context);
    sdx_program_release(t.program);
    sdx_model_release(t.model);
}

/* ---- all cases ----------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct name_list {
    char **items;
    size_t count;
} name_list;

/* Entries in order of their names, so that output is the same everywhere. Returns an exit code, as the two below. */
static int read_folder(const char *folder, name_list *names) {
    DIR *dir = opendir(folder);
    if (!dir) {
        complain("%s: cannot read the folder: %s", folder, strerror(errno));
        return EXIT_BAD_INPUT;
    }
    bool good = true;
    for (struct dirent *entry; good && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char **more = realloc(names->items, (names->count + 1) * sizeof *more);
        if (more) names->items = more;
        char *name = more ? strdup(entry->d_name) : NULL;
        good = name != NULL;
        if (good) names->items[names->count++] = name;
    }
    closedir(dir);
    if (names->count) qsort(names->items, names->count, sizeof *names->items, by_name);
    return good ? EXIT_OK : out_of_memory();
}

static int walk(const char *folder, totals *sum, int depth) {
    char *model;
    if (!model_path(folder, &model)) return out_of_memory();
    free(model);
    if (model) {
        run_case(folder, sum);
        return EXIT_OK;
    }
    name_list names = {0};
    int code = depth > 0 ? read_folder(folder, &names) : EXIT_OK;
    for (size_t i = 0; i < names.count; i++) {
        char *path = code == EXIT_OK ? join(folder, names.items[i]) : NULL;
        if (code == EXIT_OK && !path) code = out_of_memory();
        if (path && is_folder(path)) code = walk(path, sum, depth - 1);
        free(path);
        free(names.items[i]);
    }
    free(names.items);
    return code;
}

static int run_folders(const text_list *folders, totals *sum) {
    if (folders->count == 0) return usage_error(&cmd_test, "no folder given");
    for (size_t i = 0; i < folders->count; i++) {
        if (!is_folder(folders->items[i])) {
            complain("%s: no such folder", folders->items[i]);
            return EXIT_BAD_INPUT;
        }
        int code = walk(folders->items[i], sum, MAX_DEPTH);
        if (code != EXIT_OK) return code;
    }
    printf("%zu passed, %zu failed, %zu skipped\n", sum->passed, sum->failed, sum->skipped);
    return sum->failed || sum->passed + sum->skipped == 0 ? EXIT_NO : EXIT_OK;
}

static int run(int argc, char **argv) {
    totals sum = {.tol = {.rtol = 1e-3, .atol = 1e-7}, .optimize = 3};
    text_list folders = {0};
    const option options[] = {
        {.name = "--rtol", .kind = OPTION_NUMBER, .to = &sum.tol.rtol},
        {.name = "--atol", .kind = OPTION_NUMBER, .to = &sum.tol.atol},
        {.name = "--threads", .kind = OPTION_INTEGER, .to = &sum.threads, .low = 1, .high = 1024},
        {.name = "--optimize", .kind = OPTION_INTEGER, .to = &sum.optimize, .low = 0, .high = 3},
        {.name = "--filter", .kind = OPTION_TEXT, .to = &sum.filter},
        {.name = "--packed", .kind = OPTION_FLAG, .to = &sum.packed},
        {.name = "--quiet", .kind = OPTION_FLAG, .to = &sum.quiet},
    };
    int code = EXIT_USAGE;
    if (parse_arguments(&cmd_test, argc, argv, options, sizeof options / sizeof *options,
                        &folders))
        code = run_folders(&folders, &sum);
    text_list_free(&folders);
    return code;
}

const command cmd_test = {"test", "run ONNX backend test folders", help, run, true};
