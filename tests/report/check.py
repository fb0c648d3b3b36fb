#!/usr/bin/env python3
"""Golden tests: each printer of a benchmark, on the fixed numbers of print.c, against golden/.

usage: tests/report/check.py PRINT_BENCH [--update]   (--update writes the files anew: read the diff)
"""
import difflib
import json
import pathlib
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
WHATS = ("load", "run", "program")
FORMATS = {"json": "json", "csv": "csv", "markdown": "md", "text": "txt", "html": "html"}


def printed(program, what, form):
    return subprocess.run([program, what, form], check=True, capture_output=True,
                          text=True).stdout


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, update = sys.argv[1], "--update" in sys.argv[2:]
    wrong = passed = 0
    for what in WHATS:
        for form, ending in FORMATS.items():
            text = printed(program, what, form)
            if form == "json":
                json.loads(text)
            file = GOLDEN / f"{what}.{ending}"
            if update:
                GOLDEN.mkdir(exist_ok=True)
                file.write_text(text)
            expected = file.read_text() if file.exists() else ""
            if text == expected:
                passed += 1
                continue
            wrong += 1
            print(f"FAIL {file.name}")
            lines = difflib.unified_diff(expected.splitlines(), text.splitlines(), n=1,
                                         lineterm="")
            print("\n".join(list(lines)[:40]))
    print(f"{passed} passed, {wrong} failed, 0 skipped")
    return 1 if wrong or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
