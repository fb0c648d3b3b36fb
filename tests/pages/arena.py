#!/usr/bin/env python3
"""The page of `sardonyx plan --html` in a real browser: Debian's Chromium, driven by WebDriver.

Checks what a reader does: every buffer is drawn, hovering tells about one, the menu switches the
strategy, the wheel zooms and the button goes back, names from a hostile file stay text, and both the
light and the dark scheme are there. Everything stays on the loopback address.

usage: tests/pages/arena.py SARDONYX
"""
import pathlib
import subprocess
import sys
import tempfile

from browser import Browser, check, missing

PROBLEM = """id,lower,upper,size
first,0,3,100
</script><b id=bad>second</b>,1,5,60
third & last,3,6,120
"""


def middle_of(browser, index):
    return browser.run(f"(() => {{ const r = document.querySelector('[data-index=\"{index}\"]')"
                       ".getBoundingClientRect(); return [Math.round(r.x + r.width / 2), "
                       "Math.round(r.y + r.height / 2)]; })()")


def examine(browser, page):
    browser.open(page)
    failed = check(browser.run("document.querySelectorAll('rect.b').length") == 3,
                   "every buffer is drawn")
    failed += check(browser.run("document.getElementById('bad') === null"),
                    "markup in a name stays text")
    failed += check(browser.run("document.querySelector('path.c').getAttribute('d').length > 10"),
                    "the curve of live bytes is drawn")
    x, y = middle_of(browser, 1)
    browser.act("pointer", [{"type": "pointerMove", "x": x, "y": y, "duration": 0}])
    tip = browser.run("getComputedStyle(document.getElementById('tip')).display + ' ' + "
                      "document.getElementById('tip').textContent")
    failed += check(tip.startswith("block") and "<b id=bad>second</b>" in tip and "60 bytes" in tip
                    and "steps 1 to 4" in tip, f"hovering tells about the buffer: {tip!r}")
    before = browser.run("document.getElementById('facts').textContent")
    browser.run("(() => { const m = document.getElementById('strategy'); m.value = [...m.options]"
                ".find(o => o.text === 'naive').value; m.dispatchEvent(new Event('change')); })()")
    after = browser.run("document.getElementById('facts').textContent")
    failed += check("180 B, bound 180 B" in before and "280 B" in after, f"the menu switches: {before} / {after}")
    width = "document.querySelector('[data-index=\"0\"]').getBoundingClientRect().width"
    small = browser.run(width)
    x, y = middle_of(browser, 0)
    browser.act("wheel", [{"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": -200,
                           "duration": 0}])
    large = browser.run(width)
    failed += check(large > small * 1.1, f"the wheel zooms: {small} to {large}")
    browser.run("document.getElementById('reset').click()")
    failed += check(abs(browser.run(width) - small) < 1, "the button goes back")
    return failed


def main():
    if missing():
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "problem.csv").write_text(PROBLEM)
        page = root / "plan.html"
        subprocess.run([sys.argv[1], "plan", root / "problem.csv", "--strategy", "all", "--html", page],
                       check=True, stdout=subprocess.DEVNULL)
        browser = Browser(root / "profile")
        try:
            failed += examine(browser, page)
            scheme = "getComputedStyle(document.body).backgroundColor"
            light = browser.run(scheme)
            browser.darken()
            failed += check(browser.run(scheme) != light, "dark pages are dark")
        finally:
            browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
