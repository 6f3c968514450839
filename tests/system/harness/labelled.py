# SPDX-License-Identifier: MIT
"""Servers that say who they are, and clients that note how a connection went: what a test of two programs
with one configuration observes."""

import contextlib
import errno
import socket
import struct
import threading
import time

from harness import address
from harness.timing import PATIENCE, wait_until

_RESETS = (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED)
PATIENT = 10 * PATIENCE     # for servers: a test ends long before


def drain(sock, into=None):
    """Reads until the other side ends; how it did."""
    try:
        while data := sock.recv(65536):
            if into is not None:
                into += data
        return "fin"
    except OSError as e:
        if e.errno in _RESETS:
            return "reset"
        raise


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


# ---- what a server does with a connection ----

def greet(server, sock, seen):
    """Says who it is, and sends back what comes."""
    sock.sendall(server.label.encode() + b"\n")
    while data := sock.recv(65536):
        seen.data += data
        sock.sendall(data)


def silent(_server, sock, seen):
    """Says nothing."""
    seen.end = drain(sock, seen.data)


def resets(server, sock, _seen):
    """Says who it is, waits for a byte and resets."""
    sock.sendall(server.label.encode() + b"\n")
    sock.recv(1)
    reset(sock)


def resets_at_once(_server, sock, _seen):
    reset(sock)


def ends_first(server, sock, seen):
    """Says who it is and ends; then takes what comes."""
    sock.sendall(server.label.encode() + b"\n")
    sock.shutdown(socket.SHUT_WR)
    seen.end = drain(sock, seen.data)


def answers_at_the_end(server, sock, seen):
    """Answers when the client has ended: with its name and the number of bytes that came."""
    seen.end = drain(sock, seen.data)
    sock.sendall(b"%s\n%d" % (server.label.encode(), len(seen.data)))


class Seen:
    """A connection as the server saw it."""

    def __init__(self, host):
        self.at = time.monotonic()
        self.host = host
        self.data = bytearray()
        self.end = None         # "fin", "reset"
        self.took = None        # seconds, once it has ended


class Server:
    """`talk(server, sock, seen)` serves a connection. The port stays reserved: while the server is dead,
    connections are refused."""

    def __init__(self, label, talk=greet, where=None):
        self.label, self.talk = label, talk
        self.seen, self.open = [], set()
        self.holder = None
        if where is None:
            self.holder, where = address.hold("tcp4")
        self.where = where
        self.sock = None
        self.start()

    @property
    def count(self):
        return len(self.seen)

    def start(self):
        self.sock = self.where.socket()
        if self.where.tcp:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind(self.where.sockaddr)
        self.sock.listen(256)
        threading.Thread(target=self._run, args=(self.sock,), daemon=True).start()

    def _run(self, listener):
        while True:
            try:
                sock, host = listener.accept()
            except OSError:
                return
            seen = Seen(host[0] if self.where.tcp else "")
            self.seen.append(seen)
            self.open.add(sock)
            threading.Thread(target=self._serve, args=(sock, seen), daemon=True).start()

    def _serve(self, sock, seen):
        sock.settimeout(PATIENT)
        try:
            self.talk(self, sock, seen)
            seen.end = seen.end or "fin"
        except OSError as e:
            seen.end = "reset" if e.errno in _RESETS else repr(e)
        seen.took = time.monotonic() - seen.at
        self.open.discard(sock)
        sock.close()

    def ended(self, count=1):
        """Waits until so many connections have ended; the last of them."""
        def last():
            done = [s for s in list(self.seen) if s.took is not None]
            return done[-1] if len(done) >= count else None
        return wait_until(last, lambda: f"{count} connections of {self.label} end: {len(self.seen)}")

    def die(self):
        """Refuses connections; those that there are stay."""
        if self.sock:
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)
            self.sock.close()
            self.sock = None

    def close(self):
        self.die()
        for sock in list(self.open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        if self.holder:
            self.holder.close()


class Full:
    """A server whose backlog is full: a connect to it gets no answer."""

    def __init__(self, label="full"):
        self.label = label
        self.sock = socket.socket()
        self.sock.bind(("127.0.0.1", 0))
        self.sock.listen(0)
        self.where = address.of_socket(self.sock, "tcp4")
        self.fill = []
        for _ in range(2):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(self.where.sockaddr)
            self.fill.append(sock)

    def close(self):
        for sock in (*self.fill, self.sock):
            sock.close()


class Client:
    """A connection, from `source` if there is one."""

    def __init__(self, where, source=None, data=b""):
        self.sock = where.socket()
        self.sock.settimeout(PATIENCE)
        self.start = time.monotonic()
        self.said = b""
        self.end = None
        self.took = None        # seconds to the first line
        if source:
            self.sock.bind((source, 0))
        try:
            self.sock.connect(where.sockaddr)
            if data:
                self.sock.sendall(data)
        except ConnectionRefusedError:
            self.end = "refused"
        except OSError as e:
            if e.errno not in _RESETS:
                raise
            self.end = "reset"

    def _part(self):
        try:
            return self.sock.recv(65536)
        except OSError as e:
            if e.errno not in _RESETS:
                raise
            self.end = "reset"
            return b""

    def label(self):
        """The name that the server gave, or how the connection ended."""
        while b"\n" not in self.said and self.end is None:
            part = self._part()
            self.said += part
            if not part:
                self.end = self.end or "fin"
        self.took = time.monotonic() - self.start
        return self.said.partition(b"\n")[0].decode() if b"\n" in self.said else self.end

    def send(self, data):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.sock.sendall(data)
        return self

    def fin(self):
        self.sock.shutdown(socket.SHUT_WR)
        return self

    def reset(self):
        reset(self.sock)
        self.sock.close()

    def finish(self):
        """Reads to the end: how it ended, all that was said, seconds since the connect."""
        while self.end is None:
            part = self._part()
            self.said += part
            if not part:
                self.end = self.end or "fin"
        return self.end, self.said, time.monotonic() - self.start

    def resent(self):
        """How often its kernel has sent something again, such as a SYN that was ignored."""
        info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        return struct.unpack_from("=I", info, 100)[0]   # tcpi_total_retrans

    def quiet(self, seconds):
        """Does neither a byte nor an end come in this window?"""
        self.sock.settimeout(seconds)
        try:
            self.said += self.sock.recv(65536, socket.MSG_PEEK)
            return False
        except socket.timeout:
            return True
        except OSError:
            return False
        finally:
            self.sock.settimeout(PATIENCE)

    def close(self):
        self.sock.close()
