# SPDX-License-Identifier: MIT
"""TLS ClientHellos, built byte by byte: any name, any protocols, any size, cut into records anywhere."""

import struct

RECORD_MAX = 16384
HEADER = 5  # of a record


def _vector(size, body):
    return len(body).to_bytes(size, "big") + body


def _extension(kind, body):
    return struct.pack(">H", kind) + _vector(2, body)


def message(name=None, alpn=(), padding=None):
    """The handshake message. `padding` is the length of an extension without meaning."""
    extensions = b""
    if name is not None:
        extensions += _extension(0, _vector(2, b"\0" + _vector(2, name.encode())))
    if alpn:
        extensions += _extension(16, _vector(2, b"".join(_vector(1, p.encode()) for p in alpn)))
    if padding is not None:
        extensions += _extension(21, bytes(padding))
    body = b"\x03\x03" + bytes(range(32)) + _vector(1, b"") + _vector(2, b"\x13\x01") + _vector(1, b"\0")
    return b"\x01" + _vector(3, body + _vector(2, extensions))


def records(data, size=RECORD_MAX):
    return b"".join(b"\x16\x03\x01" + _vector(2, data[at:at + size]) for at in range(0, len(data), size))


def hello(name=None, alpn=(), padding=None, record=RECORD_MAX):
    return records(message(name, alpn, padding), record)


def hello_of(length, name=None, alpn=()):
    """A hello of that many bytes in one record."""
    short = hello(name, alpn, 0)
    return hello(name, alpn, length - len(short))
