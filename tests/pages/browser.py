"""A real browser for the tests of pages: Debian's Chromium, driven by WebDriver on the loopback address."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.request

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
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = ""
        self.session = "/session/" + self.call("POST", "/session", {"capabilities": {
            "alwaysMatch": wanted}})["sessionId"]

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

    def devtools(self, command, **parameters):
        return self.call("POST", f"{self.session}/goog/cdp/execute",
                         {"cmd": command, "params": parameters})

    def darken(self, scheme="dark"):
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": scheme}])

    def resize(self, width, height, scale=1):
        """As a screen of that size; narrow ones as a phone."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=scale, mobile=width < 600)

    def picture(self, file, whole=True):
        """The page as a PNG file: the whole of it, or what the screen shows."""
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def console(self):
        """What the page complained about since the last call."""
        return self.call("POST", f"{self.session}/se/log", {"type": "browser"})

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


def missing():
    """Says so where there is no browser."""
    if shutil.which("chromedriver") and shutil.which("chromium"):
        return False
    print("skipped: chromium and chromium-driver are not installed")
    return True
