#!/usr/bin/env python3
"""Compares decoding by `sardonyx classify` with Pillow: formats, kinds of pixels, orientations; and
feeds it broken and oversized files, which it must refuse quickly, in little memory, by name.

usage: formats.py SARDONYX [--sanitized]     --sanitized: memory is not looked at
"""
import io
import pathlib
import struct
import sys
import tempfile
import zlib

from common import TensorProto, average_model, check, finish, measured, np, photograph, tensor
from PIL import Image, ImageOps, PngImagePlugin

MOST_SECONDS, MOST_BYTES = 5, 64 << 20  # the seconds for a busy machine


def pixels(program, scratch, model, file):
    """The whole image as bytes, as the program decodes it."""
    with Image.open(file) as image:
        size = ImageOps.exif_transpose(image).size
    got = tensor(program, model, [str(file)], scratch, "--preset", "raw", "--resize", "off",
                 "--crop", f"{size[1]}x{size[0]}")
    return got if got is None else got[0].transpose(1, 2, 0)


def compare(program, scratch, model, name, data, wanted=None, most=1):
    file = scratch / name.replace(" ", "-").replace("/", "-")
    file.write_bytes(data)
    if wanted is None:
        with Image.open(file) as image:
            wanted = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    got = pixels(program, scratch, model, file)
    if got is None:
        return
    check(got.shape == wanted.shape, f"{name}: {got.shape}, not {wanted.shape}")
    if got.shape == wanted.shape:
        off = np.abs(got.astype(int) - wanted).max()
        check(off <= most, f"{name}: {off} of 255 off")


def saved(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def orientations(image):
    """Every orientation in every format that can carry one, in both byte orders of EXIF."""
    for number in range(1, 9):
        exif = Image.Exif()
        exif[0x112] = number
        block = exif.tobytes()
        assert block[:6] == b"Exif\0\0"
        other = b"Exif\0\0" + (
            b"II*\0" + struct.pack("<IHHHIII", 8, 1, 0x112, 3, 1, number, 0) if block[6:8] == b"MM" else
            b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, number, 0, 0))
        for order, data in (("", block), ("2", other)):
            yield f"orientation {number}{order}.jpg", saved(image, "JPEG", exif=data, quality=95)
            yield f"orientation {number}{order}.png", saved(image, "PNG", exif=data)
            yield f"orientation {number}{order}.webp", saved(image, "WEBP", exif=data, lossless=True)
        yield f"orientation {number}.tif", saved(image, "TIFF", exif=exif)


def packets(image):
    """Orientations in XMP, where there is no EXIF, or EXIF that says otherwise and goes first."""
    exif = Image.Exif()
    exif[0x112] = 3
    silent = Image.Exif()
    silent[0x131] = "a program"
    for number in (0, 1, 5, 6, 8, 9):
        for text in (f'<x tiff:Orientation="{number}"/>', f"<tiff:Orientation>{number}</tiff:Orientation>"):
            packet = b"<x:xmpmeta>tiff:Orientation " + text.encode() + b"</x:xmpmeta>"
            info = PngImagePlugin.PngInfo()
            info.add_itxt("XML:com.adobe.xmp", packet.decode())
            for note, more in (("", {}), (" and EXIF", {"exif": exif}), (" and other EXIF", {"exif": silent})):
                yield (f"packet {number} {len(text)}{note}.jpg",
                       saved(image, "JPEG", xmp=packet, quality=95, **more))
                yield f"packet {number} {len(text)}{note}.png", saved(image, "PNG", pnginfo=info, **more)
                yield (f"packet {number} {len(text)}{note}.webp",
                       saved(image, "WEBP", xmp=packet, lossless=True, **more))
            yield f"packet {number} {len(text)}.tif", saved(image, "TIFF", tiffinfo={700: packet})


def animations(image):
    """The first frame counts, wherever it lies on its canvas."""
    frames = [image, ImageOps.mirror(image)]
    clear = image.copy()
    clear.putalpha(Image.linear_gradient("L").resize(image.size))
    part = Image.new("RGBA", image.size)
    part.paste(image.crop((0, 0, 31, 23)), (40, 20))
    yield "animated lossless WEBP", saved(image, "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    yield "animated lossy WEBP", saved(image, "WEBP", save_all=True, append_images=frames[1:], quality=90)
    for lossless in (True, False):
        for name, first in (("clear", clear), ("part", part)):
            yield (f"animated {name} {lossless} WEBP",
                   saved(first, "WEBP", save_all=True, append_images=[clear], lossless=lossless, exact=True,
                         minimize_size=True))


def kinds(image):
    """The kinds of pixels that formats have."""
    alpha = Image.linear_gradient("L").resize(image.size)
    rgba = image.copy()
    rgba.putalpha(alpha)
    gray = image.convert("L")
    la = Image.merge("LA", (gray, alpha))
    palette = image.quantize(60)
    for kind in ("PNG", "TIFF", "BMP", "PPM", "WEBP"):
        options = {"lossless": True} if kind == "WEBP" else {}
        yield f"rgb {kind}", saved(image, kind, **options)
        if kind != "WEBP":
            yield f"gray {kind}", saved(gray, kind)
            yield f"bits {kind}", saved(image.convert("1"), kind)
        if kind not in ("BMP", "PPM"):
            yield f"alpha {kind}", saved(rgba, kind, **options)
        if kind in ("PNG", "TIFF"):
            yield f"gray with alpha {kind}", saved(la, kind)
        if kind in ("PNG", "TIFF", "BMP"):
            yield f"palette {kind}", saved(palette, kind)
    yield "palette of 4 PNG", saved(image.quantize(4), "PNG", bits=2)
    yield "transparent palette PNG", saved(palette, "PNG", transparency=3)
    yield "transparent gray PNG", saved(gray, "PNG", transparency=100)
    yield "interlaced PNG", interlaced(image)
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits"):
        yield f"{compression} TIFF", saved(image, "TIFF", compression=compression)
    cmyk = image.convert("CMYK")
    yield "ink JPEG", saved(cmyk, "JPEG", quality=95)
    yield "ink TIFF", saved(cmyk, "TIFF")
    yield "gray JPEG", saved(gray, "JPEG")
    for subsampling in (0, 1, 2):
        for progressive in (False, True):
            yield (f"{subsampling} {progressive} JPEG",
                   saved(image, "JPEG", subsampling=subsampling, progressive=progressive, quality=80))
    yield "lossy WEBP", saved(image, "WEBP", quality=80)
    yield "lossless JPEG2000", saved(image, "JPEG2000")


def png(width, height, depth, colour, rows, interlace=0):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) +
            chunk(b"IEND", b""))


def interlaced(image):
    """Adam7, which Pillow reads but does not write."""
    values, rows = np.asarray(image), b""
    for y, x, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2),
                         (0, 1, 2, 2), (1, 0, 2, 1)):
        for row in values[y::dy, x::dx]:
            rows += b"\0" + row.tobytes() if row.size else b""
    return png(image.width, image.height, 8, 2, rows, 1)


def deep(image):
    """16 bits a channel: the high byte counts. Pillow does so for colours; gray it only clips, so its
    values are shifted here."""
    high = np.asarray(image).astype(np.uint16)
    values = high * 256 + high[::-1]
    gray = values[..., 1]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    yield "colours of 16 bits PNG", png(image.width, image.height, 16, 2, rows), None
    alpha = np.dstack([values, gray])
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in alpha)
    yield "colours and alpha of 16 bits PNG", png(image.width, image.height, 16, 6, rows), None
    yield ("colours of 16 bits PPM", b"P6 %d %d 65535\n" % image.size + values.astype(">u2").tobytes(),
           None)
    deep_gray = Image.fromarray(gray)
    wanted = np.repeat((gray >> 8).astype(np.uint8)[..., None], 3, 2)
    yield "gray of 16 bits PNG", saved(deep_gray, "PNG"), wanted
    yield "gray of 16 bits TIFF", saved(deep_gray, "TIFF"), wanted
    yield "gray of 16 bits PGM", saved(deep_gray, "PPM"), wanted


# ---- broken and oversized files ----------------------------------------------------------------------


def refused(program, model, name, file, codes, words, sanitized):
    """The exit code, the message, the time and the memory of a refusal."""
    code, out, error, size, seconds = measured([program, "classify", model, str(file)])
    check(code in codes and out == "", f"{name}: exit code {code}, {out[:80]}{error[:300]}")
    check(error.startswith(f"sardonyx: {file}: ") and error.count("\n") == 1, f"{name}: {error[:300]}")
    check(not words or any(word in error for word in words), f"{name}: {words} not in {error[:300]}")
    if not sanitized:
        check(seconds < MOST_SECONDS, f"{name}: {seconds:.2f} s")
        check(size < MOST_BYTES, f"{name}: {size} bytes")


def jpeg_header(data, width, height):
    """The same JPEG with another size in its frame header."""
    at = data.index(b"\xff\xc0")
    return data[:at + 5] + struct.pack(">HH", height, width) + data[at + 9:]


def tiff_header(width, height):
    entries = [(256, 4, width), (257, 4, height), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8),
               (277, 3, 1), (278, 4, height), (279, 4, 4)]
    body = struct.pack("<H", len(entries)) + b"".join(
        struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries)
    return b"II*\0" + struct.pack("<I", 8) + body + bytes(8)


def bombs(image):
    side = 60000
    small = saved(image, "JPEG")
    yield "bomb.png", png(side, side, 8, 2, b"")
    yield "bomb16.png", png(side, side, 16, 6, b"")
    yield "bomb.jpg", jpeg_header(small, side, side)
    yield "bomb.ppm", b"P6 %d %d 255\n" % (side, side)
    yield "bomb.pgm", b"P2 %d %d 255\n" % (side, side)
    yield "bomb.tif", tiff_header(side, side)
    header = bytearray(saved(image, "BMP")[:54])
    struct.pack_into("<ii", header, 18, side, side)
    yield "bomb.bmp", bytes(header)
    webp = bytearray(saved(image, "WEBP", lossless=True))
    at = webp.index(b"VP8L") + 9
    webp[at:at + 4] = struct.pack("<I", 0x3fff | 0x3fff << 14)
    yield "bomb.webp", bytes(webp)


def check_broken(program, scratch, model, image, sanitized):
    moving = saved(image, "WEBP", save_all=True, append_images=[ImageOps.mirror(image)])
    cut_frame = moving[:moving.index(b"ANMF") + 8 + 16 + 40]
    files = {"cut.jpg": saved(image, "JPEG"), "frame.webp": cut_frame, "cut.png": saved(image, "PNG"),
             "cut.webp": saved(image, "WEBP"), "cut.tif": saved(image, "TIFF", compression="tiff_lzw"),
             "cut.bmp": saved(image, "BMP"), "cut.ppm": saved(image, "PPM"),
             "cut.jp2": saved(image, "JPEG2000")}
    for name, data in files.items():
        for part in (0, 1, 2, 9, 20, len(data) // 4, len(data) // 2, len(data) - len(data) // 8):
            file = scratch / name
            file.write_bytes(data[:part])
            refused(program, model, f"{name} of {part} bytes", file, (3, 4), None, sanitized)
    for name, data in bombs(image):
        file = scratch / name
        file.write_bytes(data)
        refused(program, model, name, file, (1, 3), ["limit of 100000000 pixels", "ends too early"],
                sanitized)
    # Text where an image should be, and an EXIF block that points nowhere beside sound pixels.
    (scratch / "words.jpg").write_text("no image at all")
    refused(program, model, "words", scratch / "words.jpg", (3,), ["known format"], sanitized)
    for block in (b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff\1\x12",
                  b"Exif\0\0II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\x63\0\0\0"):
        data = saved(image, "JPEG")
        data = data[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + data[2:]
        with Image.open(io.BytesIO(data)) as plain:
            wanted = np.asarray(plain.convert("RGB"))
        compare(program, scratch, model, f"exif {len(block)}.jpg", data, wanted)


def main():
    program, sanitized = pathlib.Path(sys.argv[1]).resolve(), "--sanitized" in sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        model = average_model(scratch / "bytes.onnx", dtype=TensorProto.UINT8)
        image = Image.open(photograph("chelsea.png")).convert("RGB").crop((120, 60, 211, 113))
        image.info.clear()  # no profile: what is cut off is pixels
        cases = [*((*case, None) for case in orientations(image)),
                 *((*case, None) for case in packets(image)),
                 *((*case, None) for case in animations(image)),
                 *((*case, None) for case in kinds(image)), *deep(image)]
        for name, data, wanted in cases:
            # What is lossy may differ a little: Pillow brings codecs of its own.
            lossy = 2 if name in ("lossy WEBP", "animated lossy WEBP", "ink JPEG") else 1
            compare(program, scratch, model, name, data, wanted, lossy)
        print(f"{len(cases)} files")
        check_broken(program, scratch, model, image, sanitized)
    finish()


if __name__ == "__main__":
    main()
