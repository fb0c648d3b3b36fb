/* memory.c - the benchmark bench_memory: the plan of a model's memory beside its targets. Whether the
 * placement reaches the bound and how long it takes, whether the order of steps is proved, how far the
 * one plan for all sizes is from plans made for one size, and how long binding takes. Uses the public
 * interface only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sardonyx.h"

static const char usage[] =
    "usage: bench_memory [OPTION].. MODEL [NAME=N[,N..]].. [-- [OPTION].. MODEL ..]\n\n"
    "Sizes: the first of each list is planned for; the others are tried one list at a time.\n"
    "naive    MiB if each value had memory of its own\n"
    "bound    most that is live at once; no placement is smaller\n"
    "arena    MiB that a run takes for the first sizes; target: the bound\n"
    "place    milliseconds to place the buffers, by the strategy best; target: below 1 s\n"
    "order    'proved': no order of the steps needs less\n"
    "symbolic the largest excess of the one plan for all sizes over a plan made for one, in %;\n"
    "         target: at most 2\n"
    "bind     microseconds of processor time to bind new sizes; target: below 100 for each 300\n"
    "         buffers\n\n"
    "  --most MIB   the arena of the next model must be at most this\n"
    "  --orders N   at least so many orders must be proved\n"
    "  --optimize L optimisation level (default 3)\n"
    "  --untimed    times have no targets\n"
    "  --verbose    each size\n\n"
    "Exit code 1 if a target is missed.\n\n"
    "example: bench_memory resnet50.onnx batch=1,2,8,64 -- encoder.onnx batch=1 sequence=16,512\n";

enum { EXIT_TARGET = 1, EXIT_USAGE = 2, EXIT_BAD = 3 };
#define MOST_DIMS 8
#define MOST_SIZES 32

static bool verbose, untimed;
static int optimize = 3;
static int orders_proved;

typedef struct sizes {
    char name[128];
    int64_t values[MOST_SIZES];
    size_t count;
} sizes;

typedef struct job {
    const char *path;
    sizes dims[MOST_DIMS];
    size_t dim_count;
    double most; /* MiB; 0: no such target */
    sdx_model *model;
    sdx_program *program; /* for all sizes */
    sdx_error error;
} job;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool parse_sizes(const char *text, sizes *out) {
    const char *equals = strrchr(text, '=');
    if (!equals || (size_t)(equals - text) >= sizeof out->name) return false;
    memcpy(out->name, text, (size_t)(equals - text));
    out->name[equals - text] = 0;
    out->count = 0;
    for (const char *at = equals; *at && out->count < MOST_SIZES;) {
        char *end;
        out->values[out->count++] = strtoll(at + 1, &end, 10);
        if (end == at + 1 || (*end && *end != ',')) return false;
        at = end;
    }
    return out->count > 0;
}

/* The sizes with entry `which` of list `varied` in place of its first. */
static size_t bind(const job *j, size_t varied, size_t which, sdx_binding *out) {
    for (size_t i = 0; i < j->dim_count; i++)
        out[i] = (sdx_binding){j->dims[i].name, j->dims[i].values[i == varied ? which : 0]};
    return j->dim_count;
}

static sdx_program *make_program(job *j, const sdx_binding *fixed, size_t count) {
    sdx_program *program = NULL;
    sdx_program_options options = {.struct_size = sizeof options, .optimize = optimize, .fixed = fixed,
                                   .fixed_count = count};
    sdx_program_create(j->model, &options, &program, &j->error);
    return program;
}

/* Bytes of the arena at these sizes; 0 after an error. */
static size_t arena_of(job *j, const sdx_program *program, const sdx_binding *dims, size_t count,
                       double *bind_us, sdx_plan_problem **plan, size_t *naive) {
    sdx_context *context = NULL;
    sdx_context_options options = {.struct_size = sizeof options, .threads = 1};
    sdx_memory_info info = {.struct_size = sizeof info};
    if (sdx_context_create(program, &options, &context, &j->error) == SDX_STATUS_OK) {
        double best = 1e9;
        for (int i = 0; i < 20; i++) {
            double start = now();
            if (sdx_context_bind_dims(context, dims, count, &j->error) != SDX_STATUS_OK) break;
            double took = 1e6 * (now() - start);
            if (took < best) best = took;
        }
        if (bind_us) *bind_us = best;
        if (j->error.code == SDX_STATUS_OK) {
            sdx_context_get_memory(context, &info);
            if (naive) *naive = info.naive_bytes;
            if (plan) sdx_context_get_plan(context, plan, &j->error);
        }
    }
    sdx_context_release(context);
    return j->error.code == SDX_STATUS_OK ? info.arena_bytes : 0;
}

/* The largest excess over plans for one size, over all sizes given; -1 after an error. */
static double symbolic_excess(job *j) {
    double worst = 0;
    for (size_t d = 0; d < j->dim_count; d++)
        for (size_t v = 0; v < j->dims[d].count; v++) {
            sdx_binding dims[MOST_DIMS];
            size_t count = bind(j, d, v, dims);
            sdx_program *one = make_program(j, dims, count);
            if (!one) return -1;
            size_t least = arena_of(j, one, dims, count, NULL, NULL, NULL);
            size_t ours = arena_of(j, j->program, dims, count, NULL, NULL, NULL);
            sdx_program_release(one);
            if (j->error.code != SDX_STATUS_OK) return -1;
            double excess = least ? 100.0 * ((double)ours / (double)least - 1) : 0;
            if (verbose)
                printf("  %s=%lld: %.3f MiB, made for it %.3f, %+.2f %%\n", j->dims[d].name,
                       (long long)j->dims[d].values[v], (double)ours / 1048576,
                       (double)least / 1048576, excess);
            if (excess > worst) worst = excess;
        }
    return worst;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static double mib(uint64_t bytes) { return (double)bytes / 1048576; }

static int report(job *j) {
    sdx_binding dims[MOST_DIMS];
    size_t count = bind(j, 0, 0, dims);
    sdx_program *one = make_program(j, dims, count);
    sdx_plan_problem *plan = NULL;
    double bind_us = 0;
    size_t naive = 0;
    sdx_plan_result placed = {.struct_size = sizeof placed};
    sdx_program_order order = {.struct_size = sizeof order};
    size_t arena = one ? arena_of(j, one, dims, count, NULL, &plan, &naive) : 0;
    sdx_plan_options options = {.struct_size = sizeof options, .align = 64};
    if (plan) sdx_plan_problem_solve(plan, &options, &placed, &j->error);
    if (one) sdx_program_get_order(one, &order);
    size_t buffers = sdx_program_buffer_count(j->program);
    if (j->error.code == SDX_STATUS_OK)
        arena_of(j, j->program, dims, count, &bind_us, NULL, NULL);
    double excess = j->error.code == SDX_STATUS_OK ? symbolic_excess(j) : -1;
    sdx_plan_problem_release(plan);
    sdx_program_release(one);
    if (j->error.code != SDX_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", j->path, j->error.message);
        return EXIT_BAD;
    }
    bool quick = placed.seconds < 1 && bind_us < 100 * (buffers > 300 ? (double)buffers / 300 : 1);
    bool good = arena == placed.lower_bound && placed.proved && excess <= 2 && (quick || untimed) &&
                (j->most == 0 || mib(arena) <= j->most);
    orders_proved += order.proved;
    printf("%-36s %7zu %9.3f %9.3f %9.3f %9.2f  %-8s %8.2f %8.1f  %s\n", base_name(j->path), buffers,
           mib(naive), mib(placed.lower_bound), mib(arena), 1e3 * placed.seconds,
           order.proved ? (order.changed ? "proved*" : "proved") : "open", excess, bind_us,
           good ? "ok" : "MISSED");
    fflush(stdout);
    return good ? 0 : EXIT_TARGET;
}

static int run(job *j) {
    if (sdx_model_load_file(j->path, NULL, &j->model, &j->error) == SDX_STATUS_OK)
        j->program = make_program(j, NULL, 0);
    int code = EXIT_BAD;
    if (j->program) code = report(j);
    else fprintf(stderr, "%s: %s\n", j->path, j->error.message);
    sdx_program_release(j->program);
    sdx_model_release(j->model);
    return code;
}

/* Options in front of a model; false if one makes no sense. */
static bool read_options(char **argv, int argc, int *i, job *j, int *orders) {
    for (; *i < argc && strncmp(argv[*i], "--", 2) == 0; ++*i) {
        if (strcmp(argv[*i], "--verbose") == 0) verbose = true;
        else if (strcmp(argv[*i], "--untimed") == 0) untimed = true;
        else if (strcmp(argv[*i], "--most") == 0 && *i + 1 < argc) j->most = strtod(argv[++*i], NULL);
        else if (strcmp(argv[*i], "--optimize") == 0 && *i + 1 < argc) optimize = atoi(argv[++*i]);
        else if (strcmp(argv[*i], "--orders") == 0 && *i + 1 < argc) *orders = atoi(argv[++*i]);
        else return false;
    }
    return *i < argc;
}

int main(int argc, char **argv) {
    int code = 0, orders = 0;
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        fputs(usage, argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_USAGE : 0;
    }
    printf("%-36s %7s %9s %9s %9s %9s  %-8s %8s %8s\n", "model", "buffers", "naive", "bound", "arena",
           "place ms", "order", "symbolic", "bind us");
    for (int i = 1; i < argc; i++) {
        job j = {0};
        if (!read_options(argv, argc, &i, &j, &orders)) {
            fprintf(stderr, "bench_memory: see --help\n");
            return EXIT_USAGE;
        }
        j.path = argv[i];
        for (i++; i < argc && strcmp(argv[i], "--") != 0; i++)
            if (j.dim_count == MOST_DIMS || !parse_sizes(argv[i], &j.dims[j.dim_count++])) {
                fprintf(stderr, "bench_memory: not NAME=N: %s\n", argv[i]);
                return EXIT_USAGE;
            }
        int one = run(&j);
        if (one > code) code = one;
    }
    printf("order: * another than the file's; %d proved%s\n", orders_proved,
           orders_proved < orders ? ", fewer than the target: MISSED" : "");
    if (orders_proved < orders && code == 0) code = EXIT_TARGET;
    return code;
}
