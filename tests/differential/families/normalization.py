"""Normalizations: by statistics of a batch, of instances, groups, layers, and by norms."""
import ml_dtypes
import numpy as np

from case import Case, generator
from explained import ORT, REFERENCE, explained

FLOAT32_STEP = 2.0 ** 29  # of float32, in units of float64's


def _ulps(dtype, *parts):
    """Where a part of a case has fewer digits than its output: the standard does not say in which
    type they meet, so a result is good to the digits of the coarsest."""
    steps = [float(ml_dtypes.finfo(t).eps) for t in (dtype, *parts)]
    return None if max(steps) == steps[0] else 4 * max(steps) / steps[0]


def _stashed_ulps(dtype, attributes):
    """stash_type 1 lets the first stage be computed in float32 for doubles too."""
    if dtype == np.float64 and attributes.get("stash_type", 1) == 1:
        return 32 * FLOAT32_STEP
    return None


def _amplified(data, axes, attributes):
    """The size of the numbers whose difference is taken: x and its mean over the deviation."""
    if data.size == 0:
        return 0.0
    data = data.astype(np.float64)
    variance = data.var(axis=tuple(axes))
    epsilon = attributes.get("epsilon", 1e-5)
    return float(9.0 / np.sqrt(variance + epsilon).min())


def _epsilon(random):
    return {"epsilon": random.uniform(1e-6, 1e-2)} if random.chance(0.6) else {}


def _image(random, low=0, high=3):
    """Batch, channels and spatial axes."""
    batch = random.choice((1, 2, 3)) if random.chance(0.97) else 0
    channels, axes = random.integer(1, 4), random.integer(low, high)
    return (batch, channels, *(random.integer(1, 5) for _ in range(axes)))


def _batch_normalization_outputs(random, schema, attributes):
    """How many outputs: the statistics exist in training mode alone."""
    if schema.since_version >= 14:
        if random.chance(0.4):
            attributes["training_mode"] = 1
            return 3
        return 1
    if random.chance(0.08 if schema.since_version == 9 else 0.02):
        return 5  # training; ONNX Runtime has them in version 9
    if schema.since_version <= 6:
        attributes["is_test"] = 1
    return 1


@generator("BatchNormalization", prefer=(6, 7, 9, 14, 15, 15))
def batch_normalization(random, schema):
    attributes = _epsilon(random)
    if random.chance(0.4):
        # At least a half: 1 - momentum is exact then, in float32 as in float64.
        attributes["momentum"] = random.uniform(0.5, 0.99)
    outputs = _batch_normalization_outputs(random, schema, attributes)
    if schema.since_version == 1:
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    shape = _image(random, low=0 if schema.since_version >= 9 else 1)
    if outputs >= 3 and int(np.prod(shape)) < 2 * shape[1]:
        shape = (3, *shape[1:])  # the mean of nothing, or the variance of one value, tells nothing
    vector = shape[1:2]
    if "spatial" in schema.attributes and random.chance(0.2):
        if random.chance(0.3):
            attributes["spatial"] = 0
            vector = shape[1:]
        else:
            attributes["spatial"] = 1
    data = random.dtype(schema, "T")
    names = {c.type_param_str for c in schema.type_constraints}
    scale = random.dtype(schema, "T1") if "T1" in names and random.chance(0.2) else data
    statistics = "T2" if "T2" in names else "U" if "U" in names else None
    statistics = random.dtype(schema, statistics) if statistics and random.chance(0.2) else data
    x = random.array(data, shape)
    axes = (0, *range(2, len(shape)))
    return Case([x, random.array(scale, vector), random.array(scale, vector),
                 random.array(statistics, vector), random.array(statistics, vector, 0.1, 3)],
                attributes, outputs=outputs, ulps=_ulps(data, scale, statistics),
                scale=_amplified(x, axes, attributes) if outputs > 1 else 9.0)


@generator("InstanceNormalization")
def instance_normalization(random, schema):
    attributes = _epsilon(random)
    if schema.since_version == 1 and random.chance(0.1):
        attributes["consumed_inputs"] = [0, 0, 0]
    dtype, shape = random.dtype(schema, "T"), _image(random, low=1)
    x = random.array(dtype, shape)
    return Case([x, random.array(dtype, shape[1:2]), random.array(dtype, shape[1:2])], attributes,
                scale=_amplified(x, range(2, x.ndim), attributes))


@generator("GroupNormalization")
def group_normalization(random, schema):
    groups = random.integer(1, 3)
    attributes = {"num_groups": groups, **_epsilon(random)}
    batch, _, *rest = _image(random, low=1)
    channels = groups * random.integer(1, 3)
    dtype = random.dtype(schema, "T")
    if random.chance(0.4):
        attributes["stash_type"] = random.choice((1, 1, 11)) if dtype == np.float64 else 1
    x = random.array(dtype, (batch, channels, *rest))
    grouped = x.reshape(batch, groups, -1) if batch else x
    return Case([x, random.array(dtype, (channels,)), random.array(dtype, (channels,))], attributes,
                ulps=_stashed_ulps(dtype, attributes), scale=_amplified(grouped, (2,), attributes))


def _layers(random):
    shape = random.shape(1, 4, empty=0.0)
    axis = random.axis(len(shape))
    return shape, axis, {"axis": axis} if axis != -1 or random.chance() else {}


@generator("LayerNormalization")
def layer_normalization(random, schema):
    shape, axis, attributes = _layers(random)
    attributes.update(_epsilon(random))
    dtype = random.dtype(schema, "T")
    normalized = shape[axis:]
    weight = random.broadcastable(normalized) if random.chance(0.3) else normalized
    if random.chance(0.2):
        attributes["stash_type"] = 1
    x = random.array(dtype, shape)
    axes = range(axis % len(shape), len(shape))
    return Case([x, random.array(dtype, weight),
                 random.array(dtype, weight) if random.chance() else None], attributes,
                outputs=random.choice((1, 1, 2, 3)), ulps=_stashed_ulps(dtype, attributes),
                scale=_amplified(x, axes, attributes))


@generator("RMSNormalization")
def rms_normalization(random, schema):
    shape, axis, attributes = _layers(random)
    attributes.update(_epsilon(random))
    dtype = random.dtype(schema, "T")
    scale = random.dtype(schema, "V") if random.chance(0.2) else dtype
    weight = random.broadcastable(shape[axis:]) if random.chance(0.3) else shape[axis:]
    if random.chance(0.2):
        attributes["stash_type"] = 1
    ulps = max(_stashed_ulps(scale, attributes) or 0, _ulps(scale, dtype) or 0) or None
    return Case([random.array(dtype, shape), random.array(scale, weight)], attributes, ulps=ulps)


@generator("LpNormalization")
def lp_normalization(random, schema):
    shape = random.shape(1, 4)
    attributes = {}
    if random.chance(0.7):
        attributes["axis"] = random.axis(len(shape))
    if random.chance(0.7):
        attributes["p"] = random.integer(1, 2)
    dtype = random.dtype(schema, "T")
    data = random.array(dtype, shape)
    if random.chance(0.1):
        data = data * 0  # a norm of zero: the result is zero
    return Case([data.astype(dtype)], attributes)


@generator("MeanVarianceNormalization")
def mean_variance_normalization(random, schema):
    dtype = random.dtype(schema, "T")
    if random.chance(0.9):
        dtype = np.dtype(np.float32)  # the function's constants are, which both references trip over
    if random.chance(0.4):
        attributes, shape = {}, tuple(random.integer(2, 5) for _ in range(4))
    else:
        shape = tuple(random.integer(2, 4) for _ in range(random.integer(1, 4)))
        attributes = {"axes": random.axes(len(shape), low=1)}
    x = random.array(dtype, shape)
    # The function has the variance as a difference of the mean square and the squared mean.
    axes = tuple(attributes.get("axes", (0, 2, 3)))
    wide = x.astype(np.float64)
    lost = (wide.mean(axis=axes) ** 2 / wide.var(axis=axes)).max()
    return Case([x], attributes, scale=3.0 * (1.0 + lost))


@generator("LRN")
def lrn(random, schema):
    # ONNX Runtime has odd sizes, and both have four axes alone.
    attributes = {"size": random.choice((1, 3, 5, 7)) if random.chance(0.7) else random.integer(1, 6)}
    for name, low, high in (("alpha", 0.0001, 0.5), ("beta", 0.3, 1.5), ("bias", 0.5, 2.0)):
        if random.chance():
            attributes[name] = random.uniform(low, high)
    batch, _, *rest = _image(random, 2, 2) if random.chance(0.96) else _image(random)
    dtype = random.dtype(schema, "T")
    # alpha / size is as exact as the attribute, a float32; it is a part of a sum.
    return Case([random.array(dtype, (batch, random.integer(1, 8), *rest))], attributes,
                ulps=FLOAT32_STEP if dtype == np.float64 else None)


@explained("BatchNormalization", REFERENCE,
           "with the output Y alone, version 9 uses the mean and variance given; the evaluator mixes "
           "them with those of the batch by momentum")
def _mixes_statistics(case, ours, theirs):
    return case.version == 9


@explained("BatchNormalization", ORT,
           "saved_var is the variance of the batch; ONNX Runtime returns 1 / sqrt(variance + epsilon)")
def _saves_inverse(case, ours, theirs):
    return case.outputs == 5


@explained("BatchNormalization", REFERENCE,
           "the running mean and variance have the type of the given ones; the evaluator returns X's")
def _type_of_statistics(case, ours, theirs):
    return case.outputs == 3 and case.inputs[3].dtype != case.inputs[0].dtype


@explained("LayerNormalization", REFERENCE,
           "Mean and InvStdDev have the type that stash_type names, float32; the evaluator returns "
           "X's")
def _type_of_stash(case, ours, theirs):
    return case.outputs > 1 and case.inputs[0].dtype != np.float32


@explained("RMSNormalization", REFERENCE,
           "Y has the type of scale (V); the evaluator returns X's")
def _type_of_scale(case, ours, theirs):
    return case.inputs[0].dtype != case.inputs[1].dtype


@explained("LpNormalization", REFERENCE,
           "the norm of p=1 is the sum of absolute values; the evaluator sums the values")
def _sum_of_signed(case, ours, theirs):
    return case.attributes.get("p", 2) == 1


@explained("LRN", REFERENCE,
           "the evaluator's loop over channels runs to the size of the batch, and leaves the sums of "
           "the channels after that at zero")
def _channels_by_batch(case, ours, theirs):
    return case.inputs[0].shape[1] > case.inputs[0].shape[0]
