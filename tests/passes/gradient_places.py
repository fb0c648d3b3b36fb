"""Where a Gradient node can stand and what its attributes can name: other values than those named, other
Gradients' outputs, bodies and functions. What must come out is written beside each as a formula."""
import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

TRAINING = "ai.onnx.preview.training"
PLACES = []


def place(function):
    PLACES.append(function)
    return function


def cases():
    """[(name, model, inputs, expected outputs)]"""
    return [(function.__name__, *function()) for function in PLACES]


def node(kind, inputs, outputs, **attrs):
    return helper.make_node(kind, inputs, outputs, **attrs)


def gradient(inputs, outputs, xs, y, zs=None, name="the gradient"):
    attrs = {"zs": zs} if zs else {}
    return helper.make_node("Gradient", inputs, outputs, name=name, domain=TRAINING, xs=xs, y=y,
                            **attrs)


def info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                         array.shape)


def model(nodes, inputs, expected, constants=(), functions=()):
    """inputs and expected: name -> array."""
    domains = [helper.make_opsetid("", 21), helper.make_opsetid(TRAINING, 1),
               helper.make_opsetid("own", 1)]
    graph = helper.make_graph(
        nodes, "places", [info(n, a) for n, a in inputs.items()],
        [info(n, np.asarray(a)) for n, a in expected.items()],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in dict(constants).items()])
    made = helper.make_model(graph, ir_version=10, opset_imports=domains,
                             functions=list(functions))
    return made, list(inputs.values()), [np.asarray(a) for a in expected.values()]


A, B = np.array([1.5, -2.0, 0.5]), np.array([0.25, 3.0, -1.0])
C, D = np.array([2.0, 4.0, -3.0]), np.array([-1.0, 0.5, 2.0])
SQUARE_TIMES = [node("Mul", ["x", "x"], ["s"]), node("Mul", ["s", "w"], ["y"])]  # y = x * x * w


# ---- values -------------------------------------------------------------------------------------

@place
def at_another_value():
    return model([*SQUARE_TIMES, gradient(["x1", "w1"], ["dx"], ["x"], "y", ["w"])],
                 {"x": A, "w": B, "x1": C, "w1": D}, {"y": A * A * B, "dx": 2 * C * D})


@place
def at_another_value_of_one_of_two():
    return model([*SQUARE_TIMES, gradient(["x", "w1"], ["dx", "dw"], ["x", "w"], "y")],
                 {"x": A, "w": B, "w1": D}, {"dx": 2 * A * D, "dw": A * A})


@place
def two_names_one_value():
    """Each gets the gradient of its own place, though both places hold the same value."""
    return model([node("Sub", ["x", "w"], ["d"]), node("Mul", ["d", "x"], ["y"]),
                  gradient(["v", "v"], ["dx", "dw"], ["x", "w"], "y")],
                 {"x": A, "w": B, "v": C}, {"dx": C, "dw": -C})


@place
def value_that_occurs_inside():
    """w is given for x, and is a constant where the graph reads it itself."""
    return model([*SQUARE_TIMES, gradient(["w"], ["dx"], ["x"], "y")], {"x": A, "w": B},
                 {"dx": 2 * B * B})


@place
def value_of_another_shape():
    return model([*SQUARE_TIMES, gradient(["x1", "w1"], ["dx", "dw"], ["x", "w"], "y")],
                 {"x": A, "w": B, "x1": np.array([[2.0], [3.0]]), "w1": D},
                 {"dx": np.array([[4.0], [6.0]]) * D.sum(), "dw": np.array([13.0] * 3)})


@place
def intermediate_values():
    """h is where the way back ends, though x determines it."""
    return model([node("Exp", ["x"], ["h"]), node("Mul", ["h", "h"], ["s"]),
                  node("Mul", ["s", "x"], ["y"]), gradient(["h", "x"], ["dh", "dx"], ["h", "x"],
                                                          "y")],
                 {"x": A}, {"dh": 2 * np.exp(A) * A, "dx": np.exp(2 * A)})


@place
def one_of_two_outputs_named():
    """The Split makes p, where the way ends, and q, which leads on to v."""
    v = np.array([1.0, 2.0, 3.0, 4.0])
    return model([node("Split", ["v"], ["p", "q"], num_outputs=2), node("Mul", ["p", "q"], ["y"]),
                  gradient(["p", "v"], ["dp", "dv"], ["p", "v"], "y")],
                 {"v": v}, {"dp": v[2:], "dv": np.array([0.0, 0.0, 1.0, 2.0])})


@place
def nothing_depends():
    return model([node("Exp", ["w"], ["y"]), gradient(["x", "w"], ["dx", "dw"], ["x", "w"], "y")],
                 {"x": np.ones((2, 3)), "w": A}, {"dx": np.zeros((2, 3)), "dw": np.exp(A)})


@place
def y_is_x():
    return model([gradient(["x"], ["dx"], ["x"], "x")], {"x": A}, {"dx": np.ones(3)})


@place
def y_is_a_constant():
    return model([gradient(["x"], ["dx"], ["x"], "k")], {"x": A}, {"dx": np.zeros(3)}, {"k": B})


@place
def initializer_named():
    """Weights are constants of the file, and variables of the gradient."""
    return model([node("MatMul", ["x", "w"], ["m"]), node("Mul", ["m", "m"], ["y"]),
                  gradient(["w"], ["dw"], ["w"], "y")], {"x": A}, {"dw": 2 * A.dot(B) * A}, {"w": B})


@place
def steps_on_the_way():
    """Shapes, truth values and integers carry nothing back."""
    return model([node("Greater", ["x", "zero"], ["c"]), node("Where", ["c", "x", "zero"], ["r"]),
                  node("Size", ["x"], ["n"]), node("Cast", ["n"], ["m"], to=TensorProto.DOUBLE),
                  node("Cast", ["x"], ["i"], to=TensorProto.INT64),
                  node("Cast", ["i"], ["f"], to=TensorProto.DOUBLE),
                  node("Mul", ["r", "m"], ["p"]), node("Add", ["p", "f"], ["y"]),
                  gradient(["x"], ["dx"], ["x"], "y")],
                 {"x": A}, {"dx": 3.0 * (A > 0)}, {"zero": np.array(0.0)})


@place
def outputs_left_out():
    return model([*SQUARE_TIMES, gradient(["x", "w"], ["", "dw"], ["x", "w"], "y"),
                  gradient(["x", "w"], ["dx"], ["x", "w"], "y", name="shorter"),
                  gradient(["x"], [""], ["x"], "y", name="nothing at all")],
                 {"x": A, "w": B}, {"dw": A * A, "dx": 2 * A * B})


@place
def unsupported_beside_the_way():
    """Det has no rule, but what it makes does not depend on x."""
    m = np.array([[2.0, 1.0], [0.0, 3.0]])
    return model([node("Det", ["m"], ["d"]), node("Mul", ["x", "d"], ["y"]),
                  gradient(["x"], ["dx"], ["x"], "y")], {"x": A, "m": m}, {"dx": np.full(3, 6.0)})


def of_type(dtype):
    x, w = np.array([0.5, -1.0, 2.0]).astype(dtype), np.array([2.0]).astype(dtype)
    return model([node("Mul", ["x", "w"], ["m"]), node("Mul", ["m", "x"], ["y"]),
                  gradient(["x", "w"], ["dx", "dw"], ["x", "w"], "y")],
                 {"x": x, "w": w}, {"dx": np.array([2.0, -4.0, 8.0]).astype(dtype),
                                    "dw": np.array([5.25]).astype(dtype)})


@place
def float32():
    return of_type(np.float32)


@place
def float16():
    return of_type(np.float16)


@place
def bfloat16():
    return of_type(ml_dtypes.bfloat16)


@place
def mixed_types():
    x = np.array([0.5, -1.0, 2.0], np.float16)
    return model([node("Cast", ["x"], ["c"], to=TensorProto.FLOAT), node("Mul", ["c", "c"], ["y"]),
                  gradient(["x"], ["dx"], ["x"], "y")], {"x": x}, {"dx": 2 * x})


# ---- dropout ------------------------------------------------------------------------------------

def dropped(outputs, training, expected):
    """The seed's mask is NumPy's."""
    x = np.arange(1.0, 21.0)
    mask = np.random.RandomState(5).uniform(0, 1, x.shape) >= 0.4 if expected else np.ones(20) > 0
    scale = 1 / (1 - 0.4) if expected else 1.0
    return model([node("Dropout", ["x", "ratio", "training"], outputs, seed=5),
                  node("Mul", ["d", "x"], ["y"]), gradient(["x"], ["dx"], ["x"], "y")],
                 {"x": x, "training": training} if training is not None else {"x": x},
                 {"dx": 2 * x * mask * scale},
                 {"ratio": np.array(0.4), **({} if training is not None
                                             else {"training": np.array(True)})})


@place
def dropout_mask():
    return dropped(["d", "mask"], None, True)


@place
def dropout_without_mask():
    return dropped(["d"], None, True)


@place
def dropout_told_during_the_run():
    return dropped(["d"], np.array(True), True)


@place
def dropout_told_not_to():
    return dropped(["d"], np.array(False), False)


# ---- gradients of gradients ---------------------------------------------------------------------

@place
def third_order():
    return model([node("Mul", ["x", "x"], ["s"]), node("Mul", ["s", "s"], ["y"]),
                  gradient(["x"], ["d1"], ["x"], "y", name="first"),
                  gradient(["x"], ["d2"], ["x"], "d1", name="second"),
                  gradient(["x"], ["d3"], ["x"], "d2", name="third")],
                 {"x": A}, {"d1": 4 * A**3, "d2": 12 * A**2, "d3": 24 * A})


@place
def later_ones_first():
    return model([gradient(["x"], ["d2"], ["x"], "d1", name="second"),
                  gradient(["x"], ["d1"], ["x"], "y", name="first"),
                  node("Mul", ["x", "x"], ["s"]), node("Mul", ["s", "x"], ["y"])],
                 {"x": A}, {"d2": 6 * A})


@place
def gradient_at_another_value_within():
    """d1 is taken at w, so x has no part in it and w has."""
    return model([node("Mul", ["x", "x"], ["s"]), node("Mul", ["s", "x"], ["y"]),
                  gradient(["w"], ["d1"], ["x"], "y", name="first"),
                  gradient(["x", "w"], ["dx", "dw"], ["x", "w"], "d1", name="second")],
                 {"x": A, "w": B}, {"dx": np.zeros(3), "dw": 6 * B})


@place
def unrolled_descent():
    """The loss is written once, of the last weights; each step asks for its gradient at earlier ones."""
    nodes, w = [], C.copy()
    for step in range(3):
        given = f"w{step}"
        nodes += [gradient([given], [f"d{step}"], ["w3"], "loss", name=f"step {step}"),
                  node("Mul", [f"d{step}", "rate"], [f"m{step}"]),
                  node("Sub", [given, f"m{step}"], [f"w{step + 1}"])]
        w = w - 0.1 * 3 * (w - D) ** 2
    nodes += [node("Sub", ["w3", "target"], ["e"]), node("Mul", ["e", "e"], ["e2"]),
              node("Mul", ["e2", "e"], ["loss"])]
    return model(nodes, {"w0": C}, {"w3": w, "loss": (w - D) ** 3},
                 {"rate": np.array(0.1), "target": D})


@place
def step_of_momentum():
    """What the operator is for: a step of an optimizer, all in one graph."""
    momentum = helper.make_node("Momentum", ["rate", "round", "x", "dx", "v"], ["new_x", "new_v"],
                                domain=TRAINING, alpha=0.5, beta=1.0, norm_coefficient=0.0,
                                mode="standard")
    v = 0.5 * D + 2 * A * B
    return model([*SQUARE_TIMES, gradient(["x"], ["dx"], ["x"], "y"), momentum],
                 {"x": A, "w": B, "v": D}, {"new_x": A - 0.1 * v, "new_v": v},
                 {"rate": np.array(0.1), "round": np.array(3)})


# ---- bodies and functions -----------------------------------------------------------------------

def body(name, nodes, outputs, inputs=(), constants=None):
    return helper.make_graph(nodes, name, list(inputs), [
        helper.make_tensor_value_info(o, TensorProto.DOUBLE, None) for o in outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()])


@place
def in_a_branch():
    """x and y are names of the graph around the branch."""
    then = body("then", [gradient(["x"], ["dx"], ["x"], "y")], ["dx"])
    other = body("else", [node("Neg", ["x"], ["n"])], ["n"])
    return model([*SQUARE_TIMES, node("If", ["c"], ["z"], then_branch=then, else_branch=other)],
                 {"x": A, "w": B, "c": np.array(True)}, {"z": 2 * A * B})


@place
def in_a_branch_of_a_branch():
    """w is read by nothing in the branches before the Gradient is expanded."""
    inner = body("inner", [node("Exp", ["x"], ["e"]), node("Mul", ["e", "y"], ["q"]),
                           gradient(["x"], ["dx"], ["x"], "q")], ["dx"])
    deep = body("then", [node("If", ["c"], ["v"], then_branch=inner,
                              else_branch=body("none", [node("Neg", ["x"], ["n"])], ["n"]))], ["v"])
    other = body("else", [node("Neg", ["x"], ["m"])], ["m"])
    return model([*SQUARE_TIMES, node("If", ["c"], ["z"], then_branch=deep, else_branch=other)],
                 {"x": A, "w": B, "c": np.array(True)},
                 {"z": np.exp(A) * (A * A * B + 2 * A * B)})


@place
def in_a_loop():
    """Gradient descent: each round's names are the body's own."""
    number, truth = helper.make_tensor_value_info, TensorProto.BOOL
    rounds = body("body", [node("Identity", ["on"], ["go"]), node("Sub", ["w", "target"], ["e"]),
                           node("Mul", ["e", "e"], ["loss"]),
                           gradient(["w"], ["dw"], ["w"], "loss"),
                           node("Mul", ["dw", "rate"], ["m"]), node("Sub", ["w", "m"], ["next"])],
                  ["next"], [number("i", TensorProto.INT64, []), number("on", truth, []),
                             number("w", TensorProto.DOUBLE, None)], {"rate": np.array(0.1)})
    rounds.output.insert(0, number("go", truth, []))
    w = A.copy()
    for _ in range(5):
        w = w - 0.2 * (w - D)
    return model([node("Loop", ["n", "", "w0"], ["out"], body=rounds)], {"w0": A}, {"out": w},
                 {"n": np.array(5), "target": D})


@place
def in_a_function():
    """Names are the function's; a caller's of the same spelling mean other values."""
    function = helper.make_function(
        "own", "Slope", ["x", "f"], ["r"],
        [node("Mul", ["x", "x"], ["s"]), node("Mul", ["s", "f"], ["y"]),
         gradient(["x"], ["d"], ["x"], "y"), node("Neg", ["d"], ["r"])],
        [helper.make_opsetid("", 21), helper.make_opsetid(TRAINING, 1)])
    calls = [helper.make_node("Slope", ["w", "x"], ["a"], domain="own", name="one"),
             helper.make_node("Slope", ["x", "x"], ["b"], domain="own", name="two")]
    return model([*SQUARE_TIMES, *calls], {"x": A, "w": B}, {"a": -2 * B * A, "b": -2 * A * A,
                                                            "y": A * A * B}, functions=[function])


@place
def through_a_function():
    """A call on the way is what its body says."""
    function = helper.make_function(
        "own", "Cube", ["x"], ["r"], [node("Mul", ["x", "x"], ["s"]), node("Mul", ["s", "x"], ["r"])],
        [helper.make_opsetid("", 21)])
    return model([helper.make_node("Cube", ["x"], ["y"], domain="own", name="call"),
                  gradient(["x"], ["dx"], ["x"], "y")], {"x": A}, {"dx": 3 * A * A},
                 functions=[function])


@place
def branch_beside_the_way():
    """The branches read nothing that depends on x but through a truth value."""
    one = body("then", [node("Exp", ["w"], ["e"])], ["e"])
    two = body("else", [node("Neg", ["w"], ["n"])], ["n"])
    return model([node("ReduceSum", ["x"], ["t"], keepdims=0), node("Greater", ["t", "zero"], ["c"]),
                  node("If", ["c"], ["f"], then_branch=one, else_branch=two),
                  node("Mul", ["x", "f"], ["y"]), gradient(["x"], ["dx"], ["x"], "y")],
                 {"x": C, "w": B}, {"dx": np.exp(B)}, {"zero": np.array(0.0)})
