#!/usr/bin/env python3
"""Holds the operators that `sardonyx ops` lists against every schema version that onnx has.

Each schema version must be registered, with every tensor type that it allows for each input. What is
missing must stand in MISSING or REFUSED_TYPES with its reason. With --write the table docs/operators.md is made, else
it must be as it would be made.

usage: tests/conformance/schemas.py SARDONYX [--write]
"""
import json
import pathlib
import re
import subprocess
import sys

import onnx

TABLE = pathlib.Path(__file__).resolve().parents[2] / "docs/operators.md"
# What is not registered, and why.
MISSING = {
    ("ai.onnx", "Constant"): "a Constant node becomes a constant while the model is loaded",
}
# Types that a schema allows but the operation cannot mean.
REFUSED_TYPES = {
    ("ai.onnx", "Col2Im"): {"string"},  # overlapping blocks are added up
}
# onnx's spelling of element types -> the library's.
RENAMED = {"float": "float32", "double": "float64"}


def tensor_types(schema, formal):
    """Names of the tensor types that an input of a schema takes."""
    constraint = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    found = set()
    for text in constraint.get(formal.type_str, [formal.type_str]):
        match = re.fullmatch(r"tensor\((\w+)\)", text)
        if match:
            found.add(RENAMED.get(match[1], match[1]))
    return found


def registered(ops, domain, name, version):
    for op in ops:
        last = op.get("last_version", 10**6)
        if (op["domain"], op["name"]) == (domain, name) and op["first_version"] <= version <= last:
            return op
    return None


def compare(ops):
    """Yields (schema, problem or None, excused) for each schema version."""
    for schema in sorted(onnx.defs.get_all_schemas_with_history(),
                         key=lambda s: (s.domain, s.name, s.since_version)):
        domain = schema.domain or "ai.onnx"
        if schema.deprecated:
            continue
        op = registered(ops, domain, schema.name, schema.since_version)
        if op is None:
            yield schema, "not registered", (domain, schema.name) in MISSING
            continue
        gaps = []
        for index, formal in enumerate(schema.inputs):
            types = set(op["types"][min(index, len(op["types"]) - 1)])
            gap = tensor_types(schema, formal) - types
            gap -= REFUSED_TYPES.get((domain, schema.name), set())
            if gap:
                gaps.append(f"input {formal.name} does not take {', '.join(sorted(gap))}")
        yield schema, "; ".join(gaps) or None, False


def table(ops):
    lines = ["# Operators", "",
             f"Made by `tests/conformance/schemas.py --write` from `sardonyx ops` and the schemas of "
             f"onnx {onnx.__version__}; a test keeps it current.", ""]
    by_domain = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.deprecated:
            names = by_domain.setdefault(schema.domain or "ai.onnx", {})
            names.setdefault(schema.name, set()).add(schema.since_version)
    for domain in sorted(by_domain):
        lines += [f"## {domain}", "", "| operator | schema versions | types of the first input |",
                  "|---|---|---|"]
        for name in sorted(by_domain[domain]):
            versions = sorted(by_domain[domain][name])
            op = registered(ops, domain, name, versions[-1])
            types = ", ".join(op["types"][0]) if op else MISSING.get((domain, name), "missing")
            lines.append(f"| {name} | {', '.join(map(str, versions))} | {types} |")
        lines.append("")
    return "\n".join(lines)


def main():
    ops = json.loads(subprocess.run([sys.argv[1], "ops", "--json"], check=True,
                                    capture_output=True, text=True).stdout)
    total = good = excused = 0
    for schema, problem, is_excused in compare(ops):
        total += 1
        good += problem is None
        excused += is_excused
        if problem and not is_excused:
            print(f"{schema.domain or 'ai.onnx'} {schema.name} {schema.since_version}: {problem}")
    text = table(ops)
    if "--write" in sys.argv:
        TABLE.write_text(text)
    stale = not TABLE.exists() or TABLE.read_text() != text
    if stale:
        print("docs/operators.md is not current: run tests/conformance/schemas.py with --write")
    print(f"{good} of {total} schema versions registered with all their types, {excused} excused")
    return 1 if stale or good + excused != total else 0


if __name__ == "__main__":
    sys.exit(main())
