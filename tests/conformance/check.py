#!/usr/bin/env python3
"""Runs folders of ONNX backend tests and holds the verdicts against what may be expected.

Failures of this test: a case that fails or is skipped and does not stand in excused.txt; one that
stands there although it passes, so that the list can only shrink; a mended case (mended.txt, see
debian.py) whose original passes; a case with drawn outputs, of which `sardonyx test` compares type
and shape, that draws a value which is not expected anywhere.

usage: tests/conformance/check.py SARDONYX DIR
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

HERE = pathlib.Path(__file__).parent


def listed(path):
    """What stands before the colon in the lines of a list; nothing where there is no list."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.split(":")[0] for line in lines if line and not line.startswith("#")}


def verdicts(binary, folders):
    """{verdict: {path: line}} of `sardonyx test`, and how it ended."""
    done = subprocess.run([binary, "test", *map(str, folders)], capture_output=True, text=True)
    found = {"pass": {}, "FAIL": {}, "skip": {}}
    for line in done.stdout.splitlines()[:-1]:
        verdict, rest = line.split(" ", 1)
        found[verdict][rest.split(":")[0]] = line
    return found, done


def drawn_mistakes(binary, case):
    """Of a case with one input and outputs that are drawn: values that must not occur."""
    model, data = onnx.load(case / "model.onnx"), case / "test_data_set_0"
    expected = TensorProto.FromString((data / "output_0.pb").read_bytes())
    name = model.graph.output[0].name
    with tempfile.TemporaryDirectory() as results:
        subprocess.run([binary, "run", case / "model.onnx", "--output", results, "--input",
                        f"{model.graph.input[0].name}={data}/input_0.pb"],
                       check=True, capture_output=True)
        values = np.load(pathlib.Path(results) / f"{name}.npy")
    strange = set(values.ravel().tolist()) - set(numpy_helper.to_array(expected).ravel().tolist())
    return [f"{case}: drew {value}" for value in sorted(strange)]


def compare(binary, folder):
    """What is wrong, and the summary."""
    found, done = verdicts(binary, [folder])
    if done.returncode not in (0, 1) or not found["pass"]:
        return [f"exit code {done.returncode}: {done.stderr[-2000:]}"], "no results"
    excused = {f"{folder}/{name}" for name in listed(HERE / "excused.txt")
               if (folder / name).parent.exists()}
    wrong = {**found["FAIL"], **found["skip"]}
    mistakes = [line for path, line in wrong.items() if path not in excused]
    mistakes += [f"{path} is in excused.txt but does not fail" for path in
                 sorted(excused - set(wrong))]
    for tolerance in sorted(folder.rglob("tolerance.txt")):
        if "random" in tolerance.read_text().split():
            mistakes += drawn_mistakes(binary, tolerance.parent)
    summary = done.stdout.splitlines()[-1]
    if excused:
        summary += f" ({len(excused)} for the reason that excused.txt gives)"
    return mistakes, summary


def mend_mistakes(binary, folder):
    """Cases whose originals pass need no mending."""
    names = sorted(listed(folder / "mended.txt"))
    if not names:
        return [], ""
    with tempfile.TemporaryDirectory() as originals:
        for name in names:
            link = pathlib.Path(originals) / pathlib.PurePath(name).name
            link.symlink_to((folder / name / "original").resolve())
        found, _ = verdicts(binary, [originals])
    return ([f"{path}: the original passes, it needs no mending" for path in found["pass"]],
            f", {len(names)} mended for the reasons in {folder}/mended.txt")


def main():
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    reason = folder / "skipped.txt"
    if not (folder / "version.txt").exists():
        print("skipped:", reason.read_text().strip() if reason.exists() else
              f"{folder} was not generated (make test does)")
        return 77
    mistakes, summary = compare(binary, folder)
    more_mistakes, mended = mend_mistakes(binary, folder)
    mistakes += more_mistakes
    print("\n".join(mistakes))
    print(summary + mended)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
