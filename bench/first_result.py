#!/usr/bin/env python3
"""The way to the first result from a packed file, beside a warm run of the same process.

usage: bench/first_result.py [MODEL.onnx] [--rounds N] [--threads N] [--at-most RATIO]

Each round is a new process: it loads the .sdx, whose pages are in the system's cache, runs once, then again and
again. Printed are the medians over rounds of load and first run, of the warm run (the median of the later ones), and
their ratio with its interval. Exit codes: 0 at most RATIO (1.15), 1 above, 3 nothing could be measured.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench" / "peers"))
import figures  # noqa: E402
import protocol  # noqa: E402

WARM_RUNS = 9
DIMS = "1,3,224,224"


def measure(packed, data, threads, log):
    """Nanoseconds of load, first run and a warm run, of a new process."""
    with protocol.Runner([str(ROOT / "build" / "sardonyx_runner")], log) as runner:
        load = runner.ask("load", packed, threads)["ns"]
        runner.ask("input", "a", "input", "float32", DIMS, data)
        first, = runner.ask("run", "a", 1)["ns"]
        return load, first, statistics.median(runner.ask("run", "a", WARM_RUNS)["ns"])


def report(rounds, name, limit):
    load, first, warm = ([[one[i]] for one in rounds] for i in range(3))
    begun = [[one[0] + one[1]] for one in rounds]
    found = figures.ratio(begun, warm)
    for label, series in (("load", load), ("first run", first), ("load and first run", begun),
                          ("warm run", warm)):
        print(f"{label:20}{figures.median(series) / 1e6:9.2f} ms, best {figures.best(series) / 1e6:.2f} ms")
    print(f"{'met' if found.value <= limit else 'missed'}: {name}: load to first result over a warm run is "
          f"{found}, wanted at most {limit:g} ({len(rounds)} processes)")
    return found.value <= limit


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=pathlib.Path, default=ROOT / "build/models/resnet101.onnx")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--at-most", type=float, default=1.15)
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds is less than 1")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        packed, data = folder / "model.sdx", folder / "input.bin"
        data.write_bytes(figures.np.random.default_rng(1).random((1, 3, 224, 224), "float32").tobytes())
        try:
            subprocess.run([ROOT / "build" / "sardonyx", "pack", options.model, "-o", packed], check=True,
                           stdout=subprocess.DEVNULL)
            measure(packed, data, options.threads, folder / "log")  # the pages into the cache
            rounds = [measure(packed, data, options.threads, folder / "log") for _ in range(options.rounds)]
        except (subprocess.CalledProcessError, protocol.RunnerError) as problem:
            print(f"first_result: {problem}", file=sys.stderr)
            return 3
    return 0 if report(rounds, options.model.stem, options.at_most) else 1


if __name__ == "__main__":
    sys.exit(main())
