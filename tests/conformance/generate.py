#!/usr/bin/env python3
"""Writes ONNX's own node tests as folders for `sardonyx test`, with the suite's tolerances.

The cases come from the `onnx` package's test-case collection; each becomes DIR/node/NAME with
model.onnx, test_data_set_N/{input,output}_K.pb and tolerance.txt. The suite's ready-made folders
(simple, pytorch-converted, pytorch-operator) are copied beside them, and its "light" models (real
architectures whose weights are made by ConstantOfShape) get the inputs that ONNX's own runner feeds
them. Nothing is done when DIR already holds what this script makes of this package version.

usage: tests/conformance/generate.py DIR
"""
import hashlib
import json
import pathlib
import shutil
import sys
import warnings

import numpy as np
import onnx
import onnx.backend.test
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.runner import Runner

# Operators that draw numbers: the standard leaves their values open, even for a given seed.
GENERATORS = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
              "RandomUniformLike"}
READY_MADE = ("simple", "pytorch-converted", "pytorch-operator")
SHIPPED = pathlib.Path(onnx.backend.test.__file__).parent / "data"


def version_of(script, *parts):
    """What a generated folder is stamped with: made anew when its script or its sources change."""
    return " ".join([*parts, hashlib.sha256(pathlib.Path(script).read_bytes()).hexdigest()[:12]])


def write_tolerance(folder, rtol, atol, drawn=False):
    (folder / "tolerance.txt").write_text(
        f"rtol {rtol}\natol {atol}\n" + ("random\n" if drawn else ""))


def draws(model):
    return any(node.op_type in GENERATORS for node in model.graph.node)


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
    write_tolerance(folder, case.rtol, case.atol, draws(case.model))
    for index, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{index}"
        data.mkdir()
        for name, values, infos in (("input", inputs, graph.input),
                                    ("output", outputs, graph.output)):
            for k, (value, info) in enumerate(zip(values, infos)):
                (data / f"{name}_{k}.pb").write_bytes(serialized(value, info.type))


def write_light(target):
    """The cases that the suite calls real: their models and expected outputs lie in `light`."""
    count = 0
    for described in sorted((SHIPPED / "real").glob("*/data.json")):
        facts = json.loads(described.read_text())
        source = SHIPPED / "light" / pathlib.PurePosixPath(facts["url"]).name
        model = onnx.load(source)
        folder = target / described.parent.name
        data = folder / "test_data_set_0"
        data.mkdir(parents=True)
        shutil.copy(source, folder / "model.onnx")
        write_tolerance(folder, facts["rtol"], facts["atol"])
        weights = {initializer.name for initializer in model.graph.initializer}
        fed = [info for info in model.graph.input if info.name not in weights]
        for k, info in enumerate(fed):
            value = Runner.generate_dummy_data(info, name=facts["model_name"])
            (data / f"input_{k}.pb").write_bytes(serialized(value, info.type))
        for k in range(len(model.graph.output)):
            shutil.copy(source.with_name(f"{source.stem}_output_{k}.pb"), data / f"output_{k}.pb")
        count += 1
    return count


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 0 if "--help" in sys.argv else 2
    target = pathlib.Path(sys.argv[1])
    stamp = target / "version.txt"
    version = version_of(__file__, onnx.__version__)
    if stamp.exists() and stamp.read_text() == version:
        return 0
    shutil.rmtree(target, ignore_errors=True)
    warnings.filterwarnings("ignore")
    cases = collect_testcases(None)
    for case in cases:
        write_case(case, target / "node" / case.name)
    for name in READY_MADE:
        shutil.copytree(SHIPPED / name, target / name)
    light = write_light(target / "light")
    stamp.write_text(version)
    print(f"{len(cases)} node tests and {light} models of onnx {onnx.__version__} in {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
