# SPDX-License-Identifier: MIT
"""Danger: a connection ends otherwise, or at another time, than in nginx before the conversion."""

import pytest

from harness import labelled
from harness.labelled import Full, greet
from harness.original import near
from test_pairs_ends import talks
from test_pairs_nginx import stream


def test_a_server_that_does_not_answer_costs_as_long(pair):
    p = pair("nginx", stream("""
    proxy_connect_timeout 400ms;
    upstream two { server <s>; server <b> backup; }
    upstream three { server <s>; server <d>; server <b>; }
    upstream turns { server <d>; server <s>; }
    server { listen <f>; proxy_pass <s>; }
    server { listen <g>; proxy_pass two; }
    server { listen <h>; proxy_pass turns; proxy_next_upstream off; }
    server { listen <i>; proxy_pass three; }
"""), servers={"s": Full, "b": greet, "d": greet}, binds="f g h i")

    def scenario(side):
        side["d"].die()
        three = [side.connect("i") for _ in range(3)]
        return {"alone": side.connect("f").finish(), "three": [client.label() for client in three],
                "once": side.connect("h").finish()[0], "two": side.label("g")}
    found = p.same(scenario, resets=True)
    assert found["alone"][:2] == ("fin", b"") and near(found["alone"][2], 0.4)
    assert found["three"] == ["b"] * 3 and found["once"] == "fin" and found["two"] == "b"


@pytest.mark.parametrize("talker", ["nobody", "client", "server"])
def test_an_idle_connection_ends_after_as_long(pair, talker):
    p = pair("nginx", stream("""
    server { listen <f>; proxy_pass <a>; proxy_timeout 600ms; }
"""), servers={"a": talks if talker == "server" else labelled.silent})

    def scenario(side):
        client = side.connect()
        if talker == "client":
            for _ in range(7):
                client.send(b"x")
                client.quiet(0.15)
        end, _, took = client.finish()
        seen = side["a"].ended(side["a"].count)
        return end, took, seen.end, seen.took
    if talker == "nobody":
        end, took, *_ = p.same(scenario, True, lambda found: near(found[1], 0.6))
        assert end == "fin" and near(took, 0.6)
        return
    # Where something moves, nginx moves a timer only by 300 ms or more, to have less to do.
    def fits(theirs, ours):
        return near(ours[1], 0.9 + 0.6) and (near(theirs[1], ours[1]) or 1.1 < theirs[1] < ours[1])
    theirs, ours = p.both(scenario, fits)
    assert fits(theirs, ours), (theirs, ours)


def test_a_half_closed_connection(pair):
    p = pair("nginx", stream("""
    proxy_timeout 700ms;
    server { listen <f>; proxy_pass <a>; proxy_half_close on; }
    server { listen <g>; proxy_pass <b>; proxy_half_close on; }
    server { listen <h>; proxy_pass <c>; }
    server { listen <i>; proxy_pass <d>; proxy_half_close on; }
"""), servers={"a": labelled.answers_at_the_end, "b": labelled.ends_first, "c": labelled.answers_at_the_end,
               "d": labelled.ends_first}, binds="f g h i")

    def scenario(side):
        answered = side.connect("f", data=b"1234567").fin().finish()[:2]
        client = side.connect("g")
        said = client.finish()[:2]
        client.send(b"after the end").fin()
        side.connect("i").finish()
        late = side["d"].ended().took
        return answered, said, bytes(side["b"].ended().data), late, \
            side.connect("h", data=b"1234567").fin().finish()[1]
    theirs, ours = p.both(scenario)
    for side in (theirs, ours):
        assert side[:3] == (("fin", b"a\n7"), ("fin", b"b\n"), b"after the end") and near(side[3], 0.7)
    # Without proxy_half_close, nginx cuts off the answer: the report names it.
    assert (theirs[4], ours[4]) == (b"", b"c\n7")
    p.named("unless proxy_half_close is on")


def test_a_reset_of_one_side_reaches_the_other(pair):
    p = pair("nginx", stream("""
    server { listen <f>; proxy_pass <a>; }
    server { listen <g>; proxy_pass <b>; }
    server { listen <h>; proxy_pass <c>; }
    server { listen <i>; proxy_pass <d>; }
"""), servers={"a": greet, "b": labelled.resets, "c": labelled.resets_at_once, "d": greet}, binds="f g h i")

    def scenario(side):
        side["d"].die()
        client = side.connect("f")
        client.label()
        client.reset()
        server_end = side["a"].ended().end
        client = side.connect("g")
        client.label()
        end = client.send(b"x").finish()[0]
        return server_end, end, side.connect("h").finish()[0], side.connect("i").finish()[0]
    assert p.same(scenario, resets=True) == ("fin",) * 4
