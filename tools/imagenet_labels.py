#!/usr/bin/env python3
"""Writes cli/imagenet.def: the names of ImageNet's 1000 classes, in the order of the classes.

They come from the metadata of torchvision's weights (Debian's python3-torchvision); the program
carries them, so that it finds them wherever it is.

usage: tools/imagenet_labels.py [--check]      --check only compares; exit code 1 if they differ
"""
import pathlib
import sys

TARGET = pathlib.Path(__file__).resolve().parent.parent / "cli" / "imagenet.def"
HEAD = """\
/* imagenet.def - the names of ImageNet's 1000 classes, in their order. Written by
 * tools/imagenet_labels.py. */
"""


def main():
    try:
        from torchvision.models import ResNet50_Weights
    except ImportError as problem:
        print(f"skipped: {problem}; tools/setup.sh torch installs it")
        return 77
    names = ResNet50_Weights.DEFAULT.meta["categories"]
    assert len(names) == 1000 and all(name.isascii() and '"' not in name for name in names)
    text = HEAD + "".join(f'"{name}",\n' for name in names)
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text)
    elif TARGET.read_text() != text:
        print(f"{TARGET.name} is not what torchvision has")
        return 1
    print(f"{len(names)} names")
    return 0


if __name__ == "__main__":
    sys.exit(main())
