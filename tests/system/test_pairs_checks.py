# SPDX-License-Identifier: MIT
"""Danger: a health check that was converted asks something else, or a server falls and rises otherwise."""

import re
import socket

from harness.labelled import drain, greet, silent
from harness.original import near
from harness.show_stat import NO_SERVER
from harness.timing import wait_until
from test_pairs_balance import TIMES


def redis(server, sock, seen):
    """A cache that answers what it is asked, if it is well; other clients learn its name."""
    data = sock.recv(100)
    seen.data += data
    if data.startswith(b"STATE"):
        sock.sendall(b"state:" + getattr(server, "state", b"ready") + b"\r\n")
    else:
        sock.sendall(server.label.encode() + b"\n")
    seen.end = drain(sock, seen.data)


def checks(server, what=b"STATE"):
    return [s for s in list(server.seen) if bytes(s.data).startswith(what)]


def out(side, label, data=b""):
    return lambda: label not in side.labels(4, data=data)


def test_a_scripted_check_sends_and_expects_the_same(pair):
    p = pair("haproxy", TIMES + """
backend cache
    option tcp-check
    tcp-check connect
    tcp-check send STATE\\r\\n
    tcp-check expect string state:ready
    default-server check inter 100ms fall 2 rise 2
    server a <a>
    server b <b>
frontend f
    bind <f>
    default_backend cache
""", servers={"a": redis, "b": redis})

    def scenario(side):
        wait_until(lambda: checks(side["a"]), "a check")
        before = sorted(side.labels(4, data=b"x"))
        side["a"].state = b"loading"
        wait_until(out(side, "a", b"x"), "a is out")
        after = side.labels(4, data=b"x")
        side["a"].state = b"ready"
        wait_until(lambda: "a" in side.labels(2, data=b"x"), "a is back")
        return before, after, {bytes(s.data) for s in checks(side["a"])}
    assert p.same(scenario) == (["a", "a", "b", "b"], ["b"] * 4, {b"STATE\r\n"})


def web(server, sock, seen):
    data = sock.recv(1000)
    seen.data += data
    if b"HTTP" in data:
        sock.sendall(getattr(server, "answer", b"HTTP/1.0 20%d Fine\r\n\r\n" % (4 * (server.label == "d"))))
    else:
        sock.sendall(server.label.encode() + b"\n")


def test_a_check_by_http_asks_the_same(pair):
    p = pair("haproxy", TIMES + """
listen plain
    bind <f>
    option httpchk
    server a <a> check inter 100ms
listen said
    bind <g>
    option httpchk GET /health
    http-check expect status 200-299
    server b <b> check inter 100ms fall 1
    server c <c> check inter 100ms
listen full
    bind <h>
    option httpchk
    http-check send meth HEAD uri /up ver HTTP/1.1 hdr Host www.example.com
    http-check expect status 204
    server d <d> check inter 100ms
""", servers=dict.fromkeys("abcd", web), binds="f g h", alarms=NO_SERVER)

    def scenario(side):
        wait_until(lambda: all(checks(side[x], b"") for x in "abcd"), "checks")
        asked = {x: bytes(checks(side[x], b"")[0].data) for x in "abcd"}
        side["b"].answer = b"HTTP/1.0 302 Elsewhere\r\nLocation: /x\r\n\r\n"
        wait_until(lambda: side.labels(3, "g", data=b"x") == ["c"] * 3, "b is out")
        return asked, side.label("f", data=b"x"), side.label("h", data=b"x")
    theirs, ours = p.both(scenario)
    head = b"\r\nhost: www.example.com\r\nconnection: close\r\n\r\n"
    assert theirs == ({"a": b"OPTIONS / HTTP/1.0\r\n\r\n", "b": b"GET /health HTTP/1.0\r\n\r\n",
                       "c": b"GET /health HTTP/1.0\r\n\r\n", "d": b"HEAD /up HTTP/1.1" + head}, "a", "d")
    # Where the file has no Host, weir's differs by that: the report names it.
    ours[0].update({x: re.sub(rb"Host: 127.0.0.1:\d+\r\n", b"", ours[0][x]) for x in "abc"})
    ours[0]["d"] = ours[0]["d"].replace(b"Host:", b"host:").replace(b"Connection:", b"connection:")
    assert ours == theirs
    p.named("'plain': HAProxy's check by HTTP has no Host")
    p.named("'said': HAProxy's check by HTTP has no Host")


def test_a_connect_line_says_whether_checks_send_a_header(pair):
    p = pair("haproxy", TIMES + """
listen by-itself
    bind <f>
    option httpchk GET /health
    server a <a> send-proxy check inter 100ms
listen plain
    bind <g>
    option httpchk GET /health
    http-check connect
    server b <b> send-proxy check inter 100ms
listen said
    bind <h>
    option httpchk GET /health
    http-check connect send-proxy
    server c <c> send-proxy check inter 100ms
""", servers=dict.fromkeys("abc", web), binds="f g h", alarms=NO_SERVER)

    def scenario(side):
        wait_until(lambda: all(checks(side[x], b"") for x in "abc"), "checks")
        return {x: bytes(checks(side[x], b"")[0].data)[:5] for x in "abc"}
    assert p.same(scenario) == {"a": b"PROXY", "b": b"GET /", "c": b"PROXY"}


def test_the_same_statuses_pass(pair):
    p = pair("haproxy", TIMES + """
defaults from-above
    mode tcp
    timeout connect 1s
    timeout client 10s
    timeout server 10s
    default-server inter 100ms fall 1
listen plain
    bind <f>
    option httpchk GET /
    server a <a> check
    server b <b> check
    server c <c> check
    server e <e> check
listen negated
    bind <g>
    option httpchk GET /
    http-check expect ! status 500
    server a <a> check
    server b <b> check
    server e <e> check
listen pattern
    bind <h>
    option httpchk GET /
    http-check expect rstatus ^(2[0-9][0-9]|404)
    server a <a> check
    server b <b> check
    server c <c> check
""", servers=dict.fromkeys("abce", web), binds="f g h")

    def scenario(side):
        for label, status in (("b", b"404"), ("c", b"301"), ("e", b"500")):
            side[label].answer = b"HTTP/1.0 " + status + b" So\r\n\r\n"

        def found():
            return [sorted(set(side.labels(8, bind, data=b"x"))) for bind in "fgh"]
        wait_until(lambda: found() == [["a", "c"], ["a", "b"], ["a", "b"]],
                   lambda: f"servers settle: {found()}")
        return "settled"
    assert p.same(scenario) == "settled"


def test_a_server_falls_and_rises_after_as_many_checks_in_as_much_time(pair):
    p = pair("haproxy", TIMES + """
listen web
    bind <f>
    option tcp-check
    tcp-check expect string ready
    server a <a> check port <ready.port> inter 300ms fastinter 100ms downinter 400ms fall 3 rise 2
    server b <b>
""", servers={"a": greet, "b": greet, "ready": moody})

    def scenario(side):
        probe = side["ready"]
        wait_until(lambda: probe.count >= 4, "checks")
        probe.mood = b"broken\n"
        wait_until(lambda: side.labels(2) == ["b", "b"], "a is out")
        known = probe.count
        wait_until(lambda: probe.count >= known + 2, "checks of a server that is out")
        probe.mood = b"ready\n"
        wait_until(lambda: "a" in side.labels(2), "a is back")
        wait_until(lambda: [seen.mood for seen in moods(probe)[known:]].count(b"ready\n") >= 5, "checks")
        return rhythm(moods(probe))
    same = p.same(scenario)
    assert near(same["up"], 0.3) and near(same["falls"], 0.1) and near(same["down"], 0.4)


def moody(server, sock, seen):
    """Says how it is, and ends unless it hangs."""
    seen.mood = getattr(server, "mood", b"ready\n")
    sock.sendall(seen.mood)
    if seen.mood != b"hangs\n":
        sock.shutdown(socket.SHUT_WR)
    seen.end = drain(sock, seen.data)


def test_a_server_that_hangs_falls_sooner(pair):
    """The report names it: the interval begins with the start of a check, in HAProxy with its end."""
    p = pair("haproxy", TIMES + """
listen web
    bind <f>
    timeout check 300ms
    option tcp-check
    tcp-check expect string ready
    server a <a> check port <ready.port> inter 300ms fall 3
    server b <b>
""", servers={"a": greet, "b": greet, "ready": moody})

    def scenario(side):
        probe = side["ready"]
        wait_until(lambda: probe.count >= 2, "checks")
        probe.mood = b"hangs\n"
        wait_until(lambda: side.labels(2) == ["b", "b"], "a is out")
        hung = [seen.at for seen in moods(probe) if seen.mood == b"hangs\n"]
        probe.mood = b"ready\n"
        wait_until(lambda: "a" in side.labels(2), "a is back")
        return hung[2] - hung[0]
    theirs, ours = p.both(scenario)
    assert near(theirs, 2 * 0.6) and near(ours, 2 * 0.3)
    p.named("falls sooner")


def moods(server):
    """The connections that it has answered."""
    return [seen for seen in list(server.seen) if hasattr(seen, "mood")]


def rhythm(seen):
    """Seconds from one check to the next: while the server is up, while it falls, is down, rises."""
    gaps = [(a.mood[:1] + b.mood[:1], b.at - a.at) for a, b in zip(seen, seen[1:])]
    bad = [gap for moods, gap in gaps if moods == b"bb"]
    good = [gap for moods, gap in gaps if moods == b"rr"]
    back = [moods for moods, _ in gaps].index(b"br")
    return {"up": good[1], "falls": bad[0], "then": bad[1], "down": bad[2], "rises": gaps[back + 1][1],
            "again": gaps[back + 3][1]}


def test_a_plain_check_is_not_seen_by_the_server_program(pair):
    """The report names it: HAProxy resets before the handshake ends, weir connects and ends with FIN."""
    p = pair("haproxy", TIMES + """
listen web
    bind <f>
    server a <a> check inter 100ms fall 1
    server b <b> backup
""", servers={"a": silent, "b": greet})

    def scenario(side):
        if side.ours:
            wait_until(lambda: side["a"].count >= 3, "checks")
        side["a"].die()
        wait_until(lambda: side.label() == "b", "a is out")
        return {seen.end for seen in list(side["a"].seen) if not seen.data and seen.took is not None}
    theirs, ours = p.both(scenario)
    assert theirs <= {"reset", "fin"} and "fin" in ours
    p.named("a connection that ends with FIN")


def test_connections_of_a_server_that_fell_end_if_the_file_says_so(pair):
    p = pair("haproxy", TIMES + """
listen closes
    bind <f>
    server a <a> check port <probe.port> inter 100ms fall 1 on-marked-down shutdown-sessions
    server b <b> backup
listen keeps
    bind <g>
    server a <a> check port <probe.port> inter 100ms fall 1
    server b <b> backup
""", servers="a b probe", binds="f g")

    def scenario(side):
        one, other = side.connect("f"), side.connect("g")
        labels = one.label(), other.label()
        side["probe"].die()
        end = one.finish()[0]
        wait_until(lambda: side.label("g") == "b", "a is out")
        other.send(b"still here").fin()
        return labels, end, other.finish()[:2]
    assert p.same(scenario, resets=True) == (("a", "a"), "fin", ("fin", b"a\nstill here"))
