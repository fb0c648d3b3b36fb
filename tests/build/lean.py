#!/usr/bin/env python3
"""Builds the library without image codecs and PCRE2, and checks what it says about that.

It must need nothing but libc, libm and threads; `ops` must mark the operators that miss something; a
model that needs them must be refused by name; all else must run. Not optimised, to build quickly, and
only what changed since the last time.

usage: tests/build/lean.py BUILD_DIR C_COMPILER
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODECS = ["libjpeg", "libpng", "libwebp", "libtiff", "OpenJPEG"]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
PNM = b"P6 2 1 255\n" + bytes(range(6))
problems = []


def check(good, what):
    if not good:
        problems.append(what)


def build(folder, compiler):
    """What CMake said; ends the test where something does not build."""
    log = ""
    for command in (
            ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_C_COMPILER={compiler}",
             "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0", "-DSARDONYX_TESTS=OFF",
             "-DSARDONYX_PCRE2=OFF", "-DSARDONYX_IMAGE=OFF", "-DSARDONYX_CJSON=OFF"],
            ["cmake", "--build", folder, "--target", "sardonyx", "sardonyx_shared"]):
        done = subprocess.run(command, capture_output=True, text=True)
        log += done.stdout + done.stderr
        if done.returncode:
            sys.exit(log[-4000:])
    return log


def needed(file):
    """The shared libraries that a file asks for, without their versions."""
    text = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
    return {name.split(".")[0] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text)}


def folder_of(work, name, node, value, expected):
    """A test folder for `sardonyx test`, and its model."""
    types = [helper.np_dtype_to_tensor_dtype(v.dtype) if v.dtype != object else TensorProto.STRING
             for v in (value, expected)]
    graph = helper.make_graph(
        [node], name, [helper.make_tensor_value_info("x", types[0], value.shape)],
        [helper.make_tensor_value_info("y", types[1], expected.shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    data = work / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (work / name / "model.onnx").write_bytes(model.SerializeToString())
    for file, array in (("input_0.pb", value), ("output_0.pb", expected)):
        (data / file).write_bytes(numpy_helper.from_array(array).SerializeToString())
    return work / name


def call(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def check_ops(program):
    code, text = call(program, "ops", "--json")
    lacking = {op["name"]: op["built_without"] for op in json.loads(text) if "built_without" in op}
    check(code == 0 and lacking == {"RegexFullMatch": ["PCRE2"], "ImageDecoder": CODECS},
          f"ops --json: {lacking}")
    _, text = call(program, "ops")
    marked = sorted((line.split()[1], line[line.index("["):])
                    for line in text.splitlines() if "[built without" in line)
    check(marked == [("ImageDecoder", f"[built without {', '.join(CODECS)}]"),
                     ("RegexFullMatch", "[built without PCRE2]")], f"ops: {marked}")


def check_models(program, work):
    words = np.array(["a1", "b"], dtype=object)
    regex = folder_of(work, "regex", helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="a."),
                      words, np.array([True, False]))
    decoder = helper.make_node("ImageDecoder", ["x"], ["y"])
    png = folder_of(work, "png", decoder, np.frombuffer(PNG, np.uint8), np.zeros((1, 1, 3), np.uint8))
    pnm = folder_of(work, "pnm", decoder, np.frombuffer(PNM, np.uint8),
                    np.arange(6, dtype=np.uint8).reshape(1, 2, 3))
    code, text = call(program, "run", regex / "model.onnx", "--random", "1")
    check(code == 4 and "without PCRE2, which operator RegexFullMatch needs" in text,
          f"a model with RegexFullMatch: exit code {code}, {text}")
    _, text = call(program, "inspect", regex / "model.onnx")
    check("RegexFullMatch" in text and "PCRE2" in text, f"inspect of RegexFullMatch: {text}")
    code, text = call(program, "test", png)
    check("without libpng, which a PNG image needs" in text and "1 skipped" in text,
          f"a PNG image: exit code {code}, {text}")
    code, text = call(program, "test", pnm)
    check(code == 0, f"a PNM image: exit code {code}, {text}")


def main():
    folder, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    log = build(folder, compiler)
    check("RegexFullMatch will be refused" in log and "BMP and PNM only" in log,
          f"CMake does not say what is left out: {log[:1000]}")
    for file in (folder / "libsardonyx.so", folder / "sardonyx"):
        extra = needed(file) - {"libc", "libm", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"}
        check(not extra, f"{file.name} needs {sorted(extra)}")
    check_ops(folder / "sardonyx")
    check_models(folder / "sardonyx", folder / "cases")
    for problem in problems:
        print(problem)
    print(f"without PCRE2 and image codecs: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
