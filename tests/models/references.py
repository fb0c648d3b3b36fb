#!/usr/bin/env python3
"""Records ONNX Runtime's results for the real models, one backend-test folder for each.

A model that is missing leaves a folder with skipped.txt, whose text the test then reports. Folders
that are newer than their model and this script are kept.

usage: tests/models/references.py [--models DIR] [--output DIR]
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPORTED = ("resnet18 resnet50 resnet101 regnet_x_400mf regnet_y_16gf efficientnet_b1 mobilenet_v2 "
            "mobilenet_v3_large shufflenet_v2_x1_0 squeezenet1_1 densenet121 inception_v3 vgg16 "
            "alexnet convnext_tiny vit_b_16 swin_t efficientnet_lite0").split()
OCR = "wheels/rapidocr-onnxruntime/"
# Name of the folder -> model file and the options that fix its inputs.
CASES = {name: (f"{name}.onnx", ["--dim", "batch=1"]) for name in EXPORTED}
for small in ("shufflenet_v2_x1_0", "squeezenet1_1", "efficientnet_lite0", "mobilenet_v3_large",
              "swin_t"):
    CASES[small] = (f"{small}.onnx", ["--dim", "batch=2"])
CASES |= {
    "magika": ("wheels/magika/model.onnx", ["--shape", "bytes=2x2048", "--int-max", "256"]),
    "nudenet": ("wheels/nudenet/320n.onnx", ["--shape", "images=1x3x320x320"]),
    "ocr_det": (OCR + "ch_PP-OCRv4_det_infer.onnx", ["--shape", "x=1x3x320x480"]),
    "ocr_rec": (OCR + "ch_PP-OCRv4_rec_infer.onnx", ["--shape", "x=2x3x48x320"]),
    "ocr_cls": (OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx", ["--shape", "x=2x3x48x192"]),
}


def is_current(folder, model):
    made = folder / "test_data_set_0/output_0.pb"
    newest = max(model.stat().st_mtime, pathlib.Path(__file__).stat().st_mtime)
    return made.exists() and (folder / "model.onnx").exists() and made.stat().st_mtime >= newest


def record(name, model, options, folder):
    """Returns why the case could not be made, or None."""
    if not model.exists():
        return f"{model.name} was not made (see models/README.md)"
    if is_current(folder, model):
        return None
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, str(ROOT / "models/reference.py"), str(model), *options, "-o",
               str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    return f"no reference: {lines[-1] if lines else 'models/reference.py failed'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "build/models")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/reference")
    options = parser.parse_args()
    for name, (file, arguments) in CASES.items():
        folder = options.output / name
        reason = record(name, options.models / file, arguments, folder)
        if reason is None:
            continue
        print(f"{name}: {reason}", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "skipped.txt").write_text(reason + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
