# SPDX-License-Identifier: MIT
"""Danger: connections that do nothing cost memory, pipes, descriptors or CPU."""

import socket
import time

import pytest

from harness import process, trace
from harness.timing import wait_until
from harness.web import get

MANY = 5000
FEW = 500
# Session structures come in slabs, and the heap grows by pages.
FIXED = 256 << 10
EACH = 512


def open_many(peers, where, listener, count):
    """Sessions that have moved bytes both ways and then fall silent."""
    for _ in range(count):
        client, server = peers.pair(where, listener)
        server.send(2000)
        client.receive(2000)


@pytest.mark.release_only
def test_5000_idle_connections_cost_two_descriptors_and_half_a_kilobyte(weir, peers, folder, descriptors):
    descriptors(2 * MANY + 500)
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
                  "[stats]\nbind = 127.0.0.1:0\n",
                  f"maxconn = {MANY + 100}\nmaxpipes = 64\nsplice = on")
    where = daemon.address("l")

    def rest():
        """Waits until pipes and buffers have been given back; returns the memory in use."""
        wait_until(lambda: daemon.info()["pipes_resting"] == 0 and
                   daemon.pools()["pipes_made"] == 0 and daemon.info()["bufs_in_use"] == 0,
                   lambda: f"no pipe, no buffer: {daemon.pools()}")
        return process.rss_anon(daemon.pid)

    open_many(peers, where, listener, FEW)
    before = rest()
    open_many(peers, where, listener, MANY - FEW)
    grown = rest() - before
    assert daemon.info()["sessions"] == MANY

    def more_fds():
        return len(process.descriptors(daemon.pid)) - len(daemon.baseline["fds"])
    # The admin connection closes a moment later.
    wait_until(lambda: more_fds() == 2 * MANY, lambda: f"{more_fds()} descriptors for {MANY} connections")
    print(f"{grown / (MANY - FEW):.0f} bytes of memory a connection")
    limit = (MANY - FEW) * EACH + FIXED
    assert grown <= limit, f"{grown / (MANY - FEW):.0f} bytes of memory a connection"
    ticks = daemon.cpu_over(1.0)
    assert ticks <= 1, f"{ticks} ticks of CPU in 1 s with {MANY} idle connections"
    if trace.missing():
        print(f"system calls not counted: {trace.missing()}")
        return
    assert get(daemon, "/metrics")[0] == 200
    calls = trace.Trace(daemon.pid, folder)
    time.sleep(1.0)
    count = calls.stop()
    assert not count, f"system calls of an idle daemon within 1 s: {dict(count)}"


def test_the_final_check_knows_an_admin_connection_in_any_namespace(network, weir, folder):
    """A daemon in a network namespace: what it accepts from outside is in none of its own lists."""
    daemon = weir(f"[listen l]\nbind = unix:{folder}/s\nserver a = unix:{folder}/t\n",
                  wrapper=network.wrapper)
    before = process.passing_sockets(daemon.pid)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(daemon.admin)
        wait_until(lambda: len(process.passing_sockets(daemon.pid) - before) == 1, "it is accepted")
    wait_until(lambda: process.passing_sockets(daemon.pid) <= before, "it is gone")
