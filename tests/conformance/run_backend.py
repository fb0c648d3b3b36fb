#!/usr/bin/env python3
"""Runs ONNX's own test runner over the library, through the standard backend interface.

The outputs of operators that draw numbers are left open by the standard, so the cases made of them
are not run here: `sardonyx test` compares their types and shapes. ONNX's "real" models need a
download.

usage: tests/conformance/run_backend.py   (SARDONYX_LIBRARY names another libsardonyx.so)
"""
import sys
import unittest
import warnings

import onnx.backend.test

from generate import GENERATORS
from sardonyx_backend import SardonyxBackend


def drawn_cases():
    from onnx.backend.test.case.node import collect_testcases
    return [case.name for case in collect_testcases(None)
            if any(node.op_type in GENERATORS for node in case.model.graph.node)]


def main():
    warnings.filterwarnings("ignore")
    backend_test = onnx.backend.test.BackendTest(SardonyxBackend, __name__)
    left_out = {f"{name}_cpu" for name in drawn_cases()}
    # The runner takes the length of each item of a sequence; here the items are scalars.
    backend_test.exclude("test_loop16_seq_none_cpu")
    backend_test.exclude("test_gradient_of_.*")  # the operator Gradient is missing
    suite = unittest.TestSuite()
    for name, cases in backend_test.test_cases.items():
        for test in unittest.defaultTestLoader.getTestCaseNames(cases):
            if "Real" not in name and test.endswith("_cpu") and test not in left_out:
                suite.addTest(cases(test))
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, "
          f"{len(result.skipped)} skipped")
    return 1 if failed or not result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
