"""Mathematical functions of one input, and those that only look at or copy it."""
import numpy as np
from onnx import helper

from case import Case, dtype_of, generator, is_integer, onnx_dtype, type_proto
from explained import REFERENCE, explained
from families.elementwise_common import any_shape, full_range, legacy, only_as_good_as_float32

# Where the function is defined, and a range that leaves it.
_DOMAINS = {"Acos": (-1, 1, 1.5), "Asin": (-1, 1, 1.5), "Atanh": (-1, 1, 1.5),
            "Acosh": (1, 9, 2), "Log": (0, 50, 3), "Sqrt": (0, 50, 3)}


@generator("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf",
           "Exp", "Floor", "Log", "Neg", "Reciprocal", "Sign", "Sin", "Sinh", "Sqrt", "Tan")
def function(random, schema):
    dtype = random.dtype(schema, "T")
    shape = any_shape(random)
    if is_integer(dtype):
        values = full_range(random, dtype, shape)
        if schema.name == "Erf":
            # erf(4) and erf(5) are 1 or a little less, as the precision is, and then cut to 0.
            values = np.where(np.isin(np.abs(values.astype(np.int64)), (4, 5)), 3, values).astype(dtype)
        if dtype.kind == "i":  # the least integer has no negative
            values = np.maximum(values, -np.iinfo(dtype).max).astype(dtype)
        return Case([values], legacy(random, schema))
    low, high, beyond = _DOMAINS.get(schema.name, (-3, 3, 100))
    if random.chance(0.25):
        low, high = low - beyond, high + beyond
    return Case([random.array(dtype, shape, low, high, special=0.15)], legacy(random, schema))


@explained("Erf", REFERENCE, "computes float64 in float32")
def _float32_inside(case, ours, theirs):
    return only_as_good_as_float32(ours, theirs)


@generator("Round")
def nearest(random, schema):
    values = random.array(random.dtype(schema, "T"), any_shape(random), -20, 20, special=0.15)
    if random.chance():  # halves go to the even side
        values = (np.trunc(values.astype(np.float64)) + 0.5).astype(values.dtype)
    return Case([values])


@generator("BitwiseNot")
def bitwise_not(random, schema):
    return Case([full_range(random, random.dtype(schema, "T"), any_shape(random))])


@generator("Not")
def logical_not(random, schema):
    return Case([random.array(bool, any_shape(random))])


@generator("IsNaN", "IsInf")
def special(random, schema):
    dtype = random.dtype(schema, "T1")
    attributes = {name: random.integer(0, 1) for name in schema.attributes if random.chance()}
    return Case([random.array(dtype, any_shape(random), special=0.8)], attributes)


@generator("Identity")
def identity(random, schema):
    parameter = schema.type_constraints[0]
    names = [t for t in parameter.allowed_type_strs if random.chance(0.3) or t.startswith("tensor(")]
    name = random.choice(names)
    tensor = dtype_of(name[name.index("tensor("):].rstrip(")") + ")")

    def draw(shape):
        return random.array(tensor, shape, -1, 1, special=0.2)
    if "seq(" not in name:
        value, value_type = draw(any_shape(random)), None
    else:
        value = [draw(any_shape(random)) for _ in range(random.integer(0, 3))]
        value_type = helper.make_sequence_type_proto(
            helper.make_tensor_type_proto(onnx_dtype(tensor), None))
    if name.startswith("optional("):
        value_type = helper.make_optional_type_proto(value_type or type_proto(value))
    return Case([value], input_types=[value_type])
