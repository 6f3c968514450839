# SPDX-License-Identifier: MIT
"""The state file of weir, written and read without weir: src/reload/confirmed_file.c and
src/settings/text_items.h describe its form."""

import os
import struct

_MASK = (1 << 64) - 1
_P1, _P2, _P3, _P4, _P5 = (0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x85ebca77c2b2ae63,
                           0x27d4eb2f165667c5)

ON_TRIAL, EXPIRED, ROLLED_BACK = range(3)


def _rotate(x, bits):
    return (x << bits | x >> (64 - bits)) & _MASK


def _round(acc, lane):
    return _rotate((acc + lane * _P2) & _MASK, 31) * _P1 & _MASK


def xxh64(data):
    """XXH64 with seed 0, from its specification."""
    at, end = 0, len(data)
    if end >= 32:
        acc = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while end - at >= 32:
            acc = [_round(a, lane) for a, lane in zip(acc, struct.unpack_from("<4Q", data, at))]
            at += 32
        h = sum(_rotate(a, bits) for a, bits in zip(acc, (1, 7, 12, 18))) & _MASK
        for a in acc:
            h = ((h ^ _round(0, a)) * _P1 + _P4) & _MASK
    else:
        h = _P5
    h = (h + end) & _MASK
    while end - at >= 8:
        h = (_rotate(h ^ _round(0, struct.unpack_from("<Q", data, at)[0]), 27) * _P1 + _P4) & _MASK
        at += 8
    if end - at >= 4:
        h = (_rotate(h ^ struct.unpack_from("<I", data, at)[0] * _P1 & _MASK, 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        h = _rotate(h ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    h = (h ^ h >> 33) * _P2 & _MASK
    h = (h ^ h >> 29) * _P3 & _MASK
    return h ^ h >> 32


def text(*items):
    """The text of a reading: items (name, contents), or (kind, name, [names found])."""
    data = b""
    for item in items:
        kind, name, what = ("file", *item) if len(item) == 2 else item
        if not isinstance(what, str):
            what = "".join(n + "\0" for n in what)
        data += b"%s %d %d\n%s\n%s\n" % (kind.encode(), len(name.encode()), len(what.encode()),
                                         name.encode(), what.encode())
    return data


def state(confirmed, *marks):
    """The bytes of a state file: the confirmed text, and (text, reason) for each marked one."""
    lines = b"weir confirmed 1\n"
    for generation, (marked, reason) in enumerate(marks, 2):
        lines += b"mark %016x %d %d %d %d\n" % (xxh64(marked), len(marked), 1764000000 * 10**9, generation,
                                                reason)
    lines += b"text %d\n%s" % (len(confirmed), confirmed)
    return lines + b"sum %016x\n" % xxh64(lines)


def write(folder, data):
    path = os.path.join(folder, "confirmed")
    with open(path + ".test", "wb") as f:
        f.write(data)
    os.chmod(path + ".test", 0o600)
    os.rename(path + ".test", path)
