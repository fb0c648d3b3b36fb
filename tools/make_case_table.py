#!/usr/bin/env python3
"""Writes src/ops/string_case_table.h: the simple case mappings of Unicode as short runs.

A run is (first, last, step, delta): each code point first, first + step, … last maps to itself plus
delta. Runs with step 2 are the scripts that alternate upper and lower case. The mappings are those
of this Python's unicodedata; the version is noted in the file.

usage: tools/make_case_table.py
"""
import pathlib
import unicodedata


def simple_upper(char):
    """One code point for one: where the full mapping is longer, the title form is the simple one."""
    for mapped in (char.upper(), char.title()):
        if len(mapped) == 1:
            return mapped
    return char


def simple_lower(char):
    if char == "\u0130":  # I with a dot above: its full mapping is two code points
        return "i"
    mapped = char.lower()
    return mapped if len(mapped) == 1 else char


def mappings(function):
    result = []
    for code in range(128, 0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        mapped = ord(function(chr(code)))
        if mapped != code:
            result.append((code, mapped - code))
    return result


def runs(pairs):
    """Joins neighbours of equal delta, at distance 1 or 2."""
    result = []
    for code, delta in pairs:
        if result:
            first, last, step, before = result[-1]
            gap = code - last
            if delta == before and gap <= 2 and step in (0, gap):
                result[-1] = (first, code, gap, delta)
                continue
        result.append((code, code, 0, delta))
    return [(first, last, step or 1, delta) for first, last, step, delta in result]


def table(name, function):
    lines = [f"static const sdx_case_run {name}[] = {{"]
    row = "   "
    for first, last, step, delta in runs(mappings(function)):
        item = f" {{0x{first:x}, 0x{last:x}, {step}, {delta}}},"
        if len(row) + len(item) > 100:
            lines.append(row)
            row = "   "
        row += item
    return lines + [row, "};"]


def main():
    path = pathlib.Path(__file__).resolve().parent.parent / "src/ops/string_case_table.h"
    lines = [
        "/* string_case_table.h - simple case mappings beyond ASCII, for string_case.c alone. Made by",
        f" * tools/make_case_table.py from Unicode {unicodedata.unidata_version}; do not edit.",
        " * Runs are sorted and do not overlap. */",
        "",
        "typedef struct sdx_case_run {",
        "    uint32_t first, last, step;",
        "    int32_t delta;",
        "} sdx_case_run;",
        "",
    ]
    lines += table("to_upper", simple_upper) + [""] + table("to_lower", simple_lower)
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
