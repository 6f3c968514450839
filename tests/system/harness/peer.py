# SPDX-License-Identifier: MIT
"""Peers: scripted ends of a connection, and the listeners that accept them.

A peer sends its own keyed stream and verifies the one that it receives. Every call ends within the
shared timeout. A clean end is called "fin", any other end "reset".
"""

import errno
import fcntl
import select
import socket
import struct
import termios
import time

from harness import address
from harness.stream import Checker, Stream
from harness.timing import AT_ONCE, PATIENCE, NotInTime, wait_until

_RESETS = (errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED)
PREAMBLE = 16
PIECE = 1 << 18


class Peer:
    """One end: `side` is "client" or "server"."""

    def __init__(self, sock, side, conn, family):
        sock.settimeout(PATIENCE)
        self.sock = sock
        self.side = side
        self.conn = conn
        self.family = family
        self.tcp = family in ("tcp4", "tcp6")
        if self.tcp:
            # Nagle's algorithm in the peer would look like a delay in the proxy.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        mine, theirs = ("to_server", "to_client") if side == "client" else ("to_client", "to_server")
        self.out = Stream(conn, mine)
        self.sent = 0
        self.inn = Checker(Stream(conn, theirs))
        self.end = None

    def __str__(self):
        return f"{self.side} of connection {self.conn} ({self.family})"

    @property
    def received(self):
        return self.inn.offset

    # Sending.

    def send(self, count, piece=PIECE):
        """Sends the next `count` bytes of the stream."""
        end = self.sent + count
        while self.sent < end:
            data = self.out.read(self.sent, min(piece, end - self.sent))
            try:
                self.sent += self.sock.send(data)
            except socket.timeout:
                raise NotInTime(f"{self}: cannot send beyond {self.sent} bytes") from None

    def send_some(self, limit=PIECE, flags=0):
        """Sends without waiting; returns the number of bytes sent, 0 if there is no room."""
        patience = self.sock.gettimeout()
        try:
            self.sock.setblocking(False)
            n = self.sock.send(self.out.read(self.sent, limit), flags)
        except BlockingIOError:
            return 0
        finally:
            self.sock.settimeout(patience)
        self.sent += n
        return n

    def urgent(self):
        """Sends the next byte of the stream as urgent data."""
        self.sock.send(self.out.read(self.sent, 1), socket.MSG_OOB)
        self.sent += 1

    def fill(self, urgent_each=0, quiet=0.15):
        """Sends until there has been no room for `quiet` seconds."""
        end = time.monotonic() + PATIENCE
        mark = urgent_each
        while time.monotonic() < end:
            if self.send_some(16384):
                if urgent_each and self.sent >= mark:
                    mark = self.sent + urgent_each
                    self.send_some(1, socket.MSG_OOB)
                continue
            if not self.poll(select.POLLOUT, quiet) & select.POLLOUT:
                return
        raise NotInTime(f"{self}: the other side took {self.sent} bytes and does not block")

    def unacknowledged(self):
        """Bytes that the other kernel has not acknowledged (TCP), or that have not been read (Unix)."""
        word = fcntl.ioctl(self.sock, termios.TIOCOUTQ, struct.pack("i", 0))
        return struct.unpack("i", word)[0]

    def wait_acknowledged(self):
        if self.tcp:
            wait_until(lambda: self.unacknowledged() == 0,
                       lambda: f"{self}: {self.unacknowledged()} bytes are not acknowledged")

    def acknowledged(self):
        """Number of sent bytes that the other kernel has acknowledged, once that number no longer changes:
        all of them, unless buffers on the way are smaller than usual."""
        last, since = self.unacknowledged() if self.tcp else 0, time.monotonic()
        while last > 0 and time.monotonic() < since + AT_ONCE:
            time.sleep(0.0005)
            now = self.unacknowledged()
            if now != last:
                last, since = now, time.monotonic()
        return self.sent - last

    def fin(self):
        self.sock.shutdown(socket.SHUT_WR)

    def reset(self):
        """Ends with RST. A Unix peer resets by closing with unread bytes, so there must be some."""
        if self.tcp:
            linger = struct.pack("ii", 1, 0)
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        else:
            assert self.poll(select.POLLIN, PATIENCE) & select.POLLIN, f"{self}: there are no unread bytes"
        self.sock.close()

    def close(self):
        self.sock.close()

    # Receiving.

    def poll(self, mask, seconds):
        poller = select.poll()
        poller.register(self.sock, mask)
        events = poller.poll(seconds * 1000)
        return events[0][1] if events else 0

    def recv_some(self, limit=PIECE):
        """Receives what is available, waiting for the first byte; after the end, returns 0 and sets `end`."""
        if self.end == "reset":
            return 0
        try:
            data = self.sock.recv(limit)
        except socket.timeout:
            raise NotInTime(f"{self}: nothing arrives after {self.received} bytes") from None
        except OSError as e:
            if e.errno not in _RESETS:
                raise
            self.end = "reset"
            return 0
        if not data:
            self.end = "fin"
            return 0
        self.inn.feed(data)
        return len(data)

    def receive(self, count, piece=PIECE):
        """Receives exactly `count` more bytes."""
        goal = self.received + count
        while self.received < goal:
            if not self.recv_some(min(piece, goal - self.received)):
                raise AssertionError(f"{self}: {self.end} after {self.received} of {goal} bytes")

    def receive_to_end(self, piece=PIECE):
        """Receives everything; returns how it ended."""
        while self.recv_some(piece):
            pass
        return self.end

    def quiet(self, seconds):
        """True if neither a byte nor an end arrives within the window."""
        return self.poll(select.POLLIN | select.POLLRDHUP, seconds) == 0


class Listener:
    """Where the servers of a test accept. With `hold`, no other process gets its port until close()."""

    def __init__(self, family, folder, backlog=4096, listen=True, where=None, socket_maker=None,
                 hold=False):
        self.holder = None
        if hold:
            self.holder, where = address.hold(family)
        where = where or address.fresh(family, folder)
        self.family = where.family
        self.sock = socket_maker(where) if socket_maker else where.socket()
        if where.tcp:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind(where.sockaddr)
        if listen:
            self.sock.listen(backlog)
        self.sock.settimeout(PATIENCE)
        self.address = address.of_socket(self.sock, where.family)

    def accept(self, patience=None):
        self.sock.settimeout(PATIENCE if patience is None else patience)
        try:
            sock, _ = self.sock.accept()
        except (socket.timeout, BlockingIOError):
            raise NotInTime(f"no client connects to {self.address}") from None
        return sock

    def accept_peer(self, patience=None, skip_silent=False):
        """Accepts a connection whose client has introduced itself; `skip_silent` skips
        connections that end without a byte, such as health checks."""
        while True:
            sock = self.accept(patience)
            sock.settimeout(PATIENCE)
            conn = read_preamble(sock, skip_silent)
            if conn is not None:
                return Peer(sock, "server", conn, self.family)
            sock.close()

    def die(self):
        """Refuses connections from now on."""
        self.sock.close()

    def close(self):
        self.die()
        if self.holder:
            self.holder.close()


def introduce(sock, conn):
    sock.sendall(f"conn{conn:012d}".encode())


def read_preamble(sock, may_be_silent=False):
    """The connection's number; None if it ended without a byte, where that is allowed."""
    data = b""
    while len(data) < PREAMBLE:
        part = sock.recv(PREAMBLE - len(data))
        if may_be_silent and not part and not data:
            return None
        assert part, "a connection ended before its client was introduced"
        data += part
    assert data.startswith(b"conn"), f"unexpected bytes instead of a preamble: {data!r}"
    return int(data[4:])


def connect(where, conn, socket_maker=None, hello=True, receive_buffer=0):
    """A client, introduced unless `hello` is false. After a reset during connect() or the introduction,
    its end is "reset"."""
    sock = socket_maker(where) if socket_maker else where.socket()
    sock.settimeout(PATIENCE)
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    try:
        sock.connect(where.sockaddr)
        if hello:
            introduce(sock, conn)
    except (ConnectionResetError, BrokenPipeError):
        early = "reset"
    else:
        early = None
    client = Peer(sock, "client", conn, where.family)
    client.end = early
    return client
