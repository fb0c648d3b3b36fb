#!/usr/bin/env python3
"""The statistics of report/ against numpy and scipy, on the same samples.

usage: tests/report/check_statistics.py FIGURES   (the program of figures.c)
"""
import json
import subprocess
import sys
import unittest

import numpy as np
import scipy.stats

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else sys.exit(__doc__)
RESAMPLES = 2000


def ask(lines):
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def series(rounds):
    """ROUND:VALUE.. of a list of rounds."""
    return " ".join(f"{number}:{float(value)!r}" for number, values in enumerate(rounds)
                    for value in values)


def sample_sets():
    draw = np.random.default_rng(7)
    for count in (1, 2, 3, 4, 5, 7, 8, 10, 99, 100, 1000, 1001):
        yield draw.normal(5e6, 1e5, count)
        yield draw.lognormal(10, 1, count)
        yield draw.integers(1, 6, count).astype(float)  # many equal ones
        yield np.full(count, 42.0)
        yield np.concatenate([draw.normal(100, 1, count), [1e6]])  # one far out


class Random:
    """The generator of statistics.c."""

    def __init__(self, state):
        self.state = state

    def below(self, bound):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9e3779b97f4a7c15) & mask
        z = self.state
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & mask
        z = (z ^ z >> 27) * 0x94d049bb133111eb & mask
        return (z ^ z >> 31) % bound


class Figures(unittest.TestCase):
    def test_summaries(self):
        sets = list(sample_sets())
        answers = ask("stats " + " ".join(repr(float(v)) for v in values) for values in sets)
        self.assertEqual(len(answers), len(sets))
        for values, got in zip(sets, answers):
            quarter, three = np.percentile(values, [25, 75])
            fences = quarter - 1.5 * (three - quarter), three + 1.5 * (three - quarter)
            want = {"mean": np.mean(values), "median": np.median(values),
                    "deviation": np.std(values, ddof=1) if len(values) > 1 else 0.0,
                    "mad": scipy.stats.median_abs_deviation(values), "min": values.min(),
                    "max": values.max(), "p90": np.percentile(values, 90),
                    "p95": np.percentile(values, 95), "p99": np.percentile(values, 99),
                    "p99_9": np.percentile(values, 99.9), "low_fence": fences[0],
                    "high_fence": fences[1]}
            self.assertEqual(got["count"], len(values))
            for name, value in want.items():
                scale = np.abs(values).max()
                self.assertAlmostEqual(got[name] / scale, value / scale, delta=1e-12,
                                       msg=f"{name} of {values[:5]}")
            apart = 1e-9 * np.abs(values).max()  # rounding decides nothing here
            certain = (values < fences[0] - apart) | (values > fences[1] + apart)
            possible = (values < fences[0] + apart) | (values > fences[1] - apart)
            self.assertTrue(certain.sum() <= got["outliers"] <= possible.sum())

    def test_nothing(self):
        self.assertIsNone(ask(["stats "])[0]["median"])


class Ratios(unittest.TestCase):
    def pairs(self):
        draw = np.random.default_rng(11)
        for rounds in (3, 4, 5, 12, 30):
            drift = draw.uniform(1, 2, rounds)  # disturbs both
            below = [100 * d * draw.lognormal(0, 0.02, 5) for d in drift]
            yield [130 * d * draw.lognormal(0, 0.02, 4) for d in drift], below
            yield [100 * d * draw.lognormal(0, 0.02, 6) for d in drift], below

    def test_same_draws_as_numpy(self):
        """With the same random numbers, numpy finds the same interval to the last digits."""
        for above, below in self.pairs():
            a, b = (np.array([np.median(one) for one in each]) for each in (above, below))
            random = Random(5)
            draws = np.array([[random.below(len(a)) for _ in a] for _ in range(RESAMPLES)])
            ratios = np.median(a[draws], axis=1) / np.median(b[draws], axis=1)
            value = np.median(a) / np.median(b)
            low, high = np.percentile(ratios, [2.5, 97.5])
            got = ask([f"ratio paired 5 {series(above)} / {series(below)}"])[0]
            self.assertEqual(got["rounds"], len(a))
            self.assertAlmostEqual(got["value"], value, delta=1e-12 * value)
            self.assertAlmostEqual(got["low"], min(low, value), delta=1e-12 * value)
            self.assertAlmostEqual(got["high"], max(high, value), delta=1e-12 * value)

    def test_close_to_scipy(self):
        for above, below in self.pairs():
            if len(above) < 12:
                continue  # two bootstraps of few rounds may well differ
            a, b = (np.array([np.median(one) for one in each]) for each in (above, below))
            want = scipy.stats.bootstrap(
                (a, b), lambda x, y, axis: np.median(x, axis) / np.median(y, axis), paired=True,
                vectorized=True, n_resamples=20000, method="percentile",
                random_state=3).confidence_interval
            got = ask([f"ratio paired 9 {series(above)} / {series(below)}"])[0]
            self.assertAlmostEqual(got["low"], want.low, delta=0.02)
            self.assertAlmostEqual(got["high"], want.high, delta=0.02)

    def test_what_disturbs_both_changes_nothing(self):
        rough = [[10.0], [100.0], [10.0], [70.0], [10.0]]
        got = ask([f"ratio paired 1 {series([[2 * t for t in r] for r in rough])} / {series(rough)}"])[0]
        self.assertEqual((got["value"], got["low"], got["high"]), (2, 2, 2))
        self.assertEqual(got["verdict"], "larger")

    def test_coverage(self):
        """Of series that do not differ, about 1 in 20 may be called different; of those that differ
        by a tenth, with noise of 2 %, none may be missed."""
        draw = np.random.default_rng(2)
        lines, wide = [], []
        for _ in range(200):
            a, b = (100 * draw.lognormal(0, 0.05, (12, 3)) for _ in range(2))
            lines.append(f"ratio paired 1 {series(a)} / {series(b)}")
            c = 110 * draw.lognormal(0, 0.02, (12, 3))
            d = 100 * draw.lognormal(0, 0.02, (12, 3))
            wide.append(f"ratio paired 1 {series(c)} / {series(d)}")
        told = sum(one["verdict"] != "no difference shown" for one in ask(lines))
        self.assertLess(told, 24)
        self.assertTrue(all(one["verdict"] == "larger" for one in ask(wide)))

    def test_few_rounds(self):
        got = ask(["ratio paired 1 0:2 1:2 / 0:1 1:1"])[0]
        self.assertEqual((got["value"], got["low"], got["verdict"]),
                         (2, None, "too few rounds to tell"))

    def test_rounds_of_one_alone_are_left_out(self):
        got = ask(["ratio paired 1 0:2 1:2 2:2 3:900 / 0:1 1:1 2:1"])[0]
        self.assertEqual((got["value"], got["rounds"]), (2, 3))

    def test_apart(self):
        got = ask([f"ratio apart 1 {series([[90.0], [91], [92], [93]])} / {series([[100.0]] * 5)}"])[0]
        self.assertEqual(got["verdict"], "smaller")
        self.assertAlmostEqual(got["value"], 0.915)
        self.assertTrue(0.9 <= got["low"] <= got["high"] <= 0.93)

    def test_nothing(self):
        self.assertIsNone(ask(["ratio paired 1 / 0:1"])[0]["value"])


if __name__ == "__main__":
    unittest.main()
