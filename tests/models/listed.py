#!/usr/bin/env python3
"""Checks that the models that tests/CMakeLists.txt names are those of models/catalogue.py: one that
only the catalogue has would never be tested.

usage: tests/models/listed.py NAME..
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))

import catalogue  # noqa: E402 (found in models/ only)

mistakes = [f"{name}: no test" for name in sorted(set(catalogue.MODELS) - set(sys.argv[1:]))]
mistakes += [f"{name}: not in the catalogue"
             for name in sorted(set(sys.argv[1:]) - set(catalogue.MODELS))]
print("\n".join(mistakes) or f"{len(catalogue.MODELS)} models")
sys.exit(1 if mistakes else 0)
