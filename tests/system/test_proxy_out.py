# SPDX-License-Identifier: MIT
"""Danger: a server that needs a PROXY header gets none, a late or a wrong one, or bytes before it."""

import json
import re
import socket

import pytest

from harness import exchange, proxy
from harness.peer import Peer, read_preamble
from harness.stage import next_conn
from harness.timing import PATIENCE, wait_until
from test_proxy_in import FORMS, TCP4, TLVS, UNIX, call, end_of

SUM_AND_ID = "send-proxy=v2 proxy-v2-options=crc32c,unique-id"
PASS = "send-proxy=v2 proxy-v2-options=pass"


def start(weir, peers, server, bind="", family="tcp4", **kw):
    """Who sends a header is trusted, so that its TLVs may be passed on."""
    listener = peers.listen()
    where = {"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0", "path": f"unix:{peers.folder}/front.sock"}[family]
    trusted = "trusted = 127.0.0.1\n" if bind else ""
    daemon = weir(f"[listen l]\nbind = {where} {bind}\n{trusted}server a = {listener.address} {server}\n",
                  **kw)
    return daemon, listener, daemon.address("l")


def accept(peers, listener):
    sock = peers.keep(listener.accept())
    sock.settimeout(PATIENCE)
    return sock


def line_of(client, family):
    (src, sport), (dst, dport) = client.getsockname()[:2], client.getpeername()[:2]
    return f"PROXY {family} {src} {dst} {sport} {dport}\r\n"


def pair_of(client):
    (src, sport), (dst, dport) = client.getsockname()[:2], client.getpeername()[:2]
    return proxy.ip_pair(src, dst, sport, dport)


@pytest.mark.smoke
@pytest.mark.parametrize("family, words", (("tcp4", "TCP4"), ("tcp6", "TCP6"), ("path", None)))
def test_version_1_is_said_at_once(weir, peers, family, words):
    """The client is silent: the server may be the one to speak."""
    daemon, listener, where = start(weir, peers, "send-proxy=v1", family=family)
    client = call(peers, where)
    server = accept(peers, listener)
    wanted = line_of(client, words) if words else "PROXY UNKNOWN\r\n"
    assert proxy.Received(server).text == wanted
    server.sendall(b"220 ready\r\n")
    assert client.recv(100) == b"220 ready\r\n"
    client.sendall(b"QUIT")
    assert server.recv(100) == b"QUIT"
    client.close()
    server.close()
    assert daemon.wait_session_line()["bytes_in"] == "4", "the header is not the client's"


@pytest.mark.smoke
@pytest.mark.parametrize("family, byte", (("tcp4", 0x11), ("tcp6", 0x21), ("path", 0x31)))
def test_version_2_is_said_at_once(weir, peers, family, byte):
    daemon, listener, where = start(weir, peers, "send-proxy=v2", family=family)
    client = call(peers, where)
    got = proxy.Received(accept(peers, listener))
    wanted = pair_of(client) if byte != 0x31 else proxy.unix_pair(b"", where.name.encode())
    assert (got.command, got.family, got.addresses, got.tlvs) == (0x21, byte, wanted, [])


def test_checksum_and_unique_id_are_added(weir, peers):
    daemon, listener, where = start(weir, peers, SUM_AND_ID)
    ids = []
    for _ in range(3):
        client = call(peers, where)
        server = accept(peers, listener)
        got = proxy.Received(server)
        assert got.tlvs[-1][0] == proxy.CRC32C, "checked while it was read"
        ids.append(got.tlv(proxy.UNIQUE_ID).decode())
        live, = daemon.sessions()
        assert f" unique_id={ids[-1]}" in live and ids[-1].endswith("-" + re.search(r" id=(\S+)", live)[1])
        assert json.loads(daemon.ask("show sess json"))[0]["unique_id"] == ids[-1]
        client.close()
        server.close()
        line = daemon.wait_session_line(unique_id=ids[-1])
        assert ids[-1].endswith(f"-{line['id']}"), line
    assert len(set(ids)) == 3


@pytest.mark.parametrize("splice", ("on", "auto", "off"))
def test_a_stream_is_whole_behind_our_header(weir, peers, splice):
    daemon, listener, where = start(weir, peers, SUM_AND_ID, global_options=f"splice = {splice}")
    legs = []
    for _ in range(4):
        client = peers.connect(where)
        client.send(50000)
        sock = accept(peers, listener)
        assert proxy.Received(sock).addresses == pair_of(client.sock)
        assert read_preamble(sock) == client.conn
        server = peers.keep(Peer(sock, "server", client.conn, "tcp4"))
        legs += [exchange.Leg(client, 2000000, 1000000), exchange.Leg(server, 1000000, 2050000)]
    exchange.run(legs)
    assert daemon.wait_session_line(4, bytes_in=2050016)


@pytest.mark.smoke
@pytest.mark.parametrize("server", ("send-proxy=v1", PASS, f"{SUM_AND_ID},pass"))
@pytest.mark.parametrize("form", FORMS)
def test_what_a_client_said_is_said_on(weir, peers, form, server):
    """Also: header and glued bytes leave in one write, so one recv(2) has both."""
    daemon, listener, where = start(weir, peers, server, bind="accept-proxy")
    header, known_as = FORMS[form]
    client = call(peers, where)
    client.sendall(header + b"glued")
    sock = accept(peers, listener)
    assert sock.recv(65536, socket.MSG_PEEK).endswith(b"glued")
    got = proxy.Received(sock)
    assert sock.recv(100) == b"glued"
    if got.version == 1:
        wanted = {"unix:": "PROXY UNKNOWN\r\n", None: line_of(client, "TCP4"),
                  "192.0.2.1:1000": "PROXY TCP4 192.0.2.1 192.0.2.2 1000 443\r\n",
                  "[2001:db8::1]:1000": "PROXY TCP6 2001:db8::1 2001:db8::2 1000 443\r\n"}[known_as]
        if form == "v1-mapped":
            wanted = "PROXY TCP6 ::ffff:192.0.2.1 ::1 1000 443\r\n"
        assert got.text == wanted
        return
    wanted = {"unix:": UNIX, None: pair_of(client), "192.0.2.1:1000": TCP4,
              "[2001:db8::1]:1000": FORMS["v2-tcp6"][0][16:]}[known_as]
    if form == "v1-mapped":
        wanted = proxy.ip_pair("::ffff:192.0.2.1", "::1", 1000, 443)
    assert got.command == 0x21 and got.addresses == wanted
    passed = [(kind, value) for kind, value in got.tlvs if kind not in (proxy.CRC32C, proxy.UNIQUE_ID)]
    if form == "v2-tlvs-sum":
        assert b"".join(proxy.tlv(*t) for t in passed) == TLVS
    elif form == "v2-long":
        assert passed == [(0xe0, bytes(16000))]
    else:
        assert not passed
    for kind in (proxy.CRC32C, proxy.UNIQUE_ID):
        assert (got.tlv(kind) is not None) == server.startswith(SUM_AND_ID)


def test_a_unique_id_is_passed_on_and_logged(weir, peers):
    daemon, listener, where = start(weir, peers, f"{PASS},crc32c", bind="accept-proxy")
    # What a stranger writes stays one word of the log.
    given = b'a "b\\\n\xff='
    client = call(peers, where)
    client.sendall(proxy.v2("tcp4", TCP4, proxy.tlv(proxy.UNIQUE_ID, given) + proxy.tlv(proxy.NOOP, b"...")))
    server = accept(peers, listener)
    got = proxy.Received(server)
    assert got.tlv(proxy.UNIQUE_ID) == given and got.tlv(proxy.NOOP) is None
    word = r"a\x20\x22b\x5c\x0a\xff="
    assert daemon.sessions()[0].endswith(f" unique_id={word}")
    assert json.loads(daemon.ask("show sess json"))[0]["unique_id"] == word
    client.close()
    server.close()
    daemon.wait_session_line(unique_id=word)


def test_the_unique_id_is_in_a_json_line(weir, peers):
    daemon, listener, where = start(weir, peers, SUM_AND_ID,
                                    global_options="log = stderr level=info format=json")
    client = call(peers, where)
    server = accept(peers, listener)
    given = proxy.Received(server).tlv(proxy.UNIQUE_ID).decode()
    client.close()
    server.close()
    wait_until(lambda: f'"unique_id":"{given}"' in daemon.log(), lambda: daemon.log())


def test_a_header_that_grows_too_long_is_named(weir, peers):
    daemon, listener, where = start(weir, peers, f"{SUM_AND_ID},pass", bind="accept-proxy")
    client = call(peers, where)
    client.sendall(proxy.v2("tcp4", TCP4, proxy.tlv(0xe0, bytes(16384 - 16 - 12 - 3))))
    assert end_of(client) == "reset"
    daemon.wait_session_line(reason_text="PROXY header is too long")


@pytest.mark.smoke
def test_the_server_that_is_tried_next_gets_a_whole_header(weir, peers, folder):
    listener = peers.listen()
    daemon = weir("[listen l]\nbind = 127.0.0.1:0 accept-proxy\ntrusted = 127.0.0.1\nbalance = roundrobin\n"
                  f"server gone = unix:{folder}/gone.sock send-proxy=v1\n"
                  f"server here = {listener.address} {PASS}\n")
    for _ in range(4):  # some of them meet the other one first
        client = call(peers, daemon.address("l"))
        client.sendall(FORMS["v2-tlvs-sum"][0] + b"glued")
        sock = accept(peers, listener)
        got = proxy.Received(sock)
        assert got.addresses == TCP4 and b"".join(proxy.tlv(*t) for t in got.tlvs) == TLVS
        assert sock.recv(100) == b"glued"
        client.close()
        sock.close()
    daemon.wait_session_line(tries=2)


def test_a_server_that_does_not_read_ends_as_any_other(weir, peers):
    """Its buffers are full from the first byte on: the header is held, and the end still comes."""
    daemon, listener, where = start(weir, peers, "send-proxy=v1")
    client = peers.connect(where)
    client.fill()
    server = accept(peers, listener)
    assert proxy.Received(server).text == line_of(client.sock, "TCP4")
    server.close()
    assert client.receive_to_end() == "reset"


def test_who_waits_for_a_place_gets_header_and_bytes_later(weir, peers):
    daemon, listener, where = start(weir, peers, f"{PASS} maxconn=1", bind="accept-proxy")
    first, waiting, leaving = (call(peers, where) for _ in range(3))
    first.sendall(FORMS["v1-tcp4"][0] + b"first")
    server = accept(peers, listener)
    assert proxy.Received(server).addresses == TCP4 and server.recv(100) == b"first"
    for number, client in enumerate((waiting, leaving), 1):
        client.sendall(FORMS["v2-tlvs-sum"][0] + b"later")
        wait_until(lambda: daemon.ask("show sess").count("state=queued") == number,
                   lambda: daemon.ask("show sess"))
    leaving.close()  # it has said all: it is served as well
    for ending in (first, waiting):
        ending.close()
        server.close()
        server = accept(peers, listener)
        got = proxy.Received(server)
        assert got.addresses == TCP4 and b"".join(proxy.tlv(*t) for t in got.tlvs) == TLVS
        assert server.recv(100) == b"later"
    server.close()
    daemon.wait_session_line(2, bytes_in=5, ts_code="--")


@pytest.mark.parametrize("version", ("off", "v2"))
def test_a_clients_header_is_counted_memory_until_a_server_was_told(weir, peers, version):
    """With "off" the server that is met gets none; the other one, never met, would have."""
    listener = peers.listen()
    options = "proxy-v2-options=pass" if version == "v2" else ""
    daemon = weir("[listen l]\nbind = 127.0.0.1:0 accept-proxy\ntrusted = 127.0.0.1\nbalance = first\n"
                  f"server a = {listener.address} maxconn=1 send-proxy={version} {options}\n"
                  f"server b = {listener.address} weight=0 {PASS}\n")
    long_header = FORMS["v2-long"][0]
    clients = []
    for waiting in range(2):
        clients.append(call(peers, daemon.address("l")))
        clients[-1].sendall(long_header)
        wait_until(lambda: [daemon.ask("show sess").count(f"state={state}")
                            for state in ("forwarding", "queued")] == [1, waiting],
                   lambda: daemon.ask("show sess"))
    server = accept(peers, listener)
    if version == "v2":
        assert proxy.Received(server).tlv(0xe0) == bytes(16000)
    wait_until(lambda: int(daemon.info()["bufs_in_use"]) == 1, lambda: str(daemon.info()))
    assert int(daemon.info()["bufs_in_use_bytes"]) >= len(long_header)
    clients[0].close()
    server.close()
    server = accept(peers, listener)
    if version == "v2":
        assert proxy.Received(server).tlv(0xe0) == bytes(16000)
    wait_until(lambda: int(daemon.info()["bufs_in_use"]) == 0, lambda: str(daemon.info()))
    wait_until(lambda: daemon.info()["sessions"] == 1, lambda: str(daemon.info()))
