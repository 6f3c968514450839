# SPDX-License-Identifier: MIT
"""Danger: out of descriptors, the daemon spins, floods the log, dies, or forgets waiting clients."""

import os
import resource
import time

import pytest

from harness import process
from harness.timing import NotInTime, SCALE

CLIENTS = 100


def serve_all(peers, listener, clients):
    """Serves whoever comes, each to its end; returns how many were served and how many failed."""
    waiting = {c.conn: c for c in clients}
    served = failed = 0
    while waiting:
        try:
            server = peers.accept(listener, patience=3.0 * SCALE)
        except NotInTime:
            break
        client = waiting.pop(server.conn)
        client.send(1000)
        server.receive(1000)
        server.send(5000)
        server.fin()
        assert client.receive_to_end() == "fin" and client.received == 5000
        client.close()
        server.close()
        served += 1
    for client in waiting.values():
        try:
            failed += client.receive_to_end() is not None
        except NotInTime:
            pass
    return served, failed


def check_calm(daemon):
    """While clients wait: no CPU, a bounded log, and the admin socket answers."""
    lines = len(daemon.log().splitlines())
    begin = time.monotonic()
    ticks = daemon.cpu_over(1.0)  # one to three windows
    took = time.monotonic() - begin
    more = len(daemon.log().splitlines()) - lines
    assert ticks <= 5, f"{ticks} ticks of CPU in 1 s while clients wait for descriptors"
    # A few per second, worker and cause, and a line with the number left out.
    assert more <= 25 * took, f"{more} log lines in {took:.1f} s:\n" + daemon.log()[-3000:]
    begin = time.monotonic()
    assert daemon.info()["pid"] == daemon.pid
    assert time.monotonic() - begin < 1.0 * SCALE


def test_with_few_descriptors_from_the_start_all_are_served_in_turn(weir, peers):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                  wrapper=["prlimit", "--nofile=100:100"])
    maxconn = daemon.info()["maxconn"]
    assert 0 < maxconn < 50, f"maxconn {maxconn} of 100 descriptors"
    clients = [peers.connect(daemon.address("l")) for _ in range(CLIENTS)]
    check_calm(daemon)
    assert serve_all(peers, listener, clients) == (CLIENTS, 0)


@pytest.mark.parametrize("spare", (20, 21))
def test_when_descriptors_run_out_later_all_are_served_as_some_come_free(weir, peers, spare):
    """The limit falls while the daemon runs, so that accept and socket meet EMFILE; with an odd
    number of free ones the last accept leaves none for the connect."""
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                  "maxconn = 500\nmaxpipes = 0")
    limit = max(int(n) for n in _numbers(daemon.pid)) + 1 + spare
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (limit, limit))
    clients = [peers.connect(daemon.address("l")) for _ in range(CLIENTS)]
    check_calm(daemon)
    served, failed = serve_all(peers, listener, clients)
    assert served + failed == CLIENTS, f"{served} served, {failed} refused: the rest is forgotten"
    # Who was accepted with the last descriptor is refused when its three tries for another, a second apart,
    # are over: how many are depends on how fast this test frees some.
    assert served >= CLIENTS - 20, f"only {served} of {CLIENTS} served, {failed} refused"
    assert process.cpu_ticks(daemon.pid) < 100


def _numbers(pid):
    return os.listdir(f"/proc/{pid}/fd")
