"""What the tests of `sardonyx classify` share: photographs out of wheels, small models, running it."""
import importlib.util
import json
import pathlib
import subprocess
import sys

SKIPPED = 77
try:
    import numpy as np
    import onnx
    import PIL  # noqa: F401
    from onnx import TensorProto, helper
    FOLDERS = [pathlib.Path(importlib.util.find_spec("skimage").origin).parent / "data",
               pathlib.Path(importlib.util.find_spec("sklearn").origin).parent / "datasets" / "images"]
except (ImportError, AttributeError) as problem:
    print(f"skipped: {problem}; tools/setup.sh python installs it")
    sys.exit(SKIPPED)

checks = 0
problems = []


def check(good, what):
    """Counts; a failure is printed at the end."""
    global checks
    checks += 1
    if not good:
        problems.append(what)


def finish():
    print("\n".join(problems[:40]))
    print(f"{checks - len(problems)} of {checks} checks passed")
    sys.exit(1 if problems or not checks else 0)


def photograph(name):
    for folder in FOLDERS:
        if (folder / name).exists():
            return folder / name
    print(f"skipped: no {name} in the wheels of scikit-image and scikit-learn")
    sys.exit(SKIPPED)


def average_model(path, dims=("batch", 3, "height", "width"), dtype=TensorProto.FLOAT, axes=(2, 3)):
    """Takes an image of any size and gives the mean of each channel as scores."""
    nodes = [helper.make_node("Cast", ["image"], ["float"], to=TensorProto.FLOAT),
             helper.make_node("ReduceMean", ["float"], ["scores"], axes=list(axes), keepdims=0)]
    graph = helper.make_graph(
        nodes, "average", [helper.make_tensor_value_info("image", dtype, dims)],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
    onnx.save(model, path)
    return path


# A process counts the memory of the one that it was forked from, so a small one stands in between.
MEASURE = """
import os, sys, time
start, child = time.monotonic(), os.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(f"\\n{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss * 1024} {time.monotonic() - start}")
"""


def measured(command):
    """(exit code, stdout, stderr, most bytes resident, seconds) of a command."""
    done = subprocess.run([sys.executable, "-ISc", MEASURE, *command], capture_output=True, text=True)
    out, _, told = done.stdout.removesuffix("\n").rpartition("\n")
    code, size, seconds = told.split()
    return int(code), out, done.stderr, int(size), float(seconds)


def classify(program, model, images, *options):
    """What it says, as JSON; None after a failed check."""
    done = subprocess.run([program, "classify", model, *images, "--json", *options],
                          capture_output=True, text=True)
    check(done.returncode == 0, f"{pathlib.Path(images[0]).name} {' '.join(options)}: {done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def tensor(program, model, images, scratch, *options):
    """The images as the model gets them; None after a failed check."""
    file = scratch / "input.npy"
    said = classify(program, model, images, "--save-input", str(file), *options)
    return np.load(file) if said else None
