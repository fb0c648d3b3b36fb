"""Protobuf by hand, for files that no library would write, and the table of cases.

A case is a function that returns the bytes of a model (and may put files beside it). The decorator
`case` says what the program must answer: exit code and texts on standard error.
"""
import collections
import inspect
import struct

Case = collections.namedtuple("Case", "name build code says args commands seconds")
CASES = []


def case(*says, code=3, args=("--random", "1"), only=None, seconds=20):
    """Registers a case. `says`: texts that must all be on stderr. `only`: the one command to try;
    by default both `run` (with `args`) and `inspect` must fail alike."""

    def add(build):
        name = build.__name__.replace("_", "-")
        assert all(known.name != name for known in CASES), name
        commands = (only,) if only else ("run", "inspect")
        CASES.append(Case(name, build, code, says, tuple(args), commands, seconds))
        return build

    return add


def build(one, folder):
    """The bytes of the case's model; files beside it go into folder."""
    return one.build(folder) if inspect.signature(one.build).parameters else one.build()


# ---- wire format ------------------------------------------------------------

def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def tag(field, wire):
    return varint(field << 3 | wire)


def num(field, number):
    return tag(field, 0) + varint(number)


def data(field, content):
    if isinstance(content, str):
        content = content.encode()
    return tag(field, 2) + varint(len(content)) + content


def f32(field, number):
    return tag(field, 5) + struct.pack("<f", number)


# ---- the messages of ONNX, as far as they are damaged here ------------------

def model(graph_bytes=None, ir=10, opsets=(("", 21),), rest=b""):
    out = b"" if ir is None else num(1, ir)
    for domain, version in opsets:
        out += data(8, (data(1, domain) if domain else b"") + num(2, version))
    if graph_bytes is not None:
        out += data(7, graph_bytes)
    return out + rest


def node(op, inputs, outputs, *attrs, name="n", domain="", rest=b""):
    out = b"".join(data(1, i) for i in inputs) + b"".join(data(2, o) for o in outputs)
    out += data(3, name) if name else b""
    out += data(4, op) if op else b""
    out += b"".join(data(5, a) for a in attrs)
    return out + (data(7, domain) if domain else b"") + rest


def dims(*sizes):
    return b"".join(data(1, num(1, s) if isinstance(s, int) else data(2, s)) for s in sizes)


def tensor_type(dtype, *sizes):
    return data(1, num(1, dtype) + data(2, dims(*sizes)))


def info(name, kind):
    return data(1, name) + data(2, kind)


def tensor(dtype, sizes, content=b"", name="w"):
    """content: the fields that hold the data, such as raw(...)."""
    out = b"".join(num(1, s) for s in sizes) + num(2, dtype)
    return out + (data(8, name) if name else b"") + content


def raw(content):
    return data(9, content)


def entry(key, value):
    return data(13, data(1, key) + data(2, value))


def sparse(values, indices, sizes):
    return data(1, values) + data(2, indices) + b"".join(num(3, s) for s in sizes)


FLOAT, UINT8, INT8, INT32, INT64, STRING = 1, 2, 3, 6, 7, 8
X = data(11, info("x", tensor_type(FLOAT, 2, 3)))
Y = data(12, info("y", tensor_type(FLOAT, 2, 3)))


def graph(*nodes, inputs=X, outputs=Y, inits=(), rest=b""):
    return (b"".join(data(1, n) for n in nodes) + data(2, "g") +
            b"".join(data(5, t) for t in inits) + inputs + outputs + rest)


RELU = node("Relu", ["x"], ["y"])


def good():
    """A model without a mistake; cases change one thing in it."""
    return model(graph(RELU))


def with_tensor(content):
    """A model whose one initializer is `content`."""
    return model(graph(node("Identity", ["w"], ["y"]), inputs=b"", outputs=data(12, data(1, "y")),
                       inits=[content]))
