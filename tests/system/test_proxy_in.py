# SPDX-License-Identifier: MIT
"""Danger: a PROXY header is believed when it must not be, is lost together with the bytes that follow it,
or is awaited for ever."""

import contextlib
import socket
import time

import pytest

from harness import exchange, proxy
from harness.address import Address
from harness.peer import Peer
from harness.stage import next_conn
from harness.timing import AT_ONCE, PATIENCE, SCALE, wait_until

TCP4 = proxy.ip_pair("192.0.2.1", "192.0.2.2", 1000, 443)
TCP6 = proxy.ip_pair("2001:db8::1", "2001:db8::2", 1000, 443)
MAPPED = proxy.ip_pair("::ffff:192.0.2.1", "::ffff:192.0.2.2", 1000, 443)
UNIX = proxy.unix_pair(b"/run/client", b"/run/front")
TLVS = proxy.tlv(proxy.ALPN, b"h2") + proxy.tlv(proxy.AUTHORITY, b"example.org") + proxy.tlv(0xe5, b"")

# Each form: the header, and the client in the log; None = the socket's own address.
FORMS = {
    "v1-tcp4": (b"PROXY TCP4 192.0.2.1 192.0.2.2 1000 443\r\n", "192.0.2.1:1000"),
    "v1-tcp6": (b"PROXY TCP6 2001:db8::1 2001:db8::2 1000 443\r\n", "[2001:db8::1]:1000"),
    "v1-mapped": (b"PROXY TCP6 ::ffff:192.0.2.1 ::1 1000 443\r\n", "192.0.2.1:1000"),
    "v1-unknown": (b"PROXY UNKNOWN\r\n", None),
    "v1-unknown-words": (b"PROXY UNKNOWN ::1 ::2 1 2\r\n", None),
    "v2-tcp4": (proxy.v2("tcp4", TCP4), "192.0.2.1:1000"),
    "v2-tcp6": (proxy.v2("tcp6", TCP6), "[2001:db8::1]:1000"),
    "v2-mapped": (proxy.v2("tcp6", MAPPED), "192.0.2.1:1000"),
    "v2-unix": (proxy.v2("unix", UNIX), "unix:"),
    "v2-unspec": (proxy.v2(), None),
    "v2-local": (proxy.v2(command=0x20), None),
    "v2-local-tlvs": (proxy.v2("tcp4", TCP4, TLVS, command=0x20), None),
    "v2-tlvs-sum": (proxy.v2("tcp4", TCP4, TLVS, checksum=True), "192.0.2.1:1000"),
    "v2-long": (proxy.v2("tcp6", TCP6, proxy.tlv(0xe0, bytes(16000))), "[2001:db8::1]:1000"),
}


def start(weir, peers, bind="accept-proxy", family="tcp4", options="", **kw):
    listener = peers.listen()
    where = {"tcp4": "127.0.0.1:0", "path": f"unix:{peers.folder}/front.sock"}[family]
    daemon = weir(f"[listen l]\nbind = {where} {bind}\nserver a = {listener.address}\n{options}", **kw)
    return daemon, listener, daemon.address("l")


def call(peers, where):
    """A client that has said nothing yet."""
    sock = peers.keep(where.socket())
    sock.settimeout(PATIENCE)
    sock.connect(where.sockaddr)
    if where.tcp:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def take(peers, listener, count):
    """The server's end, and the first bytes it gets."""
    sock = peers.keep(listener.accept())
    sock.settimeout(PATIENCE)
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        assert part, f"it ended after {data!r}"
        data += part
    return sock, data


def end_of(sock):
    """How a connection ends on which nothing more comes."""
    try:
        assert sock.recv(1) == b""
        return "fin"
    except ConnectionResetError:
        return "reset"


def whole(sock, data, header):
    sock.sendall(data)


def apart(sock, data, header):
    sock.sendall(data[:header])
    time.sleep(0.02)  # two reads, mostly
    sock.sendall(data[header:])


def bytewise(sock, data, header):
    for at in range(min(header + 2, 300)):
        sock.sendall(data[at:at + 1])
    sock.sendall(data[min(header + 2, 300):])


@pytest.mark.smoke
@pytest.mark.parametrize("send", (whole, apart, bytewise))
@pytest.mark.parametrize("form", FORMS)
def test_a_header_is_taken_and_what_is_behind_it_goes_on(weir, peers, form, send):
    daemon, listener, where = start(weir, peers)
    header, known_as = FORMS[form]
    client = call(peers, where)
    known_as = known_as or "%s:%d" % client.getsockname()
    send(client, header + b"first words", len(header))
    server, data = take(peers, listener, 11)
    assert data == b"first words"
    server.sendall(b"answer")
    assert client.recv(100) == b"answer"
    assert f" client={known_as} " in daemon.ask("show sess")
    client.shutdown(socket.SHUT_WR)
    assert end_of(server) == "fin"
    server.close()
    assert end_of(client) == "fin"
    line = daemon.wait_session_line(client=known_as)
    assert (line["bytes_in"], line["bytes_out"], line["reason"]) == ("11", "6", "normal"), line


@pytest.mark.parametrize("splice", ("on", "auto", "off"))
def test_a_stream_is_whole_behind_a_header(weir, peers, splice):
    daemon, listener, where = start(weir, peers, global_options=f"splice = {splice}")
    legs = []
    for n in range(8):
        conn = next_conn()
        sock = call(peers, where)
        data = FORMS["v2-tlvs-sum" if n % 2 else "v1-tcp4"][0]
        client = peers.keep(Peer(sock, "client", conn, "tcp4"))
        # Some of the stream is glued to the header, more than one read takes.
        glued = (0, 1, 100, 40000, 100000, 3, 70000, 5000)[n]
        sock.sendall(data + f"conn{conn:012d}".encode() + client.out.read(0, glued))
        client.sent = glued
        server = peers.accept(listener)
        assert server.conn == conn
        legs += [exchange.Leg(client, 3000000, 1000000), exchange.Leg(server, 1000000, 3000000 + glued)]
    exchange.run(legs)
    assert daemon.wait_session_line(8, reason_text="both sides closed")


@pytest.mark.smoke
def test_a_fin_behind_glued_bytes_passes_on(weir, peers):
    daemon, listener, where = start(weir, peers)
    client = call(peers, where)
    daemon.freeze()
    client.sendall(FORMS["v2-tcp4"][0] + b"question")
    client.shutdown(socket.SHUT_WR)
    daemon.thaw()
    server, data = take(peers, listener, 8)
    assert data == b"question" and end_of(server) == "fin"
    server.sendall(b"answer")
    server.close()
    assert client.recv(100) == b"answer" and end_of(client) == "fin"


def test_a_client_that_has_said_all_and_left_is_served_by_a_later_try(weir, peers, folder):
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0 accept-proxy\nserver a = unix:{folder}/s.sock\n"
                  "timeout-connect = 100ms\nretries = 60\n")
    client = call(peers, daemon.address("l"))
    client.sendall(FORMS["v1-tcp4"][0] + b"last words")
    client.close()
    wait_until(lambda: "tries=2" in daemon.ask("show sess"), lambda: daemon.ask("show sess"))
    listener = peers.listen("path", where=Address("path", name=f"{folder}/s.sock"))
    server, data = take(peers, listener, 10)
    assert data == b"last words" and end_of(server) == "fin"
    server.close()
    assert float(daemon.wait_session_line()["connect_s"]) >= 0.1  # the pause is part of connecting


@pytest.mark.smoke
def test_what_came_before_the_connect_is_no_part_of_its_time(weir, peers):
    """300 ms for a header, 200 ms or more for a place at the server."""
    listener = peers.listen()
    daemon = weir("[listen l]\nbind = 127.0.0.1:0 accept-proxy\n"
                  f"server a = {listener.address} maxconn=1\n")
    first, late = call(peers, daemon.address("l")), call(peers, daemon.address("l"))
    first.sendall(FORMS["v1-tcp4"][0] + b"a")
    server, _ = take(peers, listener, 1)
    wait_until(lambda: "state=handshake" in daemon.ask("show sess"), lambda: daemon.ask("show sess"))
    time.sleep(0.3)
    late.sendall(FORMS["v1-tcp4"][0] + b"b")
    wait_until(lambda: "state=queued" in daemon.ask("show sess"), lambda: daemon.ask("show sess"))
    time.sleep(0.2)
    first.close()
    server.close()
    server, _ = take(peers, listener, 1)
    late.close()
    server.close()
    daemon.wait_session_line(2, ts_code="--")
    line = next(line for line in daemon.session_lines() if line["queue_s"] != "-")
    connect, queue, total = (float(line[f"{key}_s"]) for key in ("connect", "queue", "duration"))
    assert queue >= 0.2 and connect <= total - queue - 0.3, line


@pytest.mark.parametrize("sent", (b"", b"PROXY TCP4 192.0.2.1", proxy.SIGNATURE + b"\x21\x11"))
def test_a_header_that_does_not_come_is_waited_for_only_so_long(weir, peers, sent):
    daemon, _, where = start(weir, peers, options="timeout-handshake = 200ms\n")
    begin = time.monotonic()  # the daemon's clock begins as it accepts
    client = call(peers, where)
    client.sendall(sent)
    assert end_of(client) == "reset"
    assert 0.19 <= time.monotonic() - begin < 0.2 + AT_ONCE
    assert daemon.wait_session_line(reason_text="timeout-handshake")["ts_code"] == "cC"


def test_a_slow_but_steady_client_is_not_given_more_time(weir, peers):
    daemon, _, where = start(weir, peers, options="timeout-handshake = 300ms\n")
    client = call(peers, where)
    begin = time.monotonic()
    with contextlib.suppress(ConnectionError):
        for byte in FORMS["v2-tlvs-sum"][0]:
            client.sendall(bytes([byte]))
            time.sleep(0.02)  # the case itself
    assert time.monotonic() - begin < 0.3 + AT_ONCE
    daemon.wait_session_line(reason_text="timeout-handshake")


def test_what_came_while_the_daemon_stood_still_is_not_late(weir, peers):
    daemon, listener, where = start(weir, peers, options=f"timeout-handshake = {400 * SCALE:.0f}ms\n")
    client = call(peers, where)
    wait_until(lambda: "state=handshake" in daemon.ask("show sess"), "the session waits for its header")
    daemon.freeze()
    client.sendall(FORMS["v1-tcp6"][0] + b"x")
    time.sleep(0.6 * SCALE)  # longer than the deadline: the case itself
    daemon.thaw()
    assert take(peers, listener, 1)[1] == b"x"


def test_the_deadline_ends_with_the_header(weir, peers):
    daemon, listener, where = start(weir, peers, options=f"timeout-handshake = {400 * SCALE:.0f}ms\n")
    client = call(peers, where)
    client.sendall(FORMS["v1-tcp4"][0] + b"1")
    server, _ = take(peers, listener, 1)
    time.sleep(0.6 * SCALE)  # longer than the deadline: the case itself
    client.sendall(b"2")
    assert server.recv(1) == b"2"


BROKEN = {
    "no PROXY header came": (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00", proxy.SIGNATURE[:11] + b"X"),
    "PROXY v1 header breaks the grammar": (
        b"PROXY TCP4 192.0.2.01 192.0.2.2 1 2\r\n", b"PROXY TCP4 ::1 ::1 1 2\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n", b"PROXY TCP6 1::2::3 :: 1 2\r\n",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n", b"PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n"),
    "PROXY header of unknown version or command": (
        proxy.v2("tcp4", TCP4, command=0x31), proxy.v2("tcp4", TCP4, command=0x22)),
    "PROXY header of unknown family": (proxy.SIGNATURE + b"\x21\x12\0\x0c" + TCP4,),
    "PROXY header is too short for its addresses": (proxy.v2("tcp4", TCP4[:-1]), proxy.v2("tcp6", TCP4)),
    "PROXY header with a broken TLV": (
        proxy.v2("tcp4", TCP4, b"\1"), proxy.v2("tcp4", TCP4, b"\1\0\5h2"),
        proxy.v2("tcp4", TCP4, proxy.tlv(proxy.UNIQUE_ID, bytes(129))),
        proxy.v2("tcp4", TCP4, proxy.tlv(proxy.CRC32C, bytes(3)))),
    "PROXY header with a wrong checksum": (proxy.v2("tcp4", TCP4, proxy.tlv(proxy.CRC32C, b"oops")),),
    "PROXY header is too long": (
        b"PROXY UNKNOWN " + b"x" * 200, proxy.SIGNATURE + b"\x21\x11\xff\xff"),
}


@pytest.mark.smoke
@pytest.mark.parametrize("reason", BROKEN)
def test_a_broken_header_is_a_reset_with_its_own_reason(weir, peers, reason):
    daemon, listener, where = start(weir, peers)
    listener.sock.settimeout(0)
    for number, header in enumerate(BROKEN[reason], 1):
        client = call(peers, where)
        client.sendall(header)
        assert end_of(client) == "reset"
        line = daemon.wait_session_line(number, reason_text=reason)
        assert line["ts_code"] == "PC" and line["tries"] == "0", line
    with pytest.raises(BlockingIOError):
        listener.sock.accept()


def test_the_first_wrong_byte_is_enough(weir, peers):
    daemon, _, where = start(weir, peers, options="timeout-handshake = 0\n")
    for start_of_it in (b"G", b"PROXY TCP4 1.2.3.4 5", proxy.SIGNATURE + b"\x21"):
        client = call(peers, where)
        client.sendall(start_of_it)
        if start_of_it != b"G":  # which is wrong already
            client.sendall(b"\xff")
        assert end_of(client) == "reset"


def test_a_client_that_leaves_within_its_header_is_told_apart_from_a_probe(weir, peers):
    daemon, _, where = start(weir, peers)
    client = call(peers, where)
    client.sendall(FORMS["v2-tcp4"][0][:-1])
    client.shutdown(socket.SHUT_WR)
    assert end_of(client) == "reset"
    assert daemon.wait_session_line(reason_text="client left within its PROXY header")["ts_code"] == "CC"
    probe = call(peers, where)
    probe.shutdown(socket.SHUT_WR)
    assert end_of(probe) == "fin"
    line = daemon.wait_session_line(reason_text="client left before a server answered")
    assert line["tries"] == "0", line


@pytest.mark.smoke
def test_only_who_is_trusted_may_send_one(weir, peers):
    daemon, _, where = start(weir, peers, options="trusted = 192.0.2.0/24\n")
    # At once: nothing need be sent, and connect() itself may say so.
    assert peers.connect(where, hello=False).receive_to_end() == "reset"
    line = daemon.wait_session_line(reason_text="not trusted to send a PROXY header")
    assert line["client"].startswith("127.0.0.1:") and line["ts_code"] == "PC", line
    client = peers.connect(where, hello=False)
    # The first call that meets the reset gets the error, and no later call does.
    with contextlib.suppress(ConnectionError):
        client.sock.sendall(FORMS["v1-tcp4"][0])
        assert client.receive_to_end() == "reset"
    line = daemon.wait_session_line(2, reason_text="not trusted to send a PROXY header")
    assert line["client"].startswith("127.0.0.1:"), line


def test_who_is_trusted_is_heard(weir, peers):
    daemon, listener, where = start(weir, peers, options="trusted = 192.0.2.0/24 127.0.0.0/8\n")
    call(peers, where).sendall(FORMS["v1-tcp4"][0] + b"x")
    assert take(peers, listener, 1)[1] == b"x"


def test_a_unix_peer_is_trusted(weir, peers):
    daemon, listener, where = start(weir, peers, family="path", options="trusted = 192.0.2.0/24\n")
    call(peers, where).sendall(FORMS["v2-tcp6"][0] + b"x")
    assert take(peers, listener, 1)[1] == b"x"
    assert " client=[2001:db8::1]:1000 " in daemon.ask("show sess")


@pytest.mark.smoke
def test_optional_means_by_source(weir, peers):
    bind = "accept-proxy=optional"
    others, listener, where = start(weir, peers, bind, options="trusted = 192.0.2.0/24\n")
    header = FORMS["v1-tcp4"][0]
    client = call(peers, where)
    client.sendall(header)
    assert take(peers, listener, len(header))[1] == header, "bytes like any others"
    assert " client=127.0.0.1:" in others.ask("show sess")
    daemon, listener, where = start(weir, peers, bind, options="trusted = 127.0.0.0/8\n")
    client = call(peers, where)
    client.sendall(header + b"x")
    assert take(peers, listener, 1)[1] == b"x"
    client = call(peers, where)
    client.sendall(b"GET / HTTP/1.0\r\n")
    assert end_of(client) == "reset"
    daemon.wait_session_line(reason_text="no PROXY header came")
