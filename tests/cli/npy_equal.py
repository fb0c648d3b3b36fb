#!/usr/bin/env python3
"""Says whether two .npy files hold the same type, shape and numbers, as NumPy reads them.

usage: npy_equal.py GOT.npy WANT.npy
"""
import sys

import numpy as np


def main():
    got, want = (np.load(path) for path in sys.argv[1:3])
    same = got.dtype == want.dtype and got.shape == want.shape and np.array_equal(
        got, want, equal_nan=want.dtype.kind == "f")
    print("equal" if same else f"differs: {got.dtype} {got.tolist()}, {want.dtype} {want.tolist()}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
