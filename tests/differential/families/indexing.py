"""Operators that pick and place elements by indices, order or condition."""
import numpy as np

from case import FLOATS, Case, generator, is_float, is_integer
from explained import ORT, REFERENCE, explained
from families.movement import data, extents, negative_axes

NUMBERS = FLOATS | {np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
                                          np.uint32, np.uint64)}


def _indices(random, schema, shape, n, negative=True):
    """Indices into an axis of n elements; negative ones came with version 11."""
    dtype = random.choice([np.int32, np.int64])
    low = -n if negative and schema.since_version >= 11 else 0
    return random.array(dtype, shape, low, n - 1)


def _solid(random, low=1, high=4):
    """A shape without an axis of zero, for what is indexed into."""
    return random.shape(low=low, high=high, empty=0.0)


@generator("Gather")
def gather(random, schema):
    x = data(random, schema, extents(random, low=1))
    axis = random.axis(x.ndim, negative_axes(schema))
    shape = random.shape(high=3, largest=3)
    if x.shape[axis] == 0:
        shape = shape + (0,)  # nothing to pick from
    attributes = {} if axis == 0 and random.chance() else {"axis": axis}
    return Case([x, _indices(random, schema, shape, max(x.shape[axis], 1))], attributes)


@explained("Gather", ORT,
           "of a slice of strings only the first is copied, the others stay empty")
def _string_slices(case, ours, theirs):
    x = case.inputs[0]
    axis = case.attributes.get("axis", 0) % x.ndim
    return x.dtype == object and int(np.prod(x.shape[axis + 1:])) > 1


@generator("GatherElements")
def gather_elements(random, schema):
    x = data(random, schema, _solid(random))
    axis = random.axis(x.ndim)
    shape = [n if random.chance(0.6) else random.size(largest=n) for n in x.shape]
    shape[axis] = random.size(largest=6)
    attributes = {} if axis == 0 and random.chance() else {"axis": axis}
    return Case([x, _indices(random, schema, shape, x.shape[axis])], attributes)


def _tuples(random, lead, dims):
    """Index tuples into dims, int64: a tensor of shape lead + [len(dims)]."""
    columns = [random.array(np.int64, lead, -n, n - 1) for n in dims]
    return np.stack(columns, axis=-1) if dims else np.zeros((*lead, 0), np.int64)


@generator("GatherND")
def gather_nd(random, schema):
    x = data(random, schema, _solid(random))
    batch = random.integer(0, x.ndim - 1) if schema.since_version >= 12 and random.chance() else 0
    k = random.integer(1, x.ndim - batch)
    lead = x.shape[:batch] + random.shape(high=2, largest=3)
    attributes = {"batch_dims": batch} if batch or "batch_dims" in schema.attributes and \
        random.chance() else {}
    return Case([x, _tuples(random, lead, x.shape[batch:batch + k])], attributes)


def _reduction(random, schema, dtype):
    """The reduction of a scatter; "none" where the type has no arithmetic."""
    if "reduction" not in schema.attributes or random.chance(0.3):
        return "none"
    known = ["add", "mul"] + (["max", "min"] if schema.since_version >= 18 else [])
    # The text is about +, *, max and min of numbers: what they are of strings and truth values,
    # and which complex number is the larger, it does not say.
    return random.choice(known) if dtype in NUMBERS else "none"


def _distinct_along(random, shape, axis, n, dtype):
    """Indices along an axis, none twice in a line, some of them counted from the back."""
    shape = list(shape)
    shape[axis] = min(shape[axis], n)
    rows = np.argsort(random.rng.random([n if i == axis else s for i, s in enumerate(shape)]),
                      axis=axis)
    rows = np.take(rows, np.arange(shape[axis]), axis=axis).astype(dtype)
    return rows


@generator("Scatter", "ScatterElements")
def scatter_elements(random, schema):
    x = data(random, schema, _solid(random))
    if x.dtype.kind == "f":
        x = np.nan_to_num(x, posinf=1, neginf=-1)
    axis = random.axis(x.ndim, negative_axes(schema))
    n = x.shape[axis]
    shape = [s if random.chance(0.6) else random.size(largest=s) for s in x.shape]
    reduction = _reduction(random, schema, x.dtype)
    if reduction == "none":
        # Two updates of one place: the order is open.
        indices = _distinct_along(random, shape, axis, n, random.choice([np.int32, np.int64]))
    else:
        shape[axis] = random.size(largest=6)
        indices = random.array(random.choice([np.int32, np.int64]), shape, 0, n - 1)
    if negative_axes(schema):
        indices = np.where(random.rng.random(indices.shape) < 0.3, indices - n,
                           indices).astype(indices.dtype)
    attributes = {} if axis == 0 and random.chance() else {"axis": axis}
    if reduction != "none" or "reduction" in schema.attributes and random.chance(0.3):
        attributes["reduction"] = reduction
    updates = random.array(x.dtype, indices.shape, -3, 3)
    return Case([x, indices, updates], attributes, ulps=_scatter_ulps(x, indices, reduction))


def _scatter_ulps(x, indices, reduction):
    """Half a unit for each of the (at most) indices.size operations on one element, and twice that
    since two engines round; a sum of values up to 3 may cancel, so that a place holds up to
    3 * size on the way."""
    if not is_float(x.dtype) or reduction not in ("add", "mul"):
        return None
    return 8 * max(indices.size, 1) if x.dtype.itemsize <= 2 else None


@generator("ScatterND")
def scatter_nd(random, schema):
    x = data(random, schema, _solid(random))
    if x.dtype.kind == "f":
        x = np.nan_to_num(x, posinf=1, neginf=-1)
    k = random.integer(1, x.ndim)
    reduction = _reduction(random, schema, x.dtype)
    lead = random.shape(high=2, largest=3)
    if reduction == "none":
        # Duplicates are not allowed: distinct tuples out of all there are.
        places = np.array(list(np.ndindex(*x.shape[:k])), np.int64).reshape(-1, k)
        count = min(int(np.prod(lead, dtype=int)), len(places))
        if count < int(np.prod(lead, dtype=int)):
            lead = (count,)
        indices = places[random.permutation(len(places))[:count]].reshape(*lead, k)
    else:
        indices = _tuples(random, lead, x.shape[:k])
    back = random.rng.random(indices.shape) < 0.3
    indices = np.where(back & (indices >= 0), indices - np.array(x.shape[:k]), indices)
    updates = random.array(x.dtype, lead + x.shape[k:], -3, 3)
    attributes = {}
    if reduction != "none" or "reduction" in schema.attributes and random.chance(0.3):
        attributes["reduction"] = reduction
    return Case([x, indices.astype(np.int64), updates], attributes,
                ulps=_scatter_ulps(x, indices, reduction))


@generator("TensorScatter")
def tensor_scatter(random, schema):
    shape = list(random.shape(low=2, high=4, empty=0.02))
    # The first axis is the batch.
    axis = random.integer(1, len(shape) - 1)
    attributes = {}
    if axis != len(shape) - 2 or random.chance():
        attributes["axis"] = axis if random.chance() else axis - len(shape)
    shape[axis] = longest = random.integer(1, 6)
    circular = random.chance()
    if circular or random.chance(0.3):
        attributes["mode"] = "circular" if circular else "linear"
    cache = data(random, schema, shape)
    length = random.integer(0 if random.chance(0.1) else 1, longest)
    update = random.array(cache.dtype, shape[:axis] + [length] + shape[axis + 1:])
    indices = None
    if random.chance(0.7):
        # Linear writing has to fit.
        highest = 2 * longest if circular else longest - length
        indices = random.array(np.int64, (shape[0],), 0, highest)
    return Case([cache, update, indices], attributes)


@generator("OneHot")
def one_hot(random, schema):
    shape = random.shape(high=3)
    depth = random.integer(1, 6)
    negative = schema.since_version >= 11
    index_type = random.choice([np.int64, np.int64, np.int32, np.float32, random.dtype(schema, "T1")])
    # What is outside of [-depth, depth-1] (before version 11, of [0, depth-1]) leaves the row off.
    low = -depth - 2 if negative else 0
    indices = random.array(index_type, shape, low, depth + 2)
    if is_float(indices.dtype):
        indices = np.trunc(indices.astype(np.float64)).astype(index_type)
    depth_type = random.choice([np.int64, np.int64, np.int32, np.float32, random.dtype(schema, "T2")])
    # onnx.reference takes a scalar for the depth, and numbers for the values, alone.
    one = (1,) if random.chance(0.06) else ()
    values = random.array(random.dtype(schema, "T3", only=None if random.chance(0.1) else NUMBERS), (2,))
    rank = len(shape) + 1
    attributes = {}
    if random.chance(0.7):
        attributes["axis"] = random.integer(-rank if negative else -1, rank - 1)
    return Case([indices, np.full(one, depth, depth_type), values], attributes)


@generator("TopK")
def top_k(random, schema):
    version = schema.since_version
    dtype = random.dtype(schema, "T")
    shape = extents(random, low=1, largest=8)
    axis = random.axis(len(shape), negative_axes(schema))
    # Where NaN belongs in the order is not said.
    x = random.array(dtype, shape, -4, 4)
    if is_float(x.dtype) and random.chance():
        x = np.round(x.astype(np.float64)).astype(dtype)  # ties, which go by index
    n = shape[axis]
    k = random.integer(min(1, n), n)
    attributes = {} if axis in (-1, len(shape) - 1) and random.chance() else {"axis": axis}
    if version >= 11:
        if random.chance():
            attributes["largest"] = random.integer(0, 1)
        if random.chance(0.3):
            attributes["sorted"] = random.integer(0, 1)
            if not attributes["sorted"]:
                k = min(k, 1)  # the order of several would be undefined
    if version == 1:
        return Case([x], {**attributes, "k": k}, outputs=2)
    return Case([x, np.array([k], np.int64)], attributes, outputs=2)


@generator("Unique")
def unique(random, schema):
    dtype = random.dtype(schema, "T")
    shape = random.shape(low=0 if random.chance(0.1) else 1, high=3)
    # Few values, so that some are equal; no NaN, which is not equal to itself.
    x = random.array(dtype, shape, -2, 2)
    if is_float(dtype):
        x = np.round(x.astype(np.float64)).astype(dtype) + np.zeros((), dtype)  # no -0
    attributes = {}
    if shape and random.chance():
        attributes["axis"] = random.axis(len(shape))
    if random.chance(0.6):
        attributes["sorted"] = random.integer(0, 1)
    if np.dtype(dtype).kind == "c":
        attributes["sorted"] = 0  # complex numbers have no order
    return Case([x], attributes, outputs=random.integer(1, 4))


@explained("Unique", REFERENCE,
           "with sorted=0 and one output it returns the values sorted all the same, instead of in "
           "the order of their first occurrence")
def _one_output_sorted(case, ours, theirs):
    return case.attributes.get("sorted") == 0 and case.outputs == 1


@explained("Unique", REFERENCE,
           "with sorted=0 it takes the first occurrences along axis 0, whatever the axis, and from "
           "the tensor as it is where it should be flattened")
def _wrong_axis(case, ours, theirs):
    x, axis = case.inputs[0], case.attributes.get("axis")
    if case.attributes.get("sorted") != 0 or case.outputs == 1:
        return False
    return x.ndim != 1 if axis is None else axis % x.ndim != 0


@generator("NonZero")
def non_zero(random, schema):
    dtype = random.dtype(schema, "T")
    x = random.array(dtype, extents(random), special=0.3)
    if is_integer(dtype) or is_float(dtype):
        x = np.where(random.rng.random(x.shape) < 0.4, 0, x).astype(dtype)
    return Case([x])


@explained("NonZero", ORT,
           "a scalar gives the shape (0, N), as the text says in as many words; it gives (1, N)")
def _scalar(case, ours, theirs):
    return case.inputs[0].ndim == 0


@generator("Compress")
def compress(random, schema):
    x = data(random, schema, extents(random, low=1))
    attributes, n = {}, x.size
    if random.chance(0.7):
        axis = random.axis(x.ndim, negative_axes(schema))
        attributes, n = {"axis": axis}, x.shape[axis]
    length = n if random.chance(0.6) else random.integer(0, n)
    return Case([x, random.array(bool, (length,))], attributes)
