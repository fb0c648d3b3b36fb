#!/usr/bin/env python3
"""The page of `sardonyx bench --html` in a real browser, made from made-up results by the real writers.

Checks that it renders without complaints and without a network, that every figure on it is the number
of the JSON and reads as that number, that each chart has a mark for each case, that names from a hostile
file stay text, that dark pages are dark and have contrast, and that nothing is cut off on a phone.

usage: tests/pages/bench.py FILL_BENCH [--pictures FOLDER]   (writes PNG files to look at)
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

from browser import Browser, check, missing

UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
         "": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
SECTIONS = {"run": ["short", "ratios", "batches", "boxes", "start", "memory", "figures", "environment"],
            "load": ["ratios", "boxes", "memory", "counters", "figures", "environment"],
            "program": ["short", "ratios", "boxes", "start", "memory", "counters", "figures",
                        "environment"],
            "empty": ["environment"]}
FIGURES = """[...document.querySelectorAll('[data-json]')].map(e => [e.dataset.json, e.dataset.value,
    e.dataset.dividedBy || '', e.tagName === 'B' ? e.textContent : '', e.dataset.kind || ''])"""
# Luminance of the colours that text and background have, as contrast ratios.
CONTRAST = """(() => {
  const lum = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255).map(
      x => x <= .03928 ? x / 12.92 : Math.pow((x + .055) / 1.055, 2.4));
    return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
  const page = lum(getComputedStyle(document.body).backgroundColor);
  const ratio = e => { const l = lum(getComputedStyle(e).color);
    return (Math.max(l, page) + .05) / (Math.min(l, page) + .05); };
  return Math.min(...[...document.querySelectorAll('h1,h2,.name,.value,.detail,.about,td,th,.ticks span')]
      .map(ratio)); })()"""


def at_path(data, path):
    for step in path.split("."):
        data = data[int(step)] if isinstance(data, list) else data[step]
    return data


def reads_as(text, value, kind):
    """Whether the text is the number, to the digits that it shows."""
    found = re.fullmatch(r"(-?[\d.]+(?:e[-+]?\d+)?) ?(\S*)", text)
    if not found:
        return False
    shown = float(found.group(1)) * (UNITS[found.group(2)] if kind not in ("ratio", "plain") else 1)
    if kind == "ratio":
        return abs(shown - value) <= 0.005 * (1 + 1e-9)
    return math.isclose(shown, value, rel_tol=0.006, abs_tol=0.5 if kind in ("bytes", "count") else 0)


def figures_equal(browser, data):
    wrong, seen = [], set()
    for path, value, divided, text, kind in browser.run(FIGURES):
        want = at_path(data, path)
        if divided:
            want = want / int(divided)
        seen.add(path)
        if want is None or not math.isclose(float(value), want, rel_tol=1e-12):
            wrong.append(f"{path}: page {value}, JSON {want}")
        elif text and not reads_as(text, want, kind):
            wrong.append(f"{path}: {text!r} for {want}")
    return wrong, seen


def expected_paths(data):
    """What has to be on the page."""
    for i, case in enumerate(data["cases"]):
        for name in ("median", "mean", "deviation", "mad", "min", "max", "p90", "p95", "p99", "p99_9", "count"):
            yield f"cases.{i}.metrics.time.{name}"
        yield f"cases.{i}.per_second"
        for name in case["metrics"]:
            if name != "time":
                yield f"cases.{i}.metrics.{name}.median"
        if case["memory"]["rss_peak"] is not None:
            yield f"cases.{i}.memory.rss_peak"
    for i, ratio in enumerate(data["ratios"]):
        yield f"ratios.{i}.value"
        if ratio["low"] is not None:
            yield f"ratios.{i}.low"
            yield f"ratios.{i}.high"


def means_equal(browser, data):
    shown = dict(browser.run("[...document.querySelectorAll('[data-mean-of-engine]')]"
                             ".map(e => [e.dataset.meanOfEngine, e.textContent])"))
    logs = {}
    for ratio in data["ratios"]:
        if ratio["relation"] == "engine":
            logs.setdefault(str(data["cases"][ratio["case"]]["engine"]), []).append(
                math.log(ratio["value"]))
    want = {engine: f"{math.exp(sum(values) / len(values)):.2f}×" for engine, values in logs.items()}
    return shown == want


def count(browser, selector):
    return browser.run(f"document.querySelectorAll({json.dumps(selector)}).length")


def examine(browser, what, page, data):
    browser.open(page)
    failed = check(browser.console() == [], f"{what}: no complaints in the console")
    sections = browser.run("[...document.querySelectorAll('section')].map(e => e.id)")
    failed += check(sections == SECTIONS[what], f"{what}: sections are {sections}")
    wrong, seen = figures_equal(browser, data)
    failed += check(not wrong, f"{what}: {len(seen)} figures equal the JSON's {wrong[:5]}")
    lost = sorted(set(expected_paths(data)) - seen)
    failed += check(not lost, f"{what}: no figure is missing {lost[:5]}")
    failed += check(means_equal(browser, data), f"{what}: geometric means are those of the ratios")
    failed += check(json.loads(browser.run("document.getElementById('data').textContent")) == data,
                    f"{what}: the page carries the JSON")
    failed += check(browser.run("document.getElementById('bad') === null"), f"{what}: markup stays text")
    outside = browser.run("[...document.querySelectorAll('[src],[href]')].map(e => e.src || e.href)"
                          ".filter(a => !a.startsWith('data:')).length + performance"
                          ".getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length")
    failed += check(outside == 0, f"{what}: nothing comes from outside")
    # Drawn where it can be seen: nothing outside of its picture, no number that is none.
    failed += check(not re.search(r"nan|inf", browser.run(
        "[...document.querySelectorAll('svg')].map(e => e.outerHTML.replace(/<title>.*?<.title>/g, ''))"
        ".join(' ')")), f"{what}: pictures have numbers only")
    timed = len(data["cases"])
    failed += check(count(browser, "#boxes rect.box") == timed, f"{what}: a box for each case")
    failed += check(count(browser, "#ratios path.dot") == len(data["ratios"]),
                    f"{what}: a dot for each ratio")
    return failed


def examine_run(browser, data):
    lines = count(browser, "#batches figure:first-child path.line")
    # 4 engines, level 0 and alternating sizes of our own.
    failed = check(lines == 6, f"{lines} curves of times")
    points = count(browser, "#batches figure:first-child path.dot")
    failed += check(points == 30, f"{points} points on them")
    rising = browser.run("[...document.querySelectorAll('#batches figure:nth-child(2) g')].map(g => "
                         "[...g.querySelectorAll('path.dot')].map(e => e.getBoundingClientRect().y))")
    failed += check(all(ys == sorted(ys, reverse=True) for ys in rising), "more memory is higher up")
    widths = browser.run("[...document.querySelector('#start .chart').querySelectorAll('.row')].map(row => [...row"
                         ".querySelectorAll('rect')].reduce((sum, r) => sum + r.getBoundingClientRect()"
                         ".width, 0))")
    slowest = max(range(len(widths)), key=widths.__getitem__)
    failed += check(slowest == 2 and widths[0] < widths[1], f"the longest way is the longest bar: {widths}")
    text = browser.run("document.body.innerText")
    for wanted in ("Interrupted", "No module named <MNN>", "tools/setup.sh peers", "too few rounds"
                   if any(r["low"] is None for r in data["ratios"]) else "far out",
                   '</script><b id=bad>"net" & co', "Example CPU <fast> 3000"):
        failed += check(wanted in text, f"says {wanted!r}")
    return failed


def examine_screens(browser, page, what, pictures):
    failed = 0
    for width in (1200, 390):
        for scheme in ("light", "dark"):
            browser.resize(width, 900)
            browser.darken(scheme)
            browser.open(page)
            name = f"{what}, {width} wide, {scheme}"
            wide = browser.run("document.documentElement.scrollWidth")
            failed += check(wide <= width, f"{name}: nothing is cut off ({wide})")
            dark = browser.run("getComputedStyle(document.body).backgroundColor")
            failed += check((sum(map(int, re.findall(r"\d+", dark)[:3])) < 200) == (scheme == "dark"),
                            f"{name}: background {dark}")
            contrast = browser.run(CONTRAST)
            failed += check(contrast >= 4.5, f"{name}: contrast of texts at least {contrast:.1f}")
            small = browser.run("Math.min(...[...document.querySelectorAll('main *')].map(e => "
                                "parseFloat(getComputedStyle(e).fontSize)))")
            failed += check(small >= 11, f"{name}: smallest text {small} px")
            if pictures:
                browser.picture(pictures / f"{what}-{width}-{scheme}.png")
    browser.resize(1200, 900)
    browser.darken("light")
    return failed


def main():
    if missing():
        return 77
    pictures = None
    if "--pictures" in sys.argv:
        pictures = pathlib.Path(sys.argv[sys.argv.index("--pictures") + 1])
        pictures.mkdir(parents=True, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        browser = Browser(root / "profile")
        try:
            for what in SECTIONS:
                page, results = root / f"{what}.html", root / f"{what}.json"
                subprocess.run([sys.argv[1], what, results, page], check=True)
                data = json.loads(results.read_text())
                failed += examine(browser, what, page, data)
                if what == "run":
                    failed += examine_run(browser, data)
                failed += examine_screens(browser, page, what, pictures)
        finally:
            browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
