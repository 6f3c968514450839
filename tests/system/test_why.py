# SPDX-License-Identifier: MIT
"""Danger: at three in the morning nobody can tell whether it is the client, the server, the network or weir:
a failure leaves no trace, an explanation contradicts what happens, a slow session blames the wrong side."""

import json
import re
import select
import socket
import time

import pytest

from harness import address
from harness.timing import wait_until
from test_admin import ctl

CONFIG = "[listen l]\nbind = 127.0.0.1:0\nretries = 0\nserver a = {}\n"


@pytest.fixture
def refusing(closing):
    """Where nothing listens, and no one else can."""
    sock = socket.socket()
    closing.append(sock)
    sock.bind(("127.0.0.1", 0))
    return "127.0.0.1:{}".format(sock.getsockname()[1])


def listening(daemon):
    """Where its only listener is, although no log line says so."""
    return address.parse("127.0.0.1:" + re.search(r" lport=(\d+)", daemon.ask("show fd"))[1])


def errors(daemon, *words):
    return json.loads(daemon.ask(" ".join(("show errors", *words, "json"))))


def test_a_refused_connect_is_kept_whatever_is_logged(weir, peers, refusing):
    daemon = weir(CONFIG.format(refusing), "log = stderr level=notice")
    client = peers.connect(listening(daemon))
    source = ":".join(map(str, client.sock.getsockname()))
    wait_until(lambda: errors(daemon), "the failure is kept")
    (row,) = errors(daemon)
    assert (row["phase"], row["errno"], row["reason"]) == ("connect", "ECONNREFUSED", "connect_refused")
    assert (row["client"], row["server_address"]) == (source, refusing)
    assert (row["frontend"], row["backend"], row["server"], row["try"]) == ("l", "l", "a", 1)
    assert errors(daemon, "l") == [row] or errors(daemon, "l")[0]["id"] == row["id"]
    assert "errno=ECONNREFUSED" in ctl(daemon, "show", "errors").stdout
    assert "phase=connect" in ctl(daemon, "why", "l/a").stdout
    assert daemon.ask("show errors", voice="").startswith("Total events captured")


def test_a_denied_client_is_kept_and_explained(weir, peers):
    listener = peers.listen()
    daemon = weir(CONFIG.format(listener.address) + "deny-from = 127.0.0.0/8\n")
    peers.connect(daemon.address("l"))
    wait_until(lambda: errors(daemon), "the failure is kept")
    assert [(row["phase"], row["reason"]) for row in errors(daemon)] == [("admission", "denied")]
    steps = json.loads(daemon.ask("explain listener=l client=127.0.0.1 json"))
    assert steps[-1]["outcome"] == "denied" and "deny-from" in steps[-1]["text"]
    steps = json.loads(daemon.ask("explain listener=l client=192.0.2.1 json"))
    assert steps[-1]["outcome"] == "server" and steps[-1]["text"].endswith("l/a")


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


@pytest.mark.parametrize("reader", ["client", "server"])
def test_whoever_does_not_read_limits_its_session(weir, peers, reader):
    listener = peers.listen()
    daemon = weir(CONFIG.format(listener.address))
    sides = dict(zip(("client", "server"), peers.pair(daemon.address("l"), listener), strict=True))
    writer = sides["server" if reader == "client" else "client"]
    writer.sock.settimeout(0.2)
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        try:
            writer.sock.send(bytes(65536))
        except TimeoutError:
            pass
    for side in sides.values():
        side.sock.close()
    record = daemon.wait_session_line()
    assert record["limited_by"] == reader
    info = daemon.info()
    assert [info["limited_by_client"], info["limited_by_server"]] == [reader == "client", reader == "server"]


def test_failures_are_read_while_workers_add_them(weir, refusing):
    """Each one is whole, and none is left out of the count."""
    daemon = weir(CONFIG.format(refusing) + "[listen d]\nbind = 127.0.0.1:0\n"
                  f"server a = {refusing}\ndeny-from = 127.0.0.0/8\n", "threads = 4")
    where = [daemon.address(name).sockaddr for name in "ld"]
    clients = 400
    for n in range(clients):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(where[n % 2])
        wait_until(lambda s=sock: select.select([s], [], [], 0)[0], "it is closed")
        sock.close()
        for row in errors(daemon) if n % 8 == 0 else ():
            assert (row["frontend"], row["reason"], row.get("errno")) in (
                ("l", "connect_refused", "ECONNREFUSED"), ("d", "denied", None)), row
    head = f"# failures since the start: {clients};"
    wait_until(lambda: daemon.ask("show errors").startswith(head), "all are counted")
