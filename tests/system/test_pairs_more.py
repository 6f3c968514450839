# SPDX-License-Identifier: MIT
"""Danger: what a converted configuration says in a rarer word is something else in weir."""

import socket
import time

import pytest

from harness.address import Address, fresh
from harness.hello import hello
from harness.labelled import Server, drain, greet, silent
from harness.original import near
from harness.show_stat import NO_SERVER
from harness.timing import wait_until
from test_pairs_balance import TIMES, shares
from test_pairs_nginx import stream


def test_a_backend_without_servers_hands_over_to_another(pair):
    p = pair("haproxy", TIMES + """
frontend web
    bind <f>
    acl dead nbsrv(main) lt 1
    use_backend spare if dead
    default_backend main
backend main
    server a <a> check inter 100ms fall 1
backend spare
    server b <b>
""", alarms=NO_SERVER)

    def scenario(side):
        before = side.labels(2)
        side["a"].die()
        wait_until(lambda: side.label() == "b", "a is out")
        after = side.labels(3)
        side["a"].start()
        wait_until(lambda: side.label() == "a", "a is back")
        return before, after
    assert p.same(scenario) == (["a"] * 2, ["b"] * 3)


def test_a_file_sets_its_variables_by_itself(pair):
    p = pair("haproxy", """
global
    setenv HOST 127.0.0.1
    setenv LISTEN "${HOST}:<f.port>"
    presetenv TARGET <b>
    presetenv TARGET <a>
    setenv DEAD <b>
    setenv DEAD <a>
""" + TIMES + """
listen web
    bind "${LISTEN}"
    server s "${TARGET}"
listen other
    bind "${HOST}":<g.port>
    server s "${DEAD}"
""", binds="f g")
    assert p.same(lambda side: side.labels(2) + side.labels(2, "g")) == ["b", "b", "a", "a"]


def test_the_first_bytes_tell_tls_and_ssh_from_the_rest(pair):
    p = pair("haproxy", TIMES + """
frontend one
    bind <f>
    tcp-request inspect-delay 1s
    tcp-request content accept if { req.len ge 4 }
    use_backend tls if { req.payload(0,3) -m bin 160301 160303 }
    use_backend ssh if { req.payload(0,4) -m str SSH- }
    default_backend rest
backend tls
    server a <a>
backend ssh
    server b <b>
backend rest
    server c <c>
""", servers="a b c")
    assert p.same(lambda side: [side.label(data=data) for data in (
        hello("a.example"), b"SSH-2.0-x\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x05\x01\x00 more")]) == \
        ["a", "b", "c", "c"]
    p.named("a whole TLS hello")


def test_a_name_is_waited_for_only_with_a_rule_for_content(pair):
    p = pair("haproxy", TIMES + """
frontend one
    bind <f>
    tcp-request inspect-delay 1s
    use_backend named if { req.ssl_sni a.example }
    default_backend rest
backend named
    server a <a>
backend rest
    server b <b>
""")

    def scenario(side):
        client = side.connect()
        if side.ours:
            client.send(hello("a.example"))
        return client.label()
    assert p.both(scenario) == ("b", "a")
    p.named("chooses the backend before")


def steps(server, sock, seen):
    """Greets, then answers two questions; other clients get its name."""
    sock.settimeout(5)
    sock.sendall(b"220 hello\r\n")
    data = sock.recv(100)
    seen.data += data
    if data.startswith(b"HELO"):
        sock.sendall(b"250 nice\r\n")
        seen.data += sock.recv(100)
        sock.sendall(getattr(server, "last", b"\x01\x02ok\r\n"))
    else:
        sock.sendall(server.label.encode() + b"\n")
    seen.end = drain(sock, seen.data)


def test_a_conversation_is_checked_step_by_step(pair):
    p = pair("haproxy", TIMES + """
listen mail
    bind <f>
    option tcp-check
    tcp-check expect rstring 220
    tcp-check send "HELO me\\r\\n"
    tcp-check expect string nice
    tcp-check send-binary 5155490d0a
    tcp-check expect binary 01026f6b
    server a <a> check inter 100ms fall 1
    server b <b>
""", servers={"a": steps, "b": greet})

    def scenario(side):
        def asked():
            return [bytes(s.data) for s in list(side["a"].seen) if s.data.startswith(b"HELO") and s.took]
        wait_until(lambda: len(asked()) >= 2, "checks")
        side["a"].last = b"\x01\x03ok\r\n"
        wait_until(lambda: side.labels(2, data=b"x") == ["b", "b"], "a is out")
        side["a"].last = b"\x01\x02ok\r\n"
        wait_until(lambda: "220 hello" in map(str.strip, side.labels(2, data=b"x")), "a is back")
        return asked()[0]
    assert p.same(scenario) == b"HELO me\r\nQUI\r\n"


def test_a_text_that_must_not_come_fails_a_check(pair):
    p = pair("haproxy", TIMES + """
listen web
    bind <f>
    option tcp-check
    tcp-check expect ! string loading
    server a <a> check port <probe.port> inter 100ms fall 1 rise 1
    server b <b>
""", servers={"a": greet, "b": greet, "probe": says})

    def scenario(side):
        wait_until(lambda: side["probe"].count >= 2, "checks")
        side["probe"].mood = b"loading\n"
        wait_until(lambda: side.labels(2) == ["b", "b"], "a is out")
        side["probe"].mood = b"fine\n"
        wait_until(lambda: "a" in side.labels(2), "a is back")
        return "both"
    assert p.same(scenario) == "both"


def says(server, sock, seen):
    """Says how it is, and ends: what must not come may come as long as it has not."""
    sock.sendall(getattr(server, "mood", b"fine\n"))
    sock.shutdown(socket.SHUT_WR)
    seen.end = drain(sock, seen.data)


def test_a_check_carries_a_proxy_header(pair):
    p = pair("haproxy", TIMES + """
listen web
    bind <f>
    option tcp-check
    tcp-check send PING\\r\\n
    tcp-check expect string PONG
    server a <a> check inter 100ms send-proxy check-send-proxy
    server b <b> check inter 100ms send-proxy-v2 check-send-proxy
""", servers={"a": pong, "b": pong})

    def scenario(side):
        def asked(label):
            return [bytes(s.data) for s in list(side[label].seen) if b"PING" in s.data]
        wait_until(lambda: asked("a") and asked("b"), "checks")
        first = asked("a")[0]
        head, _, rest = first.partition(b"\r\n")
        return head.split(b" ")[:2], rest, asked("b")[0][:13]
    theirs, ours = p.both(scenario)
    assert theirs == ([b"PROXY", b"TCP4"], b"PING\r\n", b"\r\n\r\n\0\r\nQUIT\n\x20")
    # Two versions in one section: the report names it.
    assert ours == ([b"PROXY", b"TCP4"], b"PING\r\n", b"PROXY TCP4 12")
    p.named("has the version of the first server")


def pong(_server, sock, seen):
    while b"PING" not in seen.data:
        seen.data += sock.recv(200)
    sock.sendall(b"PONG\r\n")
    seen.end = drain(sock, seen.data)


def agent(server, sock, seen):
    sock.sendall(getattr(server, "mood", b"100%\n"))
    seen.end = "fin"


def test_an_agent_changes_weights_and_states(pair):
    p = pair("haproxy", TIMES + """
listen web
    bind <f>
    server a <a> weight 10 agent-check agent-inter 100ms agent-port <agent.port>
    server b <b> weight 10
""", servers={"a": greet, "b": greet, "agent": agent})

    def scenario(side):
        wait_until(lambda: side["agent"].count >= 2, "questions")
        side["agent"].mood = b"drain\n"
        wait_until(lambda: side.labels(4) == ["b"] * 4, "a is draining")
        side["agent"].mood = b"ready 300%\n"
        wait_until(lambda: shares(side, 8) == {"a": 6, "b": 2}, "a has three times its weight")
        side["agent"].mood = b"down\n"
        wait_until(lambda: side.labels(4) == ["b"] * 4, "a is down")
        side["agent"].mood = b"up 100%\n"
        wait_until(lambda: shares(side, 8) == {"a": 4, "b": 4}, "a is back")
        return "done"
    assert p.same(scenario) == "done"


def test_sockets_of_unix_on_both_sides(pair, folder):
    def more(side):
        side.servers["u"] = Server("u", where=fresh("path", folder))
        return {"sock": f"{folder}/{side.name}.sock"}
    p = pair("haproxy", TIMES + """
listen path
    bind unix@<sock> mode 666
    server a <a>
listen tcp
    bind <f>
    server u <u>
""", servers="a", more=more)
    assert p.same(lambda side: (side.label(Address("path", name=f"{folder}/{side.name}.sock")),
                                side.label("f"))) == ("a", "u")


def test_a_tunnel_has_its_own_time(pair):
    p = pair("haproxy", """
defaults
    mode tcp
    timeout connect 1s
    timeout client 300ms
    timeout server 300ms
    timeout tunnel 900ms
listen web
    bind <f>
    server a <a>
listen quiet
    bind <g>
    server b <b>
""", servers={"a": greet, "b": silent}, binds="f g")

    def scenario(side):
        client = side.connect("f", data=b"x")
        client.label()
        return client.finish()[::2], side.connect("g").finish()[::2]
    found = p.same(scenario, True, lambda found: all(near(took, 0.9) for _, took in found))
    assert all(end == "fin" and near(took, 0.9) for end, took in found)


def test_new_sessions_are_let_in_by_rate(pair):
    p = pair("haproxy", TIMES + """
frontend web
    bind <f>
    rate-limit sessions 5
    default_backend pool
backend pool
    server a <a>
""", servers="a")

    def scenario(side):
        start = time.monotonic()
        labels = side.labels(10)
        return labels, time.monotonic() - start
    labels, took = p.same(scenario)
    assert labels == ["a"] * 10 and took > 0.7


def test_a_source_address_is_used(pair):
    p = pair("haproxy", TIMES + """
backend pool
    source 127.0.0.44
    server a <a>
    server b <b> source 127.0.0.45
frontend web
    bind <f>
    default_backend pool
""")

    def scenario(side):
        side.labels(2)
        return [side[label].seen[-1].host for label in "ab"]
    assert p.same(scenario) == ["127.0.0.44", "127.0.0.45"]


def test_nginx_protocols_and_patterns(pair):
    p = pair("nginx", stream("""
    map $ssl_preread_protocol $kind { "TLSv1.2" one; "TLSv1.3" one; default two; "" two; }
    map $ssl_preread_alpn_protocols $alpn { ~\\bh2\\b one; ~\\bhttp/1.1\\b three; default two; }
    map $ssl_preread_server_name $name { ~^(.+\\.)?example\\.org$ one; www.example.net three; default two; }
    upstream one { server <a>; }
    upstream two { server <b>; }
    upstream three { server <c>; }
    ssl_preread on;
    server { listen <f>; proxy_pass $kind; }
    server { listen <g>; proxy_pass $alpn; }
    server { listen <h>; proxy_pass $name; }
"""), servers="a b c", binds="f g h")

    def scenario(side):
        plain = b"GET / HTTP/1.0\r\n\r\n"
        return ([side.label("f", data=d) for d in (hello("a.com"), plain, b"SSH-2.0-x\r\n")],
                [side.label("g", data=hello("a.com", alpn)) for alpn in
                 (("h2", "http/1.1"), ("http/1.1",), (), ("h3",))],
                [side.label("h", data=hello(name)) for name in
                 ("example.org", "x.example.org", "www.example.net", "xexample.org", "a.b.example.org",
                  None)])
    assert p.same(scenario) == (["a", "b", "b"], ["a", "c", "b", "b"], ["a", "a", "c", "b", "a", "b"])


def test_nginx_limits_and_addresses(pair):
    p = pair("nginx", stream("""
    limit_conn_zone $binary_remote_addr zone=addr:1m;
    server { listen <f>; limit_conn addr 2; proxy_pass <a>; }
    server { listen <g>; proxy_bind 127.0.0.55; proxy_pass <b>; }
"""), binds="f g")

    def scenario(side):
        labels = [side.connect("f", source="127.0.0.8").label() for _ in range(3)]
        other = side.label("f", source="127.0.0.9")
        side.label("g")
        return labels, other, side["b"].seen[-1].host
    assert p.same(scenario, resets=True) == (["a", "a", "fin"], "a", "127.0.0.55")


def both_addresses(side):
    """Whom clients of the address get, and all others."""
    others = Address("tcp4", host="127.0.0.2", port=side.binds["f"].port)
    return side.labels(3), side.labels(3, others)


@pytest.mark.parametrize("order", ((0, 1), (1, 0)), ids=("wildcard first", "address first"))
def test_an_address_beside_all_of_its_port(pair, order):
    fronts = ("frontend wide\n    bind *:<f.port>\n    default_backend one\n",
              "frontend narrow\n    bind <f>\n    default_backend two\n")
    p = pair("haproxy", TIMES + "".join(fronts[i] for i in order) +
             "backend one\n    server a <a>\nbackend two\n    server b <b>\n")
    assert p.same(both_addresses) == (["b"] * 3, ["a"] * 3)


@pytest.mark.parametrize("order", ((0, 1), (1, 0)), ids=("wildcard first", "address first"))
def test_an_address_beside_all_of_its_port_in_nginx(pair, order):
    blocks = ("server { listen <f.port>; proxy_pass <a>; }", "server { listen <f>; proxy_pass <b>; }")
    p = pair("nginx", stream("\n".join(blocks[i] for i in order)))
    assert p.same(both_addresses) == (["b"] * 3, ["a"] * 3)
