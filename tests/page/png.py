# SPDX-License-Identifier: MIT
"""png.py - makes a picture of a page small: as a PNG with at most 256 colours."""

import collections
import itertools
import struct
import zlib

COLOURS_MAX = 256


def chunks(data):
    at = 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += 12 + size


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def paeth(a, b, c):
    """Of left, above and left above, the one that is nearest to a + b - c."""
    return min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]


def unfilter(kind, line, above, size):
    if kind == 2:
        return bytes((x + b) & 255 for x, b in zip(line, above))
    line = bytearray(line)
    for i, b in enumerate(above if kind else ()):
        a, c = (line[i - size], above[i - size]) if i >= size else (0, 0)
        line[i] = (line[i] + (a, (a + b) // 2, paeth(a, b, c))[(1, 3, 4).index(kind)]) & 255
    return bytes(line)


def pixels(data):
    """The lines of a PNG of 8 bits per colour, as a browser makes it, and the bytes of each pixel."""
    parts = list(chunks(data))
    width, height, depth, kind = struct.unpack(">IIBB", parts[0][1][:10])
    assert depth == 8 and kind in (2, 6), "not a picture with 8 bits per colour"
    size = 3 if kind == 2 else 4
    raw = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    lines, above = [], bytes(width * size)
    for at in range(0, height * (width * size + 1), width * size + 1):
        above = unfilter(raw[at], raw[at + 1:at + 1 + width * size], above, size)
        lines.append(above)
    return lines, size


def nearest(colour, palette):
    return min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(colour, palette[i])))


def shrink(data):
    """The same picture with the colours that are used most; others become the nearest of these."""
    lines, size = pixels(data)
    lines = [[line[x:x + 3] for x in range(0, len(line), size)] for line in lines]
    counts = collections.Counter(itertools.chain.from_iterable(lines))
    palette = [colour for colour, _ in counts.most_common(COLOURS_MAX)]
    number = {colour: i for i, colour in enumerate(palette)}
    for colour in counts:
        number.setdefault(colour, nearest(colour, palette))
    header = struct.pack(">IIBBBBB", len(lines[0]), len(lines), 8, 3, 0, 0, 0)
    rows = b"".join(bytes(1) + bytes(map(number.__getitem__, line)) for line in lines)
    return (data[:8] + chunk(b"IHDR", header) + chunk(b"PLTE", b"".join(palette)) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))
