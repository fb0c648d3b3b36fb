/* bench_html_tables.c - the tables of the benchmark's page: all figures, counters, the environment. */
#include <math.h>

#include "bench_html.h"

static void cell(const page *p, figure_kind kind, double value, size_t index, const char *path) {
    fputs("<td>", p->out);
    if (isnan(value)) fputs("–", p->out);
    else page_figure(p, kind, value, "cases.%zu.%s", index, path);
    fputs("</td>", p->out);
}

static void row_name(const page *p, size_t index) {
    fputs("<tr><th class=\"name\"", p->out);
    page_colour(p, p->r->cases[index].engine);
    fputs(">", p->out);
    page_case_name(p, index, p->varying);
    fputs("</th>", p->out);
}

static void figures_row(page *p, size_t index) {
    const bench_case *c = &p->r->cases[index];
    statistics f;
    if (!bench_statistics(c, METRIC_TIME, &f)) return;
    row_name(p, index);
    const struct {
        double value;
        const char *path;
    } times[] = {{f.median, "median"}, {f.mean, "mean"}, {f.deviation, "deviation"}, {f.mad, "mad"},
                 {f.min, "min"},       {f.max, "max"},   {f.p90, "p90"},             {f.p95, "p95"},
                 {f.p99, "p99"},       {f.p999, "p99_9"}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        fputs("<td>", p->out);
        page_figure(p, FIGURE_TIME, times[i].value, "cases.%zu.metrics.time.%s", index, times[i].path);
        fputs("</td>", p->out);
    }
    cell(p, FIGURE_COUNT, (double)f.count, index, "metrics.time.count");
    cell(p, FIGURE_COUNT, 1e9 / f.mean, index, "per_second");
    cell(p, FIGURE_COUNT, c->batch > 0 ? (double)c->batch * 1e9 / f.median : NAN, index,
         "items_per_second");
    cell(p, FIGURE_BYTES, c->rss_peak, index, "memory.rss_peak");
    cell(p, FIGURE_BYTES, c->arena_bytes, index, "memory.arena");
    cell(p, FIGURE_PLAIN, c->largest_error, index, "largest_error");
    fputs("</tr>\n", p->out);
}

void page_figures_table(page *p) {
    if (p->r->case_count == 0) return;
    page_section(p, "figures", "All figures",
                 "Of every case. Deviation is that of a sample, MAD the median distance from the median; "
                 "the error is the largest difference of an output over the largest output.");
    fputs("<div class=\"scroll\"><table><thead><tr><th>case</th><th>median</th><th>mean</th>"
          "<th>deviation</th><th>MAD</th><th>min</th><th>max</th><th>p90</th><th>p95</th><th>p99</th>"
          "<th>p99.9</th><th>samples</th><th>per second</th><th>items per second</th>"
          "<th>peak resident</th><th>arena</th><th>error</th></tr></thead><tbody>\n",
          p->out);
    for (size_t i = 0; i < p->r->case_count; i++) figures_row(p, i);
    fputs("</tbody></table></div>\n", p->out);
    page_section_end(p);
}

static figure_kind kind_of(bench_metric metric) {
    switch (bench_metrics[metric].unit) {
    case UNIT_NS: return FIGURE_TIME;
    case UNIT_BYTES: return FIGURE_BYTES;
    case UNIT_COUNT: return FIGURE_COUNT;
    default: return FIGURE_PLAIN;
    }
}

/* Everything but the time that was sampled, by its median. Counters of the processor have their columns
 * where processes are measured, available or not. */
void page_counters_table(page *p) {
    bool has[METRIC_COUNT] = {false}, any = false;
    for (int m = METRIC_TIME + 1; m < METRIC_COUNT; m++) {
        for (size_t i = 0; i < p->r->case_count; i++)
            has[m] = has[m] || p->r->cases[i].series[m].count > 0;
        has[m] = has[m] || (p->r->what == BENCH_PROGRAM && m >= METRIC_CYCLES);
        any = any || has[m];
    }
    if (!any) return;
    page_section(p, "counters", "Of the processes", "Medians of what was sampled beside the time.");
    fputs("<div class=\"scroll\"><table><thead><tr><th>case</th>", p->out);
    for (int m = METRIC_TIME + 1; m < METRIC_COUNT; m++)
        if (has[m]) fprintf(p->out, "<th>%s</th>", bench_metrics[m].title);
    fputs("</tr></thead><tbody>\n", p->out);
    for (size_t i = 0; i < p->r->case_count; i++) {
        row_name(p, i);
        for (int m = METRIC_TIME + 1; m < METRIC_COUNT; m++) {
            statistics f;
            if (!has[m]) continue;
            fputs("<td>", p->out);
            if (bench_statistics(&p->r->cases[i], (bench_metric)m, &f))
                page_figure(p, kind_of((bench_metric)m), f.median, "cases.%zu.metrics.%s.median", i,
                            bench_metrics[m].name);
            else fputs("not available", p->out);
            fputs("</td>", p->out);
        }
        fputs("</tr>\n", p->out);
    }
    fputs("</tbody></table></div>\n", p->out);
    page_section_end(p);
}

/* ---- environment --------------------------------------------------------------------------------- */

static void fact(const page *p, const char *name, const char *value) {
    if (!*value) return;
    fprintf(p->out, "<tr><th>%s</th><td>", name);
    page_text(p, value);
    fputs("</td></tr>\n", p->out);
}

static void number_fact(const page *p, const char *name, figure_kind kind, double value,
                        const char *path, const char *unit) {
    if (isnan(value)) return;
    fprintf(p->out, "<tr><th>%s</th><td>", name);
    page_figure(p, kind, value, "%s", path);
    fprintf(p->out, "%s</td></tr>\n", unit);
}

static void put_machine(const page *p) {
    const bench_environment *e = &p->r->environment;
    fact(p, "date", e->date);
    fact(p, "processor", e->cpu);
    fact(p, "features", e->features);
    fact(p, "SARDONYX_CPU", e->isa);
    number_fact(p, "cores", FIGURE_COUNT, e->cores, "environment.cores", "");
    number_fact(p, "cores in use", FIGURE_COUNT, e->usable, "environment.usable_cores", "");
    number_fact(p, "memory", FIGURE_BYTES, e->memory, "environment.memory_bytes", "");
    fact(p, "system", e->os);
    fact(p, "kernel", e->kernel);
    fact(p, "virtual machine", e->hypervisor);
    fact(p, "compiler", e->compiler);
    fact(p, "governor", e->governor);
    number_fact(p, "least frequency", FIGURE_COUNT, e->frequency_min, "environment.frequency_min_hz",
                "Hz");
    number_fact(p, "most frequency", FIGURE_COUNT, e->frequency_max, "environment.frequency_max_hz",
                "Hz");
    number_fact(p, "throttled", FIGURE_COUNT, e->throttled, "environment.throttled", " times");
    number_fact(p, "load before", FIGURE_PLAIN, e->load_before, "environment.load_before", "");
    number_fact(p, "share of others", FIGURE_PLAIN, e->others, "environment.others", "");
    number_fact(p, "warm-up", FIGURE_PLAIN, p->r->warmup_s, "settings.warmup_s", " s");
    number_fact(p, "time", FIGURE_PLAIN, p->r->time_s, "settings.time_s", " s for each case");
    number_fact(p, "memory time", FIGURE_PLAIN, p->r->memory_s, "settings.memory_s", " s for each case");
}

void page_environment(page *p) {
    const bench_results *r = p->r;
    page_section(p, "environment", "Environment", "What all of this was measured on.");
    fputs("<div class=\"scroll\"><table class=\"facts\"><tbody>\n", p->out);
    put_machine(p);
    for (size_t i = 0; i < r->engine_count; i++) {
        fputs("<tr><th class=\"name\"", p->out);
        page_colour(p, i);
        fputs(">", p->out);
        page_text(p, r->engines[i].label);
        fputs("</th><td>", p->out);
        page_text(p, r->engines[i].version);
        fputs("</td></tr>\n", p->out);
    }
    for (size_t i = 0; i < r->model_count; i++) {
        const bench_model *m = &r->models[i];
        fputs("<tr><th>", p->out);
        page_text(p, m->name);
        fputs("</th><td>", p->out);
        page_figure(p, FIGURE_BYTES, m->bytes, "models.%zu.bytes", i);
        fputs(", ", p->out);
        page_figure(p, FIGURE_COUNT, (double)m->nodes, "models.%zu.nodes", i);
        fputs(" nodes, ", p->out);
        page_text(p, m->inputs);
        fputs("</td></tr>\n", p->out);
    }
    fputs("</tbody></table></div>\n", p->out);
    page_section_end(p);
}
