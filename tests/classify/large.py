#!/usr/bin/env python3
"""Camera-sized JPEGs: decoded smaller where that serves, close to the whole image, in little memory.

12 megapixels of photographs, enlarged and with the noise of a sensor: baseline, progressive, gray, on
their side. Tensors are compared with those of the whole image (--whole), which equal Pillow's
(tensors.py). usage: large.py SARDONYX EFFICIENTNET_LITE0.onnx [--sanitized]
"""
import pathlib
import sys
import tempfile

from common import SKIPPED, average_model, check, classify, finish, measured, np, photograph, tensor
from PIL import Image

MOST_BYTES = 100_000_000
SIZES = {"china.jpg": (4032, 3024), "coffee.png": (4001, 2999), "flower.jpg": (3000, 4000)}


def camera_image(name):
    image = Image.open(photograph(name)).convert("RGB")
    image = image.resize(SIZES[name], Image.Resampling.LANCZOS)
    noise = np.random.default_rng(1).normal(0, 4, (image.height, image.width, 1)).astype(np.float32)
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def files(scratch):
    turned = Image.Exif()
    turned[0x112] = 6
    for name in SIZES:
        image, stem = camera_image(name), pathlib.Path(name).stem
        kinds = {"plain": (image, {})}
        if stem == "coffee":
            kinds |= {"progressive": (image, {"progressive": True}),
                      "gray": (image.convert("L"), {}), "turned": (image, {"exif": turned})}
        for kind, (picture, options) in kinds.items():
            file = scratch / f"{stem}-{kind}.jpg"
            picture.save(file, quality=90, **options)
            yield file


def peak(program, model, file, *options):
    """Bytes of the whole process."""
    code, _, error, size, _ = measured([program, "classify", model, str(file), *options])
    check(code == 0, f"{file.name}: exit code {code}, {error}")
    return size


def check_tensors(program, scratch, images):
    model = average_model(scratch / "average.onnx")
    for file in images:
        for resize in ("256", "200x300"):
            options = ["--preset", "raw", "--resize", resize, "--crop", "200x224", "--interpolation",
                       "bicubic"]
            small = tensor(program, model, [str(file)], scratch, *options)
            whole = tensor(program, model, [str(file)], scratch, "--whole", *options)
            off = np.abs(small - whole)
            what = f"{file.name} {resize}: mean {off.mean():.3f}, most {off.max():.0f} of 255"
            print(what)
            check(off.mean() < 0.3 and off.max() <= 4 and (off > 1).mean() < 0.01, what)
            check(off.any(), f"{file.name} {resize}: was not shrunken")


def main():
    program, model, sanitized = sys.argv[1], sys.argv[2], "--sanitized" in sys.argv[3:]
    if not pathlib.Path(model).exists():
        print(f"skipped: {model} is not there; make models makes it")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        images = list(files(scratch))
        check_tensors(program, scratch, images)
        preset = ["--preset", "efficientnet-lite"]
        paths = [str(file) for file in images]
        small = classify(program, model, paths, *preset)
        whole = classify(program, model, paths, *preset, "--whole")
        for one, other in zip(small["images"], whole["images"]):
            check(one["top"][0]["class"] == other["top"][0]["class"] and
                  abs(one["top"][0]["confidence"] - other["top"][0]["confidence"]) < 0.02,
                  f"{one['file']}: {one['top'][0]}, whole {other['top'][0]}")
        for file in images if not sanitized else []:
            used, whole = (peak(program, model, file, *preset, *more) for more in ([], ["--whole"]))
            print(f"{file.name}: {used / 1e6:.1f} MB, whole {whole / 1e6:.1f} MB")
            check(used < MOST_BYTES, f"{file.name}: {used / 1e6:.1f} MB")
    finish()


if __name__ == "__main__":
    sys.exit(main())
