"""Reductions over axes, running sums, Einstein sums and determinants."""
import numpy as np

from case import FLOATS, Case, generator, is_float, is_integer
from explained import ORT, REFERENCE, explained
from compare import ULPS
from families.movement import extents, negative_axes

SUMS = ("ReduceL1", "ReduceMean", "ReduceSum")
LOGS = ("ReduceLogSum", "ReduceLogSumExp")


def rounding(dtype, steps, terms, result):
    """Units in the last place for a sum (or product) of `steps` rounded operations: each is off by
    half a unit of what has been summed up so far, which the sum of absolute values bounds, while
    the comparison counts in units of the largest result; twice, since both engines round."""
    name = np.dtype(dtype).name
    if name not in ULPS:
        return None
    largest = np.nanmax(np.abs(np.where(np.isfinite(result), result, 0)), initial=0.0)
    total = np.nanmax(np.where(np.isfinite(terms), terms, 0), initial=0.0)
    if not largest:
        # A result of nothing but zeros counts absolutely, and there is nothing to round.
        return None
    return max(ULPS[name], steps * float(total / largest))


def _values(random, operator, dtype, shape):
    """Values whose reduction is representable: no overflow, no logarithm of a negative number."""
    if operator == "ReduceLogSum":
        return random.array(dtype, shape, 0.1 if is_float(dtype) else 1, 9)
    if operator == "ReduceProd":
        return random.array(dtype, shape, 0.5, 1.5) if is_float(dtype) else \
            random.array(dtype, shape, -2, 2)
    if operator == "ReduceLogSumExp" and dtype in (np.float32, np.float64) and random.chance(0.3):
        # exp of these is out of range: the largest has to be taken out first. ONNX Runtime does so
        # for these types; for others it runs the function body, which does not.
        return random.array(dtype, shape, 700, 1000)
    # NaN is left to the sums: which of NaN and a number is the larger is not said.
    special = 0.1 if operator in SUMS + ("ReduceSumSquare", "ReduceL2") else 0.0
    return random.array(dtype, shape, special=special)


def _defined_when_empty(schema, dtype):
    """Whether the text names the reduction over an empty set of values."""
    if "empty set of values yields" not in schema.doc or schema.name == "ReduceMean":
        return False
    return is_float(dtype) or schema.name not in LOGS


def _axes(random, schema, rank):
    """(axes or None for left out, attributes, the axes that are reduced)."""
    as_input = "axes" not in schema.attributes
    attributes = {}
    if random.chance(0.6):
        attributes["keepdims"] = random.integer(0, 1)
    noop = False
    if as_input and random.chance(0.4):
        noop = random.chance()
        attributes["noop_with_empty_axes"] = int(noop)
    axes = random.axes(rank, negative_axes(schema), low=0 if as_input else 1)
    if random.chance(0.25) or not as_input and not axes:
        axes = None
    if axes:
        reduced = tuple(a % rank for a in axes)
    else:
        reduced = () if noop else tuple(range(rank))
    return axes, attributes, reduced


@generator("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
           "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")
def reduce(random, schema):
    as_input = "axes" not in schema.attributes
    only = None
    if schema.name in LOGS and random.chance(0.95):
        # No reference has the logarithm of unsigned integers, and version 28 took all of them out.
        only = FLOATS if random.chance(0.7) else FLOATS | {np.dtype(np.int32), np.dtype(np.int64)}
    dtype = random.dtype(schema, "T", only)
    # "Input tensors of rank zero are valid" came together with the word on empty sets.
    low = 0 if "rank zero" in schema.doc and random.chance(0.3) else 1
    shape = random.shape(low, 3, largest=3) if schema.name == "ReduceProd" else extents(random, low)
    axes, attributes, reduced = _axes(random, schema, len(shape))
    if shape and random.chance(0.12):
        # Nothing to reduce to, or nothing to reduce.
        at = random.choice([i for i in range(len(shape)) if i not in reduced] or reduced)
        shape = shape[:at] + (0,) + shape[at + 1:]
        if axes and negative_axes(schema):
            axes = [a - len(shape) if a >= 0 else a for a in axes]
    if any(shape[a] == 0 for a in reduced) and not _defined_when_empty(schema, dtype):
        shape = tuple(n or 2 for n in shape)
    x = _values(random, schema.name, dtype, shape)
    ulps = _reduce_ulps(schema.name, x, reduced)
    if as_input:
        return Case([x, None if axes is None else np.array(axes, np.int64)], attributes, ulps=ulps)
    if axes is not None:
        attributes["axes"] = axes
    return Case([x], attributes, ulps=ulps)


def _reduce_ulps(operator, x, reduced):
    if not is_float(x.dtype) or operator in ("ReduceMax", "ReduceMin"):
        return None
    wide = np.abs(x.astype(np.float64))
    count = int(np.prod([x.shape[a] for a in reduced], dtype=int))
    with np.errstate(all="ignore"):
        if operator in SUMS:
            result = x.astype(np.float64) if operator != "ReduceL1" else wide
            return rounding(x.dtype, count, wide.sum(axis=reduced), result.sum(axis=reduced))
        if operator in LOGS and x.size:
            # log turns the relative error of the sum into an absolute one; exp does the reverse
            # with the error of its argument.
            wide, top = x.astype(np.float64), float(wide.max())
            shift = wide.max() if operator == "ReduceLogSumExp" else 0.0
            sums = np.exp(wide - shift) if operator == "ReduceLogSumExp" else wide
            result = np.log(sums.sum(axis=reduced)) + shift
            return rounding(x.dtype, count + 4 + top, np.ones(()), result)
    # Products and sums of squares cancel nothing.
    return rounding(x.dtype, count + 2, np.ones(()), np.ones(()))


REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
              "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")


def _axes_of(case):
    if "axes" in case.attributes:
        return case.attributes["axes"]
    return [] if len(case.inputs) < 2 or case.inputs[1] is None else case.inputs[1]


@explained(REDUCTIONS, ORT,
           "of a tensor without elements, axes that are counted from the back are not reduced")
def _empty_negative(case, ours, theirs):
    return case.inputs[0].size == 0 and any(a < 0 for a in _axes_of(case))


@explained("ReduceSumSquare", REFERENCE,
           "the output has the type of the input; numpy's sum of 32-bit integers is of 64 bits")
def _wider_sum(case, ours, theirs):
    return case.inputs[0].dtype in (np.int32, np.uint32)


@explained("ReduceLogSumExp", ORT,
           "the function body computes in double and casts at the end; for integers it casts exp "
           "and log on the way")
def _integer_steps(case, ours, theirs):
    return is_integer(case.inputs[0].dtype)


@generator("ArgMax", "ArgMin")
def arg(random, schema):
    dtype = random.dtype(schema, "T")
    shape = extents(random, low=1)
    axis = random.axis(len(shape), negative_axes(schema))
    shape = tuple(n or 1 if i == axis % len(shape) else n for i, n in enumerate(shape))
    if len(shape) > 1 and random.chance(0.1):
        at = (axis + 1) % len(shape)
        shape = shape[:at] + (0,) + shape[at + 1:]
        axis = axis - len(shape) if axis >= 0 and negative_axes(schema) else axis
    # No NaN, whose place in the order is not said. Integers have ties.
    x = random.array(dtype, shape, -3, 3)
    if is_float(dtype) and random.chance():
        x = np.round(x.astype(np.float64)).astype(dtype)
    attributes = {} if axis == 0 and random.chance() else {"axis": axis}
    if random.chance():
        attributes["keepdims"] = random.integer(0, 1)
    if "select_last_index" in schema.attributes and random.chance():
        attributes["select_last_index"] = random.integer(0, 1)
    return Case([x], attributes)


@explained(("ArgMax", "ArgMin"), ORT,
           "of a tensor without elements, an axis that is counted from the back is not reduced")
def _empty_negative_axis(case, ours, theirs):
    return case.inputs[0].size == 0 and case.attributes.get("axis", 0) < 0


@generator("CumSum", "CumProd")
def cumulative(random, schema):
    dtype = random.dtype(schema, "T")
    shape = random.shape(low=1, largest=7) if schema.name == "CumProd" else extents(random, low=1)
    if schema.name == "CumProd":
        x = random.array(dtype, shape, 0.5, 1.5) if is_float(dtype) else \
            random.array(dtype, shape, -4, 4)
    else:
        x = random.array(dtype, shape, special=0.05)
    axis = random.axis(len(shape))
    attributes = {}
    for name in ("exclusive", "reverse"):
        if random.chance():
            attributes[name] = random.integer(0, 1)
    axis_input = np.array(axis, random.choice([np.int32, np.int64]))
    ulps = None
    if is_float(dtype):
        wide = x.astype(np.float64)
        with np.errstate(all="ignore"):
            result = np.cumsum(wide, axis=axis) if schema.name == "CumSum" else np.ones(())
            terms = np.abs(wide).sum(axis=axis) if schema.name == "CumSum" else np.ones(())
        ulps = rounding(dtype, shape[axis] + 1, terms, result)
    return Case([x, axis_input], attributes, ulps=ulps)


def _equation(random):
    """Terms of the operands, with dims for each letter, and the output's term or None."""
    letters = [random.choice("abcdefABxyz") for _ in range(random.integer(1, 4))]
    letters = list(dict.fromkeys(letters))
    dims = {letter: random.size(empty=0.02, largest=4) for letter in letters}
    ellipsis = tuple(random.size(empty=0.0, largest=3) for _ in range(random.integer(0, 2)))
    dotted = random.chance(0.3)
    terms, shapes = [], []
    for _ in range(random.choice([1, 2, 2, 2, 3])):
        term = [random.choice(letters) for _ in range(random.integer(0, 3))]
        if not random.chance(0.2):
            term = list(dict.fromkeys(term))  # diagonals now and then only
        shape = [dims[letter] for letter in term]
        if dotted and random.chance(0.7):
            at = random.integer(0, len(term))
            term.insert(at, "...")
            # Fewer of the broadcast axes, and ones.
            own = ellipsis[random.integer(0, len(ellipsis)):] if random.chance(0.3) else ellipsis
            own = tuple(1 if random.chance(0.2) else n for n in own)
            shape[at:at] = own
        terms.append("".join(term))
        shapes.append(tuple(shape))
    used = [letter for letter in letters if any(letter in t for t in terms)]
    output = None
    if random.chance(0.7):
        kept = [used[i] for i in random.axes(len(used), negative=False)]
        if any("..." in t for t in terms):
            # Summing over the ellipsis by leaving it out of the output is not defined.
            kept.insert(random.integer(0, len(kept)), "...")
        output = "".join(kept)
    return terms, shapes, output


@generator("Einsum")
def einsum(random, schema):
    dtype = random.dtype(schema, "T")
    if random.chance(0.5):
        # The types that ONNX Runtime has.
        dtype = np.dtype(random.choice([np.float32, np.float64, np.int32, np.int64]))
    terms, shapes, output = _equation(random)
    small = 2 if is_integer(dtype) and dtype.itemsize == 1 else 3
    inputs = [random.array(dtype, s, -small, small) for s in shapes]
    comma, arrow = random.choice([(",", "->"), (",", "->"), (", ", " -> "), (" ,", "->")])
    equation = comma.join(terms) + ("" if output is None else arrow + output)
    ulps = None
    if is_float(dtype):
        wide = [i.astype(np.float64) for i in inputs]
        plain = equation.replace(" ", "")
        result = np.einsum(plain, *wide)
        bound = np.einsum(plain, *[np.abs(w) for w in wide])
        size = max(int(np.prod([s for t in shapes for s in t], dtype=int)), 1)
        ulps = rounding(dtype, min(size, 64) + 2, bound, result)
    return Case(inputs, {"equation": equation}, ulps=ulps)


@generator("Det")
def det(random, schema):
    dtype = random.dtype(schema, "T")
    n = random.integer(1, 5)
    x = random.array(dtype, (*random.shape(high=2, largest=3), n, n))
    if random.chance(0.1) and x.size:
        x[..., 0, :] = x[..., -1, :]  # singular, if it has two rows
    # Elimination with pivots is off by some n**2 units of the product of the rows' lengths
    # (Hadamard's bound on the determinant).
    rows = x.astype(np.float64)
    bound = np.prod(np.linalg.norm(rows, axis=-1), axis=-1)
    return Case([x], ulps=rounding(dtype, 2 * n * n, bound, np.linalg.det(rows)))


@explained("Det", REFERENCE,
           "the output has the type of the input; numpy knows no determinant of bfloat16 and returns "
           "float64")
def _bfloat16(case, ours, theirs):
    return case.inputs[0].dtype.name == "bfloat16"
