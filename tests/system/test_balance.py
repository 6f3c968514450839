# SPDX-License-Identifier: MIT
"""Danger: a client reaches a server that the algorithm would not have chosen."""

import random
import select

import pytest

from harness.timing import PATIENCE, wait_until


class Farm:
    """Servers of one test; a client that is let in names the server that it came to."""

    def __init__(self, peers, names):
        self.peers = peers
        self.listeners = {name: peers.listen() for name in names}

    def lines(self, names=None, options=""):
        return "".join(f"server {n} = {self.listeners[n].address} {options}\n"
                       for n in names or self.listeners)

    def connect(self, where, source=None):
        """The server's name, its end, and the client's."""
        def bound(target):
            sock = target.socket()
            if source:
                sock.bind((source, 0))
            return sock

        client = self.peers.connect(where, socket_maker=bound)
        ready, _, _ = select.select([l.sock for l in self.listeners.values()], [], [], PATIENCE)
        assert len(ready) == 1, f"{len(ready)} servers are asked for one client"
        name = next(n for n, l in self.listeners.items() if l.sock is ready[0])
        server = self.peers.accept(self.listeners[name])
        assert server.conn == client.conn
        return name, server, client

    def visit(self, where, source=None):
        """Comes, is noted, and leaves."""
        name, server, client = self.connect(where, source)
        client.fin()
        server.fin()
        assert (client.receive_to_end(), server.receive_to_end()) == ("fin", "fin")
        return name


def _checksum(daemon):
    words = daemon.ask("show hash").split()
    return next(w for w in words if w.startswith("checksum="))



CLIENTS = [f"127.0.77.{n}" for n in range(1, 25)]


@pytest.mark.smoke
@pytest.mark.parametrize("how", ("source", "source hash=consistent", "maglev"))
def test_a_client_stays_at_its_server_on_every_worker_and_every_machine(weir, peers, how):
    names = ["s1", "s2", "s3", "s4", "s5"]
    farm = Farm(peers, names)
    shuffled = names[:]
    random.Random(1).shuffle(shuffled)
    assert shuffled != names
    one, two = (weir(f"[listen l]\nbind = 127.0.0.1:0\nbalance = {how}\n" + farm.lines(order, "weight=10"),
                     "threads = 4") for order in (names, shuffled))
    owners = {c: farm.visit(one.address("l"), c) for c in CLIENTS}
    assert len(set(owners.values())) >= 3, f"all at {set(owners.values())}"
    for _ in range(3):
        assert {c: farm.visit(one.address("l"), c) for c in CLIENTS} == owners
    assert {c: farm.visit(two.address("l"), c) for c in CLIENTS} == owners
    assert _checksum(one) == _checksum(two)

    one.ask("set server l/s2 state maint")
    assert _checksum(one) != _checksum(two)
    now = {c: farm.visit(one.address("l"), c) for c in CLIENTS}
    assert "s2" not in now.values()
    if "consistent" in how:
        assert all(now[c] == owners[c] for c in CLIENTS if owners[c] != "s2")
    one.ask("set server l/s2 state ready")
    assert _checksum(one) == _checksum(two)
    assert {c: farm.visit(one.address("l"), c) for c in CLIENTS} == owners


def test_first_fills_one_server_after_the_other(weir, peers):
    farm = Farm(peers, ["a", "b", "c"])
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\nbalance = first\n" + farm.lines(options="maxconn=2"),
                  "threads = 4")
    held = [farm.connect(daemon.address("l")) for _ in range(5)]
    assert [name for name, _, _ in held] == ["a", "a", "b", "b", "c"]
    for end in held[2][1:]:
        end.close()
    wait_until(lambda: daemon.info()["sessions"] == 4, "the third has left")
    assert farm.connect(daemon.address("l"))[0] == "b"


@pytest.mark.parametrize("how", ("leastconn", "random(16)"))
def test_connections_that_stay_are_evened_out(weir, peers, how):
    farm = Farm(peers, ["a", "b", "c"])
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nbalance = {how}\n" + farm.lines(), "threads = 4")
    held = [farm.connect(daemon.address("l")) for _ in range(12)]
    assert sorted(name for name, _, _ in held) == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    for name, server, client in held:
        if name == "b":
            server.close()
            client.close()
    wait_until(lambda: daemon.info()["sessions"] == 8, "those of one server have left")
    assert [farm.connect(daemon.address("l"))[0] for _ in range(4)] == ["b"] * 4


def test_a_hot_client_is_spread_when_load_is_bounded(weir, peers):
    farm = Farm(peers, ["a", "b", "c"])
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\nbalance = maglev hash-balance-factor=150\n"
                  + farm.lines(), "threads = 4")
    names = [farm.connect(daemon.address("l"))[0] for _ in range(12)]
    # (12 * 150 + 99) / 100 = 18 slots: six for each of three.
    assert max(names.count(n) for n in "abc") <= 6, names
    assert names.count(names[0]) >= 4, names


@pytest.mark.parametrize("all_of_them", (False, True))
def test_backups_serve_when_no_other_does(weir, peers, all_of_them):
    farm = Farm(peers, ["a", "b", "c"])
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\n" + ("allbackups = on\n" if all_of_them else "")
                  + farm.lines(["a"]) + farm.lines(["b", "c"], "backup"))
    daemon.expected_alarms = "has no server left"
    assert {farm.visit(daemon.address("l")) for _ in range(4)} == {"a"}
    daemon.ask("set server l/a state maint")
    assert {farm.visit(daemon.address("l")) for _ in range(4)} == ({"b", "c"} if all_of_them else {"b"})
    wait_until(lambda: "server l/a is MAINT" in daemon.log(), "the change is written")
    daemon.ask("set server l/b state drain")
    assert {farm.visit(daemon.address("l")) for _ in range(4)} == {"c"}
    daemon.ask("set server l/c weight 0")
    wait_until(lambda: "backend l has no server left" in daemon.log(), "the alert is written")
    assert peers.connect(daemon.address("l"), hello=False).receive_to_end() in ("fin", "reset")
    daemon.ask("set server l/a state ready")
    assert {farm.visit(daemon.address("l")) for _ in range(4)} == {"a"}
