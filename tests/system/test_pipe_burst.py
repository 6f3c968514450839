# SPDX-License-Identifier: MIT
"""Danger: the pipes of a burst are kept for ever, or are closed just before the next burst."""


import pytest

from harness import process
from harness.timing import PATIENCE, wait_until

PIPES = 2000
CYCLE_S = 2
# The content is checked elsewhere; here a gigabyte has to go through quickly.
PIECE = bytes(1 << 18)


def push(sock):
    """Sends until the socket takes no more; returns how much it took."""
    sent = 0
    try:
        while True:
            sent += sock.send(PIECE)
    except BlockingIOError:
        return sent


def burst(peers, daemon, listener, count):
    """`count` flows that each hold a pipe with bytes in it, because no peer reads."""
    flows = []
    for _ in range(count):
        client, server = peers.pair(daemon.address("l"), listener)
        server.sock.setblocking(False)
        flows.append([client, server, 0])

    def all_blocked():
        for flow in flows:
            flow[2] += push(flow[1].sock)
        return daemon.info()["pipes_in_use"] == count

    wait_until(all_blocked, lambda: f"a pipe for each blocked flow: {daemon.pools()}", patience=4 * PATIENCE)
    return flows


def read_all(flows):
    """The readers wake up: every byte arrives, every pipe goes back empty."""
    room = bytearray(1 << 20)
    for client, server, sent in flows:
        server.sock.close()
        got = 0
        while (n := client.sock.recv_into(room)) > 0:
            got += n
        assert got == sent
        client.sock.close()


@pytest.mark.release_only
def test_after_a_burst_of_2000_pipes_and_two_cycles_none_is_left(weir, peers, folder, descriptors):
    descriptors(8 * PIPES)
    listener = peers.listen("path")
    daemon = weir(f"[listen l]\nbind = unix:{folder}/l.sock\nserver a = {listener.address}\n",
                  f"splice = on\nthreads = 2\npipe-cycle = {CYCLE_S}s\nmaxconn = {PIPES + 100}\n"
                  f"maxpipes = {2 * PIPES}")
    flows = burst(peers, daemon, listener, PIPES)
    assert daemon.pools()["pipes_made"] == PIPES
    read_all(flows)
    wait_until(lambda: daemon.info()["sessions"] == 0, lambda: f"sessions end: {daemon.info()}")
    pools = daemon.pools()
    assert pools["pipes_killed"] == 0, pools
    assert pools["pipes_made"] >= 100, f"they rest for a cycle: {pools}"
    # A second burst within the next cycle makes no pipe.
    read_all(burst(peers, daemon, listener, 50))
    assert daemon.pools()["pipes_created"] == pools["pipes_created"], daemon.pools()
    wait_until(lambda: daemon.pools()["pipes_made"] == 0,
               lambda: f"two cycles later no pipe is left: {daemon.pools()}")
    pipes = [what for what in process.descriptors(daemon.pid) if "pipe:" in str(what)]
    assert not pipes, pipes
