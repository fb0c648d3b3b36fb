/* bench_html_rows.c - the charts of the benchmark's page that have a row for each case: ratios with
 * their intervals, box plots, memory, the way to the first result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_html.h"
#include "table.h"

/* ---- rows
 * ---------------------------------------------------------------------------------------- */

static void row_start(const page *p, size_t index, unsigned parts) {
    fputs("<div class=\"row\"", p->out);
    page_colour(p, p->r->cases[index].engine);
    fputs("><span class=\"name\">", p->out);
    page_case_name(p, index, parts & p->varying);
    fputs("</span><svg viewBox=\"0 0 1000 22\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
          p->out);
}

static void row_value(const page *p) { fputs("</svg><span class=\"value\">", p->out); }

static void row_end(const page *p) { fputs("</span></div>\n", p->out); }

static void put_grid(const page *p, const axis *a) {
    double ticks[AXIS_MAX_TICKS];
    size_t count = axis_ticks(a, ticks);
    fputs("<path class=\"grid\" d=\"", p->out);
    for (size_t i = 0; i < count; i++) fprintf(p->out, "M%.1f 0V22", axis_place(a, ticks[i]));
    fputs("\"/>", p->out);
}

#define LABEL_WIDTH 12.0 /* percent of an axis that a number takes */

static void put_axis(const page *p, const axis *a, figure_kind kind) {
    double ticks[AXIS_MAX_TICKS], taken = -LABEL_WIDTH;
    size_t count = axis_ticks(a, ticks);
    fputs("<div class=\"axis\"><div class=\"ticks\">", p->out);
    for (size_t i = 0; i < count; i++) {
        /* At the ends of the axis a text that is centred would stick out; one that would touch the
         * text before it is left out, its line stays. */
        double at = axis_place(a, ticks[i]) / 10;
        double left = at > 94 ? at - LABEL_WIDTH : at < 4 ? at : at - LABEL_WIDTH / 2;
        if (left < taken) continue;
        taken = left + LABEL_WIDTH;
        fprintf(p->out, "<span%s style=\"left:%.2f%%\">",
                at > 94  ? " class=\"end\""
                : at < 4 ? " class=\"begin\""
                         : "",
                at);
        if (kind == FIGURE_RATIO) fprintf(p->out, "%.3g×", ticks[i]);
        else page_number(p, kind, ticks[i]);
        fputs("</span>", p->out);
    }
    fputs("</div></div>\n", p->out);
}

static void group_heading(const page *p, size_t index, unsigned parts) {
    fputs("<h3>", p->out);
    page_case_name(p, index, parts);
    fputs("</h3>\n", p->out);
}

/* Whether no case before it, of those that `counts`, is the same in these parts. */
static bool is_first(const page *p, size_t index, unsigned parts,
                     bool (*counts)(const bench_case *)) {
    if (!counts(&p->r->cases[index])) return false;
    for (size_t i = 0; i < index; i++)
        if (counts(&p->r->cases[i]) && page_same(&p->r->cases[i], &p->r->cases[index], parts))
            return false;
    return true;
}

/* ---- ratios
 * -------------------------------------------------------------------------------------- */

static const struct {
    const char *title, *about;
} relations[] = {
    [RELATION_ENGINE] = {"Engines",
                         "How many times as long the other engine takes as Sardonyx, in the "
                         "same setting: right of 1, Sardonyx is faster."},
    [RELATION_OPTIMIZE] = {"Optimisation levels", "How many times as long a level takes as the one "
                                                  "compared with."},
    [RELATION_SCHEDULE] = {"Alternating sizes",
                           "How many times as long a batch takes where sizes change "
                           "from run to run, over the same size alone."},
    [RELATION_MODEL] =
        {"Exports", "How many times as long one export of a model takes as the first one, on the "
                    "same engine."},
    [RELATION_OTHER] = {"Among each other",
                        "How many times as long a case takes as the first one."},
    [RELATION_BASELINE] = {"Since the baseline",
                           "How many times as long it takes now: right of 1, it "
                           "became slower."},
};

static void put_ratio_row(const page *p, size_t at, const axis *a, unsigned parts) {
    const bench_ratio *one = &p->r->ratios[at];
    const ratio *t = &one->time;
    row_start(p, one->of, parts);
    put_grid(p, a);
    fprintf(p->out, "<path class=\"one\" d=\"M%.1f 0V22\"/>", axis_place(a, 1));
    if (!isnan(t->low))
        fprintf(p->out, "<path class=\"mark\" d=\"M%.1f 11H%.1fM%.1f 6V16M%.1f 6V16\"/>",
                axis_place(a, t->low), axis_place(a, t->high), axis_place(a, t->low),
                axis_place(a, t->high));
    fprintf(p->out, "<path class=\"dot\" d=\"M%.1f 11h.01\"/>", axis_place(a, t->value));
    row_value(p);
    page_figure(p, FIGURE_RATIO, t->value, "ratios.%zu.value", at);
    fputs("×", p->out);
    if (!isnan(t->low)) {
        fputs(" <span class=\"detail\">(", p->out);
        page_figure(p, FIGURE_RATIO, t->low, "ratios.%zu.low", at);
        fputs("–", p->out);
        page_figure(p, FIGURE_RATIO, t->high, "ratios.%zu.high", at);
        fputs(")</span>", p->out);
    }
    /* Another engine that is slower is good news; a level or a case of our own says neither. */
    bool judged = one->relation == RELATION_ENGINE || one->relation == RELATION_BASELINE;
    bool good = (t->verdict == RATIO_LARGER) == (one->relation == RELATION_ENGINE);
    bool told = t->verdict == RATIO_LARGER || t->verdict == RATIO_SMALLER;
    fprintf(p->out, " <span class=\"detail %s\">%s%s</span>",
            !judged || !told ? "same"
            : good           ? "slower"
                             : "faster",
            t->verdict == RATIO_LARGER    ? "slower"
            : t->verdict == RATIO_SMALLER ? "faster"
                                          : ratio_verdict_name(t->verdict),
            one->fails ? ", fails" : "");
    row_end(p);
}

static bool ratio_range(const page *p, bench_relation relation, axis *a) {
    double low = 1, high = 1;
    bool any = false;
    for (size_t i = 0; i < p->r->ratio_count; i++) {
        const ratio *t = &p->r->ratios[i].time;
        if (p->r->ratios[i].relation != relation || isnan(t->value)) continue;
        any = true;
        low = fmin(low, isnan(t->low) ? t->value : fmin(t->low, t->value));
        high = fmax(high, isnan(t->high) ? t->value : fmax(t->high, t->value));
    }
    *a = (axis){low / 1.08, high * 1.08, true};
    return any;
}

void page_ratios(page *p) {
    const unsigned heading = p->r->what == BENCH_LOAD ? PART_OPERATION : PART_MODEL;
    bool open = false;
    for (int relation = 0; relation <= RELATION_BASELINE; relation++) {
        axis a;
        if (!ratio_range(p, (bench_relation)relation, &a)) continue;
        if (!open)
            page_section(
                p, "ratios", "Ratios of times",
                "A dot is the ratio of medians, the line the interval that holds it with 95 % "
                "confidence (bootstrap over rounds). The axis is logarithmic.");
        open = true;
        fprintf(p->out, "<h3>%s</h3><p class=\"about\">%s</p>\n<div class=\"chart\">\n",
                relations[relation].title, relations[relation].about);
        size_t last = BENCH_NONE; /* case under the latest heading */
        for (size_t i = 0; i < p->r->ratio_count; i++) {
            const bench_ratio *one = &p->r->ratios[i];
            if (one->relation != (bench_relation)relation || isnan(one->time.value)) continue;
            if ((p->varying & heading) &&
                (last == BENCH_NONE ||
                 !page_same(&p->r->cases[one->of], &p->r->cases[last], heading))) {
                fputs("<h4>", p->out);
                page_case_name(p, one->of, heading);
                fputs("</h4>\n", p->out);
                last = one->of;
            }
            put_ratio_row(p, i, &a, PART_ALL & ~heading);
        }
        put_axis(p, &a, FIGURE_RATIO);
        fputs("</div>\n", p->out);
    }
    if (open) page_section_end(p);
}

/* ---- box plots
 * ----------------------------------------------------------------------------------- */

static bool is_timed(const bench_case *c) { return c->series[METRIC_TIME].count > 0; }

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void put_box(page *p, size_t index, const axis *a) {
    const bench_case *c = &p->r->cases[index];
    const bench_series *s = &c->series[METRIC_TIME];
    statistics f;
    double *sorted = malloc(s->count * sizeof *sorted);
    if (!sorted || !bench_statistics(c, METRIC_TIME, &f)) {
        p->no_memory = true;
        free(sorted);
        return;
    }
    memcpy(sorted, s->values, s->count * sizeof *sorted);
    qsort(sorted, s->count, sizeof *sorted, by_value);
    double low = axis_place(a, statistics_percentile(sorted, s->count, 0.25));
    double high = axis_place(a, statistics_percentile(sorted, s->count, 0.75));
    double first = f.max, last = f.min; /* whiskers: the outermost samples within the fences */
    for (size_t i = 0; i < s->count; i++) {
        if (statistics_is_outlier(&f, sorted[i])) continue;
        first = fmin(first, sorted[i]);
        last = fmax(last, sorted[i]);
    }
    fprintf(p->out, "<path class=\"mark\" d=\"M%.1f 11H%.1fM%.1f 11H%.1fM%.1f 7V15M%.1f 7V15\"/>",
            axis_place(a, first), low, high, axis_place(a, last), axis_place(a, first),
            axis_place(a, last));
    fprintf(p->out, "<rect class=\"box\" x=\"%.1f\" y=\"4\" width=\"%.1f\" height=\"14\"/>", low,
            fmax(high - low, 0.5));
    fputs("<path class=\"out\" d=\"", p->out);
    for (size_t i = 0; i < s->count; i++)
        if (statistics_is_outlier(&f, sorted[i]))
            fprintf(p->out, "M%.1f 11h.01", axis_place(a, sorted[i]));
    fprintf(p->out, "\"/><path class=\"median\" d=\"M%.1f 3V19\"/>", axis_place(a, f.median));
    row_value(p);
    page_figure(p, FIGURE_TIME, f.median, "cases.%zu.metrics.time.median", index);
    fputs(" <span class=\"detail\">± ", p->out);
    page_figure(p, FIGURE_TIME, f.deviation, "cases.%zu.metrics.time.deviation", index);
    fputs("</span>", p->out);
    free(sorted);
}

/* Cases that share these parts share a chart: what is left to compare are engines, threads, levels;
 * or, where there is one of each, everything. */
static unsigned box_group(const page *p) {
    if (p->r->what == BENCH_LOAD || !(p->varying & (PART_ENGINE | PART_THREADS | PART_LEVEL)))
        return PART_OPERATION;
    return PART_MODEL | PART_OPERATION | PART_BATCH | PART_INPUT;
}

void page_boxes(page *p) {
    const bench_results *r = p->r;
    unsigned group = box_group(p);
    bool any = false;
    for (size_t i = 0; i < r->case_count; i++) any = any || is_timed(&r->cases[i]);
    if (!any) return;
    page_section(
        p, "boxes", "Times",
        "Every sample counts: box from the first to the third quartile, line at the median, "
        "whiskers to the last samples within 1.5 box lengths, dots beyond. Beside it the median "
        "and the standard deviation.");
    for (size_t i = 0; i < r->case_count; i++) {
        if (!is_first(p, i, group, is_timed)) continue;
        double low = INFINITY, high = 0;
        for (size_t k = i; k < r->case_count; k++) {
            statistics f;
            if (!page_same(&r->cases[k], &r->cases[i], group)) continue;
            if (!bench_statistics(&r->cases[k], METRIC_TIME, &f)) continue;
            low = fmin(low, f.min);
            high = fmax(high, f.max);
        }
        axis a = axis_make(low * 0.99, high * 1.01, 4);
        if (group & p->varying) group_heading(p, i, group & p->varying);
        fputs("<div class=\"chart\">\n", p->out);
        for (size_t k = i; k < r->case_count; k++) {
            if (!is_timed(&r->cases[k]) || !page_same(&r->cases[k], &r->cases[i], group)) continue;
            row_start(p, k, PART_ALL & ~group);
            put_grid(p, &a);
            put_box(p, k, &a);
            row_end(p);
        }
        put_axis(p, &a, FIGURE_TIME);
        fputs("</div>\n", p->out);
    }
    page_section_end(p);
}

/* ---- stacked bars: memory and cold start
 * ---------------------------------------------------------- */

enum { SEGMENTS = 4 };

static void put_segments(const page *p, const axis *a, const double *ends) {
    double from = 0;
    for (int s = 0; s < SEGMENTS; s++) {
        double to = isnan(ends[s]) ? from : axis_place(a, ends[s]);
        if (to > from)
            fprintf(p->out, "<rect class=\"s%d\" x=\"%.2f\" y=\"3\" width=\"%.2f\" height=\"16\"/>",
                    s, from, to - from);
        from = fmax(from, to);
    }
}

static void put_legend(const page *p, const char *const *names) {
    static const char *const shades[] = {".28", ".5", ".74", "1"};
    fputs("<p class=\"legend\">", p->out);
    for (int s = 0; s < SEGMENTS; s++)
        if (names[s])
            fprintf(p->out, "<span><i style=\"opacity:%s\"></i>%s</span>", shades[s], names[s]);
    fputs("</p>\n", p->out);
}

/* Peak of the process: noted at its end, or sampled; NaN: neither. */
static double peak_of(const bench_case *c) {
    statistics f;
    if (!isnan(c->rss_peak)) return c->rss_peak;
    return bench_statistics(c, METRIC_RSS_PEAK, &f) ? f.median : NAN;
}

static bool has_memory(const bench_case *c) { return !c->alternating && !isnan(peak_of(c)); }

static void put_memory_row(const page *p, size_t index, const axis *a, unsigned parts) {
    const bench_case *c = &p->r->cases[index];
    double peak = peak_of(c), heap = NAN;
    statistics f;
    if (bench_statistics(c, METRIC_HEAP_PEAK, &f)) heap = f.median;
    double ends[SEGMENTS] = {c->rss_bare, c->rss_ready, c->rss_loaded, peak};
    if (!isnan(heap) && isnan(c->rss_loaded)) {
        ends[0] = ends[1] = NAN;
        ends[2] = heap < peak ? heap : NAN; /* darker: what went through the allocator */
    }
    row_start(p, index, parts);
    put_grid(p, a);
    put_segments(p, a, ends);
    row_value(p);
    if (!isnan(c->rss_peak)) page_figure(p, FIGURE_BYTES, peak, "cases.%zu.memory.rss_peak", index);
    else page_figure(p, FIGURE_BYTES, peak, "cases.%zu.metrics.rss_peak.median", index);
    if (!isnan(heap)) {
        fputs(" <span class=\"detail\">heap ", p->out);
        page_figure(p, FIGURE_BYTES, heap, "cases.%zu.metrics.heap_peak.median", index);
        fputs("</span>", p->out);
    }
    row_end(p);
}

void page_memory(page *p) {
    const bench_results *r = p->r;
    const unsigned group = r->what == BENCH_LOAD ? PART_OPERATION : PART_MODEL | PART_OPERATION;
    static const char *const names[] = {"interpreter alone", "engine imported", "model loaded",
                                        "peak"};
    static const char *const heap_names[] = {NULL, NULL, "heap of the engine",
                                             "peak of the process"};
    bool open = false;
    for (size_t i = 0; i < r->case_count; i++) {
        if (!is_first(p, i, group, has_memory)) continue;
        if (!open) {
            page_section(
                p, "memory", "Memory",
                "Resident memory of the whole process at its peak, and how it came about.");
            put_legend(p, r->what == BENCH_LOAD ? heap_names : names);
        }
        open = true;
        double high = 0;
        for (size_t k = i; k < r->case_count; k++)
            if (has_memory(&r->cases[k]) && page_same(&r->cases[k], &r->cases[i], group))
                high = fmax(high, peak_of(&r->cases[k]));
        axis a = {0, high > 0 ? high * 1.02 : 1, false};
        if (group & p->varying) group_heading(p, i, group & p->varying);
        fputs("<div class=\"chart\">\n", p->out);
        for (size_t k = i; k < r->case_count; k++)
            if (has_memory(&r->cases[k]) && page_same(&r->cases[k], &r->cases[i], group))
                put_memory_row(p, k, &a, PART_ALL & ~group);
        put_axis(p, &a, FIGURE_BYTES);
        fputs("</div>\n", p->out);
    }
    if (open) page_section_end(p);
}

static bool has_start(const bench_case *c) {
    return !isnan(c->load_ns) && !isnan(c->first_ns) && !c->alternating;
}

static void start_ends(const bench_case *c, double *ends) {
    double start = isnan(c->start_ns) ? 0 : c->start_ns;
    ends[0] = start;
    ends[1] = isnan(c->import_ns) ? NAN : start + c->import_ns;
    ends[2] = start + c->load_ns;
    ends[3] = start + c->load_ns + c->first_ns;
}

static void put_start_row(const page *p, size_t index, const axis *a, unsigned parts) {
    const bench_case *c = &p->r->cases[index];
    double ends[SEGMENTS];
    start_ends(c, ends);
    row_start(p, index, parts);
    put_grid(p, a);
    put_segments(p, a, ends);
    fputs("</svg><span class=\"value\"><b>", p->out);
    page_number(p, FIGURE_TIME, ends[3]);
    fputs("</b></span><span class=\"detail\">", p->out);
    if (!isnan(c->start_ns)) {
        fputs("start ", p->out);
        page_figure(p, FIGURE_TIME, c->start_ns, "cases.%zu.start.start_ns", index);
        fputs(", ", p->out);
    }
    fputs("load ", p->out);
    page_figure(p, FIGURE_TIME, c->load_ns, "cases.%zu.start.load_ns", index);
    if (!isnan(c->import_ns)) {
        fputs(" (reading ", p->out);
        page_figure(p, FIGURE_TIME, c->import_ns, "cases.%zu.start.import_ns", index);
        fputs(")", p->out);
    }
    fputs(", first run ", p->out);
    page_figure(p, FIGURE_TIME, c->first_ns, "cases.%zu.start.first_ns", index);
    row_end(p);
}

void page_cold_start(page *p) {
    const bench_results *r = p->r;
    const unsigned group = PART_MODEL | PART_OPERATION;
    static const char *const names[] = {"start of the process", "reading the model",
                                        "making it ready", "first run"};
    bool open = false;
    for (size_t i = 0; i < r->case_count; i++) {
        if (!is_first(p, i, group, has_start)) continue;
        if (!open) {
            page_section(
                p, "start", "The way to the first result",
                "From starting the process, an interpreter and imports included, to the result "
                "of the first run; the smallest batch of each.");
            put_legend(p, names);
        }
        open = true;
        double high = 0, ends[SEGMENTS];
        for (size_t pass = 0; pass < 2; pass++) {
            axis a = {0, high > 0 ? high * 1.02 : 1, false};
            if (pass == 1) {
                if (group & p->varying) group_heading(p, i, group & p->varying);
                fputs("<div class=\"chart two\">\n", p->out);
            }
            for (size_t k = i; k < r->case_count; k++) {
                const bench_case *c = &r->cases[k];
                /* Cases of one model are in the order of their batches. */
                if (!page_same(c, &r->cases[i], group) ||
                    !is_first(p, k, PART_ALL & ~PART_BATCH, has_start))
                    continue;
                start_ends(c, ends);
                high = fmax(high, ends[3]);
                if (pass == 1) put_start_row(p, k, &a, PART_ALL & ~group);
            }
            if (pass == 1) put_axis(p, &a, FIGURE_TIME);
        }
        fputs("</div>\n", p->out);
    }
    if (open) page_section_end(p);
}
