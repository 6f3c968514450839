# SPDX-License-Identifier: MIT
"""A forged TCP segment: bytes that a peer will send later arrive early, with an urgent mark.

Needs CAP_NET_RAW to send it, and CAP_NET_ADMIN to read a socket's sequence numbers. IPv4 only.
"""

import errno
import socket
import struct

_TCP_REPAIR, _TCP_REPAIR_QUEUE, _TCP_QUEUE_SEQ = 19, 20, 21
_RECEIVE, _SEND = 1, 2
_REPAIR_ON, _REPAIR_OFF_SILENTLY = 1, -1  # the plain "off" would send a window probe
_FLAGS = 0x18 | 0x20  # ACK, PSH, and URG


def missing():
    """Why no such segment can be sent here, or None."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW).close()
    except OSError as e:
        return f"no raw socket: {errno.errorcode[e.errno]}, CAP_NET_RAW is needed"
    with socket.socket() as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, _REPAIR_ON)
        except OSError as e:
            return f"no TCP_REPAIR: {errno.errorcode[e.errno]}, CAP_NET_ADMIN is needed"
    return None


def _numbers(sock):
    """The sequence numbers of the next byte that it sends and of the next one that it expects."""
    sock.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, _REPAIR_ON)
    try:
        found = []
        for queue in (_SEND, _RECEIVE):
            sock.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR_QUEUE, queue)
            found.append(sock.getsockopt(socket.IPPROTO_TCP, _TCP_QUEUE_SEQ) & 0xffffffff)
        return found
    finally:
        sock.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, _REPAIR_OFF_SILENTLY)


def _checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def send_urgent(raw, peer, skip, count, urgent):
    """Sends `count` bytes of the peer's stream, `skip` bytes ahead, with an urgent pointer to the byte
    `urgent` among them. The peer's own kernel knows nothing about it. `count` is even."""
    (here, port), (there, to) = peer.sock.getsockname(), peer.sock.getpeername()
    seq, ack = _numbers(peer.sock)
    data = peer.out.read(peer.sent + skip, count)
    ends = socket.inet_aton(here) + socket.inet_aton(there)

    def head(checksum):
        return struct.pack("!HHIIBBHHH", port, to, (seq + skip) & 0xffffffff, ack, 5 << 4, _FLAGS, 512,
                           checksum, urgent)
    pseudo = ends + struct.pack("!BBH", 0, socket.IPPROTO_TCP, 20 + count)
    body = head(_checksum(pseudo + head(0) + data)) + data
    # The kernel fills in the length and the checksum of the IP header.
    outer = struct.pack("!BBHHHBBH", 0x45, 0, 0, 0, 0, 64, socket.IPPROTO_TCP, 0) + ends
    raw.sendto(outer + body, (there, 0))


def sender():
    """The raw socket that sends it."""
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
