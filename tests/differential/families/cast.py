"""Cast, CastLike, BitCast: every pair of types that the versions allow."""
import ml_dtypes
import numpy as np
import onnx

from case import SMALL_FLOATS, Case, generator, is_float, is_integer, onnx_dtype
from explained import REFERENCE, explained
from families.elementwise_common import any_shape, full_range

_BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}
_E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)


def _small(dtype):
    return dtype in SMALL_FLOATS or dtype.name in _BITS


def _floating(dtype):
    return is_float(dtype) or dtype in SMALL_FLOATS


def _text(random, to, shape):
    """Texts of numbers. A fraction cast to an integer is left undefined, and so is any text that is
    no number."""
    def one():
        if not _floating(to):
            info = ml_dtypes.iinfo(to)
            return str(random.integer(max(int(info.min), -1000), min(int(info.max), 1000)))
        if random.chance(0.1):
            return random.choice(["NaN", "INF", "-INF", "+INF", "inf", "nan"])
        value = random.uniform(-90, 90)
        return random.choice([f"{value:.3f}", f"{value:.2e}", f"{value:.1E}", str(int(value))])
    texts = [one() for _ in range(int(np.prod(shape, dtype=int)))]
    return np.array(texts, dtype=object).reshape(shape)


def _numbers(random, source, to, shape):
    """Numbers that the standard says what becomes of."""
    if source == bool:
        return random.array(bool, shape)
    if is_integer(source):
        low = 0 if to == _E8M0 else None  # what becomes of negative numbers is left open there
        if random.chance(0.4):
            return random.array(source, shape, low)
        values = full_range(random, source, shape)
        return values if low is None else np.maximum(values, 0).astype(source)
    high = random.choice([3, 100, 1e6, 1e39, 1e-4, 1e-40])
    low = -high
    if is_integer(to):
        # A float beyond the range of an integer type is undefined, NaN and infinity among them.
        info = ml_dtypes.iinfo(to)
        values = random.array(source, shape, low, high)
        wide = values.astype(np.float64)
        inside = (wide > float(info.min) - 1) & (wide < float(info.max) - 1)
        return np.where(inside, values, np.array(1, source))
    if to == _E8M0:  # negative numbers are left open
        return np.abs(random.array(source, shape, low, high, special=0.4))
    return random.array(source, shape, low, high, special=0.2)


def _values(random, source, to, shape):
    if source.kind == "O":
        return random.array(source, shape) if to.kind == "O" else _text(random, to, shape)
    values = _numbers(random, source, to, shape)
    if to.kind == "O" and _floating(source):
        # How many digits a text has is open; halves have few.
        halves = np.round(values.astype(np.float64)) + 0.5
        return np.where(np.isfinite(halves) & (np.abs(halves) < 1e4), halves, 2.5).astype(source)
    return values


def _rules(random, schema):
    chosen = {}
    if "saturate" in schema.attributes and random.chance():
        chosen["saturate"] = random.integer(0, 1)
    # Neither reference has CastLike's.
    if "round_mode" in schema.attributes and random.chance(0.5 if schema.name == "Cast" else 0.05):
        chosen["round_mode"] = random.choice(["up", "down", "nearest"])
    return chosen


def _pair(random, schema):
    source, to = random.dtype(schema, "T1"), random.dtype(schema, "T2")
    if schema.since_version >= 24 and random.chance(0.15):
        to = _E8M0
    # Whether a text is true is not said.
    while source.kind == "O" and to == bool:
        to = random.dtype(schema, "T2")
    # Between two of the small types, or from text to one, the references have little to say.
    while _small(to) and (_small(source) or source.kind == "O") and random.chance(0.8):
        source = random.dtype(schema, "T1")
    return source, to, _values(random, source, to, any_shape(random))


def _e8m0_differences(case, ours, theirs):
    """The inputs whose results differ, if the table of the standard is on our side in all of them."""
    a, b = (np.asarray(v[0]) for v in (ours, theirs))
    if a.dtype != _E8M0:
        return np.zeros(0)
    a, b, x = a.astype(np.float64), b.astype(np.float64), case.inputs[0].astype(np.float64)
    least, most = (2.0**-127, 2.0**127) if case.attributes.get("saturate", 1) else (np.nan, np.nan)
    right = np.where(x < 2.0**-127, least, np.where(x > 2.0**127, most, b))
    if not np.array_equal(a, right, equal_nan=True):
        return np.zeros(0)
    return x[~((a == b) | (np.isnan(a) & np.isnan(b)))]


@explained(("Cast", "CastLike"), REFERENCE,
           "0 and whatever else lies below the least float8e8m0, 2^-127, is NaN where nothing "
           "saturates; the evaluator makes it the least number all the same")
def _below_without_saturation(case, ours, theirs):
    return not case.attributes.get("saturate", 1) and _e8m0_differences(case, ours, theirs).size > 0


@explained(("Cast", "CastLike"), REFERENCE,
           "where it saturates, infinity becomes the largest float8e8m0 and what lies below the least, "
           "2^-127, becomes that; the evaluator makes NaN of infinity, and takes the exponent of a "
           "subnormal float32 for 2^-127, which it rounds up to 2^-126")
def _saturated(case, ours, theirs):
    return case.attributes.get("saturate", 1) and _e8m0_differences(case, ours, theirs).size > 0


# A conversion rounds once, so there is one right answer.
@generator("Cast")
def cast(random, schema):
    _, to, values = _pair(random, schema)
    number = onnx_dtype(to)
    if schema.since_version < 6:
        return Case([values], {"to": onnx.TensorProto.DataType.Name(number)}, ulps=0)
    return Case([values], {"to": number} | _rules(random, schema), ulps=0)


@generator("CastLike")
def cast_like(random, schema):
    _, to, values = _pair(random, schema)
    like = random.array(to, random.shape(0, 2))
    return Case([values, like], _rules(random, schema), ulps=0)


def _bits(dtype):
    return _BITS.get(dtype.name, dtype.itemsize * 8)


@generator("BitCast")
def bit_cast(random, schema):
    source = random.dtype(schema, "T1")
    to = random.dtype(schema, "T2")
    while _bits(to) != _bits(source):
        to = random.dtype(schema, "T2")
    values = random.array(source, any_shape(random), special=0.2)
    if to == bool:  # other bytes than 0 and 1 are no truth values
        values = (random.rng.random(values.shape) < 0.5).astype(np.uint8).view(source)
    return Case([values], {"to": onnx_dtype(to)}, ulps=0)
