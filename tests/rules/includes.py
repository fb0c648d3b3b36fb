#!/usr/bin/env python3
"""Checks that includes point one way: base <- proto <- onnx -> graph <- {ops, passes, plan} <- exec <- pack.

kernels and image see base alone; cli sees the public header and report; report sees itself.
"""
import pathlib
import re
import sys

ALLOWED = {
    "base": {"base"},
    "proto": {"base", "proto"},
    "graph": {"base", "graph"},
    "onnx": {"base", "proto", "graph", "onnx"},
    "kernels": {"base", "kernels"},
    "image": {"base", "image"},
    "ops": {"base", "graph", "image", "kernels", "ops"},
    "passes": {"base", "graph", "kernels", "ops", "passes"},
    "plan": {"base", "plan"},
    "exec": {"base", "proto", "onnx", "graph", "kernels", "ops", "passes", "plan", "exec"},
    "pack": {"base", "proto", "onnx", "graph", "kernels", "ops", "passes", "plan", "exec", "pack"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def layer_mistakes(root):
    for path in sorted((root / "src").rglob("*.[ch]")):
        layer = path.relative_to(root / "src").parts[0]
        for name in INCLUDE.findall(path.read_text()):
            if name == "sardonyx.h":
                continue
            target = name.split("/")[0]
            if layer not in ALLOWED or "/" not in name or target not in ALLOWED[layer]:
                yield f"{path.relative_to(root)}: includes \"{name}\", which {layer}/ may not"


def outside_mistakes(root):
    reports = {p.name for p in (root / "report").glob("*.h")}
    cli = {p.name for ending in ("*.h", "*.def") for p in (root / "cli").glob(ending)}
    own = {"cli": cli | reports, "report": reports,
           "examples": set(), "bench": reports}
    for folder, headers in own.items():
        for path in sorted((root / folder).glob("*.[ch]")):
            for name in INCLUDE.findall(path.read_text()):
                if name != "sardonyx.h" and name not in headers:
                    yield f"{path.relative_to(root)}: includes \"{name}\""


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    mistakes = [*layer_mistakes(root), *outside_mistakes(root)]
    print("\n".join(mistakes) or "includes point one way")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
