# SPDX-License-Identifier: MIT
"""Keyed streams: each byte is a function of connection, direction and offset.

A stream is one shake-128 period of a prime length, so that no pipe, page or buffer size divides
it; each further period is the same, combined with another XOR key. A checker that finds a wrong byte reports
what happened: loss, duplication, reordering, or a leak from another connection, and from which one.
"""

import hashlib
import weakref

PERIOD = 1_048_573
_FIRST = 1 << 14
_SAMPLE = 24
_MASKS = [bytes(b ^ x for b in range(256)) for x in range(256)]
_known = weakref.WeakSet()


class StreamError(AssertionError):
    """The bytes received differ from those that were sent."""


class Stream:
    """The endless bytes of one direction of one connection."""

    def __init__(self, conn, direction):
        self.conn = conn
        self.direction = direction
        self._base = b""
        _known.add(self)

    def __str__(self):
        return f"connection {self.conn} {self.direction}"

    def _period(self, upto):
        if len(self._base) < upto:
            size = _FIRST
            while size < upto:
                size *= 4
            key = f"{self.conn}/{self.direction}".encode()
            self._base = hashlib.shake_128(key).digest(min(size, PERIOD))
        return self._base

    def read(self, offset, count):
        parts = []
        while count > 0:
            turn, start = divmod(offset, PERIOD)
            take = min(count, PERIOD - start)
            part = self._period(start + take)[start:start + take]
            if turn % 256:
                part = part.translate(_MASKS[turn * 167 % 256])
            parts.append(part)
            offset += take
            count -= take
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def find(self, sample, upto):
        """The first offset below `upto` at which `sample` occurs, or -1."""
        period = self._period(min(upto, PERIOD))
        for turn in range((upto + PERIOD - 1) // PERIOD):
            mask = _MASKS[turn * 167 % 256]
            at = period.find(sample.translate(mask))
            if at >= 0:
                return turn * PERIOD + at
        return -1


class Checker:
    """Compares the bytes that arrive with those that were sent."""

    def __init__(self, stream):
        self.stream = stream
        self.offset = 0

    def feed(self, data):
        want = self.stream.read(self.offset, len(data))
        if data != want:
            raise StreamError(self._diagnose(bytes(data), want))
        self.offset += len(data)

    def _diagnose(self, data, want):
        at = next(i for i in range(len(want)) if data[i] != want[i])
        here = self.offset + at
        sample = data[at:at + _SAMPLE]
        head = f"{self.stream}: wrong byte at offset {here}: "
        if len(sample) < 8:
            return head + f"the last {len(sample)} bytes are {sample.hex()}, not {want[at:].hex()}"
        found = self.stream.find(sample, here + (64 << 20))
        if found > here:
            later = data.find(want[at:at + _SAMPLE], at)
            if later >= 0:
                return head + f"reordering, bytes of offset {found} came first"
            return head + f"loss of {found - here} bytes"
        if found >= 0:
            return head + f"duplication, bytes of offset {found} came again"
        for other in list(_known):
            found = other.find(sample, 64 << 20) if other is not self.stream else -1
            if found >= 0:
                return head + f"leak from {other}, its offset {found}"
        return head + f"corruption: {sample.hex()}, not {want[at:at + _SAMPLE].hex()}"
