#!/usr/bin/env python3
"""Two processes that run the same packed file: each has the arena and little more to itself, and the pages of
the weights are there once for both.

usage: shared.py SARDONYX RUNNER MODEL.onnx
Exit codes: 0 all within, 1 one is not, 77 the model or the system's figures are missing.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))
import protocol  # noqa: E402

PROCESSES = 2
SPARE = 5 << 20  # bytes of a process beside its arena: tables, inputs, stacks, the C library's own
MEGA = 1e6
THREADS = (1, 2)


def figures(pid):
    """Of /proc/PID/smaps_rollup, in bytes."""
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return {words[0].rstrip(":"): int(words[1]) * 1024
            for words in map(str.split, lines) if words[-1] == "kB"}


def weights_of(pid, file):
    """Resident bytes of the file's pages in a process, and its share of them."""
    inside, resident, share = False, 0, 0
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            inside = line.endswith(str(file))
        elif inside and words[0] in ("Rss:", "Pss:"):
            size = int(words[1]) * 1024
            resident, share = (resident + size, share) if words[0] == "Rss:" else (resident, share + size)
    return resident, share


def check(runners, packed):
    """What is wrong, a sentence each."""
    wrong = []
    for number, runner in enumerate(runners):
        told, arena = figures(runner.process.pid), runner.ask("memory")["arena"]
        private = told["Private_Clean"] + told["Private_Dirty"]
        resident, share = weights_of(runner.process.pid, packed)
        print(f"  process {number}: arena {arena / MEGA:.1f} MB, private {private / MEGA:.1f} MB, resident "
              f"{told['Rss'] / MEGA:.1f} MB, proportional {told['Pss'] / MEGA:.1f} MB; of the file "
              f"{resident / MEGA:.1f} and {share / MEGA:.1f} MB")
        if private > arena + SPARE:
            wrong.append(f"process {number} has {private} bytes to itself, its arena and {SPARE} allow "
                         f"{arena + SPARE}")
        if resident < 0.5 * packed.stat().st_size:
            wrong.append(f"process {number} has {resident} bytes of the file, which is not what it ran with")
        if share > 1.01 * resident / len(runners):
            wrong.append(f"process {number} has {share} bytes of the file's pages as its share, expected "
                         f"{resident / len(runners):.0f}")
    return wrong


def main(sardonyx, program, model):
    model = pathlib.Path(model)
    if not model.exists() or not pathlib.Path("/proc/self/smaps_rollup").exists():
        print(f"skipped: no {model} (make models), or no /proc/self/smaps_rollup")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        packed, data = folder / "model.sdx", folder / "input.bin"
        subprocess.run([sardonyx, "pack", model, "-o", packed], check=True, stdout=subprocess.DEVNULL)
        data.write_bytes(numpy.random.default_rng(1).random((1, 3, 224, 224), "float32").tobytes())
        for threads in THREADS:
            print(f"{model.stem}, {threads} threads")
            runners = [protocol.Runner([program], folder / "log") for _ in range(PROCESSES)]
            for runner in runners:
                runner.ask("load", packed, threads)
                runner.ask("input", "a", "input", "float32", "1,3,224,224", data)
                runner.ask("run", "a", 2)
            wrong += check(runners, packed)
            for runner in runners:
                runner.quit()
    for sentence in wrong:
        print(f"FAIL {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
