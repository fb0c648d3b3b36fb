/* bench_html.c - a benchmark as one page that needs nothing else: no network, no program, no picture
 * files. It carries its JSON, too. bench_html.h says what is where. */
#include "bench_html.h"

#include <math.h>

enum { MAX_OPEN_WARNINGS = 8 };

static void put_title(const page *p) {
    const bench_results *r = p->r;
    static const char *const whats[] = {"Loading", "Running", "Whole programs:"};
    if (*r->title) {
        page_text(p, r->title);
        return;
    }
    fputs(whats[r->what], p->out);
    for (size_t i = 0; i < r->model_count && i < 4; i++) {
        fputs(i ? ", " : " ", p->out);
        page_text(p, i == 3 ? "…" : r->models[i].name);
    }
}

static void put_head(const page *p) {
    const bench_environment *e = &p->r->environment;
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          p->out);
    put_title(p);
    fputs("</title>\n<style>\n", p->out);
    fputs(page_style, p->out);
    fputs("</style></head><body>\n<header><p class=\"brand\">sardonyx bench</p><h1>", p->out);
    put_title(p);
    fputs("</h1>\n<p class=\"sub\">", p->out);
    const char *const facts[] = {e->date, e->cpu, e->os};
    for (size_t i = 0, any = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!*facts[i]) continue;
        if (any++) fputs(" · ", p->out);
        page_text(p, facts[i]);
    }
    fputs("</p>\n", p->out);
    if (*p->r->command) {
        fputs("<code>", p->out);
        page_text(p, p->r->command);
        fputs("</code>\n", p->out);
    }
    fputs("</header>\n<main>\n", p->out);
}

/* A card for each engine: the geometric mean of its ratios. */
static void put_cards(const page *p) {
    const bench_results *r = p->r;
    bool open = false;
    for (size_t e = 0; e < r->engine_count; e++) {
        double sum = 0;
        size_t count = 0;
        for (size_t i = 0; i < r->ratio_count; i++) {
            const bench_ratio *one = &r->ratios[i];
            if (one->relation != RELATION_ENGINE || r->cases[one->of].engine != e) continue;
            if (!(one->time.value > 0)) continue;
            sum += log(one->time.value);
            count++;
        }
        if (count == 0) continue;
        if (!open)
            page_section(p, "short", "In short",
                         "How many times as long as Sardonyx: the geometric mean of all comparisons.");
        if (!open) fputs("<div class=\"cards\">\n", p->out);
        open = true;
        fputs("<div class=\"card\"", p->out);
        page_colour(p, e);
        fprintf(p->out, "><b data-mean-of-engine=\"%zu\">%.2f×</b>", e, exp(sum / (double)count));
        page_text(p, r->engines[e].label);
        fputs(" ", p->out);
        page_text(p, r->engines[e].version);
        fprintf(p->out, "<div class=\"detail\">%zu comparison%s</div></div>\n", count,
                count == 1 ? "" : "s");
    }
    if (open) {
        fputs("</div>", p->out);
        page_section_end(p);
    }
}

static void put_skipped(const page *p) {
    const bench_results *r = p->r;
    if (r->skipped_count == 0) return;
    fputs("<div class=\"notice\" id=\"skipped\">Not measured:<ul>\n", p->out);
    for (size_t i = 0; i < r->skipped_count; i++) {
        const bench_skipped *s = &r->skipped[i];
        const char *const parts[] = {s->engine, s->model, s->setting};
        fputs("<li>", p->out);
        for (size_t k = 0, any = 0; k < sizeof parts / sizeof *parts; k++) {
            if (!*parts[k]) continue;
            if (any++) fputs(", ", p->out);
            page_text(p, parts[k]);
        }
        fputs(": ", p->out);
        page_text(p, s->reason);
        if (*s->install) {
            fputs(" (to install: ", p->out);
            page_text(p, s->install);
            fputs(")", p->out);
        }
        fputs("</li>\n", p->out);
    }
    fputs("</ul></div>\n", p->out);
}

static void put_warning(const page *p, size_t at) {
    const bench_warning *w = &p->r->warnings[at];
    fputs("<li>", p->out);
    if (w->of != BENCH_NONE) {
        page_case_name(p, w->of, p->varying);
        fputs(": ", p->out);
    }
    page_text(p, w->text);
    fputs("</li>\n", p->out);
}

static void put_notices(const page *p) {
    const bench_results *r = p->r;
    if (r->interrupted)
        fputs("<div class=\"notice\" id=\"interrupted\">Interrupted: this is what was measured until "
              "then.</div>\n",
              p->out);
    if (r->warning_count) {
        fputs("<div class=\"notice\" id=\"warnings\">Beware:<ul>\n", p->out);
        /* First what concerns all of it; then each case's own, folded where there are many. */
        for (size_t i = 0; i < r->warning_count; i++)
            if (r->warnings[i].of == BENCH_NONE) put_warning(p, i);
        bool folded = r->warning_count > MAX_OPEN_WARNINGS;
        if (folded)
            fprintf(p->out, "</ul><details><summary>%zu warnings in all</summary><ul>\n",
                    r->warning_count);
        for (size_t i = 0; i < r->warning_count; i++)
            if (r->warnings[i].of != BENCH_NONE) put_warning(p, i);
        fputs(folded ? "</ul></details></div>\n" : "</ul></div>\n", p->out);
    }
    put_skipped(p);
}

bool bench_write_html(const bench_results *r, FILE *out) {
    page p = {r, out, page_varying(r), false};
    put_head(&p);
    put_cards(&p);
    put_notices(&p);
    page_ratios(&p);
    page_curves(&p);
    page_boxes(&p);
    page_cold_start(&p);
    page_memory(&p);
    page_counters_table(&p);
    page_figures_table(&p);
    page_environment(&p);
    fputs("</main>\n<footer>Made by sardonyx bench. The page holds all figures as JSON, raw samples "
          "included, in the script element with the id \"data\".</footer>\n"
          "<script type=\"application/json\" id=\"data\">\n",
          out);
    bool good = bench_write_json(r, out);
    fputs("\n</script></body></html>\n", out);
    return good && !p.no_memory && !ferror(out);
}
