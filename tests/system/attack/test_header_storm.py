# SPDX-License-Identifier: MIT
"""Danger: one of thousands of malformed and truncated PROXY headers ends the daemon, keeps a session open
for ever, or affects the bytes of another client."""

import contextlib
import socket
import struct
import threading

from harness import exchange, proxy, storm
from harness.daemon import sanitized
from harness.exchange import Leg
from harness.timing import PATIENCE, NotInTime, wait_until

HEADERS = 800 if sanitized() else 4000
AT_ONCE = 50
STREAM_BYTES = 3_000_000
TCP4 = proxy.ip_pair("192.0.2.1", "192.0.2.2", 1000, 443)
TCP6 = proxy.ip_pair("2001:db8::1", "2001:db8::2", 1000, 443)
UNIX = proxy.unix_pair(b"/run/client", b"/run/front")
TLVS = proxy.tlv(proxy.ALPN, b"h2") + proxy.tlv(proxy.AUTHORITY, b"example.org") + proxy.tlv(0xe5, b"")
VALID = (
    b"PROXY TCP4 192.0.2.1 192.0.2.2 1000 443\r\n", b"PROXY TCP6 2001:db8::1 2001:db8::2 1000 443\r\n",
    b"PROXY UNKNOWN\r\n", b"PROXY UNKNOWN ::1 ::2 1 2\r\n", proxy.v2("tcp4", TCP4), proxy.v2("tcp6", TCP6),
    proxy.v2("unix", UNIX), proxy.v2(), proxy.v2(command=0x20), proxy.v2("tcp4", TCP4, TLVS, command=0x20),
    proxy.v2("tcp4", TCP4, TLVS, checksum=True), proxy.v2("tcp6", TCP6, proxy.tlv(0xe0, bytes(5000))),
)


class Drain:
    """The server of the storm: closes the connections of clients whose header happens to be valid."""

    def __init__(self, listener):
        self.listener = listener
        self.over = False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        while not self.over:
            with contextlib.suppress(OSError, NotInTime):
                self.listener.accept(0.1).close()

    def close(self):
        self.over = True
        self.thread.join()


class Client:
    """One client of the storm: its bytes, its pieces, and how it ends."""

    def __init__(self, rng, where):
        self.sock = where.socket()
        self.sock.settimeout(PATIENCE)
        self.sock.connect(where.sockaddr)
        self.pieces = storm.slices(rng, storm.mutated(rng, rng.choice(VALID)), 5)
        self.by_reset = rng.random() < 0.2
        self.refused = False

    def step(self):
        """Sends a piece; False if there is none left, or no room for it."""
        if not self.pieces or self.refused:
            return False
        try:
            self.sock.sendall(self.pieces.pop(0))
        except ConnectionError:
            self.refused = True
        return True

    def end(self):
        """Leaves with RST, or ends its side and waits for the daemon to close."""
        with self.sock, contextlib.suppress(ConnectionError):
            if self.by_reset:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            with contextlib.suppress(OSError):  # it is closed already
                self.sock.shutdown(socket.SHUT_WR)
            while self.sock.recv(4096):  # a timeout fails the test: this client was never closed
                pass


def test_no_broken_header_harms_the_daemon_or_a_stream(weir, peers):
    rng = storm.draw()
    listener, plain = peers.listen(), peers.listen()
    daemon = weir("[defaults]\ntimeout-handshake = 60s\n"  # it is never the clock that closes them
                  f"[listen storm]\nbind = 127.0.0.1:0 accept-proxy\nserver a = {listener.address}\n"
                  f"[listen plain]\nbind = 127.0.0.1:0\nserver a = {plain.address}\n")
    peers.keep(Drain(listener))
    legs = []
    for _ in range(3):
        client, server = peers.pair(daemon.address("plain"), plain)
        legs += [Leg(client, send=STREAM_BYTES, receive=STREAM_BYTES),
                 Leg(server, send=STREAM_BYTES, receive=STREAM_BYTES)]
    failures = []

    def stream():
        try:
            exchange.run(legs)
        except Exception as error:  # pylint: disable=broad-except; told by the test
            failures.append(error)
    streaming = threading.Thread(target=stream)
    streaming.start()
    try:
        storm.blow(rng, lambda: Client(rng, daemon.address("storm")), HEADERS, AT_ONCE)
    finally:
        streaming.join()
    assert not failures, failures
    wait_until(lambda: daemon.info()["sessions"] == 0, "every client of the storm is closed")
    info = daemon.info()
    assert info["accepted"] == HEADERS + 3, info["accepted"]
