#!/usr/bin/env python3
"""The page of `sardonyx plan --html` in a real browser: Debian's Chromium, driven by WebDriver.

Checks what a reader does: every buffer is drawn, hovering tells about one, the menu switches the
strategy, the wheel zooms and the button goes back, names from a hostile file stay text, and both the
light and the dark scheme are there. Everything stays on the loopback address.

usage: tests/pages/arena.py SARDONYX
"""
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

PROBLEM = """id,lower,upper,size
first,0,3,100
</script><b id=bad>second</b>,1,5,60
third & last,3,6,120
"""
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--window-size=1000,700"]


class Browser:
    """As much of the WebDriver protocol as the test needs."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                if self.call("GET", "/status")["ready"]:
                    break
            except OSError:
                time.sleep(0.1)
        options = {"args": ARGUMENTS + [f"--user-data-dir={folder}"]}
        self.session = ""
        self.session = "/session/" + self.call("POST", "/session", {"capabilities": {
            "alwaysMatch": {"goog:chromeOptions": options}}})["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read())["value"]

    def open(self, path):
        self.call("POST", f"{self.session}/url", {"url": path.as_uri()})

    def run(self, script):
        return self.call("POST", f"{self.session}/execute/sync",
                         {"script": f"return {script};", "args": []})

    def act(self, kind, actions):
        self.call("POST", f"{self.session}/actions", {"actions": [
            {"type": kind, "id": kind, "actions": actions}]})

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()


def check(good, what):
    print(("pass " if good else "FAIL ") + what)
    return 0 if good else 1


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
    if not shutil.which("chromedriver") or not shutil.which("chromium"):
        print("skipped: chromium and chromium-driver are not installed")
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
            browser.call("POST", f"{browser.session}/goog/cdp/execute", {
                "cmd": "Emulation.setEmulatedMedia", "params": {
                    "features": [{"name": "prefers-color-scheme", "value": "dark"}]}})
            failed += check(browser.run(scheme) != light, "dark pages are dark")
        finally:
            browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
