"""Operators of any number of inputs that broadcast, and Where."""
from case import Case, generator, is_integer
from families.elementwise_common import any_shape, full_range, largest, legacy


@generator("Max", "Min", "Mean", "Sum")
def variadic(random, schema):
    dtype, shape = random.dtype(schema, "T"), any_shape(random)
    count = random.choice([1, 2, 2, 3, 3, 4, 7])
    # Until version 8 all inputs had the same shape.
    shapes = [random.broadcastable(shape) if schema.since_version >= 8 else shape
              for _ in range(count)]
    if random.chance():
        shapes[0] = shape  # the evaluator adds into the first
    if is_integer(dtype) and random.chance():
        inputs = [full_range(random, dtype, s) for s in shapes]
    else:
        inputs = [random.array(dtype, s, special=0.06) for s in shapes]
    # What is left of a sum is as exact as the largest number in it allows.
    scale = largest(*inputs) if schema.name in ("Mean", "Sum") else 0.0
    return Case(inputs, legacy(random, schema), scale=scale)


@generator("Where")
def where(random, schema):
    dtype, shape = random.dtype(schema, "T"), any_shape(random)
    shapes = [random.broadcastable(shape) for _ in range(3)]
    return Case([random.array(bool, shapes[0])]
                + [random.array(dtype, s, special=0.1) for s in shapes[1:]])
