#!/usr/bin/env python3
"""Every runner of bench/peers/runners through every command of docs/peer-protocol.md: right answers,
refusals, equal outputs. Peers that are not installed are named and left out.

usage: tests/peers/runners.py SARDONYX   (the program; `sardonyx runner` is a runner too)
"""
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "peers"), str(ROOT / "models")]

import interpreter  # noqa: E402
import paths  # noqa: E402

interpreter.need(["onnx", "numpy"], paths.VENV_PYTHON, "tools/setup.sh python")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from PIL import Image  # noqa: E402

import protocol  # noqa: E402

RUNNERS = ROOT / "bench" / "peers" / "runners"
KNOWN = ("mnn", "ncnn", "onnxruntime", "openvino", "rust_ort", "torch", "tract")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
WRITERS = ("onnxruntime", "openvino", "rust_ort", "sardonyx", "torch")  # that write models


def make_model(path):
    draw = np.random.default_rng(3)
    weights = {"w": draw.normal(0, 0.3, (8, 3, 3, 3)), "b": draw.normal(0, 0.3, 8),
               "dense": draw.normal(0, 0.3, (10, 8)), "shift": draw.normal(0, 1, 10)}
    nodes = [helper.make_node("Conv", ["input", "w", "b"], ["conv"], kernel_shape=[3, 3],
                              pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["conv"], ["relu"]),
             helper.make_node("GlobalAveragePool", ["relu"], ["pool"]),
             helper.make_node("Flatten", ["pool"], ["flat"]),
             helper.make_node("Gemm", ["flat", "dense", "shift"], ["output"], transB=1)]
    graph = helper.make_graph(
        nodes, "tiny",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 3, 16, 16])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(array.astype(np.float32), name)
         for name, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def said(script, what):
    """What the file says about itself: install, python."""
    found = re.search(rf"^\W*{what}: (.*)$", script.read_text(errors="replace")[:4096], re.M)
    return found.group(1) if found else None


def command_of(script):
    if script.suffix != ".py":
        return [str(script)]
    python = said(script, "python") or ROOT / ".venv-peers" / "bin" / "python"
    if not os.access(python, os.X_OK):
        raise protocol.RunnerError(f"no {python}")
    return [str(python), str(script)]


class Checks:
    failed = 0

    def __init__(self, name):
        self.name = name

    def that(self, good, what):
        if not good:
            print(f"FAIL {self.name}: {what}")
            Checks.failed += 1

    def refuses(self, runner, *fields):
        try:
            answer = runner.ask(*fields)
        except protocol.RunnerError as problem:
            self.that("ended" not in str(problem), f"{fields[0]} ends it: {problem}")
            return
        self.that(False, f"{fields} is not refused but answered {answer}")


def converse(checks, runner, folder, model, shape, want, engine):
    """A whole conversation; `want`: outputs for the input of `shape` that is in folder/input.bin."""
    facts = "shapes=" + ",".join(map(str, shape)) + ",float32"
    hello = runner.hello
    for field in ("engine", "label", "version", "rss"):
        checks.that(hello.get(field), f"the first line has no {field}: {hello}")
    checks.that(hello["engine"] == engine, f"calls itself {hello['engine']}")
    checks.refuses(runner, "dance")
    checks.refuses(runner, "run", "a", 1)
    checks.refuses(runner, "load", folder / "missing.onnx", 1, facts)
    file = model
    if hello.get("convert"):
        for _ in range(2):  # the second time it is there already
            file = runner.ask("convert", model, folder / engine, facts)["file"]
    else:
        checks.refuses(runner, "convert", model, folder / engine)
    checks.refuses(runner, "load", file, 1, facts, "speed=9")
    loaded = runner.ask("load", file, 1, facts, "optimize=3")
    checks.that(loaded["ns"] > 0 and loaded["peak"] >= loaded["rss"] > 0, f"load answers {loaded}")
    checks.refuses(runner, "run", "a", 1)
    dims = ",".join(map(str, shape))
    for key in ("a", "b"):
        given = runner.ask("input", key, "input", "float32", dims, folder / "input.bin")
        checks.that(given["bytes"] == 4 * int(np.prod(shape)), f"input answers {given}")
    ran = runner.ask("run", "a,b", 3)
    checks.that(len(ran["ns"]) == 6 and min(ran["ns"]) > 0, f"run answers {ran}")
    equal(checks, runner, folder / "out", want)
    runner.ask("load", file, 0, facts)  # once more, with its own number of threads: inputs stay
    runner.ask("run", "b", 1)
    equal(checks, runner, folder / "again", want)
    pictures(checks, runner, folder, shape)
    memory = runner.ask("memory")
    checks.that(memory["peak"] >= memory["rss"] > 0, f"memory answers {memory}")
    save(checks, runner, file, facts, folder / "saved", engine)


def equal(checks, runner, folder, want):
    count = runner.ask("output", folder)["count"]
    checks.that(count == 1, f"{count} outputs")
    got = np.load(folder / "0.npy")
    checks.that(got.shape == want.shape and np.allclose(got, want, rtol=1e-3, atol=1e-4),
                f"outputs differ by {np.abs(got - want).max() if got.shape == want.shape else got.shape}")


def pictures(checks, runner, folder, shape):
    """A picture that is made into the input gives what the same tensor gives."""
    pixels = np.random.default_rng(2).integers(0, 256, (shape[2] + 8, shape[3] + 3, 3), "uint8")
    Image.fromarray(pixels).save(folder / "picture.png")
    cut = pixels[4:4 + shape[2], 2:2 + shape[3]].astype(np.float32).transpose(2, 0, 1)
    mean, std = (np.array(values, np.float32).reshape(3, 1, 1) for values in (MEAN, STD))
    ((cut * np.float32(1 / 255) - mean) / std).tofile(folder / "picture.bin")
    dims = ",".join(map(str, shape))
    words = (f"resize=off crop={shape[2]}x{shape[3]} interpolation=bilinear channels=rgb layout=nchw "
             f"scale=1/255 mean={','.join(map(str, MEAN))} std={','.join(map(str, STD))}")
    runner.ask("input", "tensor", "input", "float32", dims, folder / "picture.bin")
    runner.ask("run", "tensor", 1)
    runner.ask("output", folder / "tensor")
    given = runner.ask("image", "picture", "input", "float32", dims, words, folder / "picture.png")
    checks.that(given["bytes"] == 4 * int(np.prod(shape)), f"image answers {given}")
    ran = runner.ask("run", "picture,tensor,picture", 1)
    checks.that(len(ran["ns"]) == 3, f"run answers {ran}")
    equal(checks, runner, folder / "picture", np.load(folder / "tensor" / "0.npy"))
    runner.ask("image", "none", "input", "float32", dims, words, folder / "none.png")
    checks.refuses(runner, "run", "none", 1)


def save(checks, runner, file, facts, target, engine):
    if engine not in WRITERS:
        checks.refuses(runner, "save", target)
        return
    if engine == "torch":
        runner.ask("load", file, 1, facts, "optimize=0")
    saved = runner.ask("save", target)
    checks.that(saved["ns"] > 0 and saved["bytes"] == target.stat().st_size > 100,
                f"save answers {saved}")


def check(name, command, folder, cases):
    """The reason why it could not be checked, or None."""
    checks = Checks(name)
    model, shape, array, want = cases["torch" if name == "torch" else "tiny"]
    if model is None or not model.exists():
        return "its model was not made (make models)"
    try:
        runner = protocol.Runner(command, folder / "log")
    except (protocol.RunnerError, OSError) as problem:
        return str(problem)
    array.astype(np.float32).tofile(folder / "input.bin")
    try:
        with runner:
            converse(checks, runner, folder, model, shape, want, name)
        checks.that(runner.process.returncode == 0, f"ends with {runner.process.returncode}")
    except (protocol.RunnerError, KeyError) as problem:
        checks.that(False, f"{type(problem).__name__} {problem}")
    return None


def main():
    from onnx.reference import ReferenceEvaluator
    checked, left_out = [], []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        tiny = scratch / "tiny.onnx"
        make_model(tiny)
        image = np.random.default_rng(1).random((1, 3, 16, 16)).astype(np.float32)
        cases = {"tiny": (tiny, image.shape, image,
                          ReferenceEvaluator(str(tiny)).run(None, {"input": image})[0])}
        known = ROOT / "build" / "models" / "squeezenet1_1.onnx"
        cases["torch"] = (None,) * 4
        if known.exists():
            given, result = (np.load(known.with_suffix(f".{kind}.npy")) for kind in ("in", "out"))
            cases["torch"] = known, given.shape, given, result
        scripts = {path.stem.removeprefix("run_"): path for path in sorted(RUNNERS.glob("run_*"))}
        Checks("runners").that(set(scripts) == set(KNOWN), f"there are {sorted(scripts)}")
        jobs = {"sardonyx": [sys.argv[1], "runner"]}
        for name, script in scripts.items():
            Checks(name).that(said(script, "install"), "does not say how it is installed")
            try:
                jobs[name] = command_of(script)
            except protocol.RunnerError as problem:
                left_out.append(f"{name}: {problem}")
        for name, command in jobs.items():
            folder = scratch / name
            folder.mkdir()
            reason = check(name, command, folder, cases)
            if reason:
                left_out.append(f"{name}: {reason}")
            else:
                checked.append(name)
    print(f"checked: {', '.join(checked)}")
    for line in left_out:
        print(f"left out: {line}")
    return 1 if Checks.failed or "sardonyx" not in checked else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
