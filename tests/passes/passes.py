#!/usr/bin/env python3
"""Passes: small graphs in, the expected operators out, and the same numbers.

Each case says which operators are left once the passes have run (`inspect --stage optimized`), or that a
graph must stay as it is. Results with all passes are compared with ONNX's reference implementation where it
has the operators, and always with those of --optimize 0.

usage: passes.py SARDONYX_BINARY [NAME]..
"""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper, parser
    from onnx.reference import ReferenceEvaluator
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}; tools/setup.sh python installs it")
    sys.exit(77)

import passes_cases

RTOL, ATOL = 2e-5, 2e-6  # the latter times the largest result: sums that cancel out have no more


def make_model(case):
    text = f'<ir_version: 8, opset_import: ["" : {case.opset}]> g ({case.inputs}) => ' \
           f'({case.outputs}) {{ {case.body} }}'
    model = parser.parse_model(text)
    for name, array in case.constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return model


def run(binary, model, folder, level, inputs):
    out = folder / f"out{level}"
    out.mkdir()
    command = [binary, "run", model, "--output", out, "--optimize", str(level)]
    for name, array in inputs.items():
        np.save(folder / f"{name}.npy", array)
        command += ["--input", f"{name}={folder / name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"level {level}: {done.stderr.strip()}")
    return {path.stem: np.load(path) for path in out.glob("*.npy")}


def optimized(binary, model, level=3):
    done = subprocess.run([binary, "inspect", model, "--stage", "optimized", "--json", "--optimize",
                           str(level)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr.strip())
    return json.loads(done.stdout)["optimized"]


def check(binary, case, folder):
    model = make_model(case)
    path = folder / "model.onnx"
    onnx.save(model, path)
    graph = optimized(binary, path, case.level)
    left = [node["op"] for node in graph["nodes"]]
    if sorted(left) != sorted(case.left):
        raise AssertionError(f"left are {left}, expected {case.left}")
    if [n["op"] for n in optimized(binary, path, 0)["nodes"]] != [n.op_type for n in
                                                                  model.graph.node]:
        raise AssertionError("level 0 changes the graph")
    for node in graph["nodes"]:
        if not node["from"]:
            raise AssertionError(f"{node['op']} comes from nowhere")
    for inputs in case.samples():
        with tempfile.TemporaryDirectory() as inner:
            inner = pathlib.Path(inner)
            plain, fast = (run(binary, path, inner, level, inputs) for level in (0, 3))
        wanted = {}
        if case.reference:
            names = [o.name for o in model.graph.output]
            wanted = dict(zip(names, ReferenceEvaluator(model).run(None, inputs)))
        for name, got in fast.items():
            for other in (plain[name], wanted.get(name, plain[name])):
                largest = np.abs(other[np.isfinite(other)]).max(initial=1)
                np.testing.assert_allclose(got, other, rtol=RTOL, atol=ATOL * largest,
                                           err_msg=name)


def main():
    binary, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    failed = passed = 0
    for case in passes_cases.CASES:
        if names and case.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(binary, case, pathlib.Path(folder))
                passed += 1
            except AssertionError as mistake:
                failed += 1
                print(f"FAIL {case.name}: {mistake}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
