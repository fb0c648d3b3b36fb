"""The command `image` of docs/peer-protocol.md for runners in Python: pictures to a tensor, by Pillow and
numpy, as torchvision's transforms do it."""

import io
import math

KNOWN = {"resize", "crop", "interpolation", "channels", "layout", "scale", "mean", "std"}


def _sides(text):
    """HxW, or one number for both."""
    height, _, width = text.partition("x")
    return int(height), int(width or height)


def _number(text):
    """0.5, or 1/255."""
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def _channels(text, numpy):
    values = [_number(value) for value in text.split(",")]
    return numpy.array(values, "float32").reshape(-1, 1, 1)


class Pictures:
    """An input that is made from files anew in every run, the files in turn until the batch is full."""

    def __init__(self, words, dtype, shape, files, numpy):
        from PIL import Image, ImageOps
        self.numpy, self.library, self.turn = numpy, Image, ImageOps.exif_transpose
        given = dict(word.split("=", 1) for word in words.split(" "))
        if set(given) != KNOWN:
            raise ValueError(f"expected the words {' '.join(sorted(KNOWN))}, not '{words}'")
        self.mode = {"rgb": "RGB", "bgr": "RGB", "gray": "L"}[given["channels"]]
        self.backwards, self.last = given["channels"] == "bgr", given["layout"] == "nhwc"
        self.how = {"bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}[given["interpolation"]]
        self.resize, self.crop = given["resize"], _sides(given["crop"])
        self.scale = numpy.float32(_number(given["scale"]))
        self.mean, self.std = _channels(given["mean"], numpy), _channels(given["std"], numpy)
        self.files = files
        self.batch = numpy.empty(shape, dtype)

    def _size(self, height, width):
        """Of the picture before it is cropped."""
        if self.resize in ("fill", "off"):
            return self.crop if self.resize == "fill" else (height, width)
        if "x" in self.resize:
            return _sides(self.resize)
        if self.resize.endswith("%"):
            side = max(min(self.crop), math.floor(min(self.crop) / (float(self.resize[:-1]) / 100)))
        else:
            side = int(self.resize)
        return ((side, side * width // height) if height <= width else (side * height // width, side))

    def _one(self, file):
        with open(file, "rb") as stream:
            image = self.turn(self.library.open(io.BytesIO(stream.read()))).convert(self.mode)
        height, width = self._size(image.height, image.width)
        if (image.height, image.width) != (height, width):
            image = image.resize((width, height), self.how)
        top, left = (round((side - wanted) / 2) for side, wanted in zip((height, width), self.crop))
        if top < 0 or left < 0:
            raise ValueError(f"{file}: the crop is larger than the picture")
        image = image.crop((left, top, left + self.crop[1], top + self.crop[0]))
        values = self.numpy.asarray(image, "float32")
        values = values[None] if self.mode == "L" else values.transpose(2, 0, 1)
        if self.backwards:
            values = values[::-1]
        values = (values * self.scale - self.mean) / self.std
        return values.transpose(1, 2, 0) if self.last else values

    def fill(self):
        for number in range(len(self.batch)):
            self.batch[number] = self._one(self.files[number % len(self.files)])
        return self.batch
