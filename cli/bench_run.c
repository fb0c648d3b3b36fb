/* bench_run.c - `sardonyx bench --what run`: time and memory of running models. What is to be
 * compared forms a group: each engine and level has a process with the model loaded, outputs are
 * compared, and then all take turns, in a new random order each round, so that what disturbs the
 * machine for a while disturbs all of them. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define ROUNDS_WANTED    12 /* that the time is cut into, where a run is short enough */
#define MAX_REPEATS      100000

/* A process that takes turns: an engine at a level, with one batch or with several in turn. */
typedef struct entry {
    const peer *by;
    size_t model;
    int threads, level; /* level -1: the engine's own */
    int64_t batches[MAX_ALTERNATING];
    size_t cases[MAX_ALTERNATING];  /* of the results, one for each batch */
    size_t judges[MAX_ALTERNATING]; /* entries that the outputs are compared with */
    size_t count, output_count;
    client process;
    size_t repeats;
    double spent_ns;
    bool running; /* opened, equal to the judge, and nothing went wrong since */
} entry;

typedef struct group {
    bool preprocessed;
    entry *entries;
    size_t *order; /* of a round */
    size_t count, capacity;
} group;

/* ---- opening
 * -------------------------------------------------------------------------------------- */

static void entry_setting(const entry *e, bool preprocessed, char *buffer, size_t size) {
    setting_text(buffer, size, e->count == 1 ? e->batches[0] : 0, e->threads, e->level);
    size_t length = strlen(buffer);
    snprintf(buffer + length, size - length, "%s%s", e->count > 1 ? ", alternating" : "",
             preprocessed ? ", with pre-processing" : "");
}

static void give_up(bench *b, const group *g, entry *e, const char *reason) {
    char setting[120];
    entry_setting(e, g->preprocessed, setting, sizeof setting);
    if (!interrupted())
        bench_add_skipped(&b->r, b->r.engines[e->by->engine].label, b->r.models[e->model].name,
                          setting, reason, "");
    client_quit(&e->process);
    e->running = false;
}

static void key_of(int64_t batch, char key[24]) { snprintf(key, 24, "%lld", (long long)batch); }

/* "1,8,16": what a turn runs through. */
static void keys_of(const entry *e, char *keys, size_t size) {
    size_t length = 0;
    keys[0] = 0;
    for (size_t i = 0; i < e->count; i++) {
        int added = snprintf(keys + length, size - length, "%s%lld", i ? "," : "",
                             (long long)e->batches[i]);
        if (added > 0) length += (size_t)added;
    }
}

/* All inputs of a batch; where the group wants it, the one that takes pictures is made from some.
 */
static bool send_inputs(const bench *b, const group *g, entry *e, int64_t batch,
                        const bench_inputs *inputs) {
    char key[24];
    bool good = true, has_picture = false;
    text picture = {0};
    key_of(batch, key);
    if (g->preprocessed) has_picture = image_line(b, inputs, key, &picture);
    if (g->preprocessed && !has_picture) {
        snprintf(e->process.problem, sizeof e->process.problem,
                 "none of its inputs takes pictures");
        return false;
    }
    for (size_t i = 0; good && i < inputs->count; i++) {
        const bench_input *in = &inputs->items[i];
        json_value *answer = has_picture && in->preset
                                 ? client_ask(&e->process, 120, "%s", picture.data)
                                 : client_ask(&e->process, 120, "input\t%s\t%s\t%s\t%s\t%s", key,
                                              in->name, in->type, in->dims, in->file);
        good = answer != NULL;
        json_free(answer);
    }
    text_free(&picture);
    return good;
}

static void note_start(bench_results *r, const entry *e, const json_value *load,
                       double input_bytes) {
    for (size_t i = 0; i < e->count; i++) {
        bench_case *c = &r->cases[e->cases[i]];
        c->start_ns = e->process.ready_ns - e->process.started_ns;
        c->rss_bare = json_get_number(e->process.hello, "bare");
        c->rss_ready = json_get_number(e->process.hello, "rss");
        c->load_ns = json_get_number(load, "ns");
        c->import_ns = json_get_number(load, "import_ns");
        c->rss_loaded = json_get_number(load, "rss");
        c->input_bytes = input_bytes;
    }
}

/* Starts the process, loads the model and hands over inputs; false with e->process.problem. */
static bool open_entry(bench *b, const group *g, entry *e) {
    char path[PATH_MAX], level[24] = "", reason[300];
    bench_inputs inputs;
    if (!inputs_make(b, e->model, e->batches[0], &inputs, reason, sizeof reason)) {
        snprintf(e->process.problem, sizeof e->process.problem, "%s", reason);
        return false;
    }
    bool good =
        peer_start(b, e->by, &e->process) &&
        peer_file(b, e->by, &e->process, e->model, e->level, inputs.shapes, path, sizeof path);
    json_value *load = NULL;
    if (e->level >= 0) snprintf(level, sizeof level, "\toptimize=%d", e->level);
    /* Sizes that change cannot be told beforehand. */
    bool told = e->count == 1;
    if (good)
        load = client_ask(&e->process, b->o.timeout, "load\t%s\t%d%s%s%s", path, e->threads,
                          level, told ? "\t" : "", told ? inputs.shapes : "");
    good = load != NULL;
    if (good) note_start(&b->r, e, load, inputs.bytes);
    json_free(load);
    good = good && send_inputs(b, g, e, e->batches[0], &inputs);
    inputs_free(&inputs);
    for (size_t i = 1; good && i < e->count; i++) {
        good = inputs_make(b, e->model, e->batches[i], &inputs, e->process.problem,
                           sizeof e->process.problem) &&
               send_inputs(b, g, e, e->batches[i], &inputs);
        if (good) b->r.cases[e->cases[i]].input_bytes = inputs.bytes;
        inputs_free(&inputs);
    }
    return good;
}

/* The first run of each batch, and its outputs in a folder: scratch/ENTRY-KEY. */
static bool first_runs(bench *b, size_t number, entry *e) {
    for (size_t i = 0; i < e->count; i++) {
        char key[24];
        key_of(e->batches[i], key);
        json_value *run = client_ask(&e->process, b->o.timeout, "run\t%s\t1", key);
        if (!run) return false;
        b->r.cases[e->cases[i]].first_ns = json_as_number(json_first(json_get(run, "ns")));
        json_free(run);
        json_value *output =
            client_ask(&e->process, 600, "output\t%s/out-%zu-%s", b->scratch, number, key);
        if (!output) return false;
        double count = json_get_number(output, "count");
        e->output_count = count > 0 ? (size_t)count : 0;
        json_free(output);
    }
    return true;
}

/* ---- equal first
 * ----------------------------------------------------------------------------------- */

/* ONNX Runtime where it is there, because it is not ours; else Sardonyx, whose entry comes first.
 */
static size_t find_judge(const group *g, int64_t batch) {
    size_t judge = SIZE_MAX;
    for (size_t i = 0; i < g->count; i++) {
        const entry *e = &g->entries[i];
        if (!e->running || e->count != 1 || e->batches[0] != batch) continue;
        if (strcmp(e->by->name, "onnxruntime") == 0) return i;
        if (judge == SIZE_MAX) judge = i;
    }
    for (size_t i = 0; judge == SIZE_MAX && i < g->count; i++)
        if (g->entries[i].running) judge = i;
    return judge;
}

/* Compares an entry with the judge of each of its batches; false where it may not be timed. */
static bool is_equal(bench *b, group *g, size_t number) {
    entry *e = &g->entries[number];
    for (size_t i = 0; i < e->count; i++) {
        bench_case *c = &b->r.cases[e->cases[i]];
        size_t judge = e->judges[i], wanted = g->entries[judge].output_count;
        c->judge = g->entries[judge].by->engine;
        c->largest_error = 0;
        if (judge == number) continue;
        char got[200], want[200], message[300], reason[400];
        snprintf(got, sizeof got, "%s/out-%zu-%lld", b->scratch, number, (long long)e->batches[i]);
        snprintf(want, sizeof want, "%s/out-%zu-%lld", b->scratch, judge, (long long)e->batches[i]);
        if (e->output_count != wanted)
            snprintf(message, sizeof message, "%zu outputs, not %zu", e->output_count, wanted);
        else if (outputs_agree(b, got, want, wanted, &c->largest_error, message, sizeof message))
            continue;
        snprintf(reason, sizeof reason, "not timed: its outputs are not those of %s: %s",
                 b->r.engines[c->judge].label, message);
        give_up(b, g, e, reason);
        return false;
    }
    return true;
}

static void drop_unequal(bench *b, group *g) {
    /* The judges are chosen before anybody is left out. */
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < g->entries[i].count; k++)
            g->entries[i].judges[k] = find_judge(g, g->entries[i].batches[k]);
    for (size_t i = 0; i < g->count; i++)
        if (g->entries[i].running) is_equal(b, g, i);
}

/* ---- rounds
 * ----------------------------------------------------------------------------------------- */

/* One turn. Rounds from 0 on are kept; memory is noted in any case. */
static bool take_turn(bench *b, entry *e, int64_t round, double *taken_ns) {
    char keys[400];
    keys_of(e, keys, sizeof keys);
    json_value *answer =
        client_ask(&e->process, b->o.timeout, "run\t%s\t%zu", keys, e->repeats);
    if (!answer) return false;
    const json_value *times = json_get(answer, "ns");
    size_t number = 0;
    *taken_ns = 0;
    for (const json_value *at = json_first(times); at; at = json_next(at), number++) {
        double taken = json_as_number(at);
        *taken_ns += taken;
        if (round >= 0)
            bench_add_sample(&b->r, e->cases[number % e->count], METRIC_TIME, (uint32_t)round,
                             taken);
    }
    double peak = json_get_number(answer, "peak");
    for (size_t i = 0; i < e->count; i++) b->r.cases[e->cases[i]].rss_peak = peak;
    json_free(answer);
    if (number == 0) snprintf(e->process.problem, sizeof e->process.problem, "answers no times");
    return number > 0;
}

/* Runs until the warm-up is over; then sets how many runs fill a turn. */
static bool warm_up(bench *b, entry *e, const char *what) {
    double start = now_ns(), taken = 0;
    e->repeats = 1;
    do {
        if (!take_turn(b, e, -1, &taken)) return false;
        progress_show(&b->progress, what, (now_ns() - start) * 1e-9);
        /* Short runs: several at a time, so that asking costs little. */
        if (taken < 2e6 && e->repeats < 64) e->repeats *= 2;
    } while (now_ns() - start < b->o.warmup * 1e9 && !interrupted());
    double once = taken / (double)e->repeats, turn = b->o.time * 1e9 / ROUNDS_WANTED;
    double repeats = once > 0 ? turn / once : 1;
    e->repeats = repeats < 1 ? 1 : repeats > MAX_REPEATS ? MAX_REPEATS : (size_t)repeats;
    return true;
}

static size_t running_count(const group *g) {
    size_t count = 0;
    for (size_t i = 0; i < g->count; i++) count += g->entries[i].running;
    return count;
}

/* One round: everybody who runs, once, in random order. */
static void take_round(bench *b, group *g, uint32_t round, const char *what, double started) {
    for (size_t i = 0; i < g->count; i++) g->order[i] = i;
    shuffle(&b->random, g->order, g->count);
    for (size_t i = 0; i < g->count && !interrupted(); i++) {
        entry *e = &g->entries[g->order[i]];
        if (!e->running) continue;
        double taken = 0;
        if (!take_turn(b, e, round, &taken)) {
            give_up(b, g, e, e->process.problem);
            continue;
        }
        e->spent_ns += taken;
        progress_show(&b->progress, what, (now_ns() - started) * 1e-9);
    }
    watch_sample(&b->watch);
}

static void take_rounds(bench *b, group *g, const char *what) {
    double started = now_ns();
    for (uint32_t round = 0; running_count(g) && !interrupted(); round++) {
        bool enough = (int64_t)round >= b->o.min_rounds;
        for (size_t i = 0; i < g->count && enough; i++)
            enough = !g->entries[i].running || g->entries[i].spent_ns >= b->o.time * 1e9;
        if (enough) return;
        take_round(b, g, round, what, started);
    }
}

/* ---- a group
 * ----------------------------------------------------------------------------------------- */

static void note_end(bench *b, entry *e) {
    json_value *memory = client_ask(&e->process, 60, "memory");
    for (size_t i = 0; memory && i < e->count; i++) {
        bench_case *c = &b->r.cases[e->cases[i]];
        c->arena_bytes = json_get_number(memory, "arena");
        c->rss_peak = json_get_number(memory, "peak");
        bench_add_sample(&b->r, e->cases[i], METRIC_RSS_PEAK, 0, c->rss_peak);
    }
    json_free(memory);
}

static bool same_setting(const bench_case *a, const bench_case *z) {
    return a->batch == z->batch && a->threads == z->threads && a->preprocessed == z->preprocessed;
}

/* Every case over the first of Sardonyx in its setting; alternating over fixed; an export of the
 * model over the first one. */
static void add_ratios(bench_results *r, size_t first_case) {
    for (size_t i = first_case; i < r->case_count; i++) {
        const bench_case *c = &r->cases[i];
        for (size_t k = first_case; k < r->case_count; k++) {
            const bench_case *other = &r->cases[k];
            if (k == i || !same_setting(c, other)) continue;
            bool same_engine = c->engine == other->engine,
                 same_level = c->optimize == other->optimize;
            bool same_schedule = c->alternating == other->alternating;
            if (c->model != other->model) {
                if (other->model == r->cases[first_case].model && same_engine && same_level &&
                    same_schedule)
                    bench_add_ratio(r, i, k, RELATION_MODEL);
                continue;
            }
            if (c->alternating && !other->alternating && same_engine && same_level)
                bench_add_ratio(r, i, k, RELATION_SCHEDULE);
            if (!same_schedule || other->engine != 0) continue;
            if (!same_engine && (same_level || c->optimize < 0))
                bench_add_ratio(r, i, k, RELATION_ENGINE);
            if (same_engine && !same_level && k < i &&
                other->optimize == r->cases[first_case].optimize)
                bench_add_ratio(r, i, k, RELATION_OPTIMIZE);
            if (!same_engine && c->optimize < 0) break; /* the first level stands for Sardonyx */
        }
    }
}

static void measure_group(bench *b, group *g, const char *what) {
    size_t first_case = b->r.case_count;
    for (size_t i = 0; i < g->count; i++) {
        entry *e = &g->entries[i];
        e->process.in = e->process.out = -1;
        for (size_t k = 0; k < e->count; k++) {
            size_t at = bench_add_case(&b->r, e->model, e->by->engine, "run");
            if (at == BENCH_NONE) return;
            bench_case *c = &b->r.cases[e->cases[k] = at];
            c->batch = e->batches[k];
            c->threads = e->threads;
            c->optimize = e->level;
            c->alternating = e->count > 1;
            c->preprocessed = g->preprocessed;
            c->group = first_case;
        }
    }
    for (size_t i = 0; i < g->count && !interrupted(); i++) {
        entry *e = &g->entries[i];
        progress_show(&b->progress, what, 0);
        e->running = open_entry(b, g, e) && first_runs(b, i, e);
        if (!e->running) give_up(b, g, e, e->process.problem);
    }
    if (!interrupted()) drop_unequal(b, g);
    for (size_t i = 0; i < g->count; i++) {
        entry *e = &g->entries[i];
        if (e->running && !interrupted() && !warm_up(b, e, what))
            give_up(b, g, e, e->process.problem);
        progress_done(&b->progress, b->o.warmup);
    }
    take_rounds(b, g, what);
    progress_done(&b->progress, (double)g->count * b->o.time);
    for (size_t i = 0; i < g->count; i++) {
        if (g->entries[i].running && !interrupted()) note_end(b, &g->entries[i]);
        client_quit(&g->entries[i].process);
    }
    bench_drop_empty(&b->r, first_case);
    add_ratios(&b->r, first_case);
    for (size_t i = first_case; i < b->r.case_count; i++)
        warn_samples(&b->r, i, 50 * clock_step_ns());
}

/* ---- all of it
 * ---------------------------------------------------------------------------------------- */

static entry *new_entry(bench *b, group *g) {
    if (g->count == g->capacity) {
        size_t capacity = g->capacity ? 2 * g->capacity : 32;
        entry *entries = realloc(g->entries, capacity * sizeof *entries);
        if (entries) g->entries = entries;
        size_t *order = entries ? realloc(g->order, capacity * sizeof *order) : NULL;
        if (!order) {
            b->r.no_memory = true;
            return NULL;
        }
        g->order = order;
        g->capacity = capacity;
    }
    entry *e = &g->entries[g->count++];
    memset(e, 0, sizeof *e);
    return e;
}

/* Adds an entry for each engine and level. */
static void add_entries(bench *b, group *g, size_t model, int threads, const int64_t *batches,
                        size_t count) {
    for (size_t p = 0; p < b->peer_count; p++) {
        const number_list *levels = &b->o.levels;
        size_t level_count = levels->count ? levels->count : 1;
        for (size_t l = 0; l < level_count; l++) {
            entry *e = new_entry(b, g);
            if (!e) return;
            e->by = &b->peers[p];
            e->model = model;
            e->threads = threads;
            e->level = levels->count ? (int)levels->items[l] : e->by->is_own ? 3 : -1;
            e->count = count;
            memcpy(e->batches, batches, count * sizeof *batches);
        }
    }
}

/* The model, or all of them where they are exports of the same: what is compared. */
typedef struct subject {
    size_t first, count;
    number_list batches;
} subject;

static subject subject_of(const bench *b, size_t model) {
    subject s = {.first = model, .count = b->o.variants ? b->r.model_count : 1};
    batches_of(b, model, &s.batches);
    return s;
}

static void measure_setting(bench *b, group *g, const subject *s, int threads) {
    char what[300], setting[100];
    const char *name = b->r.models[s->first].name;
    const number_list *batches = &s->batches;
    bool alternating = b->o.schedule == 1;
    /* By turns: all sizes in one group, each alone and then in turn; else a group for each. */
    for (size_t i = 0; i < (alternating ? 1 : batches->count) && !interrupted(); i++) {
        g->count = 0;
        for (size_t m = s->first; m < s->first + s->count; m++) {
            for (size_t k = i; k < (alternating ? batches->count : i + 1); k++)
                add_entries(b, g, m, threads, &batches->items[k], 1);
            if (alternating && batches->count > 1)
                add_entries(b, g, m, threads, batches->items, batches->count);
        }
        setting_text(setting, sizeof setting, alternating ? 0 : batches->items[i], threads, -1);
        snprintf(what, sizeof what, "%s, %s%s", name, setting, alternating ? ", alternating" : "");
        measure_group(b, g, what);
    }
}

static double planned_seconds(const bench *b) {
    size_t levels = b->o.levels.count ? b->o.levels.count : 1, entries = 0;
    for (size_t m = 0; m < b->r.model_count; m++) {
        number_list batches = subject_of(b, b->o.variants ? 0 : m).batches;
        entries += batches.count + (b->o.schedule == 1 && batches.count > 1);
    }
    if (b->o.image) entries *= 2;
    return (double)(entries * levels * b->peer_count * b->o.threads.count) *
           (b->o.warmup + b->o.time);
}

int bench_measure_run(bench *b) {
    group g = {0};
    progress_start(&b->progress, planned_seconds(b), b->o.quiet);
    for (size_t m = 0; m < (b->o.variants ? 1 : b->r.model_count) && !interrupted(); m++) {
        subject s = subject_of(b, m);
        for (size_t t = 0; t < b->o.threads.count && !interrupted(); t++)
            for (int with = 0; with < (b->o.image ? 2 : 1) && !interrupted(); with++) {
                g.preprocessed = with == 1;
                measure_setting(b, &g, &s, (int)b->o.threads.items[t]);
            }
    }
    free(g.entries);
    free(g.order);
    return b->r.no_memory ? out_of_memory() : EXIT_OK;
}
