#!/usr/bin/env python3
"""Coefficients of vf_gelu_quick in src/kernels/simd/simd_math.h: erf(z) as z P(z^2) / Q(z^2) on |z| <= 3.85,
then turned into erf(x / sqrt(2)) / 2 = x P(x^2) / Q(x^2) with Q's highest coefficient 1.

Weighted least squares on Chebyshev's points, linear in the coefficients since Q is taken from the round
before; the weights grow where the error is large, until it is about even.

usage: tools/rational_erf.py
"""
import math

import numpy as np

DEGREE_P, DEGREE_Q, LARGEST, POINTS, ROUNDS = 6, 4, 3.85, 2000, 200


def main():
    z = LARGEST / 2 * (1 - np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS))
    u, wanted = z * z, np.array([math.erf(x) / x for x in z])
    weight, below, best = z.copy(), np.ones_like(z), (math.inf, None)
    for _ in range(ROUNDS):
        columns = np.hstack([np.vander(u, DEGREE_P + 1, increasing=True),
                             -wanted[:, None] * np.vander(u, DEGREE_Q + 1, increasing=True)[:, 1:]])
        columns *= (weight / below)[:, None]
        scale = np.abs(columns).max(0)
        found = np.linalg.lstsq(columns / scale, wanted * weight / below, rcond=None)[0] / scale
        p = np.polyval(found[:DEGREE_P + 1][::-1], u)
        q = np.polyval(np.r_[1, found[DEGREE_P + 1:]][::-1], u)
        error = np.abs(z * (p / q - wanted))
        best = min(best, (error.max(), found.tolist()))
        weight = np.maximum(weight * (1e-12 + error / error.max()) ** 0.25, 1e-6)
        weight, below = weight / weight.max(), np.abs(q)
    print(f"largest error {best[0]:.2g}")
    p, q = best[1][:DEGREE_P + 1], [1.0] + best[1][DEGREE_P + 1:]
    first = q[DEGREE_Q] / 2**DEGREE_Q
    print("P", [float(f"{c / 2**k * math.sqrt(0.125) / first:.9g}") for k, c in enumerate(p)])
    print("Q", [float(f"{c / 2**k / first:.9g}") for k, c in enumerate(q)])


if __name__ == "__main__":
    main()
