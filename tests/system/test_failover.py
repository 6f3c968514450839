# SPDX-License-Identifier: MIT
"""Danger: a server dies under load, and clients of other servers notice; or new clients are sent to it and
get an error although other servers are up."""

import threading

import pytest

from harness import peer
from harness.keyed_server import KeyedServer
from harness.stage import next_conn
from harness.timing import PATIENCE, wait_until

STEADY = 24
COMERS = 6
VICTIM = 1
PIECE = 20_000


class Steady(threading.Thread):
    """A client that stays: sends and receives in rounds until it is told to end, or cannot go on."""

    def __init__(self, where, stop):
        super().__init__()
        self.where = where
        self.stop = stop
        self.server = None  # number of the one that serves it
        self.rounds = 0
        self.error = None

    def run(self):
        try:
            client = peer.connect(self.where, next_conn())
            with client.sock:
                self.talk(client)
        except (AssertionError, OSError) as e:
            self.error = e

    def talk(self, client):
        number = client.sock.recv(1)
        assert number, f"{client}: ended before a server spoke"
        self.server = number[0]
        while not self.stop.is_set():
            self.round(client)
        client.fin()
        assert client.receive_to_end() == "fin"

    def round(self, client):
        client.send(PIECE)
        client.receive(PIECE)
        self.rounds += 1


class Comer(Steady):
    """One round, and away."""

    def talk(self, client):
        number = client.sock.recv(1)
        assert number, f"{client}: ended before a server spoke"
        self.server = number[0]
        self.round(client)
        client.fin()
        assert client.receive_to_end() == "fin"


class Coming(threading.Thread):
    """Short clients, one after the other: those that began before the death, and those after it."""

    def __init__(self, where, stop, dead):
        super().__init__()
        self.where = where
        self.stop = stop
        self.dead = dead
        self.before = []
        self.after = []

    def run(self):
        while not self.stop.is_set():
            group = self.after if self.dead.is_set() else self.before
            comer = Comer(self.where, self.stop)
            comer.run()
            group.append(comer)


@pytest.mark.smoke
@pytest.mark.parametrize("limit", ("", " maxconn=10"), ids=("unlimited", "queued"))
@pytest.mark.parametrize("threads", (1, 4))
def test_a_killed_server_costs_its_own_clients_their_connection_and_nobody_else_anything(
        weir, peers, closing, threads, limit):
    servers = [KeyedServer(peers.listen(hold=True), n) for n in range(3)]
    for server in servers:
        closing.append(server)
    # More clients than places, where there are limits: some wait all the time.
    lines = "".join(f"server s{s.number} = {s.address}{limit}\n" for s in servers)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\n{lines}retries = 3\n", f"threads = {threads}")
    where = daemon.address("l")
    stop, dead = threading.Event(), threading.Event()
    steady = [Steady(where, stop) for _ in range(STEADY)]
    coming = [Coming(where, stop, dead) for _ in range(COMERS)]
    for thread in steady + coming:
        thread.start()
    try:
        wait_until(lambda: all(s.rounds > 2 for s in steady), "all are served")
        servers[VICTIM].kill()
        dead.set()
        wait_until(lambda: all(len(c.after) > 10 for c in coming), "new ones come", 2 * PATIENCE)
        rounds = [s.rounds for s in steady]
        wait_until(lambda: all(s.rounds > n + 2 for s, n in zip(steady, rounds) if s.server != VICTIM),
                   "those of the others go on")
    finally:
        stop.set()
        for thread in steady + coming:
            thread.join()
    hit = [s for s in steady if s.server == VICTIM]
    assert len(hit) >= STEADY // 6, "the victim had its share"
    assert all(s.error for s in hit), "who was on it has lost its connection"
    wrong = [s.error for s in steady if s.server != VICTIM and s.error]
    for c in coming:
        # One that was on it, or in its backlog, when it died.
        wrong += [x.error for x in c.before if x.error and x.server not in (VICTIM, None)]
        wrong += [x.error for x in c.after if x.error]
        assert sum(x.error is not None for x in c.before) <= 1
        assert all(x.server != VICTIM for x in c.after)
    assert not wrong, wrong
    wait_until(lambda: daemon.info()["sessions"] == 0, "all have ended")
    bad = [line for line in daemon.session_lines() if line["ts_code"] != "--"]
    assert all(line["server"] == f"s{VICTIM}" for line in bad), bad
