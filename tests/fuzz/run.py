#!/usr/bin/env python3
"""Runs the fuzzers in turn, each for a slice of time, until the time is over; keeps what they learn in
DIR/corpus and what they find in DIR/findings, and writes DIR/log.jsonl (one line a slice), DIR/summary.json and
DIR/summary.md. Exit code 1 where a fuzzer found something.

usage: run.py DIR [--seconds N] [--slice N] [--timeout N] [--only NAME,..] [--clean MINUTES]
              [--through 'COMMAND ..'] [--report FILE.md]
  --seconds   of the whole, 600 unless given
  --slice     of one turn, 40 unless given
  --timeout   seconds after which an input is taken to hang, 15 unless given; more where others use the machine
  --clean     each turn goes to the fuzzer with the fewest CPU minutes since its last report, the ledger's included,
              and the run ends when all have as many as this
  --through   a command that starts the fuzzers, such as 'nice -n 19'
  --report    adds the new slices to ledger.json beside this script and puts the table of all into the file,
              between its marks <!-- fuzzing --> and <!-- end of fuzzing -->
DIR is the build folder with the fuzzers and seeds/ (see seeds.py).
"""
import argparse
import datetime
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
LEDGER = HERE / "ledger.json"
# Most of what can go wrong lies behind the models: they get more turns.
TURNS = {"graph": 6, "model": 2, "sdx": 3, "tensor": 1, "npy": 1, "image": 2, "csv": 1, "json": 1, "expr": 1,
         "preset": 1}
FLAGS = ["-rss_limit_mb=3072", "-malloc_limit_mb=256", "-print_final_stats=1", "-reload=0",
         "-use_value_profile=0"]
# A packed file begins with a page of header; texts that say much are short.
LONGEST = {"graph": 16384, "model": 16384, "sdx": 65536, "image": 16384}
SETS = ("", "scalar", "avx2")  # instruction sets, "": the machine's best


def one_slice(folder, name, seconds, timeout, through):
    """Runs a fuzzer for a while; what it did, as a dict."""
    corpus, findings = folder / "corpus" / name, folder / "findings"
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(exist_ok=True)
    before = set(os.listdir(findings))
    command = [*through, str(folder / f"fuzz_{name}"), *FLAGS, f"-timeout={timeout}", f"-max_total_time={seconds}",
               f"-max_len={LONGEST.get(name, 4096)}", f"-artifact_prefix={findings}/{name}-", str(corpus),
               str(folder / "seeds" / name)]
    words = folder / "seeds" / "words" / name
    if words.exists():
        command.insert(-2, f"-dict={words}")
    environment = {**os.environ, "SARDONYX_CPU": random.choice(SETS), "UBSAN_OPTIONS": "print_stacktrace=1",
                   "ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1"}
    usage = os.times()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment,
                          check=False)
    cpu = sum(os.times()[2:4]) - sum(usage[2:4])
    # Another run of this script may be at work in the same folder.
    new = sorted(found for found in set(os.listdir(findings)) - before
                 if found.startswith(f"{name}-") and not found.endswith(".log")
                 and not found.startswith(f"{name}-slow-unit"))
    for found in new:
        (findings / (found + ".log")).write_text(done.stderr[-20000:])
    executed = re.search(r"stat::number_of_executed_units: (\d+)", done.stderr)
    edges = [int(n) for n in re.findall(r" cov: (\d+) ", done.stderr)]
    return {"fuzzer": name, "at": time.time(), "cpu": round(cpu, 1),
            "executions": int(executed.group(1)) if executed else 0, "edges": max(edges, default=0),
            "corpus": len(os.listdir(corpus)), "findings": new}


def total(entries, known):
    """What the slices of a log amount to, by fuzzer, on top of what is known."""
    sums = {name: dict(figures) for name, figures in known.items()}
    for entry in entries:
        figures = sums.setdefault(entry["fuzzer"], {"cpu": 0, "executions": 0, "edges": 0, "corpus": 0,
                                                    "findings": 0, "clean": 0})
        figures["cpu"] = round(figures["cpu"] + entry["cpu"], 1)
        figures["executions"] += entry["executions"]
        figures["edges"] = max(figures["edges"], entry["edges"])
        figures["corpus"] = entry["corpus"]
        figures["findings"] += len(entry["findings"])
        figures["clean"] = 0 if entry["findings"] else round(figures["clean"] + entry["cpu"], 1)
    return sums


def table(sums):
    lines = ["| fuzzer | CPU minutes | executions | edges | corpus | reports | CPU minutes since the last |",
             "|---|---|---|---|---|---|---|"]
    for name, f in sorted(sums.items()):
        lines.append(f"| {name} | {f['cpu'] / 60:.0f} | {f['executions']} | {f['edges']} | {f['corpus']} | "
                     f"{f['findings']} | {f['clean'] / 60:.0f} |")
    lines.append(f"| all | {sum(f['cpu'] for f in sums.values()) / 60:.0f} | "
                 f"{sum(f['executions'] for f in sums.values())} | | | "
                 f"{sum(f['findings'] for f in sums.values())} | |")
    return "\n".join(lines) + "\n"


def behind(folder, names, minutes):
    """The fuzzer that has gone without a report for the shortest time, or None where all have done for so many
    CPU minutes."""
    ledger = read_ledger()
    new = [entry for entry in read_log(folder) if entry["at"] > ledger["until"]]
    sums = total(new, ledger["fuzzers"])
    clean, name = min((sums.get(name, {"clean": 0})["clean"], name) for name in names)
    return name if clean < 60 * minutes else None


def read_ledger():
    return json.loads(LEDGER.read_text()) if LEDGER.exists() else {"until": 0, "fuzzers": {}}


def read_log(folder):
    log = folder / "log.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def report(folder, file):
    ledger = read_ledger()
    new = [entry for entry in read_log(folder) if entry["at"] > ledger["until"]]
    ledger["fuzzers"] = total(new, ledger["fuzzers"])
    ledger["until"] = max([ledger["until"], *(entry["at"] for entry in new)])
    LEDGER.write_text(json.dumps(ledger, indent=1, sort_keys=True) + "\n")
    day = datetime.datetime.fromtimestamp(ledger["until"], datetime.timezone.utc).date()
    text = pathlib.Path(file).read_text()
    head, rest = text.split("<!-- fuzzing -->", 1)
    tail = rest.split("<!-- end of fuzzing -->", 1)[1]
    pathlib.Path(file).write_text(f"{head}<!-- fuzzing -->\nUntil {day}:\n\n{table(ledger['fuzzers'])}"
                                  f"<!-- end of fuzzing -->{tail}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--slice", type=int, default=40)
    parser.add_argument("--timeout", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--clean", type=float)
    parser.add_argument("--through", default="")
    parser.add_argument("--report")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.report:
        return report(folder, options.report)
    names = options.only.split(",") if options.only else list(TURNS)
    turns = [name for name in names for _ in range(TURNS[name])]
    random.shuffle(turns)
    end, found, turn = time.monotonic() + options.seconds, 0, 0
    while time.monotonic() < end:
        length = max(1, min(options.slice, int(end - time.monotonic())))
        name = turns[turn % len(turns)] if options.clean is None else behind(folder, names, options.clean)
        if name is None:
            break
        entry = one_slice(folder, name, length, options.timeout, shlex.split(options.through))
        turn += 1
        with open(folder / "log.jsonl", "a", encoding="utf-8") as log:
            log.write(json.dumps(entry) + "\n")
        found += len(entry["findings"])
        print(f"{entry['fuzzer']}: {entry['executions']} executions, {entry['edges']} edges, "
              f"{', '.join(entry['findings']) or 'nothing found'}", flush=True)
        sums = total(read_log(folder), {})
        (folder / "summary.json").write_text(json.dumps(sums, indent=1) + "\n")
        (folder / "summary.md").write_text(table(sums))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
