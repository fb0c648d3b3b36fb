"""Mistakes in model-local functions: recursion, calls that do not fit, bombs made of calls."""
from onnx import TensorProto, helper

from cases_graph import floats, save
from wire import X, Y, case, data, model, node, num

DOMAIN = "local"


def function(name, inputs, outputs, nodes, attributes=(), defaults=(), opset=21):
    return helper.make_function(DOMAIN, name, inputs, outputs, nodes,
                                [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)],
                                attributes=list(attributes), attribute_protos=list(defaults))


def call(name, inputs, outputs, node_name="call", **attrs):
    return helper.make_node(name, inputs, outputs, domain=DOMAIN, name=node_name, **attrs)


def calling(*functions, nodes=None):
    return save(nodes or [call("f", ["x"], ["y"])], [floats("x", 2)], [floats("y", 2)],
                functions=functions, opsets=[(DOMAIN, 1)])


def relu(source, target):
    return helper.make_node("Relu", [source], [target], name="r")


@case(code=0)
def function_without_mistake():
    return calling(function("f", ["a"], ["b"], [relu("a", "b")]))


@case("function 'f' calls itself")
def function_calls_itself():
    return calling(function("f", ["a"], ["b"], [call("f", ["a"], ["b"])]))


@case("function 'f' calls itself")
def functions_call_each_other():
    return calling(function("f", ["a"], ["b"], [call("g", ["a"], ["b"])]),
                   function("g", ["a"], ["b"], [call("f", ["a"], ["b"])]))


@case("with its functions inlined the model has more nodes than the limit of 4000000", code=1)
def function_call_bomb():
    """2^40 nodes in two kilobytes."""
    doubling = [function(f"f{i}", ["a"], ["b"], [call(f"f{i + 1}", ["a"], ["m"]),
                                                 call(f"f{i + 1}", ["m"], ["b"])])
                for i in range(40)]
    last = function("f40", ["a"], ["b"], [relu("a", "b")])
    return calling(*doubling, last, nodes=[call("f0", ["x"], ["y"])])


@case("with its functions inlined the model has more nodes than the limit", code=1)
def function_call_bomb_with_long_names():
    """Names are copied for each call: few calls, much text."""
    name = "n" * 100000
    doubling = [function(f"f{i}", ["a"], ["b"], [call(f"f{i + 1}", ["a"], [name + "m"], name),
                                                 call(f"f{i + 1}", [name + "m"], ["b"], name)])
                for i in range(30)]
    last = function("f30", ["a"], ["b"], [relu("a", "b")])
    return calling(*doubling, last, nodes=[call("f0", ["x"], ["y"], name)])


@case("with its functions inlined the model has more nodes than the limit", code=1)
def function_call_bomb_with_many_inputs():
    """Formal inputs are bound for each call, whether or not it gives them."""
    doubling = [function(f"f{i}", ["a"], ["b"], [call(f"f{i + 1}", ["a"], ["m"]),
                                                 call(f"f{i + 1}", ["m"], ["b"])])
                for i in range(30)]
    last = function("f30", ["a", *(f"i{k}" for k in range(20000))], ["b"], [relu("a", "b")])
    return calling(*doubling, last, nodes=[call("f0", ["x"], ["y"])])


@case("subgraphs and functions nest deeper than the limit of 64", code=1)
def function_calls_too_deep():
    chain = [function(f"f{i}", ["a"], ["b"], [call(f"f{i + 1}", ["a"], ["b"])])
             for i in range(100)]
    last = function("f100", ["a"], ["b"], [relu("a", "b")])
    return calling(*chain, last, nodes=[call("f0", ["x"], ["y"])])


@case("subgraphs and functions nest deeper than the limit of 64", code=1)
def function_calls_far_too_deep():
    """As many frames as functions would be more than the stack holds."""
    def chained(index):
        last = index == 199999
        body = node("Relu" if last else f"f{index + 1}", ["a"], ["b"],
                    domain="" if last else DOMAIN)
        return data(25, data(1, f"f{index}") + data(10, DOMAIN) + data(4, "a") + data(5, "b") +
                    data(7, body) + data(9, num(2, 21)))
    return model(data(1, node("f0", ["x"], ["y"], domain=DOMAIN)) + X + Y,
                 opsets=[("", 21), (DOMAIN, 1)], rest=b"".join(map(chained, range(200000))))


@case("function 'f' is defined twice")
def function_twice():
    one = function("f", ["a"], ["b"], [relu("a", "b")])
    return calling(one, one)


@case("a function has no name")
def function_without_name():
    return calling(function("", ["a"], ["b"], [relu("a", "b")]))


@case("node 'call' (f): the call gives 2 inputs, the function takes 1")
def call_with_too_many_inputs():
    return calling(function("f", ["a"], ["b"], [relu("a", "b")]),
                   nodes=[call("f", ["x", "x"], ["y"])])


@case("node 'call' (f): the call wants 2 outputs, the function has 1")
def call_with_too_many_outputs():
    return calling(function("f", ["a"], ["b"], [relu("a", "b")]),
                   nodes=[call("f", ["x"], ["y", "z"])])


@case("'c' is used but nothing defines it")
def function_output_undefined():
    return calling(function("f", ["a"], ["c"], [relu("a", "b")]))


@case("'x' is used but nothing defines it")
def function_sees_no_names_of_the_caller():
    return calling(function("f", ["a"], ["b"], [relu("x", "b")]))


@case("function output 'b' is an input that the call leaves out")
def function_output_is_an_input_left_out():
    return calling(function("f", ["a", "b"], ["b"], [relu("a", "c")]))


@case("node 'call/r' (Relu): 0 inputs, expected 1")
def function_input_left_out_but_needed():
    return calling(function("f", ["a", "o"], ["b"], [relu("o", "b")]))


@case("function input 'a' is defined twice")
def function_input_twice():
    return calling(function("f", ["a", "a"], ["b"], [relu("a", "b")]))


@case("node output 'a': the name is defined twice")
def function_node_makes_an_input():
    return calling(function("f", ["a"], ["a"], [relu("a", "a")]))


@case("node 'call/r' (Relu): the function imports no opset of domain 'ai.onnx'")
def function_without_opset():
    lone = helper.make_function(DOMAIN, "f", ["a"], ["b"], [relu("a", "b")],
                                [helper.make_opsetid(DOMAIN, 1)])
    return calling(lone)


@case("domain 'ai.onnx' is imported in versions 13 and 21")
def function_opsets_in_conflict():
    lone = helper.make_function(DOMAIN, "f", ["a"], ["b"], [relu("a", "b")],
                                [helper.make_opsetid("", 13), helper.make_opsetid("", 21)])
    return calling(lone)


def leaky():
    made = helper.make_node("LeakyRelu", ["a"], ["b"], name="r")
    attr = made.attribute.add()
    attr.name, attr.ref_attr_name, attr.type = "alpha", "slope", 1
    return made


@case(code=0)
def function_attribute_left_out_is_fine():
    return calling(function("f", ["a"], ["b"], [leaky()], ["slope"]))


@case("attribute 'alpha' expects FLOAT but the call gives INT")
def function_attribute_of_wrong_kind():
    return calling(function("f", ["a"], ["b"], [leaky()], ["slope"]),
                   nodes=[call("f", ["x"], ["y"], slope=3)])


@case("node 'call/r' (Concat): attribute 'axis' is required but missing")
def function_attribute_missing_but_needed():
    made = helper.make_node("Concat", ["a"], ["b"], name="r")
    attr = made.attribute.add()
    attr.name, attr.ref_attr_name, attr.type = "axis", "axis", 2
    return calling(function("f", ["a"], ["b"], [made], ["axis"]))


@case("node 'call/r' (LeakyRelu): attribute 'alpha' is given twice")
def function_attribute_given_twice():
    made = leaky()
    attr = made.attribute.add()
    attr.name, attr.f, attr.type = "alpha", 0.5, 1
    return calling(function("f", ["a"], ["b"], [made], ["slope"]),
                   nodes=[call("f", ["x"], ["y"], slope=3.0)])


@case("a graph as a function's default attribute")
def function_default_is_a_graph():
    body = helper.make_graph([], "b", [], [])
    return calling(function("f", ["a"], ["b"], [relu("a", "b")], (),
                            [helper.make_attribute("g", body)]))


@case("attribute 'slope' refers to 'other' outside a function")
def function_default_is_a_reference():
    attr = helper.make_attribute("slope", 0.5)
    attr.ref_attr_name = "other"
    return calling(function("f", ["a"], ["b"], [leaky()], (), [attr]))


@case("the model imports no opset of domain 'local'")
def call_of_a_function_that_is_not_there():
    return save([call("f", ["x"], ["y"])], [floats("x", 2)], [floats("y", 2)])


@case("operator 'f' of domain 'local' version 1: the domain is not known", code=4)
def call_of_an_overload_that_is_not_there():
    one = function("f", ["a"], ["b"], [relu("a", "b")])
    made = call("f", ["x"], ["y"])
    made.overload = "other"
    return calling(one, nodes=[made])


@case("field 25 'functions'", "wire type is varint but should be length-delimited")
def function_is_a_number():
    return model(data(1, node("Relu", ["x"], ["y"])) + X + Y, rest=num(25, 1))


@case("graph output 'b' is left out")
def function_branch_gives_what_the_call_left_out():
    """`b` may be left out where it is read as an input, but a branch's result is there or it is not."""
    branch = helper.make_graph([], "branch", [], [helper.make_empty_tensor_value_info("b")])
    choice = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch, name="if")
    truth = helper.make_node("Constant", [], ["c"], name="truth",
                             value=helper.make_tensor("t", TensorProto.BOOL, [], [True]))
    return calling(function("f", ["a", "b"], ["y"], [truth, choice]))


@case("attribute 'xs' names 'b', an input that the call leaves out")
def function_gradient_by_what_the_call_left_out():
    training = "ai.onnx.preview.training"
    slope = helper.make_node("Gradient", ["a"], ["y"], domain=training, name="g", xs=["b"], y="a")
    made = helper.make_function(DOMAIN, "f", ["a", "b"], ["y"], [slope],
                                [helper.make_opsetid("", 21), helper.make_opsetid(training, 1)])
    return save([call("f", ["x"], ["y"])], [floats("x", 2)], [floats("y", 2)], functions=[made],
                opsets=[(DOMAIN, 1), (training, 1)])


@case("the function has 1025 default attributes; at most 1024")
def function_with_too_many_defaults():
    defaults = [helper.make_attribute(f"d{i}", 1) for i in range(1025)]
    return calling(function("f", ["a"], ["b"], [relu("a", "b")], defaults=defaults))
