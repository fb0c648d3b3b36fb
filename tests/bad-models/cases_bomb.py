"""Small models that ask for much memory. The answer must come at once, and without taking it."""
import numpy as np
from onnx import TensorProto, helper

from cases_shape import array, one
from cases_graph import save
from wire import FLOAT, case, data, graph, model, node, raw, sparse, tensor


def of(name, *shape, dtype=TensorProto.INT64):
    return helper.make_tensor_value_info(name, dtype, shape)


@case("node 'n' (ConstantOfShape)", code=1)
def zeros_of_17_gigabytes():
    return one("ConstantOfShape", ["s"], {}, [array("s", [17 << 28])])


@case("node 'n' (ConstantOfShape)", code=1)
def zeros_of_2_to_61():
    return one("ConstantOfShape", ["s"], {}, [array("s", [1 << 61])])


@case("node 'n' (ConstantOfShape)", code=1)
def zeros_of_2_to_62():
    return one("ConstantOfShape", ["s"], {}, [array("s", [1 << 62])])


@case("node 'n' (ConstantOfShape)", code=1)
def zeros_of_2_to_64():
    return one("ConstantOfShape", ["s"], {}, [array("s", [1 << 32, 1 << 32])])


@case("node 'n' (Expand)", code=1)
def expand_to_17_gigabytes():
    return one("Expand", ["x", "s"], {"x": (1,)}, [array("s", [17 << 28])])


@case("node 'n' (Expand)", code=1)
def expand_to_2_to_62():
    return one("Expand", ["x", "s"], {"x": (1,)}, [array("s", [1 << 31, 1 << 31])])


@case("node 'n' (Tile)", code=1)
def tile_to_17_gigabytes():
    return one("Tile", ["x", "r"], {"x": (1,)}, [array("r", [17 << 28])])


@case("node 'n' (Tile)", code=1)
def tile_to_2_to_64():
    return one("Tile", ["x", "r"], {"x": (16, 16)}, [array("r", [1 << 30, 1 << 30])])


@case("node 'n' (Range)", code=1)
def range_of_17_gigabytes():
    return one("Range", ["a", "b", "c"], {}, [array("a", 0), array("b", 17 << 27), array("c", 1)])


@case("node 'n' (Range)", code=1)
def range_of_2_to_63():
    return one("Range", ["a", "b", "c"], {},
               [array("a", -(1 << 62)), array("b", (1 << 62) - 1), array("c", 1)])


@case("node 'n' (Range)")
def range_of_infinity():
    values = [array(n, v, np.float32) for n, v in (("a", 0), ("b", np.inf), ("c", 1))]
    return one("Range", ["a", "b", "c"], {}, values)


@case("node 'n' (Range)")
def range_with_delta_0():
    return one("Range", ["a", "b", "c"], {}, [array("a", 0), array("b", 4), array("c", 0)])


@case("node 'n' (Pad)", code=1)
def pad_to_17_gigabytes():
    return one("Pad", ["x", "p"], {"x": (1,)}, [array("p", [0, 17 << 28])])


@case("node 'n' (OneHot)", code=1)
def one_hot_of_17_gigabytes():
    return one("OneHot", ["x", "d", "v"], {"x": (1,)}, [array("d", 17 << 28),
                                                       array("v", [0, 1], np.float32)])


@case("node 'n' (Resize)", code=1)
def resize_to_17_gigabytes():
    return one("Resize", ["x", "", "", "s"], {"x": (1, 1, 1, 1)},
               [array("s", [1, 1, 1 << 16, 68 << 10])], mode="nearest")


@case("17", "gigabytes of", code=1)
def sparse_of_17_gigabytes():
    values = tensor(FLOAT, [1], raw(b"\0" * 4))
    indices = tensor(7, [1], raw(b"\0" * 8), name="")
    return model(graph(node("Identity", ["w"], ["y"]), inputs=b"", outputs=data(12, data(1, "y")),
                       rest=data(15, sparse(values, indices, [17 << 28]))))


# The same, where only a run can tell.

def at_run_time(op, inputs, inits, where, **attrs):
    """The node reads its sizes through a Cast, so that they are not known while loading."""
    hidden = helper.make_node("NonZero", [where], ["h"])
    assert hidden
    cast = helper.make_node("Cast", [where], ["h"], to=TensorProto.INT64)
    wired = ["h" if i == where else i for i in inputs]
    made = helper.make_node(op, wired, ["y"], name="n", **attrs)
    return save([cast, made], [], [helper.make_empty_tensor_value_info("y")], inits)


@case("node 'n' (ConstantOfShape)", code=3, only="run")
def zeros_of_17_gigabytes_at_run_time():
    return at_run_time("ConstantOfShape", ["s"], [array("s", [17 << 28], np.float64)], "s")


@case("node 'n' (ConstantOfShape)", only="run", code=1)
def zeros_of_2_to_64_at_run_time():
    return at_run_time("ConstantOfShape", ["s"], [array("s", [1 << 32, 1 << 32], np.float64)], "s")


@case("node 'n' (Tile)", only="run", code=1)
def tile_to_2_to_64_at_run_time():
    return at_run_time("Tile", ["x", "r"],
                       [array("x", [[1.0]], np.float32), array("r", [1 << 32, 1 << 32], np.float64)],
                       "r")


@case("node 'n' (Expand)", only="run", code=1)
def expand_to_2_to_64_at_run_time():
    return at_run_time("Expand", ["x", "s"],
                       [array("x", [1.0], np.float32), array("s", [1 << 32, 1 << 32], np.float64)],
                       "s")


@case("node 'n' (Loop)", only="run", code=1, seconds=20)
def loop_without_end():
    body = helper.make_graph([helper.make_node("Identity", ["k"], ["k2"]),
                              helper.make_node("Concat", ["v", "v"], ["v2"], axis=0)], "b",
                             [of("i"), of("k", dtype=TensorProto.BOOL), of("v", "n")],
                             [of("k2", dtype=TensorProto.BOOL), of("v2", "m")])
    return save([helper.make_node("Loop", ["", "", "x"], ["y"], body=body, name="n")],
                [], [helper.make_empty_tensor_value_info("y")], [array("x", [1])])
