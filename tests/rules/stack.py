#!/usr/bin/env python3
"""Checks how much of the stack functions of the library take, as the compiler of this build tells.

Threads on small machines have stacks of a few dozen kilobytes, so no function of src/ may take more than
4 kB, and none may take an amount that only shows when it runs. GCC writes a file .su beside each object;
without those there is nothing to check.

usage: tests/rules/stack.py BUILD_DIR
Exit codes: 0 all within, 1 one is not, 77 the compiler wrote nothing.
"""
import pathlib
import sys

MOST = 4096


def main():
    build = pathlib.Path(sys.argv[1])
    files = [file for folder in build.glob("CMakeFiles/sardonyx_*.dir")
             for file in folder.rglob("*.su")]
    if not files:
        print("skipped: the compiler wrote no .su files")
        return 77
    functions, deepest, problems = 0, (0, ""), []
    for file in files:
        for line in file.read_text().splitlines():
            place, size, how = line.rsplit("\t", 2)
            functions += 1
            deepest = max(deepest, (int(size), place))
            if int(size) > MOST or how not in ("static", "dynamic,bounded"):
                problems.append((int(size), f"{place}: {size} bytes, {how}"))
    for _, text in sorted(problems, reverse=True):
        print(text)
    print(f"{functions} functions, the deepest {deepest[0]} bytes ({deepest[1]}); "
          f"{len(problems)} over {MOST} or without bound")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
