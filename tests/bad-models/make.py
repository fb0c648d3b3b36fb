#!/usr/bin/env python3
"""Writes every bad model of this folder, each into OUT/NAME/ with the files it needs beside it, and
OUT/expected.json: what the program must say about each. The same bytes every time; no network.
The expectations themselves stand beside the models, in cases_*.py.

usage: make.py OUT [NAME]..
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import wire  # noqa: E402
# Imported for the cases that they register.
import cases_wire  # noqa: E402,F401
import cases_model  # noqa: E402,F401
import cases_graph  # noqa: E402,F401
import cases_node  # noqa: E402,F401
import cases_tensor  # noqa: E402,F401
import cases_external  # noqa: E402,F401
import cases_function  # noqa: E402,F401
import cases_shape  # noqa: E402,F401
import cases_gradient  # noqa: E402,F401
import cases_bomb  # noqa: E402,F401
import cases_run  # noqa: E402,F401


def make(out, names=()):
    """Builds the cases; returns [(case, folder)]."""
    made = []
    for one in wire.CASES:
        if names and one.name not in names:
            continue
        folder = os.path.join(out, one.name)
        os.makedirs(folder)
        content = wire.build(one, folder)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(content)
        made.append((one, folder))
    expected = [{"name": one.name, "commands": one.commands, "args": one.args, "exit": one.code,
                 "stderr": one.says} for one, _ in made]
    with open(os.path.join(out, "expected.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file, indent=1)
    return made


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    print(len(make(sys.argv[1], sys.argv[2:])), "models")
