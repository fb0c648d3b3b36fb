"""If, Loop and Scan, with random bodies that read values of the graphs around them.

Bodies are made of operations that are rounded correctly everywhere (sums, products, signs), so that
results are equal to the bit, however many rounds there are.
"""
import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper

from case import Case, _tensor, generator, onnx_dtype, type_proto
from explained import ORT, REFERENCE, explained
from families.sequences import opset_for, sequence_type

NUMBERS = [np.dtype(t) for t in (np.float32, np.float64, np.int64, np.int32)]
OTHERS = [np.dtype(t) for t in (bool, object, np.uint8, np.int16, np.float16)]


ANSWERS = 6  # conditions that a loop's body can give out, one a round


@dataclasses.dataclass
class Value:
    name: str
    dtype: np.dtype
    shape: tuple | None  # None: it changes from round to round

    def info(self, random, shaped=0.6):
        known = self.shape is not None and random.chance(shaped)
        return helper.make_tensor_value_info(self.name, onnx_dtype(self.dtype),
                                             self.shape if known else None)


class Scope:
    """A graph in the making. Names are unique in the model, as the standard wants it."""

    counter = 0  # set to zero for each model

    def __init__(self, random, opset, around=()):
        self.random, self.opset = random, opset
        self.values, self.nodes, self.initializers = list(around), [], []

    @staticmethod
    def name():
        Scope.counter += 1
        return f"v{Scope.counter}"

    def add(self, operator, inputs, dtype, shape, **attributes):
        value = Value(self.name(), np.dtype(dtype), shape)
        self.nodes.append(helper.make_node(operator, [i.name if isinstance(i, Value) else i
                                                      for i in inputs], [value.name], **attributes))
        self.values.append(value)
        return value

    def constant(self, array):
        """As an initializer or as a node."""
        array = np.asarray(array)
        if self.random.chance():
            value = Value(self.name(), array.dtype, array.shape)
            self.initializers.append(_tensor(value.name, array))
            self.values.append(value)
            return value
        return self.add("Constant", [], array.dtype, array.shape, value=_tensor("", array))

    def of(self, dtype, shape):
        return [v for v in self.values if v.dtype == dtype and v.shape == shape]

    def step(self, dtype, shape):
        """One more value of a type and shape, made of those that are there."""
        candidates = self.of(dtype, shape)
        if not candidates or (shape is not None and self.random.chance(0.15)):
            return self.constant(self.random.array(dtype, shape, -2, 2))
        a = self.random.choice(candidates)
        if dtype == np.dtype(bool):
            return self.add(self.random.choice(["Not", "Identity"]), [a], dtype, shape)
        # Arithmetic on integers came with versions 6 and 7.
        if dtype not in NUMBERS or (dtype.kind == "i" and self.opset < 7):
            return self.add("Identity", [a], dtype, shape)
        if self.random.chance(0.3):
            return self.add(self.random.choice(["Neg", "Abs"]), [a], dtype, shape)
        if self.opset >= 7 and shape is not None and self.random.chance(0.3):
            others = self.of(dtype, ()) or [self.constant(self.random.array(dtype, (), -2, 2))]
            b = self.random.choice(others)
        else:
            b = self.random.choice(candidates)
        # Products of integers would overflow after some rounds.
        names = ["Add", "Sub"] if dtype.kind == "i" else ["Add", "Sub", "Mul"]
        return self.add(self.random.choice(names), [a, b], dtype, shape)

    def made(self, dtype, shape, steps=None):
        """A value that a node of this very graph makes: what a graph may give out."""
        for _ in range(steps or self.random.integer(1, 3)):
            value = self.step(dtype, shape)
        if not any(value.name in n.output for n in self.nodes):
            value = self.add("Identity", [value], dtype, shape)
        return value

    def graph(self, name, inputs, outputs):
        return helper.make_graph(self.nodes, name, inputs, outputs, self.initializers)


class Outer:
    """The main graph: inputs, values made of them for the bodies to read, and the model."""

    def __init__(self, random, schema):
        Scope.counter = 0
        self.random = random
        # ONNX Runtime begins at version 7.
        self.opset = opset_for(random, schema, 7 if random.chance(0.8) else 1)
        self.scope = Scope(random, self.opset)
        self.infos, self.fed = [], []

    def input(self, array, value_type=None, known=True):
        value = Value(f"in{len(self.fed)}", np.asarray(array).dtype if value_type is None else None,
                      np.shape(array) if value_type is None and known else None)
        self.infos.append(helper.make_value_info(value.name, value_type or type_proto(array)))
        self.fed.append(array)
        if value_type is None and known:
            self.scope.values.append(value)
        return value

    def around(self, dtypes, shape):
        """Some inputs, and what nodes before the operator make of them."""
        for dtype in dtypes:
            self.input(self.random.array(dtype, shape, -2, 2))
            if self.random.chance():
                self.scope.step(dtype, shape)

    def case(self, operator, inputs, outputs, attributes):
        node = helper.make_node(operator, [i.name if i else "" for i in inputs],
                                [f"out{i}" for i in range(outputs)], name="node", **attributes)
        self.scope.nodes.append(node)
        graph = self.scope.graph("case", self.infos,
                                 [onnx.ValueInfoProto(name=f"out{i}") for i in range(outputs)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 10 if self.opset <= 21 else 13
        return Case(self.fed, attributes, outputs=outputs, model=model)


def _dtypes(random, count):
    return [random.choice(NUMBERS if random.chance(0.8) else OTHERS) for _ in range(count)]


# ---- If ---------------------------------------------------------------------------------------


def _branch(random, opset, around, wanted, conditions, depth=0):
    """A graph without inputs that gives out values of the types and shapes that are wanted."""
    scope = Scope(random, opset, around)
    outputs = []
    for dtype, shape in wanted:
        if conditions and depth < 2 and random.chance(0.25):
            inner = [_branch(random, opset, scope.values, [(dtype, shape)], conditions, depth + 1)
                     for _ in range(2)]
            outputs.append(scope.add("If", [random.choice(conditions)], dtype, shape,
                                     then_branch=inner[0], else_branch=inner[1]))
        else:
            outputs.append(scope.made(dtype, shape))
    return scope.graph(f"branch{depth}", [], [v.info(random) for v in outputs])


def _sequence_branch(random, around, dtype):
    scope = Scope(random, 0, around)
    taken = [random.choice([v for v in around if v.dtype == dtype])
             for _ in range(random.integer(1, 3))]
    made = scope.add("SequenceConstruct", taken, dtype, None)
    return scope.graph("branch", [], [helper.make_value_info(made.name, sequence_type(dtype))])


@generator("If")
def if_(random, schema):
    outer = Outer(random, schema)
    shape = random.shape(high=3)
    dtypes = _dtypes(random, random.integer(1, 3))
    conditions = [outer.input(np.array(random.chance(), dtype=bool).reshape(random.choice([(), (1,)])))
                  for _ in range(random.integer(1, 2))]
    outer.around(dtypes, shape)
    if outer.opset >= 13 and random.chance(0.15):
        around = list(outer.scope.values)
        branches = [_sequence_branch(random, around, dtypes[0]) for _ in range(2)]
        return outer.case("If", conditions[:1], 1,
                          {"then_branch": branches[0], "else_branch": branches[1]})
    wanted = [(random.choice(dtypes), shape) for _ in range(random.integer(1, 3))]
    around = list(outer.scope.values)
    then = _branch(random, outer.opset, around, wanted, conditions)
    if random.chance(0.3):
        # The branches may give out different shapes.
        wanted = [(dtype, random.shape(high=3)) for dtype, _ in wanted]
    other = _branch(random, outer.opset, around, wanted, conditions)
    return outer.case("If", conditions[:1], len(wanted), {"then_branch": then, "else_branch": other})


# ---- Loop -------------------------------------------------------------------------------------


@dataclasses.dataclass
class Rounds:
    """How often a loop runs: its two inputs, and the conditions that its body gives out."""
    count: Value | None
    first: Value | None
    answers: Value
    number: int


def _one_element(random):
    # ONNX Runtime wants the body's inputs to be of the same shape, which the standard does not.
    return (1,) if random.chance(0.1) else ()


def _rounds(random, outer):
    """The number of rounds: by the count, by the condition, by both; or none at all."""
    number = 0 if random.chance(0.15) else random.integer(1, 4)
    answers = np.ones(ANSWERS, dtype=bool)
    count = first = None
    # A condition that is not given is true throughout: the body's answers are ignored then, which
    # not everybody knows, so that few cases have a count alone and answers that are false.
    by = random.choice(["count", "condition", "both"])
    if by != "condition":
        longer = random.integer(0, 2) if by == "both" and random.chance() else 0
        count = outer.input(np.array(number + longer, dtype=np.int64).reshape(
            _one_element(random)), known=False)
        if longer and number:
            answers[number - 1] = False
    if by != "count":
        start = number > 0 or (by == "both" and int(outer.fed[-1].ravel()[0]) == 0)
        first = outer.input(np.array(start).reshape(_one_element(random)), known=False)
        if by == "condition" and number:
            answers[number - 1] = False
    elif number > 1 and random.chance(0.2):
        answers[random.integer(0, number - 2)] = False
    return Rounds(count, first, outer.input(answers, known=False), number)


def _grow(random, scope, value):
    """The value with more along its first axis."""
    extra = scope.constant(random.array(value.dtype, (1,) + value.shape[1:], -2, 2))
    return scope.add("Concat", [value, extra], value.dtype, None, axis=0)


@generator("Loop")
def loop(random, schema):
    outer = Outer(random, schema)
    shape = random.shape(high=3)
    dtypes = _dtypes(random, random.integer(1, 3))
    rounds = _rounds(random, outer)
    outer.around(dtypes, shape)
    around = list(outer.scope.values)
    scope = Scope(random, outer.opset, around)
    turn = Value(scope.name(), np.dtype(np.int64), ())
    going = Value(scope.name(), np.dtype(bool), ())
    infos, initial, finals = [turn.info(random, 1.0), going.info(random, 1.0)], [], []
    scope.values.append(turn)
    answer = scope.add("Gather", [rounds.answers, turn], bool, (), axis=0)
    kinds = [random.choice(["same", "same", "same", "grow", "sequence"])
             for _ in range(random.integer(0 if schema.since_version >= 11 else 1, 3))]
    carried = []
    for kind in kinds:
        dtype = random.choice(dtypes)
        value = Value(scope.name(), dtype, shape)
        carried.append(value)
        if kind == "sequence" and outer.opset >= 13:
            initial.append(outer.input([random.array(dtype, shape)], sequence_type(dtype)))
            infos.append(helper.make_value_info(value.name, sequence_type(dtype)))
        elif kind == "grow" and shape:
            initial.append(outer.input(random.array(dtype, shape, -2, 2), known=False))
            infos.append(helper.make_tensor_value_info(value.name, onnx_dtype(dtype), None))
        else:
            initial.append(random.choice([v for v in around if v.dtype == dtype
                                          and v.shape == shape]))
            infos.append(value.info(random))
            scope.values.append(value)
    for kind, value in zip(kinds, carried):
        if kind == "sequence" and outer.opset >= 13:
            item = scope.made(value.dtype, shape)
            made = Value(scope.name(), value.dtype, None)
            scope.nodes.append(helper.make_node("SequenceInsert", [value.name, item.name],
                                                [made.name]))
            finals.append(helper.make_value_info(made.name, sequence_type(value.dtype)))
        elif kind == "grow" and shape:
            finals.append(_grow(random, scope, value).info(random))
        else:
            finals.append(_body_value(random, scope, value.dtype, shape, going).info(random))
    # Without a round a scan output is known by its declared shape alone.
    shaped = 1.0 if not rounds.number else 0.6
    scans = random.integer(0 if finals else 1, 2)
    for _ in range(scans):
        dtype = random.choice(dtypes)
        if dtype == np.dtype(np.int64) and random.chance(0.3):
            made = scope.add("Identity", [turn], np.int64, ())
        else:
            made = scope.made(dtype, shape)
        finals.append(made.info(random, shaped))
    body = scope.graph("body", infos, [answer.info(random), *finals])
    return outer.case("Loop", [rounds.count, rounds.first, *initial], len(finals), {"body": body})


def _body_value(random, scope, dtype, shape, condition):
    """A value of a loop's body, sometimes from a branch in it."""
    if not random.chance(0.2):
        return scope.made(dtype, shape)
    around = list(scope.values)
    branches = [_branch(random, scope.opset, around, [(dtype, shape)], [condition]) for _ in range(2)]
    return scope.add("If", [condition], dtype, shape,
                     then_branch=branches[0], else_branch=branches[1])


# ---- Scan -------------------------------------------------------------------------------------


def _with_axis(shape, axis, length):
    """The shape with one more axis, counted as in the longer shape."""
    at = axis + len(shape) + 1 if axis < 0 else axis
    return shape[:at] + (length,) + shape[at:]


def _scan_attributes(random, schema, rank, inputs, outputs):
    """Axes and directions, each list given or left out."""
    low = -rank - 1 if schema.since_version >= 11 and random.chance() else 0
    axes = {"scan_input_axes": [random.integer(low, rank) for _ in range(inputs)],
            "scan_output_axes": [random.integer(low, rank) for _ in range(outputs)],
            "scan_input_directions": [random.integer(0, 1) for _ in range(inputs)],
            "scan_output_directions": [random.integer(0, 1) for _ in range(outputs)]}
    return {k: v for k, v in axes.items() if v and random.chance(0.4)}


@generator("Scan")
def scan(random, schema):
    outer = Outer(random, schema)
    shape = random.shape(high=2, empty=0.02)
    dtypes = _dtypes(random, random.integer(1, 2))
    batches = (random.integer(1, 3),) if schema.since_version == 8 else ()
    length = 0 if not batches and random.chance(0.05) else random.integer(1, 4)
    outer.around(dtypes, shape)
    around = list(outer.scope.values)
    scope = Scope(random, outer.opset, around)
    states, scanned, outputs = random.integer(0, 2), random.integer(1, 2), random.integer(0, 2)
    outputs = max(outputs, 1 - states)
    attributes = {"num_scan_inputs": scanned}
    inputs, infos, finals = [], [], []
    if batches:
        lengths = random.rng.integers(1, length + 1, batches) if random.chance(0.6) else None
        if lengths is not None:
            lengths[random.integer(0, batches[0] - 1)] = length
        inputs.append(None if lengths is None else outer.input(lengths, known=False))
        if random.chance():
            attributes["directions"] = [random.integer(0, 1) for _ in range(scanned)]
    else:
        attributes.update(_scan_attributes(random, schema, len(shape), scanned, outputs))
    carried = []
    for i in range(states + scanned):
        dtype = random.choice(dtypes)
        value = Value(scope.name(), dtype, shape)
        full = batches + shape
        if i >= states:
            axes = attributes.get("scan_input_axes", [0] * scanned)
            full = batches + _with_axis(shape, axes[i - states], length)
        else:
            carried.append(value)
        inputs.append(outer.input(random.array(dtype, full, -2, 2), known=False))
        infos.append(value.info(random))
        scope.values.append(value)
    for value in carried:
        finals.append(scope.made(value.dtype, shape).info(random))
    for _ in range(outputs):
        # Without a round a scan output is known by its declared shape alone.
        shaped = 0.6 if length else 1.0
        finals.append(scope.made(random.choice(dtypes), shape).info(random, shaped))
    attributes["body"] = scope.graph("body", infos, finals)
    return outer.case("Scan", inputs, len(finals), attributes)


@explained("Loop", REFERENCE,
           "a scan output stacks the values of the rounds along a new first axis; the evaluator uses "
           "vstack, which does so for vectors alone, joins other tensors along the axis that they "
           "have, and makes columns of scalars")
def _stacks_vectors_only(case, ours, theirs):
    body = case.attributes["body"]
    carried = len(body.input) - 2
    return any(np.ndim(o) != 2 and np.shape(o) != np.shape(t)
               for o, t in zip(ours[carried:], theirs[carried:]))


@explained("Loop", REFERENCE,
           "a condition that is left out is true throughout; the evaluator takes None for false and "
           "makes no round")
def _no_condition(case, ours, theirs):
    node = case.model.graph.node[-1]
    return len(node.input) < 2 or not node.input[1]


@explained("Loop", ORT,
           "without the input cond a loop has the rounds of its trip count, and the condition that "
           "its body gives out is ignored; ONNX Runtime stops at it")
def _stops_all_the_same(case, ours, theirs):
    node = case.model.graph.node[-1]
    answers = [v for v in case.inputs if np.shape(v) == (ANSWERS,) and v.dtype == bool]
    return node.input[0] and not node.input[1] and not all(answers[0])


@explained("Loop", ORT,
           "of a scan output of strings ONNX Runtime copies the first round alone; the others are "
           "empty")
def _strings_of_one_round(case, ours, theirs):
    body = case.attributes["body"]
    carried = len(body.input) - 2
    return any(np.asarray(o).dtype == object and len(o) > 1 and np.array_equal(o[0], t[0])
               and np.all((t == o) | (t == "")) for o, t in zip(ours[carried:], theirs[carried:]))


@explained("Scan", REFERENCE,
           "version 8 has a batch axis before the sequence axis; the evaluator follows version 9 in "
           "all versions and scans the batches", shown_by=152)
def _scans_batches(case, ours, theirs):
    return case.version == 8


@explained("Scan", REFERENCE,
           "the evaluator refuses axes other than the first, except negative ones, which it ignores")
def _ignores_negative_axes(case, ours, theirs):
    return any(a < 0 for name in ("scan_input_axes", "scan_output_axes")
               for a in case.attributes.get(name, []))
