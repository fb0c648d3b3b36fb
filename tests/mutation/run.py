#!/usr/bin/env python3
"""Breaks one check at a time and requires that a test notices: mutations.toml says which text becomes which and
which fast tests must then fail. Works in a copy of the sources under build/mutation, which is built once and
then, for each mutation, as far as the change goes.

usage: run.py [--check] [--only NAME..] [--jobs N]

--check  only that every mutation still applies: its text stands in its file exactly once

Exit codes: 0 every mutation was noticed, 1 one survived, does not apply, or does not compile.
"""
import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCRATCH = ROOT / "build" / "mutation"
TREE, BUILD = SCRATCH / "tree", SCRATCH / "build"
COPIED = ("CMakeLists.txt", "src", "include", "cli", "report", "tests", "examples", "bench", "tools")
PYTHON = ROOT / ".venv" / "bin" / "python"
SECONDS = 300  # for one test of sources as they are


def load():
    with open(HERE / "mutations.toml", "rb") as file:
        return tomllib.load(file)["mutation"]


def mistakes(mutations):
    """What keeps mutations from being applied."""
    names = collections.Counter(one["name"] for one in mutations)
    for one in mutations:
        path = ROOT / one["file"]
        found = path.read_text(encoding="utf-8").count(one["old"]) if path.exists() else None
        if names[one["name"]] > 1:
            yield f"{one['name']}: there are two of that name"
        if found is None:
            yield f"{one['name']}: there is no {one['file']}"
        elif found != 1:
            yield (f"{one['name']}: its text stands in {one['file']} {found} times, expected 1; the check "
                   f"has changed, so change tests/mutation/mutations.toml with it: {one['old']}")
        if one["old"] == one["new"] or not one["tests"]:
            yield f"{one['name']}: changes nothing, or names no test"


def files_of(folder):
    """Path below `folder` of every file that is copied."""
    for name in COPIED:
        for path in [folder / name] if (folder / name).is_file() else sorted((folder / name).rglob("*")):
            if path.is_file() and not {"__pycache__", "target"} & set(path.parts):
                yield path.relative_to(folder)


def copy_tree():
    """The sources as they are now. What is the same stays as it is, so that a later run builds what changed."""
    wanted = set(files_of(ROOT))
    for path in set(files_of(TREE)) - wanted if TREE.exists() else ():
        (TREE / path).unlink()
    for path in wanted:
        if not (TREE / path).exists() or (TREE / path).read_bytes() != (ROOT / path).read_bytes():
            (TREE / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, TREE / path)


def build(targets, jobs):
    """Whether it builds."""
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "-S", TREE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Mutation",
                        "-DCMAKE_C_FLAGS_MUTATION=-O1 -DNDEBUG", "-DSARDONYX_WERROR=OFF",
                        "--log-level=ERROR"], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(["ninja", "-C", BUILD, "-j", str(jobs), *sorted(targets)], capture_output=True,
                          text=True)
    if done.returncode:
        print(done.stdout[-2000:])
    return done.returncode == 0


def grouped(tests):
    """(kind, names) with the cases of one kind together: they are one command."""
    kinds = collections.defaultdict(list)
    for test in tests:
        kind, _, name = test.partition(":")
        kinds[kind].append(name)
    return kinds.items()


def commands(tests):
    program = BUILD / "sardonyx"
    for kind, names in grouped(tests):
        if kind == "unit":
            yield from ([BUILD / "tests" / name] for name in names)
        elif kind == "bad":
            yield [PYTHON, TREE / "tests" / "bad-models" / "run.py", program, *names]
        elif kind == "cli":
            yield [PYTHON, TREE / "tests" / "cli" / "run.py", program, *names]
        elif kind == "limits":
            yield [PYTHON, TREE / "tests" / "limits" / "run.py", program, PYTHON, *names]
        elif kind == "damage":
            yield [PYTHON, TREE / "tests" / "pack" / "damage.py", program, "8"]
        else:
            sys.exit(f"mutations.toml: unknown kind of test '{kind}'")


def targets_of(tests):
    return {name if kind == "unit" else "sardonyx" for kind, names in grouped(tests) for name in names}


def passes(tests, seconds=SECONDS):
    """Whether all of them are green; the first red one, or one that takes longer, ends it."""
    for command in commands(tests):
        try:
            done = subprocess.run(list(map(str, command)), cwd=SCRATCH, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode:
            return False
    return True


def try_mutation(one, jobs, seconds):
    """'noticed', 'SURVIVED' or 'DOES NOT COMPILE'."""
    path = TREE / one["file"]
    original = path.read_text(encoding="utf-8")
    path.write_text(original.replace(one["old"], one["new"]), encoding="utf-8")
    try:
        if not build(targets_of(one["tests"]), jobs):
            return "DOES NOT COMPILE"
        return "SURVIVED" if passes(one["tests"], seconds) else "noticed"
    finally:
        path.write_text(original, encoding="utf-8")


def run(mutations, jobs):
    copy_tree()
    tests = sorted({test for one in mutations for test in one["tests"]})
    if not build(targets_of(tests), jobs):
        sys.exit("the sources do not build as they are")
    red, seconds = [], {}
    for test in tests:
        start = time.monotonic()
        if not passes([test]):
            red.append(test)
        seconds[test] = time.monotonic() - start
    if red:
        sys.exit(f"red before anything was broken: {', '.join(red)}")
    found = collections.Counter()
    begin = time.monotonic()
    for one in mutations:
        start = time.monotonic()
        # A test that waits for what no longer comes is noticed long before it would be given up.
        result = try_mutation(one, jobs, 20 + 10 * sum(seconds[test] for test in one["tests"]))
        found[result] += 1
        print(f"{result:8} {one['name']} ({one['file']}, {time.monotonic() - start:.0f} s)", flush=True)
    print(f"{len(mutations)} checks broken, {found['noticed']} noticed, {found['SURVIVED']} survived, "
          f"{found['DOES NOT COMPILE']} did not compile; {(time.monotonic() - begin) / 60:.0f} minutes")
    return 0 if found["noticed"] == len(mutations) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    mutations = load()
    wrong = list(mistakes(mutations))
    print("\n".join(wrong) or f"{len(mutations)} mutations apply")
    if wrong:
        return 1
    if options.check:
        return 0
    return run([one for one in mutations if not options.only or one["name"] in options.only], options.jobs)


if __name__ == "__main__":
    sys.exit(main())
