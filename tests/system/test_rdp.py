# SPDX-License-Identifier: MIT
"""Danger: an RDP client does not get back to its session, loses bytes, or waits for nothing."""

import os
import select
import socket
import struct

import pytest

from harness.run_time import order
from harness.show_stat import NO_SERVER, stat
from harness.timing import PATIENCE, SCALE, wait_until
from test_queue import wait_queued
from test_sniff import accept, call, end_of, read

NAMES = "abc"
NEGOTIATION = b"\x01\x00\x08\x00\x0b\x00\x00\x00"
SHORT = f"timeout={int(250 * SCALE)}ms"


def request(line=b""):
    length = 11 + len(line) + len(NEGOTIATION)
    head = struct.pack(">BBHBBHHB", 3, 0, length, min(length - 5, 254), 0xe0, 0, 0, 0)
    return head + line + NEGOTIATION


def token(address):
    number = struct.unpack("<I", socket.inet_aton(address.host))[0]
    return b"Cookie: msts=%d.%d.0000\r\n" % (number, socket.htons(address.port))


def start(weir, peers, sniff="rdp timeout=1m", back="", words="", **kw):
    at = {name: peers.listen(hold=True) for name in NAMES}
    daemon = weir(f"[listen f]\nbind = 127.0.0.1:0\nbalance = leastconn\nsniff = {sniff}\n"
                  f"persist = rdp\n{back}\n"
                  + "".join(f"server {name} = {at[name].address} {words}\n" for name in NAMES), **kw)
    return daemon, at


def goes(peers, daemon, listener, sent, pieces=1, close=True):
    client = call(peers, daemon)
    step = -(-len(sent) // pieces)
    for n in range(0, len(sent), step):
        client.sendall(sent[n:n + step])
    server = accept(peers, listener)
    assert read(server, len(sent)) == sent
    server.sendall(b"confirm")
    assert read(client, 7) == b"confirm"
    if close:
        client.close()
        server.close()
    return client, server


def spread(peers, daemon, at, sent, names=NAMES, others=0):
    """Clients that nothing leads back: each goes to the least loaded server, when those before it have left
    it."""
    wait_until(lambda: len(daemon.sessions()) == others, daemon.sessions)
    left = {at[name].sock: at[name] for name in names}
    pairs = []
    while left:
        client = call(peers, daemon)
        client.sendall(sent)
        ready, _, _ = select.select(list(left), [], [], PATIENCE)
        assert ready, f"nobody came to {list(left.values())}"
        server = accept(peers, left.pop(ready[0]))
        assert read(server, len(sent)) == sent
        pairs.append((client, server))
    for client, server in pairs:
        client.close()
        server.close()
    wait_until(lambda: len(daemon.sessions()) == others, daemon.sessions)


@pytest.mark.smoke
@pytest.mark.parametrize("pieces", (1, 2, 1000))
def test_a_cookie_leads_back_to_its_server(weir, peers, pieces):
    daemon, at = start(weir, peers)
    for name in "ccabac":
        goes(peers, daemon, at[name], request(token(at[name].address)), pieces)
    lbtot = [stat(daemon, name, "f")["lbtot"] for name in "abc"]
    assert lbtot == ["2", "1", "3"], lbtot


@pytest.mark.smoke
@pytest.mark.parametrize("sent", (request(), request(b"Cookie: mstshash=user\r\n"),
                                  request(b"Cookie: msts=1.256.0000\r\n"),
                                  request(b"Cookie: msts=fe80::1.15629.0000\r\n"),
                                  b"SSH-2.0-x\r\n", b"\x00"))
def test_what_names_no_server_of_the_backend_is_balanced(weir, peers, sent):
    daemon, at = start(weir, peers)
    spread(peers, daemon, at, sent)


@pytest.mark.smoke
def test_bytes_behind_the_request_go_on_unchanged(weir, peers):
    daemon, at = start(weir, peers)
    goes(peers, daemon, at["b"], request(token(at["b"].address)) + os.urandom(100_000))


@pytest.mark.smoke
def test_a_silent_client_waits_for_the_timeout_and_no_longer(weir, peers):
    daemon, at = start(weir, peers, sniff=f"rdp {SHORT}")
    half = request(token(at["b"].address))[:20]
    clients = [call(peers, daemon) for _ in NAMES]
    clients[0].sendall(half)
    got = []
    for name in NAMES:
        server = accept(peers, at[name])
        server.sendall(b"x")
        got.append(server)
    for client in clients:
        assert read(client, 1) == b"x"
    for client in clients:
        client.shutdown(socket.SHUT_WR)
    assert sorted(len(server.recv(100)) for server in got) == [0, 0, 20]


@pytest.mark.smoke
def test_who_must_speak_rdp_and_does_not_is_closed(weir, peers):
    daemon, at = start(weir, peers, sniff=f"rdp {SHORT} required")
    other, silent = call(peers, daemon), call(peers, daemon)
    other.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert end_of(other) == end_of(silent) == "reset"
    line = daemon.wait_session_line(reason="sniff_not_rdp")
    assert line["ts_code"] == "PC" and line["bytes_in"] == "0", line
    daemon.wait_session_line(reason="sniff_timeout", ts_code="cC")
    goes(peers, daemon, at["b"], request(token(at["b"].address)))
    spread(peers, daemon, at, request(b"Cookie: mstshash=user\r\n"))


@pytest.mark.smoke
def test_a_server_that_drains_keeps_its_clients_and_one_in_maintenance_does_not(weir, peers):
    daemon, at = start(weir, peers)
    back = request(token(at["b"].address))
    order(daemon, "set server f/b state drain")
    goes(peers, daemon, at["b"], back)
    spread(peers, daemon, at, request(), "ac")
    order(daemon, "set server f/b state maint")
    spread(peers, daemon, at, back, "ac")
    order(daemon, "set server f/b state ready")
    goes(peers, daemon, at["b"], back)
    assert daemon.ask("set server f/b weight 0").strip() == ""
    goes(peers, daemon, at["b"], back)


def test_a_server_that_is_down_gets_nobody(weir, peers):
    daemon, at = start(weir, peers)
    assert daemon.ask("set server f/b health down").strip() == ""
    spread(peers, daemon, at, request(token(at["b"].address)), "ac")
    assert daemon.ask("set server f/b health up").strip() == ""
    goes(peers, daemon, at["b"], request(token(at["b"].address)))


@pytest.mark.smoke
def test_a_full_server_lets_its_client_wait(weir, peers):
    daemon, at = start(weir, peers, words="maxconn=1", back="timeout-queue = 1m")
    back = request(token(at["b"].address))
    first, first_server = goes(peers, daemon, at["b"], back, close=False)
    second = call(peers, daemon)
    second.sendall(back)
    wait_queued(daemon, 1)
    # The others have room, and take clients without a cookie.
    spread(peers, daemon, at, request(), "ac", others=2)
    wait_queued(daemon, 1)
    first.close()
    first_server.close()
    server = accept(peers, at["b"])
    assert read(server, len(back)) == back
    second.close()
    server.close()


def test_a_full_server_that_drains_has_no_queue(weir, peers):
    daemon, at = start(weir, peers, words="maxconn=1", back="timeout-queue = 1m")
    back = request(token(at["b"].address))
    goes(peers, daemon, at["b"], back, close=False)
    order(daemon, "set server f/b state drain")
    spread(peers, daemon, at, back, "ac", others=1)


@pytest.mark.smoke
def test_a_drained_backend_keeps_its_clients_and_its_fallback_gets_the_others(weir, peers):
    at = {name: peers.listen() for name in "abx"}
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\nsniff = rdp\ndefault-backend = farm\n"
                  "[backend farm]\npersist = rdp\nfallback-backend = spare\n"
                  f"server a = {at['a'].address}\nserver b = {at['b'].address} maxconn=1\n"
                  f"[backend spare]\nserver x = {at['x'].address}\n")
    daemon.expected_alarms = NO_SERVER
    home = {name: request(token(at[name].address)) for name in "ab"}
    assert daemon.ask("set server farm/a state drain").strip() == ""
    assert daemon.ask("set server farm/b weight 0").strip() == ""
    goes(peers, daemon, at["x"], request())
    goes(peers, daemon, at["a"], home["a"])
    first, first_server = goes(peers, daemon, at["b"], home["b"], close=False)
    # It is full, and has no queue: its next client follows the others.
    goes(peers, daemon, at["x"], home["b"])
    first.close()
    first_server.close()
    wait_until(lambda: not daemon.sessions(), daemon.sessions)
    goes(peers, daemon, at["b"], home["b"])
    assert daemon.ask("set server farm/a state maint").strip() == ""
    goes(peers, daemon, at["x"], home["a"])


def test_after_a_failed_connect_others_are_tried(weir, peers):
    daemon, at = start(weir, peers)
    back = request(token(at["b"].address))
    at["b"].die()
    spread(peers, daemon, at, back, "ac")
    assert daemon.info()["redispatches"] == 2


def test_a_reload_turns_it_on_and_off_and_a_new_address_counts_at_once(weir, peers):
    daemon, at = start(weir, peers)
    back = request(token(at["b"].address))
    goes(peers, daemon, at["b"], back)
    assert "persist" in daemon.reload("persist = rdp\n", "persist = off\n")
    spread(peers, daemon, at, back)
    daemon.reload("persist = off\n", "persist = rdp\n")
    goes(peers, daemon, at["b"], back)
    # An address is looked for in the servers as they are now.
    new = peers.listen()
    said = daemon.ask(f"set server f/b addr {new.address.host} port {new.address.port}")
    assert "port changed" in said, said
    goes(peers, daemon, new, request(token(new.address)))
    at = dict(at, b=new)
    spread(peers, daemon, at, back)


def test_a_backup_server_keeps_its_clients_too(weir, peers):
    at = {name: peers.listen() for name in "ab"}
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\nsniff = rdp\ndefault-backend = farm\n"
                  f"[backend farm]\npersist = rdp\nserver a = {at['a'].address}\n"
                  f"server b = {at['b'].address} backup\n")
    goes(peers, daemon, at["b"], request(token(at["b"].address)))
    goes(peers, daemon, at["a"], request())


def test_the_client_behind_a_proxy_header_is_led_back(weir, peers):
    at = {name: peers.listen() for name in NAMES}
    daemon = weir("[listen f]\nbind = 127.0.0.1:0 accept-proxy\ntrusted = 127.0.0.0/8\nsniff = rdp\n"
                  "persist = rdp\n" + "".join(f"server {name} = {at[name].address}\n" for name in NAMES))
    client = call(peers, daemon)
    sent = request(token(at["c"].address))
    client.sendall(b"PROXY TCP4 192.0.2.1 192.0.2.2 1000 3389\r\n" + sent)
    server = accept(peers, at["c"])
    assert read(server, len(sent)) == sent


def test_a_frontend_that_does_not_read_requests_is_refused(weir, peers):
    daemon, at = start(weir, peers)
    said = daemon.reload("sniff = rdp timeout=1m\n", "", refused=True)
    assert "'persist = rdp' needs 'sniff = rdp' in [listen f], which leads to 'f'" in said, said
    goes(peers, daemon, at["b"], request(token(at["b"].address)))


def test_a_storm_of_clients_finds_its_servers(weir, peers):
    daemon, at = start(weir, peers)
    clients = []
    for n in range(90):
        name = NAMES[n % 3]
        client = call(peers, daemon)
        client.sendall(request(token(at[name].address)))
        clients.append((client, name))
    for client, name in clients:
        server = accept(peers, at[name])
        assert read(server, 20) == request(token(at[name].address))[:20]
        server.sendall(b"answer")
        server.close()
    for client, _ in clients:
        assert read(client, 6) == b"answer"
        client.close()


def test_clients_come_back_while_servers_come_and_go(weir, peers):
    """Of a server that leaves and of one that moves, workers have the table of before for a moment."""
    daemon, at = start(weir, peers, words="weight=2")
    moving = [peers.listen(), peers.listen()]
    assert "registered" in daemon.ask(f"add server f/d {moving[0].address}")
    order(daemon, "set server f/d state ready")
    for n in range(12):
        to = moving[n % 2]
        daemon.ask(f"set server f/d addr {to.address.host} port {to.address.port}")
        clients = []
        for listener in (at["a"], at["b"], to):
            client = call(peers, daemon)
            client.sendall(request(token(listener.address)))
            clients.append((client, listener))
        for client, listener in clients:
            server = accept(peers, listener)
            sent = request(token(listener.address))
            assert read(server, len(sent)) == sent
            server.close()
            assert end_of(client) == "fin"
            client.close()
    order(daemon, "set server f/d state maint")
    wait_until(lambda: "deleted" in daemon.ask("del server f/d"), "the end of f/d")
    goes(peers, daemon, at["a"], request(token(at["a"].address)))


def test_explain_says_that_a_cookie_may_choose(weir, peers):
    daemon, _ = start(weir, peers)
    said = daemon.ask("explain listener=f client=127.0.0.1")
    assert "an RDP request without a cookie: with one, 'persist' may choose the server" in said, said
    assert "the client goes to one of 3 servers of f" in said, said
