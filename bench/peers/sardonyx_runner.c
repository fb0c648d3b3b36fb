/* sardonyx_runner.c - the runner of Sardonyx for bench/peers: a process that loads one model and
 * runs it when told to, through the public interface alone. protocol.py says what the commands are;
 * runners/ holds the same for the other engines. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "peak.h"
#include "sardonyx.h"

static const char usage[] =
    "usage: sardonyx_runner\n\n"
    "Reads commands from standard input, a line each with fields between tabs, and answers each\n"
    "with a line of JSON; bench/peers/run.py drives it.\n\n"
    "example: printf 'load\\tmodel.onnx\\t1\\nmemory\\nquit\\n' | sardonyx_runner\n";

enum { MAX_FIELDS = 16, MAX_SETS = 16, MAX_INPUTS = 16, EXIT_USAGE = 2 };

/* The inputs of one choice of sizes, by the key that commands call it by. */
typedef struct input_set {
    char key[32];
    sdx_tensor tensors[MAX_INPUTS];
    size_t indices[MAX_INPUTS]; /* of the model's inputs */
    size_t count;
} input_set;

typedef struct session {
    sdx_model *model;
    sdx_program *program;
    sdx_context *context;
    sdx_model_info info;
    input_set sets[MAX_SETS];
    size_t set_count;
} session;

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- answers ---------------------------------------------------------------------------------- */

static void put_json_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') printf("\\%c", c);
        else if (c < 32) printf("\\u%04x", c);
        else putchar(c);
    }
    putchar('"');
}

static void fail(const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    printf("{\"error\": ");
    put_json_text(message);
    printf("}\n");
}

/* "rss": resident now, "peak": resident at most, both in bytes, from /proc/self/status. */
static void put_memory(void) {
    long long rss = 0, peak = 0, kilobytes;
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "VmRSS: %lld", &kilobytes) == 1) rss = kilobytes * 1024;
        if (sscanf(line, "VmHWM: %lld", &kilobytes) == 1) peak = kilobytes * 1024;
    }
    if (file) fclose(file);
    printf("\"rss\": %lld, \"peak\": %lld", rss, peak);
}

/* ---- commands --------------------------------------------------------------------------------- */

static bool read_number(const char *text, long *number) {
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= 0;
}

/* Options after the model and the threads: optimize=N, winograd=0|1. */
static bool load_option(const char *text, sdx_program_options *program) {
    long number = 0;
    const char *value = strchr(text, '=');
    if (!value || !read_number(value + 1, &number)) return false;
    if (strncmp(text, "optimize=", 9) == 0) {
        program->optimize = (int)number;
        return true;
    }
    if (strncmp(text, "winograd=", 9) == 0) {
        program->kernels = number ? 0 : SDX_KERNELS_NO_WINOGRAD;
        return true;
    }
    return false;
}

static void do_load(session *s, char **fields, size_t count) {
    long threads = 0;
    if (count < 3 || !read_number(fields[2], &threads) || s->model) {
        fail("load: expected a model and a number of threads, once");
        return;
    }
    sdx_error error;
    sdx_error_clear(&error);
    sdx_program_options program = {.struct_size = sizeof program, .optimize = 3,
                                   .threads = (uint32_t)threads};
    sdx_context_options context = {.struct_size = sizeof context, .threads = (uint32_t)threads};
    for (size_t i = 3; i < count; i++)
        if (!load_option(fields[i], &program)) {
            fail("load: this library has no option '%s'", fields[i]);
            return;
        }
    long long start = now_ns();
    if (sdx_model_load_file(fields[1], NULL, &s->model, &error) != SDX_STATUS_OK ||
        sdx_program_create(s->model, &program, &s->program, &error) != SDX_STATUS_OK ||
        sdx_context_create(s->program, &context, &s->context, &error) != SDX_STATUS_OK) {
        fail("%s", error.message);
        return;
    }
    long long taken = now_ns() - start;
    s->info.struct_size = sizeof s->info;
    sdx_model_get_info(s->model, &s->info);
    printf("{\"ns\": %lld, ", taken);
    put_memory();
    printf("}\n");
}

static size_t find_input(const session *s, const char *name) {
    for (size_t i = 0; s->model && i < s->info.input_count; i++) {
        sdx_value_info info = {.struct_size = sizeof info};
        sdx_model_get_value(s->model, sdx_model_input(s->model, i), &info);
        if (strcmp(info.name, name) == 0) return i;
    }
    return SIZE_MAX;
}

static input_set *find_set(session *s, const char *key, bool make) {
    for (size_t i = 0; i < s->set_count; i++)
        if (strcmp(s->sets[i].key, key) == 0) return &s->sets[i];
    if (!make || s->set_count == MAX_SETS || strlen(key) >= sizeof s->sets->key) return NULL;
    input_set *set = &s->sets[s->set_count++];
    strcpy(set->key, key);
    return set;
}

static bool parse_tensor(const char *type, char *dims, sdx_tensor *tensor) {
    sdx_dtype dtype = SDX_DTYPE_UNDEFINED;
    for (int i = 1; i < SDX_DTYPE_COUNT; i++)
        if (strcmp(sdx_dtype_name((sdx_dtype)i), type) == 0) dtype = (sdx_dtype)i;
    int64_t sizes[SDX_MAX_RANK];
    int32_t rank = 0;
    for (char *at = strtok(dims, ","); at; at = strtok(NULL, ",")) {
        long size;
        if (rank == SDX_MAX_RANK || !read_number(at, &size)) return false;
        sizes[rank++] = size;
    }
    return sdx_tensor_init(tensor, dtype, rank, sizes, NULL, NULL) == SDX_STATUS_OK;
}

/* input KEY NAME TYPE DIMS FILE, the file holding the elements alone. */
static void do_input(session *s, char **fields, size_t count) {
    sdx_tensor tensor;
    size_t index = count == 6 ? find_input(s, fields[2]) : SIZE_MAX;
    input_set *set = index == SIZE_MAX ? NULL : find_set(s, fields[1], true);
    if (!set || set->count == MAX_INPUTS || !parse_tensor(fields[3], fields[4], &tensor)) {
        fail("input: bad arguments, or no such input");
        return;
    }
    size_t size = tensor.count * sdx_dtype_size(tensor.dtype);
    size_t rounded = (size + 64) / 64 * 64;
    FILE *file = fopen(fields[5], "rb");
    tensor.data = aligned_alloc(64, rounded);
    if (file) setvbuf(file, NULL, _IONBF, 0);
    if (!file || !tensor.data || fread(tensor.data, 1, size, file) != size) {
        free(tensor.data);
        fail("input: cannot read %zu bytes of %s", size, fields[5]);
    } else {
        set->tensors[set->count] = tensor;
        set->indices[set->count++] = index;
        printf("{\"bytes\": %zu}\n", size);
    }
    if (file) fclose(file);
}

static sdx_status run_once(session *s, const input_set *set, long long *taken, sdx_error *error) {
    long long start = now_ns();
    sdx_status status = SDX_STATUS_OK;
    for (size_t i = 0; status == SDX_STATUS_OK && i < set->count; i++)
        status = sdx_context_set_input(s->context, set->indices[i], &set->tensors[i], error);
    if (status == SDX_STATUS_OK) status = sdx_context_run(s->context, error);
    *taken = now_ns() - start;
    return status;
}

/* run KEY,KEY.. N: N times through the keys, in their order. */
static void do_run(session *s, char **fields, size_t count) {
    long times = 0;
    const input_set *sets[MAX_SETS];
    size_t set_count = 0;
    bool good = count == 3 && s->context && read_number(fields[2], &times) && times < 1 << 20;
    for (char *key = good ? strtok(fields[1], ",") : NULL; key; key = strtok(NULL, ",")) {
        const input_set *set = find_set(s, key, false);
        good = good && set && set_count < MAX_SETS;
        if (good) sets[set_count++] = set;
    }
    size_t total = good ? (size_t)times * set_count : 0;
    long long *taken = calloc(total + 1, sizeof *taken);
    if (!good || !taken) {
        fail("run: expected keys of inputs and a number of times, after load");
        free(taken);
        return;
    }
    sdx_error error;
    sdx_error_clear(&error);
    sdx_status status = SDX_STATUS_OK;
    for (size_t i = 0; status == SDX_STATUS_OK && i < total; i++)
        status = run_once(s, sets[i % set_count], &taken[i], &error);
    if (status != SDX_STATUS_OK) fail("%s", error.message);
    else {
        printf("{\"ns\": [");
        for (size_t i = 0; i < total; i++) printf("%s%lld", i ? ", " : "", taken[i]);
        printf("], ");
        put_memory();
        printf("}\n");
    }
    free(taken);
}

/* output FOLDER: the latest results as FOLDER/0.npy, FOLDER/1.npy … */
static void do_output(const session *s, char **fields, size_t count) {
    if (count != 2 || !s->context || !sdx_context_output(s->context, 0)) {
        fail("output: expected a folder, after a run");
        return;
    }
    mkdir(fields[1], 0777);
    for (size_t i = 0; i < s->info.output_count; i++) {
        char path[4096];
        sdx_error error;
        sdx_error_clear(&error);
        snprintf(path, sizeof path, "%s/%zu.npy", fields[1], i);
        const sdx_tensor *tensor = sdx_context_output(s->context, i);
        if (!tensor || sdx_value_write_npy(path, tensor, &error) != SDX_STATUS_OK) {
            fail("output %zu: %s", i, tensor ? error.message : "not a tensor");
            return;
        }
    }
    printf("{\"count\": %zu}\n", s->info.output_count);
}

static void do_peak(void) {
    const char *name;
    double rate = bench_peak(0.01, &name);
    printf("{\"flops\": %.6g, \"isa\": \"%s\"}\n", rate, name);
}

/* Returns false where the session is to end. */
static bool obey(session *s, char *line) {
    char *fields[MAX_FIELDS];
    size_t count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && count < MAX_FIELDS;) {
        fields[count++] = at;
        at = strchr(at, '\t');
        if (at) *at++ = '\0';
    }
    const char *command = fields[0];
    if (strcmp(command, "quit") == 0) return false;
    if (strcmp(command, "load") == 0) do_load(s, fields, count);
    else if (strcmp(command, "input") == 0) do_input(s, fields, count);
    else if (strcmp(command, "run") == 0) do_run(s, fields, count);
    else if (strcmp(command, "output") == 0) do_output(s, fields, count);
    else if (strcmp(command, "peak") == 0) do_peak();
    else if (strcmp(command, "memory") == 0) {
        printf("{");
        put_memory();
        printf("}\n");
    } else fail("no command '%s'", command);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        bool help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
        fputs(usage, help ? stdout : stderr);
        return help ? 0 : EXIT_USAGE;
    }
    static session s;
    char *line = NULL;
    size_t capacity = 0;
    printf("{\"engine\": \"sardonyx\", \"version\": ");
    put_json_text(sdx_version());
    printf(", ");
    put_memory();
    printf("}\n");
    fflush(stdout);
    while (getline(&line, &capacity, stdin) > 0 && obey(&s, line)) {
    }
    free(line);
    sdx_context_release(s.context);
    sdx_program_release(s.program);
    sdx_model_release(s.model);
    for (size_t i = 0; i < s.set_count; i++)
        for (size_t k = 0; k < s.sets[i].count; k++) free(s.sets[i].tensors[k].data);
    return 0;
}
