# SPDX-License-Identifier: MIT
"""Danger: a dead connection is kept for ever, a live one is cut, or the log does not say which timeout
it was."""

import time

import pytest

from harness.timing import AT_ONCE, SCALE, stays, wait_until

CODES = {"timeout-client": "cD", "timeout-server": "sD"}


def open_one(weir, peers, options, **kw):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n{options}\n")
    begin = time.monotonic()  # no clock of the daemon can have begun before
    return daemon, *peers.pair(daemon.address("l"), listener, **kw), begin


def expect_end(daemon, begin, reason, least, most):
    line = daemon.wait_session_line(reason_text=reason)
    took = time.monotonic() - begin
    assert least * 0.9 <= took <= most + AT_ONCE, f"{reason} of {least} s came after {took:.2f} s"
    return line


@pytest.mark.smoke
@pytest.mark.parametrize("side", ("client", "server"))
def test_a_silent_session_ends_and_the_log_names_the_side(weir, peers, side):
    other = "server" if side == "client" else "client"
    daemon, client, server, begin = open_one(
        weir, peers, f"timeout-{side} = 300ms\ntimeout-{other} = 30s")
    line = expect_end(daemon, begin, f"timeout-{side}", 0.3, 0.3)
    assert line["ts_code"] == CODES[f"timeout-{side}"], line
    assert client.receive_to_end() and server.receive_to_end()


def test_timeout_idle_is_both(weir, peers):
    daemon, client, server, begin = open_one(weir, peers, "timeout-idle = 300ms")
    assert client.receive_to_end() and server.receive_to_end()
    assert 0.27 <= time.monotonic() - begin <= 0.3 + AT_ONCE


@pytest.mark.parametrize("talker", ("both", "client", "server"))
def test_activity_in_either_direction_keeps_a_session_alive(weir, peers, talker):
    daemon, client, server, begin = open_one(weir, peers, f"timeout-idle = {500 * SCALE:.0f}ms")
    while time.monotonic() - begin < 1.5 * SCALE:
        if talker in ("both", "client"):
            client.send(10)
            server.receive(10)
        if talker in ("both", "server"):
            server.send(10)
            client.receive(10)
        assert stays(lambda: True, 0.1)
    assert daemon.info()["sessions"] == 1


def test_a_bulk_stream_keeps_a_session_alive(weir, peers):
    """By splice, with a reader slower than the sender."""
    daemon, client, server, begin = open_one(weir, peers, f"timeout-idle = {500 * SCALE:.0f}ms")
    while time.monotonic() - begin < 1.5 * SCALE:
        while server.send_some() and server.sent - client.received < 2_000_000:
            pass
        client.receive(min(100_000, server.sent - client.received))
        assert stays(lambda: True, 0.05)
    assert daemon.info()["sessions"] == 1


def test_a_slow_reader_of_what_the_kernel_holds_is_alive_until_it_stops(weir, peers):
    """Everything is in the send queue: only its acknowledgements show that the reader is alive."""
    daemon, client, server, begin = open_one(
        weir, peers, f"timeout-idle = {1000 * SCALE:.0f}ms", receive_buffer=32768)
    server.send(1_500_000)
    while time.monotonic() - begin < 3.0 * SCALE:
        client.receive(10_000)
        assert stays(lambda: True, 0.05 * SCALE)
    assert client.received < server.sent, "the reader was too fast for this test"
    assert daemon.info()["sessions"] == 1
    line = daemon.wait_session_line()
    assert line["reason_text"].startswith("timeout-"), line


def test_a_reader_that_never_reads_is_idle(weir, peers):
    """Its kernel answers, so no keep-alive notices; the sender is blocked."""
    daemon, client, server, begin = open_one(
        weir, peers, "timeout-client = 1500ms\ntimeout-server = 30s")
    server.fill()
    line = daemon.wait_session_line()
    assert line["reason_text"] == "timeout-client", line
    assert client.receive_to_end()


@pytest.mark.parametrize("client_timeout", ("20s", "0"))
def test_after_a_pause_of_the_reader_the_other_side_can_be_late_again(weir, peers, client_timeout):
    daemon, client, server, _ = open_one(
        weir, peers, f"timeout-client = {client_timeout}\ntimeout-server = 1s")
    server.fill()
    assert stays(lambda: daemon.info()["sessions"] == 1, 1.4), "blocked by the client alone"
    begin = time.monotonic()  # the daemon receives the server's final bytes while the client reads
    client.receive(server.sent - client.received)
    expect_end(daemon, begin, "timeout-server", 1, 1)
    assert client.receive_to_end()


def test_a_server_that_never_answers_is_the_one_that_is_late(weir, peers):
    daemon, client, server, _ = open_one(weir, peers, "timeout-idle = 400ms")
    begin = time.monotonic()
    client.send(100)
    server.receive(100)
    expect_end(daemon, begin, "timeout-server", 0.4, 0.4)
    assert client.receive_to_end()


@pytest.mark.smoke
@pytest.mark.parametrize("first", ("client", "server"))
def test_a_half_closed_session_that_is_silent_ends(weir, peers, first):
    daemon, client, server, _ = open_one(
        weir, peers, "timeout-idle = 30s\ntimeout-half-closed = 400ms")
    ending, other = (client, server) if first == "client" else (server, client)
    begin = time.monotonic()
    ending.fin()
    assert other.receive_to_end() == "fin"
    line = expect_end(daemon, begin, "timeout-half-closed", 0.4, 0.4)
    assert line["ts_code"] == ("sD" if first == "client" else "cD"), line
    assert ending.receive_to_end()


def test_the_half_closed_timeout_counts_from_the_fin(weir, peers):
    limit = 0.4 * SCALE
    daemon, client, server, _ = open_one(
        weir, peers, f"timeout-idle = 30s\ntimeout-half-closed = {1000 * limit:.0f}ms")
    assert stays(lambda: True, 1.2 * limit)  # silent for longer than that, with both sides open
    begin = time.monotonic()
    client.fin()
    assert server.receive_to_end() == "fin"
    expect_end(daemon, begin, "timeout-half-closed", limit, limit)
    assert client.receive_to_end()


def test_a_half_closed_session_that_moves_bytes_goes_on(weir, peers):
    daemon, client, server, _ = open_one(
        weir, peers, f"timeout-idle = 30s\ntimeout-half-closed = {500 * SCALE:.0f}ms")
    client.fin()
    begin = time.monotonic()
    while time.monotonic() - begin < 1.5 * SCALE:
        server.send(100)
        client.receive(100)
        assert stays(lambda: True, 0.1)
    server.fin()
    assert client.receive_to_end() == "fin"
    daemon.wait_session_line(reason_text="both sides closed")


@pytest.mark.smoke
def test_max_lifetime_ends_a_busy_session(weir, peers):
    daemon, client, server, begin = open_one(
        weir, peers, "timeout-idle = 30s\nmax-lifetime = 500ms")
    try:
        while time.monotonic() - begin < 5 * SCALE:
            server.send(10)
            client.receive(10)
    except (AssertionError, OSError):
        pass
    expect_end(daemon, begin, "max-lifetime", 0.5, 0.5)


@pytest.mark.parametrize("front, back", (("500ms", "30s"), ("30s", "500ms"), ("500ms", "off"),
                                         ("off", "500ms")))
def test_the_shorter_lifetime_of_frontend_and_backend_counts(weir, peers, front, back):
    """Also where a route chose the backend: that of the default backend does not count."""
    listener = peers.listen()
    daemon = weir(f"[frontend l]\nbind = 127.0.0.1:0\nmax-lifetime = {front}\ndefault-backend = other\n"
                  "use-backend b = src=127.0.0.0/8\n"
                  f"[backend b]\nserver a = {listener.address}\nmax-lifetime = {back}\n"
                  f"[backend other]\nserver a = {listener.address}\nmax-lifetime = 100ms\n")
    begin = time.monotonic()
    peers.pair(daemon.address("l"), listener)
    line = expect_end(daemon, begin, "max-lifetime", 0.5, 0.5)
    assert line["ts_code"] == "LD", line


def test_a_client_that_waits_in_a_queue_grows_old_too(weir, peers):
    listener = peers.listen()
    daemon = weir(f"[frontend l]\nbind = 127.0.0.1:0\ndefault-backend = b\n"
                  f"[backend b]\nserver a = {listener.address} maxconn=1\ntimeout-queue = 30s\n"
                  "max-lifetime = 500ms\n")
    begin = time.monotonic()
    peers.pair(daemon.address("l"), listener)
    peers.connect(daemon.address("l"))
    wait_until(lambda: len([line for line in daemon.session_lines()
                            if line["reason_text"] == "max-lifetime"]) == 2, "both are too old")
    assert 0.45 <= time.monotonic() - begin <= 0.5 + AT_ONCE


@pytest.mark.parametrize("splice", ("on", "off"))
@pytest.mark.parametrize("who", ("client", "server"))
def test_bytes_before_a_reset_wait_for_their_reader_only_so_long(weir, peers, who, splice):
    """A reset with bytes on their way, to a side that never reads: noticed at once although nobody
    reads its sender (every second one has filled all queues), so bounded by timeout-half-closed."""
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
                  "timeout-idle = 30s\ntimeout-half-closed = 500ms\n", f"splice = {splice}")
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(4)]
    if who == "server":
        pairs = [(server, client) for client, server in pairs]
    for n, (sender, _) in enumerate(pairs):
        sender.send(150_000) if n % 2 else sender.fill()
    begin = time.monotonic()
    for sender, _ in pairs:
        sender.reset()
    wait_until(lambda: daemon.info()["sessions"] == 0, "the sessions end")
    took = time.monotonic() - begin
    assert 0.45 <= took < 0.5 + AT_ONCE, f"timeout-half-closed of 500 ms took {took:.2f} s"
    for _, reader in pairs:
        assert reader.receive_to_end() == "reset"


@pytest.mark.parametrize("splice", ("auto", "on"))
def test_a_frozen_daemon_expires_nothing_that_was_active(weir, peers, splice):
    """Stopped for longer than the timeout: what arrived meanwhile counts before the clock does, also where
    it waits for its turn to be spliced."""
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
                  f"timeout-idle = {600 * SCALE:.0f}ms\n",
                  f"splice = {splice}")
    client, server = peers.pair(daemon.address("l"), listener)
    daemon.freeze()
    try:
        client.send(1000)
        assert stays(lambda: True, 0.8 * SCALE)
        client.send(1000)
    finally:
        daemon.thaw()
    server.receive(2000)
    server.send(1000)
    client.receive(1000)


def test_a_vanished_peer_is_noticed_by_keepalive_and_by_user_timeout(network, weir, peers):
    """Two sessions at once whose clients vanish, and two whose servers do: one of each is silent
    (keep-alive finds out), one has bytes under way (tcp-user-timeout does)."""
    quiet, busy = (peers.listen(socket_maker=network.socket) for _ in range(2))
    daemon = weir(
        f"[listen quiet]\nbind = 127.0.0.1:0\nserver a = {quiet.address}\n"
        "tcp-keepalive = 1s interval=1s count=2\n"
        f"[listen busy]\nbind = 127.0.0.1:0\nserver a = {busy.address}\n"
        "tcp-user-timeout = 1s\n"
        f"[listen quiet2]\nbind = 127.0.0.1:0\nserver a = {quiet.address}\n"
        "tcp-keepalive = 1s interval=1s count=2\n", wrapper=network.wrapper)

    def pair(front, listener):
        client = peers.connect(daemon.address(front), socket_maker=network.socket)
        return client, peers.accept(listener)
    pairs = {name: pair(front, listener) for name, front, listener in (
        ("client quiet", "quiet", quiet), ("client busy", "busy", busy),
        ("server quiet", "quiet2", quiet), ("server busy", "busy", busy))}
    for name in ("client quiet", "client busy"):
        network.drop(pairs[name][0].sock.getsockname()[1])
    for name in ("server quiet", "server busy"):
        network.drop(pairs[name][1].sock.getpeername()[1])
    pairs["client busy"][1].send(1000)
    pairs["server busy"][0].send(1000)
    for frontend in ("quiet", "busy"):
        daemon.wait_session_line(frontend=frontend, reason_text="client vanished")
    for frontend in ("quiet2", "busy"):
        daemon.wait_session_line(frontend=frontend, reason_text="server vanished")
    # The sides that are still there are told.
    assert pairs["client quiet"][1].receive_to_end() == "reset"
    assert pairs["server quiet"][0].receive_to_end() == "reset"
