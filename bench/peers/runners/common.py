"""What the Python runners share: the commands of protocol.py around an engine's adapter.

An adapter is a class with

    version              text
    load(path, threads, options)   options: dictionary of the texts after the threads
    prepare(arrays)      input name -> array; returns whatever run() needs
    run(prepared)        one inference, the only thing that is timed
    before(prepared)     if there is one: what has to be done before each run, not timed
    outputs()            the latest results, a list of arrays

The engine itself is imported by the runner's make(), after the bare interpreter's memory is
noted: so that the report can tell the interpreter's share from the engine's.
"""

import json
import os
import sys
import time


def memory():
    """Resident bytes now and at most, from /proc/self/status."""
    sizes = {}
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in ("VmRSS", "VmHWM"):
                sizes[name] = int(rest.split()[0]) * 1024
    return {"rss": sizes.get("VmRSS", 0), "peak": sizes.get("VmHWM", 0)}


class Session:
    def __init__(self, adapter, numpy):
        self.adapter, self.numpy = adapter, numpy
        self.arrays, self.prepared = {}, {}  # by key

    def load(self, path, threads, *options):
        given = dict(text.split("=", 1) for text in options)
        start = time.monotonic_ns()
        self.adapter.load(path, int(threads), given)
        return {"ns": time.monotonic_ns() - start, **memory()}

    def input(self, key, name, dtype, dims, file):
        shape = [int(size) for size in dims.split(",") if size]
        array = self.numpy.fromfile(file, dtype=dtype).reshape(shape)
        self.arrays.setdefault(key, {})[name] = array
        self.prepared.pop(key, None)
        return {"bytes": array.nbytes}

    def run(self, keys, times):
        """`times` times through the keys, in their order."""
        order = keys.split(",")
        for key in order:
            if key not in self.prepared:
                self.prepared[key] = self.adapter.prepare(self.arrays[key])
        taken, before = [], getattr(self.adapter, "before", None)
        for _ in range(int(times)):
            for key in order:
                prepared = self.prepared[key]
                if before:
                    before(prepared)
                start = time.monotonic_ns()
                self.adapter.run(prepared)
                taken.append(time.monotonic_ns() - start)
        return {"ns": taken, **memory()}

    def output(self, folder):
        os.makedirs(folder, exist_ok=True)
        results = self.adapter.outputs()
        for number, array in enumerate(results):
            self.numpy.save(os.path.join(folder, f"{number}.npy"), array)
        return {"count": len(results)}

    def memory(self):
        return memory()


def serve(engine, make):
    """Answers commands until `quit` or the end of standard input."""
    # Engines print what they like to standard output: it goes to the log, answers elsewhere.
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)

    def answer(message):
        answers.write(json.dumps(message) + "\n")

    bare = memory()["rss"]
    try:
        adapter = make()
    except Exception as problem:  # whatever an engine raises while it is imported
        answer({"error": f"{type(problem).__name__}: {problem}"})
        return 1
    import numpy  # after the note of bare memory

    answer({"engine": engine, "version": adapter.version, "bare": bare, **memory()})
    session = Session(adapter, numpy)
    for line in sys.stdin:
        command, *arguments = line.rstrip("\n").split("\t")
        if command == "quit":
            break
        try:
            if command not in ("load", "input", "run", "output", "memory"):
                raise ValueError(f"no command '{command}'")
            answer(getattr(session, command)(*arguments))
        except Exception as problem:  # engines have no common base class
            answer({"error": f"{type(problem).__name__}: {problem}"})
    # Some engines wait for threads of theirs at exit.
    os._exit(0)
