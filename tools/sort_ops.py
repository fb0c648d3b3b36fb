#!/usr/bin/env python3
"""Sorts the lines of src/ops/ops.def by domain, name and first version, as the look-up expects.

usage: tools/sort_ops.py          rewrite the file
       tools/sort_ops.py --check  only say whether it is sorted (exit 1 if not)
"""
import pathlib
import re
import sys

DOMAINS = {"ONNX": "", "ML": "ai.onnx.ml", "PREVIEW": "ai.onnx.preview",
           "TRAINING": "ai.onnx.preview.training"}
LINE = re.compile(r"SDX_OP\((\w+), (\w+), (\d+), (\d+), (\w+)\)")


def key(line):
    domain, name, first, _, _ = LINE.fullmatch(line).groups()
    return DOMAINS[domain], name, int(first)


def main():
    path = pathlib.Path(__file__).resolve().parent.parent / "src/ops/ops.def"
    lines = path.read_text().splitlines()
    head = [line for line in lines if not line.startswith("SDX_OP(")]
    ops = sorted({line for line in lines if line.startswith("SDX_OP(")}, key=key)
    if head + ops == lines:
        return 0
    if "--check" in sys.argv[1:]:
        print("src/ops/ops.def is not sorted: run tools/sort_ops.py")
        return 1
    path.write_text("\n".join(head + ops) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
