#!/usr/bin/env python3
"""Conformance cases with a copy of every input in front, so that operators read from the arena.

A case of one node reads the caller's tensors, which nobody may write over. Behind a copy (Expand to its
own shape) each input is an intermediate that dies at the node: results are then written over inputs,
views look at intermediates, a Concat's inputs are written in place. The expected outputs stay.

usage: tests/conformance/through_arena.py CONFORMANCE_DIR OUTPUT_DIR
"""
import pathlib
import shutil
import sys

import onnx
from onnx import TensorProto, helper

MARK = "with_arena_inputs.txt"


def wrap(model):
    """The model with copies in front, or None where there is nothing to copy or no Expand yet."""
    opset = {o.domain: o.version for o in model.opset_import}.get("", 0)
    if opset < 8:
        return None
    copies = []
    defaults = {i.name for i in model.graph.initializer}
    if model.ir_version < 4:
        # Every initializer had to be listed as an input there; from version 4 on it need not.
        inputs = [i for i in model.graph.input if i.name not in defaults]
        del model.graph.input[:]
        model.graph.input.extend(inputs)
    for info in model.graph.input:
        if not info.type.HasField("tensor_type") or info.name in defaults or not info.name:
            continue
        tensor = info.type.tensor_type
        element = tensor.elem_type
        # Expand knows these types in all its versions; bfloat16 since version 13.
        if element > TensorProto.BFLOAT16 or (element == TensorProto.BFLOAT16 and opset < 13):
            continue
        rank = len(tensor.shape.dim)
        given = f"{info.name}__given"
        shape = f"{info.name}__ones"
        model.graph.initializer.append(
            helper.make_tensor(shape, TensorProto.INT64, [min(rank, 1)], [1] * min(rank, 1)))
        copies.append(helper.make_node("Expand", [given, shape], [info.name], name=f"{given}__copy"))
        info.name = given
    if not copies:
        return None
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(copies + nodes)
    model.ir_version = max(model.ir_version, 4)  # initializers that are no inputs
    return model


def main():
    source, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    stamp = (source / "version.txt").read_text()
    if (target / MARK).exists() and (target / MARK).read_text() == stamp:
        return
    shutil.rmtree(target, ignore_errors=True)
    count = 0
    for path in sorted(source.rglob("model.onnx")):
        model = wrap(onnx.load(path))
        if model is None:
            continue
        folder = target / path.parent.relative_to(source)
        folder.mkdir(parents=True)
        onnx.save(model, folder / "model.onnx")
        for item in path.parent.iterdir():
            if item.name != "model.onnx":
                (folder / item.name).symlink_to(item.resolve())
        count += 1
    (target / MARK).write_text(stamp)
    shutil.copy(source / "version.txt", target / "version.txt")
    print(f"{count} cases in {target}")


if __name__ == "__main__":
    main()
