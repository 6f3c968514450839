# SPDX-License-Identifier: MIT
"""Danger: one worker gets most of a few long flows while another is idle."""

import re
import threading

import pytest

from harness.timing import wait_until

FLOWS = 8
ROUNDS = 10


def workers_of_sessions(daemon):
    return sorted(int(m[1]) for m in re.finditer(r"\bid=(\d+)\.", daemon.ask("show sess")))


def connect_in_a_row(peers, where):
    return [peers.connect(where) for _ in range(FLOWS)]


def connect_at_once(peers, where):
    clients = []
    start = threading.Barrier(FLOWS)

    def connect():
        start.wait()
        clients.append(peers.connect(where))
    threads = [threading.Thread(target=connect) for _ in range(FLOWS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(clients) == FLOWS
    return clients


@pytest.mark.smoke
@pytest.mark.parametrize("connect", (connect_in_a_row, connect_at_once))
def test_eight_long_flows_are_four_and_four(weir, peers, connect):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n", "threads = 2")
    for n in range(ROUNDS):
        clients = {c.conn: c for c in connect(peers, daemon.address("l"))}
        servers = [peers.accept(listener) for _ in range(FLOWS)]
        for server in servers:
            clients[server.conn].send(50000)
            server.receive(50000)
            server.send(50000)
            clients[server.conn].receive(50000)
        assert workers_of_sessions(daemon) == [0] * 4 + [1] * 4, f"in round {n}"
        for server in servers:
            server.close()
            clients[server.conn].close()
        wait_until(lambda: daemon.info()["sessions"] == 0, "all sessions have ended")


def test_who_comes_for_a_flow_that_has_ended_keeps_it_even(weir, peers):
    """One flow of the same worker ends each time: its place is taken by the next."""
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n", "threads = 2")
    flows = [peers.pair(daemon.address("l"), listener) for _ in range(FLOWS)]
    for n in range(2 * FLOWS):
        client, server = flows.pop(0)
        client.close()
        server.close()
        wait_until(lambda: daemon.info()["sessions"] == FLOWS - 1, "one session less")
        flows.append(peers.pair(daemon.address("l"), listener))
        assert workers_of_sessions(daemon) == [0] * 4 + [1] * 4, f"after {n + 1} have gone"
