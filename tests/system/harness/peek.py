# SPDX-License-Identifier: MIT
"""The sockets of another process, duplicated to read options that no tool prints.

A duplicate keeps its connection open, so it is closed right after use.
"""

import contextlib
import ctypes
import errno
import os
import socket
import struct

_PIDFD_GETFD = 438
_libc = ctypes.CDLL(None, use_errno=True)

SO_MAX_PACING_RATE = 47
TCP_FASTOPEN = 23
TCP_NOTSENT_LOWAT = 25
IPPROTO_MPTCP = 262
KEEPALIVE = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE), (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
             (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL), (socket.IPPROTO_TCP, socket.TCP_KEEPCNT))


def _duplicate(pidfd, number):
    fd = _libc.syscall(_PIDFD_GETFD, pidfd, number, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), f"pidfd_getfd of {number}")
    return fd


def missing():
    """Why sockets of another process cannot be duplicated here, or None."""
    pidfd = os.pidfd_open(os.getpid())
    try:
        os.close(_duplicate(pidfd, 0))
        return None
    except OSError as e:
        return f"cannot duplicate sockets of another process: {e.strerror}"
    finally:
        os.close(pidfd)


@contextlib.contextmanager
def sockets(pid):
    """All TCP sockets of a process, as socket objects, for the duration of the block."""
    pidfd = os.pidfd_open(pid)
    found = []
    try:
        for number in map(int, os.listdir(f"/proc/{pid}/fd")):
            try:
                link = os.readlink(f"/proc/{pid}/fd/{number}")
            except FileNotFoundError:
                continue
            if not link.startswith("socket:"):
                continue
            try:
                found.append(socket.socket(fileno=_duplicate(pidfd, number)))
            except OSError as e:
                if e.errno != errno.EBADF:  # it has just been closed: an admin connection
                    raise
        yield [s for s in found if s.family in (socket.AF_INET, socket.AF_INET6)]
    finally:
        for sock in found:
            sock.close()
        os.close(pidfd)


def is_listener(sock):
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1


def peer_port(sock):
    try:
        return sock.getpeername()[1]
    except OSError:
        return None


def options(sock):
    """The options that the configuration can set."""
    def number(level, name, form="i"):
        return struct.unpack(form, sock.getsockopt(level, name, struct.calcsize(form)))[0]
    found = {
        "congestion": sock.getsockopt(socket.IPPROTO_TCP, 13, 16).split(b"\0")[0].decode(),
        "mark": number(socket.SOL_SOCKET, socket.SO_MARK),
        "tos": number(socket.IPPROTO_IP, socket.IP_TOS),
        "pacing": number(socket.SOL_SOCKET, SO_MAX_PACING_RATE, "Q"),
        "lowat": number(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT),
        "tfo": number(socket.IPPROTO_TCP, TCP_FASTOPEN),
        "protocol": number(socket.SOL_SOCKET, 38),
        "keepalive": tuple(number(level, name) for level, name in KEEPALIVE),
        "device": sock.getsockopt(socket.SOL_SOCKET, 25, 16).split(b"\0")[0].decode(),
    }
    if sock.family == socket.AF_INET6:
        found["tclass"] = number(socket.IPPROTO_IPV6, socket.IPV6_TCLASS)
    return found


def of_daemon(pid, choose):
    """The options of the only socket for which `choose` is true."""
    with sockets(pid) as found:
        chosen = [options(s) for s in found if choose(s)]
    assert len(chosen) == 1, f"{len(chosen)} sockets, not one: {chosen}"
    return chosen[0]
