"""Small models, tensors, images and problems that the tests of faults use.

usage: models.py FOLDER
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

OPSET = 17


def info(name, dims, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def save(folder, model, *sets, external=False):
    """A model and its inputs, as ONNX's own tests have them."""
    folder.mkdir(parents=True, exist_ok=True)
    if external:
        onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="weights.bin",
                  all_tensors_to_one_file=True, size_threshold=16)
    else:
        onnx.save(model, folder / "model.onnx")
    for number, arrays in enumerate(sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir(exist_ok=True)
        for i, array in enumerate(arrays):
            (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())


def make(nodes, inputs, outputs, weights=(), functions=(), opsets=(("", OPSET),)):
    graph = helper.make_graph(nodes, "faults", inputs, outputs,
                              [numpy_helper.from_array(w, n) for n, w in weights])
    return helper.make_model(graph, ir_version=8, functions=list(functions),
                             opset_imports=[helper.make_opsetid(*o) for o in opsets])


def network(rng):
    """Convolutions, a pool and a product, for any batch: passes, packing, slices and threads all have work."""
    weights = [("w1", rng.standard_normal((16, 3, 3, 3)) * .2), ("b1", rng.standard_normal(16)),
               ("w2", rng.standard_normal((16, 1, 3, 3)) * .2),
               ("w3", rng.standard_normal((24, 16, 1, 1)) * .2),
               ("w4", rng.standard_normal((24, 10)) * .2), ("b4", rng.standard_normal(10))]
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], strides=[2, 2]),
             helper.make_node("Relu", ["c1"], ["r1"]),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1], group=16),
             helper.make_node("Add", ["c2", "r1"], ["a2"]),
             helper.make_node("Conv", ["a2", "w3"], ["c3"]),
             helper.make_node("Sigmoid", ["c3"], ["s3"]),
             helper.make_node("Mul", ["c3", "s3"], ["m3"]),
             helper.make_node("GlobalAveragePool", ["m3"], ["p"]),
             helper.make_node("Flatten", ["p"], ["f"]),
             helper.make_node("Gemm", ["f", "w4", "b4"], ["g"]),
             helper.make_node("Softmax", ["g"], ["y"], axis=1)]
    return make(nodes, [info("x", ["batch", 3, "height", "width"])], [info("y", ["batch", 10])],
                [(n, w.astype(np.float32)) for n, w in weights])


def with_function(rng):
    """A function of the model that calls another one."""
    inner = helper.make_function("local", "Twice", ["a"], ["b"],
                                 [helper.make_node("Add", ["a", "a"], ["b"])],
                                 [helper.make_opsetid("", OPSET)])
    outer = helper.make_function("local", "Outer", ["a"], ["c"],
                                 [helper.make_node("Twice", ["a"], ["b"], domain="local"),
                                  helper.make_node("Tanh", ["b"], ["c"])],
                                 [helper.make_opsetid("", OPSET), helper.make_opsetid("local", 1)])
    nodes = [helper.make_node("Outer", ["x"], ["h"], domain="local"),
             helper.make_node("Outer", ["h"], ["y"], domain="local")]
    return make(nodes, [info("x", ["n", 4])], [info("y", ["n", 4])], functions=[inner, outer],
                opsets=(("", OPSET), ("local", 1)))


def problem(rng, count):
    rows = ["id,lower,upper,size"]
    for i in range(count):
        lower = int(rng.integers(0, count))
        rows.append(f"b{i},{lower},{lower + 1 + int(rng.integers(0, 9))},{int(rng.integers(1, 4000))}")
    return "\n".join(rows) + "\n"


def images(folder, rng):
    pixels = Image.fromarray(rng.integers(0, 256, (60, 80, 3), np.uint8).repeat(2, 0).repeat(2, 1))
    for ending, options in (("jpg", {}), ("png", {}), ("webp", {}), ("bmp", {}), ("ppm", {}),
                            ("tif", {"compression": "tiff_lzw"}), ("jp2", {})):
        pixels.save(folder / f"picture.{ending}", **options)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    sizes = [(rng.random((n, 3, h, h), np.float32),) for n, h in ((2, 16), (5, 24), (1, 16))]
    save(folder / "network", network(rng), *sizes)
    save(folder / "external", network(rng), *sizes, external=True)
    rows = rng.random((3, 4), np.float32)
    save(folder / "function", with_function(rng), (rows,), (rows[:1],))
    for number, x in enumerate((rows, rows[:1])):  # Outer twice; the command `test` compares with it
        y = numpy_helper.from_array(np.tanh(2 * np.tanh(2 * x)))
        (folder / "function" / f"test_data_set_{number}" / "output_0.pb").write_bytes(y.SerializeToString())
    (folder / "problem.csv").write_text(problem(rng, 14))
    np.save(folder / "floats.npy", rows)
    np.save(folder / "turned.npy", np.asfortranarray(rng.random((7, 5))))
    np.save(folder / "strings.npy", np.array([["one", "zwei"], ["drei", "vier"]]))
    np.save(folder / "half.npy", rows.astype(np.float16))
    images(folder, rng)


if __name__ == "__main__":
    main()
