"""A random case: one operator with inputs and attributes, and the model made of it.

Families (families/*.py) register one generator an operator:

    @generator("Add", "Sub")
    def arithmetic(random, schema):
        dtype = random.dtype(schema, "T")
        ...
        return Case(inputs=[a, b], attributes={...})

`random` is a Random, `schema` the version of the operator that the case is for. A generator returns
valid cases only: what the standard forbids is tested in tests/bad-models.
"""
import dataclasses
import functools
import zlib

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

GENERATORS = {}  # (domain, operator) -> function
PREFERRED = {}   # (domain, operator) -> the version or versions that most cases are for

FLOATS = {np.dtype(t) for t in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)}
SMALL_FLOATS = {np.dtype(getattr(ml_dtypes, t)) for t in (
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")}


def generator(*operators, domain="", prefer=None):
    """prefer: the version (or versions) that a reference has, where they lack the others."""
    def register(function):
        for operator in operators:
            assert (domain, operator) not in GENERATORS, operator
            GENERATORS[domain, operator] = function
            if prefer:
                PREFERRED[domain, operator] = prefer
        return function
    return register


@dataclasses.dataclass
class Case:
    """inputs: numpy arrays, lists (sequences), dicts (maps), or None for one that is left out.

    ulps: how many units in the last place (of the largest value in the output, too) an output may
    be off; None takes compare.ULPS. scale: the size of the terms that outputs are sums of; where
    they cancel, an error is one of the terms and not of the small rest.
    constant: which inputs may become initializers; None means any.
    weights: inputs that become initializers together, in half of the cases, as they are in real models.
    model: instead of a single node, a whole model whose graph inputs are the inputs, in order.
    drawn: outputs whose values the standard leaves open; only type and shape are compared.
    """
    inputs: list
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1
    ulps: float | None = None
    scale: float = 0.0
    constant: tuple | None = None
    weights: tuple = ()
    model: onnx.ModelProto | None = None
    input_types: list | None = None  # TypeProto each, where the data does not tell
    drawn: bool = False
    # Filled by make_case:
    operator: str = ""
    domain: str = ""
    version: int = 0
    index: int = 0

    def dtypes(self):
        return [getattr(i, "dtype", None) for i in self.inputs]


class Random:
    """What generators draw from: a numpy generator with the vocabulary of tensors."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def chance(self, probability=0.5):
        return bool(self.rng.random() < probability)

    def integer(self, low, high):
        """Both ends included."""
        return int(self.rng.integers(low, high + 1))

    def choice(self, items):
        items = list(items)
        return items[self.integer(0, len(items) - 1)]

    def uniform(self, low, high):
        return float(np.float32(self.rng.uniform(low, high)))

    def permutation(self, n):
        return [int(i) for i in self.rng.permutation(n)]

    def dtype(self, schema, parameter, only=None):
        """A type that the schema allows for a type parameter ("T"), the common ones more often."""
        allowed = [dtype_of(t) for c in schema.type_constraints if c.type_param_str == parameter
                   for t in c.allowed_type_strs]
        allowed = [t for t in allowed if t is not None and (only is None or t in only)]
        common = [t for t in allowed if t in (np.dtype(np.float32), np.dtype(np.int64))]
        return self.choice(common if common and self.chance(0.3) else allowed)

    def size(self, empty=0.04, largest=5):
        return 0 if self.chance(empty) else self.integer(1, largest)

    def shape(self, low=0, high=4, empty=0.04, largest=5):
        """Rank from low to high."""
        return tuple(self.size(empty, largest) for _ in range(self.integer(low, high)))

    def broadcastable(self, shape):
        """A shape that broadcasts with this one: fewer axes, ones."""
        keep = self.integer(0, len(shape)) if self.chance(0.4) else len(shape)
        return tuple(1 if self.chance(0.3) else n for n in shape[len(shape) - keep:])

    def axis(self, rank, negative=True):
        axis = self.integer(0, max(rank, 1) - 1)
        return axis - rank if negative and rank and self.chance(0.4) else axis

    def axes(self, rank, negative=True, low=0):
        """Distinct axes in any order."""
        chosen = self.permutation(rank)[:self.integer(min(low, rank), rank)]
        return [a - rank if negative and self.chance(0.3) else a for a in chosen]

    def array(self, dtype, shape, low=None, high=None, special=0.0):
        """Values between low and high (both included for integers); special: chance of NaN and
        infinities in a floating-point tensor."""
        dtype = np.dtype(dtype)
        shape = tuple(shape)
        if dtype == bool:
            return np.asarray(self.rng.random(shape) < 0.5)
        if dtype.kind in "OUS":
            words = ["", "a", "b", "abc", "Zeta", "éa", "ß", "x y", "10", "-3.5", "日本"]
            flat = [self.choice(words) for _ in range(int(np.prod(shape, dtype=int)))]
            return np.array(flat, dtype=object).reshape(shape)
        if dtype.kind == "c":
            real = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
            return (self.array(real, shape, low, high)
                    + 1j * self.array(real, shape, low, high)).astype(dtype)
        if is_integer(dtype):
            info = ml_dtypes.iinfo(dtype)
            low = max(int(info.min), -10 if low is None else low)
            high = min(int(info.max), 10 if high is None else high)
            return self.rng.integers(low, high + 1, shape).astype(dtype)
        values = self.rng.uniform(-3.0 if low is None else low, 3.0 if high is None else high, shape)
        if special and self.chance(special):
            hit = self.rng.random(shape) < 0.2
            values = np.where(hit, self.rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape), values)
        with np.errstate(all="ignore"):
            return np.asarray(values).astype(dtype)


def is_integer(dtype):
    dtype = np.dtype(dtype)
    return dtype.kind in "iu" or dtype.name in ("int4", "uint4", "int2", "uint2")


def is_float(dtype):
    return np.dtype(dtype) in FLOATS


def dtype_of(type_string):
    """numpy's type for "tensor(float)"; None for what is no tensor."""
    if not type_string.startswith("tensor("):
        return None
    name = type_string[7:-1].upper()
    names = {"FLOAT": "FLOAT", "DOUBLE": "DOUBLE", "STRING": "STRING", "BOOL": "BOOL"}
    number = TensorProto.DataType.Value(names.get(name, name))
    if number == TensorProto.STRING:
        return np.dtype(object)
    return np.dtype(helper.tensor_dtype_to_np_dtype(number))


def onnx_dtype(dtype):
    if np.dtype(dtype).kind in "OUS":
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def type_proto(value, dims=True):
    """The type of a value as it stands: a tensor, a sequence, a map."""
    if isinstance(value, dict):
        key = TensorProto.STRING if isinstance(next(iter(value)), str) else TensorProto.INT64
        return helper.make_map_type_proto(key, type_proto(np.asarray(next(iter(value.values())))))
    if isinstance(value, (list, tuple)):
        item = type_proto(value[0], dims=False) if value else helper.make_tensor_type_proto(
            TensorProto.FLOAT, None)
        return helper.make_sequence_type_proto(item)
    value = np.asarray(value)
    return helper.make_tensor_type_proto(onnx_dtype(value.dtype), value.shape if dims else None)


def _tensor(name, array):
    array = np.asarray(array)
    if array.dtype.kind in "OUS":
        return helper.make_tensor(name, TensorProto.STRING, array.shape,
                                  [s if isinstance(s, bytes) else str(s).encode()
                                   for s in array.ravel()])
    return onnx.numpy_helper.from_array(array, name)


def _symbolic(value_type, name):
    """The same type with names in place of most numbers, as exporters write dynamic shapes."""
    for i, dim in enumerate(value_type.tensor_type.shape.dim):
        dim.dim_param = f"{name}_{i}"


def _opset_of(schema, versions, random, newest):
    """An opset in which this version of the operator is the current one."""
    later = [v for v in versions if v > schema.since_version]
    last = min(later) - 1 if later else newest
    return schema.since_version if random.chance(0.7) else random.integer(schema.since_version, last)


def build_model(case, schema, versions, newest, random):
    """A model of one node. Some inputs become initializers, some shapes are left symbolic."""
    graph_inputs, initializers, names, fed = [], [], [], []
    fixed = case.weights if case.weights and random.chance() else ()
    for i, value in enumerate(case.inputs):
        name = f"in{i}" if value is not None else ""
        names.append(name)
        if value is None:
            continue
        may = case.constant is None or i in case.constant
        drawn = may and not isinstance(value, (list, tuple, dict)) and random.chance(0.3)
        if drawn or i in fixed:
            initializers.append(_tensor(name, value))
            continue
        given = case.input_types[i] if case.input_types and case.input_types[i] else None
        value_type = given or type_proto(value)
        if not given and value_type.HasField("tensor_type") and random.chance(0.3):
            _symbolic(value_type, name)
        graph_inputs.append(helper.make_value_info(name, value_type))
        fed.append(i)
    while names and not names[-1]:
        names.pop()
    outputs = [f"out{i}" for i in range(case.outputs)]
    node = helper.make_node(case.operator, names, outputs, name="node", domain=case.domain)
    # An empty list does not tell its type; only lists of integers are ever empty.
    node.attribute.extend(
        helper.make_attribute(
            k, v, attr_type=onnx.AttributeProto.INTS if isinstance(v, list) and not v else None)
        for k, v in sorted(case.attributes.items()) if v is not None)
    graph = helper.make_graph([node], "case", graph_inputs,
                              [onnx.ValueInfoProto(name=o) for o in outputs], initializers)
    imports = [helper.make_opsetid(case.domain, _opset_of(schema, versions, random, newest))]
    model = helper.make_model(graph, opset_imports=imports)
    if case.domain:
        model.opset_import.append(helper.make_opsetid("", min(20, onnx.defs.onnx_opset_version())))
    model.ir_version = 10 if case.version <= 21 else 13
    return model, [case.inputs[i] for i in fed]


@functools.cache  # listing them takes longer than most cases
def history_of(domain, operator):
    """All versions of an operator, the one that ends it too; and the newest opset of its domain."""
    versions = sorted((s for s in onnx.defs.get_all_schemas_with_history()
                       if s.name == operator and s.domain == domain),
                      key=lambda s: s.since_version)
    newest = max(s.since_version for s in onnx.defs.get_all_schemas() if s.domain == domain)
    return versions, newest


def make_case(domain, operator, index):
    """The case with this number, always the same; its model, and the values to feed."""
    random = Random([zlib.crc32(f"{domain}.{operator}".encode()), index])
    history, newest = history_of(domain, operator)
    schemas = [s for s in history if not s.deprecated]
    schema = schemas[-1] if random.chance(0.4) else random.choice(schemas)
    if (domain, operator) in PREFERRED and random.chance(0.95):
        wanted = PREFERRED[domain, operator]
        wanted = wanted if isinstance(wanted, int) else random.choice(wanted)
        schema = next(s for s in schemas if s.since_version == wanted)
    case = GENERATORS[domain, operator](random, schema)
    case.operator, case.domain, case.index = operator, domain, index
    case.version = schema.since_version
    if case.model is not None:
        return case, case.model, [i for i in case.inputs if i is not None]
    model, fed = build_model(case, schema, [s.since_version for s in history], newest, random)
    return case, model, fed
