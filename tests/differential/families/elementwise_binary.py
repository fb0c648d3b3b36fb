"""Operators of two broadcast inputs."""
import numpy as np

from case import Case, generator, is_float, is_integer
from explained import ORT, REFERENCE, explained
from families.elementwise_common import any_shape, full_range, legacy, on_grid


def _old_broadcast(random, schema, shape):
    """Before version 7 broadcasting was asked for by attributes; b lies within a from an axis on."""
    if schema.since_version >= 7 or "broadcast" not in schema.attributes:
        return random.broadcastable(shape), {}
    if random.chance(0.25):
        return shape, {}
    start = random.integer(0, max(0, len(shape) - 1))
    end = random.integer(min(start + 1, len(shape)), len(shape))
    if random.chance(0.15):
        end = start  # a number
    attributes = {"broadcast": 1}
    if end != len(shape) or random.chance():
        attributes["axis"] = start
    else:
        start = random.integer(start, len(shape))
    return shape[start:end], attributes


def _pair(random, schema, draw):
    """Two inputs that broadcast; draw makes a tensor of a shape, or a pair of functions does."""
    first, second = draw if isinstance(draw, tuple) else (draw, draw)
    shape = any_shape(random)
    if schema.since_version < 7 and random.chance(0.7):
        shape = (random.integer(1, 4),) * random.integer(2, 4)  # b fits in more than one place
    other, attributes = _old_broadcast(random, schema, shape)
    if schema.since_version >= 7 and random.chance(0.3):
        shape, other = other, shape
    return first(shape), second(other), attributes | legacy(random, schema)


def _plain(random, dtype, low=None, high=None):
    return lambda shape: random.array(dtype, shape, low, high, special=0.1)


def _nonzero(random, dtype):
    """Divisors: dividing an integer by zero is left undefined."""
    def draw(shape):
        if not is_integer(dtype):
            return random.array(dtype, shape, special=0.1)
        values = random.array(dtype, shape, -7, 7)
        return np.where(values == 0, np.array(3, dtype), values).astype(dtype)
    return draw


def _dividend(random, dtype):
    """Wide, without the least integer, whose quotient by -1 does not fit."""
    def draw(shape):
        if is_integer(dtype) and random.chance(0.3):
            values = full_range(random, dtype, shape)
            return np.maximum(values, -np.iinfo(dtype).max).astype(dtype) if dtype.kind == "i" \
                else values
        return random.array(dtype, shape, -100, 100, special=0.1)
    return draw


@generator("Add", "Sub", "Mul")
def arithmetic(random, schema):
    a, b, attributes = _pair(random, schema, _plain(random, random.dtype(schema, "T")))
    return Case([a, b], attributes)


@generator("Div")
def div(random, schema):
    dtype = random.dtype(schema, "T")
    a, b, attributes = _pair(random, schema, (_dividend(random, dtype), _nonzero(random, dtype)))
    return Case([a, b], attributes)


@generator("Mod")
def mod(random, schema):
    dtype = random.dtype(schema, "T")
    a, b, attributes = _pair(random, schema, (_dividend(random, dtype), _nonzero(random, dtype)))
    # Until version 28 floating-point inputs had to ask for fmod.
    if is_float(dtype) and schema.since_version < 28 or random.chance():
        attributes["fmod"] = 1
    elif random.chance():
        attributes["fmod"] = 0
    return Case([a, b], attributes)


@explained("Mod", ORT, "fmod of 64-bit integers goes through float64, which is off from 2^53 on")
def _fmod_of_large_integers(case, ours, theirs):
    a = case.inputs[0]
    return (case.attributes.get("fmod") == 1 and a.dtype in (np.int64, np.uint64)
            and bool((np.abs(a.astype(np.float64)) > 2.0**53).any()))


@generator("Pow")
def power(random, schema):
    base = random.dtype(schema, "T")
    exponent = random.dtype(schema, "T1") if schema.since_version >= 12 else base
    if is_float(base):
        draw = (_plain(random, base), _plain(random, exponent, -4, 5))
    elif is_integer(exponent):
        # A power of an integer to a negative exponent, or one that overflows, is left open.
        draw = (_plain(random, base, -5, 5), _plain(random, exponent, 0, 5))
    else:
        # So is the integer that a NaN or an infinity becomes.
        draw = (_plain(random, base, 1, 5),
                lambda shape: random.array(exponent, shape, 0, 4))
    a, b, attributes = _pair(random, schema, draw)
    return Case([a, b], attributes)


@generator("PRelu")
def prelu(random, schema):
    dtype = random.dtype(schema, "T")
    shape = any_shape(random)
    # Until version 7 the slope was one number, or one a channel.
    if schema.since_version >= 7:
        slope = random.broadcastable(shape)
    else:
        slope = (shape[1],) if len(shape) > 1 and random.chance(0.6) else (1,)
    return Case([random.array(dtype, shape, special=0.1), random.array(dtype, slope, special=0.03)],
                legacy(random, schema))


@explained("PRelu", REFERENCE, "before version 7 the slope is one number, or one a channel of X; the "
           "evaluator broadcasts it from the right, as later versions do")
def _slope_of_channels(case, ours, theirs):
    x, slope = case.inputs
    return case.version < 7 and (x.ndim == 0 or slope.shape != (1,))


@generator("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def comparison(random, schema):
    dtype = random.dtype(schema, "T")
    draw = full_range if is_integer(dtype) and random.chance(0.15) else on_grid
    a, b, attributes = _pair(random, schema, lambda shape: draw(random, dtype, shape))
    return Case([a, b], attributes)


@generator("And", "Or", "Xor")
def logical(random, schema):
    a, b, attributes = _pair(random, schema, _plain(random, np.dtype(bool)))
    return Case([a, b], attributes)


@generator("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(random, schema):
    dtype = random.dtype(schema, "T")
    a, b, attributes = _pair(random, schema, lambda shape: full_range(random, dtype, shape))
    return Case([a, b], attributes)


@generator("BitShift")
def bit_shift(random, schema):
    dtype = random.dtype(schema, "T")
    # What shifting by all bits or more gives is said since version 28 only.
    low, high = (-9, dtype.itemsize * 8 + 9) if schema.since_version >= 28 and random.chance() else \
        (0, dtype.itemsize * 8 - 1)
    a, b, attributes = _pair(random, schema, (lambda shape: full_range(random, dtype, shape),
                                              lambda shape: random.array(dtype, shape, low, high)))
    return Case([a, b], attributes | {"direction": random.choice(["LEFT", "RIGHT"])})


@explained(("Add", "Sub", "Mul", "Div", "Equal", "Greater", "Less", "And", "Or", "Xor"), REFERENCE,
           "before version 7 `axis` says where b lies within a; the evaluator ignores it and "
           "broadcasts from the right")
def _ignores_axis(case, ours, theirs):
    return case.version < 7 and "axis" in case.attributes
