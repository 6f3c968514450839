# SPDX-License-Identifier: MIT
"""Danger: bulk data is copied, or small messages pay for pipes, and only the CPU usage shows it."""

import pytest

from harness import exchange, trace
from harness.exchange import Leg
from harness.peer import PIECE

GIB = 1 << 30


def start(weir, peers, splice, family="tcp4"):
    listener = peers.listen(family)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                  f"splice = {splice}")
    client, server = peers.pair(daemon.address("l"), listener)
    return daemon, client, server


def ping_pong(client, server, turns):
    for _ in range(turns):
        client.send(1024)
        server.receive(1024)
        server.send(1024)
        client.receive(1024)


def end(peers, daemon):
    """Closes the session; returns its log line."""
    peers.close()
    return daemon.wait_session_line(frontend="l")


@pytest.mark.release_only
def test_a_gibibyte_moves_by_splice_and_its_line_counts_every_byte(weir, peers):
    daemon, client, server = start(weir, peers, "auto")
    exchange.run([Leg(client, send=GIB, receive=12_345, pace=PIECE),
                  Leg(server, send=12_345, receive=GIB, pace=PIECE)])
    line = end(peers, daemon)
    assert int(line["bytes_in"]) == GIB + 16, line
    assert int(line["bytes_out"]) == 12_345, line
    share = int(line["bytes_spliced"]) / GIB
    assert share >= 0.99, f"{share:.2%} of a gibibyte moved by splice"
    info = daemon.info()
    assert info["bytes_to_server"] == GIB + 16 and info["bytes_to_client"] == 12_345
    assert info["bytes_spliced"] == int(line["bytes_spliced"])


@pytest.mark.parametrize("family", ("tcp4", "path"))
def test_small_messages_are_not_spliced(weir, peers, family):
    daemon, client, server = start(weir, peers, "auto", family)
    ping_pong(client, server, 500)
    assert daemon.pools()["pipes_created"] == 0
    line = end(peers, daemon)
    assert int(line["bytes_spliced"]) == 0, line
    assert int(line["bytes_in"]) == 500 * 1024 + 16, line


def test_a_flow_that_becomes_bulk_and_small_again(weir, peers):
    """Hysteresis: between bursts the pipe is given back, and order holds at each switch."""
    daemon, client, server = start(weir, peers, "auto")
    for _ in range(5):
        ping_pong(client, server, 20)
        exchange.run([Leg(client, send=4_000_000, receive=client.received, fin=False),
                      Leg(server, receive=server.received + 4_000_000, fin=False)])
    ping_pong(client, server, 20)
    assert daemon.info()["pipes_in_use"] == 0
    line = end(peers, daemon)
    assert int(line["bytes_spliced"]) > 10_000_000, line


@pytest.mark.parametrize("splice", ("on", "off"))
def test_the_option_is_obeyed(weir, peers, splice):
    daemon, client, server = start(weir, peers, splice)
    exchange.run([Leg(client, send=5_000_000, receive=0), Leg(server, receive=5_000_000)])
    line = end(peers, daemon)
    if splice == "on":
        assert int(line["bytes_spliced"]) >= 4_900_000, line
    else:
        assert int(line["bytes_spliced"]) == 0, line


@pytest.mark.release_only
def test_system_calls_agree_with_the_counters(weir, peers, folder):
    if trace.missing():
        pytest.skip(trace.missing())
    daemon, client, server = start(weir, peers, "auto")
    ping_pong(client, server, 50)
    calls = trace.Trace(daemon.pid, folder)
    ping_pong(client, server, 100)
    count = calls.stop()
    assert count["splice"] == 0, dict(count)
    # A message costs a wait, a read, a write, and at most one more call to see that it was all.
    moves = sum(n for name, n in count.items() if not name.startswith("epoll"))
    assert moves <= 200 * 3, dict(count)
    calls = trace.Trace(daemon.pid, folder)
    exchange.run([Leg(client, send=20_000_000, receive=client.received, fin=False),
                  Leg(server, receive=server.received + 20_000_000, fin=False)])
    count = calls.stop()
    assert count["splice"] > 20, dict(count)
    assert count["recvfrom"] + count["read"] < count["splice"], dict(count)
