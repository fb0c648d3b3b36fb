#!/usr/bin/env python3
"""Bombs against limits: a model or image of some hundred bytes that asks for gigabytes or hours must be refused,
with a message that names node and need, at once, and without taking what it asks for. Wall time and
resident memory of each command are measured.

A bomb of time proves something only where its run does hit the limit: one that comes to its end, or that
something else stops, is a mistake of the test, and has to be made larger. --seconds 2 asks whether it would be
large enough for a machine several times as fast, too.

usage: run.py SARDONYX_BINARY PYTHON [--verbose] [--only COMMAND] [--seconds LIMIT] [NAME]..
PYTHON is the one with onnx, which makes the bombs.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

MEMORY = 40 << 20        # --max-memory against bombs of memory; model, program and run may each hold it
RESIDENT = 64 << 20      # that the process may take then, its code included
AMPLE = 1 << 30          # --max-memory against bombs of time, which need memory to take long
SECONDS = 0.4            # --max-time
OVER = 0.5               # that a command may take longer: it loads, makes the program and runs
AT_ONCE = 1.0            # for what stops without a limit of time
HANG = 30
TIME_IS_UP = "longer than the limit max_time_ms"
SLOW = 8                 # times longer with sanitizers, which are not looked at for memory, or counters
COMMANDS = {
    "run": ["run"],
    "inspect": ["inspect", "--stage", "shape"],
    "plan": ["inspect", "--stage", "plan"],
    "pack": ["pack"],
}


# A malloc that cannot is no error of the program: with a sanitizer, too, it shall return NULL.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1"}


def execute(command):
    """Exit code, standard error, seconds, resident bytes."""
    with tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=errors, env=ENVIRONMENT)
        timer = threading.Timer(HANG, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        seconds = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)  # already reaped
        errors.seek(0)
        text = errors.read().decode(errors="replace")
    return child.returncode, text, seconds, usage.ru_maxrss << 10


class Suite:
    def __init__(self, binary, folder, verbose, seconds):
        self.binary, self.folder, self.verbose, self.seconds = binary, folder, verbose, seconds
        with open(binary, "rb") as file:
            code = file.read()
        self.sanitized = re.search(b"__[am]san_init|__ubsan_handle", code) is not None
        self.slow = self.sanitized or b"__gcov_" in code
        self.failures = self.count = self.skipped = 0
        self.slowest = self.largest = 0

    def check(self, name, words, seconds, memory, names=(), may_finish=False, says=""):
        """Runs a command; again if it was late or did not come to its node, since the machine may be busy."""
        for _ in range(5):
            outcome = execute([self.binary, *words])
            wrong = self.judge(outcome, seconds, memory, names, may_finish, says)
            if "MB" in wrong or not wrong.startswith(("took", "does not name")):
                break
        if outcome[0] == 4 and "this library was built without" in outcome[1]:
            self.skipped += 1
            return
        self.count += 1
        self.failures += wrong != ""
        code, text, took, resident = outcome
        self.slowest = max(self.slowest, took)
        if memory:
            self.largest = max(self.largest, resident)
        if wrong or self.verbose:
            print(f"{'FAIL' if wrong else 'ok  '} {name}: {wrong or f'{took:.2f} s'}, exit {code}, "
                  f"{resident >> 20} MB: {text.strip().replace(self.folder + '/', '')[-300:]}", flush=True)

    def judge(self, outcome, seconds, memory, names, may_finish, says):
        """What is wrong, or ''. says: words that a refusal must have."""
        code, text, took, resident = outcome
        if re.search(r"ERROR: \w*Sanitizer", text) or "runtime error" in text:
            return "the sanitizer reports"
        if code < 0:
            return f"was ended by signal {-code} after {took:.1f} s"
        if code == 0 and not may_finish:
            return "was done" + (", so the bomb is too small" if says == TIME_IS_UP else "")
        if code not in (0, 1, 3):
            return "has the wrong exit code"
        if code != 0 and names and not any(n in text for n in names):
            return "does not name " + " or ".join(names)
        if code != 0 and says not in text:
            return f"was stopped by something else than {says}"
        if code != 0 and not re.search(r"\d", text.rpartition(".onnx: ")[2]):
            return "does not say how much"
        if took > seconds * (SLOW if self.slow else 1):
            return f"took {took:.2f} s, {seconds:.1f} are allowed"
        if memory and resident > memory and not self.sanitized:
            return f"took {resident >> 20} MB, {memory >> 20} are allowed"
        return ""

    def bomb(self, bomb, only):
        path = os.path.join(self.folder, bomb["name"] + ".onnx")
        timed = bomb["stops"] == "time"
        for command, words in COMMANDS.items():
            if only and command != only:
                continue
            words = [*words, path, *bomb["options"]]
            if command == "run":
                words += ["--random", "1"]
            if command == "pack":
                words += ["-o", os.path.join(self.folder, "out.sdx")]
            names = [f"({op})" for op in bomb["ops"]]
            if timed and (command != "run" or self.slow):
                names = [] # the clock may run out before the node's turn
            may_finish = bomb["finishes"] if command == "run" else bomb["stops"] != "load"
            limits = ["--max-memory", str(AMPLE if timed else MEMORY), "--max-time", str(self.seconds)]
            self.check(f"{bomb['name']} {command}", words + limits, self.seconds + OVER,
                       0 if timed else RESIDENT, names, may_finish, TIME_IS_UP if timed else "")
            if bomb["default"]:
                self.check(f"{bomb['name']} {command} without limits", words, AT_ONCE, RESIDENT, names,
                           may_finish)

    def image(self, name, codec):
        """codec: its pixels would fit, but not what the codec takes."""
        says = "limit max_memory" if codec else "limit"
        path = os.path.join(self.folder, name)
        classify = ["classify", os.path.join(self.folder, "classifier.onnx"), "--preset", "torchvision", path]
        limits = ["--max-memory", str(MEMORY), "--max-time", str(SECONDS)]
        self.check(f"{name} classify", classify + limits, AT_ONCE, RESIDENT, [name], says=says)
        # The default cap lets 16,383 by 16,383 pixels pass, and their 768 MB; the others not.
        if name != "image.webp" and not codec:
            self.check(f"{name} classify without limits", classify, AT_ONCE, RESIDENT, [name], says=says)
        decode = ["run", path + ".onnx"]
        self.check(f"{name} decode", decode + limits, AT_ONCE, RESIDENT, ["(ImageDecoder)"], says=says)


def main(arguments):
    verbose = "--verbose" in arguments
    only, seconds = (arguments[arguments.index(o) + 1] if o in arguments else None
                     for o in ("--only", "--seconds"))
    names = [a for a in arguments if not a.startswith("--") and a not in (only, seconds)]
    if len(names) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    binary, python, chosen = names[0], names[1], names[2:]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, os.path.join(os.path.dirname(__file__), "make.py"), folder], check=True)
        with open(os.path.join(folder, "bombs.json"), encoding="utf-8") as file:
            table = json.load(file)
        suite = Suite(binary, folder, verbose, float(seconds or SECONDS))
        for bomb in table["bombs"]:
            if not chosen or bomb["name"] in chosen:
                suite.bomb(bomb, only)
        for name in table["images"] + table["codecs"]:
            if not only and (not chosen or name in chosen):
                suite.image(name, name in table["codecs"])
    print(f"slowest {suite.slowest:.2f} s, largest {suite.largest >> 20} MB")
    print(f"{suite.count - suite.failures} passed, {suite.failures} failed, {suite.skipped} skipped")
    return suite.failures != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
