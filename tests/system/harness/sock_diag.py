# SPDX-License-Identifier: MIT
"""Listening TCP sockets as the kernel lists them by sock_diag(7). /proc/net/tcp also has a line for each
connection that is over, and takes a hundred times as long while other tests leave many of them."""

import functools
import os
import socket
import struct

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST_DUMP = 0x301
NLMSG_ERROR, NLMSG_DONE = 2, 3
TCP_LISTEN = 10
HEADER = struct.Struct("=IHHII")    # struct nlmsghdr
WISH = struct.Struct("=BBBBI48x")   # struct inet_diag_req_v2
PORT_AT, INODE_AT = 4, 68           # in struct inet_diag_msg


def _of_family(family):
    """{inode: port}; None: this kernel has no such list."""
    wish = WISH.pack(family, socket.IPPROTO_TCP, 0, 0, 1 << TCP_LISTEN)
    found = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_SOCK_DIAG) as sock:
        sock.send(HEADER.pack(HEADER.size + len(wish), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST_DUMP, 1, 0) + wish)
        while True:
            data, at = sock.recv(1 << 20), 0
            while at < len(data):
                size, kind = HEADER.unpack_from(data, at)[:2]
                if kind == NLMSG_DONE:
                    return found
                if kind == NLMSG_ERROR:
                    return None
                inode, = struct.unpack_from("=I", data, at + HEADER.size + INODE_AT)
                found[inode], = struct.unpack_from("!H", data, at + HEADER.size + PORT_AT)
                at += (size + 3) & ~3


@functools.cache
def _works():
    """Does the list have a socket that listens?"""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        return os.fstat(sock.fileno()).st_ino in (_of_family(socket.AF_INET) or {})


def ports_by_inode():
    """Of both families, in this network namespace; None: only /proc knows them."""
    if not _works():
        return None
    return _of_family(socket.AF_INET) | (_of_family(socket.AF_INET6) or {})
