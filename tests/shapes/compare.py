#!/usr/bin/env python3
"""How many values' shapes are known before a run: Sardonyx, onnx.shape_inference, ONNX Runtime.

A value counts as resolved if its rank is known and each dimension is a number or an expression of the
names that the model's inputs have; names that a tool made up for what it could not find do not count.
Both peers get the model with the shapes of intermediate values dropped, and without an option less
than they have (data propagation, merging of symbols). Prints a Markdown table.

usage: tests/shapes/compare.py SARDONYX MODEL..   exit code 1 where a peer resolves a value that
Sardonyx does not
"""
import contextlib
import io
import json
import logging
import pathlib
import re
import subprocess
import sys

import onnx

NAME = re.compile(r"[A-Za-z_.][\w.:]*")
FUNCTIONS = {"floor", "ceiling", "ceil", "Max", "Min", "max", "min", "broadcast", "Mod", "ceildiv"}


def input_names(model):
    return {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim
            if d.dim_param}


def made_values(model):
    """Tensors that nodes of the main graph make."""
    return {o for n in model.graph.node if n.op_type != "Constant" for o in n.output if o}


def resolved_in(inferred, model):
    """Names of the values whose shape stands in the model that a tool gave back."""
    known, names = set(), input_names(model)
    for info in list(inferred.graph.value_info) + list(inferred.graph.output):
        tensor = info.type.tensor_type
        if info.type.WhichOneof("value") != "tensor_type" or not tensor.HasField("shape"):
            continue
        if all(d.HasField("dim_value") or (d.dim_param and
                                           set(NAME.findall(d.dim_param)) <= names | FUNCTIONS)
               for d in tensor.shape.dim):
            known.add(info.name)
    return known


def by_onnx(model):
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def by_onnx_runtime(model):
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    logging.disable(logging.CRITICAL)
    with contextlib.redirect_stdout(io.StringIO()):
        return SymbolicShapeInference.infer_shapes(model, auto_merge=True)


def by_sardonyx(binary, path):
    done = subprocess.run([binary, "inspect", path, "--stage", "shape", "--json"],
                          capture_output=True, text=True, check=True)
    return {v["name"] for v in json.loads(done.stdout)["values"] if "?" not in v["type"]}


def bare(path):
    """The model without weights' bytes mattering and without declared intermediate shapes."""
    model = onnx.load(path)
    del model.graph.value_info[:]
    return model


def main():
    binary, paths = sys.argv[1], sys.argv[2:]
    print("| model | values | Sardonyx | onnx.shape_inference | ONNX Runtime's symbolic_shape_infer |")
    print("|---|---|---|---|---|")
    worse = []
    for path in paths:
        model = bare(path)
        values = made_values(model)
        ours = by_sardonyx(binary, path) & values
        row = [f"{pathlib.Path(path).stem}", str(len(values)), str(len(ours))]
        for tool in (by_onnx, by_onnx_runtime):
            try:
                theirs = resolved_in(tool(bare(path)), model) & values
                row.append(str(len(theirs)))
                worse += [f"{path}: {name} ({tool.__name__})" for name in theirs - ours]
            except Exception as problem:
                row.append(f"fails: {type(problem).__name__}")
        print("| " + " | ".join(row) + " |", flush=True)
    for line in worse:
        print(line, file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
