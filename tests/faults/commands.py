#!/usr/bin/env python3
"""The program under faults: failing calls, a full disk, files cut short, interruption.

usage: commands.py SARDONYX SARDONYX_FAULTS [--most N] [--signals N] [--only NAME] [--sanitized]
The second program is the first, with calls that fail as the variable FAULT says (tests/faults/inject.c).
--most: calls of a kind that fail in turn, for each command (0: all); --signals: interruptions of each command.
"""
import argparse
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

from workplace import OLD, SIZES, Command, Workplace, commands

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ("memory", "open", "read", "map", "write", "sync", "name", "thread")
EXITS = (0, 1, 3)
LAST = 8  # calls of a kind that fail in any case


class Tests:
    def __init__(self, options, base):
        self.o, self.base, self.models = options, pathlib.Path(base), pathlib.Path(base) / "models"
        self.failures, self.points, self.errors = 0, 0, 0
        subprocess.run([sys.executable, HERE / "models.py", self.models], check=True)
        self.commands = [c for c in commands(self.models) if options.only in c.name]

    def fail(self, *words):
        print(*words, flush=True)
        self.failures += 1

    # ---- failing calls ----------------------------------------------------------------------------

    def point(self, place, command, fault, env):
        code, messages = place.run(command, env={**env, "FAULT": fault})
        self.points += 1
        self.errors += code != 0
        what = f"{command.name}, {fault}{' without O_TMPFILE' if env else ''}:"
        if code not in EXITS:
            self.fail(what, f"exit code {code}:", messages[:1500])
        elif code and "sardonyx: " not in messages and "FAIL " not in messages:
            self.fail(what, f"exit code {code} without a message:", messages[:300])
        elif wrong := place.problem(command, code == 0):
            # A folder that cannot be read cannot be emptied; that has to be said.
            if re.match("left behind: sardonyx-bench-", wrong) and re.search("sardonyx-bench-.* is left behind", messages):
                return
            self.fail(what, f"{wrong} (exit code {code}: {messages.strip()[:200]})")

    def sweep(self, place, command, env):
        log = self.base / "calls"
        place.run(command, env={**env, "FAULT_LOG": str(log)})
        calls = dict(line.split() for line in log.read_text().splitlines())
        most = self.o.most if not command.heavy else max(self.o.most // 4, 1) if self.o.most else 25
        for kind in KINDS:
            if env and kind in ("memory", "map", "read", "thread"):
                continue  # the file system makes no difference
            count = int(calls[kind])
            step = max(count // most, 1) if most else 1
            # The last ones too: what closes the files.
            for at in sorted({*range(1, count + 1, step), *range(max(count - LAST, 0) + 1, count + 1)}):
                for way in ("", "+"):
                    self.point(place, command, f"{kind}:{at}{way}", env)
            if kind in ("read", "write") and count:
                self.point(place, command, f"{kind}:1~", env)

    def failing_calls(self):
        for command in self.commands:
            place = Workplace(self.base, self.o.faulty)
            before, start = self.points, time.time()
            place.learn(command)
            self.sweep(place, command, {})
            if command.outputs and not command.heavy:
                self.sweep(place, command, {"FAULT_NO_TMPFILE": "1"})
            print(f"{command.name}: {self.points - before} failing calls, {time.time() - start:.1f} s",
                  flush=True)

    # ---- a full disk --------------------------------------------------------------------------------

    def on_small_disk(self, command, folder, limit):
        """The command in a folder whose disk is full, or with files that may not grow."""
        place = Workplace(folder, self.o.program)
        place.clean(command)
        process = place.start(command, preexec_fn=limit)
        _, messages = process.communicate(timeout=300)
        wrong = place.problem(command, False)
        text = messages.decode(errors="replace")
        if process.returncode != 3 or "cannot write" not in text or wrong:
            self.fail(f"{command.name} on a full disk: exit code {process.returncode}, {wrong}: {text}")
        self.points += 1

    def full_disk(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
        writing = [c for c in self.commands if c.outputs and not c.heavy]
        for command in writing:
            self.on_small_disk(command, self.base, limit)
        disk = self.base / "disk"
        disk.mkdir(exist_ok=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                                 capture_output=True).returncode == 0
        if not mounted:
            print("no small disk can be mounted: limits on the size of files and /dev/full alone")
        try:
            for command in writing if mounted else ():
                # One page is left, which not even the smallest of the files fits into with its folder.
                filler = disk / "filler"
                Workplace(disk, "").clean(command)
                with open(filler, "wb", buffering=0) as file:
                    try:
                        while True:
                            file.write(b"x" * 4096)
                    except OSError:
                        pass
                place = Workplace(disk, self.o.program)
                place.clean = lambda command: None
                code, messages = place.run(command)
                wrong = place.problem(command, False)
                if code != 3 or "No space left" not in messages or wrong:
                    self.fail(f"{command.name} without room: exit code {code}, {wrong}: {messages}")
                self.points += 1
                filler.unlink()
        finally:
            if mounted:
                subprocess.run(["umount", disk], check=True)
        with open("/dev/full", "wb") as full:
            for name in ("inspect", "ops"):
                arguments = [name, *([f"{self.models}/network/model.onnx"] if name != "ops" else [])]
                ran = subprocess.run([self.o.program, *arguments], stdout=full, stderr=subprocess.PIPE)
                if ran.returncode != 3 or b"cannot write to standard output" not in ran.stderr:
                    self.fail(f"{name} to a full device: {ran.returncode} {ran.stderr}")
        for device in ("/dev/null", "/dev/full"):  # written to, never replaced
            ran = subprocess.run([self.o.program, "plan", f"{self.models}/problem.csv", "--csv", device],
                                 capture_output=True)
            if ran.returncode != (0 if device == "/dev/null" else 3) or not os.path.exists(device) \
                    or os.path.isfile(device):
                self.fail(f"--csv {device}: exit code {ran.returncode}, {ran.stderr}")

    # ---- files that are cut short -------------------------------------------------------------------------

    def cut(self, model, victim, *more):
        """Runs for some seconds, has `victim` cut short in the midst; exit code and results."""
        content = victim.read_bytes()
        folder = self.base / "cut"
        command = [self.o.program, "run", model, "--random", "1", *SIZES, "--threads", "1", "--output", folder, *more]
        env = {**os.environ, "ASAN_OPTIONS": "handle_sigbus=0"}
        (folder / "y.npy").unlink(missing_ok=True)
        start = time.time()
        trial = 20000 if not self.o.sanitized else 200  # enough that starting does not count
        subprocess.run([*command, "--repeat", str(trial)], env=env, check=True, capture_output=True)
        expected = (folder / "y.npy").read_bytes()
        (folder / "y.npy").unlink()
        repeat = str(int(trial * 4 / (time.time() - start)) + trial)  # some seconds
        process = subprocess.Popen([*command, "--repeat", repeat], env=env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        time.sleep(1 if not self.o.sanitized else 2)
        running = process.poll() is None
        victim.write_bytes(b"")
        _, messages = process.communicate(timeout=300)
        victim.write_bytes(content)
        result = (folder / "y.npy").read_bytes() if (folder / "y.npy").exists() else None
        return process.returncode, result == expected, running, messages.decode(errors="replace")

    def cut_short(self):
        packed = self.base / "packed.sdx"
        subprocess.run([self.o.program, "pack", self.models / "network" / "model.onnx", "-o", packed],
                       check=True, capture_output=True)
        external = self.models / "external"
        for model, victim, more in ((packed, packed, []),
                                    (self.models / "network" / "model.onnx",
                                     self.models / "network" / "model.onnx", ["--optimize", "0"]),
                                    (external / "model.onnx", external / "weights.bin",
                                     ["--optimize", "0"])):
            code, same, running, messages = self.cut(model, victim, *more, "--copy")
            if code != 0 or not same or not running:
                self.fail(f"{victim.name} cut short, with --copy: exit code {code}, "
                          f"{'same' if same else 'other'} results, running {running}: {messages}")
            code, same, running, messages = self.cut(model, victim, *more)
            # What is read from the map again ends the process; what was copied while loading does not.
            by_signal = code == -signal.SIGBUS
            if not by_signal and not (code == 0 and same):
                self.fail(f"{victim.name} cut short: exit code {code}: {messages}")
            if victim == packed and not by_signal:
                self.fail(f"{victim.name} cut short: no SIGBUS, so that this proves nothing of --copy")
            self.points += 2

    # ---- interruption -----------------------------------------------------------------------------------

    def interrupt(self, place, command, number, within):
        place.clean(command)
        process = place.start(command, start_new_session=True)
        time.sleep(random.uniform(0, within))
        process.send_signal(number)
        _, messages = process.communicate(timeout=300)
        code = process.returncode
        self.points += 1
        # Bench says what it has measured until then, and exits with 1; or it was about to end.
        if code not in ((-number, 0, 1) if command.heavy else (-number, 0)):
            self.fail(f"{command.name} interrupted: exit code {code}: {messages.decode()[:300]}")
        elif wrong := place.problem(command, code == 0):
            self.fail(f"{command.name} interrupted: {wrong}")
        return code

    def signals(self):
        random.seed(1)
        for command in [c for c in self.commands if c.outputs or c.name == "test"]:
            for env in ({}, {"FAULT_NO_TMPFILE": "1"}):
                place = Workplace(self.base, self.o.faulty, env)
                place.learn(command)
                start = time.time()
                place.run(command)
                within = (time.time() - start) * 1.05
                count = max(self.o.signals // (8 if command.heavy else 1), 1)
                codes = [self.interrupt(place, command, random.choice((signal.SIGINT, signal.SIGTERM)), within)
                         for _ in range(count)]
                print(f"{command.name}{' without O_TMPFILE' if env else ''}: {count} signals within "
                      f"{within:.2f} s, {sum(c != 0 for c in codes)} before the end", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("faulty", type=os.path.abspath)
    parser.add_argument("--most", type=int, default=6)
    parser.add_argument("--signals", type=int, default=16)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="")
    parser.add_argument("--sanitized", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        tests = Tests(options, base)
        parts = {"calls": tests.failing_calls, "disk": tests.full_disk, "cut": tests.cut_short,
                 "signals": tests.signals}
        for name, part in parts.items():
            if not options.part or name in options.part.split(","):
                part()
        print(f"{tests.points} faults, {tests.errors} exit codes other than 0, {tests.failures} failures")
    return 1 if tests.failures else 0


if __name__ == "__main__":
    sys.exit(main())
