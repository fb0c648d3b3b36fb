#!/usr/bin/env python3
"""Measures which lines and branches the tests reach: builds the tree build/coverage, runs the tests that
matter there, prints a table by module with its targets, and writes the pages build/coverage/html.

usage: run.py [--tests REGEX] [--no-build] [--keep] [--uncovered MODULE..]

--tests      only the tests whose names match (the targets are then not looked at)
--no-build   the tree is as it should be
--keep       add to the counts of earlier runs
--uncovered  after the table, the lines of these modules that nothing reached

Exit codes: 0 all targets met, 1 one missed or a test failed, 77 no gcovr.
"""
import argparse
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / "build" / "coverage"
# Everything that goes through the library in-process or as the program, but neither the same again on large
# models nor what only looks at sources.
TESTS = (r"^(unit\..*|kernels.*|report\..*|cli|bad-models|plan|peers|suites|classify\..*|conformance.*"
         r"|passes\..*|differential|shapes\.conformance|pack\..*|fuzz\.replay|faults.*|limits.*|pages\..*"
         r"|model\.(encoder|squeezenet1_1|magika))$")
WITHOUT = r"^(conformance\.schemas|pack\.roundtrip)$"
# Percent of lines and of branches, by module; the whole comes last.
TARGETS = {"src/proto": (95, 85), "src/onnx": (95, 85), "src/graph": (95, 85), "src/plan": (95, 85),
           "whole": (90, None)}
FILES = ("src/", "report/", "cli/")
GCOVR = ROOT / ".venv-coverage" / "bin" / "gcovr"


def build():
    for command in (["cmake", "--preset", "coverage", "--log-level=WARNING"],
                    ["cmake", "--build", "--preset", "coverage", "--", "--quiet"]):
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def run_tests(chosen):
    """How CTest ended."""
    return subprocess.run(["ctest", "--test-dir", str(TREE), "-R", chosen, "-E", WITHOUT, "--timeout", "3600",
                           "--output-on-failure", "-j", str(os.cpu_count())], cwd=ROOT).returncode


def measure(pages):
    """What gcovr says of each file; pages: those of build/coverage/html are made on the way."""
    (TREE / "html").mkdir(exist_ok=True)
    html = ["--html-details", str(TREE / "html" / "index.html")] if pages else []
    # The library, the program, and the tests that have files of report/ compiled in.
    trees = [TREE / "CMakeFiles", *(TREE / "tests" / "CMakeFiles" / f"{name}.dir"
                                    for name in ("print_bench", "print_figures", "fill_bench"))]
    filters = [argument for folder in FILES for argument in ("--filter", re.escape(f"{ROOT}/{folder}"))]
    subprocess.run([GCOVR, "--root", str(ROOT), *filters, "--exclude-unreachable-branches",
                    # A function may be there once with and once without an optional library.
                    "--merge-mode-functions=separate",
                    "--gcov-suspicious-hits-threshold=0",  # kernels run their loops billions of times
                    "-j", str(os.cpu_count()), "--json", str(TREE / "coverage.json"), *html, *map(str, trees)], check=True)
    with open(TREE / "coverage.json", encoding="utf-8") as file:
        return json.load(file)["files"]


def module_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "src" else parts[0]


def merged(one):
    """{line: [count, counts of its branches]} of a file. A line that is compiled several times (a template, a
    kernel for each instruction set) is one line, reached where any of them is."""
    lines = {}
    for line in one["lines"]:
        if line.get("gcovr/excluded"):
            continue
        branches = [branch["count"] for branch in line["branches"]]
        known = lines.setdefault(line["line_number"], [0, []])
        known[0] += line["count"]
        known[1] = [a + b for a, b in itertools.zip_longest(known[1], branches, fillvalue=0)]
    return lines


def count(files):
    """[lines reached, lines, branches reached, branches] by module, and of the whole."""
    sums = {}
    for one in files:
        lines = merged(one)
        branches = [branch for _, found in lines.values() for branch in found]
        counts = (sum(times > 0 for times, _ in lines.values()), len(lines),
                  sum(times > 0 for times in branches), len(branches))
        for module in (module_of(one["file"]), "whole"):
            sums[module] = [a + b for a, b in zip(sums.get(module, (0, 0, 0, 0)), counts)]
    return sums


def show(sums, judged):
    """Prints the table; how many targets are missed."""
    missed = 0
    print("| module | lines | reached | target | branches | reached | target |\n|---|---|---|---|---|---|---|")
    for module in [*sorted(set(sums) - {"whole"}), "whole"]:
        line_hits, lines, branch_hits, branches = sums[module]
        shares = (100 * line_hits / max(lines, 1), 100 * branch_hits / max(branches, 1))
        targets = TARGETS.get(module, (None, None))
        cells = []
        for share, target in zip(shares, targets):
            below = judged and target is not None and share < target
            missed += below
            cells.append("" if target is None else f"{target} %{' missed' if below else ''}")
        print(f"| {module} | {lines} | {shares[0]:.1f} % | {cells[0]} | {branches} | {shares[1]:.1f} % | {cells[1]} |")
    return missed


def show_uncovered(files, modules):
    for one in files:
        if module_of(one["file"]) not in modules:
            continue
        text = (ROOT / one["file"]).read_text(encoding="utf-8").splitlines()
        for number, (times, branches) in sorted(merged(one).items()):
            missing = branches.count(0)
            if times and not missing:
                continue
            mark = f"branch {missing}" if times else "line    "
            print(f"{one['file']}:{number}: {mark} {text[number - 1].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", metavar="REGEX")
    parser.add_argument("--no-build", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--uncovered", nargs="+", default=[], metavar="MODULE")
    options = parser.parse_args()
    if not GCOVR.exists():
        print("skipped: gcovr is not installed (tools/setup.sh coverage)")
        return 77
    if not options.no_build:
        build()
    if not options.keep:
        for counts in TREE.rglob("*.gcda"):
            counts.unlink()
    failed = run_tests(options.tests or TESTS) if options.tests != "" else 0
    files = measure(pages=options.tests is None)
    missed = show(count(files), judged=options.tests is None)
    show_uncovered(files, options.uncovered)
    if missed:
        print(f"{missed} targets missed")
    if failed:
        print("tests failed")
    return 1 if missed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
