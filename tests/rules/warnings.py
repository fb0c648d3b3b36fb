#!/usr/bin/env python3
"""Checks that every file of the library and the program is compiled with the project's warnings.

usage: warnings.py BUILD_DIR
"""
import json
import pathlib
import sys

WANTED = {"-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wvla", "-Werror"}


def main():
    commands = json.loads((pathlib.Path(sys.argv[1]) / "compile_commands.json").read_text())
    root = pathlib.Path(__file__).resolve().parents[2]
    mistakes, seen = [], 0
    for entry in commands:
        path = pathlib.Path(entry["file"]).resolve().relative_to(root)
        if path.parts[0] not in ("src", "cli", "report"):
            continue
        seen += 1
        missing = WANTED - set(entry["command"].split())
        if missing:
            mistakes.append(f"{path}: compiled without {' '.join(sorted(missing))}")
    print("\n".join(mistakes) or f"{seen} files are compiled with all warnings as errors")
    return 1 if mistakes or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
