# SPDX-License-Identifier: MIT
"""Danger: a TLS client reaches the wrong servers, loses bytes that were read ahead, or waits for nothing."""

import contextlib
import json
import socket
import ssl
import subprocess
import threading
import time

import pytest

from harness import exchange, proxy, tls_clients
from harness.hello import hello, hello_of
from harness.peer import Peer
from harness.stage import next_conn
from harness.timing import AT_ONCE, PATIENCE, SCALE, stays, wait_until

LONG = "timeout=1m"  # nothing here may wait for it
SHORT_S = 0.25 * SCALE
SHORT = f"timeout={int(SHORT_S * 1000)}ms"
TCP4 = proxy.ip_pair("192.0.2.1", "192.0.2.2", 1000, 443)
HTTP = b"GET / HTTP/1.0\r\n\r\n"
HELLO_MAX = 16384


def start(weir, peers, routes=("named = sni=.example.com",), sniff=f"tls {LONG}", front="", bind="",
          server="", more="", **kw):
    """A daemon whose backends are named in `routes`, and 'rest'; their listeners by name."""
    names = dict.fromkeys([route.split()[0] for route in routes] + ["rest"])
    at = {name: peers.listen() for name in names}
    lines = "".join(f"use-backend {route}\n" for route in routes)
    sniffing = f"sniff = {sniff}\n" if sniff else ""
    daemon = weir(f"[frontend f]\nbind = 127.0.0.1:0 {bind}\n{sniffing}{front}\n{lines}"
                  "default-backend = rest\n"
                  + "".join(f"[backend {name}]\nserver a = {at[name].address} {server}\n" for name in at)
                  + more, **kw)
    return daemon, at


def call(peers, daemon, frontend="f"):
    where = daemon.address(frontend)
    sock = peers.keep(where.socket())
    sock.settimeout(PATIENCE)
    sock.connect(where.sockaddr)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def accept(peers, listener):
    sock = peers.keep(listener.accept())
    sock.settimeout(PATIENCE)
    return sock


def read(sock, count):
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        assert part, f"it ended after {len(data)} of {count} bytes"
        data += part
    return data


def end_of(sock):
    try:
        assert sock.recv(1) == b""
        return "fin"
    except ConnectionResetError:
        return "reset"


def talk(peers, client, listener, sent, header=None):
    """The server gets what was sent, and nothing else; then both talk."""
    server = accept(peers, listener)
    if header is not None:
        header.append(proxy.Received(server))
    assert read(server, len(sent)) == sent
    server.sendall(b"answer")
    assert read(client, 6) == b"answer"
    client.sendall(b"more")
    assert read(server, 4) == b"more"
    return server


def goes(peers, daemon, listener, sent):
    client = call(peers, daemon)
    client.sendall(sent)
    server = talk(peers, client, listener, sent)
    client.close()
    server.close()


def wait_sniffing(daemon, count=1):
    wait_until(lambda: daemon.ask("show sess").count(" state=sniffing ") == count, "sniffing")


# Real clients, a real handshake with the server behind weir.


class TlsServer:
    """Answers each request with its own name and the protocol that was agreed on."""

    def __init__(self, name, folder):
        self.name = name
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = "127.0.0.1:%d" % self.sock.getsockname()[1]
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
        self.context.set_alpn_protocols(["acme-tls/1", "http/1.1"])
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(self.sock.accept()[0],), daemon=True).start()

    def _answer(self, plain):
        plain.settimeout(PATIENCE)
        with contextlib.suppress(OSError), self.context.wrap_socket(plain, server_side=True) as link:
            link.recv(65536)
            page = f"{self.name} {link.selected_alpn_protocol()}\n".encode()
            link.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(page) + page)
            with contextlib.suppress(OSError):
                link.unwrap()

    def close(self):
        self.sock.close()


@pytest.fixture(scope="module")
def certificates(session_folder):
    command = ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
               "-subj /CN=example.com")
    subprocess.run([*command.split(), "-keyout", f"{session_folder}/key.pem",
                    "-out", f"{session_folder}/cert.pem"], check=True, capture_output=True)
    return session_folder


@pytest.fixture
def tls_farm(weir, certificates, closing):
    servers = {name: TlsServer(name, certificates) for name in ("one", "below", "acme", "rest")}
    closing.extend(servers.values())
    return weir("[frontend f]\nbind = 127.0.0.1:0\nsniff = tls\n"
                "use-backend acme = alpn=acme-tls/1\nuse-backend one = sni=one.example.com\n"
                "use-backend below = sni=*.example.com\ndefault-backend = rest\n"
                + "".join(f"[backend {s.name}]\nserver a = {s.address}\n" for s in servers.values()))


# A name, protocols, and what the page says.
ASKED = (("one.example.com", (), "one None"), ("ONE.Example.COM", ("http/1.1",), "one http/1.1"),
         ("a.b.example.com", ("http/1.1",), "below http/1.1"), ("example.com", (), "rest None"),
         (None, (), "rest None"), ("one.example.com", ("acme-tls/1",), "acme acme-tls/1"))


@pytest.mark.parametrize("client", tls_clients.CLIENTS[:4], ids=lambda client: client.name)
def test_real_clients_reach_one_of_four_backends_by_name_and_protocol(tls_farm, client):
    if not client.installed():
        pytest.skip(f"{client.name} is not installed")
    port = tls_farm.address("f").port
    for name, alpn, page in ASKED:
        if client.name == "curl" and alpn not in ((), ("http/1.1",)):
            continue
        got = client.ask(port, name, alpn).decode()
        assert page in got, (name, alpn, got)


def test_chromium_reaches_its_backend_by_name(tls_farm):
    if not tls_clients.Chromium.installed():
        pytest.skip("Chromium is not installed")
    got = tls_clients.Chromium.ask(tls_farm.address("f").port, "one.example.com").decode()
    assert "one http/1.1" in got, (got, tls_farm.log()[-2000:])


# Any segmentation.


def whole(sock, data):
    sock.sendall(data)


def bytewise(sock, data):
    for at in range(min(len(data), 400)):
        sock.sendall(data[at:at + 1])
    sock.sendall(data[400:])


def halves(sock, data):
    sock.sendall(data[:len(data) // 2])
    time.sleep(0.01)  # two reads, mostly
    sock.sendall(data[len(data) // 2:])


@pytest.mark.parametrize("send", (whole, pytest.param(bytewise, marks=pytest.mark.smoke), halves))
@pytest.mark.parametrize("record", (HELLO_MAX, 50, 7))
def test_a_hello_goes_on_as_it_came_however_it_is_cut(weir, peers, send, record):
    daemon, at = start(weir, peers, ("h3 = alpn=h3", "named = sni=.example.com", "none = sni=none"))
    for data, to in ((hello("Www.Example.COM.", ("h2", "http/1.1"), 300, record), "named"),
                     (hello("example.com", ("h2", "h3"), 0, record), "h3"),
                     (hello(None, ("h2",), 100, record), "none"), (hello("other", (), None, record), "rest")):
        client = call(peers, daemon)
        early = data + b"\x17\x03\x03\x00\x05early"
        send(client, early)
        talk(peers, client, at[to], early).close()
        client.close()
    daemon.wait_session_line(backend="named", sni="www.example.com", reason="normal")
    daemon.wait_session_line(backend="none", sni="", reason="normal")


def test_a_hello_of_the_longest_length_is_one_and_a_longer_one_is_decided_at_once(weir, peers):
    daemon, at = start(weir, peers)
    goes(peers, daemon, at["named"], hello_of(HELLO_MAX, "a.example.com"))
    goes(peers, daemon, at["named"], hello_of(HELLO_MAX, "a.example.com") + bytes(60000))
    too_long = hello("a.example.com", (), HELLO_MAX, 8000)
    assert len(too_long) > HELLO_MAX
    goes(peers, daemon, at["rest"], too_long)


@pytest.mark.parametrize("splice", ("on", "off"))
def test_a_stream_is_whole_behind_a_hello(weir, peers, splice):
    daemon, at = start(weir, peers, global_options=f"splice = {splice}")
    legs = []
    for n in range(8):
        conn = next_conn()
        client = peers.keep(Peer(call(peers, daemon), "client", conn, "tcp4"))
        first = hello("a.example.com", (), (0, 10000)[n % 2], (HELLO_MAX, 100)[n % 3 == 0])
        # Some of the stream is glued to the hello, more than one read takes.
        glued = (0, 1, 100, 40000, 100000, 3, 70000, 5000)[n]
        client.sock.sendall(first + client.out.read(0, glued))
        client.sent = glued
        sock = accept(peers, at["named"])
        assert read(sock, len(first)) == first
        server = peers.keep(Peer(sock, "server", conn, "tcp4"))
        legs += [exchange.Leg(client, 2000000, 1000000), exchange.Leg(server, 1000000, 2000000 + glued)]
    exchange.run(legs)
    assert daemon.wait_session_line(8, reason="normal", sni="a.example.com")


# What is not TLS, and who says nothing.


@pytest.mark.parametrize("first", (HTTP, b"\x16\x02", b"\x16\x03\x01\0\0", b"\x15\x03\x01\0\2\2\x28", b"S",
                                   b"\x16\x03\x01\x40\x01", hello("bad name.example.com"),
                                   hello("a.example.com")[:60] + b"\xff" * 40), ids=repr)
def test_what_is_not_tls_is_decided_at_the_byte_that_shows_it(weir, peers, first):
    daemon, at = start(weir, peers)
    began = time.monotonic()
    client = call(peers, daemon)
    client.sendall(first)
    talk(peers, client, at["rest"], first).close()
    assert time.monotonic() - began < PATIENCE
    client.close()
    assert "sni" not in daemon.wait_session_line(backend="rest")


def test_other_lines_still_judge_what_is_not_tls(weir, peers):
    daemon, at = start(weir, peers, ("named = sni=any", "local = src=127.0.0.0/8 alpn=h2",
                                     "plain = src=127.0.0.0/8"))
    goes(peers, daemon, at["plain"], HTTP)
    goes(peers, daemon, at["local"], hello(None, ("h2",)))
    goes(peers, daemon, at["named"], hello("x", ("h2",)))


@pytest.mark.smoke
def test_a_silent_client_meets_the_server_that_speaks_first_after_the_timeout(weir, peers):
    daemon, at = start(weir, peers, sniff=f"tls {SHORT}")
    began = time.monotonic()
    client = call(peers, daemon)
    server = accept(peers, at["rest"])
    assert time.monotonic() - began >= SHORT_S * 0.95
    server.sendall(b"220 welcome\r\n")
    assert read(client, 13) == b"220 welcome\r\n"
    client.sendall(b"QUIT")
    assert read(server, 4) == b"QUIT"


def test_timeout_handshake_is_the_default_and_counts_from_the_accept(weir, peers):
    daemon, at = start(weir, peers, sniff="tls", bind="accept-proxy",
                       front=f"timeout-handshake = {int(SHORT_S * 1000)}ms")
    began = time.monotonic()
    client = call(peers, daemon)
    time.sleep(SHORT_S / 2)
    client.sendall(proxy.v2("tcp4", TCP4))
    accept(peers, at["rest"])
    assert SHORT_S * 0.95 <= time.monotonic() - began < SHORT_S * 1.5 + AT_ONCE


def test_a_client_that_trickles_its_hello_is_decided_at_the_timeout_and_loses_nothing(weir, peers):
    daemon, at = start(weir, peers, sniff=f"tls {SHORT}")
    # So long that it would be whole a long time after that.
    client, data, sent = call(peers, daemon), hello("a.example.com", (), 2000), 0
    at["rest"].sock.setblocking(False)
    server = None
    while server is None and sent < len(data) - 1:
        client.sendall(data[sent:sent + 1])
        sent += 1
        time.sleep(SHORT_S / 20)
        with contextlib.suppress(BlockingIOError):
            server = peers.keep(at["rest"].sock.accept()[0])
    assert server is not None, "it is not decided"
    server.settimeout(PATIENCE)
    client.sendall(data[sent:])
    assert read(server, len(data)) == data


def test_a_client_without_a_timeout_may_wait(weir, peers):
    daemon, at = start(weir, peers, sniff="tls timeout=off", front="timeout-handshake = 10ms")
    client = call(peers, daemon)
    wait_sniffing(daemon)
    assert stays(lambda: " state=sniffing " in daemon.ask("show sess"), 0.1)
    client.sendall(hello("a.example.com"))
    talk(peers, client, at["named"], hello("a.example.com"))


# `required`.


@pytest.mark.smoke
def test_who_must_speak_tls_is_closed_at_the_first_wrong_byte(weir, peers):
    daemon, at = start(weir, peers, sniff=f"tls {LONG} required")
    for first in (b"G", b"\x16\x03\x01\x02\x00\x02", hello("a.example.com", (), HELLO_MAX, 8000)):
        client = call(peers, daemon)
        client.sendall(first)
        assert end_of(client) == "reset"
    line = daemon.wait_session_line(3, reason="sniff_not_tls")
    assert line["ts_code"] == "PC" and line["bytes_in"] == "0"
    goes(peers, daemon, at["named"], hello("a.example.com"))
    goes(peers, daemon, at["rest"], hello())


def test_who_must_speak_tls_and_does_not_is_closed_at_the_timeout(weir, peers):
    daemon, _ = start(weir, peers, sniff=f"tls {SHORT} required")
    silent, slow = call(peers, daemon), call(peers, daemon)
    slow.sendall(hello("a.example.com")[:-1])
    assert end_of(silent) == end_of(slow) == "reset"
    daemon.wait_session_line(2, reason="sniff_timeout", ts_code="cC")


def test_a_probe_without_a_word_is_no_error(weir, peers):
    daemon, _ = start(weir, peers, sniff=f"tls {LONG} required")
    client = call(peers, daemon)
    client.shutdown(socket.SHUT_WR)
    assert end_of(client) == "fin"
    daemon.wait_session_line(reason="client_gone")
    client = call(peers, daemon)
    client.sendall(hello("a.example.com")[:-1])
    client.shutdown(socket.SHUT_WR)
    assert end_of(client) == "reset"
    daemon.wait_session_line(reason="sniff_not_tls")


# Clients that end early.


@pytest.mark.smoke
def test_a_half_closed_client_is_decided_with_what_it_has_sent(weir, peers):
    daemon, at = start(weir, peers)
    for sent, to in ((hello("a.example.com"), "named"), (hello("a.example.com")[:-1], "rest"), (b"", "rest")):
        client = call(peers, daemon)
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        server = accept(peers, at[to])
        assert read(server, len(sent)) == sent and end_of(server) == "fin"
        server.sendall(b"answer")
        server.close()
        assert read(client, 6) == b"answer" and end_of(client) == "fin"


def test_a_reset_within_a_hello_ends_the_session(weir, peers):
    daemon, _ = start(weir, peers)
    for sent in (b"", hello("a.example.com")[:-1]):
        client = call(peers, daemon)
        client.sendall(sent)
        wait_sniffing(daemon)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        wait_sniffing(daemon, 0)
    daemon.wait_session_line(2, reason="client_gone")


def test_sessions_of_a_source_count_while_they_are_sniffed(weir, peers):
    daemon, at = start(weir, peers, front="maxconn-per-source = 2")
    first = [call(peers, daemon) for _ in range(2)]
    wait_sniffing(daemon, 2)
    assert peers.connect(daemon.address("f"), hello=False).receive_to_end() == "reset"
    daemon.wait_session_line(reason="source_limit")
    first[0].sendall(hello("a.example.com"))
    talk(peers, first[0], at["named"], hello("a.example.com"))


# PROXY headers, in and out.


@pytest.mark.parametrize("send", (pytest.param(whole, marks=pytest.mark.smoke), bytewise, halves))
def test_a_hello_glued_to_a_header_goes_behind_ours(weir, peers, send):
    daemon, at = start(weir, peers, bind="accept-proxy", server="send-proxy=v2")
    data = hello("a.example.com", ("h2",))
    client, got = call(peers, daemon), []
    send(client, proxy.v2("tcp4", TCP4) + data + b"early")
    talk(peers, client, at["named"], data + b"early", got)
    assert got[0].addresses == TCP4
    assert got[0].tlv(proxy.AUTHORITY) == b"a.example.com" and got[0].tlv(proxy.ALPN) == b"h2"


def test_only_a_single_protocol_is_named_to_the_server(weir, peers):
    daemon, at = start(weir, peers, server="send-proxy=v2")
    for data, alpn, name in ((hello("A.example.com", ("h2", "http/1.1")), None, b"a.example.com"),
                             (hello("b.example.com"), None, b"b.example.com"),
                             (hello(None, ("h2",)), b"h2", None), (HTTP, None, None)):
        client, got = call(peers, daemon), []
        client.sendall(data)
        talk(peers, client, at["named" if name else "rest"], data, got)
        assert (got[0].tlv(proxy.ALPN), got[0].tlv(proxy.AUTHORITY)) == (alpn, name)


def test_names_of_a_hello_replace_those_that_are_passed_on(weir, peers):
    daemon, at = start(weir, peers, bind="accept-proxy", front="trusted = 127.0.0.0/8",
                       server="send-proxy=v2 proxy-v2-options=pass,crc32c")
    tlvs = (proxy.tlv(proxy.AUTHORITY, b"outer.example.com") + proxy.tlv(proxy.ALPN, b"http/1.1")
            + proxy.tlv(0xe0, b"x") + proxy.tlv(proxy.AUTHORITY, b"again"))
    for data, name, alpn in ((hello("inner.example.com", ("h2",)), b"inner.example.com", b"h2"),
                             (HTTP, b"outer.example.com", b"http/1.1")):
        client, got = call(peers, daemon), []
        client.sendall(proxy.v2("tcp4", TCP4, tlvs) + data)
        talk(peers, client, at["named"], data, got)
        assert got[0].tlv(proxy.AUTHORITY) == name  # and only one of them
        assert got[0].tlv(proxy.ALPN) == alpn and got[0].tlv(0xe0) == b"x"


def test_the_largest_header_hello_and_read_fit_behind_our_own_header(weir, peers):
    daemon, at = start(weir, peers, bind="accept-proxy", front="trusted = 127.0.0.0/8",
                       server="send-proxy=v2 proxy-v2-options=pass")
    name = "a.example.com"
    room = 16384 - 16 - len(TCP4) - 3
    data = hello_of(HELLO_MAX, name, ("h2",)) + bytes(range(256)) * 400
    ours = len(proxy.tlv(proxy.AUTHORITY, name.encode()) + proxy.tlv(proxy.ALPN, b"h2"))
    for padding, fits in ((room - ours, True), (room - ours + 1, False), (room, False)):
        client, got = call(peers, daemon), []
        header = proxy.v2("tcp4", TCP4, proxy.tlv(0xe0, bytes(padding)))
        client.sendall(header + data[:HELLO_MAX - 1])
        wait_sniffing(daemon)
        daemon.freeze()
        client.sendall(data[HELLO_MAX - 1:])
        daemon.thaw()
        if fits:
            talk(peers, client, at["named"], data, got)
            assert len(got[0].tlv(0xe0)) == padding
        else:
            with pytest.raises((ConnectionError, AssertionError)):
                read(client, 1)
    daemon.wait_session_line(2, reason="proxy_too_long")


@pytest.mark.parametrize("sniff", ("", f"tls {LONG}"))
def test_a_trusted_header_names_a_server_too(weir, peers, sniff):
    daemon, at = start(weir, peers, ("named = sni=.example.com", "proto = alpn=h2", "none = sni=none"), sniff,
                       "trusted = 127.0.0.1", "accept-proxy")
    rows = [(proxy.tlv(proxy.AUTHORITY, b"WWW.Example.com."), "named"),
            (proxy.tlv(proxy.AUTHORITY, b"x") + proxy.tlv(proxy.ALPN, b"h2"), "proto"),
            (proxy.tlv(proxy.AUTHORITY, b"a\nb.example.com"), "rest"),
            (proxy.tlv(proxy.ALPN, bytes(300)), "rest"), (b"", "rest")]
    for tlvs, to in rows:
        client = call(peers, daemon)
        client.sendall(proxy.v2("tcp4", TCP4, tlvs) + HTTP)
        talk(peers, client, at[to], HTTP).close()
        client.close()
    daemon.wait_session_line(backend="named", sni="www.example.com")
    if sniff:  # a hello wins over it, also without a name
        for data, to in ((hello("x"), "rest"), (hello(), "none")):
            client = call(peers, daemon)
            client.sendall(proxy.v2("tcp4", TCP4, rows[0][0]) + data)
            talk(peers, client, at[to], data)


def test_nobody_else_names_a_server_by_a_header(weir, peers):
    daemon, at = start(weir, peers, ("named = sni=any",), bind="accept-proxy")
    client = call(peers, daemon)
    client.sendall(proxy.v2("tcp4", TCP4, proxy.tlv(proxy.AUTHORITY, b"x")) + HTTP)
    talk(peers, client, at["rest"], HTTP)


# What it shows.


def test_the_name_is_in_the_log_and_in_show_sess(weir, peers, folder):
    daemon, at = start(weir, peers, more=f"[global]\nlog = stderr level=info\nlog = file:{folder}/json "
                       f"format=json\nlog = file:{folder}/own format=\"{{sni}}|{{id}}\"\n")
    long = "a" * 60 + "." + "b" * 60 + ".example.com"
    for name in (long, "x\"y\\.example.com"):
        client, data = call(peers, daemon), hello(name, ("h2",))
        client.sendall(data)
        server = talk(peers, client, at["named"], data)
        shown = name.replace('"', r"\x22").replace("\\.", r"\x5c.")
        assert f" sni={shown} sniffed=tls\n" in daemon.ask("show sess")
        key = daemon.ask("show sess").split(":")[0]
        assert f"sni: {shown}\n" in daemon.ask(f"show sess {key}")
        assert [s["sni"] for s in json.loads(daemon.ask("show sess json"))] == [shown]
        client.close()
        server.close()
        daemon.wait_session_line(sni=shown)
        wait_until(lambda: f"{shown}|" in open(f"{folder}/own", encoding="ascii").read(), "the line")
        wait_until(lambda: json.dumps(shown) in open(f"{folder}/json", encoding="ascii").read(), "the line")


def test_explain_follows_a_client_by_its_hello(weir, peers):
    daemon, _ = start(weir, peers, ("named = sni=*.example.com", "proto = alpn=h2"), sniff=f"tls {LONG}")
    every_word = f"port={daemon.address('f').port} sni=a.example.com alpn=h2"
    ask = "explain listener=f client=192.0.2.1"
    assert "result: the client goes to named/a\n" in daemon.ask(f"{ask} sni=A.example.com.")
    assert "'sni' does not cover the name\n" in daemon.ask(f"{ask} sni=example.com")
    assert "result: the client goes to proto/a\n" in daemon.ask(f"{ask} sni=none alpn=h2")
    assert "the client offers no protocol of 'alpn'\n" in daemon.ask(f"{ask} alpn=h3")
    assert "goes to named/a\n" in daemon.ask(f"{ask} {every_word}")
    assert "sends no TLS hello" in daemon.ask(ask) and "goes to rest/a\n" in daemon.ask(ask)
    assert "'sni' is not a server name" in daemon.ask(f"{ask} sni=*.example.com")


def test_a_reload_changes_lines_and_keeps_sessions(weir, peers):
    daemon, at = start(weir, peers, ("named = sni=a.example.com",), sniff="")
    silent_before = call(peers, daemon)
    server = accept(peers, at["rest"])  # does not sniff yet
    daemon.rewrite("default-backend", f"sniff = tls {LONG}\ndefault-backend", "sni=a.", "sni=b.")
    planned = subprocess.run([*daemon.command()[:1], "plan", "--pid", str(daemon.pid)], capture_output=True,
                             text=True, check=False, timeout=PATIENCE).stdout
    assert f"sniff: off -> tls {LONG}" in planned and "sni=a.example.com" in planned, planned
    daemon.reload(words=())
    silent = call(peers, daemon)
    wait_sniffing(daemon)
    daemon.reload(" timeout=1m", "", words=())
    server.sendall(b"still")
    assert read(silent_before, 5) == b"still"
    silent.sendall(hello("b.example.com"))
    talk(peers, silent, at["named"], hello("b.example.com"))
    goes(peers, daemon, at["rest"], hello("a.example.com"))
