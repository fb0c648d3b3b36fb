"""Steps of optimizers, ai.onnx.preview.training."""
import numpy as np

from case import Case, generator
from explained import REFERENCE, explained

DOMAIN = "ai.onnx.preview.training"


def _optimized(random, schema, states, attributes):
    """R, T, then the tensors, their gradients and what is accumulated, each list in one piece."""
    rate = random.dtype(schema, "T1")
    dtype = random.dtype(schema, "T3")
    shapes = [random.shape(high=3) for _ in range(random.choice([1, 1, 2, 3]))]
    inputs = [random.array(rate, (), 0.01, 1), np.array(random.choice([0, 0, 1, 2, 7]), np.int64)]
    for kind in ("value", "gradient", *states):
        # Squares are never negative.
        inputs += [random.array(dtype, s, 0 if kind == "square" else -2, 2) for s in shapes]
    return Case(inputs, attributes, outputs=len(shapes) * (1 + len(states)))


def _some(random, **ranges):
    return {name: random.uniform(*r) for name, r in ranges.items() if random.chance(0.6)}


@generator("Adagrad", domain=DOMAIN)
def adagrad(random, schema):
    return _optimized(random, schema, ["square"], _some(
        random, norm_coefficient=(0, 0.5), decay_factor=(0, 0.5), epsilon=(1e-6, 0.1)))


@generator("Adam", domain=DOMAIN)
def adam(random, schema):
    return _optimized(random, schema, ["average", "square"], _some(
        random, norm_coefficient=(0, 0.5), norm_coefficient_post=(0, 0.5), alpha=(0.1, 0.99),
        beta=(0.1, 0.999), epsilon=(1e-6, 0.1)))


@generator("Momentum", domain=DOMAIN)
def momentum(random, schema):
    return _optimized(random, schema, ["average"], {
        "norm_coefficient": random.uniform(0, 0.5), "alpha": random.uniform(0, 1),
        "beta": random.uniform(0, 1.5), "mode": random.choice(["standard", "nesterov"])})


def _near(ours, theirs, step):
    """Whether values agree but for a rounding of the coefficients to float32, and types do not count."""
    return all(np.allclose(o, t, rtol=step, atol=step * np.abs(o).max(initial=0))
               for o, t in zip(ours, theirs))


@explained(("Adam", "Momentum"), REFERENCE,
           "outputs have the type of the tensors that are optimized; the evaluator gives what numpy "
           "makes of the tensors together with the learning rate and the powers of the coefficients "
           "(float64), or float32 for several tensors", domain=DOMAIN)
def _types_of_numpy(case, ours, theirs):
    return (any(o.dtype != t.dtype for o, t in zip(ours, theirs))
            and all(o.dtype == case.inputs[2].dtype for o in ours) and _near(ours, theirs, 1e-5))


@explained("Adam", REFERENCE,
           "with float64 tensors 1 - alpha and 1 - beta are float64; the evaluator computes them in "
           "float32", domain=DOMAIN)
def _coefficients_in_float(case, ours, theirs):
    return case.inputs[2].dtype == np.float64 and _near(ours, theirs, 1e-6)
