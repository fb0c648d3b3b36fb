"""Writes all bombs and images into a folder, with a table of what is expected of them: bombs.json. A process of
its own, since what it imports would count as memory of the programs that it starts.

usage: make.py FOLDER
"""
import json
import os
import sys

import numpy as np
from onnx import helper

import bombs_graph
import bombs_memory
import bombs_time
from bomb import BOMBS, FLOAT, array, info, one, save
from images import CODECS, IMAGES

assert bombs_graph and bombs_memory and bombs_time


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def main(folder):
    for bomb in BOMBS:
        data = bomb.pop("make")()
        bomb["bytes"] = len(data)
        write(os.path.join(folder, bomb["name"] + ".onnx"), data)
    # A classifier for the images, and each image as a constant of an ImageDecoder.
    write(os.path.join(folder, "classifier.onnx"), save(
        [helper.make_node("GlobalAveragePool", ["x"], ["p"]), helper.make_node("Flatten", ["p"], ["y"])],
        inputs=[info("x", FLOAT, [1, 3, 32, 32])]))
    for name, data in {**IMAGES, **CODECS}.items():
        write(os.path.join(folder, name), data)
        write(os.path.join(folder, name + ".onnx"),
              one("ImageDecoder", ["x"], [array("x", np.frombuffer(data, np.uint8), np.uint8)]))
    with open(os.path.join(folder, "bombs.json"), "w", encoding="utf-8") as file:
        json.dump({"bombs": BOMBS, "images": list(IMAGES), "codecs": list(CODECS)}, file)


if __name__ == "__main__":
    main(sys.argv[1])
