"""Functions, branches, expressions and constants that grow while a model is loaded or a program is made."""
import numpy as np
from onnx import helper

from bomb import FLOAT, OPSET, UINT8, array, bomb, info, one, save

# ---- functions, branches, expressions -----------------------------------------------------------

@bomb("load")
def functions_that_double():
    """Each calls the one before it twice: 2^40 nodes of 40 functions."""
    made = []
    for i in range(40):
        op, domain = ("Neg", "") if i == 0 else (f"f{i - 1}", "own")
        made.append(helper.make_function(
            "own", f"f{i}", ["x"], ["y"],
            [helper.make_node(op, ["x"], ["t"], domain=domain),
             helper.make_node(op, ["t"], ["y"], domain=domain)],
            [helper.make_opsetid("", OPSET), helper.make_opsetid("own", 1)]))
    return save([helper.make_node("f39", ["x"], ["y"], domain="own", name="n")],
                [array("x", [1], np.float32)], functions=made, domains=[("own", 1)])


def branches(levels):
    if levels == 0:
        return helper.make_graph([helper.make_node("Add", ["x", "x"], ["o"])], "leaf", [],
                                 [info("o")])
    below = branches(levels - 1)
    node = helper.make_node("If", ["c"], ["o"], then_branch=below, else_branch=below)
    return helper.make_graph([node], f"level{levels}", [], [info("o")])


@bomb("memory", finishes=("run", "plan", "inspect", "pack"))
def branches_that_double():
    return save([helper.make_node("If", ["c"], ["y"], then_branch=branches(10),
                                  else_branch=branches(10), name="n")],
                [array("x", [1], np.float32), array("c", True, np.bool_)])


@bomb("load", options=["--max-depth", "8"])
def branches_too_deep():
    def deep(levels):
        inner = [helper.make_node("Add", ["x", "x"], ["o"])] if levels == 0 else [
            helper.make_node("If", ["c"], ["o"], then_branch=deep(levels - 1),
                             else_branch=branches(0))]
        return helper.make_graph(inner, f"d{levels}", [], [info("o")])
    return save([helper.make_node("If", ["c"], ["y"], then_branch=deep(12), else_branch=branches(0),
                                  name="n")],
                [array("x", [1], np.float32), array("c", True, np.bool_)])


def symbolic(nodes, constants, shape):
    return save(nodes, constants, inputs=[info("x", FLOAT, shape)])


@bomb("memory", finishes=True, options=["--dim", "a=1", "--dim", "b=1"])
def products_of_sums():
    """A size that is multiplied by itself plus something, again and again: expanded, its terms double."""
    nodes = [helper.make_node("Shape", ["x"], ["s0"])]
    for i in range(40):
        nodes += [helper.make_node("Gather", [f"s{i}", "zero"], [f"a{i}"]),
                  helper.make_node("Gather", [f"s{i}", "one"], [f"b{i}"]),
                  helper.make_node("Add", [f"a{i}", f"b{i}"], [f"p{i}"]),
                  helper.make_node("Mul", [f"p{i}", f"a{i}"], [f"q{i}"]),
                  helper.make_node("Concat", [f"p{i}", f"q{i}"], [f"s{i + 1}"], axis=0)]
    nodes.append(helper.make_node("Identity", ["s40"], ["y"]))
    return symbolic(nodes, [array("zero", [0]), array("one", [1])], ["a", "b"])


@bomb("memory", finishes=True, options=["--dim", "a=2", "--dim", "b=2"])
def quotients_of_products():
    nodes = [helper.make_node("Shape", ["x"], ["s0"])]
    for i in range(40):
        nodes += [helper.make_node("Gather", [f"s{i}", "zero"], [f"a{i}"]),
                  helper.make_node("Gather", [f"s{i}", "one"], [f"b{i}"]),
                  helper.make_node("Mul", [f"a{i}", f"b{i}"], [f"p{i}"]),
                  helper.make_node("Add", [f"p{i}", "seven"], [f"t{i}"]),
                  helper.make_node("Div", [f"t{i}", f"b{i}"], [f"q{i}"]),
                  helper.make_node("Concat", [f"q{i}", f"p{i}"], [f"s{i + 1}"], axis=0)]
    nodes.append(helper.make_node("Identity", ["s40"], ["y"]))
    return symbolic(nodes, [array("zero", [0]), array("one", [1]), array("seven", [7])], ["a", "b"])


@bomb("memory", finishes=True, options=["--dim", "a=1", "--dim", "b=1"])
def shapes_that_double():
    """Concat and Reshape in turn; the sizes are sums of sums."""
    nodes, last = [], "x"
    for i in range(30):
        nodes += [helper.make_node("Concat", [last, last], [f"c{i}"], axis=i % 2),
                  helper.make_node("Reshape", [f"c{i}", "shape"], [f"r{i}"]),
                  helper.make_node("Transpose", [f"r{i}"], [f"t{i}"])]
        last = f"t{i}"
    nodes.append(helper.make_node("ReduceMax", [last], ["y"], keepdims=0))
    return symbolic(nodes, [array("shape", [-1, 2])], ["a", "b"])


@bomb("memory", finishes=True, options=["--dim", "a=1"])
def powers_of_a_size():
    nodes, last = [helper.make_node("Shape", ["x"], ["s"])], "s"
    for i in range(200):
        nodes += [helper.make_node("Add", [last, "s"], [f"p{i}"]),
                  helper.make_node("Mul", [f"p{i}", last], [f"q{i}"]),
                  helper.make_node("Max", [f"q{i}", f"p{i}", last], [f"m{i}"])]
        last = f"m{i}"
    nodes.append(helper.make_node("ConstantOfShape", [last], ["z"], name="z"))
    nodes.append(helper.make_node("ReduceMax", ["z"], ["y"], keepdims=0))
    return symbolic(nodes, [], ["a"])


# ---- constant folding -----------------------------------------------------------------------

@bomb("memory", finishes=True)
def folding_many_small():
    """Results of 64 KB each, 4,000 of them: each may be folded, all together not: they are left for the run."""
    nodes = []
    for i in range(4000):
        nodes.append(helper.make_node("Expand", [f"x{i % 7}", "s"], [f"e{i}"], name=f"e{i}"))
        nodes.append(helper.make_node("CumSum", [f"e{i}", "axis"], [f"c{i}"], name=f"c{i}", exclusive=i & 1,
                                      reverse=i >> 1 & 1))
        nodes.append(helper.make_node("Add", [f"c{i}", "i" if i == 0 else f"y{i - 1}"], [f"y{i}"]))
    nodes.append(helper.make_node("Identity", ["y3999"], ["y"]))
    return save(nodes, [*(array(f"x{i}", [i], np.float32) for i in range(7)), array("axis", 0),
                        array("s", [1 << 14])], inputs=[info("i", FLOAT, [1 << 14])])


@bomb("memory", "Concat", "Mul", "Add")
def folding_chain():
    """Each result is twice the one before, which a folder may take for modest growth."""
    nodes, last = [], "x"
    for i in range(24):
        nodes += [helper.make_node("Concat", [last, last], [f"c{i}"], axis=0, name=f"c{i}"),
                  helper.make_node("Mul", [f"c{i}", "x"], [f"m{i}"], name=f"m{i}")]
        last = f"m{i}"
    nodes.append(helper.make_node("Add", [last, "i"], ["y"], name="n"))
    return save(nodes, [array("x", [1], np.float32)], inputs=[info("i", FLOAT, [1])])


@bomb("time")
def folding_slow():
    """Constants alone, each small, and minutes of work: a product that is taken again and again."""
    nodes = [helper.make_node("Expand", ["v", "s"], ["w"]), helper.make_node("Expand", ["v", "t"], ["k"])]
    last = "w"
    for i in range(1000):
        nodes.append(helper.make_node("Conv", [last, "k"], [f"m{i}"], name=f"m{i}", pads=[2000, 2000]))
        last = f"m{i}"
    nodes.append(helper.make_node("Identity", [last], ["y"]))
    return save(nodes, [array("v", 0.5, np.float64), array("s", [1, 1, 8000]), array("t", [1, 1, 4001])])


@bomb("time")
def folding_one_slow_node():
    """One node of constants that takes minutes: 2^24 samples for each of 4,096 results."""
    return save([helper.make_node("RoiAlign", ["x", "r", "b"], ["y0"], name="n", output_height=64,
                                  output_width=64, sampling_ratio=4096),
                 helper.make_node("Neg", ["y0"], ["y"])],
                [array("x", np.ones((1, 1, 8, 8)), np.float32), array("r", [[0, 0, 7, 7]], np.float32),
                 array("b", [0])])
