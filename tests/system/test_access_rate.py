# SPDX-License-Identifier: MIT
"""Danger: more connections per second than allowed, or fewer; a client that is lost; or a worker that spins
while it may not accept."""

import threading
import time

import pytest

from harness.timing import SCALE, quickest, wait_until

RATE = 40
SECONDS = 3


def section(listener, rate=RATE, name="l"):
    return f"[listen {name}]\nbind = 127.0.0.1:0\nserver a = {listener.address}\nrate-limit = {rate}\n"


def arrivals(peers, listener, count):
    """When each of `count` connections reached the server, and the peers."""
    times, servers = [], []
    for _ in range(count):
        servers.append(peers.accept(listener))
        times.append(time.monotonic())
    return times, servers


@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 4))
def test_pressure_gets_the_rate_and_nobody_is_lost(weir, peers, threads):
    listener = peers.listen()
    daemon = weir(section(listener), f"threads = {threads}")
    clients = {}
    count = RATE * SECONDS + RATE // 2
    begin = time.monotonic()
    for _ in range(count):
        client = peers.connect(daemon.address("l"))
        clients[client.conn] = client
    waiting = time.monotonic()
    times, servers = arrivals(peers, listener, count)
    # A burst of one second at once, then one each 1/RATE s: no more of them since the first could come, and
    # no fewer since the last one waits.
    burst = times[RATE - 1] - waiting
    assert burst < 0.8 * SCALE, f"the burst took {burst:.2f} s"
    for second in range(1, SECONDS + 1):
        came = len([t for t in times if t < begin + second])
        most = RATE * second + RATE // 8
        assert came <= most, f"{came} came in {second} s"
        if SCALE == 1:
            came = len([t for t in times if t < waiting + second])
            assert came >= RATE * second * 3 // 4, f"only {came} came in {second} s"
    for server in servers:
        server.send(100)
        clients.pop(server.conn).receive(100)
    assert not clients
    info = daemon.info()
    assert (info["accepted"], info["denied"]) == (count, 0)
    assert info["rate_pauses"] > 0


@pytest.mark.parametrize("threads", (1, 4))
def test_a_listener_that_may_not_accept_sleeps(weir, peers, threads):
    listener = peers.listen()
    daemon = weir(section(listener, rate=1), f"threads = {threads}")
    for _ in range(3):
        peers.connect(daemon.address("l"))
    peers.accept(listener)
    ticks = daemon.cpu_over(0.5)
    assert ticks <= 1, f"{ticks} ticks of CPU in 0.5 s while clients wait"
    for _ in range(2):
        peers.accept(listener)


def test_one_frontend_does_not_slow_another(weir, peers):
    slow, quick = peers.listen(), peers.listen()
    daemon = weir(section(slow, rate=1, name="slow") + section(quick, rate=100000, name="quick"))
    peers.connect(daemon.address("slow"))
    peers.accept(slow)
    waiting = []

    def thirty():
        waiting.extend(peers.connect(daemon.address("slow")) for _ in range(2))
        begin = time.monotonic()
        for _ in range(30):
            peers.pair(daemon.address("quick"), quick)
        return time.monotonic() - begin
    assert quickest(thirty, 1 * SCALE) < 1 * SCALE
    for _ in waiting:
        peers.accept(slow)


def test_below_the_rate_nobody_waits(weir, peers):
    """An accept that finds no client, as after the last of several, does not use up a place either."""
    listener = peers.listen()
    daemon = weir(section(listener, rate=125), "threads = 4")
    for _ in range(30):
        clients = [peers.connect(daemon.address("l")) for _ in range(4)]
        servers = [peers.accept(listener) for _ in clients]
        for end in clients + servers:
            end.close()
    assert daemon.info()["rate_pauses"] == 0


@pytest.mark.parametrize("threads", (1, 4))
@pytest.mark.parametrize("kept_out", ("deny-from = 127.0.0.2", "trusted = 127.0.0.1"),
                         ids=("denied", "untrusted"))
def test_who_is_kept_out_takes_no_place_from_who_is_let_in(weir, peers, threads, kept_out):
    listener = peers.listen()
    bind = " accept-proxy" if "trusted" in kept_out else ""
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0{bind}\nserver a = {listener.address}\nrate-limit = 20\n"
                  f"{kept_out}\n", f"threads = {threads}")
    where = daemon.address("l")
    enough = threading.Event()

    def flood():
        while not enough.is_set():
            with where.socket() as sock:
                try:
                    sock.bind(("127.0.0.2", 0))
                    sock.connect(where.sockaddr)
                    sock.recv(1)
                except OSError:
                    pass

    flooders = [threading.Thread(target=flood) for _ in range(4)]
    for flooder in flooders:
        flooder.start()
    try:
        wait_until(lambda: daemon.info()["accepted"] > 100, "a flood")
        for _ in range(10):
            client = peers.connect(where, hello=False)
            client.sock.sendall((b"PROXY UNKNOWN\r\n" if bind else b"") + b"x")
            server = peers.keep(listener.accept())
            assert server.recv(1) == b"x"
            server.close()
            client.close()
        # Ten, and at each moment a few that are about to be refused: the rate was never reached.
        assert daemon.info()["rate_pauses"] == 0
    finally:
        enough.set()
        for flooder in flooders:
            flooder.join()


def test_who_waits_for_the_rate_is_served_while_draining(weir, peers):
    listener = peers.listen()
    daemon = weir(section(listener, rate=1))
    clients = {}
    for _ in range(6):
        client = peers.connect(daemon.address("l"))
        clients[client.conn] = client
    first = peers.accept(listener)
    daemon.ended = True
    begin = time.monotonic()
    daemon.signal(15)
    servers = [first] + [peers.accept(listener) for _ in range(5)]
    assert time.monotonic() - begin < 2 * SCALE, "the rate holds up the end"
    for server in servers:
        server.send(1000)
        clients[server.conn].receive(1000)
        server.close()
        clients.pop(server.conn).close()
    assert daemon.wait_exit() == 0


def test_maxconn_and_the_rate_hold_together(weir, peers):
    """A slot that comes free while the listener rests for its rate is not lost, nor the other way."""
    listener = peers.listen()
    daemon = weir(section(listener, rate=20) + "maxconn = 3\n", "threads = 4")
    waiting = {}
    for _ in range(60):
        client = peers.connect(daemon.address("l"))
        waiting[client.conn] = client
    begin = time.monotonic()
    while waiting:
        server = peers.accept(listener)
        # One that ends at a worker and one that begins at the next may both be in a sum; four would stay.
        wait_until(lambda: daemon.info()["sessions"] <= 3, "at most three sessions")
        client = waiting.pop(server.conn)
        server.send(10)
        client.receive(10)
        client.close()
        server.close()
    took = time.monotonic() - begin
    assert took > 1.8, f"60 came within {took:.2f} s"
