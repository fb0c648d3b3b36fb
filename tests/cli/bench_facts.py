#!/usr/bin/env python3
"""What a file of `sardonyx bench --json` says that does not depend on time: cases, metrics, ratios.

usage: bench_facts.py FILE.json
"""
import json
import sys


HARDWARE = {"cycles", "instructions", "branches", "branch_misses", "cache_misses"}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    print(data["format"], data["version"], data["what"],
          "interrupted" if data["interrupted"] else "whole")
    print("engines:", ", ".join(engine["name"] for engine in data["engines"]))
    for case in data["cases"]:
        time = case["metrics"]["time"]
        assert time["count"] == len(time["samples"]) == len(time["rounds"]) > 0, case["key"]
        assert time["min"] <= time["median"] <= time["p90"] <= time["p99"] <= time["max"]
        assert all(0 < value < 60e9 for value in time["samples"])
        rounds = len(set(time["rounds"]))
        known = [name for name, value in {**case["start"], **case["memory"]}.items()
                 if value is not None]
        metrics = [name for name in case["metrics"] if name not in HARDWARE]
        print(f"{case['key']}: {rounds} rounds; {' '.join(metrics)}; {' '.join(known)}")
        for name, least in (("rss_peak", 1e6), ("heap_peak", 1000)):
            if name in case["metrics"]:
                assert case["metrics"][name]["median"] > least, (case["key"], name)
    for ratio in data["ratios"]:
        assert ratio["low"] <= ratio["value"] <= ratio["high"]
        reference = ratio["reference"]
        print(f"ratio {ratio['relation']}: {data['cases'][ratio['case']]['key']} over "
              f"{'baseline' if reference is None else data['cases'][reference]['key']}, "
              f"{ratio['rounds']} rounds")
    for one in data["skipped"]:
        print("skipped:", one["engine"], "|", one["model"], "|", one["setting"], "|",
              one["reason"], "|", one["install"])


if __name__ == "__main__":
    main()
