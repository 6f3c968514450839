# SPDX-License-Identifier: MIT
"""Danger: a client of a port of several protocols reaches servers of another, loses bytes, or hangs."""

import json
import pathlib

import pytest

from harness.hello import hello
from harness.timing import wait_until
from test_rdp import request as rdp_request
from test_sniff import accept, call, end_of, read

HTTP = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
SSH = b"SSH-2.0-OpenSSH_9.2p1\r\n"
NAMES = ("secure", "named", "web", "ssh", "odd", "rest")
NO_ROUTE = "no use-backend line matches, and there is no default-backend"


def start(weir, peers, timeout="1m", front="", default="default-backend = rest\n"):
    at = {name: peers.listen() for name in NAMES if default or name != "rest"}
    daemon = weir(f"[frontend f]\nbind = 127.0.0.1:0\nsniff = auto timeout={timeout}\n{front}"
                  "use-backend named = sni=.example.com\nuse-backend secure = proto=tls\n"
                  "use-backend web = proto=http\nuse-backend ssh = proto=ssh\n"
                  f"use-backend odd = proto=other\n{default}"
                  + "".join(f"[backend {name}]\nserver a = {at[name].address}\n" for name in at))
    return daemon, at


def reaches(peers, client, listener, sent):
    server = accept(peers, listener)
    assert read(server, len(sent)) == sent
    server.sendall(b"answer")
    assert read(client, 6) == b"answer"
    server.close()
    client.close()


@pytest.mark.smoke
@pytest.mark.parametrize("pieces", (1, 3, 100))
def test_each_protocol_goes_to_its_backend(weir, peers, pieces):
    daemon, at = start(weir, peers)
    for name, sent in (("web", HTTP), ("ssh", SSH), ("secure", hello(None)),
                       ("secure", hello("a.example.net")), ("named", hello("www.example.com")),
                       ("odd", b"HELO a\r\n"), ("odd", b"\x16\x03\x01\x00\x05oops!"), ("odd", b"\x00")):
        client = call(peers, daemon)
        step = max(1, len(sent) // pieces)
        for n in range(0, len(sent), step):
            client.sendall(sent[n:n + step])
        reaches(peers, client, at[name], sent)
    assert daemon.info()["connects"] == 8


@pytest.mark.smoke
@pytest.mark.parametrize("sent,sniff,word", ((HTTP, "auto", "http"), (SSH, "auto", "ssh"),
                                             (hello(None), "auto", "tls"), (b"\x00", "auto", "other"),
                                             (hello(None), "tls", "tls"), (SSH, "tls", "other"),
                                             (rdp_request(), "rdp", "rdp"), (SSH, "rdp", "other"),
                                             (b"", "auto", None), (b"", "rdp", None), (SSH, "", None)))
def test_the_log_and_show_sess_tell_what_a_client_speaks(weir, peers, sent, sniff, word):
    at = peers.listen()
    daemon = weir("[listen f]\nbind = 127.0.0.1:0\n" + (f"sniff = {sniff} timeout=100ms\n" if sniff else "")
                  + f"server a = {at.address}\n")
    client = call(peers, daemon)
    client.sendall(sent)
    server = accept(peers, at)
    assert read(server, len(sent)) == sent
    assert [s.get("sniffed") for s in json.loads(daemon.ask("show sess json"))] == [word]
    shown = daemon.ask("show sess")
    assert f" sniffed={word}" in shown if word else "sniffed" not in shown, shown
    server.close()
    client.close()
    assert daemon.wait_session_line(backend="f").get("sniffed") == word


def test_a_log_format_may_name_it(weir, peers, folder):
    at, silent = peers.listen(), peers.listen()
    log = pathlib.Path(folder) / "own"
    daemon = weir(f"log = file:{log} format=\"speaks={{sniffed}} to={{backend}}\"\n"
                  "[listen f]\nbind = 127.0.0.1:0\nsniff = auto\n"
                  f"server a = {at.address}\n"
                  f"[listen g]\nbind = 127.0.0.1:0\nserver a = {silent.address}\n")
    for listener, name in ((at, "f"), (silent, "g")):
        client = call(peers, daemon, name)
        client.sendall(SSH)
        reaches(peers, client, listener, SSH)

    def told():
        return sorted(line for line in log.read_text().splitlines() if line.startswith("speaks="))

    wait_until(lambda: told() == ["speaks=- to=g", "speaks=ssh to=f"], log.read_text)


@pytest.mark.smoke
def test_a_silent_client_matches_no_proto(weir, peers):
    daemon, at = start(weir, peers, timeout="100ms")
    client = call(peers, daemon)
    server = accept(peers, at["rest"])
    server.sendall(b"220 hello\r\n")
    assert read(client, 11) == b"220 hello\r\n"
    client.sendall(SSH)
    assert read(server, len(SSH)) == SSH
    # What began and is not complete in time is none of the three.
    late = call(peers, daemon)
    late.sendall(b"GET /")
    reaches(peers, late, at["odd"], b"GET /")


def test_a_client_that_ends_its_side_is_judged_by_what_it_sent(weir, peers):
    daemon, at = start(weir, peers)
    client = call(peers, daemon)
    client.sendall(b"SSH-")
    client.shutdown(1)
    reaches(peers, client, at["odd"], b"SSH-")


@pytest.mark.smoke
@pytest.mark.parametrize("no_server, end", (("close", "fin"), ("reset", "reset"), ("queue", "fin")))
def test_without_a_default_a_client_that_no_line_matches_is_closed(weir, peers, no_server, end):
    daemon, at = start(weir, peers, front=f"no-server = {no_server}\n", timeout="100ms", default="")
    silent = call(peers, daemon)
    assert end_of(silent) == end
    line = daemon.wait_session_line(reason_text=NO_ROUTE)
    assert (line["ts_code"], line["reason"], line["backend"], line["server"]) == ("PC", "no_route", "-", "-")
    client = call(peers, daemon)
    client.sendall(SSH)
    reaches(peers, client, at["ssh"], SSH)
    info = daemon.info()
    assert info["connects"] == 1, info


@pytest.mark.smoke
def test_routes_by_source_need_no_default_either_and_a_reload_adds_one(weir, peers):
    one, rest = peers.listen(), peers.listen()
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\nuse-backend one = src=127.0.0.2\n"
                  f"[backend one]\nserver a = {one.address}\n")
    client = call(peers, daemon)
    client.sendall(b"early")
    assert end_of(client) == "fin"
    daemon.wait_session_line(reason_text=NO_ROUTE)
    said = daemon.ask("explain listener=f client=127.0.0.1")
    assert "no rule matches, and f has no default-backend: the client is closed" in said, said
    assert "the client goes to one/a" in daemon.ask("explain listener=f client=127.0.0.2")
    shown = daemon.reload("use-backend one", "default-backend = rest\nuse-backend one",
                          "[backend one]\n", f"[backend rest]\nserver a = {rest.address}\n[backend one]\n")
    assert "reloaded" in shown
    client = call(peers, daemon)
    client.sendall(b"hello")
    reaches(peers, client, rest, b"hello")
    daemon.reload("default-backend = rest\n", "")
    assert end_of(call(peers, daemon)) == "fin"


def test_explain_knows_what_a_client_speaks(weir, peers):
    daemon, _ = start(weir, peers)
    for words, backend in (("proto=ssh", "ssh"), ("proto=http", "web"), ("proto=other", "odd"),
                           ("proto=tls", "secure"), ("sni=www.example.com", "named"), ("sni=none", "secure"),
                           (f"port={daemon.address('f').port} sni=www.example.com alpn=h2 proto=tls",
                            "named"),
                           ("", "rest")):
        said = daemon.ask(f"explain listener=f client=127.0.0.1 {words}")
        assert f"the client goes to {backend}/a" in said, (words, said)
    said = daemon.ask("explain listener=f client=127.0.0.1 proto=x")
    assert "'proto' is none of tls, http, ssh, other" in said, said


def test_a_storm_of_mixed_clients_finds_its_servers(weir, peers):
    daemon, at = start(weir, peers)
    kinds = (("web", HTTP), ("ssh", SSH), ("secure", hello(None)), ("odd", b"?"))
    clients = []
    for n in range(80):
        name, sent = kinds[n % len(kinds)]
        client = call(peers, daemon)
        client.sendall(sent)
        clients.append((client, name, sent))
    # Two workers may bring clients of a kind in another order.
    for _, name, sent in clients:
        server = accept(peers, at[name])
        assert read(server, len(sent)) == sent
        server.sendall(b"answer")
        server.close()
    for client, _, _ in clients:
        assert read(client, 6) == b"answer"
        client.close()
