"""Values for the operators on 8-bit integers, shared by convolutions and products."""
import numpy as np

from case import is_integer


def whole_range(random, dtype, shape):
    if not is_integer(dtype):
        return random.array(dtype, shape)
    info = np.iinfo(dtype)
    return random.array(dtype, shape, info.min, info.max)


def factors(random, first, first_shape, second, second_shape):
    """Two factors over their whole ranges, and a zero point for the first, which pads it, too. Where
    an unsigned and a signed one meet, one of them has 7 bits: ONNX Runtime multiplies pairs with an
    instruction that saturates their sum to 16 bits on processors that have no better one, which is
    known and no fault to find anew."""
    a, b = whole_range(random, first, first_shape), whole_range(random, second, second_shape)
    zero = whole_range(random, first, ())
    if {first, second} == {np.dtype(np.uint8), np.dtype(np.int8)}:
        if random.chance():
            a, zero = a // 2, np.asarray(zero // 2, dtype=first)
        else:
            b = b // 2
    return a, b, zero
