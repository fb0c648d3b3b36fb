#!/usr/bin/env python3
"""Compares Sardonyx with other engines, interleaved in one run on the same inputs, and prints ratios
beside the project's targets. Outputs are checked equal first; docs/benchmarking.md has the method.

Suites: single (batch 1, one thread), threads (two), batch (8 to 256), alternate (sizes in turn),
memory (peak, load and first run), accuracy (against float64), kernels (build/bench_kernels).

Exit codes: 0 every target met, 1 a target missed, 2 usage, 3 nothing could be measured.
"""

import argparse
import pathlib
import signal
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "models")]

import interpreter  # noqa: E402 (found in models/ only)
import paths  # noqa: E402

interpreter.need(["onnx", "onnxruntime", "numpy"], paths.VENV_PYTHON, "tools/setup.sh python")

import bench as shared  # noqa: E402
import engines  # noqa: E402
import machine  # noqa: E402
import random_inputs  # noqa: E402
import report as reports  # noqa: E402
import suites  # noqa: E402


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Example: bench/peers/run.py --suite single --models resnet18 mobilenet_v2 "
               "--engines sardonyx onnxruntime")
    parser.add_argument("--suite", nargs="+", choices=suites.SUITES, metavar="NAME",
                        help="default: all")
    parser.add_argument("--models", nargs="+", metavar="MODEL",
                        help="names of build/models, or .onnx files (default: each suite's own)")
    parser.add_argument("--engines", nargs="+", choices=engines.ALL, metavar="NAME",
                        help=f"of {', '.join(engines.ALL)} (default: each suite's own)")
    parser.add_argument("--threads", type=_positive, metavar="N",
                        help="in place of each suite's own number")
    parser.add_argument("--batches", nargs="+", type=_positive, metavar="B",
                        help="sizes of the suites batch and alternate")
    parser.add_argument("--rounds", type=_positive, metavar="N", help="default: 12")
    parser.add_argument("--turn", type=float, metavar="MS",
                        help="an engine runs about this long in a round, once at least "
                             "(default: 250)")
    parser.add_argument("--budget", type=float, default=240, metavar="S",
                        help="a measurement ends after its third round when this is over "
                             "(default: 240)")
    parser.add_argument("--starts", type=_positive, metavar="N",
                        help="fresh processes per engine in the suite memory (default: 5)")
    parser.add_argument("--optimize", type=int, choices=range(4), default=3,
                        help="Sardonyx's level (default: 3)")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N",
                        type=random_inputs.dim_argument,
                        help="size of an open dimension that is not the batch")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default: 0)")
    parser.add_argument("--quick", action="store_true",
                        help="one small model, two rounds of one run: does everything work?")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="all figures")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE", help="what is printed")
    options = parser.parse_args(arguments)
    quick = options.quick
    options.rounds = options.rounds or (2 if quick else 12)
    options.turn = options.turn if options.turn is not None else (0 if quick else 250)
    options.starts = options.starts or (1 if quick else 5)
    options.warmup = 1 if quick else 3
    if quick:
        options.models = options.models or ["squeezenet1_1"]
        options.batches = options.batches or [1, 2]
    return options


def main(arguments=None):
    options = parse(arguments)
    engines.Sardonyx.optimize = options.optimize
    engines.CACHE.mkdir(parents=True, exist_ok=True)
    report = reports.Report()
    facts = machine.describe()
    report.data.update(machine=facts, versions={}, options={
        name: value for name, value in vars(options).items()
        if name not in ("json", "markdown")})
    report.line("# Sardonyx beside other engines")
    report.line()
    report.line(machine.as_text(facts))
    report.line()
    with tempfile.TemporaryDirectory(dir=engines.CACHE) as scratch:
        bench = shared.Bench(options, report, scratch)
        found = list(bench.engines())
        report.data["versions"] = {engine.name: engine.version for engine in found}
        report.line(", ".join(f"{engine.label} {engine.version}" for engine in found))
        report.line()
        report.line(f"Outputs equal to ONNX Runtime's: rtol {shared.RTOL:g}, atol "
                    f"{shared.ATOL:g}; peers that are off by up to {shared.COARSE:g} of the largest "
                    "output are named.")
        if not any(engine.name == "sardonyx" for engine in found):
            print("run.py: Sardonyx is not among the engines", file=sys.stderr)
            return 3
        for name in options.suite or suites.SUITES:
            measure, title = suites.SUITES[name]
            report.heading(f"{name}: {title}")
            measure(bench)
            bench.disturbance()
            report.verdicts(name)
    report.verdicts("equal")
    report.data["skipped"] = bench.skipped
    report.summary()
    report.write(options.markdown, options.json)
    if not any(check["met"] is not None for check in report.checks):
        return 3
    return 1 if report.missed() else 0


if __name__ == "__main__":
    # Ended from outside, it still ends its runners and removes its scratch folder.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
