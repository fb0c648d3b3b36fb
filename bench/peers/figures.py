"""Statistics of interleaved runs: medians, bests, and ratios with their confidence intervals.

A series is a list of rounds, each a list of times. Two series of one measurement have as many
rounds, and round i of one was taken next to round i of the other: what disturbs a machine for some
seconds disturbs both. The interval of a ratio is therefore found by drawing rounds, the same ones
for both, with replacement (a bootstrap over rounds), and taking the middle 95 % of the ratios.
"""

import dataclasses
import statistics

import numpy as np

RESAMPLES = 2000


def median(series):
    return statistics.median(time for times in series for time in times)


def best(series):
    return min(time for times in series for time in times)


@dataclasses.dataclass(frozen=True)
class Ratio:
    value: float
    low: float  # the interval
    high: float
    samples: np.ndarray = dataclasses.field(repr=False, compare=False)

    def __str__(self):
        return f"{self.value:.2f} ({self.low:.2f}–{self.high:.2f})"


def _of_samples(value, samples):
    low, high = np.percentile(samples, [2.5, 97.5])
    # A point estimate outside its own interval would only puzzle.
    return Ratio(value, min(float(low), value), max(float(high), value), samples)


def _draws(rounds, seed):
    return np.random.default_rng(seed).integers(0, rounds, (RESAMPLES, rounds))


def ratio(above, below, of="median", seed=1):
    """How many times `above` takes what `below` takes, by medians or by bests."""
    if len(above) != len(below) or not above:
        raise ValueError("series of different lengths cannot be compared")
    inside, over = {"median": (np.median, np.median), "best": (np.min, np.min)}[of]
    by_round = [np.array([inside(times) for times in series], float) for series in (above, below)]
    draws = _draws(len(above), seed)
    samples = over(by_round[0][draws], axis=1) / over(by_round[1][draws], axis=1)
    return _of_samples(float(over(by_round[0]) / over(by_round[1])), samples)


def geometric_mean(ratios):
    """Of ratios of different measurements."""
    value = float(np.exp(np.mean([np.log(one.value) for one in ratios])))
    samples = np.exp(np.mean([np.log(one.samples) for one in ratios], axis=0))
    return _of_samples(value, samples)


def scaled(one, factor):
    return _of_samples(one.value * factor, one.samples * factor)


def largest_error(got, want):
    """The largest difference, relative to the largest wanted value, over all outputs."""
    worst = 0.0
    for a, b in zip(got, want, strict=True):
        if a.shape != b.shape:
            return float("inf")
        a, b = a.astype(np.float64), b.astype(np.float64)
        scale = np.max(np.abs(b), initial=0.0)
        difference = np.max(np.abs(a - b), initial=0.0)
        if not np.isfinite(difference):
            return float("inf")
        worst = max(worst, float(difference / scale if scale else difference))
    return worst
