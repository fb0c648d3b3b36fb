"""What the generators of elementwise operators share."""
import ml_dtypes
import numpy as np

from case import is_float, is_integer


def any_shape(random):
    """Mostly small, up to six axes; sometimes long enough for whole vectors and a tail."""
    if random.chance(0.1):
        return (random.integer(17, 300),)
    return random.shape(0, 6 if random.chance(0.1) else 4)


def legacy(random, schema):
    """Attributes of old versions that say nothing about the result."""
    if "consumed_inputs" in schema.attributes and random.chance(0.2):
        return {"consumed_inputs": [0] * len(schema.inputs)}
    return {}


def some_attributes(random, schema, **ranges):
    """Each attribute that the schema has, or its default by leaving it out."""
    chosen = legacy(random, schema)
    for name, (low, high) in ranges.items():
        if name in schema.attributes and random.chance(0.7):
            chosen[name] = random.uniform(low, high)
    return chosen


def full_range(random, dtype, shape):
    """Every bit pattern of an integer type, its ends more often."""
    info = ml_dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    values = random.rng.integers(low, high, shape, dtype=dtype if dtype.kind in "iu" else np.int8,
                                 endpoint=True)
    ends = random.rng.choice(np.array([low, high, 0, 1], dtype=values.dtype), shape)
    return np.where(random.rng.random(shape) < 0.1, ends, values).astype(dtype)


def largest(*tensors):
    """What a sum that cancels is exact relative to: the largest number in it, not what is left."""
    finite = [np.abs(v[np.isfinite(v)]).max(initial=0) for v in
              (np.asarray(t, np.float64) for t in tensors)]
    return float(max(finite))


def only_as_good_as_float32(ours, theirs):
    """Whether two float64 results agree to the bits that a float32 has: somebody computed in it."""
    a, b = np.asarray(ours[0]), np.asarray(theirs[0])
    return (a.dtype == b.dtype == np.float64 and a.shape == b.shape
            and np.allclose(a, b, rtol=2e-6, atol=2e-6, equal_nan=True))


def on_grid(random, dtype, shape, special=0.15):
    """Few distinct values, so that equal ones and ties turn up; floats in steps of a half."""
    values = random.array(dtype, shape, -2, 2, special)
    if is_float(dtype):
        return (np.round(values.astype(np.float64) * 2) / 2).astype(dtype)
    assert is_integer(dtype) or dtype.kind in "bO"
    return values
