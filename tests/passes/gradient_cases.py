"""Graphs whose gradients are compared: for each operator that can be differentiated one or more, with the
same function in PyTorch where it has one. Everything is float64. Needs numpy alone, since onnx and
PyTorch live in different interpreters, and both read this list."""
import numpy as np

try:
    import torch
    import torch.nn.functional as F
except ImportError:  # here the functions are not called
    torch = F = None

DOUBLE = 11  # TensorProto.DOUBLE
RNG = np.random.default_rng(7)
CASES = []


class Const:
    """An input that is an initializer, of any type."""

    def __init__(self, array, dtype=None):
        self.array = np.array(array, dtype=dtype)


class Case:
    """variables: name -> array, what the gradient is taken with respect to; y: the output; nodes: as the
    arguments of onnx.helper.make_node."""

    def __init__(self, name, nodes, variables, constants, y, function, opset):
        self.name, self.nodes, self.variables, self.y = name, nodes, variables, y
        self.constants, self.function, self.opset = constants, function, opset
        self.kink = False       # where differences from both sides disagree
        self.symbolic = True    # also with dims that only the run knows
        self.shapeless = False  # also without any shape
        self.second = False     # also the gradient of the gradient


def between(low, high, *shape):
    return RNG.uniform(low, high, shape)


def normal(*shape):
    return RNG.standard_normal(shape)


def away(*shape):
    """Numbers that no small step brings across zero."""
    values = normal(*shape)
    return values + np.sign(values) * 0.1


def distinct(*shape):
    """Numbers none of which is within reach of another."""
    return RNG.permutation(int(np.prod(shape))).reshape(shape) * 0.37 - 1.0


def graph(name, nodes, variables, y, function=None, opset=22, **constants):
    case = Case(name, nodes, variables, {n: np.asarray(a) for n, a in constants.items()}, y,
                function, opset)
    CASES.append(case)
    return case


def node(kind, inputs, outputs, **attrs):
    return (kind, inputs.split(), outputs.split()), attrs


def op(kind, *inputs, like=None, opset=22, outputs=1, label="", y=0, **attrs):
    """A case of one node. like: the function in PyTorch, on the variables among the inputs."""
    names, variables, constants = [], {}, {}
    for index, value in enumerate(inputs):
        name = f"x{index}"
        if value is None:
            name = ""
        elif isinstance(value, Const):
            constants[name] = value.array
        else:
            variables[name] = np.asarray(value, dtype=np.float64)
        names.append(name)
    made = [f"y{o}" for o in range(outputs)]
    name = f"{kind}{'_' + label if label else ''}"
    return graph(name, [((kind, names, made), attrs)], variables, made[y], like, opset,
                 **constants)


# ---- element by element -------------------------------------------------------------------------

def unary():
    x = away(2, 3)
    inside = between(-0.9, 0.9, 2, 3)
    positive = between(0.3, 3, 2, 3)
    t = torch
    for kind, data, like in [
            ("Abs", x, t and t.abs), ("Acos", inside, t and t.acos),
            ("Acosh", positive + 1, t and t.acosh), ("Asin", inside, t and t.asin),
            ("Asinh", x, t and t.asinh), ("Atan", x, t and t.atan),
            ("Atanh", inside, t and t.atanh), ("Cos", x, t and t.cos), ("Cosh", x, t and t.cosh),
            ("Erf", x, t and t.erf), ("Exp", x, t and t.exp), ("Identity", x, lambda a: a * 1),
            ("Log", positive, t and t.log), ("Neg", x, t and t.neg),
            ("Reciprocal", positive, t and t.reciprocal), ("Relu", x, t and t.relu),
            ("Sigmoid", x, t and t.sigmoid), ("Sin", x, t and t.sin), ("Sinh", x, t and t.sinh),
            ("Softplus", x, F and F.softplus), ("Softsign", x, F and F.softsign),
            ("Sqrt", positive, t and t.sqrt), ("Tan", inside, t and t.tan),
            ("Tanh", x, t and t.tanh), ("Mish", x, F and F.mish),
            ("HardSwish", between(-5, 5, 3, 4), F and F.hardswish),
            ("Gelu", x, F and F.gelu), ("Swish", x, F and F.silu),
            ("Floor", x, lambda a: a * 0), ("Ceil", x, lambda a: a * 0),
            ("Round", x, lambda a: a * 0), ("Sign", x, lambda a: a * 0)]:
        case = op(kind, data, like=like, opset=24)
        case.shapeless = case.second = True
    op("Gelu", x, like=lambda a: F.gelu(a, approximate="tanh"), label="tanh", approximate="tanh")
    op("Swish", x, like=lambda a: a * torch.sigmoid(1.7 * a), opset=24, label="alpha", alpha=1.7)
    op("LeakyRelu", x, like=lambda a: F.leaky_relu(a, 0.2), alpha=0.2).second = True
    op("Elu", x, like=lambda a: F.elu(a, 1.5), alpha=1.5).second = True
    op("Celu", x, like=lambda a: F.celu(a, 1.5), alpha=1.5).second = True
    op("Selu", x, like=F and F.selu).second = True
    op("Selu", x, opset=1, label="1")
    op("HardSigmoid", between(-4, 4, 3, 4), alpha=0.3, beta=0.4,
       like=lambda a: torch.clamp(0.3 * a + 0.4, 0, 1))
    op("ThresholdedRelu", x, alpha=0.5, like=lambda a: F.threshold(a, 0.5, 0))
    op("Shrink", x, lambd=0.6, bias=0.2, like=lambda a: torch.where(
        a.abs() > 0.6, a - 0.2 * torch.sign(a), a * 0))
    op("Cast", x, to=DOUBLE, like=lambda a: a * 1)
    op("CastLike", x, Const(1.0), like=lambda a: a * 1)
    op("Trilu", normal(3, 4, 4), Const(1), upper=1, like=lambda a: torch.triu(a, 1))
    op("Trilu", normal(4, 4), upper=0, label="lower", like=torch and torch.tril)
    op("CumSum", normal(2, 4), Const(1), like=lambda a: torch.cumsum(a, 1)).second = True
    op("CumSum", normal(4, 2), Const(-2), exclusive=1, reverse=1, label="exclusive_reverse",
       like=lambda a: a.sum(0) - torch.cumsum(a, 0))
    far = between(-3, 3, 4, 5)
    op("Clip", far, Const(-1.0), Const(1.5), like=lambda a: torch.clamp(a, -1, 1.5)).second = True
    op("Clip", far, np.array(-1.0), np.array(1.5), label="bounds",
       like=lambda a, low, high: torch.minimum(torch.maximum(a, low), high))
    op("Clip", far, None, Const(0.5), label="max", like=lambda a: torch.clamp(a, max=0.5))
    op("Clip", far, min=-0.5, opset=6, label="6", like=lambda a: torch.clamp(a, min=-0.5))
    op("Clip", far, Const(1.0), np.array(-1.0), label="crossed",
       like=lambda a, high: torch.minimum(torch.clamp(a, min=1.0), high))
    op("EyeLike", normal(2, 3), like=lambda a: a * 0)
    for kind in ("RandomNormalLike", "RandomUniformLike"):
        op(kind, x, seed=1.0, like=lambda a: a * 0).kink = True
    op("Bernoulli", between(0, 1, 2, 3), seed=1.0, like=lambda a: a * 0).kink = True
    op("Dropout", x, label="inference", like=lambda a: a * 1)
    op("Dropout", x, opset=7, ratio=0.3, label="7", like=lambda a: a * 1)


def binary():
    shapes = {"same": ((2, 3), (2, 3)), "row": ((2, 3), (3,)), "column": ((2, 1), (2, 3)),
              "scalar": ((2, 3), ()), "both": ((2, 1, 3), (4, 1)), "ones": ((1, 1), (2, 3))}
    functions = {
        "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b,
        "Div": lambda a, b: a / b, "Pow": lambda a, b: a ** b,
        "Max": lambda a, b: torch.maximum(a, b), "Min": lambda a, b: torch.minimum(a, b)}
    for kind, like in functions.items():
        for label, (first, second) in shapes.items():
            case = op(kind, between(0.5, 2.5, *first), between(0.5, 2.5, *second), like=like,
                      label=label)
            case.shapeless = True
            case.second = label == "both"
    op("Pow", np.array([-1.5, 0.0, 2.0, 3.0]), Const([2.0, 3.0, 0.0, 1.0]), label="integral",
       like=lambda a: a ** torch.tensor([2.0, 3.0, 0.0, 1.0], dtype=torch.float64))
    op("Pow", away(3), Const([3], np.int64), label="int_exponent", like=lambda a: a ** 3)
    op("Pow", np.array([0.0, 2.0]), np.array([2.0, 3.0]), label="zero_base")
    op("Mod", between(3, 8, 2, 3), between(1, 2, 3), fmod=1, like=lambda a, b: torch.fmod(a, b))
    op("PRelu", away(2, 3, 4), normal(3, 1),
       like=lambda a, s: torch.where(a > 0, a, s * a)).second = True
    for version in (6, 7):  # a vector along the channels; at the end where it can lie there
        op("PRelu", away(2, 3, 4), normal(3), opset=version, label=f"channels_{version}",
           like=lambda a, s: torch.where(a > 0, a, s[:, None] * a)).symbolic = version < 7
    op("PRelu", away(2, 3, 3), normal(3), opset=6, label="square_6",
       like=lambda a, s: torch.where(a > 0, a, s[:, None] * a))
    op("PRelu", away(2, 3, 3), normal(3), opset=7, label="square_7",
       like=lambda a, s: torch.where(a > 0, a, s * a))
    old_broadcasts()
    op("Where", Const(RNG.random((2, 3)) > 0.5), normal(2, 3), normal(3)).shapeless = True
    op("Where", Const(np.array([[True], [False]])), normal(1, 3), normal(2, 1), label="broadcast",
       like=lambda a, b: torch.where(torch.tensor([[True], [False]]), a, b))
    op("Sum", normal(2, 3), normal(3), normal(2, 1), like=lambda a, b, c: a + b + c)
    op("Mean", normal(2, 3), normal(3), normal(2, 1), like=lambda a, b, c: (a + b + c) / 3)
    op("Max", distinct(2, 3), distinct(3) + 0.1, distinct(2, 1) + 0.2, label="three",
       like=lambda a, b, c: torch.maximum(torch.maximum(a, b), c))
    op("Max", normal(2, 3), label="one", like=lambda a: a * 1)
    tie = op("Max", np.array([1.0, 2.0]), np.array([1.0, 0.0]), label="tie",
             like=lambda a, b: torch.maximum(a, b))
    tie.kink = True
    op("SwiGLU", normal(2, 3), normal(2, 3), opset=28,
       like=lambda a, b: F.silu(a) * b)


def old_broadcasts():
    """Before version 7 attributes say where B lies in A."""
    def at(shape, f):
        return lambda a, b: f(a, b.reshape(shape))
    functions = {"Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b,
                 "Div": lambda a, b: a / b, "Pow": lambda a, b: a ** b}
    places = [("front", (2,), (2, 1, 1), {"axis": 0}), ("middle", (3,), (3, 1), {"axis": 1}),
              ("two", (2, 3), (2, 3, 1), {"axis": 0}), ("one", (2, 1), (2, 1, 1), {"axis": 0}),
              ("below", (3,), (3, 1), {"axis": -2}), ("end", (3, 4), (3, 4), {}),
              ("last", (4,), (4,), {"axis": -1}), ("single", (1,), (1,), {"axis": 2})]
    for kind, f in functions.items():
        for label, dims, shape, attrs in places:
            case = op(kind, between(0.5, 2, 2, 3, 4), between(0.5, 2, *dims), like=at(shape, f),
                      opset=6 if kind != "Pow" else 1, broadcast=1, label=f"old_{label}", **attrs)
            case.second = label in ("middle", "two")
            case.shapeless = label in ("end", "last")
    for label, dims in (("row", (2,)), ("single", (1,))):
        op("Gemm", normal(2, 3), normal(3, 2), normal(*dims), broadcast=1, opset=6,
           label=f"old_{label}", like=lambda a, b, c: a @ b + c)


# ---- shapes -------------------------------------------------------------------------------------

def shapes():
    x = normal(2, 3, 4)
    op("Reshape", x, Const([6, 4]), like=lambda a: a.reshape(6, 4)).second = True
    op("Reshape", x, Const([0, -1]), label="copy", like=lambda a: a.reshape(2, 12))
    op("Flatten", x, axis=2, like=lambda a: a.reshape(6, 4))
    op("Squeeze", normal(2, 1, 3), Const([1]), like=lambda a: a.squeeze(1))
    op("Squeeze", normal(2, 1, 3), axes=[1], opset=11, label="11", like=lambda a: a.squeeze(1))
    op("Unsqueeze", x, Const([0, 2]), like=lambda a: a[None, :, None])
    op("Unsqueeze", x, axes=[1], opset=11, label="11", like=lambda a: a[:, None])
    op("Transpose", x, perm=[1, 2, 0], like=lambda a: a.permute(1, 2, 0)).second = True
    op("Transpose", x, label="reverse", like=lambda a: a.permute(2, 1, 0))
    op("Expand", normal(3, 1), Const([2, 3, 4]), like=lambda a: a.expand(2, 3, 4)).second = True
    op("Expand", normal(2, 3), Const([1, 3]), label="one", like=lambda a: a * 1)
    op("Tile", normal(2, 3), Const([2, 3]), like=lambda a: a.repeat(2, 3)).second = True
    op("Concat", normal(2, 3), normal(2, 1), normal(2, 2), axis=1,
       like=lambda a, b, c: torch.cat([a, b, c], 1)).second = True
    op("Concat", normal(2, 3), normal(1, 3), axis=-2, label="negative",
       like=lambda a, b: torch.cat([a, b], 0))
    op("Split", normal(5, 2), Const([2, 3]), outputs=2, axis=0, y=1, like=lambda a: a[2:])
    op("Split", normal(2, 6), outputs=3, axis=1, num_outputs=3, y=0, label="equal",
       like=lambda a: a[:, :2])
    op("Split", normal(2, 4), outputs=2, axis=1, opset=11, split=[1, 3], y=1, label="11",
       like=lambda a: a[:, 1:])
    long = normal(5, 6)
    op("Slice", long, Const([1]), Const([4]), like=lambda a: a[1:4]).second = True
    op("Slice", long, Const([-3, 1]), Const([2**62, 2**62]), Const([1, 0]), label="open",
       like=lambda a: a[1:, -3:])
    op("Slice", long, Const([4, 0]), Const([0, 6]), Const([0, 1]), Const([-2, 3]), label="steps",
       like=lambda a: a[[4, 2]][:, ::3])
    op("Slice", long, Const([7]), Const([9]), label="empty", like=lambda a: a[7:9])
    op("Slice", long, starts=[1], ends=[-1], axes=[1], opset=9, label="9",
       like=lambda a: a[:, 1:-1])
    op("Pad", x, Const([0, 1, 0, 0, 2, 3]), like=lambda a: F.pad(a, (0, 3, 1, 2))).second = True
    op("Pad", x, Const([0, -1, 0, 0, 2, -1]), label="crop",
       like=lambda a: F.pad(a, (0, -1, -1, 2)))
    op("Pad", x, Const([1, 2]), np.array(0.5), Const([-1]), label="value_axes",
       like=lambda a, v: torch.cat([v.expand(2, 3, 1), a, v.expand(2, 3, 2)], 2))
    op("Pad", x, Const([0, 0, 2, 0, 0, 1]), mode="reflect", label="reflect",
       like=lambda a: F.pad(a, (2, 1), mode="reflect"))
    op("Pad", x, Const([0, 0, 2, 0, 0, 1]), mode="edge", label="edge",
       like=lambda a: F.pad(a, (2, 1), mode="replicate")).second = True
    op("Pad", x, Const([0, 0, 2, 0, 0, 1]), mode="wrap", label="wrap",
       like=lambda a: F.pad(a, (2, 1), mode="circular"))
    op("Pad", x, pads=[0, 0, 1, 0, 0, 1], value=0.5, opset=2, label="2",
       like=lambda a: F.pad(a, (1, 1)))
    image = normal(1, 8, 2, 3)
    op("DepthToSpace", image, blocksize=2, mode="CRD", like=lambda a: F.pixel_shuffle(a, 2))
    op("DepthToSpace", image, blocksize=2, label="dcr")
    op("SpaceToDepth", normal(1, 2, 4, 2), blocksize=2)
    op("CenterCropPad", normal(3, 4), Const([5, 2]))
    op("Compress", normal(3, 2), Const(np.array([True, False, True])), axis=0,
       like=lambda a: a[[0, 2]])
    op("ReverseSequence", normal(4, 3), Const([4, 2, 1]))
    op("Resize", normal(1, 2, 2, 3), None, None, Const([1, 2, 4, 6]), mode="nearest",
       like=lambda a: F.interpolate(a, size=(4, 6), mode="nearest"))
    op("Upsample", normal(1, 2, 2, 3), Const([1, 1, 2, 3], np.float32), opset=9, mode="nearest",
       like=lambda a: F.interpolate(a, scale_factor=(2, 3), mode="nearest"))


def indices():
    x = normal(4, 3, 2)
    op("Gather", x, Const([[3, 0], [0, -1]]), 
       like=lambda a: a[torch.tensor([[3, 0], [0, -1]])]).second = True
    op("Gather", x, Const([2, 2, 0]), axis=1, label="axis", like=lambda a: a[:, [2, 2, 0]])
    op("Gather", x, Const(1), axis=-1, label="scalar", like=lambda a: a[..., 1])
    op("Gather", x, Const([1, 1], np.int32), label="int32", like=lambda a: a[[1, 1]])
    order = np.array([[0, 1, 1], [1, 0, 0]])
    op("GatherElements", normal(2, 3), Const(order), axis=0,
       like=lambda a: torch.gather(a, 0, torch.tensor(order))).second = True
    op("GatherND", normal(3, 4), Const([[0, 1], [2, 3], [0, 1]]),
       like=lambda a: a[[0, 2, 0], [1, 3, 1]]).second = True
    op("GatherND", normal(2, 3, 4), Const([[1], [2]]), batch_dims=1, label="batch",
       like=lambda a: a[[0, 1], [1, 2]])
    op("ScatterElements", normal(3, 3), Const([[1, 0, 2], [2, 1, 0]]), normal(2, 3),
       like=lambda a, u: torch.scatter(a, 0, torch.tensor([[1, 0, 2], [2, 1, 0]]), u)).second = True
    op("Scatter", normal(3, 2), Const([[2, 0]]), normal(1, 2), opset=9,
       like=lambda a, u: torch.scatter(a, 0, torch.tensor([[2, 0]]), u))
    op("ScatterElements", normal(2, 3), Const([[1, 1], [0, 2]]), normal(2, 2), axis=1,
       reduction="add", label="add",
       like=lambda a, u: torch.scatter_add(a, 1, torch.tensor([[1, 1], [0, 2]]), u))
    op("ScatterND", normal(4, 2), Const([[3], [0]]), normal(2, 2),
       like=lambda a, u: torch.index_put(a, (torch.tensor([3, 0]),), u)).second = True
    op("ScatterND", normal(4, 2), Const([[3], [3]]), normal(2, 2), reduction="add", label="add",
       like=lambda a, u: torch.index_put(a, (torch.tensor([3, 3]),), u, accumulate=True))
    op("TopK", distinct(3, 5), Const([2]), outputs=2, like=lambda a: torch.topk(a, 2)[0])
    op("TopK", distinct(5, 3), Const([3]), outputs=2, axis=0, largest=0, label="smallest",
       like=lambda a: torch.topk(a, 3, dim=0, largest=False)[0])


# ---- sums and products --------------------------------------------------------------------------

def reductions():
    x = between(0.5, 2, 2, 3, 4)
    functions = {
        "ReduceSum": lambda a, d, k: a.sum(d, keepdim=k),
        "ReduceMean": lambda a, d, k: a.mean(d, keepdim=k),
        "ReduceMax": lambda a, d, k: a.amax(d, keepdim=k),
        "ReduceMin": lambda a, d, k: a.amin(d, keepdim=k),
        "ReduceL1": lambda a, d, k: a.abs().sum(d, keepdim=k),
        "ReduceL2": lambda a, d, k: (a * a).sum(d, keepdim=k).sqrt(),
        "ReduceSumSquare": lambda a, d, k: (a * a).sum(d, keepdim=k),
        "ReduceLogSum": lambda a, d, k: a.sum(d, keepdim=k).log(),
        "ReduceLogSumExp": lambda a, d, k: a.logsumexp(d, keepdim=k),
        "ReduceProd": None}
    for kind, like in functions.items():
        def bound(dims, keep, like=like):
            return like and (lambda a: like(a, dims, keep))
        op(kind, x, Const([1]), like=bound((1,), True)).second = kind != "ReduceProd"
        op(kind, x, Const([0, -1]), keepdims=0, label="flat", like=bound((0, 2), False))
        op(kind, x, keepdims=0, label="all", like=bound((0, 1, 2), False))
        op(kind, x, label="all_kept", like=bound((0, 1, 2), True))
        op(kind, x, axes=[2], keepdims=0, opset=11, label="11", like=bound((2,), False))
    op("ReduceSum", x, noop_with_empty_axes=1, label="noop", like=lambda a: a * 1)
    op("ReduceProd", np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]), Const([1]), label="zeros",
       like=lambda a: torch.prod(a, 1, keepdim=True))
    op("ReduceMax", np.array([[1.0, 2.0, 2.0]]), Const([1]), label="tie",
       like=lambda a: a.amax(1, keepdim=True)).kink = True
    op("ReduceL2", np.zeros((2, 2)), Const([1]), label="origin",
       like=lambda a: torch.linalg.vector_norm(a, dim=1, keepdim=True)).kink = True
    for kind, like in (("Softmax", F and F.softmax), ("LogSoftmax", F and F.log_softmax)):
        op(kind, x, like=like and (lambda a, like=like: like(a, -1))).second = True
        op(kind, x, axis=1, label="axis", like=like and (lambda a, like=like: like(a, 1)))
        op(kind, x, axis=1, opset=11, label="11", like=like and (
            lambda a, like=like: like(a.reshape(2, 12), 1).reshape(2, 3, 4)))
    op("Hardmax", x, like=lambda a: a * 0).kink = True


def products():
    ranks = {"2_2": ((2, 3), (3, 4)), "1_1": ((3,), (3,)), "1_2": ((3,), (3, 2)),
             "2_1": ((2, 3), (3,)), "3_2": ((2, 4, 3), (3, 5)), "2_3": ((4, 3), (2, 3, 5)),
             "1_3": ((3,), (2, 3, 4)), "3_1": ((2, 4, 3), (3,)), "4_3": ((2, 1, 2, 3), (4, 3, 2)),
             "batch": ((2, 2, 3), (2, 3, 2))}
    for label, (first, second) in ranks.items():
        op("MatMul", normal(*first), normal(*second), label=label,
           like=torch and torch.matmul).second = label in ("2_2", "3_2", "4_3", "1_1")
    for turn_a in (0, 1):
        for turn_b in (0, 1):
            a, b = normal(3, 2) if turn_a else normal(2, 3), normal(4, 3) if turn_b else normal(3, 4)
            op("Gemm", a, b, normal(4), transA=turn_a, transB=turn_b, alpha=0.5, beta=2.0,
               label=f"{turn_a}{turn_b}",
               like=lambda a, b, c, s=turn_a, t=turn_b: 0.5 * (a.T if s else a) @ (b.T if t else b)
               + 2 * c).second = True
    op("Gemm", normal(2, 3), normal(3, 2), label="plain", like=lambda a, b: a @ b)
    op("Gemm", normal(2, 3), normal(3, 2), normal(2, 1), label="column", opset=9,
       like=lambda a, b, c: a @ b + c)
    for label, equation, *sizes in [
            ("matmul", "ij,jk->ik", (2, 3), (3, 4)), ("implicit", "bij,bjk", (2, 2, 3), (2, 3, 2)),
            ("dot", "i,i->", (3,), (3,)), ("sum", "ij->j", (2, 3)), ("outer", "i,j", (2,), (3,)),
            ("three", "ij,jk,kl->il", (2, 3), (3, 2), (2, 2)),
            ("lost", "ij,k->ik", (2, 3), (2,)), ("ellipsis", "...ij,...jk->...ik", (2, 1, 2, 3),
                                                 (4, 3, 2)),
            ("transpose", "ij->ji", (2, 3))]:
        op("Einsum", *[normal(*s) for s in sizes], equation=equation, label=label,
           like=torch and (lambda *a, e=equation: torch.einsum(e, *a)))


# ---- windows ------------------------------------------------------------------------------------

def windows():
    def conv(label, x, w, bias=False, opset=22, torch_pads=None, **attrs):
        pads = attrs.get("pads", [0] * 2 * (len(x) - 2))
        axes = len(x) - 2

        def like(a, k, *b):
            ends = []
            for axis in reversed(range(axes)):
                ends += torch_pads[axis] if torch_pads else [pads[axis], pads[axis + axes]]
            run = (F.conv1d, F.conv2d, F.conv3d)[axes - 1]
            return run(F.pad(a, ends), k, b[0] if b else None, attrs.get("strides", 1), 0,
                       attrs.get("dilations", 1), attrs.get("group", 1))
        inputs = [normal(*x), normal(*w)] + ([normal(w[0])] if bias else [])
        return op("Conv", *inputs, like=like, label=label, opset=opset, **attrs)

    conv("plain", (2, 3, 5, 4), (2, 3, 3, 2), bias=True).second = True
    conv("pads", (1, 2, 4, 4), (3, 2, 3, 3), pads=[1, 0, 2, 1])
    conv("strides", (2, 2, 7, 6), (2, 2, 3, 2), strides=[2, 3], pads=[1, 0, 1, 1]).second = True
    conv("strides_rest", (1, 1, 8, 9), (2, 1, 3, 2), strides=[3, 4])
    conv("dilations", (1, 2, 7, 8), (2, 2, 3, 2), dilations=[2, 3], strides=[1, 2],
         pads=[0, 1, 1, 0])
    conv("groups", (2, 4, 5, 5), (6, 2, 3, 3), group=2, strides=[2, 2], pads=[1, 1, 1, 1],
         bias=True).second = True
    conv("depthwise", (2, 3, 4, 4), (3, 1, 2, 2), group=3)
    conv("1d", (2, 2, 6), (3, 2, 3), strides=[2], pads=[1, 0])
    conv("3d", (1, 2, 3, 4, 3), (2, 2, 2, 2, 2), strides=[1, 2, 1])
    conv("same_upper", (1, 2, 5, 6), (2, 2, 3, 2), auto_pad="SAME_UPPER", strides=[2, 2],
         torch_pads=[[1, 1], [0, 0]]).symbolic = False
    conv("same_lower", (1, 1, 5, 5), (1, 1, 2, 2), auto_pad="SAME_LOWER",
         torch_pads=[[1, 0], [1, 0]]).symbolic = False
    conv("valid", (1, 1, 5, 5), (1, 1, 2, 2), auto_pad="VALID")

    def transposed(label, x, w, bias=False, **attrs):
        pads = attrs.get("pads", [0, 0, 0, 0])

        def like(a, k, *b):
            full = F.conv_transpose2d(a, k, b[0] if b else None, attrs.get("strides", 1), 0, 0,
                                      attrs.get("group", 1), attrs.get("dilations", 1))
            extra = attrs.get("output_padding", [0, 0])
            return F.pad(full, (-pads[1], extra[1] - pads[3], -pads[0], extra[0] - pads[2]))
        inputs = [normal(*x), normal(*w)]
        if bias:
            inputs.append(normal(w[1] * attrs.get("group", 1)))
        case = op("ConvTranspose", *inputs, like=like if not (
            bias and "output_padding" in attrs) else None, label=label, **attrs)
        return case

    transposed("plain", (2, 2, 3, 3), (2, 3, 2, 2), bias=True).second = True
    transposed("strides", (1, 2, 3, 4), (2, 2, 3, 3), strides=[2, 3], pads=[1, 0, 1, 2])
    transposed("groups", (1, 4, 3, 3), (4, 2, 2, 2), group=2, dilations=[1, 2], bias=True)
    transposed("output_padding", (1, 1, 3, 3), (1, 1, 2, 2), strides=[3, 2],
               output_padding=[2, 1])
    op("ConvTranspose", normal(1, 1, 3, 3), normal(1, 2, 3, 3), strides=[2, 2],
       output_shape=[6, 6], label="output_shape").symbolic = False

    grid = distinct(2, 2, 5, 6)
    op("MaxPool", grid, kernel_shape=[2, 2], strides=[2, 2], like=lambda a: F.max_pool2d(a, 2))
    op("MaxPool", grid, kernel_shape=[3, 3], strides=[1, 2], pads=[1, 1, 1, 1], label="overlap",
       like=lambda a: F.max_pool2d(a, 3, (1, 2), 1)).second = True
    op("MaxPool", grid, kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1, label="ceil",
       like=lambda a: F.max_pool2d(a, (3, 2), 2, ceil_mode=True))
    op("MaxPool", grid, kernel_shape=[2, 2], storage_order=1, label="column_major", outputs=2,
       like=lambda a: F.max_pool2d(a, 2, 1))
    op("MaxPool", grid, kernel_shape=[2, 2], opset=7, label="7",
       like=lambda a: F.max_pool2d(a, 2, 1))
    image = normal(2, 2, 5, 6)
    op("AveragePool", image, kernel_shape=[2, 3], strides=[2, 1],
       like=lambda a: F.avg_pool2d(a, (2, 3), (2, 1))).second = True
    op("AveragePool", image, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], label="pads",
       like=lambda a: F.avg_pool2d(a, 3, 2, 1, count_include_pad=False))
    op("AveragePool", image, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1],
       count_include_pad=1, label="include", like=lambda a: F.avg_pool2d(a, 3, 2, 1))
    op("AveragePool", image, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1,
       count_include_pad=1, label="ceil_include",
       like=lambda a: F.avg_pool2d(a, 3, 2, 1, ceil_mode=True))
    op("AveragePool", image, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, label="ceil",
       like=lambda a: F.avg_pool2d(a, 2, 2, ceil_mode=True))
    op("AveragePool", image, kernel_shape=[2, 2], auto_pad="SAME_UPPER", label="same")
    op("AveragePool", normal(1, 2, 7), kernel_shape=[2], dilations=[2], label="dilations")
    op("GlobalAveragePool", image, like=lambda a: a.mean((2, 3), keepdim=True)).second = True
    op("GlobalAveragePool", normal(2, 3), label="no_space", like=lambda a: a * 1)
    op("GlobalMaxPool", grid, like=lambda a: a.amax((2, 3), keepdim=True))


# ---- normalisation and losses -------------------------------------------------------------------

def norms():
    image, params = normal(2, 4, 3, 2), (between(0.5, 2, 4), normal(4))
    op("BatchNormalization", image, *params, normal(4), between(0.5, 2, 4), epsilon=1e-3,
       like=lambda a, s, b, m, v: (a - m[:, None, None]) / (v[:, None, None] + 1e-3).sqrt()
       * s[:, None, None] + b[:, None, None])
    op("BatchNormalization", normal(5, 4), *params, normal(4), between(0.5, 2, 4), opset=9,
       label="9")
    op("BatchNormalization", image, *params, Const(normal(4)), Const(between(0.5, 2, 4)),
       training_mode=1, outputs=3, label="training",
       like=lambda a, s, b: F.batch_norm(a, None, None, s, b, training=True))
    op("BatchNormalization", image, *params, normal(4), between(0.5, 2, 4), training_mode=1,
       outputs=3, y=2, label="running")
    op("LayerNormalization", image, between(0.5, 2, 3, 2), normal(3, 2), axis=2,
       like=lambda a, s, b: F.layer_norm(a, (3, 2), s, b)).second = True
    op("LayerNormalization", image, between(0.5, 2, 2), label="no_bias",
       like=lambda a, s: F.layer_norm(a, (2,), s))
    graph("LayerNormalization_inverse", [  # which is float32: too coarse for differences
        node("LayerNormalization", "x s", "n m inverse", axis=1),
        node("Cast", "inverse", "y", to=DOUBLE)], {"x": image}, "y",
        lambda a: (a.var((1, 2, 3), unbiased=False, keepdim=True) + 1e-5).rsqrt(),
        s=np.ones((4, 3, 2))).kink = True
    op("RMSNormalization", image, between(0.5, 2, 3, 2), axis=2, opset=23,
       like=lambda a, s: a / ((a * a).mean((2, 3), keepdim=True) + 1e-5).sqrt() * s)
    op("InstanceNormalization", image, *params, like=lambda a, s, b: F.instance_norm(
        a, weight=s, bias=b))
    op("GroupNormalization", image, *params, num_groups=2,
       like=lambda a, s, b: F.group_norm(a, 2, s, b))
    op("GroupNormalization", image, between(0.5, 2, 2), normal(2), num_groups=2, opset=18,
       label="18")
    op("LpNormalization", image, axis=1, like=lambda a: F.normalize(a, dim=1))
    op("LpNormalization", image, p=1, label="1", like=lambda a: F.normalize(a, p=1, dim=-1))
    op("LRN", normal(2, 5, 2, 3), size=3, alpha=0.5, beta=0.625, bias=1.5,
       like=lambda a: F.local_response_norm(a, 3, 0.5, 0.625, 1.5))
    op("LRN", normal(1, 5, 2), size=4, alpha=0.5, label="even")
    op("MeanVarianceNormalization", image)
    op("MeanVarianceNormalization", image, axes=[1], label="axes")
    scores, labels = normal(3, 4, 2), np.array([[0, 3], [1, 2], [3, 3]])
    weights = between(0.5, 2, 4)
    spoilt = np.array([[0, -1], [1, 2], [-1, 3]])
    for reduction in ("mean", "sum", "none"):
        op("SoftmaxCrossEntropyLoss", scores, Const(labels), reduction=reduction, label=reduction,
           like=lambda a, r=reduction: F.cross_entropy(a, torch.tensor(labels), reduction=r))
        op("NegativeLogLikelihoodLoss", scores, Const(spoilt), weights, ignore_index=-1,
           reduction=reduction, label=reduction,
           like=lambda a, w, r=reduction: nll(a, spoilt, w, r))
    op("SoftmaxCrossEntropyLoss", scores, Const(labels, np.int32), outputs=2, y=1,
       label="log_prob", like=lambda a: F.log_softmax(a, 1))


def nll(scores, labels, weights, reduction):
    """PyTorch gives no gradient of the weights; by hand it does."""
    used = torch.tensor(labels >= 0)
    index = torch.tensor(np.maximum(labels, 0))
    own = weights[index] * used
    loss = -scores.gather(1, index[:, None])[:, 0] * own
    return loss if reduction == "none" else loss.sum() / (own.sum() if reduction == "mean" else 1)


# ---- networks -----------------------------------------------------------------------------------

def networks():
    labels = np.array([2, 0, 1])
    graph("perceptron", [
        node("Gemm", "x w1 b1", "h1", transB=1), node("Tanh", "h1", "a1"),
        node("MatMul", "a1 w2", "h2"), node("Add", "h2 b2", "scores"),
        node("SoftmaxCrossEntropyLoss", "scores labels", "loss")],
        {"x": normal(3, 5), "w1": normal(4, 5), "b1": normal(4), "w2": normal(4, 3),
         "b2": normal(3)}, "loss",
        lambda x, w1, b1, w2, b2: F.cross_entropy(
            torch.tanh(x @ w1.T + b1) @ w2 + b2, torch.tensor(labels)),
        labels=labels).second = True

    def cnn(x, w, s, b, f):
        h = F.conv2d(x, w, stride=2, padding=1)
        h = F.relu(F.batch_norm(h, None, None, s, b, training=True))
        h = F.max_pool2d(h, 2).mean((2, 3))
        return F.cross_entropy(h @ f, torch.tensor(labels))
    graph("convolutional", [
        node("Conv", "x w", "c", strides=[2, 2], pads=[1, 1, 1, 1]),
        node("BatchNormalization", "c s b m v", "n m2 v2", training_mode=1),
        node("Relu", "n", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", "p", "q"), node("Flatten", "q", "f1"),
        node("MatMul", "f1 f", "scores"), node("LogSoftmax", "scores", "lp"),
        node("NegativeLogLikelihoodLoss", "lp labels", "loss")],
        {"x": normal(3, 2, 8, 8), "w": normal(4, 2, 3, 3), "s": between(0.5, 2, 4),
         "b": normal(4), "f": normal(4, 3)}, "loss", cnn, labels=labels, m=np.zeros(4),
        v=np.ones(4))

    def attention(x, q, k, v):
        a = torch.softmax((x @ q) @ (x @ k).transpose(1, 2) * 0.5, -1)
        h = a @ (x @ v) + x
        return F.layer_norm(h, (4,)).pow(2).mean() + F.gelu(h).sum()
    graph("attention", [
        node("MatMul", "x q", "xq"), node("MatMul", "x k", "xk"), node("MatMul", "x v", "xv"),
        node("Transpose", "xk", "kt", perm=[0, 2, 1]), node("MatMul", "xq kt", "s"),
        node("Mul", "s half", "sh"), node("Softmax", "sh", "a"), node("MatMul", "a xv", "o"),
        node("Add", "o x", "h"), node("LayerNormalization", "h one", "n"),
        node("Mul", "n n", "n2"), node("ReduceMean", "n2", "m", keepdims=0),
        node("Gelu", "h", "e"), node("ReduceSum", "e", "es", keepdims=0),
        node("Add", "m es", "loss")],
        {"x": normal(2, 3, 4), "q": normal(4, 4), "k": normal(4, 4), "v": normal(4, 4)}, "loss",
        attention, half=np.array(0.5), one=np.ones(4))

    graph("shared", [
        node("Mul", "x x", "s"), node("Add", "s x", "a"), node("Sin", "a", "b"),
        node("Mul", "b s", "c"), node("Concat", "c x", "d", axis=0)],
        {"x": normal(4)}, "d",
        lambda x: torch.cat([torch.sin(x * x + x) * x * x, x])).second = True
    graph("through_shapes", [
        node("Shape", "x", "s"), node("Gather", "s first", "n"),
        node("Unsqueeze", "n zero", "n1"), node("Concat", "n1 rest", "t", axis=0),
        node("Reshape", "x t", "r"), node("ReduceSum", "r one", "y")],
        {"x": normal(2, 3, 2)}, "y", lambda x: x.reshape(2, 6).sum(1, keepdim=True),
        first=np.array(0), zero=np.array([0]), rest=np.array([-1]), one=np.array([1]))


for family in (unary, binary, shapes, indices, reductions, products, windows, norms, networks):
    family()
