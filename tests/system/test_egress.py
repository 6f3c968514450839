# SPDX-License-Identifier: MIT
"""Danger: a client that chooses its server by name (sni@) reaches what it must not: this machine, private
networks, weir itself; or its questions keep others from being served."""

import errno
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from harness import built, trace
from harness.hello import hello
from harness.manager import passing
from harness.name_server import A, REFUSED, SERVFAIL, Answer, NameServer
from harness.port_service import PortService, free_run
from harness.timing import PATIENCE, quickest, wait_until

pytestmark = built.needs("c-ares")

SERVER = "127.0.0.2"   # stands for the Internet: allow-to has it
NAME = "www.example.com"


@pytest.fixture
def names(closing):
    made = NameServer()
    closing.append(made)
    return made


@pytest.fixture
def port():
    return free_run(1)


@pytest.fixture
def service(closing, port):
    made = PortService((port,), SERVER)
    closing.append(made)
    return made


def config(names, port, words="", front="", back=f"allow-to = {SERVER}\n", allow=".example.com"):
    return (f"[global]\nresolvers = {names.address}\n"
            f"[frontend in]\nbind = 127.0.0.1:0\nsniff = tls\nmaxconn-per-source = 1000\n{front}"
            f"default-backend = out\n[backend out]\nserver any = sni@{port} {words}\n"
            f"allow-sni = {allow}\n{back}retries = 2\n")


class Client:
    def __init__(self, daemon, name=NAME, source=None, raw=None, make=socket.socket, where=None):
        where = where or daemon.address("in")   # which reads the log
        self.sent = raw if raw is not None else hello(name)
        self.sock = make()
        self.sock.settimeout(PATIENCE)
        if source:
            self.sock.bind((source, 0))
        self.sock.connect((where.host, where.port))
        self.sock.sendall(self.sent)

    def end(self):
        """Sends FIN, unless both sides have ended already."""
        try:
            self.sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            assert error.errno == errno.ENOTCONN

    def ask(self):
        """What came back, or b"" if the connection was refused."""
        got = b""
        try:
            self.end()
            while True:
                part = self.sock.recv(65536)
                if not part:
                    break
                got += part
        except OSError as error:
            assert not isinstance(error, TimeoutError), "neither an answer nor an end"
            return b""
        finally:
            self.sock.close()
        return got

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()


def served(daemon, port, name=NAME, **kw):
    client = Client(daemon, name, **kw)
    got = client.ask()
    assert got == b"%d " % port + client.sent, got


def refused(daemon, reason, name=NAME, count=1, **kw):
    assert Client(daemon, name, **kw).ask() == b""
    return daemon.wait_session_line(reason=reason, count=count)


def metric(daemon, key):
    return daemon.info()[key]


@pytest.mark.smoke
def test_a_client_reaches_the_name_that_it_asks_for(weir, names, port, service):
    names.set(NAME, SERVER, ttl=60)
    daemon = weir(config(names, port))
    for _ in range(3):
        served(daemon, port)
    served(daemon, port, "WWW.Example.COM")
    assert service.count == 4
    line = daemon.wait_session_line(count=4, reason="normal")
    assert line["server_address"] == f"{SERVER}:{port}", line
    assert line["sni"] == NAME
    assert names.count(NAME, "A") == 1, names.questions
    assert metric(daemon, "egress_questions") == 4
    assert metric(daemon, "egress_known") == 3
    assert metric(daemon, "egress_looked_up") == 1
    assert metric(daemon, "egress_names") == 1


def test_ipv6_and_the_client_s_port_work_as_well(weir, names, closing):
    first = free_run(1)
    made = PortService((first,), "::1")
    closing.append(made)
    names.set(NAME, "::1", ttl=60)
    daemon = weir(config(names, "*", back="allow-to = ::1\n").replace(
        "bind = 127.0.0.1:0", f"bind = 127.0.0.1:{first}"))
    served(daemon, first)
    daemon.wait_session_line(reason="normal", server_address=f"[::1]:{first}")
    explained = daemon.ask("show servers state out")
    assert "any" in explained


def test_a_client_without_a_port_is_refused_with_the_reason_in_the_log(weir, names, closing, folder):
    """A Unix socket that was passed: `-c` cannot know."""
    where = os.path.join(folder, "clients")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(where)
        listening.listen()
        daemon = weir(config(names, "*").replace("bind = 127.0.0.1:0", "bind = fd@u"),
                      **passing("u", listening))
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(where)
        client.sendall(hello(NAME))
        assert client.recv(1) == b""
    daemon.wait_session_line(reason="no_socket")
    assert "server out/any has the client's port (sni@*), and clients of" in daemon.log()
    assert not names.questions


def test_only_names_of_the_list_may_be_asked_for(weir, names, port, service, folder):
    listed = os.path.join(folder, "names.txt")
    with open(listed, "w", encoding="ascii") as f:
        f.write("c.example.org\n*.d.example.org  # and below\n")
    for name in (NAME, "c.example.org", "x.d.example.org", "d.example.org", "www.example.net"):
        names.set(name, SERVER, ttl=60)
    daemon = weir(config(names, port, allow=f"www.example.com @{listed}"))
    for name in (NAME, "c.example.org", "x.d.example.org"):
        served(daemon, port, name)
    for count, name in enumerate(("d.example.org", "www.example.net", "example.com"), 1):
        refused(daemon, "egress_name", name, count)
    assert service.count == 3
    for name, result in (("c.example.org", "goes to out/any"), ("d.example.org", "allow-sni does not")):
        said = daemon.ask(f"explain listener=in client=192.0.2.1 sni={name}")
        assert result in said, said
    assert names.count("d.example.org") == 0 and names.count("www.example.net") == 0
    assert "allow-sni does not contain the name" in daemon.log()
    with open(listed, "w", encoding="ascii") as f:
        f.write("www.example.net\n")
    daemon.reload()
    served(daemon, port, "www.example.net")
    refused(daemon, "egress_name", "c.example.org", 4)


BAD_NAMES = ("127.0.0.1", "0x7f.1", "127.1", "2130706433", "a.1", "a.0x7f", "localhost", "a.localhost",
             "www_x.example.com", "-a.example.com", "a-.example.com", "single", "a..example.com",
             "*.example.com", "a b.example.com", "x" * 64 + ".example.com")


def test_what_is_no_name_of_dns_is_refused_before_anyone_is_asked(weir, names, port, service):
    daemon = weir(config(names, port, allow="*"))
    for name in BAD_NAMES:
        assert Client(daemon, name).ask() == b"", name
    assert Client(daemon, None).ask() == b""               # a hello without a name
    assert Client(daemon, raw=b"GET / HTTP/1.1\r\n\r\n").ask() == b""
    wait_until(lambda: len(daemon.session_lines()) == len(BAD_NAMES) + 2, "a line for each")
    reasons = {line["reason"] for line in daemon.session_lines()}
    assert reasons == {"egress_bad_name", "egress_no_name"}, reasons
    assert not names.questions, names.questions
    assert service.count == 0


# Each with an address that must not be reached; what a name server says of it.
HOSTILE = {
    "loopback": ["127.0.0.1"], "this": ["0.0.0.0"], "private": ["10.0.0.1"], "metadata": ["169.254.169.254"],
    "cgnat": ["100.64.0.1"], "multicast": ["224.0.0.1"], "broadcast": ["255.255.255.255"],
    "class-e": ["240.0.0.1"], "documentation": ["192.0.2.1"], "loopback6": ["::1"], "any6": ["::"],
    "mapped": ["::ffff:127.0.0.2"], "compatible": ["::127.0.0.2"], "siit": ["::ffff:0:127.0.0.2"],
    "nat64": ["64:ff9b::7f00:2"], "nat64-local": ["64:ff9b:1::7f00:2"], "6to4": ["2002:7f00:2::1"],
    "teredo": ["2001:0:7f00:2::1"], "isatap": ["2606:4700::5efe:7f00:2"], "private6": ["fd00:ec2::254"],
    "link-local6": ["fe80::1"], "multicast6": ["ff02::1"],
    "many": ["127.0.0.1", "10.0.0.1", "::1", "169.254.169.254"],
}


def own_addresses():
    got = subprocess.run(["ip", "-j", "addr"], capture_output=True, text=True, check=True).stdout
    return [info["local"] for link in json.loads(got) for info in link["addr_info"]
            if info["scope"] == "global"]


class Connects:
    """Every connect(2) of the daemon, by strace."""

    def __init__(self, pid, folder):
        self.path = os.path.join(folder, "connects")
        words = ["strace", "-f", "-e", "trace=connect", "-o", self.path, "-p", str(pid)]
        self.child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        trace.wait_attached(pid, self.child.pid)

    def stop(self):
        """[(address, port)] of TCP and UDP."""
        self.child.send_signal(signal.SIGINT)
        self.child.wait()
        with open(self.path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        found = re.findall(r'sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)', text)
        found += re.findall(r'sin6_port=htons\((\d+)\).*?inet_pton\(AF_INET6, "([^"]+)"', text)
        return [(host, int(where)) for where, host in found]


@pytest.mark.skipif(trace.missing() is not None, reason=str(trace.missing()))
def test_no_connect_ever_goes_to_a_refused_address(weir, names, port, service, folder):
    """Hostile answers, CNAMEs that end in refused addresses, addresses of this machine. With epoll, whose
    connects strace sees; the judge is the same with io_uring."""
    for label, addresses in HOSTILE.items():
        names.set(f"{label}.example.com", *addresses, ttl=60)
    for label in ("loopback", "private", "mapped"):
        names.set(f"by-cname-{label}.example.com", *HOSTILE[label], ttl=60, cname=f"{label}.evil.test")
    own = own_addresses()
    for i, text in enumerate(own):
        names.set(f"own{i}.example.com", text, ttl=60)
    names.set("mixed.example.com", "127.0.0.1", SERVER, "10.0.0.1", ttl=60)
    names.set(NAME, SERVER, ttl=60)
    daemon = weir(config(names, port))
    connects = Connects(daemon.pid, folder)
    asked = [*(f"{label}.example.com" for label in HOSTILE),
             *(f"by-cname-{label}.example.com" for label in ("loopback", "private", "mapped")),
             *(f"own{i}.example.com" for i in range(len(own)))]
    for name in asked:
        assert Client(daemon, name).ask() == b"", name
    daemon.wait_session_line(count=len(asked), reason="egress_address")
    served(daemon, port, "mixed.example.com")
    served(daemon, port)
    reached = connects.stop()
    daemon.wait_session_line(count=2, reason="normal", server_address=f"{SERVER}:{port}")
    host, at = names.address.rsplit(":", 1)
    others = [one for one in reached if one not in ((SERVER, port), (host, int(at)))]
    assert not others, others
    assert service.count == 2
    assert metric(daemon, "egress_refused") >= len(asked) + 2
    lines = [line for line in daemon.log().splitlines() if "whose address" in line]
    assert 0 < len(lines) <= 3 * len(asked)
    assert any("loopback (127.0.0.0/8)" in line for line in lines), lines


OWN, ANY_IP = "11.22.33.44", "11.22.40.7"   # of the Internet; in the namespace, of this machine


def test_an_address_of_this_machine_is_reached_only_if_allow_to_has_it(network, weir, closing):
    """One on an interface, one that comes meanwhile, and one that only the routing table knows."""
    network.run("ip", "route", "add", "local", "11.22.40.0/24", "dev", "lo")
    names, port = NameServer(network), 443
    closing.append(names)
    made = network.call(lambda: PortService((port,), "0.0.0.0"))
    closing.append(made)
    for name, text in ((NAME, OWN), ("any.example.com", ANY_IP)):
        names.set(name, text, ttl=300)
    text = config(names, port, back="timeout-connect = 200ms\n").replace("retries = 2", "retries = 0")
    daemon = weir(text, wrapper=network.wrapper)

    def client(name=NAME):
        return Client(daemon, name, make=lambda: network.call(socket.socket))
    assert client().ask() == b""
    daemon.wait_session_line(reason="connect_failed", server_address=f"{OWN}:{port}")   # no route yet
    network.run("ip", "addr", "add", f"{OWN}/32", "dev", "lo")
    assert client().ask() == b""       # from the same answer, which is remembered
    daemon.wait_session_line(reason="egress_address")
    assert "an address of this machine" in daemon.log()
    assert client("any.example.com").ask() == b""
    daemon.wait_session_line(count=2, reason="egress_address")
    assert names.count(NAME, "A") == 1
    assert made.count == 0
    daemon = weir(text.replace("allow-sni", f"allow-to = {OWN}\nallow-sni"), wrapper=network.wrapper)
    mine = client()
    assert mine.ask() == b"%d " % port + mine.sent
    assert client("any.example.com").ask() == b""
    daemon.wait_session_line(reason="egress_address")
    assert made.count == 1


def test_weir_itself_is_never_reached(weir, names):
    """A loop would take all connections, one after the other."""
    where = free_run(1)
    for name, text in ((NAME, "127.0.0.1"), ("other.example.com", "127.0.0.9")):
        names.set(name, text, ttl=60)
    text = config(names, where, back="allow-to = 127.0.0.0/8\n")
    daemon = weir(text.replace("bind = 127.0.0.1:0", f"bind = 127.0.0.1:{where}"))
    refused(daemon, "egress_address")
    assert "where weir itself listens" in daemon.log()
    daemon.reload(f"bind = 127.0.0.1:{where}", f"bind = 0.0.0.0:{where}")
    refused(daemon, "egress_address", "other.example.com", 2)
    # The same socket, written as IPv6.
    daemon.reload(f"bind = 0.0.0.0:{where}", f"bind = [::ffff:127.0.0.1]:{where}")
    refused(daemon, "egress_address", count=3)


def test_a_name_that_is_bound_to_another_address_meanwhile_is_judged_anew(weir, names, port, service):
    """Rebinding: the first answer is fine, the next one is not. What is connected to was judged, and no
    answer is used for longer than its TTL."""
    daemon = weir(config(names, port))
    for name in ("a.example.com", "b.example.com", "c.example.com"):
        names.set(name, SERVER, ttl=0)
        began = time.monotonic()
        served(daemon, port, name)
        names.set(name, "127.0.0.1", ttl=0)
        client = Client(daemon, name)
        got = client.ask()
        if time.monotonic() - began < 0.9:  # otherwise this machine has paused
            break
    # From the first answer: a TTL of 0 counts as 1 s.
    assert got == b"%d " % port + client.sent and names.count(name, "A") == 1
    wait_until(lambda: Client(daemon, name).ask() == b"", "the second answer counts")
    daemon.wait_session_line(reason="egress_address", sni=name)
    assert names.count(name, "A") == 2
    refused(daemon, "egress_address", name, count=2)


@pytest.mark.parametrize("late", ["A", "AAAA"])
def test_addresses_of_one_family_are_used_when_those_of_the_other_are_late(weir, names, port, closing, late):
    """RFC 8305 3. What arrives late is for those who ask later."""
    half = {"A": SERVER, "AAAA": "::1"}
    for text in half.values():
        closing.append(PortService((port,), text))
    kind = "AAAA" if late == "A" else "A"
    there = half[kind]
    servers, asked = [names, *more_name_servers(closing)], [NAME, *(f"n{i}.example.com" for i in range(3))]
    for server in servers:
        for name in asked:
            server.set(name, there, ttl=60)
            server.set((name, late), silent=True)
    text = config(names, port, back=f"allow-to = {SERVER} ::1\n")
    daemon = weir(text.replace(names.address, " ".join(s.address for s in servers)))
    others = iter(asked[1:])

    def first_answer():
        begin = time.monotonic()
        served(daemon, port, next(others))
        return time.monotonic() - begin
    assert quickest(first_answer, 0.6) < 0.6, "late addresses were waited for"
    for _ in range(3):
        served(daemon, port)
    shown = f"[{there}]:{port}" if ":" in there else f"{there}:{port}"
    daemon.wait_session_line(count=3, reason="normal", server_address=shown, sni=NAME)
    assert sum(s.count(NAME, kind) for s in servers) == 1
    for server in servers:
        for name in asked:
            server.set((name, late), half[late], ttl=60)    # for the next try of the lookup
    lookups(daemon, 0)
    if late == "A":     # IPv4 is tried first
        served(daemon, port)
        daemon.wait_session_line(server_address=f"{SERVER}:{port}")
    assert metric(daemon, "egress_failed") == 0


def test_a_family_that_is_never_answered_for_delays_nobody(weir, names, port, service):
    names.set(NAME, SERVER, ttl=1)
    names.set((NAME, "AAAA"), silent=True)
    daemon = weir(config(names, port))
    begin, times = time.monotonic(), []
    while time.monotonic() - begin < 4:     # the answer ends while its lookup goes on
        before = time.monotonic()
        served(daemon, port)
        times.append(time.monotonic() - before)
        time.sleep(0.05)
    times.sort()
    assert times[-2] < 0.9 and times[-1] < 3, times[-3:]    # a busy machine may pause once
    assert service.count == len(times)
    assert names.count(NAME, "A") >= 3, names.questions
    assert metric(daemon, "egress_lookups") <= 1


def test_the_next_judged_address_is_tried_when_one_refuses(weir, names, port, service):
    names.set(NAME, "127.0.0.3", "10.0.0.1", "127.0.0.4", SERVER, ttl=60)
    daemon = weir(config(names, port, back="allow-to = 127.0.0.2/31 127.0.0.4\n"))
    served(daemon, port)
    line = daemon.wait_session_line(reason="normal")
    assert line["tries"] == "3" and line["server_address"] == f"{SERVER}:{port}", line
    names.set("dead.example.com", "127.0.0.3", "127.0.0.4", "127.0.0.3", "127.0.0.4", ttl=60)
    refused(daemon, "connect_refused", "dead.example.com")
    assert daemon.info()["server.out/any"].startswith("up"), daemon.info()["server.out/any"]


def test_addresses_of_both_families_take_turns(weir, names, port, closing):
    """RFC 8305 4: more dead addresses of one family than retries do not hide the other one."""
    closing.append(PortService((port,), "::1"))
    names.set(NAME, "127.0.0.3", "127.0.0.4", "127.0.0.5", "::1", ttl=60)
    text = config(names, port, back="allow-to = 127.0.0.0/28 ::1\n")
    daemon = weir(text.replace("retries = 2", "retries = 1"))
    served(daemon, port)
    assert daemon.wait_session_line(reason="normal")["tries"] == "2"


FAR = {4: [f"11.22.33.{i}" for i in range(1, 9)], 6: [f"2606:4700::{i}" for i in range(1, 9)]}


@pytest.mark.parametrize("missing, without", [(4, "route"), (6, "route"), (6, "family")])
def test_a_family_that_this_machine_lacks_uses_up_no_retries(network, weir, closing, missing, without):
    names, port = NameServer(network), 443
    closing.append(names)
    mine = "::1" if missing == 4 else SERVER
    made = network.call(lambda: PortService((port,), mine))
    closing.append(made)
    # Of those of its own family, the second is the one that answers.
    dead = "2606:4700::99" if missing == 4 else "127.0.0.3"
    if missing == 4:
        network.run("ip", "-6", "route", "add", "unreachable", dead)
    names.set(NAME, *FAR[missing], dead, mine, ttl=60)
    if without == "family":
        network.sysctl("ipv6.conf.all.disable_ipv6", 1)
    text = config(names, port, back=f"allow-to = {mine} 127.0.0.3\n").replace("retries = 2", "retries = 1")
    daemon = weir(text, wrapper=network.wrapper)
    client = Client(daemon, make=lambda: network.call(socket.socket))
    assert client.ask() == b"%d " % port + client.sent
    assert daemon.wait_session_line(reason="normal")["server_address"].strip("[").startswith(mine)
    failed = [line for line in daemon.log().splitlines() if "server out/any" in line]
    assert len(failed) == 1 and dead in failed[0], failed
    # Where nothing else is left, it counts, and is reported.
    names.set("far.example.com", *FAR[missing], ttl=60)
    client = Client(daemon, "far.example.com", make=lambda: network.call(socket.socket))
    assert client.ask() == b""
    wait_until(lambda: len(daemon.session_lines()) == 2, "the second session ends")
    assert any(FAR[missing][-1] in line for line in daemon.log().splitlines() if "server out/any" in line)


def test_of_each_family_eight_addresses_are_used(weir, names, port, service):
    """The ninth, which would answer, is left out: what follows is the first one of the next answer."""
    names.set(NAME, *(f"127.0.0.{i}" for i in range(3, 11)), SERVER, ttl=60)
    text = config(names, port, back="allow-to = 127.0.0.0/28\ntimeout-connect = 200ms\n")
    daemon = weir(text.replace("retries = 2", "retries = 8"))
    assert refused(daemon, "connect_refused")["tries"] == "9"
    assert metric(daemon, "egress_questions") == 2
    assert service.count == 0


def test_a_single_address_is_tried_again_and_judged_again(weir, names, port):
    """After the pause the client asks again: an answer has come to its end."""
    names.set(NAME, "127.0.0.3", ttl=0)
    text = config(names, port, back="allow-to = 127.0.0.3\ntimeout-connect = 600ms\n")
    daemon = weir(text.replace("retries = 2", "retries = 9"))
    client = Client(daemon)
    wait_until(lambda: metric(daemon, "egress_questions") >= 2, "the second question")
    names.set(NAME, "10.0.0.1", ttl=0)
    assert client.ask() == b""
    line = daemon.wait_session_line(reason="egress_address")
    assert 2 <= int(line["tries"]) < 10, line
    assert metric(daemon, "retries") == int(line["tries"])


def test_the_next_address_is_tried_at_once_where_others_wait_for_the_place(weir, names, port, service):
    names.set(NAME, "127.0.0.3", SERVER, ttl=60)
    daemon = weir(config(names, port, words="maxconn=1", back="allow-to = 127.0.0.2/31\n"))
    clients = [Client(daemon) for _ in range(4)]
    for client in clients:
        client.end()
    for client in clients:
        assert client.ask() == b"%d " % port + client.sent
    assert all(int(line["connect_ms"]) < 900 for line in daemon.session_lines() if "connect_ms" in line)
    assert service.count == 4


def test_who_waits_for_a_name_has_a_place_at_the_server(weir, names, port, service):
    names.set(NAME, SERVER, delay=0.9, ttl=60)
    daemon = weir(config(names, port, words="maxconn=1"))
    first = Client(daemon)
    lookups(daemon, 1)
    others = [Client(daemon) for _ in range(3)]
    wait_until(lambda: daemon.ask("show sess").count("queued") == 3, "three clients in the queue")
    leaver = Client(daemon)
    wait_until(lambda: daemon.ask("show sess").count("queued") == 4, "four clients in the queue")
    leaver.reset()
    for client in (first, *others):
        client.end()    # in whatever order they are served
    for client in (first, *others):
        assert client.ask() == b"%d " % port + client.sent
    daemon.wait_session_line(count=4, reason="normal")


def test_no_search_domain_and_no_hosts_file_has_a_say(network, weir, folder):
    names = NameServer(network, 53)
    try:
        conf, hosts = os.path.join(folder, "resolv.conf"), os.path.join(folder, "hosts")
        with open(conf, "w", encoding="ascii") as f:
            f.write("nameserver 127.0.0.1\nsearch internal.test\noptions ndots:5\n")
        with open(hosts, "w", encoding="ascii") as f:
            f.write(f"{SERVER} hosts.example.com\n")
        names.set("www.example.com.internal.test", SERVER)
        names.set("hosts.example.com.internal.test", SERVER)
        text = config(names, 443).replace(f"resolvers = {names.address}\n", "")
        daemon = weir(text, wrapper=network.wrapper + [
            "unshare", "-m", "sh", "-c", f"mount --bind {conf} /etc/resolv.conf && "
            f'mount --bind {hosts} /etc/hosts && exec "$0" "$@"'])
        for count, name in enumerate((NAME, "hosts.example.com"), 1):
            assert Client(daemon, name, make=lambda: network.call(socket.socket)).ask() == b""
            daemon.wait_session_line(count=count, reason="egress_no_address")
        assert {q[1] for q in names.questions} == {NAME, "hosts.example.com"}, names.questions
    finally:
        names.close()


def test_each_failure_of_name_servers_has_its_reason(weir, names, port):
    names.set("empty.example.com", ttl=60)
    names.set("refused.example.com", code=REFUSED)
    names.set("broken.example.com", code=SERVFAIL)
    names.set("garbage.example.com", garbage=40)
    names.set("silent.example.com", silent=True)
    daemon = weir(config(names, port))
    refused(daemon, "egress_no_address", "nx.example.com")
    before = names.count("nx.example.com")
    refused(daemon, "egress_no_address", "nx.example.com", 2)
    assert names.count("nx.example.com") == before      # remembered for 5 s
    refused(daemon, "egress_no_address", "empty.example.com", 3)
    refused(daemon, "egress_resolver", "refused.example.com")
    refused(daemon, "egress_resolver", "broken.example.com", 2)
    refused(daemon, "egress_resolver", "garbage.example.com", 3)
    refused(daemon, "egress_resolver", "silent.example.com", 4)
    assert metric(daemon, "egress_failed") == 6


def test_a_lookup_ends_with_the_time_to_connect(weir, names, port):
    names.set(NAME, silent=True)
    daemon = weir(config(names, port, back="timeout-connect = 300ms\n"))
    begin = time.monotonic()
    refused(daemon, "egress_resolver")
    assert time.monotonic() - begin < 2.5
    wait_until(lambda: metric(daemon, "egress_lookups") == 0, "the lookup ends")


def lookups(daemon, count):
    wait_until(lambda: metric(daemon, "egress_lookups") == count,
               lambda: f"{count} lookups; there are {metric(daemon, 'egress_lookups')}")


def test_a_client_that_leaves_meanwhile_leaves_nothing(weir, names, port, service):
    names.set(NAME, silent=True)
    names.set("silent.example.com", silent=True)
    daemon = weir(config(names, port))
    stays = [Client(daemon) for _ in range(3)]
    leaves = [Client(daemon, name) for name in (NAME, "silent.example.com", NAME)]
    lookups(daemon, 2)
    resolving = daemon.ask("show sess")
    assert "resolving" in resolving, resolving
    for client in leaves:
        client.reset()
    daemon.wait_session_line(count=3, reason="client_gone")
    names.set(NAME, SERVER, ttl=60)     # for the next try of the lookup
    for client in stays:
        assert client.ask() == b"%d " % port + client.sent
    assert service.count == 3
    lookups(daemon, 0)


def test_clients_that_ask_and_leave_take_the_place_of_nobody(weir, names, port, service):
    """More than may wait for one lookup."""
    names.set(NAME, silent=True)
    daemon = weir(config(names, port))
    for _ in range(1100):
        Client(daemon).reset()
    wait_until(lambda: metric(daemon, "sessions") == 0, "all have left")
    last = Client(daemon)
    names.set(NAME, SERVER, ttl=60)     # for the next try of the lookup
    assert last.ask() == b"%d " % port + last.sent
    assert metric(daemon, "egress_over_limit") == 0
    assert service.count == 1


def more_name_servers(closing):
    """With these, a lookup that nobody answers takes 8 s; one name server alone is asked for 3 s."""
    made = [NameServer() for _ in range(3)]
    closing.extend(made)
    return made


def test_one_lookup_has_1024_clients_that_wait(weir, names, port, service, closing, descriptors):
    """Not counting those that have left."""
    descriptors(4096)
    servers = [names, *more_name_servers(closing)]
    for server in servers:
        server.set(NAME, silent=True)
    daemon = weir(config(names, port).replace(names.address, " ".join(s.address for s in servers)))
    where = daemon.address("in")
    held = [Client(daemon, source=f"127.0.2.{1 + i // 512}", where=where) for i in range(1024)]
    wait_until(lambda: metric(daemon, "egress_questions") == 1024, "all wait")
    refused(daemon, "egress_questions", source="127.0.2.9")
    held.pop().reset()
    daemon.wait_session_line(reason="client_gone")
    last = Client(daemon, source="127.0.2.9")   # in the place of the one that has left
    wait_until(lambda: metric(daemon, "egress_questions") == 1026, "it asks")
    assert metric(daemon, "egress_over_limit") == 1
    for client in held:
        client.reset()
    for server in servers:
        server.set(NAME, SERVER, ttl=60)        # for the next try of the lookup
    assert last.ask() == b"%d " % port + last.sent
    assert metric(daemon, "egress_over_limit") == 1
    assert metric(daemon, "egress_looked_up") == 1
    assert service.count == 1


def test_one_source_has_eight_lookups_at_a_time_and_all_have_64(weir, names, port, service, closing):
    servers = [names, *more_name_servers(closing)]
    for server in servers:
        server.set(NAME, SERVER, ttl=60)
        for i in range(200):
            server.set(f"n{i}.example.com", silent=True)
    daemon = weir(config(names, port).replace(names.address, " ".join(s.address for s in servers)))
    served(daemon, port)
    held = [Client(daemon, f"n{i}.example.com") for i in range(8)]
    lookups(daemon, 8)
    refused(daemon, "egress_questions", "n8.example.com")
    held.append(Client(daemon, "n0.example.com"))   # which is being looked up
    served(daemon, port)                            # which is known
    for source in range(1, 8):
        held += [Client(daemon, f"n{source * 10 + i}.example.com", f"127.0.1.{source}") for i in range(8)]
    lookups(daemon, 64)
    refused(daemon, "egress_questions", "n199.example.com", 2, source="127.0.1.9")
    assert metric(daemon, "egress_over_limit") == 2
    served(daemon, port, source="127.0.1.9")
    for client in held:
        client.reset()
    for server in servers:
        for i in range(200):
            server.set(f"n{i}.example.com", SERVER)     # for the next try of each lookup
    lookups(daemon, 0)
    served(daemon, port, "n199.example.com", source="127.0.1.9")


def test_ten_thousand_names_are_remembered(weir, names, port, service):
    """The one that was used least recently makes room, so that nobody can keep others out."""
    names._answer_for = lambda name, kind: Answer([SERVER] if kind == A else [], ttl=300)
    daemon = weir(config(names, port, allow="*").replace("maxconn-per-source = 1000\n",
                                                         "maxconn-per-source = 1000\nlog-sample = errors\n"))
    where = daemon.address("in")
    total = 10050
    for i in range(total):
        with socket.create_connection((where.host, where.port), timeout=PATIENCE) as s:
            s.sendall(hello(f"n{i}.example.com"))
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
    assert metric(daemon, "egress_names") == 10000
    assert metric(daemon, "egress_left_early") == total - 10000
    served(daemon, port, f"n{total - 1}.example.com")
    assert names.count("n0.example.com", "A") == 1
    served(daemon, port, "n0.example.com")
    assert names.count("n0.example.com", "A") == 2
    assert names.count(f"n{total - 1}.example.com", "A") == 1


def test_a_reload_meanwhile_loses_nobody(weir, names, port, service):
    names.set(NAME, SERVER, delay=0.9, ttl=60)
    names.set("next.example.com", SERVER, delay=0.9)
    daemon = weir(config(names, port))
    clients = [Client(daemon) for _ in range(3)]
    lookups(daemon, 1)
    daemon.reload("maxconn-per-source = 1000", "maxconn-per-source = 999", "retries = 2", "retries = 1",
                  words=())
    for client in clients:
        assert client.ask() == b"%d " % port + client.sent
    # And one that takes the server away, and brings it back.
    client = Client(daemon, "next.example.com")
    lookups(daemon, 1)
    before = daemon.config
    daemon.reload(f"server any = sni@{port}", f"server fixed = {SERVER}:{port}",
                  "allow-sni = .example.com\n", "", f"allow-to = {SERVER}\n", "", "sniff = tls\n", "",
                  words=())
    assert client.ask() == b"%d " % port + client.sent
    served(daemon, port, "anything")
    daemon.reload(before)
    served(daemon, port)


def test_a_reload_to_names_removes_a_server_that_was_added(weir, names, port, service):
    """It would take clients that ask for any name."""
    names.set(NAME, SERVER, ttl=60)
    names.set("forbidden.example.org", SERVER, ttl=60)
    after = config(names, port)
    before = after.replace(f"sni@{port}", f"{SERVER}:{port}").replace("allow-sni = .example.com\n", "")
    before = before.replace(f"allow-to = {SERVER}\n", "")
    daemon = weir(before)
    before = daemon.config
    said = daemon.ask(f"add server out/b {SERVER}:{port} enabled")
    assert "registered" in said, said
    daemon.reload(f"server any = {SERVER}:{port} \n",
                  f"server any = sni@{port}\nallow-sni = .example.com\nallow-to = {SERVER}\n", words=())
    assert "out,b," not in daemon.ask("show stat")
    for count in range(1, 5):
        refused(daemon, "egress_name", "forbidden.example.org", count)
    served(daemon, port)
    said = daemon.ask(f"add server out/b {SERVER}:{port}")
    assert "no other server" in said, said
    assert service.count == 1
    daemon.reload(before)


@pytest.mark.parametrize("signals", [1, 2])
def test_a_stop_meanwhile_ends_in_time(weir, names, port, service, signals):
    """One signal drains: who waits is served. Two end all at once."""
    names.set(NAME, silent=True)
    names.set("silent.example.com", silent=True)
    daemon = weir(config(names, port))
    client, other = Client(daemon), Client(daemon, "silent.example.com")
    lookups(daemon, 2)
    begin = time.monotonic()
    for _ in range(signals):
        os.kill(daemon.pid, signal.SIGTERM)
        wait_until(lambda: "no new sessions" in daemon.log(), "the drain")
    daemon.ended = True
    if signals == 1:
        names.set(NAME, SERVER, ttl=60)     # for the next try of the lookup
        assert client.ask() == b"%d " % port + client.sent
    else:
        assert client.ask() == b""
    assert other.ask() == b""
    assert daemon.child.wait(timeout=PATIENCE) == 0, daemon.log()
    assert signals == 1 or time.monotonic() - begin < 2.5, "a lookup takes 3 s"


def test_neither_the_admin_socket_nor_a_header_opens_a_way_around(weir, names, port, service):
    names.set(NAME, SERVER, ttl=60)
    daemon = weir(config(names, port) + f"[listen other]\nbind = 127.0.0.1:0\nserver a = {SERVER}:{port}\n")
    for command in ("add server out/b 127.0.0.1:80", f"add server other/b sni@{port}",
                    "set server out/any addr 127.0.0.1", "set server out/any addr 127.0.0.1 port 22"):
        said = daemon.ask(command)
        assert "registered" not in said and "changed" not in said, said
    assert "sni@ is for a server in the configuration file" in daemon.ask(f"add server other/b sni@{port}")
    served(daemon, port)
    assert service.count == 1
    assert "sni@" in daemon.ask("show stat") and f"sni@{port}" in str(daemon.info()["server.out/any"])


def test_a_flood_of_refusals_has_few_warnings(weir, names, port):
    daemon = weir(config(names, port))
    begin = time.monotonic()
    for _ in range(30):
        assert Client(daemon, "www.example.net").ask() == b""
    took = time.monotonic() - begin
    daemon.wait_session_line(count=30, reason="egress_name")
    warnings = [line for line in daemon.log().splitlines()
                if "www.example.net" in line and " warning " in line]
    assert 1 <= len(warnings) <= 6 + 2 * took, warnings    # one a second and worker
