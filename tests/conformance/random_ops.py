#!/usr/bin/env python3
"""Checks operators that draw numbers: distributions, types, seeds. ONNX's tests leave them open.

Every operator whose schema has a `seed`, and Dropout before it had one, in every version and with
every type that the schema allows. Each statistic must lie within five standard deviations of what
theory says (or have a chance of 6e-7 where it is not normal), and all seeds are fixed: what passes
once passes always.

usage: tests/conformance/random_ops.py   (SARDONYX_LIBRARY names another libsardonyx.so)
"""
import collections
import itertools
import re
import sys

import numpy as np
import onnx
import scipy.stats
from onnx import TensorProto, helper

from sardonyx_backend import Context, SardonyxError, SardonyxRep

COUNT = 60000  # numbers that a statistic is made of
SIGMAS = 5
CHANCE = 2 * scipy.stats.norm.sf(SIGMAS)
# Largest distance between a number and its neighbour below 1.
STEPS = {TensorProto.FLOAT: 2**-24, TensorProto.DOUBLE: 2**-53, TensorProto.FLOAT16: 2**-11,
         TensorProto.BFLOAT16: 2**-8}


class Checks:
    def __init__(self):
        self.count, self.mistakes, self.where = 0, [], ""

    def true(self, condition, text):
        self.count += 1
        if not condition:
            self.mistakes.append(f"{self.where}: {text}")

    def near(self, got, want, deviation, what):
        """Within SIGMAS standard deviations."""
        self.true(abs(got - want) <= SIGMAS * deviation,
                  f"{what} is {got:.6g}, expected {want:.6g} +- {SIGMAS * deviation:.2g}")

    def same(self, a, b, text):
        self.true(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes(), text)

    def differ(self, a, b, text):
        self.true(a.tobytes() != b.tobytes(), text)


CHECK = Checks()
SEEN = collections.defaultdict(set)  # operator -> versions that were run


# ---- models --------------------------------------------------------------------------------------

def numpy_type(elem_type):
    return object if elem_type == TensorProto.STRING else \
        np.dtype(helper.tensor_dtype_to_np_dtype(elem_type))


def schemas(name):
    return sorted((s for s in onnx.defs.get_all_schemas_with_history()
                   if s.name == name and s.domain == ""), key=lambda s: s.since_version)


def types(schema, parameter):
    """Element types that a type parameter of a schema may be."""
    for constraint in schema.type_constraints:
        if constraint.type_param_str == parameter:
            names = (re.fullmatch(r"tensor\((\w+)\)", text)[1]
                     for text in constraint.allowed_type_strs)
            return [TensorProto.DataType.Value(name.upper()) for name in names]
    raise KeyError(parameter)


def model(version, nodes, inputs=(), outputs=("y",)):
    """A ready model; inputs: (name, element type)."""
    for node in nodes:
        SEEN[node.op_type].add(max((s.since_version for s in schemas(node.op_type)
                                    if s.since_version <= version), default=0))
    graph = helper.make_graph(
        nodes, "random", [helper.make_tensor_value_info(name, elem, None) for name, elem in inputs],
        [onnx.ValueInfoProto(name=name) for name in outputs])
    return SardonyxRep(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", version)]))


def node(op, inputs=(), outputs=("y",), **attributes):
    made = helper.make_node(op, inputs, outputs)
    for name, value in attributes.items():
        kind = onnx.AttributeProto.INTS if isinstance(value, list) else None
        made.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return made


def draw(version, op, inputs=(), **attributes):
    """The results of one node; inputs: (array, element type)."""
    names = [f"x{i}" for i in range(len(inputs))]
    ready = model(version, [node(op, names, **attributes)],
                  [(name, elem) for name, (_, elem) in zip(names, inputs)])
    return Context(ready).run([array for array, _ in inputs])[0]


def refuses(text, *arguments, **attributes):
    try:
        draw(*arguments, **attributes)
        CHECK.true(False, f"nothing is wrong with {attributes}, expected: {text}")
    except SardonyxError as error:
        CHECK.true(text in str(error), f"'{error}' does not say '{text}'")


# ---- distributions -------------------------------------------------------------------------------

def check_independent(values):
    """No correlation with neighbours, the other half of a pair, or across threads' pieces."""
    centred = values - values.mean()
    for lag in (1, 2, 3, 64, 8192):
        found = np.mean(centred[lag:] * centred[:-lag]) / centred.var()
        CHECK.near(found, 0, (values.size - lag)**-0.5, f"correlation at distance {lag}")


def check_shape_of(values, distribution, step):
    """Kolmogorov's distance; rounding to a type may move a number by half a step."""
    bound = scipy.stats.kstwobign.isf(CHANCE) / values.size**0.5 + step / 2
    found = scipy.stats.kstest(values, distribution.cdf).statistic
    CHECK.true(found <= bound, f"its distribution is {found:.4g} off, at most {bound:.4g} expected")


def check_uniform(array, elem, low=0.0, high=1.0):
    values = array.astype(np.float64).ravel()
    n, width = values.size, high - low
    CHECK.true(values.min() >= low and values.max() < high,
               f"[{values.min()}, {values.max()}] is not within [{low}, {high})")
    CHECK.near(values.mean(), (low + high) / 2, width / (12 * n)**0.5, "mean")
    CHECK.near(values.var(), width**2 / 12, width**2 / (180 * n)**0.5, "variance")
    check_shape_of((values - low) / width, scipy.stats.uniform,
                   STEPS[elem] * max(1, abs(low), abs(high)) * 2 / width)
    check_independent(values)


def check_normal(array, elem, mean=0.0, scale=1.0):
    values = array.astype(np.float64).ravel()
    n = values.size
    CHECK.true(np.isfinite(values).all(), "not all are finite")
    CHECK.near(values.mean(), mean, scale / n**0.5, "mean")
    CHECK.near(values.var(), scale**2, scale**2 * (2 / n)**0.5, "variance")
    CHECK.near(scipy.stats.skew(values), 0, (6 / n)**0.5, "skewness")
    CHECK.near(scipy.stats.kurtosis(values), 0, (24 / n)**0.5, "excess kurtosis")
    check_shape_of((values - mean) / scale, scipy.stats.norm,
                   STEPS[elem] * max(1, abs(mean) / scale) * 2)
    check_independent(values)
    CHECK.true(np.abs(values - mean).max() > 3.5 * scale, "it has no tails")


DISTRIBUTIONS = {
    "RandomUniform": (check_uniform, {"low": -2.0, "high": 5.0}),
    "RandomNormal": (check_normal, {"mean": -3.0, "scale": 0.5}),
}


def check_plain(op):
    """RandomUniform, RandomNormal."""
    check, attributes = DISTRIBUTIONS[op]
    for schema in schemas(op):
        version = schema.since_version
        for elem in types(schema, "T"):
            CHECK.where = f"{op} {version} {numpy_type(elem)}"
            y = draw(version, op, shape=[3, COUNT // 3], dtype=elem, seed=1.0)
            CHECK.true((y.dtype, y.shape) == (numpy_type(elem), (3, COUNT // 3)), "type or shape")
            check(y, elem)
            check(draw(version, op, shape=[COUNT], dtype=elem, seed=2.0, **attributes),
                  elem, **attributes)
        CHECK.where = f"{op} {version}"
        for shape in ([], [0], [1], [7], [2, 0, 3], [1, 3, 5]):
            y = draw(version, op, shape=shape, seed=0.0)
            CHECK.true((y.dtype, list(y.shape)) == (np.float32, shape), f"shape {shape}")
        refuses("shape", version, op)
        refuses("int32", version, op, shape=[3], dtype=TensorProto.INT32)
        refuses("-1", version, op, shape=[2, -1])
    CHECK.where = op
    first, second = attributes  # names: low and high, mean and scale
    if op == "RandomNormal":
        y = draw(22, op, shape=[100], seed=1.0, mean=7.0, scale=0.0)
        CHECK.true((y == 7).all(), "scale 0 does not give the mean")
    # What rounding could carry to the bound which is not part of the range.
    for elem in STEPS if op == "RandomUniform" else ():
        y = draw(22, op, shape=[COUNT], seed=3.0, dtype=elem, **{first: 1.0, second: 2.0})
        CHECK.true((y < 2).all() and (y >= 1).all(), f"{y.dtype}: outside [1, 2)")


def check_like(op):
    """RandomUniformLike, RandomNormalLike: every type of input; without dtype, its own."""
    plain = op.removesuffix("Like")
    check, attributes = DISTRIBUTIONS[plain]
    for schema in schemas(op):
        version, drawn = schema.since_version, types(schema, "T2")
        for elem in types(schema, "T1"):
            CHECK.where = f"{op} {version} of {TensorProto.DataType.Name(elem)}"
            x = (np.full((2, 3), "word", object) if elem == TensorProto.STRING else
                 np.zeros((2, 3), numpy_type(elem)), elem)
            for to in drawn:
                y = draw(version, op, [x], dtype=to, seed=1.0)
                CHECK.true((y.dtype, y.shape) == (numpy_type(to), (2, 3)), "type or shape")
            if elem in drawn:
                y = draw(version, op, [x], seed=1.0)
                CHECK.true((y.dtype, y.shape) == (numpy_type(elem), (2, 3)), "type or shape")
            else:
                refuses("without attribute 'dtype'", version, op, [x])
        for elem in drawn:
            CHECK.where = f"{op} {version} {numpy_type(elem)}"
            x = (np.zeros((4, COUNT // 4), numpy_type(elem)), elem)
            check(draw(version, op, [x], seed=4.0), elem)
            check(draw(version, op, [x], seed=5.0, **attributes), elem, **attributes)


def check_bernoulli():
    chances = np.array([0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])
    for schema in schemas("Bernoulli"):
        version = schema.since_version
        for elem, to in itertools.product(types(schema, "T1"), [None, *types(schema, "T2")]):
            dtype = {} if to is None else {"dtype": to}
            wanted = numpy_type(elem if to is None else to)
            CHECK.where = f"Bernoulli {version} {numpy_type(elem)} to {wanted}"
            p = np.repeat(chances, COUNT // 10).astype(numpy_type(elem)).reshape(chances.size, -1)
            y = draw(version, "Bernoulli", [(p, elem)], seed=6.0, **dtype)
            CHECK.true((y.dtype, y.shape) == (wanted, p.shape), "type or shape")
            y = y.astype(np.float64)
            CHECK.true(set(np.unique(y)) <= {0, 1}, "neither 0 nor 1")
            for row, chance in zip(y, p[:, 0].astype(np.float64)):
                CHECK.near(row.mean(), chance, (chance * (1 - chance) / row.size)**0.5,
                           f"frequency of {chance:.3g}")


def check_multinomial():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(3, 6)) * 1.5
    logits[1] += 80  # only differences count
    logits[2, 3] = -np.inf
    samples = COUNT
    for schema in schemas("Multinomial"):
        version = schema.since_version
        for elem, to in itertools.product(types(schema, "T1"), [None, *types(schema, "T2")]):
            dtype = {} if to is None else {"dtype": to}
            wanted = numpy_type(to or TensorProto.INT32)
            CHECK.where = f"Multinomial {version} {numpy_type(elem)} to {wanted}"
            x = logits.astype(numpy_type(elem))
            y = draw(version, "Multinomial", [(x, elem)], seed=7.0, sample_size=samples,
                     **dtype)
            CHECK.true((y.dtype, y.shape) == (wanted, (3, samples)), "type or shape")
            CHECK.true(y.min() >= 0 and y.max() < 6, "a class that is none")
            exact = x.astype(np.float64)
            chances = np.exp(exact - exact.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            for row, chance in zip(y, chances):
                found, possible = np.bincount(row, minlength=6), chance > 0
                CHECK.true(found[~possible].sum() == 0, "drew what has no chance")
                statistic = ((found - samples * chance)**2)[possible] / (samples * chance)[possible]
                CHECK.true(statistic.sum() <= scipy.stats.chi2.isf(CHANCE, possible.sum() - 1),
                           f"frequencies {found / samples} for {chance}")
            CHECK.true(draw(version, "Multinomial", [(x, elem)], **dtype).shape == (3, 1),
                       "sample_size is not 1 where it is left out")
        CHECK.where = f"Multinomial {version}"
        nothing = np.full((1, 4), -np.inf, np.float32)
        refuses("row 0", version, "Multinomial", [(nothing, TensorProto.FLOAT)])
        refuses("type float32", version, "Multinomial", [(nothing, TensorProto.FLOAT)],
                dtype=TensorProto.FLOAT)


# ---- Dropout -------------------------------------------------------------------------------------

def drop(version, x, elem, ratio=None, ratio_elem=TensorProto.FLOAT, training=True, **attributes):
    """(output, mask) of Dropout; ratio None: left out."""
    inputs, feeds = [("x", elem)], [x]
    if version < 12:
        attributes.update({} if ratio is None else {"ratio": ratio})
    else:
        inputs += [("ratio", ratio_elem)] * (ratio is not None) + [("training", TensorProto.BOOL)]
        feeds += [np.array(ratio, numpy_type(ratio_elem))] * (ratio is not None)
        feeds += [np.array(training)]
    names = ["x", "ratio" if ratio is not None else "", "training"] if version >= 12 else ["x"]
    ready = model(version, [node("Dropout", names, ("y", "mask"), **attributes)], inputs,
                  ("y", "mask"))
    return Context(ready).run(feeds)


def check_dropped(x, y, mask, ratio, mask_type):
    CHECK.true(y.dtype == x.dtype and y.shape == mask.shape == x.shape, "type or shape")
    CHECK.true(mask.dtype == mask_type, f"the mask is {mask.dtype}, expected {mask_type}")
    kept = mask.astype(bool)
    CHECK.true(set(np.unique(mask.astype(np.float32))) <= {0, 1}, "the mask is not 0 and 1")
    CHECK.near(kept.mean(), 1 - ratio, (ratio * (1 - ratio) / x.size)**0.5, "share that is kept")
    CHECK.true((y.astype(np.float64)[~kept] == 0).all(), "dropped elements are not 0")
    compute = np.float64 if x.dtype == np.float64 else np.float32
    scaled = (x.astype(compute) * compute(1 / (1 - ratio))).astype(x.dtype)
    CHECK.true((y[kept].astype(np.float64) == scaled[kept].astype(np.float64)).all(),
               "kept elements are not scaled by 1 / (1 - ratio)")


def check_dropout():
    rng = np.random.default_rng(2)
    for schema in schemas("Dropout"):
        version = schema.since_version
        trains = version < 7 or version >= 12
        for elem in types(schema, "T"):
            dtype = numpy_type(elem)
            CHECK.where = f"Dropout {version} {dtype}"
            x = (1 + rng.random((10, COUNT // 10))).astype(dtype)
            mask_type = np.dtype(bool) if version >= 10 else dtype
            seed = {"seed": 5} if version >= 12 else {}
            for ratio in (None, 0.25) if trains else ():
                y, mask = drop(version, x, elem, ratio, **seed)
                check_dropped(x, y, mask, ratio or 0.5, mask_type)
            still = {"training": False} if version >= 12 else {"is_test": 1} if version < 7 else {}
            y, mask = drop(version, x, elem, 0.25, **still)
            CHECK.same(y, x, "it changes its input though it does not train")
            CHECK.true(mask.astype(np.float32).all() and mask.dtype == mask_type, "mask of ones")
        x = np.ones((3, 1000), np.float32)
        for ratio_elem in types(schema, "T1") if version >= 12 else ():
            CHECK.where = f"Dropout {version} ratio {numpy_type(ratio_elem)}"
            check_dropped(x, *drop(version, x, TensorProto.FLOAT, 0.5, ratio_elem, seed=1), 0.5,
                          np.dtype(bool))
        CHECK.where = f"Dropout {version}"
        if trains:
            CHECK.same(drop(version, x, TensorProto.FLOAT, 0.0)[0], x, "ratio 0 drops")


# ---- seeds ---------------------------------------------------------------------------------------

def seeded_nodes():
    """Each operator once, with what it takes: (name, input names, attributes, feeds)."""
    half, rows = np.full((2, 20000), 0.5, np.float32), np.zeros((4, 8), np.float32)
    on = np.array(True)
    yield "RandomUniform", [], {"shape": [20001]}, []
    yield "RandomNormal", [], {"shape": [20001]}, []
    yield "RandomUniformLike", ["x"], {}, [half]
    yield "RandomNormalLike", ["x"], {}, [half]
    yield "Bernoulli", ["x"], {}, [half]
    yield "Multinomial", ["x"], {"sample_size": 5000}, [rows]
    yield "Dropout", ["x", "", "on"], {}, [half, on]


def with_inputs(version, nodes, feeds, outputs):
    kinds = [("x", TensorProto.FLOAT), ("on", TensorProto.BOOL)]
    return model(version, nodes, kinds[:len(feeds)], outputs)


def check_seeds():
    for op, names, attributes, feeds in seeded_nodes():
        CHECK.where = f"seeds of {op}"
        number = int if op == "Dropout" else float
        results = {}
        for seed in (0, 1, 2, 3000000):
            one = with_inputs(22, [node(op, names, seed=number(seed), **attributes)], feeds, ("y",))
            first = Context(one, 1)
            y = results[seed] = first.run(feeds)[0]
            CHECK.same(first.run(feeds)[0], y, "the second run of a context differs")
            CHECK.same(Context(one, 1, seed=99).run(feeds)[0], y, "the context's seed matters")
            for threads in (2, 3, 8):
                CHECK.same(Context(one, threads).run(feeds)[0], y, f"{threads} threads differ")
            again = with_inputs(22, [node(op, names, seed=number(seed), **attributes)], feeds,
                                ("y",))
            CHECK.same(Context(again).run(feeds)[0], y, "another program differs")
        for a, b in itertools.combinations(results, 2):
            CHECK.differ(results[a], results[b], f"seeds {a} and {b} give the same")


def check_no_seed():
    """Without a seed the node takes one from the context, and another in each run and each node."""
    for op, names, attributes, feeds in seeded_nodes():
        CHECK.where = f"{op} without seed"
        pair = with_inputs(22, [node(op, names, ("a",), **attributes),
                                node(op, names, ("b",), **attributes)], feeds, ("a", "b"))
        context = Context(pair, 1, seed=7)
        first, second = context.run(feeds), context.run(feeds)
        CHECK.differ(*first, "two nodes draw the same")
        for a, b in zip(first, second):
            CHECK.differ(a, b, "two runs draw the same")
        for seed, threads in ((7, 1), (7, 2), (7, 5)):
            for a, b in zip(first, Context(pair, threads, seed).run(feeds)):
                CHECK.same(a, b, "the same seed of the context draws otherwise")
        for a, b in zip(first, Context(pair, 1, 8).run(feeds)):
            CHECK.differ(a, b, "another seed of the context draws the same")
        for a, b in zip(Context(pair).run(feeds), Context(pair).run(feeds)):
            CHECK.same(a, b, "the default seed is not fixed")
        values = [y.astype(np.float64).ravel() for y in first]
        CHECK.near(np.corrcoef(*values)[0, 1], 0, values[0].size**-0.5, "correlation of two nodes")


def check_rounds():
    """The rounds of a Loop are as many draws, unless the node has a seed."""
    for attributes, distinct in (({}, 5), ({"seed": 1.0}, 1)):
        body = helper.make_graph(
            [node("RandomUniform", (), ("row",), shape=[40], **attributes),
             node("Identity", ["go"], ("on",))], "body",
            [helper.make_tensor_value_info("i", TensorProto.INT64, []),
             helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
            [helper.make_tensor_value_info("on", TensorProto.BOOL, []),
             helper.make_tensor_value_info("row", TensorProto.FLOAT, [40])])
        loop = helper.make_node("Loop", ["count", ""], ["y"], body=body)
        y = Context(model(22, [loop], [("count", TensorProto.INT64)])).run([np.array(5)])[0]
        CHECK.where = f"Loop over RandomUniform {attributes}"
        CHECK.true(y.shape == (5, 40) and len(np.unique(y, axis=0)) == distinct,
                   f"{len(np.unique(y, axis=0))} different rounds of {y.shape}")


def check_complete():
    """Every version that has a seed was run."""
    CHECK.where = "schemas"
    for schema in onnx.defs.get_all_schemas_with_history():
        if "seed" in schema.attributes or schema.name == "Dropout":
            CHECK.true(schema.since_version in SEEN[schema.name],
                       f"{schema.name} {schema.since_version} was not run")


def main():
    for op in ("RandomUniform", "RandomNormal"):
        check_plain(op)
        check_like(op + "Like")
    for part in (check_bernoulli, check_multinomial, check_dropout, check_seeds, check_no_seed,
                 check_rounds, check_complete):
        part()
    print("\n".join(CHECK.mistakes))
    print(f"{CHECK.count - len(CHECK.mistakes)} checks passed, {len(CHECK.mistakes)} failed")
    return 1 if CHECK.mistakes or not CHECK.count else 0


if __name__ == "__main__":
    sys.exit(main())
