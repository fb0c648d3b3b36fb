#!/usr/bin/env python3
"""Gradient, operator by operator: what the program computes against PyTorch's autograd and against
central differences, with shapes that are known, open, and not given at all; gradients of gradients; and
the ways in which a Gradient node can stand in a graph.

Differences are taken through the shared library. A sanitized one cannot be loaded from Python: then
PyTorch's results alone are compared, through the program, and what it has no function for is only run.

usage: gradient.py SARDONYX_BINARY [LIBSARDONYX] [NAME]..
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}; tools/setup.sh python installs it")
    sys.exit(77)

import gradient_cases
import gradient_places

TORCH_PYTHON = "/usr/bin/python3"  # Debian's PyTorch is there
ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAINING = "ai.onnx.preview.training"
OLD = 13  # opsets below it do without much of what the nodes around a case use
STEP = 1e-5
DIFFERENCE = {"rtol": 2e-5, "atol": 2e-6}   # of central differences in float64, at that step
EXACT = {"rtol": 1e-6, "atol": 1e-9}        # of the same formula in another order


def value_info(name, array, mode):
    shape = {"static": list(array.shape), "symbolic": [None] * array.ndim, "shapeless": None}[mode]
    return helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape)


def gradient_node(names, y, outputs):
    return helper.make_node("Gradient", names, outputs, name="the gradient", domain=TRAINING,
                            xs=names, y=y)


class Problem:
    """A case whose output y is bent to sin(1.3 y + 0.7), so that every element has a weight of its own
    and no symmetry hides a mistake: as a model to evaluate, and with the nodes of its gradient."""

    def __init__(self, case):
        rng = np.random.default_rng(3)
        self.case, self.names = case, list(case.variables)
        self.values = [np.array(a) for a in case.variables.values()]
        self.turns = [rng.uniform(0.5, 1.5, a.shape) for a in self.values]
        self.constants = {"slope": np.array(1.3), "shift": np.array(0.7)}
        self.nodes = [helper.make_node("Mul", [case.y, "slope"], ["stretched"], "stretch"),
                      helper.make_node("Add", ["stretched", "shift"], ["shifted"], "shift"),
                      helper.make_node("Sin", ["shifted"], ["bent"], "bend")]
        self.outputs = [f"d {n}" for n in self.names]

    def forward(self):
        return self.model(self.nodes, ["bent"], "static")

    def gradient(self, mode):
        return self.model([*self.nodes, gradient_node(self.names, "bent", self.outputs)],
                          self.outputs, mode)

    def second(self):
        """The gradient of the first gradient's sum, weighted."""
        nodes = [*self.nodes, gradient_node(self.names, "bent", self.outputs)]
        for i, name in enumerate(self.outputs):
            self.constants[f"turn{i}"] = self.turns[i]
            nodes.append(helper.make_node("Mul", [name, f"turn{i}"], [f"turned{i}"]))
            nodes.append(helper.make_node("ReduceSum", [f"turned{i}"], [f"term{i}"], keepdims=0))
        nodes.append(helper.make_node("Sum", [f"term{i}" for i in range(len(self.names))],
                                      ["total"]))
        made = [f"dd {n}" for n in self.names]
        return self.model([*nodes, gradient_node(self.names, "total", made)], made, "static")

    def model(self, nodes, outputs, mode):
        case = self.case
        inputs = [value_info(n, a, mode) for n, a in case.variables.items()]
        made = [helper.make_tensor_value_info(o, TensorProto.DOUBLE, None) for o in outputs]
        own = [helper.make_node(*place, name=f"{case.name} {i}", **attrs)
               for i, (place, attrs) in enumerate(case.nodes)]
        tensors = [numpy_helper.from_array(a, n)
                   for n, a in {**case.constants, **self.constants}.items()]
        opset, functions = case.opset, []
        if opset < OLD:  # a function has an opset of its own
            formal = [*case.variables, *case.constants]
            functions = [helper.make_function("own", "Old", formal, [case.y], own,
                                              [helper.make_opsetid("", opset)])]
            own = [helper.make_node("Old", formal, [case.y], "call", domain="own")]
            opset = OLD
        domains = [helper.make_opsetid("", opset), helper.make_opsetid(TRAINING, 1),
                   helper.make_opsetid("own", 1)]
        graph = helper.make_graph([*own, *nodes], case.name, inputs, made, tensors)
        return helper.make_model(graph, ir_version=10, opset_imports=domains, functions=functions)

    def differences(self, run, turns=None):
        """Central differences of the sum of what `run` gives."""
        def total(values):
            return sum(np.sum(f * t) for f, t in zip(run(values), turns or [1.0]))
        result = []
        for index, array in enumerate(self.values):
            slope = np.zeros(array.shape)
            for place in np.ndindex(*array.shape):
                ends = []
                for step in (STEP, -STEP):
                    moved = [a.copy() for a in self.values]
                    moved[index][place] += step
                    ends.append(total(moved))
                slope[place] = (ends[0] - ends[1]) / (2 * STEP)
            result.append(slope)
        return result


def by_autograd(problems, folder):
    """What PyTorch finds, in its own interpreter: {(case, order): gradients}."""
    given, found = os.path.join(folder, "given.npz"), os.path.join(folder, "found.npz")
    arrays = {}
    for one in problems:
        for i, (value, turn) in enumerate(zip(one.values, one.turns)):
            arrays[f"{one.case.name}/value/{i}"] = value
            arrays[f"{one.case.name}/turn/{i}"] = turn
    np.savez(given, **arrays)
    if not os.access(TORCH_PYTHON, os.X_OK):
        return {}
    script = pathlib.Path(__file__).with_name("gradient_torch.py")
    code = subprocess.run([TORCH_PYTHON, script, given, found], check=False).returncode
    if code == 77:
        return {}
    if code != 0:
        sys.exit(f"{script.name} failed")
    result = {}
    with np.load(found) as data:
        for key in data.files:
            name, order, index = key.rsplit("/", 2)
            result.setdefault((name, int(order)), {})[int(index)] = data[key]
    return {key: [parts[i] for i in range(len(parts))] for key, parts in result.items()}


class Checker:
    """Counts, and keeps the folders that `sardonyx test` runs."""

    def __init__(self, binary, folder, runner):
        self.binary, self.folder, self.runner = binary, pathlib.Path(folder), runner
        self.compared = self.failed = self.folders = self.only_run = 0

    def wrong(self, text):
        self.failed += 1
        print(f"FAIL {text}")

    def equal(self, name, got, want, tolerance):
        self.compared += 1
        for i, (g, w) in enumerate(zip(got, want)):
            if g.shape != w.shape or not np.allclose(g, w, **tolerance):
                self.wrong(f"{name}: gradient {i} is\n{g}\nexpected\n{w}")
                return

    def keep(self, name, model, inputs, outputs):
        folder = self.folder / name.replace(" ", "_")
        data = folder / "test_data_set_0"
        data.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        for kind, arrays in (("input", inputs), ("output", outputs)):
            for i, array in enumerate(arrays):
                (data / f"{kind}_{i}.pb").write_bytes(
                    numpy_helper.from_array(array).SerializeToString())
        self.folders += 1

    def run(self, name, model, inputs):
        """Without anything to compare with: that it runs at all, and no sanitizer complains."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            path.write_bytes(model.SerializeToString())
            command = [self.binary, "run", path]
            for info, array in zip(model.graph.input, inputs):
                np.save(path.with_name(f"{info.name}.npy"), array)
                command += ["--input", f"{info.name}={folder}/{info.name}.npy"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.only_run += 1
        if done.returncode != 0:
            self.wrong(f"{name}: exit code {done.returncode}: {done.stderr}")

    def judge(self, name, problem, model, auto, slow):
        """slow: makes the differences, or None where there are none."""
        if auto is not None:
            self.keep(name, model, problem.values, auto)
        elif not self.runner:
            self.run(name, model, problem.values)
        if not self.runner:
            return
        try:
            found = self.runner(model)(problem.values)
        except RuntimeError as error:
            self.wrong(f"{name}: {error}")
            return
        if slow is not None:
            self.equal(f"{name}, differences", found, slow, DIFFERENCE)
        if auto is not None:
            self.equal(f"{name}, autograd", found, auto, EXACT)

    def case(self, problem, autograd):
        case, slow = problem.case, None
        if self.runner and not case.kink:
            slow = problem.differences(self.runner(problem.forward()))
        modes = ["static"] + ["symbolic"] * case.symbolic + ["shapeless"] * case.shapeless
        for mode in modes:
            self.judge(f"{case.name}-{mode}", problem, problem.gradient(mode),
                       autograd.get((case.name, 1)), slow)
        if not case.second:
            return
        if slow is not None:
            slow = problem.differences(self.runner(problem.gradient("static")), problem.turns)
        self.judge(f"{case.name}-second", problem, problem.second(), autograd.get((case.name, 2)),
                   slow)


def untested_rules():
    """Operators with a rule but without a case."""
    text = (ROOT / "src/passes/gradient_rules.c").read_text()
    table = text[text.index("rules[] = {"):]
    ruled = set(re.findall(r"^    [A-Z_]+\((\w+),?", table, re.M))
    return sorted(ruled - {place[0] for case in gradient_cases.CASES for place, _ in case.nodes})


def library_runner(library):
    os.environ["SARDONYX_LIBRARY"] = library
    sys.path.insert(0, str(ROOT / "tests/conformance"))
    from sardonyx_backend import Context, SardonyxRep
    return lambda model: Context(SardonyxRep(model), threads=1).run


def main(argv):
    if not argv:
        sys.exit(__doc__.strip())
    binary, rest = os.path.abspath(argv[0]), argv[1:]
    runner = library_runner(rest.pop(0)) if rest and ".so" in rest[0] else None
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(binary, os.path.join(folder, "cases"), runner)
        problems = [Problem(case) for case in gradient_cases.CASES
                    if not rest or case.name in rest]
        autograd = by_autograd(problems, folder)
        if not autograd and problems:
            print("PyTorch is missing (tools/setup.sh torch): nothing is compared with it")
        for one in problems:
            checker.case(one, autograd)
        for name, model, inputs, outputs in gradient_places.cases():
            if not rest or name in rest:
                checker.keep(name, model, inputs, outputs)
        done = subprocess.run([binary, "test", checker.folder, "--quiet", "--rtol", "1e-6",
                               "--atol", "1e-9"], capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines() or [""]
    for line in lines[:-1] + done.stderr.splitlines():
        checker.wrong(line.removeprefix("FAIL "))
    if done.returncode != 0 or not lines[-1].startswith(f"{checker.folders} passed, 0 failed"):
        checker.wrong(f"`sardonyx test` on {checker.folders} folders: {lines[-1]}")
    if not rest and untested_rules():
        checker.wrong(f"no case for {', '.join(untested_rules())}")
    print(f"{len(problems)} graphs: {checker.folders} folders through the program, "
          f"{checker.compared} comparisons through the library, {checker.only_run} only run; "
          f"{checker.failed} failed")
    return 1 if checker.failed or not checker.folders else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
