#!/usr/bin/env python3
"""Writes the files that the fuzzers start from, OUT/NAME/ for the fuzzer fuzz_NAME: one small model for each
operator and version of ONNX's tests, the bad models, packed models, arrays, images, placement problems, texts.

usage: seeds.py SARDONYX CONFORMANCE_DIR OUT
"""
import hashlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from PIL import Image
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}; tools/setup.sh python installs it")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bad-models"))
LARGEST = 6000      # bytes of a model; longer ones slow every change down
PER_OPERATOR = 3    # models that begin with the same operator, version and types


def put(folder, name, content):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def kind_of(path):
    """What a model is about: its operators and the types of its inputs."""
    model = onnx.load(str(path), load_external_data=False)
    ops = tuple(sorted({node.op_type for node in model.graph.node}))
    types = tuple(sorted({value.type.tensor_type.elem_type for value in model.graph.input}))
    return ops, types, model


def models(conformance, out):
    """Models of the folder, a few of each kind, with their inputs as initializers now and then, so that what
    depends on data is seen while loading too."""
    seen, taken = {}, []
    for path in sorted(conformance.glob("node/*/model.onnx")) + sorted(conformance.glob("simple/*/model.onnx")):
        if path.stat().st_size > LARGEST:
            continue
        ops, types, model = kind_of(path)
        seen[ops] = seen.get(ops, 0) + 1
        if seen[ops] > PER_OPERATOR:
            continue
        content = path.read_bytes()
        put(out / "graph", path.parent.name, content)
        taken.append(path)
        constant = with_constants(path.parent, model)
        if constant and len(constant) <= LARGEST:
            put(out / "graph", path.parent.name + ".constant", constant)
    return taken


def with_constants(folder, model):
    """The model with the test's inputs in it, but for the first."""
    for index, value in enumerate(model.graph.input):
        file = folder / "test_data_set_0" / f"input_{index}.pb"
        if index == 0 or value.type.WhichOneof("value") != "tensor_type" or not file.exists():
            continue
        tensor = onnx.TensorProto.FromString(file.read_bytes())
        tensor.name = value.name
        model.graph.initializer.append(tensor)
    if not model.graph.initializer:
        return None
    known = {tensor.name for tensor in model.graph.initializer}
    kept = [value for value in model.graph.input if value.name not in known]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.ir_version = max(model.ir_version, 4)
    return model.SerializeToString(deterministic=True)


def bad_models(out):
    import make
    with tempfile.TemporaryDirectory() as folder:
        for case, made in make.make(folder):
            content = (pathlib.Path(made) / "model.onnx").read_bytes()
            if len(content) <= LARGEST:
                put(out / "model", case.name, content)


def packed(binary, paths, out):
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(paths):
            target = pathlib.Path(folder) / "m.sdx"
            options = ["--plain"] if number % 2 else []
            done = subprocess.run([binary, "pack", str(path), "-o", str(target), *options],
                                  capture_output=True, check=False)
            if done.returncode == 0:
                put(out / "sdx", path.parent.name, target.read_bytes())


def tensors(conformance, out):
    seen = set()
    for path in sorted(conformance.glob("node/*/test_data_set_0/*.pb")):
        content = path.read_bytes()
        if len(content) > 600 or content[:6] in seen:
            continue
        seen.add(content[:6])
        put(out / "tensor", hashlib.sha1(content).hexdigest()[:12], content)


def arrays(out):
    for code in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "c8", "c16", "?", "U3", "S4",
                 ">f4", ">i8", ">U2"):
        for shape in ((), (0,), (3,), (2, 3)):
            array = np.zeros(shape, np.dtype(code))
            for order in "CF":
                stream = io.BytesIO()
                np.save(stream, np.asarray(array, order=order))
                put(out / "npy", f"{code.replace('?', 'b').replace('>', 'be')}-{len(shape)}{sum(shape)}{order}",
                    stream.getvalue())


def images(out):
    noise = np.random.default_rng(1).integers(0, 256, (9, 13, 4), np.uint8)
    picture = Image.fromarray(noise, "RGBA")
    ways = {
        "jpeg": [("RGB", {}), ("L", {}), ("CMYK", {}), ("RGB", {"progressive": True}),
                 ("RGB", {"subsampling": 0, "quality": 20})],
        "png": [("RGB", {}), ("RGBA", {}), ("L", {}), ("P", {}), ("1", {}), ("LA", {}), ("I;16", {})],
        "webp": [("RGB", {}), ("RGBA", {"lossless": True})],
        "bmp": [("RGB", {}), ("L", {}), ("1", {}), ("RGBA", {})],
        "ppm": [("RGB", {}), ("L", {}), ("1", {})],
        "tiff": [("RGB", {}), ("L", {"compression": "tiff_lzw"}), ("RGB", {"compression": "jpeg"}),
                 ("1", {"compression": "group4"}), ("CMYK", {"compression": "tiff_deflate"}),
                 ("RGB", {"compression": "packbits"})],
        "jpeg2000": [("RGB", {}), ("L", {"irreversible": True})],
    }
    for form, variants in ways.items():
        for number, (mode, options) in enumerate(variants):
            stream = io.BytesIO()
            shown = picture.convert("L").convert("I").convert("I;16") if mode == "I;16" else picture.convert(mode)
            try:
                shown.save(stream, form, **options)
            except (OSError, KeyError):  # this Pillow cannot
                continue
            put(out / "image", f"{form}-{number}-{mode.replace(';', '')}", stream.getvalue())
    exif = Image.Exif()
    exif[0x0112] = 6
    stream = io.BytesIO()
    picture.convert("RGB").save(stream, "jpeg", exif=exif)
    put(out / "image", "jpeg-turned", stream.getvalue())
    put(out / "image", "pnm-text", b"P3\n# c\n2 2 255\n" + b"1 2 3 " * 4)
    put(out / "image", "pnm-16", b"P6 2 1 65535\n" + bytes(range(12)))


def texts(out):
    problems = ["id,lower,upper,size\na,0,3,10\nb,1,4,20\nc,3,9,7\nd,0,9,64\n",
                "buffer,start,end,size,alignment\nx,0,2,100,64\ny,2,4,100,32\nz,0,4,1,1\n",
                "lower,upper,size,id,offset\n0,5,8,p,0\n0,5,8,q,8\n5,9,16,r,0\n",
                "id,lower,upper,size\n" + "".join(f"{i},{i % 7},{i % 7 + 1 + i % 3},{i * 37 % 50 + 1}\n"
                                                  for i in range(24))]
    sizes = ["batch", "batch*2", "(h + 1)//2", "floor(h/2 - 1/2)", "Max(1, w//4)", "min(a, b) % 7", "h**3 - 2*h",
             "ceil((a+b)/3)", "'any name' * 4", "-n//2", "broadcast(a, b)", "4611686018427387903", "((((x))))"]
    presets = ["torchvision", "efficientnet-lite", "raw", "torchvision resize=232 crop=224x224",
               "interpolation=bicubic scale=1/255 mean=0.5 std=0.5,0.5,0.5 channels=bgr layout=nhwc"]
    case = {"key": "k", "metrics": {"time": {"samples": [1.5, 2e-3], "rounds": [0, 1]}}}
    jsons = [json.dumps({"format": "sardonyx bench", "version": 1, "cases": [case], "interrupted": False,
                         "environment": {"cpu": "x\u00e9\ud83d\ude00", "isa": None}}),
             "[]", "[[[1,-2.5e10,true,false,null]]]", '{"a":{"b":["\\u0041\\n",{}]}}']
    for name, contents in (("csv", problems), ("expr", sizes), ("preset", presets), ("json", jsons)):
        for number, content in enumerate(contents):
            put(out / name, f"{number:02}", content.encode())


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.strip())
    binary, conformance, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if not (conformance / "node").is_dir():
        print(f"skipped: {conformance} has no tests; make conformance-data makes them")
        return 77
    taken = models(conformance, out)
    bad_models(out)
    packed(binary, taken[::12], out)
    tensors(conformance, out)
    arrays(out)
    images(out)
    texts(out)
    for folder in sorted(out.iterdir()):
        files = list(folder.iterdir())
        print(f"{folder.name}: {len(files)} files, {sum(f.stat().st_size for f in files)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
