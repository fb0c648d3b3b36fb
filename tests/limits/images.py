"""Heads of image files that speak of 60,000 by 60,000 pixels (WebP: 16,383, its most), with hardly any bytes
behind them; and of some with fewer pixels, whose codec would take more than --max-memory by itself."""
import struct
import zlib

SIDE = 60000


def png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"\0" * 100000)) + chunk(b"IEND", b""))


def jpeg(progressive=False, side=SIDE):
    frame = struct.pack(">HBHHB", 17, 8, side, side, 3) + b"\1\x22\0\2\x11\1\3\x11\1"
    tables = b"".join(b"\xff\xdb\0\x43" + bytes([i]) + b"\1" * 64 for i in range(2))
    huffman = b"".join(b"\xff\xc4\0\x14" + bytes([i]) + b"\0\1" + b"\0" * 14 + b"\0"
                       for i in (0x00, 0x10, 0x01, 0x11))
    scan = b"\xff\xda\0\x0c\3\1\0\2\x11\3\x11\0\x3f\0"
    if progressive:
        scan = b"\xff\xda\0\x0c\3\1\0\2\x11\3\x11\0\0\0"
    return (b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0" + tables +
            (b"\xff\xc2" if progressive else b"\xff\xc0") + frame + huffman + scan + b"\0" * 64 +
            b"\xff\xd9")


def webp():
    side = 16383
    frame = b"\x30\1\0\x9d\x01\x2a" + struct.pack("<HH", side, side) + b"\0" * 64
    body = b"WEBPVP8 " + struct.pack("<I", len(frame)) + frame
    return b"RIFF" + struct.pack("<I", len(body)) + body


def webp_lossless(side):
    """One byte that says so, 14 bits of each side less one, then Huffman codes that are all zero."""
    frame = b"\x2f" + struct.pack("<I", side - 1 | side - 1 << 14) + b"\0" * 64
    body = b"WEBPVP8L" + struct.pack("<I", len(frame)) + frame + b"\0" * (len(frame) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def bmp():
    head = struct.pack("<IiiHHIIiiII", 40, SIDE, SIDE, 1, 24, 0, 0, 2835, 2835, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + head + b"\0" * 64


def bmp_runs():
    """Eight bits a pixel, compressed by runs: a short file may stand for a large picture."""
    head = struct.pack("<IiiHHIIiiII", 40, SIDE, SIDE, 1, 8, 1, 0, 2835, 2835, 2, 2)
    return b"BM" + struct.pack("<IHHI", 80, 0, 0, 62) + head + b"\0\0\0\0\xff\xff\xff\0" + b"\0\1"


def tiff(side=SIDE, compression=1):
    """One strip."""
    entries = [(256, 4, 1, side), (257, 4, 1, side), (258, 3, 1, 8), (259, 3, 1, compression), (262, 3, 1, 1),
               (273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, side), (279, 4, 1, 64)]
    table = struct.pack("<H", len(entries))
    table += b"".join(struct.pack("<HHI", t, k, n) + (struct.pack("<HH", v, 0) if k == 3
                                                      else struct.pack("<I", v))
                      for t, k, n, v in entries)
    return b"II*\0" + struct.pack("<I", 8 + 64) + b"\0" * 64 + table + b"\0" * 4


def pnm():
    return b"P6 %d %d 255\n" % (SIDE, SIDE) + b"\0" * 64


def jpeg2000(side=SIDE, block=4):
    """block: a code block has 2^(block + 2) samples along each side."""
    size = struct.pack(">HHIIIIIIIIH", 47, 0, side, side, 0, 0, side, side, 0, 0, 3)
    size += b"\7\1\1" * 3
    cod = b"\xff\x52\0\x0c\0\0\0\1\1\5" + bytes([block, block]) + b"\0\1"
    qcd = b"\xff\x5c\0\x13\x40" + b"\x40" * 16
    return (b"\xff\x4f\xff\x51" + size + cod + qcd + b"\xff\x90\0\x0a\0\0\0\0\0\0\0\1\xff\x93" +
            b"\0" * 32 + b"\xff\xd9")


IMAGES = {
    "image.png": png(), "image.jpg": jpeg(), "progressive.jpg": jpeg(True), "image.webp": webp(),
    "image.bmp": bmp(), "runs.bmp": bmp_runs(), "image.tif": tiff(),
    "image.ppm": pnm(), "image.j2k": jpeg2000(),
}
# Here pixels fit (those of the JPEG shrunken), but not with all coefficients, four bytes a pixel, a strip of the
# whole image, two copies of all samples, or tables of tiny code blocks beside them.
CODECS = {
    "scans.jpg": jpeg(True, 3800), "lossless.webp": webp_lossless(2600), "strip.tif": tiff(2700, 5),
    "samples.j2k": jpeg2000(1400), "blocks.j2k": jpeg2000(620, 0),
}
