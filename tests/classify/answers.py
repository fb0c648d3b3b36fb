#!/usr/bin/env python3
"""What a trained model says about photographs, and when classify applies softmax to what a model says.

usage: answers.py SARDONYX EFFICIENTNET_LITE0.onnx
"""
import pathlib
import subprocess
import sys
import tempfile

from common import SKIPPED, TensorProto, check, classify, finish, helper, np, onnx, photograph

# The first names that it must say, in any order, and how sure it must be of the first at least and at most.
ANSWERS = {"coffee.png": ({"espresso"}, 0.94, 0.96), "flower.jpg": ({"daisy"}, 0.2, 0.5),
           "chelsea.png": ({"tiger cat", "Egyptian cat", "tabby"}, 0.3, 0.5),
           "motorcycle_left.png": ({"moped"}, 0.4, 0.7)}


def check_photographs(program, model):
    files = [str(photograph(name)) for name in ANSWERS]
    together = classify(program, model, files, "--preset", "efficientnet-lite")
    if not together:
        return
    check(together["softmax_applied"], "the model ends in a Gemm")
    for (name, (wanted, low, high)), image in zip(ANSWERS.items(), together["images"]):
        said = {entry["name"] for entry in image["top"][:len(wanted)]}
        check(said == wanted, f"{name}: {said}")
        check(low <= image["top"][0]["confidence"] <= high, f"{name}: {image['top'][0]}")
    check(together["images"][0]["top"][0]["class"] == 967, "espresso is class 967")
    # One by one, in batches of 3, and all at once: the same numbers.
    for batch in ("1", "3"):
        apart = classify(program, model, files, "--preset", "efficientnet-lite", "--batch", batch)
        for one, other in zip(apart["images"] if apart else [], together["images"]):
            same = all(a["class"] == b["class"] and abs(a["confidence"] - b["confidence"]) < 1e-5
                       for a, b in zip(one["top"], other["top"]))
            check(same, f"{one['file']}: another answer in batches of {batch}")


def ending(path, tail, batch="batch"):
    """A model of three classes whose plain scores are 0.8, 0.4 and 0.6 times those of a gray image."""
    factors = helper.make_tensor("factors", TensorProto.FLOAT, [3], [8, 4, 6])
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [1])
    nodes = [helper.make_node("ReduceMean", ["image"], ["mean"], axes=[2, 3], keepdims=0),
             helper.make_node("Mul", ["mean", "factors"], ["plain"]), *tail]
    graph = helper.make_graph(
        nodes, "ending", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, 3, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)], [factors, axes])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]), path)
    return str(path)


def check_endings(program, scratch):
    node = helper.make_node
    image = scratch / "gray.ppm"
    image.write_bytes(b"P5 8 8 255\n" + bytes([51]) * 64)  # a fifth of 255
    plain = np.array([8, 4, 6]) * 0.2
    softmax = np.exp(plain) / np.exp(plain).sum()
    endings = {
        "plain": ([node("Identity", ["plain"], ["scores"])], True, softmax),
        "softmax": ([node("Softmax", ["plain"], ["scores"], axis=1)], False, softmax),
        "softmax and shape": ([node("Softmax", ["plain"], ["p"], axis=1), node("Flatten", ["p"], ["f"]),
                               node("Cast", ["f"], ["scores"], to=1)], False, softmax),
        "spelled out": ([node("Exp", ["plain"], ["e"]), node("ReduceSum", ["e", "axes"], ["s"], keepdims=1),
                         node("Div", ["e", "s"], ["scores"])], False, softmax),
        "log softmax": ([node("LogSoftmax", ["plain"], ["scores"], axis=1)], False, softmax),
        "sigmoid": ([node("Sigmoid", ["plain"], ["scores"])], False, 1 / (1 + np.exp(-plain))),
        "another division": ([node("Div", ["plain", "factors"], ["scores"])], True, np.ones(3) / 3),
    }
    for name, (tail, applied, wanted) in endings.items():
        model = ending(scratch / f"{name}.onnx", tail)
        said = classify(program, model, [str(image)], "--preset", "unit", "--resize", "fill")
        if not said:
            continue
        found = {entry["class"]: entry["confidence"] for entry in said["images"][0]["top"]}
        check(said["softmax_applied"] == applied, f"{name}: softmax_applied")
        check(np.allclose([found[i] for i in range(3)], wanted, atol=1e-5), f"{name}: {found}, {wanted}")
    # A batch that the model fixes is filled up.
    model = ending(scratch / "fixed.onnx", endings["plain"][0], batch=2)
    said = classify(program, model, [str(image)] * 3, "--preset", "unit", "--resize", "fill")
    for entry in said["images"] if said else []:
        check(abs(entry["top"][0]["confidence"] - softmax[0]) < 1e-5, f"fixed batch: {entry}")
    raw = classify(program, scratch / "plain.onnx", [str(image)], "--preset", "unit", "--resize", "fill",
                   "--softmax", "off", "--top", "1")
    check(raw and [round(e["confidence"], 4) for e in raw["images"][0]["top"]] == [1.6], f"raw: {raw}")


def check_shapes(program, scratch):
    """Rows of scores in whatever shape; what is no row of scores, and what are no numbers."""
    node = helper.make_node
    image = scratch / "gray.ppm"
    image.write_bytes(b"P5 8 8 255\n" + bytes([51]) * 64)

    def said(tail, batch="batch"):
        model = ending(scratch / "shape.onnx", tail, batch)
        done = subprocess.run([program, "classify", model, image, "--preset", "unit", "--softmax", "off"],
                              capture_output=True, text=True)
        return done.returncode, done.stdout.partition("\n")[2], done.stderr

    row = "   1      0  1.6000\n   2      2  1.2000\n   3      1  0.8000\n"
    plain = node("Reshape", ["plain", "shape"], ["scores"])
    for shape, batch, code in (([1, 3, 1, 1], "batch", 0), ([1, 1, 3], "batch", 0), ([3], 1, 0), ([3], "batch", 0),
                               ([3, 1], "batch", 4)):
        constant = node("Constant", [], ["shape"], value=helper.make_tensor("", 7, [len(shape)], shape))
        got = said([constant, plain], batch)
        check(got[0] == code and (code or got[1] == row), f"scores {shape}: {got}")
    got = said([node("Identity", ["image"], ["scores"])])
    check(got[0] == 4 and "float32[1,3,8,8] for 1 image, expected a row of scores" in got[2], f"a map: {got}")
    got = said([node("Sub", ["plain", "plain"], ["z"]), node("Div", ["z", "z"], ["scores"])])
    check(got[0] == 0 and got[1].count("  nan\n") == 3, f"no numbers: {got}")


def main():
    program, model = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        check_endings(program, pathlib.Path(folder))
        check_shapes(program, pathlib.Path(folder))
    if not pathlib.Path(model).exists():
        print(f"skipped: {model} is not there; make models makes it")
        return SKIPPED
    check_photographs(program, model)
    finish()


if __name__ == "__main__":
    sys.exit(main())
