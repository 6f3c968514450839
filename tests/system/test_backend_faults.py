# SPDX-License-Identifier: MIT
"""Danger: a server that refuses, is silent or dies causes an error for a client that another server
could have served; or a client waits for ever; or the reason is not logged."""

import select
import time

import pytest

from harness import exchange
from harness.address import Address
from harness.exchange import Leg
from harness.timing import AT_ONCE, PATIENCE, quickest, wait_until


def exact(client, server, count=20_000):
    exchange.run([Leg(client, send=count, receive=count - client.received),
                  Leg(server, send=count, receive=count)])


def serve(peers, where, listener, count):
    for _ in range(count):
        exact(*peers.pair(where, listener))


def time_to_reset(peers, daemon, **kw):
    begin = time.monotonic()
    client = peers.connect(daemon.address("l"), **kw)
    assert client.receive_to_end() == "reset"
    return time.monotonic() - begin


@pytest.mark.smoke
@pytest.mark.parametrize("family", ("tcp4", "tcp6", "path", "abstract"))
def test_a_refusing_server_is_no_error_while_another_one_serves(weir, peers, family):
    refusing = peers.listen(family, listen=False)
    good = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver bad = {refusing.address}\n"
                  f"server good = {good.address}\n")
    begin = time.monotonic()
    serve(peers, daemon.address("l"), good, 20)
    # A pause is a second, and there would be five of them.
    assert time.monotonic() - begin < 4 * AT_ONCE, "another server is tried without a pause"
    info = daemon.info()
    assert info["redispatches"] >= 5 and info["connect_failures"] >= 5, info
    daemon.wait_session_line(count=20, server="good")
    assert all(line["ts_code"] == "--" for line in daemon.session_lines())


def test_a_missing_unix_socket_is_no_error_while_another_one_serves(weir, peers, folder):
    good = peers.listen("path")
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver bad = unix:{folder}/none\n"
                  f"server good = {good.address}\n")
    serve(peers, daemon.address("l"), good, 10)


@pytest.mark.smoke
@pytest.mark.parametrize("family", ("tcp4", "path"))
def test_when_all_refuse_the_client_is_reset_and_the_log_says_why(weir, peers, family):
    one, two = (peers.listen(family, listen=False) for _ in range(2))
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {one.address}\n"
                  f"server b = {two.address}\nretries = 1\n")
    client = peers.connect(daemon.address("l"))
    assert client.receive_to_end() == "reset"
    line = daemon.wait_session_line(reason_text="server refused the connection")
    assert line["tries"] == "2" and line["ts_code"] == "SC", line


def test_without_redispatch_only_the_chosen_server_is_tried(weir, peers):
    refusing, good = peers.listen(listen=False), peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver bad = {refusing.address}\n"
                  f"server good = {good.address}\nredispatch = off\nretries = 0\n",
                  "threads = 1")
    ends = []
    for _ in range(4):
        client = peers.connect(daemon.address("l"), hello=False)
        speaks, _, _ = select.select([good.sock, client.sock], [], [], PATIENCE)
        if client.sock in speaks:
            ends.append(client.receive_to_end())
        else:
            good.accept().close()
        client.close()
    assert ends == ["reset", "reset"]


def test_the_same_server_is_tried_again_after_a_pause(weir, peers):
    """The server refuses at first and listens a moment later; bytes that the client sent meanwhile arrive."""
    server = peers.listen(listen=False)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {server.address}\n"
                  "retries = 30\ntimeout-connect = 300ms\n")
    client = peers.connect(daemon.address("l"))
    client.send(3000)
    wait_until(lambda: daemon.info()["connect_failures"] >= 1, "the first try fails")
    server.sock.listen(16)
    end = peers.accept(server)
    end.receive(3000)
    end.send(100)
    client.receive(100)
    client.close()
    end.close()
    line = daemon.wait_session_line(server="a")
    assert int(line["tries"]) >= 2, line


def test_retries_are_counted_and_end(weir, peers):
    server = peers.listen(listen=False)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {server.address}\n"
                  "retries = 2\ntimeout-connect = 200ms\n")
    times = []

    def measure():
        times.append(time_to_reset(peers, daemon))
        return times[-1]
    took = quickest(measure, 0.4 + AT_ONCE)
    assert 0.3 <= took < 0.4 + AT_ONCE, f"three tries 200 ms apart took {took:.2f} s"
    line = daemon.wait_session_line(count=len(times), reason_text="server refused the connection")
    assert line["tries"] == "3", line
    assert daemon.info()["retries"] == 2 * len(times)


def test_two_dead_servers_are_asked_in_rounds_with_a_pause_between(weir, peers):
    one, two = peers.listen(listen=False), peers.listen(listen=False)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {one.address}\n"
                  f"server b = {two.address}\nretries = 3\ntimeout-connect = 200ms\n")
    took = quickest(lambda: time_to_reset(peers, daemon), 0.4 + AT_ONCE)
    assert 0.3 <= took < 0.4 + AT_ONCE, f"a and b, a pause, one, a pause, one: took {took:.2f} s"
    assert daemon.wait_session_line()["tries"] == "4"


def test_a_client_that_leaves_between_two_tries_costs_no_further_one(weir, peers):
    server = peers.listen(listen=False)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {server.address}\n"
                  "retries = 3\n")  # a second apart
    client = peers.connect(daemon.address("l"), hello=False)
    wait_until(lambda: daemon.info()["connect_failures"] == 1, "the first try fails")
    client.close()
    line = daemon.wait_session_line(reason_text="client left before a server answered")
    assert line["tries"] == "1" and line["ts_code"] == "CC", line


def test_what_a_client_sent_before_its_reset_is_delivered_though_no_server_had_answered(weir, peers):
    listener = peers.listen("path", backlog=0)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n")
    first = peers.connect(daemon.address("l"))
    wait_until(lambda: daemon.info()["bytes_to_server"] > 0, "the backlog is full")
    client = peers.connect(daemon.address("l"))
    client.send(3000)
    wait_until(lambda: daemon.info()["sessions"] == 2, "the second waits for room")
    client.reset()
    exact(first, peers.accept(listener))
    server = peers.accept(listener)
    assert server.conn == client.conn
    server.receive(3000)
    assert server.receive_to_end()


@pytest.mark.parametrize("how", ("reset", "fin"))
def test_a_server_that_ends_at_once_is_passed_on(weir, peers, how):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n")
    client, server = peers.pair(daemon.address("l"), listener)
    server.reset() if how == "reset" else server.close()
    assert client.receive_to_end() == how


def test_a_full_unix_backlog_is_waited_for_without_spinning(weir, peers):
    """connect() returns EAGAIN, and no event ever reports room."""
    listener = peers.listen("path", backlog=1)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n")
    clients = [peers.connect(daemon.address("l")) for _ in range(8)]
    wait_until(lambda: daemon.info()["sessions"] == 8, "eight sessions")
    ticks = daemon.cpu_over(0.5)
    assert ticks <= 3, f"{ticks} ticks of CPU in 0.5 s while a backlog is full"
    waiting = {c.conn: c for c in clients}
    while waiting:
        server = peers.accept(listener)
        exact(waiting.pop(server.conn), server)


# In the namespace every packet to this address is lost.
SILENT = Address("tcp4", host="127.0.0.9", port=7)


def test_a_silent_server_costs_timeout_connect(network, weir, peers):
    network.drop_address(SILENT.host)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {SILENT}\nretries = 0\n"
                  "timeout-connect = 400ms\n", wrapper=network.wrapper)
    took = quickest(lambda: time_to_reset(peers, daemon, socket_maker=network.socket), 0.4 + AT_ONCE)
    assert 0.35 <= took < 0.4 + AT_ONCE, f"timeout-connect of 400 ms took {took:.2f} s"
    line = daemon.wait_session_line(reason_text="timeout-connect")
    assert line["ts_code"] == "sC", line


def test_after_a_silent_server_another_one_serves(network, weir, peers):
    network.drop_address(SILENT.host)
    good = peers.listen(socket_maker=network.socket)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver bad = {SILENT}\n"
                  f"server good = {good.address}\ntimeout-connect = 200ms\n",
                  wrapper=network.wrapper)
    for _ in range(4):
        client = peers.connect(daemon.address("l"), socket_maker=network.socket)
        client.send(1000)
        server = peers.accept(good)
        assert server.conn == client.conn
        server.receive(1000)
        client.close()
        server.close()


@pytest.mark.parametrize("how", ("reset", "fin"))
def test_a_client_that_leaves_while_connecting_ends_the_session(network, weir, peers, how):
    """With nothing sent. By RST it ends at once; by FIN at once or with the tries."""
    network.drop_address(SILENT.host)
    end = "1h" if how == "reset" else "3s"
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {SILENT}\nretries = 0\n"
                  f"timeout-connect = {end}\n", wrapper=network.wrapper)

    def leave():
        before = daemon.info()["connects"]
        client = peers.connect(daemon.address("l"), socket_maker=network.socket, hello=False)
        wait_until(lambda: daemon.info()["connects"] == before + 1, "the connect begins")
        begin = time.monotonic()
        client.reset() if how == "reset" else client.fin()
        wait_until(lambda: daemon.info()["sessions"] == 0, "the session ends")
        return time.monotonic() - begin
    took = quickest(leave, AT_ONCE, 3 if how == "reset" else 1)
    assert how == "fin" or took < AT_ONCE, f"a session without a client went on for {took:.2f} s"


def test_a_client_that_sent_and_reset_while_connecting_costs_nothing_more(network, weir, peers):
    network.drop_address(SILENT.host)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {SILENT}\nretries = 0\n"
                  "timeout-connect = 1s\n", wrapper=network.wrapper)
    client = peers.connect(daemon.address("l"), socket_maker=network.socket)
    client.send(100_000)
    wait_until(lambda: daemon.info()["connects"] == 1, "the connect begins")
    client.reset()
    wait_until(lambda: daemon.info()["sessions"] == 0, "the session ends")
