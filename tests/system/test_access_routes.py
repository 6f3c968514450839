# SPDX-License-Identifier: MIT
"""Danger: a client reaches servers that are meant for others."""

import socket

import pytest


def passed_listener(peers, host="127.0.0.1"):
    """A listening socket whose port is known before the daemon starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = peers.keep(socket.socket(family, socket.SOCK_STREAM))
    sock.bind((host, 0))
    sock.listen(64)
    sock.setblocking(False)
    return sock, sock.getsockname()[1]


def backends(**listeners):
    return "".join(f"[backend {name}]\nserver a = {listener.address}\n"
                   for name, listener in listeners.items())


def from_address(source):
    def make(where):
        sock = where.socket()
        sock.bind((source, 0))
        return sock
    return make


def goes_to(peers, where, listener, source="127.0.0.1"):
    client, server = peers.pair(where, listener, socket_maker=from_address(source))
    server.send(100)
    client.receive(100)
    client.close()
    server.close()


@pytest.mark.smoke
def test_the_first_rule_for_the_source_says_where(weir, peers):
    one, two, rest = peers.listen(), peers.listen(), peers.listen()
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = rest\n"
                  "use-backend one = src=127.0.1.0/24,127.0.2.9\n"
                  "use-backend two = src=127.0.0.0/16\n" + backends(one=one, two=two, rest=rest))
    where = daemon.address("f")
    for _ in range(3):
        goes_to(peers, where, one, "127.0.1.7")
        goes_to(peers, where, one, "127.0.2.9")
        goes_to(peers, where, two, "127.0.2.8")
        goes_to(peers, where, rest, "127.1.0.1")
    assert daemon.info()["connects"] == 12


@pytest.mark.smoke
def test_the_port_says_where_and_both_words_must_fit(weir, peers):
    one, two, rest = peers.listen(), peers.listen(), peers.listen()
    (a, a_port), (b, b_port), (c, c_port) = (passed_listener(peers) for _ in range(3))
    binds = "".join(f"bind = fd@{sock.fileno()}\n" for sock in (a, b, c))
    daemon = weir(f"[frontend f]\n{binds}default-backend = rest\n"
                  f"use-backend two = src=127.0.0.2 dst-port={a_port}\n"
                  f"use-backend one = dst-port={a_port},{b_port}\n" + backends(one=one, two=two, rest=rest),
                  pass_fds=[sock.fileno() for sock in (a, b, c)])
    at = {where.port: where for _, _, where in daemon.addresses()}
    goes_to(peers, at[a_port], one)
    goes_to(peers, at[a_port], two, "127.0.0.2")
    goes_to(peers, at[b_port], one)
    goes_to(peers, at[b_port], one, "127.0.0.2")
    goes_to(peers, at[c_port], rest)
    goes_to(peers, at[c_port], rest, "127.0.0.2")


def test_a_unix_client_has_neither_and_goes_to_the_default(weir, peers, folder):
    one, rest = peers.listen(), peers.listen()
    daemon = weir(f"[frontend f]\nbind = unix:{folder}/s\ndefault-backend = rest\n"
                  "use-backend one = src=0.0.0.0/0,::/0\nuse-backend one = dst-port=1-65535\n"
                  + backends(one=one, rest=rest))
    client, server = peers.pair(daemon.address("f"), rest)
    server.send(100)
    client.receive(100)
    assert one


def test_who_is_denied_is_not_routed(weir, peers):
    one, rest = peers.listen(), peers.listen()
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = rest\ndeny-from = 127.0.0.2\n"
                  "use-backend one = src=127.0.0.2\n" + backends(one=one, rest=rest))
    client = peers.connect(daemon.address("f"), socket_maker=from_address("127.0.0.2"))
    assert client.receive_to_end() == "reset"
    goes_to(peers, daemon.address("f"), rest)
    assert daemon.info()["connects"] == 1


# With a PROXY header: the client is the one that it names.

def speaks_for(peers, where, source, port=443):
    client = peers.connect(where, hello=False)
    # In one write: a client refused because of its header resets what follows it.
    client.sock.sendall(f"PROXY TCP4 {source} 192.0.2.1 4711 {port}\r\nconn{client.conn:012d}".encode())
    return client


def reaches(peers, client, listener):
    server = peers.accept(listener)
    assert server.conn == client.conn
    server.send(100)
    client.receive(100)
    return client, server


@pytest.mark.smoke
def test_a_header_says_the_source_and_the_port(weir, peers):
    one, two, rest = peers.listen(), peers.listen(), peers.listen()
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0 accept-proxy=always\ndefault-backend = rest\n"
                  "deny-from = 10.9.0.0/16 ::ffff:10.8.0.0/112\nmaxconn-per-source = 2\n"
                  "use-backend one = src=10.0.0.0/8 dst-port=443\nuse-backend two = dst-port=25,8000-9000\n"
                  + backends(one=one, two=two, rest=rest))
    where = daemon.address("f")
    reaches(peers, speaks_for(peers, where, "10.0.0.1"), one)
    reaches(peers, speaks_for(peers, where, "10.0.0.1", 8443), two)
    reaches(peers, speaks_for(peers, where, "192.0.2.7"), rest)
    # Ours is the address of all of them: it is not the one that counts.
    assert speaks_for(peers, where, "10.0.0.1").receive_to_end() == "reset"
    daemon.wait_session_line(reason_text="maxconn-per-source is reached")
    for source in ("10.9.1.1", "10.8.0.1"):
        assert speaks_for(peers, where, source).receive_to_end() == "reset"
    line = daemon.wait_session_line(count=2, reason_text="not allowed from this address")
    assert line["client"].startswith(("10.9.1.1:", "10.8.0.1:")), line
    info = daemon.info()
    assert (info["connects"], info["denied"], info["source_limited"]) == (3, 2, 1)
