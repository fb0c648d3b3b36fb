#!/usr/bin/env python3
"""Checks that source files open with a comment saying what they are, and stay below 700 lines."""
import pathlib
import sys

LIMIT = 700


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    mistakes = []
    files = [p for d in ("src", "cli", "report", "include", "examples", "tests", "bench")
             for p in sorted((root / d).rglob("*.[ch]"))]
    for path in files:
        lines = path.read_text().splitlines()
        name = path.relative_to(root)
        if len(lines) > LIMIT:
            mistakes.append(f"{name}: {len(lines)} lines, more than {LIMIT}")
        if not lines or not lines[0].startswith("/*"):
            mistakes.append(f"{name}: does not open with a comment")
    print("\n".join(mistakes) or f"{len(files)} files are in order")
    return 1 if mistakes or not files else 0


if __name__ == "__main__":
    sys.exit(main())
