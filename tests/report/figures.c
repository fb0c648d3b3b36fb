/* figures.c - the statistics of report/ on given numbers, for tests/report/check_statistics.py.
 *
 * Reads lines from standard input and answers each with one of JSON:
 *   stats VALUE..                                   figures of the values
 *   ratio paired|apart SEED ROUND:VALUE.. / ROUND:VALUE..   ratio of two series */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "statistics.h"

#include <stdio.h>

enum { MAX_VALUES = 1 << 16 };

static double values[2][MAX_VALUES];
static uint32_t rounds[2][MAX_VALUES];
static size_t counts[2];

static void put(const char *name, double value, const char *end) {
    if (isfinite(value)) printf("\"%s\": %.17g%s", name, value, end);
    else printf("\"%s\": null%s", name, end);
}

static void do_stats(char *rest) {
    statistics s;
    counts[0] = 0;
    for (char *at = strtok(rest, " \n"); at && counts[0] < MAX_VALUES; at = strtok(NULL, " \n"))
        values[0][counts[0]++] = strtod(at, NULL);
    if (!statistics_of(values[0], counts[0], &s)) abort();
    printf("{\"count\": %zu, \"outliers\": %zu, ", s.count, s.outliers);
    put("mean", s.mean, ", ");
    put("deviation", s.deviation, ", ");
    put("median", s.median, ", ");
    put("mad", s.mad, ", ");
    put("min", s.min, ", ");
    put("max", s.max, ", ");
    put("p90", s.p90, ", ");
    put("p95", s.p95, ", ");
    put("p99", s.p99, ", ");
    put("p99_9", s.p999, ", ");
    put("low_fence", s.low_fence, ", ");
    put("high_fence", s.high_fence, "}\n");
}

static void do_ratio(char *rest) {
    char *kind = strtok(rest, " \n"), *seed = strtok(NULL, " \n");
    int side = 0;
    counts[0] = counts[1] = 0;
    for (char *at = strtok(NULL, " \n"); at; at = strtok(NULL, " \n")) {
        if (strcmp(at, "/") == 0) {
            side = 1;
            continue;
        }
        char *colon;
        rounds[side][counts[side]] = (uint32_t)strtoul(at, &colon, 10);
        values[side][counts[side]++] = strtod(colon + 1, NULL);
    }
    sampled a = {values[0], rounds[0], counts[0]}, b = {values[1], rounds[1], counts[1]};
    ratio found;
    if (!ratio_of_rounds(&a, &b, strcmp(kind, "paired") == 0, strtoull(seed, NULL, 10), &found)) abort();
    printf("{\"rounds\": %zu, \"verdict\": \"%s\", ", found.rounds, ratio_verdict_name(found.verdict));
    put("value", found.value, ", ");
    put("low", found.low, ", ");
    put("high", found.high, "}\n");
}

int main(void) {
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        if (strncmp(line, "stats", 5) == 0) do_stats(line + 5);
        else if (strncmp(line, "ratio", 5) == 0) do_ratio(line + 5);
        else return 2;
        fflush(stdout);
    }
    free(line);
    return 0;
}
