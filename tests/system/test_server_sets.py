# SPDX-License-Identifier: MIT
"""Danger: an address that comes, goes or comes back in DNS costs a client its session, or a server its state;
or one bad answer leaves a backend without servers."""

import collections
import csv
import os
import subprocess
import sys

import pytest

from harness import built, driver
from harness.checked import lasting
from harness.daemon import BINARY
from harness.member import HOSTS, Client, Members
from harness.name_server import NameServer, srv
from harness.run_time import ask_plan, order, state
from harness.timing import PATIENCE, stays, wait_until

A, B, C, D, E, F = HOSTS
NAME = "app.test"
STORM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "storm", "names.py")
BUILD = os.environ.get("WEIR_BUILD") or os.path.dirname(os.path.dirname(os.path.abspath(BINARY)))
LOAD = os.path.join(BUILD, "tests", "storm", "storm_load")
CHECKS = "check = tcp\ncheck-interval = 50ms\ncheck-timeout = 4s\n"
LAST_ONE = "backend app has no server left"
HOLDS = "".join(f"hold-{kind} = 100ms\n" for kind in ("nx", "timeout", "refused", "other"))

pytestmark = built.needs("c-ares")


@pytest.fixture
def members():
    """Before `names`, so that the servers outlive the daemon."""
    all_of_them = Members()
    yield all_of_them
    all_of_them.close()


class Names:
    """What the name server says. It is asked every 500 ms, until the end."""

    def __init__(self):
        self.server = NameServer()
        self.options = f"resolver = dns\nresolvers = {self.server.address}\n"
        self.ttl = 0
        self.said = {}

    def hosts(self, *hosts, name=NAME):
        self.said[name] = (self.hosts, hosts)
        self.server.set(name, *hosts, ttl=self.ttl)
        self.server.silent = False

    def srv(self, name, *records):
        self.said[name] = (lambda *records, name: self.srv(name, *records), records)
        for host, *_ in records:
            self.server.set(target_of(host), host, ttl=self.ttl)
        self.server.set(name, *(srv(name, self.ttl, target_of(host), *rest) for host, *rest in records),
                        ttl=self.ttl)

    def silence(self):
        self.server.silent = True

    def settle(self):
        """Nothing is asked any more, for an hour."""
        self.ttl = 3600
        self.server.silent = False
        for name, (say, records) in list(self.said.items()):
            say(*(records or HOSTS[:1]), name=name)
        wait_until(self.rests, "nothing is asked any more")

    def rests(self):
        before = len(self.server.questions)
        return stays(lambda: len(self.server.questions) == before, 0.7)


def target_of(host):
    return host.replace(".", "-") + ".test"


@pytest.fixture
def names(weir):
    """Depends on `weir`, so that nothing is asked any more during the daemon's final check."""
    found = Names()
    yield found
    found.settle()
    found.server.close()


class World:
    """A daemon with a backend `app` that has a set."""

    def __init__(self, weir, names, members, words="", backend="", line=None, wait=None, **kw):
        self.names = names
        self.line = line or f"servers pod = dns://{NAME}:{members.port} {words}\n"
        self.daemon = weir(f"[frontend web]\nbind = 127.0.0.1:0\ndefault-backend = app\n[backend app]\n"
                           f"{HOLDS}{backend}{self.line}", global_options=names.options, **kw)
        if wait is not None:
            self.await_hosts(*wait)

    def rows(self):
        rows = csv.DictReader(self.daemon.ask("show stat").lstrip("# ").splitlines())
        return {row["svname"]: row for row in rows
                if row["pxname"] == "app" and row["svname"] not in ("FRONTEND", "BACKEND")}

    def statuses(self):
        return {name: row["status"] for name, row in self.rows().items()}

    def hosts(self):
        """{name: host} of all servers."""
        lines = self.daemon.ask("show servers state app").splitlines()
        return {line.split()[3]: line.split()[4] for line in lines[2:] if line}

    def in_use(self):
        """{host: name} of those that are up."""
        up = [name for name, status in self.statuses().items() if status.startswith(("UP", "no check"))]
        return {host: name for name, host in self.hosts().items() if name in up}

    def await_hosts(self, *hosts):
        wait_until(lambda: set(self.in_use()) == set(hosts),
                   lambda: f"in use {hosts}; there are {self.statuses()}, {self.hosts()}\n"
                   + self.daemon.log()[-2000:])

    def await_names(self, **wanted):
        wait_until(lambda: self.statuses() == wanted, lambda: f"{wanted}; there are {self.statuses()}")

    def client(self):
        return Client(self.daemon.address("web"))

    def served(self, count):
        """{host: clients} of so many clients, one after another."""
        found = collections.Counter()
        for _ in range(count):
            client = self.client()
            found[client.host] += 1
            client.close()
        return found

    def with_client(self, host):
        """A client that this host serves."""
        for _ in range(4 * len(HOSTS)):
            client = self.client()
            if client.host == host:
                return client
            client.close()
        raise AssertionError(f"no client came to {host}: {self.statuses()}")


def both_drivers(test):
    wanted = (driver.WANTED,) if driver.WANTED else ("epoll", "io_uring")
    return pytest.mark.parametrize("which", wanted)(test)


def options_of(which):
    why = driver.unusable(BINARY) if which == "io_uring" else None
    if why is not None:
        pytest.skip(why)
    return f"driver = {which}\n"


@pytest.mark.smoke
def test_each_address_is_a_server_like_any_other(members, names, weir):
    world = World(weir, _with(names, "threads = 1\n"), members, "weight=5 maxconn=7", CHECKS)
    names.hosts(C, A, B)
    world.await_hosts(A, B, C)
    assert world.hosts() == {"pod1": A, "pod2": B, "pod3": C}
    assert state(world.daemon, "pod2", "srv_uweight", "srv_port") == ("5", str(members.port))
    assert world.rows()["pod2"]["slim"] == "7"
    wait_until(lambda: world.statuses() == dict.fromkeys(("pod1", "pod2", "pod3"), "UP"), "checks pass")
    assert world.served(6) == {A: 2, B: 2, C: 2}
    said = world.daemon.ask("why app").splitlines()
    assert f"set: app/pod: addresses of '{NAME}' in use: 3, draining: 0, not used: 0" in said, said
    assert any(line.startswith("app/pod3: UP for") for line in said), said


@both_drivers
def test_each_address_has_the_port_of_the_client(members, names, weir, which):
    def weir_at_their_port(text, **kw):
        return weir(text.replace("127.0.0.1:0", f"127.0.9.9:{members.port}"), **kw)

    names.hosts(A, B)
    world = World(weir_at_their_port, _with(names, options_of(which)), members,
                  line=f"servers pod = dns://{NAME}:*\n", wait=(A, B))
    assert {row["addr"] for row in world.rows().values()} == {f"{A}:*", f"{B}:*"}
    assert set(world.served(8)) == {A, B}
    names.hosts(B, C)
    world.await_hosts(B, C)
    assert set(world.served(8)) == {B, C}


@both_drivers
def test_a_session_goes_on_while_its_address_leaves_and_returns(members, names, weir, which):
    names.hosts(A, B)
    world = World(weir, _with(names, options_of(which)), members, wait=(A, B))
    client = world.with_client(A)
    total = world.rows()["pod1"]["stot"]
    names.hosts(B)
    wait_until(lambda: world.statuses()["pod1"] == "DRAIN", "A drains")
    assert client.echoes()
    assert set(world.served(4)) == {B}
    names.hosts(A, B)
    world.await_hosts(A, B)
    assert world.rows()["pod1"]["stot"] == total
    assert client.echoes()
    names.hosts(B, C)
    world.await_hosts(B, C)
    assert world.hosts() == {"pod1": A, "pod2": B, "pod3": C}
    assert stays(lambda: world.statuses().get("pod1") == "DRAIN", 1.2)
    assert client.echoes()
    client.close()
    world.await_names(pod2="no check", pod3="no check")
    names.hosts(B, C, D)
    world.await_hosts(B, C, D)
    assert world.hosts() == {"pod1": D, "pod2": B, "pod3": C}


def _with(names, options):
    names.options += options
    return names


@both_drivers
def test_sessions_of_an_address_that_goes_end_as_the_backend_says(members, names, weir, which):
    names.hosts(A, B)
    world = World(weir, _with(names, options_of(which)), members, backend="on-removed = close\n",
                  wait=(A, B))
    client, other = world.with_client(A), world.with_client(B)
    names.hosts(B)
    assert client.end()
    assert other.echoes()
    world.await_names(pod2="no check")
    client.close()
    other.close()


def test_idle_sessions_of_a_draining_member_end_if_wished(members, names, weir):
    names.hosts(A, B)
    world = World(weir, names, members, backend="drain = idle\n", wait=(A, B))
    client, other = world.with_client(A), world.with_client(B)
    assert client.echoes()
    names.hosts(B)
    assert client.end()
    assert other.echoes()
    client.close()
    other.close()


def test_no_bad_answer_empties_a_backend(members, names, weir):
    names.hosts(A, B)
    world = World(weir, names, members, wait=(A, B))
    names.silence()
    wait_until(lambda: "its servers stay in use" in world.daemon.log(), "the log says it")
    assert stays(lambda: set(world.in_use()) == {A, B}, 0.3)
    names.hosts()
    assert stays(lambda: set(world.in_use()) == {A, B}, 0.3)
    assert set(world.served(4)) == {A, B}
    names.hosts(B, C)
    world.await_hosts(B, C)


def test_without_addresses_a_set_drains_if_wished(members, names, weir):
    names.hosts(A, B)
    world = World(weir, names, members, backend="on-empty = drain\n", wait=(A, B))
    client = world.with_client(B)
    world.daemon.expected_alarms = LAST_ONE
    names.hosts()
    wait_until(lambda: not world.in_use(), "nobody is in use")
    assert client.echoes()
    world.await_names(pod2="DRAIN")
    names.hosts(B)
    world.await_names(pod2="no check")
    assert client.echoes()
    client.close()


def test_the_start_does_not_wait_for_an_answer(members, names, weir, peers):
    world = World(weir, names, members)
    assert "; there was no answer yet" in world.daemon.ask("why app") or \
        "the last answer had none" in world.daemon.ask("why app")
    client = peers.connect(world.daemon.address("web"), hello=False)
    assert client.receive_to_end() == "fin"
    line = world.daemon.wait_session_line(reason_text="no server is usable")
    assert line["ts_code"] == "SC", line
    names.hosts(A)
    world.await_hosts(A)
    assert world.served(1) == {A: 1}


def test_more_addresses_than_max_change_nothing_and_are_counted(members, names, weir):
    names.hosts(C, D)
    world = World(weir, names, members, "max=2", wait=(C, D))
    names.hosts(*HOSTS)
    wait_until(lambda: world.daemon.info()["set_surplus"] == 4, "the surplus is counted")
    wait_until(lambda: "addresses not used: 4" in world.daemon.log(), world.daemon.log)
    assert set(world.in_use()) == {C, D}
    names.hosts(A, B, D)
    world.await_hosts(A, D)
    assert world.daemon.info()["set_surplus"] == 1
    names.hosts(A, D)
    wait_until(lambda: world.daemon.info()["set_surplus"] == 0, "no surplus")


# ---- administrators ----

def test_what_an_administrator_sets_stays_with_its_address(members, names, weir):
    names.hosts(A, B)
    world = World(weir, names, members, wait=(A, B))
    daemon = world.daemon
    order(daemon, "disable server app/pod1")
    order(daemon, "set server app/pod2 weight 9")
    names.hosts(B, C)
    world.await_hosts(B, C)
    assert state(daemon, "pod2", "srv_uweight") == ("9",)
    wait_until(lambda: "pod1" not in world.hosts(), "A has left")
    names.hosts(A, B, C)
    world.await_hosts(A, B, C)
    assert world.in_use()[A] == "pod1"  # a new server, which nobody has disabled


def test_what_an_agent_says_goes_for_members_old_and_new(agents, members, names, weir):
    agent = agents(b"drain\n")
    names.hosts(A, B)
    world = World(weir, names, members,
                  backend=f"check-agent = 127.0.0.1:{agent.port}\ncheck-agent-interval = 100ms\n")
    lasting(world.daemon)
    world.daemon.expected_alarms = LAST_ONE
    world.await_names(pod1="DRAIN (agent)", pod2="DRAIN (agent)")
    names.hosts(B, C)
    world.await_names(pod2="DRAIN (agent)", pod3="DRAIN (agent)")
    agent.say(b"maint\n")
    world.await_names(pod2="MAINT", pod3="MAINT")
    agent.say(b"ready\n")
    world.await_hosts(B, C)
    client = world.with_client(B)
    agent.say(b"drain\n")
    names.hosts(C)
    agent.say(b"ready\n")
    wait_until(lambda: world.statuses() == {"pod2": "DRAIN", "pod3": "no check"}, "B leaves all the same")
    assert client.echoes()
    client.close()
    world.await_hosts(C)


def test_a_member_is_not_deleted_and_its_name_is_not_taken(members, names, weir):
    names.hosts(A)
    world = World(weir, names, members, wait=(A,))
    daemon = world.daemon
    daemon.expected_alarms = LAST_ONE
    order(daemon, "disable server app/pod1")
    said = daemon.ask("del server app/pod1")
    assert "belongs to the set 'pod'" in said, said
    assert "This server cannot be removed" in daemon.ask("del server app/pod1", voice="")
    said = daemon.ask("add server app/pod7 127.0.0.1:80")
    assert "the set 'pod'" in said, said
    assert "Already exists a server" in daemon.ask("add server app/pod7 127.0.0.1:80", voice="")
    assert world.statuses() == {"pod1": "MAINT"}


# ---- reloads ----

def test_a_reload_keeps_the_members_of_a_line_that_stays(members, names, weir):
    world = World(weir, names, members, backend=CHECKS)
    names.hosts(A, B)
    world.await_hosts(A, B)
    daemon, client = world.daemon, world.with_client(A)
    order(daemon, "set server app/pod2 weight 9")
    before = daemon.ask("show servers state app").splitlines()[2:]
    names.silence()
    daemon.reload("[backend app]\n", "[listen other]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n"
                  "[backend app]\n", words=())

    def fixed(lines):  # without times and results of checks
        return [line.split()[:9] + line.split()[18:] for line in lines]
    assert fixed(daemon.ask("show servers state app").splitlines()[2:]) == fixed(before)
    assert client.echoes()
    assert "would change: no" in ask_plan(daemon, daemon.config_path)
    client.close()


def test_a_changed_line_changes_each_member(members, names, weir):
    names.hosts(A, B, C)
    world = World(weir, names, members, "max=5", wait=(A, B, C))
    daemon = world.daemon
    client = world.with_client(C)
    daemon.rewrite("max=5", "max=2 weight=7")
    plan = ask_plan(daemon, daemon.config_path)
    assert "~ backend app: server pod\n    weight: 1 -> 7\n    max: 5 -> 2\n" in plan, plan
    assert "~ backend app: server pod3\n    weight: 1 -> 7\n" in plan, plan
    said = daemon.reload(words=())
    assert "server app/pod changed" in said, said
    world.await_hosts(A, B)
    assert state(daemon, "pod1", "srv_uweight") == ("7",)
    assert client.echoes()
    assert daemon.info()["set_surplus"] == 1
    client.close()


@both_drivers
def test_a_removed_line_takes_its_members_and_a_rollback_brings_it_back(members, names, weir, which):
    names.hosts(A, B)
    world = World(weir, _with(names, options_of(which)), members, wait=(A, B))
    daemon, client = world.daemon, world.with_client(B)
    daemon.rewrite(world.line, f"server a = {A}:{members.port}\n")
    plan = ask_plan(daemon, daemon.config_path)
    assert f"- backend app: {world.line.strip()}" in plan, plan
    assert f"- backend app: server pod2 = {B}:{members.port}" in plan, plan
    daemon.reload(words=())
    assert world.hosts() == {"a": A}
    assert world.served(2) == {A: 2}
    assert client.echoes()
    daemon.expected_alarms = LAST_ONE  # until the first answer
    daemon.ask("rollback")
    world.await_names(pod1="no check", pod2="no check")
    assert client.echoes()
    client.close()


def test_a_set_that_a_reload_adds_gets_its_servers_soon(members, names, weir):
    names.hosts(A, B)
    world = World(weir, names, members, line="server a = 127.0.0.1:1\n")
    world.daemon.expected_alarms = LAST_ONE
    world.daemon.reload("server a = 127.0.0.1:1\n", f"servers pod = dns://{NAME}:{members.port}\n", words=())
    world.await_names(pod1="no check", pod2="no check")
    world.daemon.reload("[backend app]\n", "[backend app]\non-empty = drain\n", words=())
    names.hosts()
    wait_until(lambda: not world.in_use(), "the changed section holds")
    names.settle()
    world.daemon.baseline = world.daemon.snapshot()  # what asks name servers is there since the reload


# ---- SRV records ----

def test_weight_and_priority_of_records_count(members, names, weir):
    name = "_app._tcp.test"
    names.srv(name, (A, members.port, 30, 1), (B, members.port, 10, 1), (C, members.port, 1, 5))
    world = World(weir, _with(names, "threads = 1\n"), members, line=f"servers pod = srv://{name}\n",
                  wait=(A, B, C))
    assert {n: (row["weight"], row["bck"]) for n, row in world.rows().items()} == \
        {"pod1": ("30", "0"), "pod2": ("10", "0"), "pod3": ("1", "1")}
    assert world.served(8) == {A: 6, B: 2}
    names.srv(name, (A, members.port, 30, 7), (B, members.port, 10, 7), (C, members.port, 1, 5))
    wait_until(lambda: world.rows()["pod3"]["bck"] == "0" and world.rows()["pod1"]["bck"] == "1",
               "priorities are followed")
    assert world.served(2) == {C: 2}
    assert world.hosts() == {"pod1": A, "pod2": B, "pod3": C}


# ---- under traffic ----

@pytest.mark.skipif(not os.path.exists(LOAD), reason="no storm_load: set WEIR_BUILD")
@both_drivers
def test_a_set_that_changes_all_the_time_loses_nobody(which):
    """A short run of tests/storm/names.py."""
    options_of(which)
    done = subprocess.run(
        [sys.executable, STORM, "--build", BUILD, "--driver", which, "--seconds", "6", "--every", "0.7",
         "--dead", "1.5", "--rate", "200", "--streams", "30"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.endswith(" passed, 0 failed") and not last.startswith("0 "), done.stdout
