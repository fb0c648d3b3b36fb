#!/usr/bin/env python3
"""Exports torchvision classifiers to ONNX with seeded random weights.

Every export is compared with what PyTorch itself computes, in onnxruntime.
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import interpreter
import paths

# name -> picture size and constructor options
MODELS = {
    "alexnet": (224, {}),
    "convnext_tiny": (224, {}),
    "densenet121": (224, {}),
    "efficientnet_b1": (240, {}),
    # Its own initialisation takes half a minute and is overwritten anyway.
    "inception_v3": (299, {"init_weights": False}),
    "mobilenet_v2": (224, {}),
    "mobilenet_v3_large": (224, {}),
    "regnet_x_400mf": (224, {}),
    "regnet_y_16gf": (224, {}),
    "resnet18": (224, {}),
    "resnet50": (224, {}),
    "resnet101": (224, {}),
    "shufflenet_v2_x1_0": (224, {}),
    "squeezenet1_1": (224, {}),
    "swin_t": (224, {}),
    "vgg16": (224, {}),
    "vit_b_16": (224, {}),
}
SOURCES = ("export.py", "conditioned.py")


def size_argument(text):
    """HxW as a pair, or the word dynamic."""
    if text == "dynamic":
        return text
    height, cross, width = text.partition("x")
    if not (cross and height.isdigit() and width.isdigit()
            and int(height) > 0 and int(width) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is neither HxW nor dynamic")
    return int(height), int(width)


def batch_argument(text):
    if text == "dynamic":
        return text
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor dynamic")
    return int(text)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Models: " + ", ".join(MODELS) +
               "\n\nExample: models/export.py resnet18 mobilenet_v2 --batch dynamic")
    parser.add_argument("name", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true", help="every model of the list")
    parser.add_argument("--batch", type=batch_argument, default="dynamic",
                        metavar="N|dynamic", help="default: dynamic")
    parser.add_argument("--size", type=size_argument, metavar="HxW|dynamic",
                        help="default: what the model is made for")
    parser.add_argument("--opset", type=int, default=17, choices=range(9, 18),
                        metavar="N", help="9 to 17 (default: 17)")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("-o", "--output", type=Path, default=paths.MODEL_DIR,
                        metavar="DIR", help="default: build/models")
    parser.add_argument("--force", action="store_true",
                        help="export even if an up-to-date file is there")
    parser.add_argument("--check-python", type=Path, default=paths.VENV_PYTHON,
                        metavar="PYTHON", help="Python that has onnxruntime")
    arguments = parser.parse_args()
    if arguments.all:
        arguments.name = list(MODELS)
    if not arguments.name:
        parser.error("name at least one model, or --all")
    unknown = sorted(set(arguments.name) - set(MODELS))
    if unknown:
        parser.error(f"no such model: {', '.join(unknown)}")
    return arguments


def why_no_check(python):
    """The reason why exports cannot be checked here, or None."""
    if not os.access(python, os.X_OK):
        return f"no {paths.shown(python)}; run tools/setup.sh python"
    run = subprocess.run([python, "-c", "import onnx, onnxruntime"],
                         stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        return run.stderr.strip().splitlines()[-1]
    return None


class Job:
    """One model to export and the names of its files."""

    def __init__(self, name, arguments, checked):
        self.name = name
        self.arguments = arguments
        side, self.constructor_options = MODELS[name]
        self.dynamic_size = arguments.size == "dynamic"
        fixed = None if self.dynamic_size else arguments.size
        self.height, self.width = fixed or (side, side)
        self.files = {kind: arguments.output / f"{name}.{kind}"
                      for kind in ("onnx", "in.npy", "out.npy")}
        self.stamp = arguments.output / f"{name}.stamp"
        digest = hashlib.sha256()
        for source in SOURCES:
            digest.update((paths.ROOT / "models" / source).read_bytes())
        self.identity = {
            "batch": arguments.batch, "opset": arguments.opset,
            "seed": arguments.seed, "size": [self.height, self.width],
            "dynamic_size": self.dynamic_size, "checked": checked,
            "sources": digest.hexdigest()}

    def is_current(self):
        try:
            stamp = json.loads(self.stamp.read_text())
            sizes = {kind: path.stat().st_size for kind, path in self.files.items()}
        except (OSError, ValueError):
            return False
        # A checked file also serves where checking is impossible.
        recorded = dict(stamp.get("identity", {}))
        if recorded.get("checked"):
            recorded["checked"] = self.identity["checked"]
        return recorded == self.identity and stamp.get("sizes") == sizes

    def publish(self, folder):
        """Moves the finished files in place, the stamp last."""
        self.stamp.unlink(missing_ok=True)
        for kind, path in self.files.items():
            os.replace(folder / kind, path)
        sizes = {kind: path.stat().st_size for kind, path in self.files.items()}
        draft = folder / "stamp"
        draft.write_text(json.dumps({"identity": self.identity, "sizes": sizes}))
        os.replace(draft, self.stamp)


def test_shapes(job):
    """The (batch, height, width) triples on which the export must agree."""
    batch = job.arguments.batch
    shapes = [(1 if batch == "dynamic" else batch, job.height, job.width)]
    if batch == "dynamic":
        shapes.append((3, job.height, job.width))
    if job.dynamic_size:
        shapes.append((shapes[0][0], job.height + 32, job.width + 64))
    return shapes


def dynamic_axes(job):
    axes = {0: "batch"} if job.arguments.batch == "dynamic" else {}
    picture_axes = dict(axes)
    if job.dynamic_size:
        picture_axes.update({2: "height", 3: "width"})
    named = {"input": picture_axes, "output": axes}
    return {name: axis for name, axis in named.items() if axis}


def make_files(job, folder):
    """Writes model and reference pairs to the folder; returns the pairs."""
    import numpy as np
    import torch
    import torchvision
    import conditioned

    generator = torch.Generator().manual_seed(job.arguments.seed)
    build = getattr(torchvision.models, job.name)
    model = build(weights=None, **job.constructor_options)
    conditioned.initialise(model, generator)
    conditioned.calibrate(model, job.height, job.width, generator)

    pairs = []
    for index, (batch, height, width) in enumerate(test_shapes(job)):
        picture = conditioned.images(batch, height, width, generator)
        with torch.no_grad():
            output = model(picture)
        spread = float(output.std())
        if not 1e-2 < spread < 1e2:  # also catches NaN
            raise ValueError(f"badly conditioned: output deviation {spread:.3g}")
        if index == 0:  # the pair that is kept
            example, names = picture, ("in.npy", "out.npy")
        else:
            names = (f"in.{index}.npy", f"out.{index}.npy")
        for name, tensor in zip(names, (picture, output)):
            np.save(folder / name, tensor.numpy())
        pairs += names

    with warnings.catch_warnings():
        # The exporter warns of what might not generalise to other inputs;
        # the comparison at several batches and sizes finds out if it does.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, example, str(folder / "onnx"), opset_version=job.arguments.opset,
            input_names=["input"], output_names=["output"],
            dynamic_axes=dynamic_axes(job))
    return [folder / name for name in pairs]


def export(job, check_reason):
    """Exports one model; returns whether all went well."""
    start = time.monotonic()
    job.arguments.output.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{job.name}.", dir=job.arguments.output))
    try:
        pairs = make_files(job, folder)
        if check_reason:
            print(f"{job.name}: check skipped: {check_reason}", file=sys.stderr)
        else:
            check = subprocess.run(
                [job.arguments.check_python, paths.ROOT / "models" / "check_export.py",
                 folder / "onnx", *pairs], stdout=subprocess.PIPE, text=True, check=False)
            if check.returncode:
                print(f"{job.name}: the export does not compute what PyTorch does",
                      file=sys.stderr)
                return False
            for line in check.stdout.splitlines():
                print(f"{job.name}: {line}")
        job.publish(folder)
    except (RuntimeError, ValueError, AssertionError) as problem:
        # torch puts pages of call stack behind the line that says what is wrong.
        print(f"{job.name}: export failed: {str(problem).partition(chr(10))[0]}",
              file=sys.stderr)
        return False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{paths.shown(job.files['onnx'])}  {job.files['onnx'].stat().st_size} bytes  "
          f"{time.monotonic() - start:.1f} s, peak {peak} MB", flush=True)
    return True


def main():
    arguments = parse_arguments()
    # Turned into an exception, so that temporary folders are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    reason = why_no_check(arguments.check_python)
    jobs = [Job(name, arguments, reason is None) for name in arguments.name]
    due = [job for job in jobs if arguments.force or not job.is_current()]
    if due:
        interpreter.need(["torch", "torchvision"], paths.DEBIAN_PYTHON,
                         "tools/setup.sh torch")
    for job in jobs:
        if job not in due:
            print(f"{paths.shown(job.files['onnx'])}  up to date")
    results = [export(job, reason) for job in due]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
