# SPDX-License-Identifier: MIT
"""Danger: more sessions than allowed, fewer than allowed, or a waiting client that is never woken."""

import pytest

from harness.timing import SCALE, NotInTime, stays, wait_until

LIMIT = 10
CLIENTS = 35


def nobody_more(peers, listener):
    try:
        late = peers.accept(listener, patience=0.2 * SCALE)
    except NotInTime:
        return True
    raise AssertionError(f"{late} was let in beyond the limit")


def served(daemon, waiting, server):
    client = waiting.pop(server.conn)
    server.send(100)
    client.receive(100)
    return client, server


@pytest.mark.parametrize("scope", ("process", "frontend"))
@pytest.mark.parametrize("threads", (pytest.param(1, marks=pytest.mark.smoke),
                                     pytest.param(4, marks=pytest.mark.smoke)))
def test_exactly_so_many_are_served_and_the_rest_in_turn(weir, peers, scope, threads):
    listener = peers.listen()
    limit = f"maxconn = {LIMIT}\n"
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
                  + (limit if scope == "frontend" else ""),
                  f"threads = {threads}\n" + (limit if scope == "process" else ""))
    where = daemon.address("l")
    waiting = {}
    for _ in range(CLIENTS):
        client = peers.connect(where)
        waiting[client.conn] = client
    active = [served(daemon, waiting, peers.accept(listener)) for _ in range(LIMIT)]
    assert nobody_more(peers, listener)
    assert daemon.info()["sessions"] == LIMIT
    ticks = daemon.cpu_over(0.3)
    assert ticks <= 1, f"{ticks} ticks of CPU in 0.3 s at the limit"
    # One goes, one comes, never two; by either side's end.
    for n in range(5):
        client, server = active.pop(0)
        client.close() if n % 2 else server.reset()
        server.close()
        client.close()
        active.append(served(daemon, waiting, peers.accept(listener)))
        assert n % 2 or nobody_more(peers, listener)
    # All go at once, all the others come.
    for client, server in active:
        client.close()
        server.close()
    rest = len(waiting)
    active = [served(daemon, waiting, peers.accept(listener)) for _ in range(min(rest, LIMIT))]
    while active:
        client, server = active.pop()
        client.close()
        server.close()
        if waiting:
            active.append(served(daemon, waiting, peers.accept(listener)))
    assert not waiting
    assert daemon.info()["accepted"] == CLIENTS


def test_the_limit_of_one_frontend_does_not_stop_another(weir, peers):
    one, two = peers.listen(), peers.listen()
    daemon = weir(f"[listen one]\nbind = 127.0.0.1:0\nserver a = {one.address}\nmaxconn = 2\n"
                  f"[listen two]\nbind = 127.0.0.1:0\nserver a = {two.address}\n")
    for _ in range(4):
        peers.connect(daemon.address("one"))
    for _ in range(2):
        peers.accept(one)
    assert nobody_more(peers, one)
    for _ in range(20):
        client, server = peers.pair(daemon.address("two"), two)
        client.send(100)
        server.receive(100)


def test_the_process_limit_is_shared_and_wakes_every_frontend(weir, peers):
    """The place that comes free may be needed by a listener of another worker and frontend."""
    one, two = peers.listen(), peers.listen()
    daemon = weir(f"[listen one]\nbind = 127.0.0.1:0\nserver a = {one.address}\n"
                  f"[listen two]\nbind = 127.0.0.1:0\nserver a = {two.address}\n",
                  "threads = 4\nmaxconn = 3")
    held = [peers.pair(daemon.address("one"), one) for _ in range(3)]
    late = [peers.connect(daemon.address("two")) for _ in range(3)]
    assert nobody_more(peers, two)
    for client, server in held:
        client.close()
        server.close()
        peers.accept(two)
    # A ring may accept one more while its accept is being cancelled.
    wait_until(lambda: daemon.info()["sessions"] == 3, "the sessions to be as many as allowed")
    assert stays(lambda: daemon.info()["sessions"] == 3, 0.1)
    assert len(late) == 3
