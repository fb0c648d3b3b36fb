"""A runner: one process that holds one engine and one model, and runs it when told to.

The runner reads commands from its standard input, a line each with fields between tabs, and answers
every one with a line of JSON on its standard output; `error` in the answer says what went wrong.
docs/benchmarking.md has the commands and the answers. Times are taken inside the runner, around the
inference call alone, with the monotonic clock.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")


class RunnerError(Exception):
    """The runner says no, or is gone."""


class Runner:
    def __init__(self, command, log, start_timeout=120):
        """Starts the command; its messages go to the file `log`."""
        self.started = time.monotonic_ns()
        with open(log, "ab") as messages:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=messages)
        self.waiting = b""
        try:
            self.hello = self._answer(start_timeout)
        except RunnerError:
            self.kill()
            raise
        self._rest()

    def _rest(self):
        """Stops the process until it is asked for something: threads of many engines go on spinning after their
        work, and would take the processors of whoever is measured next."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)

    def _wake(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)

    def _line(self, timeout):
        end = time.monotonic() + timeout
        pipe = self.process.stdout.fileno()
        while b"\n" not in self.waiting:
            left = end - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                self.kill()
                raise RunnerError(f"no answer in {timeout:.0f} s")
            piece = os.read(pipe, 65536)
            if not piece:
                code = self.process.wait()
                raise RunnerError(f"ended by signal {-code}" if code < 0
                                  else f"ended with exit code {code}")
            self.waiting += piece
        line, _, self.waiting = self.waiting.partition(b"\n")
        return line

    def _answer(self, timeout):
        line = self._line(timeout)
        try:
            answer = json.loads(line)
        except ValueError:
            raise RunnerError(f"answers {line[:200]!r}") from None
        if "error" in answer:
            raise RunnerError(" ".join(answer["error"].split())[:300])
        return answer

    def ask(self, *fields, timeout=600):
        self._wake()
        try:
            self.process.stdin.write("\t".join(map(str, fields)).encode() + b"\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise RunnerError("is gone") from None
        try:
            return self._answer(timeout)
        finally:
            self._rest()

    def cpu_seconds(self):
        """Processor time that it has used so far, all threads."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / TICK

    def quit(self):
        """Ends the process; returns the nanoseconds it lived."""
        self._wake()
        if self.process.poll() is None:
            try:
                self.process.stdin.write(b"quit\n")
                self.process.stdin.close()
                self.process.wait(timeout=60)
            except (OSError, ValueError, subprocess.TimeoutExpired):
                self.kill()
        lived = time.monotonic_ns() - self.started
        self._close()
        return lived

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._close()

    def _close(self):
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # what it did not read is lost with it
                pipe.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.quit()
