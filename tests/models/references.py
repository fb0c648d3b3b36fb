#!/usr/bin/env python3
"""Records ONNX Runtime's results for the models of models/catalogue.py, one backend-test folder
for each, with a data set for every choice of sizes.

A model that is missing leaves a folder with skipped.txt, one that ONNX Runtime cannot run a folder
with failed.txt; the test then reports the text. What is up to date is kept.

usage: tests/models/references.py [--models DIR] [--output DIR] [NAME..]
"""
import argparse
import hashlib
import json
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "models"))

import interpreter  # noqa: E402 (found in models/ only)
import paths  # noqa: E402

interpreter.need(["onnx", "onnxruntime"], paths.VENV_PYTHON, "tools/setup.sh python")

import onnx  # noqa: E402
import onnxruntime  # noqa: E402

import catalogue  # noqa: E402
import random_inputs  # noqa: E402
import reference  # noqa: E402

SOURCES = (pathlib.Path(__file__), ROOT / "models/reference.py", ROOT / "models/random_inputs.py")


def identity(model, file):
    """Whatever the recorded results depend on."""
    digest = hashlib.sha256()
    for source in SOURCES:
        digest.update(source.read_bytes())
    status = file.stat()
    return json.dumps({"sources": digest.hexdigest(), "onnxruntime": onnxruntime.__version__,
                       "model": [status.st_size, status.st_mtime_ns],
                       "sizes": {**catalogue.SIZES, **model.sizes}, "axes": catalogue.AXES,
                       "int_max": model.int_max})


def data_sets(model, file, graph):
    session = reference.open_session(file)
    shapes = catalogue.shapes(model, random_inputs.real_inputs(graph))
    for number, by_input in enumerate(shapes):
        arguments = argparse.Namespace(input=[], dim=[], shape=by_input.items(), seed=number,
                                       int_max=model.int_max.items())
        inputs = random_inputs.make(graph, arguments)
        yield inputs, reference.run(session, inputs)


def record(model, file, folder):
    stamp = folder / "stamp.json"
    wanted = identity(model, file)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    graph = onnx.load(file, load_external_data=False).graph
    reference.write_case(folder, file, graph, data_sets(model, file, graph))
    stamp.write_text(wanted)


def give_up(folder, note, reason):
    print(f"{folder.name}: {reason}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / note).write_text(reason + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "build/models")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/reference")
    parser.add_argument("name", nargs="*", metavar="NAME", choices=[[], *catalogue.MODELS],
                        help="models (default: all of the catalogue)")
    options = parser.parse_args()
    for name in options.name or catalogue.MODELS:
        model = catalogue.MODELS[name]
        file, folder = options.models / model.file, options.output / name
        if not file.exists():
            give_up(folder, "skipped.txt", f"{file.name} was not made (see models/README.md)")
            continue
        try:
            record(model, file, folder)
        except Exception as problem:  # onnxruntime has no common base class
            give_up(folder, "failed.txt", f"no reference: {str(problem).splitlines()[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
