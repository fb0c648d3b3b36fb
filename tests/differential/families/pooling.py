"""Pools over windows and over whole planes, and the reversal of the maximum."""
import numpy as np

from case import Case, generator, is_integer
from explained import ORT, REFERENCE, explained
from families.windows import axes_of, draw_window, hangs_over, is_dilated, is_same, spread

SCALE = 3.0  # the largest element: means are sums of both signs


def _pooled(random, schema):
    window = draw_window(random, schema, pool=True)
    attributes = {"kernel_shape": window.kernel, **window.attributes}
    batch = random.choice((1, 1, 2)) if random.chance(0.95) else 0
    return (batch, random.integer(1, 3), *window.sizes), attributes


def _distinct(random, dtype, shape):
    """All values different, so that the place of a maximum is no matter of taste."""
    count = int(np.prod(shape))
    values = np.array(random.permutation(count), dtype=np.int64).reshape(shape)
    if is_integer(dtype):
        return (values + np.iinfo(dtype).min).astype(dtype)
    return (values - count // 2).astype(dtype)


@generator("MaxPool")
def max_pool(random, schema):
    shape, attributes = _pooled(random, schema)
    dtype = random.dtype(schema, "T")
    outputs = 2 if len(schema.outputs) > 1 and random.chance() else 1
    if "storage_order" in schema.attributes and random.chance(0.3):
        attributes["storage_order"] = random.integer(0, 1)
    exact = 256 if dtype.itemsize <= 2 else 1 << 20  # integers that the type tells apart
    if outputs == 2 and int(np.prod(shape)) > exact:
        outputs = 1
    data = _distinct(random, dtype, shape) if outputs == 2 else random.array(dtype, shape)
    return Case([data], attributes, outputs=outputs)


@generator("AveragePool")
def average_pool(random, schema):
    shape, attributes = _pooled(random, schema)
    if "count_include_pad" in schema.attributes and random.chance():
        attributes["count_include_pad"] = random.integer(0, 1)
    return Case([random.array(random.dtype(schema, "T"), shape)], attributes, scale=SCALE)


def _power(random, schema):
    """p, a real number in the first version and an integer since."""
    if random.chance(0.3):
        return {}
    if schema.since_version == 1:
        return {"p": random.choice((1.0, 2.0, 3.0, 1.5, 2.5))}
    return {"p": random.integer(1, 4)}


@generator("LpPool")
def lp_pool(random, schema):
    shape, attributes = _pooled(random, schema)
    attributes.update(_power(random, schema))
    dtype = random.dtype(schema, "T")
    # The evaluator has 1 / p in the attribute's type, float32, and the power of it multiplies that.
    rounded = dtype == np.float64 and attributes.get("p") in (1.5, 2.5, 3.0)
    rounded = rounded and schema.since_version == 1
    return Case([random.array(dtype, shape)], attributes, ulps=8 * 2.0 ** 29 if rounded else None)


def _planes(random, schema):
    """Batch, channels and any number of axes with at least one element to pool."""
    batch = random.choice((1, 2, 3)) if random.chance(0.98) else 0
    channels, axes = random.integer(1, 4), random.integer(1, 4)
    shape = (batch, channels, *(random.integer(1, 6) for _ in range(axes)))
    return random.array(random.dtype(schema, "T"), shape)


@generator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(random, schema):
    return Case([_planes(random, schema)], scale=SCALE)


# ONNX Runtime has version 2 in float32 of up to three axes; the evaluator has none.
@generator("GlobalLpPool", prefer=2)
def global_lp_pool(random, schema):
    data = _planes(random, schema)
    if random.chance(0.9):
        data = random.array(np.float32, data.shape[:5])
    return Case([data], _power(random, schema))


@generator("MaxUnpool")
def max_unpool(random, schema):
    """Distinct indices: where two values meet, the standard does not say who wins. They count in the
    shape that the attributes give, also if output_shape asks for a larger one."""
    rank = random.choice((1, 2, 2, 3))
    while True:
        kernel = [random.integer(1, 3) for _ in range(rank)]
        strides = [random.integer(1, 3) for _ in range(rank)]
        pads = [random.integer(0, 1) if random.chance(0.3) else 0 for _ in range(2 * rank)]
        sizes = [random.integer(1, 4) for _ in range(rank)]
        planes = (random.integer(1, 2), random.integer(1, 3))
        least = [(sizes[i] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + rank]
                 for i in range(rank)]
        if int(np.prod(least)) >= int(np.prod(sizes)) and min(least) >= 1:
            break
    attributes = {"kernel_shape": kernel}
    if any(s != 1 for s in strides) or random.chance(0.3):
        attributes["strides"] = strides
    if any(pads):
        attributes["pads"] = pads
    shape = None
    if random.chance(0.4):
        shape = np.array([*planes, *(n + random.integer(0, 2) for n in least)], dtype=np.int64)
    count = int(np.prod(planes)) * int(np.prod(sizes))
    places = random.permutation(int(np.prod(planes)) * int(np.prod(least)))
    indices = np.array(places[:count], dtype=np.int64)
    dtype = random.dtype(schema, "T1")
    data = random.array(dtype, (*planes, *sizes))
    return Case([data, indices.reshape(data.shape), shape], attributes)


@explained(("MaxPool", "AveragePool", "LpPool"), ORT,
           "SAME_UPPER and SAME_LOWER give ceil(input / stride) outputs; ONNX Runtime computes the "
           "padding for the kernel without its dilation, and so gets fewer",
           shown_by={"AveragePool": 213})
def _same_without_dilation(case, ours, theirs):
    return is_same(case) and is_dilated(case)


@explained(("MaxPool", "AveragePool", "LpPool"), ORT,
           "where the stride is larger than the kernel, SAME_UPPER and SAME_LOWER need no padding; "
           "ONNX Runtime takes a negative one and skips the first elements (the standard's shape "
           "inference bounds it by zero, and pads are zero or more)",
           shown_by={"MaxPool": 666, "LpPool": 676})
def _same_with_negative_padding(case, ours, theirs):
    return is_same(case) and any((-(-size // stride) - 1) * stride + kernel < size
                                 for size, kernel, stride, *_ in axes_of(case))


@explained(("AveragePool", "LpPool"), REFERENCE,
           "the evaluator computes shape and padding of auto_pad for the kernel without its dilation")
def _auto_pad_without_dilation(case, ours, theirs):
    return case.attributes.get("auto_pad", "NOTSET") != "NOTSET" and is_dilated(case)


@explained("AveragePool", REFERENCE,
           "version 1 divides by the number of elements without padding; the evaluator counts it")
def _counts_padding(case, ours, theirs):
    return case.version == 1 and (is_same(case) or any(case.attributes.get("pads", ())))


@explained("AveragePool", REFERENCE,
           "in ceil_mode the last window reaches over the end; the evaluator pads half of that at the "
           "beginning, which moves all windows")
def _moves_windows(case, ours, theirs):
    return hangs_over(case) >= 2


@explained("LpPool", REFERENCE,
           "in ceil_mode the last window reaches over the end and sums fewer elements; the evaluator "
           "takes their mean times the whole kernel's size (and moves all windows by half)")
def _mean_times_kernel(case, ours, theirs):
    return hangs_over(case) >= 1


@explained("GlobalMaxPool", REFERENCE,
           "the evaluator takes the maximum over axes rank-2 and rank-1, which are all spatial axes "
           "for two of them only")
def _two_axes(case, ours, theirs):
    return case.inputs[0].ndim != 4


@explained("MaxUnpool", ORT,
           "indices count in the shape before output_shape enlarges it (test "
           "maxunpool_export_with_output_shape of the standard); ONNX Runtime counts in output_shape")
def _indices_in_larger_shape(case, ours, theirs):
    return case.inputs[2] is not None


def _plain(case):
    """The evaluator has one MaxPool for strides and dilations of one, and another for all else."""
    return all(stride == 1 and dilation == 1 for _, _, stride, dilation, _, _ in axes_of(case))


@explained("MaxPool", REFERENCE,
           "with strides of 1 the evaluator reads pads as pairs of begin and end (the standard has "
           "all begins first), and ignores them unless there are two spatial axes")
def _pads_in_pairs(case, ours, theirs):
    return _plain(case) and any(case.attributes.get("pads", ()))


@explained("MaxPool", REFERENCE,
           "with strides of 1 the evaluator finds the place of a maximum with the output's shape in "
           "place of the kernel's, and leaves out batch and channel")
def _indices_by_output_shape(case, ours, theirs):
    return _plain(case) and case.outputs == 2 and np.array_equal(ours[0], theirs[0])


@explained("MaxPool", REFERENCE,
           "SAME_LOWER has ceil(input / stride) outputs and the odd padding at the beginning; the "
           "evaluator takes the floor and pads like SAME_UPPER")
def _lower_as_upper(case, ours, theirs):
    return not _plain(case) and case.attributes.get("auto_pad") == "SAME_LOWER"


@explained("MaxPool", REFERENCE,
           "where the stride is larger than the kernel, SAME_UPPER needs no padding; the evaluator "
           "takes a negative one and skips the first elements")
def _negative_padding(case, ours, theirs):
    return case.attributes.get("auto_pad") == "SAME_UPPER" and any(
        (-(-size // stride) - 1) * stride + spread(kernel, dilation) < size
        for size, kernel, stride, dilation, _, _ in axes_of(case))
