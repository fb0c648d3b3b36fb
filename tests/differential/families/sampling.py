"""Operators that sample images: resizing, grids, regions of interest, and boxes."""
import math
from fractions import Fraction

import numpy as np

from case import FLOATS, Case, generator, is_float
from explained import ORT, REFERENCE, explained

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
ROUNDINGS = {  # nearest_mode -> the fraction at which the index changes
    "round_prefer_floor": Fraction(1, 2), "round_prefer_ceil": Fraction(1, 2),
    "floor": Fraction(0), "ceil": Fraction(0)}


def _coordinate(mode, o, n, out, scale, start, end):
    """x_original, exactly."""
    if mode == "asymmetric":
        return o / scale
    if mode == "align_corners":
        return o * Fraction(n - 1, out - 1) if out > 1 else Fraction(0)
    if mode == "pytorch_half_pixel" and out <= 1:
        return Fraction(0)
    if mode == "tf_crop_and_resize":
        if out > 1:
            return start * (n - 1) + o * (end - start) * (n - 1) / (out - 1)
        return (start + end) * (n - 1) / 2
    half = Fraction(1, 2)
    x = (o + half) / scale - half
    if mode == "half_pixel_symmetric":
        x += Fraction(n, 2) * (1 - out / (scale * n))
    if mode == "tf_half_pixel_for_nn":
        x += half
    return x


def _settled(mode, threshold, n, out, scale, exact, start, end):
    """Whether rounding cannot move a sample to another element: no coordinate is close to where the
    nearest element changes. On it is fine where every engine computes it exactly."""
    for o in range(out):
        x = _coordinate(mode, Fraction(o), n, out, scale, start, end)
        off = (x - threshold) % 1
        off = min(off, 1 - off)
        if off == 0 and exact and mode in ("asymmetric", "half_pixel", "pytorch_half_pixel"):
            continue
        if off < Fraction(1, 5000):
            return False
    return True


def _exact(value):
    """As float32 has it, as a fraction."""
    return Fraction(float(np.float32(value)))


def _nice_scale(random, low):
    return random.choice([s for s in (0.25, 0.5, 0.6, 0.75, 0.8, 1.0, 1.0, 1.25, 1.3, 1.5, 1.7, 2.0,
                                      2.0, 2.5, 3.0) if s >= low])


def _resized(random, resizable):
    """Scales for axes with n elements so that something is left of each."""
    return [next(s for s in iter(lambda: _nice_scale(random, 0.0), None) if n * s >= 1)
            for n in resizable]


def _old_resize(random, schema, low):
    """Resize 10 and Upsample: scales alone, x_original = x_resized / scale."""
    dtype = random.choice([F32, F32, np.dtype(np.int32), np.dtype(np.uint8)]) if random.chance(0.8) \
        else random.dtype(schema, "T")
    linear = is_float(dtype) and random.chance(0.3)
    # ONNX Runtime's linear mode takes images, 2-D or 4-D; both take them in version 1.
    rank = 4 if schema.since_version == 1 else random.choice([2, 4, 4]) if linear else \
        random.integer(1, 4)
    shape = [random.integer(1, 5) for _ in range(rank)]
    scales = [_nice_scale(random, low) for _ in range(rank)]
    if linear or schema.since_version == 1:
        scales[:-2] = [1.0] * (rank - 2)
    if not linear:
        # Which element is nearest is not said for a scale that is no integer, and the engines
        # differ; going up by an integer repeats, which the example shows.
        scales = [float(max(round(s), 1)) for s in scales]
    scales = [s if math.floor(n * s) >= 1 else 1.0 for n, s in zip(shape, scales)]
    if all(math.floor(n * s) == n for n, s in zip(shape, scales)):
        # A scale that leaves the size as it is: a copy for ONNX Runtime, whatever the scale.
        scales = [1.0] * rank
    attributes = {} if not linear and random.chance() else \
        {"mode": ("bilinear" if schema.since_version == 1 else "linear") if linear else "nearest"}
    return random.array(dtype, shape), np.array(scales, np.float32), attributes


@generator("Upsample", prefer=(7, 9))
def upsample(random, schema):
    x, scales, attributes = _old_resize(random, schema, low=1.0)
    if schema.since_version == 1:
        attributes |= {"height_scale": float(scales[2]), "width_scale": float(scales[3])}
    elif schema.since_version == 7:
        attributes["scales"] = [float(s) for s in scales]
    else:
        return Case([x, scales], attributes)
    return Case([x], attributes)


def _resize_choice(random, schema):
    """mode, coordinates, and attributes that go with them."""
    version = schema.since_version
    mode = random.choice(["nearest", "linear", "cubic"])
    coordinates = ["half_pixel", "pytorch_half_pixel", "align_corners", "align_corners",
                   "asymmetric", "tf_crop_and_resize"]
    if version == 11 and mode == "nearest":
        coordinates.append("tf_half_pixel_for_nn")  # nn: made for the nearest neighbour alone
    if version >= 19:
        coordinates.append("half_pixel_symmetric")
    coordinate = random.choice(coordinates)
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinate}
    if coordinate == "half_pixel" and random.chance():
        del attributes["coordinate_transformation_mode"]
    if mode == "nearest":
        if random.chance(0.7):
            attributes["nearest_mode"] = random.choice(list(ROUNDINGS))
    elif mode == "cubic":
        if random.chance():
            attributes["cubic_coeff_a"] = random.choice([-0.5, -0.75, -0.6])
        if random.chance(0.3):
            attributes["exclude_outside"] = 1
    if coordinate == "tf_crop_and_resize" and random.chance(0.7):
        attributes["extrapolation_value"] = random.uniform(-5, 5)
    if version >= 18 and mode != "nearest" and coordinate != "tf_crop_and_resize" and \
            random.chance(0.3):
        attributes["antialias"] = 1
    return mode, coordinate, attributes


@generator("Resize")
def resize(random, schema):
    version = schema.since_version
    if version == 10:
        x, scales, attributes = _old_resize(random, schema, low=0.0)
        return Case([x, scales], attributes)
    for _ in range(200):
        case = _resize(random, schema)
        if case is not None:
            return case
    raise AssertionError("no case in 200 draws")


def _resize(random, schema):
    """A case, or None where rounding could decide."""
    version = schema.since_version
    mode, coordinate, attributes = _resize_choice(random, schema)
    dtype = F32
    if random.chance(0.3):
        # A weighted average of integers would have to be rounded in a way that nobody says.
        dtype = random.dtype(schema, "T1", only=None if mode == "nearest" else FLOATS)
    rank = random.choice([1, 2, 2, 3, 4, 4]) if mode != "cubic" else random.choice([2, 4, 4])
    shape = [random.integer(1, 6) for _ in range(rank)]
    axes = list(range(rank))
    first = rank - 2 if rank > 2 and random.chance(0.8) else 0
    if version >= 18 and random.chance():
        axes = random.axes(rank, low=1) if random.chance(0.3) else list(range(first, rank))
        attributes["axes"] = axes
        axes = [a % rank for a in axes]
    moved = [a for a in axes if a >= first]
    scales, sizes = _scales_or_sizes(random, schema, shape, axes, moved, attributes)
    roi = None
    if coordinate == "tf_crop_and_resize":
        if dtype == object or dtype == bool:
            return None  # the extrapolation value is a number
        if not is_float(dtype) and "extrapolation_value" in attributes:
            attributes["extrapolation_value"] = float(random.integer(0, 5))  # nothing to round
        low = [random.uniform(-0.2, 0.5) if a in moved else 0.0 for a in axes]
        high = [random.uniform(0.5, 1.2) if a in moved else 1.0 for a in axes]
        roi = np.array(low + high, random.choice([np.float32, np.float64]))
        if sizes is None:
            return None  # the size would depend on the region for some, not for others
    elif version == 11:
        roi = np.zeros((0,), np.float32)
    if not _sure(shape, axes, moved, scales, sizes, roi, mode, coordinate, attributes):
        return None
    if version == 11 and scales is None:
        scales = np.zeros((0,), np.float32)
    x = random.array(dtype, shape)
    return Case([x, roi, scales, sizes], attributes)


def _scales_or_sizes(random, schema, shape, axes, moved, attributes):
    if random.chance() and attributes.get("coordinate_transformation_mode") != "tf_crop_and_resize":
        scales = _resized(random, [shape[a] for a in axes])
        if random.chance(0.15):
            # Scales that leave the lengths as they are, rounded down.
            scales = [1.25 if shape[a] < 4 else 1.125 for a in axes]
        return np.array([s if a in moved else 1.0 for a, s in zip(axes, scales)], np.float32), None
    sizes = [random.integer(1, 8) if a in moved else shape[a] for a in axes]
    if schema.since_version >= 18 and random.chance(0.3) and len(moved) == len(axes):
        attributes["keep_aspect_ratio_policy"] = random.choice(["stretch", "not_larger",
                                                                "not_smaller"])
    return None, np.array(sizes, np.int64)


def _sure(shape, axes, moved, scales, sizes, roi, mode, coordinate, attributes):
    """Whether sizes and nearest elements do not hang on the rounding of a product or quotient."""
    policy = attributes.get("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        ratios = [Fraction(int(s), shape[a]) for a, s in zip(axes, sizes)]
        ratio = (min if policy == "not_larger" else max)(ratios)
        if any((ratio * shape[a]) % 1 == Fraction(1, 2) or ratio * shape[a] < Fraction(1, 2)
               for a in axes):
            return False
    for i, a in enumerate(axes):
        n = shape[a]
        if scales is not None:
            scale, exact = _exact(scales[i]), True
            out = math.floor(n * scale)
            if out != math.floor(n * Fraction(str(round(float(scales[i]), 4)))):
                return False  # 5 * 0.6 is 3 or 2.9999998
        elif policy == "stretch":
            out, scale = int(sizes[i]), Fraction(int(sizes[i]), n)
            exact = _exact(float(scale)) == scale
        else:
            out = math.floor(ratio * n + Fraction(1, 2))
            scale, exact = ratio, _exact(float(ratio)) == ratio
        start, end = (Fraction(0), Fraction(1)) if roi is None or not roi.size else \
            (Fraction(float(roi[i])), Fraction(float(roi[len(axes) + i])))
        if coordinate == "tf_crop_and_resize":
            # Nor may it be open whether a coordinate is outside: then it is extrapolated.
            for o in range(out):
                x = _coordinate(coordinate, Fraction(o), n, out, scale, start, end)
                if a in moved and min(abs(x), abs(x - (n - 1))) < Fraction(1, 5000):
                    return False
        if mode == "nearest" and a in moved and n > 1 and not _settled(
                coordinate, ROUNDINGS[attributes.get("nearest_mode", "round_prefer_floor")], n, out,
                scale, exact, start, end):
            return False
    return True


def _near(ours, theirs, tolerance=1e-5):
    """Whether the difference is one of float32 rounding alone."""
    return not isinstance(ours, str) and ours[0].shape == theirs[0].shape and \
        np.allclose(ours[0], theirs[0], rtol=tolerance, atol=tolerance)


@explained("Resize", REFERENCE, "converts to float64 to interpolate and so loses the imaginary part")
def _complex(case, ours, theirs):
    return case.inputs[0].dtype.kind == "c"


@explained("Resize", REFERENCE,
           "computes the cubic weights in float32, the type it has cubic_coeff_a in: too coarse for "
           "double tensors, and where exclude_outside divides them by a sum that is close to zero")
def _cubic_in_float32(case, ours, theirs):
    return case.attributes.get("mode") == "cubic" and _near(ours, theirs) and \
        (case.inputs[0].dtype == F64 or case.attributes.get("exclude_outside") == 1)


def _lengths(case):
    """Output lengths by `scales`, before they are rounded down: one an axis."""
    x, scales = case.inputs[0], case.inputs[2] if case.version > 10 else case.inputs[1]
    axes = case.attributes.get("axes", range(x.ndim))
    return [] if scales is None or not scales.size else \
        [x.shape[a] * float(s) for a, s in zip(axes, scales)]


@explained("Resize", REFERENCE,
           "pytorch_half_pixel is 0 if length_resized, an integer, is 1; the evaluator asks whether "
           "the product of length and scale is, and puts the sample at -0.5")
def _one_sample(case, ours, theirs):
    return case.attributes.get("coordinate_transformation_mode") == "pytorch_half_pixel" and \
        not isinstance(ours, str) and 1 in ours[0].shape


@explained("Resize", ORT,
           "the standard's own node tests (resize_downsample_scales_linear_align_corners and others) "
           "divide by the product of length and scale as it is; ONNX Runtime by the one rounded down")
def _rounded_length(case, ours, theirs):
    return case.attributes.get("coordinate_transformation_mode") == "align_corners" and \
        any(n != int(n) for n in _lengths(case))


@explained("Resize", ORT,
           "copies the input if no length changes, although scales other than 1 place the samples "
           "elsewhere")
def _same_lengths(case, ours, theirs):
    return not isinstance(ours, str) and ours[0].shape == case.inputs[0].shape and \
        any(n != int(n) for n in _lengths(case))


@explained("Resize", ORT,
           "ignores the region of interest on an axis whose length does not change")
def _region_of_same_length(case, ours, theirs):
    if case.attributes.get("coordinate_transformation_mode") != "tf_crop_and_resize":
        return False
    x, roi, _, sizes = case.inputs
    axes = case.attributes.get("axes", range(x.ndim))
    return any(x.shape[a] == n and (roi[i], roi[len(sizes) + i]) != (0, 1)
               for i, (a, n) in enumerate(zip(axes, sizes)))


@generator("GridSample")
def grid_sample(random, schema):
    version = schema.since_version
    rank = 2 if version == 16 else random.choice([1, 2, 2, 2, 3])
    names = ["bilinear", "nearest", "bicubic"] if version == 16 else ["linear", "nearest", "cubic"]
    mode = random.choice(names)
    attributes = {}
    if mode != names[0] or random.chance():
        attributes["mode"] = mode
    if random.chance(0.7):
        attributes["padding_mode"] = random.choice(["zeros", "border", "reflection"])
    if random.chance():
        attributes["align_corners"] = random.integer(0, 1)
    dtype = random.choice([F32, F32, F64])
    if random.chance(0.3):
        dtype = random.dtype(schema, "T1", only=None if mode == "nearest" else FLOATS)
    if dtype == object:
        attributes["padding_mode"] = "border"  # what a string of zero is, nobody says
    n, c = random.integer(1, 2), random.integer(1, 3)
    spatial = [random.integer(1, 6) for _ in range(rank)]
    out = [random.integer(1, 4) for _ in range(rank)]
    grid_type = F32
    if dtype == F64 and random.chance():
        grid_type = F64
    grid = random.array(grid_type, (n, *out, rank), -1.5, 1.5)
    if random.chance(0.15):
        # Positions in half precision: eighths, whose coordinates are exact in it, so that it does
        # not matter in which type an engine computes them.
        grid = (random.array(np.int64, grid.shape, -12, 12) / 8).astype(
            random.dtype(schema, "T2", only=FLOATS - {F32, F64}))
    # Interpolation weights come out of a coordinate of some units' size, off by a few rounded
    # operations each; cubic weights multiply that by their slope (below 2), once an axis.
    ulps = None if dtype not in FLOATS else {2: 16, 4: 256, 8: 4096}[dtype.itemsize]
    if grid_type == F32 and dtype == F64:
        ulps = 256 * 2**29  # as exact as the coordinates
    return Case([random.array(dtype, (n, c, *spatial)), grid], attributes, ulps=ulps)


@explained("GridSample", REFERENCE, "keeps coordinates in float32, also where grid and input are double")
def _float32_coordinates(case, ours, theirs):
    return case.dtypes() == [F64, F64] and _near(ours, theirs)


@explained("GridSample", REFERENCE,
           "with cubic interpolation, border means that each of the neighbours is looked up at the "
           "border (PyTorch, which the text refers to, and ONNX Runtime do so); the evaluator moves "
           "the sampled position itself to the border first")
def _cubic_border(case, ours, theirs):
    return case.attributes.get("mode") == "cubic" and \
        case.attributes.get("padding_mode") == "border" and np.any(np.abs(case.inputs[1]) > 0.5)


@generator("AffineGrid")
def affine_grid(random, schema):
    dtype = random.dtype(schema, "T1") if random.chance(0.4) else F32
    rank = random.choice([2, 3])
    align = random.chance()
    n = random.integer(1, 3)
    # One sample between two corners that are both its centre: not defined.
    size = [n, random.integer(1, 3)] + [random.integer(2 if align else 1, 5) for _ in range(rank)]
    attributes = {"align_corners": int(align)} if align or random.chance() else {}
    theta = random.array(dtype, (n, rank, rank + 1))
    # A product of rank + 1 terms that may cancel.
    return Case([theta, np.array(size, np.int64)], attributes,
                ulps={2: 16, 4: 64, 8: 1024}[np.dtype(dtype).itemsize])


@explained("AffineGrid", REFERENCE, "the grid has the type of theta; the evaluator's is always float32")
def _always_float32(case, ours, theirs):
    return case.inputs[0].dtype != F32


@generator("NonMaxSuppression")
def non_max_suppression(random, schema):
    batches, classes = random.integer(1, 2), random.integer(1, 3)
    count = random.size(empty=0.03, largest=8)
    attributes = {}
    center = random.chance(0.4)
    if center or random.chance():
        attributes["center_point_box"] = int(center)
    boxes = random.array(F32, (batches, count, 4), 0.0, 1.0)
    if center:
        boxes[..., 2:] += 0.05  # widths and heights
    # Scores without ties, whose order is not said.
    scores = np.stack([np.stack([np.array(random.permutation(count), np.float32) / max(count, 1)
                                 for _ in range(classes)]) for _ in range(batches)])
    most = None if random.chance(0.1) else np.array(
        random.integer(0 if random.chance(0.1) else 1, 8), np.int64)
    overlap = None if random.chance(0.3) else np.array(random.uniform(0, 1), np.float32)
    least = None if random.chance(0.4) else np.array(random.uniform(-0.1, 0.8), np.float32)
    if random.chance(0.3):
        most, overlap, least = (None if v is None else v.reshape(1) for v in (most, overlap, least))
    return Case([boxes, scores.reshape(batches, classes, count), most, overlap, least], attributes)


@generator("RoiAlign")
def roi_align(random, schema):
    dtype = random.dtype(schema, "T1") if random.chance(0.4) else F32
    n, c = random.integer(1, 2), random.integer(1, 2)
    h, w = random.integer(1, 7), random.integer(1, 7)
    count = random.size(empty=0.03, largest=3)
    attributes = {}
    if random.chance():
        attributes["mode"] = random.choice(["avg", "max"])
    for name in ("output_height", "output_width"):
        if random.chance(0.8):
            attributes[name] = random.integer(1, 3)
    if random.chance():
        attributes["sampling_ratio"] = random.integer(0, 3)
    if "coordinate_transformation_mode" in schema.attributes and random.chance():
        attributes["coordinate_transformation_mode"] = random.choice(["half_pixel",
                                                                      "output_half_pixel"])
    scale = 1.0
    if random.chance():
        scale = attributes["spatial_scale"] = random.choice([0.5, 0.25, 2.0])
    corner = random.array(dtype, (count, 2), -0.5, min(h, w) - 0.3)
    extent = random.array(dtype, (count, 2), 0.3, 6.0)
    rois = (np.concatenate([corner, corner + extent], axis=1) / scale).astype(dtype)
    x = random.array(dtype, (n, c, h, w))
    # Sums of up to 49 weighted values, of coordinates that are rounded a few times.
    return Case([x, rois, random.array(np.int64, (count,), 0, n - 1)], attributes,
                ulps={2: 16, 4: 128, 8: 1024}[np.dtype(dtype).itemsize])


@explained("RoiAlign", REFERENCE,
           "version 10 does not shift by half a pixel (version 16 calls this 'output_half_pixel', "
           "'backward-compatible'); the evaluator takes the default of the newest version")
def _shifted(case, ours, theirs):
    return case.version == 10


@generator("MaxRoiPool", prefer=1)
def max_roi_pool(random, schema):
    # No reference but ONNX Runtime, for float alone.
    dtype = random.dtype(schema, "T") if random.chance(0.1) else F32
    n, c = random.integer(1, 2), random.integer(1, 2)
    h, w = random.integer(1, 8), random.integer(1, 8)
    count = random.size(empty=0.02, largest=3)
    attributes = {"pooled_shape": [random.integer(1, 3), random.integer(1, 3)]}
    scale = 1.0
    if random.chance():
        scale = attributes["spatial_scale"] = random.choice([0.5, 0.25, 2.0])
    rois = []
    for _ in range(count):
        x1, y1 = random.integer(-1, w - 1), random.integer(-1, h - 1)
        x2, y2 = random.integer(x1, w), random.integer(y1, h)
        # Off the integers, but not halfway: how halves are rounded is not said.
        rois.append([random.integer(0, n - 1)] +
                    [(v + random.uniform(-0.4, 0.4)) / scale for v in (x1, y1, x2, y2)])
    rois = np.array(rois, np.float64).reshape(count, 5).astype(dtype)
    return Case([random.array(dtype, (n, c, h, w)), rois], attributes)
