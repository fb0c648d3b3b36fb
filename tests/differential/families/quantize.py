"""QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear."""
import ml_dtypes
import numpy as np
from onnx import TensorProto

from case import SMALL_FLOATS, Case, generator, is_integer, onnx_dtype
from explained import ORT, REFERENCE, explained
from families.elementwise_common import full_range

_FLOAT = np.dtype(np.float32)


def _parameter(schema, index):
    """The type parameter of an input, None where the schema names the type itself."""
    name = schema.inputs[index].type_str
    return None if "(" in name else name


def _grid(random, schema, shape):
    """(shape of the scale, attributes): one scale for all, one an index of an axis, or blocks."""
    rank = len(shape)
    kinds = ["whole"]
    if schema.since_version >= 13 and rank:
        kinds += ["axis"]
    if "block_size" in schema.attributes and rank and 0 not in shape:
        kinds += ["block"]
    kind = random.choice(kinds)
    if kind == "whole":
        return random.choice([(), (1,)]) if schema.since_version >= 13 else (), {}
    axis = random.axis(rank)
    if kind == "axis":
        return (shape[axis],), {} if axis == 1 and random.chance() else {"axis": axis}
    block = random.integer(1, shape[axis] + 1)
    scale = list(shape)
    scale[axis] = -(-shape[axis] // block)
    return tuple(scale), {"axis": axis, "block_size": block}


def _scale(random, dtype, shape):
    """Above zero; powers of two are where quotients fall between two integers."""
    if dtype == np.int32:
        return random.array(dtype, shape, 1, 9)
    if dtype in SMALL_FLOATS or random.chance(0.3):
        return np.exp2(random.rng.integers(-5, 3, shape)).astype(np.float32).astype(dtype)
    return random.array(dtype, shape, 0.02, 2)


def _zero_point(random, dtype, shape):
    # A zero point of a floating-point type other than zero has no use that anyone supports.
    return full_range(random, dtype, shape) if is_integer(dtype) and dtype != np.int32 else \
        np.zeros(shape, dtype)


@generator("QuantizeLinear")
def quantize(random, schema):
    shape = random.shape(0, 4)
    x_type = random.dtype(schema, "T1")
    scale_name, zero_name = _parameter(schema, 1), _parameter(schema, 2)
    scale_type = _FLOAT if scale_name is None else \
        x_type if scale_name == "T1" else random.dtype(schema, scale_name)
    scale_shape, attributes = _grid(random, schema, shape)
    zero = random.dtype(schema, zero_name)
    inputs = [random.array(x_type, shape, -200, 200), _scale(random, scale_type, scale_shape)]
    if random.chance(0.7):
        inputs.append(_zero_point(random, zero, scale_shape))
    if "output_dtype" in schema.attributes and random.chance():
        attributes["output_dtype"] = onnx_dtype(zero)
    if "saturate" in schema.attributes and random.chance(0.3):
        attributes["saturate"] = random.integer(0, 1)
    if "precision" in schema.attributes and random.chance(0.4):
        attributes["precision"] = onnx_dtype(random.choice([np.float32, np.float16,
                                                            ml_dtypes.bfloat16]))
    return Case(inputs, attributes)


@explained("QuantizeLinear", ORT, "does not heed `precision`, and divides in float32")
def _precision_unheeded(case, ours, theirs):
    return case.attributes.get("precision", TensorProto.FLOAT) != TensorProto.FLOAT


@explained("QuantizeLinear", REFERENCE, "the type of the scale is the precision of the division; the "
           "evaluator divides in what numpy makes of both types")
def _precision_of_scale(case, ours, theirs):
    x, scale = case.inputs[:2]
    return scale.dtype != x.dtype and scale.dtype.itemsize == 2 and "precision" not in case.attributes


@generator("DequantizeLinear")
def dequantize(random, schema):
    shape = random.shape(0, 4)
    x_type = random.dtype(schema, _parameter(schema, 0))
    scale_name = _parameter(schema, 1)
    scale_type = _FLOAT if scale_name is None else random.dtype(schema, scale_name)
    scale_shape, attributes = _grid(random, schema, shape)
    x = full_range(random, x_type, shape) if is_integer(x_type) and random.chance() else \
        random.array(x_type, shape)
    inputs = [x, _scale(random, scale_type, scale_shape)]
    if random.chance(0.6):
        inputs.append(_zero_point(random, x_type, scale_shape))
    outputs = schema.outputs[0].type_str
    if "output_dtype" in schema.attributes and (scale_type in SMALL_FLOATS or random.chance(0.3)):
        attributes["output_dtype"] = onnx_dtype(random.dtype(schema, outputs))
    return Case(inputs, attributes)


@generator("DynamicQuantizeLinear")
def dynamic(random, schema):
    # The least and the greatest of no elements are not defined, nor is the scale of zeros alone:
    # the formula has 0/0.
    shape = random.shape(0, 4, empty=0)
    low, high = random.choice([(-3, 3), (0.5, 4), (-9, -1), (-1e4, 1e-3)])
    return Case([random.array(np.float32, shape, low, high)], outputs=3)
