"""Mistakes in the header of a model, and in the types of its values."""
from wire import (FLOAT, RELU, case, data, good, graph, info, model, num, tensor_type)


@case(code=0)
def a_good_model():
    return good()


@case("not an ONNX model: it has no IR version (0; 3 or later is expected)")
def ir_version_missing():
    return model(graph(RELU), ir=None)


@case("it has no IR version (-4; 3 or later is expected)")
def ir_version_negative():
    return model(graph(RELU), ir=-4)


@case("the model has IR version 2; supported are 3 and later", code=4)
def ir_version_too_old():
    return model(graph(RELU), ir=2)


@case(code=0)
def ir_version_too_new_is_tried():
    return model(graph(RELU), ir=1000)


@case("the model imports no operator set (opset_import is missing)")
def opset_import_missing():
    return model(graph(RELU), opsets=[])


@case("opset import of domain 'ai.onnx' has version 0")
def opset_version_0():
    return model(graph(RELU), opsets=[("", 0)])


@case("domain 'ai.onnx' is imported in versions 13 and 21")
def opsets_in_conflict():
    return model(graph(RELU), opsets=[("", 13), ("ai.onnx", 21)])


@case(code=0)
def opset_twice_alike():
    return model(graph(RELU), opsets=[("", 21), ("ai.onnx", 21)])


@case("node 'n' (Relu): operator 'Relu' of domain 'ai.onnx' version 999: opset versions 1 to ",
      code=4)
def opset_too_new():
    return model(graph(RELU), opsets=[("", 999)])


@case("node 'n' (Relu): the model imports no opset of domain 'ai.onnx'")
def opset_of_domain_missing():
    return model(graph(RELU), opsets=[("ai.onnx.ml", 3)])


@case("100000 operator sets are imported; at most 256 are allowed")
def opset_imports_without_end():
    return model(graph(RELU), opsets=[("", 21)] * 100000)


@case("the model has no graph")
def graph_missing():
    return model(None)


@case("the model has two graphs")
def two_graphs():
    return model(graph(RELU), rest=data(7, graph(RELU)))


# ---- types ------------------------------------------------------------------

def with_input_type(kind):
    return model(graph(RELU, inputs=data(11, info("x", kind))))


@case("a shape has the dimension -5")
def type_negative_dim():
    return with_input_type(tensor_type(FLOAT, 2, -5))


@case("a shape has the dimension '-3', which is negative")
def type_negative_dim_as_text():
    return with_input_type(tensor_type(FLOAT, 2, "-3"))


@case("a shape has the dimension 4611686018427387904: too large")
def type_dim_too_large():
    return with_input_type(tensor_type(FLOAT, 1 << 62))


@case("a shape has more than 16 dimensions", code=4)
def type_rank_17():
    return with_input_type(tensor_type(FLOAT, *[1] * 17))


@case("element type 99 is not known", code=4)
def type_unknown_element():
    return with_input_type(tensor_type(99, 2, 3))


@case("element type 0 is not known")
def type_element_0():
    return with_input_type(tensor_type(0, 2, 3))


@case("a sequence, optional or map type does not say what it holds")
def sequence_of_nothing():
    return with_input_type(data(4, b""))


@case("a sequence, optional or map type does not say what it holds")
def map_without_value():
    return with_input_type(data(5, num(1, 7)))


@case("a type is given twice")
def type_given_twice():
    return with_input_type(tensor_type(FLOAT, 2) + tensor_type(FLOAT, 2))


@case("opaque types are not supported", code=4)
def type_opaque():
    return with_input_type(data(7, data(1, "domain")))


@case("an input, output or value info has no name")
def input_without_name():
    return model(graph(RELU, inputs=data(11, data(2, tensor_type(FLOAT, 2, 3)))))


@case("an input, output or value info has no name")
def output_without_name():
    return model(graph(RELU, outputs=data(12, data(2, tensor_type(FLOAT, 2, 3)))))


@case("an input, output or value info has no name")
def value_info_without_name():
    return model(graph(RELU, rest=data(13, data(2, tensor_type(FLOAT, 2, 3)))))


@case("a shape has the dimension -7")
def value_info_negative_dim():
    return model(graph(RELU, rest=data(13, info("y", tensor_type(FLOAT, 2, -7)))))


@case(code=0)
def value_info_of_nothing_is_ignored():
    return model(graph(RELU, rest=data(13, info("gone", tensor_type(FLOAT, 2)))))


@case("node 'n' (Relu): output 'y' is declared as int64[2,3], but the operator makes float32[2,3]")
def output_declared_otherwise():
    return model(graph(RELU, outputs=data(12, info("y", tensor_type(7, 2, 3)))))


@case("node 'n' (Relu): output 'y' is declared as sequence(float32[2]), but the operator makes ")
def output_declared_as_sequence():
    kind = data(4, data(1, tensor_type(FLOAT, 2)))
    return model(graph(RELU, outputs=data(12, info("y", kind))))


@case("field 1 'dim'", "wire type is varint but should be length-delimited")
def shape_of_numbers():
    kind = data(1, num(1, FLOAT) + data(2, num(1, 2)))
    return with_input_type(kind)


@case("node 'n' (Relu)", "input 0 is not a tensor")
def sequence_where_a_tensor_belongs():
    return model(graph(RELU, inputs=data(11, info("x", data(4, data(1, tensor_type(FLOAT, 2)))))))


