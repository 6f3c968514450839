# SPDX-License-Identifier: MIT
"""Danger: a name that does not resolve, or a name server that does not respond, delays the start, the
other servers or the stop."""

import os
import socket
import time

import pytest

from harness.address import Address
from harness.timing import PATIENCE, SCALE, wait_until


def serve(peers, where, listener, count=6, **kw):
    for _ in range(count):
        client, server = peers.pair(where, listener, **kw)
        client.send(1000)
        server.receive(1000)
        client.close()
        server.close()


def test_an_unknown_name_leaves_its_server_out_and_the_others_serve(weir, peers):
    listener = peers.listen()
    begin = time.monotonic()
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\nserver bad = no-such-host.invalid:80\n"
                  f"server good = {listener.address}\n")
    took = time.monotonic() - begin
    assert took < 4.5 * SCALE, f"the start took {took:.2f} s"  # a try at a name server takes longer
    serve(peers, daemon.address("l"), listener)
    info = daemon.info()
    assert str(info["server.l/bad"]).startswith("unresolved"), info["server.l/bad"]
    assert str(info["server.l/good"]).startswith("up"), info["server.l/good"]


def test_with_no_server_at_all_the_client_is_closed_and_the_log_says_why(weir, peers):
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\nserver bad = no-such-host.invalid:80\n")
    client = peers.connect(daemon.address("l"), hello=False)
    assert client.receive_to_end() == "fin"
    line = daemon.wait_session_line(reason_text="no server is usable")
    assert line["ts_code"] == "SC", line


def test_a_name_that_resolves_serves(weir, peers):
    try:
        socket.getaddrinfo("localhost", 80)
    except OSError as error:
        pytest.skip(f"this machine does not know localhost (/etc/hosts): {error}")
    listener = peers.listen(where=Address("tcp6", host="::", port=0))
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\n"
                  f"server a = localhost:{listener.address.port}\n")
    wait_until(lambda: str(daemon.info()["server.l/a"]).startswith("up"), "localhost resolves")
    serve(peers, daemon.address("l"), listener)


def test_a_silent_resolver_delays_neither_start_nor_service_nor_stop(network, weir, peers,
                                                                      folder):
    """The only name server takes every question and answers none."""
    def black_hole():
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("127.0.0.1", 53))
        return s
    hole = peers.keep(network.call(black_hole))
    conf = os.path.join(folder, "resolv.conf")
    with open(conf, "w", encoding="ascii") as f:
        f.write("nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
    listener = peers.listen(socket_maker=network.socket)
    begin = time.monotonic()
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\nserver bad = slow.example:80\n"
                  f"server good = {listener.address}\n",
                  wrapper=network.wrapper + ["unshare", "-m", "sh", "-c",
                                               f'mount --bind {conf} /etc/resolv.conf && '
                                               'exec "$0" "$@"'])
    took = time.monotonic() - begin
    assert took < PATIENCE, f"the start took {took:.2f} s"     # a try takes 30 s
    serve(peers, daemon.address("l"), listener, socket_maker=network.socket)
    hole.settimeout(PATIENCE)
    assert hole.recv(512), "the resolver was never asked"
    wait_until(lambda: daemon.info()["sessions"] == 0, "no session is left")
    begin = time.monotonic()
    assert daemon.terminate() == 0
    took = time.monotonic() - begin
    assert took < PATIENCE, f"the stop took {took:.2f} s"
