# SPDX-License-Identifier: MIT
"""Danger: a stop that cuts streams, never ends, or loses waiting clients; a signal that kills."""

import os
import signal
import time

import pytest

from harness import exchange, final_check
from harness.exchange import Leg
from harness.timing import AT_ONCE, stays, wait_until


def listen_section(listener, more=""):
    return f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n{more}"


def refuses(where):
    """True if no process listens there any more."""
    with where.socket() as s:
        return s.connect_ex(where.sockaddr) != 0


@pytest.mark.smoke
@pytest.mark.parametrize("splice", ("on", "off"))
def test_a_graceful_stop_finishes_streams_and_refuses_new_ones(weir, peers, splice):
    listener = peers.listen()
    daemon = weir(listen_section(listener), f"splice = {splice}\nhard-stop-after = 30s")
    where = daemon.address("l")
    legs = []
    for _ in range(20):
        client, server = peers.pair(where, listener)
        client.send(100_000 // 8)
        server.send(100_000 // 8)
        legs += [Leg(client, send=300_000, receive=312_500),
                 Leg(server, send=300_000, receive=312_500)]
    daemon.signal(signal.SIGTERM)
    wait_until(lambda: refuses(where), "new connections are refused")
    exchange.run(legs)
    daemon.ended = True
    peers.close()
    assert daemon.wait_exit() == 0
    # Our own questions whether it still listens may have become sessions too.
    lines = [line for line in daemon.session_lines() if line["bytes_out"] == "312500"]
    assert len(lines) == 20
    assert all(line["reason_text"] == "both sides closed" for line in lines), lines


@pytest.mark.parametrize("count", (10, 400))
def test_those_who_waited_in_the_backlog_are_served(weir, peers, count):
    """Connected, not yet accepted when the stop begins; 400 are more than one wake-up accepts."""
    listener = peers.listen()
    daemon = weir(listen_section(listener), "hard-stop-after = 30s")
    where = daemon.address("l")
    daemon.freeze()
    clients = [peers.connect(where) for _ in range(count)]
    daemon.signal(signal.SIGTERM)
    daemon.thaw()
    waiting = {c.conn: c for c in clients}
    while waiting:
        server = peers.accept(listener)
        client = waiting.pop(server.conn)
        server.send(1000)
        client.receive(1000)
    daemon.ended = True
    peers.close()
    assert daemon.wait_exit() == 0


@pytest.mark.smoke
def test_a_stop_does_not_wait_for_idle_sessions_that_may_end(weir, peers):
    """With drain = idle: one that was answered is reset after a second, and nothing else is left."""
    listener = peers.listen()
    daemon = weir(listen_section(listener, "drain = idle\n"), "hard-stop-after = 30s")
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(40)]
    for client, server in pairs:
        client.send(1000)
        server.receive(1000)
        server.send(1000)
        client.receive(1000)
    begin = time.monotonic()
    daemon.signal(signal.SIGTERM)
    daemon.ended = True
    for client, server in pairs:
        assert client.receive_to_end() == "reset"
        assert server.receive_to_end() == "reset"
    peers.close()
    assert daemon.wait_exit() == 0
    took = time.monotonic() - begin
    assert 0.9 <= took <= 1 + 2 * AT_ONCE, f"it took {took:.2f} s"
    lines = daemon.session_lines()
    assert len(lines) == 40 and all(line["reason"] == "drained" for line in lines), lines


def test_a_stop_waits_for_answers_where_idle_sessions_may_end(weir, peers):
    """A stream that goes on and one that waits for an answer are finished."""
    listener = peers.listen()
    daemon = weir(listen_section(listener, "drain = idle\n"), "hard-stop-after = 30s")
    busy, asks = (peers.pair(daemon.address("l"), listener) for _ in range(2))
    asks[0].send(10)
    asks[1].receive(10)
    daemon.signal(signal.SIGTERM)
    begin = time.monotonic()
    while time.monotonic() - begin < 2.5:
        busy[1].send(10)
        busy[0].receive(10)
        assert stays(lambda: True, 0.2)
    asks[1].send(10)
    asks[0].receive(10)
    daemon.ended = True
    for pair in (busy, asks):
        assert pair[0].receive_to_end() == "reset"
    peers.close()
    assert daemon.wait_exit() == 0


@pytest.mark.parametrize("how", ("second signal", "hard-stop-after"))
def test_bytes_that_nobody_reads_do_not_hold_a_stop_up(weir, peers, how):
    """The server was reset; its bytes wait for a client that does not read, and so does the end."""
    listener = peers.listen()
    after = "30s" if how == "second signal" else "300ms"
    daemon = weir(listen_section(listener) + "timeout-half-closed = 0\n",
                  f"hard-stop-after = {after}")
    client, server = peers.pair(daemon.address("l"), listener, receive_buffer=4096)
    server.send(150_000)
    wait_until(lambda: server.unacknowledged() == 0, "the daemon has all of it")
    server.reset()
    wait_until(lambda: "closing" in str(daemon.sessions()), "the session waits for its reader")
    daemon.ended = True
    daemon.signal(signal.SIGTERM)
    if how == "second signal":
        wait_until(lambda: "no new sessions" in daemon.log(), "two signals at once would be one")
        daemon.signal(signal.SIGTERM)
    assert daemon.wait_exit() == 0
    client.close()


@pytest.mark.smoke
@pytest.mark.parametrize("threads", (1, 4))
def test_a_stop_without_sessions_is_immediate(weir, peers, threads):
    listener = peers.listen()
    daemon = weir(listen_section(listener), f"threads = {threads}")
    daemon.ended = True
    daemon.signal(signal.SIGTERM)
    assert daemon.wait_exit(3 * AT_ONCE) == 0
    assert not os.path.exists(daemon.admin), "the admin socket stays behind"


@pytest.mark.smoke
def test_a_second_sigterm_ends_at_once(weir, peers):
    listener = peers.listen()
    daemon = weir(listen_section(listener), "hard-stop-after = 30s")
    pairs = [peers.pair(daemon.address("l"), listener) for _ in range(10)]
    pairs[0][0].fill()
    daemon.ended = True
    daemon.signal(signal.SIGTERM)
    assert stays(lambda: daemon.child.poll() is None, 0.3), "one SIGTERM cut the sessions"
    daemon.signal(signal.SIGTERM)
    assert daemon.wait_exit(3 * AT_ONCE) == 0   # not thirty seconds
    for client, server in pairs:
        assert client.receive_to_end() and server.receive_to_end()
    lines = daemon.session_lines()
    assert len(lines) == 10 and all(x["reason_text"] == "the daemon stopped" for x in lines), lines


@pytest.mark.smoke
def test_hard_stop_after_bounds_a_graceful_stop(weir, peers):
    listener = peers.listen()
    daemon = weir(listen_section(listener), "hard-stop-after = 500ms")
    client, server = peers.pair(daemon.address("l"), listener)
    daemon.ended = True
    begin = time.monotonic()
    daemon.signal(signal.SIGTERM)
    assert daemon.wait_exit(0.5 + 3 * AT_ONCE) == 0
    took = time.monotonic() - begin
    assert took >= 0.45, f"hard-stop-after of 500 ms ended it after {took:.2f} s"
    assert client.receive_to_end() and server.receive_to_end()
    daemon.wait_session_line(reason_text="the daemon stopped")


def begin_leaving(weir, peers, delay):
    listener = peers.listen()
    daemon = weir(listen_section(listener), f"shutdown-delay = {delay}\nhard-stop-after = 30s")
    daemon.signal(signal.SIGTERM)
    wait_until(lambda: daemon.info()["state"] == "leaving", "it has heard the signal")
    daemon.ended = True
    return daemon, daemon.address("l"), listener


@pytest.mark.smoke
def test_with_a_delay_everyone_is_served_until_it_has_expired(weir, peers):
    begin = time.monotonic()
    daemon, where, listener = begin_leaving(weir, peers, "1500ms")
    client, server = peers.pair(where, listener)
    wait_until(lambda: daemon.info()["state"] == "draining", "the delay expires")
    wait_until(lambda: refuses(where), "new connections are refused")
    assert time.monotonic() - begin >= 1.5
    client.send(1000)
    server.receive(1000)
    peers.close()
    assert daemon.wait_exit() == 0
    assert "SIGTERM: not ready any more; new sessions are taken for another 1500 ms" in daemon.log()
    assert "shutdown-delay has expired: no new sessions" in daemon.log()


def test_each_further_signal_goes_one_step_ahead(weir, peers):
    daemon, where, listener = begin_leaving(weir, peers, "1h")
    client, server = peers.pair(where, listener)
    daemon.signal(signal.SIGINT)
    wait_until(lambda: daemon.info()["state"] == "draining", "the delay ends")
    daemon.signal(signal.SIGTERM)
    assert daemon.wait_exit() == 0
    assert client.receive_to_end() and server.receive_to_end()


def test_a_reload_changes_the_delay_of_the_next_stop(weir, peers):
    daemon = weir(listen_section(peers.listen()), "shutdown-delay = 1h")
    daemon.reload("shutdown-delay = 1h", "shutdown-delay = 0", words=())
    daemon.ended = True
    daemon.signal(signal.SIGTERM)
    assert daemon.wait_exit() == 0
    assert "SIGTERM: no new sessions" in daemon.log()


@pytest.mark.parametrize("number", (signal.SIGHUP, signal.SIGPIPE), ids=lambda n: n.name)
def test_a_signal_that_means_no_stop_never_ends(weir, peers, number):
    listener = peers.listen()
    daemon = weir(listen_section(listener))
    client, server = peers.pair(daemon.address("l"), listener)
    for _ in range(20):
        daemon.signal(number)
        client.send(100)
        server.receive(100)
    assert stays(lambda: daemon.child.poll() is None, 0.2)
    client, server = peers.pair(daemon.address("l"), listener)
    client.send(100)
    server.receive(100)


def test_a_stop_while_connecting_ends(network, weir, peers):
    """The server is silent; the connect timeout or hard-stop-after bounds it."""
    network.drop_address("127.0.0.9")
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\nserver a = 127.0.0.9:7\nretries = 0\n"
                  "timeout-connect = 500ms\n", wrapper=network.wrapper)
    client = peers.connect(daemon.address("l"), socket_maker=network.socket)
    wait_until(lambda: daemon.info()["connects"] == 1, "the connect begins")
    daemon.ended = True
    daemon.signal(signal.SIGTERM)
    assert daemon.wait_exit(0.5 + 3 * AT_ONCE) == 0
    assert client.receive_to_end() == "reset"


def test_sigterm_during_start_ends_with_zero(weir, peers):
    """Sent as soon as the process exists: it may be before anything is set up."""
    listener = peers.listen()
    for _ in range(5):
        daemon = weir(listen_section(listener), launch_only=True)
        daemon.ended = True
        wait_until(lambda: "listening on" in daemon.log() or "ready:" in daemon.log(),
                   "the first line")
        daemon.signal(signal.SIGTERM)
        assert daemon.wait_exit(2 * AT_ONCE) == 0
        final_check.check_log(daemon)


def test_signals_count_that_were_blocked_when_it_was_started(weir, peers):
    """The mask is inherited, as are descriptors."""
    block = ("import os, signal, sys\n"
             "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})\n"
             "os.execv(sys.argv[1], sys.argv[1:])")
    daemon = weir(listen_section(peers.listen()), wrapper=["/usr/bin/python3", "-c", block])
    daemon.signal(signal.SIGHUP)
    wait_until(lambda: "reloaded: " in daemon.log(), lambda: f"a reload in {daemon.log()}")
    daemon.signal(signal.SIGTERM)
    daemon.ended = True
    assert daemon.wait_exit() == 0
    assert "SIGTERM: no new sessions" in daemon.log()
