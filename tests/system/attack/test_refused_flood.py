# SPDX-License-Identifier: MIT
"""Danger: refused clients use up what is counted before a client is judged (rate-limit, maxconn, the
backlog), and permitted clients wait behind them for ever."""

import socket
import threading
import time

import pytest

from harness.flood import THREADS, Flood
from harness.timing import PATIENCE, SCALE, wait_until

CLIENTS = 40
SECONDS = 8
GOOD = b"PROXY TCP4 192.0.2.1 192.0.2.2 1111 2222\r\n"

# How a client is refused: options of the bind line, of the section, bytes that the flood sends, connections
# that it keeps open, and bytes that a permitted client sends first.
WAYS = {
    "denied": ("", "deny-from = 127.0.0.2", b"", 0, b""),
    "not-allowed": ("", "allow-from = 127.0.0.1", b"", 0, b""),
    "untrusted": ("accept-proxy", "trusted = 127.0.0.1", b"", 0, GOOD),
    "untrusted-and-denied": ("accept-proxy=optional", "trusted = 127.0.0.1\ndeny-from = 127.0.0.2", b"", 0,
                             GOOD),
    "over-its-limit": ("", "maxconn-per-source = 2", b"", 2, b""),
    "bad-header": ("accept-proxy", "", b"GET / HTTP/1.1\r\n\r\n", 0, GOOD),
    "denied-by-header": ("accept-proxy", "deny-from = 10.0.0.0/8",
                         b"PROXY TCP4 10.0.0.1 192.0.2.2 1111 2222\r\n", 0, GOOD),
    "silent": ("accept-proxy", "maxconn-per-source = 2", b"", 0, GOOD),
}
LIMITS = {"rate": "rate-limit = 30", "slots": "maxconn = 6"}


@pytest.fixture
def echo(peers):
    """The address of a server that answers one byte and closes when the client has."""
    listener = peers.listen()
    listener.sock.settimeout(None)

    def serve():
        while True:
            try:
                sock, _ = listener.sock.accept()
            except OSError:
                return
            with sock:
                try:
                    sock.sendall(sock.recv(1))
                    sock.recv(1)
                except ConnectionError:
                    pass

    threads = [threading.Thread(target=serve) for _ in range(8)]
    for thread in threads:
        thread.start()
    yield listener.address
    listener.sock.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()


@pytest.fixture
def flood(echo):
    """flood(...): a Flood that ends before the servers do."""
    floods = []
    yield lambda *how: floods.append(Flood(*how))
    for each in floods:
        each.close()


def is_served(where, header):
    with where.socket() as sock:
        sock.settimeout(PATIENCE)
        try:
            sock.connect(where.sockaddr)
            sock.sendall(header + b"x")
            return sock.recv(1) == b"x"
        except (ConnectionError, socket.timeout):
            return False


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("way", WAYS)
def test_a_flood_of_who_may_not_come_in_does_not_keep_out_who_may(weir, echo, flood, way, limits):
    bind, lines, words, keep, header = WAYS[way]
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0 {bind}\nserver a = {echo}\n{LIMITS[limits]}\n{lines}\n")
    where = daemon.address("l")
    flood(where, words, keep)
    few = 6 if way == "silent" else 5 * THREADS
    wait_until(lambda: daemon.info()["accepted"] >= few, "a flood")
    begin = time.monotonic()
    served = 0
    while served < CLIENTS and time.monotonic() < begin + SECONDS * SCALE:
        served += is_served(where, header)
    took = time.monotonic() - begin
    print(f"{way} {limits}: {served} in {took:.2f} s")
    assert served == CLIENTS, f"{served} of {CLIENTS} in {took:.1f} s"
