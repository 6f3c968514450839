# SPDX-License-Identifier: MIT
"""Danger: the daemon keeps the memory that a burst of connections needed."""

import socket

import pytest

from harness import process
from harness.timing import PATIENCE, wait_until

SESSIONS = 3000
# What may stay of each: its share of directories, pages that something younger holds, and log buffers.
LEFT_BYTES = 120


def open_all(peers, daemon, count, words=b""):
    """`count` sessions, each with a server; `words` go first."""
    where = daemon.address("l").sockaddr
    clients, servers = [], []
    for _ in range(count):
        clients.append(peers.keep(socket.create_connection(where)))
        clients[-1].sendall(words)
        servers.append(peers.keep(peers.server.accept()[0]))
    wait_until(lambda: daemon.info()["sessions"] == count, "all are forwarded", patience=2 * PATIENCE)
    return clients, servers


def close_all(peers, daemon):
    for thing in peers.things:
        if thing is not peers.server:
            thing.close()
    peers.things[:] = [peers.server]
    wait_until(lambda: daemon.info()["sessions"] == 0, "all sessions end", patience=2 * PATIENCE)


@pytest.fixture
def burst(weir, peers, descriptors):
    """burst(options, words): bytes per session at the peak, and those that remain when idle."""
    def run(options="", words=b""):
        descriptors(2 * SESSIONS + 1000)
        peers.server = peers.keep(socket.create_server(("127.0.0.1", 0), backlog=4096))
        port = peers.server.getsockname()[1]
        daemon = weir(f"[listen l]\nbind = 127.0.0.1:0{options}\nserver a = 127.0.0.1:{port}\n")
        open_all(peers, daemon, 16, words)
        close_all(peers, daemon)
        before = process.rss_anon(daemon.pid)
        open_all(peers, daemon, SESSIONS, words)
        peak = (process.rss_anon(daemon.pid) - before) // SESSIONS
        close_all(peers, daemon)

        def left():
            return (process.rss_anon(daemon.pid) - before) // SESSIONS
        wait_until(lambda: left() <= LEFT_BYTES,
                   lambda: f"{left()} bytes of each of {SESSIONS} sessions stay, of {peak} at the peak")
        print(f"a session: {peak} bytes at the peak, {left()} at rest")
        assert daemon.info()["sessions"] == 0
    return run


@pytest.mark.release_only
def test_the_memory_of_sessions_goes_back_within_a_few_cycles(burst):
    burst()


@pytest.mark.release_only
def test_the_memory_of_sessions_with_a_proxy_header_goes_back(burst):
    burst(" accept-proxy=always", b"PROXY TCP4 192.0.2.1 192.0.2.2 1000 443\r\n")
