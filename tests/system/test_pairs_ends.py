# SPDX-License-Identifier: MIT
"""Danger: a connection ends otherwise, or at another time, than in HAProxy before the conversion."""

import select
import time

import pytest

from harness import labelled
from harness.labelled import Full, greet
from harness.original import near
from harness.show_stat import NO_SERVER
from harness.timing import wait_until


def times(client="10s", server="10s", connect="5s", more=""):
    return f"""
defaults
    mode tcp
    timeout connect {connect}
    timeout client {client}
    timeout server {server}
    {more}
"""


def test_a_client_waits_for_a_place_and_not_for_ever(pair):
    p = pair("haproxy", times(more="timeout queue 600ms") + """
listen web
    bind <f>
    server a <a> maxconn 1
""", servers="a")

    def scenario(side):
        first = side.connect()
        label = first.label()
        end, said, took = side.connect().finish()
        second = side.connect()
        waits = second.quiet(0.15)
        first.close()
        last = second.label()
        second.close()
        side["a"].ended(side["a"].count)
        return label, (end, said, took), waits, last
    label, (end, said, took), waits, second = p.same(scenario, True, lambda found: near(found[1][2], 0.6))
    assert (label, end, said, waits, second) == ("a", "fin", b"", True, "a") and near(took, 0.6)


def test_a_frontend_that_is_full_lets_clients_wait(pair):
    p = pair("haproxy", times() + """
frontend web
    bind <f>
    maxconn 2
    default_backend pool
backend pool
    server a <a>
""", servers="a")

    def scenario(side):
        held = [side.connect() for _ in range(3)]
        labels = held[0].label(), held[1].label(), held[2].quiet(0.3)
        held[0].close()
        return labels, held[2].label()
    assert p.same(scenario) == (("a", "a", True), "a")


def test_a_server_that_does_not_answer_costs_as_long(pair):
    p = pair("haproxy", times(connect="400ms") + """
listen once
    bind <f>
    retries 0
    server s <s>
listen other
    bind <g>
    option redispatch
    server s <s>
    server b <b>
""", servers={"s": Full, "b": greet}, binds="f g")

    def scenario(side):
        ends = side.connect("f").finish()
        clients = [side.connect("g") for _ in range(2)]
        return ends, sorted((client.label(), client.took) for client in clients)[-1]
    (end, _, took), other = p.same(scenario, True, lambda found: near(found[0][2], 0.4) and
                                   near(found[1][1], 0.4))
    assert end == "fin" and near(took, 0.4) and other[0] == "b" and near(other[1], 0.4)


def test_a_server_that_does_not_answer_is_tried_again_later(pair):
    """The report names it: weir makes the pause of HAProxy after a refused connect here, too."""
    p = pair("haproxy", times(connect="300ms") + """
listen again
    bind <f>
    retries 1
    server s <s>
""", servers={"s": Full})
    theirs, ours = p.both(lambda side: side.connect().finish()[2],
                          lambda theirs, ours: near(theirs, 0.6) and near(ours, 0.9))
    assert near(theirs, 0.6) and near(ours, 0.9)
    p.named("weir after another timeout-connect")


@pytest.mark.parametrize("talker", ["nobody", "client", "server"])
def test_an_idle_connection_ends_after_as_long(pair, talker):
    p = pair("haproxy", times("500ms", "900ms") + """
listen web
    bind <f>
    server a <a>
""", servers={"a": talks if talker == "server" else labelled.silent})

    def scenario(side):
        client = side.connect()
        if talker == "client":
            for _ in range(7):
                client.send(b"x")
                client.quiet(0.15)
        end, _, took = client.finish()
        return end, took
    least = 0.5 if talker == "nobody" else 0.9 + 0.5
    end, took = p.same(scenario, True, lambda found: near(found[1], least))
    assert end == "fin" and near(took, least)


def talks(_server, sock, seen):
    """Says something each 150 ms, for a while."""
    for _ in range(7):
        sock.sendall(b"x")
        time.sleep(0.15)
    seen.end = labelled.drain(sock, seen.data)


def test_a_client_of_an_idle_server_ends_and_the_server_after_the_client(pair):
    """The report names it: weir ends both sides after timeout-server."""
    p = pair("haproxy", times("900ms", "500ms") + """
listen web
    bind <f>
    server a <a>
""", servers={"a": labelled.silent})
    theirs, ours = p.both(lambda side: (*side.connect().finish()[::2], side["a"].ended(side["a"].count).took),
                          lambda theirs, ours: all(map(near, theirs[1:] + ours[1:], (0.5, 0.9, 0.5, 0.5))))
    assert theirs[0] == "fin" and near(theirs[1], 0.5) and near(theirs[2], 0.9)
    assert ours[0] == "reset" and near(ours[1], 0.5) and near(ours[2], 0.5)
    p.named("weir ends both")


def test_a_half_closed_connection_goes_on(pair):
    p = pair("haproxy", times() + """
listen web
    bind <f>
    server a <a>
listen first
    bind <g>
    server b <b>
""", servers={"a": labelled.answers_at_the_end, "b": labelled.ends_first}, binds="f g")

    def scenario(side):
        answered = side.connect("f", data=b"1234567").fin().finish()[:2]
        client = side.connect("g")
        said = client.finish()[:2]
        client.send(b"after the end").fin()
        return answered, said, bytes(side["b"].ended().data), side["b"].ended().end
    assert p.same(scenario) == (("fin", b"a\n7"), ("fin", b"b\n"), b"after the end", "fin")


@pytest.mark.parametrize("fin", ["", "timeout client-fin 400ms\n    timeout server-fin 400ms"])
@pytest.mark.parametrize("who", ["client", "server"])
def test_a_half_closed_connection_ends_after_as_long(pair, who, fin):
    p = pair("haproxy", times("900ms", "900ms", more=fin) + """
listen web
    bind <f>
    server a <a>
""", servers={"a": holds if who == "client" else labelled.ends_first})

    def scenario(side):
        count = side["a"].count
        client = side.connect(data=b"x")
        if who == "client":    # HAProxy sometimes closes one at once that sends FIN while it connects
            wait_for_byte(side, "a", count)
            start = time.monotonic()
            client.fin().finish()
            return client.end, time.monotonic() - start
        client.finish()
        seen = side["a"].ended(side["a"].count)
        return seen.end, seen.took
    least = 0.4 if fin else 0.9
    end, took = p.same(scenario, True, lambda found: near(found[1], least))
    assert end == "fin" and near(took, least)


def wait_for_byte(side, label, before):
    """Waits until the connection that is not one of the `before` earlier ones has brought something."""
    wait_until(lambda: side[label].count > before and side[label].seen[before].data,
               "the server has the byte")


def holds(_server, sock, seen):
    """Takes what comes and does not end after the other."""
    seen.end = labelled.drain(sock, seen.data)
    poller = select.poll()
    poller.register(sock, 0)
    poller.poll(labelled.PATIENT * 1000)


SIDES = """
frontend web
    bind <f>
    default_backend pool
frontend early
    bind <g>
    default_backend first
backend pool
    server a <a>
backend first
    server b <b>
"""


def after_a_fin(side):
    """How long a connection goes on after a FIN of the client, and after one of the server."""
    count = side["a"].count
    client = side.connect("f", data=b"x")
    wait_for_byte(side, "a", count)
    start = time.monotonic()
    client.fin().finish()
    took = time.monotonic() - start
    other = side.connect("g")
    other.finish()
    return took, side["b"].ended(side["b"].count).took


def test_a_slow_answer_after_a_fin_is_not_cut_off(pair):
    """client-fin is for clients that do not end after their server; in weir, the longer time counts."""
    p = pair("haproxy", times("900ms", "900ms", more="timeout client-fin 300ms") + SIDES,
             servers={"a": holds, "b": labelled.ends_first}, binds="f g")
    theirs, ours = p.both(after_a_fin, lambda theirs, ours:
                          all(map(near, theirs + ours, (0.9, 0.3, 0.9, 0.9))))
    assert near(theirs[0], 0.9) and near(ours[0], 0.9)
    assert near(theirs[1], 0.3) and near(ours[1], 0.9)
    p.named("the longer", "client-fin")


def test_each_side_has_its_own_time_after_a_fin(pair):
    """The report names it: in weir, the shorter idle time of both sides counts as well."""
    p = pair("haproxy", times("400ms", "900ms") + SIDES,
             servers={"a": holds, "b": labelled.ends_first}, binds="f g")
    theirs, ours = p.both(after_a_fin, lambda theirs, ours:
                          all(map(near, theirs + ours, (0.9, 0.4, 0.4, 0.4))))
    assert near(theirs[0], 0.9) and near(theirs[1], 0.4)
    assert near(ours[0], 0.4) and near(ours[1], 0.4)
    p.named("shorter of timeout-client and timeout-server")


def test_a_reset_of_one_side_reaches_the_other(pair):
    p = pair("haproxy", times() + """
listen web
    bind <f>
    server a <a>
listen late
    bind <g>
    server b <b>
listen early
    bind <h>
    server c <c>
""", servers={"a": greet, "b": labelled.resets, "c": labelled.resets_at_once}, binds="f g h")

    def scenario(side):
        client = side.connect("f")
        client.label()
        client.reset()
        server_end = side["a"].ended().end
        client = side.connect("g")
        client.label()
        end = client.send(b"x").finish()[0]
        return {"server after client": server_end, "client after server": end,
                "client of a server that resets at once": side.connect("h").finish()[0]}
    assert p.same(scenario, resets=True) == {
        "server after client": "reset", "client after server": "fin",
        "client of a server that resets at once": "fin"}


def test_without_a_server_a_client_ends_at_once(pair):
    p = pair("haproxy", times(connect="400ms") + """
listen web
    bind <f>
    server a <a> check inter 100ms fall 1
    server off <a> disabled
listen off
    bind <g>
    server a <a> disabled
""", servers="a", binds="f g", alarms=NO_SERVER)

    def scenario(side):
        off = min((side.connect("g").finish() for _ in range(3)), key=lambda end: end[2])
        side["a"].die()

        def out():
            end = side.connect("f").finish() if side.label("f") != "a" else None
            return end if end and end[2] < 0.2 else None
        return off, wait_until(out, "a is out")
    off, out = p.same(scenario)
    assert off[:2] == out[:2] == ("fin", b"") and off[2] < 0.2
