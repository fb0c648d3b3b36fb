"""Fourier transforms, whole and in frames."""
import numpy as np

from case import Case, generator
from explained import ORT, explained


def _transform_ulps(dtype):
    """Sums over up to 12 values of unit size; half types are rounded once by us, in each pass of
    the transform by others."""
    return 16.0 if dtype.itemsize == 2 else None


@generator("DFT")
def dft(random, schema):
    dtype = random.dtype(schema, "T1")
    if random.chance(0.8):
        dtype = np.dtype(random.choice((np.float32, np.float64)))
    rank = random.integer(2, 4)
    parts = random.choice((1, 2))
    shape = (*(random.integer(1, 9 if rank < 4 else 4) for _ in range(rank - 1)), parts)
    axis = random.integer(0, rank - 2)  # the last one holds real and imaginary parts
    given = axis - rank if random.chance(0.4) else axis
    attributes, inputs = {}, [random.array(dtype, shape)]
    if random.chance(0.4):
        attributes["inverse"] = random.integer(0, 1)
    # One side of the spectrum is all that a real signal needs: real input forward, complex back.
    one_sided = parts == (2 if attributes.get("inverse") else 1)
    if one_sided and random.chance(0.4):
        attributes["onesided"] = random.integer(0, 1)
    length = None
    if random.chance(0.4):
        length = np.array(random.integer(1, 12), dtype=random.dtype(schema, "T2"))
    inputs.append(length)
    back = bool(attributes.get("inverse") and attributes.get("onesided"))
    if back and length is None and shape[axis] == 1:
        inputs[1] = np.array(1, dtype=np.int64)  # the default would be a signal of no length
    if schema.since_version < 20:
        if axis != 1 or random.chance():
            attributes["axis"] = given
    elif axis != rank - 2 or random.chance(0.3):
        inputs.append(np.array(given, dtype=np.int64))
    return Case(inputs, attributes, ulps=_transform_ulps(dtype), scale=3.0)


@generator("STFT")
def stft(random, schema):
    dtype = random.dtype(schema, "T1")
    if random.chance(0.85):
        dtype = np.dtype(random.choice((np.float32, np.float64)))
    index = random.dtype(schema, "T2")
    frame = random.integer(1, 10)
    step = random.integer(1, 5)
    length = frame + step * random.integer(0, 4) + random.integer(0, step - 1)
    parts = random.choice((1, 1, 2))
    attributes = {}
    if parts == 2:
        attributes["onesided"] = 0
    elif random.chance():
        attributes["onesided"] = random.integer(0, 1)
    signal = random.array(dtype, (random.integer(1, 3), length, parts))
    window = random.array(dtype, (frame,), 0, 1) if random.chance(0.6) else None
    size = np.array(frame, dtype=index) if random.chance(0.5 if window is not None else 0.9) else None
    return Case([signal, np.array(step, dtype=index), window, size], attributes,
                ulps=_transform_ulps(dtype), scale=3.0)


@explained("DFT", ORT, "ONNX Runtime divides the inverse of doubles by their number in float32")
def _inverse_in_float32(case, ours, theirs):
    return (bool(case.attributes.get("inverse")) and case.inputs[0].dtype == np.float64
            and np.allclose(ours[0], theirs[0], rtol=0, atol=1e-6))


@explained("DFT", ORT,
           "back from one side, length / 2 + 1 values make the spectrum, and others are cut off or "
           "zero; ONNX Runtime takes as many as there are")
def _whole_side(case, ours, theirs):
    if not (case.attributes.get("inverse") and case.attributes.get("onesided")):
        return False
    axis = (case.attributes.get("axis", 1) if case.version < 20
            else int(case.inputs[2]) if len(case.inputs) > 2 else -2)
    return case.inputs[1] is not None and (
        case.inputs[0].shape[axis] != int(case.inputs[1]) // 2 + 1)
