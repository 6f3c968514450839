# SPDX-License-Identifier: MIT
"""Danger: bytes that a peer never acknowledged, and no sign of them in the log."""

import json

import pytest

from harness.timing import wait_until

REPLY = 200_000


def section(listener):
    return f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"


def counted(daemon):
    return daemon.info()["unacked_closes"]


def unacked(line):
    return int(line["unacked_in"]), int(line["unacked_out"])


@pytest.mark.smoke
def test_what_a_half_closed_client_has_not_taken_when_all_is_closed(weir, peers):
    """From then on the kernel delivers by itself: here all of it arrives."""
    listener = peers.listen()
    daemon = weir(section(listener))
    client, server = peers.pair(daemon.address("l"), listener, receive_buffer=4096)
    client.fin()
    assert server.receive_to_end() == "fin"
    server.send(REPLY)
    server.close()
    line = daemon.wait_session_line(reason="normal")
    to_server, to_client = unacked(line)
    assert to_server == 0 and 0 < to_client <= REPLY
    assert counted(daemon) == 1
    client.receive(REPLY)
    assert client.receive_to_end() == "fin"
    assert daemon.info()["tcp_memory_aborts"] == 0


@pytest.mark.smoke
@pytest.mark.parametrize("side", ("client", "server"))
def test_what_was_on_its_way_to_who_resets(weir, peers, side):
    listener = peers.listen()
    daemon = weir(section(listener))
    client, server = peers.pair(daemon.address("l"), listener)
    taker, giver = (client, server) if side == "client" else (server, client)
    giver.fill()
    taker.reset()
    line = daemon.wait_session_line(reason=f"{side}_reset")
    to_server, to_client = unacked(line)
    assert (to_client > 0, to_server > 0) == (side == "client", side == "server")
    assert counted(daemon) == 1
    giver.close()


@pytest.mark.smoke
@pytest.mark.parametrize("first", ("client", "server"))
def test_a_peer_that_has_everything_leaves_no_such_line(weir, peers, first):
    listener = peers.listen()
    daemon = weir(section(listener))
    for n in range(1, 6):
        client, server = peers.pair(daemon.address("l"), listener)
        client.send(1000)
        server.receive(1000)
        server.send(REPLY)
        client.receive(REPLY)
        one, other = (client, server) if first == "client" else (server, client)
        one.close()
        assert other.receive_to_end() == "fin"
        other.close()
        line = daemon.wait_session_line(count=n, reason="normal")
        assert "unacked_out" not in line and "unacked_in" not in line, line
    assert counted(daemon) == 0


def test_a_json_line_has_the_same(weir, peers):
    listener = peers.listen()
    daemon = weir(section(listener), "log = stderr level=info format=json")
    client, server = peers.pair(daemon.address("l"), listener)
    server.fill()
    client.reset()
    wait_until(lambda: '"event":"session"' in daemon.log(), "its line is there")
    wait_until(lambda: daemon.log().endswith("\n"), "all of it")
    line = next(json.loads(x) for x in daemon.log().splitlines() if '"event":"session"' in x)
    assert line["unacked_out"] > 0 and line["unacked_in"] == 0, line
    server.close()
