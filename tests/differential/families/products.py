"""Matrix products: plain, integer, quantized, with a sum."""
import numpy as np

from case import Case, generator, is_integer
from explained import ORT, REFERENCE, explained
from families.eight_bits import factors, whole_range

SCALE = 9.0  # the largest product of two elements


def _shapes(random):
    """Shapes of two factors as numpy's matmul takes them: vectors, matrices, broadcast stacks."""
    rows, inner, columns = (random.size(empty=0.03) for _ in range(3))
    if random.chance(0.15):
        a, b = (inner,), random.choice(((inner,), (inner, columns), (2, inner, columns)))
        return (a, b) if random.chance() or len(b) == 1 else ((*b[:-2], columns, inner), a)
    stack = random.shape(0, 3, empty=0.02, largest=3)
    first, second = stack, random.broadcastable(stack)
    if random.chance():
        first, second = second, first
    return (*first, rows, inner), (*second, inner, columns)


@generator("MatMul")
def matmul(random, schema):
    dtype = random.dtype(schema, "T")
    a, b = _shapes(random)
    # Sums of integers wrap around, in all engines alike.
    wide = 10 ** 9 if is_integer(dtype) and random.chance(0.2) else None
    return Case([random.array(dtype, a, wide and -wide, wide), random.array(dtype, b)], scale=SCALE)


@generator("MatMulInteger")
def matmul_integer(random, schema):
    first, second = random.dtype(schema, "T1"), random.dtype(schema, "T2")
    a, b = _shapes(random)
    inputs = list(factors(random, first, a, second, b)[:2])
    rows = columns = ()
    if random.chance(0.3) and len(a) >= 2:  # one zero point for each row
        rows = a[:1] if len(a) == 2 else (*a[:-1], 1)
    if random.chance(0.3) and len(b) >= 2:  # and for each column
        columns = b[1:] if len(b) == 2 else (*b[:-2], 1, b[-1])
    inputs.append(whole_range(random, first, rows) if random.chance(0.6) else None)
    inputs.append(whole_range(random, second, columns) if random.chance(0.6) else None)
    return Case(inputs)


@generator("QLinearMatMul")
def qlinear_matmul(random, schema):
    names = {c.type_param_str for c in schema.type_constraints}
    scale = random.dtype(schema, "TS") if "TS" in names else np.dtype(np.float32)
    a_type, b_type, y_type = (random.dtype(schema, t) for t in ("T1", "T2", "T3"))
    if random.chance(0.9):
        eight = [np.dtype(np.int8), np.dtype(np.uint8)]
        a_type, b_type, y_type = (random.choice(eight) for _ in range(3))
    a_shape, b_shape = _shapes(random)
    a, b, zero = factors(random, a_type, a_shape, b_type, b_shape)
    # Scales that are no powers of two: an exact tie may be rounded before or after the zero point
    # is added, which the standard leaves open.
    inputs = [a, random.array(scale, (), 0.01, 0.1), zero,
              b, random.array(scale, (), 0.01, 0.1), whole_range(random, b_type, ()),
              random.array(scale, (), 0.2, 2.0), whole_range(random, y_type, ())]
    return Case(inputs)


def _addend(random, schema, rows, columns, attributes):
    """The shape of C: broadcast in one direction, before version 7 only if asked for."""
    whole = (rows, columns)
    if schema.since_version < 7:
        if random.chance(0.4):
            return whole
        attributes["broadcast"] = 1
        return random.choice((whole, (columns,), (1,)))
    return random.choice((whole, (columns,), (1, columns), (rows, 1), (1, 1), (1,), ()))


@generator("Gemm", prefer=(6, 7, 9, 11, 13, 13))
def gemm(random, schema):
    dtype = random.dtype(schema, "T")
    rows, inner, columns = (random.size(empty=0.03) for _ in range(3))
    attributes = {}
    for name in ("alpha", "beta"):
        if random.chance(0.4):
            # Integers times a fraction, and unsigned ones times a negative number: the standard does
            # not say how to round.
            low = 0 if dtype.kind == "u" else -2
            attributes[name] = (float(random.integer(low, 3)) if is_integer(dtype)
                                else random.uniform(-2, 2))
    a, b = (rows, inner), (inner, columns)
    for name in ("transA", "transB"):
        if random.chance(0.4):
            attributes[name] = random.integer(0, 1)
    a = a[::-1] if attributes.get("transA") else a
    b = b[::-1] if attributes.get("transB") else b
    addend = None
    if schema.since_version < 11 or random.chance(0.7):
        addend = random.array(dtype, _addend(random, schema, rows, columns, attributes))
    return Case([random.array(dtype, a), random.array(dtype, b), addend], attributes, scale=SCALE)


@explained(("MatMul", "MatMulInteger", "QLinearMatMul"), ORT,
           "the sum of no products is zero (QLinearMatMul: the zero point); with an inner size of 0 "
           "ONNX Runtime leaves the output as the memory was, or takes the first factor's shape")
def _nothing_written(case, ours, theirs):
    return case.inputs[0].shape[-1] == 0


@explained("Gemm", ORT,
           "Y = beta * C where the inner size is 0; ONNX Runtime returns C without the factor",
           shown_by=390)
def _no_beta_of_empty(case, ours, theirs):
    inner = case.inputs[0].shape[0 if case.attributes.get("transA") else 1]
    return inner == 0 and case.attributes.get("beta", 1.0) != 1.0


@explained("MatMulInteger", REFERENCE,
           "a vector of zero points of A has one for each row; the evaluator takes one for each "
           "column")
def _zero_point_of_columns(case, ours, theirs):
    zero = case.inputs[2]
    return zero is not None and zero.ndim == 1 and case.inputs[0].ndim == 2


@explained("QLinearMatMul", REFERENCE,
           "the evaluator multiplies and divides the scales in their own type of 8 or 11 bits, and "
           "the product with the sums too, so that rounding to integers ends one or two off")
def _scales_in_half(case, ours, theirs):
    if case.inputs[1].dtype == np.float32 or theirs[0].dtype not in (np.int8, np.uint8):
        return False
    return np.abs(ours[0].astype(int) - theirs[0].astype(int)).max() <= 2


@explained("QLinearMatMul", REFERENCE, "the evaluator casts factors of 8-bit floats to integers",
           shown_by=566)
def _floats_as_integers(case, ours, theirs):
    return any(case.inputs[i].dtype not in (np.int8, np.uint8) for i in (0, 3))


@explained("Gemm", REFERENCE,
           "before version 7 without broadcast, the evaluator adds C without the factor beta, and "
           "returns float32 for float16")
def _old_without_beta(case, ours, theirs):
    return case.version == 6 and not case.attributes.get("broadcast")
