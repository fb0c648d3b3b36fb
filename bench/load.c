/* load.c - the benchmark bench_load: time and private memory of loading and inspecting a model, and
 * whether the time grows with the number of nodes no faster than it should. Uses the public
 * interface only. Times are the best and the median of many runs in one process, with the file in
 * the page cache; memory is that of one load in a process of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sardonyx.h"

static const char usage[] =
    "usage: bench_load MODEL.. [--runs N] [--max-ms T] [--max-mb M]\n"
    "       bench_load --linear MODEL MODEL.. [--runs N] [--max-ratio R]\n\n"
    "Loads each model and reads every node and value of it, N times (default 50).\n"
    "best, median  time of a run in milliseconds\n"
    "private       growth of private memory (dirty pages) in MB while the model is open\n"
    "peak          the most that was allocated at once in MB\n"
    "Exit code 1 if a best time passes T or a memory figure M. With --linear, processor time per\n"
    "node of each model; exit code 1 if the slowest takes more than R times the fastest (default\n"
    "1.5). Processor time, because a longer run meets more of what else a machine is doing.\n\n"
    "example: bench_load build/models/resnet101.onnx --max-ms 5 --max-mb 4\n";

enum { EXIT_TARGET = 1, EXIT_USAGE = 2, EXIT_BAD = 3 };

typedef struct settings {
    const char **models;
    size_t count;
    long runs;
    double max_ms, max_mb, max_ratio; /* 0: no target */
    bool linear;
} settings;

typedef struct memory_use {
    double private_mb, peak_mb;
} memory_use;

static double clock_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- one load --------------------------------------------------------------------------------- */

/* What `inspect --nodes --values` reads; returns a sum so that nothing can be left out. */
static size_t inspect(const sdx_model *model, size_t *nodes) {
    sdx_model_info info = {.struct_size = sizeof info};
    sdx_model_get_info(model, &info);
    size_t sum = info.constant_count;
    char type[256];
    for (size_t i = 0; i < info.node_count; i++) {
        sdx_node_info node = {.struct_size = sizeof node};
        sdx_model_get_node(model, i, &node);
        sum += strlen(node.op) + node.input_count;
    }
    for (size_t i = 0; i < info.value_count; i++) {
        sdx_value_info value = {.struct_size = sizeof value};
        sdx_model_get_value(model, i, &value);
        sum += sdx_model_type_text(model, i, type, sizeof type);
    }
    *nodes = info.node_count;
    return sum;
}

static bool load(const char *path, const sdx_allocator *allocator, sdx_model **model) {
    sdx_error error;
    sdx_load_options options = {.struct_size = sizeof options,
                                .flags = SDX_LOAD_KEEP_UNSUPPORTED,
                                .allocator = allocator};
    if (sdx_model_load_file(path, &options, model, &error) == SDX_STATUS_OK) return true;
    fprintf(stderr, "bench_load: %s\n", error.message);
    return false;
}

static volatile size_t kept; /* so that the compiler keeps the work */

static bool time_once(const char *path, clockid_t clock, double *ms, size_t *nodes) {
    sdx_model *model;
    double start = clock_ms(clock);
    if (!load(path, NULL, &model)) return false;
    kept += inspect(model, nodes);
    *ms = clock_ms(clock) - start;
    sdx_model_release(model);
    return true;
}

/* ---- memory ------------------------------------------------------------------------------------ */

typedef struct counter {
    size_t used, peak;
} counter;

static void *count_allocate(void *user, size_t size, size_t alignment) {
    counter *c = user;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, size) != 0) return NULL;
    c->used += size;
    if (c->used > c->peak) c->peak = c->used;
    return memory;
}

static void count_release(void *user, void *memory, size_t size) {
    ((counter *)user)->used -= size;
    free(memory);
}

/* Dirty pages that no other process shares, in kB: heap and stack, not the mapped file. */
static long private_kb(void) {
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kb = -1;
    while (file && kb < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Dirty: %ld", &kb) != 1) kb = -1;
    if (file) fclose(file);
    return kb;
}

/* In the child: nothing of an earlier load lies in the heap that could be used again. */
static bool use_memory(const char *path, memory_use *use) {
    counter c = {0};
    sdx_allocator allocator = {&c, count_allocate, count_release};
    sdx_model *model;
    size_t nodes;
    private_kb(); /* the buffers of stdio are there from now on */
    long before = private_kb();
    if (!load(path, &allocator, &model)) return false;
    kept += inspect(model, &nodes);
    long after = private_kb();
    use->private_mb = before < 0 || after < before ? -1 : (double)(after - before) * 1024e-6;
    use->peak_mb = (double)c.peak * 1e-6;
    sdx_model_release(model);
    return true;
}

static bool measure_memory(const char *path, memory_use *use) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
        bool good = use_memory(path, use) && write(ends[1], use, sizeof *use) == sizeof *use;
        _exit(good ? 0 : 1);
    }
    close(ends[1]);
    bool good = read(ends[0], use, sizeof *use) == sizeof *use;
    close(ends[0]);
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
           good;
}

/* ---- reports ----------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How often each sample loads model i. To compare times per node, all samples load about as many
 * nodes: a short one would find an undisturbed moment of the machine far more often. */
static size_t batch_size(const settings *s, const size_t *nodes, size_t i) {
    size_t largest = 1;
    for (size_t k = 0; s->linear && k < s->count; k++)
        if (nodes[k] > largest) largest = nodes[k];
    return nodes[i] && largest > nodes[i] ? largest / nodes[i] : 1;
}

/* Rounds over all models, so that a busy spell hits all alike; the first one warms up. */
static bool time_all(const settings *s, double *times, size_t *nodes) {
    clockid_t clock = s->linear ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    for (long run = -1; run < s->runs; run++)
        for (size_t i = 0; i < s->count; i++) {
            size_t batch = run < 0 ? 1 : batch_size(s, nodes, i);
            double ms, sum = 0;
            for (size_t k = 0; k < batch; k++, sum += ms)
                if (!time_once(s->models[i], clock, &ms, &nodes[i])) return false;
            if (run >= 0) times[i * (size_t)s->runs + (size_t)run] = sum / (double)batch;
        }
    for (size_t i = 0; i < s->count; i++)
        qsort(times + i * (size_t)s->runs, (size_t)s->runs, sizeof *times, by_value);
    return true;
}

static void print_verdict(const char *what, double value, double target, const char *unit) {
    printf("%s %.3g %s, target %.3g %s: %s\n", what, value, unit, target, unit,
           value <= target ? "met" : "MISSED");
}

static int report(const settings *s, const double *times, const size_t *nodes) {
    double slowest = 0, largest = 0;
    printf("%9s %9s %9s %9s %9s  %s\n", "nodes", "best ms", "median ms", "private", "peak MB",
           "model");
    for (size_t i = 0; i < s->count; i++) {
        const double *own = times + i * (size_t)s->runs;
        memory_use use;
        if (!measure_memory(s->models[i], &use)) return EXIT_BAD;
        printf("%9zu %9.3f %9.3f %9.3f %9.3f  %s\n", nodes[i], own[0], own[s->runs / 2],
               use.private_mb, use.peak_mb, s->models[i]);
        if (own[0] > slowest) slowest = own[0];
        if (use.private_mb > largest) largest = use.private_mb;
        if (use.peak_mb > largest) largest = use.peak_mb;
    }
    if (s->max_ms > 0) print_verdict("load time", slowest, s->max_ms, "ms");
    if (s->max_mb > 0) print_verdict("memory", largest, s->max_mb, "MB");
    bool missed = (s->max_ms > 0 && slowest > s->max_ms) || (s->max_mb > 0 && largest > s->max_mb);
    return missed ? EXIT_TARGET : 0;
}

static int report_linear(const settings *s, const double *times, const size_t *nodes) {
    double fastest = 0, slowest = 0;
    printf("%9s %9s %9s %9s  %s\n", "nodes", "best ms", "median ms", "ns/node", "model");
    for (size_t i = 0; i < s->count; i++) {
        const double *own = times + i * (size_t)s->runs;
        double each = nodes[i] ? own[0] * 1e6 / (double)nodes[i] : 0;
        printf("%9zu %9.3f %9.3f %9.1f  %s\n", nodes[i], own[0], own[s->runs / 2], each,
               s->models[i]);
        if (i == 0 || each < fastest) fastest = each;
        if (each > slowest) slowest = each;
    }
    double ratio = fastest > 0 ? slowest / fastest : 0;
    print_verdict("time per node, slowest to fastest", ratio, s->max_ratio, "times");
    return ratio > 0 && ratio <= s->max_ratio ? 0 : EXIT_TARGET;
}

/* ---- options ----------------------------------------------------------------------------------- */

static bool read_number(const char *name, const char *value, double low, double *out) {
    char *end = NULL;
    if (value) *out = strtod(value, &end);
    if (value && end != value && *end == 0 && *out >= low && *out <= 1e9) return true;
    fprintf(stderr, "bench_load: %s needs a number from %g up\n", name, low);
    return false;
}

static bool parse(settings *s, int argc, char **argv) {
    double runs = 50;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        double *to = strcmp(name, "--runs") == 0        ? &runs
                     : strcmp(name, "--max-ms") == 0    ? &s->max_ms
                     : strcmp(name, "--max-mb") == 0    ? &s->max_mb
                     : strcmp(name, "--max-ratio") == 0 ? &s->max_ratio
                                                        : NULL;
        if (to) {
            const char *value = i + 1 < argc ? argv[++i] : NULL;
            if (!read_number(name, value, to == &runs ? 1 : 0, to)) return false;
        } else if (strcmp(name, "--linear") == 0) {
            s->linear = true;
        } else if (name[0] == '-') {
            fprintf(stderr, "bench_load: unknown option '%s'\n", name);
            return false;
        } else {
            s->models[s->count++] = name;
        }
    }
    s->runs = (long)runs;
    if (s->count > (s->linear ? 1 : 0)) return true;
    fprintf(stderr, "bench_load: %s\n",
            s->linear ? "--linear compares two models or more" : "no model given");
    return false;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    settings s = {.max_ratio = 1.5, .models = calloc((size_t)argc, sizeof *s.models)};
    int code = EXIT_USAGE;
    if (s.models && parse(&s, argc, argv)) {
        double *times = calloc(s.count * (size_t)s.runs, sizeof *times);
        size_t *nodes = calloc(s.count, sizeof *nodes);
        code = EXIT_BAD;
        if (times && nodes && time_all(&s, times, nodes))
            code = s.linear ? report_linear(&s, times, nodes) : report(&s, times, nodes);
        free(times);
        free(nodes);
    }
    free(s.models);
    return code;
}
