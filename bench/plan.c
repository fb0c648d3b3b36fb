/* plan.c - how good placement is: published problems within their capacity, problems without slack
 * (a rectangle cut into boxes, so that the optimum is known), and large ones. Prints each figure
 * beside its target; exit code 1 if one is missed.
 *
 * usage: bench_plan [--strategy NAME] [--time-limit S] [--verbose] SUITE..
 *   FILE.CAPACITY.csv          a problem that must fit into the capacity
 *   boxes:COUNT:SEEDS:PERCENT  so many rectangles of 50 steps by 1024 bytes cut into COUNT boxes;
 *                              at least PERCENT must be solved
 *   tall:.., any:..            the same with 1024 steps by 50 bytes; or any boxes cut further,
 *                              in place of the largest
 *   even:COUNT:SEEDS:PERCENT   COUNT buffers of random size and lifetime; at most PERCENT over the
 *                              bound
 *   large:..                   the same with sizes and lifetimes over orders of magnitude */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sardonyx.h"

typedef struct settings {
    const char *strategy;
    double limit;
    bool verbose;
} settings;

/* ---- random problems --------------------------------------------------------------------------- */

static uint64_t random_state;

static uint64_t random_below(uint64_t limit) {
    random_state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t x = random_state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % limit;
}

static size_t largest_box(const sdx_plan_buffer *boxes, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if ((uint64_t)(boxes[i].upper - boxes[i].lower) * boxes[i].size >
            (uint64_t)(boxes[best].upper - boxes[best].lower) * boxes[best].size)
            best = i;
    return best;
}

/* Cuts a rectangle in two, again and again, at random. */
static void cut_boxes(sdx_plan_buffer *boxes, size_t count, int64_t steps, uint64_t bytes,
                      bool any) {
    boxes[0] = (sdx_plan_buffer){.struct_size = sizeof *boxes, .upper = steps, .size = bytes};
    for (size_t made = 1; made < count;) {
        sdx_plan_buffer *old =
            &boxes[any || random_below(4) ? random_below(made) : largest_box(boxes, made)];
        sdx_plan_buffer *fresh = &boxes[made];
        *fresh = *old;
        uint64_t width = (uint64_t)(old->upper - old->lower);
        if (random_below(2)) {
            if (width < 2) continue;
            old->upper = fresh->lower = old->lower + 1 + (int64_t)random_below(width - 1);
        } else {
            if (old->size < 2) continue;
            old->size = 1 + random_below(old->size - 1);
            fresh->size -= old->size;
        }
        made++;
    }
}

/* Lifetimes and sizes spread evenly, or over orders of magnitude. */
static void make_large(sdx_plan_buffer *buffers, size_t count, bool even) {
    for (size_t i = 0; i < count; i++) {
        int64_t begin = (int64_t)random_below(count);
        int64_t length = 1 + (int64_t)random_below(even ? 200 : 1u << random_below(12));
        buffers[i] = (sdx_plan_buffer){
            .struct_size = sizeof *buffers, .lower = begin, .upper = begin + length,
            .size = 64 * (1 + random_below(even ? 1000 : 1u << random_below(16)))};
    }
}

/* ---- suites ------------------------------------------------------------------------------------- */

static bool solve(const settings *s, sdx_plan_problem *problem, uint64_t capacity,
                  sdx_plan_result *result) {
    sdx_plan_options options = {.struct_size = sizeof options, .strategy = s->strategy,
                                .capacity = capacity, .time_limit = s->limit};
    sdx_error error;
    sdx_error_clear(&error);
    *result = (sdx_plan_result){.struct_size = sizeof *result};
    if (sdx_plan_problem_solve(problem, &options, result, &error) == SDX_STATUS_OK) return true;
    fprintf(stderr, "bench_plan: %s\n", error.message);
    return false;
}

static double over(const sdx_plan_result *r) {
    return 100.0 * ((double)r->arena / (double)r->lower_bound - 1.0);
}

static bool run_random(const settings *s, const char *kind, size_t count, size_t seeds,
                       double percent) {
    bool even = strcmp(kind, "even") == 0, large = even || strcmp(kind, "large") == 0;
    bool tall = strcmp(kind, "tall") == 0;
    sdx_plan_buffer *buffers = calloc(count, sizeof *buffers);
    size_t solved = 0;
    double slowest = 0, total = 0, worst = 0;
    bool good = buffers != NULL;
    for (size_t seed = 1; good && seed <= seeds; seed++) {
        random_state = seed;
        sdx_plan_problem *problem = NULL;
        sdx_plan_result r;
        if (large) make_large(buffers, count, even);
        else cut_boxes(buffers, count, tall ? 1024 : 50, tall ? 50 : 1024, !strcmp(kind, "any"));
        good = sdx_plan_problem_create(buffers, count, NULL, &problem, NULL) == SDX_STATUS_OK &&
               solve(s, problem, 0, &r);
        sdx_plan_problem_release(problem);
        if (!good) break;
        if (s->verbose)
            printf("  seed %zu: %+.2f %% %.3f s %s %llu nodes\n", seed, over(&r), r.seconds,
                   r.strategy, (unsigned long long)r.nodes);
        solved += r.arena == r.lower_bound;
        if (r.seconds > slowest) slowest = r.seconds;
        total += r.seconds;
        if (over(&r) > worst) worst = over(&r);
    }
    free(buffers);
    if (!good) return false;
    bool met = large ? worst <= percent : 100.0 * (double)solved >= percent * (double)seeds;
    printf("%-6s %6zu: %3zu of %3zu at the bound, worst %+.2f %%, mean %.3f s, slowest %.3f s; "
           "target %s %g %%: %s\n",
           kind, count, solved, seeds, worst, total / (double)seeds, slowest,
           large ? "worst" : "solved", percent, met ? "met" : "MISSED");
    return met;
}

static bool run_file(const settings *s, const char *path) {
    static char bytes[1 << 24];
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "bench_plan: %s: cannot open\n", path);
        return false;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *dot = strchr(name, '.');
    uint64_t capacity = dot ? strtoull(dot + 1, NULL, 10) : 0;
    sdx_plan_problem *problem = NULL;
    sdx_plan_result r;
    sdx_error error;
    sdx_error_clear(&error);
    bool good = sdx_plan_problem_from_csv(bytes, size, path, NULL, &problem, &error) ==
                SDX_STATUS_OK;
    if (!good) fprintf(stderr, "bench_plan: %s\n", error.message);
    good = good && solve(s, problem, capacity, &r);
    if (good) {
        good = r.arena <= capacity && r.seconds <= s->limit;
        printf("%-16s %4zu buffers, bound %8llu, arena %8llu, capacity %8llu, %7.3f s by %s, "
               "%llu nodes; target %g s: %s\n",
               name, sdx_plan_problem_count(problem), (unsigned long long)r.lower_bound,
               (unsigned long long)r.arena, (unsigned long long)capacity, r.seconds, r.strategy,
               (unsigned long long)r.nodes, s->limit, good ? "met" : "MISSED");
    }
    sdx_plan_problem_release(problem);
    return good;
}

static bool run_suite(const settings *s, const char *text) {
    char kind[8];
    size_t count, seeds;
    double percent;
    if (sscanf(text, "%7[a-z]:%zu:%zu:%lf", kind, &count, &seeds, &percent) == 4)
        return run_random(s, kind, count, seeds, percent);
    return run_file(s, text);
}

int main(int argc, char **argv) {
    settings s = {.strategy = "best", .limit = 1};
    bool good = true;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0) s.verbose = true;
        else if (strcmp(argv[i], "--strategy") == 0 && i + 1 < argc) s.strategy = argv[++i];
        else if (strcmp(argv[i], "--time-limit") == 0 && i + 1 < argc)
            s.limit = strtod(argv[++i], NULL);
        else if (!run_suite(&s, argv[i])) good = false;
    }
    return good ? 0 : 1;
}
