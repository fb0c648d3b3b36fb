/* statistics.h - figures of measured samples: what a benchmark prints beside its times. Percentiles
 * interpolate between neighbours, as numpy does by default; deviations are those of a sample (n - 1). */
#ifndef SDX_REPORT_STATISTICS_H
#define SDX_REPORT_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct statistics {
    size_t count;
    double mean, deviation; /* deviation 0 for one sample */
    double median, mad;     /* mad: median distance from the median, not scaled */
    double min, max;
    double p90, p95, p99, p999;
    double low_fence, high_fence; /* 1.5 quartile distances beyond the quartiles */
    size_t outliers;              /* samples outside the fences; they count in all the rest */
} statistics;

/* False where memory ran out. Without samples all figures are NaN. */
bool statistics_of(const double *samples, size_t count, statistics *out);
/* Of sorted samples, share from 0 to 1. */
double statistics_percentile(const double *sorted, size_t count, double share);
bool statistics_is_outlier(const statistics *of, double sample);

typedef enum ratio_verdict {
    RATIO_UNKNOWN, /* too few rounds to tell */
    RATIO_SMALLER, /* the whole interval is below 1 */
    RATIO_LARGER,
    RATIO_SAME     /* no difference shown: the interval reaches across 1 */
} ratio_verdict;

/* A ratio of medians with the interval that holds it with 95 % confidence; NaN where unknown. */
typedef struct ratio {
    double value, low, high;
    size_t rounds; /* that the interval was found from */
    ratio_verdict verdict;
} ratio;

/* Samples with the round that each was taken in; rounds count from 0 and come in any order. */
typedef struct sampled {
    const double *values;
    const uint32_t *rounds;
    size_t count;
} sampled;

#define RATIO_RESAMPLES 2000
#define RATIO_MIN_ROUNDS 3 /* with fewer no interval is given */

/* How many times `above` takes what `below` takes. Paired: round i of one was taken next to round i
 * of the other, what disturbs the machine for a while disturbs both; so rounds are drawn with
 * replacement, the same ones for both. Unpaired: each draws its own. False where memory ran out. */
bool ratio_of_rounds(const sampled *above, const sampled *below, bool paired, uint64_t seed,
                     ratio *out);
const char *ratio_verdict_name(ratio_verdict verdict); /* "smaller", "no difference shown" .. */

/* A repeatable stream of random numbers; any state is a good start. */
uint64_t random_next(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t bound);

#endif
