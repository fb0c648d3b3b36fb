#!/usr/bin/env python3
"""Packed files that are damaged, cut short, made up, or written by a process that is killed.

Every changed byte of header and index is noticed; a file of another length is refused; an index that was
changed together with its digests may be refused or run, but nothing crashes; whoever is killed while writing
leaves the old file or the new one.

usage: damage.py SARDONYX [COUNT]     (COUNT: made-up files, 400 unless given)
"""
import hashlib
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper, parser
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}; tools/setup.sh python installs it")
    sys.exit(77)

HEADER = 128
BAD, UNSUPPORTED = 3, 4  # exit codes
VERSION = range(8, 12)  # bytes of the header: a file of another version is no bad one
RANDOM = random.Random(5)
BODY = ("a = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w, b) r = Relu(a) "
        "d = Conv<group=32, kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]>(r, v) m = Sigmoid(d) "
        "p = GlobalAveragePool(m) f = Flatten(p) g = Gemm<transB=1>(f, k, c) s = Softmax(g) "
        "q = MatMul(s, t) e = Erf(q) y = Concat<axis=1>(e, s)")


def make_model(path):
    model = parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[N,3,H,12] x) => '
                               f'(float[N,M] y) {{ {BODY} }}')
    draw = np.random.default_rng(3).standard_normal
    for name, shape in {"w": (32, 3, 3, 3), "b": (32,), "v": (32, 1, 3, 3), "k": (10, 32), "c": (10,),
                        "t": (10, 7)}.items():
        model.graph.initializer.append(numpy_helper.from_array(draw(shape).astype(np.float32), name))
    onnx.save(model, path)


class Damage:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.passed, self.mistakes = 0, []

    def expect(self, good, what):
        if good:
            self.passed += 1
        else:
            self.mistakes.append(what)
            print(f"FAIL {what}")

    def pack(self, *options):
        make_model(self.folder / "m.onnx")
        subprocess.run([self.binary, "pack", self.folder / "m.onnx", "-o", self.folder / "m.sdx",
                        *options], check=True, capture_output=True)
        return (self.folder / "m.sdx").read_bytes()

    def run(self, content):
        path = self.folder / "changed.sdx"
        path.write_bytes(content)
        return subprocess.run([self.binary, "run", path, "--random", "1", "--dim", "N=2", "--dim", "H=9",
                               "--max-memory", "256M", "--max-time", "20"], capture_output=True,
                              text=True, timeout=60)

    def refuse(self, content, what, code=BAD):
        done = self.run(content)
        self.expect(done.returncode == code and "changed.sdx" in done.stderr,
                    f"{what}: exit {done.returncode}, {done.stderr.strip()[:200]}")


def index_of(content):
    return struct.unpack_from("<QQ", content, 24)


def sealed(content):
    """The same with digests that fit."""
    start, size = index_of(content)
    content = bytearray(content)
    content[40:60] = hashlib.sha1(content[start:start + size]).digest()
    content[108:128] = hashlib.sha1(content[:108]).digest()
    return bytes(content)


def flip_bytes(damage, content):
    start, size = index_of(content)
    places = list(range(HEADER)) + list(range(start, start + size, max(1, size // 300)))
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << RANDOM.randrange(8)
        damage.refuse(bytes(changed), f"byte {place} of {len(content)}",
                      UNSUPPORTED if place in VERSION else BAD)


def cut(damage, content):
    start, _ = index_of(content)
    for length in (0, 1, 7, 8, 64, 127, 128, 4095, 4096, start - 1, start, start + 1,
                   len(content) // 2, len(content) - 1):
        damage.refuse(content[:length], f"cut to {length} bytes")
    damage.refuse(content + b"\0", "a byte too many")


def make_up(damage, content, count):
    """Indices that were changed on purpose: one to four bytes, digests made to fit."""
    start, size = index_of(content)
    damage.expect(damage.run(sealed(content)).returncode == 0, "the file as it was, sealed again")
    for number in range(count):
        changed = bytearray(content)
        for _ in range(RANDOM.randrange(1, 5)):
            place = start + RANDOM.randrange(size)
            changed[place] = RANDOM.choice((0, 1, 2, 127, 128, 255, changed[place] ^ 1,
                                            (changed[place] + 1) % 256, RANDOM.randrange(256)))
        changed = sealed(bytes(changed))
        try:
            done = damage.run(changed)
            good = 0 <= done.returncode <= 4 and "Sanitizer" not in done.stderr
            text = f"exit {done.returncode}, {done.stderr.strip()[-400:]}"
        except subprocess.TimeoutExpired:
            good, text = False, "no end"
        damage.expect(good, f"made-up file {number}: {text}")


def kill_writers(damage):
    target, model = damage.folder / "kept.sdx", damage.folder / "m.onnx"
    command = [damage.binary, "pack", model, "-o", target]
    subprocess.run(command, check=True, capture_output=True)
    old = target.read_bytes()
    begin = time.monotonic()
    subprocess.run([*command, "--plain"], check=True, capture_output=True)
    took, new = time.monotonic() - begin, target.read_bytes()
    target.write_bytes(old)
    for number in range(24):
        writer = subprocess.Popen([*command, "--plain"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        time.sleep(took * number / 20)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        damage.expect(target.read_bytes() in (old, new), f"killed after {number}/20 of its time")
    # Only between naming the finished file and renaming it can a killed writer leave something: all of it.
    for left in damage.folder.glob(".sardonyx-*"):
        damage.expect(left.read_bytes() == new, f"{left.name} is not whole")
        left.unlink()


def main():
    binary, count = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 400
    with tempfile.TemporaryDirectory() as folder:
        damage = Damage(binary, pathlib.Path(folder))
        content = damage.pack()
        flip_bytes(damage, content)
        cut(damage, content)
        make_up(damage, content, count)
        make_up(damage, damage.pack("--plain"), count // 4)
        kill_writers(damage)
        stray = [name for name in os.listdir(folder)
                 if name not in ("m.onnx", "m.sdx", "changed.sdx", "kept.sdx")]
        damage.expect(not stray, f"left behind: {stray}")
    print(f"{damage.passed} passed, {len(damage.mistakes)} failed, 0 skipped")
    return 1 if damage.mistakes or not damage.passed else 0


if __name__ == "__main__":
    sys.exit(main())
