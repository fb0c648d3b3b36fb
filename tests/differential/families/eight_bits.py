"""Values for the operators on 8-bit integers, shared by convolutions and products."""
import numpy as np

from case import is_integer


def whole_range(random, dtype, shape):
    if not is_integer(dtype):
        return random.array(dtype, shape)
    info = np.iinfo(dtype)
    return random.array(dtype, shape, info.min, info.max)


def factors(random, first, first_shape, second, second_shape):
    """Two factors over their whole ranges. Where an unsigned and a signed one meet, one of them has
    7 bits: ONNX Runtime multiplies pairs with an instruction that saturates their sum to 16 bits on
    processors that have no better one, which is known and no fault to find anew."""
    values = [whole_range(random, first, first_shape), whole_range(random, second, second_shape)]
    if {first, second} == {np.dtype(np.uint8), np.dtype(np.int8)}:
        small = random.integer(0, 1)
        values[small] = values[small] // 2
    return values
