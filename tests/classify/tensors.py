#!/usr/bin/env python3
"""Compares what `sardonyx classify` gives a model with Pillow and torchvision, on real photographs.

Every value within 1/255 of the image's range, and the same five best classes by ONNX Runtime on
torchvision's tensor as by classify on its own. usage: tensors.py SARDONYX EFFICIENTNET_LITE0.onnx
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from common import (SKIPPED, average_model, check, classify, finish, np, photograph, tensor)

DEBIAN_PYTHON = "/usr/bin/python3"
REFERENCE = pathlib.Path(__file__).with_name("torchvision_tensors.py")
IMAGES = ["astronaut.png", "camera.png", "chelsea.png", "coffee.png", "color.png", "hubble_deep_field.jpg",
          "logo.png", "motorcycle_left.png", "page.png", "retina.jpg", "rocket.jpg", "china.jpg",
          "flower.jpg", "chessboard_GRAY.png", "horse.png", "phantom.png"]
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
# resize, crop, interpolation: the presets' sizes, enlarging, odd remainders, stretching, a crop that is
# larger than the image.
SIZES = [(256, [224, 224], "bilinear"), (256, [224, 224], "bicubic"), (232, [224, 224], "bilinear"),
         (255, [240, 240], "bicubic"), (342, [299, 299], "bilinear"), (64, [57, 64], "bicubic"),
         (33, [32, 31], "bilinear"), (900, [800, 801], "bicubic"), ([200, 300], [200, 300], "bilinear"),
         ([301, 97], [224, 96], "bicubic"), (100, [130, 131], "bilinear")]
LITE = {"mean": [127 / 255] * 3, "std": [128 / 255] * 3}


def references(cases, scratch):
    (scratch / "cases.json").write_text(json.dumps(cases))
    done = subprocess.run([DEBIAN_PYTHON, REFERENCE, scratch / "cases.json", scratch / "out.npz"],
                          capture_output=True, text=True)
    if "No module named" in done.stderr:
        print(f"skipped: {done.stderr.splitlines()[-1]}; tools/setup.sh torch installs it")
        sys.exit(SKIPPED)
    assert done.returncode == 0, done.stderr
    with np.load(scratch / "out.npz") as arrays:
        return [arrays[f"arr_{i}"] for i in range(len(cases))]


def shown(resize):
    return str(resize) if isinstance(resize, int) else f"{resize[0]}x{resize[1]}"


def compare(case, reference, got):
    name = f"{pathlib.Path(case['file']).name} {case['resize']} {case['crop']} {case['interpolation']}"
    check(got is not None and got.shape[1:] == reference.shape, f"{name}: shape")
    if got is None or got.shape[1:] != reference.shape:
        return 0
    levels = np.abs(got[0] - reference) * np.array(case["std"], np.float32).reshape(3, 1, 1) * 255
    check(levels.max() <= 1.001, f"{name}: {levels.max():.3f} of 255 off")
    return int((levels > 0.5).sum())


def check_tensors(program, scratch):
    model = average_model(scratch / "average.onnx")
    cases = [{"file": str(photograph(name)), "resize": resize, "crop": crop, "interpolation": how,
              "mean": MEAN, "std": STD} for name in IMAGES for resize, crop, how in SIZES]
    off = 0
    for case, reference in zip(cases, references(cases, scratch)):
        got = tensor(program, model, [case["file"]], scratch, "--resize", shown(case["resize"]),
                     "--crop", shown(case["crop"]), "--interpolation", case["interpolation"])
        off += compare(case, reference, got)
    print(f"{len(cases)} tensors, {off} values not the same byte")


def check_presets(program, scratch):
    """Layouts, types and orders of channels against the plain tensor."""
    image = [str(photograph("coffee.png"))]
    plain = tensor(program, average_model(scratch / "plain.onnx"), image, scratch, "--preset", "unit")
    last = tensor(program, average_model(scratch / "last.onnx", ("batch", 224, 224, 3), axes=(1, 2)),
                  image, scratch, "--preset", "unit")
    bytes_ = tensor(program, average_model(scratch / "bytes.onnx", dtype=2), image, scratch,
                    "--preset", "unit", "--scale", "1")
    half = tensor(program, average_model(scratch / "half.onnx", dtype=10), image, scratch,
                  "--preset", "unit")
    bgr = tensor(program, scratch / "plain.onnx", image, scratch, "--preset", "unit",
                 "--channels", "bgr", "--mean", "0.1,0.2,0.3", "--std", "1,2,4")
    check(np.array_equal(last, plain.transpose(0, 2, 3, 1)), "channels last")
    check(bytes_.dtype == np.uint8 and np.abs(bytes_ - plain * 255).max() < 1e-3, "bytes")
    check(half.dtype == np.float16 and np.abs(half - plain).max() < 1e-3, "float16")
    scaled = (plain[:, ::-1] - np.array([.1, .2, .3]).reshape(3, 1, 1)) / \
        np.array([1, 2, 4]).reshape(3, 1, 1)
    check(np.abs(bgr - scaled).max() < 1e-6, "bgr, mean and std by channel")
    gray = tensor(program, average_model(scratch / "gray.onnx", ("batch", 1, 128, 128)), image,
                  scratch, "--preset", "raw")
    from PIL import Image
    wanted = np.asarray(Image.open(image[0]).convert("L").resize((128, 128), Image.Resampling.BILINEAR))
    check(np.abs(gray[0, 0] - wanted).max() <= 1, "gray")


def check_best(program, scratch, model):
    """The same five classes in the same order, at several sizes of the same images."""
    import onnxruntime
    from PIL import Image
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    files = []
    for name in IMAGES:
        files.append(photograph(name))
        image = Image.open(files[-1]).convert("RGB")
        for width in (1200, 300):
            files.append(scratch / f"{width}-{pathlib.Path(name).stem}.png")
            image.resize((width, width * image.height // image.width)).save(files[-1])
    cases = [{"file": str(file), "resize": 256, "crop": [224, 224], "interpolation": "bicubic", **LITE}
             for file in files]
    said = classify(program, model, [str(file) for file in files], "--preset", "efficientnet-lite")
    wanted = session.run(None, {"image": np.stack(references(cases, scratch))})[0]
    for file, scores, image in zip(files, wanted, said["images"] if said else []):
        best = [entry["class"] for entry in image["top"]]
        exponents = np.exp(scores.astype(np.float64) - scores.max())
        order = [int(i) for i in np.argsort(-scores, kind="stable")[:5]]
        sure = float((exponents / exponents.sum())[order[0]])
        check(best == order, f"{file.name}: {best}, not {order}")
        check(abs(image["top"][0]["confidence"] - sure) < 5e-3,
              f"{file.name}: confidence {image['top'][0]['confidence']}, not {sure}")
    print(f"{len(files)} images with their five best classes")


def main():
    program, model = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        check_tensors(program, scratch)
        check_presets(program, scratch)
        if not pathlib.Path(model).exists():
            print(f"skipped: {model} is not there; make models makes it")
            return SKIPPED
        check_best(program, scratch, model)
    finish()


if __name__ == "__main__":
    sys.exit(main())
