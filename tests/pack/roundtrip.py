#!/usr/bin/env python3
"""Every model through a packed file: the same bits out as from the .onnx, the same bytes when packed twice,
and files for other machines and in half precision as close as they must be.

usage: roundtrip.py SARDONYX MODELS [--large] [NAME]..     (--large: files over 60 MB are packed twice, too)
"""
import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import catalogue  # noqa: E402

SMALL = 60 << 20  # bytes of a model that every test run packs twice


def call(*arguments, **environment):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True,
                          env={**os.environ, **environment}, check=False)


def sizes_of(told, model):
    """What the catalogue says of a dimension by its name or its place."""
    dims = {}
    for one in told["inputs"]:
        places = catalogue.AXES.get(len(one["dims"]), ())
        for place, dim in enumerate(one["dims"]):
            if not isinstance(dim, str) or dim not in told["symbols"]:
                continue
            meaning = dim if dim in catalogue.SIZES else places[place]
            choice = model.sizes.get(meaning, catalogue.SIZES.get(meaning, (2,)))
            dims[dim] = 2 if meaning == "batch" and 2 in choice else choice[0]
    return dims


def options_of(dims):
    return [word for name, size in dims.items() for word in ("--dim", f"{name}={size}")]


def make_inputs(told, dims, model, folder):
    """Files of inputs, so that no program is made for these sizes alone; as --input options."""
    random, options = numpy.random.default_rng(1), []
    for i, one in enumerate(told["inputs"]):
        shape = [dims.get(dim, dim) for dim in one["dims"]]
        most = model.int_max.get(one["name"], 3)
        data = random.random(shape, dtype="float32") if one["dtype"] == "float32" else \
            random.integers(0, most + 1, shape).astype(one["dtype"])
        numpy.save(folder / f"{i}.npy", data)
        options += ["--input", f"{one['name']}={folder / f'{i}.npy'}"]
    return options


def same(one, other):
    names = sorted(os.listdir(one))
    return bool(names) and names == sorted(os.listdir(other)) and not any(
        filecmp.cmpfiles(one, other, names, shallow=False)[1:])


class Check:
    def __init__(self, program, folder, large):
        self.program, self.folder, self.large, self.failed = program, pathlib.Path(folder), large, 0

    def fail(self, name, what, result=None):
        self.failed += 1
        print(f"FAIL {name}: {what}", (result.stderr.strip() if result else ""), flush=True)

    def run(self, path, inputs, out, **environment):
        shutil.rmtree(self.folder / out, ignore_errors=True)
        return call(self.program, "run", path, *inputs, "--threads", 2, "--output",
                    self.folder / out, **environment)

    def equal(self, name, path, packed, inputs, dims=()):
        want = self.run(path, [*inputs, *dims], "want")
        got = self.run(packed, inputs, "got")
        if want.returncode or got.returncode:
            self.fail(name, "does not run", got if got.returncode else want)
        elif not same(self.folder / "want", self.folder / "got"):
            self.fail(name, "results differ from those of the .onnx")
        else:
            return True
        return False

    def close(self, one, other, tolerance):
        for name in os.listdir(self.folder / one):
            a = numpy.load(self.folder / one / name).astype(float)
            b = numpy.load(self.folder / other / name).astype(float)
            scale = max(abs(a).max(), 1e-6) if a.size else 1
            if a.shape != b.shape or (a.size and abs(a - b).max() > tolerance * scale):
                return False
        return True

    def model(self, name, path, model):
        packed, again = self.folder / "m.sdx", self.folder / "n.sdx"
        told = json.loads(call(self.program, "inspect", path, "--json").stdout)
        dims = sizes_of(told, model)
        inputs = make_inputs(told, dims, model, self.folder)
        result = call(self.program, "pack", path, "-o", packed, "--verify")
        if result.returncode:
            return self.fail(name, "cannot be packed", result)
        if not self.equal(name, path, packed, inputs):
            return None
        if self.large or path.stat().st_size <= SMALL:
            call(self.program, "pack", path, "-o", again)
            if not filecmp.cmp(packed, again, shallow=False):
                self.fail(name, "packing twice gives other bytes")
        if len(dims) > 1:  # sizes that are known beforehand decide which kernels are taken
            call(self.program, "pack", path, "-o", packed, *options_of(dims))
            self.equal(name + " of fixed sizes", path, packed,
                       ["--random", 7], options_of(dims))
        if name in ("resnet18", "mobilenet_v2", "shufflenet_v2_x1_0", "encoder"):
            self.other_machines(name, path, inputs)
        return print(f"ok {name} {' '.join(options_of(dims))}", flush=True)

    def other_machines(self, name, path, inputs):
        """Another instruction set: packed again from plain weights, refused without them."""
        packed = self.folder / "m.sdx"
        call(self.program, "pack", path, "-o", packed)
        result = self.run(packed, inputs, "got", SARDONYX_CPU="scalar")
        if result.returncode != 4 or "alone, and these are the kernels for scalar" not in result.stderr:
            self.fail(name, "another machine's weights are not refused", result)
        if call(self.program, "inspect", packed, SARDONYX_CPU="scalar").returncode:
            self.fail(name, "cannot be inspected on another machine")
        for option in (["--plain"], ["--isa", "scalar"]):
            call(self.program, "pack", path, "-o", packed, *option)
            self.run(path, inputs, "want", SARDONYX_CPU="scalar")
            result = self.run(packed, inputs, "got", SARDONYX_CPU="scalar")
            if result.returncode or not self.close("want", "got", 1e-4):
                self.fail(name, f"scalar kernels differ on a file made with {option}", result)
        self.run(path, inputs, "want")
        result = call(self.program, "pack", path, "-o", packed, "--f16")
        half = self.run(packed, inputs, "got")
        if half.returncode or not self.close("want", "got", 2e-2):
            self.fail(name, "half precision is too far off", half)
        if os.path.getsize(packed) > 0.55 * os.path.getsize(path):
            self.fail(name, "half precision does not halve the file", result)


def main():
    large, arguments = "--large" in sys.argv, [a for a in sys.argv[1:] if a != "--large"]
    if len(arguments) < 2:
        sys.exit(__doc__.strip())
    program, models, names = arguments[0], pathlib.Path(arguments[1]), arguments[2:]
    found = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        check = Check(program, folder, large)
        for name, model in catalogue.MODELS.items():
            path = models / model.file
            if (names and name not in names) or not path.exists():
                continue
            found += 1
            check.model(name, path, model)
    if not found:
        print(f"skipped: no models in {models} (make models)")
        return 77
    print(f"{found} models, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
