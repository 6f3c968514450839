# SPDX-License-Identifier: MIT
"""Danger: at three in the morning nobody can tell whether it is the client, the server, the network or weir:
a failure leaves no trace, an explanation contradicts what happens, a slow session blames the wrong side."""

import json
import socket
import time

from test_admin import ctl

CONFIG = "[listen l]\nbind = 127.0.0.1:0\nretries = 0\nserver a = {}\n"


def test_a_session_shows_what_it_waits_for(weir, peers):
    listener = peers.listen()
    daemon = weir(CONFIG.format(listener.address))
    client, _ = peers.pair(daemon.address("l"), listener)
    client.send(1000)
    (line,) = [line for line in ctl(daemon, "show", "sess").stdout.splitlines() if line]
    key = line.split(":")[0]
    shown = json.loads(daemon.ask(f"show sess {key} json"))
    assert len(shown) == 1
    assert shown[0]["waits_for"] == "the client or the server to send"
    assert shown[0]["client_tcp"] == shown[0]["server_tcp"] == "ESTABLISHED"
    assert shown[0]["server_rtt_us"] > 0
    assert "waits_for: " in ctl(daemon, "show", "sess", key).stdout


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
