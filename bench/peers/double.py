"""Turns a float32 model into the same graph in float64, for a reference of accuracy."""

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
# Attributes that name an element type, by operator.
TYPE_ATTRIBUTES = {"Cast": "to", "EyeLike": "dtype", "RandomNormal": "dtype",
                   "RandomUniform": "dtype", "LayerNormalization": "stash_type",
                   "RMSNormalization": "stash_type"}
# Whose constants must stay float32: ONNX knows no others there.
KEEP = {"Resize": (1, 2), "Upsample": (1,)}


def _tensor(tensor):
    if tensor.data_type != FLOAT:
        return tensor
    return numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name)


def _type(type_proto):
    kind = type_proto.WhichOneof("value")
    if kind == "tensor_type" and type_proto.tensor_type.elem_type == FLOAT:
        type_proto.tensor_type.elem_type = DOUBLE
    elif kind in ("sequence_type", "optional_type"):
        _type(getattr(type_proto, kind).elem_type)


def _node(node):
    if node.op_type in KEEP:
        raise ValueError(f"{node.op_type} cannot be turned into float64")
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.TENSOR:
            attribute.t.CopyFrom(_tensor(attribute.t))
        elif attribute.type == onnx.AttributeProto.GRAPH:
            _graph(attribute.g)
        elif TYPE_ATTRIBUTES.get(node.op_type) == attribute.name and attribute.i == FLOAT:
            attribute.i = DOUBLE
    # A Constant of a single float has a type of its own.
    if node.op_type == "Constant" and node.attribute and node.attribute[0].name in (
            "value_float", "value_floats"):
        old = node.attribute[0]
        value = np.array(old.f if old.name == "value_float" else list(old.floats), np.float64)
        del node.attribute[:]
        node.attribute.append(onnx.helper.make_attribute("value", numpy_helper.from_array(value)))
    if node.op_type in ("LayerNormalization", "RMSNormalization") and not any(
            a.name == "stash_type" for a in node.attribute):
        node.attribute.append(onnx.helper.make_attribute("stash_type", DOUBLE))
    if node.op_type == "ConstantOfShape" and not node.attribute:
        value = numpy_helper.from_array(np.zeros(1, np.float64))
        node.attribute.append(onnx.helper.make_attribute("value", value))


def _graph(graph):
    for number, tensor in enumerate(graph.initializer):
        graph.initializer[number].CopyFrom(_tensor(tensor))
    for value in (*graph.input, *graph.output, *graph.value_info):
        _type(value.type)
    for node in graph.node:
        _node(node)


def convert(model):
    """Changes the model in place; raises ValueError where it cannot be done."""
    if model.functions:
        raise ValueError("models with functions cannot be turned into float64")
    _graph(model.graph)
    return model


def write(source, target):
    """Reads one file, writes the other; weights beyond 2 GB go to a file beside it."""
    model = convert(onnx.load(source))
    large = sum(len(tensor.raw_data) for tensor in model.graph.initializer) > 1_500_000_000
    onnx.save_model(model, target, save_as_external_data=large,
                    location=target.name + ".data" if large else None)
