/* bench_table.c - a benchmark as tables for people, on a terminal or as Markdown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_results.h"
#include "table.h"

typedef struct page {
    const bench_results *r;
    FILE *out;
    bool markdown, good;
} page;

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void put_plain(const page *p, const char *line);

static void heading(page *p, const char *text) {
    fputs(p->markdown ? "\n## " : "\n", p->out);
    put_plain(p, text);
    fputs("\n\n", p->out);
}

static void finish(page *p, table *t) { p->good = table_write(t, p->out, p->markdown) && p->good; }

/* ---- names
 * ---------------------------------------------------------------------------------------- */

static const char *engine_of(const page *p, const bench_case *c) {
    return c->engine == BENCH_NONE ? "" : p->r->engines[c->engine].label;
}

static void put_setting(const bench_case *c, char *to, size_t size) {
    size_t length = 0;
    to[0] = 0;
    if (c->batch > 0) length += (size_t)snprintf(to, size, "batch %lld", (long long)c->batch);
    if (c->threads == 0)
        length +=
            (size_t)snprintf(to + length, size - length, "%sits own threads", length ? ", " : "");
    if (c->threads > 0)
        length += (size_t)snprintf(to + length, size - length, "%s%d thread%s", length ? ", " : "",
                                   c->threads, c->threads == 1 ? "" : "s");
    if (c->optimize >= 0)
        length += (size_t)snprintf(to + length, size - length, "%slevel %d", length ? ", " : "",
                                   c->optimize);
    if (c->alternating)
        length += (size_t)snprintf(to + length, size - length, "%salternating", length ? ", " : "");
    if (c->preprocessed)
        snprintf(to + length, size - length, "%swith pre-processing", length ? ", " : "");
}

/* Decimals that a ratio is worth: 0.0123, 1.24, 12.4, 124. */
static int decimals_of(double value) {
    return value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.1 ? 2 : 4;
}

/* "1.24 (1.21–1.27)", or what could not be told. */
static void put_ratio(const ratio *of, char *to, size_t size) {
    int decimals = decimals_of(of->value);
    if (isnan(of->value)) snprintf(to, size, "-");
    else if (isnan(of->low)) snprintf(to, size, "%.*f", decimals, of->value);
    else
        snprintf(to, size, "%.*f (%.*f–%.*f)", decimals, of->value, decimals, of->low, decimals,
                 of->high);
}

static const char *verdict_of(const ratio *of) {
    return of->verdict == RATIO_LARGER    ? "slower"
           : of->verdict == RATIO_SMALLER ? "faster"
                                          : ratio_verdict_name(of->verdict);
}

/* Two cells: the ratio, and what it means. */
static void add_ratio(const page *p, table *t, size_t index) {
    const bench_ratio *found = bench_main_ratio(p->r, index);
    char figure[80];
    if (!found) {
        table_add(t, "%s", "");
        table_add(t, "%s", "");
        return;
    }
    const bench_case *to = &p->r->cases[found->reference];
    put_ratio(&found->time, figure, sizeof figure);
    table_add(t, "%s", figure);
    const char *verdict = verdict_of(&found->time);
    bool told = found->time.verdict == RATIO_LARGER || found->time.verdict == RATIO_SMALLER;
    if (!told) table_add(t, "%s", verdict);
    else if (found->relation == RELATION_SCHEDULE) table_add(t, "%s than fixed", verdict);
    else if (found->relation == RELATION_OPTIMIZE)
        table_add(t, "%s than level %d", verdict, to->optimize);
    else if (found->relation == RELATION_ENGINE)
        table_add(t, "%s than %s", verdict, engine_of(p, to));
    else if (found->relation == RELATION_MODEL)
        table_add(t, "%s than %s", verdict, p->r->models[to->model].name);
    else
        table_add(t, "%s than %s", verdict,
                  to->engine == BENCH_NONE ? to->operation : engine_of(p, to));
}

/* ---- head
 * ------------------------------------------------------------------------------------------ */

/* Names come from files: nothing in them that a terminal or a Markdown reader would obey. */
static void put_plain(const page *p, const char *line) {
    for (; *line; line++) {
        if (p->markdown && strchr("<*_`\\", *line)) fputc('\\', p->out);
        fputc((unsigned char)*line < 32 || *line == 127 ? ' ' : *line, p->out);
    }
}

static void put_fact(const page *p, const char *name, const char *value) {
    if (!value[0]) return;
    fprintf(p->out, p->markdown ? "- %s: " : "%-18s", name);
    put_plain(p, value);
    fputc('\n', p->out);
}

static void put_versions(const page *p) {
    char line[1024];
    size_t length = 0;
    line[0] = 0;
    for (size_t i = 0; i < p->r->engine_count && length < sizeof line; i++)
        length += (size_t)snprintf(line + length, sizeof line - length, "%s%s %s", i ? ", " : "",
                                   p->r->engines[i].label, p->r->engines[i].version);
    put_fact(p, "engines", line);
}

static void put_head(const page *p) {
    const bench_environment *e = &p->r->environment;
    char line[700];
    if (p->markdown) fprintf(p->out, "# %s\n\n", p->r->title[0] ? p->r->title : "sardonyx bench");
    else if (p->r->title[0]) fprintf(p->out, "%s\n\n", p->r->title);
    put_fact(p, "command", p->r->command);
    put_fact(p, "date", e->date);
    snprintf(line, sizeof line, "%s%s%s", e->os, e->os[0] ? ", " : "", e->kernel);
    put_fact(p, "operating system", line);
    snprintf(line, sizeof line, "%s%s%s%s%s", e->cpu, e->features[0] ? "; " : "", e->features,
             e->hypervisor[0] ? "; " : "", e->hypervisor);
    put_fact(p, "CPU", line);
    snprintf(line, sizeof line, "%d, %d usable", e->cores, e->usable);
    put_fact(p, "cores", line);
    put_fact(p, "memory", bytes_text(e->memory).text);
    put_fact(p, "SARDONYX_CPU", e->isa);
    put_versions(p);
    put_fact(p, "compiler", e->compiler);
    for (size_t i = 0; i < p->r->model_count; i++) {
        const bench_model *m = &p->r->models[i];
        snprintf(line, sizeof line, "%s: %s, %zu nodes, %s", m->name, bytes_text(m->bytes).text,
                 m->nodes, m->inputs);
        put_fact(p, "model", line);
    }
    if (p->r->what == BENCH_LOAD)
        snprintf(line, sizeof line, "warm-up %g s, time %g s, memory %g s for each; seed %llu",
                 p->r->warmup_s, p->r->time_s, p->r->memory_s, (unsigned long long)p->r->seed);
    else
        snprintf(line, sizeof line, "warm-up %g s, time %g s for each; seed %llu", p->r->warmup_s,
                 p->r->time_s, (unsigned long long)p->r->seed);
    put_fact(p, "settings", line);
    if (p->r->interrupted) put_fact(p, "interrupted", "what was measured until then");
}

/* ---- load
 * ------------------------------------------------------------------------------------------ */

static void load_times(page *p) {
    static const char *const headings[] = {"name",      "per second", "average",
                                           "deviation", "median",     "99th %"};
    table t;
    heading(p, "Time");
    table_start(&t, 1, headings, COUNT(headings));
    for (size_t i = 0; i < p->r->case_count; i++) {
        statistics s;
        char name[400];
        if (!bench_statistics(&p->r->cases[i], METRIC_TIME, &s)) continue;
        bench_case_label(p->r, i, false, name, sizeof name);
        table_add(&t, "%s", name);
        table_add(&t, "%s", count_text(1e9 / s.mean).text);
        table_add(&t, "%s", time_text(s.mean).text);
        table_add(&t, "±%.2f %%", 100 * s.deviation / s.mean);
        table_add(&t, "%s", time_text(s.median).text);
        table_add(&t, "%s", time_text(s.p99).text);
    }
    finish(p, &t);
}

typedef struct ranked {
    size_t index;
    double mean;
} ranked;

static int by_mean(const void *a, const void *b) {
    double x = ((const ranked *)a)->mean, y = ((const ranked *)b)->mean;
    return (x > y) - (x < y);
}

/* Cases of one operation, or programs of one model, from the fastest on, each with how many times
 * slower it is. A command that names no model stands with the first. */
static void compare_cases(page *p, const char *operation, size_t model, const char *title,
                          ranked *order) {
    static const char *const headings[] = {"name", "per second", "", ""};
    size_t count = 0;
    for (size_t i = 0; i < p->r->case_count; i++) {
        statistics s;
        const bench_case *c = &p->r->cases[i];
        bool wanted = operation ? strcmp(c->operation, operation) == 0
                                : c->model == model || (c->model == BENCH_NONE && model == 0);
        if (wanted && bench_statistics(&p->r->cases[i], METRIC_TIME, &s))
            order[count++] = (ranked){i, s.mean};
    }
    if (count < 2) return;
    char line[200];
    table t;
    qsort(order, count, sizeof *order, by_mean);
    snprintf(line, sizeof line, title[0] ? "Comparison: %s" : "Comparison", title);
    heading(p, line);
    table_start(&t, 1, headings, COUNT(headings));
    for (size_t i = 0; i < count; i++) {
        char name[400];
        bench_case_label(p->r, order[i].index, false, name, sizeof name);
        table_add(&t, "%s", name);
        table_add(&t, "%s", count_text(1e9 / order[i].mean).text);
        if (i)
            table_add(&t, "%.*f× slower", decimals_of(order[i].mean / order[0].mean),
                      order[i].mean / order[0].mean);
        else table_add(&t, "%s", "");
        if (i) table_add(&t, "+%s", time_text(order[i].mean - order[0].mean).text);
        else table_add(&t, "%s", "");
    }
    finish(p, &t);
}

static void put_comparison(page *p) {
    ranked *order = calloc(p->r->case_count + 1, sizeof *order);
    if (!order) {
        p->good = false;
        return;
    }
    /* Reading a file and making it ready are not the same work: not compared with one another. */
    for (size_t i = 0; i < p->r->case_count && p->r->what == BENCH_LOAD; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= strcmp(p->r->cases[k].operation, p->r->cases[i].operation) == 0;
        const char *operation = p->r->cases[i].operation;
        if (!seen) compare_cases(p, operation, BENCH_NONE, operation, order);
    }
    size_t models = p->r->model_count;
    for (size_t m = 0; m < (models ? models : 1) && p->r->what == BENCH_PROGRAM; m++)
        compare_cases(p, NULL, m, models > 1 ? p->r->models[m].name : "", order);
    free(order);
}

static void load_memory(page *p) {
    static const char *const headings[] = {"name",   "",       "average", "deviation",
                                           "median", "99th %", "most"};
    static const bench_metric metrics[] = {METRIC_HEAP_PEAK, METRIC_RSS_PEAK};
    table t;
    heading(p,
            "Memory (heap: through the allocator; resident: the whole process, off-heap included)");
    table_start(&t, 2, headings, COUNT(headings));
    for (size_t i = 0; i < p->r->case_count; i++)
        for (size_t m = 0; m < COUNT(metrics); m++) {
            statistics s;
            char name[400];
            if (!bench_statistics(&p->r->cases[i], metrics[m], &s)) continue;
            bench_case_label(p->r, i, false, name, sizeof name);
            table_add(&t, "%s", name);
            table_add(&t, "%s", bench_metrics[metrics[m]].title);
            table_add(&t, "%s", bytes_text(s.mean).text);
            table_add(&t, "±%.2f %%", s.mean > 0 ? 100 * s.deviation / s.mean : 0);
            table_add(&t, "%s", bytes_text(s.median).text);
            table_add(&t, "%s", bytes_text(s.p99).text);
            table_add(&t, "%s", bytes_text(s.max).text);
        }
    finish(p, &t);
}

/* ---- run
 * ------------------------------------------------------------------------------------------- */

static void run_row(page *p, table *t, size_t index) {
    const bench_case *c = &p->r->cases[index];
    statistics s;
    char setting[200];
    if (!bench_statistics(c, METRIC_TIME, &s)) return;
    put_setting(c, setting, sizeof setting);
    table_add(t, "%s", setting);
    table_add(t, "%s", engine_of(p, c));
    table_add(t, "%s", time_text(s.median).text);
    table_add(t, "±%s", time_text(s.mad).text);
    table_add(t, "%s", time_text(s.p99).text);
    table_add(t, "%s", time_text(s.min).text);
    table_add(t, "%s", count_text(c->batch > 0 ? (double)c->batch * 1e9 / s.median : NAN).text);
    add_ratio(p, t, index);
}

static void run_tables(page *p) {
    static const char *const headings[] = {"setting", "engine",  "median",       "MAD", "99th %",
                                           "best",    "items/s", "ratio (95 %)", ""};
    for (size_t m = 0; m < p->r->model_count; m++) {
        table t;
        heading(p, p->r->models[m].name);
        table_start(&t, 2, headings, COUNT(headings));
        for (size_t i = 0; i < p->r->case_count; i++)
            if (p->r->cases[i].model == m) run_row(p, &t, i);
        finish(p, &t);
    }
}

static void run_start(page *p) {
    static const char *const headings[] = {"case",          "start", "load",   "first run",
                                           "then (median)", "ready", "loaded", "peak"};
    table t;
    heading(p, "From the start of the process to the first result, and its resident memory");
    table_start(&t, 1, headings, COUNT(headings));
    for (size_t i = 0; i < p->r->case_count; i++) {
        const bench_case *c = &p->r->cases[i];
        statistics s;
        char name[400];
        if (!bench_statistics(c, METRIC_TIME, &s)) continue;
        bench_case_label(p->r, i, false, name, sizeof name);
        table_add(&t, "%s", name);
        table_add(&t, "%s", time_text(c->start_ns).text);
        table_add(&t, "%s", time_text(c->load_ns).text);
        table_add(&t, "%s", time_text(c->first_ns).text);
        table_add(&t, "%s", time_text(s.median).text);
        table_add(&t, "%s", bytes_text(c->rss_ready).text);
        table_add(&t, "%s", bytes_text(c->rss_loaded).text);
        table_add(&t, "%s", bytes_text(c->rss_peak).text);
    }
    finish(p, &t);
}

/* ---- program
 * ---------------------------------------------------------------------------------------- */

static void program_times(page *p) {
    static const char *const headings[] = {"program",       "mean",         "deviation", "median",
                                           "least",         "most",         "user",      "system",
                                           "peak resident", "ratio (95 %)", ""};
    table t;
    heading(p, "Whole processes");
    table_start(&t, 1, headings, COUNT(headings));
    for (size_t i = 0; i < p->r->case_count; i++) {
        const bench_case *c = &p->r->cases[i];
        statistics s, user = {.mean = NAN}, system = {.mean = NAN}, peak = {.max = NAN};
        char name[400];
        if (!bench_statistics(c, METRIC_TIME, &s)) continue;
        bench_statistics(c, METRIC_USER, &user);
        bench_statistics(c, METRIC_SYSTEM, &system);
        bench_statistics(c, METRIC_RSS_PEAK, &peak);
        bench_case_label(p->r, i, false, name, sizeof name);
        table_add(&t, "%s", name);
        table_add(&t, "%s", time_text(s.mean).text);
        table_add(&t, "±%s", time_text(s.deviation).text);
        table_add(&t, "%s", time_text(s.median).text);
        table_add(&t, "%s", time_text(s.min).text);
        table_add(&t, "%s", time_text(s.max).text);
        table_add(&t, "%s", time_text(user.mean).text);
        table_add(&t, "%s", time_text(system.mean).text);
        table_add(&t, "%s", bytes_text(peak.max).text);
        add_ratio(p, &t, i);
    }
    finish(p, &t);
}

static void program_start(page *p) {
    static const char *const headings[] = {"program", "start", "load", "run", "rest", "whole"};
    table t;
    bool any = false;
    for (size_t i = 0; i < p->r->case_count; i++) any |= !isnan(p->r->cases[i].first_ns);
    if (!any) return;
    heading(p, "Where the time goes (medians; rest: inputs, results, exit)");
    table_start(&t, 1, headings, COUNT(headings));
    for (size_t i = 0; i < p->r->case_count; i++) {
        const bench_case *c = &p->r->cases[i];
        statistics s;
        char name[400];
        if (isnan(c->first_ns) || !bench_statistics(c, METRIC_TIME, &s)) continue;
        double rest = s.median - c->start_ns - c->load_ns - c->first_ns;
        bench_case_label(p->r, i, false, name, sizeof name);
        table_add(&t, "%s", name);
        table_add(&t, "%s", time_text(c->start_ns).text);
        table_add(&t, "%s", time_text(c->load_ns).text);
        table_add(&t, "%s", time_text(c->first_ns).text);
        table_add(&t, "%s", time_text(rest > 0 ? rest : 0).text);
        table_add(&t, "%s", time_text(s.median).text);
    }
    finish(p, &t);
}

/* A line for each counter and a column for each program: there are more of the former. */
static void program_counters(page *p) {
    const char *headings[TABLE_MAX_COLUMNS];
    char names[TABLE_MAX_COLUMNS][400];
    for (size_t first = 0; first < p->r->case_count; first += 6) {
        size_t last = first + 6 < p->r->case_count ? first + 6 : p->r->case_count, columns = 1;
        table t;
        headings[0] = "average of";
        for (size_t i = first; i < last; i++) {
            bench_case_label(p->r, i, false, names[columns], sizeof names[columns]);
            headings[columns] = names[columns];
            columns++;
        }
        heading(p, "What the system and the hardware counted");
        table_start(&t, 1, headings, columns);
        for (int m = METRIC_CPUS; m < METRIC_COUNT; m++) {
            table_add(&t, "%s", bench_metrics[m].title);
            for (size_t i = first; i < last; i++) {
                statistics s;
                if (!bench_statistics(&p->r->cases[i], (bench_metric)m, &s))
                    table_add(&t, "%s", "not available");
                else if (m == METRIC_CPUS) table_add(&t, "%.2f", s.mean);
                else table_add(&t, "%s", count_text(s.mean).text);
            }
        }
        finish(p, &t);
    }
}

/* ---- foot
 * -------------------------------------------------------------------------------------------- */

static void put_baseline(page *p) {
    static const char *const headings[] = {"case", "before", "now", "ratio (95 %)", ""};
    if (!p->r->baseline[0]) return;
    char line[300];
    table t;
    snprintf(line, sizeof line, "Since %s", p->r->baseline);
    heading(p, line);
    table_start(&t, 1, headings, COUNT(headings));
    for (size_t i = 0; i < p->r->ratio_count; i++) {
        const bench_ratio *one = &p->r->ratios[i];
        statistics s;
        char name[400], figure[80];
        if (one->relation != RELATION_BASELINE) continue;
        bench_statistics(&p->r->cases[one->of], METRIC_TIME, &s);
        bench_case_label(p->r, one->of, true, name, sizeof name);
        put_ratio(&one->time, figure, sizeof figure);
        table_add(&t, "%s", name);
        table_add(&t, "%s", time_text(one->baseline_median).text);
        table_add(&t, "%s", time_text(s.median).text);
        table_add(&t, "%s", figure);
        if (one->fails)
            table_add(&t, "%s, more than %g %%", verdict_of(&one->time), 100 * p->r->fail_slower);
        else table_add(&t, "%s", verdict_of(&one->time));
    }
    finish(p, &t);
}

static void put_line(const page *p, const char *line) {
    fputs(p->markdown ? "- " : "  ", p->out);
    put_plain(p, line);
    fputc('\n', p->out);
}

static void put_notes(page *p) {
    char line[1400], name[400];
    if (p->r->warning_count) heading(p, "Warnings");
    for (size_t i = 0; i < p->r->warning_count; i++) {
        const bench_warning *w = &p->r->warnings[i];
        name[0] = 0;
        if (w->of != BENCH_NONE) bench_case_label(p->r, w->of, false, name, sizeof name);
        snprintf(line, sizeof line, "%s%s%s", name, name[0] ? ": " : "", w->text);
        put_line(p, line);
    }
    if (p->r->skipped_count) heading(p, "Not measured");
    for (size_t i = 0; i < p->r->skipped_count; i++) {
        const bench_skipped *s = &p->r->skipped[i];
        snprintf(line, sizeof line, "%s%s%s%s%s: %s%s%s%s", s->engine, s->model[0] ? ", " : "",
                 s->model, s->setting[0] ? ", " : "", s->setting, s->reason,
                 s->install[0] ? " (to install: " : "", s->install, s->install[0] ? ")" : "");
        put_line(p, line);
    }
}

static bool write_page(const bench_results *r, FILE *out, bool markdown) {
    page p = {r, out, markdown, true};
    put_head(&p);
    if (r->case_count && r->what == BENCH_LOAD) {
        load_times(&p);
        put_comparison(&p);
        load_memory(&p);
    } else if (r->case_count && r->what == BENCH_RUN) {
        run_tables(&p);
        run_start(&p);
    } else if (r->case_count) {
        program_times(&p);
        put_comparison(&p);
        program_start(&p);
        program_counters(&p);
    }
    put_baseline(&p);
    put_notes(&p);
    return p.good && !ferror(out);
}

bool bench_write_markdown(const bench_results *r, FILE *out) { return write_page(r, out, true); }
bool bench_write_text(const bench_results *r, FILE *out) { return write_page(r, out, false); }
