# SPDX-License-Identifier: MIT
"""Danger: a client that keeps its server reaches another one, on another worker or after a reload; or it
keeps one that is down; or it waits for ever; or one client takes the place of another in the table."""

import contextlib
import json
import threading
import time

import pytest

from harness.run_time import order
from harness.show_stat import NO_SERVER, losing_servers, stat
from harness.timing import wait_until
from test_access import bound_to
from test_balance import Farm
from test_queue import wait_queued

CLIENTS = [f"127.0.78.{n}" for n in range(1, 17)]
NAMES = ("s1", "s2", "s3", "s4")
THREADS = pytest.mark.parametrize("threads", (pytest.param(1, marks=pytest.mark.smoke),
                                              pytest.param(4, marks=pytest.mark.smoke)))


@pytest.fixture
def weir(weir):
    return losing_servers(weir)


def config(farm, sticky="src", lines="", options="", names=None):
    return f"[listen l]\nbind = 127.0.0.1:0\nsticky = {sticky}\n{lines}" + farm.lines(names, options)


def rows(daemon, what="l"):
    """Client: server, of the table; None for a server that is not there."""
    table = json.loads(daemon.ask(f"show table {what} json"))[0]
    found = {row["key"]: row["server"] for row in table["entries"]}
    assert "key" in what or len(found) == table["used"], table
    return found


def used(daemon):
    return json.loads(daemon.ask("show table json"))[0]["used"]


def visit_all(farm, daemon, clients=None):
    return {c: farm.visit(daemon.address("l"), c) for c in clients or CLIENTS}


@THREADS
@pytest.mark.parametrize("how", ("roundrobin", "leastconn", "source"))
def test_a_client_stays_at_its_server_on_every_worker(weir, peers, how, threads):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, lines=f"balance = {how}\n"), f"threads = {threads}")
    owners = visit_all(farm, daemon)
    assert len(set(owners.values())) >= 3, owners
    for _ in range(3):
        assert visit_all(farm, daemon) == owners
    assert rows(daemon) == owners
    assert daemon.info()["sticky_entries"] == len(CLIENTS)
    assert daemon.info()["sticky_evicted"] == 0


@contextlib.contextmanager
def serving(farm, names=NAMES):
    """All servers serve; what clients said to each, so far: {what: names of servers}."""
    met = {}
    stop = threading.Event()
    lock = threading.Lock()

    def serve(name):
        listener = farm.listeners[name].sock
        listener.settimeout(0.05)
        while not stop.is_set():
            try:
                conn, _ = listener.accept()
            except TimeoutError:
                continue
            with conn:
                conn.settimeout(10)
                client = conn.recv(64).decode()
                with lock:
                    met.setdefault(client, set()).add(name)
                conn.sendall(b"k")
    threads = [threading.Thread(target=serve, args=(n,)) for n in names]
    for t in threads:
        t.start()
    try:
        yield met
    finally:
        stop.set()
        for t in threads:
            t.join()


def arrive_at_once(where, sources, what):
    """A client from each source; they say what they are."""
    socks = []
    for source in sources:
        sock = where.socket()
        sock.bind((source, 0))
        socks.append(sock)
    for sock in socks:
        sock.setblocking(False)
        sock.connect_ex(where.sockaddr)
        sock.settimeout(10)
    for sock in socks:
        sock.sendall(what.encode())
    for sock in socks:
        assert sock.recv(1) == b"k"
        sock.close()


def test_connections_at_once_meet_at_one_server(weir, peers):
    """Of a new client, accepted by four workers."""
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm), "threads = 4")
    with serving(farm) as met:
        for client in CLIENTS:
            arrive_at_once(daemon.address("l"), [client] * 12, client)
    assert {c: len(names) for c, names in met.items()} == dict.fromkeys(CLIENTS, 1)
    assert {c: {n} for c, n in rows(daemon).items()} == met


def test_an_entry_expires_after_its_last_use(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, "src expire=1s"), "threads = 2")
    farm.visit(daemon.address("l"), CLIENTS[0])
    assert used(daemon) == 1
    wait_until(lambda: used(daemon) == 0, "it has expired")
    # It counts from the last use: this client is never away for a second.
    # (If the machine was busy for that long, it begins anew.)
    names, begin, before = set(), time.monotonic(), 0

    def has_stayed():
        nonlocal begin, before
        now = time.monotonic()
        name = farm.visit(daemon.address("l"), CLIENTS[1])
        if time.monotonic() - before > 0.9:
            names.clear()
            begin = now
        before = now
        names.add(name)
        assert len(names) == 1, names
        return now - begin > 2.5

    wait_until(has_stayed, "it has stayed")


def test_where_the_table_is_full_the_one_used_least_recently_leaves(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, "src size=3"), "threads = 4")
    owners = visit_all(farm, daemon, CLIENTS[:3])
    farm.visit(daemon.address("l"), CLIENTS[0])
    owners[CLIENTS[3]] = farm.visit(daemon.address("l"), CLIENTS[3])
    del owners[CLIENTS[1]]
    assert rows(daemon) == owners
    assert daemon.info()["sticky_evicted"] == 1
    assert daemon.ask("show table l").startswith("# table: l, type: ip, size:3, used:3\n")


@THREADS
def test_it_keeps_a_server_that_is_drained_and_leaves_one_that_is_out(weir, peers, threads):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm), f"threads = {threads}")
    where = daemon.address("l")
    client = CLIENTS[0]
    for take_out, bring_back in (("state drain", "state ready"), ("weight 0", "weight 1"),
                                 ("health stopping", "health up")):
        name = farm.visit(where, client)
        order(daemon, f"set server l/{name} {take_out}")
        others = visit_all(farm, daemon, CLIENTS[1:])
        assert name not in others.values()
        assert farm.visit(where, client) == name, take_out
        order(daemon, f"set server l/{name} {bring_back}")
        assert visit_all(farm, daemon, CLIENTS[1:]) == others
        order(daemon, "clear table l")
    for take_out, bring_back in (("state maint", "state ready"), ("health down", "health up")):
        name = farm.visit(where, client)
        order(daemon, f"set server l/{name} {take_out}")
        other = farm.visit(where, client)
        assert other != name
        order(daemon, f"set server l/{name} {bring_back}")
        assert farm.visit(where, client) == other, "it has moved for good"
        assert rows(daemon, f"l key {client}") == {client: other}


@THREADS
@pytest.mark.parametrize("drained", (False, True))
def test_it_waits_for_its_server_which_is_full(weir, peers, threads, drained):
    """While others have places, and also where the server is drained meanwhile."""
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, lines="timeout-queue = 1m\n", options="maxconn=1"), f"threads = {threads}")
    name, server, client = farm.connect(daemon.address("l"), CLIENTS[0])
    if drained:
        order(daemon, f"set server l/{name} state drain")
    late = peers.connect(daemon.address("l"), socket_maker=bound_to(CLIENTS[0]))
    wait_queued(daemon, 1)
    assert int(stat(daemon, name)["qcur"]) == 1
    for end in (client, server):
        end.close()
    server = peers.accept(farm.listeners[name])
    late.send(1000)
    server.receive(1000)


def test_who_waits_for_a_drained_server_goes_elsewhere_when_it_goes_down(weir, peers):
    farm = Farm(peers, NAMES[:2])
    daemon = weir(config(farm, lines="timeout-queue = 1m\n", options="maxconn=1"), "threads = 2")
    name, _, _ = farm.connect(daemon.address("l"), CLIENTS[0])
    other = next(n for n in NAMES[:2] if n != name)
    order(daemon, f"set server l/{name} state drain")
    late = peers.connect(daemon.address("l"), socket_maker=bound_to(CLIENTS[0]))
    wait_queued(daemon, 1)
    order(daemon, f"set server l/{name} state maint")
    server = peers.accept(farm.listeners[other])
    late.send(1000)
    server.receive(1000)
    assert rows(daemon) == {CLIENTS[0]: other}


def test_a_server_with_a_full_queue_is_left(weir, peers):
    farm = Farm(peers, NAMES[:2])
    daemon = weir(config(farm, lines="timeout-queue = 1m\n", options="maxconn=1 maxqueue=1"), "threads = 2")
    name, _, _ = farm.connect(daemon.address("l"), CLIENTS[0])
    peers.connect(daemon.address("l"), socket_maker=bound_to(CLIENTS[0]))
    wait_queued(daemon, 1)
    assert farm.connect(daemon.address("l"), CLIENTS[0])[0] != name


def test_panic_keeps_clients_at_servers_that_are_down(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, lines="panic = on\nobserve = connect\n"), "threads = 2")
    owners = visit_all(farm, daemon)
    for name in NAMES:
        order(daemon, f"set server l/{name} health down")
    assert visit_all(farm, daemon) == owners
    order(daemon, f"set server l/{NAMES[0]} health up")
    assert set(visit_all(farm, daemon).values()) == {NAMES[0]}


def test_a_failed_connect_moves_the_client(weir, peers):
    farm = Farm(peers, NAMES[:2])
    daemon = weir(config(farm), "threads = 2")
    daemon.expected_alarms = f"({NO_SERVER})|(connect failed)"
    name = farm.visit(daemon.address("l"), CLIENTS[0])
    other = next(n for n in NAMES[:2] if n != name)
    farm.listeners.pop(name).sock.close()
    assert farm.visit(daemon.address("l"), CLIENTS[0]) == other
    connects = daemon.info()["connects"]
    for _ in range(3):
        assert farm.visit(daemon.address("l"), CLIENTS[0]) == other
    assert daemon.info()["connects"] == connects + 3, "the first server is tried no more"


@pytest.mark.smoke
def test_reloads_keep_the_entries(weir, peers):
    """Of another expire, size, weight or server; one that has gone chooses anew, and under its name it is
    known again."""
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, "src size=1000"), "threads = 4")
    owners = visit_all(farm, daemon)
    for change in (("timeout", "timeout"), ("size=1000", "size=1000 expire=1h"), ("size=1000", "size=200k"),
                   ("size=200k", "size=16"), ("s4 = ", "zz = 127.0.0.1:1 weight=0\nserver s4 = ")):
        daemon.reload(*(change if change[0] != change[1] else ()))
        assert rows(daemon) == owners, change
        assert visit_all(farm, daemon) == owners, change
    gone = farm.listeners["s1"].address
    daemon.reload(f"server s1 = {gone} \n", "")
    left = rows(daemon)
    assert left == {c: n if n != "s1" else None for c, n in owners.items()}
    daemon.reload("server s2", f"server s1 = {gone} \nserver s2")
    assert rows(daemon) == owners
    daemon.reload(f"server s1 = {gone} \n", "")
    after = visit_all(farm, daemon)
    assert "s1" not in after.values()
    assert all(after[c] == n for c, n in owners.items() if n != "s1")
    assert rows(daemon) == after
    daemon.reload("sticky = ", "#sticky = ")
    assert "no table" in daemon.ask("show table l") and daemon.ask("show table").strip() == ""
    daemon.reload("#sticky = ", "sticky = ")
    assert rows(daemon) == {}


def test_show_table_and_clear_table(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm, "src expire=1h size=10") + "[backend other]\nserver x = 127.0.0.1:1\n",
                  "threads = 2")
    assert daemon.ask("show table") == "# table: l, type: ip, size:10, used:0\n"
    owners = visit_all(farm, daemon, CLIENTS[:3])
    lines = daemon.ask("show table l").splitlines()
    assert lines[0] == "# table: l, type: ip, size:10, used:3" and len(lines) == 4, lines
    for line in lines[1:]:
        words = dict(word.split("=") for word in line.split()[1:])
        assert line.startswith("0x"), line
        assert list(words) == ["key", "use", "exp", "shard", "server_id", "server_name"], line
        assert owners[words["key"]] == words["server_name"] == NAMES[int(words["server_id"]) - 1]
        assert 3_500_000 < int(words["exp"]) <= 3_600_000, line
    assert len(daemon.ask(f"show table l key {CLIENTS[1]}").splitlines()) == 2
    assert len(daemon.ask(f"show table l key {CLIENTS[9]}").splitlines()) == 1
    assert json.loads(daemon.ask("show table json")) == [
        {"table": "l", "type": "ip", "sticky": "src", "size": 10, "used": 3}]
    order(daemon, f"clear table l key {CLIENTS[1]}")
    order(daemon, f"clear table l key {CLIENTS[9]}")
    del owners[CLIENTS[1]]
    assert rows(daemon) == owners
    order(daemon, "clear table l")
    assert rows(daemon) == {}
    for command, answer in (("show table nope", "no backend 'nope'"), ("show table other", "has no table"),
                            ("clear table other", "has no table"), ("clear table l data", "'data' is not"),
                            ("clear table l key", "is missing"), ("show table l key x.y", "not the address"),
                            ("show table l key unix", "not the address")):
        assert answer in daemon.ask(command), command
    assert daemon.ask("show table nope", "").startswith("No such table")


def explain(daemon, client, words=""):
    """What is said of its server, the fate of each, and the end."""
    steps = json.loads(daemon.ask(f"explain listener=l client={client} {words} json"))
    return ([s["text"] for s in steps if s["step"] == "sticky"],
            {s["step"].removeprefix("l/"): s["verdict"] for s in steps if "verdict" in s}, steps[-1]["text"])


def test_explain_says_where_a_client_is_stuck(weir, peers):
    farm = Farm(peers, NAMES[:3])
    daemon = weir(config(farm, options="maxconn=1"), "threads = 2")
    assert explain(daemon, CLIENTS[0])[0] == []
    name, server, client = farm.connect(daemon.address("l"), CLIENTS[0])
    stuck = [f"the client keeps {name}"]
    said, fates, end = explain(daemon, CLIENTS[0])
    assert (said, end) == (stuck, f"the client waits in the queue of l/{name}")
    for one in (client, server):
        one.close()
    wait_until(lambda: daemon.info()["sessions"] == 0, "it has left")
    for state in ("ready", "drain"):
        order(daemon, f"set server l/{name} state {state}")
        said, fates, end = explain(daemon, CLIENTS[0])
        assert (said, end) == (stuck, f"the client goes to l/{name}")
        assert fates == {n: "taken" if n == name else "later" for n in NAMES[:3]}, fates
    order(daemon, f"set server l/{name} state maint")
    assert explain(daemon, CLIENTS[0])[0] == []
    assert explain(daemon, CLIENTS[1])[0] == []
    assert used(daemon) == 1


def server_of(daemon, peers, listeners, client):
    """The name of the server that a new client gets, which then leaves."""
    client.send(100)
    wait_until(lambda: any("state=forwarding" in s for s in daemon.sessions()), "it has a server")
    name = next(n for n in listeners if int(stat(daemon, n)["scur"]) == 1)
    server = peers.accept(listeners[name])
    for end in (client, server):
        end.fin()
    for end in (client, server):
        end.receive_to_end()
    wait_until(lambda: daemon.info()["sessions"] == 0, "it has left")
    return name


def test_one_ipv6_network_of_64_bits_is_one_client(network, weir, peers):
    network.add_ipv6("fd00:0:0:1::1", "fd00:0:0:1:ffff::2", "fd00:0:0:2::1")
    listeners = {name: peers.listen("path") for name in ("a", "b")}
    daemon = weir("[listen l]\nbind = [::1]:0\nsticky = src\n" +
                  "".join(f"server {n} = {l.address}\n" for n, l in listeners.items()),
                  wrapper=network.wrapper)

    def visit(ip):
        return server_of(daemon, peers, listeners,
                         peers.connect(daemon.address("l"), socket_maker=bound_to(ip, network.socket)))
    first = visit("fd00:0:0:1::1")
    other = visit("fd00:0:0:2::1")      # each worker has a turn of its own: it may be the same
    assert visit("fd00:0:0:1:ffff::2") == first
    assert rows(daemon) == {"fd00:0:0:1::/64": first, "fd00:0:0:2::/64": other}
    assert rows(daemon, "l key fd00:0:0:1::7") == {"fd00:0:0:1::/64": first}
    order(daemon, "clear table l key fd00:0:0:1::/64")
    assert set(rows(daemon)) == {"fd00:0:0:2::/64"}


def test_clients_of_unix_sockets_keep_nothing(weir, peers, folder):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm).replace("127.0.0.1:0", f"unix:{folder}/s", 1), "threads = 1")
    assert {farm.visit(daemon.address("l")) for _ in range(8)} == set(NAMES)
    assert used(daemon) == 0


def test_a_client_is_known_by_its_proxy_header(weir, peers):
    farm = Farm(peers, NAMES)
    daemon = weir(config(farm).replace("127.0.0.1:0", "127.0.0.1:0 accept-proxy=always", 1), "threads = 2")
    where = daemon.address("l")
    names = []
    for n in (1, 2, 1, 2):
        with where.socket() as sock:
            sock.connect(where.sockaddr)
            sock.sendall(f"PROXY TCP4 192.0.2.{n} 192.0.2.9 1000 80\r\nhello".encode())
            wait_until(lambda: any("state=forwarding" in s for s in daemon.sessions()), "it has a server")
            names.append(next(i for i in NAMES if int(stat(daemon, i)["scur"]) == 1))
            farm.listeners[names[-1]].sock.accept()[0].close()
        wait_until(lambda: daemon.info()["sessions"] == 0, "it has left")
    assert names[:2] == names[2:] and names[0] != names[1], names
    assert rows(daemon) == {"192.0.2.1": names[0], "192.0.2.2": names[1]}


def test_a_drained_backend_keeps_its_clients_and_its_fallback_gets_the_others(weir, peers):
    farm = Farm(peers, ("one", "two"))
    daemon = weir("[frontend l]\nbind = 127.0.0.1:0\ndefault-backend = b\n[backend b]\nsticky = src\n"
                  f"fallback-backend = f\nserver one = {farm.listeners['one'].address}\n"
                  f"[backend f]\nserver two = {farm.listeners['two'].address}\n", "threads = 2")
    where = daemon.address("l")
    assert farm.visit(where, CLIENTS[0]) == "one"
    order(daemon, "set server b/one state drain")
    assert [farm.visit(where, c) for c in CLIENTS[:2]] == ["one", "two"]
    order(daemon, "set server b/one state maint")
    assert [farm.visit(where, c) for c in CLIENTS[:2]] == ["two", "two"]
    order(daemon, "set server b/one state ready")
    assert [farm.visit(where, c) for c in CLIENTS[:2]] == ["one", "one"]
