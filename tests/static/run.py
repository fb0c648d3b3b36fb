#!/usr/bin/env python3
"""GCC's analyzer, clang-tidy and cppcheck over the library, the program and report/. A finding is a failure: what
is none is left out, with its reason, by .clang-tidy, by gcc.txt and cppcheck.txt beside this file, or in the line itself.

usage: run.py BUILD [--tool gcc|tidy|cppcheck].. [--under FOLDER].. [--all]

BUILD is a tree with compile_commands.json; --under takes the sources of some folders alone (src/proto ..). A file
that was clean is not looked at again until it, something that it includes, the tool, or the tool's list changes
(BUILD/static-cache); --all looks all the same.

Exit codes: 0 nothing found, 1 findings, 77 none of the tools is there.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDERS = ("src", "cli", "report")
# Told to analyzers; not in the files that define what it wraps.
KNOWN = HERE / "known.h"
WRAPPED = "|".join(re.findall(r"^#define (sdx_\w+)\(", KNOWN.read_text(), re.MULTILINE))
GCC_LIST = HERE / "gcc.txt"
GCC = ["-fanalyzer", "-O0", "-Wno-error"]
CPPCHECK = ["--enable=warning,portability,performance", "--inline-suppr", "--quiet", "--std=c11",
            "--error-exitcode=1", f"--suppressions-list={HERE / 'cppcheck.txt'}", "--template=gcc",
            "-D_GNU_SOURCE", "-DSDX_WITH_CJSON=1", "-Iinclude", "-Isrc", "-Icli", "-Ireport"]


def sources(build, folders):
    """{file: compile command} of what is looked at; of a file that several targets compile, the first."""
    found = {}
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        for one in json.load(file):
            path = pathlib.Path(one["directory"], one["file"]).resolve()
            inside = any((ROOT / folder) in path.parents for folder in folders)
            if inside and "simd" not in path.parts and "tests" not in one.get("output", "").split("/"):
                found.setdefault(path, one)
    return found


def told(path):
    """Options that tell a compiler what one file does not."""
    known = ROOT / "src" in path.parents
    if known and not re.search(rf"^sdx_status ({WRAPPED})\(", path.read_text(), re.MULTILINE):
        return ["-include", str(KNOWN)]
    return []


def to_nowhere(one):
    """The compile command with its output dropped."""
    command = [word for word in shlex.split(one["command"]) if word != "-Werror"]
    if os.path.basename(command[0]) == "ccache":
        command = command[1:]
    command[command.index("-o") + 1] = "/dev/null"
    return command


@functools.lru_cache(None)
def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def read_by(path, one):
    """Digests of what the compiler reads for a file, headers of the system included; none where it cannot."""
    done = subprocess.run([*to_nowhere(one), *told(path), "-M", "-MF", "/dev/stdout"], cwd=one["directory"], capture_output=True,
                          text=True)
    if done.returncode:
        return ""
    files = done.stdout.replace("\\\n", " ").split()[1:]
    return " ".join(digest(os.path.join(one["directory"], file)) for file in files)


# What a tool's answer depends on, beside the sources.
SETTINGS = {"gcc": lambda: [*GCC, digest(GCC_LIST)], "tidy": lambda: [digest(ROOT / ".clang-tidy")],
            "cppcheck": lambda: [*CPPCHECK, digest(HERE / "cppcheck.txt")]}


def place_of(name, program, path, one, build):
    """The file in the cache that stands for a clean look; none where what is read is not known."""
    read = read_by(path, one)
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    key = "\n".join([name, version, *SETTINGS[name](), str(path.relative_to(ROOT)), one["command"], read])
    return build / "static-cache" / hashlib.sha256(key.encode()).hexdigest() if read else None


def findings_of_gcc(text):
    """{KIND:FILE:FUNCTION} of what the analyzer says, without what gcc.txt has."""
    found, function = set(), "?"
    for line in text.splitlines():
        if named := re.search(r": In function ‘(\w+)’:$", line):
            function = named[1]
        elif told := re.match(r"([^\s:]+):\d+:\d+: warning: .*\[-Wanalyzer-([\w-]+)\]$", line):
            found.add(f"{told[2]}:{os.path.relpath(told[1], ROOT)}:{function}")
    return found - set(GCC_LIST.read_text(encoding="utf-8").splitlines())


def with_gcc(path, one, build):
    done = subprocess.run([*to_nowhere(one), *GCC, *told(path)], cwd=one["directory"], capture_output=True, text=True)
    return done.stderr if done.returncode or findings_of_gcc(done.stderr) else ""


def with_tidy(path, one, build):
    # The commands are GCC's, some of whose warnings Clang does not know. One of them is given, as clang-tidy looks at a
    # file of several targets once for each, and from the second time on takes every va_list for one that nobody started.
    done = subprocess.run(["clang-tidy", "--quiet", str(path), "--", *to_nowhere(one)[1:], *told(path),
                           "-Wno-unknown-warning-option"], capture_output=True, text=True, cwd=ROOT)
    return done.stdout if re.search(r": (error|warning): ", done.stdout) or done.returncode else ""


def with_cppcheck(path, one, build):
    # Suppressions name files from the root on.
    done = subprocess.run(["cppcheck", *CPPCHECK, str(path.relative_to(ROOT))], capture_output=True, text=True, cwd=ROOT)
    return done.stderr + done.stdout if done.returncode else ""


def look_at(name, path, one, build, again):
    """(what the tool says, whether it was known before) of one file."""
    program, look = TOOLS[name]
    clean = place_of(name, program, path, one, build)
    if clean and clean.exists() and not again:
        return "", True
    said = look(path, one, build)
    if clean and not said:
        clean.parent.mkdir(exist_ok=True)
        clean.touch()
    return said, False


TOOLS = {"gcc": ("gcc", with_gcc), "tidy": ("clang-tidy", with_tidy), "cppcheck": ("cppcheck", with_cppcheck)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--tool", action="append", choices=TOOLS)
    parser.add_argument("--under", action="append", metavar="FOLDER")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    chosen = sources(options.build, options.under or FOLDERS)
    findings = ran = 0
    for name in options.tool or TOOLS:
        program = TOOLS[name][0]
        if not shutil.which(program):
            print(f"skipped: {program} is not installed (tools/setup.sh analyze)")
            continue
        ran += 1
        before = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = {pool.submit(look_at, name, path, one, options.build, options.all): path
                    for path, one in chosen.items()}
            for job in concurrent.futures.as_completed(jobs):
                said, known = job.result()
                before += known
                if said:
                    findings += 1
                    print(f"{name}: {jobs[job].relative_to(ROOT)}\n{said}", flush=True)
        print(f"{name}: {len(chosen)} files, {before} of them clean before", flush=True)
    print(f"{findings} files with findings")
    return 77 if not ran else 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
