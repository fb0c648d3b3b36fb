"""Sequences and optionals."""
import numpy as np
import onnx
from onnx import TensorProto, helper

from case import Case, dtype_of, generator, onnx_dtype, type_proto
from compare import difference
from explained import ORT, REFERENCE, explained


def item_dtype(random, schema, parameter, prefix):
    """A type of items, of those that a parameter allows as "seq(tensor(..))" or the like. Half of
    the draws come from the types that ONNX Runtime has sequences of."""
    names = [t for c in schema.type_constraints if c.type_param_str == parameter
             for t in c.allowed_type_strs]
    found = [dtype_of(t[len(prefix):].rstrip(")") + ")") for t in names
             if t.startswith(prefix + "tensor(")]
    common = [t for t in found if t in (np.dtype(np.float32), np.dtype(np.int64), np.dtype(object))]
    return random.choice(common if random.chance(0.4) else found)


def sequence_type(dtype):
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(onnx_dtype(dtype), None))


def items(random, dtype, count, shape=None):
    """Tensors of one type: of any shapes, or all of one."""
    return [random.array(dtype, random.shape(high=3) if shape is None else shape)
            for _ in range(count)]


def position(random, low, high):
    """An index into a sequence, a scalar of either type."""
    return np.array(random.integer(low, high), dtype=random.choice([np.int32, np.int64]))


@generator("SequenceAt")
def sequence_at(random, schema):
    dtype = item_dtype(random, schema, "S", "seq(")
    count = random.integer(1, 4)
    return Case([items(random, dtype, count), position(random, -count, count - 1)],
                input_types=[sequence_type(dtype), None])


@generator("SequenceLength")
def sequence_length(random, schema):
    dtype = item_dtype(random, schema, "S", "seq(")
    return Case([items(random, dtype, random.integer(0, 4))], input_types=[sequence_type(dtype)])


@generator("SequenceErase")
def sequence_erase(random, schema):
    dtype = item_dtype(random, schema, "S", "seq(")
    count = random.integer(1, 4)
    where = position(random, -count, count - 1) if random.chance(0.7) else None
    return Case([items(random, dtype, count), where], input_types=[sequence_type(dtype), None])


@generator("SequenceInsert")
def sequence_insert(random, schema):
    dtype = item_dtype(random, schema, "S", "seq(")
    count = random.integer(0, 4)
    where = position(random, -count, count) if random.chance(0.7) else None
    return Case([items(random, dtype, count), random.array(dtype, random.shape(high=3)), where],
                input_types=[sequence_type(dtype), None, None])


@explained("SequenceInsert", REFERENCE,
           "a position may be the number of items, which appends; the evaluator takes it modulo that "
           "number and inserts at the front")
def _appends_in_front(case, ours, theirs):
    sequence, _, where = case.inputs
    return where is not None and int(where) == len(sequence)


@generator("SequenceConstruct")
def sequence_construct(random, schema):
    dtype = random.dtype(schema, "T")
    return Case(items(random, dtype, random.integer(1, 5)))


@generator("SequenceEmpty")
def sequence_empty(random, schema):
    # An empty list tells little of its type, so in most cases an item is put into it.
    dtype = item_dtype(random, schema, "S", "seq(")
    attributes = {"dtype": onnx_dtype(dtype)}
    if dtype == np.float32 and random.chance():
        attributes = {}
    if random.chance(0.2):
        return Case([], attributes)
    item = random.array(dtype, random.shape(high=3))
    nodes = [helper.make_node("SequenceEmpty", [], ["empty"], **attributes),
             helper.make_node("SequenceInsert", ["empty", "in0"], ["out0"])]
    return Case([item], attributes, model=whole_model(random, schema, nodes, [item], 1))


def opset_for(random, schema, least=1):
    """An opset in which this version of the operator is the current one, and at least `least`."""
    later = [s.since_version for s in onnx.defs.get_all_schemas_with_history()
             if s.name == schema.name and s.domain == schema.domain
             and s.since_version > schema.since_version]
    last = min(later) - 1 if later else onnx.defs.onnx_opset_version()
    if random.chance(0.9):
        last = max(schema.since_version, min(last, 26))  # the newest that ONNX Runtime takes
    first = max(min(least, last), schema.since_version)
    return first if random.chance(0.3) else random.integer(first, last)


def whole_model(random, schema, nodes, inputs, outputs, types=None, least=1):
    """A model of several nodes; graph inputs in0, in1 .., outputs out0, out1 .."""
    infos = [helper.make_value_info(f"in{i}", types[i] if types and types[i] else type_proto(v))
             for i, v in enumerate(inputs)]
    graph = helper.make_graph(nodes, "case", infos,
                              [onnx.ValueInfoProto(name=f"out{i}") for i in range(outputs)])
    opset = opset_for(random, schema, least)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 10 if opset <= 21 else 13
    return model


@generator("ConcatFromSequence")
def concat_from_sequence(random, schema):
    dtype = item_dtype(random, schema, "S", "seq(")
    count = random.integer(1, 4)
    new_axis = random.chance()
    rank = random.integer(0 if new_axis else 1, 3)
    shape = random.shape(rank, rank)
    axis = random.integer(-rank - new_axis, rank - 1 + new_axis)
    tensors = items(random, dtype, count, shape)
    if not new_axis:
        for i in range(count):
            sizes = list(shape)
            sizes[axis] = random.size()
            tensors[i] = random.array(dtype, sizes)
    attributes = {"axis": axis}
    if new_axis or random.chance():
        attributes["new_axis"] = int(new_axis)
    return Case([tensors], attributes, input_types=[sequence_type(dtype)])


@generator("SplitToSequence")
def split_to_sequence(random, schema):
    dtype = random.dtype(schema, "T")
    shape = random.shape(1, 4)
    axis = random.axis(len(shape))
    attributes = {"axis": axis} if axis or random.chance() else {}
    length = shape[axis]
    if random.chance(0.4):
        attributes["keepdims"] = random.integer(0, 1)
    kind = random.choice(["none", "scalar", "list"])
    index = random.choice([np.int32, np.int64])
    split = None
    if kind == "scalar" or (kind == "list" and not length):
        # Chunks of this size, the last one may be smaller. Of nothing there are no chunks to make.
        split = np.array(random.integer(1, max(length, 1) + 1), dtype=index) if length else None
    elif kind == "list":
        parts, rest = [], length
        while rest:
            parts.append(random.integer(1, rest))
            rest -= parts[-1]
        split = np.array(parts, dtype=index)
    return Case([random.array(dtype, shape), split], attributes)


@explained("SplitToSequence", ORT,
           "keepdims is ignored if split is given; ONNX Runtime follows it all the same where split "
           "is the scalar 1")
def _follows_keepdims(case, ours, theirs):
    split = case.inputs[1]
    return (split is not None and split.shape == () and int(split) == 1
            and case.attributes.get("keepdims") == 0)


def _map_body(random, dtypes, outputs):
    """A body for SequenceMap: inputs b0 .., outputs each made of one of the inputs."""
    nodes, infos = [], []
    for i in range(outputs):
        source = random.integer(0, len(dtypes) - 1)
        dtype, name = dtypes[source], f"b{source}"
        operator = "Identity"
        if dtype in (np.dtype(np.float32), np.dtype(np.int64)):
            operator = random.choice(["Identity", "Neg", "Abs", "Shape", "Double"])
        elif dtype != np.dtype(object):
            operator = random.choice(["Identity", "Shape"])
        kind = TensorProto.INT64 if operator == "Shape" else onnx_dtype(dtype)
        if operator == "Double":
            nodes.append(helper.make_node("Add", [name, name], [f"r{i}"]))
        else:
            nodes.append(helper.make_node(operator, [name], [f"r{i}"]))
        infos.append(helper.make_tensor_value_info(f"r{i}", kind, None))
    takes = [helper.make_tensor_value_info(f"b{i}", onnx_dtype(t), None)
             for i, t in enumerate(dtypes)]
    return helper.make_graph(nodes, "body", takes, infos)


@generator("SequenceMap")
def sequence_map(random, schema):
    count = random.integer(0 if random.chance(0.1) else 1, 4)
    dtype = item_dtype(random, schema, "S", "seq(")
    inputs, dtypes, types = [items(random, dtype, count)], [dtype], [sequence_type(dtype)]
    for _ in range(random.integer(0, 2)):
        dtype = item_dtype(random, schema, "S", "seq(")
        dtypes.append(dtype)
        if random.chance():
            inputs.append(items(random, dtype, count))
            types.append(sequence_type(dtype))
        else:
            inputs.append(random.array(dtype, random.shape(high=2)))
            types.append(None)
    outputs = random.integer(1, 3)
    return Case(inputs, {"body": _map_body(random, dtypes, outputs)}, outputs=outputs,
                input_types=types)


@explained("SequenceMap", REFERENCE,
           "every additional input that is a sequence is taken apart along with the first; the "
           "evaluator does so only for a single additional input, and hands each round the whole "
           "sequence where there are more")
def _whole_sequences(case, ours, theirs):
    return len(case.inputs) > 2 and any(isinstance(v, list) for v in case.inputs[1:])


# ---- optionals --------------------------------------------------------------------------------


def _content(random, schema, parameter, prefix=""):
    """A tensor or a sequence that an optional may hold, with its type."""
    if random.chance(0.4):
        dtype = item_dtype(random, schema, parameter, prefix + "seq(")
        return items(random, dtype, random.integer(1, 3)), sequence_type(dtype)
    dtype = item_dtype(random, schema, parameter, prefix)
    value = random.array(dtype, random.shape(high=3))
    return value, helper.make_tensor_type_proto(onnx_dtype(dtype), value.shape)


@generator("Optional")
def optional(random, schema):
    value, value_type = _content(random, schema, "V")
    if random.chance(0.3):
        # Without an element: the type is all it has. Asked whether it holds something.
        nodes = [helper.make_node("Optional", [], ["optional"], type=value_type),
                 helper.make_node("OptionalHasElement", ["optional"], ["out0"])]
        return Case([], {"type": value_type}, model=whole_model(random, schema, nodes, [], 1))
    nodes = [helper.make_node("Optional", ["in0"], ["optional"]),
             helper.make_node("OptionalGetElement", ["optional"], ["out0"]),
             helper.make_node("OptionalHasElement", ["optional"], ["out1"])]
    return Case([value], outputs=2,
                model=whole_model(random, schema, nodes, [value], 2, [value_type]))


@generator("OptionalGetElement")
def optional_get_element(random, schema):
    value, value_type = _content(random, schema, "V")
    if random.chance(0.4):
        nodes = [helper.make_node("Optional", ["in0"], ["optional"]),
                 helper.make_node("OptionalGetElement", ["optional"], ["out0"])]
        return Case([value], model=whole_model(random, schema, nodes, [value], 1, [value_type]))
    if schema.since_version < 18 or random.chance():
        value_type = helper.make_optional_type_proto(value_type)
    return Case([value], input_types=[value_type], constant=())


@generator("OptionalHasElement")
def optional_has_element(random, schema):
    if schema.since_version >= 18 and random.chance(0.15):
        return Case([None] if random.chance() else [])
    value, value_type = _content(random, schema, "O", "optional(")
    kind = random.integer(0, 2)
    if kind == 0:
        nodes = [helper.make_node("Optional", [], ["optional"], type=value_type),
                 helper.make_node("OptionalHasElement", ["optional"], ["out0"])]
        return Case([], model=whole_model(random, schema, nodes, [], 1))
    if kind == 1:
        nodes = [helper.make_node("Optional", ["in0"], ["optional"]),
                 helper.make_node("OptionalHasElement", ["optional"], ["out0"])]
        return Case([value], model=whole_model(random, schema, nodes, [value], 1, [value_type]))
    if schema.since_version < 18 or random.chance():
        value_type = helper.make_optional_type_proto(value_type)
    return Case([value], input_types=[value_type], constant=())


def _wraps(case):
    """Whether the model makes its optional by a node Optional."""
    return case.model is not None and case.model.graph.node[0].op_type == "Optional"


@explained(("Optional", "OptionalGetElement"), REFERENCE,
           "OptionalGetElement gives back what Optional was given; the evaluator stands a list of one "
           "item for an optional and gives back that list (its item is what Sardonyx answers)")
def _gives_the_list(case, ours, theirs):
    return (_wraps(case) and isinstance(theirs[0], list) and len(theirs[0]) == 1
            and difference(ours, [theirs[0][0], *theirs[1:]], case) is None)


@explained(("Optional", "OptionalHasElement"), REFERENCE,
           "Optional without an input holds no element; the evaluator represents it by the list "
           "[None], which OptionalHasElement takes for an element")
def _none_in_a_list(case, ours, theirs):
    return _wraps(case) and not case.model.graph.node[0].input and not ours[0] and bool(theirs[0])
