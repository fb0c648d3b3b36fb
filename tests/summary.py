#!/usr/bin/env python3
"""Adds up CTest's JUnit reports and prints the closing line; names what was skipped and why.

usage: tests/summary.py REPORT.xml..
"""
import sys
import xml.etree.ElementTree as ET


def main(paths):
    passed = failed = skipped = 0
    for path in paths:
        try:
            cases = ET.parse(path).getroot().iter("testcase")
        except (OSError, ET.ParseError) as error:
            print(f"FAILED {path}: no report: {error}")
            failed += 1
            continue
        for case in cases:
            name, status = case.get("name"), case.get("status")
            if case.find("skipped") is not None or status in ("notrun", "disabled"):
                skipped += 1
                text = (case.findtext("system-out") or "").strip().splitlines()
                print(f"skipped {name}: {text[-1] if text else 'no reason given'}")
            elif status == "run" and case.find("failure") is None:
                passed += 1
            else:
                failed += 1
                print(f"FAILED {name} ({path})")
    if passed + failed == 0:
        print("no test ran")
        failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
