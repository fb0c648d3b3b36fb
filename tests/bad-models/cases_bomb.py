"""Small models that ask for much memory. The answer must come at once, and without taking it: the
program runs under a cap on its address space, and what it really used is measured."""
import numpy as np
from onnx import TensorProto, helper

from cases_graph import save
from cases_shape import array, one
from wire import FLOAT, case, data, graph, model, node, raw, sparse, tensor


def of(name, *shape, dtype=TensorProto.INT64):
    return helper.make_tensor_value_info(name, dtype, shape)


def bomb(*says, code=1):
    return case(*says, code=code, only="run")


def needs(size, op):
    """A plan that memory does not suffice for."""
    return (f"not enough memory: {size} bytes for the intermediates; the largest part, {size} "
            f"bytes, is for node 'n' ({op})")


def impossible(op, kind):
    """A plan that no machine could carry out."""
    return (f"node 'n' ({op}): output 'y' of type {kind} is larger than the limit or any machine "
            f"allows")


@bomb(needs(17 << 30, "ConstantOfShape"))
def zeros_of_17_gigabytes():
    return one("ConstantOfShape", ["s"], {}, [array("s", [17 << 28])])


@bomb(impossible("ConstantOfShape", "float32[2305843009213693952]"))
def zeros_of_2_to_61():
    return one("ConstantOfShape", ["s"], {}, [array("s", [1 << 61])])


@bomb(impossible("ConstantOfShape", "float32[4611686018427387903]"))
def zeros_of_2_to_62():
    """Shapes count below 2^62: what lies beyond is cut to the largest."""
    return one("ConstantOfShape", ["s"], {}, [array("s", [1 << 62])])


@bomb(impossible("ConstantOfShape", "float32[4294967296,4294967296]"))
def zeros_of_2_to_64():
    return one("ConstantOfShape", ["s"], {}, [array("s", [1 << 32, 1 << 32])])


@bomb(needs(17 << 30, "Expand"))
def expand_to_17_gigabytes():
    return one("Expand", ["x", "s"], {"x": (1,)}, [array("s", [17 << 28])])


@bomb(impossible("Expand", "float32[2147483648,2147483648]"))
def expand_to_2_to_62():
    return one("Expand", ["x", "s"], {"x": (1,)}, [array("s", [1 << 31, 1 << 31])])


@bomb(needs(17 << 30, "Tile"))
def tile_to_17_gigabytes():
    return one("Tile", ["x", "r"], {"x": (1,)}, [array("r", [17 << 28])])


@bomb(impossible("Tile", "float32[17179869184,17179869184]"))
def tile_to_2_to_68():
    return one("Tile", ["x", "r"], {"x": (16, 16)}, [array("r", [1 << 30, 1 << 30])])


@bomb(needs(17 << 30, "Range"))
def range_of_17_gigabytes():
    return one("Range", ["a", "b", "c"], {}, [array("a", 0), array("b", 17 << 27), array("c", 1)])


@bomb("node 'n' (Range): output 0 is too large: its dims cannot be counted", code=3)
def range_of_2_to_63():
    return one("Range", ["a", "b", "c"], {},
               [array("a", -(1 << 62)), array("b", (1 << 62) - 1), array("c", 1)])


@case("node 'n' (Range): from 0 to inf by 1 is no finite range")
def range_of_infinity():
    values = [array(n, v, np.float32) for n, v in (("a", 0), ("b", np.inf), ("c", 1))]
    return one("Range", ["a", "b", "c"], {}, values)


@case("node 'n' (Range): delta is 0")
def range_with_delta_0():
    return one("Range", ["a", "b", "c"], {}, [array("a", 0), array("b", 4), array("c", 0)])


@bomb("not enough memory: ", "is for node 'n' (Pad)")
def pad_to_17_gigabytes():
    return one("Pad", ["x", "p"], {"x": (1,)}, [array("p", [0, 17 << 28])])


@bomb(needs(17 << 30, "OneHot"))
def one_hot_of_17_gigabytes():
    return one("OneHot", ["x", "d", "v"], {"x": (1,)}, [array("d", 17 << 28),
                                                       array("v", [0, 1], np.float32)])


@bomb("not enough memory: ", "is for node 'n' (Resize)")
def resize_to_17_gigabytes():
    return one("Resize", ["x", "", "", "s"], {"x": (1, 1, 1, 1)},
               [array("s", [1, 1, 1 << 16, 68 << 10])], mode="nearest")


@bomb("constant 'w' needs 18253611008 bytes, more than the limit or the machine allows")
def sparse_of_17_gigabytes():
    values = tensor(FLOAT, [1], raw(b"\0" * 4))
    indices = tensor(7, [1], raw(b"\0" * 8), name="")
    return model(graph(node("Identity", ["w"], ["y"]), inputs=b"", outputs=data(12, data(1, "y")),
                       rest=data(15, sparse(values, indices, [17 << 28]))))


# ---- where only a run can tell ----------------------------------------------

def at_run_time(op, inputs, inits, where, **attrs):
    """The node reads its sizes through a Cast from float, which loading does not see through."""
    cast = helper.make_node("Cast", [where], ["h"], to=TensorProto.INT64)
    wired = ["h" if i == where else i for i in inputs]
    made = helper.make_node(op, wired, ["y"], name="n", **attrs)
    return save([cast, made], [], [helper.make_empty_tensor_value_info("y")], inits)


HUGE = "a tensor float32[4294967296,4294967296] passes what memory can hold"


@bomb("node 'n' (ConstantOfShape): not enough memory: ")
def zeros_of_17_gigabytes_at_run_time():
    return at_run_time("ConstantOfShape", ["s"], [array("s", [17 << 28], np.float64)], "s")


@bomb("node 'n' (ConstantOfShape): " + HUGE)
def zeros_of_2_to_64_at_run_time():
    return at_run_time("ConstantOfShape", ["s"], [array("s", [1 << 32, 1 << 32], np.float64)], "s")


@bomb("node 'n' (Tile): " + HUGE)
def tile_to_2_to_64_at_run_time():
    return at_run_time("Tile", ["x", "r"],
                       [array("x", [[1.0]], np.float32),
                        array("r", [1 << 32, 1 << 32], np.float64)], "r")


@bomb("node 'n' (Expand): " + HUGE)
def expand_to_2_to_64_at_run_time():
    return at_run_time("Expand", ["x", "s"],
                       [array("x", [1.0], np.float32), array("s", [1 << 32, 1 << 32], np.float64)],
                       "s")


@bomb("(Tile): not enough memory: ")
def loop_that_grows_without_end():
    body = helper.make_graph([helper.make_node("Identity", ["k"], ["k2"]),
                              helper.make_node("Tile", ["v", "r"], ["v2"], name="t")], "b",
                             [of("i"), of("k", dtype=TensorProto.BOOL), of("v", "n")],
                             [of("k2", dtype=TensorProto.BOOL), of("v2", "m")])
    return save([helper.make_node("Loop", ["", "", "x"], ["y"], body=body, name="n")],
                [], [helper.make_empty_tensor_value_info("y")],
                [array("x", [1]), array("r", [1024])])
