/* bench_results.c - filling and reading what a benchmark has measured. */
#include "bench_results.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_what_names[] = {"load", "run", "program"};
const char *const bench_unit_names[] = {"ns", "bytes", "count", ""};
const char *const bench_relation_names[] = {"engine", "optimize", "schedule",
                                            "model",  "other",    "baseline"};

const bench_metric_info bench_metrics[METRIC_COUNT] = {
    [METRIC_TIME] = {"time", "time", UNIT_NS},
    [METRIC_HEAP_PEAK] = {"heap_peak", "heap peak", UNIT_BYTES},
    [METRIC_RSS_PEAK] = {"rss_peak", "peak resident", UNIT_BYTES},
    [METRIC_START] = {"start", "start", UNIT_NS},
    [METRIC_LOAD] = {"load", "load", UNIT_NS},
    [METRIC_FIRST] = {"first_run", "first run", UNIT_NS},
    [METRIC_USER] = {"user", "user", UNIT_NS},
    [METRIC_SYSTEM] = {"system", "system", UNIT_NS},
    [METRIC_CPUS] = {"cpus", "CPUs utilised", UNIT_PLAIN},
    [METRIC_MINOR_FAULTS] = {"minor_faults", "minor page faults", UNIT_COUNT},
    [METRIC_MAJOR_FAULTS] = {"major_faults", "major page faults", UNIT_COUNT},
    [METRIC_VOLUNTARY_SWITCHES] = {"voluntary_switches", "context switches, voluntary", UNIT_COUNT},
    [METRIC_INVOLUNTARY_SWITCHES] = {"involuntary_switches", "context switches, involuntary",
                                     UNIT_COUNT},
    [METRIC_CYCLES] = {"cycles", "cycles", UNIT_COUNT},
    [METRIC_INSTRUCTIONS] = {"instructions", "instructions", UNIT_COUNT},
    [METRIC_BRANCHES] = {"branches", "branches", UNIT_COUNT},
    [METRIC_BRANCH_MISSES] = {"branch_misses", "branch misses", UNIT_COUNT},
    [METRIC_CACHE_MISSES] = {"cache_misses", "cache misses", UNIT_COUNT},
};

/* Room for one more of *items, zeroed; its index, or BENCH_NONE. */
static size_t grow(bench_results *r, void **items, size_t *count, size_t size) {
    char *bigger = realloc(*items, (*count + 1) * size);
    if (!bigger) {
        r->no_memory = true;
        return BENCH_NONE;
    }
    memset(bigger + *count * size, 0, size);
    *items = bigger;
    return (*count)++;
}
#define GROW(r, field, counter) grow(r, (void **)&(r)->field, &(r)->counter, sizeof *(r)->field)

static char empty[] = ""; /* what texts are before they are set */

void bench_set_text(bench_results *r, char **at, const char *text) {
    if (*at != empty) free(*at);
    *at = text && *text ? strdup(text) : empty;
    if (!*at) {
        *at = empty;
        r->no_memory = true;
    }
}

static void free_text(char *text) {
    if (text != empty) free(text);
}

void bench_results_init(bench_results *r, bench_what what) {
    bench_environment e = {.memory = NAN,
                           .load_before = NAN,
                           .others = NAN,
                           .frequency_min = NAN,
                           .frequency_max = NAN,
                           .throttled = NAN};
    e.date = e.os = e.kernel = e.cpu = e.features = e.isa = e.governor = e.hypervisor = empty;
    e.compiler = empty;
    *r = (bench_results){.what = what, .fail_slower = NAN, .environment = e};
    r->title = r->command = r->baseline = empty;
}

static void free_case(bench_case *c) {
    free_text(c->operation);
    for (int m = 0; m < METRIC_COUNT; m++) {
        free(c->series[m].values);
        free(c->series[m].rounds);
    }
}

void bench_results_free(bench_results *r) {
    char *const own[] = {r->title,
                         r->command,
                         r->baseline,
                         r->environment.date,
                         r->environment.os,
                         r->environment.kernel,
                         r->environment.cpu,
                         r->environment.features,
                         r->environment.isa,
                         r->environment.governor,
                         r->environment.hypervisor,
                         r->environment.compiler};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free_text(own[i]);
    for (size_t i = 0; i < r->model_count; i++) {
        free_text(r->models[i].name);
        free_text(r->models[i].file);
        free_text(r->models[i].inputs);
    }
    for (size_t i = 0; i < r->engine_count; i++) {
        free_text(r->engines[i].name);
        free_text(r->engines[i].label);
        free_text(r->engines[i].version);
    }
    for (size_t i = 0; i < r->case_count; i++) free_case(&r->cases[i]);
    for (size_t i = 0; i < r->skipped_count; i++) {
        bench_skipped *s = &r->skipped[i];
        char *const texts[] = {s->engine, s->model, s->setting, s->reason, s->install};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) free_text(texts[k]);
    }
    for (size_t i = 0; i < r->warning_count; i++) free_text(r->warnings[i].text);
    free(r->models);
    free(r->engines);
    free(r->cases);
    free(r->ratios);
    free(r->skipped);
    free(r->warnings);
    *r = (bench_results){0};
}

static bool name_is_taken(const bench_results *r, const char *name, size_t length) {
    for (size_t i = 0; i + 1 < r->model_count; i++)
        if (strlen(r->models[i].name) == length && memcmp(r->models[i].name, name, length) == 0)
            return true;
    return false;
}

/* Of the file without folder and ending; where another model is called so, with the ending or the
 * last folder, whichever tells them apart. */
static void set_model_name(bench_results *r, bench_model *m) {
    const char *file = m->file, *slash = strrchr(file, '/'), *last = slash ? slash + 1 : file;
    const char *dot = strrchr(last, '.'), *end = dot && dot != last ? dot : last + strlen(last);
    if (name_is_taken(r, last, (size_t)(end - last))) {
        const char *folder = slash;
        while (folder && folder > file && folder[-1] != '/') folder--;
        if (!name_is_taken(r, last, strlen(last)) && strcmp(end, ".onnx") != 0)
            end = last + strlen(last);
        else if (folder && !name_is_taken(r, folder, (size_t)(end - folder))) last = folder;
        else {
            last = file;
            end = file + strlen(file);
        }
    }
    bench_set_text(r, &m->name, last);
    if (m->name != empty) m->name[end - last] = 0;
}

size_t bench_add_model(bench_results *r, const char *file) {
    size_t at = GROW(r, models, model_count);
    if (at == BENCH_NONE) return at;
    bench_model *m = &r->models[at];
    *m = (bench_model){.name = empty, .file = empty, .inputs = empty, .bytes = NAN};
    bench_set_text(r, &m->file, file);
    set_model_name(r, m);
    return at;
}

size_t bench_add_engine(bench_results *r, const char *name, const char *label,
                        const char *version) {
    size_t at = GROW(r, engines, engine_count);
    if (at == BENCH_NONE) return at;
    bench_engine *e = &r->engines[at];
    *e = (bench_engine){empty, empty, empty};
    bench_set_text(r, &e->name, name);
    bench_set_text(r, &e->label, label);
    bench_set_text(r, &e->version, version);
    return at;
}

size_t bench_add_case(bench_results *r, size_t model, size_t engine, const char *operation) {
    size_t at = GROW(r, cases, case_count);
    if (at == BENCH_NONE) return at;
    bench_case *c = &r->cases[at];
    *c = (bench_case){.model = model,
                      .engine = engine,
                      .operation = empty,
                      .threads = -1,
                      .optimize = -1,
                      .group = at,
                      .judge = BENCH_NONE,
                      .start_ns = NAN,
                      .load_ns = NAN,
                      .import_ns = NAN,
                      .first_ns = NAN,
                      .rss_bare = NAN,
                      .rss_ready = NAN,
                      .rss_loaded = NAN,
                      .rss_peak = NAN,
                      .arena_bytes = NAN,
                      .input_bytes = NAN,
                      .output_bytes = NAN,
                      .largest_error = NAN};
    bench_set_text(r, &c->operation, operation);
    return at;
}

bool bench_add_sample(bench_results *r, size_t of, bench_metric metric, uint32_t round,
                      double value) {
    bench_series *s = &r->cases[of].series[metric];
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 16;
        double *values = realloc(s->values, capacity * sizeof *values);
        if (values) s->values = values;
        uint32_t *rounds = values ? realloc(s->rounds, capacity * sizeof *rounds) : NULL;
        if (!rounds) {
            r->no_memory = true;
            return false;
        }
        s->rounds = rounds;
        s->capacity = capacity;
    }
    s->values[s->count] = value;
    s->rounds[s->count++] = round;
    return true;
}

void bench_add_skipped(bench_results *r, const char *engine, const char *model, const char *setting,
                       const char *reason, const char *install) {
    size_t at = GROW(r, skipped, skipped_count);
    if (at == BENCH_NONE) return;
    bench_skipped *s = &r->skipped[at];
    *s = (bench_skipped){empty, empty, empty, empty, empty};
    bench_set_text(r, &s->engine, engine);
    bench_set_text(r, &s->model, model);
    bench_set_text(r, &s->setting, setting);
    bench_set_text(r, &s->reason, reason);
    bench_set_text(r, &s->install, install);
}

void bench_add_warning(bench_results *r, size_t of, const char *format, ...) {
    char line[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < r->warning_count; i++)
        if (r->warnings[i].of == of && strcmp(r->warnings[i].text, line) == 0) return;
    size_t at = GROW(r, warnings, warning_count);
    if (at == BENCH_NONE) return;
    r->warnings[at] = (bench_warning){of, empty};
    bench_set_text(r, &r->warnings[at].text, line);
}

void bench_drop_empty(bench_results *r, size_t first) {
    for (size_t i = r->case_count; i-- > first;) {
        if (r->cases[i].series[METRIC_TIME].count > 0) continue;
        free_case(&r->cases[i]);
        memmove(&r->cases[i], &r->cases[i + 1], (r->case_count - i - 1) * sizeof *r->cases);
        r->case_count--;
        for (size_t w = r->warning_count; w-- > 0;) {
            bench_warning *warning = &r->warnings[w];
            if (warning->of == i) {
                free_text(warning->text);
                memmove(warning, warning + 1, (r->warning_count - w - 1) * sizeof *warning);
                r->warning_count--;
            } else if (warning->of != BENCH_NONE && warning->of > i) {
                warning->of--;
            }
        }
    }
}

static sampled samples_of(const bench_case *c) {
    const bench_series *s = &c->series[METRIC_TIME];
    return (sampled){s->values, s->rounds, s->count};
}

void bench_add_ratio(bench_results *r, size_t of, size_t reference, bench_relation relation) {
    sampled above = samples_of(&r->cases[of]), below = samples_of(&r->cases[reference]);
    if (above.count == 0 || below.count == 0) return;
    ratio time;
    bool paired = r->cases[of].group == r->cases[reference].group;
    size_t at = GROW(r, ratios, ratio_count);
    if (at == BENCH_NONE) return;
    if (!ratio_of_rounds(&above, &below, paired, r->seed, &time)) r->no_memory = true;
    r->ratios[at] = (bench_ratio){of, reference, relation, time, NAN, false};
}

bool bench_statistics(const bench_case *c, bench_metric metric, statistics *out) {
    const bench_series *s = &c->series[metric];
    return statistics_of(s->values, s->count, out) && s->count > 0;
}

const bench_ratio *bench_main_ratio(const bench_results *r, size_t of) {
    const bench_ratio *found = NULL;
    if (r->cases[of].alternating) found = bench_find_ratio(r, of, RELATION_SCHEDULE);
    for (int relation = 0; !found && relation < RELATION_BASELINE; relation++)
        found = bench_find_ratio(r, of, (bench_relation)relation);
    return found;
}

const bench_ratio *bench_find_ratio(const bench_results *r, size_t of, bench_relation relation) {
    for (size_t i = 0; i < r->ratio_count; i++)
        if (r->ratios[i].of == of && r->ratios[i].relation == relation) return &r->ratios[i];
    return NULL;
}

/* ---- names of cases
 * ------------------------------------------------------------------------------ */

typedef struct label {
    char *at;
    size_t size, length;
} label;

static void part(label *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void part(label *to, const char *format, ...) {
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *at = to->length < to->size ? to->at + to->length : NULL;
    int added = snprintf(at, at ? to->size - to->length : 0, "%s%s", to->length ? ", " : "", text);
    if (added > 0) to->length += (size_t)added;
}

/* Which parts of a label differ among the cases. */
typedef struct varying {
    bool model, engine, operation, batch, threads, optimize, alternating, preprocessed;
} varying;

static varying find_varying(const bench_results *r) {
    varying v = {0};
    for (size_t i = 1; i < r->case_count; i++) {
        const bench_case *a = &r->cases[i], *b = &r->cases[0];
        v.model |= a->model != b->model;
        v.engine |= a->engine != b->engine;
        v.operation |= strcmp(a->operation, b->operation) != 0;
        v.batch |= a->batch != b->batch;
        v.threads |= a->threads != b->threads;
        v.optimize |= a->optimize != b->optimize;
        v.alternating |= a->alternating != b->alternating;
        v.preprocessed |= a->preprocessed != b->preprocessed;
    }
    return v;
}

int bench_case_label(const bench_results *r, size_t index, bool whole, char *buffer, size_t size) {
    const bench_case *c = &r->cases[index];
    varying v = find_varying(r);
    if (whole) memset(&v, 1, sizeof v);
    label to = {buffer, size, 0};
    if (size) buffer[0] = 0;
    bool told = r->what == BENCH_LOAD || c->engine == BENCH_NONE; /* else it is what all do */
    if (v.operation && told) part(&to, "%s", c->operation);
    if (v.model && c->model != BENCH_NONE) part(&to, "%s", r->models[c->model].name);
    if (v.engine && c->engine != BENCH_NONE) part(&to, "%s", r->engines[c->engine].label);
    if (v.batch && c->batch > 0) part(&to, "batch %lld", (long long)c->batch);
    if (v.threads && c->threads == 0) part(&to, "threads by default");
    else if (v.threads && c->threads > 0)
        part(&to, "%d thread%s", c->threads, c->threads == 1 ? "" : "s");
    if (v.optimize && c->optimize >= 0) part(&to, "level %d", c->optimize);
    if (v.alternating && c->alternating) part(&to, "alternating");
    if (v.preprocessed && c->preprocessed) part(&to, "with pre-processing");
    if (to.length == 0 && c->model != BENCH_NONE) part(&to, "%s", r->models[c->model].name);
    if (to.length == 0) part(&to, "%s", c->operation);
    return (int)to.length;
}

int bench_case_key(const bench_results *r, size_t index, char *buffer, size_t size) {
    const bench_case *c = &r->cases[index];
    return snprintf(buffer, size, "%s|%s|%s|%lld|%d|%d|%s|%s",
                    c->model == BENCH_NONE ? "" : r->models[c->model].name,
                    c->engine == BENCH_NONE ? "" : r->engines[c->engine].name, c->operation,
                    (long long)c->batch, c->threads, c->optimize,
                    c->alternating ? "alternating" : "fixed", c->preprocessed ? "image" : "plain");
}
