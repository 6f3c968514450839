# SPDX-License-Identifier: MIT
"""Danger: slow readers exhaust the memory of the service's control group, and the kernel kills the daemon."""

import socket

import pytest

from harness import cgroup
from harness.timing import PATIENCE, SCALE, stays, wait_until

LIMIT = 64 << 20
READERS = 2500
REPLY = bytes(1 << 18)


@pytest.fixture
def group(descriptors):
    """Name it before `weir`: a group goes when it is empty."""
    made, why = cgroup.make(LIMIT)
    if made is None:
        pytest.skip(why)
    descriptors(20000)
    yield made
    made.close()


class Crowd:
    """Clients that read nothing of a large reply, and the server that sends it."""

    def __init__(self, peers, daemon):
        self.peers = peers
        self.daemon = daemon
        self.server = peers.server
        self.server.setblocking(False)
        self.clients = []
        self.replies = []

    def connect(self):
        s = self.peers.keep(socket.socket())
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.setblocking(False)
        s.connect_ex(self.daemon.address("l").sockaddr)
        self.clients.append(s)

    def arrivals(self):
        while True:
            try:
                yield self.server.accept()[0]
            except BlockingIOError:
                return

    def serve(self):
        """Accepts the clients that have come through, and sends what there is room for."""
        for s in self.arrivals():
            s.setblocking(False)
            self.replies.append(self.peers.keep(s))
            s.send(REPLY)

    def leave(self):
        for s in self.clients + self.replies:
            s.close()
        self.clients.clear()
        self.replies.clear()
        self.peers.things[:] = [self.server]

    def has_gone(self):
        self.serve()
        self.leave()
        return self.daemon.info()["sessions"] == 0


def attack(crowd, count):
    def check_alive():
        crowd.serve()
        assert crowd.daemon.child.poll() is None, \
            f"killed ({crowd.daemon.child.poll()}) by {len(crowd.replies)} slow readers"

    for i in range(count):
        crowd.connect()
        if i % 50 == 0:
            check_alive()
    def is_paused():
        check_alive()
        if crowd.daemon.info()["accept_pauses"] > 0:
            return True
        if len(crowd.clients) < 2 * count:
            for _ in range(20):
                crowd.connect()
        return False

    wait_until(is_paused, lambda: f"acceptance pauses: {crowd.daemon.info()}", patience=2 * PATIENCE)
    stays(lambda: not check_alive(), 0.3 * SCALE)
    assert "reason=" not in crowd.daemon.log(), "those who were let in stay"


def start(weir, peers, group, options=""):
    peers.server = peers.keep(socket.create_server(("127.0.0.1", 0), backlog=4096))
    port = peers.server.getsockname()[1]
    # Little fits into the sockets, and the daemon holds the rest.
    config = f"[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:{port}\ntcp-notsent-lowat = 16k\n"
    return weir(config, options, wrapper=group.wrapper)


def check_served(crowd):
    """A new client gets a complete reply, after clients of the crowd that left while they waited."""
    wait_until(crowd.has_gone, "the crowd has left", patience=2 * PATIENCE)
    client = crowd.peers.keep(socket.create_connection(crowd.daemon.address("l").sockaddr))
    client.setblocking(False)
    parts = []

    def is_answered():
        for server in crowd.arrivals():
            try:
                server.send(REPLY[:50000])
            except ConnectionError:
                pass
            server.close()
        try:
            parts.append(client.recv(65536))
        except BlockingIOError:
            return False
        return parts[-1] == b""

    wait_until(is_answered, "a client is let in again", patience=2 * PATIENCE)
    assert sum(map(len, parts)) == 50000


@pytest.mark.release_only
def test_with_an_automatic_maxconn_what_fits_is_let_in(group, weir, peers):
    daemon = start(weir, peers, group)
    assert "64 MiB of memory" in daemon.log()
    assert daemon.info()["maxconn"] < READERS
    crowd = Crowd(peers, daemon)
    attack(crowd, READERS)
    check_served(crowd)


@pytest.mark.release_only
def test_with_a_maxconn_that_does_not_fit_acceptance_pauses_before_the_kernel_kills(group, weir, peers):
    daemon = start(weir, peers, group, "maxconn = 8000")
    assert "8000 idle connections" in daemon.log(), "a warning with figures"
    crowd = Crowd(peers, daemon)
    attack(crowd, READERS)
    wait_until(lambda: daemon.info()["memory_pauses"] > 0, lambda: f"acceptance pauses: {daemon.info()}")
    info = daemon.info()
    assert info["memory_limit_bytes"] == LIMIT and 0 < info["memory_used_bytes"] <= LIMIT, info
    check_served(crowd)
    wait_until(lambda: "memory is short: the control group uses" in daemon.log(), daemon.log)
    wait_until(lambda: daemon.info()["memory_is_short"] == 0, "memory is short no longer")
    wait_until(lambda: "new clients are accepted again" in daemon.log(), daemon.log)
    assert len([line for line in daemon.log().splitlines() if "the control group uses" in line]) < 20
