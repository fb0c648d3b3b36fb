#!/usr/bin/env python3
"""Prints a model's table row: input, file size, multiply-adds, operators.

Multiply-adds are those of convolutions and matrix products, counted from the
shapes that the tensors really have when onnxruntime runs the model once.
"""

import argparse
import collections
import math
import sys
from pathlib import Path

import interpreter
import paths

interpreter.need(["onnx", "onnxruntime"], paths.VENV_PYTHON, "tools/setup.sh python")

import onnx  # noqa: E402 (only importable after the line above)
import onnxruntime  # noqa: E402

import random_inputs  # noqa: E402

# Multiply-adds from the shapes of the two factors and of the result.
COUNTED = {
    "Conv": lambda data, weight, result: math.prod(result) * math.prod(weight[1:]),
    "ConvTranspose": lambda data, weight, result: math.prod(data) * math.prod(weight[1:]),
    "Gemm": lambda data, weight, result: math.prod(data) * result[1],
    "MatMul": lambda data, weight, result: math.prod(result) * data[-1],
}


def multiply_adds(model, arrays):
    """Runs the model with every factor and product as an extra output."""
    counted = [node for node in model.graph.node if node.op_type in COUNTED]
    known = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    known.update((name, array.shape) for name, array in arrays.items())
    wanted = {name for node in counted for name in (*node.input[:2], node.output[0])}
    present = {value.name for value in model.graph.output}
    for name in sorted(wanted - set(known) - present):
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    for name, array in zip(names, session.run(names, arrays)):
        known[name] = array.shape
    return sum(COUNTED[node.op_type](known[node.input[0]], known[node.input[1]],
                                     known[node.output[0]]) for node in counted)


def scaled(number):
    for unit, size in (("G", 1e9), ("M", 1e6)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return str(number)


def row(path, arguments):
    model = onnx.load(path)
    arrays = random_inputs.make(model.graph, arguments)
    # Counted before the run, which adds outputs to the graph.
    operators = collections.Counter(node.op_type for node in model.graph.node)
    opset = max(entry.version for entry in model.opset_import if not entry.domain)
    shapes = ", ".join(f"{name} {'x'.join(map(str, array.shape))}"
                       for name, array in arrays.items())
    macs = scaled(multiply_adds(model, arrays))
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    listed = " ".join(sorted(operators))
    return f"| {path.stem} | {shapes} | {opset} | {size} | {operators.total()} | {macs} | {listed} |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Example: models/describe.py build/models/resnet18.onnx --dim batch=1")
    parser.add_argument("model", nargs="+", type=Path, metavar="MODEL.onnx")
    random_inputs.add_options(parser)
    arguments = parser.parse_args()
    print("| model | input | opset | file | nodes | MACs | operators |")
    print("|---|---|---|---|---|---|---|")
    for path in arguments.model:
        try:
            print(row(path, arguments), flush=True)
        except random_inputs.InputError as problem:
            print(f"{sys.argv[0]}: {path}: {problem}", file=sys.stderr)
            return 2
        except Exception as problem:  # unreadable, or refused by onnxruntime
            print(f"{sys.argv[0]}: {path}: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
