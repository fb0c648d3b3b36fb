#!/usr/bin/env python3
"""Makes the small models, tensors and test folders that the cases of tests/cli use.

usage: models.py FOLDER
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8


def tensor(name, dims, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def constant(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.array(values, dtype), name)


def model(nodes, inputs, outputs, initializers=(), opsets=(("", OPSET),), name="small", **header):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    made = helper.make_model(graph, ir_version=IR_VERSION, producer_name="cli-test",
                             opset_imports=[helper.make_opsetid(*o) for o in opsets])
    for key, value in header.items():
        setattr(made, key, value)
    return made


def save(folder, name, made):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(made.SerializeToString(deterministic=True))


def linear():
    """y = relu(x @ w + b), with everything that a header can say."""
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"], "dense", alpha=0.5, transB=1),
             helper.make_node("Relu", ["h"], ["y"])]
    made = model(nodes, [tensor("x", ["batch", 3])], [tensor("y", ["batch", 2])],
                 [constant("w", [[1, 2, 3], [4, 5, 6]]), constant("b", [0.5, -20])],
                 domain="org.example", model_version=3, producer_version="1.2",
                 doc_string="A line.\nAnother.")
    helper.set_model_props(made, {"author": "nobody", "licence": "none"})
    return made


def conv3():
    """relu(conv(x)), 3x3 and large enough for Winograd's way."""
    weights = (np.arange(32 * 32 * 9, dtype=np.float32).reshape(32, 32, 3, 3) % 13 - 6) / 50
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["y"], "relu")]
    return model(nodes, [tensor("x", [1, 32, 32, 32])], [tensor("y", [1, 32, 32, 32])],
                 [constant("w", weights)])


def data_dependent():
    """The shape of nz follows from the data; cut, of rank 1, is as long as nz is wide."""
    nodes = [helper.make_node("NonZero", ["x"], ["nz"], "find"),
             helper.make_node("Transpose", ["nz"], ["rows"], "turn", perm=[1, 0])]
    return model(nodes, [tensor("x", ["n", "m*2"])],
                 [tensor("rows", None, TensorProto.INT64)])


def colours(dims, props, *more_inputs):
    """The mean of each channel as the score of a class: red, green, blue."""
    nodes = [helper.make_node("ReduceMean", ["image"], ["means"], axes=[2, 3], keepdims=0),
             helper.make_node("Mul", ["means", "ten"], ["scores"])]
    made = model(nodes, [tensor("image", dims), *more_inputs], [tensor("scores", None)],
                 [constant("ten", 10)])
    helper.set_model_props(made, props)
    return made


def endless():
    """A Loop of 2^62 rounds that adds 1 each time."""
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "one"], ["b"]),
         helper.make_node("Identity", ["go"], ["on"])], "body",
        [tensor("i", [], TensorProto.INT64), tensor("go", [], TensorProto.BOOL), tensor("a", [1])],
        [tensor("on", [], TensorProto.BOOL), tensor("b", [1])],
        [constant("one", [1])])
    return model([helper.make_node("Loop", ["rounds", "", "x"], ["y"], "around", body=body)],
                 [tensor("x", [1])], [tensor("y", [1])],
                 [constant("rounds", 1 << 62, np.int64)])


def heavy():
    """A product of 2^37 multiplications, of which a run must not wait for the end."""
    return model([helper.make_node("MatMul", ["x", "x"], ["y"], "product")],
                 [tensor("x", ["n", "n"])], [tensor("y", ["n", "n"])])


def declared():
    """Shapes in the file: a name for what data decides, and two that cannot be."""
    nodes = [helper.make_node("NonZero", ["x"], ["nz"], "find"),
             helper.make_node("Concat", ["x", "x"], ["twice"], "join", axis=1),
             helper.make_node("Relu", ["twice"], ["y"], "cut")]
    made = model(nodes, [tensor("x", ["n", 2])],
                 [tensor("y", ["n", 4, 1]), tensor("nz", [2, "found"], TensorProto.INT64)])
    made.graph.value_info.append(tensor("twice", ["n", 5]))
    return made


def written_out():
    """A Swish in two nodes behind an Identity."""
    nodes = [helper.make_node("Identity", ["x"], ["a"], "nothing"),
             helper.make_node("Sigmoid", ["a"], ["s"], "gate"),
             helper.make_node("Mul", ["a", "s"], ["y"], "product")]
    return model(nodes, [tensor("x", ["n"])], [tensor("y", ["n"])])


def branches():
    """An If whose branches capture x."""
    def body(name, kind):
        return helper.make_graph([helper.make_node(kind, ["x"], [name], f"do_{name}")],
                                 f"{name}_graph", [], [tensor(name, ["n"])])
    nodes = [helper.make_node("If", ["which"], ["y"], "choose", then_branch=body("a", "Neg"),
                              else_branch=body("b", "Abs"))]
    return model(nodes, [tensor("which", [], TensorProto.BOOL), tensor("x", ["n"])],
                 [tensor("y", ["n"])])


def unsupported():
    """Three operators that nobody has, one type that Relu never takes, one node that is fine."""
    nodes = [helper.make_node("Frobnicate", ["x"], ["a"], "first", level=3),
             helper.make_node("Twist", ["a"], ["b"], "second", domain="org.example"),
             helper.make_node("Frobnicate", ["b"], ["c"], "third"),
             helper.make_node("Relu", ["words"], ["d"], "fourth"),
             helper.make_node("Relu", ["x"], ["e"], "fine")]
    return model(nodes, [tensor("x", ["n"]), tensor("words", [2], TensorProto.STRING)],
                 [tensor("c", None), tensor("d", None, TensorProto.STRING), tensor("e", ["n"])],
                 opsets=(("", OPSET), ("org.example", 1)))


def strange_names():
    """Outputs whose names are no file names, three of which become the same one."""
    names = ["a/b", "a:b", "a_b", "../up", "tab\there\x1b[31m"]
    nodes = [helper.make_node("Identity", ["x"], [name], f"node\x07{i}")
             for i, name in enumerate(names)]
    return model(nodes, [tensor("x", [2])], [tensor(name, [2]) for name in names])


def one_node(kind, types, outputs, inputs=None, **attributes):
    names = [t.name for t in types]
    return model([helper.make_node(kind, names if inputs is None else inputs,
                                   [o.name for o in outputs], "it", **attributes)],
                 types, outputs)


def write_models(folder):
    save(folder, "linear.onnx", linear())
    save(folder, "conv3.onnx", conv3())
    save(folder, "data.onnx", data_dependent())
    save(folder, "declared.onnx", declared())
    save(folder, "endless.onnx", endless())
    save(folder, "colours.onnx", colours(["batch", 3, 4, 4], {
        "sardonyx.preset": "unit resize=fill", "sardonyx.labels": "red\ngreen\nlight\tblue\n"}))
    save(folder, "plain-colours.onnx", colours(["batch", 3, "height", "width"], {}))
    save(folder, "odd-colours.onnx", colours([2, 3, 4, 4], {
        "sardonyx.preset": "sepia", "sardonyx.labels": "imagenet"}))
    save(folder, "two-images.onnx", colours(["batch", 3, 4, 4], {}, tensor("other", ["batch"])))
    save(folder, "heavy.onnx", heavy())
    save(folder, "branches.onnx", branches())
    save(folder, "written_out.onnx", written_out())
    save(folder, "unsupported.onnx", unsupported())
    save(folder, "names.onnx", strange_names())
    save(folder, "no_rank.onnx", one_node("Relu", [tensor("x", None)], [tensor("y", None)]))
    save(folder, "open.onnx", one_node("Relu", [tensor("x", [None, 2])], [tensor("y", [None, 2])]))
    save(folder, "half.onnx", one_node("Relu", [tensor("x", [2], TensorProto.FLOAT16)],
                                       [tensor("y", [2], TensorProto.FLOAT16)]))
    save(folder, "brain.onnx", one_node("Relu", [tensor("x", [2], TensorProto.BFLOAT16)],
                                        [tensor("y", [2], TensorProto.BFLOAT16)]))
    save(folder, "two.onnx", one_node("Add", [tensor("x", ["n"]), tensor("x=1", ["n"])],
                                      [tensor("sum", ["n"])]))
    save(folder, "grow.onnx", one_node("Concat", [tensor("a", ["past"]), tensor("b", ["past + 1"])],
                                       [tensor("c", None)], axis=0))
    save(folder, "nan.onnx", one_node("Sqrt", [tensor("x", [3])], [tensor("y", [3])]))
    save(folder, "words.onnx", one_node("Identity", [tensor("x", [2], TensorProto.STRING)],
                                        [tensor("y", [2], TensorProto.STRING)]))
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    save(folder, "sequence.onnx", one_node("SequenceInsert", [sequence, tensor("x", ["n"])],
                                           [helper.make_tensor_sequence_value_info(
                                               "out", TensorProto.FLOAT, None)]))
    whole = linear().SerializeToString(deterministic=True)
    (folder / "cut.onnx").write_bytes(whole[:60])
    (folder / "empty.onnx").write_bytes(b"")


def write_tensors(folder):
    np.save(folder / "x.npy", np.array([[1, 2, 3], [-1, 0, 1]], np.float32))
    np.save(folder / "x64.npy", np.ones((2, 3), np.float64))
    np.save(folder / "wide.npy", np.ones((2, 4), np.float32))
    np.save(folder / "flat.npy", np.array([1, 2], np.float32))
    np.save(folder / "three.npy", np.array([-1, 4, -9], np.float32))
    np.save(folder / "want_linear.npy", np.array([[7.5, 0], [1.5, 0]], np.float32))
    np.save(folder / "want_sum.npy", np.array([2, 4], np.float32))
    (folder / "x.pb").write_bytes(
        constant("x", [[1, 2, 3], [-1, 0, 1]]).SerializeToString(deterministic=True))
    items = [np.array([1, 2], np.float32), np.array([3], np.float32)]
    (folder / "s.pb").write_bytes(
        numpy_helper.from_list(items, "s").SerializeToString(deterministic=True))
    (folder / "x.txt").write_text("1 2 3\n")


def write_case(folder, made, sets, tolerance=None):
    """A backend test: sets is a list of (inputs, outputs), each a list of arrays."""
    save(folder, "model.onnx", made)
    for number, (inputs, outputs) in enumerate(sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for index, array in enumerate(arrays):
                proto = numpy_helper.from_array(np.array(array, np.float32))
                (data / f"{kind}_{index}.pb").write_bytes(proto.SerializeToString())
    if tolerance:
        (folder / "tolerance.txt").write_text(tolerance)


def write_cases(folder):
    double = one_node("Add", [tensor("x", ["n"])], [tensor("y", ["n"])], inputs=["x", "x"])
    nan = float("nan")
    good = ([[1, 2, nan]], [[2, 4, nan]])
    write_case(folder / "pass" / "double", double, [good, ([[3]], [[6]])])
    write_case(folder / "pass" / "deep" / "loose", double, [([[1, 2]], [[2.1, 4]])], "rtol 0.1\n")
    # The second data set leaves b out: its default counts then, not what the first one gave.
    added = model([helper.make_node("Add", ["x", "b"], ["y"], "it")],
                  [tensor("x", ["n"]), tensor("b", [1])], [tensor("y", ["n"])],
                  [constant("b", [10])])
    write_case(folder / "pass" / "default", added, [([[1, 2], [5]], [[6, 7]]), ([[1]], [[11]])])
    write_case(folder / "fail" / "value", double, [good, ([[1, 2, 3]], [[2, 5, 7]])])
    write_case(folder / "fail" / "shape", double, [([[1, 2]], [[2, 4, 6]])])
    write_case(folder / "fail" / "nan", double, [([[1, 2]], [[2, nan]])])
    write_case(folder / "fail" / "no-data", double, [])
    write_case(folder / "fail" / "no-output", double, [([[1, 2]], [])])
    write_case(folder / "fail" / "extra-input", double, [([[1], [2]], [[2]])])
    write_case(folder / "fail" / "no-input", double, [([], [[2]])])
    write_case(folder / "fail" / "tolerance", double, [good], "rtol lots\n")
    write_case(folder / "skip" / "unknown", one_node("Frobnicate", [tensor("x", ["n"])],
                                                     [tensor("y", ["n"])]), [good])
    (folder / "none" / "inner").mkdir(parents=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write_models(folder)
    write_tensors(folder)
    write_cases(folder / "cases")


if __name__ == "__main__":
    main()
