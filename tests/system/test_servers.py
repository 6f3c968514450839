# SPDX-License-Identifier: MIT
"""Danger: a server gets more than its share, or sees a source address that it does not accept."""

import socket
import time

import pytest

from harness.timing import stays, wait_until


@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 4))
def test_connections_are_shared_by_weight(weir, peers, threads):
    one, two, none = peers.listen(), peers.listen("path"), peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {one.address} weight=1\n"
                  f"server b = {two.address} weight=3\nserver c = {none.address} weight=0\n",
                  f"threads = {threads}")
    for _ in range(80):
        client = peers.connect(daemon.address("l"))
        client.fin()
    wait_until(lambda: daemon.info()["accepted"] == 80 and _total(daemon, "a") + _total(daemon, "b") == 80,
               "eighty sessions are connected")
    share = _total(daemon, "a")
    # Each worker counts for itself: it is off by less than one round of four.
    assert abs(share - 20) <= (0 if threads == 1 else 3), f"{share} of 80 to a quarter of the weight"
    assert _total(daemon, "c") == 0, "a weight of 0 takes nobody"


@pytest.mark.smoke
@pytest.mark.parametrize("state", ("drain", "maint"))
def test_a_server_that_is_taken_out_loses_idle_sessions_where_they_may_end(weir, peers, state):
    """With drain = idle: those that were answered, after a second; not those that wait for an answer, nor
    those of another server, nor any once the server is back."""
    out, other = peers.listen(), peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\ndrain = idle\nserver a = {out.address}\n"
                  f"server b = {other.address} backup\n"
                  f"[listen m]\nbind = 127.0.0.1:0\ndrain = idle\nserver a = {other.address}\n")
    answered, asks, later = (peers.pair(daemon.address("l"), out) for _ in range(3))
    elsewhere = peers.pair(daemon.address("m"), other)
    for client, server in (answered, asks, later, elsewhere):
        client.send(10)
        server.receive(10)
        server.send(10)
        client.receive(10)
    for client, server in (asks, later):
        client.send(10)
        server.receive(10)
    daemon.ask(f"set server l/a state {state}")
    assert answered[0].receive_to_end() == "reset" and answered[1].receive_to_end() == "reset"
    line = daemon.wait_session_line(reason="drained")
    assert line["ts_code"] == "K-", line
    wait_until(lambda: daemon.info()["sessions"] == 3, "it has left")
    assert stays(lambda: daemon.info()["sessions"] == 3, 1.5)
    asks[1].send(10)
    asks[0].receive(10)
    assert asks[0].receive_to_end() == "reset"
    daemon.ask("set server l/a state ready")
    later[1].send(10)
    later[0].receive(10)
    wait_until(lambda: daemon.info()["sessions"] == 2, "the one that was answered has left")
    assert stays(lambda: daemon.info()["sessions"] == 2, 2.5)


def _total(daemon, server):
    line = next(l for l in daemon.ask("show info").splitlines() if l.startswith(f"server.l/{server}:"))
    return int(next(w for w in line.split() if w.startswith("total="))[6:])


@pytest.mark.smoke
@pytest.mark.parametrize("family, source", (("tcp4", "127.0.0.77"), ("tcp6", "::1")))
def test_a_server_sees_the_configured_source(weir, peers, family, source):
    listener = peers.listen(family)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address} source={source}\n")
    _, server = peers.pair(daemon.address("l"), listener)
    assert server.sock.getpeername()[0] == source


def test_a_source_that_is_not_ours_is_our_shortage_not_the_servers(weir, peers):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address} source=192.0.2.1\n"
                  "retries = 0\n")
    client = peers.connect(daemon.address("l"))
    assert client.receive_to_end() == "reset"
    line = daemon.wait_session_line(reason_text="out of descriptors, ports or memory")
    assert line["ts_code"] == "RC", line
    failures = next(l for l in daemon.ask("show info").splitlines() if l.startswith("server.l/a:"))
    assert "failures=0" in failures, failures


def test_a_server_that_speaks_first_is_connected_at_once(weir, peers):
    """The ACK that ends the handshake may wait for the client's first bytes, but not where there are none:
    the kernel would send it 200 ms later, and accept(2) returns only then. The quickest of five tells a
    busy machine from that."""
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n")
    took = []
    for _ in range(5):
        begin = time.monotonic()
        client = daemon.address("l").socket()
        client.connect(daemon.address("l").sockaddr)
        with client, listener.accept() as server:
            took.append(time.monotonic() - begin)
            server.sendall(b"220 ready\r\n")
            assert client.recv(11, socket.MSG_WAITALL) == b"220 ready\r\n"
    assert min(took) < 0.15, f"each of five took {min(took) * 1000:.0f} ms or more"
