#!/usr/bin/env python3
"""The symbolic shape of every value against the shape that it turns out to have.

Takes folders of test cases (model.onnx, test_data_set_*/input_*.pb). Numbers in the shapes of a model's
inputs become names first, and declared shapes of other values are dropped, so that inference has to
find everything by itself; the data's own sizes are then what the names are bound to. Each value that a
step of the main graph makes is compared with what its expression says for those sizes.

usage: tests/shapes/property.py [--keep] DIR..   (--keep: the models' shapes as they are)
"""
import ctypes as c
import pathlib
import sys

import onnx
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
import sardonyx_backend as door  # noqa: E402


class Binding(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_int64)]


class ValueInfo(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("name", c.c_char_p), ("kind", c.c_int),
                ("dtype", c.c_int), ("rank", c.c_int32), ("dims", c.c_int64 * door.MAX_RANK),
                ("producer", c.c_uint32), ("graph", c.c_uint32), ("is_constant", c.c_bool),
                ("is_input", c.c_bool), ("is_output", c.c_bool), ("has_default", c.c_bool),
                ("data", c.c_void_p)]


def open_shapes(model):
    """Names for numbers in the inputs' shapes; nothing declared elsewhere."""
    defaults = {i.name for i in model.graph.initializer}
    for i, info in enumerate(model.graph.input):
        if info.name in defaults or not info.type.HasField("tensor_type"):
            continue
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            dim.dim_param = f"s{i}_{axis}"
    del model.graph.value_info[:]
    for info in model.graph.output:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    return model


def read_input(path, value_type):
    data = path.read_bytes()
    kind = value_type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    if kind == "map_type":
        return numpy_helper.to_dict(onnx.MapProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


class Checker:
    def __init__(self):
        self.seen = self.resolved = self.cases = 0
        self.mistakes = []

    def bindings(self, rep, inputs):
        """What the names of sizes stand for in this data."""
        library, names, found = door.LIBRARY, set(), {}
        library.sdx_model_symbol.restype = c.c_char_p
        while name := library.sdx_model_symbol(rep.model, c.c_size_t(len(names))):
            names.add(name)
        for i, value in enumerate(inputs):
            index = library.sdx_model_input(rep.model, c.c_size_t(i))
            for axis, size in enumerate(getattr(value, "shape", ())):
                text = c.create_string_buffer(256)
                library.sdx_model_dim_text(rep.model, c.c_size_t(index), axis, text,
                                           c.c_size_t(256))
                if text.value in names:
                    found.setdefault(text.value, size)
        return found

    def check(self, folder, keep):
        model = onnx.load(folder / "model.onnx")
        rep = door.SardonyxRep(model if keep else open_shapes(model))
        for data in sorted(folder.glob("test_data_set_*")):
            paths = sorted(data.glob("input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
            inputs = [read_input(p, i.type) for i, p in zip(rep.inputs, paths)]
            self.run(folder, rep, inputs)
            self.cases += 1

    def run(self, folder, rep, inputs):
        library, error, shapes = door.LIBRARY, door.Error(), c.c_void_p()
        bound = self.bindings(rep, inputs)
        array = (Binding * max(1, len(bound)))(*[Binding(n, v) for n, v in bound.items()])
        door._check(library.sdx_shapes_create(rep.model, array, c.c_size_t(len(bound)),
                                              c.byref(shapes), c.byref(error)), error)

        def observe(_, value, tensor):
            info = ValueInfo(struct_size=c.sizeof(ValueInfo))
            library.sdx_model_get_value(rep.model, c.c_size_t(value), c.byref(info))
            if info.graph != 0:
                return
            rank, dims = c.c_int32(), (c.c_int64 * door.MAX_RANK)()
            library.sdx_shapes_get(shapes, c.c_size_t(value), c.byref(rank), dims)
            real = list(tensor[0].dims[:tensor[0].rank])
            told = list(dims[:rank.value]) if rank.value >= 0 else None
            self.seen += 1
            self.resolved += told is not None and all(d >= 0 for d in told)
            if told is not None and (len(told) != len(real) or any(
                    t >= 0 and t != r for t, r in zip(told, real))):
                self.mistakes.append(f"{folder}: {info.name.decode()} is {real}, not {told}")

        try:
            door.Context(rep, observe=observe).run(inputs)
        finally:
            library.sdx_shapes_release(shapes)


def main():
    keep = "--keep" in sys.argv
    checker = Checker()
    for root in [a for a in sys.argv[1:] if a != "--keep"]:
        folders = sorted(p.parent for p in pathlib.Path(root).rglob("model.onnx"))
        if not folders:
            print(f"skipped: nothing in {root}")
            return 77
        for folder in folders:
            try:
                checker.check(folder, keep)
            except Exception as problem:
                checker.mistakes.append(f"{folder}: {type(problem).__name__}: {problem}")
    print("\n".join(checker.mistakes))
    print(f"{checker.cases} runs, {checker.seen} values, {checker.resolved} resolved before the run, "
          f"{len(checker.mistakes)} mistakes")
    return 1 if checker.mistakes or not checker.cases else 0


if __name__ == "__main__":
    sys.exit(main())
