#!/usr/bin/env python3
"""Writes runners of pretended engines, which all compute linear.onnx with numpy.

usage: bench_peers.py FOLDER
"""
import pathlib
import sys

RUNNER = '''# install: pip install {name}
# python: {python}
import json, os, sys, time
{start}

def answer(**fields):
    print(json.dumps(fields), flush=True)

import numpy
answer(engine="{name}", label="{label}", version="7.0", rss=2000000, bare=1000000)
inputs = {{}}
for line in sys.stdin:
    command, *rest = line.rstrip("\\n").split("\\t")
    if command == "load":
        if "{strict}" and "optimize=3" not in rest:
            answer(error="has no levels")
        else:
            answer(ns=1000, rss=3000000, peak=3000000)
    elif command == "input":
        key, name, kind, dims, file = rest
        shape = [int(size) for size in dims.split(",")]
        inputs[key] = numpy.fromfile(file, kind).reshape(shape)
        answer(bytes=inputs[key].nbytes)
    elif command == "run":
        {run}
        weight = numpy.array([[1, 2, 3], [4, 5, 6]], "float32")
        result = numpy.maximum(0.5 * inputs[rest[0]] @ weight.T + numpy.array([0.5, -20]), 0)
        answer(ns=[500000] * int(rest[1]), rss=4000000, peak=5000000)
    elif command == "output":
        os.makedirs(rest[0], exist_ok=True)
        numpy.save(rest[0] + "/0.npy", (result + {off}).astype("float32"))
        answer(count=1)
    elif command == "memory":
        answer(rss=4000000, peak=5000000)
    elif command == "save":
        open(rest[0], "w").write("saved")
        answer(ns=2000, rss=4000000, peak=5000000)
    elif command == "quit":
        break
    else:
        answer(error="no command " + command)
'''
PEERS = {
    "good": {"label": "A good one"},
    "wrong": {"off": "1"},
    "near": {"off": "0.01"},  # a thousandth of the largest value, and more than the tolerance
    "absent": {"start": "print(json.dumps({'error': 'no module is called absent'})); sys.exit(1)"},
    "hangs": {"run": "time.sleep(1000)"},
    "dies": {"run": "os.kill(os.getpid(), 9)"},
    "strict": {"strict": "yes"},
}


def main():
    for name, changes in PEERS.items():
        fields = {"name": name, "label": name, "python": sys.executable, "start": "", "run": "pass",
                  "off": "0", "strict": "", **changes}
        path = pathlib.Path(sys.argv[1]) / f"run_{name}.py"
        path.write_text(RUNNER.format(**fields))


if __name__ == "__main__":
    main()
