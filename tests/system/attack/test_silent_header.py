# SPDX-License-Identifier: MIT
"""Danger: clients that must send a PROXY header and send nothing count towards no source, so that one machine
takes every place of maxconn; or a load balancer is mistaken for such a client."""

import contextlib
import socket
import time

import pytest

from harness.timing import PATIENCE, NotInTime, wait_until

SILENT = 300
LIMIT = 3
BURST = 100
SOURCE_LIMIT = "maxconn-per-source is reached"


def header(client="192.0.2.1"):
    return f"PROXY TCP4 {client} 192.0.2.2 1111 2222\r\n".encode()


def start(weir, peers, lines="", bind="accept-proxy", limit=LIMIT):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0 {bind}\nserver a = {listener.address}\n"
                  f"maxconn-per-source = {limit}\ntimeout-handshake = 60s\n{lines}\n")
    return daemon, listener, daemon.address("l")


def call(peers, where, words=b"", source="127.0.0.1"):
    sock = peers.keep(where.socket())
    sock.settimeout(PATIENCE)
    sock.bind((source, 0))
    sock.connect(where.sockaddr)
    sock.sendall(words)
    return sock


def is_refused(sock):
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


def is_served(peers, sock, listener):
    """A byte that comes back by a server; the server's end."""
    sock.sendall(b"x")
    server = peers.keep(listener.accept())
    server.settimeout(PATIENCE)
    assert server.recv(1) == b"x"
    server.sendall(b"y")
    assert sock.recv(1) == b"y"
    return server


def wait_owing(daemon, count):
    wait_until(lambda: daemon.ask("show sess").count("state=handshake") == count,
               lambda: f"{count} that owe a header:\n{daemon.ask('show sess')}")


@pytest.mark.parametrize("lines", ("", "trusted = 127.0.0.0/8"), ids=("by-anybody", "by-trusted"))
def test_of_those_who_say_nothing_a_source_has_as_many_as_its_limit(weir, peers, lines):
    daemon, listener, where = start(weir, peers, lines)
    for _ in range(SILENT):
        peers.connect(where, hello=False)
    wait_until(lambda: daemon.info()["source_limited"] == SILENT - LIMIT, daemon.info)
    wait_owing(daemon, LIMIT)
    wait_until(lambda: daemon.info()["sessions"] == LIMIT, daemon.info)
    is_served(peers, call(peers, where, header(), "127.0.0.2"), listener)
    daemon.wait_session_line(reason_text=SOURCE_LIMIT)


@pytest.mark.parametrize("lines", ("", "trusted = 127.0.0.0/8"), ids=("by-anybody", "by-trusted"))
def test_a_balancer_may_open_many_at_once_whose_headers_follow(weir, peers, lines):
    daemon, listener, where = start(weir, peers, lines)
    limited = 0

    def follow_in_time():
        """A header that comes a fifth of a second later may be too late: then once more."""
        nonlocal limited
        limited = daemon.info()["source_limited"]
        begin = time.monotonic()
        socks = [call(peers, where) for _ in range(BURST)]
        for n, sock in enumerate(socks):
            with contextlib.suppress(ConnectionError):
                sock.sendall(header(f"192.0.2.{n + 1}") + b"x")
        if time.monotonic() - begin < 0.1:
            return socks
        for sock in socks:
            sock.close()
        wait_until(lambda: end_all(listener, daemon), "they have left")
        return None
    for _ in wait_until(follow_in_time, "all headers follow in time"):
        server = peers.keep(listener.accept())
        server.settimeout(PATIENCE)
        assert server.recv(1) == b"x"
    info = daemon.info()
    assert (info["source_limited"], info["sessions"]) == (limited, BURST)


def end_all(listener, daemon):
    """Ends the connections of servers; True if no session is left."""
    with contextlib.suppress(NotInTime):
        while True:
            listener.accept(patience=0.01).close()
    return daemon.info()["sessions"] == 0


def test_the_count_moves_to_the_address_that_the_header_names(weir, peers):
    daemon, listener, where = start(weir, peers)
    for n in range(4):
        owing = [call(peers, where) for _ in range(LIMIT)]
        wait_owing(daemon, LIMIT)
        assert peers.connect(where, hello=False).receive_to_end() == "reset"
        for sock in owing:
            sock.sendall(header(f"192.0.2.{n + 1}"))
            is_served(peers, sock, listener)
        # Who is named has as many as it may, though the balancer has room again.
        assert is_refused(call(peers, where, header(f"192.0.2.{n + 1}")))
        wait_until(lambda n=n: daemon.info()["source_limited"] == 2 * (n + 1), daemon.info)


@pytest.mark.parametrize("words", (b"PROXY UNKNOWN\r\n", b"PROXY TCP4 127.0.0.1 192.0.2.2 1 2\r\n"),
                         ids=("named-none", "named-itself"))
def test_who_is_not_named_or_names_itself_is_counted_once(weir, peers, words):
    daemon, listener, where = start(weir, peers)
    owing = [call(peers, where) for _ in range(LIMIT)]
    wait_owing(daemon, LIMIT)
    for sock in owing:
        sock.sendall(words)
        is_served(peers, sock, listener)
    assert is_refused(call(peers, where, words))
    assert is_refused(call(peers, where))
    wait_until(lambda: daemon.info()["source_limited"] == 2, daemon.info)


@pytest.mark.parametrize("words", (b"GET / HTTP/1.0\r\n\r\n", header("10.0.0.1"), None),
                         ids=("bad", "denied", "gone"))
def test_who_ends_before_it_is_let_in_gives_its_place_back(weir, peers, words):
    daemon, listener, where = start(weir, peers, "deny-from = 10.0.0.0/8", limit=1)
    for _ in range(5):
        sock = call(peers, where)
        wait_owing(daemon, 1)
        if words is None:
            sock.shutdown(socket.SHUT_WR)
        else:
            sock.sendall(words)
        assert is_refused(sock)
    wait_until(lambda: daemon.info()["sessions"] == 0, "all have ended")
    is_served(peers, call(peers, where, header()), listener)
    assert daemon.info()["source_limited"] == 0
