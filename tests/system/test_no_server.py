# SPDX-License-Identifier: MIT
"""Danger: when no server is usable, a client waits for ever, or gets something else than configured."""

import time

import pytest

from harness import exchange
from harness.exchange import Leg
from harness.timing import AT_ONCE, quickest, stays, wait_until


def config(listener, words):
    return f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address} disabled\n{words}"


def is_queued(daemon):
    return any("state=queued" in line for line in daemon.sessions())


@pytest.mark.smoke
@pytest.mark.parametrize("words, end", (("", "fin"), ("no-server = close\n", "fin"),
                                        ("no-server = reset\n", "reset")))
@pytest.mark.parametrize("hello", (False, True))
def test_a_client_gets_the_end_that_was_asked_for(weir, peers, words, end, hello):
    """Also a client that speaks first: its bytes are read, otherwise the kernel would send RST."""
    daemon = weir(config(peers.listen(), words))
    for _ in range(5):
        client = peers.connect(daemon.address("l"), hello=False)
        if hello:
            try:
                client.send(3000)
            except ConnectionError:
                if end == "reset":
                    continue  # it is told once, and was told here
        assert client.receive_to_end() == end
    line = daemon.wait_session_line(count=5, reason_text="no server is usable")
    assert line["ts_code"] == "SC" and line["tries"] == "0", line


@pytest.mark.smoke
def test_a_client_may_wait_until_timeout_queue(weir, peers):
    daemon = weir(config(peers.listen(), "no-server = queue\ntimeout-queue = 300ms\n"))

    def wait():
        begin = time.monotonic()
        client = peers.connect(daemon.address("l"))
        assert client.receive_to_end() == "reset"
        return time.monotonic() - begin
    took = quickest(wait, 0.3 + AT_ONCE)
    assert 0.25 <= took < 0.3 + AT_ONCE, f"timeout-queue of 300 ms took {took:.2f} s"
    line = daemon.wait_session_line(reason_text="timeout-queue")
    assert line["ts_code"] == "sQ", line


@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 4))
def test_a_client_that_waits_is_served_when_a_server_comes(weir, peers, threads):
    listener = peers.listen()
    daemon = weir(config(listener, "no-server = queue\ntimeout-queue = 1m\n"), f"threads = {threads}")
    clients = {}
    for _ in range(20):
        client = peers.connect(daemon.address("l"))
        clients[client.conn] = client
    wait_until(lambda: sum("state=queued" in line for line in daemon.sessions()) == 20, "twenty wait")
    assert stays(lambda: daemon.info()["connects"] == 0, 0.1)
    answer = daemon.ask("set server l/a state ready")
    assert "nknown" not in answer, answer
    while clients:
        server = peers.accept(listener)
        client = clients.pop(server.conn)
        exchange.run([Leg(client, send=5000, receive=5000), Leg(server, send=5000, receive=5000)])
    daemon.wait_session_line(count=20, ts_code="--")


def test_a_server_that_goes_leaves_its_clients_and_those_who_wait_to_others(weir, peers):
    """Full, then in maintenance: waiting clients are served by the other server, which was full too."""
    one, two = peers.listen(), peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {one.address} maxconn=1\n"
                  f"server b = {two.address} maxconn=1\ntimeout-queue = 1m\n", "threads = 4")
    clients = [peers.connect(daemon.address("l")) for _ in range(2)]
    ends = {s.conn: s for s in (peers.accept(one), peers.accept(two))}
    on_one = next(iter(ends.values()))
    late = peers.connect(daemon.address("l"))
    wait_until(lambda: is_queued(daemon), "one waits")
    answer = daemon.ask("set server l/a state maint")
    assert "nknown" not in answer, answer
    # Its client continues; its place belongs to no client.
    client = next(c for c in clients if c.conn == on_one.conn)
    exchange.run([Leg(client, send=5000, receive=5000), Leg(on_one, send=5000, receive=5000)])
    assert stays(lambda: is_queued(daemon), 0.1)
    other = next(c for c in clients if c.conn != on_one.conn)
    exchange.run([Leg(other, send=5000, receive=5000), Leg(ends[other.conn], send=5000, receive=5000)])
    server = peers.accept(two)
    assert server.conn == late.conn
    exchange.run([Leg(late, send=5000, receive=5000), Leg(server, send=5000, receive=5000)])
