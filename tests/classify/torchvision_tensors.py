#!/usr/bin/env python3
"""The tensors that Pillow and torchvision make of images: the reference of tensors.py.

Runs in Debian's Python, where torchvision is. usage: torchvision_tensors.py CASES.json OUTPUT.npz
Each case: file, resize (a number, or [height, width]), crop, interpolation, mean, std.
"""
import json
import sys

import numpy as np
from PIL import Image, ImageOps
from torchvision import transforms
from torchvision.transforms import InterpolationMode


def make(case):
    steps = [transforms.Resize(case["resize"], InterpolationMode(case["interpolation"])),
             transforms.CenterCrop(case["crop"]), transforms.ToTensor(),
             transforms.Normalize(case["mean"], case["std"])]
    image = ImageOps.exif_transpose(Image.open(case["file"])).convert("RGB")
    return transforms.Compose(steps)(image).numpy()


def main():
    cases = json.load(open(sys.argv[1]))
    np.savez(sys.argv[2], *(make(case) for case in cases))


if __name__ == "__main__":
    main()
