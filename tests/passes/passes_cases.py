"""The cases of passes.py: graphs in ONNX's text form, and the operators that passes leave of them."""
import dataclasses
import math

import numpy as np

RNG = np.random.default_rng(7)


def draw(*shape, low=-1.0, high=1.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


def number(value):
    return np.array(value, np.float32)


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
    level: int = 2  # that `left` speaks of; numbers are compared at the highest
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

# ---- transpositions ------------------------------------------------------------------------------------
TO, BACK = "Transpose<perm=[0,2,3,1]>", "Transpose<perm=[0,3,1,2]>"
case("transpositions cancel", f"a = {TO}(x) b = Relu(a) y = {BACK}(b)", "Relu", level=1)
case("two transpositions become one", "a = Transpose<perm=[0,2,1,3]>(x) b = Exp(a) "
     "y = Transpose<perm=[0,1,3,2]>(b)", "Exp Transpose", level=1)
case("without perm", "a = Transpose(x) b = Neg(a) y = Transpose(b)", "Neg", level=1)
case("through sums and constants", f"a = {TO}(x) b = Mul(a, c) d = Add(b, one) e = Sub(d, a) "
     f"y = {BACK}(e)", "Mul Add Sub", level=1,
     constants={"c": draw(6, 3), "one": number(1)})
case("through both operands", f"a = {TO}(x) n = Neg(x) b = {TO}(n) d = Mul(a, c) e = Add(d, b) "
     f"y = {BACK}(e)", "Neg Mul Add", level=1, constants={"c": draw(6, 3)})
case("the middle is an output", f"a = {TO}(x) z = Relu(a) y = {BACK}(z)",
     "Transpose Relu Transpose", level=1, outputs="float[A,B,C,D] y, float[E,F,G,H] z")
case("transposition read twice", f"a = {TO}(x) z = Softmax(a) b = {BACK}(a) y = Relu(b)",
     "Transpose Softmax Relu", level=1, outputs="float[A,B,C,D] y, float[E,F,G,H] z")
case("not through a softmax", f"a = {TO}(x) b = Softmax(a) y = {BACK}(b)",
     "Transpose Softmax Transpose", level=1)
case("an operand that is not transposed", f"a = {TO}(x) b = Softmax(a) d = Add(a, b) "
     f"y = {BACK}(d)", "Transpose Softmax Add Transpose", level=1)
case("axes of one are a reshape", "a = Unsqueeze(x, two) b = Transpose<perm=[2,0,1,3,4]>(a) "
     "y = Relu(b)", "Unsqueeze Reshape Relu", level=1, constants={"two": np.array([2])},
     outputs="float[A,B,C,D,E] y")

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
     "y = BatchNormalization(a, s, b, m, v)", "MatMul", inputs="float[N,5] x", shapes=((3, 5),),
     outputs="float[A,B] y", constants={"w": draw(4, 5), "c": draw(4), **NORM})
case("matmul and batch norm", "a = MatMul(x, w) y = BatchNormalization(a, s, b, m, v)", "MatMul",
     inputs="float[N,5] x", shapes=((3, 5),), outputs="float[A,B] y",
     constants={"w": draw(5, 4), **NORM})
case("matmul and bias", "a = MatMul(x, w) y = Add(b, a)", "MatMul", inputs="float[N,5] x",
     shapes=((3, 5),), outputs="float[A,B] y", constants={"w": draw(5, 4), "b": draw(4)})
case("conv, scale, shift", "a = Conv(x, w) b = Mul(a, k) c = Add(b, l) d = Sub(one, c) y = Div(d, two)",
     "Conv", constants={"w": draw(4, 3, 3, 3), "k": draw(4, 1, 1), "l": draw(1, 4, 1, 1),
                        "one": number(1), "two": number(2)})
case("scale along another axis stays", "a = Conv(x, w) y = Mul(a, k)", "Conv Mul",
     constants={"w": draw(4, 3, 3, 3), "k": draw(4)}, inputs="float[N,3,6,6] x",
     shapes=((2, 3, 6, 6),))
case("number divided by conv stays", "a = Conv(x, w, far) y = Div(one, a)", "Conv Div",
     constants={"w": draw(4, 3, 3, 3), "one": number(1), "far": number([99] * 4)})
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


# ---- packed products, tails, layout ------------------------------------------------------------------
FEW = {"w": draw(5, 3, 3, 3), "b": draw(5), "v": draw(5, 5, 1, 1), "d": draw(5, 1, 3, 3)}


def fused(name, body, left, **more):
    more.setdefault("level", 3)
    case(name, body, left, **more)


fused("matmul, bias, gelu", "a = MatMul(x, w) c = Add(b, a) d = Div(c, r) e = Erf(d) f = Add(e, one) "
      "g = Mul(c, f) y = Mul(g, h)", "MatMul",
      constants={"w": draw(6, 7), "b": draw(7), "r": number(math.sqrt(2)), "one": number(1),
                 "h": number(0.5)}, level=2)
fused("gemm with factors", "y = Gemm<alpha=0.5, beta=2.0, transB=1>(x, w, b)", "MatMul",
      inputs="float[N,6] x", outputs="float[N,4] y", shapes=((3, 6), (1, 6)),
      constants={"w": draw(4, 6), "b": draw(1, 4)}, level=2)
fused("gemm of a transposed factor stays", "y = Gemm<transA=1>(x, w)", "Gemm",
      inputs="float[6,N] x", outputs="float[N,4] y", shapes=((6, 3),),
      constants={"w": draw(6, 4)}, level=2)
fused("matmul and a sum of its own", "a = MatMul(x, w) c = Add(a, x) y = Relu(c)", "MatMul",
      constants={"w": draw(6, 6)}, level=2)
fused("sum that is broadcast stays", "a = MatMul(x, w) y = Add(a, s)", "MatMul Add",
      constants={"w": draw(6, 6), "s": draw(8, 1)}, level=2)
fused("matmul read twice", "a = MatMul(x, w) c = Relu(a) y = Add(a, c)", "MatMul Relu Add",
      constants={"w": draw(6, 6)}, level=2)
fused("conv and relu", "a = Conv<pads=[1,1,1,1]>(x, w, b) y = Relu(a)", "Conv Transpose",
      constants=FEW)
for activation in ("Sigmoid(a)", "Tanh(a)", "HardSwish(a)", "LeakyRelu<alpha=0.3>(a)",
                   "HardSigmoid<alpha=0.1>(a)", "Clip(a, l, u)"):
    fused(f"conv and {activation}", f"a = Conv(x, w, b) y = {activation}", "Conv Transpose",
          constants={**FEW, "l": number(-0.5), "u": number(0.75)})
fused("a block with a residual", "a = Conv<pads=[1,1,1,1]>(x, w, b) c = Relu(a) e = Conv(c, v) "
      "f = Add(e, c) y = Relu(f)", "Conv Conv Transpose", constants=FEW)
fused("two branches", "a = Conv<pads=[1,1,1,1]>(x, w, b) e = Conv(a, v) f = Conv(a, v2) "
      "y = Add(e, f)", "Conv Conv Conv Transpose", constants={**FEW, "v2": draw(5, 5, 1, 1)})
fused("conv that keeps its layout, and relu", "a = Conv<pads=[1,1,1,1]>(x, w, b) y = Relu(a)", "PlainConv",
      constants=FEW, level=2)
fused("a block with a residual, planes", "a = Conv<pads=[1,1,1,1]>(x, w, b) c = Relu(a) e = Conv(c, v) "
      "f = Add(e, c) y = Relu(f)", "PlainConv PlainConv", constants=FEW, level=2)
fused("two branches of planes", "a = Conv<pads=[1,1,1,1]>(x, w, b) e = Conv(a, v) f = Conv(a, v2) "
      "g = Add(e, f) y = HardSwish(g)", "Conv Conv PlainConv",
      constants={**FEW, "v2": draw(5, 5, 1, 1)}, level=2)
fused("a line of the image is no bias", "a = Conv<pads=[1,1,1,1]>(x, w, b) y = Add(a, s)", "Conv Add",
      constants={**FEW, "s": draw(6)}, inputs="float[N,3,8,6] x", shapes=((2, 3, 8, 6),), level=2)
fused("conv along one axis", "a = Conv<pads=[1,1]>(x, w, b) c = Add(a, x) y = Swish<alpha=1.5>(c)",
      "PlainConv", inputs="float[N,4,9] x", shapes=((2, 4, 9), (1, 4, 9)), outputs="float[A,B,C] y",
      constants={"w": draw(4, 4, 3), "b": draw(4)}, opset=24)
fused("conv with weights from outside", "a = Conv(x, x) y = Relu(a)", "PlainConv",
      inputs="float[N,3,8,6] x", shapes=((3, 3, 8, 6),), reference=False)
fused("depthwise", "a = Conv(x, w) y = Conv<group=5, pads=[1,1,1,1], strides=[2,2]>(a, d)",
      "Conv Conv Transpose", constants=FEW)
fused("squeeze and excite", "a = Conv(x, w) m = GlobalAveragePool(a) n = Conv(m, v, b) "
      "s = Sigmoid(n) y = Mul(a, s)", "Conv ReduceMean Conv Mul Transpose", constants=FEW)
fused("concat and split of channels", "a = Conv(x, w) c = Concat<axis=1>(a, a) "
      "e, f = Split<axis=1>(c, sizes) y = Sub(e, f)", "Conv Concat Split Sub Transpose",
      constants={**FEW, "sizes": np.array([5, 5])})
def shuffle(groups, channels):
    return {"five": np.array([0, groups, channels // groups, 8, 6]), "four": np.array([0, channels, 8, 6]),
            "s0": np.array([0]), "s1": np.array([4]), "s2": np.array([2**40]), "one": np.array([1])}


SHUFFLE = "t = Reshape(c, five) u = Transpose<perm=[0,2,1,3,4]>(t) q = Reshape(u, four) "
fused("shuffle of two images, cut again", "a = Conv<pads=[1,1,1,1]>(x, w, b) e = Conv(a, v) "
      "c = Concat<axis=1>(a, e) " + SHUFFLE + "y = Slice(q, s1, s2, one) z = Slice(q, s0, s1, one)",
      "Conv Conv Shuffle Transpose Transpose", inputs="float[N,3,8,6] x",
      outputs="float[A,B,C,D] y, float[A,E,C,D] z", shapes=((2, 3, 8, 6), (1, 3, 8, 6)),
      constants={**FEW, **shuffle(2, 10)})
fused("shuffle in five groups", "c = Conv<pads=[1,1,1,1]>(x, k) " + SHUFFLE + "p = Conv<group=10>(q, h) "
      "y = Add(p, q)", "Conv Shuffle Conv Transpose", inputs="float[N,3,8,6] x",
      shapes=((2, 3, 8, 6),), constants={"k": draw(10, 3, 3, 3), "h": draw(10, 1, 1, 1), **shuffle(5, 10)})
fused("shuffle of planes", "c = Concat<axis=1>(x, x) " + SHUFFLE + "y = Relu(q)", "Shuffle Relu",
      inputs="float[N,5,8,6] x", shapes=((2, 5, 8, 6),), constants=shuffle(2, 10), level=2)
fused("shuffle, cut inside a turn", "c = Conv<pads=[1,1,1,1]>(x, k) " + SHUFFLE +
      "y = Slice(q, s0, s1, one) z = Slice(q, s1, s2, one)", "Conv Shuffle Transpose Slice Slice",
      inputs="float[N,3,8,6] x", shapes=((2, 3, 8, 6),), outputs="float[A,B,C,D] y, float[A,E,C,D] z",
      constants={"k": draw(10, 3, 3, 3), **shuffle(5, 10)})
fused("shuffle of another order stays", "c = Relu(x) t = Reshape(c, five) "
      "u = Transpose<perm=[0,2,1,4,3]>(t) y = Reshape(u, four)", "Relu Reshape Transpose Reshape",
      inputs="float[N,10,8,6] x", shapes=((2, 10, 8, 6),), constants=shuffle(2, 10), level=2)
fused("mean of pixels without dims", "a = Conv(x, w, b) y = ReduceMean<axes=[2,3], keepdims=0>(a)",
      "Conv ReduceMean", constants=FEW, outputs="float[A,B] y")
fused("mean without dims of other axes", "a = Conv(x, w, b) y = ReduceMean<axes=[1,2], keepdims=0>(a)",
      "Conv Transpose ReduceMean", constants=FEW, outputs="float[A,B] y")
fused("channels last already", "a = Conv(x, w) y = Transpose<perm=[0,2,3,1]>(a)", "Conv",
      constants=FEW)
fused("channels last in between", "a = Conv<pads=[1,1,1,1]>(x, w) c = Transpose<perm=[0,2,3,1]>(a) "
      "m = MatMul(c, k) e = Transpose<perm=[0,3,1,2]>(m) y = Add(a, e)",
      "Conv MatMul Transpose", constants={**FEW, "k": draw(5, 5)})
fused("layer scale and residual", "a = Conv<pads=[1,1,1,1]>(x, w) c = Transpose<perm=[0,2,3,1]>(a) "
      "m = MatMul(c, k) e = Add(m, b) f = Transpose<perm=[0,3,1,2]>(e) g = Mul(f, scale) "
      "y = Add(g, a)", "Conv MatMul Transpose",
      constants={**FEW, "k": draw(5, 5), "scale": draw(5, 1, 1)})
fused("scale of a product's columns", "a = MatMul(x, w) y = Mul(a, s)", "MatMul", level=2,
      constants={"w": draw(6, 7), "s": draw(7)})
fused("scale of a product's rows stays", "a = MatMul(x, w) y = Mul(a, s)", "MatMul Mul", level=2,
      constants={"w": draw(6, 7), "s": draw(8, 1)})
fused("a gemm with alpha, then a scale", "a = Gemm<alpha=0.5, transB=1>(x, w, c) d = Relu(a) "
      "e = Gemm<alpha=3.0>(d, v) y = Div(e, s)", "MatMul MatMul", level=2, inputs="float[N,6] x",
      outputs="float[N,4] y", shapes=((3, 6),),
      constants={"w": draw(5, 6), "c": draw(5), "v": draw(5, 4), "s": draw(4, low=0.5)})
fused("batch norm along another axis stays", "a = MatMul(x, w) y = BatchNormalization(a, s, b, m, v)",
      "MatMul BatchNormalization", level=2, inputs="float[N,4,6] x", outputs="float[N,4,4] y",
      shapes=((2, 4, 6),), constants={"w": draw(6, 4), **NORM})
fused("norm before the conv", "c = Conv<pads=[1,1,1,1]>(x, w) s = Sigmoid(c) q = Add(s, c) "
      "n = BatchNormalization(q, g, b, mean, var) p = Relu(n) e = Conv(p, v) y = Add(e, q)",
      "Conv Sigmoid Add Affine Conv Transpose",
      constants={**FEW, "g": draw(5), "mean": draw(5), "var": draw(5, low=0.5)})
fused("weights from outside stay", "y = Conv(x, x)", "Conv", inputs="float[N,3,8,6] x",
      shapes=((3, 3, 8, 6),), reference=False)
fused("conv of constants", "y = Conv(k, w, b)", "Conv Transpose",
      constants={**FEW, "k": draw(1, 3, 5, 4)})
fused("pools", "a = Conv<pads=[1,1,1,1]>(x, w) c = MaxPool<kernel_shape=[3,2], strides=[2,1], "
      "pads=[1,0,1,0]>(a) y = AveragePool<kernel_shape=[2,2], ceil_mode=1, strides=[2,2]>(c)",
      "Conv MaxPool AveragePool Transpose", constants=FEW)
UP = {"w": draw(3, 9, 3, 2), "b": draw(9)}
fused("transposed conv and its tail", "a = ConvTranspose<strides=[2,2], pads=[1,0,0,1], "
      "output_padding=[1,0]>(x, w, b) y = Relu(a)", "Transpose ConvTranspose Transpose", constants=UP)
fused("transposed conv between convs", "a = Conv(x, v) c = ConvTranspose<strides=[3,2]>(a, w, b) "
      "d = LeakyRelu(c) y = Conv(d, u)", "Conv ConvTranspose Conv Transpose",
      constants={**UP, "v": draw(3, 3, 1, 2), "u": draw(2, 9, 1, 1)})
fused("transposed conv with dilation", "y = ConvTranspose<dilations=[2,3], strides=[2,2]>(x, w)",
      "Transpose ConvTranspose Transpose", constants=UP)
fused("transposed conv, padding by its size", "y = ConvTranspose<auto_pad=\"SAME_UPPER\", "
      "strides=[2,2]>(x, w, b)", "Transpose ConvTranspose Transpose", constants=UP, reference=False)
fused("transposed conv to a shape", "y = ConvTranspose<output_shape=[17,11], strides=[2,2]>(x, w, b)",
      "Transpose ConvTranspose Transpose", constants=UP, reference=False)
fused("transposed conv and a sum", "a = ConvTranspose<pads=[1,0,1,1]>(x, w) c = Conv(x, v) "
      "y = Add(a, c)", "Transpose Conv ConvTranspose Transpose",
      constants={**UP, "v": draw(9, 3, 1, 1)})
fused("transposed conv of small groups stays", "y = ConvTranspose<group=3>(x, w)", "ConvTranspose",
      constants={"w": draw(3, 2, 3, 3)}, reference=False)  # the reference has no groups of many maps
fused("transposed conv to few maps stays", "y = ConvTranspose(x, w)", "ConvTranspose",
      constants={"w": draw(3, 7, 3, 3)})
fused("transposed conv of large groups and batch norm", "a = ConvTranspose<group=3, strides=[2,1]>(x, w) "
      "y = BatchNormalization(a, s, b, m, v)", "Transpose ConvTranspose Transpose",
      constants={"w": draw(3, 8, 3, 3), "s": draw(24, low=0.5), "b": draw(24), "m": draw(24),
                 "v": draw(24, low=0.2)}, reference=False)
fused("scale behind a transposed conv with its channels last", "a = ConvTranspose(x, w) "
      "c = Transpose<perm=[0,2,3,1]>(a) y = Mul(c, s)", "Transpose ConvTranspose",
      constants={**UP, "s": draw(9)})
fused("resize by scales", "a = Conv(x, w) c = Resize<mode=\"nearest\">(a, , scales) y = Relu(c)",
      "Conv Resize Relu Transpose",
      constants={**FEW, "scales": np.array([1, 1, 2, 3], np.float32)})
fused("resize to sizes", "a = Conv(x, w) y = Resize<mode=\"linear\">(a, , , sizes)",
      "Conv Resize Transpose", constants={**FEW, "sizes": np.array([2, 5, 9, 3])})
fused("a pool with indices stays", "a = Conv<pads=[1,1,1,1]>(x, w) "
      "y, i = MaxPool<kernel_shape=[2,2]>(a)", "Conv Transpose MaxPool", constants=FEW,
      outputs="float[A,B,C,D] y, int64[A,B,C,D] i", reference=False)
# Small, since sums of large numbers that cancel out have few digits in any order.
WIDE = {"e": draw(48, 8, 1, 1) / 8, "eb": draw(48), "d": draw(48, 1, 3, 3) / 8, "db": draw(48),
        "p": draw(8, 48, 1, 1) / 8, "pb": draw(8)}
STRIP = ("a = Conv(x, e, eb) a6 = Clip(a, zero, six) c = Conv<group=48, pads=[1,1,1,1]{}>(a6, d, db) "
         "c6 = HardSwish(c) f = Conv(c6, p, pb) ")
LIMITS = {"zero": number(0), "six": number(6)}
fused("strip", STRIP.format("") + "y = Add(f, x)", "Transpose Strip Transpose",
      inputs="float[N,8,56,60] x", shapes=((2, 8, 56, 60),), constants={**WIDE, **LIMITS})
fused("strip with a stride", STRIP.format(", strides=[2,2]") + "y = Relu(f)",
      "Transpose Strip Conv Transpose", inputs="float[N,8,57,61] x", shapes=((2, 8, 57, 61),),
      constants={**WIDE, **LIMITS})
fused("mean of a depthwise convolution", "a = Conv(x, e, eb) c = Conv<group=48, pads=[1,1,1,1]>(a, d, db) "
      "s = HardSwish(c) m = GlobalAveragePool(s) n = Conv(m, q) o = Sigmoid(n) f = Mul(s, o) y = Conv(f, p, pb)",
      "Transpose Conv Strip Conv Project Transpose", inputs="float[N,8,19,7] x", shapes=((2, 8, 19, 7), (1, 8, 19, 7)),
      constants={**WIDE, "q": draw(48, 48, 1, 1) / 8})
SCALED = "a = Conv(x, e, eb) {} o = Sigmoid(m) f = Mul({}) c = Conv(f, k, kb) y = Add(c, a)"
SCALED_OF = {"e": WIDE["e"], "eb": WIDE["eb"], "k": draw(48, 48, 1, 1) / 8, "kb": draw(48)}
OWN = "m = GlobalAveragePool(a)"
fused("factors of channels into a 1x1 convolution", SCALED.format(OWN, "o, a"),
      "Transpose Conv ReduceMean Sigmoid Project Transpose", inputs="float[N,8,15,13] x",
      shapes=((3, 8, 15, 13), (1, 8, 15, 13)), constants=SCALED_OF)
fused("factors of a small image's channels stay", SCALED.format(OWN, "a, o"),
      "Transpose Conv ReduceMean Sigmoid Mul Conv Transpose", inputs="float[N,8,14,13] x",
      shapes=((2, 8, 14, 13),), constants=SCALED_OF)
fused("factors that images share stay", SCALED.format("m = ReduceMean<axes=[0,2,3]>(a)", "o, a"),
      "Transpose Conv ReduceMean Sigmoid Mul Conv Transpose", inputs="float[N,8,15,13] x",
      shapes=((2, 8, 15, 13),), constants=SCALED_OF)
fused("mean of a strip", "a = Conv(x, e, eb) c = Conv<group=48, pads=[1,1,1,1], strides=[2,2]>(a, d, db) "
      "s = Relu(c) m = GlobalAveragePool(s) y = Mul(s, m)",
      "Transpose Strip Mul Transpose", inputs="float[N,8,57,61] x", shapes=((2, 8, 57, 61),),
      constants={**WIDE})
STEM = ("a = Conv<strides=[2,2], pads=[1,0,1,2]>(x, t, eb) a6 = HardSwish(a) "
        "c = Conv<group=48, pads=[1,1,1,1]{}>(a6, d, db) c6 = Clip(c, zero, six) ")
STEM_OF = {**WIDE, **LIMITS, "t": draw(48, 3, 3, 3) / 8}
fused("first layer in a strip", STEM.format("") + "y = Conv(c6, p, pb)", "Strip Transpose",
      inputs="float[N,3,111,121] x", shapes=((2, 3, 111, 121), (1, 3, 111, 121)), constants=STEM_OF)
fused("first layer in a strip with means", STEM.format(", strides=[2,2]") + "m = GlobalAveragePool(c6) "
      "y = Mul(c6, m)", "Strip Mul Transpose", inputs="float[N,3,111,121] x",
      shapes=((2, 3, 111, 121),), constants=STEM_OF)
fused("first layer of an open size stays", STEM.format("") + "y = Conv(c6, p, pb)",
      "Conv Conv Conv Transpose", inputs="float[N,3,H,W] x", shapes=((2, 3, 111, 121),),
      constants=STEM_OF)
fused("strip of a small image stays", STRIP.format("") + "y = Add(f, x)",
      "Transpose Conv Conv Conv Transpose", inputs="float[N,8,9,7] x", shapes=((2, 8, 9, 7),),
      constants={**WIDE, **LIMITS})


# ---- attention ---------------------------------------------------------------------------------------
def ints(*values):
    return np.array(values, np.int64)


def attention(name, body, left, shape, **more):
    """Cases on one input, whose numbers are scaled down by the body or by the few of a sum."""
    constants = {"half": number(0.5), "two": number(2), "last": ints(2), "c0": ints(0), "c8": ints(8),
                 "c16": ints(16), "c24": ints(24), "i0": np.array(0), "i1": np.array(1),
                 "i2": np.array(-1), **more.pop("constants", {})}
    used = {k: v for k, v in constants.items() if f"{k}" in body.replace("(", " ").replace(")", " ")
            .replace(",", " ").split()}
    case(name, body, left, shapes=(shape,), constants=used, **more)


PACKED = ("t = Transpose<perm=[1,0,2]>(x) a = Slice(t, c0, c8, last) b = Slice(t, c8, c16, last) "
          "c = Slice(t, c16, c24, last) d = Reshape(a, split) e = Reshape(b, split) f = Reshape(c, split) "
          "q = Transpose<perm=[1,0,2]>(d) k = Transpose<perm=[1,2,0]>(e) v = Transpose<perm=[1,0,2]>(f) ")
THREE = {"inputs": "float[N,7,24] x", "outputs": "float[A,B,C] y", "shape": (3, 7, 24)}
HEADS = {"split": ints(7, -1, 4), "join": ints(7, -1, 8)}
attention("attention of a packed projection", PACKED + "p = Div(q, two) s = MatMul(p, k) "
          "w = Softmax<axis=-1>(s) o = MatMul(w, v) z = Transpose<perm=[1,0,2]>(o) y = Reshape(z, join)",
          "Attention Reshape", constants=HEADS, **THREE)
attention("attention scaled behind the product, with a mask", PACKED + "s = MatMul(q, k) "
          "r = Mul(half, s) m = Add(mask, r) w = Softmax<axis=-1>(m) y = MatMul(w, v)", "Attention",
          constants={**HEADS, "mask": np.where(np.tri(7) > 0, 0, -np.inf).astype(np.float32)}, **THREE)
attention("a row that sees nothing is not a number", PACKED + "s = MatMul(q, k) m = Add(s, mask) "
          "w = Softmax<axis=-1>(m) y = MatMul(w, v)", "Attention",
          constants={**HEADS, "mask": np.where(np.arange(7)[:, None] == 2, -np.inf,
                                               draw(7, 7)).astype(np.float32)}, **THREE)
attention("a negative factor stays outside", PACKED + "p = Mul(q, minus) s = MatMul(p, k) "
          "w = Softmax<axis=-1>(s) y = MatMul(w, v)", "Slice Reshape Transpose Mul Transpose Attention",
          constants={**HEADS, "minus": number(-0.5)}, **THREE)
attention("weights that are wanted stay", PACKED + "s = MatMul(q, k) z = Softmax<axis=-1>(s) "
          "y = MatMul(z, v)", "Transpose Slice Slice Slice Reshape Reshape Reshape Transpose Transpose "
          "Transpose MatMul Softmax MatMul", constants=HEADS,
          **{**THREE, "outputs": "float[A,B,C] y, float[D,E,F] z"})
attention("softmax over queries stays", PACKED + "s = MatMul(q, k) w = Softmax<axis=1>(s) "
          "y = MatMul(w, v)", "Transpose Slice Slice Slice Reshape Reshape Reshape Transpose Transpose "
          "Transpose MatMul Softmax MatMul", constants=HEADS, **THREE)
WINDOWS = ("r = Reshape(x, split) t = Transpose<perm=[2,0,3,1,4]>(r) q0 = Gather<axis=0>(t, i0) "
           "k0 = Gather<axis=0>(t, i1) v = Gather<axis=0>(t, i2) q = Mul(q0, half) "
           "k = Transpose<perm=[0,1,3,2]>(k0) s = MatMul(q, k) b = Add(s, bias) ")
SHIFTED = "e = Reshape(b, five) m = Add(e, mask) f = Reshape(m, four) w = Softmax(f) "
BEHIND = "o = MatMul(w, v) z = Transpose<perm=[0,2,1,3]>(o) y = Reshape(z, flat)"
WINDOW = {"split": ints(-1, 5, 3, 2, 3), "bias": draw(1, 2, 5, 5), "flat": ints(-1, 5, 6)}
attention("attention in windows", WINDOWS + "w = Softmax(b) " + BEHIND, "Attention Reshape", (4, 5, 18),
          inputs="float[N,5,18] x", outputs="float[A,B,C] y", constants=WINDOW)
attention("attention in shifted windows", WINDOWS + SHIFTED + BEHIND, "Attention Reshape", (4, 5, 18),
          inputs="float[4,5,18] x", outputs="float[A,B,C] y",
          constants={**WINDOW, "five": ints(2, 2, 2, 5, 5), "four": ints(4, 2, 5, 5),
                     "mask": draw(1, 2, 1, 5, 5)})
attention("more queries than keys, many of both", "k0 = Slice(x, c0, few, c1) k = Transpose<perm=[0,2,1]>(k0) "
          "s = MatMul(x, k) w = Softmax<axis=2>(s) v = Slice(x, c8, more, c1) y = MatMul(w, v)", "Attention",
          (2, 131, 9), inputs="float[N,131,9] x", outputs="float[A,B,C] y",
          constants={"few": ints(101), "more": ints(109), "c1": ints(1)})
attention("a mask by query alone stays", "k = Transpose<perm=[0,2,1]>(x) s = MatMul(x, k) "
          "m = Add(s, mask) w = Softmax<axis=2>(m) y = MatMul(w, x)", "Transpose MatMul Add Softmax MatMul",
          (2, 6, 4), inputs="float[N,6,4] x", outputs="float[A,B,C] y", constants={"mask": draw(6, 1)})
MLP = {"w": draw(24, 96) / 8, "b": draw(96), "v": draw(96, 24) / 8, "c": draw(24)}
HIDDEN = "a = MatMul(x, w) d = Add(a, b) e = Gelu(d) f = MatMul(e, v) g = Add(f, c) "
fused("mlp", HIDDEN + "y = Add(g, x)", "Mlp", inputs="float[N,41,37,24] x", opset=20,
      shapes=((1, 41, 37, 24), (2, 41, 37, 24)), constants=MLP)
fused("mlp of gemms", "a = Gemm<alpha=0.5, transB=1>(x, w, b) d = Relu(a) "
      "e = Gemm<transB=1>(d, v, c) s = Shape(x) y = Reshape(e, s)", "MatMul MatMul",
      inputs="float[N,24] x", outputs="float[N,24] y", shapes=((1531, 24),),
      constants={**MLP, "w": draw(96, 24) / 8, "v": draw(24, 96) / 8})
fused("mlp that is small stays", HIDDEN + "y = Add(g, x)", "MatMul MatMul", opset=20,
      inputs="float[N,4,37,24] x", shapes=((2, 4, 37, 24),), constants=MLP)
fused("mlp read twice stays", HIDDEN + "z = Relu(e) y = Add(g, x)", "MatMul MatMul Relu", opset=20,
      inputs="float[N,41,37,24] x", shapes=((2, 41, 37, 24),), constants=MLP,
      outputs="float[A,B,C,D] y, float[A,B,C,E] z")
