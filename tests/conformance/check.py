#!/usr/bin/env python3
"""Runs the conformance folders and compares what was skipped with the list of what may be.

A case that fails, a case that is skipped without standing in unsupported.txt, and a case that stands
there although it passes are all failures: the list can only shrink on purpose.

usage: tests/conformance/check.py SARDONYX DIR
"""
import pathlib
import subprocess
import sys


def main():
    binary, folder = sys.argv[1:3]
    if not (pathlib.Path(folder) / "version.txt").exists():
        print(f"skipped: {folder} was not generated (make test does)")
        return 77
    listed = pathlib.Path(__file__).with_name("unsupported.txt").read_text().splitlines()
    allowed = {line.split()[0] for line in listed if line and not line.startswith("#")}
    done = subprocess.run([binary, "test", folder], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    skipped = {line.split(":")[0].rsplit("/", 1)[-1]: line for line in lines
               if line.startswith("skip ")}
    passed = {line.rsplit("/", 1)[-1] for line in lines if line.startswith("pass ")}
    mistakes = [line for line in lines if line.startswith("FAIL ")]
    mistakes += [line for name, line in skipped.items() if name not in allowed]
    mistakes += [f"{name} passes: take it off unsupported.txt" for name in allowed & passed]
    if done.returncode not in (0, 1) or not passed:
        mistakes.append(f"exit code {done.returncode}: {done.stderr[-2000:]}")
    print("\n".join(mistakes))
    print(lines[-1] if lines else "no output")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
