# SPDX-License-Identifier: MIT
"""Danger: a name that changes is not followed, a name server that fails takes servers away, or a stranger's
answer is believed."""

import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from harness import built
from harness import daemon as daemons
from harness.name_server import NameServer, srv
from harness.port_service import free_run
from harness.timing import PATIENCE, wait_until

pytestmark = built.needs("c-ares")

# Hosts of the test's listeners: 127.0.0.N.
HOLD = "500ms"
HOLDS = "".join(f"hold-{kind} = {HOLD}\n" for kind in ("nx", "timeout", "refused", "other"))


@pytest.fixture
def names(peers):
    return peers.keep(NameServer())


def config(names, lines, servers=("a",), port=80):
    return (f"[global]\nresolver = dns\nresolvers = {names.address}\n[listen l]\nbind = 127.0.0.1:0\n" +
            lines + "".join(f"server {s} = {s}.test:{port}\n" for s in servers))


def where(daemon, server="a"):
    """The address of a server without its port; None: it has none."""
    words = str(daemon.info()[f"server.l/{server}"]).split()
    found = words[-1].removeprefix("address=")
    return None if found == "-" else found.rpartition(":")[0]


def state(daemon, server="a"):
    return str(daemon.info()[f"server.l/{server}"]).split()[0]


def wait_at(daemon, host, server="a"):
    wait_until(lambda: where(daemon, server) == host,
               lambda: f"{server} at {host}, not {where(daemon, server)}\n{daemon.log()[-2000:]}")


def counts(daemon):
    return json.loads(daemon.ask("show resolvers json"))


def settle(names, *servers):
    """The last answers: nothing is asked for an hour, so that the final check finds the daemon at rest."""
    names.silent = False
    for server in servers or ("a",):
        names.set(f"{server}.test", "127.0.0.1", ttl=3600)


def at_rest(daemon):
    """No question is under way, as one may have been at the start: the final check compares with now."""
    daemon.baseline = daemon.snapshot()


def test_a_server_follows_its_name_as_its_ttl_says(names, weir, peers):
    names.set("a.test", "127.0.0.1", ttl=1)
    listener = peers.listen()
    daemon = weir(config(names, "", port=listener.address.port))
    wait_at(daemon, "127.0.0.1")
    client, server = peers.pair(daemon.address("l"), listener)
    names.set("a.test", "127.0.0.2", "127.0.0.1", ttl=1)
    asked = names.count("a.test", "A")
    wait_until(lambda: names.count("a.test", "A") > asked + 1, "it is asked again")
    assert where(daemon) == "127.0.0.1", "it moved although its address is still there"
    names.set("a.test", "127.0.0.9", ttl=0)
    wait_at(daemon, "127.0.0.9")
    times = [q[0] for q in names.questions if q[2] == "A"]
    assert min(b - a for a, b in zip(times, times[1:])) > 0.4, "asked more often than every 500 ms"
    # Who is connected stays.
    client.send(1000)
    server.receive(1000)
    settle(names)
    wait_at(daemon, "127.0.0.1")
    asked = names.count()
    time.sleep(0.7)  # a window in which nothing may be asked
    assert names.count() == asked, "asked again before the TTL has passed"


@pytest.mark.smoke
def test_all_names_are_asked_at_the_same_time(names, weir):
    servers = [f"s{i}" for i in range(60)]
    for i, server in enumerate(servers):
        names.set(f"{server}.test", f"127.0.1.{i}", ttl=3600, delay=0.3)
    begin = time.monotonic()
    daemon = weir(config(names, "", servers))
    wait_until(lambda: all(state(daemon, s) == "up" for s in servers), "all have an address")
    assert time.monotonic() - begin < 5, "one after the other, it takes 18 seconds"


def test_every_kind_of_answer_is_understood_and_no_forged_one(names, weir):
    many = [f"127.0.2.{i}" for i in range(200)]
    names.set("four.test", "127.0.0.4", "::1", ttl=3600)
    names.set("six.test", "::1", ttl=3600)
    names.set("alias.test", "127.0.0.5", ttl=3600, cname="real.test")
    names.set("cut.test", "127.0.0.6", ttl=3600, truncated=True)
    names.set("many.test", *many, ttl=3600)
    names.set("slow.test", "127.0.0.7", ttl=3600, delay=0.5)
    for trick in ({"wrong_id": True}, {"wrong_question": True}, {"garbage": 40}, {"cut": 20}):
        names.set(f"{list(trick)[0].replace('_', '-')}-forged.test", "127.0.0.66", ttl=3600, **trick)
    good = {"four": "127.0.0.4", "six": "[::1]", "alias": "127.0.0.5", "cut": "127.0.0.6",
            "many": "127.0.2.0", "slow": "127.0.0.7"}
    bad = ["wrong-id-forged", "wrong-question-forged", "garbage-forged", "cut-forged"]
    daemon = weir(config(names, "", [*good, *bad]))
    for server, host in good.items():
        wait_at(daemon, host, server)
    assert names.count("cut.test", "A", "tcp") >= 1 and names.count("many.test", "A", "tcp") >= 1
    wait_until(lambda: counts(daemon)[0]["timeout"] + counts(daemon)[0]["invalid"] >= 2 * len(bad),
               lambda: f"the forged answers are counted: {counts(daemon)}")
    assert [state(daemon, s) for s in bad] == ["unresolved"] * len(bad)
    seen = counts(daemon)[0]
    assert seen["valid"] >= 7 and seen["cname"] >= 1 and seen["truncated"] >= 1, seen
    assert seen["any_err"] >= 5, seen  # no AAAA
    for server in bad:
        names.set(f"{server}.test", "127.0.0.1", ttl=3600)
        wait_at(daemon, "127.0.0.1", server)
    at_rest(daemon)


def test_an_address_stays_until_its_hold_ends_and_comes_back_at_once(names, weir):
    kinds = {"nx": {"code": 3}, "servfail": {"code": 2}, "refused": {"code": 5}, "silent": {"silent": True},
             "empty": {}}
    for kind in [*kinds, "good"]:
        names.set(f"{kind}.test", "127.0.0.1", ttl=0)
    daemon = weir(config(names, HOLDS, [*kinds, "good"]))
    for kind in [*kinds, "good"]:
        wait_at(daemon, "127.0.0.1", kind)
    asked = {kind: names.count(f"{kind}.test") for kind in kinds}
    for kind, tricks in kinds.items():
        names.set(f"{kind}.test", **tricks)
    for kind in kinds:
        wait_until(lambda kind=kind: state(daemon, kind) == "unresolved",
                   lambda kind=kind: f"{kind} has no address\n{daemon.log()[-3000:]}")
        assert names.count(f"{kind}.test") > asked[kind]
    for kind in kinds:
        # The first bad answer leaves it alone, and the end of the hold says since when.
        over = f"'{kind}.test' has not been resolved for"
        wait_until(lambda over=over: over in daemon.log(), lambda: f"the hold ends\n{daemon.log()[-3000:]}")
        log = daemon.log()
        assert log.index(f"cannot resolve '{kind}.test'") < log.index(over), log
    assert state(daemon, "good") == "up"
    for kind in [*kinds, "good"]:
        names.set(f"{kind}.test", "127.0.0.2", ttl=3600)
    for kind in kinds:
        wait_at(daemon, "127.0.0.2", kind)
    wait_at(daemon, "127.0.0.2", "good")


def test_a_dead_resolver_changes_nothing_and_is_visible(names, weir, peers):
    names.set("a.test", "127.0.0.1", ttl=0)
    names.set("b.test", "127.0.0.1", ttl=0)
    listener = peers.listen()
    daemon = weir(config(names, HOLDS, "ab", port=listener.address.port))
    for server in "ab":
        wait_at(daemon, "127.0.0.1", server)
    names.silent = True
    for server in "ab":
        line = f"l/{server}: '{server}.test' has not been resolved for"
        wait_until(lambda line=line: line in daemon.log(), lambda: f"the hold ends\n{daemon.log()[-2000:]}")
    assert [state(daemon, s) for s in "ab"] == ["up", "up"]
    for _ in range(4):
        client, server = peers.pair(daemon.address("l"), listener)
        client.send(1000)
        server.receive(1000)
    assert daemon.info()["dns_timeout"] > 0 and counts(daemon)[0]["timeout"] > 0
    assert daemon.info()["lookups_failed"] > 0
    settle(names, "a", "b")
    wait_until(lambda: daemon.log().count("resolves again") == 2, "it is over")
    # One line per name and event, however often it failed.
    assert len(re.findall("cannot resolve", daemon.log())) == 2, daemon.log()


def test_a_name_server_that_does_not_answer_leaves_it_to_the_next(names, weir, peers):
    other = peers.keep(NameServer())
    other.silent = True
    for n in (names, other):
        n.set("a.test", "127.0.0.1", ttl=3600)
        n.set("b.test", code=5)
    names.set("b.test", "127.0.0.2", ttl=3600)
    daemon = weir(config(names, "", "ab").replace("resolvers =", f"resolvers = {other.address}"))
    wait_at(daemon, "127.0.0.1", "a")
    wait_at(daemon, "127.0.0.2", "b")
    seen = counts(daemon)
    assert [s["nameserver"] for s in seen] == [other.address, names.address]
    assert seen[0]["timeout"] > 0 and seen[0]["valid"] == 0 and seen[1]["valid"] > 0, seen


def test_that_a_name_does_not_exist_is_an_answer_of_the_first(names, weir, peers):
    other = peers.keep(NameServer())
    other.set("a.test", "127.0.0.3", ttl=3600)
    daemon = weir(config(names, "").replace(names.address, f"{names.address} {other.address}"))
    wait_until(lambda: counts(daemon)[0]["nx"] >= 1, "it does not exist")
    assert other.count() == 0 and state(daemon) == "unresolved"
    names.set("a.test", "127.0.0.1", ttl=3600)
    wait_at(daemon, "127.0.0.1")


def test_an_obsolete_address_stays_for_its_hold(names, weir):
    names.set("a.test", "127.0.0.1", ttl=0)
    daemon = weir(config(names, "hold-obsolete = 1h\n"))
    wait_at(daemon, "127.0.0.1")
    names.set("a.test", "127.0.0.2", ttl=0)
    asked = names.count("a.test", "A")
    wait_until(lambda: names.count("a.test", "A") > asked + 2, "other addresses were seen")
    assert where(daemon) == "127.0.0.1"
    daemon.reload("hold-obsolete = 1h", "hold-obsolete = 0")
    wait_at(daemon, "127.0.0.2")
    settle(names)
    wait_at(daemon, "127.0.0.1")


def test_a_reload_changes_the_name_servers(names, weir, peers):
    other = peers.keep(NameServer())
    names.set("a.test", "127.0.0.1", ttl=0)
    other.set("a.test", "127.0.0.2", ttl=3600)
    daemon = weir(config(names, ""))
    wait_at(daemon, "127.0.0.1")
    daemon.rewrite(names.address, other.address)
    plan = subprocess.run([daemons.BINARY, "plan", "--pid", str(daemon.pid)], capture_output=True, text=True,
                          check=False)
    assert plan.returncode == 10 and "resolvers" in plan.stdout, plan
    daemon.reload()
    wait_at(daemon, "127.0.0.2")
    assert [s["nameserver"] for s in counts(daemon)] == [other.address]
    assert daemon.info()["dns_sent"] > counts(daemon)[0]["sent"], "what the old one did is forgotten"
    asked = names.count()
    daemon.expected_alarms = "has no server left"
    daemon.reload("server a = a.test", "server a = b.test")
    wait_until(lambda: other.count("b.test") > 0, "the new one is asked")
    assert names.count() == asked
    other.set("b.test", "127.0.0.4", ttl=3600)
    wait_at(daemon, "127.0.0.4")


def test_names_of_this_machine_are_not_asked_for(names, weir):
    names.set("a.test", "127.0.0.9", ttl=3600)
    daemon = weir(config(names, "", "a").replace("resolver = dns", "resolver = auto") +
                  "server local = localhost:80\nserver printer = printer.local:80\n")
    wait_at(daemon, "127.0.0.9")
    wait_at(daemon, "127.0.0.1", "local")
    assert {q[1] for q in names.questions} == {"a.test"}


def test_resolv_conf_names_the_servers_and_search_domains(network, weir, peers, folder):
    first = peers.keep(NameServer(network, port=53))
    other = peers.keep(NameServer(network, port=53, host="127.0.0.2"))
    first.set("a.east.test", "127.0.0.1", ttl=0)
    other.set("a.west.test", "127.0.0.2", ttl=3600)
    conf = os.path.join(folder, "resolv.conf")

    def write(text):
        with open(conf, "w", encoding="ascii") as f:
            f.write(text)
    write("search north.test east.test\nnameserver 127.0.0.1\noptions ndots:1\n")
    daemon = weir("[listen l]\nbind = 127.0.0.1:0\nserver a = a:80\n",
                  wrapper=network.wrapper + ["unshare", "-m", "sh", "-c",
                                             f'mount --bind {conf} /etc/resolv.conf && exec "$0" "$@"'])
    wait_at(daemon, "127.0.0.1")
    assert [q[1] for q in first.questions if q[2] == "A"][:2] == ["a.north.test", "a.east.test"]
    write("search west.test\nnameserver 127.0.0.2\n# it has changed\n")
    wait_at(daemon, "127.0.0.2")
    assert [s["nameserver"] for s in counts(daemon)] == ["127.0.0.2"]


def test_show_resolvers_is_as_in_haproxy(names, weir):
    settle(names)
    daemon = weir(config(names, ""))
    wait_at(daemon, "127.0.0.1")
    text = daemon.ask("show resolvers", voice="")
    words = ("sent snd_error valid update cname cname_error any_err nx timeout refused other invalid too_big "
             "truncated outdated").split()
    pattern = rf"Resolvers section default\n nameserver {names.address}:\n"
    pattern += "".join(rf"  {(word + ':').ljust(12)} \d+\n" for word in words)
    assert re.fullmatch(pattern + "\n", text), text
    assert daemon.ask("show resolvers other", voice="") == "Can't find that resolvers section.\n\n"
    assert daemon.ask("show resolvers default", voice="") == text
    seen = counts(daemon)[0]
    assert (seen["sent"], seen["valid"], seen["update"], seen["any_err"]) == (2, 1, 1, 1), seen


def test_it_works_with_dnsmasq(weir, folder, peers):
    dnsmasq = shutil.which("dnsmasq")
    if dnsmasq is None:
        pytest.skip("dnsmasq is not installed")
    hosts = os.path.join(folder, "hosts")
    with open(hosts, "w", encoding="ascii") as f:
        f.write("127.0.0.8 a.test\n")
    port = free_run(1, ("127.0.0.1",))  # it chooses none itself
    child = subprocess.Popen([dnsmasq, "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv",
                              "--no-hosts", f"--addn-hosts={hosts}", f"--port={port}", "--local=/test/",
                              "--listen-address=127.0.0.1", "--bind-interfaces", "--user=root",
                              "--pid-file="], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        daemon = weir(f"[global]\nresolvers = 127.0.0.1:{port}\n[listen l]\nbind = 127.0.0.1:0\n"
                      "server a = a.test:80\nserver gone = gone.test:80\nserver gone2 = b.test:80\n")
        wait_at(daemon, "127.0.0.8")
        wait_until(lambda: counts(daemon)[0]["nx"] >= 2, lambda: f"NXDOMAIN: {counts(daemon)}")
        assert state(daemon, "gone") == "unresolved"
    finally:
        child.terminate()
        child.wait()


# ---- families, and addresses that fail ----

def test_resolve_family_uses_no_other_addresses(names, weir):
    names.set("both.test", "127.0.0.4", "::1", ttl=3600)
    names.set("four.test", "127.0.0.5", ttl=3600)
    servers = "server both = both.test:80\nserver four = four.test:80\nserver named = ipv4@both.test:80\n"
    daemon = weir(f"[global]\nresolver = dns\nresolvers = {names.address}\n[listen l]\nbind = 127.0.0.1:0\n"
                  f"resolve-family = ipv6\n{servers}")
    wait_at(daemon, "[::1]", "both")
    wait_at(daemon, "127.0.0.4", "named")
    wait_until(lambda: "cannot resolve 'four.test'" in daemon.log(), "it has no IPv6 address")
    assert state(daemon, "four") == "unresolved"
    for family, both in (("ipv4", "127.0.0.4"), ("any", "127.0.0.4")):
        daemon.reload(*("resolve-family = ipv6", "resolve-family = ipv4") if family == "ipv4" else
                      ("resolve-family = ipv4\n", ""))
        wait_at(daemon, both, "both")
        wait_at(daemon, "127.0.0.5", "four")
    at_rest(daemon)


@pytest.mark.parametrize("count", (2, 3))
def test_a_client_gets_through_to_the_next_address_of_a_name(names, weir, peers, count):
    """Nobody listens at the first ones. The one that answers stays in use."""
    listener = peers.listen()
    dead = [f"127.0.0.{9 - i}" for i in range(count - 1)]
    names.set("a.test", *dead, "127.0.0.1", ttl=3600)
    daemon = weir(config(names, "timeout-connect = 200ms\n", port=listener.address.port))
    wait_at(daemon, dead[0])
    at_rest(daemon)
    for _ in range(3):
        client, server = peers.pair(daemon.address("l"), listener)
        client.send(1000)
        server.receive(1000)
    assert where(daemon) == "127.0.0.1"
    assert daemon.info()["connect_failures"] == count - 1


def test_health_checks_find_the_address_that_answers(names, weir, peers):
    listener = peers.listen()
    names.set("a.test", "127.0.0.9", "127.0.0.1", ttl=3600)
    daemon = weir(config(names, "check = tcp\ncheck-interval = 1s\ncheck-fast = 50ms\ncheck-down = 50ms\n",
                         port=listener.address.port))
    daemon.expected_alarms = "has no server left"
    wait_until(lambda: "is DOWN" in daemon.log(), "nobody listens at the first address")
    wait_until(lambda: state(daemon) == "up" and where(daemon) == "127.0.0.1", lambda: daemon.log()[-2000:])
    client, server = peers.pair(daemon.address("l"), listener, skip_silent=True)
    client.send(1000)
    server.receive(1000)
    for side in (client, server):
        side.fin()
    daemon.reload("check = tcp", "check = off")
    wait_until(lambda: daemon.snapshot()["timers"] == 0, "the session has ended")
    at_rest(daemon)


# ---- syslog by name ----

def test_syslog_by_name_gets_lines_once_the_name_is_resolved(names, weir):
    """The lines before that are lost and counted, and nothing waits. A reload moves it, and takes it away."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(PATIENCE)
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        names.set("log.test", silent=True)
        daemon = weir(f"[global]\nresolver = dns\nresolvers = {names.address}\n"
                      f"log = syslog:log.test:{port} facility=authpriv\n[listen l]\nbind = 127.0.0.1:0\n"
                      f"server a = 127.0.0.1:{port}\n")
        wait_until(lambda: f"log = syslog:log.test:{port}: cannot resolve the name" in daemon.log(),
                   lambda: daemon.log())
        lost = daemon.info()["log_dropped"]
        assert lost > 0
        names.set("log.test", "127.0.0.1", ttl=3600)
        wait_until(lambda: f"log = syslog:log.test:{port} is 127.0.0.1:{port}" in daemon.log(),
                   lambda: daemon.log())
        first = sock.recv(4096).decode()
        assert first.startswith(f"<{10 * 8 + 6}>1 ") and "weir" in first, first
        names.set("other.test", "127.0.0.1", ttl=3600)
        daemon.reload("log.test", "other.test")
        wait_until(lambda: f"log = syslog:other.test:{port} is" in daemon.log(), lambda: daemon.log())
        daemon.reload(f"log = syslog:other.test:{port} facility=authpriv\n", "")
        at_rest(daemon)


def test_syslog_without_a_port_is_at_514(folder):
    path = os.path.join(folder, "c.ini")
    for text, wanted in (("10.0.0.1", "10.0.0.1:514"), ("log.test", "log.test:514"), ("[::1]", "[::1]:514"),
                         ("ipv6@log.test", "ipv6@log.test:514"), ("log.test:5140", "log.test:5140")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"[global]\nlog = syslog:{text} facility=uucp\n[listen l]\nbind = 127.0.0.1:0\n"
                    "server a = 127.0.0.1:1\n")
        got = subprocess.run([daemons.BINARY, "-T", path], capture_output=True, text=True, check=False)
        assert got.returncode == 0 and f"log = syslog:{wanted} level" in got.stdout, (text, got)
    for text in (":514", "log.test:0", "514"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"[global]\nlog = syslog:{text}\n[listen l]\nbind = 127.0.0.1:0\n"
                    "server a = 127.0.0.1:1\n")
        got = subprocess.run([daemons.BINARY, "-c", path], capture_output=True, text=True, check=False)
        assert got.returncode == 1, (text, got)
