#!/usr/bin/env python3
"""The process never holds the weights twice: peak resident memory of load and one run is what the program
holds (packed constants, arena) and a little more, also with several threads that pack, and whatever size of
pages the system keeps the file in.

usage: tests/models/peak.py SARDONYX MODELS NAME..
Exit codes: 0 all within, 1 one is not, 77 a model is missing.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# The program with its libraries, tables, inputs, parts of large constants that are packed at the moment, and
# the ends of large pages.
SPARE = 24 << 20
# What the page cache's pages may add.
CACHED = 4 << 20


def peak(sardonyx, file, threads):
    process = subprocess.Popen([sardonyx, "run", str(file), "--random", "1", "--dim", "batch=1",
                                "--threads", str(threads), "--json"], stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{file.name}: run ends with status {status}")
    memory = json.loads(output)["memory"]
    return usage.ru_maxrss * 1024, memory["constant_bytes_copied"] + memory["arena_bytes"]


def fetch_in_pieces(file):
    """The cache forgets the file and gets it again by small reads, ever further ahead: large pages."""
    descriptor = os.open(file, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    while os.read(descriptor, 1 << 14):
        pass
    os.close(descriptor)


def main(sardonyx, models, *names):
    bad = 0
    for name in names:
        file = pathlib.Path(models) / f"{name}.onnx"
        if not file.exists():
            print(f"{file} is missing")
            return 77
        for threads in (1, 2):
            resident, held = peak(sardonyx, file, threads)
            good = resident <= held + SPARE
            bad += not good
            print(f"{name}, {threads} threads: {resident / 1e6:.1f} MB resident at most, holds "
                  f"{held / 1e6:.1f} MB{'' if good else ': TOO MUCH'}")
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(shutil.copy(file, folder))
            written, _ = peak(sardonyx, copy, 1)
            fetch_in_pieces(copy)
            fetched, _ = peak(sardonyx, copy, 1)
        good = fetched <= written + CACHED
        bad += not good
        print(f"{name}: {written / 1e6:.1f} MB with the file as it was written, {fetched / 1e6:.1f} as it was "
              f"read{'' if good else ': TOO MUCH'}")
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
