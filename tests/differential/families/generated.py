"""Tensors made from a shape or a few numbers, and Trilu."""
import numpy as np
from onnx import numpy_helper

from case import Case, generator, is_integer, onnx_dtype
from explained import ORT, REFERENCE, explained
from families.elementwise_common import full_range, only_as_good_as_float32


@generator("Range")
def number_range(random, schema):
    dtype = random.dtype(schema, "T")
    count = random.integer(-2, 20)  # below zero: the limit lies behind the start
    start = random.integer(-50, 50)
    step = random.choice([1, 2, 3, 7]) * random.choice([1, -1])
    if is_integer(dtype):
        limit = start + step * count - (random.integer(0, abs(step) - 1) if step > 0 else 0)
        return Case([np.array(v, dtype) for v in (start, limit, step)])
    attributes = {"stash_type": random.choice([1, 11])} \
        if "stash_type" in schema.attributes and random.chance(0.4) else {}
    if random.chance():  # multiples of a quarter, so that the limit is met exactly
        numbers = (start / 4, start / 4 + count * step / 4, step / 4)
    else:
        # Half a step off: rounding cannot decide on one element more or less.
        step *= random.uniform(0.1, 1)
        numbers = (start, start + (count - 0.5) * step, step)
    return Case([np.array(v).astype(dtype) for v in numbers], attributes)


@generator("ConstantOfShape")
def constant_of_shape(random, schema):
    dtype = random.dtype(schema, "T2")
    shape = np.array(random.shape(0, 5, empty=0.1), np.int64)
    if random.chance(0.15):
        return Case([shape])
    value = full_range(random, dtype, (1,)) if is_integer(dtype) else \
        random.array(dtype, (1,), special=0.2)
    return Case([shape], {"value": numpy_helper.from_array(value, "value")}, ulps=0)


@generator("EyeLike")
def eye_like(random, schema):
    dtype = random.dtype(schema, "T1")
    attributes = {}
    if random.chance(0.6):
        attributes["dtype"] = onnx_dtype(random.dtype(schema, "T2"))
    if random.chance(0.7):
        attributes["k"] = random.integer(-7, 7)
    return Case([random.array(dtype, random.shape(2, 2, empty=0.08, largest=6))], attributes)


@generator("Trilu")
def trilu(random, schema):
    dtype = random.dtype(schema, "T")
    # What takes the place of a text outside of the triangle is not said.
    while dtype.kind == "O":
        dtype = random.dtype(schema, "T")
    inputs = [random.array(dtype, random.shape(2, 5, empty=0.06))]
    if random.chance(0.7):
        inputs.append(np.array(random.integer(-7, 7), np.int64))
    return Case(inputs, {"upper": random.integer(0, 1)} if random.chance(0.7) else {})


@generator("BlackmanWindow", "HammingWindow", "HannWindow")
def window(random, schema):
    # A symmetric window of one point divides by zero.
    attributes = {"periodic": random.integer(0, 1)} if random.chance(0.7) else {}
    size = random.integer(0 if attributes.get("periodic", 1) else 2, 40)
    if random.chance(0.6):
        attributes["output_datatype"] = onnx_dtype(random.dtype(schema, "T2"))
    # The ends are what is left of cosines that cancel.
    return Case([np.array(size, random.dtype(schema, "T1"))], attributes, scale=1.0)


@explained(("BlackmanWindow", "HammingWindow"), ORT, "a float64 is computed in float32")
def _float32_inside(case, ours, theirs):
    return only_as_good_as_float32(ours, theirs)


@explained("MelWeightMatrix", REFERENCE, "brings edges in half precision to the mel scale in that "
           "precision, which moves corners to the next spectrogram bin")
def _half_edges(case, ours, theirs):
    return case.inputs[3].dtype.itemsize == 2


@generator("MelWeightMatrix")
def mel_weight_matrix(random, schema):
    integer, edge = random.dtype(schema, "T1"), random.dtype(schema, "T2")
    rate = random.choice([1000, 8000, 16000, 44100])
    low = random.uniform(0, rate / 8)
    high = random.uniform(rate / 4, rate / 2)
    attributes = {}
    if random.chance(0.5):
        attributes["output_datatype"] = onnx_dtype(random.dtype(schema, "T3"))
    return Case([np.array(random.integer(1, 12), integer), np.array(random.integer(8, 128), integer),
                 np.array(rate, integer), np.array(low).astype(edge), np.array(high).astype(edge)],
                attributes)
