# SPDX-License-Identifier: MIT
"""PROXY headers: built for a client to send, and parsed from what a server received."""

import ipaddress
import struct

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
FAMILIES = {"unspec": 0x00, "tcp4": 0x11, "tcp6": 0x21, "unix": 0x31}
ALPN, AUTHORITY, CRC32C, NOOP, UNIQUE_ID = 1, 2, 3, 4, 5


def crc32c(data):
    rest = 0xffffffff
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82f63b78 if rest & 1 else 0)
    return rest ^ 0xffffffff


def tlv(kind, value):
    return struct.pack(">BH", kind, len(value)) + value


def ip_pair(src, dst, sport, dport):
    packed = [ipaddress.ip_address(ip).packed for ip in (src, dst)]
    return packed[0] + packed[1] + struct.pack(">HH", sport, dport)


def unix_pair(src, dst):
    return src.ljust(108, b"\0") + dst.ljust(108, b"\0")


def v2(family="unspec", addresses=b"", tlvs=b"", command=0x21, checksum=False):
    if checksum:
        tlvs += tlv(CRC32C, bytes(4))
    body = addresses + tlvs
    header = SIGNATURE + struct.pack(">BBH", command, FAMILIES[family], len(body)) + body
    if checksum:
        header = header[:-4] + struct.pack(">I", crc32c(header))
    return header


class Received:
    """A header as a server received it: `text` for version 1, or the parts of version 2."""

    def __init__(self, sock):
        data = _exactly(sock, 12)
        self.version = 2 if data == SIGNATURE else 1
        if self.version == 1:
            while not data.endswith(b"\r\n"):
                data += _exactly(sock, 1)
            self.text = data.decode()
            return
        data += _exactly(sock, 4)
        self.command, self.family, length = struct.unpack(">BBH", data[12:])
        body = _exactly(sock, length)
        size = {0x11: 12, 0x21: 36, 0x31: 216}.get(self.family, 0)
        self.addresses, rest = body[:size], body[size:]
        self.tlvs = []
        while rest:
            kind, length = struct.unpack(">BH", rest[:3])
            self.tlvs.append((kind, rest[3:3 + length]))
            rest = rest[3 + length:]
        self._check_sum(data + body)

    def _check_sum(self, whole):
        for kind, value in self.tlvs:
            if kind == CRC32C:
                assert self.tlvs[-1] == (kind, value), "the checksum is not the last TLV"
                assert struct.pack(">I", crc32c(whole[:-4] + bytes(4))) == value, "wrong checksum"

    def tlv(self, kind):
        """The value of the only TLV of this kind; None if there is none."""
        found = [value for k, value in self.tlvs if k == kind]
        assert len(found) <= 1, f"{len(found)} TLVs of type {kind}"
        return found[0] if found else None


def _exactly(sock, count):
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        assert part, f"the connection ended within a PROXY header: {data!r}"
        data += part
    return data
