#!/usr/bin/env python3
"""Coefficients of the polynomials in src/kernels/simd/simd_math.h.

Each is the best in the sense of Chebyshev: the largest error on an interval, under a weight, is as
small as a polynomial of that degree allows (exchange algorithm of Remez). Coefficients are rounded to
float32 one after the other, from the lowest up, each time fitting the others again.

usage: tools/minimax.py [NAME ...]
"""
import struct
import sys

import mpmath as mp

mp.mp.dps = 40


def as_float(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def solve(f, weight, points, powers, fixed):
    """Coefficients of the free powers and the level of the equal ripples on these points."""
    n = len(points)
    a, b = mp.matrix(n, n), mp.matrix(n, 1)
    for i, x in enumerate(points):
        for j, p in enumerate(powers):
            a[i, j] = x**p
        a[i, n - 1] = (-1) ** i / weight(x)
        b[i] = f(x) - sum(c * x**p for p, c in fixed.items())
    s = mp.lu_solve(a, b)
    return [s[i] for i in range(n - 1)], abs(s[n - 1])


def remez(f, weight, low, high, powers, fixed):
    n = len(powers) + 1
    mid, half = (low + high) / 2, (high - low) / 2
    points = [mid - half * mp.cos(mp.pi * i / (n - 1)) for i in range(n)]
    grid = [mid - half * mp.cos(mp.pi * i / 600) for i in range(601)]
    values, weights = [f(x) for x in grid], [weight(x) for x in grid]
    for _ in range(30):
        c, level = solve(f, weight, points, powers, fixed)
        every = dict(fixed) | dict(zip(powers, c))

        def poly(x):
            return sum(k * x**p for p, k in every.items())

        errors = [w * (v - poly(x)) for x, v, w in zip(grid, values, weights)]
        peaks = []  # the extremes of alternating sign
        for x, e in zip(grid, errors):
            if peaks and mp.sign(peaks[-1][1]) == mp.sign(e):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        while len(peaks) > n:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        worst = max(abs(e) for e in errors)
        if len(peaks) < n or worst < level * 1.001:
            break
        points = [x for x, _ in peaks]
    return every, worst


def fit(name, f, weight, low, high, degree, note):
    low, high = mp.mpf(low), mp.mpf(high)
    powers, fixed = list(range(degree + 1)), {}
    _, ideal = remez(f, weight, low, high, powers, fixed)
    while powers:
        every, worst = remez(f, weight, low, high, powers, fixed)
        fixed[powers[0]] = as_float(every[powers[0]])
        powers.pop(0)
    rounded = max(weight(x) * abs(f(x) - sum(c * x**p for p, c in fixed.items()))
                  for x in (low + (high - low) * i / 997 for i in range(998)))
    print(f"{name}: {note}; 2^{float(mp.log(ideal, 2)):.1f}, "
          f"in float32 2^{float(mp.log(rounded, 2)):.1f}")
    for p in range(degree, -1, -1):
        print(f"    {float(fixed[p]):.9g}f")


def series(f, x, safe=mp.mpf("1e-9")):
    """f(x), away from a removable singularity at 0."""
    return f(x if abs(x) > safe else safe)


def fit_exp():
    g = lambda r: (mp.expm1(r) - r) / r**2
    fit("exp", lambda r: series(g, r), lambda r: series(lambda s: abs(s**2 / mp.expm1(s)), r),
        -0.3475, 0.3475, 4, "(e^r - 1 - r) / r^2, |r| <= ln2/2; error of e^r - 1")


def fit_exp_short():
    g = lambda r: mp.expm1(r) / r
    fit("exp short", lambda r: series(g, r), lambda r: series(lambda s: abs(s) / mp.exp(s), r),
        -0.3475, 0.3475, 4, "(e^r - 1) / r, |r| <= ln2/2; error of e^r")


def fit_exp2():
    g = lambda r: mp.expm1(r * mp.log(2)) / r
    fit("exp2", lambda r: series(g, r), lambda r: series(lambda s: abs(s) / mp.mpf(2)**s, r),
        -0.5, 0.5, 4, "(2^r - 1) / r, |r| <= 1/2; error of 2^r")


def fit_log():
    g = lambda x: (mp.log1p(x) - x + x**2 / 2) / x**3
    fit("log", lambda x: series(g, x, mp.mpf("1e-7")),
        lambda x: series(lambda s: abs(s**3 / mp.log1p(s)), x),
        mp.sqrt(mp.mpf(0.5)) - 1, mp.sqrt(2) - 1, 7, "(log(1+f) - f + f^2/2) / f^3")


def fit_log1p():
    fit("log1p", lambda x: series(lambda s: mp.log1p(s) / s, x),
        lambda x: series(lambda s: abs(s / mp.log1p(s)), x), 0, 1, 9, "log(1+e) / e, 0 <= e <= 1")


SPLIT = mp.mpf("0.921875")


def fit_erf_near():
    g = lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u) - 1
    fit("erf near", lambda u: series(g, u),
        lambda u: series(lambda v: mp.sqrt(v) / mp.erf(mp.sqrt(v)), u), 0, SPLIT**2, 5,
        "erf(x)/x - 1 in x^2, |x| <= 0.921875")


def fit_erf_far():
    fit("erf far", lambda a: mp.log(mp.erfc(a)), lambda a: mp.erfc(a) / mp.erf(a), SPLIT,
        mp.mpf("3.95"), 5, "log(erfc(a)), 0.921875 <= a <= 3.95; error of erf")


def fit_normal():
    scale = mp.mpf("0.375")

    def g(w):
        a = w / (1 - w) / scale
        return mp.erfc(a / mp.sqrt(2)) / 2 * mp.exp(a * a / 2) / (1 - w)
    high = 1 - 1 / (1 + scale * mp.mpf("13.5"))
    fit("normal", g, lambda w: 1 / g(w), 0, high, 9,
        "P(X < -a) e^(a^2/2) / t, t = 1 / (1 + 3/8 a), in w = 1 - t, 0 <= a <= 13.5")


FITS = {name[4:]: f for name, f in list(globals().items()) if name.startswith("fit_")}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or FITS:
        FITS[wanted]()
