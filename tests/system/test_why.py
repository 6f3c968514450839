# SPDX-License-Identifier: MIT
"""Danger: at three in the morning nobody can tell whether it is the client, the server, the network or weir:
a failure leaves no trace, an explanation contradicts what happens, a slow session blames the wrong side."""

import socket
import time

CONFIG = "[listen l]\nbind = 127.0.0.1:0\nretries = 0\nserver a = {}\n"


def test_a_client_that_does_not_read_limits_its_session(weir, peers):
    listener = peers.listen()
    daemon = weir(CONFIG.format(listener.address))
    client, server = peers.pair(daemon.address("l"), listener)
    server.sock.settimeout(0.2)
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        try:
            server.sock.send(bytes(65536))
        except TimeoutError:
            pass
    client.sock.close()
    server.sock.close()
    record = daemon.wait_session_line()
    assert record["limited_by"] == "client"
