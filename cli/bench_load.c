/* bench_load.c - `sardonyx bench --what load`: how long importing a model takes, and how much
 * memory. Times come from one process per engine that loads the model again and again, by turns;
 * memory from fresh processes, one for each sample. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

enum { MIN_MEMORY_SAMPLES = 3, MAX_PER_TURN = 64 };
#define TURN_NS 1e8

/* What is timed. */
typedef struct operation {
    const char *name;
    const char *option; /* of load, "" for none */
    bool own_only;      /* Sardonyx alone tells it apart */
    bool saves;         /* what is timed is writing what was loaded, in the engine's own format */
} operation;

static const operation operations[] = {
    {"import", "\tonly=1", true, false},
    {"load", "", false, false},
    {"serialise", "", false, true},
};
#define OPERATION_COUNT (sizeof operations / sizeof *operations)

typedef struct loader {
    const peer *by;
    const operation *does;
    int level, threads;
    size_t of; /* case */
    client process;
    char path[PATH_MAX];
    char *shapes;
    size_t per_turn;
    double spent_ns;
    bool running;
} loader;

static void give_up(bench *b, size_t model, loader *l, const char *reason) {
    if (!interrupted())
        bench_add_skipped(&b->r, b->r.engines[l->by->engine].label, b->r.models[model].name,
                          l->does->name, reason, "");
    client_quit(&l->process);
    l->running = false;
}

static json_value *load_once(const bench *b, loader *l, const char *extra) {
    char level[24] = "";
    if (l->level >= 0) snprintf(level, sizeof level, "\toptimize=%d", l->level);
    return client_ask(&l->process, b->o.timeout, "load\t%s\t%d%s%s%s%s%s", l->path, l->threads,
                      level, l->does->option, extra, l->by->is_own ? "" : "\t",
                      l->by->is_own ? "" : l->shapes);
}

static bool open_loader(bench *b, size_t model, loader *l) {
    return peer_start(b, l->by, &l->process) &&
           peer_file(b, l->by, &l->process, model, l->level, l->shapes, l->path, sizeof l->path);
}

/* The file is written anew each time, as a user's would be. */
static json_value *save_once(const bench *b, loader *l) {
    char path[200];
    snprintf(path, sizeof path, "%s/saved-%zu", b->scratch, l->of);
    unlink(path);
    return client_ask(&l->process, b->o.timeout, "save\t%s", path);
}

/* Loads, or saves, for a turn. Rounds from 0 on are kept. */
static bool take_turn(bench *b, loader *l, int64_t round) {
    for (size_t i = 0; i < l->per_turn && !interrupted(); i++) {
        json_value *answer = l->does->saves ? save_once(b, l) : load_once(b, l, "");
        if (!answer) return false;
        double taken = json_get_number(answer, "ns");
        json_free(answer);
        if (!(taken >= 0)) {
            snprintf(l->process.problem, sizeof l->process.problem, "answers no time");
            return false;
        }
        l->spent_ns += taken;
        if (round >= 0) bench_add_sample(&b->r, l->of, METRIC_TIME, (uint32_t)round, taken);
    }
    return true;
}

static bool warm_up(bench *b, loader *l, const char *what) {
    double start = now_ns();
    size_t loads = 0;
    l->per_turn = 1;
    if (l->does->saves) {
        json_value *loaded = load_once(b, l, "");
        if (!loaded) return false;
        json_free(loaded);
    }
    do {
        if (!take_turn(b, l, -1)) return false;
        loads++;
        progress_show(&b->progress, what, (now_ns() - start) * 1e-9);
    } while (now_ns() - start < b->o.warmup * 1e9 && !interrupted());
    double once = (now_ns() - start) / (double)loads; /* asking included */
    double fit = once > 0 ? TURN_NS / once : 1;
    l->per_turn = fit < 1 ? 1 : fit > MAX_PER_TURN ? MAX_PER_TURN : (size_t)fit;
    l->spent_ns = 0;
    return true;
}

static void take_rounds(bench *b, size_t model, loader *loaders, size_t *order, size_t count,
                        const char *what) {
    double started = now_ns();
    for (uint32_t round = 0; !interrupted(); round++) {
        size_t running = 0;
        /* Models that load in microseconds: what asking takes counts too, or it would never end. */
        bool enough = (int64_t)round >= b->o.min_rounds;
        double wall = (now_ns() - started) * 1e-9;
        for (size_t i = 0; i < count; i++) {
            order[i] = i;
            running += loaders[i].running;
        }
        if (running == 0 || (enough && wall >= b->o.time * (double)running)) return;
        shuffle(&b->random, order, count);
        for (size_t i = 0; i < count && !interrupted(); i++) {
            loader *l = &loaders[order[i]];
            if (l->running && !take_turn(b, l, round)) give_up(b, model, l, l->process.problem);
            progress_show(&b->progress, what, (now_ns() - started) * 1e-9);
        }
        watch_sample(&b->watch);
    }
}

/* Memory of one load in a fresh process. */
static bool memory_sample(bench *b, size_t model, loader *l, uint32_t number) {
    if (!open_loader(b, model, l)) return false;
    json_value *answer = load_once(b, l, l->by->is_own ? "\theap=1" : "");
    if (answer && l->does->saves) {
        json_free(answer);
        answer = save_once(b, l);
    }
    if (answer) {
        double heap = json_get_number(answer, "heap");
        double peak = json_get_number(answer, "peak");
        bench_case *c = &b->r.cases[l->of];
        if (heap >= 0) bench_add_sample(&b->r, l->of, METRIC_HEAP_PEAK, number, heap);
        bench_add_sample(&b->r, l->of, METRIC_RSS_PEAK, number, peak);
        c->start_ns = l->process.ready_ns - l->process.started_ns;
        c->rss_bare = json_get_number(l->process.hello, "bare");
        c->rss_ready = json_get_number(l->process.hello, "rss");
        c->rss_loaded = json_get_number(answer, "rss");
        c->rss_peak = peak;
    }
    bool good = answer != NULL;
    json_free(answer);
    client_quit(&l->process);
    return good;
}

static void measure_memory(bench *b, size_t model, loader *l, const char *what) {
    double start = now_ns();
    for (uint32_t i = 0; !interrupted(); i++) {
        if (i >= MIN_MEMORY_SAMPLES && now_ns() - start >= b->o.memory * 1e9) return;
        if (!memory_sample(b, model, l, i)) {
            give_up(b, model, l, l->process.problem);
            return;
        }
        progress_show(&b->progress, what, (now_ns() - start) * 1e-9);
    }
}

/* Whether an engine does this at so many levels; reading the file knows none. */
static size_t levels_of(const bench *b, const operation *does, const peer *by) {
    if (does->own_only && !by->is_own) return 0;
    if (does->saves && by->packed) return 0; /* it is written already */
    return does->own_only || b->o.levels.count == 0 ? 1 : b->o.levels.count;
}

/* How many there are for a model at most. */
static size_t count_loaders(const bench *b) {
    size_t count = 0;
    for (size_t o = 0; o < OPERATION_COUNT; o++)
        for (size_t p = 0; p < b->peer_count; p++)
            count += levels_of(b, &operations[o], &b->peers[p]);
    return count * b->o.threads.count;
}

static bool make_loader(bench *b, size_t model, const char *shapes, size_t group, loader *to) {
    size_t at = bench_add_case(&b->r, model, to->by->engine, to->does->name);
    to->process.in = to->process.out = -1; /* also where it fails: what was made so far is quit */
    to->shapes = strdup(shapes);
    if (at == BENCH_NONE || !to->shapes) {
        b->r.no_memory = true;
        return false;
    }
    to->of = at;
    b->r.cases[at].threads = to->does->own_only ? -1 : to->threads;
    b->r.cases[at].optimize = to->does->own_only ? -1 : to->level;
    b->r.cases[at].group = group;
    return true;
}

static size_t make_loaders(bench *b, size_t model, const char *shapes, loader *loaders) {
    size_t count = 0, first = b->r.case_count;
    for (size_t o = 0; o < OPERATION_COUNT; o++)
        for (size_t p = 0; p < b->peer_count; p++) {
            const peer *by = &b->peers[p];
            size_t levels = levels_of(b, &operations[o], by);
            /* Nor does reading the file know threads. */
            size_t threads = operations[o].own_only ? 1 : b->o.threads.count;
            for (size_t n = 0; n < levels * threads; n++) {
                size_t l = n % levels, t = n / levels;
                int level = b->o.levels.count ? (int)b->o.levels.items[l] : by->is_own ? 3 : -1;
                loaders[count] = (loader){.by = by,
                                          .does = &operations[o],
                                          .level = level,
                                          .threads = (int)b->o.threads.items[t]};
                if (!make_loader(b, model, shapes, first, &loaders[count++])) return count;
            }
        }
    return count;
}

static void add_ratios(bench_results *r, size_t first) {
    for (size_t i = first; i < r->case_count; i++)
        for (size_t k = first; k < r->case_count; k++) {
            const bench_case *c = &r->cases[i], *other = &r->cases[k];
            if (i == k || strcmp(c->operation, other->operation) != 0 || other->engine != 0)
                continue;
            if (c->threads != other->threads) continue;
            if (c->engine != 0 && (c->optimize < 0 || c->optimize == other->optimize)) {
                bench_add_ratio(r, i, k, RELATION_ENGINE);
                break;
            }
            if (c->engine == 0 && k < i) {
                bench_add_ratio(r, i, k, RELATION_OPTIMIZE);
                break;
            }
        }
}

static void measure_model(bench *b, size_t model, loader *loaders, size_t *order) {
    char reason[300];
    const char *name = b->r.models[model].name;
    size_t first = b->r.case_count;
    number_list batches;
    bench_inputs inputs = {0};
    batches_of(b, model, &batches);
    /* Engines that have to be converted for want to know the shapes; the others do without. */
    bool shaped = inputs_make(b, model, batches.items[0], &inputs, reason, sizeof reason);
    size_t count = make_loaders(b, model, shaped ? inputs.shapes : "shapes=", loaders);
    inputs_free(&inputs);
    for (size_t i = 0; i < count && !interrupted() && !b->r.no_memory; i++) {
        loader *l = &loaders[i];
        progress_show(&b->progress, name, 0);
        l->running = open_loader(b, model, l) && warm_up(b, l, name);
        if (!l->running) give_up(b, model, l, l->process.problem);
        progress_done(&b->progress, b->o.warmup);
    }
    if (!b->r.no_memory) take_rounds(b, model, loaders, order, count, name);
    progress_done(&b->progress, b->o.time * (double)count);
    for (size_t i = 0; i < count; i++) client_quit(&loaders[i].process);
    for (size_t i = 0; i < count; i++) {
        if (loaders[i].running && !interrupted()) measure_memory(b, model, &loaders[i], name);
        progress_done(&b->progress, b->o.memory);
        free(loaders[i].shapes);
    }
    bench_drop_empty(&b->r, first);
    add_ratios(&b->r, first);
    for (size_t i = first; i < b->r.case_count; i++) warn_samples(&b->r, i, 50 * clock_step_ns());
}

int bench_measure_load(bench *b) {
    size_t count = count_loaders(b);
    loader *loaders = calloc(count + 1, sizeof *loaders);
    size_t *order = calloc(count + 1, sizeof *order);
    double each = b->o.warmup + b->o.time + b->o.memory;
    const bool room = loaders && order;
    if (!room) b->r.no_memory = true;
    progress_start(&b->progress, (double)(b->r.model_count * count) * each, b->o.quiet);
    for (size_t m = 0; room && m < b->r.model_count && !interrupted() && !b->r.no_memory; m++)
        measure_model(b, m, loaders, order);
    free(loaders);
    free(order);
    return b->r.no_memory ? out_of_memory() : EXIT_OK;
}
