"""What the Python runners share: the commands of docs/peer-protocol.md around an engine's adapter.

An adapter is a class with

    engine, label        names for programs and for people
    levels               the optimisation levels that it has
    default              if it is not the last of them: the one that users get who choose none
    version              text
    convert(path, folder, options)   if there is one: makes the file to load; returns its path
    load(path, threads, options)   threads 0: its own choice; options: the texts after the threads
    prepare(arrays)      input name -> array; returns whatever run() needs. Where an input is made from
                         pictures it is called in every run, within the time
    run(prepared)        one inference, the only thing that is timed
    before(prepared)     if there is one: what has to be done before each run, not timed
    outputs()            the latest results, a list of arrays
    save(file)           if there is one: writes what is loaded in the engine's own format

The engine itself is imported by the adapter's __init__, after the bare interpreter's memory is
noted: so that the report can tell the interpreter's share from the engine's.
"""

import gc
import json
import os
import pathlib
import platform
import sys
import time

COMMANDS = ("load", "convert", "input", "image", "run", "output", "save", "memory")


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
    def __init__(self, make, adapter, numpy):
        self.make, self.adapter, self.numpy = make, adapter, numpy
        self.loaded = False
        self.arrays, self.prepared, self.pictures = {}, {}, {}  # by key

    def _options(self, texts):
        given = dict(text.split("=", 1) for text in texts)
        for name in given:
            if name not in ("optimize", "shapes"):
                raise ValueError(f"no option '{name}'")
        levels = self.adapter.levels
        given["optimize"] = int(given.get("optimize", getattr(self.adapter, "default", levels[-1])))
        if given["optimize"] not in levels:
            raise ValueError(f"{self.adapter.label} has no optimisation level {given['optimize']}")
        return given

    def load(self, path, threads, *options):
        given = self._options(options)
        if self.loaded:  # an engine lets go of its model when its adapter goes
            self.prepared = {}
            self.adapter, self.loaded = None, False
            self.adapter = self.make()
            gc.collect()
        start = time.monotonic_ns()
        self.adapter.load(path, int(threads), given)
        taken = time.monotonic_ns() - start
        self.loaded = True
        return {"ns": taken, **memory()}

    def convert(self, path, folder, *options):
        if not hasattr(self.adapter, "convert"):
            raise ValueError(f"{self.adapter.label} takes the model as it is")
        given = self._options(options)
        return {"file": self.adapter.convert(path, pathlib.Path(folder).resolve(), given)}

    def input(self, key, name, dtype, dims, file):
        shape = [int(size) for size in dims.split(",") if size]
        array = self.numpy.fromfile(file, dtype=dtype).reshape(shape)
        self.arrays.setdefault(key, {})[name] = array
        self.prepared.pop(key, None)
        self.pictures.get(key, {}).pop(name, None)
        return {"bytes": array.nbytes}

    def image(self, key, name, dtype, dims, preset, *files):
        import pictures
        shape = [int(size) for size in dims.split(",")]
        made = pictures.Pictures(preset, dtype, shape, files, self.numpy)
        self.pictures.setdefault(key, {})[name] = made
        self.arrays.setdefault(key, {})[name] = made.batch
        self.prepared.pop(key, None)
        return {"bytes": made.batch.nbytes}

    def _run_pictures(self, key):
        """From the files to the results."""
        for made in self.pictures[key].values():
            made.fill()
        prepared = self.adapter.prepare(self.arrays[key])
        if hasattr(self.adapter, "before"):
            self.adapter.before(prepared)
        self.adapter.run(prepared)

    def run(self, keys, times):
        """`times` times through the keys, in their order."""
        order = keys.split(",")
        if not self.loaded:
            raise ValueError("nothing is loaded")
        for key in order:
            if key not in self.prepared and not self.pictures.get(key):
                self.prepared[key] = self.adapter.prepare(self.arrays[key])
        taken, before = [], getattr(self.adapter, "before", None)
        for _ in range(int(times)):
            for key in order:
                prepared = self.prepared.get(key)
                if before and prepared is not None:
                    before(prepared)
                start = time.monotonic_ns()
                if prepared is None:
                    self._run_pictures(key)
                else:
                    self.adapter.run(prepared)
                taken.append(time.monotonic_ns() - start)
        return {"ns": taken, **memory()}

    def output(self, folder):
        os.makedirs(folder, exist_ok=True)
        results = self.adapter.outputs()
        for number, array in enumerate(results):
            self.numpy.save(os.path.join(folder, f"{number}.npy"), array)
        return {"count": len(results)}

    def save(self, file):
        if not hasattr(self.adapter, "save"):
            raise ValueError(f"{self.adapter.label} does not write models")
        if not self.loaded:
            raise ValueError("nothing is loaded")
        start = time.monotonic_ns()
        self.adapter.save(file)
        return {"ns": time.monotonic_ns() - start, "bytes": os.path.getsize(file), **memory()}

    def memory(self):
        return memory()


def serve(make):
    """Answers commands until `quit` or the end of standard input. make: the adapter's class."""
    # Engines print what they like to standard output: it goes to the log, answers elsewhere.
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)

    def answer(message):
        answers.write(json.dumps(message) + "\n")

    bare = memory()["rss"]
    try:
        adapter = make()
        import numpy  # after the note of bare memory
    except Exception as problem:  # whatever an engine raises while it is imported
        answer({"error": f"{type(problem).__name__}: {problem}"})
        return 1

    answer({"engine": make.engine, "label": make.label, "version": adapter.version, "bare": bare,
            "runtime": f"Python {platform.python_version()}",
            "convert": hasattr(make, "convert"), **memory()})
    session = Session(make, adapter, numpy)
    for line in sys.stdin:
        command, *arguments = line.rstrip("\n").split("\t")
        if command == "quit":
            break
        try:
            if command not in COMMANDS:
                raise ValueError(f"no command '{command}'")
            answer(getattr(session, command)(*arguments))
        except Exception as problem:  # engines have no common base class
            answer({"error": f"{type(problem).__name__}: {problem}"})
    # Some engines wait for threads of theirs at exit.
    os._exit(0)
