#!/usr/bin/env python3
"""Exports torchvision classifiers and a text encoder to ONNX, with seeded random weights.

Every export is compared with what PyTorch itself computes, in onnxruntime.
"""

import argparse
import dataclasses
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


@dataclasses.dataclass(frozen=True)
class Classifier:
    """A torchvision model: what it is made of, what goes in, what may vary."""
    network: str
    side: int = 224  # of the pictures that it is made for
    options: dict = dataclasses.field(default_factory=dict)  # of the constructor
    branch_end: str = None  # see conditioned.initialise
    any_size: bool = False  # height and width are dynamic even if nobody asks for it
    inputs = ("input",)
    sources = ("export.py", "conditioned.py")

    def dynamic_size(self, arguments):
        return arguments.size == "dynamic" or (self.any_size and arguments.size is None)

    def shapes(self, arguments):
        """The (batch, height, width) at which the export must agree; the first is kept."""
        fixed = None if arguments.size == "dynamic" else arguments.size
        height, width = fixed or (self.side, self.side)
        shapes = [(batch, height, width) for batch in batches(arguments)]
        if self.dynamic_size(arguments):
            shapes += [(shapes[0][0], height + 32, width + 64), (shapes[0][0], 97, 131)]
        return shapes

    def axes(self, arguments):
        """Name of input or output -> axis -> name of the dynamic dimension."""
        batch = {0: "batch"} if arguments.batch == "dynamic" else {}
        picture = {2: "height", 3: "width"} if self.dynamic_size(arguments) else {}
        return {"input": {**batch, **picture}, "output": batch}

    def build(self, shape, generator):
        import torchvision
        import conditioned
        model = getattr(torchvision.models, self.network)(weights=None, **self.options)
        conditioned.initialise(model, generator, self.branch_end)
        conditioned.calibrate(model, *shape[1:], generator)
        return model

    def draw(self, shape, generator):
        import conditioned
        return (conditioned.images(*shape, generator),)


class Encoder:
    """The text encoder of encoder.py; its sequences have any length."""
    inputs = ("input_ids", "attention_mask")
    sources = ("export.py", "conditioned.py", "encoder.py")

    def shapes(self, arguments):
        """The (batch, tokens) at which the export must agree; the first is kept."""
        shapes = [(batch, 16) for batch in batches(arguments)]
        return shapes + [(shapes[0][0], 1), (shapes[0][0], 37)]

    def axes(self, arguments):
        dims = {0: "batch"} if arguments.batch == "dynamic" else {}
        return dict.fromkeys((*self.inputs, "output"), {**dims, 1: "sequence"})

    def build(self, shape, generator):
        import conditioned
        import encoder
        model = encoder.Encoder()
        conditioned.initialise(model, generator)
        return model.eval()

    def draw(self, shape, generator):
        import encoder
        return encoder.draw(*shape, generator)


MODELS = {
    "alexnet": Classifier("alexnet"),
    "convnext_tiny": Classifier("convnext_tiny"),
    "densenet121": Classifier("densenet121"),
    "densenet121_hw": Classifier("densenet121", any_size=True),
    "efficientnet_b1": Classifier("efficientnet_b1", 240),
    "encoder": Encoder(),
    # Its own initialisation takes half a minute and is overwritten anyway.
    "inception_v3": Classifier("inception_v3", 299, {"init_weights": False}),
    "mobilenet_v2": Classifier("mobilenet_v2"),
    "mobilenet_v2_hw": Classifier("mobilenet_v2", any_size=True),
    "mobilenet_v3_large": Classifier("mobilenet_v3_large"),
    "regnet_x_400mf": Classifier("regnet_x_400mf"),
    "regnet_y_16gf": Classifier("regnet_y_16gf"),
    "resnet18": Classifier("resnet18"),
    "resnet50": Classifier("resnet50"),
    "resnet50_hw": Classifier("resnet50", any_size=True),
    "resnet101": Classifier("resnet101", branch_end="bn3"),
    "shufflenet_v2_x1_0": Classifier("shufflenet_v2_x1_0"),
    "squeezenet1_1": Classifier("squeezenet1_1"),
    "swin_t": Classifier("swin_t"),
    "vgg16": Classifier("vgg16"),
    "vit_b_16": Classifier("vit_b_16"),
}


def batches(arguments):
    """Batch sizes at which an export is tried."""
    return (1, 3) if arguments.batch == "dynamic" else (arguments.batch,)


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
                        help="of pictures (default: what the model is made for)")
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
        self.model = MODELS[name]
        self.shapes = self.model.shapes(arguments)
        # Several inputs go into one archive, under their names.
        self.kept = ("in.npy" if len(self.model.inputs) == 1 else "in.npz", "out.npy")
        self.files = {kind: arguments.output / f"{name}.{kind}"
                      for kind in ("onnx", *self.kept)}
        self.stamp = arguments.output / f"{name}.stamp"
        digest = hashlib.sha256()
        for source in self.model.sources:
            digest.update((paths.ROOT / "models" / source).read_bytes())
        self.identity = {
            "batch": arguments.batch, "opset": arguments.opset,
            "seed": arguments.seed, "shapes": [list(shape) for shape in self.shapes],
            "checked": checked, "sources": digest.hexdigest()}

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


def make_files(job, folder):
    """Writes model and reference pairs to the folder; returns the pairs."""
    import numpy as np
    import torch

    generator = torch.Generator().manual_seed(job.arguments.seed)
    model = job.model.build(job.shapes[0], generator)
    names = job.model.inputs
    pairs = []
    for index, shape in enumerate(job.shapes):
        tensors = job.model.draw(shape, generator)
        with torch.no_grad():
            output = model(*tensors)
        spread = float(output.std())
        if not 1e-2 < spread < 1e2:  # also catches NaN
            raise ValueError(f"badly conditioned: output deviation {spread:.3g}")
        if index == 0:  # the pair that is kept
            examples, (given, wanted) = tensors, job.kept
        else:
            given, wanted = (f"{index}.{kept}" for kept in job.kept)
        if len(names) == 1:
            np.save(folder / given, tensors[0].numpy())
        else:
            np.savez(folder / given, **{name: tensor.numpy()
                                        for name, tensor in zip(names, tensors)})
        np.save(folder / wanted, output.numpy())
        pairs += [folder / given, folder / wanted]

    axes = {name: axis for name, axis in job.model.axes(job.arguments).items() if axis}
    with warnings.catch_warnings():
        # The exporter warns of what might not generalise to other inputs;
        # the comparison at several batches and sizes finds out if it does.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, examples, str(folder / "onnx"), opset_version=job.arguments.opset,
            input_names=list(names), output_names=["output"], dynamic_axes=axes)
    return pairs


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
