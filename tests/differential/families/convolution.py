"""Convolutions: plain, integer, quantized, transposed, deformable, causal."""
import numpy as np

from case import Case, generator
from explained import REFERENCE, explained
from families.eight_bits import factors, whole_range
from families.windows import draw_window, spread

SCALE = 3.0  # the largest product of an element and a weight


def _channels(random):
    """Groups, input channels and output channels; sometimes one input channel a group."""
    groups = random.choice((1, 1, 1, 2, 3))
    return groups, groups * random.choice((1, 2, 3)), groups * random.choice((1, 1, 2))


def _convolution(random, schema):
    """Shapes of input and weight with the attributes of a convolution."""
    window = draw_window(random, schema)
    groups, channels, features = _channels(random)
    attributes = window.attributes
    if groups != 1 or random.chance(0.2):
        attributes["group"] = groups
    if random.chance(0.6):
        attributes["kernel_shape"] = window.kernel
    batch = random.choice((1, 1, 2)) if random.chance(0.95) else 0
    return (batch, channels, *window.sizes), (features, channels // groups, *window.kernel), attributes


@generator("Conv")
def conv(random, schema):
    data, weight, attributes = _convolution(random, schema)
    dtype = random.dtype(schema, "T")
    bias = random.array(dtype, weight[:1]) if random.chance(0.6) else None
    return Case([random.array(dtype, data), random.array(dtype, weight, -1, 1), bias], attributes,
                scale=SCALE)


@generator("ConvInteger")
def conv_integer(random, schema):
    data, weight, attributes = _convolution(random, schema)
    first, second = random.dtype(schema, "T1"), random.dtype(schema, "T2")
    x, w, zero = factors(random, first, data, second, weight)
    inputs = [x, w, zero if random.chance(0.6) else None,
              whole_range(random, second, weight[:1] if random.chance(0.3) else ())
              if random.chance(0.5) else None]
    return Case(inputs, attributes)


@generator("QLinearConv")
def qlinear_conv(random, schema):
    data, weight, attributes = _convolution(random, schema)
    x_type, w_type, y_type = (random.dtype(schema, t) for t in ("T1", "T2", "T3"))
    if random.chance(0.6):
        x_type = w_type = y_type
    per_feature = weight[:1] if random.chance(0.4) else ()
    # Scales that are no powers of two: an exact tie may be rounded before or after the zero point
    # is added, which the standard leaves open.
    x, w, zero = factors(random, x_type, data, w_type, weight)
    inputs = [x, random.array(np.float32, (), 0.01, 0.1), zero,
              w, random.array(np.float32, per_feature, 0.01, 0.1),
              whole_range(random, w_type, per_feature),
              random.array(np.float32, (), 0.2, 2.0), whole_range(random, y_type, ()),
              random.array(np.int32, weight[:1], -2000, 2000) if random.chance() else None]
    return Case(inputs, attributes)


def _transposed_axis(random, window, i, auto_pad, with_shape):
    """Output padding and, where asked for, the explicit output size of one axis. None: no valid one
    (padding below zero, which the standard does not speak of)."""
    stride, dilation, size = window.strides[i], window.dilations[i], window.sizes[i]
    # It may be as large as the dilation too, but then no reference answers.
    largest = stride if random.chance(0.95) else max(stride, dilation)
    extra = random.integer(0, largest - 1) if random.chance(0.4) else 0
    full = stride * (size - 1) + extra + spread(window.kernel[i], dilation)
    if with_shape:
        return extra, random.integer(max(1, full - 3), full)
    if auto_pad.startswith("SAME") and full < size * stride:
        return None
    if full - window.pads[i] - window.pads[i + len(window.sizes)] < 1:
        return None
    return extra, None


@generator("ConvTranspose")
def conv_transpose(random, schema):
    while True:
        window = draw_window(random, schema)
        auto_pad = window.attributes.get("auto_pad", "NOTSET")
        # An explicit shape beside VALID would ask for padding and forbid it.
        with_shape = auto_pad != "VALID" and random.chance(0.25)
        axes = [_transposed_axis(random, window, i, auto_pad, with_shape)
                for i in range(len(window.sizes))]
        if None not in axes:
            break
    attributes = window.attributes
    if any(extra for extra, _ in axes) or random.chance(0.1):
        attributes["output_padding"] = [extra for extra, _ in axes]
    if with_shape:
        attributes["output_shape"] = [size for _, size in axes]
    groups, channels, features = _channels(random)
    if groups != 1:
        attributes["group"] = groups
    if random.chance():
        attributes["kernel_shape"] = window.kernel
    dtype, batch = random.dtype(schema, "T"), random.choice((1, 1, 2))
    if (groups != 1 or with_shape) and random.chance(0.8):
        dtype = np.dtype(np.float32)  # ONNX Runtime's only one; the evaluator fails on most of these
    if dtype == np.float32 and random.chance(0.05):
        batch = 0
    data, weight = (batch, channels, *window.sizes), (channels, features // groups, *window.kernel)
    inputs = [random.array(dtype, data),
              random.array(dtype, weight, -1, 1),
              random.array(dtype, (features,)) if random.chance(0.6) else None]
    return Case(inputs, attributes, scale=SCALE)


@generator("DeformConv")
def deform_conv(random, schema):
    window = draw_window(random, schema, rank=2)
    groups, channels, features = _channels(random)
    offset_groups = random.choice([g for g in range(1, channels + 1) if channels % g == 0])
    attributes = window.attributes
    attributes["group"] = groups
    attributes["offset_group"] = offset_groups
    if random.chance():
        attributes["kernel_shape"] = window.kernel
    dtype = random.dtype(schema, "T")
    batch, taps = random.choice((1, 2)), window.kernel[0] * window.kernel[1]
    offset = random.array(dtype, (batch, offset_groups * taps * 2, *window.outputs), -2, 2)
    if random.chance(0.3):
        offset = np.round(offset)
    inputs = [random.array(dtype, (batch, channels, *window.sizes)),
              random.array(dtype, (features, channels // groups, *window.kernel), -1, 1), offset,
              random.array(dtype, (features,)) if random.chance() else None,
              random.array(dtype, (batch, offset_groups * taps, *window.outputs), 0, 1)
              if random.chance() else None]
    return Case(inputs, attributes, scale=SCALE)


@generator("CausalConvWithState")
def causal_conv(random, schema):
    dtype = random.dtype(schema, "T")
    batch, channels, length, taps = (random.integer(1, 4), random.integer(1, 5),
                                     random.integer(1, 7), random.integer(1, 5))
    attributes = {}
    if random.chance(0.7):
        attributes["activation"] = random.choice(("none", "silu", "swish"))
    inputs = [random.array(dtype, (batch, channels, length)),
              random.array(dtype, (channels, 1, taps), -1, 1),
              random.array(dtype, (channels,)) if random.chance() else None,
              random.array(dtype, (batch, channels, taps - 1)) if random.chance() else None]
    return Case(inputs, attributes, outputs=2, scale=SCALE)


@explained("ConvInteger", REFERENCE,
           "one zero point for each output channel belongs to the weight's axis 0; the evaluator "
           "expands it for two spatial axes only, so that with one or three it meets the wrong axis",
           shown_by=290)
def _zero_point_on_wrong_axis(case, ours, theirs):
    zero = case.inputs[3]
    return zero is not None and zero.ndim == 1 and case.inputs[1].ndim != 4


@explained("QLinearConv", REFERENCE,
           "one scale for each output channel belongs to axis 1; the evaluator expands it for inputs "
           "of two spatial axes only, so that with one or three it meets the wrong axis")
def _scale_on_wrong_axis(case, ours, theirs):
    return case.inputs[4].size > 1 and case.inputs[0].ndim != 4


@explained("DeformConv", REFERENCE,
           "the evaluator's GridSample interpolates in float32, so its doubles have seven digits")
def _samples_in_float32(case, ours, theirs):
    if case.inputs[0].dtype != np.float64 or isinstance(ours, str):
        return False
    return np.allclose(ours[0], theirs[0], rtol=0, atol=1e-5 * np.abs(theirs[0]).max(initial=0))


@explained("ConvTranspose", REFERENCE,
           "the evaluator's groups: each takes rows of the weight by its number of output channels "
           "instead of input channels, adds the bias of the first group, and writes one channel")
def _groups(case, ours, theirs):
    groups, (_, channels, *_), (_, features, *_) = (
        case.attributes.get("group", 1), case.inputs[0].shape, case.inputs[1].shape)
    return groups > 1 and (case.inputs[2] is not None or features > 1 or channels != groups)


@explained("ConvTranspose", REFERENCE,
           "output_shape makes pads be generated, and given ones ignored; the evaluator generates "
           "them only if auto_pad is SAME_UPPER or SAME_LOWER, and crops at the end otherwise",
           shown_by=254)
def _no_generated_pads(case, ours, theirs):
    return "output_shape" in case.attributes and "SAME" not in case.attributes.get("auto_pad", "")
