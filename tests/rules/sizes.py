#!/usr/bin/env python3
"""Checks that source files open with a comment saying what they are, and stay below 700 lines.

A test file may have 1200: it is a list of cases, read one at a time. So may the public header, which is
looked up in, not read.
"""
import pathlib
import sys

LIMIT = 700
TEST_LIMIT = 1200


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    mistakes = []
    files = [p for d in ("src", "cli", "report", "include", "examples", "tests", "bench")
             for p in sorted((root / d).rglob("*.[ch]"))]
    for path in files:
        lines = path.read_text().splitlines()
        name = path.relative_to(root)
        limit = TEST_LIMIT if name.parts[0] in ("tests", "include") else LIMIT
        if len(lines) > limit:
            mistakes.append(f"{name}: {len(lines)} lines, more than {limit}")
        if not lines or not lines[0].startswith("/*"):
            mistakes.append(f"{name}: does not open with a comment")
    print("\n".join(mistakes) or f"{len(files)} files are in order")
    return 1 if mistakes or not files else 0


if __name__ == "__main__":
    sys.exit(main())
