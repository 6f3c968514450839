# SPDX-License-Identifier: MIT
"""Danger: an address that is left with a client in its queue, or that is not taken again."""

import errno
import socket

import pytest

from harness import process
from harness.final_check import at_start
from harness.timing import wait_until
from test_reload import free_port


def knock(where):
    """0, or the error of a connect. One to an address that is being left gets no answer for a second."""
    with where.socket() as s:
        s.settimeout(5)
        return s.connect_ex(where.sockaddr)


def refuses(where):
    return knock(where) in (errno.ECONNREFUSED, errno.ENOENT)


def listens(where):
    return knock(where) == 0


@pytest.fixture
def daemon_of(weir, peers, folder):
    def start():
        listener = peers.listen()
        # While it is left, no other process gets this one from the kernel.
        daemon = weir(f"[frontend web]\nbind = 127.0.0.1:{free_port()}\nbind = unix:{folder}/web.sock\n"
                      "unlisten = no-server\ndefault-backend = app\n"
                      f"[backend app]\nserver a = {listener.address}\n")
        daemon.expected_alarms = "no server left|cannot listen on"
        return listener, daemon
    return start


def addresses(daemon):
    return [where for name, _, where in daemon.addresses() if name == "web"][:2]


def begin(peers, listener, where):
    """Our own questions whether it listens are sessions without a byte."""
    client = peers.connect(where)
    server = peers.accept(listener, skip_silent=True)
    assert client.conn == server.conn
    return client, server


def end(peers, daemon):
    """As many descriptors as at the start, but for other sockets."""
    peers.close()

    def are_back():
        links = process.descriptors(daemon.pid)
        return len(links) == len(at_start(daemon, links))
    wait_until(are_back, lambda: f"descriptors are back: {process.kinds(process.descriptors(daemon.pid))}")
    now = daemon.snapshot()
    daemon.baseline |= {key: now[key] for key in ("fds", "listening", "passing")}


def serve(peers, listener, where):
    client, server = begin(peers, listener, where)
    client.send(1000)
    server.receive(1000)
    client.fin()
    server.receive_to_end()
    server.fin()
    client.receive_to_end()


@pytest.mark.smoke
def test_addresses_are_left_without_a_server_and_taken_again(daemon_of, peers):
    listener, daemon = daemon_of()
    both = addresses(daemon)
    for _ in range(2):
        client, server = begin(peers, listener, both[0])
        daemon.ask("set server app/a state maint")
        wait_until(lambda: all(refuses(a) for a in both), "both addresses refuse")
        client.send(1000)  # its session goes on
        server.receive(1000)
        daemon.ask("set server app/a state ready")
        for where in both:
            wait_until(lambda a=where: listens(a), "it listens again")
        client.fin()
        server.receive_to_end()
        server.fin()
        client.receive_to_end()
    wait_until(lambda: daemon.log().count("2 addresses taken again") == 2, "the log says so")
    assert daemon.log().count("2 addresses left") == 2
    end(peers, daemon)


def test_an_address_that_another_process_took_is_tried_again(daemon_of, peers):
    listener, daemon = daemon_of()
    where, path = addresses(daemon)
    daemon.ask("set server app/a state maint")
    wait_until(lambda: refuses(where) and refuses(path), "both addresses refuse")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(where.sockaddr)
        other.listen()
        daemon.ask("set server app/a state ready")
        wait_until(lambda: "cannot listen on" in daemon.log(), "it says that it cannot")
        serve(peers, listener, path)
    wait_until(lambda: listens(where), "it listens again")
    assert daemon.log().count("cannot listen on") == 1
    end(peers, daemon)


def test_a_reload_meets_addresses_that_are_left(daemon_of, peers):
    listener, daemon = daemon_of()
    where, path = addresses(daemon)
    daemon.ask("set server app/a state maint")
    wait_until(lambda: refuses(where) and refuses(path), "both addresses refuse")
    assert "nothing has changed" in daemon.reload(words=())
    assert refuses(where) and refuses(path)
    daemon.rewrite("unlisten = no-server\n", "unlisten = no\n")
    daemon.reload(words=())
    assert listens(where) and listens(path)
    daemon.ask("set server app/a state ready")
    serve(peers, listener, where)
    serve(peers, listener, path)
    peers.close()
