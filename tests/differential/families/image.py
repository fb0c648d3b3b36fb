"""ImageDecoder, with images that Pillow writes. The evaluator decodes with Pillow, too, which shares no
decoder with Sardonyx but libraries of the same origin for the lossy formats."""
import io

import numpy as np
import PIL.Image

from case import Case, generator
from explained import REFERENCE, explained

# Format -> modes of an image that it can hold.
MODES = {"BMP": ["RGB", "L", "P", "1"], "PNG": ["RGB", "L", "P", "1", "RGBA", "LA"],
         "PPM": ["RGB", "L", "1"], "TIFF": ["RGB", "L", "P", "1", "RGBA"], "JPEG": ["RGB", "L"],
         "JPEG2000": ["RGB", "L", "RGBA"], "WEBP": ["RGB", "RGBA"]}


def _picture(random, mode, size):
    """Pixels of a mode: noise, or smooth as a photo is."""
    width, height = size
    if random.chance():
        pixels = random.rng.integers(0, 256, (height, width, 4))
    else:
        y, x = np.mgrid[0:height, 0:width]
        pixels = np.stack([x * random.integer(1, 8) + y * random.integer(0, 8) + random.integer(0, 99)
                           for _ in range(4)], axis=-1) % 256
    image = PIL.Image.fromarray(pixels.astype(np.uint8))
    if mode == "P":
        return image.convert("RGB").quantize(random.choice([2, 16, 200]))
    return image.convert(mode)


def _options(random, kind):
    """How a file of the format is written."""
    if kind == "TIFF":
        return {"compression": random.choice(["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"])}
    if kind == "JPEG":
        return {"quality": random.integer(30, 100), "subsampling": random.choice([0, 1, 2]),
                "progressive": random.chance(0.3)}
    if kind == "JPEG2000":
        return {"irreversible": False}
    if kind == "WEBP":
        return {"lossless": random.chance(), "quality": random.integer(30, 100), "exact": True}
    if kind == "PNG":
        return {"compress_level": random.integer(0, 9)}
    return {}


@generator("ImageDecoder")
def image_decoder(random, schema):
    kind = random.choice(MODES)
    mode = "RGB" if random.chance(0.5) else random.choice(MODES[kind])
    picture = _picture(random, mode, (random.integer(1, 40), random.integer(1, 40)))
    file = io.BytesIO()
    picture.save(file, kind, **_options(random, kind))
    attributes = {}
    if random.chance(0.8):
        attributes["pixel_format"] = random.choice(["RGB", "BGR", "Grayscale"])
    return Case([np.frombuffer(file.getvalue(), dtype=np.uint8)], attributes)


@explained("ImageDecoder", REFERENCE,
           "pixel formats RGB and BGR have three channels of uint8, whatever the file holds; the "
           "evaluator gives the file's own: one for grey images, indices for palettes, booleans for "
           "bilevel images, alpha as a fourth (Sardonyx's answer is what Pillow converts to RGB)")
def _channels_of_the_file(case, ours, theirs):
    image = PIL.Image.open(io.BytesIO(case.inputs[0].tobytes()))
    want = np.array(image.convert("RGB"))
    if case.attributes.get("pixel_format") == "BGR":
        want = want[:, :, ::-1]
    return image.mode != "RGB" and np.array_equal(ours[0], want)
