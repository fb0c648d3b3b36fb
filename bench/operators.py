#!/usr/bin/env python3
"""Single operators at the sizes that well-known networks have, beside ONNX Runtime: makes a model for each
in build/operators, runs `sardonyx bench` on them and prints one line each, a row of a Markdown table.

usage: bench/operators.py [--threads N] [--time SECONDS] [WORD..]    cases whose names hold one of the words
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "operators"
random = np.random.default_rng(1)


def weights(*shape):
    return (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def model(name, nodes, shape, constants):
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(value, key) for key, value in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    file = FOLDER / f"{name}.onnx"
    onnx.save(made, file)
    return file


def conv_transpose(channels, maps, size, kernel, stride, pad, more=0):
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[stride] * 2,
                            pads=[pad] * 4, output_padding=[more] * 2)
    name = f"ConvTranspose {size}² × {channels} → {maps}, {kernel}×{kernel} stride {stride}"
    return name, [node], [1, channels, size, size], {"w": weights(channels, maps, kernel, kernel),
                                                     "b": weights(maps)}


def unet_decoder(channels, maps, size):
    """What a U-Net does at each size on its way up."""
    nodes = [helper.make_node("ConvTranspose", ["x", "w", "b"], ["u"], strides=[2, 2]),
             helper.make_node("Conv", ["u", "v", "b"], ["c"], pads=[1] * 4),
             helper.make_node("Relu", ["c"], ["y"])]
    return (f"ConvTranspose 2×2, Conv 3×3, Relu, {size}² × {channels} → {maps}", nodes,
            [1, channels, size, size],
            {"w": weights(channels, maps, 2, 2), "v": weights(maps, maps, 3, 3), "b": weights(maps)})


def resize(channels, size, factor, mode, coordinates, antialias=0):
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode=mode, antialias=antialias,
                            coordinate_transformation_mode=coordinates)
    name = f"Resize {mode}{', antialias' if antialias else ''}, {size}² × {channels} by {factor}"
    return name, [node], [1, channels, size, size], {"s": np.array([1, 1, factor, factor], np.float32)}


def pyramid(channels, size):
    """What a feature pyramid does at each size: a lateral 1×1 convolution and the level above."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], strides=[2, 2]),
             helper.make_node("Conv", ["x", "v"], ["c"]),
             helper.make_node("Resize", ["a", "", "s"], ["u"], mode="nearest",
                              coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
             helper.make_node("Add", ["c", "u"], ["y"])]
    return (f"Conv 1×1, Resize nearest, Add, {size}² × {channels}", nodes,
            [1, channels, size, size],
            {"w": weights(256, channels, 1, 1), "v": weights(256, channels, 1, 1),
             "s": np.array([1, 1, 2, 2], np.float32)})


def recurrent(op, gates, size, steps, batch):
    node = helper.make_node(op, ["x", "w", "r", "b"], ["y"], hidden_size=size)
    return (f"{op} {size} × {size}, {steps} steps, batch {batch}", [node], [steps, batch, size],
            {"w": weights(1, gates * size, size), "r": weights(1, gates * size, size),
             "b": weights(1, 2 * gates * size)})


CASES = [
    conv_transpose(512, 256, 32, 2, 2, 0), conv_transpose(256, 128, 64, 2, 2, 0),
    conv_transpose(128, 64, 128, 2, 2, 0), unet_decoder(256, 128, 32),
    conv_transpose(512, 256, 4, 4, 2, 1), conv_transpose(256, 128, 8, 4, 2, 1),
    conv_transpose(128, 64, 16, 4, 2, 1), conv_transpose(64, 3, 32, 4, 2, 1),
    conv_transpose(128, 64, 56, 3, 2, 1, 1), conv_transpose(64, 32, 112, 3, 2, 1, 1),
    resize(256, 28, 2, "nearest", "asymmetric"), resize(64, 112, 2, "nearest", "asymmetric"),
    resize(256, 28, 2, "linear", "half_pixel"), resize(64, 112, 2, "linear", "half_pixel"),
    resize(21, 65, 8, "linear", "align_corners"), resize(3, 512, 0.5, "linear", "half_pixel", 1),
    resize(3, 512, 0.4375, "cubic", "half_pixel", 1), resize(32, 64, 2, "cubic", "half_pixel"),
    pyramid(256, 56),
    recurrent("LSTM", 4, 512, 64, 1), recurrent("LSTM", 4, 512, 64, 8),
    recurrent("GRU", 3, 512, 64, 1), recurrent("GRU", 3, 512, 64, 8),
]


def measure(file, threads, seconds):
    done = subprocess.run(
        [ROOT / "build" / "sardonyx", "bench", file, "--against", "ort", "--threads", str(threads),
         "--warmup", "0.1", "--time", str(seconds), "--rounds", "5", "--quiet", "--json", "-"],
        capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def row(name, result):
    """Median of ours, and how many times as long ONNX Runtime takes."""
    ours, theirs = (case["metrics"]["time"] for case in result["cases"])
    ratio = next(ratio for ratio in result["ratios"] if ratio["relation"] == "engine")
    return (f"| {name} | {ours['median'] / 1e6:.3f} | {theirs['median'] / 1e6:.3f} "
            f"| {ratio['value']:.2f} ({ratio['low']:.2f}–{ratio['high']:.2f}) |")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("words", nargs="*")
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--time", type=float, default=0.3)
    chosen = arguments.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number, (name, nodes, shape, constants) in enumerate(CASES):
        if chosen.words and not any(word in name for word in chosen.words):
            continue
        file = model(f"case{number}", nodes, shape, constants)
        print(row(name, measure(file, chosen.threads, chosen.time)), flush=True)


if __name__ == "__main__":
    main()
