"""Activation functions: elementwise, of one input and a few attributes."""
import numpy as np

from case import Case, generator, is_integer
from explained import ORT, REFERENCE, explained
from families.elementwise_common import (any_shape, largest, legacy, only_as_good_as_float32,
                                         some_attributes)


@generator("Sigmoid")
def sigmoid(random, schema):
    wide = 30 if random.chance(0.2) else 3
    x = random.array(random.dtype(schema, "T"), any_shape(random), -wide, wide, special=0.1)
    # As 1 - 1 / (1 + exp(x)), or by an approximation that is good to so many bits of 1.
    return Case([x], legacy(random, schema), scale=1.0)


@generator("Swish", "SwiGLU")
def swish(random, schema):
    dtype, shape = random.dtype(schema, "T"), any_shape(random)
    wide = 30 if random.chance(0.2) else 8
    x = random.array(dtype, shape, -wide, wide, special=0.1)
    attributes = some_attributes(random, schema, alpha=(-2, 2))
    if schema.name == "Swish":
        return Case([x], attributes, scale=largest(x))
    linear = random.array(dtype, shape)
    return Case([x, linear], attributes, scale=largest(x * linear))


@generator("Celu", "Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Relu", "Selu",
           "Softplus", "Softsign", "Tanh", "ThresholdedRelu")
def activation(random, schema):
    dtype = random.dtype(schema, "T")
    wide = 30 if random.chance(0.2) else 3
    low = 0.1 if schema.name == "Celu" else -2  # Celu divides by alpha
    return Case([random.array(dtype, any_shape(random), -wide, wide, special=0.1)],
                some_attributes(random, schema, alpha=(low, 2), beta=(-1, 1), gamma=(0.5, 2)))


@generator("Gelu")
def gelu(random, schema):
    x = random.array(random.dtype(schema, "T"), any_shape(random), -6, 6, special=0.1)
    # 1 + erf(x / sqrt(2)) and 1 + tanh(...) cancel for negative x.
    return Case([x], {"approximate": random.choice(["none", "tanh"])} if random.chance(0.7) else {},
                scale=largest(x))


@explained("Gelu", REFERENCE, "Erf of a float64 is computed in float32")
def _erf_in_float32(case, ours, theirs):
    return case.attributes.get("approximate") != "tanh" and only_as_good_as_float32(ours, theirs)


@explained("Gelu", ORT, "a float64 gets 2/pi and 0.044715 as rounded to float32")
@explained("Gelu", REFERENCE, "a float64 gets 2/pi and 0.044715 as rounded to float32")
def _float32_constants(case, ours, theirs):
    return case.attributes.get("approximate") == "tanh" and only_as_good_as_float32(ours, theirs)


@explained("HardSwish", ORT, "a float64 gets alpha, 1/6, as rounded to float32")
@explained("HardSwish", REFERENCE, "a float64 gets alpha, 1/6, as rounded to float32")
def _float32_sixth(case, ours, theirs):
    return only_as_good_as_float32(ours, theirs)


@explained("Selu", REFERENCE, "version 1 has defaults of its own, alpha 1.6732 and gamma 1.0507; the "
           "evaluator takes those of version 6")
def _defaults_of_version_6(case, ours, theirs):
    return case.version < 6 and not {"alpha", "gamma"} <= case.attributes.keys()


@generator("Shrink")
def shrink(random, schema):
    dtype, shape = random.dtype(schema, "T"), any_shape(random)
    if not is_integer(dtype):
        return Case([random.array(dtype, shape, special=0.1)],
                    some_attributes(random, schema, lambd=(0, 2), bias=(-2, 2)))
    # An unsigned number less a bias that is above it would be out of range; that is left open.
    lambd = random.integer(0, 4)
    attributes = {"lambd": lambd + random.choice([0.0, 0.5]), "bias": float(random.integer(-3, lambd))}
    return Case([random.array(dtype, shape, -100, 100)], attributes if random.chance(0.8) else {})


@explained("Shrink", ORT, "computes float64 in float32")
def _float32_inside(case, ours, theirs):
    return only_as_good_as_float32(ours, theirs)


@generator("Clip")
def clip(random, schema):
    dtype, shape = random.dtype(schema, "T"), any_shape(random)
    values = random.array(dtype, shape, special=0.1)
    low, high = sorted(random.uniform(-3, 3) for _ in range(2))
    # Since version 13 the upper bound wins where they are crossed.
    if schema.since_version >= 13 and random.chance(0.15):
        low, high = high, low
    if schema.since_version < 11:
        bounds = {"min": low, "max": high}
        return Case([values], legacy(random, schema)
                    | {k: v for k, v in bounds.items() if random.chance(0.7)})
    if is_integer(dtype):
        low, high = (int(max(np.iinfo(dtype).min, v * 3)) for v in (low, high))
    bounds = [np.array(v, dtype) if random.chance(0.75) else None for v in (low, high)]
    if any(b is None for b in bounds) and not is_integer(dtype):
        # What is left out stands for the type's largest finite number by the text, for no bound by
        # the function body: infinities are open.
        values = np.where(np.isinf(values), np.array(1, dtype), values)
    return Case([values, *bounds])
