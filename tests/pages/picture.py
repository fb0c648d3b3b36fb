#!/usr/bin/env python3
"""Takes a picture of a page, or of one element of it, for the documentation.

usage: tests/pages/picture.py PAGE.html OUT.png [--element SELECTOR] [--width N] [--height N] [--dark]
"""
import argparse
import base64
import json
import pathlib
import sys
import tempfile

from browser import Browser, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--element", default="body", metavar="SELECTOR")
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("--height", type=int, default=4000, help="at most so high")
    parser.add_argument("--dark", action="store_true")
    options = parser.parse_args()
    if missing():
        return 77
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(pathlib.Path(folder) / "profile")
        try:
            browser.resize(options.width, 900)
            browser.darken("dark" if options.dark else "light")
            browser.open(options.page.resolve())
            x, y, width, height = browser.run(
                f"(r => [r.x + scrollX, r.y + scrollY, r.width, r.height])(document.querySelector("
                f"{json.dumps(options.element)}).getBoundingClientRect())")
            clip = {"x": max(0, x - 16), "y": max(0, y - 16), "scale": 1,
                    "width": min(width + 32, options.width), "height": min(height + 32, options.height)}
            shot = browser.devtools("Page.captureScreenshot", format="png", clip=clip,
                                    captureBeyondViewport=True)
            options.out.write_bytes(base64.b64decode(shot["data"]))
        finally:
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
