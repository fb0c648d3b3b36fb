#!/usr/bin/env python3
"""Makes an ONNX graph of exactly N small nodes, to see how loading scales."""

import argparse
import os
import sys
from pathlib import Path

import interpreter
import paths

interpreter.need(["onnx", "numpy"], paths.VENV_PYTHON, "tools/setup.sh python")

import numpy as np  # noqa: E402 (only importable after the line above)
import onnx  # noqa: E402

OPSET, IR_VERSION = 17, 8
WIDTH = 8
CONSTANTS = 300
LANES = 4  # parallel chains, so that the graph is not one long line

# One round of operators; Tanh keeps values bounded however long the chain is.
# "constant" nodes take an initializer, "cross" nodes the neighbouring lane.
ROUND = (("Add", "constant"), ("Relu", None), ("Mul", "constant"), ("Tanh", None),
         ("Add", "cross"), ("Sigmoid", None), ("Sub", "constant"), ("Neg", None))


def nodes_argument(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of nodes")
    return int(text)


def add_constants(graph, count):
    values = np.random.default_rng(0).uniform(0.5, 1.5, (count, WIDTH)).astype("<f4")
    for index, row in enumerate(values):
        graph.initializer.add(name=f"constant_{index}", dims=[WIDTH],
                              data_type=onnx.TensorProto.FLOAT, raw_data=row.tobytes())


def add_nodes(graph, count):
    """Appends the nodes; returns how many constants they use."""
    add = graph.node.add
    width = min(LANES, (count + 1) // 2)
    lanes = ["input"] * width
    body = count - (width - 1)  # the others join the lanes to one output
    constants = 0
    for index in range(body):
        lane, turn = index % width, index // width
        kind, second = ROUND[turn % len(ROUND)]
        inputs = [lanes[lane]]
        if second == "constant":
            inputs.append(f"constant_{constants % CONSTANTS}")
            constants += 1
        elif second == "cross":
            inputs.append(lanes[lane - 1])
        lanes[lane] = f"value_{index}"
        add(op_type=kind, name=f"{kind}_{index}", input=inputs, output=[lanes[lane]])
    joined = lanes[0]
    for index, value in enumerate(lanes[1:], body):
        inputs, joined = [joined, value], f"value_{index}"
        add(op_type="Add", name=f"Add_{index}", input=inputs, output=[joined])
    graph.node[-1].output[0] = "output"
    return min(constants, CONSTANTS)


def build(count):
    model = onnx.ModelProto(ir_version=IR_VERSION, producer_name="sardonyx-models")
    model.opset_import.add(domain="", version=OPSET)
    graph = model.graph
    graph.name = f"large_graph_{count}"
    add_constants(graph, add_nodes(graph, count))
    for values, name in ((graph.input, "input"), (graph.output, "output")):
        values.append(onnx.helper.make_tensor_value_info(
            name, onnx.TensorProto.FLOAT, [1, WIDTH]))
    return model


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Example: models/large_graph.py 200000 -o build/models/large_200k.onnx")
    parser.add_argument("nodes", type=nodes_argument, metavar="N")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    arguments = parser.parse_args()
    data = build(arguments.nodes).SerializeToString(deterministic=True)
    with paths.scratch_beside(arguments.output) as scratch:
        scratch.write_bytes(data)
        os.replace(scratch, arguments.output)
    print(f"{paths.shown(arguments.output)}  {arguments.nodes} nodes  {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
