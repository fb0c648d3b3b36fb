"""The cases of passes.py: graphs in ONNX's text form, and the operators that passes leave of them."""
import dataclasses
import math

import numpy as np

RNG = np.random.default_rng(7)


def draw(*shape, low=-1.0, high=1.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def number(value):
    return np.float32(value)


@dataclasses.dataclass
class Case:
    name: str
    body: str
    left: list
    inputs: str = "float[N,3,8,6] x"
    outputs: str = "float[...] y"
    constants: dict = dataclasses.field(default_factory=dict)
    opset: int = 17
    reference: bool = True
    shapes: tuple = ((2, 3, 8, 6),)

    def samples(self):
        names = [part.split()[-1] for part in self.inputs.replace("],", "]\n").splitlines()]
        for shape in self.shapes:
            yield {name: (RNG.standard_normal(shape) * 3).astype(np.float32) for name in names}


CASES = []


def case(name, body, left, **more):
    more.setdefault("outputs", "float[A,B,C,D] y")
    CASES.append(Case(name, body, left.split(), **more))


# ---- level 1 -----------------------------------------------------------------------------------------
case("dead", "y = Relu(x) a = Neg(x) b = Abs(a)", "Relu")
case("identity", "a = Identity(x) b = Relu(a) y = Identity(b)", "Relu")
case("identity of an input stays", "y = Identity(x)", "Identity")
case("two names for one", "a = Relu(x) y = Identity(a) z = Identity(a)", "Relu Identity",
     outputs="float[A,B,C,D] y, float[A,B,C,D] z")
case("dropout", "a = Dropout(x) y = Relu(a)", "Relu")
case("dropout of nothing", "a = Dropout(x, r, t) y = Relu(a)", "Relu", opset=13,
     constants={"r": number(0), "t": np.array(True)})
case("dropout in training stays", "a = Dropout(x, r, t) b = Mul(a, r) y = Relu(b)", "Dropout Mul Relu",
     opset=13, constants={"r": np.array(1e-30, np.float32), "t": np.array(True)}, reference=False)
case("dropout with a mask stays", "a, m = Dropout(x) y = Relu(a)", "Dropout Relu",
     outputs="float[A,B,C,D] y, bool[A,B,C,D] m")
case("cast to itself", "a = Cast<to=1>(x) y = Relu(a)", "Relu")
case("cast elsewhere stays", "a = Cast<to=11>(x) b = Cast<to=1>(a) y = Relu(b)", "Cast Cast Relu")
case("transpose by nothing", "a = Transpose<perm=[0,1,2,3]>(x) y = Relu(a)", "Relu")
case("reshape to itself", "s = Shape(x) a = Reshape(x, s) y = Relu(a)", "Relu")
case("expand to itself", "s = Shape(x) a = Expand(x, s) y = Relu(a)", "Relu")
case("concat of one", "a = Concat<axis=1>(x) b = Sum(a) c = Max(b) y = Relu(c)", "Relu")
case("pad of zeros", "a = Pad(x, p) y = Relu(a)", "Relu", constants={"p": np.zeros(8, np.int64)})
case("slice of everything", "a = Slice(x, s, e) y = Relu(a)", "Relu",
     constants={"s": np.zeros(4, np.int64), "e": np.full(4, 2**62, np.int64)})
case("slice backwards stays", "a = Slice(x, s, e, i, t) y = Relu(a)", "Slice Relu",
     constants={"s": np.array([-1]), "e": np.array([-(2**62)]), "i": np.array([2]),
                "t": np.array([-1])})
case("times one, plus zero", "a = Mul(x, one) b = Add(zero, a) c = Sub(b, zero) d = Div(c, one) "
     "y = Relu(d)", "Relu", constants={"one": number(1), "zero": np.zeros((1, 1), np.float32)})
case("one divided stays", "y = Div(one, x)", "Div", constants={"one": number(1)})
case("one with more dims stays", "a = Mul(x, one) y = Relu(a)", "Mul Relu",
     constants={"one": np.ones((1, 1, 1, 1, 1), np.float32)}, outputs="float[A,B,C,D,E] y")
case("known shapes", "s = Shape(x) c = Gather(s, one) d = Mul(c, eight) u = Unsqueeze(d, zeros) "
     "t = Concat<axis=0>(minus, u) y = Reshape(x, t)", "Reshape", outputs="float[A,B] y",
     constants={"one": np.int64(1), "eight": np.int64(8), "zeros": np.array([0]),
                "minus": np.array([-1])})
case("open shapes", "s = Shape(x) n = Gather(s, zero) u = Unsqueeze(n, zeros) "
     "t = Concat<axis=0>(u, minus) a = Reshape(x, t) y = Relu(a)", "Reshape Relu",
     outputs="float[A,B] y", shapes=((2, 3, 8, 6), (1, 3, 8, 6), (5, 3, 8, 6)),
     constants={"zero": np.int64(0), "zeros": np.array([0]), "minus": np.array([-1])})
case("open shapes to expand to", "s = Shape(x) a = Expand(c, s) y = Mul(a, x)", "Expand Mul",
     constants={"c": draw(3, 1, 6)}, shapes=((2, 3, 8, 6), (1, 3, 8, 6)))
case("shapes from data stay", "i = Cast<to=7>(x) r = ReduceMax<keepdims=0>(i) z = Mul(r, nothing) "
     "e = Add(z, six) u = Unsqueeze(e, zeros) t = Concat<axis=0>(minus, u) y = Reshape(x, t)",
     "Cast ReduceMax Mul Add Unsqueeze Concat Reshape", outputs="float[A,B] y", reference=False,
     constants={"nothing": np.int64(0), "six": np.int64(6), "zeros": np.array([0]),
                "minus": np.array([-1])})
case("constants are folded", "a = Exp(c) b = Transpose<perm=[1,0]>(a) y = Mul(x, b)", "Mul",
     constants={"c": draw(6, 8)})
case("folding has a budget", "a = Expand(c, s) b = ReduceSum<keepdims=0>(a) y = Mul(x, b)",
     "Expand ReduceSum Mul", constants={"c": number(0.01), "s": np.array([4096, 1024])})
case("random numbers are not folded", "a = RandomUniform<shape=[1]>() b = Mul(a, zero) y = Add(x, b)",
     "RandomUniform Mul Add", constants={"zero": number(0)}, reference=False)
case("a constant that fails stays", "a = Gather(c, i) b = Slice(a, l, l) y = Concat<axis=0>(x, b)",
     "Concat", constants={"c": draw(5, 3, 8, 6), "i": np.array([4]), "l": np.array([1])})
case("common subexpressions", "a = Relu(x) b = Relu(x) c = Mul(a, two) d = Mul(b, zwei) y = Add(c, d)",
     "Relu Mul Add", constants={"two": number(2), "zwei": number(2)})
case("attributes tell nodes apart", "a = LeakyRelu<alpha=0.1>(x) b = LeakyRelu<alpha=0.2>(x) "
     "y = Add(a, b)", "LeakyRelu LeakyRelu Add")
case("common outputs", "y = Relu(x) z = Relu(x)", "Relu Relu",
     outputs="float[A,B,C,D] y, float[A,B,C,D] z")

# ---- into weights --------------------------------------------------------------------------------------
NORM = {"s": draw(4, low=0.5), "b": draw(4), "m": draw(4), "v": draw(4, low=0.2)}
case("conv and batch norm", "a = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w) "
     "y = BatchNormalization<epsilon=0.01>(a, s, b, m, v)", "Conv",
     constants={"w": draw(4, 3, 3, 3), **NORM})
case("conv with bias and batch norm", "a = Conv(x, w, c) y = BatchNormalization(a, s, b, m, v)", "Conv",
     constants={"w": draw(4, 3, 3, 3), "c": draw(4), **NORM})
case("conv read twice stays", "a = Conv(x, w) n = BatchNormalization(a, s, b, m, v) y = Add(a, n)",
     "Conv BatchNormalization Add", constants={"w": draw(4, 3, 3, 3), **NORM})
case("transposed conv in groups", "a = ConvTranspose<group=2, strides=[2,2]>(x, w, c) "
     "y = BatchNormalization(a, s, b, m, v)", "ConvTranspose", inputs="float[N,6,5,4] x",
     shapes=((2, 6, 5, 4),), reference=False,  # the reference takes one bias for all groups
     constants={"w": draw(6, 2, 3, 3), "c": draw(4), **NORM})
case("gemm and batch norm", "a = Gemm<alpha=0.5, beta=2.0, transB=1>(x, w, c) "
     "y = BatchNormalization(a, s, b, m, v)", "Gemm", inputs="float[N,5] x", shapes=((3, 5),),
     outputs="float[A,B] y", constants={"w": draw(4, 5), "c": draw(4), **NORM})
case("matmul and batch norm", "a = MatMul(x, w) y = BatchNormalization(a, s, b, m, v)", "Gemm",
     inputs="float[N,5] x", shapes=((3, 5),), outputs="float[A,B] y",
     constants={"w": draw(5, 4), **NORM})
case("matmul and bias", "a = MatMul(x, w) y = Add(b, a)", "Gemm", inputs="float[N,5] x",
     shapes=((3, 5),), outputs="float[A,B] y", constants={"w": draw(5, 4), "b": draw(4)})
case("conv, scale, shift", "a = Conv(x, w) b = Mul(a, k) c = Add(b, l) d = Sub(one, c) y = Div(d, two)",
     "Conv", constants={"w": draw(4, 3, 3, 3), "k": draw(4, 1, 1), "l": draw(1, 4, 1, 1),
                        "one": number(1), "two": number(2)})
case("scale along another axis stays", "a = Conv(x, w) y = Mul(a, k)", "Conv Mul",
     constants={"w": draw(4, 3, 3, 3), "k": draw(4)}, inputs="float[N,3,6,6] x",
     shapes=((2, 3, 6, 6),))
case("number divided by conv stays", "a = Conv(x, w) y = Div(one, a)", "Conv Div",
     constants={"w": draw(4, 3, 3, 3), "one": number(1)})
case("batch norm in training stays", "a = Conv(x, w) "
     "y, p, q = BatchNormalization<training_mode=1>(a, s, b, m, v)", "Conv BatchNormalization",
     constants={"w": draw(4, 3, 3, 3), **NORM})

# ---- padding -------------------------------------------------------------------------------------------
PADS = {"p": np.array([0, 0, 1, 2, 0, 0, 0, 1])}
case("pad and conv", "a = Pad(x, p) y = Conv<pads=[1,0,0,1]>(a, w)", "Conv",
     constants={"w": draw(4, 3, 3, 3), **PADS})
case("pad by attribute", "a = Pad<pads=[0,0,1,2,0,0,0,1]>(x) y = Conv<auto_pad=\"VALID\">(a, w)", "Conv",
     opset=10, constants={"w": draw(4, 3, 3, 3)}, reference=False)
case("pad of ones stays", "a = Pad(x, p, one) y = Conv(a, w)", "Pad Conv",
     constants={"w": draw(4, 3, 3, 3), "one": number(1), **PADS})
case("pad of channels stays", "a = Pad(x, p) y = Conv(a, w)", "Pad Conv",
     constants={"w": draw(4, 4, 3, 3), "p": np.array([0, 1, 0, 0, 0, 0, 0, 0])})
case("reflection stays", "a = Pad<mode=\"reflect\">(x, p) y = Conv(a, w)", "Pad Conv",
     constants={"w": draw(4, 3, 3, 3), **PADS})
case("pad and same stays", "a = Pad(x, p) y = Conv<auto_pad=\"SAME_UPPER\">(a, w)", "Pad Conv",
     constants={"w": draw(4, 3, 3, 3), **PADS})
case("pad and average", "a = Pad(x, p) y = AveragePool<kernel_shape=[3,3]>(a)", "AveragePool",
     constants=PADS)
case("average without its pads stays", "a = Pad(x, p) y = AveragePool<kernel_shape=[3,3], "
     "pads=[1,1,1,1]>(a)", "Pad AveragePool", constants=PADS)
case("pad and maximum stays", "a = Pad(x, p) y = MaxPool<kernel_shape=[3,3]>(a)", "Pad MaxPool",
     constants=PADS)
case("pad of infinity and maximum", "a = Pad(x, p, low) y = MaxPool<kernel_shape=[3,3]>(a)", "MaxPool",
     constants={"low": number(-np.inf), **PADS})

# ---- activations ---------------------------------------------------------------------------------------
ROOTS = {"root": number(math.sqrt(2)), "inverse": number(1 / math.sqrt(2)), "one": number(1),
         "half": number(0.5), "ones": np.ones(1, np.float32)}
for label, body in {
        "divided": "a = Div(x, root) e = Erf(a) b = Add(e, one) c = Mul(x, b) y = Mul(c, half)",
        "multiplied": "a = Mul(inverse, x) e = Erf(a) b = Add(ones, e) c = Mul(b, x) y = Mul(half, c)",
        "half first": "h = Mul(x, half) a = Div(x, root) e = Erf(a) b = Add(e, one) y = Mul(h, b)",
        "half inside": "a = Div(x, root) e = Erf(a) b = Add(e, one) c = Mul(b, half) y = Mul(x, c)",
        "half spread": "a = Div(x, root) e = Erf(a) b = Mul(e, half) c = Add(b, half) y = Mul(x, c)",
}.items():
    case(f"gelu, {label}", body, "Gelu", constants=ROOTS)
case("another factor is no gelu", "a = Div(x, root) e = Erf(a) b = Add(e, one) y = Mul(x, b)",
     "Div Erf Add Mul", constants=ROOTS)
case("gelu of something else", "n = Neg(x) a = Div(n, root) e = Erf(a) b = Add(e, one) c = Mul(x, b) "
     "y = Mul(c, half)", "Neg Div Erf Add Mul Mul", constants=ROOTS)
TANH = {"k": number(math.sqrt(2 / math.pi)), "q": number(0.044715), "three": number(3), **ROOTS}
case("gelu by tanh", "a = Pow(x, three) b = Mul(a, q) c = Add(x, b) d = Mul(c, k) t = Tanh(d) "
     "e = Add(t, one) f = Mul(x, e) y = Mul(f, half)", "Gelu", constants=TANH)
case("gelu by tanh, in factors", "a = Mul(x, x) b = Mul(a, q) c = Add(one, b) d = Mul(c, x) "
     "f = Mul(k, d) t = Tanh(f) e = Add(one, t) h = Mul(half, x) y = Mul(h, e)", "Gelu", constants=TANH)
case("swish", "a = Sigmoid(x) y = Mul(x, a)", "Swish", reference=False)
case("swish with a slope", "b = Mul(x, k) a = Sigmoid(b) y = Mul(a, x)", "Swish", reference=False,
     constants={"k": number(1.702)})
case("gate stays", "a = Sigmoid(x) b = Relu(x) y = Mul(b, a)", "Sigmoid Relu Mul")
SIX = {"three": number(3), "zero": number(0), "six": number(6), "sixth": number(1 / 6)}
case("hard swish by clip", "a = Add(x, three) b = Clip(a, zero, six) c = Mul(x, b) y = Div(c, six)",
     "HardSwish", constants=SIX)
case("hard swish, divided first", "a = Add(three, x) b = Clip(a, zero, six) c = Mul(b, sixth) "
     "y = Mul(c, x)", "HardSwish", constants=SIX)
case("hard sigmoid by clip", "a = Add(x, three) b = Clip(a, zero, six) y = Div(b, six)", "HardSigmoid",
     constants=SIX)
case("hard swish by hard sigmoid", "a = HardSigmoid<alpha=0.16666667, beta=0.5>(x) y = Mul(x, a)",
     "HardSwish")
case("another clip stays", "a = Add(x, three) b = Clip(a, zero, three) y = Div(b, six)", "Add Clip Div",
     constants=SIX)

# ---- normalisations --------------------------------------------------------------------------------------
LAYER = {"two": number(2), "eps": number(1e-5), "g": draw(6), "b": draw(6), "g2": draw(8, 6)}
CENTRE = "m = ReduceMean<axes=[-1]>(x) d = Sub(x, m) "
SPREAD = "v = ReduceMean<axes=[-1]>(s) w = Add(v, eps) r = Sqrt(w) "
case("layer norm", CENTRE + "s = Pow(d, two) " + SPREAD + "n = Div(d, r) k = Mul(n, g) y = Add(k, b)",
     "LayerNormalization", constants=LAYER)
case("layer norm, by products", CENTRE + "s = Mul(d, d) " + SPREAD + "i = Reciprocal(r) n = Mul(d, i) "
     "k = Mul(g, n) y = Add(b, k)", "LayerNormalization", constants=LAYER)
case("layer norm without bias", CENTRE + "s = Pow(d, two) " + SPREAD + "n = Div(d, r) y = Mul(n, g)",
     "LayerNormalization", constants=LAYER)
case("layer norm without scale", CENTRE + "s = Pow(d, two) " + SPREAD + "y = Div(d, r)",
     "LayerNormalization", constants=LAYER)
case("layer norm of two axes", "m = ReduceMean<axes=[2,3]>(x) d = Sub(x, m) s = Pow(d, two) "
     "v = ReduceMean<axes=[2,3]>(s) w = Add(v, eps) r = Sqrt(w) n = Div(d, r) y = Mul(n, g2)",
     "LayerNormalization", constants=LAYER)
case("layer norm that is looked into stays", CENTRE + "s = Pow(d, two) " + SPREAD +
     "n = Div(d, r) y = Mul(n, g)", "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul", constants=LAYER,
     outputs="float[A,B,C,D] y, float[A,B,C,D] r")
case("rms norm", "s = Mul(x, x) " + SPREAD + "n = Div(x, r) y = Mul(n, g)", "RMSNormalization",
     constants=LAYER)
case("norm over other axes stays", "s = Mul(x, x) v = ReduceMean<axes=[1]>(s) w = Add(v, eps) "
     "r = Sqrt(w) y = Div(x, r)", "Mul ReduceMean Add Sqrt Div", constants=LAYER)
case("mean of planes", "y = ReduceMean<axes=[2,3]>(x)", "GlobalAveragePool")
case("mean of planes by an input", "y = ReduceMean(x, axes)", "GlobalAveragePool", opset=18,
     constants={"axes": np.array([-1, -2])})
case("mean without dims stays", "y = ReduceMean<axes=[2,3], keepdims=0>(x)", "ReduceMean",
     outputs="float[A,B] y")
