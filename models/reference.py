#!/usr/bin/env python3
"""Records what onnxruntime computes, as a test case for `sardonyx test DIR`.

The layout is that of the ONNX backend tests: DIR/model.onnx and, in
DIR/test_data_set_N, the files input_K.pb and output_K.pb. This script makes one data
set; tests/models/references.py uses its functions for several.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import interpreter
import paths

interpreter.need(["onnx", "onnxruntime"], paths.VENV_PYTHON, "tools/setup.sh python")

import numpy as np  # noqa: E402 (only importable after the line above)
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import numpy_helper  # noqa: E402

import random_inputs  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Example: models/reference.py build/models/resnet18.onnx "
               "--dim batch=2 -o build/reference/resnet18")
    parser.add_argument("model", type=Path, metavar="MODEL.onnx")
    random_inputs.add_options(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    return parser.parse_args()


def open_session(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    # The stronger optimisations depend on the processor and change rounding.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(
        str(model), options, providers=["CPUExecutionProvider"])


def run(session, arrays):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, arrays)))


def serialized(name, value):
    """A tensor, or a sequence of them, in the backend tests' encoding."""
    if isinstance(value, list):
        return numpy_helper.from_list(value, name).SerializeToString()
    return numpy_helper.from_array(np.asarray(value), name).SerializeToString()


def link(source, target):
    """Makes the same file appear in another place, by a copy if need be."""
    if target.exists() and target.samefile(source):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        # A hard link keeps this version even if the original is replaced.
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)


def external_files(graph):
    """The side files that hold a model's large initializers."""
    return {entry.value for tensor in graph.initializer
            for entry in tensor.external_data if entry.key == "location"}


def write_case(folder, model_path, graph, data_sets):
    """Replaces the folder's data sets by these pairs of inputs and outputs."""
    link(model_path, folder / "model.onnx")
    for name in external_files(graph):
        link(model_path.parent / name, folder / name)
    # Made aside and moved over: no mixture of an old case and a new one.
    scratch = Path(tempfile.mkdtemp(prefix=".test_data.", dir=folder))
    try:
        for number, (inputs, outputs) in enumerate(data_sets):
            made = scratch / f"test_data_set_{number}"
            made.mkdir()
            for kind, values in (("input", inputs), ("output", outputs)):
                for index, (name, value) in enumerate(values.items()):
                    (made / f"{kind}_{index}.pb").write_bytes(serialized(name, value))
        for old in folder.glob("test_data_set_*"):
            shutil.rmtree(old)
        for made in scratch.iterdir():
            made.rename(folder / made.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def described(name, value):
    parts = value if isinstance(value, list) else [value]
    return f"{name} " + " ".join(f"{part.dtype}{list(part.shape)}" for part in parts)


def main():
    arguments = parse_arguments()
    try:
        graph = onnx.load(arguments.model, load_external_data=False).graph
        inputs = random_inputs.make(graph, arguments)
    except random_inputs.InputError as problem:
        print(f"{sys.argv[0]}: {problem}", file=sys.stderr)
        return 2
    except Exception as problem:  # unreadable or not a model at all
        print(f"{sys.argv[0]}: {arguments.model}: {problem}", file=sys.stderr)
        return 1
    try:
        outputs = run(open_session(arguments.model), inputs)
    except Exception as problem:  # onnxruntime has no common base class
        print(f"{sys.argv[0]}: onnxruntime: {problem}", file=sys.stderr)
        return 1
    write_case(arguments.output, arguments.model, graph, [(inputs, outputs)])
    for kind, values in (("input", inputs), ("output", outputs)):
        for name, value in values.items():
            print(f"{kind} {described(name, value)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
