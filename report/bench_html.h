/* bench_html.h - what the files of the benchmark's page share: bench_html.c is the page around the
 * charts, bench_html_rows.c the charts with a row for each case, bench_html_curves.c those over batch
 * sizes, bench_html_tables.c the tables, bench_html_parts.c the pieces of all of them.
 *
 * The page has no program and no picture files: charts are SVG without text, stretched to the width that
 * there is, with HTML around it for everything that is read, so that a phone shows it at its own size.
 * A figure carries data-json, the path of the same number in the JSON, and data-value, that number. */
#ifndef SDX_REPORT_BENCH_HTML_H
#define SDX_REPORT_BENCH_HTML_H

#include "bench_results.h"

/* Parts of a case's name, as bits. */
#define PART_MODEL 1u
#define PART_OPERATION 2u
#define PART_ENGINE 4u
#define PART_BATCH 8u
#define PART_THREADS 16u
#define PART_LEVEL 32u
#define PART_SCHEDULE 64u
#define PART_INPUT 128u
#define PART_ALL 255u

typedef struct page {
    const bench_results *r;
    FILE *out;
    unsigned varying; /* parts in which cases differ: the others need no mention */
    bool no_memory;
} page;

/* Along an axis, whose ends are at 0 and 1000. */
typedef struct axis {
    double low, high;
    bool log;
} axis;

typedef enum figure_kind { FIGURE_TIME, FIGURE_BYTES, FIGURE_COUNT, FIGURE_RATIO, FIGURE_PLAIN } figure_kind;

/* ---- bench_html_parts.c ---- */

void page_text(const page *p, const char *text); /* escaped */
/* The parts of a case's name that are asked for; a mark in the engine's colour before it. */
void page_case_name(const page *p, size_t index, unsigned parts);
unsigned page_varying(const bench_results *r);
bool page_same(const bench_case *a, const bench_case *b, unsigned parts); /* in those parts */
/* A number as people read it; path: where the JSON has it, printf style. Nothing where it is NaN. */
void page_figure(const page *p, figure_kind kind, double value, const char *path, ...)
    __attribute__((format(printf, 4, 5)));
/* The attributes alone, for a piece of a picture. */
void page_figure_source(const page *p, double value, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
void page_number(const page *p, figure_kind kind, double value); /* without a source: an axis */
/* " style=..": the colour of an engine. */
void page_colour(const page *p, size_t engine);

double axis_place(const axis *a, double value);
axis axis_make(double low, double high, double log_beyond); /* a log axis beyond that quotient */
#define AXIS_MAX_TICKS 8
size_t axis_ticks(const axis *a, double *ticks); /* round numbers, at most AXIS_MAX_TICKS */

void page_section(const page *p, const char *id, const char *title, const char *about);
void page_section_end(const page *p);

/* ---- the charts; each writes a section, or nothing where it has nothing to show ---- */

void page_ratios(page *p);
void page_boxes(page *p);
void page_memory(page *p);
void page_cold_start(page *p);
void page_curves(page *p);
void page_figures_table(page *p);
void page_counters_table(page *p);
void page_environment(page *p);

extern const char page_style[]; /* bench_html_style.c */

#endif
