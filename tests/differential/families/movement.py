"""Operators that move elements: join, cut, repeat, pad and reorder."""
import numpy as np

from case import Case, generator
from explained import ORT, REFERENCE, explained

INT64_MAX, INT64_MIN = 2**63 - 1, -2**63


def negative_axes(schema):
    """Counting axes from the back came with version 11 for operators that are older than that."""
    return schema.since_version >= 11


def extents(random, low=0, high=4, largest=5):
    """A shape; now and then one that is large enough for loops that take several elements at once
    or share the work."""
    if random.chance(0.1):
        return random.shape(max(low, 1), min(high, 2), empty=0.0, largest=70)
    return random.shape(low, high, largest=largest)


def data(random, schema, shape, parameter="T"):
    return random.array(random.dtype(schema, parameter), shape, special=0.1)


def _parts(random, total, count):
    """`count` sizes, some of them zero, that add up to `total`."""
    cuts = sorted(random.integer(0, total) for _ in range(count - 1))
    return [int(b - a) for a, b in zip([0] + cuts, cuts + [total])]


@generator("Concat")
def concat(random, schema):
    dtype = random.dtype(schema, "T")
    shape = extents(random, low=1)
    axis = random.axis(len(shape), negative_axes(schema))
    attributes = {"axis": axis}
    if schema.since_version == 1 and len(shape) > 1 and random.chance(0.3):
        attributes, axis = {}, 1
    inputs = []
    for _ in range(random.integer(1, 4)):
        one = list(shape)
        one[axis] = random.size(empty=0.1)
        inputs.append(random.array(dtype, one, special=0.1))
    return Case(inputs, attributes)


@generator("Split", prefer=(2, 11, 13, 18))
def split(random, schema):
    version = schema.since_version
    shape = list(random.shape(low=1))
    axis = random.axis(len(shape), negative_axes(schema))
    attributes = {} if axis == 0 and random.chance() else {"axis": axis}
    count = random.integer(1, 4)
    parts = None
    if version >= 18 and random.chance(0.4):
        # The last part is what ceil(n / count) leaves over; counts with which nothing is left for
        # two or more parts are not described.
        chunk = random.size(empty=0.05, largest=3)
        shape[axis] = max(chunk * count - (random.integer(0, chunk) if count > 1 else 0), 0)
        attributes["num_outputs"] = count
    elif version < 18 and random.chance(0.4):
        shape[axis] = count * random.size(empty=0.05, largest=3)
    else:
        shape[axis] = random.size(largest=8)
        parts = _parts(random, shape[axis], count)
    x = data(random, schema, shape)
    inputs = [x]
    if parts is not None:
        if version >= 13:
            inputs.append(np.array(parts, np.int64))
        elif version == 1 and random.chance(0.2):
            inputs.append(np.array(parts).astype(x.dtype))
        else:
            attributes["split"] = parts
    return Case(inputs, attributes, outputs=count)


def _bound(random, n):
    """A start or an end: inside, outside on both sides, and the idioms for "as far as it goes"."""
    if random.chance(0.15):
        return random.choice([INT64_MAX, INT64_MIN, 2**31 - 1, -2**31, 1000, -1000])
    return random.integer(-n - 2, n + 2)


@generator("Slice")
def slice_(random, schema):
    version = schema.since_version
    x = data(random, schema, extents(random, low=1, largest=6))
    axes = random.axes(x.ndim, negative_axes(schema), low=1)
    if random.chance(0.3):
        axes = list(range(random.integer(1, x.ndim)))
        default = True
    else:
        default = False
    starts = [_bound(random, x.shape[a]) for a in axes]
    ends = [_bound(random, x.shape[a]) for a in axes]
    if version == 1:
        attributes = {"starts": starts, "ends": ends}
        if not default:
            attributes["axes"] = axes
        return Case([x], attributes)
    tind = random.choice([np.int32, np.int64])
    limits = np.iinfo(tind)
    starts, ends = ([min(max(v, limits.min), limits.max) for v in list_] for list_ in (starts, ends))
    steps = [random.choice([1, 2, 3, -1, -2, -3, 7, -7]) for _ in axes]
    if random.chance(0.05):
        steps[0] = int(random.choice([limits.max, -limits.max]))
    if version < 13:
        # What a start before the first element means when going backwards came with version 13.
        starts = [max(s, -x.shape[a]) if d < 0 else s for s, a, d in zip(starts, axes, steps)]
    # The standard lets the axes out only if starts cover all of them ([0, ..., ndim-1]); with fewer
    # starts both references take the first ones.
    inputs = [x, np.array(starts, tind), np.array(ends, tind),
              None if default else np.array(axes, tind),
              None if random.chance(0.3) else np.array(steps, tind)]
    return Case(inputs)


@explained("Slice", REFERENCE,
           "going backwards, a start before the first element is clamped to it (`starts[i]` into "
           "[0, dims[axes[i]]-1]), which leaves one element; the evaluator hands the numbers to "
           "numpy, which clamps to -1 and takes nothing")
def _clamped_start(case, ours, theirs):
    if case.version < 13 or case.inputs[4] is None:
        return False
    x, starts, _, axes, steps = case.inputs
    axes = range(len(starts)) if axes is None else axes
    return any(d < 0 and s < -x.shape[a] for s, a, d in zip(starts, axes, steps))


@explained("Slice", ORT,
           "takes an end of INT_MAX for 'as far as it goes' even when going backwards; the standard "
           "clamps it to the last element, so that nothing lies between start and end (INT_MIN is "
           "the way to say it)")
def _largest_end_backwards(case, ours, theirs):
    if case.version < 10 or case.inputs[4] is None:
        return False
    return any(d < 0 and e in (2**31 - 1, INT64_MAX)
               for e, d in zip(case.inputs[2], case.inputs[4]))


def _pads(random, shape, axes, mode, remove):
    """Begins and ends. Undefined, hence not drawn: a reflection further than the far side (numpy
    reflects again, the text knows one mirror), and any mode but constant on an axis without
    elements; and, since the text does not say whether the removal or the copying comes first,
    removing in modes that look at more than the edge."""
    begins, ends = [], []
    for a in axes:
        n = shape[a]
        if mode == "constant":
            low = random.integer(-n if remove else 0, 3)
            high = random.integer(-(n + min(low, 0)) if remove else 0, 3)
        else:
            most = {"reflect": max(n - 1, 0), "edge": 3, "wrap": n}[mode] if n else 0
            low, high = random.integer(0, most), random.integer(0, most)
        begins.append(low)
        ends.append(high)
    return begins + ends


@generator("Pad")
def pad(random, schema):
    version = schema.since_version
    modes = ["constant", "constant", "reflect", "edge"] + (["wrap"] if version >= 19 else [])
    mode = random.choice(modes)
    # A scalar has nothing to pad, and neither reference takes one.
    scalar = version >= 11 and random.chance(0.1)
    x = data(random, schema, extents(random, low=0 if scalar else 1))
    axes = list(range(x.ndim))
    given = version >= 18 and random.chance(0.4)
    if given:
        axes = random.axes(x.ndim, low=1)
    # Only ONNX Runtime removes elements, and it does not have all types.
    remove = random.chance(0.4 if version >= 2 and x.dtype in (np.float32, np.float64) else 0.02)
    pads = _pads(random, x.shape, axes, mode, remove)
    attributes = {} if mode == "constant" and random.chance() else {"mode": mode}
    if version < 11:
        attributes["paddings" if version == 1 else "pads"] = pads
        if random.chance():
            attributes["value"] = random.uniform(-2, 2)
        return Case([x], attributes)
    value = random.array(x.dtype, ()) if random.chance() else None
    if x.dtype.name == "float8_e8m0fnu" and value is None:
        value = np.ones((), x.dtype)  # there is no zero, which is the default
    inputs = [x, np.array(pads, np.int64), value]
    if given:
        inputs.append(np.array(axes, random.choice([np.int32, np.int64])))
    return Case(inputs, attributes)


@explained("Pad", REFERENCE,
           "'by default it is 0, empty string or False': it pads strings with the number 0")
def _string_default(case, ours, theirs):
    return case.inputs[0].dtype == object and case.inputs[2] is None


@generator("Tile", prefer=(6, 13))
def tile(random, schema):
    shape = random.shape(low=1 if schema.since_version == 1 else 0)
    x = data(random, schema, shape)
    if schema.since_version == 1:
        # Number and axis have the type of the data here, and one element each.
        axis = random.integer(0, len(shape) - 1)
        one = random.choice([(), (1,)])
        return Case([x, np.full(one, random.integer(0, 3), x.dtype), np.full(one, axis, x.dtype)])
    return Case([x, random.array(np.int64, (len(shape),), 0, 3)])


@generator("Expand")
def expand(random, schema):
    full = extents(random)
    shape = random.broadcastable(full)
    target = list(full)
    if len(shape) == len(full):
        # Shorter than the input, or one where the input is longer.
        target = [1 if shape[i] == n and random.chance(0.3) else n for i, n in enumerate(full)]
        if random.chance(0.3):
            drop = random.integer(0, len(full))
            target = target[drop:]
    return Case([data(random, schema, shape), np.array(target, np.int64)])


@generator("Transpose")
def transpose(random, schema):
    x = data(random, schema, extents(random, high=6, largest=4))
    attributes = {} if random.chance(0.2) else {"perm": random.permutation(x.ndim)}
    return Case([x], attributes)


def _factors(random, count):
    """A shape with this many elements."""
    shape, left = [], count
    while left > 1 and len(shape) < 4 and random.chance(0.8):
        divisor = random.choice([d for d in range(1, left + 1) if left % d == 0])
        shape.append(divisor)
        left //= divisor
    shape.append(left)
    shape += [1] * random.integer(0, 1)
    return [shape[i] for i in random.permutation(len(shape))]


@generator("Reshape")
def reshape(random, schema):
    version = schema.since_version
    x = data(random, schema, random.shape())
    target = _factors(random, x.size)
    if x.size == 1 and random.chance(0.2):
        target = []
    attributes = {}
    if version >= 14 and random.chance(0.3):
        attributes["allowzero"] = random.integer(0, 1)
    zero_is_zero = attributes.get("allowzero") == 1
    if x.size == 0 and not zero_is_zero:
        # A zero copies the input's dim, so that dims of zero have to be where the input has them.
        target = [0 if n == 0 else n if random.chance() else random.integer(1, 5) for n in x.shape]
        target += [random.integer(1, 3)] * random.integer(0, 1)
    elif x.size and not zero_is_zero and target == list(x.shape) or random.chance(0.2):
        if x.size:
            target = [0 if random.chance() else n for n in x.shape]
            zero_is_zero = zero_is_zero or 0 not in target
            attributes.pop("allowzero", None)
    if x.size and target and random.chance(0.4):
        target[random.integer(0, len(target) - 1)] = -1
    if version == 1:
        return Case([x], {"shape": target})
    return Case([x, np.array(target, np.int64)], attributes)


@generator("Flatten")
def flatten(random, schema):
    version = schema.since_version
    shape = random.shape(low=0 if version >= 9 else 1)
    low = -len(shape) if negative_axes(schema) else 0
    attributes = {"axis": random.integer(low, len(shape))}
    if len(shape) and random.chance(0.2):
        attributes = {}
    return Case([data(random, schema, shape)], attributes)


@generator("Squeeze")
def squeeze(random, schema):
    shape = [1 if random.chance(0.4) else random.size() for _ in range(random.integer(0, 5))]
    ones = [i for i, n in enumerate(shape) if n == 1]
    axes = [ones[i] for i in random.axes(len(ones), negative=False)]
    if negative_axes(schema):
        axes = [a - len(shape) if random.chance(0.3) else a for a in axes]
    x = data(random, schema, shape)
    # An empty list squeezes nothing for some and everything for others: the text has no word on it.
    given = bool(axes) and random.chance(0.8)
    if schema.since_version < 13:
        return Case([x], {"axes": axes} if given else {})
    return Case([x, np.array(axes, np.int64) if given else None])


@generator("Unsqueeze")
def unsqueeze(random, schema):
    shape = random.shape(high=3)
    count = random.integer(1, 3)
    rank = len(shape) + count
    axes = random.permutation(rank)[:count]
    if negative_axes(schema):
        axes = [a - rank if random.chance(0.3) else a for a in axes]
    x = data(random, schema, shape)
    if schema.since_version < 13:
        return Case([x], {"axes": axes})
    return Case([x, np.array(axes, np.int64)])


@explained("Unsqueeze", REFERENCE,
           "the indices are 'as seen in the output tensor', in any order; before version 13 the "
           "evaluator inserts one after the other, so that an axis inserted later moves the others "
           "and one counted from the back is counted in a tensor that is not yet complete")
def _one_after_the_other(case, ours, theirs):
    axes = case.attributes.get("axes", [])
    return axes != sorted(axes) or any(a < 0 for a in axes)


@generator("Shape")
def shape_(random, schema):
    attributes = {}
    if schema.since_version >= 15:
        for name in ("start", "end"):
            if random.chance(0.6):
                attributes[name] = random.integer(-6, 6)
    return Case([data(random, schema, random.shape(high=5))], attributes)


@explained("Shape", REFERENCE,
           "an end below -r is clamped to 0 ('after adding r in the case of negative axis'), which "
           "leaves an empty shape; the evaluator adds r and hands the number, still negative, to "
           "Python, which counts from the back once more")
def _negative_end(case, ours, theirs):
    return case.attributes.get("end", 0) < -case.inputs[0].ndim


@generator("Size")
def size(random, schema):
    return Case([data(random, schema, random.shape(high=5))])


@generator("DepthToSpace", "SpaceToDepth")
def blocks(random, schema):
    block = random.integer(1, 3)
    n, c, h, w = (random.size(largest=3) for _ in range(4))
    attributes = {"blocksize": block}
    if "mode" in schema.attributes and random.chance(0.7):
        attributes["mode"] = random.choice(["DCR", "CRD"])
    shape = (n, c * block * block, h, w) if schema.name == "DepthToSpace" else \
        (n, c, h * block, w * block)
    return Case([data(random, schema, shape)], attributes)


@generator("CenterCropPad")
def center_crop_pad(random, schema):
    x = data(random, schema, random.shape(low=1, largest=6))
    axes = list(range(x.ndim))
    attributes = {}
    if random.chance():
        axes = random.axes(x.ndim, low=1)
        attributes["axes"] = axes
    target = random.array(random.choice([np.int32, np.int64]), (len(axes),),
                          0 if random.chance(0.1) else 1, 8)
    if x.dtype == object:
        # "The padding value used is zero": there is none for strings, which are cropped alone.
        target = np.minimum(target, np.array(x.shape)[axes]).astype(target.dtype)
    return Case([x, target], attributes)


@generator("ReverseSequence")
def reverse_sequence(random, schema):
    x = data(random, schema, extents(random, low=2))
    attributes = {}
    time, batch = 0, 1
    if random.chance(0.7):
        time = random.integer(0, 1)
        batch = 1 - time
        attributes = {"time_axis": time, "batch_axis": batch}
    # A length of zero reverses nothing.
    lens = random.array(np.int64, (x.shape[batch],), 0, x.shape[time])
    return Case([x, lens], attributes)


@generator("Col2Im")
def col2im(random, schema):
    # The sum of overlapping blocks; for strings and truth values there is no such thing.
    numbers = {t for t in map(np.dtype, (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
                                         np.uint32, np.uint64, np.float16, np.float32, np.float64,
                                         np.complex64, np.complex128))}
    dtype = random.dtype(schema, "T", only=numbers) if random.chance(0.7) else np.dtype(np.float32)
    rank = random.choice([1, 2, 2, 2, 3])
    attributes, geometry = {}, {}
    for name, low, high, default in (("strides", 1, 3, 1), ("dilations", 1, 2, 1)):
        geometry[name] = [default] * rank
        if random.chance():
            geometry[name] = attributes[name] = [random.integer(low, high) for _ in range(rank)]
    pads = [0] * (2 * rank)
    if random.chance():
        pads = attributes["pads"] = [random.integer(0, 2) for _ in range(2 * rank)]
    image, block, count = [], [], 1
    for i in range(rank):
        size_ = random.integer(1, 3)
        reach = (size_ - 1) * geometry["dilations"][i] + 1
        extent = max(random.integer(1, 6), reach - pads[i] - pads[rank + i])
        count *= (extent + pads[i] + pads[rank + i] - reach) // geometry["strides"][i] + 1
        image.append(extent)
        block.append(size_)
    n, c = random.size(largest=2), random.integer(1, 2)
    shape = (n, c * int(np.prod(block)), count)
    return Case([random.array(dtype, shape, -5, 5), np.array(image, np.int64),
                 np.array(block, np.int64)], attributes)


@explained("Col2Im", ORT,
           "adds the columns of a dilated block up at wrong places from three spatial axes on; "
           "onnx.reference and the definition by loops agree with Sardonyx")
def _dilated_volumes(case, ours, theirs):
    return len(case.inputs[2]) >= 3 and any(d > 1 for d in case.attributes.get("dilations", []))
