/* statistics.c - summaries of samples, and ratios with bootstrap intervals over rounds. */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t random_next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t random_below(uint64_t *state, uint64_t bound) {
    /* The bounds here are small: the bias of a remainder is below 2^-40. */
    return random_next(state) % bound;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_value);
}

double statistics_percentile(const double *sorted, size_t count, double share) {
    if (count == 0) return NAN;
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    if (below >= count - 1) return sorted[count - 1];
    double part = place - (double)below;
    return sorted[below] + (sorted[below + 1] - sorted[below]) * part;
}

/* Sorts; the caller needs no order any more. */
static double median_of(double *values, size_t count) {
    sort(values, count);
    return statistics_percentile(values, count, 0.5);
}

bool statistics_is_outlier(const statistics *of, double sample) {
    return sample < of->low_fence || sample > of->high_fence;
}

bool statistics_of(const double *samples, size_t count, statistics *out) {
    *out = (statistics){.mean = NAN, .deviation = NAN, .median = NAN, .mad = NAN, .min = NAN,
                        .max = NAN, .p90 = NAN, .p95 = NAN, .p99 = NAN, .p999 = NAN,
                        .low_fence = NAN, .high_fence = NAN};
    if (count == 0) return true;
    double *sorted = malloc(count * sizeof *sorted);
    if (!sorted) return false;
    memcpy(sorted, samples, count * sizeof *sorted);
    sort(sorted, count);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) sum += samples[i];
    out->count = count;
    out->mean = sum / (double)count;
    for (size_t i = 0; i < count; i++) squares += (samples[i] - out->mean) * (samples[i] - out->mean);
    out->deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    out->min = sorted[0];
    out->max = sorted[count - 1];
    out->median = statistics_percentile(sorted, count, 0.5);
    out->p90 = statistics_percentile(sorted, count, 0.9);
    out->p95 = statistics_percentile(sorted, count, 0.95);
    out->p99 = statistics_percentile(sorted, count, 0.99);
    out->p999 = statistics_percentile(sorted, count, 0.999);
    double low = statistics_percentile(sorted, count, 0.25);
    double high = statistics_percentile(sorted, count, 0.75);
    out->low_fence = low - 1.5 * (high - low);
    out->high_fence = high + 1.5 * (high - low);
    for (size_t i = 0; i < count; i++) {
        out->outliers += statistics_is_outlier(out, sorted[i]);
        sorted[i] = fabs(sorted[i] - out->median);
    }
    out->mad = median_of(sorted, count);
    free(sorted);
    return true;
}

/* ---- ratios ------------------------------------------------------------------------------------ */

/* Medians of rounds, in the order of the rounds' numbers. */
typedef struct round_medians {
    double *medians;
    uint32_t *numbers;
    size_t count;
} round_medians;

static void free_medians(round_medians *of) {
    free(of->medians);
    free(of->numbers);
}

typedef struct tagged {
    uint32_t round;
    double value;
} tagged;

static int by_round(const void *a, const void *b) {
    const tagged *x = a, *y = b;
    if (x->round != y->round) return x->round < y->round ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

static bool find_medians(const sampled *of, round_medians *out) {
    *out = (round_medians){malloc((of->count + 1) * sizeof(double)),
                           malloc((of->count + 1) * sizeof(uint32_t)), 0};
    tagged *all = malloc((of->count + 1) * sizeof *all);
    double *one = malloc((of->count + 1) * sizeof *one);
    bool good = out->medians && out->numbers && all && one;
    for (size_t i = 0; good && i < of->count; i++) all[i] = (tagged){of->rounds[i], of->values[i]};
    if (good) qsort(all, of->count, sizeof *all, by_round);
    for (size_t i = 0; good && i < of->count;) {
        size_t length = 0;
        uint32_t round = all[i].round;
        while (i < of->count && all[i].round == round) one[length++] = all[i++].value;
        out->numbers[out->count] = round;
        out->medians[out->count++] = statistics_percentile(one, length, 0.5);
    }
    free(all);
    free(one);
    return good;
}

/* Leaves the rounds that both have: one of them may have been broken off. */
static void keep_common(round_medians *a, round_medians *b) {
    size_t i = 0, k = 0, kept = 0;
    while (i < a->count && k < b->count) {
        if (a->numbers[i] < b->numbers[k]) i++;
        else if (a->numbers[i] > b->numbers[k]) k++;
        else {
            a->medians[kept] = a->medians[i++];
            b->medians[kept++] = b->medians[k++];
        }
    }
    a->count = b->count = kept;
}

static double drawn_median(const round_medians *of, const size_t *draws, double *scratch) {
    for (size_t i = 0; i < of->count; i++) scratch[i] = of->medians[draws[i]];
    return median_of(scratch, of->count);
}

static void draw(uint64_t *state, size_t *draws, size_t count) {
    for (size_t i = 0; i < count; i++) draws[i] = (size_t)random_below(state, count);
}

static bool resample(const round_medians *a, const round_medians *b, bool paired, uint64_t seed,
                     ratio *out) {
    size_t most = a->count > b->count ? a->count : b->count;
    double *found = malloc(RATIO_RESAMPLES * sizeof *found);
    double *scratch = malloc(most * sizeof *scratch);
    size_t *draws = malloc(most * sizeof *draws);
    bool good = found && scratch && draws;
    for (size_t i = 0; good && i < RATIO_RESAMPLES; i++) {
        draw(&seed, draws, a->count);
        double above = drawn_median(a, draws, scratch);
        if (!paired) draw(&seed, draws, b->count);
        found[i] = above / drawn_median(b, draws, scratch);
    }
    if (good) {
        sort(found, RATIO_RESAMPLES);
        double low = statistics_percentile(found, RATIO_RESAMPLES, 0.025);
        double high = statistics_percentile(found, RATIO_RESAMPLES, 0.975);
        /* A figure outside its own interval would only puzzle. */
        out->low = low < out->value ? low : out->value;
        out->high = high > out->value ? high : out->value;
        out->verdict = out->low > 1 ? RATIO_LARGER : out->high < 1 ? RATIO_SMALLER : RATIO_SAME;
    }
    free(found);
    free(scratch);
    free(draws);
    return good;
}

static bool median_copy(const round_medians *of, double *out) {
    double *copy = malloc((of->count + 1) * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, of->medians, of->count * sizeof *copy);
    *out = median_of(copy, of->count);
    free(copy);
    return true;
}

bool ratio_of_rounds(const sampled *above, const sampled *below, bool paired, uint64_t seed,
                     ratio *out) {
    *out = (ratio){.value = NAN, .low = NAN, .high = NAN};
    round_medians a, b;
    bool good = find_medians(above, &a);
    good = find_medians(below, &b) && good;
    if (good && paired) keep_common(&a, &b);
    if (good && a.count && b.count) {
        double over = 0, under = 0;
        good = median_copy(&a, &over) && median_copy(&b, &under);
        out->value = over / under;
        out->rounds = a.count < b.count ? a.count : b.count;
        if (good && out->rounds >= RATIO_MIN_ROUNDS && isfinite(out->value))
            good = resample(&a, &b, paired, seed, out);
    }
    free_medians(&a);
    free_medians(&b);
    return good;
}

const char *ratio_verdict_name(ratio_verdict verdict) {
    static const char *const names[] = {"too few rounds to tell", "smaller", "larger",
                                        "no difference shown"};
    return names[verdict];
}
