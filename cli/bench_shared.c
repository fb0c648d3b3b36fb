/* bench_shared.c - small things that all kinds of benchmarks use. */
#include <math.h>
#include <string.h>

#include "bench.h"

void shuffle(uint64_t *state, size_t *order, size_t count) {
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)random_below(state, i), other = order[k];
        order[k] = order[i - 1];
        order[i - 1] = other;
    }
}

void setting_text(char *buffer, size_t size, int64_t batch, int threads, int level) {
    text t = {0};
    text_add(&t, "%s", "");
    if (batch > 0) text_add(&t, "batch %lld", (long long)batch);
    if (threads == 0) text_add(&t, "%sthreads by default", t.length ? ", " : "");
    if (threads > 0)
        text_add(&t, "%s%d thread%s", t.length ? ", " : "", threads, threads == 1 ? "" : "s");
    if (level >= 0) text_add(&t, "%slevel %d", t.length ? ", " : "", level);
    snprintf(buffer, size, "%s", t.data ? t.data : "");
    text_free(&t);
}

void warn_samples(bench_results *r, size_t of, double smallest_ns) {
    statistics s;
    if (!bench_statistics(&r->cases[of], METRIC_TIME, &s)) return;
    if (s.median < smallest_ns)
        bench_add_warning(r, of,
                          "too fast to measure: %.0f ns is less than the %.0f ns that can be "
                          "told from nothing",
                          s.median, smallest_ns);
    if (s.count < 5)
        bench_add_warning(r, of, "%zu samples only: more time would tell more", s.count);
    else if (s.count >= 20 && s.outliers * 10 > s.count)
        bench_add_warning(r, of, "%zu of %zu samples lie far out: something disturbed the machine",
                          s.outliers, s.count);
    /* What a drift is: the first rounds against the last, each a third. */
    if (s.count >= 30) {
        const bench_series *series = &r->cases[of].series[METRIC_TIME];
        statistics early, late;
        size_t third = s.count / 3;
        if (statistics_of(series->values, third, &early) &&
            statistics_of(series->values + s.count - third, third, &late) &&
            fabs(late.median / early.median - 1) > 0.1)
            bench_add_warning(r, of,
                              "%s by %.0f %% from the first third of the samples to the last: "
                              "not yet warm, or throttled",
                              late.median > early.median ? "slower" : "faster",
                              100 * fabs(late.median / early.median - 1));
    }
}
