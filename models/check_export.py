#!/usr/bin/env python3
"""Runs a model in onnxruntime and compares with outputs recorded elsewhere."""

import argparse
import sys
from pathlib import Path

import interpreter
import paths

RELATIVE = 1e-3
ABSOLUTE = 1e-4  # of the largest expected value


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Example: models/check_export.py build/models/resnet18.onnx "
               "build/models/resnet18.in.npy build/models/resnet18.out.npy")
    parser.add_argument("model", type=Path)
    parser.add_argument("pair", nargs="+", type=Path, metavar="IN OUT.npy",
                        help="the model's input as .npy, or all of them by name as .npz, "
                             "and the output expected")
    arguments = parser.parse_args()
    if len(arguments.pair) % 2:
        parser.error("every input needs an output")
    return arguments


def compare(actual, expected):
    """Says how far two outputs are apart, or raises ValueError if too far."""
    import numpy as np
    if actual.shape != expected.shape:
        raise ValueError(f"shape {actual.shape}, expected {expected.shape}")
    if not np.isfinite(actual).all():
        raise ValueError("the output is not finite")
    scale = float(np.abs(expected).max())
    difference = np.abs(actual.astype(np.float64) - expected)
    bound = RELATIVE * np.abs(expected) + ABSOLUTE * scale
    outside = int((difference > bound).sum())
    worst = float(difference.max())
    if outside:
        raise ValueError(f"{outside} of {expected.size} values differ, "
                         f"by up to {worst:.3g} at scale {scale:.3g}")
    return f"largest difference {worst:.2g} at scale {scale:.2g}"


def main():
    arguments = parse_arguments()
    interpreter.need(["onnx", "onnxruntime"], paths.VENV_PYTHON, "tools/setup.sh python")
    import numpy as np
    import onnx
    import onnxruntime

    onnx.checker.check_model(str(arguments.model), full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(
        str(arguments.model), options, providers=["CPUExecutionProvider"])
    for given, wanted in zip(arguments.pair[::2], arguments.pair[1::2]):
        loaded = np.load(given)
        if isinstance(loaded, np.ndarray):
            loaded = {session.get_inputs()[0].name: loaded}
        arrays = dict(loaded)
        label = ", ".join(f"{name} {'x'.join(map(str, array.shape))}"
                          for name, array in arrays.items())
        try:
            result = session.run(None, arrays)[0]
            print(f"{label}: {compare(result, np.load(wanted))}")
        except Exception as problem:  # onnxruntime has no common base class
            print(f"check failed: {label}: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
