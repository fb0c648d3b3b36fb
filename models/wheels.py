#!/usr/bin/env python3
"""Unpacks the real-world ONNX models that some PyPI wheels carry."""

import argparse
import os
import sys
from pathlib import Path, PurePosixPath

import interpreter
import paths

interpreter.need(["onnx"], paths.VENV_PYTHON, "tools/setup.sh python")

import onnx  # noqa: E402 (only importable after the line above)

import wheel_cache  # noqa: E402

VERSIONS = {
    "magika": "1.0.3",
    "nudenet": "3.4.2",
    "rapidocr-onnxruntime": "1.4.4",
}


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="Example: models/wheels.py magika -o build/models/wheels")
    parser.add_argument("name", nargs="*", metavar="NAME",
                        help=f"packages (all by default): {', '.join(VERSIONS)}")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR",
                        default=paths.MODEL_DIR / "wheels",
                        help="each package gets a folder in here")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.name) - set(VERSIONS))
    if unknown:
        parser.error(f"no such package: {', '.join(unknown)}")
    return arguments


def destination(folder, member):
    """Where a member of a wheel goes: flat, since their base names differ."""
    base = PurePosixPath(member).name
    # A name is all that is taken from the archive, so ".." and absolute
    # paths have no effect; what remains is to refuse an odd name.
    if base in ("", ".", "..") or "\\" in base or "\0" in base:
        raise ValueError(f"unsafe member name {member!r}")
    return folder / base


def described(value):
    """A graph input as name:type[dimensions]."""
    tensor = value.type.tensor_type
    dims = [dim.dim_param or (str(dim.dim_value) if dim.HasField("dim_value") else "?")
            for dim in tensor.shape.dim]
    kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    return f"{value.name}:{kind}[{','.join(dims)}]"


def summary(path):
    model = onnx.load(path)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [described(value) for value in model.graph.input
              if value.name not in constants]
    opsets = [f"{entry.domain or 'ai.onnx'} {entry.version}"
              for entry in model.opset_import]
    return (f"{paths.shown(path)}  {path.stat().st_size} bytes  "
            f"{', '.join(opsets)}  {' '.join(inputs)}")


def unpack(package, version, folder):
    """Writes the package's models, returns their paths."""
    written = []
    for member, data in wheel_cache.members(wheel_cache.fetch(package, version), ".onnx"):
        target = destination(folder, member)
        if target in written:
            raise ValueError(f"{package} has two models called {target.name}")
        if not (target.is_file() and target.read_bytes() == data):
            with paths.scratch_beside(target) as scratch:
                scratch.write_bytes(data)
                os.replace(scratch, target)
        written.append(target)
    return written


def main():
    arguments = parse_arguments()
    for package in arguments.name or VERSIONS:
        models = unpack(package, VERSIONS[package], arguments.output / package)
        if not models:
            print(f"{package}: no ONNX model in the wheel", file=sys.stderr)
            return 1
        for path in models:
            print(summary(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
