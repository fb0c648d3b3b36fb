"""Operators that draw random values: type and shape are compared, and the values that are certain.
Their distributions are tested in tests/conformance/random_ops.py."""
import numpy as np
from onnx import helper

from case import Case, dtype_of, generator, onnx_dtype
from explained import ORT, explained
from families.sequences import whole_model

COMMON = {np.dtype(t) for t in (np.float16, np.float32, np.float64)}


def _with_seed(random, attributes):
    if random.chance():
        attributes["seed"] = random.uniform(0, 100)
    return attributes


def _shape(random):
    # The evaluator cannot draw a scalar, so there are few of them.
    return random.shape(low=0 if random.chance(0.1) else 1)


@generator("Bernoulli")
def bernoulli(random, schema):
    attributes = _with_seed(random, {})
    if random.chance(0.6):
        attributes["dtype"] = onnx_dtype(random.dtype(schema, "T2"))
    only = COMMON if random.chance(0.9) else None
    probabilities = random.array(random.dtype(schema, "T1", only), _shape(random), 0, 1)
    if random.chance(0.4):
        # Nothing is left to chance: the values can be compared.
        return Case([np.round(probabilities).astype(probabilities.dtype)], attributes)
    return Case([probabilities], attributes, drawn=True)


@explained("Bernoulli", ORT,
           "a one is drawn with probability p; ONNX Runtime runs the function body of the schema, "
           "which gives a one where a number from [0, 1) is greater than p, with probability 1 - p")
def _the_other_way_round(case, ours, theirs):
    return np.array_equal(ours[0].astype(bool), ~theirs[0].astype(bool))


@generator("Multinomial")
def multinomial(random, schema):
    """The evaluator does not have it, and ONNX Runtime has version 7 in float32, so that most cases
    are of that; version 22 adds a type and changes nothing else."""
    attributes = _with_seed(random, {})
    if random.chance(0.6):
        attributes["dtype"] = onnx_dtype(random.dtype(schema, "T2"))
    if random.chance(0.7):
        attributes["sample_size"] = random.integer(1, 6)
    shape = (random.size(0), random.integer(1, 5))
    known = random.chance(0.95)
    weights = random.array(np.float32 if known else random.dtype(schema, "T1"), shape)
    certain = random.chance(0.3)
    if certain:
        # One class is certain. Values are logarithms of probabilities without a scale.
        chosen = random.rng.integers(0, shape[1], shape[0])
        weights = np.full(shape, -1000).astype(weights.dtype)
        weights[np.arange(shape[0]), chosen] = 10
    model = None
    if known and schema.since_version > 7:
        node = helper.make_node("Multinomial", ["in0"], ["out0"], **attributes)
        model = whole_model(random, schema, [node], [weights], 1)
        model.opset_import[0].version = random.integer(7, 21)
        model.ir_version = 10
    return Case([weights], attributes, model=model, drawn=not certain)


def _parameters(random, names):
    """Numbers for some of the attributes."""
    attributes = {n: random.uniform(0, 3) for n in names if random.chance(0.4)}
    if "low" in names and attributes.get("low", 0.0) >= attributes.get("high", 1.0):
        attributes["high"] = attributes["low"] + 1
    return _with_seed(random, attributes)


@generator("RandomNormal", "RandomUniform")
def random_tensor(random, schema):
    attributes = _parameters(random, ["mean", "scale"] if "mean" in schema.attributes
                             else ["low", "high"])
    if random.chance(0.6):
        attributes["dtype"] = onnx_dtype(random.dtype(schema, "T"))
    attributes["shape"] = list(random.shape(1))
    return Case([], attributes, drawn=True)


@generator("RandomNormalLike", "RandomUniformLike")
def random_like(random, schema):
    attributes = _parameters(random, ["mean", "scale"] if "mean" in schema.attributes
                             else ["low", "high"])
    dtype = random.dtype(schema, "T1", COMMON if random.chance(0.5) else None)
    results = {t for c in schema.type_constraints if c.type_param_str == "T2"
               for t in c.allowed_type_strs}
    if dtype not in {dtype_of(t) for t in results} or random.chance(0.4):
        attributes["dtype"] = onnx_dtype(random.dtype(schema, "T2"))
    return Case([random.array(dtype, _shape(random))], attributes, drawn=True)
