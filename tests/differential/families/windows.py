"""Sliding windows for the generators of convolutions and pools: sizes and attributes that fit."""
import dataclasses

AUTO_PADS = ("SAME_UPPER", "SAME_LOWER", "VALID")


@dataclasses.dataclass
class Window:
    sizes: list       # of the input's spatial axes
    kernel: list
    outputs: list     # of the output's spatial axes
    attributes: dict  # strides, dilations, pads, auto_pad, ceil_mode; defaults may be left out
    strides: list
    dilations: list
    pads: list        # explicit ones as given, those of auto_pad as the standard computes them


def spread(kernel, dilation):
    return (kernel - 1) * dilation + 1


def _axis(random, auto_pad, dilated, ceil_mode):
    """One axis: size, kernel, stride, dilation, begin and end padding, output."""
    kernel, stride = random.integer(1, 4), random.choice((1, 1, 2, 3))
    dilation = random.integer(1, 3) if dilated else 1
    wide = spread(kernel, dilation)
    begin = end = 0
    if auto_pad == "NOTSET" and random.chance(0.6):
        begin, end = random.integer(0, 2), random.integer(0, 2)
    least = 1 if auto_pad.startswith("SAME") else max(1, wide - begin - end)
    size = random.integer(least, least + 5)
    if auto_pad.startswith("SAME"):
        output = -(-size // stride)
        total = max(0, (output - 1) * stride + wide - size)
        begin = total - total // 2 if auto_pad == "SAME_LOWER" else total // 2
        end = total - begin
    elif ceil_mode and auto_pad == "NOTSET":
        output = -(-(size + begin + end - wide) // stride) + 1
        # A window that would start in the padding behind the image is dropped.
        output -= (output - 1) * stride >= size + begin
    else:
        output = (size + begin + end - wide) // stride + 1
    return size, kernel, stride, dilation, begin, end, output


def _touches_image(size, kernel, stride, dilation, begin, _, output):
    """Whether each window along an axis holds at least one element that is not padding."""
    return all(any(0 <= o * stride - begin + k * dilation < size for k in range(kernel))
               for o in range(output))


def draw_window(random, schema, rank=None, pool=False):
    """A window of 1 to 3 spatial axes in the attributes that this version of the schema has. Those
    of pools touch the image everywhere: the standard gives no value to a pool of nothing."""
    rank = rank or random.choice((1, 2, 2, 3))
    known = schema.attributes
    auto_pad = "NOTSET"
    if "auto_pad" in known and random.chance(0.4):
        auto_pad = random.choice(AUTO_PADS)
    dilated = "dilations" in known and random.chance(0.35)
    # The evaluator's pools but MaxPool have no ceil_mode beside auto_pad. Beside VALID, the standard's
    # text and its shape inference contradict each other: one rounds down, the other up.
    ceil_mode = "ceil_mode" in known and random.chance(0.4 if auto_pad == "NOTSET" else 0.1)
    ceil_mode = ceil_mode and auto_pad != "VALID"
    axes = []
    while len(axes) < rank:
        axis = _axis(random, auto_pad, dilated, ceil_mode)
        if axis[-1] >= 1 and (not pool or _touches_image(*axis)):
            axes.append(axis)
    sizes, kernel, strides, dilations, begins, ends, outputs = (list(v) for v in zip(*axes))
    attributes = {}
    if auto_pad != "NOTSET" or ("auto_pad" in known and random.chance(0.1)):
        attributes["auto_pad"] = auto_pad
    if any(s != 1 for s in strides) or random.chance(0.4):
        attributes["strides"] = strides
    if any(d != 1 for d in dilations) or ("dilations" in known and random.chance(0.2)):
        attributes["dilations"] = dilations
    if auto_pad == "NOTSET" and (any(begins + ends) or random.chance(0.3)):
        attributes["pads"] = begins + ends
    if ceil_mode:
        attributes["ceil_mode"] = 1
    return Window(sizes, kernel, outputs, attributes, strides, dilations, begins + ends)


def axes_of(case):
    """(size, kernel, stride, dilation, begin, end) of each spatial axis of a case of a pool or
    convolution with explicit pads, for explanations."""
    sizes = case.inputs[0].shape[2:]
    rank = len(sizes)
    get = case.attributes.get
    kernel = get("kernel_shape") or case.inputs[1].shape[2:]
    pads = get("pads") or [0] * (2 * rank)
    return list(zip(sizes, kernel, get("strides") or [1] * rank, get("dilations") or [1] * rank,
                    pads[:rank], pads[rank:]))


def is_same(case):
    return "SAME" in case.attributes.get("auto_pad", "")


def is_dilated(case):
    return any(dilation > 1 and kernel > 1 for _, kernel, _, dilation, _, _ in axes_of(case))


def hangs_over(case):
    """By how much the last window reaches over the padded end at most: in ceil_mode it may."""
    most = 0
    if case.attributes.get("ceil_mode"):
        for size, kernel, stride, dilation, begin, end in axes_of(case):
            room = size + begin + end - spread(kernel, dilation)
            last = -(-room // stride) * stride
            if last < size + begin:
                most = max(most, last - room)
    return most
