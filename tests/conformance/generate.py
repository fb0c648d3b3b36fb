#!/usr/bin/env python3
"""Writes ONNX's own node tests as folders for `sardonyx test`, with the suite's tolerances.

The cases come from the `onnx` package's test-case collection; each becomes DIR/node/NAME with
model.onnx, test_data_set_N/{input,output}_K.pb and tolerance.txt. The suite's ready-made folders
(simple, pytorch-converted, pytorch-operator) are linked beside them. Nothing is done when DIR
already holds this package version's tests.

usage: tests/conformance/generate.py DIR
"""
import pathlib
import shutil
import sys
import warnings

import numpy as np
import onnx
import onnx.backend.test
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

# Operators that draw numbers: the standard leaves their values open, even for a given seed.
GENERATORS = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
              "RandomUniformLike"}
READY_MADE = ("simple", "pytorch-converted", "pytorch-operator")


def serialized(value, value_type):
    """A test value in the encoding that the declared type asks for."""
    kind = value_type.WhichOneof("value")
    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto)):
        message = value
    elif kind == "optional_type":
        message = numpy_helper.from_optional(value)
    elif kind == "sequence_type" or isinstance(value, list):
        message = numpy_helper.from_list(list(value))
    elif isinstance(value, dict):
        message = numpy_helper.from_dict(value)
    else:
        message = numpy_helper.from_array(np.asarray(value))
    return message.SerializeToString()


def write_case(case, folder):
    folder.mkdir(parents=True)
    onnx.save(case.model, folder / "model.onnx")
    graph = case.model.graph
    drawn = any(node.op_type in GENERATORS for node in graph.node)
    (folder / "tolerance.txt").write_text(
        f"rtol {case.rtol}\natol {case.atol}\n" + ("random\n" if drawn else ""))
    for index, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{index}"
        data.mkdir()
        for name, values, infos in (("input", inputs, graph.input),
                                    ("output", outputs, graph.output)):
            for k, (value, info) in enumerate(zip(values, infos)):
                (data / f"{name}_{k}.pb").write_bytes(serialized(value, info.type))


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 0 if "--help" in sys.argv else 2
    target = pathlib.Path(sys.argv[1])
    stamp = target / "version.txt"
    if stamp.exists() and stamp.read_text() == onnx.__version__:
        return 0
    shutil.rmtree(target, ignore_errors=True)
    warnings.filterwarnings("ignore")
    cases = collect_testcases(None)
    for case in cases:
        write_case(case, target / "node" / case.name)
    shipped = pathlib.Path(onnx.backend.test.__file__).parent / "data"
    for name in READY_MADE:
        shutil.copytree(shipped / name, target / name)
    stamp.write_text(onnx.__version__)
    print(f"{len(cases)} node tests of onnx {onnx.__version__} in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
