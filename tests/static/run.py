#!/usr/bin/env python3
"""GCC's analyzer, clang-tidy and cppcheck over the library, the program and report/. A finding is a failure: what
is none is left out, with its reason, by .clang-tidy, by tests/static/cppcheck.txt, or in the line itself.

usage: run.py BUILD [--tool gcc|tidy|cppcheck].. [--under FOLDER]..

BUILD is a tree with compile_commands.json; --under takes the sources of some folders alone (src/proto ..).

Exit codes: 0 nothing found, 1 findings, 77 none of the tools is there.
"""
import argparse
import concurrent.futures
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
# What GCC 12's analyzer cannot know: that a status of OK comes with a result, and that a node's required inputs are
# there. Sanitizers see these in every test.
GCC_WITHOUT = ("null-dereference", "null-argument")
GCC = ["-fanalyzer", "-O0", "-Wno-error", *(f"-Wno-analyzer-{name}" for name in GCC_WITHOUT)]
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


def with_gcc(path, one, build):
    command = [word for word in shlex.split(one["command"]) if word != "-Werror"]
    if os.path.basename(command[0]) == "ccache":
        command = command[1:]
    at = command.index("-o")
    command[at + 1] = "/dev/null"
    done = subprocess.run([*command, *GCC], cwd=one["directory"], capture_output=True, text=True)
    return done.stderr if "-Wanalyzer" in done.stderr or done.returncode else ""


def with_tidy(path, one, build):
    # The commands are GCC's, some of whose warnings Clang does not know.
    done = subprocess.run(["clang-tidy", "--quiet", "-p", str(build), "--extra-arg=-Wno-unknown-warning-option",
                           str(path)], capture_output=True, text=True, cwd=ROOT)
    return done.stdout if re.search(r": (error|warning): ", done.stdout) or done.returncode else ""


def with_cppcheck(path, one, build):
    # Suppressions name files from the root on.
    done = subprocess.run(["cppcheck", *CPPCHECK, str(path.relative_to(ROOT))], capture_output=True, text=True, cwd=ROOT)
    return done.stderr + done.stdout if done.returncode else ""


TOOLS = {"gcc": ("gcc", with_gcc), "tidy": ("clang-tidy", with_tidy), "cppcheck": ("cppcheck", with_cppcheck)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--tool", action="append", choices=TOOLS)
    parser.add_argument("--under", action="append", metavar="FOLDER")
    options = parser.parse_args()
    chosen = sources(options.build, options.under or FOLDERS)
    findings = ran = 0
    for name in options.tool or TOOLS:
        program, look = TOOLS[name]
        if not shutil.which(program):
            print(f"skipped: {program} is not installed (tools/setup.sh analyze)")
            continue
        ran += 1
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = {pool.submit(look, path, one, options.build): path for path, one in chosen.items()}
            for job in concurrent.futures.as_completed(jobs):
                if job.result():
                    findings += 1
                    print(f"{name}: {jobs[job].relative_to(ROOT)}\n{job.result()}", flush=True)
        print(f"{name}: {len(chosen)} files", flush=True)
    print(f"{findings} files with findings")
    return 77 if not ran else 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
