#!/usr/bin/env python3
"""Runs the cases of tests/cli against the program and compares what it prints.

usage: run.py SARDONYX [--update] [CASE..]

A case is cases/NAME.sh, a Bash script that runs in a folder with the models of models.py and has
$SARDONYX, $PYTHON and $HERE (this folder). NAME.stdout, NAME.stderr and NAME.exit say what it must
print and return; a file that is missing means nothing printed, or 0. The text must be the same to
the letter, but {{...}} in it is a regular expression. A script that returns 77 is skipped.

--update writes these files anew where they do not match (times and the like become {{...}}): read
the diff.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
TIMEOUT = 120
# What differs from run to run, or follows from other parts of the project, for --update.
VARYING = ((re.compile(r"\d+\.\d+( ms)"), r"{{\\d+\\.\\d+}}\1"),
           (re.compile(r'("(?:load|best|median|decode|run)": )[\d.e+-]+'), r"\1{{[\\d.e+-]+}}"),
           (re.compile(r'("(?:steps|arena_\w+|naive_bytes|heap_peak|constant_bytes_copied)": )\d+'),
            r"\1{{\\d+}}"),
           (re.compile(r"^(steps|arena|unshared|copied) .*?(?= for | if | of |$)", re.M),
            r"\1 {{.*}}"),
           (re.compile(r"( takes | supported are )float.*?(?= there|$)", re.M), r"\1{{.*}}"),
           (re.compile(r"(; supported are )[\w., ]+"), r"\1{{[\\w., ]+}}"),
           (re.compile(r"^(ai\.onnx) +(\w+) +(\d+-\d*) .*$", re.M), r"\1 {{ *}}\2 {{ *}}\3 {{.*}}"))


def pattern(expected):
    """The regular expression of a text with {{...}}."""
    parts = re.split(r"\{\{(.*?)\}\}", expected)
    return "".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts))


def expected_text(case, suffix, default):
    path = case.with_suffix(suffix)
    return path.read_text() if path.exists() else default


def differences(case, result):
    """(suffix, expected, found) of each thing that is not as expected."""
    for suffix, found in ((".stdout", result.stdout), (".stderr", result.stderr)):
        expected = expected_text(case, suffix, "")
        if not re.fullmatch(pattern(expected), found):
            yield suffix, expected, found
    expected = expected_text(case, ".exit", "0\n")
    if expected != f"{result.returncode}\n":
        yield ".exit", expected, f"{result.returncode}\n"


def update(case, suffix, found):
    for varying, replacement in VARYING:
        found = varying.sub(replacement, found)
    path = case.with_suffix(suffix)
    if found == ("0\n" if suffix == ".exit" else ""):
        path.unlink(missing_ok=True)
    else:
        path.write_text(found)


def run_case(case, program, folder):
    environment = {**os.environ, "SARDONYX": str(program), "PYTHON": sys.executable,
                   "HERE": str(HERE), "LC_ALL": "C"}
    return subprocess.run(["bash", "-u", str(case)], cwd=folder, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="backslashreplace", timeout=TIMEOUT)


def report(case, found):
    print(f"FAIL {case.stem}")
    for suffix, expected, got in found:
        lines = difflib.unified_diff(expected.splitlines(), got.splitlines(), n=1, lineterm="")
        for line in list(lines)[2:]:
            print(f"  {suffix[1:]} {line}")


def run_all(cases, program, models, updating):
    passed = failed = skipped = 0
    for case in cases:
        try:
            with tempfile.TemporaryDirectory() as scratch:
                # A copy for each: what one case writes, no other sees.
                folder = shutil.copytree(models, pathlib.Path(scratch) / "models")
                result = run_case(case, program, folder)
        except subprocess.TimeoutExpired:
            print(f"FAIL {case.stem}: not done after {TIMEOUT} s")
            failed += 1
            continue
        found = list(differences(case, result))
        if result.returncode == SKIPPED:
            skipped += 1
            print(f"skip {case.stem}: {result.stdout.strip()}")
        elif not found:
            passed += 1
        elif updating:
            for suffix, _, text in found:
                update(case, suffix, text)
            print(f"updated {case.stem}")
            passed += 1
        else:
            failed += 1
            report(case, found)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    try:
        import numpy  # noqa: F401
        import onnx  # noqa: F401
    except ImportError as problem:
        print(f"skipped: {problem}; tools/setup.sh python installs it")
        return SKIPPED
    cases = sorted((HERE / "cases").glob("*.sh"))
    if arguments.cases:
        cases = [case for case in cases if case.stem in arguments.cases]
    with tempfile.TemporaryDirectory() as models:
        subprocess.run([sys.executable, str(HERE / "models.py"), models], check=True)
        return run_all(cases, arguments.program.resolve(), models, arguments.update)


if __name__ == "__main__":
    sys.exit(main())
