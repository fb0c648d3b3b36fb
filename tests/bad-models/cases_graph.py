"""Mistakes in how a graph hangs together: names, cycles, subgraphs."""
from onnx import TensorProto, helper

from wire import FLOAT, RELU, X, case, data, graph, info, model, node, num, raw, tensor, tensor_type


def floats(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def bools(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.BOOL, shape)


def save(nodes, inputs, outputs, inits=(), opset=21, functions=(), opsets=()):
    """Bytes of a model made with the onnx package."""
    body = helper.make_graph(nodes, "g", inputs, outputs, initializer=list(inits))
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(*o) for o in opsets)]
    made = helper.make_model(body, opset_imports=imports, ir_version=10, functions=list(functions))
    return made.SerializeToString(deterministic=True)


# ---- names ------------------------------------------------------------------

@case("graph input 'x': the name is defined twice")
def input_twice():
    return model(graph(RELU, inputs=X + X))


@case("initializer 'w': the name is defined twice")
def initializer_twice():
    w = tensor(FLOAT, [1], raw(b"\0" * 4))
    return model(graph(node("Add", ["x", "w"], ["y"]), inits=[w, w]))


@case("initializer 'x': the name is defined twice")
def initializer_twice_for_one_input():
    x = tensor(FLOAT, [2, 3], raw(b"\0" * 24), name="x")
    return model(graph(RELU, inits=[x, x]))


@case("an initializer has no name")
def initializer_without_name():
    return model(graph(RELU, inits=[tensor(FLOAT, [1], raw(b"\0" * 4), name="")]))


@case("initializer 'x' is int64, the input of that name float32")
def initializer_of_another_type_than_input():
    return model(graph(RELU, inits=[tensor(7, [1], raw(b"\0" * 8), name="x")]))


@case("initializer 'x' is float32[1], the input of that name float32[2,3]")
def initializer_of_another_rank_than_input():
    return model(graph(RELU, inits=[tensor(FLOAT, [1], raw(b"\0" * 4), name="x")]))


@case("initializer 'x' is float32[2,2], the input of that name float32[2,3]")
def initializer_of_another_shape_than_input():
    return model(graph(RELU, inits=[tensor(FLOAT, [2, 2], raw(b"\0" * 16), name="x")]))


@case("node output 'y': the name is defined twice")
def two_nodes_make_one_value():
    return model(graph(RELU, node("Neg", ["x"], ["y"], name="m")))


@case("node output 'a': the name is defined twice")
def one_node_makes_a_value_twice():
    return model(graph(node("Split", ["x"], ["a", "a"]), node("Relu", ["a"], ["y"])))


@case("node output 'x': the name is defined twice")
def node_makes_an_input():
    return model(graph(node("Relu", ["x"], ["x"]), node("Relu", ["x"], ["y"])))


@case("node output 'w': the name is defined twice")
def node_makes_an_initializer():
    w = tensor(FLOAT, [1], raw(b"\0" * 4))
    return model(graph(node("Relu", ["x"], ["w"]), node("Relu", ["w"], ["y"]), inits=[w]))


@case("node 'm' (Add): 'nowhere' is used but nothing defines it")
def input_of_node_undefined():
    return model(graph(node("Add", ["x", "nowhere"], ["y"], name="m")))


@case("'elsewhere' is used but nothing defines it")
def output_of_graph_undefined():
    return model(graph(RELU, outputs=data(12, info("elsewhere", tensor_type(FLOAT, 2, 3)))))


@case("node 'c' (Relu): 'inner' is used but nothing defines it")
def name_of_a_subgraph_used_outside():
    branch = helper.make_graph([helper.make_node("Relu", ["x"], ["inner"])], "b", [],
                               [floats("inner", 2, 3)])
    return save([helper.make_node("If", ["c"], ["a"], then_branch=branch, else_branch=branch,
                                  name="i"),
                 helper.make_node("Relu", ["inner"], ["y"], name="c")],
                [floats("x", 2, 3), bools("c")], [floats("y", 2, 3)])


# ---- cycles -----------------------------------------------------------------

@case("node 'n' (Add): the graph has a cycle through this node")
def cycle_of_1():
    return model(graph(node("Add", ["x", "y"], ["y"])))


@case("(Add): the graph has a cycle through this node")
def cycle_of_2():
    return model(graph(node("Add", ["x", "b"], ["y"]), node("Add", ["x", "y"], ["b"])))


@case("the graph has a cycle through this node")
def cycle_of_3_behind_a_chain():
    nodes = [helper.make_node("Relu", ["x"], ["s0"])]
    nodes += [helper.make_node("Relu", [f"s{i}"], [f"s{i + 1}"]) for i in range(50)]
    nodes += [helper.make_node("Add", ["s50", "c3"], ["c1"], name="one"),
              helper.make_node("Relu", ["c1"], ["c2"], name="two"),
              helper.make_node("Relu", ["c2"], ["c3"], name="three"),
              helper.make_node("Relu", ["c3"], ["y"], name="out")]
    return save(nodes[::-1], [floats("x", 2)], [floats("y", 2)])


@case("node 'i' (If): the graph has a cycle through this node")
def cycle_through_a_capture():
    branch = helper.make_graph([helper.make_node("Relu", ["y"], ["r"])], "b", [], [floats("r", 2)])
    return save([helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch,
                                  name="i")], [bools("c")], [floats("y", 2)])


@case("the graph has a cycle through this node")
def cycle_through_a_capture_of_a_later_value():
    branch = helper.make_graph([helper.make_node("Relu", ["late"], ["r"])], "b", [],
                               [floats("r", 2)])
    return save([helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch,
                                  name="i"),
                 helper.make_node("Relu", ["y"], ["late"], name="l")],
                [bools("c")], [floats("y", 2)])


# ---- subgraphs --------------------------------------------------------------

def nested(depth):
    inner = data(1, node("Relu", ["x"], ["r"])) + data(12, data(1, "r"))
    for level in range(depth):
        out = f"o{level}"
        attrs = [data(1, word) + data(6, inner) + num(20, 5)
                 for word in ("then_branch",)]
        attrs.append(data(1, "else_branch") +
                     data(6, data(1, node("Relu", ["x"], ["e"])) + data(12, data(1, "e"))) +
                     num(20, 5))
        inner = data(1, node("If", ["c"], [out], *attrs)) + data(12, data(1, out))
    return inner


def nested_model(depth):
    inputs = X + data(11, info("c", tensor_type(9)))
    return model(nested(depth) + data(2, "g") + inputs)


@case(code=0)
def subgraphs_63_deep():
    return nested_model(63)


@case("subgraphs and functions nest deeper than the limit of 64", code=1)
def subgraphs_64_deep():
    return nested_model(64)


@case("nest", "deeper than the limit", code=1)
def subgraphs_5000_deep():
    return nested_model(5000)


@case("node 'i' (If)", "has 1 inputs, expected 0")
def branch_with_an_input():
    branch = helper.make_graph([helper.make_node("Relu", ["q"], ["r"])], "b", [floats("q", 2)],
                               [floats("r", 2)])
    return save([helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch,
                                  name="i")], [bools("c")], [floats("y", 2)])


@case("node 'i' (If)", "has 2 outputs, expected 1")
def branch_with_too_many_outputs():
    branch = helper.make_graph([helper.make_node("Relu", ["x"], ["r"])], "b", [],
                               [floats("r", 2), floats("r", 2)])
    return save([helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch,
                                  name="i")], [floats("x", 2), bools("c")], [floats("y", 2)])


@case("node 'i' (If)", "attribute 'else_branch' is required but missing")
def branch_missing():
    branch = helper.make_graph([helper.make_node("Relu", ["x"], ["r"])], "b", [], [floats("r", 2)])
    return save([helper.make_node("If", ["c"], ["y"], then_branch=branch, name="i")],
                [floats("x", 2), bools("c")], [floats("y", 2)])


@case("node 'l' (Loop)")
def loop_body_with_too_few_inputs():
    body = helper.make_graph([helper.make_node("Identity", ["i"], ["k"])], "b",
                             [helper.make_tensor_value_info("i", TensorProto.INT64, [])],
                             [bools("k")])
    return save([helper.make_node("Loop", ["n", "", "x"], ["y"], body=body, name="l")],
                [floats("x", 2), helper.make_tensor_value_info("n", TensorProto.INT64, [])],
                [floats("y", 2)])
