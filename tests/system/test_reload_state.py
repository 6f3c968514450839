# SPDX-License-Identifier: MIT
"""Danger: what a reload does not change loses its state: a count, a verdict of health checks, a place in the
queue, an administrator's order. One row for each kind of state."""

import csv
import socket
import time

import pytest

from harness import process
from harness.service import Service
from harness.timing import wait_until

# Something else in the file, so that the reload has to do with everything.
OTHER = "[listen other]\nbind = 127.0.0.1:0\nserver x = 127.0.0.1:1\n"


def stat(daemon, proxy, name):
    rows = csv.DictReader(daemon.ask("show stat").lstrip("# ").splitlines())
    return next(row for row in rows if (row["pxname"], row["svname"]) == (proxy, name))


def columns(daemon, proxy, name, *wanted):
    row = stat(daemon, proxy, name)
    return {key: row[key] for key in wanted}


class World:
    """A daemon with one frontend and two servers, one of which is checked."""

    def __init__(self, weir, peers, backend="", frontend="", server=""):
        self.peers = peers
        self.one, self.two = peers.listen(), peers.listen()
        self.daemon = weir(f"[frontend web]\nbind = 127.0.0.1:0\ndefault-backend = app\n{frontend}"
                           f"[backend app]\n{backend}"
                           f"server a = {self.one.address}{server}\nserver b = {self.two.address} backup\n")
        self.address = self.daemon.address("web")

    def pair(self):
        return self.peers.pair(self.address, self.one)

    def reload(self):
        """Once with something added elsewhere, once without it again."""
        self.daemon.reload(self.daemon.config + OTHER, words=())
        self.daemon.reload(self.daemon.config.replace(OTHER, ""), words=())


@pytest.fixture
def world(weir, peers):
    return lambda **kw: World(weir, peers, **kw)


@pytest.mark.smoke
def test_sessions_and_their_bytes(world):
    w = world()
    client, server = w.pair()
    client.send(10000)
    server.receive(5000)
    w.reload()
    server.receive(5000)
    server.send(70000)
    client.receive(70000)
    client.fin()
    server.receive_to_end()
    server.fin()
    client.receive_to_end()


def test_the_listener_and_those_who_are_queued_in_it(world):
    w = world(frontend="maxconn = 1\n")
    process.wait_for_admin(w.daemon.pid)
    first, server = w.pair()
    waiting = [socket.create_connection(("127.0.0.1", w.address.port)) for _ in range(3)]
    before = sorted(process.descriptors(w.daemon.pid))
    w.reload()
    wait_until(lambda: sorted(process.descriptors(w.daemon.pid)) == before, "descriptors are the same")
    first.fin()
    server.fin()
    for s in waiting:
        s.close()
        w.one.accept().close()
    wait_until(lambda: w.daemon.info()["sessions"] == 0, "all are served")


def test_statistics(world):
    w = world()
    for _ in range(3):
        client, server = w.pair()
        client.send(1000)
        server.receive(1000)
        client.fin()
        server.fin()
    wait_until(lambda: w.daemon.info()["sessions"] == 0, "all have ended")
    wanted = ("stot", "bin", "bout", "smax")
    before = [columns(w.daemon, "app", name, *wanted) for name in ("a", "BACKEND")]
    front = columns(w.daemon, "web", "FRONTEND", *wanted)
    accepted = w.daemon.info()["accepted"]
    w.reload()
    assert [columns(w.daemon, "app", name, *wanted) for name in ("a", "BACKEND")] == before
    assert columns(w.daemon, "web", "FRONTEND", *wanted) == front
    assert w.daemon.info()["accepted"] == accepted


@pytest.mark.parametrize("state", ("drain", "maint"))
def test_an_administrative_state(world, state):
    w = world()
    w.daemon.ask(f"set server app/a state {state}")
    before = columns(w.daemon, "app", "a", "status", "lastchg")["status"]
    w.reload()
    assert stat(w.daemon, "app", "a")["status"] == before != "no check"
    w.daemon.ask("set server app/a state ready")


@pytest.mark.parametrize("command, column, value", [
    ("set server app/a weight 7", "weight", "7"), ("set maxconn server app/a 5", "slim", "5")])
def test_an_override_until_the_file_changes_it(world, command, column, value):
    w = world(server=" weight=3 maxconn=9")
    assert w.daemon.ask(command).strip() == ""
    w.reload()
    assert stat(w.daemon, "app", "a")[column] == value
    w.daemon.reload("weight=3 maxconn=9", "weight=4 maxconn=8", words=())
    assert stat(w.daemon, "app", "a")[column] == {"weight": "4", "slim": "8"}[column]


def test_the_verdict_of_health_checks_and_their_history(world, weir, peers, folder):
    service = Service()
    other = peers.listen()
    daemon = weir("[listen app]\nbind = 127.0.0.1:0\ncheck = tcp\ncheck-interval = 100ms\ncheck-fall = 2\n"
                  f"server a = {service.address}\nserver b = {other.address} check=off\n")
    service.die()
    wait_until(lambda: stat(daemon, "app", "a")["status"].startswith("DOWN"), "it is down")
    before = daemon.ask("show servers history app/a")
    daemon.reload(daemon.config + OTHER, words=())
    assert stat(daemon, "app", "a")["status"].startswith("DOWN")
    assert daemon.ask("show servers history app/a").splitlines()[:2] == before.splitlines()[:2]
    daemon.reload(daemon.config.replace(OTHER, ""), words=())
    service.close()


def test_the_queue_and_its_order(world):
    w = world(backend="timeout-queue = 60s\n", server=" maxconn=1")
    w.daemon.ask("set server app/b state maint")
    first, server = w.pair()
    waiting = []
    for i in range(4):
        waiting.append(w.peers.connect(w.address))
        wait_until(lambda i=i: int(stat(w.daemon, "app", "BACKEND")["qcur"]) == i + 1, "it waits")
    w.reload()
    assert int(stat(w.daemon, "app", "BACKEND")["qcur"]) == 4
    for client in [first] + waiting:
        assert server.conn == client.conn
        client.fin()
        server.receive_to_end()
        server.fin()
        client.receive_to_end()
        if client is not waiting[-1]:
            server = w.peers.accept(w.one)
    w.daemon.ask("set server app/b state ready")


def test_the_rate_window(world):
    w = world(frontend="rate-limit = 5\n")
    for _ in range(5):
        begin = time.monotonic()
        for _ in range(5):
            client, server = w.pair()
            client.fin()
            server.fin()
        before = w.daemon.info()["rate_pauses"]
        w.reload()
        late = w.peers.connect(w.address)
        w.peers.accept(w.one).fin()
        late.fin()
        if w.daemon.info()["rate_pauses"] > before:
            return
        took = time.monotonic() - begin
        assert took > 1, f"the sixth within {took:.2f} s did not wait"
        time.sleep(2)   # for a busy machine, another second of five
    raise AssertionError("this machine is too slow to let six come within a second")


def test_the_source_table(world):
    w = world(frontend="maxconn-per-source = 1\n")
    client, server = w.pair()
    w.reload()
    assert w.peers.connect(w.address, hello=False).receive_to_end() == "reset"
    assert w.daemon.info()["source_limited"] >= 1
    client.fin()
    server.fin()


def test_a_slow_start(world, weir, peers):
    one, two = peers.listen(), peers.listen()
    daemon = weir("[listen app]\nbind = 127.0.0.1:0\n"
                  f"server a = {one.address} weight=100 slowstart=60s\nserver b = {two.address} weight=100\n")
    daemon.ask("set server app/a state maint")
    daemon.ask("set server app/a state ready")
    before = int(stat(daemon, "app", "a")["throttle"])
    assert before < 50
    daemon.reload(daemon.config + OTHER, words=())
    assert before <= int(stat(daemon, "app", "a")["throttle"]) < 90
    daemon.reload(daemon.config.replace(OTHER, ""), words=())


def test_totals_of_a_removed_server_stay_with_its_backend(world):
    w = world()
    client, server = w.pair()
    client.fin()
    server.fin()
    client.receive_to_end()
    wait_until(lambda: w.daemon.info()["sessions"] == 0, "it has ended")
    before = columns(w.daemon, "app", "BACKEND", "stot", "bin")
    w.daemon.reload(f"server a = {w.one.address}\n", "")
    assert columns(w.daemon, "app", "BACKEND", "stot", "bin") == before
