"""Mistakes in one node: its operator, its number of inputs and outputs, its attributes."""
from onnx import TensorProto, helper

from cases_graph import floats, save
from wire import RELU, case, data, f32, graph, model, node, num, raw, tensor


def one(op, inputs, outputs=("y",), opset=21, domain="", **attrs):
    """A model of one node 'n' whose inputs are float32 [2,3]."""
    names = sorted({i for i in inputs if i})
    made = helper.make_node(op, list(inputs), list(outputs), name="n", domain=domain, **attrs)
    domains = [(domain, 1)] if domain else []
    return save([made], [floats(n, 2, 3) for n in names], [floats(outputs[-1], 2, 3)], opset=opset,
                opsets=domains)


# ---- operator ---------------------------------------------------------------

@case("a node has no op_type")
def op_type_missing():
    return model(graph(node("", ["x"], ["y"])))


@case("the op_type of a node has 100000 bytes; at most 512 are allowed")
def op_type_too_long():
    return model(graph(node("R" * 100000, ["x"], ["y"])))


@case("node 'n' (Frobnicate): operator 'Frobnicate' of domain 'ai.onnx' version 21 is not "
      "supported",
      code=4)
def operator_unknown():
    return one("Frobnicate", ["x"])


@case(code=0)
def default_domain_in_its_long_spelling():
    return model(graph(node("Relu", ["x"], ["y"], domain="ai.onnx")))


@case("operator 'Relu' of domain 'com.example' version 1: the domain is not known", code=4)
def domain_unknown():
    return one("Relu", ["x"], domain="com.example")


@case("operator 'Gelu' of domain 'ai.onnx' version 13 is not supported; supported are versions 20",
      code=4)
def operator_of_a_later_version():
    return one("Gelu", ["x"], opset=13)


@case("operator 'Crop' of domain 'ai.onnx' version 21 is not supported", code=4)
def operator_that_was_removed():
    return one("Crop", ["x"])


@case("node 'first' (Frobnicate): operator 'Frobnicate' of domain 'ai.onnx' version 21 is not "
      "supported", code=4, only="run")
def several_unknown_operators():
    """`run` names the first that it meets."""
    return save([helper.make_node("Frobnicate", ["x"], ["a"], name="first"),
                 helper.make_node("Relu", ["a"], ["b"], name="fine"),
                 helper.make_node("Twiddle", ["b"], ["c"], name="second"),
                 helper.make_node("Fold", ["c"], ["y"], name="third", domain="com.example")],
                [floats("x", 2)], [floats("y", 2)], opsets=[("com.example", 1)])


@case("3 unsupported",
      "node 'first' (Frobnicate): operator 'Frobnicate' of domain 'ai.onnx' version 21 is not",
      "node 'second' (Twiddle): operator 'Twiddle' of domain 'ai.onnx' version 21 is not supported",
      "node 'third' (Fold): operator 'Fold' of domain 'com.example' version 1: the domain is not",
      code=4, only="inspect")
def several_unknown_operators_listed():
    """`inspect` names them all."""
    return several_unknown_operators()


# ---- how many inputs and outputs --------------------------------------------

@case("node 'n' (Relu): 2 inputs, expected 1")
def too_many_inputs():
    return one("Relu", ["x", "z"])


@case("node 'n' (Add): 1 inputs, expected 2")
def too_few_inputs():
    return one("Add", ["x"])


@case("node 'n' (Conv): 4 inputs, expected 2 to 3")
def too_many_inputs_of_a_range():
    return one("Conv", ["x", "x", "x", "x"])


@case("node 'n' (Concat): 0 inputs, expected at least 1")
def no_inputs_of_any_number():
    return one("Concat", [], axis=0)


@case("node 'n' (Relu): 2 outputs, expected 1")
def too_many_outputs():
    return one("Relu", ["x"], ["y", "z"])


@case("node 'n' (TopK): 1 outputs, expected 2")
def too_few_outputs():
    return one("TopK", ["x", "k"])


@case("node 'n' (Add): input 0 is required but left out")
def required_input_left_out():
    return one("Add", ["", "x"])


@case("node 'n' (Reshape): input 0 is required but left out")
def required_input_of_a_view_left_out():
    return one("Reshape", ["", "x"])


@case("node 'n' (Conv): input 1 is required but left out")
def required_input_in_the_middle_left_out():
    return one("Conv", ["x", "", "b"])


@case("node 'n' (Concat): input 1 is missing")
def variadic_input_left_out():
    return one("Concat", ["x", "", "z"], axis=0)


@case("node 'n' (Sum): input 1 is left out")
def last_variadic_input_left_out():
    return one("Sum", ["x", ""])


@case(code=0)
def output_left_out_is_fine():
    k = tensor(7, [1], raw(b"\x01" + b"\0" * 7), name="k")
    return model(graph(node("TopK", ["x", "k"], ["", "y"]), inits=[k],
                       outputs=data(12, data(1, "y"))))


@case(code=0)
def first_output_left_out_is_fine():
    shape = helper.make_tensor_value_info
    made = helper.make_node("Attention", ["q", "q", "q", "", "p", "p"], ["", "k", "v"], name="n")
    return save([made], [shape("q", TensorProto.FLOAT, [1, 2, 3, 4]),
                         shape("p", TensorProto.FLOAT, [1, 2, 1, 4])],
                [helper.make_empty_tensor_value_info("k")], opset=23)


# ---- attributes -------------------------------------------------------------

@case("node 'n' (Concat): attribute 'axis' is required but missing")
def attribute_missing():
    return one("Concat", ["x"])


@case("node 'n' (Concat): attribute 'axis' is a float, expected an integer")
def attribute_of_wrong_kind():
    return one("Concat", ["x"], axis=1.5)


@case("node 'n' (Transpose): attribute 'perm' is an integer, expected integers")
def attribute_scalar_for_list():
    return one("Transpose", ["x"], perm=1)


@case("node 'n' (Relu): unknown attribute 'slope'")
def attribute_unknown():
    return one("Relu", ["x"], slope=0.5)


AXIS = data(1, "axis") + num(3, 0) + num(20, 2)


@case("node 'n' (Concat): attribute 'axis' is given twice")
def attribute_twice():
    return model(graph(node("Concat", ["x"], ["y"], AXIS, AXIS)))


@case("node 'n' (Concat): attribute 'axis' holds more than one value")
def attribute_with_two_values():
    return model(graph(node("Concat", ["x"], ["y"], AXIS + num(3, 1))))


@case("node 'n' (Concat): attribute 'axis' holds more than one value")
def attribute_with_two_kinds_of_value():
    return model(graph(node("Concat", ["x"], ["y"], AXIS + f32(2, 1.0))))


@case("node 'n' (Concat): attribute 'axis' says it is INT but holds FLOAT")
def attribute_type_contradicts_value():
    attr = data(1, "axis") + f32(2, 1.0) + num(20, 2)
    return model(graph(node("Concat", ["x"], ["y"], attr)))


@case("node 'n' (Concat): attribute 'axis' has the unknown type 77")
def attribute_type_unknown():
    return model(graph(node("Concat", ["x"], ["y"], data(1, "axis") + num(3, 0) + num(20, 77))))


@case("node 'n' (Concat): attribute 'axis' has no value")
def attribute_without_type_and_value():
    return model(graph(node("Concat", ["x"], ["y"], data(1, "axis"))))


@case("node 'n' (Concat): an attribute has no name")
def attribute_without_name():
    return model(graph(node("Concat", ["x"], ["y"], num(3, 0) + num(20, 2))))


@case("node 'n' (ConstantOfShape): attribute 'value' has no value")
def attribute_tensor_missing():
    return model(graph(node("ConstantOfShape", ["x"], ["y"], data(1, "value") + num(20, 4))))


@case("node 'n' (If): attribute 'then_branch' has no graph")
def attribute_graph_missing():
    return model(graph(node("If", ["x"], ["y"], data(1, "then_branch") + num(20, 5))))


@case("node 'n' (Concat): attribute 'axis' refers to 'a' outside a function")
def attribute_reference_outside_a_function():
    return model(graph(node("Concat", ["x"], ["y"], data(1, "axis") + num(20, 2) + data(21, "a"))))


@case("node 'n' (Relu): 200000 attributes; at most 1024 are allowed")
def attributes_without_end():
    """Quadratic time in the number of attributes would hang."""
    attrs = [data(1, f"a{i}") + num(3, 0) + num(20, 2) for i in range(200000)]
    return model(graph(node("Relu", ["x"], ["y"], *attrs)))


@case("node 'n' (Relu): 65 attributes; no operator has that many")
def attributes_65():
    attrs = [data(1, f"a{i}") + num(3, 0) + num(20, 2) for i in range(65)]
    return model(graph(node("Relu", ["x"], ["y"], *attrs)))


@case("node 'n' (Pad): attribute 'mode' is 'mirror', expected one of ")
def attribute_word_unknown():
    return one("Pad", ["x", "p"], mode="mirror")


@case("node 'n' (Cast): attribute 'to' is 99, not an element type", code=4)
def attribute_element_type_unknown():
    return one("Cast", ["x"], to=99)


# ---- Constant ---------------------------------------------------------------

def constant(*attrs, inputs=(), outputs=("c",)):
    return model(graph(node("Constant", inputs, outputs, *attrs), RELU))


@case("node 'n' (Constant): Constant needs exactly one attribute, found 0")
def constant_without_value():
    return constant()


@case("node 'n' (Constant): Constant needs exactly one attribute, found 2")
def constant_with_two_values():
    return constant(data(1, "value_int") + num(3, 1) + num(20, 2),
                    data(1, "value_float") + f32(2, 1) + num(20, 1))


@case("node 'n' (Constant): Constant has the unknown attribute 'worth'")
def constant_attribute_unknown():
    return constant(data(1, "worth") + num(3, 1) + num(20, 2))


@case("node 'n' (Constant): attribute 'value_int' is FLOAT, expected INT")
def constant_of_wrong_kind():
    return constant(data(1, "value_int") + f32(2, 1) + num(20, 1))


@case("node 'n' (Constant): Constant has no input and one output, not 1 and 1")
def constant_with_an_input():
    return constant(data(1, "value_int") + num(3, 1) + num(20, 2), inputs=["x"])


@case("node 'n' (Constant): Constant has no input and one output, not 0 and 2")
def constant_with_two_outputs():
    return constant(data(1, "value_int") + num(3, 1) + num(20, 2), outputs=["c", "d"])


# ---- element types ----------------------------------------------------------

@case("node 'n' (Add): input 1 has type int64, an earlier one float32; they must agree")
def inputs_of_two_types():
    made = helper.make_node("Add", ["x", "i"], ["y"], name="n")
    numbers = helper.make_tensor_value_info("i", TensorProto.INT64, [2])
    return save([made], [floats("x", 2), numbers], [floats("y", 2)])


@case("node 'n' (And): input 0 has type float32; operator And version 21 of domain ai.onnx takes "
      "bool",
      code=4)
def input_of_a_type_not_taken():
    return one("And", ["x", "z"])
