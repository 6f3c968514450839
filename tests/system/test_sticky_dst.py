# SPDX-License-Identifier: MIT
"""Danger: clients that connect to one address, and are to have one server, are spread over several; or they
go back to a server that has come back; or those of another address go with them."""

import dataclasses
import json
import time

import pytest

from harness.address import Address
from harness.run_time import order
from harness.show_stat import NO_SERVER, losing_servers, stat
from harness.timing import wait_until
from test_balance import Farm
from test_queue import wait_queued
from test_sticky import CLIENTS, NAMES, THREADS, arrive_at_once, explain, rows, server_of, serving

HERE, THERE = "127.0.0.1", "127.0.0.2"


@pytest.fixture
def weir(weir):
    return losing_servers(weir)


def config(farm, sticky="dst", lines="", options="", bind="0.0.0.0:0"):
    return f"[listen l]\nbind = {bind}\nsticky = {sticky}\n{lines}" + farm.lines(None, options)


def at(daemon, host, frontend="l"):
    return dataclasses.replace(daemon.address(frontend), host=host)


def visit_all(farm, where):
    return {farm.visit(where, client) for client in CLIENTS}


@THREADS
@pytest.mark.parametrize("bind", ("0.0.0.0:0", ":0", "127.0.0.1:0"))
@pytest.mark.parametrize("how", ("roundrobin", "leastconn", "source"))
def test_all_clients_of_an_address_have_one_server(weir, peers, how, bind, threads):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, lines=f"balance = {how}\n", bind=bind), f"threads = {threads}")
    where = Address("tcp4", host=HERE, port=daemon.address("l").port)
    names = visit_all(farm, where)
    assert len(names) == 1
    assert visit_all(farm, where) == names
    assert rows(daemon) == {HERE: names.pop()}
    assert daemon.info()["sticky_entries"] == 1


def test_each_address_has_an_entry_and_a_port_has_none(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir("[frontend l]\nbind = 0.0.0.0:0\ndefault-backend = b\n"
                  "[frontend m]\nbind = 127.0.0.2:0\ndefault-backend = b\n"
                  "[backend b]\nsticky = dst\n" + farm.lines(), "threads = 1")
    here, there = (visit_all(farm, at(daemon, host)) for host in (HERE, THERE))
    assert len(here) == len(there) == 1 and here != there
    assert visit_all(farm, daemon.address("m")) == there
    assert rows(daemon, "b") == {HERE: here.pop(), THERE: there.pop()}


@pytest.mark.parametrize("threads", (2, 4))
def test_clients_at_once_meet_at_one_server(weir, peers, threads):
    """The first clients, and those that find their server gone."""
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm), f"threads = {threads}")
    with serving(farm) as met:
        for turn in range(20):
            arrive_at_once(at(daemon, HERE), CLIENTS[:8], str(turn))
            (name,) = met[str(turn)]
            assert rows(daemon) == {HERE: name}
            if turn % 2:
                order(daemon, "clear table l")
            else:
                order(daemon, f"set server l/{name} state maint")
                arrive_at_once(at(daemon, HERE), CLIENTS[:8], f"{turn} again")
                assert len(met[f"{turn} again"]) == 1 and met[f"{turn} again"] != {name}
                order(daemon, f"set server l/{name} state ready")


def test_clients_at_once_of_a_server_that_refuses_meet_at_another(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, lines="balance = first\n"), "threads = 4")
    daemon.expected_alarms = f"({NO_SERVER})|(connect failed)"
    assert farm.visit(at(daemon, HERE)) == "s1"
    farm.listeners.pop("s1").sock.close()
    with serving(farm, NAMES[1:]) as met:
        for turn in range(10):
            arrive_at_once(at(daemon, HERE), CLIENTS[:8], str(turn))
    (name,) = set.union(*met.values())
    assert rows(daemon) == {HERE: name}


@THREADS
@pytest.mark.parametrize("options", ("", "backup"))
def test_they_stay_when_an_earlier_server_comes_back(weir, peers, options, threads):
    """As with HAProxy, also at a backup that is not needed any more."""
    farm = Farm(peers, NAMES[:2])
    first, second = NAMES[:2]
    daemon = weir("[listen l]\nbind = 0.0.0.0:0\nsticky = dst size=1 expire=365d\nbalance = first\n" +
                  farm.lines([first]) + farm.lines([second], options), f"threads = {threads}")
    where = at(daemon, HERE)
    assert visit_all(farm, where) == {first}
    order(daemon, f"set server l/{first} health down")
    assert visit_all(farm, where) == {second}
    order(daemon, f"set server l/{first} health up")
    assert visit_all(farm, where) == {second}
    order(daemon, f"set server l/{second} state drain")
    assert visit_all(farm, where) == {second}, "drained, it keeps them"
    order(daemon, f"set server l/{second} state maint")
    assert visit_all(farm, where) == {first}
    order(daemon, f"set server l/{second} state ready")
    assert visit_all(farm, where) == {first}
    assert daemon.info()["sticky_evicted"] == 0


def test_a_table_of_one_entry_has_the_address_of_the_last_client(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, "dst size=1"), "threads = 2")
    for host in (HERE, THERE, HERE):
        name = farm.visit(at(daemon, host))
        assert rows(daemon) == {host: name}
    assert daemon.info()["sticky_evicted"] == 2


def test_they_wait_for_their_server_which_is_full(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, lines="timeout-queue = 1m\n", options="maxconn=1"), "threads = 2")
    name, server, client = farm.connect(at(daemon, HERE), CLIENTS[0])
    late = peers.connect(at(daemon, HERE))
    wait_queued(daemon, 1)
    assert int(stat(daemon, name)["qcur"]) == 1
    assert farm.connect(at(daemon, THERE))[0] != name
    for end in (client, server):
        end.close()
    server = peers.accept(farm.listeners[name])
    late.send(1000)
    server.receive(1000)


def test_reloads_keep_the_entries_of_an_address_and_no_others(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, "dst size=1000"), "threads = 4")
    owners = {host: farm.visit(at(daemon, host)) for host in (HERE, THERE)}
    for change in (("size=1000", "size=200k"), ("size=200k", "size=16 expire=1h"), ("timeout", "timeout")):
        daemon.reload(*(change if change[0] != change[1] else ()))
        assert rows(daemon) == owners, change
        assert {host: farm.visit(at(daemon, host)) for host in owners} == owners, change
    # The other kind of table has other keys.
    daemon.reload("sticky = dst", "sticky = src")
    assert rows(daemon) == {}
    own = {c: farm.visit(at(daemon, HERE), c) for c in CLIENTS[:4]}
    assert rows(daemon) == own
    daemon.reload("sticky = src size=16", "sticky = dst size=200k")
    assert rows(daemon) == {}
    assert len(visit_all(farm, at(daemon, HERE))) == 1


def header(where, to, source="192.0.2.1"):
    sock = where.socket()
    sock.connect(where.sockaddr)
    sock.sendall(f"PROXY TCP4 {source} {to} 1000 3306\r\nhello".encode())
    return sock


def test_the_address_is_that_of_a_proxy_header(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, bind="127.0.0.1:0 accept-proxy=always"), "threads = 1")
    names = {}
    for n, to in enumerate(("198.51.100.1", "198.51.100.2") * 4):
        with header(daemon.address("l"), to, f"192.0.2.{n}"):
            wait_until(lambda: any("state=forwarding" in s for s in daemon.sessions()), "it has a server")
            name = next(i for i in NAMES if int(stat(daemon, i)["scur"]) == 1)
            names.setdefault(to, set()).add(name)
            farm.listeners[name].sock.accept()[0].close()
        wait_until(lambda: daemon.info()["sessions"] == 0, "it has left")
    one, two = names.values()
    assert len(one) == len(two) == 1 and one != two
    assert rows(daemon) == {to: name for to, (name,) in names.items()}


def test_clients_of_unix_sockets_are_balanced_as_always(weir, peers, folder):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, bind=f"unix:{folder}/s"), "threads = 1")
    assert {farm.visit(daemon.address("l")) for _ in range(8)} == set(NAMES)
    assert rows(daemon) == {}


def test_an_ipv6_address_is_a_whole_one(network, weir, peers):
    hosts = ("fd00:0:0:1::1", "fd00:0:0:1::2")
    network.add_ipv6(*hosts)
    listeners = {name: peers.listen("path") for name in ("a", "b")}
    daemon = weir("[listen l]\nbind = [::]:0\nsticky = dst\n" +
                  "".join(f"server {n} = {l.address}\n" for n, l in listeners.items()), "threads = 1",
                  wrapper=network.wrapper)

    def visit(host):
        return server_of(daemon, peers, listeners,
                         peers.connect(at(daemon, host), socket_maker=network.socket))
    owners = {host: visit(host) for host in hosts}
    assert set(owners.values()) == {"a", "b"}
    assert {host: visit(host) for host in hosts} == owners
    assert rows(daemon) == owners
    assert rows(daemon, f"l key {hosts[1]}") == {hosts[1]: owners[hosts[1]]}
    assert "not an address" in daemon.ask("show table l key fd00:0:0:1::/64")
    order(daemon, f"clear table l key {hosts[0]}")
    assert rows(daemon) == {hosts[1]: owners[hosts[1]]}


def test_nobody_tries_a_server_that_observe_left_out_while_another_serves(weir, peers):
    """That client would be the only one there."""
    farm = Farm(peers, ())
    farm.listeners = {name: peers.listen(hold=True) for name in NAMES[:3]}
    daemon = weir(config(farm, lines="balance = first\nobserve = connect down=100ms\n"), "threads = 2")
    daemon.expected_alarms = f"({NO_SERVER})|(connect failed)|(failed connect)"
    where = farm.listeners["s1"].address
    farm.listeners["s1"].die()
    with serving(farm, NAMES[1:3]) as met:
        arrive_at_once(at(daemon, HERE), CLIENTS[:8], "before")
    assert met == {"before": {"s2"}}
    farm.listeners["s1"] = peers.listen(where=where)
    wait_until(lambda: "s1" in daemon.ask("show servers history l/s1"), "it is out")
    time.sleep(0.3)     # a trial is due
    with serving(farm, NAMES[:3]) as met:
        order(daemon, "set server l/s2 state maint")
        arrive_at_once(at(daemon, HERE), CLIENTS[:8], "after")
        assert met == {"after": {"s3"}}
        order(daemon, "set server l/s3 state maint")
        wait_until(lambda: stat(daemon, "s1")["status"] == "no check", "the last one returns")
        arrive_at_once(at(daemon, HERE), CLIENTS[:8], "at last")
    assert met["at last"] == {"s1"}


def test_show_table_explain_and_the_log_speak_of_the_address(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, "dst expire=1h size=10"), "threads = 2")
    name = farm.visit(at(daemon, HERE))
    lines = daemon.ask("show table l").splitlines()
    assert lines[0] == "# table: l, type: ip, size:10, used:1"
    assert f"key={HERE} " in lines[1] and lines[1].endswith(f"server_name={name}")
    assert json.loads(daemon.ask("show table json")) == [
        {"table": "l", "type": "ip", "sticky": "dst", "size": 10, "used": 1}]
    said, fates, end = explain(daemon, CLIENTS[0], f"dst={HERE}")
    assert said == [f"clients that connect to {HERE} keep {name}"]
    assert fates[name] == "taken" and end == f"the client goes to l/{name}"
    assert explain(daemon, CLIENTS[0], f"dst={THERE}")[0] == []
    (said,), _, _ = explain(daemon, CLIENTS[0])
    assert "write dst=ADDRESS" in said
    assert "'dst' is not an address" in daemon.ask("explain listener=l client=127.0.0.1 dst=unix")
    daemon.reload("bind = 0.0.0.0:0", "bind = 127.0.0.1:0")
    assert explain(daemon, CLIENTS[0])[0] == [f"clients that connect to {HERE} keep {name}"]
    assert "not at the address in 'dst'" in explain(daemon, CLIENTS[0], f"dst={THERE}")[2]
    order(daemon, f"clear table l key {HERE}")
    wait_until(lambda: "1 sticky address forgotten" in daemon.log(), "it is logged")
