"""Softmax, LogSoftmax, Hardmax."""
import ml_dtypes
import numpy as np

from case import Case, generator
from explained import REFERENCE, explained
from families.elementwise_common import on_grid


@generator("Softmax", "LogSoftmax", "Hardmax")
def normalised(random, schema):
    dtype, version = random.dtype(schema, "T"), schema.since_version
    shape = random.shape(1, 5)
    if random.chance(0.15):
        shape = (random.size(), random.integer(17, 200))
    rank = len(shape)
    ties = schema.name == "Hardmax" and random.chance()
    values = on_grid(random, dtype, shape, special=0) if ties else \
        random.array(dtype, shape, -50 if random.chance(0.2) else -3, 3)
    attributes = {"axis": random.axis(rank, negative=version >= 11)}
    # The default of the first versions, 1, needs two axes or more.
    if random.chance(0.2) and (version >= 13 or rank > 1):
        attributes = {}
    return Case([values], attributes)


@explained(("Softmax", "LogSoftmax", "Hardmax"), REFERENCE,
           "before version 13 all axes from `axis` on, 1 if it is left out, are one; the evaluator "
           "goes along a single axis, the last if it is left out")
def _coerced_to_2d(case, ours, theirs):
    shape = case.inputs[0].shape
    axis = case.attributes.get("axis", 1) % len(shape)
    return case.version < 13 and (np.prod(shape[axis + 1:]) != 1 or "axis" not in case.attributes)


@explained("Softmax", REFERENCE, "adds up a long axis in bfloat16, whose eight bits soon miss what "
           "is added")
def _sum_in_bfloat16(case, ours, theirs):
    x, axis = case.inputs[0], case.attributes.get("axis", -1)
    if x.dtype != ml_dtypes.bfloat16 or x.shape[axis] < 17:
        return False
    powers = np.exp(x.astype(np.float64) - x.astype(np.float64).max(axis=axis, keepdims=True))
    right = powers / powers.sum(axis=axis, keepdims=True)
    return np.allclose(np.asarray(ours[0]).astype(np.float64), right, rtol=2**-8, atol=1e-30)


@explained("LogSoftmax", REFERENCE, "takes the logarithm of a float16 that has lost its bits: below "
           "2^-14 they get few, below 2^-24 the result is minus infinity")
def _log_of_underflow(case, ours, theirs):
    a, b = (np.asarray(v[0]).astype(np.float64) for v in (ours, theirs))
    with np.errstate(invalid="ignore"):
        return case.inputs[0].dtype == np.float16 and np.abs(a - b)[a > -9.5].max(initial=0) < 0.02
