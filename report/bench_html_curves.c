/* bench_html_curves.c - the curves of the benchmark's page: time for each item and peak memory over the
 * batch size, a line for each engine and setting. */
#include <math.h>
#include <stdlib.h>

#include "bench_html.h"
#include "table.h"

/* What one line has in common. */
#define LINE_PARTS (PART_ALL & ~PART_BATCH)

typedef enum curve_what { CURVE_TIME, CURVE_MEMORY } curve_what;

static bool is_on(const bench_case *c) {
    return c->batch > 0 && c->model != BENCH_NONE && c->series[METRIC_TIME].count > 0;
}

/* Height of a case in the chart; NaN: none. */
static double height_of(const bench_case *c, curve_what what) {
    statistics f;
    if (what == CURVE_MEMORY) return c->rss_peak;
    return bench_statistics(c, METRIC_TIME, &f) ? f.median / (double)c->batch : NAN;
}

static bool starts_line(const bench_results *r, size_t index) {
    if (!is_on(&r->cases[index])) return false;
    for (size_t i = 0; i < index; i++)
        if (is_on(&r->cases[i]) && page_same(&r->cases[i], &r->cases[index], LINE_PARTS)) return false;
    return true;
}

/* Lines of one engine differ in their dashes. */
static unsigned dash_of(const bench_results *r, size_t index) {
    unsigned dash = 0;
    for (size_t i = 0; i < index; i++)
        if (starts_line(r, i) &&
            page_same(&r->cases[i], &r->cases[index], PART_MODEL | PART_OPERATION | PART_ENGINE))
            dash++;
    return dash % 4;
}

static int by_batch(const void *a, const void *b) {
    const bench_case *x = *(bench_case *const *)a, *y = *(bench_case *const *)b;
    return (x->batch > y->batch) - (x->batch < y->batch);
}

/* The cases of a line by batch; the number of them. */
static size_t line_points(const page *p, size_t first, curve_what what, const bench_case **points) {
    size_t count = 0;
    for (size_t i = first; i < p->r->case_count; i++) {
        const bench_case *c = &p->r->cases[i];
        if (is_on(c) && page_same(c, &p->r->cases[first], LINE_PARTS) && !isnan(height_of(c, what)))
            points[count++] = c;
    }
    qsort(points, count, sizeof *points, by_batch);
    return count;
}

static void put_point(const page *p, const bench_case *c, curve_what what, const axis *x, const axis *y) {
    size_t index = (size_t)(c - p->r->cases);
    statistics f;
    double height = height_of(c, what), at = axis_place(x, (double)c->batch);
    if (what == CURVE_TIME && bench_statistics(c, METRIC_TIME, &f)) {
        double low = fmax((f.median - f.deviation) / (double)c->batch, y->low);
        double high = fmin((f.median + f.deviation) / (double)c->batch, y->high);
        fprintf(p->out, "<path class=\"spread\" d=\"M%.1f %.1fV%.1f\"/>", at, 1000 - axis_place(y, low),
                1000 - axis_place(y, high));
    }
    fprintf(p->out, "<path class=\"dot\" d=\"M%.1f %.1fh.01\"", at, 1000 - axis_place(y, height));
    if (what == CURVE_MEMORY) page_figure_source(p, height, "cases.%zu.memory.rss_peak", index);
    else {
        page_figure_source(p, height, "cases.%zu.metrics.time.median", index);
        fprintf(p->out, " data-divided-by=\"%lld\"", (long long)c->batch);
    }
    fputs("><title>", p->out);
    page_case_name(p, index, PART_ENGINE | (PART_ALL & p->varying & ~PART_MODEL));
    fprintf(p->out, ": %s%s</title></path>\n",
            what == CURVE_TIME ? time_text(height).text : bytes_text(height).text,
            what == CURVE_TIME ? " for each" : "");
}

static void put_line(const page *p, size_t first, curve_what what, const axis *x, const axis *y,
                     const bench_case **points) {
    size_t count = line_points(p, first, what, points);
    if (count == 0) return;
    fputs("<g", p->out);
    page_colour(p, p->r->cases[first].engine);
    fprintf(p->out, "><path class=\"line d%u\" d=\"", dash_of(p->r, first));
    for (size_t i = 0; i < count; i++)
        fprintf(p->out, "%c%.1f %.1f", i ? 'L' : 'M', axis_place(x, (double)points[i]->batch),
                1000 - axis_place(y, height_of(points[i], what)));
    fputs("\"/>\n", p->out);
    for (size_t i = 0; i < count; i++) put_point(p, points[i], what, x, y);
    fputs("</g>\n", p->out);
}

static void put_frame(const page *p, const axis *y, figure_kind kind) {
    double ticks[AXIS_MAX_TICKS];
    size_t count = axis_ticks(y, ticks);
    fputs("<div class=\"frame\">", p->out);
    for (size_t i = 0; i < count; i++) {
        fprintf(p->out, "<span class=\"y\" style=\"top:%.2f%%\">", 100 - axis_place(y, ticks[i]) / 10);
        page_number(p, kind, ticks[i]);
        fputs("</span>", p->out);
    }
    fputs("<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\"><path class=\"grid\" d=\"", p->out);
    for (size_t i = 0; i < count; i++)
        fprintf(p->out, "M0 %.1fH1000", 1000 - axis_place(y, ticks[i]));
    fputs("\"/>\n", p->out);
}

static bool in_chart(const bench_case *c, const bench_case *of) {
    return is_on(c) && page_same(c, of, PART_MODEL | PART_OPERATION | PART_INPUT);
}

/* How far up a point's deviation reaches. */
static double reach_of(const bench_case *c, curve_what what) {
    statistics f;
    if (what == CURVE_MEMORY || !bench_statistics(c, METRIC_TIME, &f)) return 0;
    return (f.median + f.deviation) / (double)c->batch;
}

static void put_chart(page *p, size_t model_case, curve_what what, const bench_case **points) {
    const bench_results *r = p->r;
    const bench_case *of = &r->cases[model_case];
    double low = INFINITY, high = 0, reach = 0, first = INFINITY, last = 0;
    for (size_t i = 0; i < r->case_count; i++) {
        double height = in_chart(&r->cases[i], of) ? height_of(&r->cases[i], what) : NAN;
        if (isnan(height)) continue;
        low = fmin(low, height);
        high = fmax(high, height);
        reach = fmax(reach, reach_of(&r->cases[i], what));
        first = fmin(first, (double)r->cases[i].batch);
        last = fmax(last, (double)r->cases[i].batch);
    }
    if (!(high > 0)) return;
    axis x = axis_make(first, last, 1);
    /* One far outlier must not press all lines to the floor: its deviation is cut off then. */
    double top = fmax(high, fmin(reach, 1.6 * high));
    axis y = high / low > 6 ? (axis){low / 1.3, top * 1.3, true} : (axis){0, top * 1.1, false};
    fprintf(p->out, "<figure class=\"curve\"><figcaption>%s%s</figcaption>",
            what == CURVE_TIME ? "Time for each item: median over batch size, ± deviation"
                               : "Peak resident memory of the process",
            y.log ? " (logarithmic)" : "");
    put_frame(p, &y, what == CURVE_TIME ? FIGURE_TIME : FIGURE_BYTES);
    for (size_t i = 0; i < r->case_count; i++)
        if (starts_line(r, i) && in_chart(&r->cases[i], of)) put_line(p, i, what, &x, &y, points);
    fputs("</svg></div><div class=\"ticks\">", p->out);
    double shown = -1000;
    for (int64_t batch = (int64_t)first; batch <= (int64_t)last; batch++) {
        bool here = false;
        for (size_t i = 0; i < r->case_count && !here; i++)
            here = in_chart(&r->cases[i], of) && r->cases[i].batch == batch;
        /* Sizes that are close to each other would run into one another. */
        if (!here || axis_place(&x, (double)batch) < shown + 60) continue;
        shown = axis_place(&x, (double)batch);
        fprintf(p->out, "<span style=\"left:%.2f%%\">%lld</span>", shown / 10, (long long)batch);
    }
    fputs("</div><p class=\"unit\">batch size</p></figure>\n", p->out);
}

static void put_keys(const page *p, const bench_case *of) {
    fputs("<p class=\"legend\">", p->out);
    for (size_t i = 0; i < p->r->case_count; i++) {
        if (!starts_line(p->r, i) || !in_chart(&p->r->cases[i], of)) continue;
        fputs("<span class=\"key\"", p->out);
        page_colour(p, p->r->cases[i].engine);
        fprintf(p->out,
                "><svg viewBox=\"0 0 40 10\" aria-hidden=\"true\"><path class=\"line d%u\" "
                "d=\"M0 5H40\"/></svg>",
                dash_of(p->r, i));
        page_case_name(p, i, p->varying & (PART_ENGINE | PART_THREADS | PART_LEVEL | PART_SCHEDULE));
        fputs("</span>", p->out);
    }
    fputs("</p>\n", p->out);
}

void page_curves(page *p) {
    const bench_results *r = p->r;
    const bench_case **points = calloc(r->case_count + 1, sizeof *points);
    bool open = false;
    if (!points) p->no_memory = true;
    for (size_t i = 0; points && i < r->case_count; i++) {
        const bench_case *c = &r->cases[i];
        bool first = is_on(c), several = false;
        for (size_t k = 0; k < r->case_count; k++) {
            if (!in_chart(&r->cases[k], c)) continue;
            first = first && k >= i;
            several = several || r->cases[k].batch != c->batch;
        }
        if (!first || !several) continue;
        if (!open)
            page_section(p, "batches", "Batch sizes",
                         "What a larger batch brings, and what it costs.");
        open = true;
        fputs("<h3>", p->out);
        page_case_name(p, i, PART_MODEL | (p->varying & PART_INPUT));
        fputs("</h3>\n", p->out);
        put_keys(p, c);
        fputs("<div class=\"curves\">\n", p->out);
        put_chart(p, i, CURVE_TIME, points);
        put_chart(p, i, CURVE_MEMORY, points);
        fputs("</div>\n", p->out);
    }
    if (open) page_section_end(p);
    free(points);
}
