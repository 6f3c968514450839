# SPDX-License-Identifier: MIT
"""Danger: reloads let one more connection in than maxconn allows, let a client overtake another, or lose one
that waits. The full figures: WEIR_TEST_QUEUED=200 WEIR_TEST_RELOADS=200."""

import os
import threading

import pytest

from harness import exchange
from harness.exchange import Leg
from harness.timing import PATIENCE, wait_until
from test_queue import nobody_comes, queued

LIMIT = 4
QUEUED = int(os.environ.get("WEIR_TEST_QUEUED", "40"))
RELOADS = int(os.environ.get("WEIR_TEST_RELOADS", "30"))


class Reloads:
    """Asks for one reload after another, each of a file that differs from the one before it."""

    def __init__(self, daemon, variants):
        self.daemon, self.variants = daemon, variants
        self.count = 0
        self.failed = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            while self.count < RELOADS:
                self.daemon.replace(self.variants[self.count % len(self.variants)])
                said = self.daemon.ask("reload")
                assert "reloaded: generation " in said and "not reloaded" not in said, said
                self.count += 1
        except BaseException as e:  # pylint: disable=broad-except
            self.failed = e

    def join(self):
        self.thread.join()
        if self.failed:
            raise self.failed


def variants(text):
    """What changes: the server's settings, those of its backend and frontend, other servers, nothing."""
    more = "[listen more]\nbind = 127.0.0.1:0\nserver x = 127.0.0.1:1\n"
    found = [text, text.replace(f"maxconn={LIMIT}", f"weight=7 maxconn={LIMIT}"), text + more,
             text.replace("timeout-queue = 2m", "timeout-queue = 3m\nbalance = leastconn"),
             text.replace("timeout-connect = 5s", "timeout-connect = 6s"),
             text.replace("bind = 127.0.0.1:0\n", "bind = 127.0.0.1:0 backlog=77\n", 1)]
    assert len(set(found)) == len(found)
    return found


@pytest.mark.parametrize("threads", (1, 4))
def test_reloads_let_nobody_overtake_and_nobody_in_beyond_maxconn(weir, peers, threads):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\ntimeout-queue = 2m\ntimeout-connect = 5s\n"
                  f"server a = {listener.address} maxconn={LIMIT}\n", f"threads = {threads}")
    clients = {}
    for n in range(QUEUED + LIMIT):
        client = peers.connect(daemon.address("l"))
        clients[client.conn] = client
        if n < LIMIT:
            wait_until(lambda: daemon.info()["connects"] == len(clients), "it is let in")
        else:
            wait_until(lambda n=n: len(queued(daemon)) == n + 1 - LIMIT, "it waits")
    order = list(clients)
    active = [peers.accept(listener) for _ in range(LIMIT)]
    assert sorted(s.conn for s in active) == order[:LIMIT]
    text = daemon.config
    reloads = Reloads(daemon, variants(text))
    for n in range(LIMIT, QUEUED + LIMIT):
        # As many reloads as clients, on average.
        due = (n - LIMIT) * RELOADS // QUEUED
        wait_until(lambda due=due: reloads.count >= due or reloads.failed, "reloads go on", 3 * PATIENCE)
        server = active.pop(n % LIMIT)
        client = clients.pop(server.conn)
        exchange.run([Leg(client, send=5000, receive=5000), Leg(server, send=5000, receive=5000)])
        active.append(peers.accept(listener))
        assert active[-1].conn == order[n], f"{order[n]} should be next, {active[-1].conn} came"
        if n % 10 == 0:
            assert nobody_comes(peers, listener, 0.05)
    reloads.join()
    for server in active:
        client = clients.pop(server.conn)
        exchange.run([Leg(client, send=5000, receive=5000), Leg(server, send=5000, receive=5000)])
    assert not clients and daemon.info()["generation"] == RELOADS + 1
    daemon.reload(text)
