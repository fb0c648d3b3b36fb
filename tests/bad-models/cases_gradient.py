"""Mistakes in a Gradient node, what cannot be differentiated, and small models whose gradients would fill
the machine."""
from onnx import TensorProto, helper

from cases_graph import floats, save
from wire import case

TRAINING = "ai.onnx.preview.training"


def node(kind, inputs, outputs, name=None, **attrs):
    return helper.make_node(kind, inputs, outputs, name=name, **attrs)


def gradient(inputs=("x",), outputs=("d",), name="g", **attrs):
    return helper.make_node("Gradient", list(inputs), list(outputs), name=name, domain=TRAINING,
                            **attrs)


def with_square(made, *nodes, inits=()):
    """y = x * x, and the Gradient."""
    return save([node("Mul", ["x", "x"], ["y"]), *nodes, made], [floats("x", 3), floats("w", 3)],
                [floats("y", 3)], inits, opsets=[(TRAINING, 1)])


# ---- attributes -------------------------------------------------------------

@case("node 'g' (Gradient): 'nowhere' is used but nothing defines it")
def gradient_of_an_unknown_y():
    return with_square(gradient(xs=["x"], y="nowhere"))


@case("node 'g' (Gradient): 'nowhere' is used but nothing defines it")
def gradient_of_an_unknown_x():
    return with_square(gradient(xs=["nowhere"], y="y"))


@case("node 'g' (Gradient): 'nowhere' is used but nothing defines it")
def gradient_of_an_unknown_z():
    return with_square(gradient(["x", "w"], xs=["x"], zs=["nowhere"], y="y"))


@case("node 'g' (Gradient): '' is used but nothing defines it")
def gradient_of_an_empty_name():
    return with_square(gradient(xs=[""], y="y"))


@case("node 'g' (Gradient): 'inner' is used but nothing defines it")
def gradient_of_a_name_in_a_branch():
    body = helper.make_graph([node("Exp", ["x"], ["inner"])], "b", [], [floats("inner", 3)])
    return with_square(gradient(xs=["x"], y="inner"),
                       node("If", ["c"], ["z"], then_branch=body, else_branch=body),
                       inits=[helper.make_tensor("c", TensorProto.BOOL, [], [True])])


@case("node 'g' (Gradient): attribute 'xs' is required but missing")
def gradient_without_xs():
    return with_square(gradient(y="y"))


@case("node 'g' (Gradient): attribute 'y' is required but missing")
def gradient_without_y():
    return with_square(gradient(xs=["x"]))


@case("node 'g' (Gradient): attribute 'xs' is a string, expected strings")
def gradient_xs_is_one_name():
    return with_square(gradient(xs="x", y="y"))


@case("node 'g' (Gradient): attribute 'y' is an integer, expected a string")
def gradient_y_is_a_number():
    return with_square(gradient(xs=["x"], y=1))


@case("node 'g' (Gradient): unknown attribute 'order'")
def gradient_attribute_unknown():
    return with_square(gradient(xs=["x"], y="y", order=2))


@case("node 'g' (Gradient): 'x' is named twice among xs and zs")
def gradient_name_twice():
    return with_square(gradient(["x", "w"], xs=["x"], zs=["x"], y="y"))


# ---- inputs and outputs -----------------------------------------------------

@case("node 'g' (Gradient): 2 inputs, expected one for each of the 1 names in xs and zs")
def gradient_too_many_inputs():
    return with_square(gradient(["x", "w"], xs=["x"], y="y"))


@case("node 'g' (Gradient): 1 inputs, expected one for each of the 2 names in xs and zs")
def gradient_too_few_inputs():
    return with_square(gradient(xs=["x"], zs=["w"], y="y"))


@case("node 'g' (Gradient): input 1 is required but left out")
def gradient_input_left_out():
    return with_square(gradient(["x", "", "w"], xs=["x", "w", "y"], y="y"))


@case("node 'g' (Gradient): 2 outputs, expected at most one for each of the 1 names in xs")
def gradient_too_many_outputs():
    return with_square(gradient(["x", "w"], ["d", "e"], xs=["x"], zs=["w"], y="y"))


@case("node 'g' (Gradient): input 0 has type int64; only floating-point numbers have a gradient")
def gradient_of_integers():
    return with_square(gradient(["i"], xs=["i"], y="y"),
                       node("Cast", ["x"], ["i"], to=TensorProto.INT64))


@case("node 'g' (Gradient): y is 'i' of type int64; only floating-point numbers have a gradient")
def gradient_of_an_integer_y():
    return with_square(gradient(xs=["x"], y="i"),
                       node("Cast", ["x"], ["i"], to=TensorProto.INT64))


@case("node 'g' (Gradient): y is 's' of type sequence; only floating-point numbers have a gradient")
def gradient_of_a_sequence():
    return with_square(gradient(xs=["x"], y="s"), node("SequenceConstruct", ["x", "w"], ["s"]))


@case("output 'd' is declared as int64[3], but the operator makes float32[3]")
def gradient_output_declared_otherwise():
    declared = helper.make_tensor_value_info("d", TensorProto.INT64, [3])
    return save([node("Mul", ["x", "x"], ["y"]), gradient(xs=["x"], y="y")], [floats("x", 3)],
                [declared], opsets=[(TRAINING, 1)])


@case("node 'g/", "(Mul): dimensions 2 and 3 cannot be broadcast together")
def gradient_at_a_value_that_does_not_fit():
    return with_square(gradient(["v"], xs=["x"], y="p"), node("Mul", ["y", "w"], ["p"]),
                       inits=[helper.make_tensor("v", TensorProto.FLOAT, [2], [1, 2])])


# ---- what depends on itself -------------------------------------------------

@case("node 'g' (Gradient): y depends on an output of this node itself")
def gradient_of_its_own_output():
    return with_square(gradient(xs=["x"], y="d"))


@case("node 'g' (Gradient): y depends on an output of this node itself")
def gradient_of_what_follows_from_it():
    return with_square(gradient(xs=["x"], y="p"), node("Add", ["d", "x"], ["p"]))


@case("(Gradient): y depends on an output of this node itself")
def gradients_of_each_other():
    return with_square(gradient(xs=["x"], y="e"),
                       gradient(outputs=["e"], name="h", xs=["x"], y="d"))


# ---- what has no rule -------------------------------------------------------

@case("node 'g' (Gradient): cannot be expanded: node 'n' (Det), on the way to y, has no rule of "
      "differentiation", code=4)
def gradient_through_an_operator_without_a_rule():
    nodes = [node("Det", ["m"], ["y"], name="n"), gradient(["m"], xs=["m"], y="y")]
    return save(nodes, [floats("m", 2, 2)], [floats("d", 2, 2)], opsets=[(TRAINING, 1)])


@case("node 'g' (Gradient): cannot be expanded: node 'n' (If), on the way to y, has no rule",
      code=4)
def gradient_through_a_branch():
    body = helper.make_graph([node("Exp", ["x"], ["e"])], "b", [], [floats("e", 3)])
    return with_square(gradient(xs=["x"], y="z"),
                       node("If", ["c"], ["z"], name="n", then_branch=body, else_branch=body),
                       inits=[helper.make_tensor("c", TensorProto.BOOL, [], [True])])


@case("node 'n' (If), on the way to y, has a subgraph, and the gradient is asked for at another value "
      "than xs or zs name", code=4)
def gradient_at_another_value_through_a_branch():
    body = helper.make_graph([node("Exp", ["x"], ["e"])], "b", [], [floats("e", 3)])
    return with_square(gradient(["w"], xs=["x"], y="z"),
                       node("If", ["c"], ["z"], name="n", then_branch=body, else_branch=body),
                       inits=[helper.make_tensor("c", TensorProto.BOOL, [], [True])])


@case("node 'n' (Resize), on the way to y, interpolates: only the mode 'nearest' has a rule", code=4)
def gradient_through_an_interpolation():
    nodes = [node("Resize", ["m", "", "s"], ["y"], name="n", mode="linear"),
             gradient(["m"], xs=["m"], y="y")]
    return save(nodes, [floats("m", 2, 2)], [floats("d", 2, 2)],
                [helper.make_tensor("s", TensorProto.FLOAT, [2], [2, 2])],
                opsets=[(TRAINING, 1)])


@case("2 unsupported", "node 'g' (Gradient): cannot be expanded: node 'n' (Det)",
      "node 'h' (Gradient): cannot be expanded: node 'g' (Gradient), on the way to y, has no rule",
      code=4, only="inspect")
def gradients_that_cannot_be_expanded_listed():
    nodes = [node("Det", ["m"], ["y"], name="n"), gradient(["m"], xs=["m"], y="y"),
             gradient(["m"], ["e"], name="h", xs=["m"], y="d")]
    return save(nodes, [floats("m", 2, 2)], [floats("e", 2, 2)], opsets=[(TRAINING, 1)])


@case("2 unsupported", "input 2 has type int64; operator Dropout version 21 of domain ai.onnx takes bool",
      "node 'g' (Gradient): cannot be expanded: node 'n' (Dropout), on the way to y, is not supported",
      code=4, only="inspect")
def gradient_through_an_unsupported_type():
    """The operator has a rule, but nothing has checked what it would read."""
    return with_square(gradient(xs=["x"], y="z"), node("Add", ["x", "n"], ["z"]),
                       node("Dropout", ["x", "", "t"], ["n"], name="n"),
                       inits=[helper.make_tensor("t", TensorProto.INT64, [], [1])])


@case("node 'n' (Add), on the way to y, works on a tensor whose rank is not known", code=4)
def gradient_through_an_old_broadcast_of_unknown_rank():
    nodes = [node("Add", ["x", "b"], ["y"], name="n", broadcast=1, axis=0),
             gradient(xs=["x"], y="y")]
    return save(nodes, [floats("x", 2, 3), helper.make_tensor_value_info("b", TensorProto.FLOAT, None)], [floats("d", 2, 3)], opset=6,
                opsets=[(TRAINING, 1)])


# ---- bombs ------------------------------------------------------------------

@case("the model would come to more than 500060 nodes, which the limit on nodes allows", code=1)
def gradient_of_a_gradient_of_a_gradient_and_so_on():
    """Each order has several times the nodes of the one before."""
    nodes, last = [node("Tanh", ["x"], ["y0"])], "y0"
    for order in range(1, 60):
        nodes.append(gradient(outputs=[f"y{order}"], name=f"g{order}", xs=["x"], y=last))
        last = f"y{order}"
    return save(nodes, [floats("x", 3)], [floats(last, 3)], opsets=[(TRAINING, 1)])


@case("the model's gradients lead over more than 64000000 edges, which the limit on nodes allows", code=1)
def gradients_that_all_look_far():
    """None of them finds x, and each looks for it through all that y is made of."""
    nodes = [node("Neg", ["w"], ["y0"])]
    nodes += [node("Neg", [f"y{i}"], [f"y{i + 1}"]) for i in range(10000)]
    nodes += [gradient(outputs=[f"d{i}"], name=f"g{i}", xs=["x"], y="y10000")
              for i in range(3500)]
    return save(nodes, [floats("x", 3), floats("w", 3)], [floats("d0", 3)],
                opsets=[(TRAINING, 1)])
