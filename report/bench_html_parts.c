/* bench_html_parts.c - the pieces that the benchmark's page is made of: texts, names, figures, axes. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "bench_html.h"
#include "json.h"
#include "table.h"

void page_text(const page *p, const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = utf8_length(at);
        if (*at == '<') fputs("&lt;", p->out);
        else if (*at == '>') fputs("&gt;", p->out);
        else if (*at == '&') fputs("&amp;", p->out);
        else if (*at == '"') fputs("&quot;", p->out);
        else if (*at < 0x20 || *at == 0x7f) fputc(' ', p->out);
        else if (length == 0) fputs("\xef\xbf\xbd", p->out);
        else fwrite(at, 1, length, p->out);
        at += length ? length : 1;
    }
}

/* ---- names of cases ------------------------------------------------------------------------------ */

bool page_same(const bench_case *a, const bench_case *b, unsigned parts) {
    return !(((parts & PART_MODEL) && a->model != b->model) ||
             ((parts & PART_OPERATION) && strcmp(a->operation, b->operation) != 0) ||
             ((parts & PART_ENGINE) && a->engine != b->engine) ||
             ((parts & PART_BATCH) && a->batch != b->batch) ||
             ((parts & PART_THREADS) && a->threads != b->threads) ||
             ((parts & PART_LEVEL) && a->optimize != b->optimize) ||
             ((parts & PART_SCHEDULE) && a->alternating != b->alternating) ||
             ((parts & PART_INPUT) && a->preprocessed != b->preprocessed));
}

unsigned page_varying(const bench_results *r) {
    unsigned varying = 0;
    for (unsigned part = 1; part < PART_ALL; part *= 2)
        for (size_t i = 1; i < r->case_count; i++)
            if (!page_same(&r->cases[i], &r->cases[0], part)) varying |= part;
    return varying;
}

typedef struct name_parts {
    const page *p;
    bool any;
} name_parts;

static void name_part(name_parts *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void name_part(name_parts *to, const char *format, ...) {
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (to->any) fputs(", ", to->p->out);
    page_text(to->p, text);
    to->any = true;
}

void page_case_name(const page *p, size_t index, unsigned parts) {
    const bench_case *c = &p->r->cases[index];
    name_parts to = {p, false};
    if ((parts & PART_OPERATION) && p->r->what != BENCH_RUN) name_part(&to, "%s", c->operation);
    if ((parts & PART_MODEL) && c->model != BENCH_NONE)
        name_part(&to, "%s", p->r->models[c->model].name);
    if ((parts & PART_ENGINE) && c->engine != BENCH_NONE)
        name_part(&to, "%s", p->r->engines[c->engine].label);
    if ((parts & PART_BATCH) && c->batch > 0) name_part(&to, "batch %lld", (long long)c->batch);
    if ((parts & PART_THREADS) && c->threads == 0) name_part(&to, "own threads");
    if ((parts & PART_THREADS) && c->threads > 0)
        name_part(&to, "%d thread%s", c->threads, c->threads == 1 ? "" : "s");
    if ((parts & PART_LEVEL) && c->optimize >= 0) name_part(&to, "level %d", c->optimize);
    if ((parts & PART_SCHEDULE) && c->alternating) name_part(&to, "alternating");
    if ((parts & PART_INPUT) && c->preprocessed) name_part(&to, "with pre-processing");
    /* Where nothing tells it apart there is still something to call it. */
    if (!to.any && c->engine != BENCH_NONE) name_part(&to, "%s", p->r->engines[c->engine].label);
    if (!to.any) name_part(&to, "%s", c->operation);
}

void page_colour(const page *p, size_t engine) {
    fprintf(p->out, " style=\"--c:var(--e%zu)\"", engine == BENCH_NONE ? 7 : engine % 8);
}

/* ---- figures ------------------------------------------------------------------------------------- */

static void put_number(FILE *out, figure_kind kind, double value) {
    switch (kind) {
    case FIGURE_TIME: fputs(time_text(value).text, out); break;
    case FIGURE_BYTES: fputs(bytes_text(value).text, out); break;
    case FIGURE_COUNT: fputs(count_text(value).text, out); break;
    case FIGURE_RATIO: fprintf(out, "%.2f", value); break;
    case FIGURE_PLAIN: fprintf(out, "%.3g", value); break;
    }
}

void page_number(const page *p, figure_kind kind, double value) {
    put_number(p->out, kind, value);
}

static void put_source(FILE *out, double value, const char *path, va_list arguments) {
    fputs(" data-json=\"", out);
    vfprintf(out, path, arguments);
    fprintf(out, "\" data-value=\"%.17g\"", value);
}

void page_figure_source(const page *p, double value, const char *path, ...) {
    va_list arguments;
    va_start(arguments, path);
    put_source(p->out, value, path, arguments);
    va_end(arguments);
}

void page_figure(const page *p, figure_kind kind, double value, const char *path, ...) {
    if (isnan(value)) return;
    va_list arguments;
    va_start(arguments, path);
    fputs("<b", p->out);
    put_source(p->out, value, path, arguments);
    static const char *const names[] = {"time", "bytes", "count", "ratio", "plain"};
    fprintf(p->out, " data-kind=\"%s\">", names[kind]);
    put_number(p->out, kind, value);
    fputs("</b>", p->out);
    va_end(arguments);
}

/* ---- axes ---------------------------------------------------------------------------------------- */

axis axis_make(double low, double high, double log_beyond) {
    axis a = {low, high, low > 0 && high / low > log_beyond};
    if (!(high > low)) { /* one value: in the middle */
        a.low = low - (low != 0 ? fabs(low) * 0.05 : 1);
        a.high = low + (low != 0 ? fabs(low) * 0.05 : 1);
    }
    return a;
}

double axis_place(const axis *a, double value) {
    double share = a->log ? log(value / a->low) / log(a->high / a->low)
                          : (value - a->low) / (a->high - a->low);
    return 1000 * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static size_t linear_ticks(const axis *a, double *ticks) {
    double step = pow(10, floor(log10((a->high - a->low) / 4)));
    while ((a->high - a->low) / step > 5.5) {
        double lead = step / pow(10, floor(log10(step) + 1e-9));
        step *= lead < 1.5 ? 2 : lead < 3 ? 2.5 : 2;
    }
    /* Not a count of doubles: one that is large enough stays the same when 1 is added. */
    const double first = ceil(a->low / step - 1e-9);
    size_t count = 0;
    for (; count < AXIS_MAX_TICKS; count++) {
        const double at = (first + (double)count) * step;
        if (!(at <= a->high * (1 + 1e-12))) break;
        ticks[count] = at + 0.0; /* no -0 */
    }
    return count;
}

/* 1, 2 and 5 of each decade, thinned until they fit. */
static size_t log_ticks(const axis *a, double *ticks) {
    static const double leads[] = {1, 2, 5};
    for (int every = 1; every <= 3; every += 2) { /* 1, 2, 5 or 1 alone */
        for (int decades = 1; decades < 32; decades++) {
            size_t count = 0, fitting = 0;
            for (int e = (int)floor(log10(a->low)); e <= (int)ceil(log10(a->high)); e++) {
                if (((e % decades) + decades) % decades != 0) continue;
                for (int i = 0; i < 3; i += every) {
                    double at = leads[i] * pow(10, e);
                    if (at < a->low * (1 - 1e-9) || at > a->high * (1 + 1e-9)) continue;
                    if (count++ < AXIS_MAX_TICKS) ticks[fitting++] = at;
                }
            }
            if (count <= AXIS_MAX_TICKS && (count >= 2 || every == 3)) return count;
            if (every == 1) break;
        }
    }
    return 0;
}

size_t axis_ticks(const axis *a, double *ticks) {
    /* Less than a decade: the round numbers of a plain axis say more. */
    return a->log && a->high / a->low > 5 ? log_ticks(a, ticks) : linear_ticks(a, ticks);
}

/* ---- sections ------------------------------------------------------------------------------------ */

void page_section(const page *p, const char *id, const char *title, const char *about) {
    fprintf(p->out, "<section id=\"%s\"><h2>%s</h2>\n<p class=\"about\">%s</p>\n", id, title, about);
}

void page_section_end(const page *p) {
    fputs("</section>\n", p->out);
}
