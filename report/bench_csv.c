/* bench_csv.c - a benchmark as CSV (RFC 4180): one line for each case and metric, with the figures of
 * its samples; the raw samples are in the JSON. Times are nanoseconds, memory is bytes. */
#include <math.h>
#include <string.h>

#include "bench_results.h"

static void put_text(FILE *out, const char *text) {
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_number(FILE *out, double value) {
    fputc(',', out);
    if (isfinite(value)) fprintf(out, "%.9g", value);
}

static void put_setting(FILE *out, const bench_results *r, const bench_case *c) {
    put_text(out, c->model == BENCH_NONE ? "" : r->models[c->model].name);
    fputc(',', out);
    put_text(out, c->engine == BENCH_NONE ? "" : r->engines[c->engine].name);
    fputc(',', out);
    put_text(out, c->engine == BENCH_NONE ? "" : r->engines[c->engine].version);
    fputc(',', out);
    put_text(out, c->operation);
    put_number(out, c->batch > 0 ? (double)c->batch : (double)NAN);
    put_number(out, c->threads >= 0 ? (double)c->threads : (double)NAN);
    put_number(out, c->optimize >= 0 ? (double)c->optimize : (double)NAN);
    fprintf(out, ",%s,%s", c->alternating ? "alternating" : "fixed",
            c->preprocessed ? "yes" : "no");
}

static void put_start(FILE *out, const bench_case *c) {
    put_number(out, c->start_ns);
    put_number(out, c->import_ns);
    put_number(out, c->load_ns);
    put_number(out, c->first_ns);
    put_number(out, c->rss_peak);
    put_number(out, c->largest_error);
}

/* Of the times alone. */
static void put_ratio(FILE *out, const bench_results *r, size_t index, bench_metric metric) {
    const bench_ratio *found = metric == METRIC_TIME ? bench_main_ratio(r, index) : NULL;
    put_number(out, found ? found->time.value : NAN);
    put_number(out, found ? found->time.low : NAN);
    put_number(out, found ? found->time.high : NAN);
    fprintf(out, ",%s", found ? bench_relation_names[found->relation] : "");
}

bool bench_write_csv(const bench_results *r, FILE *out) {
    bool good = true;
    fputs("model,engine,version,operation,batch,threads,optimize,schedule,preprocessing,"
          "metric,unit,count,mean,deviation,median,mad,min,max,p90,p95,p99,p99_9,outliers,"
          "ratio,ratio_low,ratio_high,ratio_to,start_ns,import_ns,load_ns,first_ns,process_peak,"
          "largest_error\r\n", out);
    for (size_t i = 0; i < r->case_count; i++)
        for (int m = 0; m < METRIC_COUNT; m++) {
            const bench_case *c = &r->cases[i];
            statistics s;
            if (c->series[m].count == 0) continue;
            good = bench_statistics(c, (bench_metric)m, &s) && good;
            put_setting(out, r, c);
            fprintf(out, ",%s,%s,%zu", bench_metrics[m].name, bench_unit_names[bench_metrics[m].unit],
                    s.count);
            const double figures[] = {s.mean, s.deviation, s.median, s.mad, s.min, s.max,
                                      s.p90, s.p95, s.p99, s.p999};
            for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) put_number(out, figures[k]);
            fprintf(out, ",%zu", s.outliers);
            put_ratio(out, r, i, (bench_metric)m);
            put_start(out, c);
            fputs("\r\n", out);
        }
    return good && !ferror(out);
}
