#!/usr/bin/env python3
"""Packed weights lie in files that later versions of the library map: whoever changes their bytes raises
SDX_PACK_LAYOUT. Small models, one for each way of packing, are packed for every instruction set at hand, and the
digests of what is written are compared with those that layout.json keeps beside the number of the layout.

usage: layout.py SARDONYX [--renew]     --renew: write layout.json anew

A digest is of the numbers in their order, rounded, so that compilers that round differently agree.
"""
import hashlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper, parser
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}; tools/setup.sh python installs it")
    sys.exit(77)

KEPT = pathlib.Path(__file__).with_name("layout.json")
SETS = ("scalar", "avx2", "avx512", "neon")
PACKED_AT = 4096  # docs/format.md: the first set follows the page of the header

# Inputs and outputs, nodes, and shapes of constants. Counts of channels that no vector divides.
CASES = {
    "conv 3x3": ("float[N,21,H,W] x", "y = Conv<pads=[1,1,1,1]>(x, w, b)", {"w": (37, 21, 3, 3), "b": (37,)}),
    "conv 3x3 of known size": ("float[1,64,28,28] x", "y = Conv<pads=[1,1,1,1]>(x, w, b)",
                               {"w": (70, 64, 3, 3), "b": (70,)}),
    "conv 3x3 of small images": ("float[1,64,7,7] x", "y = Conv<pads=[1,1,1,1]>(x, w)", {"w": (64, 64, 3, 3)}),
    "conv 1x1": ("float[N,40,H,W] x", "y = Conv(x, w)", {"w": (75, 40, 1, 1)}),
    "conv with strides": ("float[N,19,H,W] x", "y = Conv<strides=[2,2], pads=[2,2,2,2]>(x, w)",
                          {"w": (33, 19, 5, 5)}),
    "conv of an image": ("float[N,3,H,W] x", "y = Conv<strides=[2,2], pads=[3,3,3,3]>(x, w, b)",
                         {"w": (35, 3, 7, 7), "b": (35,)}),
    "conv in groups": ("float[N,44,H,W] x", "y = Conv<group=4, pads=[1,1,1,1]>(x, w)", {"w": (52, 11, 3, 3)}),
    "depthwise": ("float[N,45,H,W] x", "y = Conv<group=45, pads=[1,1,1,1]>(x, w, b)",
                  {"w": (45, 1, 3, 3), "b": (45,)}),
    "depthwise with a multiplier": ("float[N,20,H,W] x", "y = Conv<group=20>(x, w)", {"w": (40, 1, 3, 3)}),
    "conv transpose": ("float[N,21,H,W] x", "y = ConvTranspose<strides=[2,2]>(x, w, b)",
                       {"w": (21, 26, 3, 3), "b": (26,)}),
    "product": ("float[N,53] x", "y = MatMul(x, w)", {"w": (53, 71)}),
    "product of few columns": ("float[N,53] x", "y = MatMul(x, w)", {"w": (53, 24)}),
    "product with a transposed matrix": ("float[N,53] x", "y = Gemm<transB=1>(x, w, b)",
                                         {"w": (71, 53), "b": (71,)}),
    "two products": ("float[N,1024,64] x", "h = MatMul(x, v) r = Add(h, b) g = Relu(r) y = MatMul(g, w)",
                     {"v": (64, 256), "b": (256,), "w": (256, 64)}),
    "strip": ("float[1,24,56,56] x",
              "a = Conv(x, u) r = Clip(a, low, high) d = Conv<group=144, pads=[1,1,1,1]>(r, v) "
              "s = Clip(d, low, high) y = Conv(s, w)",
              {"u": (144, 24, 1, 1), "v": (144, 1, 3, 3), "w": (32, 144, 1, 1), "low": 0.0, "high": 6.0}),
}


def make_model(path, given, nodes, shapes):
    """With small whole numbers as weights: what is derived from them is as good as exact."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g ({given}) => (float y) {{ {nodes} }}')
    model.graph.output[0].type.tensor_type.ClearField("shape")
    draw = np.random.RandomState(7)  # whose numbers never change
    for name, shape in shapes.items():
        value = draw.randint(-9, 10, shape) if isinstance(shape, tuple) else shape
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
    onnx.save(model, path)


def number_at(content, at):
    """A number of the index and where the next thing begins."""
    value = shift = 0
    while True:
        byte = content[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def layout_of(content):
    at, = struct.unpack_from("<Q", content, 24)
    length, at = number_at(content, at)  # the library's version
    return number_at(content, at + length)[0]


def digest_of(content, size):
    floats = np.frombuffer(content, "<f4", size // 4, PACKED_AT)
    return hashlib.sha1(np.floor(floats.astype(np.float64) * 1000 + 0.317).astype("<i8").tobytes()).hexdigest()


def pack(program, model, isa):
    """(layout, {"operators": .., isa: digest}), or None where the set is not for this machine."""
    packed = model.with_suffix(".sdx")
    done = subprocess.run([program, "pack", model, "-o", packed, "--isa", isa], capture_output=True, text=True)
    if done.returncode:
        if "cannot be packed here" not in done.stderr:
            sys.exit(f"FAIL {model.stem}: {done.stderr.strip()}")
        return None
    told = json.loads(subprocess.run([program, "inspect", packed, "--json"], capture_output=True, text=True,
                                     check=True).stdout)
    size = sum(one["bytes"] for one in told["packed"]["sets"])
    if not size:
        sys.exit(f"FAIL {model.stem}: nothing is packed for {isa}")
    content = packed.read_bytes()
    operators = sorted(f"{one['domain']}:{one['name']} {one['count']}" for one in told["operators"])
    return layout_of(content), {"operators": operators, isa: digest_of(content, size)}


def measure(program):
    layouts, cases = set(), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            model = pathlib.Path(folder) / (name.replace(" ", "-") + ".onnx")
            make_model(model, *case)
            for isa in SETS:
                if made := pack(program, model, isa):
                    layouts.add(made[0])
                    cases.setdefault(name, {}).update(made[1])
    return layouts.pop(), cases


def main():
    renew, program = "--renew" in sys.argv[2:], pathlib.Path(sys.argv[1]).resolve()
    layout, cases = measure(program)
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {"layout": 0, "cases": {}}
    if renew:
        if layout == kept["layout"]:  # digests of sets that this machine lacks stay
            cases = {name: kept["cases"].get(name, {}) | found for name, found in cases.items()}
        KEPT.write_text(json.dumps({"layout": layout, "cases": cases}, indent=1) + "\n", encoding="utf-8")
        return 0
    if layout != kept["layout"]:
        print(f"FAIL the layout is {layout}, {KEPT.name} is of {kept['layout']}: {sys.argv[0]} --renew")
        return 1
    wrong, compared = [], 0
    for name, found in cases.items():
        before = kept["cases"].get(name, {})
        for isa in (isa for isa in found if isa != "operators" and (isa in before or not before)):
            compared += 1
            if before.get("operators") != found["operators"]:
                wrong.append(f"{name}: operators are {found['operators']}, were {before.get('operators')}; where "
                             f"only passes changed, --renew")
            elif before[isa] != found[isa]:
                wrong.append(f"{name}, {isa}: other bytes under the same SDX_PACK_LAYOUT {layout}; raise it "
                             f"(src/ops/op.h), then --renew")
    for sentence in wrong:
        print(f"FAIL {sentence}")
    print(f"{compared - len(wrong)} of {compared} as in layout {layout}")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
