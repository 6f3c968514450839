# SPDX-License-Identifier: MIT
"""Danger: a configuration of HAProxy that was converted spreads its clients differently."""

import dataclasses
import time
from collections import Counter

import pytest

from harness.original import near
from harness.timing import SCALE, stays, wait_until

TIMES = """
defaults
    mode tcp
    timeout connect 1s
    timeout client 10s
    timeout server 10s
"""


def shares(side, count, **kw):
    return dict(Counter(side.labels(count, **kw)))


def test_round_robin_gives_each_server_its_weight(pair):
    p = pair("haproxy", TIMES + """
listen web
    bind <f>
    balance roundrobin
    server a <a> weight 30
    server b <b> weight 10
    server c <c> weight 0
""", servers="a b c")
    assert p.same(lambda side: shares(side, 16)) == {"a": 12, "b": 4}


def test_the_least_loaded_server_gets_the_next_client(pair):
    p = pair("haproxy", TIMES + """
frontend web
    bind <f>
    default_backend pool
backend pool
    balance leastconn
    server a <a> weight 2
    server b <b>
""")

    def scenario(side):
        held = [side.connect() for _ in range(9)]
        first = Counter(client.label() for client in held)
        for client in held:
            if client.label() == "b":
                client.close()
        side["b"].ended(first["b"])
        # One of them may be on its way out.
        return dict(first), [side.connect().label() for _ in range(2)]
    assert p.same(scenario) == ({"a": 6, "b": 3}, ["b", "b"])


def test_the_first_server_is_filled_before_the_next(pair):
    p = pair("haproxy", TIMES + """
listen web
    bind <f>
    balance first
    server a <a> id 2 maxconn 2
    server b <b> id 1 maxconn 2
    server c <c> id 3 maxconn 2
""", servers="a b c")
    assert p.same(lambda side: [side.connect().label() for _ in range(5)]) == ["b", "b", "a", "a", "c"]


HOSTS = [f"127.0.1.{n}" for n in range(1, 31)]


def test_a_client_keeps_its_server_and_a_death_moves_only_the_clients_of_the_dead(pair):
    p = pair("haproxy", TIMES + """
listen web
    bind <f>
    balance source
    hash-type consistent
    server a <a> check inter 100ms
    server b <b> check inter 100ms
    server c <c> check inter 100ms
""", servers="a b c")

    def scenario(side):
        first = {host: side.label(source=host) for host in HOSTS}
        again = {host: side.label(source=host) for host in HOSTS}
        side["c"].die()
        wait_until(lambda: "c" not in side.labels(2, source=next(h for h in HOSTS if first[h] == "c")) and
                   side.label(source=next(h for h in HOSTS if first[h] == "c")) in "ab", "c is out")
        later = {host: side.label(source=host) for host in HOSTS}
        return {"kept": first == again, "used": sorted(set(first.values())),
                "moved": sorted({first[h] for h in HOSTS if first[h] != later[h]})}
    assert p.same(scenario) == {"kept": True, "used": ["a", "b", "c"], "moved": ["c"]}


def test_backups_serve_when_no_other_server_is_left_one_or_all(pair):
    p = pair("haproxy", TIMES + """
listen one
    bind <f>
    server a <a> check inter 100ms fall 1
    server b <b> backup check inter 100ms
    server c <c> backup check inter 100ms
listen all
    bind <g>
    option allbackups
    server a <a> check inter 100ms fall 1
    server b <b> backup check inter 100ms
    server c <c> backup check inter 100ms
""", servers="a b c", binds="f g")

    def scenario(side):
        before = side.labels(4), side.labels(4, "g")
        side["a"].die()
        wait_until(lambda: side.label("f") == "b" and side.label("g") in "bc", "a is out")
        after = shares(side, 6), set(shares(side, 6, bind="g"))  # each worker of weir takes turns
        side["a"].start()
        wait_until(lambda: side.label("f") == "a" and side.label("g") == "a", "a is back")
        return before, after
    assert p.same(scenario) == ((["a"] * 4, ["a"] * 4), ({"b": 6}, {"b", "c"}))


def test_a_client_that_stuck_comes_back_to_its_server(pair):
    p = pair("haproxy", TIMES + """
backend pool
    stick-table type ip size 10k expire 10m
    stick on src
    server a <a>
    server b <b>
    server c <c>
frontend web
    bind <f>
    default_backend pool
""", servers="a b c")

    def scenario(side):
        found = [set(side.labels(3, source=host)) for host in HOSTS]
        return {len(labels) for labels in found}, sorted(set.union(*found))
    assert p.same(scenario) == ({1}, ["a", "b", "c"])


BACK = 0.6 * SCALE      # by then, a server that is checked each 100 ms is back


def reached(side, bind="f"):
    """The servers that thirty clients meet, of as many addresses."""
    return sorted({side.label(bind, source=host) for host in HOSTS})


@pytest.mark.parametrize("lines", ("stick on dst", "stick match dst\n    stick store-request dst"))
@pytest.mark.parametrize(("first", "second"), (("", "backup"), ("backup", "backup")))
def test_all_clients_go_to_one_server_and_stay_when_another_comes_back(pair, lines, first, second):
    """Galera clusters and LDAP masters: the pairs of servers of OpenStack and of LTB's files."""
    p = pair("haproxy", TIMES + f"""
listen galera
    bind <f>
    stick-table type ip size 1
    {lines}
    option redispatch
    server a <a> check inter 100ms fall 1 rise 1 {first}
    server b <b> check inter 100ms fall 1 rise 1 {second}
    server c <c> check inter 100ms fall 1 rise 1 {second}
""", servers="a b c")
    assert "sticky = dst size=1 expire=365d" in " ".join(p.config.split())

    def scenario(side):
        found = [reached(side)]
        for died, next_one in (("a", "b"), ("b", "a"), ("a", "b")):
            side[died].die()
            wait_until(lambda: side.label() == next_one, f"{died} is out")
            found.append(reached(side))
            side[died].start()
            assert stays(lambda: side.label() == next_one, BACK)
            found.append(reached(side))
        return found
    assert p.same(scenario) == [["a"], ["b"], ["b"], ["a"], ["a"], ["b"], ["b"]]


def test_of_servers_in_turn_all_clients_go_to_one(pair):
    """Which of them is left to the turn; each address has one of its own."""
    p = pair("haproxy", TIMES + """
listen galera
    bind *:<f.port>
    balance roundrobin
    stick-table type ip size 1000
    stick on dst
    option redispatch
    server a <a> check inter 100ms fall 1
    server b <b> check inter 100ms fall 1
    server c <c> check inter 100ms fall 1
""", servers="a b c")

    def scenario(side):
        here = side.binds["f"]
        there = dataclasses.replace(here, host="127.0.0.2")
        found = [reached(side, where) for where in (here, there)]
        ((first,), (second,)) = found
        side[first].die()
        wait_until(lambda: side.label(here) not in (first, "fin", "reset"), "it is out")
        (later,) = reached(side, here)
        side[first].start()
        assert stays(lambda: side.label(here) == later, BACK)
        other = second if second != first else side.label(there)
        return {"kept": reached(side, here) == [later], "moved": later != first,
                "other": reached(side, there) == [other]}
    assert p.same(scenario) == {"kept": True, "moved": True, "other": True}


def test_a_dead_server_is_tried_again_or_another_is(pair):
    p = pair("haproxy", TIMES + """
listen faithful
    bind <f>
    timeout connect 200ms
    retries 2
    server dead <dead>
listen other
    bind <g>
    timeout connect 200ms
    retries 2
    option redispatch
    server dead <dead>
    server b <b>
listen loaded
    bind <i>
    timeout connect 200ms
    balance leastconn
    option redispatch
    server dead <dead>
    server b <b>
listen stays
    bind <h>
    timeout connect 200ms
    retries 2
    server dead <dead>
    server b <b>
""", servers="dead b", binds="f g h i")

    def scenario(side):
        side["dead"].die()
        end, _, took = side.connect("f").finish()
        start = time.monotonic()
        loaded = side.labels(4, "i")
        loaded.append(time.monotonic() - start)
        return end, took, side.labels(4, "g"), sorted(side.labels(4, "h")), loaded
    end, took, others, stays, loaded = p.same(scenario, resets=True)
    assert end == "fin" and near(took, 0.4) and others == ["b"] * 4 and stays.count("b") == 2
    assert loaded[:4] == ["b"] * 4 and near(loaded[4], 0.0)


def test_a_hashed_client_of_a_dead_server(pair):
    """The report names it: weir's redispatch goes to another server, HAProxy's to that of the hash."""
    p = pair("haproxy", TIMES + """
backend pool
    timeout connect 200ms
    balance source
    retries 1
    option redispatch
    server dead <dead>
    server b <b>
frontend web
    bind <f>
    default_backend pool
""", servers="dead b")

    def scenario(side):
        side["dead"].die()
        return {side.label(source=host) for host in HOSTS[:6]}
    theirs, ours = p.both(scenario)
    assert theirs == {"b", "fin"} and ours == {"b"}
    p.named("weir's tries another")
