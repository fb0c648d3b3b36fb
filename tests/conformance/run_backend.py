#!/usr/bin/env python3
"""Runs ONNX's own test runner over the library, through the standard backend interface.

All its cases are run: node tests, the simple and PyTorch folders, and the "real" models, which are
the light ones that the onnx package has. Two kinds cannot be compared by the runner itself and are
compared here, with as much as can be said of them:
 - operators that draw numbers: the runner wants the values that numpy's generator gave, while the
   standard leaves the generator open. Type, shape and that only expected values (0, 1) occur.
 - test_loop16_seq_none expects a sequence whose first item is a scalar; the runner takes len() of
   each expected item and fails on its own data. The same function of the runner compares the items.

usage: tests/conformance/run_backend.py   (SARDONYX_LIBRARY names another libsardonyx.so)
"""
import os
import sys
import tempfile
import unittest
import warnings

import onnx.backend.test
from onnx.backend.test.case.node import collect_testcases

from generate import draws
from sardonyx_backend import SardonyxBackend

SCALAR_ITEMS = "test_loop16_seq_none"


class ComparedHere(unittest.TestCase):
    """The cases that the runner cannot compare; each becomes a method."""


def compare_drawn(case):
    def run(self):
        for inputs, expected in case.data_sets:
            for got, want in zip(SardonyxBackend.run_model(case.model, inputs), expected):
                self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
                self.assertLessEqual(set(got.ravel().tolist()), set(want.ravel().tolist()))
    return run


def compare_items(case):
    def run(self):
        for inputs, expected in case.data_sets:
            for got, want in zip(SardonyxBackend.run_model(case.model, inputs), expected):
                self.assertIsInstance(got, list)
                onnx.backend.test.BackendTest.assert_similar_outputs(want, got, case.rtol,
                                                                     case.atol)
    return run


def take_over():
    """Fills ComparedHere; returns the names."""
    names = set()
    for case in collect_testcases(None):
        method = compare_drawn if draws(case.model) else \
            compare_items if case.name == SCALAR_ITEMS else None
        if method:
            names.add(f"{case.name}_cpu")
            setattr(ComparedHere, f"{case.name}_cpu", method(case))
    return names


def main():
    warnings.filterwarnings("ignore")
    backend_test = onnx.backend.test.BackendTest(SardonyxBackend, __name__)
    taken = take_over()
    classes = {**backend_test.test_cases, "ComparedHere": ComparedHere}
    suite = unittest.TestSuite()
    for name, cases in classes.items():
        for test in unittest.defaultTestLoader.getTestCaseNames(cases):
            if test.endswith("_cpu") and (test not in taken or name == "ComparedHere"):
                suite.addTest(cases(test))
    # The runner keeps copies of the real models in its home.
    with tempfile.TemporaryDirectory() as home:
        os.environ["ONNX_HOME"] = home
        os.environ.pop("ONNX_MODELS", None)
        result = unittest.TextTestRunner(verbosity=0).run(suite)
    failed = len(result.failures) + len(result.errors)
    for test, reason in result.skipped:
        print(f"skipped {test}: {reason}")
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, "
          f"{len(result.skipped)} skipped")
    return 1 if failed or result.skipped or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
