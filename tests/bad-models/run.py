#!/usr/bin/env python3
"""Runs the program on every bad model: the exit code, the text on standard error, silence on
standard output, no sanitizer report, no hang and no great use of memory are checked.

usage: run.py SARDONYX_BINARY [--keep DIR] [--verbose] [NAME]..
"""
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

MEMORY_CAP = 4 << 30      # address space of the program; one with a shadow of it needs terabytes
UNSUPPORTED = 4           # `inspect` shows such a model all the same, and lists what it lacks
RESIDENT_CAP = 1 << 30    # that it may really use
SANITIZER = {
    # A huge request fails as it would under the cap, in place of ending the program.
    "ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=2048:detect_leaks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
REPORTS = ("Sanitizer", "runtime error:")
REFUSED = re.compile(r"^==\d+==WARNING: \w+Sanitizer failed to allocate .*\n", re.MULTILINE)


def is_sanitized(binary):
    with open(binary, "rb") as file:
        return re.search(b"__[am]san_init|__ubsan_handle", file.read()) is not None


def has_shadow(binary):
    """Memory for what a sanitizer knows of memory."""
    with open(binary, "rb") as file:
        return re.search(b"__[amt]san_init", file.read()) is not None


def has_inspect(binary):
    """False while the command is a placeholder without a help text."""
    result = subprocess.run([binary, "inspect", "--help"], capture_output=True, check=False)
    return bool(result.stdout)


def cap_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_CAP, MEMORY_CAP))


def execute(command, seconds, sanitized, capped):
    """(exit code, stdout, stderr, resident bytes); the exit code is None after a timeout."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 env={**SANITIZER, **os.environ},
                                 preexec_fn=cap_memory if capped else None)
        late = threading.Event()

        def stop():
            late.set()
            child.kill()

        timer = threading.Timer(seconds * (3 if sanitized else 1), stop)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)  # already reaped
        out.seek(0)
        err.seek(0)
        texts = [REFUSED.sub("", f.read().decode("utf-8", "replace")) for f in (out, err)]
        code = None if late.is_set() else child.returncode
        return code, texts[0], texts[1], usage.ru_maxrss * 1024


def judge(case, command, result, sanitized):
    """The first thing wrong with the result, or None."""
    code, out, err, resident = result
    if code is None:
        return "did not end in time"
    for word in REPORTS:
        if word in err or word in out:
            return "sanitizer report"
    if code != case.code:
        return f"exit code {code}, expected {case.code}"
    if case.code != 0 and out and not (command == "inspect" and case.code == UNSUPPORTED):
        return "wrote to standard output: " + repr(out[:200])
    for text in case.says:
        if text not in err:
            return f"does not say {text!r}"
    if case.code != 0 and not err.startswith("sardonyx: "):
        return "the message does not begin with the program's name"
    if case.code not in (0, UNSUPPORTED) and err.count("\n") != 1:
        return "the message is not one line"
    if resident > RESIDENT_CAP and not sanitized:
        return f"used {resident >> 20} MiB"
    return None


def command_line(binary, command, case, folder):
    model = os.path.join(folder, "model.onnx")
    args = [a.replace("{dir}", folder) for a in case.args] if command == "run" else []
    return [binary, command, model, *args]


def main(argv):
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    options = [a for a in argv if not a.startswith("--")]
    verbose = "--verbose" in argv
    keep = None
    if "--keep" in argv:
        keep = argv[argv.index("--keep") + 1]
        options.remove(keep)
    if not options:
        sys.exit(__doc__.strip())
    try:
        import make
    except ModuleNotFoundError as missing:
        print(f"skipped: {missing}; tools/setup.sh python installs it")
        return 77
    binary, names = os.path.abspath(options[0]), options[1:]
    sanitized, capped = is_sanitized(binary), not has_shadow(binary)
    inspectable = has_inspect(binary)
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as temporary:
        for case, folder in make.make(keep or temporary, names):
            for command in case.commands:
                if command == "inspect" and not inspectable:
                    skipped += 1
                    continue
                start = time.monotonic()
                result = execute(command_line(binary, command, case, folder), case.seconds,
                                 sanitized, capped)
                wrong = judge(case, command, result, sanitized)
                took = time.monotonic() - start
                passed += wrong is None
                failed += wrong is not None
                if wrong or verbose:
                    print(f"{'FAIL' if wrong else 'pass'} {case.name} ({command}, {took:.2f} s)"
                          f"{': ' + wrong if wrong else ''}")
                    print("     " + result[2].strip()[:2000].replace("\n", "\n     "))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
