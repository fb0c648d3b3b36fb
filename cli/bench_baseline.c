/* bench_baseline.c - `sardonyx bench --compare`: the same cases of an earlier benchmark, read from
 * its JSON, and what became of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define MAX_BYTES ((size_t)1 << 30)

static char *read_all(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    size_t capacity = 0;
    *size = 0;
    while (file && !ferror(file) && !feof(file)) {
        if (capacity - *size < 65536) {
            capacity = capacity ? 2 * capacity : (size_t)1 << 18;
            char *bigger = capacity <= MAX_BYTES ? realloc(bytes, capacity) : NULL;
            if (!bigger) break;
            bytes = bigger;
        }
        *size += fread(bytes + *size, 1, capacity - *size, file);
    }
    bool whole = file && feof(file) && !ferror(file);
    if (file) fclose(file);
    if (whole) return bytes;
    free(bytes);
    return NULL;
}

static const json_value *find_case(const json_value *cases, const char *key) {
    for (const json_value *one = json_first(cases); one; one = json_next(one)) {
        const char *other = json_get_text(one, "key");
        if (other && strcmp(other, key) == 0) return one;
    }
    return NULL;
}

/* The times of a case in the file; the caller frees both arrays. */
static bool read_samples(const json_value *of, double **values, uint32_t **rounds, size_t *count) {
    const json_value *time = json_get(json_get(of, "metrics"), "time");
    const json_value *sample = json_first(json_get(time, "samples"));
    const json_value *round = json_first(json_get(time, "rounds"));
    size_t most = json_count(json_get(time, "samples"));
    *values = calloc(most + 1, sizeof **values);
    *rounds = calloc(most + 1, sizeof **rounds);
    *count = 0;
    for (; *values && *rounds && sample && round && *count < most; (*count)++) {
        double value = json_as_number(sample), number = json_as_number(round);
        if (!(value > 0) || !(number >= 0 && number < UINT32_MAX)) return false;
        (*values)[*count] = value;
        (*rounds)[*count] = (uint32_t)number;
        sample = json_next(sample);
        round = json_next(round);
    }
    return *values && *rounds && *count > 0;
}

/* Slower by more than the limit, and not by chance; with too few rounds to tell, the figure
 * decides. */
static bool is_failure(const bench_results *r, const ratio *found) {
    return found->value > 1 + r->fail_slower &&
           (found->verdict == RATIO_LARGER || found->verdict == RATIO_UNKNOWN);
}

static bool compare_case(bench_results *r, size_t index, const json_value *before) {
    double *values;
    uint32_t *rounds;
    size_t count;
    const bench_series *now = &r->cases[index].series[METRIC_TIME];
    bool good = read_samples(before, &values, &rounds, &count) && now->count > 0;
    if (good) {
        sampled above = {now->values, now->rounds, now->count}, below = {values, rounds, count};
        statistics figures;
        size_t at = r->ratio_count;
        bench_ratio *bigger = realloc(r->ratios, (at + 1) * sizeof *bigger);
        if (bigger) r->ratios = bigger;
        good = bigger && statistics_of(values, count, &figures);
        if (good) {
            bench_ratio *to = &r->ratios[at];
            *to = (bench_ratio){.of = index,
                                .reference = BENCH_NONE,
                                .relation = RELATION_BASELINE,
                                .baseline_median = figures.median};
            good = ratio_of_rounds(&above, &below, false, r->seed, &to->time);
            to->fails = is_failure(r, &to->time);
            r->ratio_count += good;
        }
        if (!good) r->no_memory = true;
    }
    free(values);
    free(rounds);
    return good;
}

static void warn_differences(bench_results *r, const json_value *before) {
    const json_value *environment = json_get(before, "environment");
    const char *cpu = json_get_text(environment, "cpu");
    if (cpu && strcmp(cpu, r->environment.cpu) != 0)
        bench_add_warning(r, BENCH_NONE, "the baseline was measured on another processor: %s", cpu);
    const char *isa = json_get_text(environment, "isa");
    if (isa && strcmp(isa, r->environment.isa) != 0)
        bench_add_warning(r, BENCH_NONE, "the baseline was measured with SARDONYX_CPU='%s'", isa);
    if (json_is_true(json_get(before, "interrupted")))
        bench_add_warning(r, BENCH_NONE, "the baseline was interrupted");
}

/* The file, parsed and known to be a benchmark; NULL after a message. */
static json_value *read_baseline(const char *file) {
    size_t size;
    char *bytes = read_all(file, &size);
    json_value *before = bytes ? json_parse(bytes, size) : NULL;
    const char *format = json_get_text(before, "format");
    bool known = format && strcmp(format, "sardonyx bench") == 0 &&
                 json_get_number(before, "version") == BENCH_FORMAT;
    if (!bytes) complain("%s: cannot be read", file);
    else if (!known)
        complain("%s: not a file of `sardonyx bench --save`, version %d", file, BENCH_FORMAT);
    free(bytes);
    if (known) return before;
    json_free(before);
    return NULL;
}

int baseline_check(const char *file) {
    json_value *before = read_baseline(file);
    bool good = before != NULL;
    json_free(before);
    return good ? EXIT_OK : EXIT_BAD_INPUT;
}

int baseline_compare(bench_results *r, const char *file) {
    json_value *before = read_baseline(file);
    if (!before) return EXIT_BAD_INPUT;
    size_t found = 0;
    for (size_t i = 0; i < r->case_count; i++) {
        char key[512];
        bench_case_key(r, i, key, sizeof key);
        const json_value *other = find_case(json_get(before, "cases"), key);
        if (other && compare_case(r, i, other)) found++;
        else bench_add_warning(r, i, "the baseline has no such case");
    }
    bench_set_text(r, &r->baseline, file);
    warn_differences(r, before);
    json_free(before);
    if (found || !r->case_count) return EXIT_OK;
    complain("%s: has none of the cases that were measured", file);
    return EXIT_BAD_INPUT;
}
